//! The mount namespace of a job. In it every mount is read-only except the job's working directory, `/dev/shm` is private to
//! the job and ends with it, and a folder that the job's user cannot enter shows only the paths of the job request.
//!
//! A server with CAP_SYS_ADMIN creates the mount namespace directly; any other creates a user namespace for it, in which the
//! job has no capabilities. If neither is allowed, the job runs without a mount namespace and has no shared memory.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::exchange::{OwnerExchange, attributes_of};
use super::sys::check;
use super::user;
use super::wire::JobRequest;
use crate::domain::FolderOwner;

/// The folder of POSIX shared memory and semaphores.
pub const SHARED_MEMORY: &str = "/dev/shm";
/// Mount options of the job's shared memory, with its maximum size.
const SHARED_MEMORY_OPTIONS: &str = "mode=1777,size=256m";
/// Mount options of the tmpfs that replaces a closed folder; it holds only the folders on the way to mount points.
const STAND_IN_OPTIONS: &str = "mode=0755,size=256k";

/// The mount namespace that this process has created for itself.
pub struct MountNamespace {
    /// Whether the process is also in its own user namespace, which counts its processes from zero.
    pub has_user_namespace: bool,
    /// Whether `/proc` shows a job only its own processes. In a user namespace the kernel does not allow that.
    pub hides_processes: bool,
}

/// Returns why a mount namespace cannot be created here, as far as the system's settings tell.
pub fn obstacle() -> Option<String> {
    if user::has_capability(user::SYS_ADMIN) {
        return None;
    }
    if user::is_root() {
        return Some("this process is root without CAP_SYS_ADMIN".to_owned());
    }
    let setting = |name: &str| fs::read_to_string(format!("/proc/sys/{name}")).ok()?.trim().parse::<u64>().ok();
    let named = |name: &str, value: u64| format!("the system's setting {} is {value}", name.replace('/', "."));
    for (name, closed) in [
        ("user/max_user_namespaces", 0),
        ("kernel/unprivileged_userns_clone", 0),
        ("kernel/apparmor_restrict_unprivileged_userns", 1),
    ] {
        if setting(name) == Some(closed) {
            return Some(named(name, closed));
        }
    }
    None
}

impl MountNamespace {
    /// Moves this process, which must have one thread, into a new mount namespace.
    ///
    /// # Errors
    /// Returns an error if the system does not allow it. The process may then be in a user namespace without capabilities.
    pub fn enter() -> Result<Self, String> {
        if let Some(obstacle) = obstacle() {
            return Err(obstacle);
        }
        let has_user_namespace = !user::has_capability(user::SYS_ADMIN);
        let made = if has_user_namespace { unshare_users() } else { unshare(libc::CLONE_NEWNS) };
        made.map_err(|error| format!("a mount namespace could not be made: {error}"))?;
        separate_mounts().map_err(|error| format!("the mounts could not be separated: {error}"))?;
        let hides_processes = !has_user_namespace && hide_processes().is_ok();
        Ok(Self { has_user_namespace, hides_processes })
    }

    /// Makes all mounts read-only except the working directory, which `overlay` replaces if there is one, the overlay's
    /// folder for temporary files, and shared memory. `exchange` is that of the working directory. With `by_other`, also makes
    /// all paths of the job request reachable for
    /// that user.
    ///
    /// # Errors
    /// Returns an error if a mount fails; the job must not start then.
    pub fn open_for(
        &self,
        request: &JobRequest,
        by_other: RunAsOther,
        (overlay, exchange): (Option<OwnedFd>, Option<&OwnerExchange>),
    ) -> io::Result<()> {
        let closed = match by_other {
            RunAsOther::Yes => closed_folders(request),
            RunAsOther::No => BTreeSet::new(),
        };
        let is_closed = |path: &Path| closed.iter().any(|folder| path.starts_with(folder));
        let mut trees = Vec::new();
        for path in request.readable.iter().filter(|path| is_closed(path) && path.exists()) {
            let tree = open_tree(path, true)?;
            set_attributes_of(tree.as_fd(), READ_ONLY)?;
            trees.push((path.as_path(), tree));
        }
        let writable = [Some(&request.cwd).filter(|_| overlay.is_none()), temporary(request)];
        for path in writable.into_iter().flatten().chain(&request.writable) {
            let attributes = match path == &request.cwd {
                true => attributes_of(request),
                false => libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
            };
            let exchanged = exchange.filter(|_| path == &request.cwd).map(|exchange| exchange.mount(path, attributes));
            let tree = match exchanged {
                Some(Ok(tree)) => tree,
                // The job must not work in the name of its own user in the folder of another person.
                Some(Err(error)) if matches!(request.owner, FolderOwner::Sharer { .. }) => return Err(error),
                // Where the file system does not allow it, the job may write no more than its user may.
                Some(Err(_)) | None => {
                    let tree = open_tree(path, true)?;
                    set_attributes_of(tree.as_fd(), attributes)?;
                    tree
                }
            };
            trees.push((path.as_path(), tree));
        }
        trees.extend(overlay.map(|tree| (request.cwd.as_path(), tree)));
        // Not done in advance: the host may have added mounts in the meantime.
        set_attributes(libc::AT_FDCWD, c"/", libc::AT_RECURSIVE, Attributes { set: READ_ONLY, clear: 0 })?;
        let memory = Path::new(SHARED_MEMORY);
        if memory.is_dir() {
            set_attributes(libc::AT_FDCWD, &c_path(memory)?, 0, Attributes { set: 0, clear: READ_ONLY })?;
        }
        // A parent folder must be mounted before the folders in it.
        trees.sort_by_key(|(path, _)| path.components().count());
        for folder in &closed {
            mount_tmpfs(folder, STAND_IN_OPTIONS)?;
        }
        for (path, tree) in trees {
            if !path.exists() {
                make_mount_point(path, &tree)?;
            }
            move_mount(tree.as_fd(), path)?;
        }
        closed.iter().try_for_each(|folder| make_read_only(folder))
    }
}

/// Returns the folder for temporary files, if it is not in the working directory.
fn temporary(request: &JobRequest) -> Option<&PathBuf> {
    request.overlay.as_ref().map(|overlay| &overlay.temporary)
}

/// Whether the job runs as another user than the server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum RunAsOther {
    Yes,
    No,
}

/// Returns, for each path of the job request, the outermost folder on the way that other users cannot traverse.
fn closed_folders(request: &JobRequest) -> BTreeSet<PathBuf> {
    let writable = [Some(&request.cwd), temporary(request)].into_iter().flatten().chain(&request.writable);
    let ways = request.readable.iter().map(PathBuf::as_path).chain(writable.filter_map(|path| path.parent()));
    ways.filter_map(|path| {
        let closed = path.ancestors().filter(|folder| {
            fs::metadata(folder).is_ok_and(|meta| meta.is_dir() && meta.permissions().mode() & 0o001 == 0)
        });
        closed.last().map(Path::to_owned)
    })
    .collect()
}

/// Creates an empty file or folder as a mount point, and parent folders that every user can traverse.
fn make_mount_point(path: &Path, tree: &OwnedFd) -> io::Result<()> {
    let is_folder = fs::File::from(tree.try_clone()?).metadata()?.is_dir();
    let folder = if is_folder { path } else { path.parent().unwrap_or(path) };
    fs::create_dir_all(folder)?;
    // The umask may have removed these permissions.
    for made in folder
        .ancestors()
        .take_while(|made| fs::metadata(made).is_ok_and(|meta| meta.permissions().mode() & 0o005 != 0o005))
    {
        fs::set_permissions(made, fs::Permissions::from_mode(0o755))?;
    }
    if is_folder { Ok(()) } else { fs::File::create_new(path).map(drop) }
}

fn unshare(flags: i32) -> io::Result<()> {
    // SAFETY: takes a number only; this process has one thread.
    check(unsafe { libc::unshare(flags) })
}

/// Enters a user namespace that maps only this user and group.
fn unshare_users() -> io::Result<()> {
    // SAFETY: no arguments, cannot fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Mounts a `/proc` in which a process sees only those that it may trace. This process sees all of them, by its group.
fn hide_processes() -> io::Result<()> {
    // SAFETY: no arguments, cannot fail.
    let group = unsafe { libc::getegid() };
    let options = CString::new(format!("hidepid=invisible,gid={group}"))?;
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    // SAFETY: all strings are NUL-terminated and outlive the call.
    check(unsafe { libc::mount(c"proc".as_ptr(), c"/proc".as_ptr(), c"proc".as_ptr(), flags, options.as_ptr().cast()) })
}

/// Keeps mounts made here from propagating to the host, and mounts a private `/dev/shm`. Mounts and unmounts on the host
/// still propagate here: a namespace that waits for its job must not keep a disk busy.
fn separate_mounts() -> io::Result<()> {
    // SAFETY: the strings are NUL-terminated literals; the null pointers stand for arguments that the kernel does not read.
    check(unsafe {
        let flags = libc::MS_REC | libc::MS_SLAVE;
        libc::mount(std::ptr::null(), c"/".as_ptr(), std::ptr::null(), flags, std::ptr::null())
    })?;
    let memory = Path::new(SHARED_MEMORY);
    if memory.is_dir() { mount_tmpfs(memory, SHARED_MEMORY_OPTIONS) } else { Ok(()) }
}

const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;

struct Attributes {
    set: u64,
    clear: u64,
}

/// Sets attributes of a mount tree that is not attached yet.
fn set_attributes_of(tree: BorrowedFd<'_>, set: u64) -> io::Result<()> {
    let flags = libc::AT_RECURSIVE | libc::AT_EMPTY_PATH;
    set_attributes(tree.as_raw_fd(), c"", flags, Attributes { set, clear: 0 })
}

fn make_read_only(path: &Path) -> io::Result<()> {
    set_attributes(libc::AT_FDCWD, &c_path(path)?, 0, Attributes { set: READ_ONLY, clear: 0 })
}

fn set_attributes(folder: i32, path: &CStr, flags: i32, attributes: Attributes) -> io::Result<()> {
    let attributes =
        libc::mount_attr { attr_set: attributes.set, attr_clr: attributes.clear, propagation: 0, userns_fd: 0 };
    let size = size_of::<libc::mount_attr>();
    // SAFETY: the string and the struct outlive the call, and `size` is the struct's size.
    let done =
        unsafe { libc::syscall(libc::SYS_mount_setattr, folder, path.as_ptr(), flags, &raw const attributes, size) };
    check(done as i32)
}

fn mount_tmpfs(path: &Path, options: &str) -> io::Result<()> {
    let (path, options) = (c_path(path)?, CString::new(options)?);
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    // SAFETY: all strings are NUL-terminated and outlive the call.
    check(unsafe { libc::mount(c"tmpfs".as_ptr(), path.as_ptr(), c"tmpfs".as_ptr(), flags, options.as_ptr().cast()) })
}

/// Returns a detached copy of the mount at a path, and of those below it if wanted.
pub fn open_tree(path: &Path, with_inner: bool) -> io::Result<OwnedFd> {
    let inner = if with_inner { libc::AT_RECURSIVE as u32 } else { 0 };
    clone_tree(libc::AT_FDCWD, &c_path(path)?, inner)
}

/// Returns a detached copy of the mount at an open folder, without those below it.
pub fn open_tree_of(folder: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    clone_tree(folder.as_raw_fd(), c"", libc::AT_EMPTY_PATH as u32)
}

fn clone_tree(folder: i32, path: &CStr, flags: u32) -> io::Result<OwnedFd> {
    const OPEN_TREE_CLONE: u32 = 1;
    let flags = OPEN_TREE_CLONE | libc::O_CLOEXEC as u32 | flags;
    // SAFETY: the string outlives the call; the new descriptor is ours.
    let tree = unsafe { libc::syscall(libc::SYS_open_tree, folder, path.as_ptr(), flags) };
    check(tree as i32)?;
    Ok(unsafe { OwnedFd::from_raw_fd(tree as i32) })
}

pub fn move_mount(tree: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    const FROM_EMPTY_PATH: u32 = 4;
    let path = c_path(path)?;
    // SAFETY: both strings are NUL-terminated and outlive the call.
    let moved = unsafe {
        let from = tree.as_raw_fd();
        libc::syscall(libc::SYS_move_mount, from, c"".as_ptr(), libc::AT_FDCWD, path.as_ptr(), FROM_EMPTY_PATH)
    };
    check(moved as i32)
}

pub fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::from)
}
