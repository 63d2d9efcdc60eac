//! Which user a job is. A server that runs as root makes its jobs user 65534, because user 0 is free of some limits.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::sys;
use super::wire::Order;

/// The user and group a tool gets when the server runs as root: "nobody".
pub const NOBODY: u32 = 65534;

pub fn is_root() -> bool {
    sys::is_root()
}

/// Whether user 65534 could work for this order: every folder on the way to its paths lets others through. A home below
/// `/root` does not; there the tool of a server that is root stays user 0 without capabilities, inside the same fence, and
/// only the limit on processes is lost.
pub fn lets_nobody_work(order: &Order) -> bool {
    lets_nobody_through(&order.cwd) && order.readable.iter().all(|path| lets_others_through(path))
}

/// Whether the system lets us become user 65534 at all.
pub fn can_change() -> bool {
    has_capabilities(&[6, 7]) // CAP_SETGID, CAP_SETUID
        && is_mapped("/proc/self/uid_map")
        && is_mapped("/proc/self/gid_map")
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

fn has_capabilities(wanted: &[u32]) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    wanted.iter().all(|bit| effective & (1 << bit) != 0)
}

/// Whether id 65534 exists in this user namespace.
fn is_mapped(map: &str) -> bool {
    fs::read_to_string(map).unwrap_or_default().lines().any(|line| {
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        matches!(numbers[..], [inside, _, count] if (inside..inside.saturating_add(count)).contains(&u64::from(NOBODY)))
    })
}
