//! A library of a home in the database: its files, chunks, terms and vectors, written under the claim of the home.
//!
//! Each write locks the row of the library and compares the fence there. Whoever claims the home next raises that fence when it
//! opens the library, and waits for the write under way, so two servers never write one library at the same time.

use std::sync::Arc;

use tokio::sync::Mutex;
use tokio_postgres::types::Type;

use super::connection::answered;
use super::connections::Lease;
use super::error::DatabaseError;
use super::library_changes::{Change, LibraryWrite, Tables, vectors_are_possible};
use super::library_reading::LibraryReading;
use super::link::{HomeLink, Value};
use crate::domain::library_rows::{LibraryFile, LibraryTotals};

const OPEN: &str = "UPDATE libraries AS l SET fence = h.fence FROM homes AS h WHERE l.home_id = $1 AND l.name = $4 AND h.home_id = $1 AND \
    h.fence = $2 AND h.owner = $3 AND l.fence <= h.fence RETURNING l.library_id, l.tag, l.complete, l.model, l.dimension";
const FIND: &str = "SELECT FROM libraries WHERE home_id = $1 AND name = $2";

/// A library of a home that this server owns.
pub struct LibraryRows {
    link: Arc<HomeLink>,
    name: String,
    /// Held while the library is written: one change after the other.
    writer: Mutex<()>,
}

/// A library as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenedLibrary {
    pub(super) id: i32,
    /// The version and the settings of what indexed it.
    pub tag: String,
    /// Whether everything was indexed once.
    pub is_complete: bool,
    pub model: Option<LibraryModel>,
}

/// The model whose vectors a library has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryModel {
    pub id: String,
    pub dimension: u32,
}

impl LibraryRows {
    pub(super) fn new(link: Arc<HomeLink>, name: &str) -> Self {
        Self { link, name: name.to_owned(), writer: Mutex::default() }
    }

    /// Opens the library for this claim of the home; `None` if there is none.
    ///
    /// # Errors
    /// Returns [`DatabaseError::Fenced`] if another server owns the home.
    pub async fn open(&self) -> Result<Option<OpenedLibrary>, DatabaseError> {
        self.link.require_valid()?;
        let client = self.reader().await?;
        let doing = "opening a library";
        let owned = &self.link.owned;
        let [home, name] = [(&owned.home as _, Type::UUID), (&self.name as _, Type::TEXT)];
        let values: [Value<'_>; 4] = [home, (&owned.fence, Type::INT8), (&owned.owner, Type::UUID), name];
        let found = answered(client.query_typed_opt(OPEN, &values), doing).await?;
        if found.is_none() {
            let values: [Value<'_>; 2] = [(&owned.home, Type::UUID), (&self.name, Type::TEXT)];
            if answered(client.query_typed_opt(FIND, &values), doing).await?.is_some() {
                return Err(self.link.refusal(&client).await);
            }
        }
        client.give_back();
        Ok(found.map(|row| {
            let model = row.get::<_, Option<String>>(3).zip(row.get::<_, Option<i32>>(4));
            let model = model.map(|(id, dimension)| LibraryModel { id, dimension: dimension.unsigned_abs() });
            OpenedLibrary { id: row.get(0), tag: row.get(1), is_complete: row.get(2), model }
        }))
    }

    /// Makes the library, empty, if there is none.
    pub async fn create(&self, tag: &str) -> Result<(), DatabaseError> {
        self.write(Change::Create { tag }).await
    }

    /// Adds files, or replaces what they were; all of them or none.
    pub async fn put(&self, files: &[LibraryFile]) -> Result<(), DatabaseError> {
        self.write(Change::Put(files)).await
    }

    /// Removes files with their chunks, and the vectors that no other chunk has.
    pub async fn remove(&self, paths: &[String]) -> Result<(), DatabaseError> {
        self.write(Change::Remove(paths)).await
    }

    /// Replaces the states of files whose chunks are the same.
    pub async fn set_states(&self, files: &[(String, String)]) -> Result<(), DatabaseError> {
        self.write(Change::States(files)).await
    }

    /// Says that everything was indexed once.
    pub async fn set_complete(&self) -> Result<(), DatabaseError> {
        self.write(Change::Complete).await
    }

    /// Prepares for vectors of a model, and removes those of another one.
    ///
    /// # Errors
    /// Returns [`DatabaseError::NoVectors`] if the database has no pgvector, and other errors if it cannot index these vectors.
    pub async fn use_model(&self, model: &LibraryModel) -> Result<(), DatabaseError> {
        let client = self.reader().await?;
        vectors_are_possible(&client, model.dimension).await?;
        client.give_back();
        self.write(Change::Model(model)).await
    }

    /// Adds vectors of texts by their keys. Those that no chunk has are left out.
    pub async fn put_vectors(&self, vectors: &[(i64, Vec<f32>)]) -> Result<(), DatabaseError> {
        if vectors.is_empty() { Ok(()) } else { self.write(Change::Vectors(vectors)).await }
    }

    /// Removes the library.
    pub async fn delete(&self) -> Result<(), DatabaseError> {
        self.write(Change::Delete).await
    }

    /// Returns the states of all files, as JSON.
    pub async fn states(&self, library: &OpenedLibrary) -> Result<Vec<String>, DatabaseError> {
        let client = self.reader().await?;
        let find = format!("SELECT state FROM {}", Tables(library.id).files());
        let found = answered(client.query_typed(&find, &[]), "reading the files of a library").await?;
        client.give_back();
        Ok(found.iter().map(|row| row.get(0)).collect())
    }

    /// Returns the figures of the library.
    pub async fn totals(&self, library: &OpenedLibrary) -> Result<LibraryTotals, DatabaseError> {
        let reading = self.read(library).await?;
        let totals = reading.totals().await?;
        self.done(reading).await;
        Ok(totals)
    }

    /// Returns how many bytes the tables and indexes have.
    pub async fn bytes(&self, library: &OpenedLibrary) -> Result<u64, DatabaseError> {
        let client = self.reader().await?;
        let names =
            Tables(library.id).all().map(|name| format!("coalesce(pg_total_relation_size(to_regclass('{name}')), 0)"));
        let sum = format!("SELECT ({})::bigint", names.join(" + "));
        let found = answered(client.query_typed_one(&sum, &[]), "measuring a library").await?;
        client.give_back();
        Ok(found.get::<_, i64>(0).unsigned_abs())
    }

    /// Begins to read at one moment. Give what is returned to [`LibraryRows::done`].
    pub async fn read(&self, library: &OpenedLibrary) -> Result<LibraryReading, DatabaseError> {
        self.link.require_valid()?;
        LibraryReading::begin(self.reader().await?, library.clone()).await
    }

    /// Ends a reading, and keeps its connection for the next one.
    pub async fn done(&self, reading: LibraryReading) {
        if let Some(client) = reading.end().await {
            client.give_back();
        }
    }

    /// Removes the home, if it has nothing but libraries.
    pub async fn remove_empty_home(&self) -> Result<(), DatabaseError> {
        let client = self.reader().await?;
        let owned = &self.link.owned;
        let remove = "DELETE FROM homes WHERE home_id = $1 AND fence = $2 AND owner = $3 AND last_no = 0";
        let values: [Value<'_>; 3] =
            [(&owned.home, Type::UUID), (&owned.fence, Type::INT8), (&owned.owner, Type::UUID)];
        client.execute_typed(remove, &values).await.map(drop).map_err(DatabaseError::doing("removing a library"))
    }

    async fn write(&self, change: Change<'_>) -> Result<(), DatabaseError> {
        let write = LibraryWrite { name: &self.name, change };
        let _no_other = self.writer.lock().await;
        // Never closed. Facts of conversations must not wait for many libraries.
        let _turn = self.link.database.library_writers.acquire().await;
        self.link.write(&write).await
    }

    async fn reader(&self) -> Result<Lease, DatabaseError> {
        let database = &self.link.database;
        database.library_readers.lease(&database.address).await
    }
}
