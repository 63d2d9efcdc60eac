//! Changes of a library in the database. Each is one transaction, and can be repeated if its outcome is unknown.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Transaction};

use super::error::DatabaseError;
use super::library_rows::LibraryModel;
use super::link::{Attempt, HomeLink, Value, Write};
use crate::domain::library_rows::{ChunkId, ChunkRow, LibraryFile};

/// Chunks that one statement adds.
const ADDED: usize = 500;
/// The most numbers of a `halfvec` that pgvector's HNSW indexes.
const MAX_DIMENSION: u32 = 4000;

const LOCK: &str = "SELECT library_id, model FROM libraries WHERE home_id = $1 AND name = $2 AND fence = $3 FOR UPDATE";
const CREATE: &str = "INSERT INTO libraries (home_id, name, tag, fence) SELECT home_id, $4, $5, fence FROM homes WHERE home_id = $1 AND \
    fence = $2 AND owner = $3 FOR KEY SHARE ON CONFLICT (home_id, name) DO NOTHING";

pub(super) enum Change<'a> {
    Create { tag: &'a str },
    Put(&'a [LibraryFile]),
    Remove(&'a [String]),
    States(&'a [(String, String)]),
    Complete,
    Model(&'a LibraryModel),
    Vectors(&'a [(i64, Vec<f32>)]),
    Delete,
}

/// A change of the library of this name.
pub(super) struct LibraryWrite<'a> {
    pub name: &'a str,
    pub change: Change<'a>,
}

/// The names of the tables of a library.
#[derive(Clone, Copy)]
pub(super) struct Tables(pub i32);

impl Tables {
    pub fn files(self) -> String {
        self.named("files")
    }

    pub fn chunks(self) -> String {
        self.named("chunks")
    }

    pub fn terms(self) -> String {
        self.named("terms")
    }

    pub fn vectors(self) -> String {
        self.named("vectors")
    }

    pub fn all(self) -> [String; 4] {
        [self.files(), self.chunks(), self.terms(), self.vectors()]
    }

    fn named(self, part: &str) -> String {
        format!("library_{}_{part}", self.0)
    }

    /// Rows of chunks have about 4 KB: moving parts of them out of line would cost a search one more access for each.
    fn definition(self) -> String {
        let (files, chunks, terms) = (self.files(), self.chunks(), self.terms());
        format!(
            "CREATE TABLE IF NOT EXISTS {files} (file_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, path text NOT NULL UNIQUE, state \
             text NOT NULL, chunks bigint NOT NULL, length bigint NOT NULL, windows bigint NOT NULL, centres bigint NOT NULL, embedded bigint \
             NOT NULL DEFAULT 0);
             CREATE TABLE IF NOT EXISTS {chunks} (chunk_id bigint PRIMARY KEY, file_order bigint NOT NULL, key bigint NOT NULL, script \
             smallint NOT NULL, words integer NOT NULL, terms bigint[] NOT NULL, sequence bytea NOT NULL, units bytea NOT NULL, start integer \
             NOT NULL, first_line integer NOT NULL, last_line integer NOT NULL, body bytea NOT NULL) WITH (toast_tuple_target = 8160);
             CREATE INDEX IF NOT EXISTS {chunks}_key ON {chunks} (key);
             CREATE INDEX IF NOT EXISTS {chunks}_by_term ON {chunks} USING gin (terms);
             CREATE TABLE IF NOT EXISTS {terms} (term bigint PRIMARY KEY, chunks bigint NOT NULL) WITH (fillfactor = 70)"
        )
    }

    fn vectors_definition(self, dimension: u32) -> String {
        let vectors = self.vectors();
        format!(
            "DROP TABLE IF EXISTS {vectors};
             CREATE TABLE {vectors} (key bigint PRIMARY KEY, script smallint NOT NULL, v halfvec({dimension}) NOT NULL);
             ALTER TABLE {vectors} ALTER COLUMN v SET STORAGE PLAIN;
             CREATE INDEX {vectors}_near ON {vectors} USING hnsw (v halfvec_cosine_ops) WITH (m = 16, ef_construction = 64)"
        )
    }
}

/// # Errors
/// Returns [`DatabaseError::NoVectors`] if pgvector is neither in the database nor can be put there, and other errors if it is too old
/// or has no index for vectors of so many numbers.
pub(super) async fn vectors_are_possible(client: &Client, dimension: u32) -> Result<(), DatabaseError> {
    if dimension > MAX_DIMENSION {
        return Err(DatabaseError::LongVectors { found: dimension, most: MAX_DIMENSION });
    }
    let find = "SELECT extversion FROM pg_extension WHERE extname = 'vector'";
    let look = || async {
        let found = client.query_typed_opt(find, &[]).await.map_err(DatabaseError::doing("looking for pgvector"))?;
        Ok::<_, DatabaseError>(found.map(|row| row.get::<_, String>(0)))
    };
    let found = match look().await? {
        Some(found) => found,
        None => {
            let made = client.batch_execute("CREATE EXTENSION IF NOT EXISTS vector").await;
            made.map_err(|error| if error.code().is_some() { DatabaseError::NoVectors } else { doing(error) })?;
            look().await?.ok_or(DatabaseError::NoVectors)?
        }
    };
    if version(&found) < (0, 8) { Err(DatabaseError::OldVectors { found }) } else { Ok(()) }
}

/// Returns the first two numbers of a version.
fn version(text: &str) -> (u32, u32) {
    let mut numbers = text.split('.').map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

fn doing(error: tokio_postgres::Error) -> DatabaseError {
    DatabaseError::doing("changing a library")(error)
}

impl Write for LibraryWrite<'_> {
    /// A large file is one change.
    const LIMIT: Duration = Duration::from_secs(180);

    async fn once(&self, link: &HomeLink, client: &mut Client, _: Attempt) -> Result<(), DatabaseError> {
        let transaction = client.transaction().await.map_err(doing)?;
        if self.apply(link, &transaction).await? {
            return transaction.commit().await.map_err(doing);
        }
        drop(transaction);
        Err(link.refusal(client).await)
    }
}

impl LibraryWrite<'_> {
    /// Returns `false` if the library is not this server's.
    async fn apply(&self, link: &HomeLink, transaction: &Transaction<'_>) -> Result<bool, DatabaseError> {
        let owned = &link.owned;
        if let Change::Create { tag } = &self.change {
            let [home, fence] = [(&owned.home as _, Type::UUID), (&owned.fence as _, Type::INT8)];
            let rest: [Value<'_>; 3] = [(&owned.owner, Type::UUID), (&self.name, Type::TEXT), (tag, Type::TEXT)];
            let [owner, name, tag] = rest;
            transaction.execute_typed(CREATE, &[home, fence, owner, name, tag]).await.map_err(doing)?;
        }
        let values: [Value<'_>; 3] = [(&owned.home, Type::UUID), (&self.name, Type::TEXT), (&owned.fence, Type::INT8)];
        let Some(row) = transaction.query_typed_opt(LOCK, &values).await.map_err(doing)? else {
            // There is nothing to delete if an attempt before this one has done it.
            return Ok(matches!(self.change, Change::Delete));
        };
        let tables = Tables(row.get(0));
        let has_vectors = row.get::<_, Option<&str>>(1).is_some();
        let changed = Changed { transaction, tables, has_vectors };
        match &self.change {
            Change::Create { .. } => transaction.batch_execute(&tables.definition()).await.map_err(doing)?,
            Change::Put(files) => {
                changed.remove(&files.iter().map(|file| file.path.clone()).collect::<Vec<_>>()).await?;
                changed.add(files).await?;
            }
            Change::Remove(paths) => {
                changed.remove(paths).await?;
                changed.count().await?;
            }
            Change::States(files) => changed.set_states(files).await?,
            Change::Complete => changed.run("UPDATE libraries SET complete = true WHERE library_id = $1").await?,
            Change::Model(model) => changed.set_model(model).await?,
            Change::Vectors(vectors) => changed.add_vectors(vectors).await?,
            Change::Delete => changed.run("DELETE FROM libraries WHERE library_id = $1").await?,
        }
        Ok(true)
    }
}

/// A library that is changed.
struct Changed<'a> {
    transaction: &'a Transaction<'a>,
    tables: Tables,
    has_vectors: bool,
}

impl Changed<'_> {
    async fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<(), DatabaseError> {
        self.transaction.execute_typed(sql, values).await.map(drop).map_err(doing)
    }

    async fn run(&self, sql: &str) -> Result<(), DatabaseError> {
        self.execute(sql, &[(&self.tables.0, Type::INT4)]).await
    }

    /// Brings the figures of the library up to date with those of its files.
    async fn count(&self) -> Result<(), DatabaseError> {
        let files = self.tables.files();
        self.run(&format!(
            "UPDATE libraries SET (chunks, length, windows, centres, embedded) = (SELECT coalesce(sum(chunks), 0), coalesce(sum(length), 0), \
             coalesce(sum(windows), 0), coalesce(sum(centres), 0), coalesce(sum(embedded), 0) FROM {files}) WHERE library_id = $1"
        ))
        .await
    }

    async fn remove(&self, paths: &[String]) -> Result<(), DatabaseError> {
        let (files, chunks, terms) = (self.tables.files(), self.tables.chunks(), self.tables.terms());
        let remove = format!("DELETE FROM {files} WHERE path = ANY($1) RETURNING file_no");
        let removed = self.transaction.query_typed(&remove, &[(&paths, Type::TEXT_ARRAY)]).await.map_err(doing)?;
        let numbers: Vec<i64> = removed.iter().map(|row| row.get(0)).collect();
        if numbers.is_empty() {
            return Ok(());
        }
        let remove = format!(
            "WITH gone AS (DELETE FROM {chunks} AS c USING unnest($1) AS f (no) WHERE chunk_id >= f.no << {bits} AND chunk_id < (f.no + 1) << \
             {bits} RETURNING c.terms, c.key), counted AS (SELECT term, count(*) AS chunks FROM gone, unnest(gone.terms) AS term GROUP BY \
             term), fewer AS (UPDATE {terms} AS t SET chunks = t.chunks - counted.chunks FROM counted WHERE t.term = counted.term RETURNING \
             t.term, t.chunks) SELECT coalesce((SELECT array_agg(DISTINCT key) FROM gone), '{{}}'), coalesce((SELECT array_agg(term) FROM fewer \
             WHERE fewer.chunks <= 0), '{{}}')",
            bits = ChunkId::PLACE_BITS
        );
        let gone = self.transaction.query_typed_one(&remove, &[(&numbers, Type::INT8_ARRAY)]).await.map_err(doing)?;
        let (keys, unused): (Vec<i64>, Vec<i64>) = (gone.get(0), gone.get(1));
        self.execute(&format!("DELETE FROM {terms} WHERE term = ANY($1)"), &[(&unused, Type::INT8_ARRAY)]).await?;
        if self.has_vectors {
            let vectors = self.tables.vectors();
            let remove = format!(
                "DELETE FROM {vectors} AS v WHERE v.key = ANY($1) AND NOT EXISTS (SELECT FROM {chunks} AS c WHERE c.key = v.key)"
            );
            self.execute(&remove, &[(&keys, Type::INT8_ARRAY)]).await?;
        }
        Ok(())
    }

    async fn add(&self, added: &[LibraryFile]) -> Result<(), DatabaseError> {
        let files = self.tables.files();
        let paths: Vec<&str> = added.iter().map(|file| file.path.as_str()).collect();
        let states: Vec<&str> = added.iter().map(|file| file.state.as_str()).collect();
        let column = |value: fn(&LibraryFile) -> i64| added.iter().map(value).collect::<Vec<i64>>();
        let chunks = column(|file| i64::try_from(file.chunks.len()).unwrap_or(i64::MAX));
        let lengths = column(|file| file.chunks.iter().map(|chunk| i64::from(chunk.words)).sum());
        let (windows, centres) = (column(|file| file.windows), column(|file| file.centres));
        let values: [Value<'_>; 6] = [
            (&paths, Type::TEXT_ARRAY),
            (&states, Type::TEXT_ARRAY),
            (&chunks, Type::INT8_ARRAY),
            (&lengths, Type::INT8_ARRAY),
            (&windows, Type::INT8_ARRAY),
            (&centres, Type::INT8_ARRAY),
        ];
        let add = format!(
            "INSERT INTO {files} (path, state, chunks, length, windows, centres) SELECT * FROM unnest($1, $2, $3, $4, $5, $6) RETURNING path, \
             file_no"
        );
        let numbered = self.transaction.query_typed(&add, &values).await.map_err(doing)?;
        let numbers: HashMap<String, i64> = numbered.iter().map(|row| (row.get(0), row.get(1))).collect();
        let mut rows = Vec::new();
        for file in added {
            let first = numbers.get(&file.path).copied().unwrap_or_default() << ChunkId::PLACE_BITS;
            rows.extend((first..).zip(&file.chunks));
        }
        for some in rows.chunks(ADDED) {
            self.add_chunks(some).await?;
        }
        self.count_embedded(numbers.into_values().collect()).await
    }

    async fn add_chunks(&self, rows: &[(i64, &ChunkRow)]) -> Result<(), DatabaseError> {
        let (chunks, terms) = (self.tables.chunks(), self.tables.terms());
        let ids: Vec<i64> = rows.iter().map(|(id, _)| *id).collect();
        let long = |value: fn(&ChunkRow) -> i64| rows.iter().map(|(_, row)| value(row)).collect::<Vec<i64>>();
        let int = |value: fn(&ChunkRow) -> i32| rows.iter().map(|(_, row)| value(row)).collect::<Vec<i32>>();
        let scripts: Vec<i16> = rows.iter().map(|(_, row)| row.script).collect();
        // An array cannot contain arrays of several lengths.
        let distinct: Vec<String> = rows.iter().map(|(_, row)| array_text(&row.sequence)).collect();
        let bytes = |value: fn(&ChunkRow) -> &[u8]| rows.iter().map(|(_, row)| value(row)).collect::<Vec<&[u8]>>();
        let (orders, keys) = (long(|row| row.file_order), long(|row| row.key));
        let (words, starts) = (int(|row| row.words), int(|row| row.start));
        let (first, last) = (int(|row| row.lines.0), int(|row| row.lines.1));
        let (sequences, units) = (bytes(|row| &row.sequence), bytes(|row| &row.units));
        let bodies = bytes(|row| &row.body);
        let values: [Value<'_>; 12] = [
            (&ids, Type::INT8_ARRAY),
            (&orders, Type::INT8_ARRAY),
            (&keys, Type::INT8_ARRAY),
            (&scripts, Type::INT2_ARRAY),
            (&words, Type::INT4_ARRAY),
            (&distinct, Type::TEXT_ARRAY),
            (&sequences, Type::BYTEA_ARRAY),
            (&units, Type::BYTEA_ARRAY),
            (&starts, Type::INT4_ARRAY),
            (&first, Type::INT4_ARRAY),
            (&last, Type::INT4_ARRAY),
            (&bodies, Type::BYTEA_ARRAY),
        ];
        let add = format!(
            "WITH new AS (INSERT INTO {chunks} (chunk_id, file_order, key, script, words, terms, sequence, units, start, first_line, last_line, \
             body) SELECT i, o, k, s, w, t::bigint[], q, u, b, f, l, j FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) AS r (i, \
             o, k, s, w, t, q, u, b, f, l, j) RETURNING {chunks}.terms) INSERT INTO {terms} AS known (term, chunks) SELECT term, count(*) FROM \
             new, unnest(new.terms) AS term GROUP BY term ORDER BY term ON CONFLICT (term) DO UPDATE SET chunks = known.chunks + \
             excluded.chunks"
        );
        self.execute(&add, &values).await
    }

    async fn set_states(&self, states: &[(String, String)]) -> Result<(), DatabaseError> {
        let files = self.tables.files();
        let (paths, states): (Vec<&str>, Vec<&str>) = states.iter().map(|(path, state)| (&**path, &**state)).unzip();
        let set = format!(
            "UPDATE {files} AS f SET state = n.state FROM unnest($1, $2) AS n (path, state) WHERE f.path = n.path"
        );
        self.execute(&set, &[(&paths, Type::TEXT_ARRAY), (&states, Type::TEXT_ARRAY)]).await
    }

    async fn set_model(&self, model: &LibraryModel) -> Result<(), DatabaseError> {
        let LibraryModel { id, dimension } = model;
        self.transaction.batch_execute(&self.tables.vectors_definition(*dimension)).await.map_err(doing)?;
        let dimension = i32::try_from(*dimension).unwrap_or(i32::MAX);
        let set = "UPDATE libraries SET model = $2, dimension = $3 WHERE library_id = $1";
        self.execute(set, &[(&self.tables.0, Type::INT4), (id, Type::TEXT), (&dimension, Type::INT4)]).await?;
        self.execute(&format!("UPDATE {} SET embedded = 0 WHERE embedded > 0", self.tables.files()), &[]).await?;
        self.count().await
    }

    async fn add_vectors(&self, added: &[(i64, Vec<f32>)]) -> Result<(), DatabaseError> {
        let (chunks, vectors) = (self.tables.chunks(), self.tables.vectors());
        let keys: Vec<i64> = added.iter().map(|(key, _)| *key).collect();
        let texts: Vec<String> = added.iter().map(|(_, vector)| vector_text(vector)).collect();
        let add = format!(
            "WITH wanted AS (SELECT c.chunk_id, c.key, c.script, n.v FROM unnest($1, $2) AS n (key, v) JOIN {chunks} AS c ON c.key = n.key), new \
             AS (INSERT INTO {vectors} (key, script, v) SELECT DISTINCT ON (key) key, script, v::halfvec FROM wanted ON CONFLICT (key) DO \
             NOTHING) SELECT DISTINCT chunk_id >> {} FROM wanted",
            ChunkId::PLACE_BITS
        );
        let values: [Value<'_>; 2] = [(&keys, Type::INT8_ARRAY), (&texts, Type::TEXT_ARRAY)];
        let files = self.transaction.query_typed(&add, &values).await.map_err(doing)?;
        self.count_embedded(files.iter().map(|row| row.get(0)).collect()).await
    }

    /// Counts the chunks of these files that have a vector.
    async fn count_embedded(&self, files: Vec<i64>) -> Result<(), DatabaseError> {
        if self.has_vectors {
            let set = format!(
                "UPDATE {files} AS f SET embedded = (SELECT count(*) FROM {chunks} AS c JOIN {vectors} AS v ON v.key = c.key WHERE c.chunk_id >= \
                 f.file_no << {bits} AND c.chunk_id < (f.file_no + 1) << {bits}) WHERE f.file_no = ANY($1)",
                files = self.tables.files(),
                chunks = self.tables.chunks(),
                vectors = self.tables.vectors(),
                bits = ChunkId::PLACE_BITS
            );
            self.execute(&set, &[(&files, Type::INT8_ARRAY)]).await?;
        }
        self.count().await
    }
}

/// Returns the distinct numbers of a sequence as PostgreSQL writes an array.
fn array_text(sequence: &[u8]) -> String {
    let (numbers, _) = sequence.as_chunks::<8>();
    let distinct: BTreeSet<i64> = numbers.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect();
    let numbers: Vec<String> = distinct.iter().map(i64::to_string).collect();
    format!("{{{}}}", numbers.join(","))
}

pub(super) fn vector_text(vector: &[f32]) -> String {
    let components: Vec<String> = vector.iter().map(f32::to_string).collect();
    format!("[{}]", components.join(","))
}
