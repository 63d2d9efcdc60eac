//! Refused system calls are told to the supervisor before they fail, so that their names reach the log.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use seccompiler::BpfProgram;

use super::sys::check;

/// A refused call that waits for its answer does not come back from it for a signal that a program handles (Linux 5.19).
const WAIT_KILLABLE: u64 = 1 << 5;
const NEW_LISTENER: u64 = 1 << 3;

/// Loads a filter for this process and all it starts. Safe between fork and exec.
///
/// # Errors
/// When the kernel refuses the filter.
pub fn load(program: &BpfProgram) -> io::Result<()> {
    seccompiler::apply_filter(program).map_err(io::Error::other)
}

/// Loads a filter and gives the descriptor from which its questions are read. Safe between fork and exec.
///
/// # Errors
/// When the kernel refuses; also when a filter with a listener is loaded already.
pub fn load_with_listener(program: &BpfProgram) -> io::Result<OwnedFd> {
    let newest = load_with(program, NEW_LISTENER | WAIT_KILLABLE);
    let loaded = newest.or_else(|_| load_with(program, NEW_LISTENER))?;
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(loaded) })
}

fn load_with(program: &BpfProgram, flags: u64) -> io::Result<RawFd> {
    let length = u16::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    // The crate's instruction has the kernel's layout, which is that of libc's.
    let described = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut().cast() };
    // SAFETY: the program outlives the call, which only reads it.
    let loaded =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const described) };
    check(loaded as i32)?;
    Ok(loaded as RawFd)
}

/// Answers the next question with EPERM and gives the number of the call; `None` when none waits.
pub fn refuse_next(listener: &OwnedFd) -> Option<i64> {
    // SAFETY: both structs are plain data of the kernel's layout and outlive the calls.
    unsafe {
        let mut asked: libc::seccomp_notif = std::mem::zeroed();
        if libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut asked) != 0 {
            return None;
        }
        let mut answer: libc::seccomp_notif_resp = std::mem::zeroed();
        answer.id = asked.id;
        answer.error = -libc::EPERM;
        // Who asked may have been killed meanwhile.
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer);
        Some(i64::from(asked.data.nr))
    }
}

/// Sends a descriptor to the other end. Safe between fork and exec.
///
/// # Errors
/// When the other end is closed.
pub fn send(through: &UnixStream, descriptor: &OwnedFd) -> io::Result<()> {
    let mut room = ControlBuffer::default();
    let mut byte = [0_u8];
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    // SAFETY: the message points to values that outlive the call, and the room is large enough for one descriptor.
    unsafe {
        let message = room.message(&mut part);
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as _;
        libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(descriptor.as_raw_fd());
        check(libc::sendmsg(through.as_raw_fd(), &raw const message, 0) as i32)
    }
}

/// The descriptor that was sent, if one was; it does not wait.
pub fn receive(through: &UnixStream) -> Option<OwnedFd> {
    let mut room = ControlBuffer::default();
    let mut byte = [0_u8];
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    // SAFETY: as in `send`; a descriptor that arrived is ours.
    unsafe {
        let mut message = room.message(&mut part);
        let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
        if libc::recvmsg(through.as_raw_fd(), &raw mut message, flags) <= 0 {
            return None;
        }
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
            return None;
        }
        Some(OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned()))
    }
}

/// Room for the control message of one descriptor, aligned as the kernel wants it.
#[derive(Default)]
struct ControlBuffer([u64; 4]);

impl ControlBuffer {
    fn message(&mut self, part: &mut libc::iovec) -> libc::msghdr {
        // SAFETY: a message without name, parts and control is all zeroes.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = part;
        message.msg_iovlen = 1;
        message.msg_control = self.0.as_mut_ptr().cast();
        // SAFETY: computes a number.
        message.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<RawFd>() as u32) } as _;
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_arrives_at_the_other_end() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        assert!(receive(&theirs).is_none());
        let file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut &file, b"sent").unwrap();
        send(&ours, &file.into()).unwrap();
        let arrived = std::fs::File::from(receive(&theirs).unwrap());
        assert_eq!(std::os::unix::fs::FileExt::read_at(&arrived, &mut [0; 4], 0).unwrap(), 4);
    }
}
