//! The user that a job runs as. A server that runs as root runs its jobs as user 65534, or as the user of the person whose
//! command it is: user 0 owns too much, and some limits do not apply to it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::sys;
use super::wire::JobRequest;

/// User and group of a job if the server runs as root: "nobody".
pub const NOBODY: u32 = 65534;

/// Capability numbers.
pub const CHOWN: u32 = 0;
pub const DAC_OVERRIDE: u32 = 1;
pub const FOWNER: u32 = 3;
pub const KILL: u32 = 5;
pub const SETGID: u32 = 6;
pub const SETUID: u32 = 7;
pub const NET_ADMIN: u32 = 12;
pub const SYS_ADMIN: u32 = 21;

/// The user that jobs run as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobUser {
    /// The server's own user, which is not root.
    Own,
    Nobody,
    /// No user: the server is root and cannot change its user.
    Unavailable,
}

pub fn is_root() -> bool {
    sys::is_root()
}

/// Returns the user that jobs of this process run as.
pub fn job_user() -> JobUser {
    if !is_root() {
        return JobUser::Own;
    }
    let may_change = has_capability(SETGID) && has_capability(SETUID);
    let [users, groups] = id_maps().map(|map| is_mapped(map, NOBODY));
    match (users, groups) {
        // If the user namespace maps only root, root is an ordinary user outside.
        (Some(false), _) => JobUser::Own,
        (Some(true), Some(true)) if may_change => JobUser::Nobody,
        // Also if the kernel does not tell.
        (Some(true) | None, _) => JobUser::Unavailable,
    }
}

/// Whether user and group `id` exist in this user namespace.
pub fn is_known(id: u32) -> bool {
    id_maps().iter().all(|map| is_mapped(map, id) == Some(true))
}

fn id_maps() -> [&'static str; 2] {
    ["/proc/self/uid_map", "/proc/self/gid_map"]
}

/// Returns whether another user can reach all paths of the job request as they are: other users can traverse every parent
/// folder.
pub fn other_user_can_run(request: &JobRequest) -> bool {
    let mut writable = std::iter::once(&request.cwd).chain(&request.writable);
    let reaches = |folder: &PathBuf| other_user_can_traverse(folder);
    writable.all(reaches) && request.readable.iter().all(|path| lets_others_through(path))
}

/// Returns whether another user can reach this folder; the folder itself will belong to that user.
pub fn other_user_can_traverse(folder: &Path) -> bool {
    folder.parent().is_some_and(lets_others_through)
}

fn lets_others_through(path: &Path) -> bool {
    path.ancestors().all(|path| match fs::metadata(path) {
        Ok(meta) => !meta.is_dir() || meta.permissions().mode() & 0o001 != 0,
        Err(_) => true,
    })
}

/// Returns whether this process has a capability in its effective set.
pub fn has_capability(number: u32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    effective & (1 << number) != 0
}

/// Returns whether an id exists in this user namespace; `None` if the kernel does not tell.
fn is_mapped(map: &str, id: u32) -> Option<bool> {
    let is_there = |line: &str| {
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        matches!(numbers[..], [inside, _, count] if (inside..inside.saturating_add(count)).contains(&u64::from(id)))
    };
    Some(fs::read_to_string(map).ok()?.lines().any(is_there))
}
