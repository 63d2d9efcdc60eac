//! The system calls std has no name for, each behind a safe function. All `unsafe` of this module's layer that is not a
//! `pre_exec` stands here.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

pub type Pid = i32;

/// What a look at our children found.
pub enum Reaped {
    /// This child has ended with this wait status.
    One(Pid, i32),
    /// Children live, none has ended.
    Nobody,
    /// There are no children left.
    NoChildren,
}

pub fn check(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Every descriptor from `first` on is closed by the next `exec`. Safe between fork and exec.
pub fn close_on_exec_from(first: u32) -> io::Result<()> {
    const CLOSE_RANGE_CLOEXEC: u32 = 4;
    // SAFETY: takes numbers only.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, CLOSE_RANGE_CLOEXEC) };
    check(result as i32)
}

/// Makes `fd` the descriptor number `number`, open across `exec`. Safe between fork and exec.
pub fn move_to(fd: RawFd, number: RawFd) -> io::Result<()> {
    // SAFETY: dup2 and fcntl take numbers; when both are equal dup2 would leave close-on-exec set.
    if fd == number {
        return check(unsafe { libc::fcntl(fd, libc::F_SETFD, 0) });
    }
    check(unsafe { libc::dup2(fd, number) })
}

/// The same open file under a number of at least `least`, closed by the next `exec`.
pub fn duplicate_above(fd: impl AsRawFd, least: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: fcntl takes numbers; the new descriptor is ours.
    let copy = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, least) };
    check(copy)?;
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// The socket the server put at `number` before it started us.
///
/// # Errors
/// When nothing is open there.
pub fn inherited_socket(number: RawFd) -> io::Result<UnixStream> {
    // SAFETY: fcntl only asks whether the number is open; the number was given to this process for this one use.
    check(unsafe { libc::fcntl(number, libc::F_GETFD) })?;
    Ok(unsafe { UnixStream::from_raw_fd(number) })
}

/// A new session: no terminal to type into, and signals of the old process group do not arrive.
pub fn new_session() -> io::Result<()> {
    // SAFETY: no arguments.
    check(unsafe { libc::setsid() })
}

pub fn set_limit(resource: libc::__rlimit_resource_t, value: u64) -> io::Result<()> {
    let mut now = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the struct outlives both calls.
    check(unsafe { libc::getrlimit(resource, &mut now) })?;
    // Never ask for more than we were given: that needs a privilege, and fails without it.
    let value = value.min(now.rlim_max);
    let limit = libc::rlimit { rlim_cur: value, rlim_max: value };
    check(unsafe { libc::setrlimit(resource, &limit) })
}

/// Orphaned descendants become our children instead of init's.
pub fn become_subreaper() -> io::Result<()> {
    // SAFETY: takes numbers only.
    check(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) })
}

/// The kernel kills us when the *thread* that started us ends. Only for a child of a single-threaded process.
pub fn die_with_parent() -> io::Result<()> {
    // SAFETY: takes numbers only.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) })
}

pub fn no_new_privileges() -> io::Result<()> {
    // SAFETY: takes numbers only.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })
}

/// More than any number of tabs, and few enough for programs that walk through all their descriptors.
const MOST_OPEN_FILES: u64 = 65_536;

/// Other processes of the same user can no longer look into this one's memory and environment, where keys are, and a
/// crash leaves no copy of it. Holds until the next `exec`, so what we start is not affected.
///
/// # Errors
/// When the kernel refuses.
pub fn keep_memory_private() -> io::Result<()> {
    // SAFETY: takes numbers only.
    check(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) })
}

/// Raises the number of files this process may have open as far as the system lets it: every open stream is one, and many
/// systems begin with 1,024. Commands get a limit of their own.
pub fn open_as_many_files_as_allowed() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to a live struct of the type the call fills in and reads.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max.min(MOST_OPEN_FILES).max(limit.rlim_cur);
            // Refused: then it stays as it is, and connections beyond it wait.
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}

/// After the next `exec` not even user 0 has capabilities. Needs CAP_SETPCAP; without it there are none to lose.
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

/// Becomes `id` as user and group for good, without further groups.
pub fn become_user(id: u32) -> io::Result<()> {
    // SAFETY: an empty group list and numbers.
    check(unsafe { libc::setgroups(0, std::ptr::null()) })?;
    check(unsafe { libc::setresgid(id, id, id) })?;
    check(unsafe { libc::setresuid(id, id, id) })
}

/// The Landlock version of this kernel; 0 when it has none or it is switched off.
pub fn landlock_abi() -> i32 {
    const VERSION: u32 = 1;
    // SAFETY: with the version flag the kernel reads no memory.
    let abi =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<libc::c_void>(), 0usize, VERSION) };
    abi.max(0) as i32
}

/// Signals that arrive from now on are read from the returned descriptor instead of acting.
pub fn signals_as_file(signals: &[i32]) -> io::Result<OwnedFd> {
    // SAFETY: the set is initialised by sigemptyset before use; signalfd returns a descriptor we own.
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

/// Signals act again: the mask of [`signals_as_file`] is inherited across fork and exec, and std leaves it alone. So is that
/// some are ignored, as a shell has it for what it starts in the background: an interrupt would then reach nobody.
pub fn usual_signals() -> io::Result<()> {
    // SAFETY: the set is initialised by sigemptyset before use.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP, libc::SIGTERM] {
            libc::signal(signal, libc::SIG_DFL);
        }
        check(libc::sigprocmask(libc::SIG_SETMASK, &set, std::ptr::null_mut()))
    }
}

/// The next signal that has arrived, if any.
pub fn next_signal(from: &OwnedFd) -> Option<i32> {
    // SAFETY: the struct is plain data and its size is what we say.
    unsafe {
        let mut info: libc::signalfd_siginfo = std::mem::zeroed();
        let size = size_of::<libc::signalfd_siginfo>();
        let got = libc::read(from.as_raw_fd(), (&raw mut info).cast(), size);
        (got == size as isize).then_some(info.ssi_signo as i32)
    }
}

/// Waits until one of the descriptors can be read or has ended. A negative one is passed over.
pub fn wait_readable<const N: usize>(fds: [RawFd; N]) -> [bool; N] {
    let mut polls = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    // SAFETY: the array outlives the call and its length is given.
    unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, -1) };
    polls.map(|poll| poll.revents != 0)
}

/// What a descriptor has for its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    Something,
    Nothing,
    /// Nobody holds the other end any more.
    HungUp,
}

/// A look at a descriptor that does not wait.
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

/// Collects one ended child without waiting.
pub fn reap() -> Reaped {
    let mut status = 0;
    // SAFETY: the status outlives the call.
    match unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) } {
        0 => Reaped::Nobody,
        pid if pid > 0 => Reaped::One(pid, status),
        _ => Reaped::NoChildren,
    }
}

/// Sends a signal to one process; a process that is gone is no error.
pub fn signal(pid: Pid, signal: i32) {
    // SAFETY: takes numbers only. Zero and negative numbers would mean groups.
    if pid > 1 {
        unsafe { libc::kill(pid, signal) };
    }
}
