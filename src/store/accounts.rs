//! `accounts.json` in the home of the server, and `people/`, the folder of the homes of its people.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, PermissionsExt};

use super::atomic;
use super::error::StoreError;
use super::files::etag;
use super::home::{Home, make_dir};
use super::seal::sha256;
use super::settings::SettingsFile;
use crate::domain::AccountBook;

/// The folder with a home for each person.
pub(super) const PEOPLE: &str = "people";
const FILE: SettingsFile = SettingsFile::Accounts;
const QUARANTINE: &str = "storage/quarantine";

/// Why the accounts cannot be used. A server does not start then: without them a stranger could make the first account.
#[derive(Debug, thiserror::Error)]
pub enum AccountsUnusable {
    #[error(
        "accounts.json is damaged ({reason}); a copy is in {copy}. Correct the file, or restore it from a backup of this \
         home, and start again."
    )]
    Damaged { reason: String, copy: String },
    #[error(
        "accounts.json is missing, but people/ contains the homes of people. Restore the file from a backup of this home; or, \
         if nobody needs these homes any more, move people/ away. Then start again."
    )]
    Missing,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The accounts as they are on disk.
pub struct StoredAccounts {
    pub book: AccountBook,
    /// Hash of the file; `None` if there is no file.
    pub etag: Option<String>,
}

impl Home {
    /// Reads the accounts of the server; none if there is neither `accounts.json` nor a home in `people/`. A file that is
    /// damaged stays where it is, so that the next start is refused too, and a copy of it goes to quarantine.
    ///
    /// # Errors
    /// Returns [`AccountsUnusable`] if the file is damaged, or missing although there are people.
    pub fn accounts(&self) -> Result<StoredAccounts, AccountsUnusable> {
        let (bytes, _) = self.settings_bytes(FILE)?;
        let Some(bytes) = bytes else {
            let people = self.root().read_dir(PEOPLE).into_iter().flatten().flatten();
            return match people.into_iter().next() {
                Some(_) => Err(AccountsUnusable::Missing),
                None => Ok(StoredAccounts { book: AccountBook::default(), etag: None }),
            };
        };
        let parsed = serde_json::from_slice::<AccountBook>(&bytes).map_err(|error| error.to_string());
        match parsed.and_then(|book| book.check().map(|()| book)) {
            Ok(book) => Ok(StoredAccounts { book, etag: Some(etag(&bytes)) }),
            Err(reason) => Err(AccountsUnusable::Damaged { reason, copy: self.copy_damaged(&bytes)? }),
        }
    }

    /// Returns the folder with the homes of people, which only the server can enter. Creates it if it is missing.
    ///
    /// # Errors
    /// Returns an error if it cannot be created.
    pub fn people_folder(&self) -> Result<PathBuf, StoreError> {
        make_dir(self.root(), PEOPLE, 0o700)?;
        close(self.root(), PEOPLE)?;
        Ok(self.path().join(PEOPLE))
    }

    /// Returns the names of the folders with the homes of people, in order.
    ///
    /// # Errors
    /// Returns an error if they cannot be listed.
    pub fn people_names(&self) -> Result<Vec<String>, StoreError> {
        let doing = || StoreError::io(format!("listing {PEOPLE}/"));
        let entries = match self.root().read_dir(PEOPLE) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(doing())?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(doing())?;
            if entry.file_type().map_err(doing())?.is_dir() {
                names.extend(entry.file_name().into_string());
            }
        }
        names.sort();
        Ok(names)
    }

    /// Makes the folder that is to have the home of a server and those of its people, and lets only the server enter these.
    ///
    /// # Errors
    /// Returns an error if the system refuses.
    pub fn close_folder(folder: &Path) -> Result<(), StoreError> {
        let doing = || StoreError::io(format!("making {}", folder.display()));
        std::fs::create_dir_all(folder).map_err(doing())?;
        let root = Dir::open_ambient_dir(folder, cap_std::ambient_authority()).map_err(doing())?;
        make_dir(&root, PEOPLE, 0o700)?;
        close(&root, PEOPLE)?;
        close_to_strangers(&root)
    }

    /// Lets only the server enter this home, so that the user of no person's commands can.
    ///
    /// # Errors
    /// Returns an error if the system refuses.
    pub fn close_to_others(&self) -> Result<(), StoreError> {
        close(self.root(), ".")
    }

    /// Copies a damaged file to quarantine, once, and returns the path of the copy.
    fn copy_damaged(&self, bytes: &[u8]) -> Result<String, StoreError> {
        let hash = sha256(bytes);
        let name = format!("{}.{}", FILE.name(), hash.get(..16).unwrap_or(&hash));
        let path = format!("{QUARANTINE}/{name}");
        let doing = || format!("keeping a copy of the damaged {}", FILE.name());
        let aside = self.root().open_dir(QUARANTINE).map_err(StoreError::io(doing()))?;
        if aside.symlink_metadata(&name).is_err() {
            atomic::replace(&aside, &name, bytes, 0o600).map_err(StoreError::io(doing()))?;
        }
        Ok(path)
    }

    /// Takes from other users of the machine what they may do in the folder of the server's home. Its group keeps its rights: an
    /// admin may have chosen it for backups.
    ///
    /// # Errors
    /// Returns an error if the system refuses.
    pub fn close_to_strangers(&self) -> Result<(), StoreError> {
        close_to_strangers(self.root())
    }
}

fn close_to_strangers(root: &Dir) -> Result<(), StoreError> {
    let doing = || StoreError::io("closing the home to other users");
    let mode = root.dir_metadata().map_err(doing())?.permissions().mode() & 0o7777;
    if mode & 0o007 == 0 {
        return Ok(());
    }
    root.set_permissions(".", PermissionsExt::from_mode(mode & 0o7770)).map_err(doing())
}

fn close(dir: &Dir, folder: &str) -> Result<(), StoreError> {
    let private = PermissionsExt::from_mode(0o700);
    dir.set_permissions(folder, private).map_err(StoreError::io(format!("closing {folder} to other users")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_accounts_are_refused_and_stay() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        assert!(home.accounts().unwrap().book.accounts.is_empty());
        let account = |id: &str| {
            format!(
                r#"{{"id": "{id}", "username": "ann", "role": "admin", "is_active": true, "created_at": 1.0,
                    "password_hash": "x", "token_version": 1}}"#
            )
        };
        let file = folder.path().join("accounts.json");
        for damaged in [
            "{".to_owned(),
            "{}".to_owned(),
            format!(r#"{{"accounts": [{}]}}"#, account("../x")),
            format!(r#"{{"accounts": [{}]}}"#, account("owner")),
            format!(r#"{{"accounts": [{}, {}]}}"#, account("a"), account("b")),
        ] {
            std::fs::write(&file, &damaged).unwrap();
            for _ in 0..2 {
                let Err(AccountsUnusable::Damaged { copy, .. }) = home.accounts() else { panic!("{damaged}") };
                assert_eq!(std::fs::read_to_string(folder.path().join(copy)).unwrap(), damaged);
            }
            assert_eq!(std::fs::read_to_string(&file).unwrap(), damaged);
        }
        assert_eq!(std::fs::read_dir(folder.path().join(QUARANTINE)).unwrap().count(), 5);
        let fine = format!(r#"{{"accounts": [{}], "mine": 1}}"#, account("a"));
        std::fs::write(&file, &fine).unwrap();
        let book = home.accounts().unwrap().book;
        assert_eq!(serde_json::to_value(&book).unwrap()["mine"], 1, "unknown fields are kept");
    }

    #[test]
    fn missing_accounts_of_people_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let people = home.people_folder().unwrap();
        assert!(home.accounts().is_ok());
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&people, std::fs::Permissions::from_mode(0o755)).unwrap();
        home.people_folder().unwrap();
        assert_eq!(std::fs::metadata(&people).unwrap().permissions().mode() & 0o777, 0o700);
        std::fs::create_dir(people.join("a")).unwrap();
        assert!(matches!(home.accounts(), Err(AccountsUnusable::Missing)));
    }
}
