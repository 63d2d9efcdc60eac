//! Scans the files below a folder: reads the metadata of each file, on several threads if there are many files.
//!
//! Every query of an index begins with a scan, so microseconds per file matter: a [`FolderScan`] is kept from one scan to
//! the next and reuses whatever has not changed.

use std::collections::{HashMap, HashSet};
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use cap_std::fs::{Dir, DirEntry, FileType, Metadata, MetadataExt};
use serde::Serialize;

use super::ignoring::{FolderRules, Rules, ScanKind};
use crate::domain::{FileStamp, Place};

/// Maximum depth and number of files of a listing: a folder that was linked or unpacked by mistake must not stall the
/// server.
pub(super) const MAX_DEPTH: usize = 12;
pub(super) const MAX_FILES: usize = 20_000;
/// Maximum number of further files that are counted: counting them must not cost more than indexing them.
const MAX_COUNTED: usize = 100_000;
/// Minimum number of files per thread, and maximum number of threads.
const SHARE: usize = 256;
const MAX_THREADS: usize = 4;
/// Upper limit of the timestamp resolution of all supported file systems.
pub(super) const COARSEST: Duration = Duration::from_secs(3);

/// A file in a listing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FileEntry {
    pub path: Place,
    pub size: u64,
    /// Unix seconds.
    pub modified: f64,
    #[serde(skip)]
    pub stamp: FileStamp,
}

impl Unlisted {
    /// Returns its path in the home, for display.
    pub fn path(&self) -> String {
        format!("{}/{}", self.folder, self.name)
    }
}

impl UnlistedReason {
    /// Returns what is wrong and what to do about it.
    pub fn sentence(self) -> &'static str {
        match self {
            UnlistedReason::TooDeep => {
                "it lies deeper than the 12 folders that are looked at: move it up, or take it out"
            }
            UnlistedReason::TooMany => "it is beyond the 20,000 files that are looked at: take some files out",
            UnlistedReason::Name => "its name is no text, too long, or has a character that is not allowed: rename it",
            UnlistedReason::Closed => "it cannot be read: change its permissions, or take it out",
        }
    }
}

/// The files below a folder at the last scan. Omits special files, and also hidden files and folders unless they are
/// requested.
#[derive(Default)]
pub struct FolderScan {
    folders: Vec<Folder>,
    count: usize,
    kind: ScanKind,
    /// Number of files beyond the maximum.
    left_out: usize,
}

/// An entry below a folder that exists but that a scan does not list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlisted {
    /// The listed folder that it is in.
    pub folder: Place,
    /// Its name, for display: one that is not UTF-8 is converted lossily.
    pub name: String,
    pub why: UnlistedReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnlistedReason {
    /// It is below the maximum depth of a listing.
    TooDeep,
    /// There are more files than a listing may contain.
    TooMany,
    /// Its name is not UTF-8, is too long, or has characters that are not allowed in a path.
    Name,
    /// The folder cannot be read.
    Closed,
}

struct Folder {
    path: Place,
    /// Path relative to the root of the listing; empty for the root itself.
    below_root: String,
    /// Sorted by name.
    files: Vec<File>,
    folders: Vec<String>,
    /// Names of entries that are neither in `files` nor in `folders`, with the reason.
    unlisted: Vec<(String, UnlistedReason)>,
    /// Stamp of the folder. If the folder is `settled`, the same stamp means the same names.
    stamp: FileStamp,
    since: Instant,
    settled: bool,
    /// Its own rules, in a project.
    rules: FolderRules,
}

struct Names {
    files: Vec<File>,
    folders: Vec<String>,
    unlisted: Vec<(String, UnlistedReason)>,
}

pub(super) struct File {
    pub(super) name: String,
    pub(super) is_link: bool,
    /// Stamp, size in bytes, and modification time in Unix seconds; `None` if there is no file.
    pub(super) seen: Option<(FileStamp, u64, f64)>,
}

impl FolderScan {
    /// Returns an empty scan that lists hidden files too.
    pub(super) fn with_hidden() -> Self {
        Self { kind: ScanKind::Hidden, ..Self::default() }
    }

    /// Returns an empty scan that lists the files of a project as a programmer counts them: at most 50,000, without links
    /// and hidden files, and without those that a `.gitignore` leaves out.
    pub fn of_project() -> Self {
        Self { kind: ScanKind::Project, ..Self::default() }
    }

    /// Forgets everything that was found.
    pub(super) fn reset(&mut self) {
        *self = Self { kind: self.kind, ..Self::default() };
    }

    /// Returns the entries that the scan found but does not list.
    pub(super) fn unlisted(&self) -> Vec<Unlisted> {
        let seen: HashSet<&str> = self.folders.iter().map(|folder| folder.path.as_str()).collect();
        let mut found = Vec::new();
        for folder in &self.folders {
            let mut add =
                |name: &str, why| found.push(Unlisted { folder: folder.path.clone(), name: name.to_owned(), why });
            folder.unlisted.iter().for_each(|(name, why)| add(name, *why));
            for file in folder.files.iter().filter(|file| folder.path.child(&file.name).is_err()) {
                add(&file.name, UnlistedReason::Name);
            }
            for name in &folder.folders {
                match folder.path.child(name) {
                    Err(_) => add(name, UnlistedReason::Name),
                    Ok(path) if seen.contains(path.as_str()) => {}
                    Ok(_) if depth(&folder.path) >= self.kind.max_depth() => add(name, UnlistedReason::TooDeep),
                    Ok(_) => add(name, UnlistedReason::Closed),
                }
            }
        }
        found
    }

    /// Rescans, and returns whether anything may have changed since the last scan. After an error the scan is incomplete
    /// and must not be used.
    pub(super) fn rescan(&mut self, dir: &Dir, root: &Place) -> io::Result<bool> {
        let kind = self.kind;
        let folders = std::mem::replace(self, Self { kind, ..Self::default() }).folders.into_iter();
        let mut before: HashMap<String, Folder> = folders.map(|folder| (folder.below_root.clone(), folder)).collect();
        let mut changed = self.read(dir, (root, 0), (&mut before, &mut Rules::default()))?;
        changed |= !before.is_empty();
        changed |= self.stat(dir, SHARE);
        Ok(changed)
    }

    /// Returns the number of files beyond the maximum of a listing, counted up to 100,000.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// Returns all files of the scan, sorted by path.
    pub fn files(&self) -> Vec<FileEntry> {
        let mut found = Vec::with_capacity(self.count);
        for folder in &self.folders {
            found.extend(folder.files.iter().filter_map(|file| {
                let (stamp, size, modified) = file.seen?;
                Some(FileEntry { path: folder.path.child(&file.name).ok()?, size, modified, stamp })
            }));
        }
        // The files of each folder are sorted already, so this sort is cheap.
        found.sort_by(|a, b| a.path.cmp(&b.path));
        found
    }

    /// Reads the names in a folder and its subfolders; returns whether they differ from `before`.
    fn read(
        &mut self,
        dir: &Dir,
        (path, depth): (&Place, usize),
        (before, rules): (&mut HashMap<String, Folder>, &mut Rules),
    ) -> io::Result<bool> {
        let below_root = path.path();
        let (stamp, now) = (stamp(&dir.dir_metadata()?), Instant::now());
        let known = before.remove(below_root);
        let own = match self.kind {
            ScanKind::Project => FolderRules::read(dir, below_root, known.as_ref().map(|folder| &folder.rules)),
            ScanKind::Visible | ScanKind::Hidden => FolderRules::default(),
        };
        let left = rules.enter(&own, known.as_ref().map(|folder| &folder.rules));
        // Other rules leave other names out.
        let known = known.filter(|_| !rules.are_new());
        let same_stamp = known.as_ref().filter(|folder| folder.stamp == stamp).map(|folder| folder.since);
        let (folder, mut changed) = match known {
            Some(known) if same_stamp.is_some() && known.settled => (known, false),
            known => {
                let Names { files, folders, unlisted } = self.names(dir, (path, rules))?;
                let since = same_stamp.unwrap_or(now);
                // A change from here on gives the folder another stamp, because the clock has advanced since this one.
                let settled = now.duration_since(since) > COARSEST
                    && self.count + files.len() < self.kind.max_files()
                    && is_local(dir);
                match known {
                    Some(known) if known.files.iter().map(File::key).eq(files.iter().map(File::key)) => {
                        (Folder { folders, unlisted, stamp, since, settled, rules: own, ..known }, false)
                    }
                    _ => {
                        let (path, below_root) = (path.clone(), below_root.to_owned());
                        (Folder { path, below_root, files, folders, unlisted, stamp, since, settled, rules: own }, true)
                    }
                }
            }
        };
        self.count += folder.files.len();
        let at = self.folders.len();
        self.folders.push(folder);
        if depth >= self.kind.max_depth() || self.left_out >= MAX_COUNTED {
            rules.leave(left);
            return Ok(changed);
        }
        for number in 0..self.folders[at].folders.len() {
            let name = &self.folders[at].folders[number];
            let Ok(path) = path.child(name) else { continue };
            // A folder that cannot be opened is skipped.
            if let Ok(inner) = dir.open_dir(name) {
                changed |= self.read(&inner, (&path, depth + 1), (before, rules))?;
            }
        }
        rules.leave(left);
        Ok(changed)
    }

    /// Reads the entries of a folder, sorted by name.
    fn names(&mut self, dir: &Dir, (folder, rules): (&Place, &Rules)) -> io::Result<Names> {
        let (mut files, mut folders, mut unlisted) = (Vec::new(), Vec::new(), Vec::new());
        for entry in dir.entries()? {
            let entry = entry?;
            let name = match entry.file_name().into_string() {
                Ok(name) => name,
                Err(name) => {
                    unlisted.push((name.to_string_lossy().into_owned(), UnlistedReason::Name));
                    continue;
                }
            };
            if (self.kind != ScanKind::Hidden && name.starts_with('.')) || self.left_out >= MAX_COUNTED {
                continue;
            }
            let Some(kind) = kind(dir, &entry)? else { continue };
            if self.kind == ScanKind::Project && (kind.is_symlink() || rules.leave_out(folder, &name, kind.is_dir())) {
                continue;
            }
            if kind.is_dir() {
                folders.push(name);
            } else if self.count + files.len() >= self.kind.max_files() {
                self.left_out += 1;
                // One entry stands for all.
                if !unlisted.iter().any(|(_, why)| *why == UnlistedReason::TooMany) {
                    unlisted.push((name, UnlistedReason::TooMany));
                }
            } else {
                files.push(File { name, is_link: kind.is_symlink(), seen: None });
            }
        }
        files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        folders.sort_unstable();
        Ok(Names { files, folders, unlisted })
    }

    /// Reads the metadata of every file, and returns whether one has changed. Each thread handles at least `share` files.
    fn stat(&mut self, root: &Dir, share: usize) -> bool {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let threads = (self.count / share.max(1)).clamp(1, cores.min(MAX_THREADS));
        let mut shares = self.shares(self.count.div_ceil(threads).max(1)).into_iter();
        let Some(first) = shares.next() else { return false };
        thread::scope(|scope| {
            let others: Vec<_> = shares.map(|share| scope.spawn(|| stat(root, share))).collect();
            let changed = stat(root, first);
            let of_other = |other: thread::ScopedJoinHandle<'_, bool>| {
                other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            others.into_iter().map(of_other).fold(changed, |all, one| all | one)
        })
    }

    /// Splits all files into shares of at most `most`. A share is a list of folders, by their path below the root, each
    /// with some of its files.
    fn shares(&mut self, most: usize) -> Vec<Vec<(&str, &mut [File])>> {
        let mut shares = Vec::new();
        let mut share: Vec<(&str, &mut [File])> = Vec::new();
        let mut room = most;
        for folder in &mut self.folders {
            let mut files = folder.files.as_mut_slice();
            while !files.is_empty() {
                let (these, rest) = files.split_at_mut(room.min(files.len()));
                room -= these.len();
                share.push((&folder.below_root, these));
                files = rest;
                if room == 0 {
                    shares.push(std::mem::take(&mut share));
                    room = most;
                }
            }
        }
        shares.extend((!share.is_empty()).then_some(share));
        shares
    }
}

/// Returns the depth of a folder below the root of a listing; the root has depth 0.
fn depth(folder: &Place) -> usize {
    folder.as_str().matches('/').count()
}

/// Whether a file is below the maximum depth of a listing.
pub fn is_too_deep(file: &Place) -> bool {
    depth(file) > MAX_DEPTH + 1
}

impl File {
    fn key(&self) -> (&str, bool) {
        (&self.name, self.is_link)
    }
}

/// Returns the type of an entry that is a folder, a file or a link; `None` for special files such as pipes.
pub(super) fn kind(dir: &Dir, entry: &DirEntry) -> io::Result<Option<FileType>> {
    let known = |kind: &FileType| kind.is_file() || kind.is_dir() || kind.is_symlink();
    let kind = entry.file_type()?;
    if known(&kind) {
        return Ok(Some(kind));
    }
    // Some file systems do not report the type with the name. For a pipe or a socket the result stays the same.
    Ok(dir.symlink_metadata(entry.file_name()).ok().map(|meta| meta.file_type()).filter(known))
}

fn stat(root: &Dir, share: Vec<(&str, &mut [File])>) -> bool {
    let mut changed = false;
    for (folder, files) in share {
        let opened = (!folder.is_empty()).then(|| root.open_dir(folder));
        for file in files {
            let seen = match &opened {
                None => seen(root, file),
                Some(Ok(dir)) => seen(dir, file),
                Some(Err(_)) => None,
            };
            changed |= seen != file.seen;
            file.seen = seen;
        }
    }
    changed
}

pub(super) fn seen(dir: &Dir, file: &File) -> Option<(FileStamp, u64, f64)> {
    // A dangling link, or one that leads out, is not part of the home.
    let meta = if file.is_link { dir.metadata(&file.name) } else { dir.symlink_metadata(&file.name) }.ok()?;
    let modified = if meta.mtime() < 0 { 0.0 } else { meta.mtime() as f64 + meta.mtime_nsec() as f64 / 1e9 };
    meta.is_file().then(|| (stamp(&meta), meta.len(), modified))
}

pub(super) fn stamp(meta: &Metadata) -> FileStamp {
    let (modified, changed) = ((meta.mtime(), meta.mtime_nsec()), (meta.ctime(), meta.ctime_nsec()));
    FileStamp::of(meta.len(), modified, changed, (meta.dev(), meta.ino()))
}

/// Whether the folder is on a local file system that is known to update a folder's timestamps with every change of its
/// names.
#[cfg(target_os = "linux")]
fn is_local(dir: &Dir) -> bool {
    // ext2 to ext4, XFS, Btrfs, tmpfs, F2FS, bcachefs.
    const KNOWN: [i64; 6] = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0xf2f5_2010, 0xca45_1a4e];
    rustix::fs::fstatfs(dir).is_ok_and(|of| KNOWN.contains(&of.f_type))
}

#[cfg(not(target_os = "linux"))]
fn is_local(_dir: &Dir) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Root;
    use cap_std::ambient_authority;

    fn root() -> Place {
        Place::of_root(Root::Knowledge)
    }

    fn open(folder: &std::path::Path) -> Dir {
        Dir::open_ambient_dir(folder, ambient_authority()).unwrap()
    }

    fn listed(folder: &std::path::Path) -> Vec<FileEntry> {
        let mut scan = FolderScan::default();
        scan.rescan(&open(folder), &root()).unwrap();
        scan.files()
    }

    fn paths(folder: &std::path::Path) -> Vec<String> {
        listed(folder).iter().map(|file| file.path.to_string()).collect()
    }

    fn write(folder: &std::path::Path, name: &str) {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, name).unwrap();
    }

    #[test]
    fn files_are_sorted_by_path() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["a/b.md", "a/b/c.md", "a/z.md", "a-b/x.md", "a.md", "a b/y.md", "b", "猫.md", "a/0.md"];
        names.iter().for_each(|name| write(folder.path(), name));
        for hidden in [".env", "a/.git/config", ".cache/x.md", "a/back\\slash.md", "line\nbreak.md", "x\u{85}/in.md"] {
            write(folder.path(), hidden);
        }
        let mut expected = names.map(|name| format!("knowledge/{name}"));
        expected.sort();
        assert_eq!(paths(folder.path()), expected);
    }

    #[test]
    fn listing_stops_below_the_twelfth_folder() {
        let folder = tempfile::tempdir().unwrap();
        let deep = |count: usize| "d/".repeat(count);
        write(folder.path(), &format!("{}in.md", deep(MAX_DEPTH)));
        write(folder.path(), &format!("{}out.md", deep(MAX_DEPTH + 1)));
        assert_eq!(paths(folder.path()), [format!("knowledge/{}in.md", deep(12))]);
    }

    #[test]
    fn listing_names_what_it_omits_and_why() {
        use std::os::unix::ffi::OsStrExt;
        let folder = tempfile::tempdir().unwrap();
        let deep = "d/".repeat(MAX_DEPTH);
        for name in [&format!("{deep}in.md"), &format!("{deep}e/out.md"), ".git/HEAD", "a/.env", "a/line\nbreak.md"] {
            write(folder.path(), name);
        }
        let odd = std::ffi::OsStr::from_bytes(b"\xff.md");
        std::fs::write(folder.path().join(odd), "x").unwrap();
        let (dir, root) = (open(folder.path()), Place::of_root(Root::Skills));
        let mut scan = FolderScan::with_hidden();
        for _ in 0..2 {
            scan.rescan(&dir, &root).unwrap();
            let files: Vec<String> = scan.files().iter().map(|file| file.path.to_string()).collect();
            assert_eq!(files, ["skills/.git/HEAD", "skills/a/.env", &format!("skills/{deep}in.md")]);
            let mut unlisted: Vec<_> = scan.unlisted().into_iter().map(|one| (one.path(), one.why)).collect();
            unlisted.sort_by(|a, b| a.0.cmp(&b.0));
            let expected = [
                ("skills/a/line\nbreak.md".to_owned(), UnlistedReason::Name),
                (format!("skills/{deep}e"), UnlistedReason::TooDeep),
                ("skills/\u{fffd}.md".to_owned(), UnlistedReason::Name),
            ];
            assert_eq!(unlisted, expected);
        }
        let path = |text: String| Place::parse(&text).unwrap();
        assert!(
            !is_too_deep(&path(format!("skills/{deep}in.md"))) && is_too_deep(&path(format!("skills/{deep}e/out.md")))
        );
    }

    #[test]
    fn listing_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..=MAX_FILES {
            std::fs::File::create(folder.path().join(number.to_string())).unwrap();
        }
        let mut scan = FolderScan::default();
        scan.rescan(&open(folder.path()), &root()).unwrap();
        assert_eq!((scan.files().len(), scan.left_out()), (MAX_FILES, 1));
    }

    #[test]
    fn links_within_folder_are_followed() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(folder.path(), "a/real.md");
        write(outside.path(), "secret.md");
        let link = |to: &std::path::Path, name: &str| std::os::unix::fs::symlink(to, folder.path().join(name)).unwrap();
        link("a/real.md".as_ref(), "link.md");
        link("a".as_ref(), "folder");
        link("nowhere".as_ref(), "broken.md");
        link(&outside.path().join("secret.md"), "out.md");
        link(outside.path(), "outside");
        let found = listed(folder.path());
        let paths: Vec<&str> = found.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["knowledge/a/real.md", "knowledge/link.md"]);
        assert_eq!(found[0].stamp, found[1].stamp, "an edit of the file is an edit of what leads to it");
    }

    #[test]
    fn fifo_is_not_listed() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = std::ffi::CString::new(folder.path().join("pipe").to_str().unwrap()).unwrap();
        // SAFETY: a NUL-terminated path and a mode are all mkfifo takes.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        assert!(listed(folder.path()).is_empty());
    }

    #[test]
    fn edit_with_equal_size_and_mtime_is_detected() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "a.md");
        let before = listed(folder.path());
        let path = folder.path().join("a.md");
        let then = std::fs::metadata(&path).unwrap().modified().unwrap();
        std::fs::write(folder.path().join("b.md"), "b.md").unwrap();
        std::fs::rename(folder.path().join("b.md"), &path).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
        let after = listed(folder.path());
        assert_eq!((after[0].size, after[0].modified), (before[0].size, before[0].modified));
        assert_ne!(after[0].stamp, before[0].stamp);
    }

    #[test]
    fn concurrent_scans_agree() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..61 {
            write(folder.path(), &format!("{}/{}.md", number % 7, number));
            write(folder.path(), &format!("{number}.md"));
        }
        let dir = open(folder.path());
        let mut scan = FolderScan::default();
        scan.read(&dir, (&root(), 0), (&mut HashMap::new(), &mut Rules::default())).unwrap();
        assert!(scan.stat(&dir, usize::MAX));
        let alone = scan.files();
        assert_eq!(alone.len(), 122);
        for most in [1, 2, 7, 50, 121, 122, 500] {
            scan.folders.iter_mut().flat_map(|folder| &mut folder.files).for_each(|file| file.seen = None);
            let shares = scan.shares(most);
            assert_eq!(shares.len(), 122usize.div_ceil(most), "{most}");
            assert!(shares.into_iter().all(|share| stat(&dir, share)));
            assert_eq!(scan.files(), alone, "{most}");
        }
        assert!(!scan.stat(&dir, 10), "nothing has changed");
    }

    /// Rescans as if the folders had not changed for a long time.
    fn settle(scan: &mut FolderScan, dir: &Dir, folder: &std::path::Path) {
        let (then, on_disk) = (Instant::now() - 2 * COARSEST, std::time::SystemTime::now() - 2 * COARSEST);
        for inner in ["", "a", "b"] {
            std::fs::File::open(folder.join(inner)).unwrap().set_modified(on_disk).unwrap();
        }
        scan.rescan(dir, &root()).unwrap();
        scan.folders.iter_mut().for_each(|folder| folder.since = then);
        assert!(!scan.rescan(dir, &root()).unwrap());
        assert!(scan.folders.iter().all(|folder| folder.settled || !is_local(dir)));
    }

    #[test]
    fn next_scan_sees_every_change() {
        type Change = fn(&std::path::Path);
        let changes: [(&str, Change); 8] = [
            ("written in place", |at| std::fs::write(at.join("a/1.md"), "longer than it was").unwrap()),
            ("new", |at| write(at, "a/new.md")),
            ("new folder", |at| write(at, "b/c/d/new.md")),
            ("gone", |at| std::fs::remove_file(at.join("a/2.md")).unwrap()),
            ("folder gone", |at| std::fs::remove_dir_all(at.join("b")).unwrap()),
            ("renamed", |at| std::fs::rename(at.join("0.md"), at.join("9.md")).unwrap()),
            ("replaced", |at| std::fs::rename(at.join("0.md"), at.join("a/1.md")).unwrap()),
            ("through a link", |at| std::fs::write(at.join("b/link.md"), "the linked file").unwrap()),
        ];
        for (what, change) in changes {
            for settled in [false, true] {
                let folder = tempfile::tempdir().unwrap();
                ["0.md", "a/1.md", "a/2.md", "b/3.md"].iter().for_each(|name| write(folder.path(), name));
                std::os::unix::fs::symlink("../a/2.md", folder.path().join("b/link.md")).unwrap();
                let dir = open(folder.path());
                let mut scan = FolderScan::default();
                assert!(scan.rescan(&dir, &root()).unwrap(), "all is new");
                if settled {
                    settle(&mut scan, &dir, folder.path());
                }
                assert!(!scan.rescan(&dir, &root()).unwrap(), "{what}: nothing has changed yet");
                change(folder.path());
                assert!(scan.rescan(&dir, &root()).unwrap(), "{what}, settled: {settled}");
                assert_eq!(scan.files(), listed(folder.path()), "{what}, settled: {settled}");
                assert!(!scan.rescan(&dir, &root()).unwrap(), "{what}: once");
            }
        }
    }

    #[test]
    fn names_are_reread_while_clock_is_too_coarse() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "a.md");
        let dir = open(folder.path());
        let mut scan = FolderScan::default();
        for _ in 0..3 {
            scan.rescan(&dir, &root()).unwrap();
            assert!(!scan.folders[0].settled);
        }
        // The same stamp and another name, as happens within one tick of a clock.
        write(folder.path(), "b.md");
        scan.folders[0].stamp = stamp(&dir.dir_metadata().unwrap());
        assert!(scan.rescan(&dir, &root()).unwrap());
        assert_eq!(scan.files().len(), 2);
    }
}
