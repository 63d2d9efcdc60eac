//! What the kernel says was changed in the folders of a copy (inotify), so that a call stores what it changed without a look at the
//! whole home.
//!
//! A notice is there before the system call that it is about returns, whoever made the call. So the notices that are read after some
//! work name everything that the work changed, but for two kinds of changes that only a whole look finds: through a mapping of a
//! file into memory, and through another name of a file outside of the home.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};

use cap_std::fs::Dir;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use super::tracked;

/// Folders of one home that are watched. Others are looked at each time.
const MAX_WATCHES: usize = 100_000;
/// Paths after which a whole look is no more work.
const MAX_PATHS: usize = 20_000;
/// Notices that are read at once. A program that goes on writing must not keep the reader busy for ever.
const MAX_NOTICES: usize = 100_000;
const BUFFER: usize = 64 << 10;

/// The folders of a home that are watched.
pub(super) struct Watched {
    /// Absent if the system gives none: then everything is looked at each time.
    notices: Option<OwnedFd>,
    folders: HashMap<i32, Vec<u8>>,
    watches: BTreeMap<Vec<u8>, i32>,
    /// Folders that cannot be watched.
    unwatched: BTreeSet<Vec<u8>>,
    /// Whether every folder is watched, or known not to be.
    is_complete: bool,
}

/// What may have been changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Noticed {
    Paths(BTreeSet<Vec<u8>>),
    /// Anything: a whole look is needed.
    All,
}

impl Watched {
    pub fn new() -> Self {
        let opened = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK);
        if let Err(error) = &opened {
            tracing::warn!(%error, "the copy cannot be watched: each change needs a look at the whole home");
        }
        Self {
            notices: opened.ok(),
            folders: HashMap::new(),
            watches: BTreeMap::new(),
            unwatched: BTreeSet::new(),
            is_complete: false,
        }
    }

    /// Whether a whole look is needed each time.
    pub fn is_blind(&self) -> bool {
        self.notices.is_none()
    }

    /// Says that a whole look has watched all folders.
    pub fn set_complete(&mut self) {
        self.is_complete = true;
    }

    /// Whether a change of what is directly in a folder is noticed.
    pub fn covers(&self, folder: &[u8]) -> bool {
        self.watches.contains_key(folder)
    }

    /// Watches a folder, from before its entries are read.
    pub fn add(&mut self, dir: &Dir, folder: &[u8]) {
        let Some(notices) = self.notices.as_ref().filter(|_| !self.covers(folder)) else { return };
        let flags = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MODIFY
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::ATTRIB
            | WatchFlags::ONLYDIR
            | WatchFlags::EXCL_UNLINK;
        // The folder that is open, wherever its path leads by now.
        let opened = format!("/proc/self/fd/{}", dir.as_raw_fd());
        let added = match self.watches.len() < MAX_WATCHES {
            true => inotify::add_watch(notices, opened, flags),
            false => Err(Errno::NOSPC),
        };
        match added {
            // The same folder at another path, too: its notices name one of the two.
            Ok(watch) if self.folders.contains_key(&watch) => drop(self.unwatched.insert(folder.to_vec())),
            Ok(watch) => {
                self.unwatched.remove(folder);
                self.folders.insert(watch, folder.to_vec());
                self.watches.insert(folder.to_vec(), watch);
            }
            Err(_) => drop(self.unwatched.insert(folder.to_vec())),
        }
    }

    /// Reads what was noticed since the last call.
    pub fn take(&mut self) -> Noticed {
        let mut paths = BTreeSet::new();
        if self.read(&mut paths).is_err() || !self.is_complete || paths.len() > MAX_PATHS {
            // Also folders may have been renamed without a notice.
            *self = Self::new();
            return Noticed::All;
        }
        paths.extend(self.unwatched.iter().cloned());
        Noticed::Paths(paths)
    }

    /// # Errors
    /// Returns an error if notices were lost.
    fn read(&mut self, paths: &mut BTreeSet<Vec<u8>>) -> Result<(), Errno> {
        let Some(notices) = self.notices.take() else { return Err(Errno::BADF) };
        let mut buffer = vec![MaybeUninit::uninit(); BUFFER];
        let mut reader = Reader::new(&notices, &mut buffer);
        let mut moved = Vec::new();
        let mut count = 0;
        let read = loop {
            match reader.next() {
                Err(Errno::WOULDBLOCK) => break Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => break Err(error),
                Ok(notice) => {
                    count += 1;
                    let kind = notice.events();
                    if count > MAX_NOTICES || kind.intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::UNMOUNT) {
                        break Err(Errno::OVERFLOW);
                    }
                    let name = notice.file_name().map(|name| name.to_bytes().to_vec());
                    if let Some((path, is_other_folder)) = self.noticed(notice.wd(), (kind, name)) {
                        if is_other_folder {
                            moved.extend(self.forget(&path));
                        }
                        if tracked::may_be_written(&path) || tracked::journal_of(&path).is_some() {
                            paths.insert(path);
                        }
                    }
                }
            }
        };
        for watch in moved {
            // It may be gone with its folder.
            let _ = inotify::remove_watch(&notices, watch);
        }
        self.notices = Some(notices);
        read
    }

    /// Returns the path that a notice is about, and whether another folder is there now, or none.
    fn noticed(&mut self, watch: i32, (kind, name): (ReadFlags, Option<Vec<u8>>)) -> Option<(Vec<u8>, bool)> {
        let folder = self.folders.get(&watch)?;
        let path = match (&name, folder.as_slice()) {
            (Some(name), b"") => name.clone(),
            (Some(name), folder) => [folder, b"/", name].concat(),
            (None, folder) => folder.to_vec(),
        };
        if kind.contains(ReadFlags::IGNORED) {
            self.folders.remove(&watch);
            if self.watches.get(&path) == Some(&watch) {
                self.watches.remove(&path);
            }
        }
        let changes = ReadFlags::CREATE | ReadFlags::DELETE | ReadFlags::MOVED_FROM | ReadFlags::MOVED_TO;
        Some((path, kind.contains(ReadFlags::ISDIR) && kind.intersects(changes)))
    }

    /// Forgets a folder with what is in it, and returns the watches that are to be removed. A look watches what is there now.
    fn forget(&mut self, path: &[u8]) -> Vec<i32> {
        let mut gone = vec![path.to_vec()];
        gone.extend(self.watches.range(below(path)).map(|(path, _)| path.clone()));
        self.unwatched.retain(|folder| folder != path && !is_below(folder, path));
        let watches: Vec<i32> = gone.iter().filter_map(|path| self.watches.remove(path)).collect();
        for watch in &watches {
            self.folders.remove(watch);
        }
        watches
    }

    /// Notes that a folder that could not be watched is gone.
    pub fn is_gone(&mut self, path: &[u8]) {
        self.unwatched.retain(|folder| folder != path && !is_below(folder, path));
    }
}

/// The range of the paths below a path.
pub(super) fn below(path: &[u8]) -> std::ops::Range<Vec<u8>> {
    // The byte after `/` is `0`.
    [path, b"/"].concat()..[path, b"0"].concat()
}

fn is_below(path: &[u8], folder: &[u8]) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with(b"/"))
}

#[cfg(test)]
mod tests;
