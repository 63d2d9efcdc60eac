//! Who wrote which version of a file, and which version clients were told of last.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::notice::ChangedBy;
use crate::domain::{Place, Root};

/// Number of noted versions that are kept for each file. A change that fails leaves a version that never existed, so the
/// last one alone is not enough.
const NOTED: usize = 4;

/// Versions of people and runs are noted before they are written, so that the watcher does not attribute them to another
/// program; versions of other programs are noted when they are seen. The hash of a deleted file is empty.
#[derive(Default)]
pub struct FileAuthors(Mutex<BTreeMap<Place, KnownFile>>);

#[derive(Default)]
struct KnownFile {
    /// Versions of people and runs, the last one at the end.
    noted: VecDeque<Version>,
    /// The last version that another program was seen to write.
    seen: Option<String>,
    told: Option<String>,
}

struct Version {
    etag: String,
    by: ChangedBy,
}

impl KnownFile {
    fn noted(&self, etag: &str) -> Option<ChangedBy> {
        self.noted.iter().rev().find(|version| version.etag == etag).map(|version| version.by)
    }
}

impl FileAuthors {
    fn files(&self) -> MutexGuard<'_, BTreeMap<Place, KnownFile>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a version that a person or a run is about to write.
    pub fn note(&self, path: &Place, etag: &str, by: ChangedBy) {
        let mut files = self.files();
        let noted = &mut files.entry(path.clone()).or_default().noted;
        noted.retain(|version| version.etag != etag);
        noted.push_back(Version { etag: etag.to_owned(), by });
        if noted.len() > NOTED {
            noted.pop_front();
        }
    }

    /// Returns whether a person or a run wrote this version, or was about to.
    pub fn is_noted(&self, path: &Place, etag: &str) -> bool {
        self.files().get(path).is_some_and(|file| file.noted(etag).is_some())
    }

    /// Returns who wrote the version of a file with this hash. `None` for versions from before this start of the
    /// server.
    pub fn known(&self, path: &Place, etag: &str) -> Option<ChangedBy> {
        let files = self.files();
        let file = files.get(path)?;
        file.noted(etag).or_else(|| file.seen.as_deref().filter(|seen| *seen == etag).map(|_| ChangedBy::Disk))
    }

    /// Returns who made a version, if clients are to be told of it: the last one that they were told of is another. From
    /// then on they count as told. A version that nobody noted is recorded as another program's.
    pub fn tell(&self, path: &Place, etag: &str) -> Option<ChangedBy> {
        let mut files = self.files();
        let file = files.entry(path.clone()).or_default();
        if file.told.as_deref() == Some(etag) {
            return None;
        }
        file.told = Some(etag.to_owned());
        Some(file.noted(etag).unwrap_or_else(|| {
            file.seen = Some(etag.to_owned());
            ChangedBy::Disk
        }))
    }

    /// Forgets which versions in this root clients were told of, because they are told to read all of it again.
    pub fn told_as_a_whole(&self, root: &Root) {
        self.files().iter_mut().filter(|(path, _)| path.root() == root).for_each(|(_, file)| file.told = None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_told_once_until_another_follows() {
        let authors = FileAuthors::default();
        let path = Place::parse("memory/a.md").unwrap();
        authors.note(&path, "one", ChangedBy::Editor);
        assert_eq!(authors.tell(&path, "one"), Some(ChangedBy::Editor));
        assert_eq!(authors.tell(&path, "one"), None);
        assert_eq!(authors.tell(&path, "two"), Some(ChangedBy::Disk));
        assert_eq!(authors.tell(&path, "one"), Some(ChangedBy::Editor), "it is on disk again");
        authors.told_as_a_whole(&Root::Skills);
        assert_eq!(authors.tell(&path, "one"), None);
        authors.told_as_a_whole(&Root::Memory);
        assert_eq!(authors.tell(&path, "one"), Some(ChangedBy::Editor));
    }

    #[test]
    fn failed_change_hides_no_author() {
        let authors = FileAuthors::default();
        let path = Place::parse("memory/a.md").unwrap();
        authors.note(&path, "run", ChangedBy::Run);
        authors.note(&path, "refused", ChangedBy::Editor);
        assert_eq!(authors.known(&path, "run"), Some(ChangedBy::Run));
        (0..NOTED).for_each(|n| authors.note(&path, &n.to_string(), ChangedBy::Editor));
        assert_eq!(authors.known(&path, "run"), None, "old versions are let go");
        assert_eq!(authors.known(&path, "disk"), None);
        authors.tell(&path, "disk");
        assert_eq!(authors.known(&path, "disk"), Some(ChangedBy::Disk));
    }
}
