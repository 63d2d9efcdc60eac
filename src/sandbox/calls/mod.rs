//! The seccomp half of the confinement: the system calls that a job may make. Landlock alone covers only calls that open
//! files; it leaves open sockets, shared memory, limits and priorities of other processes, leases, watches.

mod checks;
mod table;

use std::collections::BTreeMap;

use libc::{ENOSYS, EPERM, SYS_clone3, SYS_openat2};
use seccompiler::{BackendError, BpfProgram, SeccompAction, SeccompFilter, SeccompRule, TargetArch, sock_filter};

use table::{FilterAction, GROUPS, NEWEST, number};
pub use table::{name, reason};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// The network access of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkAccess {
    Nothing,
    /// TCP sockets; Landlock restricts where they connect.
    Tcp,
}

/// The filter programs of one confinement, to be loaded in this order.
pub struct Filters {
    /// Makes some calls fail with ENOSYS.
    pub absent: BpfProgram,
    /// Makes all calls except the allowed ones fail with EPERM.
    pub allowed: BpfProgram,
    /// Like `allowed`, but a refused call waits until the supervisor has recorded its name, and then fails.
    pub notifying: BpfProgram,
}

/// Compiles the filters.
///
/// # Errors
/// Returns an error if a rule does not compile; a test shows that all rules do.
pub fn filters(reach: NetworkAccess) -> Result<Filters, BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let mut rules = Rules::new();
    for group in GROUPS {
        for call in group.calls {
            let Some(number) = number(call) else { continue };
            let rule = match group.verdict {
                FilterAction::Allowed => Vec::new(),
                FilterAction::Checked(check) => match checks::rules(check, call.0, reach)? {
                    Some(rule) => rule,
                    None => continue,
                },
                FilterAction::Refused | FilterAction::Absent => continue,
            };
            rules.insert(number, rule);
        }
    }
    // The crate has no action "notify the supervisor": it compiles the trace action, which is then replaced.
    let traced = SeccompAction::Trace(0);
    let notifying: BpfProgram = SeccompFilter::new(rules.clone(), traced, SeccompAction::Allow, arch)?.try_into()?;
    let notifying = notifying.into_iter().map(|instruction| match (instruction.code, instruction.k) {
        (RETURN, libc::SECCOMP_RET_TRACE) => sock_filter { k: libc::SECCOMP_RET_USER_NOTIF, ..instruction },
        _ => instruction,
    });
    let refused = SeccompAction::Errno(EPERM as u32);
    Ok(Filters {
        absent: absent(),
        allowed: SeccompFilter::new(rules, refused, SeccompAction::Allow, arch)?.try_into()?,
        notifying: notifying.collect(),
    })
}

/// `BPF_RET | BPF_K`
const RETURN: u16 = 0x06;

/// Returns the filter for absent calls: calls whose arguments are behind pointers, which a filter cannot read, and calls
/// newer than the list. EPERM would break programs that can do without them. The next filter kills calls of other
/// architectures.
fn absent() -> BpfProgram {
    const LOAD: u16 = 0x20;
    const IF_EQUAL: u16 = 0x15;
    const IF_GREATER: u16 = 0x25;
    /// On x86-64 every call has a second number with this bit (x32); the next filter refuses those.
    const X32_BIT: u32 = 0x4000_0000;
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        step(LOAD, 0, 0, 0),
        step(IF_EQUAL, 4, 0, SYS_clone3 as u32),
        step(IF_EQUAL, 3, 0, SYS_openat2 as u32),
        step(IF_GREATER, 1, 0, X32_BIT - 1),
        step(IF_GREATER, 1, 0, NEWEST as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | ENOSYS as u32),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_compile_and_fit_the_kernel() {
        for reach in [NetworkAccess::Nothing, NetworkAccess::Tcp] {
            let filters = filters(reach).unwrap();
            for program in [&filters.absent, &filters.allowed, &filters.notifying] {
                assert!(program.len() > 4 && program.len() < 4096, "{}", program.len());
            }
            let asks = |program: &BpfProgram| {
                program.iter().filter(|step| step.code == RETURN && step.k == libc::SECCOMP_RET_USER_NOTIF).count()
            };
            assert!(asks(&filters.notifying) > 0 && asks(&filters.allowed) == 0);
        }
    }
}
