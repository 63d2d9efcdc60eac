//! Moves files and folders between file systems, where a rename does not lead: they are copied apart, put in their place by a
//! rename, and then removed where they were.

use std::fs::{File, FileTimes};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, RenameFlags, Stat, Uid};
use rustix::io::Errno;

use super::atomic;
use super::capture::names;

/// Maximum depth of folders that are copied.
const MAX_DEPTH: usize = 128;
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Moves an entry to another folder, which may be on another file system. Nothing is overwritten. Owner, mode and times stay.
///
/// # Errors
/// Returns [`io::ErrorKind::AlreadyExists`] if the new path is taken, [`io::ErrorKind::InvalidInput`] for a pipe, a socket or a
/// device, and an error if a copy fails; then the entry is where it was.
pub fn move_entry((source, name): (BorrowedFd<'_>, &str), (target, to): (BorrowedFd<'_>, &str)) -> io::Result<()> {
    match rustix::fs::renameat_with(source, name, target, to, RenameFlags::NOREPLACE) {
        Err(Errno::XDEV) => copy_over((source, name), (target, to)),
        moved => Ok(moved?),
    }
}

fn copy_over((source, name): (BorrowedFd<'_>, &str), (target, to): (BorrowedFd<'_>, &str)) -> io::Result<()> {
    // The entry stays where it is until its copy is whole and on the disk.
    let copy = atomic::temporary_name();
    let placed = copy_entry((source, Path::new(name)), (target, Path::new(&copy)), 0)
        .and_then(|()| Ok(rustix::fs::renameat_with(target, &copy, target, to, RenameFlags::NOREPLACE)?));
    if let Err(error) = placed {
        // Best effort: the copy is hidden, and the entry is still there.
        let _ = remove(target, Path::new(&copy), 0);
        return Err(error);
    }
    if let Err(error) = synced(target) {
        let _ = remove(target, Path::new(to), 0);
        return Err(error);
    }
    if let Err(error) = remove(source, Path::new(name), 0) {
        // With an error, callers would discard what is now the only whole copy.
        tracing::warn!(%error, "what was copied to another file system could not be removed where it was");
    }
    Ok(())
}

/// Writes the entries of a folder to the disk. The handle of the folder may be one that allows nothing else but opening.
fn synced(folder: BorrowedFd<'_>) -> io::Result<()> {
    File::from(rustix::fs::openat(folder, ".", FOLDER, Mode::empty())?).sync_all()
}

/// Copies a file, link or folder with owner, mode and times. The copy is on the disk afterwards.
///
/// # Errors
/// Returns the errors of [`move_entry`]. What was copied until then stays.
pub fn copy_entry(from: (BorrowedFd<'_>, &Path), to: (BorrowedFd<'_>, &Path), depth: usize) -> io::Result<()> {
    let ((source, name), (target, copy)) = (from, to);
    let stat = rustix::fs::statat(source, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let mut from = File::from(rustix::fs::openat(source, name, flags, Mode::empty())?);
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mut into = File::from(rustix::fs::openat(target, copy, flags, Mode::from_raw_mode(0o600))?);
            io::copy(&mut from, &mut into)?;
            keep(into.as_fd(), &stat)?;
            into.set_times(times(&stat))?;
            into.sync_all()
        }
        FileType::Symlink => {
            let leads = rustix::fs::readlinkat(source, name, Vec::new())?;
            rustix::fs::symlinkat(leads, target, copy)?;
            let (user, group) = owner(&stat);
            allowed(rustix::fs::chownat(target, copy, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW))
        }
        FileType::Directory if depth < MAX_DEPTH => {
            rustix::fs::mkdirat(target, copy, Mode::RWXU)?;
            let open = |folder: BorrowedFd<'_>, name: &Path| rustix::fs::openat(folder, name, FOLDER, Mode::empty());
            let (from, into): (OwnedFd, OwnedFd) = (open(source, name)?, open(target, copy)?);
            for inner in names(&from, usize::MAX)? {
                copy_entry((from.as_fd(), &inner), (into.as_fd(), &inner), depth + 1)?;
            }
            keep(into.as_fd(), &stat)?;
            let into = File::from(into);
            into.set_times(times(&stat))?;
            into.sync_all()
        }
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "pipes, sockets, devices and very deep folders cannot be moved",
        )),
    }
}

/// Removes a file, link or folder with everything in it.
fn remove(folder: BorrowedFd<'_>, name: &Path, depth: usize) -> io::Result<()> {
    match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
        Err(Errno::ISDIR) if depth <= MAX_DEPTH => {
            let inner = rustix::fs::openat(folder, name, FOLDER, Mode::empty())?;
            for entry in names(&inner, usize::MAX)? {
                remove(inner.as_fd(), &entry, depth + 1)?;
            }
            Ok(rustix::fs::unlinkat(folder, name, AtFlags::REMOVEDIR)?)
        }
        Err(Errno::NOENT) => Ok(()),
        removed => Ok(removed?),
    }
}

/// Gives a copy the owner and the mode of what was copied.
fn keep(copy: BorrowedFd<'_>, stat: &Stat) -> io::Result<()> {
    let (user, group) = owner(stat);
    let kept = match rustix::fs::fchown(copy, Some(user), Some(group)) {
        // Only root can give files away, and setuid would stand for another user now.
        Err(Errno::PERM) => 0o1777,
        given => {
            given?;
            0o7777
        }
    };
    Ok(rustix::fs::fchmod(copy, Mode::from_raw_mode(stat.st_mode & kept))?)
}

fn owner(stat: &Stat) -> (Uid, Gid) {
    (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid))
}

/// Only root can give files away.
fn allowed(given: rustix::io::Result<()>) -> io::Result<()> {
    match given {
        Err(Errno::PERM) => Ok(()),
        given => Ok(given?),
    }
}

// The types of some numbers depend on the processor.
#[allow(clippy::unnecessary_cast)]
fn times(stat: &Stat) -> FileTimes {
    let since = Duration::new(u64::try_from(stat.st_mtime).unwrap_or(0), stat.st_mtime_nsec as u32);
    FileTimes::new().set_modified(UNIX_EPOCH + since)
}
