//! The index of a project: what its folder contained when it was last looked at, with copies of the contents.
//!
//! It tells what a call changed whose process cannot run above an overlay: the folder is looked at before and after it
//! ([`Look`]), and the contents are copied before. Contents are in `storage/index/`, which no tool can read. The index itself
//! is in memory; after a restart the first look reads every file again and finds its copy by the hash.

mod copies;
mod look;
mod observations;
mod record;
mod reserve;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use self::copies::{Copies, MAX_COPIES};
use self::look::{Entry, Look, entry_now};
use self::observations::{Noter, Observations};
use super::capture::{Beneath, LayerEntry, Node, NodeKind};
use super::error::StoreError;
use super::home::{Home, lock};
use crate::domain::{Place, Root};

pub use look::MAX_ENTRIES;
pub(super) use observations::Noted;
pub use record::{ObservedCall, ObservedChanges};
pub use walk::{LeftOut, LeftOutReason};

/// Where the copies are, by project.
const FOLDER: &str = "storage/index";

/// The indexes of the projects of a home.
#[derive(Default)]
pub(super) struct ProjectIndexes {
    projects: Mutex<BTreeMap<Root, Arc<ProjectIndex>>>,
    /// Held while the reserve is made or released.
    reserve: Mutex<()>,
}

impl ProjectIndexes {
    fn of(&self, root: &Root) -> Arc<ProjectIndex> {
        lock(&self.projects).entry(root.clone()).or_default().clone()
    }

    /// Forgets the index of a project, which was deleted.
    pub fn forget(&self, root: &Root) {
        lock(&self.projects).remove(root);
    }

    fn is_observing(&self) -> bool {
        lock(&self.projects).values().any(|index| index.observations.is_observing())
    }
}

/// The index of a project.
#[derive(Default)]
struct ProjectIndex {
    observations: Observations,
    /// Held while a look is taken, and until the contents that it needs are safe.
    looking: Mutex<()>,
    /// The last look.
    last: Mutex<Option<Arc<Look>>>,
    /// Opened by the first look.
    copies: Mutex<Option<Arc<Copies>>>,
}

impl ProjectIndex {
    /// Removes the copies that no observed call needs. Those of the last look are needed by a call that begins with it.
    fn retain_needed(&self, copies: &Copies) {
        let mut needed: HashSet<String> = HashSet::new();
        self.observations.each_hash(&mut |hash| {
            if !needed.contains(hash) {
                needed.insert(hash.to_owned());
            }
        });
        copies.retain(&needed);
    }

    fn last(&self) -> Option<Arc<Look>> {
        lock(&self.last).clone()
    }
}

/// A call whose changes are observed. Dropping it forgets them.
pub struct Observation {
    home: Home,
    root: Root,
    folder: PathBuf,
    id: u64,
}

impl Observation {
    /// Returns the project.
    pub fn root(&self) -> &Root {
        &self.root
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        let indexes = self.home.indexes();
        indexes.of(&self.root).observations.discard(self.id);
        let _one_at_a_time = lock(&indexes.reserve);
        if !indexes.is_observing() {
            reserve::release(self.home.root());
        }
    }
}

impl Home {
    /// Begins to observe what a call changes in the folder of a project: looks at the folder, and copies the contents that
    /// are new since the last look. `None` if the folder has more than 50,000 entries, or if no command works in it.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be listed, if a copy cannot be written, or if the disk has no room for a record.
    pub fn observe(&self, root: &Root) -> Result<Option<Observation>, StoreError> {
        let Some(folder) = self.project_path(root) else { return Ok(None) };
        let doing = || StoreError::io("looking at the project before a command");
        let index = self.indexes().of(root);
        let id = index.observations.begin();
        let observation = Observation { home: self.clone(), root: root.clone(), folder, id };
        {
            let _one_at_a_time = lock(&self.indexes().reserve);
            reserve::set_aside(self.root()).map_err(doing())?;
        }
        let copies = self.copies(root)?;
        let _one_look = lock(&index.looking);
        let look =
            Look::take(&observation.folder, index.last().as_deref(), MAX_ENTRIES).map_err(doing())?.map(Arc::new);
        lock(&index.last).clone_from(&look);
        let Some(look) = look else { return Ok(None) };
        index.observations.looked(id, look.clone());
        index.retain_needed(&copies);
        if let Err(error) = look.copy_to(&copies, &observation.folder) {
            // What was copied until then is of no use, and the room is needed.
            index.observations.discard(id);
            index.retain_needed(&copies);
            return Err(doing()(error));
        }
        Ok(Some(observation))
    }

    /// Makes a change of entries that is none of the calls that are observed, with the folders above them. Calls of others
    /// wait while `write` runs, so it should do nothing else.
    pub(super) fn noting<T>(&self, (root, noted): (&Root, Noted), write: impl FnOnce() -> T) -> T {
        let Some(folder) = self.project_path(root) else { return write() };
        let Noted { paths, becoming } = noted;
        let mut all: Vec<PathBuf> = paths.iter().flat_map(|path| path.ancestors().map(Path::to_owned)).collect();
        all.retain(|path| !path.as_os_str().is_empty() && !path.starts_with(walk::TEMPORARY));
        all.sort_unstable();
        all.dedup();
        let index = self.indexes().of(root);
        let noter = FolderNoter { folder: &folder, copies: lock(&index.copies).clone(), last: index.last() };
        index.observations.noting(&Noted { paths: all, becoming }, &noter, write)
    }

    /// Like [`Self::noting`], for places that the person of this home may change.
    ///
    /// # Errors
    /// Returns [`StoreError::Role`] if they may not, and the errors of `write`.
    pub(super) fn noting_places<'p, T>(
        &self,
        places: impl IntoIterator<Item = &'p Place>,
        write: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let places: Vec<&Place> = places.into_iter().collect();
        places.iter().try_for_each(|place| self.require_writable(place.root()))?;
        let is_in_project = |place: &&Place| self.project_path(place.root()).is_some();
        let places: Vec<&Place> = places.into_iter().filter(is_in_project).collect();
        let Some(first) = places.first() else { return write() };
        let paths = places.iter().map(|place| PathBuf::from(place.path())).collect();
        self.noting((first.root(), Noted { paths, becoming: HashMap::new() }), write)
    }

    /// Returns what files are that will be put in their places, for [`Self::noting`]. They are read only if a call is observed.
    /// `hash` returns the hash of an entry's content by its number.
    pub(super) fn becoming(
        &self,
        (root, entries): (&Root, &[LayerEntry]),
        hash: &dyn Fn(usize, &LayerEntry) -> Option<String>,
    ) -> Noted {
        let (mut paths, mut becoming) = (Vec::new(), HashMap::new());
        let is_observing = self.indexes().of(root).observations.is_observing();
        for (at, entry) in entries.iter().enumerate() {
            paths.push(entry.path.clone());
            let file = entry.after.as_ref().filter(|after| after.kind == NodeKind::File);
            let Some(file) = file.filter(|_| is_observing) else { continue };
            becoming.extend(hash(at, entry).map(|hash| (entry.path.clone(), Entry::of_file(file.clone(), hash))));
        }
        Noted { paths, becoming }
    }

    fn copies(&self, root: &Root) -> Result<Arc<Copies>, StoreError> {
        let doing = || StoreError::io("preparing copies of the project's files");
        let index = self.indexes().of(root);
        let mut copies = lock(&index.copies);
        if let Some(copies) = &*copies {
            return Ok(copies.clone());
        }
        let folder = format!("{FOLDER}/{}", Place::of_root(root.clone()).as_str().replace('/', "."));
        self.root().create_dir_all(&folder).map_err(doing())?;
        let opened = self.root().open_dir(&folder).and_then(|dir| Copies::open(dir, MAX_COPIES)).map_err(doing())?;
        Ok(copies.insert(Arc::new(opened)).clone())
    }
}

/// Looks at single entries of a folder.
struct FolderNoter<'a> {
    folder: &'a Path,
    copies: Option<Arc<Copies>>,
    last: Option<Arc<Look>>,
}

impl Noter for FolderNoter<'_> {
    fn now(&self, path: &Path) -> Option<Entry> {
        entry_now(&Beneath::open(self.folder).ok()?, path, self.last.as_deref())
    }

    fn node(&self, path: &Path) -> Option<Node> {
        Beneath::open(self.folder).ok()?.node(path).ok()?
    }

    fn keep(&self, path: &Path, entry: Option<&Entry>) {
        let (Some(copies), Some(entry)) = (&self.copies, entry) else { return };
        let Some(hash) = entry.hash() else { return };
        let file = Beneath::open(self.folder).and_then(|beneath| beneath.file(path));
        if let Err(error) = file.and_then(|file| copies.add(hash, entry.node.size, &file)) {
            let ignored = error.kind() == io::ErrorKind::NotFound;
            if !ignored {
                tracing::warn!(path = %path.display(), %error, "a file that changed meanwhile was not copied");
            }
        }
    }
}
