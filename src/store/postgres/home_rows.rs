//! The rows of one home that this server owns: facts, files, and the pieces that files consist of.
//!
//! Each write compares the fence, the owner and what the database has confirmed in its own transaction.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio_postgres::Client;
use tokio_postgres::types::Type;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::address::DatabaseAddress;
use super::claim::{FORMAT, IMPORTING};
use super::counters::DatabaseFigures;
use super::error::DatabaseError;
use super::fact_queue::FactQueue;
use super::library_rows::LibraryRows;
use super::link::{Attempt, Confirmed, HomeLink, OwnedRow, Write};
use super::rows::{FactDurability, FactRow, FileCommit, FileRow, HomeDatabase, Piece, PieceHash, SessionFacts};

/// About how many bytes of pieces one statement has: on a slow connection, too, they must be there in the time of one write.
const STATEMENT_BYTES: usize = 256 << 10;
/// Pieces that one statement drops.
const DROPPED: usize = 1000;
/// Maximum time of looking for the outcome of a commit.
const SETTLE_LIMIT: Duration = Duration::from_secs(20);

const COMMIT: &str = "WITH own AS (UPDATE homes SET last_no = last_no + 1, files_commit = $5 WHERE home_id = $1 AND fence = $2 AND owner = \
    $3 AND last_no >= $4 AND files_commit IS NOT DISTINCT FROM $6 RETURNING last_no), gone AS (DELETE FROM files USING own WHERE \
    home_id = $1 AND path = ANY($7)), settled AS (DELETE FROM facts USING own WHERE home_id = $1 AND session_id = ANY($8)), new_pieces \
    AS (INSERT INTO pieces (home_id, sha256, bytes) SELECT $1, t.* FROM own, unnest($9, $10) AS t ON CONFLICT DO NOTHING), put AS \
    (INSERT INTO files (home_id, path, kind, mode, size, modified, pieces, changed_no) SELECT $1, t.path, t.kind, t.mode, t.size, \
    t.modified, ARRAY(SELECT substr(t.hashes, 1 + 32 * at, 32) FROM generate_series(0, octet_length(t.hashes) / 32 - 1) AS at ORDER BY \
    at), own.last_no FROM own, unnest($11, $12, $13, $14, $15, $16) AS t (path, kind, mode, size, modified, hashes) ON CONFLICT \
    (home_id, path) DO UPDATE SET kind = excluded.kind, mode = excluded.mode, size = excluded.size, modified = excluded.modified, pieces \
    = excluded.pieces, changed_no = excluded.changed_no) SELECT last_no FROM own";

const PUT_PIECES: &str = "WITH own AS (SELECT FROM homes WHERE home_id = $1 AND fence = $2 AND owner = $3 AND last_no >= $4 FOR UPDATE), \
    new_pieces AS (INSERT INTO pieces (home_id, sha256, bytes) SELECT $1, t.* FROM own, unnest($5, $6) AS t ON CONFLICT DO NOTHING) \
    SELECT 1 FROM own";

/// A piece is dropped only if no file names it.
const DROP_PIECES: &str = "WITH own AS (SELECT FROM homes WHERE home_id = $1 AND fence = $2 AND owner = $3 AND last_no >= $4 FOR UPDATE), \
    dropped AS (DELETE FROM pieces USING own WHERE home_id = $1 AND sha256 = ANY($5) AND NOT EXISTS (SELECT FROM files WHERE \
    files.home_id = $1 AND files.pieces @> ARRAY[pieces.sha256])) SELECT 1 FROM own";

const NUMBER: &str = "UPDATE homes SET last_no = last_no + 1 + $5::bigint WHERE home_id = $1 AND fence = $2 AND owner = $3 AND last_no >= \
    $4 RETURNING last_no";

/// An import that was under way is complete.
const RELEASE: &str = "UPDATE homes SET owner = NULL, last_owner = owner, format = CASE WHEN format = $5 THEN $6 ELSE format END WHERE \
    home_id = $1 AND fence = $2 AND owner = $3 AND last_no >= $4";

const BEGIN_IMPORT: &str =
    "UPDATE homes SET format = $5 WHERE home_id = $1 AND fence = $2 AND owner = $3 AND last_no >= $4";

/// A home that this start of the server owns.
pub struct HomeRows {
    link: Arc<HomeLink>,
    /// Facts do not wait for files.
    facts: FactQueue,
    /// Held while files are written: one change after the other.
    files: Mutex<()>,
}

/// Facts that become the only ones of a session.
struct Replaced<'a>(&'a str, &'a [FactRow]);

struct Pieces<'a>(&'a [&'a Piece]);

/// Changes of files with the pieces that are not stored yet, and the commit before.
struct Files<'a>(&'a FileCommit, &'a [&'a Piece], Option<Uuid>);

struct Dropped<'a>(&'a [PieceHash]);

struct Release;

struct BeginImport;

impl HomeRows {
    /// Returns the rows of a home that was just claimed.
    pub(super) fn owned(database: HomeDatabase, owned: OwnedRow, confirmed: Confirmed) -> Self {
        let link = Arc::new(HomeLink::new(database, owned, confirmed));
        Self { facts: FactQueue::new(link.clone()), link, files: Mutex::default() }
    }

    /// Returns a token that is cancelled once this server does not have the home any more. Whoever cancels it gives it up.
    pub fn lost(&self) -> &CancellationToken {
        &self.link.lost
    }

    /// Returns the rows of a library of this home.
    pub fn library(&self, name: &str) -> LibraryRows {
        LibraryRows::new(self.link.clone(), name)
    }

    /// Returns what was counted of the homes that share the connections of this one.
    pub fn figures(&self) -> DatabaseFigures {
        self.link.database.connections.figures()
    }

    pub(super) fn address(&self) -> &DatabaseAddress {
        &self.link.database.address
    }

    /// Looks with a connection apart from those of the writes.
    ///
    /// # Errors
    /// Returns [`DatabaseError::Fenced`] or [`DatabaseError::WentBack`] if nothing can be stored any more.
    pub(super) async fn require_own(&self, client: &Client) -> Result<(), DatabaseError> {
        self.link.require_valid()?;
        self.link.require_own(client).await.map(drop)
    }

    /// Whether nothing can be stored any more: another server has the home, or the database has gone back.
    pub fn is_void(&self) -> bool {
        self.link.require_valid().is_err()
    }

    /// Whether the database lacks something that it had confirmed: nothing is stored any more until the server starts again.
    pub fn has_gone_back(&self) -> bool {
        self.link.require_valid().is_err_and(|error| matches!(error, DatabaseError::WentBack))
    }

    /// Gives the home up.
    pub async fn release(&self) -> Result<(), DatabaseError> {
        self.write(&Release).await
    }

    /// Says that what is stored is a part of a home until the home is given up.
    pub async fn begin_import(&self) -> Result<(), DatabaseError> {
        self.write(&BeginImport).await
    }

    /// Appends facts of a session, all or none. Those of several sessions that wait go in one statement.
    ///
    /// # Errors
    /// Returns [`DatabaseError::Fenced`] if another server owns the home. If the database does not answer for a while, it is unknown
    /// whether the facts are stored.
    pub async fn append(&self, facts: SessionFacts, durability: FactDurability) -> Result<(), DatabaseError> {
        self.facts.append(facts, durability).await
    }

    /// Makes these the only facts of a session.
    pub async fn replace_facts(&self, session: &str, facts: &[FactRow]) -> Result<(), DatabaseError> {
        self.write(&Replaced(session, facts)).await
    }

    /// Stores pieces before the files that need them, in statements of a bounded size.
    pub async fn put_pieces(&self, pieces: &[Piece]) -> Result<(), DatabaseError> {
        let mut left = pieces;
        while !left.is_empty() {
            let (some, rest) = left.split_at(statement(left));
            self.write(&Pieces(&some.iter().collect::<Vec<_>>())).await?;
            left = rest;
        }
        Ok(())
    }

    /// Stores changes of files, all or none, with their pieces. `before` is the commit before this one.
    pub async fn commit(
        &self,
        commit: &FileCommit,
        pieces: &[Piece],
        before: Option<Uuid>,
    ) -> Result<(), DatabaseError> {
        let (first, with_files) = pieces.split_at(pieces.len() - last_statement(pieces));
        self.put_pieces(first).await?;
        self.link.expect_commits(&[before, Some(commit.id)]);
        self.write(&Files(commit, &with_files.iter().collect::<Vec<_>>(), before)).await?;
        self.link.expect_commits(&[Some(commit.id)]);
        Ok(())
    }

    /// Removes pieces that no file needs any more.
    pub async fn drop_pieces(&self, dropped: &[PieceHash]) -> Result<(), DatabaseError> {
        for some in dropped.chunks(DROPPED) {
            self.write(&Dropped(some)).await?;
        }
        Ok(())
    }

    /// Returns the last commit of files, after every commit of this server has ended.
    ///
    /// # Errors
    /// Returns [`DatabaseError::Fenced`] if another server owns the home.
    pub async fn settled_commit(&self) -> Result<Option<Uuid>, DatabaseError> {
        self.link.require_valid()?;
        let _no_other = self.files.lock().await;
        // A commit whose answer was lost holds the row until it has ended.
        self.link.write(&Pieces(&[])).await?;
        let found = tokio::time::timeout(SETTLE_LIMIT, async {
            let client = self.link.lease().await?;
            let state = self.link.require_own(&client).await?;
            client.give_back();
            Ok(state)
        });
        let interrupted = || DatabaseError::Interrupted { reason: "it did not answer in time".to_owned() };
        let commit = found.await.map_err(|_| interrupted())??.files_commit;
        self.link.expect_commits(&[commit]);
        Ok(commit)
    }

    /// Whether a crash of the database has lost facts that it was allowed to lose, since this was asked last.
    pub fn take_lost_facts(&self) -> bool {
        self.link.take_lost_facts()
    }

    async fn write(&self, write: &impl Write) -> Result<(), DatabaseError> {
        let _no_other = self.files.lock().await;
        self.link.write(write).await
    }
}

/// Returns how many of these pieces go in the next statement: at least one.
fn statement(pieces: &[Piece]) -> usize {
    let mut size = 0;
    let fits = |piece: &&Piece| {
        size += piece.packed.len();
        size <= STATEMENT_BYTES
    };
    pieces.iter().take_while(fits).count().max(1)
}

/// Returns how many of the last pieces go in the statement with the files.
fn last_statement(pieces: &[Piece]) -> usize {
    let mut size = 0;
    let fits = |piece: &&Piece| {
        size += piece.packed.len();
        size <= STATEMENT_BYTES
    };
    pieces.iter().rev().take_while(fits).count()
}

impl Write for Pieces<'_> {
    async fn once(&self, link: &HomeLink, client: &mut Client, _: Attempt) -> Result<(), DatabaseError> {
        let hashes: Vec<&[u8]> = self.0.iter().map(|piece| &piece.sha256[..]).collect();
        let bytes: Vec<&[u8]> = self.0.iter().map(|piece| &*piece.packed).collect();
        let least = link.least_no();
        let [home, fence, owner, least] = link.identity(&least);
        let values = [home, fence, owner, least, (&hashes, Type::BYTEA_ARRAY), (&bytes, Type::BYTEA_ARRAY)];
        let put = client.query_typed_opt(PUT_PIECES, &values).await;
        match put.map_err(DatabaseError::doing("storing pieces of files"))? {
            Some(_) => Ok(()),
            None => Err(link.refusal(client).await),
        }
    }
}

impl Write for Dropped<'_> {
    async fn once(&self, link: &HomeLink, client: &mut Client, _: Attempt) -> Result<(), DatabaseError> {
        let hashes: Vec<&[u8]> = self.0.iter().map(|hash| &hash[..]).collect();
        let least = link.least_no();
        let [home, fence, owner, least] = link.identity(&least);
        let values = [home, fence, owner, least, (&hashes, Type::BYTEA_ARRAY)];
        let dropped = client.query_typed_opt(DROP_PIECES, &values).await;
        match dropped.map_err(DatabaseError::doing("dropping pieces of files"))? {
            Some(_) => Ok(()),
            None => Err(link.refusal(client).await),
        }
    }
}

impl Write for Files<'_> {
    async fn once(&self, link: &HomeLink, client: &mut Client, _: Attempt) -> Result<(), DatabaseError> {
        let Self(FileCommit { id, put, gone, settled }, pieces, before) = self;
        let hashes: Vec<&[u8]> = pieces.iter().map(|piece| &piece.sha256[..]).collect();
        let bytes: Vec<&[u8]> = pieces.iter().map(|piece| &*piece.packed).collect();
        let rows = Columns::of(put);
        let least = link.least_no();
        let [home, fence, owner, least] = link.identity(&least);
        let values = [
            home,
            fence,
            owner,
            least,
            (id, Type::UUID),
            (before, Type::UUID),
            (gone, Type::BYTEA_ARRAY),
            (settled, Type::TEXT_ARRAY),
            (&hashes, Type::BYTEA_ARRAY),
            (&bytes, Type::BYTEA_ARRAY),
            (&rows.paths, Type::BYTEA_ARRAY),
            (&rows.kinds, Type::INT2_ARRAY),
            (&rows.modes, Type::INT4_ARRAY),
            (&rows.sizes, Type::INT8_ARRAY),
            (&rows.modified, Type::INT8_ARRAY),
            (&rows.hashes, Type::BYTEA_ARRAY),
        ];
        let stored = client.query_typed_opt(COMMIT, &values).await.map_err(DatabaseError::doing("storing files"))?;
        if let Some(row) = stored {
            link.confirm(row.get(0), FactDurability::Synced);
            return Ok(());
        }
        match link.require_own(client).await {
            // An attempt before this one has stored it.
            Ok(state) if state.files_commit == Some(*id) => Ok(()),
            Ok(_) => Err(DatabaseError::Interrupted { reason: "the home was changed at the same time".to_owned() }),
            Err(error) => Err(error),
        }
    }
}

/// The fields of rows, each as one array.
#[derive(Default)]
struct Columns<'a> {
    paths: Vec<&'a [u8]>,
    kinds: Vec<i16>,
    modes: Vec<i32>,
    sizes: Vec<i64>,
    modified: Vec<i64>,
    hashes: Vec<Vec<u8>>,
}

impl<'a> Columns<'a> {
    fn of(rows: &'a [FileRow]) -> Self {
        let mut columns = Self::default();
        for row in rows {
            columns.paths.push(&row.path);
            columns.kinds.push(row.kind.number());
            columns.modes.push(i32::try_from(row.mode & 0o7777).expect("twelve bits"));
            columns.sizes.push(i64::try_from(row.size).unwrap_or(i64::MAX));
            columns.modified.push(row.modified);
            columns.hashes.push(row.pieces.concat());
        }
        columns
    }
}

impl Write for Replaced<'_> {
    async fn once(&self, link: &HomeLink, client: &mut Client, _: Attempt) -> Result<(), DatabaseError> {
        let Self(session, facts) = self;
        let doing = || DatabaseError::doing("replacing facts");
        let numbers: Vec<i64> = facts.iter().map(|fact| fact.seq).collect();
        let bodies: Vec<&[u8]> = facts.iter().map(|fact| &*fact.body).collect();
        let count = i64::try_from(facts.len()).unwrap_or(i64::MAX);
        let least = link.least_no();
        let [home, fence, owner, least] = link.identity(&least);
        let transaction = client.transaction().await.map_err(doing())?;
        let number = [home.clone(), fence.clone(), owner, least, (&count, Type::INT8)];
        let numbered = transaction.query_typed_opt(NUMBER, &number).await.map_err(doing())?;
        let Some(number) = numbered.map(|row| row.get::<_, i64>(0)) else {
            drop(transaction);
            return Err(link.refusal(client).await);
        };
        let remove = "DELETE FROM facts WHERE home_id = $1 AND session_id = $2";
        transaction.execute_typed(remove, &[home.clone(), (session, Type::TEXT)]).await.map_err(doing())?;
        let add = "INSERT INTO facts (home_id, session_id, seq, home_no, fence, body) SELECT $1, $3, t.seq, $4 - cardinality($5) + t.at, \
                   $2, t.body FROM unnest($5, $6) WITH ORDINALITY AS t (seq, body, at)";
        let values = [
            home,
            fence,
            (session, Type::TEXT),
            (&number, Type::INT8),
            (&numbers, Type::INT8_ARRAY),
            (&bodies, Type::BYTEA_ARRAY),
        ];
        transaction.execute_typed(add, &values).await.map_err(doing())?;
        transaction.commit().await.map_err(doing())?;
        link.confirm(number, FactDurability::Synced);
        Ok(())
    }
}

impl Write for Release {
    async fn once(&self, link: &HomeLink, client: &mut Client, _: Attempt) -> Result<(), DatabaseError> {
        let least = link.least_no();
        let [home, fence, owner, least] = link.identity(&least);
        let values = [home, fence, owner, least, (&IMPORTING, Type::INT4), (&FORMAT, Type::INT4)];
        let released = client.execute_typed(RELEASE, &values).await;
        // Where another server has the home already, there is nothing to give up.
        released.map(drop).map_err(DatabaseError::doing("releasing the home"))
    }
}

impl Write for BeginImport {
    async fn once(&self, link: &HomeLink, client: &mut Client, _: Attempt) -> Result<(), DatabaseError> {
        let least = link.least_no();
        let [home, fence, owner, least] = link.identity(&least);
        let values = [home, fence, owner, least, (&IMPORTING, Type::INT4)];
        match client.execute_typed(BEGIN_IMPORT, &values).await.map_err(DatabaseError::doing("beginning an import"))? {
            0 => Err(link.refusal(client).await),
            _ => Ok(()),
        }
    }
}
