//! The state of a file, link or folder as records of changes refer to it: its kind, its mode, and the hash of its content.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::changes::FileMode;
use super::files::MAX_BYTES;
use super::seal::sha256;
use crate::domain::entry_path::{escaped, unescaped};

/// What an entry of a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    File,
    /// A symbolic link. Its content is its target.
    Link,
    /// A folder without what is in it.
    Folder,
}

/// The state of an entry. Two states are equal if what is known of both is equal.
#[derive(Clone, Debug)]
pub struct RecordedState {
    pub kind: EntryKind,
    /// SHA-256 of the content, in hexadecimal.
    pub hash: String,
    pub mode: FileMode,
    /// All permission bits, if they were recorded.
    pub(super) bits: Option<u32>,
    /// Length of the content in bytes, if it was recorded.
    pub(super) size: Option<u64>,
    /// The content, if the record contains it.
    pub(super) inline: Option<Vec<u8>>,
    /// Whether its content was dropped, or not kept, so that all contents stay below their limit.
    pub(super) is_dropped: bool,
}

/// The content of a recorded state.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordedContent {
    Bytes(Vec<u8>),
    /// It has more bytes than a file may have here.
    TooLarge {
        size: u64,
        limit: u64,
    },
    /// It was not kept, or is gone; its length in bytes.
    NotKept {
        size: u64,
    },
    /// It was dropped, or not kept, so that all contents stay below their limit; its length in bytes.
    Dropped {
        size: u64,
    },
    /// It is missing, or is not what its hash says.
    Damaged,
}

/// A state in a record, with the SHA-256 that names its blob in place of the content.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum StateRecord {
    Regular(String),
    Executable {
        executable: String,
    },
    /// A file that a command left or found. Its content is kept only if an undo needs it.
    File {
        sha256: String,
        size: u64,
        /// Permission bits.
        mode: u32,
    },
    Link {
        link: String,
    },
    /// A link whose target is not UTF-8, with escapes as in `EntryPath`.
    EscapedLink {
        escaped_link: String,
    },
    Folder {
        /// Permission bits.
        folder: u32,
    },
}

impl RecordedState {
    pub(super) fn inline(bytes: Vec<u8>) -> Self {
        Self { hash: sha256(&bytes), inline: Some(bytes), ..Self::file(String::new(), FileMode::default()) }
    }

    /// Returns the state of a file that a tool writes. Its length is not recorded, nor are all permission bits.
    pub(super) fn file(hash: String, mode: FileMode) -> Self {
        Self { kind: EntryKind::File, hash, mode, bits: None, size: None, inline: None, is_dropped: false }
    }

    pub(super) fn of_bytes(bytes: &[u8], mode: FileMode) -> Self {
        Self { size: Some(bytes.len() as u64), ..Self::file(sha256(bytes), mode) }
    }

    /// Returns the state of a file with this hash, of `size` bytes, with these permission bits.
    pub(super) fn of_file(hash: String, size: u64, bits: u32) -> Self {
        Self { bits: Some(bits), size: Some(size), ..Self::file(hash, FileMode::of(bits)) }
    }

    pub(super) fn of_link(target: &Path) -> Self {
        Self { kind: EntryKind::Link, ..Self::inline(target.as_os_str().as_bytes().to_vec()) }
    }

    pub(super) fn of_folder(bits: u32) -> Self {
        let file = Self::file(String::new(), FileMode::default());
        Self { kind: EntryKind::Folder, bits: Some(bits), ..file }
    }

    /// Returns whether both have the same mode, as far as it is known of both. That of a link means nothing.
    pub fn has_mode_of(&self, other: &Self) -> bool {
        match (self.bits, other.bits) {
            _ if self.kind == EntryKind::Link => true,
            (Some(one), Some(other)) => one == other,
            _ => self.mode == other.mode,
        }
    }

    /// Returns the target of a link.
    pub fn link_target(&self) -> Option<&Path> {
        let target = self.inline.as_deref().filter(|_| self.kind == EntryKind::Link);
        target.map(|target| Path::new(OsStr::from_bytes(target)))
    }

    /// Returns whether this is its content.
    pub fn is_content(&self, bytes: &[u8]) -> bool {
        self.hash == sha256(bytes)
    }

    /// Returns whether both are the same kind of entry with the same content, whatever their modes.
    pub fn has_content_of(&self, other: &Self) -> bool {
        (self.kind, &self.hash) == (other.kind, &other.hash)
    }

    /// Returns the maximum length of its content in bytes. A length that is not recorded is that of a file which a tool wrote.
    pub(super) fn most(&self) -> u64 {
        self.size.unwrap_or(MAX_BYTES)
    }

    /// Returns whether its content, if it is kept, is in a file of its own.
    pub(super) fn has_blob(&self) -> bool {
        self.kind == EntryKind::File && self.inline.is_none()
    }

    pub(super) fn record(&self) -> StateRecord {
        match (self.kind, self.bits, self.mode) {
            (EntryKind::Link, ..) => {
                let target = self.inline.as_deref().unwrap_or_default();
                match std::str::from_utf8(target) {
                    Ok(target) => StateRecord::Link { link: target.to_owned() },
                    Err(_) => StateRecord::EscapedLink { escaped_link: escaped(target) },
                }
            }
            (EntryKind::Folder, bits, _) => StateRecord::Folder { folder: bits.unwrap_or(0o755) },
            (EntryKind::File, Some(mode), _) => {
                StateRecord::File { sha256: self.hash.clone(), size: self.size.unwrap_or_default(), mode }
            }
            (EntryKind::File, None, FileMode::Regular) => StateRecord::Regular(self.hash.clone()),
            (EntryKind::File, None, FileMode::Executable) => StateRecord::Executable { executable: self.hash.clone() },
        }
    }
}

impl StateRecord {
    /// Returns the state; `None` if the target of a link is not escaped as this version does it.
    pub fn state(self) -> Option<RecordedState> {
        Some(match self {
            Self::Regular(hash) => RecordedState::file(hash, FileMode::Regular),
            Self::Executable { executable } => RecordedState::file(executable, FileMode::Executable),
            Self::File { sha256, size, mode } => RecordedState::of_file(sha256, size, mode),
            Self::Link { link } => RecordedState::of_link(Path::new(&link)),
            Self::EscapedLink { escaped_link } => {
                RecordedState::of_link(Path::new(&OsString::from_vec(unescaped(&escaped_link)?)))
            }
            Self::Folder { folder } => RecordedState::of_folder(folder),
        })
    }
}

impl PartialEq for RecordedState {
    fn eq(&self, other: &Self) -> bool {
        self.has_content_of(other) && self.has_mode_of(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_survives_its_record() {
        let states = [
            RecordedState::file("aa".to_owned(), FileMode::Regular),
            RecordedState::file("aa".to_owned(), FileMode::Executable),
            RecordedState::of_file("aa".to_owned(), 3, 0o640),
            RecordedState::of_link(Path::new("../茶")),
            RecordedState::of_folder(0o700),
            RecordedState::of_link(Path::new("a\\x0a\n")),
            RecordedState::of_link(Path::new(OsStr::from_bytes(b"\xff\n\\"))),
        ];
        for state in &states {
            let text = serde_json::to_string(&state.record()).unwrap();
            let read = serde_json::from_str::<StateRecord>(&text).unwrap().state().unwrap();
            assert_eq!((&read, read.bits, read.size), (state, state.bits, state.size), "{text}");
            assert_eq!(read.link_target(), state.link_target());
        }
        let text = |state: &RecordedState| serde_json::to_string(&state.record()).unwrap();
        assert_eq!((text(&states[0]).as_str(), text(&states[4]).as_str()), ("\"aa\"", "{\"folder\":448}"));
    }

    #[test]
    fn states_are_compared_by_what_both_know() {
        let file = |bits| RecordedState::of_file("aa".to_owned(), 3, bits);
        let plain = RecordedState::file("aa".to_owned(), FileMode::Regular);
        assert_eq!(plain, file(0o640));
        assert_ne!(plain, file(0o755));
        assert_ne!(file(0o644), file(0o640));
        assert_ne!(RecordedState::of_link(Path::new("aa")), RecordedState::inline(b"aa".to_vec()));
        assert!(file(0o644).has_content_of(&file(0o755)));
    }
}
