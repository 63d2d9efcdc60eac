//! The rows of a home: files, the pieces that files consist of, and facts.

use uuid::Uuid;

/// The server's own home. Those of people have the ids of their accounts.
pub const OWN_HOME: Uuid = Uuid::nil();

/// The SHA-256 of a piece.
pub type PieceHash = [u8; 32];

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    Folder,
    File,
    Link,
}

/// A file, folder or link of a home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRow {
    /// Relative to the home.
    pub path: Vec<u8>,
    pub kind: RowKind,
    pub mode: u32,
    /// Length in bytes.
    pub size: u64,
    /// Nanoseconds since 1970.
    pub modified: i64,
    pub pieces: Vec<PieceHash>,
}

/// A piece of a file.
#[derive(Clone, Debug)]
pub struct Piece {
    pub sha256: PieceHash,
    /// Compressed by zstd.
    pub packed: Vec<u8>,
}

/// Changes of files, stored all or none.
#[derive(Clone, Debug, Default)]
pub struct FileCommit {
    /// By which a copy knows whether it is behind.
    pub id: Uuid,
    pub put: Vec<FileRow>,
    pub gone: Vec<Vec<u8>>,
    /// Sessions whose facts are in a file now.
    pub settled: Vec<String>,
}

/// A line of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactRow {
    pub seq: i64,
    pub body: Vec<u8>,
}

/// The lines of one session's journal, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionFacts {
    pub session: String,
    pub facts: Vec<FactRow>,
}

/// Whether a fact is on the database's disk when its append returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactDurability {
    Synced,
    /// A crash of the database can lose it, but none that comes after a synced fact.
    Relaxed,
}

impl RowKind {
    pub(super) fn number(self) -> i16 {
        match self {
            Self::Folder => 0,
            Self::File => 1,
            Self::Link => 2,
        }
    }
}
