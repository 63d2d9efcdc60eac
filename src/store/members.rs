//! `project-members.json` in the home of the server: who is a member of whose projects.

use super::error::StoreError;
use super::fence::Claim;
use super::files::{Expect, etag};
use super::home::Home;
use super::settings::SettingsFile;
use super::tree::{Tree, TreeChange, TreePath};
use crate::domain::MemberBook;

const FILE: SettingsFile = SettingsFile::Members;

/// The shared projects as they are on disk.
pub struct StoredMembers {
    /// Empty if the file is damaged: nobody is a member then.
    pub book: MemberBook,
    /// Hash of the file; `None` if there is no file.
    pub etag: Option<String>,
    /// Whether the file is damaged. It stays as it is until a person has corrected it.
    pub is_damaged: bool,
}

impl Home {
    /// Reads who is a member of whose projects. A copy of a damaged file goes to quarantine.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or the copy not be written.
    pub fn members(&self) -> Result<StoredMembers, StoreError> {
        let (bytes, _) = self.settings_bytes(FILE)?;
        let Some(bytes) = bytes else {
            return Ok(StoredMembers { book: MemberBook::default(), etag: None, is_damaged: false });
        };
        let parsed = serde_json::from_slice::<MemberBook>(&bytes).map_err(|error| error.to_string());
        let etag = Some(etag(&bytes));
        match parsed.and_then(|book| book.check().map(|()| book)) {
            Ok(book) => Ok(StoredMembers { book, etag, is_damaged: false }),
            Err(reason) => {
                self.quarantine_copy(FILE, &bytes, reason.clone())?;
                self.warn(format!(
                    "{} is damaged ({reason}), so nobody can use projects of others. Correct the file, and restart the server.",
                    FILE.name()
                ));
                Ok(StoredMembers { book: MemberBook::default(), etag, is_damaged: true })
            }
        }
    }
}

impl Tree {
    /// Replaces project-members.json if the hash of its content is still `old`; `None` if there is no file. Returns the hash of
    /// the new content.
    ///
    /// # Errors
    /// Returns [`StoreError::Conflict`] if it was changed by another program, and an error if it cannot be written.
    pub async fn save_members(
        &self,
        claim: Claim,
        old: Option<String>,
        book: &MemberBook,
    ) -> Result<String, StoreError> {
        let mut bytes = serde_json::to_vec_pretty(book).expect("members are JSON");
        bytes.push(b'\n');
        let expect = old.map_or(Expect::Absent, Expect::Etag);
        let change = TreeChange::write(TreePath::Settings(FILE), &bytes, expect);
        self.commit(claim, vec![change]).await.map(|()| etag(&bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_members_are_kept_and_nobody_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let file = folder.path().join("project-members.json");
        let entry = r#"{"username": "b", "account": "a", "role": "editor", "state": "member", "since": 1.0}"#;
        for damaged in [
            "{".to_owned(),
            r#"{"projects": [{"id": "p", "owner": "../x"}]}"#.to_owned(),
            r#"{"projects": [{"id": "p", "owner": "a"}, {"id": "p", "owner": "b"}]}"#.to_owned(),
            format!(r#"{{"projects": [{{"id": "p", "owner": "a", "members": [{entry}]}}]}}"#),
        ] {
            std::fs::write(&file, &damaged).unwrap();
            let stored = home.members().unwrap();
            assert!(stored.is_damaged && stored.book.projects.is_empty(), "{damaged}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), damaged);
        }
        assert_eq!((home.quarantined().len(), home.startup_warnings().len()), (4, 4));
        std::fs::write(&file, r#"{"projects": [{"id": "p", "owner": "a", "mine": 2}], "mine": 1}"#).unwrap();
        let stored = home.members().unwrap();
        let kept = serde_json::to_value(&stored.book).unwrap();
        assert!(!stored.is_damaged);
        assert_eq!((&kept["mine"], &kept["projects"][0]["mine"]), (&1.into(), &2.into()), "unknown fields are kept");
    }
}
