//! The rows of one home that this server owns: facts, files, and the pieces that files consist of.
//!
//! Each write compares the fence and the owner in its own transaction. A write whose connection is lost is tried again until
//! [`PATIENCE`] is over; what of it was stored in the meantime is looked up first, so nothing is stored twice.

use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use tokio::sync::Mutex;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Statement};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::address::DatabaseAddress;
use super::connection::Database;
use super::error::DatabaseError;
use super::stored_home::StoredHome;

/// Maximum time that a write waits for a database that does not answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum time of one write.
const WRITE_LIMIT: Duration = Duration::from_secs(20);
/// Pause before a write is tried again; it doubles up to [`MAX_PAUSE`].
const PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// The server's own home. Those of people have the ids of their accounts.
pub const OWN_HOME: Uuid = Uuid::nil();

const APPEND: &str = "WITH own AS (UPDATE homes SET last_no = last_no + cardinality($5::bigint[]) WHERE home_id = $1 AND fence = \
    $2 AND owner = $3 RETURNING last_no), durability AS (SELECT set_config('synchronous_commit', CASE WHEN $7 THEN \
    current_setting('synchronous_commit') ELSE 'off' END, true)) INSERT INTO facts (home_id, session_id, seq, home_no, fence, \
    body) SELECT $1, $4, t.seq, own.last_no - cardinality($5) + t.at, $2, t.body FROM own, durability, unnest($5, $6::bytea[]) \
    WITH ORDINALITY AS t (seq, body, at)";

const PUT_FILE: &str = "INSERT INTO files (home_id, path, kind, mode, size, modified, pieces, changed_no) VALUES ($1, $2, $3, $4, \
    $5, $6, $7, $8) ON CONFLICT (home_id, path) DO UPDATE SET kind = $3, mode = $4, size = $5, modified = $6, pieces = $7, \
    changed_no = $8";

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
    /// Pieces that no file needs any more.
    pub dropped: Vec<PieceHash>,
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

/// A home that this start of the server owns.
pub struct HomeRows {
    address: DatabaseAddress,
    home: Uuid,
    owner: Uuid,
    fence: i64,
    /// Cancelled once this server does not have the home any more, whatever the database says: nothing is written then.
    lost: CancellationToken,
    /// Facts do not wait for files: each has a connection of its own.
    facts: Mutex<Option<Connected>>,
    files: Mutex<Option<Connected>>,
}

struct Connected {
    client: Client,
    append: Statement,
    put_file: Statement,
}

enum Write<'a> {
    Append { session: &'a str, facts: &'a [FactRow], durability: FactDurability },
    ReplaceFacts { session: &'a str, facts: &'a [FactRow] },
    Pieces(&'a [Piece]),
    Files(&'a FileCommit),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Attempt {
    First,
    /// The outcome of the one before is unknown.
    Repeated,
}

impl HomeRows {
    /// Returns the rows of a home that was just claimed.
    pub(super) fn owned(address: DatabaseAddress, (home, owner): (Uuid, Uuid), fence: i64) -> Self {
        let lost = CancellationToken::new();
        Self { address, home, owner, fence, lost, facts: Mutex::default(), files: Mutex::default() }
    }

    /// Returns a token that is cancelled once this server does not have the home any more. Whoever cancels it gives it up.
    pub fn lost(&self) -> &CancellationToken {
        &self.lost
    }

    /// Gives the home up.
    pub async fn release(&self) -> Result<(), DatabaseError> {
        if self.lost.is_cancelled() {
            return Err(DatabaseError::Fenced);
        }
        let mut slot = self.files.lock().await;
        let connected = self.connected(&mut slot).await?;
        let give_up =
            "UPDATE homes SET owner = NULL, last_owner = owner WHERE home_id = $1 AND fence = $2 AND owner = $3";
        let given_up = connected.client.execute(give_up, &self.identity()).await;
        given_up.map(drop).map_err(DatabaseError::doing("releasing the home"))
    }

    /// Appends facts of a session in one round trip, all or none.
    ///
    /// # Errors
    /// Returns [`DatabaseError::Fenced`] if another server owns the home. If the database does not answer for
    /// [`PATIENCE`], it is unknown whether the facts are stored.
    pub async fn append(
        &self,
        session: &str,
        facts: &[FactRow],
        durability: FactDurability,
    ) -> Result<(), DatabaseError> {
        self.write(&self.facts, &Write::Append { session, facts, durability }).await
    }

    /// Makes these the only facts of a session.
    pub async fn replace_facts(&self, session: &str, facts: &[FactRow]) -> Result<(), DatabaseError> {
        self.write(&self.facts, &Write::ReplaceFacts { session, facts }).await
    }

    /// Stores pieces, before the files that need them.
    pub async fn put_pieces(&self, pieces: &[Piece]) -> Result<(), DatabaseError> {
        self.write(&self.files, &Write::Pieces(pieces)).await
    }

    /// Stores changes of files, all or none.
    pub async fn commit(&self, commit: &FileCommit) -> Result<(), DatabaseError> {
        self.write(&self.files, &Write::Files(commit)).await
    }

    /// Returns the last commit of files and all files, after every commit of this server has ended.
    ///
    /// # Errors
    /// Returns [`DatabaseError::Fenced`] if another server owns the home.
    pub async fn settled_files(&self) -> Result<(Option<Uuid>, Vec<FileRow>), DatabaseError> {
        if self.lost.is_cancelled() {
            return Err(DatabaseError::Fenced);
        }
        let mut slot = self.files.lock().await;
        *slot = None;
        let connected = self.connected(&mut slot).await?;
        // A commit whose answer was lost holds the row until it has ended.
        let wait = "SELECT files_commit FROM homes WHERE home_id = $1 AND fence = $2 AND owner = $3 FOR UPDATE";
        let waited = tokio::time::timeout(WRITE_LIMIT, connected.client.query_opt(wait, &self.identity())).await;
        let interrupted = || DatabaseError::Interrupted { reason: "it did not answer in time".to_owned() };
        let found = waited.map_err(|_| interrupted())?.map_err(DatabaseError::doing("looking for files"))?;
        let commit = found.ok_or(DatabaseError::Fenced)?.get(0);
        Ok((commit, StoredHome::open(&self.address, self.home).await?.files().await?))
    }

    async fn write(&self, slot: &Mutex<Option<Connected>>, write: &Write<'_>) -> Result<(), DatabaseError> {
        let written = async {
            let written = self.write_patiently(slot, write).await;
            if matches!(written, Err(DatabaseError::Fenced)) {
                self.lost.cancel();
            }
            written
        };
        tokio::select! {
            biased;
            () = self.lost.cancelled() => Err(DatabaseError::Fenced),
            written = written => written,
        }
    }

    async fn write_patiently(&self, slot: &Mutex<Option<Connected>>, write: &Write<'_>) -> Result<(), DatabaseError> {
        let mut slot = slot.lock().await;
        let since = Instant::now();
        let (mut attempt, mut pause) = (Attempt::First, PAUSE);
        loop {
            let tried = tokio::time::timeout(WRITE_LIMIT, self.try_write(&mut slot, (write, attempt))).await;
            let error = match tried {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(error)) => error,
                Err(_) => DatabaseError::Interrupted { reason: "it did not answer in time".to_owned() },
            };
            if !error.is_transient() {
                return Err(error);
            }
            // The connection may still have an answer of the write before.
            *slot = None;
            if since.elapsed() >= PATIENCE {
                return Err(error);
            }
            tracing::warn!(%error, "the database does not answer; trying again");
            attempt = Attempt::Repeated;
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(MAX_PAUSE);
        }
    }

    async fn connected<'s>(&self, slot: &'s mut Option<Connected>) -> Result<&'s mut Connected, DatabaseError> {
        if slot.is_none() {
            let client = Database::connect(&self.address).await?.into_client();
            let prepared = futures_util::try_join!(client.prepare(APPEND), client.prepare(PUT_FILE));
            let (append, put_file) = prepared.map_err(DatabaseError::doing("preparing statements"))?;
            *slot = Some(Connected { client, append, put_file });
        }
        Ok(slot.as_mut().expect("filled just above"))
    }

    async fn try_write(
        &self,
        slot: &mut Option<Connected>,
        (write, attempt): (&Write<'_>, Attempt),
    ) -> Result<(), DatabaseError> {
        let connected = self.connected(slot).await?;
        match write {
            Write::Append { session, facts, durability } => {
                if attempt == Attempt::Repeated && self.is_stored(connected, (session, facts)).await? {
                    return Ok(());
                }
                self.append_once(connected, (session, facts), *durability).await
            }
            Write::ReplaceFacts { session, facts } => self.replace_once(connected, (session, facts)).await,
            Write::Pieces(pieces) => self.put_once(connected, pieces).await,
            Write::Files(commit) => self.commit_once(connected, commit).await,
        }
    }

    async fn append_once(
        &self,
        connected: &Connected,
        (session, facts): (&str, &[FactRow]),
        durability: FactDurability,
    ) -> Result<(), DatabaseError> {
        let numbers: Vec<i64> = facts.iter().map(|fact| fact.seq).collect();
        let bodies: Vec<&[u8]> = facts.iter().map(|fact| &*fact.body).collect();
        let is_synced = durability == FactDurability::Synced;
        let [home, fence, owner] = self.identity();
        let values: [&(dyn ToSql + Sync); 7] = [home, fence, owner, &session, &numbers, &bodies, &is_synced];
        let stored = connected.client.execute(&connected.append, &values).await;
        match stored.map_err(DatabaseError::doing("storing facts"))? {
            0 => Err(DatabaseError::Fenced),
            _ => Ok(()),
        }
    }

    /// Whether facts are stored already.
    async fn is_stored(
        &self,
        connected: &Connected,
        (session, facts): (&str, &[FactRow]),
    ) -> Result<bool, DatabaseError> {
        let numbers: Vec<i64> = facts.iter().map(|fact| fact.seq).collect();
        let find = "SELECT seq, body FROM facts WHERE home_id = $1 AND session_id = $2 AND seq = ANY($3) ORDER BY seq";
        let values: [&(dyn ToSql + Sync); 3] = [&self.home, &session, &numbers];
        let found = connected.client.query(find, &values).await.map_err(DatabaseError::doing("looking for facts"))?;
        let found: Vec<FactRow> = found.iter().map(|row| FactRow { seq: row.get(0), body: row.get(1) }).collect();
        match found.is_empty() {
            true => Ok(false),
            false if found == facts => Ok(true),
            false => Err(DatabaseError::Fenced),
        }
    }

    async fn replace_once(
        &self,
        connected: &mut Connected,
        (session, facts): (&str, &[FactRow]),
    ) -> Result<(), DatabaseError> {
        let doing = || DatabaseError::doing("replacing facts");
        let numbers: Vec<i64> = facts.iter().map(|fact| fact.seq).collect();
        let bodies: Vec<&[u8]> = facts.iter().map(|fact| &*fact.body).collect();
        let transaction = connected.client.transaction().await.map_err(doing())?;
        let remove = "DELETE FROM facts WHERE home_id = $1 AND session_id = $2";
        transaction.execute(remove, &[&self.home, &session]).await.map_err(doing())?;
        let [home, fence, owner] = self.identity();
        let values: [&(dyn ToSql + Sync); 7] = [home, fence, owner, &session, &numbers, &bodies, &true];
        // It also compares the owner.
        let stored = transaction.execute(&connected.append, &values).await.map_err(doing())?;
        if stored == 0 {
            let number = "UPDATE homes SET last_no = last_no + 1 WHERE home_id = $1 AND fence = $2 AND owner = $3";
            if transaction.execute(number, &self.identity()).await.map_err(doing())? == 0 {
                return Err(DatabaseError::Fenced);
            }
        }
        transaction.commit().await.map_err(doing())
    }

    async fn put_once(&self, connected: &Connected, pieces: &[Piece]) -> Result<(), DatabaseError> {
        let hashes: Vec<&[u8]> = pieces.iter().map(|piece| &piece.sha256[..]).collect();
        let bytes: Vec<&[u8]> = pieces.iter().map(|piece| &*piece.packed).collect();
        let put = "INSERT INTO pieces (home_id, sha256, bytes) SELECT $1, t.* FROM unnest($4::bytea[], $5::bytea[]) AS t WHERE \
                   EXISTS (SELECT FROM homes WHERE home_id = $1 AND fence = $2 AND owner = $3) ON CONFLICT DO NOTHING";
        let [home, fence, owner] = self.identity();
        let values: [&(dyn ToSql + Sync); 5] = [home, fence, owner, &hashes, &bytes];
        connected.client.execute(put, &values).await.map(drop).map_err(DatabaseError::doing("storing pieces of files"))
    }

    async fn commit_once(&self, connected: &mut Connected, commit: &FileCommit) -> Result<(), DatabaseError> {
        let doing = || DatabaseError::doing("storing files");
        let put_file = connected.put_file.clone();
        let transaction = connected.client.transaction().await.map_err(doing())?;
        let own = "UPDATE homes SET last_no = last_no + 1, files_commit = $4 WHERE home_id = $1 AND fence = $2 AND owner = $3 \
                   RETURNING last_no";
        let [home, fence, owner] = self.identity();
        let owned = transaction.query_opt(own, &[home, fence, owner, &commit.id]).await.map_err(doing())?;
        let number: i64 = owned.ok_or(DatabaseError::Fenced)?.get(0);
        if !commit.gone.is_empty() {
            let remove = "DELETE FROM files WHERE home_id = $1 AND path = ANY($2)";
            transaction.execute(remove, &[&self.home, &commit.gone]).await.map_err(doing())?;
        }
        let put = commit.put.iter().map(|row| self.put_row((&transaction, &put_file), row, number));
        try_join_all(put).await.map_err(doing())?;
        if !commit.dropped.is_empty() {
            let dropped: Vec<&[u8]> = commit.dropped.iter().map(|hash| &hash[..]).collect();
            let drop_pieces = "DELETE FROM pieces AS piece WHERE home_id = $1 AND sha256 = ANY($2) AND NOT EXISTS (SELECT FROM files \
                               WHERE files.home_id = $1 AND files.pieces @> ARRAY[piece.sha256])";
            transaction.execute(drop_pieces, &[&self.home, &dropped]).await.map_err(doing())?;
        }
        transaction.commit().await.map_err(doing())
    }

    async fn put_row(
        &self,
        (transaction, put_file): (&tokio_postgres::Transaction<'_>, &Statement),
        row: &FileRow,
        number: i64,
    ) -> Result<u64, tokio_postgres::Error> {
        let kind: i16 = match row.kind {
            RowKind::Folder => 0,
            RowKind::File => 1,
            RowKind::Link => 2,
        };
        let mode = i32::try_from(row.mode & 0o7777).expect("twelve bits");
        let size = i64::try_from(row.size).unwrap_or(i64::MAX);
        let pieces: Vec<&[u8]> = row.pieces.iter().map(|hash| &hash[..]).collect();
        let values: [&(dyn ToSql + Sync); 8] =
            [&self.home, &row.path, &kind, &mode, &size, &row.modified, &pieces, &number];
        transaction.execute(put_file, &values).await
    }

    pub(super) fn address(&self) -> &DatabaseAddress {
        &self.address
    }

    pub(super) fn identity(&self) -> [&(dyn ToSql + Sync); 3] {
        [&self.home, &self.fence, &self.owner]
    }
}
