//! The rows of a home: files, the pieces that files consist of, and facts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use uuid::Uuid;

use super::address::DatabaseAddress;
use super::connection::{Database, LossPolicy};
use super::connections::Connections;
use super::error::DatabaseError;
use crate::domain::HomeId;
use crate::store::accounts::PEOPLE;

/// Maximum number of writes of homes under way at the same time.
const WRITERS: usize = 16;
/// The same of searches in libraries.
const LIBRARY_READERS: usize = 8;
/// How many of the writes may be those of libraries, which take long.
const LIBRARY_WRITERS: usize = 4;

/// A database of homes.
#[derive(Clone, Debug)]
pub struct HomeDatabase {
    pub address: DatabaseAddress,
    pub loss: LossPolicy,
    /// Those with which its homes are written.
    pub connections: Connections,
    /// Those with which its libraries are read.
    pub library_readers: Connections,
    pub library_writers: Arc<Semaphore>,
}

impl HomeDatabase {
    /// Returns a database with connections of its own.
    pub fn new(address: DatabaseAddress, loss: LossPolicy) -> Self {
        let [connections, library_readers] = [WRITERS, LIBRARY_READERS].map(Connections::at_most);
        let library_writers = Arc::new(Semaphore::new(LIBRARY_WRITERS));
        Self { address, loss, connections, library_readers, library_writers }
    }

    /// Makes a connection for the first claim, so that it need not wait for one.
    ///
    /// # Errors
    /// Returns why the database cannot be used; the claim says it again.
    pub async fn prepare(&self) -> Result<(), DatabaseError> {
        let database = Database::connect(&self.address).await?;
        // A connection's first statements take several times as long as later ones.
        tokio::try_join!(database.inspect(self.loss), database.schema())?;
        self.connections.set_prepared(database.into_client());
        Ok(())
    }
}

impl HomeId {
    /// Returns the id of its rows. That of a person follows from their account, so that all servers know it.
    pub fn uuid(&self) -> Uuid {
        match self {
            Self::Server => Uuid::nil(),
            Self::Person(account) => {
                let hash = Sha256::digest(format!("miniclaw home of {account}"));
                let bytes = hash.first_chunk().expect("the hash is longer than an id");
                uuid::Builder::from_custom_bytes(*bytes).into_uuid()
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::AccountId;

    #[test]
    fn id_of_a_home_follows_from_its_account() {
        let of = |account| HomeId::Person(AccountId::parse(account).unwrap());
        assert_eq!(HomeId::Server.uuid(), Uuid::nil());
        // Every version must find the homes that another one has stored.
        assert_eq!(of("ann").uuid().to_string(), "06f465c9-c8bf-85f1-a979-e752642d7cf4");
        assert_ne!(of("ann").uuid(), of("ann2").uuid());
        assert_eq!(of("ann").folder(Path::new("/copy")), Path::new("/copy/people/ann"));
    }
}
