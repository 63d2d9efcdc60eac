//! The list of sessions, kept in memory. A listing reads again what has changed since the one before it: the kernel's queue of
//! changes says which files. Changes without such an event (on a network file system, by a memory map) are found by a look at
//! every file, at most [`LOOK_EVERY`] after a listing.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::error::StoreError;
use super::folder_events::{ChangedNames, FolderEvents};
use super::home::Home;
use super::summaries::SessionSummary;
use crate::domain::SessionId;

/// Interval of looks at every file while sessions are listed.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// Summaries of all sessions, most recently updated first.
pub type SessionList = Arc<[Arc<SessionSummary>]>;

/// The modification time and size of a file.
type Version = (SystemTime, u64);

/// Summaries by file name, each with the version of its file.
#[derive(Default)]
pub(super) struct SummaryCache {
    files: HashMap<String, (Version, Arc<SessionSummary>)>,
    /// Files that exist and could not be read: they are read again by every listing.
    unread: BTreeSet<String>,
    /// Absent after a change.
    sorted: Option<SessionList>,
    /// Absent before the first listing, and if `sessions/` cannot be watched.
    events: Option<FolderEvents>,
    looked: Option<Instant>,
}

impl SummaryCache {
    /// Returns the files to read again.
    fn changed(&mut self, home: &Home) -> ChangedNames {
        let Some(events) = &self.events else {
            self.events = FolderEvents::of(home.sessions_dir());
            return ChangedNames::Unknown;
        };
        match events.take() {
            ChangedNames::These(mut names) => {
                names.append(&mut self.unread);
                ChangedNames::These(names)
            }
            ChangedNames::Unknown => {
                self.events = FolderEvents::of(home.sessions_dir());
                ChangedNames::Unknown
            }
        }
    }

    fn sorted(&mut self) -> SessionList {
        let Self { files, sorted, .. } = self;
        let sort = || {
            let mut list: Vec<_> = files.values().map(|(_, summary)| summary.clone()).collect();
            list.sort_by(|a, b| b.updated_at.total_cmp(&a.updated_at).then_with(|| b.id.cmp(&a.id)));
            list.into()
        };
        sorted.get_or_insert_with(sort).clone()
    }

    fn remove(&mut self, name: &str) {
        if self.files.remove(name).is_some() {
            self.sorted = None;
        }
    }
}

impl Home {
    /// Lists all sessions. Reads only files that have changed since the last call. Moves a damaged file to quarantine, unless
    /// its session is `in_memory`: then the task that owns the session does so, because it knows the content.
    pub(super) fn sessions(&self, in_memory: &HashSet<SessionId>) -> Result<SessionList, StoreError> {
        // Held while files are read: a second listing waits for them instead of reading them too.
        let mut cache = self.summaries();
        let names = match cache.changed(self) {
            ChangedNames::These(names) => names,
            ChangedNames::Unknown => {
                cache.looked = Some(Instant::now());
                let mut names = self.session_files_now()?;
                names.extend(cache.files.keys().cloned());
                names
            }
        };
        for name in names {
            self.read_again(&mut cache, name, in_memory)?;
        }
        Ok(cache.sorted())
    }

    /// Returns whether every file is to be looked at again, and says so once.
    pub(super) fn is_look_due(&self) -> bool {
        let mut cache = self.summaries();
        let is_due = cache.looked.is_some_and(|looked| looked.elapsed() >= LOOK_EVERY);
        if is_due {
            cache.looked = Some(Instant::now());
        }
        is_due
    }

    /// Looks at every file, and reads those again that have changed. Listings do not wait for the look.
    pub(super) fn look_at_sessions(&self, in_memory: &HashSet<SessionId>) -> Result<(), StoreError> {
        let mut versions = HashMap::new();
        for name in self.session_files_now()? {
            let version = self.version_of(&name);
            versions.insert(name, version);
        }
        let mut cache = self.summaries();
        let is_same = |name: &String, kept: &Version| versions.get(name) == Some(&Some(*kept));
        let gone_or_changed = cache.files.iter().filter(|(name, (kept, _))| !is_same(name, kept)).map(|(name, _)| name);
        let new = versions.keys().filter(|name| !cache.files.contains_key(*name));
        let names: BTreeSet<String> = gone_or_changed.chain(new).cloned().collect();
        for name in names {
            self.read_again(&mut cache, name, in_memory)?;
        }
        Ok(())
    }

    fn session_files_now(&self) -> Result<BTreeSet<String>, StoreError> {
        let doing = || "listing sessions/";
        let mut names = BTreeSet::new();
        for entry in self.sessions_dir().entries().map_err(StoreError::io(doing()))? {
            names.extend(entry.map_err(StoreError::io(doing()))?.file_name().into_string().ok());
        }
        names.retain(|name| name.ends_with(".json"));
        Ok(names)
    }

    /// Returns the version of a file in `sessions/`; `None` if there is no such file.
    fn version_of(&self, name: &str) -> Option<Version> {
        let meta = self.sessions_dir().metadata(name).ok()?;
        Some((meta.modified().ok()?.into_std(), meta.len()))
    }

    /// Updates what is known of a file in `sessions/`. Does nothing for a file that is no session.
    fn read_again(
        &self,
        cache: &mut SummaryCache,
        name: String,
        in_memory: &HashSet<SessionId>,
    ) -> Result<(), StoreError> {
        let Some(id) = name.strip_suffix(".json").and_then(|stem| SessionId::parse(stem).ok()) else { return Ok(()) };
        // Before the content: a change in between makes the version an old one, and an event follows.
        let Some(version) = self.version_of(&name) else {
            cache.remove(&name);
            return Ok(());
        };
        if cache.files.get(&name).is_some_and(|(kept, _)| *kept == version) {
            return Ok(());
        }
        match self.summary(&id, in_memory)? {
            Some(summary) => {
                cache.sorted = None;
                cache.files.insert(name, (version, Arc::new(summary)));
            }
            None => {
                cache.remove(&name);
                if self.version_of(&name).is_some() {
                    cache.unread.insert(name);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn home() -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        (folder, home)
    }

    fn write(folder: &tempfile::TempDir, id: &str, title: &str, updated_at: f64) {
        let session = serde_json::json!({"title": title, "updated_at": updated_at, "messages": []});
        fs::write(folder.path().join(format!("sessions/{id}.json")), session.to_string()).unwrap();
    }

    fn titles(home: &Home) -> Vec<String> {
        let list = home.sessions(&HashSet::new()).unwrap();
        list.iter().map(|summary| summary.title.clone()).collect()
    }

    #[test]
    fn every_change_outside_is_in_the_next_list() {
        let (folder, home) = home();
        assert_eq!(titles(&home), Vec::<String>::new());
        write(&folder, "a", "one", 1.0);
        write(&folder, "b", "two", 2.0);
        assert_eq!(titles(&home), ["two", "one"]);
        // In place, with the size that it had.
        write(&folder, "a", "ONE", 3.0);
        assert_eq!(titles(&home), ["ONE", "two"]);
        let path = |name: &str| folder.path().join("sessions").join(name);
        fs::rename(path("b.json"), path("c.json")).unwrap();
        fs::remove_file(path("a.json")).unwrap();
        fs::write(path("no session.json"), "x").unwrap();
        assert_eq!(titles(&home), ["two"]);
    }

    #[test]
    fn unchanged_list_is_the_same_list() {
        let (folder, home) = home();
        write(&folder, "a", "one", 1.0);
        let first = home.sessions(&HashSet::new()).unwrap();
        fs::write(folder.path().join("sessions/a.journal.bak"), "x").unwrap();
        assert!(Arc::ptr_eq(&first, &home.sessions(&HashSet::new()).unwrap()), "nothing is sorted again");
    }

    #[test]
    fn look_finds_what_had_no_event() {
        let (folder, home) = home();
        write(&folder, "a", "one", 1.0);
        write(&folder, "b", "two", 2.0);
        assert_eq!(titles(&home), ["two", "one"]);
        fs::remove_file(folder.path().join("sessions/b.json")).unwrap();
        write(&folder, "a", "one more", 1.0);
        write(&folder, "c", "three", 3.0);
        // The events are lost.
        let lost = home.summaries().changed(&home);
        assert!(matches!(lost, ChangedNames::These(names) if names.len() == 3));
        assert_eq!(titles(&home), ["two", "one"]);
        home.look_at_sessions(&HashSet::new()).unwrap();
        assert_eq!(titles(&home), ["three", "one more"]);
    }

    #[test]
    fn folder_that_cannot_be_watched_is_looked_at_each_time() {
        let (folder, home) = home();
        for title in ["one", "second"] {
            write(&folder, "a", title, 1.0);
            home.summaries().events = None;
            assert_eq!(titles(&home), [title]);
        }
    }
}
