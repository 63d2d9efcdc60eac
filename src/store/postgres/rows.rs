//! The rows of a home: files, the pieces that files consist of, and facts.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::address::DatabaseAddress;
use super::connection::LossPolicy;
use super::connections::Connections;
use crate::domain::AccountId;
use crate::store::accounts::PEOPLE;

/// A database of homes.
#[derive(Clone, Debug)]
pub struct HomeDatabase {
    pub address: DatabaseAddress,
    pub loss: LossPolicy,
    /// Those with which its homes are written.
    pub connections: Connections,
}

impl HomeDatabase {
    /// Returns a database with connections of its own.
    pub fn new(address: DatabaseAddress, loss: LossPolicy) -> Self {
        Self { address, loss, connections: Connections::default() }
    }
}

/// Which home of a database.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HomeKey {
    /// The home of the server: that of its only person, or nobody's if several people use it.
    Server,
    Person(AccountId),
}

impl HomeKey {
    /// Returns the id of its rows. That of a person follows from their account, so that all servers know it.
    pub fn id(&self) -> Uuid {
        match self {
            Self::Server => Uuid::nil(),
            Self::Person(account) => {
                let hash = Sha256::digest(format!("miniclaw home of {account}"));
                let bytes = hash.first_chunk().expect("the hash is longer than an id");
                uuid::Builder::from_custom_bytes(*bytes).into_uuid()
            }
        }
    }

    /// Returns the person whose home it is.
    pub fn person(&self) -> Option<&AccountId> {
        match self {
            Self::Server => None,
            Self::Person(account) => Some(account),
        }
    }

    /// Returns the folder of its copy, if the home of the server has its copy in this one.
    pub fn folder(&self, server: &Path) -> PathBuf {
        match self {
            Self::Server => server.to_owned(),
            Self::Person(account) => server.join(PEOPLE).join(account.as_str()),
        }
    }
}

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
