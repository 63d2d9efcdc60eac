//! The allowed arguments of the checked system calls, as rules for the filter: a call passes if all conditions of any one of
//! its rules hold.

use libc::*;
use seccompiler::{
    BackendError, SeccompCmpArgLen::Dword, SeccompCmpArgLen::Qword, SeccompCmpOp as Op, SeccompCondition as Condition,
    SeccompRule,
};

use super::NetworkAccess;
use super::table::Check;

type Allowed = Result<Option<Vec<SeccompRule>>, BackendError>;

/// The set-user-id and set-group-id bits.
const SET_ID: u64 = (S_ISUID | S_ISGID) as u64;
const NAMESPACES: i32 =
    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
/// Mask for a socket's type without its flags.
const SOCKET_TYPE: u64 = 0xf;

/// Requests that programs use for terminals, sizes and shared blocks: TCGETS, TCSETS, TCSETSW, TCSETSF, TIOCGPGRP,
/// TIOCSPGRP, TIOCOUTQ, TIOCGWINSZ, TIOCSWINSZ, FIONREAD, FIONBIO, TIOCGSID, FIONCLEX, FIOCLEX, TCGETS2, FS_IOC_GETFLAGS,
/// FS_IOC_FIEMAP, FICLONE, FICLONERANGE, FIDEDUPERANGE, FS_IOC_FSGETXATTR.
const IOCTLS: [u64; 21] = [
    0x5401,
    0x5402,
    0x5403,
    0x5404,
    0x540f,
    0x5410,
    0x5411,
    0x5413,
    0x5414,
    0x541b,
    0x5421,
    0x5429,
    0x5450,
    0x5451,
    0x802c_542a,
    0x8008_6601,
    0xc020_660b,
    0x4004_9409,
    0x4020_940d,
    0xc018_9436,
    0x801c_581f,
];

const FCNTLS: [i32; 19] = [
    F_DUPFD,
    F_GETFD,
    F_SETFD,
    F_GETFL,
    F_SETFL,
    F_GETLK,
    F_SETLK,
    F_SETLKW,
    F_GETOWN,
    F_OFD_GETLK,
    F_OFD_SETLK,
    F_OFD_SETLKW,
    F_DUPFD_CLOEXEC,
    F_SETPIPE_SZ,
    F_GETPIPE_SZ,
    F_ADD_SEALS,
    F_GET_SEALS,
    F_GETLEASE,
    // F_DUPFD_QUERY
    1027,
];

const PRCTLS: [i32; 29] = [
    PR_SET_PDEATHSIG,
    PR_GET_PDEATHSIG,
    PR_GET_DUMPABLE,
    PR_SET_DUMPABLE,
    PR_GET_KEEPCAPS,
    PR_SET_NAME,
    PR_GET_NAME,
    PR_GET_SECCOMP,
    PR_SET_SECCOMP,
    PR_CAPBSET_READ,
    PR_GET_TSC,
    PR_SET_TSC,
    PR_GET_SECUREBITS,
    PR_SET_TIMERSLACK,
    PR_GET_TIMERSLACK,
    PR_SET_CHILD_SUBREAPER,
    PR_GET_CHILD_SUBREAPER,
    PR_SET_NO_NEW_PRIVS,
    PR_GET_NO_NEW_PRIVS,
    PR_GET_TID_ADDRESS,
    PR_SET_THP_DISABLE,
    PR_GET_THP_DISABLE,
    PR_SET_VMA,
    // PR_GET_SPECULATION_CTRL, which libc has only for some processors
    52,
    // PR_SVE_SET_VL, PR_SVE_GET_VL, PR_PAC_RESET_KEYS, PR_SET_TAGGED_ADDR_CTRL, PR_GET_TAGGED_ADDR_CTRL: specific to
    // aarch64.
    50,
    51,
    54,
    55,
    56,
];

/// ADDR_NO_RANDOMIZE
const FIXED_ADDRESSES: u64 = 0x0004_0000;
/// Queries the personality without changing it.
const ASK_PERSONALITY: u64 = 0xffff_ffff;

/// Returns the rules of a check for the call with this name; `None` if the call is never allowed.
///
/// # Errors
/// Returns an error if a condition cannot be compiled.
pub fn rules(check: Check, call: &str, reach: NetworkAccess) -> Allowed {
    let rules = match check {
        Check::Itself(argument) => vec![all([equal(argument, 0)?])?],
        Check::Priority => {
            vec![
                all([equal(0, PRIO_PROCESS as u64)?, equal(1, 0)?])?,
                all([equal(0, PRIO_PGRP as u64)?, equal(1, 0)?])?,
            ]
        }
        // IOPRIO_WHO_PROCESS
        Check::IoPriority => vec![all([equal(0, 1)?, equal(1, 0)?])?],
        Check::NotEverybody => vec![all([Condition::new(0, Dword, Op::Ne, u64::from(u32::MAX))?])?],
        Check::NoNamespace => vec![all([none_of(0, NAMESPACES as u64)?])?],
        Check::OpenMode => {
            let flags = if call == "open" { 1 } else { 2 };
            // O_TMPFILE consists of its own bit and O_DIRECTORY.
            let makes = (O_CREAT | (O_TMPFILE & !O_DIRECTORY)) as u64;
            vec![all([none_of(flags, makes)?])?, all([none_of(flags + 1, SET_ID)?])?]
        }
        Check::Mode(argument) => vec![all([none_of(argument, SET_ID)?])?],
        Check::Node(mode) => {
            let kinds = [0, S_IFREG, S_IFIFO, S_IFSOCK];
            let kind = |kind: mode_t| Condition::new(mode, Dword, Op::MaskedEq(u64::from(S_IFMT)), u64::from(kind));
            kinds.into_iter().map(|wanted| all([kind(wanted)?, none_of(mode, SET_ID)?])).collect::<Result<_, _>>()?
        }
        Check::Socket if reach == NetworkAccess::Nothing => return Ok(None),
        Check::Socket => {
            let mut rules = Vec::new();
            for family in [AF_INET, AF_INET6] {
                for protocol in [0, IPPROTO_TCP] {
                    rules.push(all([equal(0, family as u64)?, kind(SOCK_STREAM)?, equal(2, protocol as u64)?])?);
                }
            }
            rules
        }
        Check::WithNetwork if reach == NetworkAccess::Nothing => return Ok(None),
        Check::WithNetwork => Vec::new(),
        Check::Pair => {
            let of = |wanted| all([equal(0, AF_UNIX as u64)?, kind(wanted)?]);
            vec![of(SOCK_STREAM)?, of(SOCK_SEQPACKET)?]
        }
        Check::SendTo => {
            vec![all([Condition::new(4, Qword, Op::Eq, 0)?, none_of(3, MSG_FASTOPEN as u64)?])?]
        }
        Check::NoFastOpen(flags) => vec![all([none_of(flags, MSG_FASTOPEN as u64)?])?],
        Check::Ioctl => any_of(1, IOCTLS)?,
        Check::Fcntl => any_of(1, FCNTLS.map(|command| command as u64))?,
        Check::Prctl => any_of(0, PRCTLS.map(|option| option as u64))?,
        Check::Personality => any_of(0, [0, FIXED_ADDRESSES, ASK_PERSONALITY])?,
    };
    Ok(Some(rules))
}

fn all<const N: usize>(conditions: [Condition; N]) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.into())
}

fn any_of<const N: usize>(argument: u8, values: [u64; N]) -> Result<Vec<SeccompRule>, BackendError> {
    values.into_iter().map(|value| all([equal(argument, value)?])).collect()
}

/// Compares the lower 32 bits: the kernel reads no more of these arguments.
fn equal(argument: u8, value: u64) -> Result<Condition, BackendError> {
    Condition::new(argument, Dword, Op::Eq, value)
}

fn none_of(argument: u8, bits: u64) -> Result<Condition, BackendError> {
    Condition::new(argument, Qword, Op::MaskedEq(bits), 0)
}

fn kind(wanted: i32) -> Result<Condition, BackendError> {
    Condition::new(1, Dword, Op::MaskedEq(SOCKET_TYPE), wanted as u64)
}
