//! A folder held by a handle, and paths below it. A path is resolved by the kernel without following links and without
//! leaving the folder or its file system, so that nobody who renames folders meanwhile leads it elsewhere.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::domain::FileStamp;

const HANDLE: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// For a name of any kind, to change what it names but not to read it.
const HELD: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const OWNER_ALL: u32 = 0o700;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NodeKind {
    File,
    Folder,
    /// With its target, which may lead anywhere.
    Link(#[serde(with = "bytes")] PathBuf),
    /// A pipe, socket or device.
    Special,
}

/// A file, folder or link, as it was when it was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    pub kind: NodeKind,
    /// Permissions, with the set-user-id, set-group-id and sticky bits.
    pub mode: u32,
    /// User and group.
    pub owner: (u32, u32),
    /// Length in bytes.
    pub size: u64,
    /// Bytes that it takes on the disk: fewer than its length if it has holes.
    pub allocated: u64,
    /// Number of its names.
    pub links: u64,
    pub device: u64,
    pub inode: u64,
    /// Modification time: seconds and nanoseconds.
    pub modified: (i64, i64),
    /// Time of the last change of content, attributes or name. No program can set it.
    pub changed: (i64, i64),
    pub stamp: FileStamp,
}

impl Node {
    pub fn is_folder(&self) -> bool {
        self.kind == NodeKind::Folder
    }
}

/// A folder and what is below it.
pub struct Beneath {
    root: OwnedFd,
    device: u64,
}

impl Beneath {
    /// # Errors
    /// Returns an error if the path is no folder, or a link.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let root = fs::openat(CWD, folder, HANDLE, Mode::empty())?;
        let device = fs::fstat(&root)?.st_dev;
        Ok(Self { root, device })
    }

    pub fn root(&self) -> &OwnedFd {
        &self.root
    }

    /// Opens a folder by its path below this one; an empty path is this folder.
    ///
    /// # Errors
    /// Returns an error if a name on the way is missing, a link, or on another file system.
    pub fn folder(&self, path: &Path) -> io::Result<OwnedFd> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        Ok(fs::openat2(&self.root, path, HANDLE, Mode::empty(), resolve())?)
    }

    /// Opens a folder by its name in an open one.
    ///
    /// # Errors
    /// Returns an error if it is missing, a link, or on another file system.
    pub fn folder_in(&self, folder: &OwnedFd, name: &Path) -> io::Result<OwnedFd> {
        Ok(fs::openat2(folder, name, HANDLE, Mode::empty(), resolve())?)
    }

    /// Looks at an entry without following links; `None` if there is none, also because a name on the way is a link.
    ///
    /// # Errors
    /// Returns an error if the folder of the path cannot be opened for another reason.
    pub fn node(&self, path: &Path) -> io::Result<Option<Node>> {
        let (folder, name) = split(path);
        match self.folder(folder) {
            Ok(folder) => self.node_in(&folder, name),
            Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => Ok(None),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Like [`Self::node`], for a name in an open folder.
    ///
    /// # Errors
    /// Returns an error if the file system fails.
    pub fn node_in(&self, folder: &OwnedFd, name: &Path) -> io::Result<Option<Node>> {
        let stat = match fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => NodeKind::File,
            FileType::Directory => NodeKind::Folder,
            FileType::Symlink => {
                let target = fs::readlinkat(folder, name, Vec::new())?;
                NodeKind::Link(OsString::from_vec(target.into_bytes()).into())
            }
            _ => NodeKind::Special,
        };
        Ok(Some(node(kind, &stat)))
    }

    /// Returns whether another folder is on the same file system.
    pub fn is_same_device(&self, other: &Self) -> bool {
        self.device == other.device
    }

    pub fn is_on_same_device(&self, node: &Node) -> bool {
        node.device == self.device
    }

    /// Opens a file for reading. The owner may read their file even if its mode refuses it; the mode is as before afterwards.
    ///
    /// # Errors
    /// Returns an error if it is no regular file, or cannot be read.
    pub fn file(&self, path: &Path) -> io::Result<File> {
        let (folder, name) = split(path);
        self.file_in(&self.folder(folder)?, name)
    }

    /// Like [`Self::file`], for a name in an open folder.
    ///
    /// # Errors
    /// Returns the errors of [`Self::file`].
    pub fn file_in(&self, folder: &OwnedFd, name: &Path) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = match fs::openat(folder, name, flags, Mode::empty()) {
            Err(Errno::ACCESS) => {
                let mode = fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode & 0o7777;
                self.set_mode_in(folder, name, mode | 0o400)?;
                let opened = fs::openat(folder, name, flags, Mode::empty());
                self.set_mode_in(folder, name, mode)?;
                opened
            }
            opened => opened,
        }?;
        match FileType::from_raw_mode(fs::fstat(&opened)?.st_mode) {
            FileType::RegularFile => Ok(File::from(opened)),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Creates an empty file, which only its owner may open, and opens it for writing.
    ///
    /// # Errors
    /// Returns an error if there is something already, or if the folder of the path cannot be opened.
    pub fn create_file(&self, path: &Path) -> io::Result<File> {
        let (folder, name) = split(path);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(fs::openat(self.folder(folder)?, name, flags, Mode::from_raw_mode(0o600)).map(File::from)?)
    }

    /// Creates a link of this owner: user and group.
    ///
    /// # Errors
    /// Returns the errors of [`Self::create_file`].
    pub fn create_link(&self, path: &Path, target: &Path, (user, group): (u32, u32)) -> io::Result<()> {
        let (folder, name) = split(path);
        let folder = self.folder(folder)?;
        fs::symlinkat(target, &folder, name)?;
        let (user, group) = (fs::Uid::from_raw(user), fs::Gid::from_raw(group));
        owned(fs::chownat(&folder, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW))
    }

    /// Creates a folder that only its owner may open, unless there is one, and opens it.
    ///
    /// # Errors
    /// Returns an error if there is something else, or if the folder of the path cannot be opened.
    pub fn create_folder(&self, path: &Path) -> io::Result<OwnedFd> {
        let (folder, name) = split(path);
        match fs::mkdirat(self.folder(folder)?, name, Mode::from_raw_mode(OWNER_ALL)) {
            Err(Errno::EXIST) => {}
            made => made?,
        }
        self.folder(path)
    }

    /// Changes the mode of a file or folder, never of what a link leads to.
    ///
    /// # Errors
    /// Returns an error if it is a link, or belongs to another user.
    pub fn set_mode_in(&self, folder: &OwnedFd, name: &Path, mode: u32) -> io::Result<()> {
        set_mode_of(&fs::openat(folder, name, HELD, Mode::empty())?, mode)
    }

    /// Lets this process, if it owns the folder, list and change it. Returns whether the mode had to be changed.
    ///
    /// # Errors
    /// Returns an error if it belongs to another user.
    pub fn make_accessible(&self, folder: &OwnedFd, name: &Path) -> io::Result<bool> {
        let mode = fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode & 0o7777;
        if mode & OWNER_ALL == OWNER_ALL || rustix::process::geteuid().is_root() {
            return Ok(false);
        }
        self.set_mode_in(folder, name, mode | OWNER_ALL).map(|()| true)
    }
}

/// Gives what was created, and is open, to an owner: user and group.
///
/// # Errors
/// Returns an error if the file system fails.
pub fn give(created: impl AsFd, (user, group): (u32, u32)) -> io::Result<()> {
    owned(fs::fchown(created, Some(fs::Uid::from_raw(user)), Some(fs::Gid::from_raw(group))))
}

/// A server that is not root makes everything as its own user, which is the one that commands run as.
fn owned(done: Result<(), Errno>) -> io::Result<()> {
    match done {
        Err(Errno::PERM) => Ok(()),
        done => Ok(done?),
    }
}

/// Changes the mode of what a descriptor is open on; opened as a path it does not allow that itself.
pub fn set_mode_of(held: &OwnedFd, mode: u32) -> io::Result<()> {
    let mode = Mode::from_raw_mode(mode);
    Ok(fs::chmod(format!("/proc/self/fd/{}", held.as_raw_fd()), mode)?)
}

/// Returns the names in a folder, sorted, without `.` and `..`. Reads one name more than `most` at the most: a command can
/// make millions.
///
/// # Errors
/// Returns an error if the folder cannot be read.
pub fn names(folder: &OwnedFd, most: usize) -> io::Result<Vec<PathBuf>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            names.push(PathBuf::from(OsString::from_vec(name)));
        }
        if names.len() > most {
            break;
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Removes everything in a folder that nobody else can reach, level by level with one open folder at a time. Each folder is
/// listed once.
///
/// # Errors
/// Returns an error if something cannot be removed.
pub fn remove_content(folder: &Path) -> io::Result<()> {
    let mut here = fs::openat(CWD, folder, HANDLE, Mode::empty())?;
    // Each folder on the way, with the names in it that are still to be removed.
    let mut way = vec![(PathBuf::new(), names(&here, usize::MAX)?.into_iter())];
    while let Some((_, left)) = way.last_mut() {
        if let Some(name) = left.next() {
            if !remove_unless_full(&here, &name)? {
                set_mode_of(&fs::openat(&here, &name, HELD, Mode::empty())?, OWNER_ALL)?;
                here = fs::openat(&here, &name, HANDLE, Mode::empty())?;
                way.push((name, names(&here, usize::MAX)?.into_iter()));
            }
        } else if let Some((name, _)) = way.pop().filter(|_| !way.is_empty()) {
            here = fs::openat(&here, "..", HANDLE, Mode::empty())?;
            fs::unlinkat(&here, &name, AtFlags::REMOVEDIR)?;
        }
    }
    Ok(())
}

/// Removes an entry. Returns `false` for a folder with content, which stays.
fn remove_unless_full(folder: &OwnedFd, name: &Path) -> io::Result<bool> {
    match fs::unlinkat(folder, name, AtFlags::empty()) {
        Err(Errno::ISDIR) => {}
        removed => return Ok(removed.map(|()| true)?),
    }
    match fs::unlinkat(folder, name, AtFlags::REMOVEDIR) {
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
        removed => Ok(removed.map(|()| true)?),
    }
}

/// Returns the folder of a path and its last name.
pub fn split(path: &Path) -> (&Path, &Path) {
    (path.parent().unwrap_or(Path::new("")), path.file_name().map_or(Path::new("."), Path::new))
}

fn resolve() -> ResolveFlags {
    ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV
}

// The types of some numbers depend on the processor.
#[allow(clippy::unnecessary_cast)]
fn node(kind: NodeKind, stat: &Stat) -> Node {
    let (modified, changed) = ((stat.st_mtime, stat.st_mtime_nsec as i64), (stat.st_ctime, stat.st_ctime_nsec as i64));
    Node {
        kind,
        mode: stat.st_mode & 0o7777,
        owner: (stat.st_uid, stat.st_gid),
        size: stat.st_size.cast_unsigned(),
        allocated: stat.st_blocks.cast_unsigned() * 512,
        links: stat.st_nlink as u64,
        device: stat.st_dev,
        inode: stat.st_ino,
        modified,
        changed,
        stamp: FileStamp::of(stat.st_size.cast_unsigned(), modified, changed, (stat.st_dev, stat.st_ino)),
    }
}

/// Paths in JSON: text, or numbers if the path is not UTF-8.
pub mod bytes {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum PathBytes {
        Text(String),
        Bytes(Vec<u8>),
    }

    pub fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => PathBytes::Text(text.to_owned()),
            None => PathBytes::Bytes(path.as_os_str().as_bytes().to_vec()),
        }
        .serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        Ok(match PathBytes::deserialize(from)? {
            PathBytes::Text(text) => PathBuf::from(text),
            PathBytes::Bytes(bytes) => OsString::from_vec(bytes).into(),
        })
    }
}
