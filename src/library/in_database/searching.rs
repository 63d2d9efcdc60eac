//! Searches a library in the database: it finds candidates, and everything else is computed here as for any library.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use super::InDatabase;
use crate::domain::library_rows::{ChunkId, LibraryTotals, ScriptMean};
use crate::library::{FileChunk, LibraryError};
use crate::retrieval::analyse::Analyser;
use crate::retrieval::library_chunks::{FetchedContext, MOST_COMPARED, WordQuery, around, chunk_of};
use crate::retrieval::search::{RERANK_CANDIDATES, SearchError};
use crate::retrieval::windows::WindowLimit;
use crate::retrieval::{Address, CosineScale, FetchedCosines, IndexSnapshot, Ranking, SearchRequest};
use crate::store::LibraryReading;

/// How many chunks are fetched on either side of a candidate, and how many once that was too few for a window.
const REACHES: [i64; 5] = [3, 16, 64, 4096, 4097];

/// What was fetched for a search.
pub(in crate::library) struct Fetched {
    pub snapshot: IndexSnapshot,
    /// The chunks that have a cosine, with its place.
    pub rows: Vec<(Address, u32)>,
    pub cosines: FetchedCosines,
}

impl InDatabase {
    /// Fetches the candidates of a search with the text around them.
    pub(in crate::library) fn fetch(
        &self,
        request: &SearchRequest,
        (analyser, ranking): (&Analyser, Ranking),
        window: WindowLimit,
    ) -> Result<Fetched, LibraryError> {
        let opened = self.opened();
        let reading = self.database.ask(|rows| rows.read(&opened))?;
        let fetched = self.fetch_from(&reading, (request, analyser, ranking), window)?;
        self.database.done(reading);
        Ok(fetched)
    }

    fn fetch_from(
        &self,
        reading: &LibraryReading,
        (request, analyser, ranking): (&SearchRequest, &Analyser, Ranking),
        window: WindowLimit,
    ) -> Result<Fetched, LibraryError> {
        let query = analyser.query(request.query);
        let totals = self.database.ask_reading(reading, |reading| reading.totals())?;
        let numbers = WordQuery::numbers(&query);
        let frequencies = self.database.ask_reading(reading, |reading| reading.frequencies(&numbers))?;
        let frequencies: HashMap<i64, i64> = frequencies.into_iter().collect();
        let words = WordQuery::new(&query, &frequencies, totals);
        let mut candidates = self.by_words(reading, &words, ranking)?;
        let vector = request.query_vector.as_ref().map(|vector| vector.components());
        let (mut bias, mut mean) = (0.0, 0.0);
        if let Some(vector) = vector {
            // Of a model of which nothing was measured, the mean says what a cosine means.
            let are_foreign = !FetchedCosines::foreign_scripts(request.query).is_empty();
            if are_foreign || ranking.cosine_scale == CosineScale::Unknown {
                let means = self.means(totals, reading)?;
                bias = FetchedCosines::bias(request.query, vector, &means);
                mean = FetchedCosines::mean((request.query, vector), &means, bias);
            }
            let count = RERANK_CANDIDATES as i64;
            candidates.extend(self.database.ask_reading(reading, |reading| reading.near(vector, count, None))?);
            if bias > 0.0 {
                for script in FetchedCosines::foreign_scripts(request.query) {
                    candidates.extend(
                        self.database.ask_reading(reading, |reading| reading.near(vector, count, Some(script)))?,
                    );
                }
            }
        }
        candidates.sort_unstable();
        candidates.dedup();
        let context = self.context(reading, (&candidates, vector), window)?;
        let (snapshot, all) = context.into_snapshot(totals, frequencies);
        let (mut rows, mut cosines) = (Vec::new(), Vec::new());
        for (at, cosine) in (0..).zip(all) {
            if let Some(cosine) = cosine {
                rows.push((Address::new(0, at), cosines.len() as u32));
                cosines.push(cosine);
            }
        }
        Ok(Fetched { snapshot, rows, cosines: FetchedCosines { cosines, bias, mean } })
    }

    fn by_words(
        &self,
        reading: &LibraryReading,
        words: &WordQuery,
        ranking: Ranking,
    ) -> Result<Vec<ChunkId>, LibraryError> {
        let (database, groups) = (&self.database, words.groups());
        let mut found = database.ask_reading(reading, |reading| reading.with_words(&groups, MOST_COMPARED))?;
        if let Some(term) = words.filler(found.len()) {
            let group = [vec![term]];
            found.extend(database.ask_reading(reading, |reading| reading.with_words(&group, MOST_COMPARED / 4))?);
        }
        Ok(words.best(&found, ranking.bm25))
    }

    /// Fetches the candidates and as many chunks around them as windows may need.
    fn context(
        &self,
        reading: &LibraryReading,
        (candidates, vector): (&[ChunkId], Option<&[f32]>),
        window: WindowLimit,
    ) -> Result<FetchedContext, LibraryError> {
        let mut context = FetchedContext::default();
        let mut ranges = around(candidates, REACHES[0]);
        for reaches in REACHES.windows(2) {
            if ranges.is_empty() {
                return Ok(context);
            }
            context.add(self.database.ask_reading(reading, |reading| reading.chunks(&ranges, vector))?);
            ranges = context.missing(candidates, (reaches[0], reaches[1]), window);
        }
        Ok(context)
    }

    /// Returns the means of vectors, reading them if those that are known are of too many others.
    fn means(&self, totals: LibraryTotals, reading: &LibraryReading) -> Result<Arc<[ScriptMean]>, LibraryError> {
        let mut known = self.means.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, means)) = known.as_ref()
            && is_near(*of, totals)
        {
            return Ok(means.clone());
        }
        let means: Arc<[ScriptMean]> =
            self.database.ask_reading(reading, |reading| reading.means(totals.chunks))?.into();
        *known = Some((totals, means.clone()));
        Ok(means)
    }

    /// Returns the chunks of a file in order.
    pub(in crate::library) fn chunks_of(&self, path: &str) -> Result<Vec<FileChunk>, LibraryError> {
        let opened = self.opened();
        let reading = self.database.ask(|rows| rows.read(&opened))?;
        let rows = self.database.ask_reading(&reading, |reading| reading.chunks_of(path))?;
        let keys: Vec<i64> = rows.iter().map(|row| row.chunk.key).collect();
        let embedded = self.database.ask_reading(&reading, |reading| reading.with_vector(&keys))?;
        self.database.done(reading);
        let shown = |row: &crate::domain::library_rows::FetchedRow| -> Result<FileChunk, LibraryError> {
            let chunk = chunk_of(row).map_err(SearchError::from)?;
            Ok(FileChunk { chunk, has_vector: embedded.contains(&row.chunk.key) })
        };
        rows.iter().map(shown).collect()
    }
}

/// Whether the means of so many vectors are still good enough: reading many vectors takes seconds.
fn is_near(known: LibraryTotals, now: LibraryTotals) -> bool {
    (known.embedded - now.embedded).abs() <= now.embedded / 100
}
