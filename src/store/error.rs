use std::io;

use super::own_providers::OwnProviderRefused;
use super::postgres::DatabaseError;
use crate::domain::{LinkProblem, ProjectRefused, RoleRefused, SecretRefused};

/// An error of a file operation, classified by what the caller can do about it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("there is no {what}")]
    NotFound { what: String },
    #[error("{path} is not UTF-8 text (first bad byte at {at}); it can be kept, but not shown or edited here")]
    NotText { path: String, at: usize },
    #[error("{path} has {size} bytes; the limit here is {limit}")]
    TooLarge { path: String, size: u64, limit: u64 },
    #[error("the folder has {count} files and folders or more; the limit here is {limit}")]
    TooManyFiles { count: u64, limit: u64 },
    /// The file is not what the caller expected; nothing was written.
    #[error("{path} changed on disk since it was read; load it again or save over it on purpose")]
    Conflict { path: String, etag: Option<String> },
    /// An undo lacks a content; nothing was written.
    #[error("{}; nothing was changed", not_kept(.files))]
    NotKept { files: Vec<NotKeptFile> },
    #[error("{path} already exists; choose another name (nothing was overwritten)")]
    Exists { path: String },
    #[error("{path} cannot be used here: {why}")]
    NotAllowed { path: String, why: &'static str },
    #[error("the disk is full; free some space and try again (nothing was lost: the old file is still there)")]
    DiskFull,
    /// A newer version wrote the file; nothing was changed.
    #[error("{what} was written by a newer miniclaw; this one leaves it as it is. Update miniclaw to go on with it")]
    Newer { what: String },
    /// A sync failed, so appended data may not be on the disk.
    #[error("the disk reported an error and {path} is not written to any more; look at the disk, then try again")]
    DurabilityUnknown { path: String },
    /// This server does not own the home; nothing was written.
    #[error("another server has taken this home over, or it is being closed; nothing was written. Try again")]
    Fenced,
    #[error("the server is stopping and did not finish this; start it again, then look at the result")]
    ShutDown,
    #[error("another miniclaw{holder} is running on this home; stop it first, or use another --home")]
    Locked { holder: String },
    /// The home is being made that of an account, or was when a crash cut it off.
    #[error(
        "this home was being moved when something stopped it; start the server, or run the command again, to complete it"
    )]
    HalfMoved,
    #[error(
        "a restore of this home is under way, or was cut off; wait for its end, or empty the folder and restore the backup again"
    )]
    HalfRestored,
    /// The home has signed files, and the key to check them is gone.
    #[error(
        "session-key.json cannot be used ({reason}), so no signature can be checked. Put it back from a backup of this home. \
         Without one, the next start of the server takes all sessions over as content"
    )]
    NoKey { reason: String },
    #[error("{0}")]
    Project(ProjectRefused),
    /// A member of a shared project may not do it.
    #[error("{0}")]
    Role(RoleRefused),
    #[error("{0}")]
    Secret(SecretRefused),
    /// The providers of a person were not changed.
    #[error(transparent)]
    OwnProvider(OwnProviderRefused),
    /// An upload that goes on after an interruption was committed, cancelled, or has expired.
    #[error("there is no upload {id}: it was finished or cancelled, or nothing arrived for a day; begin a new one")]
    NoUpload { id: String },
    /// Nothing was made of it; what has arrived stays.
    #[error(
        "{files} files with {bytes} bytes have arrived, which is not what was announced; send the rest, then try again"
    )]
    Incomplete { files: u64, bytes: u64 },
    #[error("too many uploads are under way; finish or cancel one, then try again")]
    TooManyUploads,
    /// The folder that a person has linked as a project cannot be used now.
    #[error("{0}")]
    Unavailable(LinkProblem),
    /// An uploaded archive cannot be unpacked.
    #[error("the archive cannot be unpacked: {0}")]
    BadArchive(String),
    /// The database behind the home did not store it, or cannot be used.
    #[error(transparent)]
    Database(DatabaseError),
    #[error("{doing}: {source}")]
    Io { doing: String, source: io::Error },
}

impl From<DatabaseError> for StoreError {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::Fenced => Self::Fenced,
            error => Self::Database(error),
        }
    }
}

/// A file whose content an undo lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotKeptFile {
    pub path: String,
    /// Length of the content in bytes, if it is known.
    pub size: Option<u64>,
    pub why: NotKeptReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotKeptReason {
    /// It has more bytes than a content that is kept.
    TooLarge,
    /// It was dropped, or not kept, so that all contents stay below their limit.
    Dropped,
    /// It is missing or damaged.
    Missing,
}

impl std::fmt::Display for NotKeptFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let why = match self.why {
            NotKeptReason::TooLarge => "too large to be kept",
            NotKeptReason::Dropped => "dropped, or not kept at all, to stay below a limit",
            NotKeptReason::Missing => "missing or damaged",
        };
        match self.size {
            Some(size) => write!(f, "{} ({size} bytes, {why})", self.path),
            None => write!(f, "{} ({why})", self.path),
        }
    }
}

/// Maximum number of files that a sentence names.
const NAMED: usize = 20;

/// Returns the sentence about files whose content an undo lacks.
pub fn not_kept(files: &[NotKeptFile]) -> String {
    let named: Vec<String> = files.iter().take(NAMED).map(ToString::to_string).collect();
    let more = match files.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("the content of these files is not kept any more: {}{more}", named.join(", "))
}

impl StoreError {
    /// Returns whether a file stands where the folder of a path would be.
    pub fn is_missing_folder(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotADirectory)
    }

    /// Returns a function for `map_err` that adds what was being done, and that maps a full disk and a missing file to
    /// their own variants.
    pub(super) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> StoreError {
        let doing = doing.into();
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::DiskFull,
            io::ErrorKind::NotFound => StoreError::NotFound { what: doing },
            _ if source.raw_os_error() == Some(libc::ELOOP) => {
                StoreError::NotAllowed { path: doing, why: "it is a link that leads to itself" }
            }
            _ => StoreError::Io { doing, source },
        }
    }
}
