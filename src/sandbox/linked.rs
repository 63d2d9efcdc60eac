//! Folders of a person that jobs work in. The server checks such a folder before it starts a job; until the job has its mounts,
//! another folder may get the path. So the supervisor checks what it has opened itself, and the job gets exactly that.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, StatxFlags};
use rustix::io::Errno;

use super::wire::JobRequest;
use crate::domain::{FolderIdentity, FolderOwner};

/// Opens the working directory of a job, through no link, if a person has linked it; `None` otherwise.
///
/// # Errors
/// Returns why it cannot be used: it is missing, or is not the folder that was linked.
pub fn open(request: &JobRequest) -> Result<Option<OwnedFd>, String> {
    let FolderOwner::Kept(linked) = request.owner else { return Ok(None) };
    let opened = match without_links(&request.cwd) {
        Err(Errno::LOOP | Errno::NOTDIR) => return Err(replaced(request)),
        opened => opened.map_err(|error| format!("{}: {error}", request.cwd.display()))?,
    };
    check(&opened, (&linked, request)).map(|()| Some(opened))
}

/// Opens a folder, through no link.
pub fn without_links(folder: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(CWD, folder, flags, Mode::empty(), resolve)
}

/// Checks that an open folder is the one that was linked.
///
/// # Errors
/// Returns a sentence if it is another one.
fn check(folder: impl AsFd, (linked, request): (&FolderIdentity, &JobRequest)) -> Result<(), String> {
    match identity(folder) {
        Ok(now) if linked.is_same(&now) => Ok(()),
        Ok(_) => Err(replaced(request)),
        Err(error) => Err(format!("{}: {error}", request.cwd.display())),
    }
}

fn replaced(request: &JobRequest) -> String {
    format!("{} is another folder now than the one that was linked", request.cwd.display())
}

// The types of some numbers depend on the processor.
#[allow(clippy::unnecessary_cast)]
fn identity(folder: impl AsFd) -> rustix::io::Result<FolderIdentity> {
    let stat = rustix::fs::fstat(&folder)?;
    let born = rustix::fs::statx(&folder, c"", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok();
    let born = born.filter(|all| all.stx_mask & StatxFlags::BTIME.bits() != 0);
    let born = born.map(|all| (all.stx_btime.tv_sec, all.stx_btime.tv_nsec));
    Ok(FolderIdentity { device: stat.st_dev as u64, inode: stat.st_ino as u64, born })
}
