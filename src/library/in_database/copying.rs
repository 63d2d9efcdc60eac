//! A copy of an index in a database, for measurements: what searches find there is compared with what they find here.

use std::sync::Arc;

use super::InDatabase;
use super::indexing::FileBatch;
use crate::domain::{Embedder, RelPath};
use crate::library::LibraryError;
use crate::retrieval::analyse::Analyser;
use crate::retrieval::index::version_tag;
use crate::retrieval::search::SearchOutcome;
use crate::retrieval::windows::WindowLimit;
use crate::retrieval::{ChunkLimits, FolderIndex, Ranking, SearchRequest, Searchable, Vectors};
use crate::store::{DatabaseError, LibraryDatabase, LibraryModel, StoreError};

/// Vectors that are stored together.
const BATCH_VECTORS: usize = 500;

/// The chunks of an index, with their vectors, in a database.
pub struct DatabaseCopy {
    place: InDatabase,
    limits: ChunkLimits,
}

impl DatabaseCopy {
    /// Copies the last commit of an index into an empty library.
    ///
    /// # Errors
    /// Returns an error if the database does not answer or has no pgvector.
    pub fn of(
        (index, limits): (&FolderIndex, ChunkLimits),
        vectors: Option<(&dyn Embedder, &Vectors)>,
        database: LibraryDatabase,
    ) -> Result<Self, LibraryError> {
        let database = Arc::new(database);
        let tag = version_tag(limits);
        database.ask(|rows| rows.create(&tag))?;
        let opened = database.ask(|rows| rows.open())?.ok_or(StoreError::from(DatabaseError::Fenced))?;
        let place = InDatabase::new(database, opened)?;
        let snapshot = index.snapshot()?;
        let (analyser, window) = (Analyser::default(), WindowLimit(limits.tokens));
        let mut batch = FileBatch::default();
        for file in index.files() {
            let path = RelPath::parse(&file.path).ok();
            let stored = path.map(|path| index.stored_file(&path, &snapshot)).transpose()?.flatten();
            if let Some(stored) = stored {
                place.put(&mut batch, stored, (&analyser, window))?;
            }
        }
        place.store(&mut batch)?;
        if let Some((embedder, vectors)) = vectors {
            place.use_model(LibraryModel { id: embedder.id().to_owned(), dimension: embedder.dimension() as u32 })?;
            let rows = snapshot.keys().filter_map(|(_, key)| Some((key as i64, vectors.row(key)?)));
            for rows in rows.collect::<Vec<_>>().chunks(BATCH_VECTORS) {
                let mut some = Vec::with_capacity(rows.len());
                for &(key, row) in rows {
                    some.push((key, vectors.vector(row).map_err(LibraryError::Vectors)?));
                }
                place.database.ask(|rows| rows.put_vectors(&some))?;
            }
            place.count()?;
        }
        Ok(Self { place, limits })
    }

    /// Searches as a library in the database does.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub fn search(
        &self,
        request: &SearchRequest,
        (analyser, ranking): (&Analyser, Ranking),
    ) -> Result<SearchOutcome, LibraryError> {
        let window = WindowLimit(self.limits.tokens);
        let fetched = self.place.fetch(request, (analyser, ranking), window)?;
        let searchable = Searchable {
            snapshot: &fetched.snapshot,
            rows: &fetched.rows,
            vectors: None,
            fetched: Some(&fetched.cosines),
            tokens: None,
            analyser,
            ranking,
            window,
        };
        Ok(searchable.search(request)?)
    }

    /// Removes it from the database.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub fn remove(self) -> Result<(), LibraryError> {
        Ok(self.place.database.remove()?)
    }
}
