//! The files of a project as a programmer counts them: without those that `.gitignore` files leave out, and without git's own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use cap_std::fs::{Dir, MetadataExt};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::error::StoreError;
use super::files::{escape_or, open_regular_in};
use super::home::Home;
use super::listing::kind;
use crate::domain::{Place, Root};

/// Folders that are never listed: git's own, and that of a command's temporary files.
pub(super) const LEFT_OUT: [&str; 2] = [".git", ".tmp"];
pub(super) const IGNORE_FILE: &str = ".gitignore";
/// Maximum number of names that a walk reads, and depth of folders.
const MAX_NAMES: usize = 500_000;
const MAX_DEPTH: usize = 64;
/// Maximum size in bytes of a file that a search reads, and of a `.gitignore`.
const MAX_SEARCHED: u64 = 10 << 20;
const MAX_IGNORE: u64 = 256 << 10;
/// Maximum number of threads of a search, and number of files that a thread takes at once.
const MAX_THREADS: usize = 4;
const SHARE: usize = 64;

/// A file or folder that a walk has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkedEntry {
    pub place: Place,
    pub is_folder: bool,
    pub is_link: bool,
    /// Size in bytes; 0 for folders and if sizes are not wanted.
    pub size: u64,
}

/// What a walk lists.
#[derive(Clone, Copy, Debug)]
pub struct WalkOptions {
    /// Maximum depth below the folder; 1 for its own entries.
    pub depth: usize,
    pub sizes: bool,
    /// When it stops, with what it has found until then.
    pub deadline: Option<Instant>,
}

/// The entries that a walk has found, in the order of their paths.
#[derive(Debug, Default, PartialEq)]
pub struct Walk {
    pub entries: Vec<WalkedEntry>,
    /// Number of entries that were left out because their names are not allowed in a path.
    pub unlisted: usize,
    /// Whether it stopped at 500,000 names, or at its deadline.
    pub is_cut: bool,
}

impl Home {
    /// Lists what is below a folder of a project.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if there is no such folder, and [`StoreError::NotAllowed`] for a file.
    pub fn walk(&self, folder: &Place, options: WalkOptions) -> Result<Walk, StoreError> {
        let mut rules = self.rules_above(folder)?;
        let dir = self.open_folder(folder)?;
        let mut walking = Walking { options, names: 0, walk: Walk::default() };
        walking.folder(&dir, folder, &mut rules, 1).map_err(StoreError::io(format!("listing {folder}/")))?;
        Ok(walking.walk)
    }

    /// Returns the rules of the `.gitignore` files above a folder, which count for what is below it.
    pub(super) fn rules_above(&self, folder: &Place) -> Result<Vec<Arc<Gitignore>>, StoreError> {
        let mut above = self.open_folder(&Place::of_root(folder.root().clone()))?;
        let (mut rules, mut base) = (Vec::new(), String::new());
        for name in folder.path().split('/').filter(|name| !name.is_empty()) {
            rules.extend(rules_of(&above, &base));
            above = above.open_dir(name).map_err(|error| escape_or(folder, error))?;
            base = if base.is_empty() { name.to_owned() } else { format!("{base}/{name}") };
        }
        Ok(rules)
    }

    /// Calls `each` with every file that is at most 10 MiB and can be read, on several threads, until it returns `false`.
    pub fn read_each(&self, files: &[Place], each: &(dyn Fn(usize, &[u8]) -> bool + Sync)) {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut reader = Reader { home: self, root: None, buffer: Vec::new() };
            loop {
                let first = next.fetch_add(SHARE, Ordering::Relaxed);
                for at in first..(first + SHARE).min(files.len()) {
                    if reader.read(&files[at]).is_some_and(|bytes| !each(at, bytes)) {
                        next.store(files.len(), Ordering::Relaxed);
                        return;
                    }
                }
                if first >= files.len() {
                    return;
                }
            }
        };
        let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        thread::scope(|scope| {
            (1..threads).for_each(|_| drop(scope.spawn(work)));
            work();
        });
    }
}

/// Reads many small files with few system calls: it keeps the folder of their root open.
struct Reader<'h> {
    home: &'h Home,
    root: Option<(Root, Dir)>,
    buffer: Vec<u8>,
}

impl Reader<'_> {
    /// Returns the content of a file; `None` if it has more than 10 MiB or cannot be read.
    fn read(&mut self, place: &Place) -> Option<&[u8]> {
        use std::io::Read;
        if self.root.as_ref().is_none_or(|(root, _)| root != place.root()) {
            let folder = self.home.open_root(place.root(), |error| escape_or(place, error)).ok()?;
            self.root = Some((place.root().clone(), folder));
        }
        let (_, folder) = self.root.as_ref()?;
        let (mut file, meta) = open_regular_in(folder, (place.path(), place)).ok()?;
        let size = Some(meta.len()).filter(|size| *size <= MAX_SEARCHED)?;
        self.buffer.resize(size as usize, 0);
        let mut length = 0;
        while length < self.buffer.len() {
            match file.read(&mut self.buffer[length..]) {
                Ok(0) => break,
                Ok(read) => length += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        Some(&self.buffer[..length])
    }
}

/// Returns the rules of the `.gitignore` in a folder, whose paths are relative to `base`.
pub(super) fn rules_of(dir: &Dir, base: &str) -> Option<Arc<Gitignore>> {
    use std::io::Read;
    let mut options = cap_std::fs::OpenOptions::new();
    cap_std::fs::OpenOptionsExt::custom_flags(options.read(true), libc::O_NONBLOCK | libc::O_NOFOLLOW);
    let file = dir.open_with(IGNORE_FILE, &options).ok()?;
    let mut text = String::new();
    file.metadata().ok().filter(cap_std::fs::Metadata::is_file)?;
    file.take(MAX_IGNORE).read_to_string(&mut text).ok()?;
    let mut builder = GitignoreBuilder::new(format!("/{base}"));
    for line in text.lines() {
        // A line that is no pattern says nothing, as for git.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok().filter(|rules| !rules.is_empty()).map(Arc::new)
}

struct Walking {
    options: WalkOptions,
    names: usize,
    walk: Walk,
}

impl Walking {
    /// Asks the clock for one name of a thousand.
    fn is_late(&self) -> bool {
        self.names.is_multiple_of(1_000) && self.options.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn folder(
        &mut self,
        dir: &Dir,
        folder: &Place,
        rules: &mut Vec<Arc<Gitignore>>,
        depth: usize,
    ) -> std::io::Result<()> {
        let own = rules_of(dir, folder.path());
        let known = rules.len();
        rules.extend(own);
        let mut entries = Vec::new();
        for entry in dir.entries()? {
            let entry = entry?;
            self.names += 1;
            if self.names > MAX_NAMES || self.is_late() {
                self.walk.is_cut = true;
                break;
            }
            let name = entry.file_name();
            let Some(kind) = kind(dir, &entry)? else { continue };
            if LEFT_OUT.iter().any(|left_out| name == *left_out) {
                continue;
            }
            match name.to_str().and_then(|name| folder.child(name).ok()) {
                Some(place) if !is_ignored(rules, &place, kind.is_dir()) => entries.push((place, kind)),
                Some(_) => {}
                None => self.walk.unlisted += 1,
            }
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        for (place, kind) in entries {
            let is_folder = kind.is_dir();
            let wants_size = self.options.sizes && !is_folder;
            let size =
                if wants_size { dir.symlink_metadata(place.file_name()).map_or(0, |meta| meta.size()) } else { 0 };
            let inner = place.clone();
            self.walk.entries.push(WalkedEntry { place, is_folder, is_link: kind.is_symlink(), size });
            if is_folder
                && depth < self.options.depth.min(MAX_DEPTH)
                && !self.walk.is_cut
                && let Ok(dir) = dir.open_dir(inner.file_name())
            {
                self.folder(&dir, &inner, rules, depth + 1)?;
            }
        }
        rules.truncate(known);
        Ok(())
    }
}

/// Returns whether a rule leaves an entry out. The rules of the nearest folder decide.
pub(super) fn is_ignored(rules: &[Arc<Gitignore>], place: &Place, is_folder: bool) -> bool {
    let path = format!("/{}", place.path());
    for rules in rules.iter().rev() {
        match rules.matched(&path, is_folder) {
            Match::Ignore(_) => return true,
            Match::Whitelist(_) => return false,
            Match::None => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ProjectId, Root};

    fn project(files: &[(&str, &str)]) -> (tempfile::TempDir, Home, Place) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        for (path, text) in files {
            let path = folder.path().join("scratch").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        (folder, home, Place::of_root(Root::Project(ProjectId::scratch())))
    }

    fn listed(home: &Home, folder: &Place, depth: usize) -> Vec<String> {
        let walk = home.walk(folder, WalkOptions { depth, sizes: true, deadline: None }).unwrap();
        walk.entries.iter().map(|entry| entry.place.path().to_owned()).collect()
    }

    #[test]
    fn ignored_files_are_left_out_as_git_does() {
        let (_folder, home, root) = project(&[
            (".gitignore", "target/\n*.log\n!keep.log\n/only-here\n"),
            (".git/config", ""),
            (".tmp/x", ""),
            ("a.log", ""),
            ("keep.log", ""),
            ("only-here", ""),
            ("src/only-here", ""),
            ("src/.gitignore", "*.tmp\n!b.log\n"),
            ("src/a.tmp", ""),
            ("src/b.log", ""),
            ("src/target/x", ""),
            ("target/x", ""),
        ]);
        let wanted = [".gitignore", "keep.log", "src", "src/.gitignore", "src/b.log", "src/only-here"];
        assert_eq!(listed(&home, &root, 9), wanted);
        assert_eq!(listed(&home, &root, 1), [".gitignore", "keep.log", "src"]);
        let inner = root.child("src").unwrap();
        assert_eq!(listed(&home, &inner, 9), wanted[3..], "the rules above count there too");
    }

    #[test]
    fn walk_follows_no_link_and_says_what_it_cannot_list() {
        let (folder, home, root) = project(&[("a.txt", "12345"), ("sub/b.txt", "")]);
        std::os::unix::fs::symlink("/etc", folder.path().join("scratch/etc")).unwrap();
        std::fs::write(folder.path().join("scratch/line\nbreak"), "").unwrap();
        let walk = home.walk(&root, WalkOptions { depth: 9, sizes: true, deadline: None }).unwrap();
        let seen: Vec<_> = walk.entries.iter().map(|e| (e.place.path(), e.is_link, e.size)).collect();
        assert_eq!(seen, [("a.txt", false, 5), ("etc", true, 4), ("sub", false, 0), ("sub/b.txt", false, 0)]);
        assert_eq!((walk.unlisted, walk.is_cut), (1, false));
        assert!(
            home.walk(&root.child("none").unwrap(), WalkOptions { depth: 1, sizes: false, deadline: None }).is_err()
        );
        assert!(
            home.walk(&root.child("etc").unwrap(), WalkOptions { depth: 1, sizes: false, deadline: None }).is_err()
        );
    }

    #[test]
    fn every_file_is_read_once_until_told_to_stop() {
        let names: Vec<String> = (0..500).map(|n| format!("{n:03}.txt")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), name.as_str())).collect();
        let (_folder, home, root) = project(&files);
        let places: Vec<Place> = names.iter().map(|name| root.child(name).unwrap()).collect();
        let seen = std::sync::Mutex::new(vec![0; names.len()]);
        home.read_each(&places, &|at, bytes| {
            assert_eq!(bytes, names[at].as_bytes());
            seen.lock().unwrap()[at] += 1;
            true
        });
        assert!(seen.lock().unwrap().iter().all(|count| *count == 1));
        let count = AtomicUsize::new(0);
        home.read_each(&places, &|_, _| count.fetch_add(1, Ordering::Relaxed) < 3);
        assert!(count.load(Ordering::Relaxed) < 2 * SHARE * MAX_THREADS);
    }
}
