//! A capture: what a command changed in a folder, kept apart from the folder until it is promoted or discarded.
//!
//! The command ran in an overlay (`sandbox::Overlay`); its **upper layer** contains every entry that it created or changed, a
//! **whiteout** (a device 0/0) for each that it deleted, and marks folders that replaced others as **opaque**. [`Capture::changes`]
//! reads the layer, [`Capture::promote`] applies it to the folder, and removing the capture discards it. The command may have
//! put anything into the layer, so it is read as untrusted: nothing in it leads out of the layer or out of the folder.

mod beneath;
mod layer;
mod promotion;
#[cfg(test)]
mod tests;

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW};

pub(super) use beneath::{Beneath, give, names, set_mode_of};
pub use beneath::{Node, NodeKind};
pub use layer::{ChangeKind, LayerChanges, LayerEntry, Refusal, Refused};
pub use promotion::{LeftEntry, LeftReason, Promoted};

use crate::store::StoreError;

/// Maximum number of entries of a layer that are read: a larger change is refused as a whole.
const MAX_ENTRIES: usize = 200_000;
/// How often the clock of the file system is looked at until it advances, and the pause before each look: 50 ms in all, five
/// ticks of the slowest kernel.
const CLOCK_LOOKS: u32 = 500;
const CLOCK_PAUSE: Duration = Duration::from_micros(100);

/// The folder of one capture. Its parts exist as long as it is neither promoted and removed, nor discarded.
pub struct Capture {
    path: PathBuf,
    /// The folder that the command worked in.
    folder: PathBuf,
    /// Every change that was made in the folder after the start of the capture has this time or a later one.
    started: (i64, i64),
}

impl Capture {
    /// Creates the folder of a capture as `path`, for a command that works in `folder`. Both must be on one file system, and
    /// commands must not be able to reach `path`.
    ///
    /// # Errors
    /// Returns an error if `path` exists or cannot be created.
    pub fn create(path: &Path, folder: &Path) -> Result<Self, StoreError> {
        let doing = || format!("preparing the capture of changes in {}", folder.display());
        let started = make_folders(path).map_err(StoreError::io(doing()))?;
        Ok(Self { path: path.to_owned(), folder: folder.to_owned(), started })
    }

    /// The folder for the command's changes: `sandbox::Overlay::upper`.
    pub fn upper(&self) -> PathBuf {
        self.path.join("upper")
    }

    /// The kernel's folder: `sandbox::Overlay::work`.
    pub fn work(&self) -> PathBuf {
        self.path.join("work")
    }

    /// The command's folder for temporary files: `sandbox::Overlay::temporary`.
    pub fn temporary(&self) -> PathBuf {
        self.path.join("temporary")
    }

    /// Returns what the command changed. It must have ended.
    ///
    /// # Errors
    /// Returns [`StoreError::TooLarge`] for more than 200,000 entries, and an error if a layer cannot be read.
    pub fn changes(&self) -> Result<LayerChanges, StoreError> {
        let layers = self.layers()?;
        let read = layer::read(&layers, self.started, MAX_ENTRIES);
        let read = read.map_err(StoreError::io(format!("reading what changed in {}", self.folder.display())))?;
        read.ok_or_else(|| StoreError::TooLarge {
            path: format!("the change of {}", self.folder.display()),
            size: MAX_ENTRIES as u64 + 1,
            limit: MAX_ENTRIES as u64,
        })
    }

    /// Applies changes that [`Self::changes`] returned to the folder: each entry either completely, or not at all if it is no
    /// longer what it was when the changes were read. What the entries were before is in the capture afterwards.
    ///
    /// If the process is killed, [`Self::resume`] completes it.
    ///
    /// # Errors
    /// Returns an error if the plan cannot be written; then nothing was changed.
    pub fn promote(&self, changes: &LayerChanges) -> Result<Promoted, StoreError> {
        let doing = || format!("applying changes to {}", self.folder.display());
        promotion::write_plan(&self.path, &changes.entries).map_err(StoreError::io(doing()))?;
        promotion::apply(&self.layers()?, &self.path, &changes.entries).map_err(StoreError::io(doing()))
    }

    /// Completes a promotion that was interrupted, in a capture that an earlier process left; `None` if none was begun. A
    /// completed promotion changes nothing.
    ///
    /// # Errors
    /// Returns an error if the plan cannot be read.
    pub fn resume(path: &Path, folder: &Path) -> Result<Option<ResumedPromotion>, StoreError> {
        let doing = || format!("completing the changes to {}", folder.display());
        let Some(entries) = promotion::read_plan(path).map_err(StoreError::io(doing()))? else { return Ok(None) };
        let capture = Self { path: path.to_owned(), folder: folder.to_owned(), started: (0, 0) };
        let promoted = promotion::apply(&capture.layers()?, path, &entries).map_err(StoreError::io(doing()))?;
        let changes = LayerChanges { entries, refused: Vec::new() };
        Ok(Some(ResumedPromotion { capture, changes, promoted }))
    }

    /// Opens the layers, to read contents of entries from them.
    ///
    /// # Errors
    /// Returns an error if a layer cannot be opened.
    pub fn contents<'c>(&'c self, changes: &'c LayerChanges) -> Result<Contents<'c>, StoreError> {
        let removed = self.path.join(promotion::REMOVED);
        let opening = StoreError::io(format!("opening {}", removed.display()));
        let removed = Beneath::open(&removed).map_err(opening)?;
        Ok(Contents { capture: self, changes, layers: self.layers()?, removed })
    }

    /// Removes the capture: discards the changes if they were not promoted, otherwise what was there before.
    ///
    /// # Errors
    /// Returns an error if something cannot be removed.
    pub fn remove(self) -> Result<(), StoreError> {
        Self::remove_at(&self.path)
    }

    /// Like [`Self::remove`], for a capture that an earlier process left. If its promotion was begun, [`Self::resume`] comes
    /// first.
    ///
    /// # Errors
    /// Returns an error if something cannot be removed.
    pub fn remove_at(path: &Path) -> Result<(), StoreError> {
        remove_all(path).map_err(StoreError::io(format!("removing the capture {}", path.display())))
    }

    fn layers(&self) -> Result<Layers, StoreError> {
        let open = |path: &Path| Beneath::open(path).map_err(StoreError::io(format!("opening {}", path.display())));
        Ok(Layers { upper: open(&self.upper())?, lower: open(&self.folder)? })
    }
}

/// The contents of the entries of a capture, whether it is promoted or not.
pub struct Contents<'c> {
    capture: &'c Capture,
    changes: &'c LayerChanges,
    layers: Layers,
    removed: Beneath,
}

impl Contents<'_> {
    /// Opens the content that an entry had before; `None` if it was no file.
    ///
    /// # Errors
    /// Returns an error if the content is gone.
    pub fn before(&self, entry: usize) -> Result<Option<std::fs::File>, StoreError> {
        let wanted = self.changes.entries.get(entry).and_then(|entry| entry.before.as_ref());
        self.open(entry, ([&self.layers.lower, &self.layers.upper], wanted))
    }

    /// Opens the content that an entry has after the change; `None` if it is no file then.
    ///
    /// # Errors
    /// Returns an error if the content is gone.
    pub fn after(&self, entry: usize) -> Result<Option<std::fs::File>, StoreError> {
        let wanted = self.changes.entries.get(entry).and_then(|entry| entry.after.as_ref());
        self.open(entry, ([&self.layers.upper, &self.layers.lower], wanted))
    }

    /// Opens the content of an entry, looking into `folders` in this order.
    fn open(
        &self,
        number: usize,
        (folders, wanted): ([&Beneath; 2], Option<&Node>),
    ) -> Result<Option<std::fs::File>, StoreError> {
        let Some(wanted) = wanted.filter(|node| node.kind == NodeKind::File) else { return Ok(None) };
        let (path, removed) = (&self.changes.entries[number].path, PathBuf::from(number.to_string()));
        let [first, second] = folders;
        let found = promotion::content([(first, path), (second, path), (&self.removed, &removed)], wanted);
        found.map_err(StoreError::io(format!("reading what changed in {}", self.capture.folder.display())))
    }
}

/// A promotion that was interrupted, and is complete now.
pub struct ResumedPromotion {
    pub capture: Capture,
    /// The changes that were to be applied. What was refused before is not known any more.
    pub changes: LayerChanges,
    pub promoted: Promoted,
}

/// The layer with the changes, and the folder beneath it.
struct Layers {
    upper: Beneath,
    lower: Beneath,
}

/// Returns the time from which on changes are later than the capture.
fn make_folders(path: &Path) -> io::Result<(i64, i64)> {
    let private = |path: &Path| DirBuilder::new().mode(0o700).create(path);
    private(path)?;
    for name in ["upper", "work", "temporary", promotion::REMOVED] {
        private(&path.join(name))?;
    }
    let touched = || {
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        rustix::fs::utimensat(CWD, path, &Timestamps { last_access: now, last_modification: now }, AtFlags::empty())?;
        let stat = rustix::fs::lstat(path)?;
        io::Result::Ok((stat.st_ctime, stat.st_ctime_nsec as i64))
    };
    // What changed in the same tick of the clock as the start could be earlier or later.
    let first = touched()?;
    for _ in 0..CLOCK_LOOKS {
        let now = touched()?;
        if now > first {
            return Ok(now);
        }
        std::thread::sleep(CLOCK_PAUSE);
    }
    Err(io::Error::other("the clock of the file system does not advance"))
}

/// Like `remove_dir_all`, also for folders of this user whose mode forbids it, and for more levels than a process may have
/// files open.
fn remove_all(path: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => beneath::remove_content(path)?,
        done => return done,
    }
    std::fs::remove_dir(path)
}
