//! What is stored of a home's files, and how they looked when they were read.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::not_kept::NotKept;
use super::reading::Seen;
use super::watched::below;
use crate::store::postgres::{FileCommit, FileRow, Piece, PieceHash, RowKind};

/// What is stored of a home's files, and how they looked when they were read.
#[derive(Default)]
pub(super) struct Manifest {
    entries: BTreeMap<Vec<u8>, Known>,
    /// How many times a file needs each piece.
    needed: HashMap<PieceHash, usize>,
    /// What is left out, so that each is reported once.
    left_out: BTreeSet<Vec<u8>>,
    /// The size of all files.
    total: u64,
}

pub(super) struct Known {
    pub row: FileRow,
    pub seen: Option<Seen>,
}

/// Changes that are to be stored, and the pieces that they need and that are not stored yet.
#[derive(Default)]
pub(super) struct Batch {
    pub commit: FileCommit,
    pub pieces: Vec<Piece>,
    /// Pieces of a large file that are read once those before them are stored.
    pub later: Vec<LaterPiece>,
    /// Pieces that no file needs any more afterwards.
    pub dropped: Vec<PieceHash>,
    /// What is not kept as it is now, with everything in it. What is stored of it stays.
    pub left_out: BTreeMap<Vec<u8>, NotKept>,
    /// What may differ, too, and did not fit in.
    pub rest: BTreeSet<Vec<u8>>,
    pub(super) seen: BTreeMap<Vec<u8>, Seen>,
}

/// A piece of a file that is not read yet.
#[derive(Clone, Debug)]
pub(super) struct LaterPiece {
    pub path: Vec<u8>,
    /// Where it begins in the file, and how long it is.
    pub at: u64,
    pub length: usize,
    pub sha256: PieceHash,
}

impl Batch {
    /// Whether nothing has to be stored.
    pub fn is_empty(&self) -> bool {
        self.commit.put.is_empty() && self.commit.gone.is_empty() && self.commit.settled.is_empty()
    }

    /// Takes a file out that was changed while its pieces were stored.
    pub fn take_out(&mut self, path: &[u8]) {
        self.commit.put.retain(|row| row.path != path);
        self.seen.remove(path);
    }
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

    pub fn get(&self, path: &[u8]) -> Option<&Known> {
        self.entries.get(path)
    }

    pub fn rows(&self) -> impl Iterator<Item = &FileRow> {
        self.entries.values().map(|known| &known.row)
    }

    /// Returns how each file looks that was examined.
    pub fn seen(&self) -> impl Iterator<Item = (&FileRow, Seen)> {
        self.entries.values().filter_map(|known| Some((&known.row, known.seen?)))
    }

    /// Records how a file looks, if this is what is stored of it.
    pub fn set_seen_of(&mut self, row: &FileRow, seen: Seen) {
        if let Some(known) = self.entries.get_mut(&row.path).filter(|known| known.row == *row) {
            known.seen = Some(seen);
        }
    }

    /// Records how a file looks whose content is as stored.
    pub fn set_seen(&mut self, path: &[u8], seen: Seen) {
        let as_stored =
            |row: &FileRow| row.kind == RowKind::File && (row.size, row.modified) == (seen.size, seen.modified);
        if let Some(known) = self.entries.get_mut(path).filter(|known| as_stored(&known.row)) {
            known.seen = Some(seen);
        }
    }

    /// Forgets what is at a path and below it.
    pub fn forget(&mut self, path: &[u8]) {
        let known: Vec<Vec<u8>> = self.at_and_below(path).cloned().collect();
        known.iter().for_each(|path| self.remove(path));
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the size of all files.
    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn needs(&self, piece: &PieceHash) -> bool {
        self.needed.contains_key(piece)
    }

    /// Returns the paths that are stored at this path and below it.
    pub fn at_and_below<'m>(&'m self, path: &'m [u8]) -> impl Iterator<Item = &'m Vec<u8>> {
        let own = self.entries.get_key_value(path).map(|(path, _)| path);
        own.into_iter().chain(self.entries.range(below(path)).map(|(path, _)| path))
    }

    /// Returns all paths.
    pub fn paths(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.entries.keys()
    }

    /// Notes that a batch is stored.
    pub fn stored(&mut self, batch: Batch) {
        for path in &batch.commit.gone {
            self.remove(path);
            self.left_out.remove(path);
        }
        for row in batch.commit.put {
            self.left_out.remove(&row.path);
            self.put(row);
        }
        for (path, seen) in batch.seen {
            if let Some(known) = self.entries.get_mut(&path) {
                known.seen = Some(seen);
            }
        }
        self.left_out.extend(batch.left_out.into_keys());
    }

    /// Whether a path, or a folder that it is in, is left out.
    pub fn leaves_out(&self, path: &[u8]) -> bool {
        let mut above = (0..path.len()).filter(|at| path[*at] == b'/').map(|at| &path[..at]);
        self.left_out.contains(path) || above.any(|folder| self.left_out.contains(folder))
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
        self.total += row.size;
        self.entries.insert(row.path.clone(), Known { row, seen: None });
    }

    fn remove(&mut self, path: &[u8]) {
        let Some(known) = self.entries.remove(path) else { return };
        self.total -= known.row.size;
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
    pub fn dropped_by(&self, commit: &FileCommit) -> Vec<PieceHash> {
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
