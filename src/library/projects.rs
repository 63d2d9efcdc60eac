//! The indexes of the projects of one home, which are opened when they are first needed and dropped when nobody has used them
//! for a while. What is on disk stays until the project is deleted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Library;
use super::project::ProjectLibrary;
use super::vault::Vault;
use crate::domain::{ProjectId, Root};
use crate::store::Home;

/// How long an index that nobody uses stays in memory, and maximum number of such indexes.
pub const IDLE: Duration = Duration::from_secs(10 * 60);
const MAX_UNUSED: usize = 3;

/// Creates the library of a root.
pub type MakeLibrary = Arc<dyn Fn(Root) -> Arc<Library> + Send + Sync>;

/// The indexes of the projects of a home. Cheap to clone.
#[derive(Clone)]
pub struct ProjectLibraries {
    home: Home,
    make: MakeLibrary,
    open: Arc<Mutex<BTreeMap<ProjectId, Open>>>,
}

struct Open {
    library: Arc<ProjectLibrary>,
    used_at: Instant,
}

impl Open {
    fn is_used(&self) -> bool {
        Arc::strong_count(&self.library) > 1 || self.library.library.is_used()
    }
}

impl ProjectLibraries {
    pub fn new(home: Home, make: MakeLibrary) -> Self {
        Self { home, make, open: Arc::default() }
    }

    /// Returns the library of a project; `None` if the home does not have the project. Nothing is indexed before the first
    /// search.
    pub fn of(&self, id: &ProjectId) -> Option<Arc<ProjectLibrary>> {
        let root = Root::Project(id.clone());
        if !self.home.has_root(&root) {
            return None;
        }
        let mut open = self.lock();
        let now = Instant::now();
        if let Some(known) = open.get_mut(id) {
            known.used_at = now;
            return Some(known.library.clone());
        }
        let vault = Vault::new(self.home.clone(), root.clone());
        let library = Arc::new(ProjectLibrary { library: (self.make)(root), vault });
        open.insert(id.clone(), Open { library: library.clone(), used_at: now });
        // The oldest ones make room.
        let mut unused: Vec<(Instant, ProjectId)> =
            open.iter().filter(|(_, one)| !one.is_used()).map(|(id, one)| (one.used_at, id.clone())).collect();
        unused.sort();
        for (_, id) in unused.iter().rev().skip(MAX_UNUSED) {
            open.remove(id);
        }
        Some(library)
    }

    /// Drops the indexes that nobody has used since `now` minus [`IDLE`].
    pub fn drop_idle(&self, now: Instant) {
        self.lock().retain(|_, one| one.is_used() || now.saturating_duration_since(one.used_at) < IDLE);
    }

    /// Returns those that are open.
    pub fn all(&self) -> Vec<Arc<Library>> {
        self.lock().values().map(|one| one.library.library.clone()).collect()
    }

    /// Forgets all that are open, and returns them.
    pub fn take_all(&self) -> Vec<Arc<Library>> {
        std::mem::take(&mut *self.lock()).into_values().map(|one| one.library.library.clone()).collect()
    }

    /// Forgets a project that was deleted, with its caches.
    pub fn project_deleted(&self, id: &ProjectId) {
        let known = self.lock().remove(id);
        if let Some(known) = &known {
            known.library.library.close();
        }
        let prefix = match &known {
            Some(known) => known.library.library.cache_prefix(),
            None => (self.make)(Root::Project(id.clone())).cache_prefix(),
        };
        if let Err(error) = self.home.caches().remove_all(&prefix) {
            tracing::warn!(%error, "the search index of a deleted project could not be removed");
        }
    }

    /// Returns how many indexes are in memory.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ProjectId, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
