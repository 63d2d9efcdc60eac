//! Backups: one file with a home as it was at one moment, and the restore of such a file.

mod contents;
mod from_database;
#[cfg(test)]
mod hostile_tests;
mod making;
mod manifest;
mod restoring;
mod staging;
#[cfg(test)]
mod tests;
mod walk;

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::error::StoreError;
use super::person_move::is_half_moved;
use crate::clock;
use crate::domain::account_fields::folded;
use contents::PEOPLE;
use making::Source;
use manifest::BackupKind;

pub use contents::SecretsUse;
pub use from_database::back_up_database;
pub use making::BackupReport;
pub use restoring::{LinkUse, RestoreOptions, RestoreReport, restore};
pub(super) use staging::{is_being_restored, is_half_restored};
pub use walk::LeftOut;

/// Why a backup could not be made or restored. A file that would be a backup, and a home that would be restored, are then not
/// there.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("{file} already exists; choose another name")]
    Exists { file: String },
    #[error("{file} would be in the home, and so in itself; choose a file elsewhere")]
    InHome { file: String },
    #[error("the server that runs on this home is of an older version; restart it, or stop it for the backup")]
    OlderServer,
    #[error("the server that runs on this home did not finish what it was writing within ten seconds; try again")]
    Busy,
    #[error(
        "too much changed while the home was read, and the server would have had to wait for too long; try again, or stop the \
         server for the backup"
    )]
    PauseTooLong,
    #[error("{path} became shorter while it was read; stop what changes it and try again")]
    KeepsChanging { path: String },
    #[error("writing the backup: {0}")]
    Writing(io::Error),
    #[error("accounts.json is damaged ({reason})")]
    Accounts { reason: String },
    #[error("there is no account {name} {place}")]
    NoPerson { name: String, place: &'static str },
    #[error("this server is for one person; leave out --person")]
    OnePerson,
    #[error("{0} is not empty; a restore overwrites nothing, so name an empty folder, or move this one away")]
    NotEmpty(PathBuf),
    #[error("the server is running on this home: stop it first")]
    Running,
    #[error("it is not a backup of miniclaw ({reason})")]
    NotABackup { reason: String },
    #[error("a newer miniclaw made this backup (its form has version {found}); update miniclaw")]
    Newer { found: u32 },
    #[error("the backup is cut off or damaged ({reason}); use another one")]
    Damaged { reason: String },
    #[error("the backup is refused, because no home is like this: {path}: {why}")]
    Refused { path: String, why: &'static str },
    #[error(
        "the link {path} leads out of the home, to {target}; if you trust this backup, --allow-links makes such links, too"
    )]
    OutsideLink { path: String, target: String },
    #[error("what is in the backup does not fit on this disk: there are {free} bytes free")]
    NoRoom { free: u64 },
    #[error(
        "the backup has the home of one person ({username}); --person NAME restores it as that of the account NAME"
    )]
    OfPerson { username: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl BackupError {
    fn writing(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Store(StoreError::DiskFull),
            _ => Self::Writing(error),
        }
    }

    fn damaged(error: impl std::fmt::Display) -> Self {
        Self::Damaged { reason: error.to_string() }
    }
}

/// What is backed up.
#[derive(Debug)]
pub struct BackupOptions<'a> {
    pub home: &'a Path,
    /// Backs up only the home of this person, of several.
    pub person: Option<&'a str>,
    pub secrets: SecretsUse,
}

/// Writes a backup of a home to a new file of mode 0600. A server may run on the home. Until the file is complete and on the
/// disk, it has another name: `.FILE.{id}.partial`.
///
/// # Errors
/// Returns why there is no backup.
pub fn back_up(options: &BackupOptions<'_>, file: &Path) -> Result<BackupReport, BackupError> {
    let shown = || file.display().to_string();
    if file.symlink_metadata().is_ok() {
        return Err(BackupError::Exists { file: shown() });
    }
    let source = source(options)?;
    let parent = match file.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => parent,
        None => Path::new("."),
    };
    if is_in_home(parent, options.home) {
        return Err(BackupError::InHome { file: shown() });
    }
    let partial = parent.join(partial_name(file)?);
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&partial);
    let written = opened.map_err(BackupError::writing).and_then(|opened| making::write(&source, opened));
    let named = written.and_then(|report| {
        renameat_with(CWD, &partial, CWD, file, RenameFlags::NOREPLACE).map_err(|error| match error {
            rustix::io::Errno::EXIST => BackupError::Exists { file: shown() },
            error => BackupError::writing(error.into()),
        })?;
        File::open(parent).and_then(|parent| parent.sync_all()).map_err(BackupError::writing)?;
        Ok(report)
    });
    if named.is_err() {
        // Best effort: its name says what it is.
        let _ = fs::remove_file(&partial);
    }
    named
}

/// Returns the name of a backup that is not complete yet.
fn partial_name(file: &Path) -> Result<OsString, BackupError> {
    let name = file.file_name().ok_or_else(|| BackupError::Writing(io::ErrorKind::InvalidInput.into()))?;
    let mut partial = OsString::from(".");
    partial.push(name);
    partial.push(format!(".{}.partial", clock::new_id()));
    Ok(partial)
}

fn source(options: &BackupOptions<'_>) -> Result<Source, BackupError> {
    let home = open(options.home)?;
    if is_half_moved(&home) {
        return Err(StoreError::HalfMoved.into());
    }
    if is_half_restored(&home) {
        return Err(StoreError::HalfRestored.into());
    }
    if !home.is_dir("sessions") {
        return Err(StoreError::NotFound { what: format!("home in {}", options.home.display()) }.into());
    }
    let people = making::people(&home)?;
    let Some(name) = options.person else {
        return Ok(Source { home, of: BackupKind::Home, people, secrets: options.secrets });
    };
    if people.is_empty() {
        return Err(BackupError::OnePerson);
    }
    let no_person = || BackupError::NoPerson { name: name.to_owned(), place: "on this server" };
    let person = people.into_iter().find(|person| folded(&person.username) == folded(name)).ok_or_else(no_person)?;
    let folder = format!("{PEOPLE}/{}", person.id);
    let home = home.open_dir(&folder).map_err(StoreError::io(format!("home of {name} ({folder})")))?;
    Ok(Source { home, of: BackupKind::Person, people: vec![person], secrets: SecretsUse::LeftOut })
}

fn open(home: &Path) -> Result<Dir, BackupError> {
    let doing = StoreError::io(format!("home folder {}", home.display()));
    Ok(Dir::open_ambient_dir(home, ambient_authority()).map_err(doing)?)
}

/// Whether a file in this folder would be in a backup of the home.
fn is_in_home(folder: &Path, home: &Path) -> bool {
    let (Ok(folder), Ok(home)) = (folder.canonicalize(), home.canonicalize()) else { return false };
    folder.strip_prefix(home).is_ok_and(|below| {
        use std::os::unix::ffi::OsStrExt;
        below.iter().next().is_some_and(|top| contents::is_included(top.as_bytes(), SecretsUse::LeftOut))
    })
}

/// Makes a folder that only its owner can enter, with the folders above it.
fn make_private(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
