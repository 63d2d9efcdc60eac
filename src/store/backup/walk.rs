//! Walks through a home and finds what belongs to a backup, following no link.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use cap_std::fs::{Dir, Metadata, MetadataExt as _};
use rustix::fs::{Mode, OFlags};

use super::BackupError;
use super::contents::{MAX_DEPTH, MAX_PATH, SecretsUse, is_included};
use super::manifest::{Attributes, MODES};
use crate::store::error::StoreError;

/// How a file looked. Another content has another stamp, except shortly after a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    pub size: u64,
    changed: i64,
    pub attributes: Attributes,
}

/// What stands at a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Folder(Attributes),
    File(Stamp),
    Link { target: Vec<u8>, attributes: Attributes },
}

/// A file, folder or link that the backup does not have, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    pub path: Vec<u8>,
    pub why: String,
}

/// One walk.
pub(super) struct Walk {
    pub secrets: SecretsUse,
    /// What does not get into the backup.
    pub left_out: Vec<LeftOut>,
}

impl Walk {
    /// Calls `each` for everything below a folder: each folder before what is in it.
    ///
    /// # Errors
    /// Returns the error of `each`, and an error if the home itself cannot be read.
    pub fn run(&mut self, home: &Dir, each: &mut Visit<'_>) -> Result<(), BackupError> {
        let doing = || StoreError::io("reading the home");
        let top = home.entries().map_err(doing())?;
        for entry in top {
            let name = entry.map_err(doing())?.file_name();
            self.entry(home, name.as_bytes(), name.as_bytes().to_vec(), each)?;
        }
        Ok(())
    }

    fn entry(&mut self, parent: &Dir, name: &[u8], path: Vec<u8>, each: &mut Visit<'_>) -> Result<(), BackupError> {
        if !is_included(&path, self.secrets) {
            return Ok(());
        }
        let meta = match parent.symlink_metadata(as_path(name)) {
            Ok(meta) => meta,
            Err(error) => return self.missed(path, &error),
        };
        if path.len() >= MAX_PATH || path.iter().filter(|byte| **byte == b'/').count() >= MAX_DEPTH {
            self.leave_out(path, format!("it is in more than {MAX_DEPTH} folders, or its path is too long"));
            return Ok(());
        }
        let kind = meta.file_type();
        if kind.is_file() {
            each(&path, Found::File(Stamp::of(&meta)))
        } else if kind.is_symlink() {
            match parent.read_link_contents(as_path(name)) {
                Ok(target) => {
                    let target = target.into_os_string().as_bytes().to_vec();
                    each(&path, Found::Link { target, attributes: attributes(&meta) })
                }
                Err(error) => self.missed(path, &error),
            }
        } else if kind.is_dir() {
            self.folder(parent, (name, path, &meta), each)
        } else {
            self.leave_out(path, "it is neither a file nor a folder nor a link".to_owned());
            Ok(())
        }
    }

    fn folder(
        &mut self,
        parent: &Dir,
        (name, path, meta): (&[u8], Vec<u8>, &Metadata),
        each: &mut Visit<'_>,
    ) -> Result<(), BackupError> {
        let opened = open_folder(parent, name).and_then(|dir| Ok((dir.entries()?, dir)));
        let (entries, dir) = match opened {
            Ok(opened) => opened,
            Err(error) => return self.missed(path, &error),
        };
        each(&path, Found::Folder(attributes(meta)))?;
        for entry in entries {
            let name = match entry {
                Ok(entry) => entry.file_name(),
                Err(error) => return self.missed(path, &error),
            };
            let below = [&*path, b"/", name.as_bytes()].concat();
            self.entry(&dir, name.as_bytes(), below, each)?;
        }
        Ok(())
    }

    /// Notes what could not be read, unless it has just gone.
    fn missed(&mut self, path: Vec<u8>, error: &io::Error) -> Result<(), BackupError> {
        if error.kind() != io::ErrorKind::NotFound {
            self.leave_out(path, format!("it cannot be read ({error})"));
        }
        Ok(())
    }

    pub fn leave_out(&mut self, path: Vec<u8>, why: String) {
        self.left_out.push(LeftOut { path, why });
    }
}

pub(super) type Visit<'v> = dyn FnMut(&[u8], Found) -> Result<(), BackupError> + 'v;

/// Times of files are not more exact than this, in nanoseconds.
const TIME_STEP: i64 = 20_000_000;

impl Stamp {
    fn of(meta: &Metadata) -> Self {
        let changed = nanoseconds(meta.ctime(), meta.ctime_nsec());
        Self { inode: meta.ino(), size: meta.size(), changed, attributes: attributes(meta) }
    }

    /// Returns the stamp of an open file.
    pub fn of_open(file: &File) -> io::Result<Self> {
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Err(io::Error::other("it is not a file any more"));
        }
        let attributes = Attributes {
            mode: meta.mode() & MODES,
            uid: meta.uid(),
            gid: meta.gid(),
            modified: nanoseconds(meta.mtime(), meta.mtime_nsec()),
        };
        let changed = nanoseconds(meta.ctime(), meta.ctime_nsec());
        Ok(Self { inode: meta.ino(), size: meta.len(), changed, attributes })
    }

    /// Whether another change could have led to the same stamp, if the file was read at `now`.
    pub fn is_recent(&self, now: i64) -> bool {
        self.changed.max(self.attributes.modified) + TIME_STEP >= now
    }
}

fn attributes(meta: &Metadata) -> Attributes {
    Attributes {
        mode: meta.mode() & MODES,
        uid: meta.uid(),
        gid: meta.gid(),
        modified: nanoseconds(meta.mtime(), meta.mtime_nsec()),
    }
}

fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

/// Opens a folder that is no link.
pub(super) fn open_folder(parent: &Dir, name: &[u8]) -> io::Result<Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(parent, as_path(name), flags, Mode::empty())?;
    Ok(Dir::from_std_file(File::from(opened)))
}

/// Opens a file below a home, following no link.
pub(super) fn open_file(home: &Dir, path: &[u8]) -> io::Result<File> {
    let (folders, name) = match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (&path[..0], path),
    };
    let mut dir = home.try_clone()?;
    for folder in folders.split(|byte| *byte == b'/').filter(|folder| !folder.is_empty()) {
        dir = open_folder(&dir, folder)?;
    }
    // Opening a named pipe would wait for a writer.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::openat(&dir, as_path(name), flags, Mode::empty())?))
}

pub(super) fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}
