//! Finds what changed in the files of a home since they were stored, whoever changed them.
//!
//! A file whose size, times and inode are those of the last look is taken as unchanged, unless it was changed so shortly before that
//! look that a later change could have the same times.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::time::{SystemTime, UNIX_EPOCH};

use cap_std::fs::{Dir, Metadata, PermissionsExt};

use super::manifest::{Batch, LaterPiece, Manifest};
use super::not_kept::NotKept;
use super::reading::{Seen, as_path, failed, opened, opened_here, packed, read};
use super::tracked;
use super::watched::Watched;
use crate::store::error::StoreError;
use crate::store::postgres::{FileRow, PieceHash, RowKind};
use crate::store::sha256_bytes;

/// Length of a piece. Of a file that grows at its end, only the last piece is stored again.
pub(in crate::store) const PIECE: usize = 256 << 10;
/// How much one batch reads, about, but for the pieces of one large file that are read later.
const BATCH_BYTES: usize = 8 << 20;
const BATCH_FILES: usize = 500;
/// Files, folders and links of one batch.
const BATCH_ROWS: usize = 5_000;
/// Larger files are not kept.
pub(super) const MAX_FILE: u64 = 256 << 20;
/// All files of one home together. What is found after that is not kept.
pub(super) const MAX_HOME: u64 = 8 << 30;
/// Length of a path in bytes, and how many folders it is in.
pub(super) const MAX_PATH: usize = 4096;
pub(super) const MAX_DEPTH: usize = 100;
/// Files and folders of one home: about 400 bytes of memory each. What is found after that is not kept.
pub(super) const MAX_ENTRIES: usize = 500_000;
/// Times of files are not more exact than this.
const TIME_STEP: i64 = 20_000_000;
/// The bits of a mode that are kept: nobody gets the rights of another user by a restore.
pub(super) const MODES: u32 = 0o1777;

/// Whether what changed is to be stored, or only to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stores {
    Pieces,
    Nothing,
}

/// Where changes are looked for.
#[derive(Clone, Copy)]
pub(super) enum Scope<'a> {
    All,
    /// At these paths, and below those that are no watched folders.
    Paths(&'a BTreeSet<Vec<u8>>),
}

/// Compares the files of a home with the manifest. Folders that are looked at are watched from then on.
///
/// # Errors
/// Returns an error if a folder cannot be read: what is in it must not be taken for removed.
pub(super) fn compare(
    manifest: &Manifest,
    home: &Dir,
    scope: Scope<'_>,
    watched: Option<&mut Watched>,
) -> Result<Batch, StoreError> {
    let look = Look { watched, ..Look::new(manifest, home, scope) };
    look.at(scope)
}

/// Like [`compare`], and packs no pieces: nothing of it is stored.
///
/// # Errors
/// Returns an error if a folder cannot be read.
pub(super) fn look_only(manifest: &Manifest, home: &Dir, scope: Scope<'_>) -> Result<Batch, StoreError> {
    let look = Look { stores: Stores::Nothing, ..Look::new(manifest, home, scope) };
    look.at(scope)
}

/// One walk through a home, or through parts of it.
struct Look<'a> {
    manifest: &'a Manifest,
    stores: Stores,
    home: &'a Dir,
    now: i64,
    watched: Option<&'a mut Watched>,
    batch: Batch,
    read: usize,
    /// Whether it looks at everything, so that what is stored does not count by itself.
    is_whole: bool,
    /// The size of the files that there are.
    total: u64,
    /// The number of files, folders and links that there are.
    entries: usize,
    /// The pieces of the batch.
    queued: HashSet<PieceHash>,
    found: BTreeSet<Vec<u8>>,
    /// Of the changed paths, those whose entries below were looked for.
    looked_below: BTreeSet<Vec<u8>>,
}

impl<'a> Look<'a> {
    fn new(manifest: &'a Manifest, home: &'a Dir, scope: Scope<'_>) -> Self {
        Self {
            manifest,
            stores: Stores::Pieces,
            home,
            now: nanoseconds(SystemTime::now()),
            watched: None,
            batch: Batch::default(),
            read: 0,
            is_whole: matches!(scope, Scope::All),
            total: 0,
            entries: 0,
            queued: HashSet::new(),
            found: BTreeSet::new(),
            looked_below: BTreeSet::new(),
        }
    }

    fn at(mut self, scope: Scope<'_>) -> Result<Batch, StoreError> {
        match scope {
            Scope::All => self.look_at_all()?,
            Scope::Paths(paths) => {
                self.total = self.manifest.total();
                self.entries = self.manifest.len();
                for path in paths {
                    self.look_at_changed(path)?;
                }
            }
        }
        Ok(self.ended(scope))
    }

    fn look_at_all(&mut self) -> Result<(), StoreError> {
        for folder in tracked::FOLDERS_OF_ROOTS {
            if let (Some(dir), Some(watched)) = (opened(self.home, folder.as_bytes())?, &mut self.watched) {
                watched.add(&dir, folder.as_bytes());
            }
        }
        for root in tracked::roots() {
            self.look_at(root.as_bytes())?;
        }
        Ok(())
    }

    /// Looks at a path at which something may have changed.
    fn look_at_changed(&mut self, path: &[u8]) -> Result<(), StoreError> {
        if !tracked::may_be_written(path) {
            return Ok(());
        }
        // A folder above that is not known yet has everything below it looked at.
        let above = (0..path.len()).filter(|at| path[*at] == b'/').map(|at| &path[..at]);
        let is_new = |folder: &&[u8]| {
            let known = self.manifest.get(folder);
            tracked::may_be_written(folder) && known.is_none_or(|known| known.row.kind != RowKind::Folder)
        };
        let path = above.into_iter().find(is_new).unwrap_or(path);
        if self.found.contains(path) || self.looked_below.contains(path) {
            return Ok(());
        }
        let is_covered = self.watched.as_ref().is_some_and(|watched| watched.covers(path));
        if is_covered && self.look_at_folder_alone(path)? {
            return Ok(());
        }
        self.looked_below.insert(path.to_vec());
        self.look_at(path)?;
        if !self.found.contains(path)
            && let Some(watched) = &mut self.watched
        {
            watched.is_gone(path);
        }
        Ok(())
    }

    /// Looks at a folder, not at what is in it: that has notices of its own. Returns whether it is a folder.
    fn look_at_folder_alone(&mut self, path: &[u8]) -> Result<bool, StoreError> {
        let Some((parent, name)) = self.parent_of(path)? else { return Ok(false) };
        match parent.symlink_metadata(as_path(name)) {
            Ok(meta) if meta.is_dir() => {
                self.put_folder(path, &meta);
                Ok(true)
            }
            Ok(_) => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(failed(path)(error)),
        }
    }

    /// Returns the folder of a path; `None` if there is none.
    fn parent_of<'p>(&self, path: &'p [u8]) -> Result<Option<(Dir, &'p [u8])>, StoreError> {
        let (folder, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (&path[..at], &path[at + 1..]),
            None => (&path[..0], path),
        };
        Ok(opened(self.home, folder)?.map(|dir| (dir, name)))
    }

    fn look_at(&mut self, path: &[u8]) -> Result<(), StoreError> {
        let Some((parent, name)) = self.parent_of(path)? else { return Ok(()) };
        match parent.symlink_metadata(as_path(name)) {
            Ok(meta) => self.entry((&parent, name), path.to_vec(), &meta),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(failed(path)(error)),
        }
    }

    fn ended(self, scope: Scope<'_>) -> Batch {
        let Self { manifest, mut batch, found, looked_below, .. } = self;
        let stays = |path: &[u8]| {
            let mut above = (0..path.len()).filter(|at| path[*at] == b'/').map(|at| &path[..at]);
            found.contains(path) || batch.left_out.contains_key(path) || above.any(|of| batch.left_out.contains_key(of))
        };
        let gone: BTreeSet<Vec<u8>> = match scope {
            Scope::All => manifest.paths().filter(|path| !stays(path)).cloned().collect(),
            Scope::Paths(_) => {
                let looked = looked_below.iter().flat_map(|path| manifest.at_and_below(path));
                looked.filter(|path| !stays(path)).cloned().collect()
            }
        };
        batch.commit.gone = gone.into_iter().collect();
        batch.dropped = manifest.dropped_by(&batch.commit);
        batch
    }

    fn entry(&mut self, (parent, name): (&Dir, &[u8]), path: Vec<u8>, meta: &Metadata) -> Result<(), StoreError> {
        if !tracked::is_kept(&path) {
            return Ok(());
        }
        if self.is_whole || !self.manifest.contains(&path) {
            self.entries += 1;
        }
        if self.entries > MAX_ENTRIES {
            // With its folder, because there may be any number of them.
            let folder = path.iter().rposition(|byte| *byte == b'/').map_or(&path[..], |at| &path[..at]);
            self.batch.left_out.insert(folder.to_vec(), NotKept::TooMany);
            return Ok(());
        }
        let depth = path.iter().filter(|byte| **byte == b'/').count();
        if path.len() > MAX_PATH || depth > MAX_DEPTH {
            self.batch.left_out.insert(path, NotKept::TooDeep);
            return Ok(());
        }
        let kind = meta.file_type();
        if kind.is_dir() {
            self.put_folder(&path, meta);
            return self.folder((parent, name), &path);
        }
        if kind.is_symlink() {
            return self.link((parent, name), path);
        }
        if kind.is_file() { self.file((parent, name), path, meta) } else { Ok(()) }
    }

    fn put_folder(&mut self, path: &[u8], meta: &Metadata) {
        self.found.insert(path.to_vec());
        if self.batch.commit.put.len() >= BATCH_ROWS {
            self.batch.rest.insert(path.to_vec());
            return;
        }
        self.put_if_new(FileRow {
            path: path.to_vec(),
            kind: RowKind::Folder,
            mode: meta.permissions().mode() & MODES,
            size: 0,
            modified: 0,
            pieces: Vec::new(),
        });
    }

    fn folder(&mut self, (parent, name): (&Dir, &[u8]), path: &[u8]) -> Result<(), StoreError> {
        let dir = match opened_here(parent, name) {
            Ok(Some(dir)) => dir,
            // It went in this moment; the next look finds what is left.
            Ok(None) => return Ok(()),
            Err(error) => {
                self.cannot_read(path, &error);
                return Ok(());
            }
        };
        if let Some(watched) = &mut self.watched {
            watched.add(&dir, path);
        }
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
        if self.manifest.get(&row.path).is_none_or(|known| known.row != row) {
            self.add_piece(row.pieces[0], bytes);
            self.batch.commit.put.push(row);
        }
        Ok(())
    }

    fn file(&mut self, (parent, name): (&Dir, &[u8]), path: Vec<u8>, meta: &Metadata) -> Result<(), StoreError> {
        let seen = Seen::of(meta);
        let known = self.manifest.get(&path);
        let counted = known.filter(|_| !self.is_whole).map_or(0, |known| known.row.size);
        let total = self.total.saturating_sub(counted).saturating_add(seen.size);
        if seen.size > MAX_FILE || total > MAX_HOME {
            self.batch.left_out.insert(path, NotKept::TooLarge);
            return Ok(());
        }
        self.total = total;
        if known.is_some_and(|known| known.seen == Some(seen)) {
            self.found.insert(path);
            return Ok(());
        }
        if self.read >= BATCH_BYTES || self.batch.commit.put.len() >= BATCH_FILES {
            self.batch.rest.insert(path.clone());
            self.found.insert(path);
            return Ok(());
        }
        let mut pieces = Vec::new();
        let read = read(parent, name, |piece| pieces.push(self.add_piece_of(&path, pieces.len(), piece)));
        let (size, before, after) = match read {
            Ok(Some(read)) => read,
            // It is another thing by now, or gone; the next look finds out.
            Ok(None) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                self.cannot_read(&path, &error);
                return Ok(());
            }
        };
        self.read += 1;
        self.found.insert(path.clone());
        // Whoever sets the other time, also to one in the future, changes this one.
        let is_settled = before == after && after.changed < self.now - TIME_STEP;
        if is_settled {
            self.batch.seen.insert(path.clone(), after);
        }
        let row = FileRow { path, kind: RowKind::File, mode: after.mode, size, modified: after.modified, pieces };
        self.put_if_new(row);
        Ok(())
    }

    fn put_if_new(&mut self, row: FileRow) {
        if self.manifest.get(&row.path).is_none_or(|known| known.row != row) {
            self.batch.commit.put.push(row);
        }
    }

    /// Adds a piece of a file, or notes that it is read later if the batch has enough of them. Returns its hash.
    fn add_piece_of(&mut self, path: &[u8], number: usize, bytes: &[u8]) -> PieceHash {
        let sha256 = sha256_bytes(bytes);
        if self.stores == Stores::Nothing {
            return sha256;
        }
        self.read += bytes.len();
        if self.read <= BATCH_BYTES + PIECE {
            self.add_piece(sha256, bytes);
        } else if !self.manifest.needs(&sha256) && self.queued.insert(sha256) {
            let at = number as u64 * PIECE as u64;
            self.batch.later.push(LaterPiece { path: path.to_vec(), at, length: bytes.len(), sha256 });
        }
        sha256
    }

    fn add_piece(&mut self, sha256: PieceHash, bytes: &[u8]) {
        if self.stores == Stores::Nothing {
            return;
        }
        if !self.manifest.needs(&sha256) && self.queued.insert(sha256) {
            self.batch.pieces.push(packed(sha256, bytes));
        }
    }
}

fn nanoseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
