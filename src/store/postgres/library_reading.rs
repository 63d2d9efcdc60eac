//! Reading a library in the database at one moment: the candidates of a search and what is known of them.

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::connection::answered;
use super::connections::Lease;
use super::error::DatabaseError;
use super::library_changes::{Tables, vector_text};
use super::library_rows::{LibraryModel, OpenedLibrary};
use super::link::Value;
use crate::domain::library_rows::{ChunkId, ChunkRow, FetchedRow, LibraryTotals, ScriptMean, WordMatch};

/// A plan that reads a whole table takes seconds where there are a million rows, and PostgreSQL prefers it where pages are said to be
/// slow. HNSW returns at most `ef_search` rows, and goes on where too few of them are wanted.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL enable_seqscan = off; SET LOCAL random_page_cost = 1.1; \
    SET LOCAL jit = off; SET LOCAL statement_timeout = '10s'; SET LOCAL hnsw.ef_search = 200; SET LOCAL hnsw.iterative_scan = strict_order";

const DOING: &str = "searching a library";
const COLUMNS: &str = "c.chunk_id, c.file_order, c.key, c.script, c.words, c.sequence, c.units, c.start, c.first_line, c.last_line, c.body";

/// Enough chunks for their mean vector.
const MEAN_CHUNKS: i64 = 20_000;

/// What a library is at one moment.
pub struct LibraryReading {
    client: Lease,
    library: OpenedLibrary,
    tables: Tables,
}

impl LibraryReading {
    pub(super) async fn begin(client: Lease, library: OpenedLibrary) -> Result<Self, DatabaseError> {
        answered(client.batch_execute(BEGIN), DOING).await?;
        let tables = Tables(library.id);
        Ok(Self { client, library, tables })
    }

    /// Returns the connection if it can be used again.
    pub(super) async fn end(self) -> Option<Lease> {
        answered(self.client.batch_execute("COMMIT"), DOING).await.is_ok().then_some(self.client)
    }

    pub async fn totals(&self) -> Result<LibraryTotals, DatabaseError> {
        let find = "SELECT chunks, length, windows, centres, embedded FROM libraries WHERE library_id = $1";
        let found = answered(self.client.query_typed_opt(find, &[(&self.library.id, Type::INT4)]), DOING).await?;
        Ok(found.map_or_else(LibraryTotals::default, |row| LibraryTotals {
            chunks: row.get(0),
            length: row.get(1),
            windows: row.get(2),
            centres: row.get(3),
            embedded: row.get(4),
        }))
    }

    /// Returns how many chunks contain each of these terms; those that none contains are left out.
    pub async fn frequencies(&self, terms: &[i64]) -> Result<Vec<(i64, i64)>, DatabaseError> {
        let find = format!("SELECT term, chunks FROM {} WHERE term = ANY($1) AND chunks > 0", self.tables.terms());
        let found = answered(self.client.query_typed(&find, &[(&terms, Type::INT8_ARRAY)]), DOING).await?;
        Ok(found.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    /// Returns at most `limit` chunks that contain all terms of one of these groups.
    pub async fn with_words(&self, groups: &[Vec<i64>], limit: i64) -> Result<Vec<WordMatch>, DatabaseError> {
        // Those of one term are one condition, which reads each chunk once.
        let (single, several): (Vec<_>, Vec<_>) = groups.iter().partition(|group| group.len() == 1);
        let single: Vec<i64> = single.into_iter().flatten().copied().collect();
        let mut conditions = Vec::new();
        let mut values: Vec<Value<'_>> = vec![(&limit, Type::INT8)];
        if !single.is_empty() {
            values.push((&single, Type::INT8_ARRAY));
            conditions.push(format!("terms && ${}", values.len()));
        }
        for group in &several {
            values.push((*group, Type::INT8_ARRAY));
            conditions.push(format!("terms @> ${}", values.len()));
        }
        if conditions.is_empty() {
            return Ok(Vec::new());
        }
        let find = format!(
            "SELECT chunk_id, file_order, words, sequence FROM {} WHERE {} LIMIT $1",
            self.tables.chunks(),
            conditions.join(" OR ")
        );
        let found = answered(self.client.query_typed(&find, &values), DOING).await?;
        let matched = |row: &Row| WordMatch {
            id: ChunkId(row.get(0)),
            file_order: row.get(1),
            words: row.get(2),
            sequence: row.get(3),
        };
        Ok(found.iter().map(matched).collect())
    }

    /// Returns the chunks whose vectors are nearest to this one, of one writing system or of all.
    pub async fn near(&self, vector: &[f32], count: i64, script: Option<i16>) -> Result<Vec<ChunkId>, DatabaseError> {
        let Some(model) = &self.library.model else { return Ok(Vec::new()) };
        let only = script.map(|script| format!("WHERE script = {script}")).unwrap_or_default();
        let find = format!(
            "SELECT c.chunk_id FROM (SELECT key FROM {vectors} {only} ORDER BY v <=> $1::text::halfvec({dimension}) LIMIT $2) AS near JOIN \
             {chunks} AS c ON c.key = near.key",
            vectors = self.tables.vectors(),
            dimension = model.dimension,
            chunks = self.tables.chunks()
        );
        let values: [Value<'_>; 2] = [(&vector_text(vector), Type::TEXT), (&count, Type::INT8)];
        let found = answered(self.client.query_typed(&find, &values), DOING).await?;
        Ok(found.iter().map(|row| ChunkId(row.get(0))).collect())
    }

    /// Returns the chunks in these ranges of identities, each end included, with their cosines if there is a vector to compare with.
    pub async fn chunks(
        &self,
        ranges: &[(ChunkId, ChunkId)],
        vector: Option<&[f32]>,
    ) -> Result<Vec<FetchedRow>, DatabaseError> {
        let (first, last): (Vec<i64>, Vec<i64>) = ranges.iter().map(|(first, last)| (first.0, last.0)).unzip();
        let mut values: Vec<Value<'_>> = vec![(&first, Type::INT8_ARRAY), (&last, Type::INT8_ARRAY)];
        let text = vector.map(vector_text);
        let (cosine, compared) = match (&text, &self.library.model) {
            (Some(text), Some(LibraryModel { dimension, .. })) => {
                values.push((text, Type::TEXT));
                let join = format!("LEFT JOIN {} AS v ON v.key = c.key", self.tables.vectors());
                (format!("1 - (v.v <=> $3::text::halfvec({dimension}))"), join)
            }
            _ => ("NULL::float8".to_owned(), String::new()),
        };
        let find = format!(
            "SELECT {COLUMNS}, {cosine} FROM unnest($1, $2) AS r (first, last) CROSS JOIN LATERAL (SELECT * FROM {} WHERE chunk_id BETWEEN \
             r.first AND r.last) AS c {compared}",
            self.tables.chunks()
        );
        let found = answered(self.client.query_typed(&find, &values), DOING).await?;
        Ok(found.iter().map(fetched).collect())
    }

    /// Returns the chunks of a file, in their order.
    pub async fn chunks_of(&self, path: &str) -> Result<Vec<FetchedRow>, DatabaseError> {
        let find = format!("SELECT file_no FROM {} WHERE path = $1", self.tables.files());
        let found = answered(self.client.query_typed_opt(&find, &[(&path, Type::TEXT)]), DOING).await?;
        let Some(number) = found.map(|row| row.get::<_, i64>(0)) else { return Ok(Vec::new()) };
        let first = number << ChunkId::PLACE_BITS;
        let last = first + (1 << ChunkId::PLACE_BITS) - 1;
        let mut chunks = self.chunks(&[(ChunkId(first), ChunkId(last))], None).await?;
        chunks.sort_unstable_by_key(|chunk| chunk.id);
        Ok(chunks)
    }

    /// Returns which of these keys have a vector.
    pub async fn with_vector(&self, keys: &[i64]) -> Result<Vec<i64>, DatabaseError> {
        if self.library.model.is_none() {
            return Ok(Vec::new());
        }
        let find = format!("SELECT key FROM {} WHERE key = ANY($1)", self.tables.vectors());
        let found = answered(self.client.query_typed(&find, &[(&keys, Type::INT8_ARRAY)]), DOING).await?;
        Ok(found.iter().map(|row| row.get(0)).collect())
    }

    /// Returns the next chunks after this one that have no vector, at most `count`.
    pub async fn without_vector(&self, after: ChunkId, count: i64) -> Result<Vec<FetchedRow>, DatabaseError> {
        // Of the files that lack some: reading all chunks of a large library takes minutes.
        let find = format!(
            "SELECT {COLUMNS}, NULL::float8 FROM (SELECT file_no FROM {files} WHERE embedded < chunks AND file_no >= $1 >> {bits} ORDER BY \
             file_no LIMIT 16) AS f CROSS JOIN LATERAL (SELECT * FROM {chunks} AS c WHERE c.chunk_id > $1 AND c.chunk_id >= f.file_no << {bits} \
             AND c.chunk_id < f.file_no + 1 << {bits} AND NOT EXISTS (SELECT FROM {vectors} AS v WHERE v.key = c.key) ORDER BY c.chunk_id \
             LIMIT $2) AS c ORDER BY c.chunk_id LIMIT $2",
            files = self.tables.files(),
            chunks = self.tables.chunks(),
            vectors = self.tables.vectors(),
            bits = ChunkId::PLACE_BITS
        );
        let values: [Value<'_>; 2] = [(&after.0, Type::INT8), (&count, Type::INT8)];
        let found = answered(self.client.query_typed(&find, &values), DOING).await?;
        Ok(found.iter().map(fetched).collect())
    }

    /// Returns the mean vector of the chunks of each writing system: of all, or in a large library of about [`MEAN_CHUNKS`], because
    /// reading all vectors takes minutes. `total` is the number of chunks.
    pub async fn means(&self, total: i64) -> Result<Vec<ScriptMean>, DatabaseError> {
        if self.library.model.is_none() {
            return Ok(Vec::new());
        }
        let sample = match total > MEAN_CHUNKS {
            true => format!("TABLESAMPLE SYSTEM ({:.4}) REPEATABLE (1)", 100.0 * MEAN_CHUNKS as f64 / total as f64),
            false => String::new(),
        };
        let find = format!(
            "SELECT c.script, count(*), avg(v.v::vector)::real[] FROM {} AS c {sample} JOIN {} AS v ON v.key = c.key GROUP BY c.script",
            self.tables.chunks(),
            self.tables.vectors()
        );
        let found = answered(self.client.query_typed(&find, &[]), DOING).await?;
        Ok(found.iter().map(|row| ScriptMean { script: row.get(0), chunks: row.get(1), mean: row.get(2) }).collect())
    }
}

fn fetched(row: &Row) -> FetchedRow {
    let chunk = ChunkRow {
        file_order: row.get(1),
        key: row.get(2),
        script: row.get(3),
        words: row.get(4),
        sequence: row.get(5),
        units: row.get(6),
        start: row.get(7),
        lines: (row.get(8), row.get(9)),
        body: row.get(10),
    };
    FetchedRow { id: ChunkId(row.get(0)), chunk, cosine: row.get(11) }
}
