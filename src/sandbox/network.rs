//! The network namespace of a job whose egress attempts are recorded. It contains nothing but a loopback interface of its own,
//! so that no address leads to this machine or any other, whatever a job connects to.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::sys::check;

/// Moves this process, which must have one thread, into a network namespace of its own, and listens there on a free port of
/// 127.0.0.1. Accepting a connection does not block.
///
/// # Errors
/// Returns an error if the system does not allow it. This process may then be in a namespace without any network.
pub fn enter() -> io::Result<TcpListener> {
    // SAFETY: takes a number only; this process has one thread.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
    bring_loopback_up()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// The interface is new, so it is down and has no other flags. The kernel gives it its address.
fn bring_loopback_up() -> io::Result<()> {
    // SAFETY: takes numbers only; the new descriptor is ours.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    check(socket)?;
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: all zeroes is a valid request, and it outlives the call.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
            *to = *from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
        check(libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw mut request))
    }
}
