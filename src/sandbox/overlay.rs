//! The overlay of a job whose changes are captured: the job sees its working directory with a layer of its own above it. What
//! it creates, changes and deletes is in that layer; the folder beneath stays as it is.
//!
//! Layers are named by descriptors, so that neither a path with odd characters nor a folder that is replaced meanwhile leads
//! elsewhere, and so that the job cannot read their paths from its list of mounts.

use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::exchange::OwnerExchange;
use super::sys::{self, check};
use super::user::{self, JobUser};
use super::wire::JobRequest;
use super::{Level, Sandbox, SandboxError, linked, namespace, paths, scratch_owner};
use crate::domain::FolderOwner;

/// The folders of a capture: empty, on the file system of the job's working directory unless that keeps its owner, and outside
/// everything that the job may read or write. They belong to one job only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlay {
    /// The layer that receives the changes.
    pub upper: PathBuf,
    /// The kernel's own folder for preparing changes. It contains nothing of use afterwards.
    pub work: PathBuf,
    /// The job's folder for temporary files, which are no changes. It replaces `.tmp` in the working directory.
    pub temporary: PathBuf,
}

/// The mount options. Nothing in a layer may refer to another place (redirects), stand for content that is elsewhere
/// (metacopy), or bind the layers to each other (index). The marks of the kernel are attributes named `user.overlay.*`, which
/// a user without privileges may have and which cannot be set through the overlay.
const OPTIONS: [(&CStr, &CStr); 4] =
    [(c"redirect_dir", c"nofollow"), (c"metacopy", c"off"), (c"index", c"off"), (c"xino", c"off")];

impl Sandbox {
    /// Returns why changes of a job cannot be captured here, as far as the level and the system's settings tell;
    /// [`SandboxError::Capture`] tells what only the attempt shows.
    pub fn capture_obstacle(&self) -> Option<String> {
        match self.level() {
            Level::Off => Some("the sandbox is off, so commands have no mounts of their own".to_owned()),
            Level::Strict => Some(
                "at level strict, bubblewrap makes the mounts, and it does so without an overlay; choose the level standard"
                    .to_owned(),
            ),
            Level::Standard => namespace::obstacle(),
        }
    }

    /// Gives a folder to the user that jobs run as, as every job does with its working directory. Done before a capture
    /// begins, because what changes in the folder after that counts as changed by somebody else. Blocks.
    ///
    /// # Errors
    /// Returns [`SandboxError::Confinement`] if the system refuses.
    pub fn prepare(&self, folder: &Path) -> Result<(), SandboxError> {
        let user = match (self.level(), user::job_user()) {
            (Level::Off, _) | (_, JobUser::Unavailable) => return Ok(()),
            (_, JobUser::Own) => sys::user_id(),
            (_, JobUser::Nobody) => self.person.unwrap_or(user::NOBODY),
        };
        let given = scratch_owner::give(folder, user, self.person);
        given.map_err(|error| SandboxError::Confinement(error.to_string()))
    }
}

/// Mounts the overlay of a job, not attached yet. The upper layer gets the owner and mode of the working directory, because
/// the job sees them as those of its working directory.
///
/// # Errors
/// Returns a sentence that tells what a person can do, or what the kernel refused.
pub fn mount(overlay: &Overlay, request: &JobRequest, exchange: Option<&OwnerExchange>) -> Result<OwnedFd, String> {
    let reachable = request.readable.iter().chain([&request.cwd]);
    let is_exposed = |path: &Path| paths::is_system(path) || reachable.clone().any(|open| path.starts_with(open));
    let layers = [&overlay.upper, &overlay.work];
    if let Some(exposed) = layers.into_iter().find(|path| is_exposed(path)) {
        return Err(format!("the command could read its own layer in {}", exposed.display()));
    }
    let lower = match linked::open(request)? {
        Some(folder) => fs::File::from(folder),
        None => open(&request.cwd)?,
    };
    let (upper, work) = (open(&overlay.upper)?, open(&overlay.work)?);
    let of_folder = lower.metadata().map_err(|error| error.to_string())?;
    let same_disk = |layer: &fs::File| layer.metadata().is_ok_and(|meta| meta.dev() == of_folder.dev());
    // A person's folder may be on any disk, and what changes in it is copied there.
    if request.owner == FolderOwner::Commands && (!same_disk(&upper) || !same_disk(&work)) {
        return Err(format!(
            "{} is on another file system than {}; put both on the same one",
            overlay.upper.display(),
            request.cwd.display()
        ));
    }
    take_after(&upper, &of_folder).map_err(|error| format!("the layer for the changes: {error}"))?;
    let made = match exchange.map(|exchange| exchanged((overlay, &lower), exchange)) {
        Some(Ok(made)) => Ok(made),
        // The files of another person are nobody's to change in their own name.
        Some(Err(error)) if matches!(request.owner, FolderOwner::Sharer { .. }) => Err(error),
        Some(Err(_)) | None => create([&lower, &upper, &work]),
    };
    made.map_err(|error| format!("the kernel refused the overlay: {error}"))
}

/// Mounts the overlay of layers in which the owners are exchanged.
fn exchanged((overlay, lower): (&Overlay, &fs::File), exchange: &OwnerExchange) -> io::Result<OwnedFd> {
    let capture = overlay.upper.parent().filter(|capture| overlay.work.parent() == Some(capture));
    let capture = capture.ok_or(io::ErrorKind::InvalidInput)?;
    let lower = fs::File::from(exchange.mount_open(lower.as_fd(), 0)?);
    // Both folders have to be in one mount.
    let capture = exchange.mount(capture, 0)?;
    let inner = |path: &Path| {
        let name = namespace::c_path(Path::new(path.file_name().unwrap_or_default()))?;
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        // SAFETY: the string outlives the call; the new descriptor is ours.
        unsafe { owned(libc::c_long::from(libc::openat(capture.as_raw_fd(), name.as_ptr(), flags))) }
            .map(fs::File::from)
    };
    let (upper, work) = (inner(&overlay.upper)?, inner(&overlay.work)?);
    create([&lower, &upper, &work])
}

fn open(folder: &Path) -> Result<fs::File, String> {
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let opened = fs::OpenOptions::new().read(true).custom_flags(flags).open(folder);
    opened.map_err(|error| format!("{}: {error}", folder.display()))
}

fn take_after(layer: &fs::File, folder: &fs::Metadata) -> io::Result<()> {
    let own = layer.metadata()?;
    if (own.uid(), own.gid()) != (folder.uid(), folder.gid()) {
        fchown(layer, Some(folder.uid()), Some(folder.gid()))?;
    }
    layer.set_permissions(fs::Permissions::from_mode(folder.mode() & 0o7777))
}

fn create([lower, upper, work]: [&fs::File; 3]) -> io::Result<OwnedFd> {
    const SET_FLAG: u32 = 0;
    const SET_STRING: u32 = 1;
    const CREATE: u32 = 6;
    const CLOSE_ON_EXEC: u32 = 1;
    // SAFETY: the string outlives the call; the new descriptor is ours.
    let context = unsafe { owned(libc::syscall(libc::SYS_fsopen, c"overlay".as_ptr(), CLOSE_ON_EXEC)) }?;
    let configure = |command: u32, key: Option<&CStr>, value: Option<&CStr>| {
        let [key, value] = [key, value].map(|text| text.map_or(std::ptr::null(), CStr::as_ptr));
        // SAFETY: both are null or strings that outlive the call.
        check(unsafe { libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), command, key, value, 0) as i32 })
    };
    for (key, layer) in [(c"lowerdir", lower), (c"upperdir", upper), (c"workdir", work)] {
        let path = CString::new(format!("/proc/self/fd/{}", layer.as_raw_fd()))?;
        configure(SET_STRING, Some(key), Some(&path))?;
    }
    configure(SET_FLAG, Some(c"userxattr"), None)?;
    for (key, value) in OPTIONS {
        configure(SET_STRING, Some(key), Some(value))?;
    }
    configure(CREATE, None, None)?;
    let attributes = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;
    // SAFETY: numbers only; the new descriptor is ours.
    unsafe { owned(libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), CLOSE_ON_EXEC, attributes as u32)) }
}

/// Unmounts the overlay at the end of its job, so that nobody changes its layers any more.
///
/// # Errors
/// Returns an error if a process still uses the overlay.
pub fn unmount(folder: &Path) -> io::Result<()> {
    let path = namespace::c_path(folder)?;
    // SAFETY: the string outlives the call.
    check(unsafe { libc::umount2(path.as_ptr(), libc::UMOUNT_NOFOLLOW) })
}

/// # Safety
/// The number must be an error or a new descriptor that nobody else closes.
unsafe fn owned(result: libc::c_long) -> io::Result<OwnedFd> {
    check(result as i32)?;
    // SAFETY: promised by the caller.
    Ok(unsafe { OwnedFd::from_raw_fd(result as i32) })
}
