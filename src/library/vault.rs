//! The notes of a project: their titles, aliases and tags, and which notes link to which. Kept in memory only and brought up to
//! date before each use; the files are the truth.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::domain::{FileStamp, Place, Root};
use crate::retrieval::note::{self, FileNames, Note, has_tag};
use crate::store::{FolderScan, Home, StoreError};

/// Maximum bytes of a note that is read.
const MAX_NOTE: usize = 1 << 20;

/// Maximum bytes that are kept of all notes together: further notes have no title, aliases, tags or links.
const MAX_KEPT: usize = 64 << 20;
/// Maximum number of tags that are listed.
const MAX_TAGS: usize = 10_000;

/// The notes of one project.
pub struct Vault {
    home: Home,
    root: Root,
    state: Mutex<VaultState>,
}

struct VaultState {
    scan: FolderScan,
    /// By path, relative to the root of the project.
    known: BTreeMap<String, (FileStamp, Arc<Note>)>,
    notes: Arc<Notes>,
    /// Whether `notes` holds everything that the scan found.
    is_current: bool,
}

/// The notes as they were at one time. Paths are relative to the root of the project.
#[derive(Default)]
pub struct Notes {
    pub names: FileNames,
    notes: BTreeMap<String, Arc<Note>>,
    /// The links to each file, made on first use.
    linked: OnceLock<HashMap<String, Vec<Backlink>>>,
}

/// A link to a note, in another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backlink {
    pub path: String,
    /// Line in that note, from 1.
    pub line: u32,
}

impl Vault {
    pub fn new(home: Home, root: Root) -> Self {
        let state = VaultState {
            scan: FolderScan::of_project(),
            known: BTreeMap::new(),
            notes: Arc::default(),
            is_current: false,
        };
        Self { home, root, state: Mutex::new(state) }
    }

    /// Returns the notes as they are now. Reads those that have changed. Blocks.
    ///
    /// # Errors
    /// Returns an error if the folder of the project cannot be read.
    pub fn notes(&self) -> Result<Arc<Notes>, StoreError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *state;
        // After an error or a panic, everything is compared again.
        let was_current = std::mem::take(&mut state.is_current);
        let changed = self.home.rescan(&self.root, &mut state.scan)?;
        if changed || !was_current {
            state.notes = Arc::new(self.read(&state.scan, &mut state.known));
        }
        state.is_current = true;
        Ok(state.notes.clone())
    }

    fn read(&self, scan: &FolderScan, known: &mut BTreeMap<String, (FileStamp, Arc<Note>)>) -> Notes {
        let (mut before, mut paths, mut changed) = (std::mem::take(known), Vec::new(), Vec::new());
        for file in scan.files() {
            let path = file.path.path().to_owned();
            if note::is_note(&path) {
                match before.remove(&path).filter(|(stamp, _)| *stamp == file.stamp) {
                    Some(same) => drop(known.insert(path.clone(), same)),
                    None => changed.push((file.path, file.stamp)),
                }
            }
            paths.push(path);
        }
        let places: Vec<Place> = changed.iter().map(|(place, _)| place.clone()).collect();
        let read = Mutex::new(Vec::with_capacity(places.len()));
        let total = AtomicUsize::new(known.values().map(|(_, note)| kept(note)).sum());
        self.home.read_each(&places, &|at, bytes| {
            if bytes.len() <= MAX_NOTE
                && let Ok(text) = std::str::from_utf8(bytes)
            {
                let mut note = note::parse(text);
                if total.fetch_add(kept(&note), Ordering::Relaxed) > MAX_KEPT {
                    note = Note::default();
                }
                let note = Arc::new(note);
                read.lock().unwrap_or_else(PoisonError::into_inner).push((at, note));
            }
            true
        });
        let mut notes: HashMap<usize, Arc<Note>> =
            read.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().collect();
        for (at, (place, stamp)) in changed.into_iter().enumerate() {
            // A note that cannot be read has nothing, and is read again when it changes.
            known.insert(place.path().to_owned(), (stamp, notes.remove(&at).unwrap_or_default()));
        }
        let notes = known.iter().map(|(path, (_, note))| (path.clone(), note.clone())).collect();
        Notes { names: FileNames::new(paths), notes, linked: OnceLock::new() }
    }
}

/// Returns about how many bytes of memory a note takes.
fn kept(note: &Note) -> usize {
    let links: usize = note.links.iter().map(|link| 88 + link.target.len()).sum();
    let words = note.tags.iter().chain(&note.aliases).chain(&note.title);
    links + words.map(|word| 24 + word.len()).sum::<usize>()
}

impl Notes {
    /// Returns all notes, sorted by path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Note)> {
        self.notes.iter().map(|(path, note)| (path.as_str(), note.as_ref()))
    }

    pub fn get(&self, path: &str) -> Option<&Note> {
        self.notes.get(path).map(Arc::as_ref)
    }

    /// Returns whether the note has all of these tags, or tags below them.
    pub fn has_tags(&self, path: &str, wanted: &[String]) -> bool {
        let has = |wanted: &String| self.get(path).is_some_and(|note| note.tags.iter().any(|tag| has_tag(tag, wanted)));
        wanted.iter().all(has)
    }

    /// Returns the first 10,000 tags with the number of notes that have each, by name. Tags that differ only in case are one.
    pub fn tags(&self) -> Vec<(String, usize)> {
        let mut tags: BTreeMap<String, (String, usize)> = BTreeMap::new();
        for tag in self.notes.values().flat_map(|note| &note.tags) {
            tags.entry(tag.to_lowercase()).or_insert_with(|| (tag.clone(), 0)).1 += 1;
        }
        tags.into_values().take(MAX_TAGS).collect()
    }

    /// Returns the links to a file from other notes, by their paths and lines.
    pub fn links_to(&self, path: &str) -> &[Backlink] {
        self.linked.get_or_init(|| self.linked()).get(path).map_or(&[], Vec::as_slice)
    }

    /// Returns the files that a note links to, in the order of its links.
    pub fn links_from(&self, path: &str) -> Vec<&str> {
        let (mut files, mut known) = (Vec::new(), HashSet::new());
        for link in self.get(path).into_iter().flat_map(|note| &note.links) {
            if let Some(file) = self.target(&link.target, path)
                && file != path
                && known.insert(file)
            {
                files.push(file);
            }
        }
        files
    }

    /// Returns the file that a link in a note means.
    fn target(&self, target: &str, from: &str) -> Option<&str> {
        let (from, _) = self.notes.get_key_value(from)?;
        self.names.resolve(target, from)
    }

    fn linked(&self) -> HashMap<String, Vec<Backlink>> {
        let mut linked: HashMap<String, Vec<Backlink>> = HashMap::new();
        for (from, note) in &self.notes {
            for link in &note.links {
                let Some(to) = self.target(&link.target, from).filter(|to| to != from) else { continue };
                let found = linked.entry(to.to_owned()).or_default();
                let backlink = Backlink { path: from.clone(), line: link.line };
                // A line with several links to the same note is one mention.
                if found.last() != Some(&backlink) {
                    found.push(backlink);
                }
            }
        }
        linked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ProjectId;

    fn vault(files: &[(&str, &str)]) -> (tempfile::TempDir, Vault) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        files.iter().for_each(|(path, text)| write(&folder, path, text));
        (folder, Vault::new(home, Root::Project(ProjectId::scratch())))
    }

    fn write(folder: &tempfile::TempDir, path: &str, text: &str) {
        let path = folder.path().join("scratch").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn backlinks(notes: &Notes, path: &str) -> Vec<String> {
        notes.links_to(path).iter().map(|link| format!("{}:{}", link.path, link.line)).collect()
    }

    #[test]
    fn links_and_tags_follow_the_files() {
        let (folder, vault) = vault(&[
            ("Tea.md", "#drink\n[[Water]] [[water.md|it]]\n\n[w](Water.md) [[Tea]] [[nowhere]]"),
            ("Water.md", "---\ntags: [Drink, wet]\n---\n![[leaf.png]]"),
            ("leaf.png", "\0"),
            (".trash/Old.md", "[[Water]]"),
            ("code.rs", "[[Water]]"),
        ]);
        let notes = vault.notes().unwrap();
        assert_eq!(notes.iter().map(|(path, _)| path).collect::<Vec<_>>(), ["Tea.md", "Water.md"]);
        assert_eq!(backlinks(&notes, "Water.md"), ["Tea.md:2", "Tea.md:4"]);
        assert_eq!(
            (backlinks(&notes, "leaf.png"), backlinks(&notes, "Tea.md")),
            (vec!["Water.md:4".to_owned()], vec![])
        );
        assert_eq!((notes.links_from("Tea.md"), notes.links_from("none.md")), (vec!["Water.md"], vec![]));
        assert_eq!(notes.tags(), [("drink".to_owned(), 2), ("wet".to_owned(), 1)]);
        assert!(notes.has_tags("Water.md", &["drink".to_owned(), "WET".to_owned()]));
        assert!(Arc::ptr_eq(&notes, &vault.notes().unwrap()), "nothing has changed");

        write(&folder, "sub/Water.md", "[[../Tea]]");
        write(&folder, "Tea.md", "no link");
        let notes = vault.notes().unwrap();
        assert_eq!(
            (backlinks(&notes, "Water.md"), backlinks(&notes, "Tea.md")),
            (vec![], vec!["sub/Water.md:1".to_owned()])
        );
        std::fs::remove_dir_all(folder.path().join("scratch/sub")).unwrap();
        assert_eq!(backlinks(&vault.notes().unwrap(), "Tea.md"), Vec::<String>::new());
    }

    #[test]
    fn note_that_is_no_text_has_nothing() {
        let (folder, vault) = vault(&[("a.md", "[[b]]")]);
        std::fs::write(folder.path().join("scratch/b.md"), b"\xff[[a]]").unwrap();
        write(&folder, "large.md", &"[[a]] ".repeat(MAX_NOTE / 4));
        let notes = vault.notes().unwrap();
        assert_eq!((backlinks(&notes, "a.md"), backlinks(&notes, "b.md")), (vec![], vec!["a.md:1".to_owned()]));
    }
}
