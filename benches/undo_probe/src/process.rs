//! Processes, users and namespaces.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

#[derive(Clone, Copy)]
pub enum Identity {
    /// The user who started this program.
    Own,
    /// A user without privileges.
    User(u32),
}

impl Identity {
    pub fn name(self) -> String {
        match self {
            // SAFETY: no arguments, cannot fail.
            Identity::Own if unsafe { libc::geteuid() } == 0 => "as root".to_owned(),
            Identity::Own => "as the user who started it".to_owned(),
            Identity::User(id) => format!("as user {id}, without privileges"),
        }
    }

    /// Gives a folder and everything in it to the user.
    pub fn give(self, path: &Path) -> io::Result<()> {
        let Identity::User(id) = self else { return Ok(()) };
        std::os::unix::fs::lchown(path, Some(id), Some(id))?;
        if fs::symlink_metadata(path)?.is_dir() {
            for entry in fs::read_dir(path)? {
                self.give(&entry?.path())?;
            }
        }
        Ok(())
    }

    fn assume(self) -> io::Result<()> {
        let Identity::User(id) = self else { return Ok(()) };
        // SAFETY: an empty list of groups, and numbers.
        unsafe {
            check(libc::setgroups(0, std::ptr::null()))?;
            check(libc::setresgid(id, id, id))?;
            check(libc::setresuid(id, id, id))?;
            // The change of user made the process undumpable, so its files in /proc belong to root.
            check(libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0))
        }
    }
}

pub fn check(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Starts a process that assumes the identity and does `inside`.
pub fn start(identity: Identity, inside: impl FnOnce() -> io::Result<()>) -> io::Result<libc::pid_t> {
    // SAFETY: this process has one thread.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let done = identity.assume().and_then(|()| inside());
            if let Err(error) = &done {
                eprintln!("a measured process failed: {error}");
            }
            // SAFETY: ends the child without running what the parent registered.
            unsafe { libc::_exit(i32::from(done.is_err())) }
        }
        child => Ok(child),
    }
}

pub fn ended(child: libc::pid_t) -> io::Result<()> {
    let mut status = 0;
    // SAFETY: the status outlives the call.
    check(unsafe { libc::waitpid(child, &mut status, 0) })?;
    if status == 0 { Ok(()) } else { Err(io::Error::other(format!("a process ended with status {status}"))) }
}

/// Replaces this process by this program.
pub fn become_program(arguments: &[&str]) -> io::Result<()> {
    Err(Command::new("/proc/self/exe").args(arguments).exec())
}

/// Enters a mount namespace; without privileges also a user namespace, which the mount needs.
pub fn separate(identity: Identity) -> io::Result<()> {
    // SAFETY: numbers only, and the calls cannot fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    let flags = match identity {
        Identity::Own if user == 0 => libc::CLONE_NEWNS,
        Identity::Own | Identity::User(_) => libc::CLONE_NEWUSER | libc::CLONE_NEWNS,
    };
    // SAFETY: a number; this process has one thread.
    check(unsafe { libc::unshare(flags) })?;
    if flags & libc::CLONE_NEWUSER != 0 {
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
    }
    mount(c"none", Path::new("/"), (c"", libc::MS_REC | libc::MS_PRIVATE), "")
}

pub fn mount(
    kind: &std::ffi::CStr,
    target: &Path,
    (source, flags): (&std::ffi::CStr, libc::c_ulong),
    options: &str,
) -> io::Result<()> {
    let target = CString::new(target.as_os_str().as_bytes())?;
    let options = CString::new(options)?;
    // SAFETY: all strings are NUL-terminated and outlive the call.
    check(unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, options.as_ptr().cast()) })
}

pub fn sync_all() {
    // SAFETY: no arguments.
    unsafe { libc::sync() }
}
