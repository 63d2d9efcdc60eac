//! Folders of a person whose files never change their owner. A server that runs as root runs its jobs as user 65534, or as
//! the user of the person whose command it is, who may write there no more than any other user. So the job's mounts of the folder
//! show the folder's owner and that user in each other's place: the job works as the owner, there and nowhere else, and what it
//! creates belongs to the owner.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::sys::check;
use super::user::NOBODY;
use super::wire::JobRequest;
use crate::domain::FolderOwner;

/// The exchange of two users, and of two groups, as a user namespace that mounts refer to.
pub struct OwnerExchange {
    namespace: OwnedFd,
}

impl OwnerExchange {
    /// Returns the exchange for a job that runs as this user in a folder whose files belong to somebody else and stay theirs;
    /// `None` if it is not needed.
    ///
    /// # Errors
    /// Returns an error if the system does not allow a user namespace.
    pub fn for_job(request: &JobRequest, user: Option<u32>) -> io::Result<Option<Self>> {
        let Some(user) = user else { return Ok(None) };
        let (owner, group) = match request.owner {
            FolderOwner::Sharer { uid, .. } => (uid, uid),
            FolderOwner::Kept(_) if user == NOBODY => {
                let folder = fs::metadata(&request.cwd)?;
                (folder.uid(), folder.gid())
            }
            FolderOwner::Kept(_) | FolderOwner::Commands => return Ok(None),
        };
        if owner == user {
            return Ok(None);
        }
        user_namespace([exchange(owner, user), exchange(group, user)]).map(|namespace| Some(Self { namespace }))
    }

    /// Puts a mount of the working directory with the owners exchanged in its place, where somebody else has made the mounts.
    ///
    /// # Errors
    /// Returns an error if the file system or the system does not allow it.
    pub fn replace(&self, request: &JobRequest) -> io::Result<()> {
        let tree = self.mount(&request.cwd, attributes_of(request))?;
        super::namespace::move_mount(tree.as_fd(), &request.cwd)
    }

    /// Returns a detached mount of a folder, without the mounts below it, with the owners exchanged.
    ///
    /// # Errors
    /// Returns an error if the file system does not allow it.
    pub fn mount(&self, folder: &Path, set: u64) -> io::Result<OwnedFd> {
        let tree = super::namespace::open_tree(folder, false)?;
        self.apply_to(tree.as_fd(), set).map(|()| tree)
    }

    /// Like [`Self::mount`], for a folder that is open.
    pub fn mount_open(&self, folder: BorrowedFd<'_>, set: u64) -> io::Result<OwnedFd> {
        let tree = super::namespace::open_tree_of(folder)?;
        self.apply_to(tree.as_fd(), set).map(|()| tree)
    }

    fn apply_to(&self, tree: BorrowedFd<'_>, set: u64) -> io::Result<()> {
        let attributes = libc::mount_attr {
            attr_set: set | libc::MOUNT_ATTR_IDMAP,
            attr_clr: 0,
            propagation: 0,
            userns_fd: self.namespace.as_raw_fd() as u64,
        };
        let size = size_of::<libc::mount_attr>();
        let (tree, flags) = (tree.as_raw_fd(), libc::AT_EMPTY_PATH);
        // SAFETY: the string and the struct outlive the call, and `size` is the struct's size.
        let done =
            unsafe { libc::syscall(libc::SYS_mount_setattr, tree, c"".as_ptr(), flags, &raw const attributes, size) };
        check(done as i32)
    }
}

/// Returns the attributes of the mount of a job's working directory.
pub fn attributes_of(request: &JobRequest) -> u64 {
    let writable = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
    match request.owner {
        FolderOwner::Sharer { is_read_only: true, .. } => writable | libc::MOUNT_ATTR_RDONLY,
        FolderOwner::Sharer { .. } | FolderOwner::Kept(_) | FolderOwner::Commands => writable,
    }
}

/// Returns the map of ids in which these two have changed places, in the form of `/proc/{process}/uid_map`.
fn exchange(one: u32, other: u32) -> String {
    let (low, high) = (one.min(other), one.max(other));
    let mut map = String::new();
    let mut line = |inside: u32, outside: u32, count: u32| {
        if count > 0 {
            map.push_str(&format!("{inside} {outside} {count}\n"));
        }
    };
    line(0, 0, low);
    line(low, high, 1);
    if low != high {
        line(low + 1, low + 1, high - low - 1);
        line(high, low, 1);
    }
    line(high + 1, high + 1, u32::MAX - high - 1);
    map
}

/// Returns a user namespace with these maps of users and groups. A child makes it, because this process must not enter it.
fn user_namespace([users, groups]: [String; 2]) -> io::Result<OwnedFd> {
    let (mut ours, mut theirs) = std::os::unix::net::UnixStream::pair()?;
    // SAFETY: this process has one thread; the child makes system calls only, and ends without running destructors.
    let child = unsafe { libc::fork() };
    check(child)?;
    if child == 0 {
        // SAFETY: numbers, and buffers of this stack that outlive the calls.
        unsafe {
            let made = [u8::from(libc::unshare(libc::CLONE_NEWUSER) == 0)];
            libc::close(ours.as_raw_fd());
            libc::write(theirs.as_raw_fd(), made.as_ptr().cast(), 1);
            let mut end = [0_u8];
            libc::read(theirs.as_raw_fd(), end.as_mut_ptr().cast(), 1);
            libc::_exit(0);
        }
    }
    let opened = (|| {
        use std::io::Read;
        let mut made = [0];
        ours.read_exact(&mut made)?;
        if made != [1] {
            return Err(io::Error::other("a user namespace could not be made"));
        }
        fs::write(format!("/proc/{child}/uid_map"), users)?;
        fs::write(format!("/proc/{child}/gid_map"), groups)?;
        fs::File::open(format!("/proc/{child}/ns/user")).map(OwnedFd::from)
    })();
    let _ = std::io::Write::write(&mut ours, &[0]);
    let _ = std::io::Write::flush(&mut theirs);
    drop(theirs);
    let mut status = 0;
    // SAFETY: the number is one that outlives the call.
    unsafe { libc::waitpid(child, &mut status, 0) };
    opened
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchange_maps_every_id_to_one() {
        let of = |id: u32, map: &str| {
            let lines = map.lines().map(|line| line.split(' ').map(|n| n.parse::<u32>().unwrap()).collect::<Vec<_>>());
            lines
                .filter(|line| id >= line[0] && id - line[0] < line[2])
                .map(|line| line[1] + (id - line[0]))
                .collect::<Vec<_>>()
        };
        for owner in [0, 1, 1000, NOBODY - 1, NOBODY + 1, 100_000] {
            let map = exchange(owner, NOBODY);
            assert_eq!((of(owner, &map), of(NOBODY, &map)), (vec![NOBODY], vec![owner]), "{owner}");
            for other in [2, 999, 65_000, 70_000, u32::MAX - 2] {
                assert_eq!(of(other, &map), [other], "{owner}");
            }
        }
        let (ann, bob) = (2_100_000_000, 2_100_000_001);
        let map = exchange(ann, bob);
        assert_eq!((of(ann, &map), of(bob, &map), of(0, &map)), (vec![bob], vec![ann], vec![0]));
    }
}
