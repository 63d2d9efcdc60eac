//! The seccomp half of the fence: system calls a tool has no use for. Landlock alone leaves UDP, raw sockets, netlink and
//! path-named unix sockets open.

use std::collections::BTreeMap;

use libc::*;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op,
    SeccompCondition as Condition, SeccompFilter, SeccompRule, TargetArch,
};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// No network, not even unix sockets (one could lead to a container engine); pipes and socketpair() stay.
const GOING_OUT: [i64; 2] = [SYS_socket, SYS_connect];

/// Refused whatever their arguments.
const REFUSED: &[i64] = &[
    // Nobody may come to a job, also when it may go out.
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    // A second way to make the same system calls, past this filter.
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    // Other processes.
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_pidfd_getfd,
    SYS_kcmp,
    SYS_process_madvise,
    SYS_migrate_pages,
    SYS_move_pages,
    SYS_perf_event_open,
    // Mounts, namespaces, files by handle.
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_unshare,
    SYS_open_by_handle_at,
    SYS_name_to_handle_at,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_open_tree,
    SYS_move_mount,
    SYS_mount_setattr,
    SYS_fanotify_init,
    SYS_quotactl,
    // The kernel and the machine.
    SYS_bpf,
    SYS_userfaultfd,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_kexec_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_syslog,
    SYS_vhangup,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_sethostname,
    SYS_setdomainname,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[i64] = &[SYS_iopl, SYS_ioperm, SYS_kexec_file_load];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[i64] = &[];

/// `mknod` calls and the place of their mode argument.
#[cfg(target_arch = "x86_64")]
const MAKE_NODE: &[(i64, u8)] = &[(SYS_mknod, 1), (SYS_mknodat, 2)];
#[cfg(not(target_arch = "x86_64"))]
const MAKE_NODE: &[(i64, u8)] = &[(SYS_mknodat, 2)];

/// On x86-64 every call has a second number with this bit (x32). Calls the x32 table numbers differently follow.
const X32_BIT: i64 = 0x4000_0000;
/// ptrace, process_vm_readv, process_vm_writev.
const X32_ONLY: [i64; 3] = [521, 539, 540];

/// The filters, in the order they are put on. A refused call fails with EPERM. With `network` a job has TCP sockets;
/// where they lead is Landlock's business.
pub fn filters(network: bool) -> Result<[BpfProgram; 2], BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let mut rules: Rules = REFUSED.iter().chain(REFUSED_HERE).map(|call| (*call, Vec::new())).collect();
    if network {
        only_tcp(&mut rules)?;
    } else {
        rules.extend(GOING_OUT.map(|call| (call, Vec::new())));
    }

    // A datagram pair could still address other sockets by path.
    let datagram = Condition::new(1, Len::Dword, Op::MaskedEq(0xf), SOCK_DGRAM as u64)?;
    rules.insert(SYS_socketpair, vec![SeccompRule::new(vec![datagram])?]);
    // send() is sendto() without an address; with one it is the network.
    let addressed = Condition::new(4, Len::Qword, Op::Ne, 0)?;
    rules.entry(SYS_sendto).or_default().push(SeccompRule::new(vec![addressed])?);
    // Typing into the terminal the server was started from.
    for request in [TIOCSTI, TIOCLINUX] {
        let condition = Condition::new(1, Len::Dword, Op::Eq, request)?;
        rules.entry(SYS_ioctl).or_default().push(SeccompRule::new(vec![condition])?);
    }
    for (call, mode) in MAKE_NODE {
        for device in [S_IFCHR, S_IFBLK] {
            let condition = Condition::new(*mode, Len::Dword, Op::MaskedEq(S_IFMT as u64), device as u64)?;
            rules.entry(*call).or_default().push(SeccompRule::new(vec![condition])?);
        }
    }
    for flag in [CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWPID, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP] {
        let condition = Condition::new(0, Len::Qword, Op::MaskedEq(flag as u64), flag as u64)?;
        rules.entry(SYS_clone).or_default().push(SeccompRule::new(vec![condition])?);
    }
    // clone3 hides its flags behind a pointer: "no such call" makes libc fall back to clone.
    let no_clone3: Rules = BTreeMap::from([(SYS_clone3, Vec::new())]);
    Ok([program(rules, EPERM, arch)?, program(no_clone3, ENOSYS, arch)?])
}

/// Of all sockets those of TCP over IPv4 and IPv6; other stream protocols (MPTCP, SCTP, SMC) pass Landlock by. So does a
/// connection that is opened by sending (TCP fast open), which is refused too.
fn only_tcp(rules: &mut Rules) -> Result<(), BackendError> {
    let other_than = |argument, allowed: [i32; 2]| {
        let each = allowed.map(|value| Condition::new(argument, Len::Dword, Op::Ne, value as u64));
        each.into_iter().collect::<Result<Vec<_>, _>>().and_then(SeccompRule::new)
    };
    let mut refused = vec![other_than(0, [AF_INET, AF_INET6])?, other_than(2, [0, IPPROTO_TCP])?];
    for kind in (0..16).filter(|kind| *kind != SOCK_STREAM) {
        refused.push(SeccompRule::new(vec![Condition::new(1, Len::Dword, Op::MaskedEq(0xf), kind as u64)?])?);
    }
    rules.insert(SYS_socket, refused);
    for (call, flags) in [(SYS_sendmsg, 2), (SYS_sendmmsg, 3), (SYS_sendto, 3)] {
        let opening = Condition::new(flags, Len::Dword, Op::MaskedEq(MSG_FASTOPEN as u64), MSG_FASTOPEN as u64)?;
        rules.entry(call).or_default().push(SeccompRule::new(vec![opening])?);
    }
    Ok(())
}

fn program(rules: Rules, errno: i32, arch: TargetArch) -> Result<BpfProgram, BackendError> {
    let rules = if cfg!(target_arch = "x86_64") { with_x32(rules) } else { rules };
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno as u32), arch)?.try_into()
}

fn with_x32(rules: Rules) -> Rules {
    let mut all: Rules = rules.iter().map(|(call, rule)| (call | X32_BIT, rule.clone())).collect();
    all.extend(X32_ONLY.map(|call| (call | X32_BIT, Vec::new())));
    all.extend(rules);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_compile_and_fit_the_kernel() {
        for network in [false, true] {
            for program in filters(network).unwrap() {
                assert!(program.len() > 4 && program.len() < 4096, "{}", program.len());
            }
        }
    }
}
