//! The form of a backup: a tar archive, compressed by zstd.
//!
//! Its first entry is [`HEAD`], one JSON object. Then come the files: those below `home/` were read while the home may have been
//! changed, and those below `later/` replace them. The last entry is [`MANIFEST`], one JSON object a line: what the home had at the
//! moment of the backup. Folders and links are made from it alone. Whatever the archive has and the manifest does not have had gone
//! by that moment.

use serde::{Deserialize, Serialize};

use crate::domain::entry_path::{escaped, unescaped};

/// The version of the form.
pub(super) const FORMAT: u32 = 1;
pub(super) const HEAD: &str = "miniclaw-backup.json";
pub(super) const MANIFEST: &str = "manifest.jsonl";
/// The bits of a mode that are kept: nobody gets the rights of another user by a restore.
pub(super) const MODES: u32 = 0o1777;
/// Maximum length of the head, and of a line of the manifest, in bytes.
pub(super) const MAX_HEAD: u64 = 4 << 20;
pub(super) const MAX_LINE: u64 = 64 << 10;

/// What a backup says about itself first.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Head {
    pub format: u32,
    /// The version of miniclaw that made it.
    pub miniclaw: String,
    /// Unix seconds.
    pub made_at: f64,
    pub of: BackupKind,
    /// Whether it has `.env`.
    pub secrets: bool,
    /// The people whose homes are in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub people: Vec<Person>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum BackupKind {
    /// A home, with the homes of all people if several use the server.
    Home,
    /// The home of one of several people.
    Person,
}

/// A person of a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Person {
    pub id: String,
    pub username: String,
    /// The user of the system that their commands run as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
}

/// The folder of the archive that has a file's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Part {
    Home,
    Later,
}

impl Part {
    pub fn folder(self) -> &'static str {
        match self {
            Self::Home => "home",
            Self::Later => "later",
        }
    }
}

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub(super) enum Content {
    Folder,
    File {
        part: Part,
        size: u64,
        /// In hexadecimal.
        sha256: String,
    },
    Link {
        /// With escapes.
        target: String,
    },
}

/// An entry of the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Relative to the home, with escapes for what is not UTF-8 text.
    pub path: String,
    #[serde(flatten)]
    pub content: Content,
    #[serde(flatten)]
    pub attributes: Attributes,
}

/// How an entry looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Attributes {
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    /// Nanoseconds since 1970.
    pub modified: i64,
}

/// The last line of the manifest, without which the backup is cut off.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct End {
    /// Number of entries.
    pub entries: u64,
    /// Length of all files together.
    pub bytes: u64,
}

impl Entry {
    pub fn new(path: &[u8], content: Content, attributes: Attributes) -> Self {
        Self { path: escaped(path), content, attributes }
    }

    /// Returns the path as bytes; `None` if its text is none that [`Entry::new`] makes.
    pub fn path(&self) -> Option<Vec<u8>> {
        bytes(&self.path)
    }
}

/// Returns what an escaped text stands for; `None` if it is not its only form.
pub(super) fn bytes(text: &str) -> Option<Vec<u8>> {
    unescaped(text).filter(|bytes| escaped(bytes) == text)
}
