//! Copy before write: the kernel notifies this process of every call that may change a file, and waits while it keeps the
//! old content. What the call then does is decided by its arguments as they are in memory *afterwards*.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::process::check;
use crate::work::Work;
use crate::{Probe, Rows, process, remove};

const WRITING: u32 = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC) as u32;

pub fn measure(probe: &Probe, work: Work, rows: &mut Rows) -> io::Result<()> {
    let kept = probe.own.join("kept");
    remove(&kept)?;
    fs::create_dir(&kept)?;
    let (mut read, mut write) = io::pipe()?;
    let (mut taken, mut has_taken) = io::pipe()?;
    let began = Instant::now();
    let child = process::start(probe.identity, || {
        let listener = load_filter()?;
        write.write_all(&listener.to_le_bytes())?;
        // The descriptor closes when the program starts.
        taken.read_exact(&mut [0])?;
        work.become_it(&probe.lower)
    })?;
    drop(write);
    let mut number = [0; 4];
    read.read_exact(&mut number)?;
    let listener = take_descriptor(child, i32::from_le_bytes(number))?;
    has_taken.write_all(&[0])?;
    let mut notified = 0;
    let answered = Keeper { listener: &listener, kept: &kept }.answer_all(&mut notified);
    process::ended(child)?;
    answered?;
    rows.add("copy before write", began.elapsed());
    std::hint::black_box(notified);
    work.take_back(&probe.lower)
}

/// Loads a filter that notifies of calls that may change a file, and returns the number of its descriptor.
fn load_filter() -> io::Result<i32> {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const ANY_BIT: u16 = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let calls = [
        libc::SYS_rename,
        libc::SYS_renameat,
        libc::SYS_renameat2,
        libc::SYS_unlink,
        libc::SYS_unlinkat,
        libc::SYS_rmdir,
        libc::SYS_truncate,
        libc::SYS_link,
        libc::SYS_linkat,
    ];
    let op = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let count = calls.len() as u8;
    // nr; openat looks at its flags, the other calls are notified of, everything else is allowed.
    let mut program = vec![op(LOAD, 0, 0, 0), op(EQUAL, count, 0, libc::SYS_openat as u32)];
    for (at, call) in calls.iter().enumerate() {
        let to_notify = count - 1 - at as u8 + 3;
        let miss = if at + 1 == calls.len() { 2 } else { 0 };
        program.push(op(EQUAL, to_notify, miss, *call as u32));
    }
    let flags = 16 + 2 * 8;
    program.push(op(LOAD, 0, 0, flags));
    program.push(op(ANY_BIT, 1, 0, WRITING));
    program.push(op(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW));
    program.push(op(RETURN, 0, 0, libc::SECCOMP_RET_USER_NOTIF));
    let described = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the program outlives the calls, which only read it.
    unsafe {
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
        let (mode, flag) = (libc::SECCOMP_SET_MODE_FILTER, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER);
        let loaded = libc::syscall(libc::SYS_seccomp, mode, flag, &raw const described) as i32;
        check(loaded)?;
        Ok(loaded)
    }
}

fn take_descriptor(child: libc::pid_t, number: i32) -> io::Result<OwnedFd> {
    // SAFETY: numbers only; the new descriptors are ours.
    unsafe {
        let process = libc::syscall(libc::SYS_pidfd_open, child, 0) as i32;
        check(process)?;
        let process = OwnedFd::from_raw_fd(process);
        let taken = libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), number, 0) as i32;
        check(taken)?;
        Ok(OwnedFd::from_raw_fd(taken))
    }
}

struct Keeper<'a> {
    listener: &'a OwnedFd,
    kept: &'a Path,
}

impl Keeper<'_> {
    /// Keeps old contents until every process with the filter has ended.
    fn answer_all(&self, notified: &mut usize) -> io::Result<()> {
        loop {
            let mut poll = libc::pollfd { fd: self.listener.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: the struct outlives the call.
            check(unsafe { libc::poll(&raw mut poll, 1, -1) })?;
            if poll.revents & libc::POLLIN == 0 {
                return Ok(());
            }
            // SAFETY: plain data with the kernel's layout, which outlives the calls.
            unsafe {
                let mut asked: libc::seccomp_notif = std::mem::zeroed();
                if libc::ioctl(self.listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut asked) != 0 {
                    continue;
                }
                *notified += 1;
                self.keep(&asked, *notified)?;
                let mut answer: libc::seccomp_notif_resp = std::mem::zeroed();
                answer.id = asked.id;
                answer.flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
                libc::ioctl(self.listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer);
            }
        }
    }

    fn keep(&self, asked: &libc::seccomp_notif, number: usize) -> io::Result<()> {
        let is_at = [libc::SYS_openat, libc::SYS_renameat, libc::SYS_renameat2, libc::SYS_unlinkat, libc::SYS_linkat]
            .contains(&i64::from(asked.data.nr));
        let (folder, address) = match is_at {
            true => (asked.data.args[0] as i32, asked.data.args[1]),
            false => (libc::AT_FDCWD, asked.data.args[0]),
        };
        let base = match folder {
            libc::AT_FDCWD => format!("/proc/{}/cwd", asked.pid),
            number => format!("/proc/{}/fd/{number}", asked.pid),
        };
        let path = Path::new(&base).join(read_path(asked.pid as i32, address)?);
        match fs::metadata(&path) {
            Ok(meta) if meta.is_file() => fs::copy(path, self.kept.join(number.to_string())).map(drop),
            _ => Ok(()),
        }
    }
}

fn read_path(process: i32, address: u64) -> io::Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let mut bytes = vec![0_u8; 4096];
    // Not beyond the page, which may be the last one that is mapped.
    let length = (4096 - (address as usize & 4095)).min(bytes.len());
    let mut got = 0;
    while got < bytes.len() && !bytes[..got].contains(&0) {
        let part = if got == 0 { length } else { bytes.len() - got };
        let ours = libc::iovec { iov_base: bytes[got..].as_mut_ptr().cast(), iov_len: part };
        let theirs = libc::iovec { iov_base: (address as usize + got) as *mut _, iov_len: part };
        // SAFETY: the buffer outlives the call and has room for what is read.
        let read = unsafe { libc::process_vm_readv(process, &raw const ours, 1, &raw const theirs, 1, 0) };
        check(read as i32)?;
        got += read as usize;
    }
    bytes.truncate(bytes.iter().position(|byte| *byte == 0).unwrap_or(got));
    Ok(std::ffi::OsString::from_vec(bytes).into())
}
