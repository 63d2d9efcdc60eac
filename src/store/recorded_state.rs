//! The state of a file, link or folder as records of changes refer to it: its kind, its mode, and the hash of its content.

use serde::{Deserialize, Serialize};

use super::changes::FileMode;
use super::seal::sha256;

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
    /// It was not kept, or not any more; its length in bytes.
    NotKept {
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
    Folder {
        /// Permission bits.
        folder: u32,
    },
}

impl RecordedState {
    pub(super) fn inline(text: String) -> Self {
        let bytes = text.into_bytes();
        Self { hash: sha256(&bytes), inline: Some(bytes), ..Self::file(String::new(), FileMode::default()) }
    }

    fn file(hash: String, mode: FileMode) -> Self {
        Self { kind: EntryKind::File, hash, mode, bits: None, size: None, inline: None }
    }

    pub(super) fn of_bytes(bytes: &[u8], mode: FileMode) -> Self {
        Self { size: Some(bytes.len() as u64), ..Self::file(sha256(bytes), mode) }
    }

    /// Returns the state of a file with this hash, of `size` bytes, with these permission bits.
    pub(super) fn of_file(hash: String, size: u64, bits: u32) -> Self {
        Self { bits: Some(bits), size: Some(size), ..Self::file(hash, FileMode::of(bits)) }
    }

    pub(super) fn of_link(target: &str) -> Self {
        Self { kind: EntryKind::Link, ..Self::inline(target.to_owned()) }
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
    pub fn link_target(&self) -> Option<String> {
        let target = self.inline.as_deref().filter(|_| self.kind == EntryKind::Link);
        target.map(|target| String::from_utf8_lossy(target).into_owned())
    }

    /// Returns whether this is its content.
    pub fn is_content(&self, bytes: &[u8]) -> bool {
        self.hash == sha256(bytes)
    }

    /// Returns whether both are the same kind of entry with the same content, whatever their modes.
    pub fn has_content_of(&self, other: &Self) -> bool {
        (self.kind, &self.hash) == (other.kind, &other.hash)
    }

    /// Returns whether the record contains the content.
    pub(super) fn is_inline(&self) -> bool {
        self.inline.is_some()
    }

    pub(super) fn record(&self) -> StateRecord {
        match (self.kind, self.bits, self.mode) {
            (EntryKind::Link, ..) => {
                let target = self.inline.as_deref().unwrap_or_default();
                StateRecord::Link { link: String::from_utf8_lossy(target).into_owned() }
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

impl PartialEq for RecordedState {
    fn eq(&self, other: &Self) -> bool {
        self.has_content_of(other) && self.has_mode_of(other)
    }
}

impl From<StateRecord> for RecordedState {
    fn from(record: StateRecord) -> Self {
        match record {
            StateRecord::Regular(hash) => Self::file(hash, FileMode::Regular),
            StateRecord::Executable { executable } => Self::file(executable, FileMode::Executable),
            StateRecord::File { sha256, size, mode } => Self::of_file(sha256, size, mode),
            StateRecord::Link { link } => Self::of_link(&link),
            StateRecord::Folder { folder } => Self::of_folder(folder),
        }
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
            RecordedState::of_link("../茶"),
            RecordedState::of_folder(0o700),
        ];
        for state in &states {
            let text = serde_json::to_string(&state.record()).unwrap();
            let read = RecordedState::from(serde_json::from_str::<StateRecord>(&text).unwrap());
            assert_eq!((&read, read.bits, read.size), (state, state.bits, state.size), "{text}");
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
        assert_ne!(RecordedState::of_link("aa"), RecordedState::inline("aa".to_owned()));
        assert!(file(0o644).has_content_of(&file(0o755)));
    }
}
