//! What of a home is not kept in a database, because it is too much or cannot be read.

use std::fmt;

use super::scan::{MAX_DEPTH, MAX_ENTRIES, MAX_FILE, MAX_HOME, MAX_PATH};

/// Why a file or folder is not kept in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NotKept {
    TooLarge,
    TooDeep,
    /// Of a folder: the home has so many files that not all of the folder are kept.
    TooMany,
    Unreadable(String),
}

impl fmt::Display for NotKept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => {
                write!(f, "files have at most {} MiB, and all of a home {} GiB", MAX_FILE >> 20, MAX_HOME >> 30)
            }
            Self::TooDeep => {
                write!(f, "paths have at most {MAX_PATH} bytes and {MAX_DEPTH} folders")
            }
            Self::TooMany => {
                write!(f, "a home has at most {MAX_ENTRIES} files and folders; this folder has more than are left")
            }
            Self::Unreadable(reason) => write!(f, "it cannot be read ({reason})"),
        }
    }
}
