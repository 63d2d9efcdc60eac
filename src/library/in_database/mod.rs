//! A library that is indexed and searched in the database behind its home, because it has so many chunks that an index here would
//! need too much memory. The files stay the truth: the rows are a cache of them, and are brought up to date in the same way.

pub mod copying;
mod indexing;
mod moving;
mod searching;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::{Library, LibraryError};
use crate::domain::RelPath;
use crate::domain::knowledge::{Embedded, ModelName};
use crate::domain::library_rows::{LibraryTotals, ScriptMean};
use crate::retrieval::chunk_index::FileState;
use crate::store::{LibraryDatabase, OpenedLibrary};

/// Where a library is indexed and searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchedIn {
    /// On this machine.
    #[default]
    Here,
    /// On this machine, until all of it is in the database.
    MovingToDatabase,
    Database,
}

/// Where the index of a library is.
#[derive(Default)]
pub(super) enum Placement {
    /// Nobody has looked yet.
    #[default]
    Unknown,
    Here {
        /// Whether the database has a part of the library, which a crash has left.
        has_rows: bool,
    },
    Database(Arc<InDatabase>),
}

/// A library in the database.
pub(super) struct InDatabase {
    database: Arc<LibraryDatabase>,
    /// Replaced when the model changes.
    opened: RwLock<OpenedLibrary>,
    files: Mutex<BTreeMap<RelPath, FileState>>,
    totals: RwLock<LibraryTotals>,
    /// The means of vectors, and of what they are.
    means: Mutex<Option<(LibraryTotals, Arc<[ScriptMean]>)>>,
}

impl InDatabase {
    /// Reads what the database has.
    fn new(database: Arc<LibraryDatabase>, opened: OpenedLibrary) -> Result<Self, LibraryError> {
        let states = database.ask(|rows| rows.states(&opened))?;
        let totals = database.ask(|rows| rows.totals(&opened))?;
        let parsed = states.iter().filter_map(|state| serde_json::from_str::<FileState>(state).ok());
        let files = parsed.filter_map(|file| Some((RelPath::parse(&file.path).ok()?, file))).collect();
        Ok(Self {
            database,
            opened: RwLock::new(opened),
            files: Mutex::new(files),
            totals: RwLock::new(totals),
            means: Mutex::default(),
        })
    }

    pub fn totals(&self) -> LibraryTotals {
        *self.totals.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how many chunks have a vector of this model.
    pub fn embedded(&self, model: Option<&ModelName>) -> Embedded {
        let LibraryTotals { chunks, embedded, .. } = self.totals();
        let number = |count: i64| u32::try_from(count).unwrap_or(u32::MAX);
        let known = self.opened().model;
        let is_other =
            |model: &ModelName| known.is_none_or(|known| known.id != model.id || known.dimension != model.dimension);
        let done = if model.is_some_and(is_other) { 0 } else { embedded };
        Embedded { done: number(done), total: number(chunks) }
    }

    pub fn file_states(&self) -> Vec<FileState> {
        self.files().values().cloned().collect()
    }

    pub fn file_count(&self) -> usize {
        self.files().len()
    }

    /// Returns how many bytes the database needs for it; 0 if it does not answer.
    pub fn bytes(&self) -> u64 {
        let opened = self.opened();
        self.database.ask(|rows| rows.bytes(&opened)).unwrap_or_default()
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<RelPath, FileState>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn opened(&self) -> OpenedLibrary {
        self.opened.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the figures again after a change.
    fn count(&self) -> Result<(), LibraryError> {
        let opened = self.opened();
        let totals = self.database.ask(|rows| rows.totals(&opened))?;
        *self.totals.write().unwrap_or_else(PoisonError::into_inner) = totals;
        Ok(())
    }
}

impl Library {
    /// Returns where the library is searched.
    pub fn searched_in(&self) -> SearchedIn {
        match &*self.lock(&self.placement) {
            Placement::Database(_) => SearchedIn::Database,
            _ if self.background.is_running(super::Task::MoveToDatabase) => SearchedIn::MovingToDatabase,
            _ => SearchedIn::Here,
        }
    }

    /// Returns the library in the database if it is searched there. Looks for it on the first call.
    ///
    /// # Errors
    /// Returns an error if the database does not answer and there is no index here.
    pub(super) fn placed_in_database(&self) -> Result<Option<Arc<InDatabase>>, LibraryError> {
        let mut placement = self.lock(&self.placement);
        if let Placement::Unknown = *placement {
            match self.found_placement() {
                Ok(found) => *placement = found,
                Err(error) if self.is_indexed_here() => {
                    tracing::warn!(folder = self.folder(), %error, "searching the index on this machine");
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(match &*placement {
            Placement::Database(place) => Some(place.clone()),
            _ => None,
        })
    }

    fn found_placement(&self) -> Result<Placement, LibraryError> {
        let Some(database) = self.database() else { return Ok(Placement::Here { has_rows: false }) };
        let Some(opened) = database.ask(|rows| rows.open())? else {
            return Ok(Placement::Here { has_rows: false });
        };
        if opened.tag != crate::retrieval::index::version_tag(self.settings.limits) {
            tracing::info!(
                folder = self.folder(),
                "the library in the database was made with other settings; it is made anew"
            );
            database.ask(|rows| rows.delete())?;
            return Ok(Placement::Here { has_rows: false });
        }
        if !opened.is_complete {
            return Ok(Placement::Here { has_rows: true });
        }
        Ok(Placement::Database(Arc::new(InDatabase::new(database, opened)?)))
    }

    /// Returns the library in the database behind the home; `None` if it never moves there.
    fn database(&self) -> Option<Arc<LibraryDatabase>> {
        self.settings.database_from?;
        self.home.library_database(self.folder())
    }

    fn is_indexed_here(&self) -> bool {
        let name = self.cache_prefix();
        self.home.caches().names(&name).is_ok_and(|names| names.contains(&name))
    }

    /// Returns the library in the database if that is already known to be where it is.
    pub(super) fn known_in_database(&self) -> Option<Arc<InDatabase>> {
        match &*self.lock(&self.placement) {
            Placement::Database(place) => Some(place.clone()),
            _ => None,
        }
    }
}
