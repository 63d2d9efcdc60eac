//! Finds what changed in the files of a home since they were stored, whoever changed them.
//!
//! A file whose size, times and inode are those of the last look is taken as unchanged, unless it was changed so shortly before that
//! look that a later change could have the same times.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use cap_std::fs::{Dir, Metadata, MetadataExt, OpenOptions, OpenOptionsExt, PermissionsExt};

use super::not_kept::NotKept;
use super::tracked;
use crate::store::error::StoreError;
use crate::store::postgres::{FileCommit, FileRow, Piece, PieceHash, RowKind};
use crate::store::sha256_bytes;

/// Length of a piece. Of a file that grows at its end, only the last piece is stored again.
pub(super) const PIECE: usize = 256 << 10;
/// How much one batch reads, about.
const BATCH_BYTES: usize = 8 << 20;
const BATCH_FILES: usize = 500;
/// Larger files are not kept.
pub(super) const MAX_FILE: u64 = 256 << 20;
/// All files of one home together. What is found after that is not kept.
pub(super) const MAX_HOME: u64 = 8 << 30;
/// Length of a path in bytes, and how many folders it is in.
pub(super) const MAX_PATH: usize = 4096;
pub(super) const MAX_DEPTH: usize = 100;
/// Files and folders of one home.
const MAX_ENTRIES: usize = 200_000;
/// Times of files are not more exact than this.
const TIME_STEP: i64 = 20_000_000;
/// The bits of a mode that are kept: nobody gets the rights of another user by a restore.
pub(super) const MODES: u32 = 0o1777;
const LEVEL: i32 = 3;

/// What is stored of a home's files, and how they looked when they were read.
#[derive(Default)]
pub(super) struct Manifest {
    entries: BTreeMap<Vec<u8>, Known>,
    /// How many times a file needs each piece.
    needed: HashMap<PieceHash, usize>,
    /// What is left out, so that each is reported once.
    left_out: BTreeSet<Vec<u8>>,
}

struct Known {
    row: FileRow,
    seen: Option<Seen>,
}

impl Batch {
    /// Whether nothing has to be stored.
    pub fn is_empty(&self) -> bool {
        self.commit.put.is_empty() && self.commit.gone.is_empty()
    }
}

/// How a file looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    size: u64,
    modified: i64,
    changed: i64,
    inode: u64,
    mode: u32,
}

/// Changes that are to be stored, and the pieces that they need and that are not stored yet.
#[derive(Default)]
pub(super) struct Batch {
    pub commit: FileCommit,
    pub pieces: Vec<Piece>,
    /// What is not kept as it is now, with everything in it. What is stored of it stays.
    pub left_out: BTreeMap<Vec<u8>, NotKept>,
    /// Files that were read.
    pub read: Vec<Vec<u8>>,
    /// Whether there may be more changes.
    pub is_full: bool,
    seen: BTreeMap<Vec<u8>, Seen>,
}

impl Manifest {
    /// Returns the manifest of files that are stored.
    pub fn of(rows: Vec<FileRow>) -> Self {
        let mut manifest = Self::default();
        for row in rows {
            manifest.put(row);
        }
        manifest
    }

    pub fn contains(&self, path: &[u8]) -> bool {
        self.entries.contains_key(path)
    }

    pub fn rows(&self) -> impl Iterator<Item = &FileRow> {
        self.entries.values().map(|known| &known.row)
    }

    /// Compares the files of a home with the manifest.
    ///
    /// # Errors
    /// Returns an error if a folder cannot be read: what is in it must not be taken for removed.
    /// Files that this run has `read` are not read again, whatever their times say.
    pub fn compare_rest(&self, home: &Dir, read: &BTreeSet<Vec<u8>>) -> Result<Batch, StoreError> {
        let mut looked = Look {
            manifest: self,
            home,
            now: nanoseconds(SystemTime::now()),
            batch: Batch::default(),
            done: read,
            read: 0,
            total: 0,
            found: BTreeSet::new(),
        };
        for root in tracked::roots() {
            looked.look_at(root.as_bytes())?;
        }
        let Look { mut batch, found, .. } = looked;
        if !batch.is_full {
            let stays = |path: &[u8]| {
                let mut above = (0..path.len()).filter(|at| path[*at] == b'/').map(|at| &path[..at]);
                found.contains(path)
                    || batch.left_out.contains_key(path)
                    || above.any(|of| batch.left_out.contains_key(of))
            };
            batch.commit.gone = self.entries.keys().filter(|path| !stays(path)).cloned().collect();
        }
        batch.commit.dropped = self.dropped_by(&batch.commit);
        Ok(batch)
    }

    /// Notes that a batch is stored.
    pub fn stored(&mut self, batch: Batch) {
        for path in &batch.commit.gone {
            self.remove(path);
        }
        for row in batch.commit.put {
            self.put(row);
        }
        for (path, seen) in batch.seen {
            if let Some(known) = self.entries.get_mut(&path) {
                known.seen = Some(seen);
            }
        }
        self.left_out.extend(batch.left_out.into_keys());
    }

    /// Returns what is left out and was not reported before.
    pub fn unreported<'b>(&self, batch: &'b Batch) -> Vec<(&'b [u8], &'b NotKept)> {
        let new = batch.left_out.iter().filter(|(path, _)| !self.left_out.contains(*path));
        new.map(|(path, why)| (&**path, why)).collect()
    }

    fn put(&mut self, row: FileRow) {
        self.remove(&row.path);
        for hash in &row.pieces {
            *self.needed.entry(*hash).or_default() += 1;
        }
        self.entries.insert(row.path.clone(), Known { row, seen: None });
    }

    fn remove(&mut self, path: &[u8]) {
        let Some(known) = self.entries.remove(path) else { return };
        for hash in known.row.pieces {
            if let Some(count) = self.needed.get_mut(&hash) {
                *count -= 1;
                if *count == 0 {
                    self.needed.remove(&hash);
                }
            }
        }
    }

    /// Returns the pieces that no file needs after a commit.
    fn dropped_by(&self, commit: &FileCommit) -> Vec<PieceHash> {
        let mut change: HashMap<PieceHash, isize> = HashMap::new();
        let replaced = commit.gone.iter().chain(commit.put.iter().map(|row| &row.path));
        for hash in replaced.filter_map(|path| self.entries.get(path)).flat_map(|known| &known.row.pieces) {
            *change.entry(*hash).or_default() -= 1;
        }
        for hash in commit.put.iter().flat_map(|row| &row.pieces) {
            *change.entry(*hash).or_default() += 1;
        }
        let left = |hash: &PieceHash, by: isize| self.needed.get(hash).map_or(0, |count| *count as isize) + by;
        change.into_iter().filter(|(hash, by)| *by < 0 && left(hash, *by) <= 0).map(|(hash, _)| hash).collect()
    }
}

/// One walk through a home.
struct Look<'a> {
    manifest: &'a Manifest,
    home: &'a Dir,
    now: i64,
    batch: Batch,
    /// Files that were read before in this run.
    done: &'a BTreeSet<Vec<u8>>,
    read: usize,
    /// The size of the files that were found.
    total: u64,
    found: BTreeSet<Vec<u8>>,
}

impl Look<'_> {
    fn look_at(&mut self, path: &[u8]) -> Result<(), StoreError> {
        let (folder, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (Some(&path[..at]), &path[at + 1..]),
            None => (None, path),
        };
        let parent = match folder.map(|folder| self.home.open_dir(as_path(folder))) {
            Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened.transpose().map_err(failed(path))?,
        };
        let parent = parent.as_ref().unwrap_or(self.home);
        match parent.symlink_metadata(as_path(name)) {
            Ok(meta) => self.entry((parent, name), path.to_vec(), &meta),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(failed(path)(error)),
        }
    }

    fn entry(&mut self, (parent, name): (&Dir, &[u8]), path: Vec<u8>, meta: &Metadata) -> Result<(), StoreError> {
        if !tracked::is_kept(&path) {
            return Ok(());
        }
        if self.found.len() >= MAX_ENTRIES {
            return Err(StoreError::TooManyFiles { count: MAX_ENTRIES as u64, limit: MAX_ENTRIES as u64 });
        }
        let depth = path.iter().filter(|byte| **byte == b'/').count();
        if path.len() > MAX_PATH || depth > MAX_DEPTH {
            self.batch.left_out.insert(path, NotKept::TooDeep);
            return Ok(());
        }
        let kind = meta.file_type();
        if kind.is_dir() {
            self.found.insert(path.clone());
            self.put_if_new(FileRow {
                path: path.clone(),
                kind: RowKind::Folder,
                mode: meta.permissions().mode() & MODES,
                size: 0,
                modified: 0,
                pieces: Vec::new(),
            });
            return self.folder((parent, name), &path);
        }
        if kind.is_symlink() {
            return self.link((parent, name), path);
        }
        if kind.is_file() { self.file((parent, name), path, meta) } else { Ok(()) }
    }

    fn folder(&mut self, (parent, name): (&Dir, &[u8]), path: &[u8]) -> Result<(), StoreError> {
        let dir = match parent.open_dir(as_path(name)) {
            Ok(dir) => dir,
            // It went in this moment; the next look finds what is left.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                self.cannot_read(path, &error);
                return Ok(());
            }
        };
        let entries = match dir.entries() {
            Ok(entries) => entries,
            Err(error) => {
                self.cannot_read(path, &error);
                return Ok(());
            }
        };
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.cannot_read(path, &error);
                    continue;
                }
            };
            let name = entry.file_name();
            let below = [path, b"/", name.as_bytes()].concat();
            match entry.metadata() {
                Ok(meta) => self.entry((&dir, name.as_bytes()), below, &meta)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => self.cannot_read(&below, &error),
            }
        }
        Ok(())
    }

    /// What is stored of it stays, with everything below.
    fn cannot_read(&mut self, path: &[u8], error: &io::Error) {
        self.batch.left_out.insert(path.to_vec(), NotKept::Unreadable(error.to_string()));
    }

    fn link(&mut self, (parent, name): (&Dir, &[u8]), path: Vec<u8>) -> Result<(), StoreError> {
        let target = match parent.read_link_contents(as_path(name)) {
            Ok(target) => target.into_os_string(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(&path)(error)),
        };
        self.found.insert(path.clone());
        let bytes = target.as_bytes();
        let row = FileRow {
            path,
            kind: RowKind::Link,
            mode: 0o777,
            size: bytes.len() as u64,
            modified: 0,
            pieces: vec![sha256_bytes(bytes)],
        };
        if self.manifest.entries.get(&row.path).is_none_or(|known| known.row != row) {
            self.add_piece(row.pieces[0], bytes);
            self.batch.commit.put.push(row);
        }
        Ok(())
    }

    fn file(&mut self, (parent, name): (&Dir, &[u8]), path: Vec<u8>, meta: &Metadata) -> Result<(), StoreError> {
        let seen = Seen::of(meta);
        let is_too_much = self.total.saturating_add(seen.size) > MAX_HOME;
        if seen.size > MAX_FILE || is_too_much {
            self.batch.left_out.insert(path, NotKept::TooLarge);
            return Ok(());
        }
        self.total += seen.size;
        let known = self.manifest.entries.get(&path);
        if self.done.contains(&path) || known.is_some_and(|known| known.seen == Some(seen)) {
            self.found.insert(path);
            return Ok(());
        }
        if self.read >= BATCH_BYTES || self.batch.commit.put.len() >= BATCH_FILES {
            self.batch.is_full = true;
            self.found.insert(path);
            return Ok(());
        }
        let read = match read(parent, name) {
            Ok(Some(read)) => read,
            // It is another thing by now, or gone; the next look finds out.
            Ok(None) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                self.cannot_read(&path, &error);
                return Ok(());
            }
        };
        self.found.insert(path.clone());
        self.batch.read.push(path.clone());
        let (bytes, before, after) = read;
        self.read += bytes.len() + 1;
        let pieces: Vec<PieceHash> = bytes.chunks(PIECE).map(sha256_bytes).collect();
        for (hash, piece) in pieces.iter().zip(bytes.chunks(PIECE)) {
            self.add_piece(*hash, piece);
        }
        // Whoever sets the other time, also to one in the future, changes this one.
        let is_settled = before == after && after.changed < self.now - TIME_STEP;
        if is_settled {
            self.batch.seen.insert(path.clone(), after);
        }
        let row = FileRow {
            path,
            kind: RowKind::File,
            mode: after.mode,
            size: bytes.len() as u64,
            modified: after.modified,
            pieces,
        };
        self.put_if_new(row);
        Ok(())
    }

    fn put_if_new(&mut self, row: FileRow) {
        if self.manifest.entries.get(&row.path).is_none_or(|known| known.row != row) {
            self.batch.commit.put.push(row);
        }
    }

    fn add_piece(&mut self, sha256: PieceHash, bytes: &[u8]) {
        let is_known = self.manifest.needed.contains_key(&sha256);
        if is_known || self.batch.pieces.iter().any(|piece| piece.sha256 == sha256) {
            return;
        }
        let packed = zstd::bulk::compress(bytes, LEVEL).expect("memory for a piece");
        self.batch.pieces.push(Piece { sha256, packed });
    }
}

impl Seen {
    fn of(meta: &Metadata) -> Self {
        Self {
            size: meta.len(),
            modified: meta.mtime() * 1_000_000_000 + meta.mtime_nsec(),
            changed: meta.ctime() * 1_000_000_000 + meta.ctime_nsec(),
            inode: meta.ino(),
            mode: meta.permissions().mode() & MODES,
        }
    }
}

/// Reads a file, and how it looked before and after; `None` if it is no file any more. Follows no link and waits for no pipe.
fn read(dir: &Dir, name: &[u8]) -> io::Result<Option<(Vec<u8>, Seen, Seen)>> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let mut file = match dir.open_with(as_path(name), &options) {
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => return Ok(None),
        opened => opened?,
    };
    let before = file.metadata()?;
    if !before.is_file() || before.len() > MAX_FILE {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(before.len()).unwrap_or(0) + 1);
    file.by_ref().take(MAX_FILE).read_to_end(&mut bytes)?;
    let after = file.metadata()?;
    Ok(Some((bytes, Seen::of(&before), Seen::of(&after))))
}

fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

fn failed(path: &[u8]) -> impl FnOnce(io::Error) -> StoreError {
    StoreError::io(format!("looking at {}", String::from_utf8_lossy(path)))
}

fn nanoseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_std::ambient_authority;

    impl Manifest {
        fn compare(&self, home: &Dir) -> Result<Batch, StoreError> {
            self.compare_rest(home, &BTreeSet::new())
        }
    }

    /// Returns a folder with these files in `knowledge/`.
    fn home(files: &[(&str, &str)]) -> (tempfile::TempDir, Dir) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("knowledge")).unwrap();
        for (name, content) in files {
            std::fs::write(folder.path().join("knowledge").join(name), content).unwrap();
        }
        let dir = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        (folder, dir)
    }

    fn paths(rows: &[FileRow]) -> Vec<&str> {
        rows.iter().map(|row| std::str::from_utf8(&row.path).unwrap()).collect()
    }

    #[test]
    fn each_change_is_found_once() {
        let (folder, dir) = home(&[("a.md", "one"), ("b.md", "two")]);
        let mut manifest = Manifest::default();
        let first = manifest.compare(&dir).unwrap();
        assert_eq!(first.commit.put.len(), 3, "the folder, too: {:?}", paths(&first.commit.put));
        assert_eq!(first.pieces.len(), 2);
        manifest.stored(first);
        assert!(manifest.compare(&dir).unwrap().is_empty());

        // Of the same length, and with the time that it had.
        let path = folder.path().join("knowledge/a.md");
        let before = std::fs::metadata(&path).unwrap().modified().unwrap();
        std::fs::write(&path, "eno").unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(before).unwrap();
        let second = manifest.compare(&dir).unwrap();
        assert_eq!(paths(&second.commit.put), ["knowledge/a.md"]);
        assert_eq!(second.commit.dropped, [sha256_bytes(b"one")]);
        manifest.stored(second);
        std::fs::remove_file(&path).unwrap();
        let third = manifest.compare(&dir).unwrap();
        assert_eq!((third.commit.put.len(), third.commit.gone.clone()), (0, vec![b"knowledge/a.md".to_vec()]));
    }

    #[test]
    fn piece_stays_while_a_file_needs_it() {
        let (folder, dir) = home(&[("a.md", "same"), ("b.md", "same")]);
        let mut manifest = Manifest::default();
        let first = manifest.compare(&dir).unwrap();
        assert_eq!(first.pieces.len(), 1);
        manifest.stored(first);
        std::fs::remove_file(folder.path().join("knowledge/a.md")).unwrap();
        let second = manifest.compare(&dir).unwrap();
        assert_eq!((second.commit.gone.len(), second.commit.dropped.len()), (1, 0));
        manifest.stored(second);
        std::fs::remove_file(folder.path().join("knowledge/b.md")).unwrap();
        assert_eq!(manifest.compare(&dir).unwrap().commit.dropped, [sha256_bytes(b"same")]);
    }

    #[test]
    fn growing_file_costs_its_last_piece() {
        let (folder, dir) = home(&[]);
        let path = folder.path().join("knowledge/log");
        let start: Vec<u8> = (0..3 * PIECE).map(|at| (at / PIECE) as u8).collect();
        std::fs::write(&path, &start).unwrap();
        let mut manifest = Manifest::default();
        let first = manifest.compare(&dir).unwrap();
        assert_eq!(first.pieces.len(), 3);
        manifest.stored(first);
        std::fs::write(&path, [start, b"more".to_vec()].concat()).unwrap();
        let second = manifest.compare(&dir).unwrap();
        assert_eq!((second.pieces.len(), second.commit.dropped.len()), (1, 0));
    }

    #[test]
    fn links_are_not_followed_and_pipes_not_read() {
        let (folder, dir) = home(&[]);
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("knowledge/link")).unwrap();
        std::os::unix::fs::symlink("/etc", folder.path().join("memory")).unwrap();
        let pipe = std::ffi::CString::new(folder.path().join("knowledge/pipe").into_os_string().into_encoded_bytes());
        // SAFETY: the path is a string that ends with a zero byte.
        assert_eq!(unsafe { libc::mkfifo(pipe.unwrap().as_ptr(), 0o600) }, 0);
        let batch = Manifest::default().compare(&dir).unwrap();
        let kinds: Vec<_> = batch.commit.put.iter().map(|row| row.kind).collect();
        assert_eq!(paths(&batch.commit.put), ["knowledge", "knowledge/link", "memory"]);
        assert_eq!(kinds, [RowKind::Folder, RowKind::Link, RowKind::Link]);
        assert_eq!(batch.commit.put[1].pieces, [sha256_bytes(b"/etc/passwd")]);
    }

    #[test]
    fn time_in_the_future_is_read_once_in_a_run() {
        let (folder, dir) = home(&[("a.md", "one")]);
        let file = std::fs::File::options().write(true).open(folder.path().join("knowledge/a.md")).unwrap();
        file.set_modified(SystemTime::now() + std::time::Duration::from_secs(86_400)).unwrap();
        let mut manifest = Manifest::default();
        let first = manifest.compare(&dir).unwrap();
        let read: BTreeSet<Vec<u8>> = first.read.iter().cloned().collect();
        assert_eq!(read, BTreeSet::from([b"knowledge/a.md".to_vec()]));
        manifest.stored(first);
        assert!(manifest.compare_rest(&dir, &read).unwrap().read.is_empty());
    }

    #[test]
    fn what_cannot_be_kept_stays_as_it_is_stored() {
        let (folder, dir) = home(&[("a.md", "one"), ("b.md", "two")]);
        let mut manifest = Manifest::default();
        let first = manifest.compare(&dir).unwrap();
        manifest.stored(first);
        std::fs::File::options()
            .write(true)
            .open(folder.path().join("knowledge/a.md"))
            .unwrap()
            .set_len(MAX_FILE + 1)
            .unwrap();
        let mut deep = folder.path().join("knowledge");
        deep.extend(std::iter::repeat_n("d", MAX_DEPTH + 5));
        std::fs::create_dir_all(deep).unwrap();
        let second = manifest.compare(&dir).unwrap();
        assert!(second.commit.gone.is_empty());
        assert!(!paths(&second.commit.put).contains(&"knowledge/a.md"));
        let reported: Vec<NotKept> = manifest.unreported(&second).into_iter().map(|(_, why)| why.clone()).collect();
        assert_eq!(reported, [NotKept::TooLarge, NotKept::TooDeep]);
        assert_eq!(second.commit.put.len(), MAX_DEPTH);
        manifest.stored(second);
        let third = manifest.compare(&dir).unwrap();
        assert!(third.is_empty() && manifest.unreported(&third).is_empty());
    }

    #[test]
    fn many_changes_come_in_batches_and_nothing_is_lost() {
        let files: Vec<String> = (0..BATCH_FILES + 20).map(|n| format!("{n}.md")).collect();
        let named: Vec<(&str, &str)> = files.iter().map(|name| (name.as_str(), name.as_str())).collect();
        let (_folder, dir) = home(&named);
        let mut manifest = Manifest::default();
        let mut batches = 0;
        loop {
            let batch = manifest.compare(&dir).unwrap();
            assert!(batch.commit.gone.is_empty(), "what is not read yet is not gone");
            let is_full = batch.is_full;
            manifest.stored(batch);
            batches += 1;
            if !is_full {
                break;
            }
        }
        assert_eq!((batches, manifest.rows().count()), (2, files.len() + 1));
    }
}
