//! Reading what a database has of a home.

use std::collections::HashMap;
use std::pin::pin;

use futures_util::TryStreamExt;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::address::DatabaseAddress;
use super::client::DatabaseClient;
use super::connection::{Database, answered};
use super::connections::Connections;
use super::error::DatabaseError;
use super::link::Value;
use super::rows::{FactRow, FileRow, PieceHash, RowKind, SessionFacts};
use crate::domain::{AccountId, HomeId};

/// What is stored of a home, read at one moment.
pub struct StoredHome {
    home: Uuid,
    client: DatabaseClient,
}

/// A home that was claimed, before it is read on the connection that claimed it: to connect once more would take longer than to read.
pub struct UnreadHome {
    home: Uuid,
    client: DatabaseClient,
}

impl UnreadHome {
    pub(super) fn new(home: Uuid, client: DatabaseClient) -> Self {
        Self { home, client }
    }

    /// Returns what is stored at this moment.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn read(self) -> Result<StoredHome, DatabaseError> {
        StoredHome::begin(self.home, self.client).await
    }
}

impl StoredHome {
    /// # Errors
    /// Returns why the database cannot be used.
    pub async fn open(address: &DatabaseAddress, id: &HomeId) -> Result<Self, DatabaseError> {
        let database = Database::connect(address).await?;
        database.schema().await?.require_migrated()?;
        Self::begin(id.uuid(), database.into_client()).await
    }

    async fn begin(home: Uuid, client: DatabaseClient) -> Result<Self, DatabaseError> {
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        answered(client.batch_execute(begin), "reading the home").await?;
        Ok(Self { home, client })
    }

    /// Ends the reading, and lets homes be written with the connection, if it is still there.
    pub async fn end(self, connections: &Connections) {
        match answered(self.client.batch_execute("COMMIT"), "reading the home").await {
            Ok(()) => connections.add(self.client),
            Err(error) => tracing::debug!(%error, "the connection that read a home is lost"),
        }
    }

    /// Returns the same moment of another home.
    pub fn of(self, id: &HomeId) -> Self {
        Self { home: id.uuid(), ..self }
    }

    /// Returns the people who have homes, in the order of their ids.
    pub async fn people(&self) -> Result<Vec<AccountId>, DatabaseError> {
        let find = "SELECT account FROM homes WHERE account IS NOT NULL ORDER BY account";
        let found = answered(self.client.query_typed(find, &[]), "looking for the homes of people").await?;
        let account = |row: &tokio_postgres::Row| {
            let text = row.get::<_, &str>(0);
            AccountId::parse(text).ok_or_else(|| DatabaseError::Damaged { what: format!("the home of {text:?}") })
        };
        found.iter().map(account).collect()
    }

    /// Whether anything is stored of its files.
    pub async fn has_files(&self) -> Result<bool, DatabaseError> {
        let find = "SELECT EXISTS (SELECT FROM files WHERE home_id = $1)";
        let home: [Value<'_>; 1] = [(&self.home, Type::UUID)];
        Ok(answered(self.client.query_typed_one(find, &home), "reading files").await?.get(0))
    }

    /// Returns all files, folders and links, each folder before what is in it.
    pub async fn files(&self) -> Result<Vec<FileRow>, DatabaseError> {
        let find = "SELECT path, kind, mode, size, modified, pieces FROM files WHERE home_id = $1 ORDER BY path";
        let doing = "reading files";
        let home: [Value<'_>; 1] = [(&self.home, Type::UUID)];
        // One after the other: all rows at once would need as much memory again.
        let found = answered(self.client.query_typed_raw(find, home), doing).await?;
        let mut found = pin!(found);
        let mut rows = Vec::new();
        while let Some(row) = answered(found.try_next(), doing).await? {
            rows.push(file_row(&row)?);
        }
        Ok(rows)
    }

    /// Returns all facts, session by session, in their order.
    pub async fn facts(&self) -> Result<Vec<SessionFacts>, DatabaseError> {
        let find = "SELECT session_id, seq, body FROM facts WHERE home_id = $1 ORDER BY session_id, home_no";
        let doing = "reading facts";
        let home: [Value<'_>; 1] = [(&self.home, Type::UUID)];
        let found = answered(self.client.query_typed_raw(find, home), doing).await?;
        let mut found = pin!(found);
        let mut sessions: Vec<SessionFacts> = Vec::new();
        while let Some(row) = answered(found.try_next(), doing).await? {
            let (session, fact) = (row.get::<_, &str>(0), FactRow { seq: row.get(1), body: row.get(2) });
            match sessions.last_mut().filter(|last| last.session == session) {
                Some(last) => last.facts.push(fact),
                None => sessions.push(SessionFacts { session: session.to_owned(), facts: vec![fact] }),
            }
        }
        Ok(sessions)
    }

    /// Returns pieces as they are stored; those that are missing are left out.
    pub async fn pieces(&self, hashes: &[PieceHash]) -> Result<HashMap<PieceHash, Vec<u8>>, DatabaseError> {
        if hashes.is_empty() {
            return Ok(HashMap::new());
        }
        let find = "SELECT sha256, bytes FROM pieces WHERE home_id = $1 AND sha256 = ANY($2)";
        let hashes: Vec<&[u8]> = hashes.iter().map(|hash| &hash[..]).collect();
        let values: [Value<'_>; 2] = [(&self.home, Type::UUID), (&hashes, Type::BYTEA_ARRAY)];
        let found = answered(self.client.query_typed(find, &values), "reading pieces of files").await?;
        let piece = |row: &tokio_postgres::Row| Some((PieceHash::try_from(row.get::<_, &[u8]>(0)).ok()?, row.get(1)));
        Ok(found.iter().filter_map(piece).collect())
    }
}

fn file_row(row: &tokio_postgres::Row) -> Result<FileRow, DatabaseError> {
    let damaged = || DatabaseError::Damaged { what: String::from_utf8_lossy(row.get(0)).into_owned() };
    let kind = match row.get::<_, i16>(1) {
        0 => RowKind::Folder,
        1 => RowKind::File,
        2 => RowKind::Link,
        _ => return Err(damaged()),
    };
    let pieces: Vec<&[u8]> = row.get(5);
    let pieces: Result<Vec<PieceHash>, _> = pieces.into_iter().map(PieceHash::try_from).collect();
    Ok(FileRow {
        path: row.get(0),
        kind,
        mode: u32::try_from(row.get::<_, i32>(2)).map_err(|_| damaged())?,
        size: u64::try_from(row.get::<_, i64>(3)).map_err(|_| damaged())?,
        modified: row.get(4),
        pieces: pieces.map_err(|_| damaged())?,
    })
}
