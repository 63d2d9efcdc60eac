//! A server whose file operations are counted, and one of which fails. The kernel asks the test about each operation
//! (`seccomp` user notification), so that the tested program is the released one.

use std::io::{Read, Seek, SeekFrom};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};

/// System calls that change files. The first argument of each is a descriptor that identifies the file or folder.
const CHANGES: [libc::c_long; 11] = [
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_write,
    libc::SYS_pwrite64,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_ftruncate,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_unlinkat,
    libc::SYS_mkdirat,
];

#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// 1-based.
    pub nth: usize,
    pub error: i32,
}

#[derive(Default)]
struct Count {
    armed: Option<Fault>,
    seen: usize,
    failed: Option<String>,
}

/// Selects the operation that fails. Cheap to clone.
#[derive(Clone)]
pub struct FileFaultInjector {
    home: PathBuf,
    count: Arc<Mutex<Count>>,
}

impl FileFaultInjector {
    pub fn below(home: PathBuf) -> Self {
        Self { home: home.canonicalize().expect("a folder"), count: Arc::default() }
    }

    /// Starts to count operations; the given one fails.
    pub fn arm(&self, fault: Fault) {
        *self.count.lock().unwrap() = Count { armed: Some(fault), ..Count::default() };
    }

    /// Stops failing operations. Returns how many there were, and which one failed.
    pub fn disarm(&self) -> (usize, Option<String>) {
        let mut count = self.count.lock().unwrap();
        count.armed = None;
        (count.seen, count.failed.take())
    }

    /// Returns whether the kernel allows this kind of supervision.
    pub fn is_possible() -> bool {
        let action: u32 = libc::SECCOMP_RET_USER_NOTIF;
        let query = (libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action);
        // SAFETY: it reads one number that outlives the call.
        let known = unsafe { libc::syscall(libc::SYS_seccomp, query.0, query.1, query.2) } == 0;
        // Only root can read the descriptors of the server, because it is non-dumpable.
        // SAFETY: takes no arguments.
        let is_root = unsafe { libc::geteuid() } == 0;
        if !known || !is_root {
            println!("skipped: its file operations cannot be watched here");
        }
        known && is_root
    }

    /// Makes the program that `command` starts ask this object about each of its operations.
    pub fn watch(&self, command: &mut Command) {
        let (ours, theirs) = UnixStream::pair().expect("two sockets");
        let filter = filter();
        // SAFETY: between fork and exec only system calls are made, on memory that was allocated before.
        unsafe {
            command.pre_exec(move || send(&theirs, listen(&filter)?));
        }
        let injector = self.clone();
        std::thread::spawn(move || {
            let Some(listener) = receive(&ours) else { return };
            injector.answer(&listener);
        });
    }

    fn answer(&self, listener: &OwnedFd) {
        loop {
            let mut ready = libc::pollfd { fd: listener.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: polls one descriptor, which outlives the call.
            unsafe { libc::poll(&raw mut ready, 1, -1) };
            if ready.revents & libc::POLLHUP != 0 {
                // No supervised process is left.
                return;
            }
            // SAFETY: all zeros is a valid value of these structs, and the kernel requires it.
            let (mut notification, mut answer): (libc::seccomp_notif, libc::seccomp_notif_resp) =
                unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
            // SAFETY: the kernel fills in a struct of its own layout.
            let got =
                unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut notification) };
            let error = std::io::Error::last_os_error().raw_os_error();
            match (got, error) {
                (0, _) => {}
                // The requesting thread was interrupted in the meantime.
                (_, Some(libc::ENOENT | libc::EINTR)) => continue,
                _ => return,
            }
            answer.id = notification.id;
            match self.decide(&notification) {
                Some(error) => answer.error = -error,
                None => answer.flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
            }
            // SAFETY: the kernel reads a struct of its own layout. It is harmless if the requesting process has ended.
            unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer) };
        }
    }

    fn decide(&self, notification: &libc::seccomp_notif) -> Option<i32> {
        // Inspecting the operation takes time, so it happens only while a fault is armed.
        self.count.lock().unwrap().armed?;
        let place = self.place(notification)?;
        let mut count = self.count.lock().unwrap();
        let fault = count.armed?;
        let frees = [libc::SYS_fsync, libc::SYS_fdatasync, libc::SYS_unlinkat].contains(&notification.data.nr.into());
        if fault.error == libc::ENOSPC && frees {
            // These operations need no disk space.
            return None;
        }
        count.seen += 1;
        if count.seen != fault.nth {
            return None;
        }
        count.failed = Some(format!("{} on {}", notification.data.nr, place.display()));
        Some(fault.error)
    }

    /// Returns the path that an operation changes, if it is below the home. Caches are ignored because they are rebuilt.
    fn place(&self, notification: &libc::seccomp_notif) -> Option<PathBuf> {
        let call = libc::c_long::from(notification.data.nr);
        let descriptor = notification.data.args[0] as RawFd;
        let place = std::fs::read_link(format!("/proc/{}/fd/{descriptor}", notification.pid)).ok()?;
        let below = place.strip_prefix(&self.home).ok()?;
        let creates = match call {
            libc::SYS_openat => notification.data.args[2] as i32 & libc::O_CREAT != 0,
            libc::SYS_openat2 => flags(notification)? & libc::O_CREAT as u64 != 0,
            _ => true,
        };
        let counts = creates && !below.starts_with("storage/retrieval") && !below.starts_with("scratch");
        counts.then_some(place)
    }
}

/// Reads the first field of the `openat2` argument from the memory of the requesting process.
fn flags(notification: &libc::seccomp_notif) -> Option<u64> {
    let mut memory = std::fs::File::open(format!("/proc/{}/mem", notification.pid)).ok()?;
    memory.seek(SeekFrom::Start(notification.data.args[2])).ok()?;
    let mut bytes = [0; 8];
    memory.read_exact(&mut bytes).ok()?;
    Some(u64::from_ne_bytes(bytes))
}

/// Returns the filter that notifies about these calls and allows all others.
fn filter() -> Vec<libc::sock_filter> {
    let step = |code: u32, k: u32, jt: u8| libc::sock_filter { code: code as u16, jt, jf: 0, k };
    let mut steps = vec![step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0)];
    for (at, call) in CHANGES.iter().enumerate() {
        let over = u8::try_from(CHANGES.len() - at).expect("few");
        steps.push(step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, u32::try_from(*call).expect("a number"), over));
    }
    steps.push(step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0));
    steps.push(step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_USER_NOTIF, 0));
    steps
}

fn listen(filter: &[libc::sock_filter]) -> std::io::Result<RawFd> {
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the program and its steps outlive the calls.
    let listener = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        let how = (libc::SECCOMP_SET_MODE_FILTER, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER);
        libc::syscall(libc::SYS_seccomp, how.0, how.1, &raw const program)
    };
    if listener < 0 { Err(std::io::Error::last_os_error()) } else { Ok(listener as RawFd) }
}

/// Buffer for one descriptor that is sent with a byte.
#[repr(C, align(8))]
struct Control([u8; 24]);

fn message(control: &mut Control, byte: &mut libc::iovec) -> libc::msghdr {
    // SAFETY: all zeros is a valid empty message.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = byte;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    message
}

/// Sends the listener to the test and closes it here.
fn send(to: &UnixStream, listener: RawFd) -> std::io::Result<()> {
    let (mut control, mut byte) = (Control([0; 24]), 0u8);
    let mut one = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let message = message(&mut control, &mut one);
    // SAFETY: the message has room for one header and one descriptor.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(4) as _;
        libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(listener);
        if libc::sendmsg(to.as_raw_fd(), &raw const message, 0) < 0 {
            return Err(std::io::Error::last_os_error());
        }
        libc::close(listener);
    }
    Ok(())
}

fn receive(from: &UnixStream) -> Option<OwnedFd> {
    let (mut control, mut byte) = (Control([0; 24]), 0u8);
    let mut one = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let mut message = message(&mut control, &mut one);
    // SAFETY: the message has room for one header and one descriptor, which has no other owner in this process.
    unsafe {
        if libc::recvmsg(from.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) < 1 {
            return None;
        }
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (!header.is_null()).then(|| OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned()))
    }
}
