//! System calls that std does not offer, each behind a safe function. Those for mounts and for seccomp listeners are in
//! `namespace` and `seccomp_notify`.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

pub type Pid = i32;

/// The result of checking our children.
pub enum Reaped {
    /// This child has ended with this wait status.
    One(Pid, i32),
    /// Children exist, and none has ended.
    Nobody,
    /// There are no children left.
    NoChildren,
}

pub fn check(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Marks every descriptor from `first` on as close-on-exec. Safe between fork and exec.
pub fn close_on_exec_from(first: u32) -> io::Result<()> {
    const CLOSE_RANGE_CLOEXEC: u32 = 4;
    // SAFETY: takes numbers only.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, CLOSE_RANGE_CLOEXEC) };
    check(result as i32)
}

/// Duplicates `fd` to descriptor number `number`, which stays open across `exec`. Safe between fork and exec.
pub fn move_to(fd: RawFd, number: RawFd) -> io::Result<()> {
    // SAFETY: dup2 and fcntl take numbers; if both are equal, dup2 would leave close-on-exec set.
    if fd == number {
        return check(unsafe { libc::fcntl(fd, libc::F_SETFD, 0) });
    }
    check(unsafe { libc::dup2(fd, number) })
}

/// Duplicates the descriptor to a number of at least `least`, with close-on-exec set.
pub fn duplicate_above(fd: impl AsRawFd, least: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: fcntl takes numbers; the new descriptor is ours.
    let copy = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, least) };
    check(copy)?;
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Returns the socket that the server left open at `number` when it started us.
///
/// # Errors
/// Returns an error if nothing is open there.
pub fn inherited_socket(number: RawFd) -> io::Result<UnixStream> {
    // SAFETY: fcntl only checks whether the number is open; this process received the number for this one use.
    check(unsafe { libc::fcntl(number, libc::F_GETFD) })?;
    Ok(unsafe { UnixStream::from_raw_fd(number) })
}

/// Starts a new session: without a controlling terminal, and without signals to the old process group.
pub fn new_session() -> io::Result<()> {
    // SAFETY: no arguments.
    check(unsafe { libc::setsid() })
}

pub fn set_limit(resource: libc::__rlimit_resource_t, value: u64) -> io::Result<()> {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the struct outlives both calls.
    check(unsafe { libc::getrlimit(resource, &mut now) })?;
    // Never ask for more than the current maximum: that needs a privilege, and fails without it.
    let value = value.min(now.rlim_max);
    let limit = libc::rlimit { rlim_cur: value, rlim_max: value };
    check(unsafe { libc::setrlimit(resource, &limit) })
}

/// Makes orphaned descendants our children instead of init's.
pub fn become_subreaper() -> io::Result<()> {
    // SAFETY: takes numbers only.
    check(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) })
}

/// Makes the kernel kill this process when the *thread* that started it ends. Only for a child of a single-threaded process.
pub fn die_with_parent() -> io::Result<()> {
    // SAFETY: takes numbers only.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) })
}

pub fn no_new_privileges() -> io::Result<()> {
    // SAFETY: takes numbers only.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })
}

/// Maximum number of open files: more than any number of tabs needs, and few enough for programs that walk through all their
/// descriptors.
const MAX_OPEN_FILES: u64 = 65_536;

/// Prevents other processes of the same user from reading this one's memory and environment, where keys are, and disables
/// core dumps. Holds until the next `exec`, so processes that we start are not affected.
///
/// # Errors
/// Returns an error if the kernel refuses.
pub fn keep_memory_private() -> io::Result<()> {
    // SAFETY: takes numbers only.
    check(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) })
}

/// Raises the limit of open files of this process as far as the system allows: every open stream is one, and many systems
/// start with 1,024. Commands have their own limit.
pub fn open_as_many_files_as_allowed() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to a live struct of the type the call fills in and reads.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max.min(MAX_OPEN_FILES).max(limit.rlim_cur);
            // If refused, the limit stays as it is, and connections beyond it wait.
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}

/// Drops the capability bounding set: after the next `exec` not even user 0 has capabilities. Needs CAP_SETPCAP; a process
/// without it has none to lose.
pub fn drop_capability_bounds() {
    for capability in 0..64 {
        // SAFETY: takes numbers only; numbers the kernel does not know are refused.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
    }
}

pub fn is_root() -> bool {
    // SAFETY: no arguments, cannot fail.
    unsafe { libc::geteuid() == 0 }
}

pub fn user_id() -> u32 {
    // SAFETY: no arguments, cannot fail.
    unsafe { libc::geteuid() }
}

/// Changes user and group to `id` permanently, without supplementary groups.
pub fn become_user(id: u32) -> io::Result<()> {
    // SAFETY: an empty group list and numbers.
    check(unsafe { libc::setgroups(0, std::ptr::null()) })?;
    check(unsafe { libc::setresgid(id, id, id) })?;
    check(unsafe { libc::setresuid(id, id, id) })
}

/// Returns the Landlock version of this kernel; 0 if it has none or it is switched off.
pub fn landlock_abi() -> i32 {
    const VERSION: u32 = 1;
    // SAFETY: with the version flag the kernel reads no memory.
    let abi =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<libc::c_void>(), 0usize, VERSION) };
    abi.max(0) as i32
}

/// Blocks the given signals and returns a descriptor from which they are read instead.
pub fn signals_as_file(signals: &[i32]) -> io::Result<OwnedFd> {
    // SAFETY: sigemptyset initialises the set before use; signalfd returns a descriptor that we own.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in signals {
            libc::sigaddset(&mut set, *signal);
        }
        check(libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()))?;
        let fd = libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        check(fd)?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Restores normal signal handling: processes inherit the mask of [`signals_as_file`] across fork and exec, and std does not
/// reset it. They also inherit ignored signals, which a shell sets for background processes: an interrupt would then have no
/// effect.
pub fn reset_signals() -> io::Result<()> {
    // SAFETY: sigemptyset initialises the set before use.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP, libc::SIGTERM] {
            libc::signal(signal, libc::SIG_DFL);
        }
        check(libc::sigprocmask(libc::SIG_SETMASK, &set, std::ptr::null_mut()))
    }
}

/// Returns the next signal that has arrived, if any.
pub fn next_signal(from: &OwnedFd) -> Option<i32> {
    // SAFETY: the struct is plain data, and `size` is its size.
    unsafe {
        let mut info: libc::signalfd_siginfo = std::mem::zeroed();
        let size = size_of::<libc::signalfd_siginfo>();
        let got = libc::read(from.as_raw_fd(), (&raw mut info).cast(), size);
        (got == size as isize).then_some(info.ssi_signo as i32)
    }
}

/// Waits until one of the descriptors is readable or has ended, or until the time is over. Negative numbers are ignored.
pub fn wait_readable(fds: &[RawFd], within: Option<Duration>) -> Vec<bool> {
    let mut polls: Vec<_> = fds.iter().map(|&fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
    // Rounded up: a wait that ends too early would be repeated until the time is over.
    let within = within.map_or(-1, |time| i32::try_from(time.as_millis() + 1).unwrap_or(i32::MAX));
    // SAFETY: the vector outlives the call, and its length is passed along.
    unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, within) };
    polls.iter().map(|poll| poll.revents != 0).collect()
}

/// What a reader of a descriptor would find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    Something,
    Nothing,
    /// The other end is closed.
    HungUp,
}

/// Polls a descriptor without waiting.
pub fn waiting(fd: &OwnedFd) -> Readiness {
    let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: the struct outlives the call.
    unsafe { libc::poll(&raw mut poll, 1, 0) };
    match poll.revents {
        0 => Readiness::Nothing,
        bits if bits & libc::POLLIN != 0 => Readiness::Something,
        _ => Readiness::HungUp,
    }
}

/// Reaps one ended child without waiting.
pub fn reap() -> Reaped {
    let mut status = 0;
    // SAFETY: the status outlives the call.
    match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) } {
        0 => Reaped::Nobody,
        pid if pid > 0 => Reaped::One(pid, status),
        _ => Reaped::NoChildren,
    }
}

/// Sends a signal to one process; a process that no longer exists is no error.
pub fn signal(pid: Pid, signal: i32) {
    // SAFETY: takes numbers only. Zero and negative numbers would address process groups.
    if pid > 1 {
        unsafe { libc::kill(pid, signal) };
    }
}
