//! Notifies the supervisor of refused system calls before they fail, so that their names reach the log.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use seccompiler::BpfProgram;

use super::sys::check;

/// A refused call that waits for its answer is not interrupted by a signal that the program handles (Linux 5.19).
const WAIT_KILLABLE: u64 = 1 << 5;
const NEW_LISTENER: u64 = 1 << 3;

/// Loads a filter for this process and all its descendants. Safe between fork and exec.
///
/// # Errors
/// Returns an error if the kernel refuses the filter.
pub fn load(program: &BpfProgram) -> io::Result<()> {
    seccompiler::apply_filter(program).map_err(io::Error::other)
}

/// Loads a filter and returns the descriptor from which its notifications are read. Safe between fork and exec.
///
/// # Errors
/// Returns an error if the kernel refuses the filter, for example because one with a listener is already loaded.
pub fn load_with_listener(program: &BpfProgram) -> io::Result<OwnedFd> {
    let newest = load_with(program, NEW_LISTENER | WAIT_KILLABLE);
    let loaded = newest.or_else(|_| load_with(program, NEW_LISTENER))?;
    // SAFETY: the kernel has just created this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(loaded) })
}

fn load_with(program: &BpfProgram, flags: u64) -> io::Result<RawFd> {
    let length = u16::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    // The crate's instruction has the kernel's layout, as libc's has.
    let described = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut().cast() };
    // SAFETY: the program outlives the call, which only reads it.
    let loaded =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const described) };
    check(loaded as i32)?;
    Ok(loaded as RawFd)
}

/// Answers the next notification with EPERM and returns the number of the call; `None` if no call waits.
pub fn refuse_next(listener: &OwnedFd) -> Option<i64> {
    // SAFETY: both structs are plain data with the kernel's layout and outlive the calls.
    unsafe {
        let mut asked: libc::seccomp_notif = std::mem::zeroed();
        if libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut asked) != 0 {
            return None;
        }
        let mut answer: libc::seccomp_notif_resp = std::mem::zeroed();
        answer.id = asked.id;
        answer.error = -libc::EPERM;
        // The requester may have been killed in the meantime.
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer);
        Some(i64::from(asked.data.nr))
    }
}

/// Sends a descriptor to the other end. Safe between fork and exec.
///
/// # Errors
/// Returns an error if the other end is closed.
pub fn send(through: &UnixStream, descriptor: &OwnedFd) -> io::Result<()> {
    let mut room = ControlBuffer::default();
    let mut byte = [0_u8];
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    // SAFETY: the message points to values that outlive the call, and the buffer has room for one descriptor.
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

/// Returns the descriptor that was sent, if any, without waiting.
pub fn receive(through: &UnixStream) -> Option<OwnedFd> {
    let mut room = ControlBuffer::default();
    let mut byte = [0_u8];
    let mut part = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    // SAFETY: as in `send`; a received descriptor is ours.
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

/// Buffer for the control message of one descriptor, with the alignment that the kernel requires.
#[derive(Default)]
struct ControlBuffer([u64; 4]);

impl ControlBuffer {
    fn message(&mut self, part: &mut libc::iovec) -> libc::msghdr {
        // SAFETY: all zeroes is a valid message without name, parts and control data.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = part;
        message.msg_iovlen = 1;
        message.msg_control = self.0.as_mut_ptr().cast();
        // SAFETY: only computes a number.
        message.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<RawFd>() as u32) } as _;
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptor_is_passed_over_socket() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        assert!(receive(&theirs).is_none());
        let file = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut &file, b"sent").unwrap();
        send(&ours, &file.into()).unwrap();
        let arrived = std::fs::File::from(receive(&theirs).unwrap());
        assert_eq!(std::os::unix::fs::FileExt::read_at(&arrived, &mut [0; 4], 0).unwrap(), 4);
    }
}
