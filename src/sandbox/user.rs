//! The user that a job runs as. A server that runs as root makes its jobs user 65534: user 0 owns too much, and is free of some limits.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::sys;
use super::wire::JobRequest;

/// The user and group a job gets when the server runs as root: "nobody".
pub const NOBODY: u32 = 65534;

/// The numbers of capabilities.
const SETGID: u32 = 6;
const SETUID: u32 = 7;
pub const SYS_ADMIN: u32 = 21;

/// As whom jobs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobUser {
    /// The server's own user, which is not root.
    Own,
    Nobody,
    /// The server is root and cannot be anybody else.
    None,
}

pub fn is_root() -> bool {
    sys::is_root()
}

/// As whom jobs of this process run.
pub fn job_user() -> JobUser {
    if !is_root() {
        return JobUser::Own;
    }
    let may_change = has_capability(SETGID) && has_capability(SETUID);
    match (is_mapped("/proc/self/uid_map"), is_mapped("/proc/self/gid_map")) {
        // Alone in a user namespace, root is an ordinary user outside.
        (Some(false), _) => JobUser::Own,
        (Some(true), Some(true)) if may_change => JobUser::Nobody,
        // Also where the kernel does not tell.
        (Some(true) | None, _) => JobUser::None,
    }
}

/// Whether user 65534 gets to everything the order names without our doing: every folder on the way lets others through.
pub fn lets_nobody_work(order: &JobRequest) -> bool {
    lets_nobody_through(&order.cwd) && order.readable.iter().all(|path| lets_others_through(path))
}

/// Whether user 65534 gets as far as this folder; the folder itself will be its own.
pub fn lets_nobody_through(folder: &Path) -> bool {
    folder.parent().is_some_and(lets_others_through)
}

fn lets_others_through(path: &Path) -> bool {
    path.ancestors().all(|path| match fs::metadata(path) {
        Ok(meta) => !meta.is_dir() || meta.permissions().mode() & 0o001 != 0,
        Err(_) => true,
    })
}

/// Whether this process has a capability now.
pub fn has_capability(number: u32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    effective & (1 << number) != 0
}

/// Whether id 65534 exists in this user namespace; `None` when the kernel does not tell.
fn is_mapped(map: &str) -> Option<bool> {
    let is_there = |line: &str| {
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        matches!(numbers[..], [inside, _, count] if (inside..inside.saturating_add(count)).contains(&u64::from(NOBODY)))
    };
    Some(fs::read_to_string(map).ok()?.lines().any(is_there))
}
