//! All system calls of x86-64 and aarch64, whether a job may make each, and why. The filter and the table in docs/sandbox.md
//! are made from this table.

use self::Check::{
    Fcntl, IoPriority, Ioctl, Itself, Mode, NoFastOpen, NoNamespace, Node, NotEverybody, OpenMode, Pair, Personality,
    Prctl, Priority, SendTo, Socket, WithNetwork,
};
use self::FilterAction::{Absent, Allowed, Checked, Refused};

/// How the filter treats a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterAction {
    Allowed,
    /// Allowed with some arguments, refused with others.
    Checked(Check),
    /// Fails with EPERM; the name goes to the log.
    Refused,
    /// Fails with ENOSYS, as on a kernel without the call: libraries then use an older call.
    Absent,
}

/// A condition on the arguments of a system call. A number is the 0-based index of the argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// The process id is 0, the calling process.
    Itself(u8),
    Priority,
    IoPriority,
    NotEverybody,
    NoNamespace,
    /// `open`: the mode counts only if the call may create a file. The argument's index differs by one between `open` and
    /// `openat`.
    OpenMode,
    Mode(u8),
    Node(u8),
    Socket,
    WithNetwork,
    Pair,
    SendTo,
    NoFastOpen(u8),
    Ioctl,
    Fcntl,
    Prctl,
    Personality,
}

/// Calls with the same verdict for the same reason.
pub struct SyscallGroup {
    pub verdict: FilterAction,
    pub why: &'static str,
    /// Name, number on x86-64, number on aarch64; -1 if the architecture does not have the call.
    pub calls: &'static [Syscall],
}

/// A system call and its numbers.
type Syscall = (&'static str, i16, i16);

/// The highest known number; calls with higher numbers are newer than this list, and absent.
pub const NEWEST: i16 = 469;

const fn group(verdict: FilterAction, why: &'static str, calls: &'static [Syscall]) -> SyscallGroup {
    SyscallGroup { verdict, why, calls }
}

/// Returns the number of a call on the target architecture.
pub fn number(call: &Syscall) -> Option<i64> {
    let number = if cfg!(target_arch = "x86_64") { call.1 } else { call.2 };
    (number >= 0).then_some(i64::from(number))
}

/// Returns the name of a call from its number on the target architecture.
pub fn name(wanted: i64) -> Option<&'static str> {
    GROUPS.iter().flat_map(|group| group.calls).find(|call| number(call) == Some(wanted)).map(|call| call.0)
}

/// Returns why a call has its verdict.
pub fn reason(name: &str) -> Option<&'static str> {
    GROUPS.iter().find(|group| group.calls.iter().any(|call| call.0 == name)).map(|group| group.why)
}

#[rustfmt::skip]
pub const GROUPS: &[SyscallGroup] = &[
    group(Allowed, "They work on files that are open already.", &[
        ("read", 0, 63), ("write", 1, 64), ("readv", 19, 65), ("writev", 20, 66), ("pread64", 17, 67),
        ("pwrite64", 18, 68), ("preadv", 295, 69), ("pwritev", 296, 70), ("preadv2", 327, 286),
        ("pwritev2", 328, 287), ("lseek", 8, 62), ("sendfile", 40, 71), ("splice", 275, 76), ("tee", 276, 77),
        ("vmsplice", 278, 75), ("copy_file_range", 326, 285), ("readahead", 187, 213), ("fadvise64", 221, 223),
        ("fallocate", 285, 47), ("ftruncate", 77, 46), ("fsync", 74, 82), ("fdatasync", 75, 83),
        ("syncfs", 306, 267), ("sync_file_range", 277, 84), ("close", 3, 57), ("close_range", 436, 436),
        ("dup", 32, 23), ("dup2", 33, -1), ("dup3", 292, 24), ("flock", 73, 32),
    ]),
    group(Allowed, "They look at files. Landlock decides which may be opened and listed; the kernel tells size and times of others too.", &[
        ("stat", 4, -1), ("fstat", 5, 80), ("lstat", 6, -1), ("newfstatat", 262, 79), ("statx", 332, 291),
        ("access", 21, -1), ("faccessat", 269, 48), ("faccessat2", 439, 439), ("readlink", 89, -1),
        ("readlinkat", 267, 78), ("getdents", 78, -1), ("getdents64", 217, 61), ("statfs", 137, 43),
        ("fstatfs", 138, 44), ("getcwd", 79, 17), ("chdir", 80, 49), ("fchdir", 81, 50), ("getxattr", 191, 8),
        ("lgetxattr", 192, 9), ("fgetxattr", 193, 10), ("listxattr", 194, 11), ("llistxattr", 195, 12),
        ("flistxattr", 196, 13), ("getxattrat", 464, 464), ("listxattrat", 465, 465), ("file_getattr", 468, 468),
    ]),
    group(Allowed, "They make, move and remove files. Landlock decides where.", &[
        ("truncate", 76, 45), ("rename", 82, -1), ("renameat", 264, 38), ("renameat2", 316, 276), ("mkdir", 83, -1),
        ("mkdirat", 258, 34), ("rmdir", 84, -1), ("link", 86, -1), ("linkat", 265, 37), ("unlink", 87, -1),
        ("unlinkat", 263, 35), ("symlink", 88, -1), ("symlinkat", 266, 36), ("umask", 95, 166),
    ]),
    group(Allowed, "They change owner, times and attributes of the user’s own files. In the command’s mount namespace everything but scratch/ is read-only.", &[
        ("chown", 92, -1), ("fchown", 93, 55), ("lchown", 94, -1), ("fchownat", 260, 54), ("utime", 132, -1),
        ("utimes", 235, -1), ("futimesat", 261, -1), ("utimensat", 280, 88), ("setxattr", 188, 5),
        ("lsetxattr", 189, 6), ("fsetxattr", 190, 7), ("removexattr", 197, 14), ("lremovexattr", 198, 15),
        ("fremovexattr", 199, 16), ("setxattrat", 463, 463), ("removexattrat", 466, 466),
    ]),
    group(Allowed, "They arrange the memory of the calling process.", &[
        ("mmap", 9, 222), ("mprotect", 10, 226), ("munmap", 11, 215), ("brk", 12, 214), ("mremap", 25, 216),
        ("madvise", 28, 233), ("msync", 26, 227), ("mincore", 27, 232), ("mlock", 149, 228), ("munlock", 150, 229),
        ("mlock2", 325, 284), ("mlockall", 151, 230), ("munlockall", 152, 231), ("memfd_create", 319, 279),
        ("pkey_alloc", 330, 289), ("pkey_free", 331, 290), ("pkey_mprotect", 329, 288),
        ("map_shadow_stack", 453, 453), ("mseal", 462, 462), ("membarrier", 324, 283), ("get_mempolicy", 239, 236),
        ("set_mempolicy", 238, 237), ("set_mempolicy_home_node", 450, 450), ("mbind", 237, 235),
    ]),
    group(Allowed, "They start, end and describe processes of the command.", &[
        ("fork", 57, -1), ("vfork", 58, -1), ("execve", 59, 221), ("execveat", 322, 281), ("exit", 60, 93),
        ("exit_group", 231, 94), ("wait4", 61, 260), ("waitid", 247, 95), ("getpid", 39, 172), ("getppid", 110, 173),
        ("gettid", 186, 178), ("set_tid_address", 218, 96), ("getpgid", 121, 155), ("setpgid", 109, 154),
        ("getpgrp", 111, -1), ("getsid", 124, 156), ("setsid", 112, 157), ("pidfd_open", 434, 434),
        ("arch_prctl", 158, -1), ("rseq", 334, 293), ("set_robust_list", 273, 99), ("get_robust_list", 274, 100),
        ("restart_syscall", 219, 128), ("getrusage", 98, 165), ("times", 100, 153), ("uname", 63, 160),
        ("sysinfo", 99, 179), ("getcpu", 309, 168), ("sched_yield", 24, 124), ("getrlimit", 97, 163),
        ("setrlimit", 160, 164),
    ]),
    group(Allowed, "They can only give up rights: a command has no capabilities, and set-user-id programs give it none.", &[
        ("getuid", 102, 174), ("geteuid", 107, 175), ("getgid", 104, 176), ("getegid", 108, 177),
        ("getresuid", 118, 148), ("getresgid", 120, 150), ("getgroups", 115, 158), ("setuid", 105, 146),
        ("setgid", 106, 144), ("setreuid", 113, 145), ("setregid", 114, 143), ("setresuid", 117, 147),
        ("setresgid", 119, 149), ("setfsuid", 122, 151), ("setfsgid", 123, 152), ("setgroups", 116, 159),
        ("capget", 125, 90), ("capset", 126, 91), ("seccomp", 317, 277), ("landlock_create_ruleset", 444, 444),
        ("landlock_add_rule", 445, 445), ("landlock_restrict_self", 446, 446),
    ]),
    group(Allowed, "They send and receive signals. From Linux 6.12 on Landlock keeps them inside.", &[
        ("rt_sigaction", 13, 134), ("rt_sigprocmask", 14, 135), ("rt_sigpending", 127, 136),
        ("rt_sigtimedwait", 128, 137), ("rt_sigsuspend", 130, 133), ("rt_sigreturn", 15, 139),
        ("rt_sigqueueinfo", 129, 138), ("rt_tgsigqueueinfo", 297, 240), ("sigaltstack", 131, 132),
        ("tkill", 200, 130), ("tgkill", 234, 131), ("pidfd_send_signal", 424, 424), ("pause", 34, -1),
    ]),
    group(Allowed, "They tell and await the time.", &[
        ("clock_gettime", 228, 113), ("clock_getres", 229, 114), ("clock_nanosleep", 230, 115),
        ("nanosleep", 35, 101), ("gettimeofday", 96, 169), ("time", 201, -1), ("getitimer", 36, 102),
        ("setitimer", 38, 103), ("alarm", 37, -1), ("timer_create", 222, 107), ("timer_settime", 223, 110),
        ("timer_gettime", 224, 108), ("timer_getoverrun", 225, 109), ("timer_delete", 226, 111),
        ("timerfd_create", 283, 85), ("timerfd_settime", 286, 86), ("timerfd_gettime", 287, 87),
    ]),
    group(Allowed, "They wait for events and wake threads.", &[
        ("poll", 7, -1), ("ppoll", 271, 73), ("select", 23, -1), ("pselect6", 270, 72), ("epoll_create", 213, -1),
        ("epoll_create1", 291, 20), ("epoll_ctl", 233, 21), ("epoll_wait", 232, -1), ("epoll_pwait", 281, 22),
        ("epoll_pwait2", 441, 441), ("eventfd", 284, -1), ("eventfd2", 290, 19), ("signalfd", 282, -1),
        ("signalfd4", 289, 74), ("pipe", 22, -1), ("pipe2", 293, 59), ("futex", 202, 98), ("futex_waitv", 449, 449),
        ("futex_wake", 454, 454), ("futex_wait", 455, 455), ("futex_requeue", 456, 456),
    ]),
    group(Allowed, "They only ask how something is scheduled.", &[
        ("sched_getaffinity", 204, 123), ("sched_getparam", 143, 121), ("sched_getscheduler", 145, 120),
        ("sched_getattr", 315, 275), ("sched_get_priority_max", 146, 125), ("sched_get_priority_min", 147, 126),
        ("sched_rr_get_interval", 148, 127), ("getpriority", 140, 141), ("ioprio_get", 252, 31),
    ]),
    group(Allowed, "They work on sockets that are open already.", &[
        ("getsockname", 51, 204), ("getpeername", 52, 205), ("getsockopt", 55, 209), ("setsockopt", 54, 208),
        ("shutdown", 48, 210), ("recvfrom", 45, 207), ("recvmsg", 47, 212), ("recvmmsg", 299, 243),
    ]),
    group(Allowed, "It gives random bytes.", &[
        ("getrandom", 318, 278),
    ]),
    group(Checked(Itself(0)), "Only of the calling process itself (0): with another number they reach the server and the supervisor.", &[
        ("prlimit64", 302, 261), ("sched_setaffinity", 203, 122), ("sched_setparam", 142, 118),
        ("sched_setscheduler", 144, 119), ("sched_setattr", 314, 274),
    ]),
    group(Checked(Priority), "Only of the calling process or its group (0), never of a user.", &[
        ("setpriority", 141, 140),
    ]),
    group(Checked(IoPriority), "Only of the calling process (0).", &[
        ("ioprio_set", 251, 30),
    ]),
    group(Checked(NotEverybody), "Not to every process at once (-1).", &[
        ("kill", 62, 129),
    ]),
    group(Checked(NoNamespace), "Not into new namespaces, in which there would be rights again.", &[
        ("clone", 56, 220),
    ]),
    group(Checked(OpenMode), "No set-user-id or set-group-id bit on a new file.", &[
        ("open", 2, -1), ("openat", 257, 56),
    ]),
    group(Checked(Mode(1)), "No set-user-id or set-group-id bit: another account could run the file as this one.", &[
        ("creat", 85, -1), ("chmod", 90, -1), ("fchmod", 91, 52),
    ]),
    group(Checked(Mode(2)), "No set-user-id or set-group-id bit: another account could run the file as this one.", &[
        ("fchmodat", 268, 53), ("fchmodat2", 452, 452),
    ]),
    group(Checked(Node(1)), "No devices, no set-user-id or set-group-id bit.", &[
        ("mknod", 133, -1),
    ]),
    group(Checked(Node(2)), "No devices, no set-user-id or set-group-id bit.", &[
        ("mknodat", 259, 33),
    ]),
    group(Checked(Socket), "With network and in a rehearsal: TCP over IPv4 and IPv6. Otherwise none.", &[
        ("socket", 41, 198),
    ]),
    group(Checked(WithNetwork), "With network and in a rehearsal: to the port of the proxy, which is Landlock’s business. Otherwise none.", &[
        ("connect", 42, 203),
    ]),
    group(Checked(Pair), "Streams between processes of the command; a datagram pair could address sockets by path.", &[
        ("socketpair", 53, 199),
    ]),
    group(Checked(SendTo), "To no address: with one it is the network. No TCP fast open.", &[
        ("sendto", 44, 206),
    ]),
    group(Checked(NoFastOpen(2)), "No TCP fast open, which connects past Landlock.", &[
        ("sendmsg", 46, 211),
    ]),
    group(Checked(NoFastOpen(3)), "No TCP fast open, which connects past Landlock.", &[
        ("sendmmsg", 307, 269),
    ]),
    group(Checked(Ioctl), "Terminal settings, sizes, pending bytes, copies that share blocks; nothing else, so no typing into a terminal.", &[
        ("ioctl", 16, 29),
    ]),
    group(Checked(Fcntl), "Descriptors, flags, locks, pipe sizes and seals; no leases, no signals about files of others.", &[
        ("fcntl", 72, 25),
    ]),
    group(Checked(Prctl), "Names, signals, limits of the calling process itself.", &[
        ("prctl", 157, 167),
    ]),
    group(Checked(Personality), "To ask, the usual one, and fixed addresses.", &[
        ("personality", 135, 92),
    ]),
    group(Absent, "Their arguments lie behind a pointer, where a filter cannot look. Libraries know that they may be missing and use `clone` and `openat`.", &[
        ("clone3", 435, 435), ("openat2", 437, 437),
    ]),
    group(Refused, "Memory, files and threads of other processes.", &[
        ("ptrace", 101, 117), ("process_vm_readv", 310, 270), ("process_vm_writev", 311, 271),
        ("pidfd_getfd", 438, 438), ("kcmp", 312, 272), ("process_madvise", 440, 440), ("process_mrelease", 448, 448),
        ("migrate_pages", 256, 238), ("move_pages", 279, 239),
    ]),
    group(Refused, "Memory, semaphores and queues that are shared with everybody of the user and outlive the command.", &[
        ("shmget", 29, 194), ("shmat", 30, 196), ("shmctl", 31, 195), ("shmdt", 67, 197), ("semget", 64, 190),
        ("semop", 65, 193), ("semctl", 66, 191), ("semtimedop", 220, 192), ("msgget", 68, 186), ("msgsnd", 69, 189),
        ("msgrcv", 70, 188), ("msgctl", 71, 187), ("mq_open", 240, 180), ("mq_unlink", 241, 181),
        ("mq_timedsend", 242, 182), ("mq_timedreceive", 243, 183), ("mq_notify", 244, 184),
        ("mq_getsetattr", 245, 185),
    ]),
    group(Refused, "They tell of changes in folders that are closed to the command.", &[
        ("inotify_init", 253, -1), ("inotify_init1", 294, 26), ("inotify_add_watch", 254, 27),
        ("inotify_rm_watch", 255, 28), ("fanotify_init", 300, 262), ("fanotify_mark", 301, 263),
    ]),
    group(Refused, "They make system calls past this filter, or use up a number that all processes share.", &[
        ("io_uring_setup", 425, 425), ("io_uring_enter", 426, 426), ("io_uring_register", 427, 427),
        ("io_setup", 206, 0), ("io_destroy", 207, 1), ("io_submit", 209, 2), ("io_cancel", 210, 3),
        ("io_getevents", 208, 4), ("io_pgetevents", 333, 292),
    ]),
    group(Refused, "Nobody may come to a command.", &[
        ("bind", 49, 200), ("listen", 50, 201), ("accept", 43, 202), ("accept4", 288, 242),
    ]),
    group(Refused, "Mounts, namespaces, and files by handle.", &[
        ("mount", 165, 40), ("umount2", 166, 39), ("pivot_root", 155, 41), ("chroot", 161, 51), ("setns", 308, 268),
        ("unshare", 272, 97), ("fsopen", 430, 430), ("fsconfig", 431, 431), ("fsmount", 432, 432),
        ("fspick", 433, 433), ("open_tree", 428, 428), ("open_tree_attr", 467, 467), ("move_mount", 429, 429),
        ("mount_setattr", 442, 442), ("statmount", 457, 457), ("listmount", 458, 458),
        ("name_to_handle_at", 303, 264), ("open_by_handle_at", 304, 265),
    ]),
    group(Refused, "The kernel and its modules, keys, traces and security settings.", &[
        ("bpf", 321, 280), ("perf_event_open", 298, 241), ("userfaultfd", 323, 282), ("keyctl", 250, 219),
        ("add_key", 248, 217), ("request_key", 249, 218), ("init_module", 175, 105), ("finit_module", 313, 273),
        ("delete_module", 176, 106), ("create_module", 174, -1), ("get_kernel_syms", 177, -1),
        ("query_module", 178, -1), ("kexec_load", 246, 104), ("kexec_file_load", 320, 294),
        ("lsm_get_self_attr", 459, 459), ("lsm_set_self_attr", 460, 460), ("lsm_list_modules", 461, 461),
        ("syslog", 103, 116), ("lookup_dcookie", 212, 18), ("memfd_secret", 447, 447), ("cachestat", 451, 451),
        ("file_setattr", 469, 469),
    ]),
    group(Refused, "The whole machine: power, swap, quotas, accounting, terminals, names, clocks, ports.", &[
        ("reboot", 169, 142), ("swapon", 167, 224), ("swapoff", 168, 225), ("quotactl", 179, 60),
        ("quotactl_fd", 443, 443), ("acct", 163, 89), ("vhangup", 153, 58), ("sync", 162, 81),
        ("sethostname", 170, 161), ("setdomainname", 171, 162), ("settimeofday", 164, 170),
        ("clock_settime", 227, 112), ("adjtimex", 159, 171), ("clock_adjtime", 305, 266), ("iopl", 172, -1),
        ("ioperm", 173, -1),
    ]),
    group(Refused, "Obsolete or never built in; no program of today needs them.", &[
        ("uselib", 134, -1), ("ustat", 136, -1), ("sysfs", 139, -1), ("modify_ldt", 154, -1), ("_sysctl", 156, -1),
        ("getpmsg", 181, -1), ("putpmsg", 182, -1), ("afs_syscall", 183, -1), ("tuxcall", 184, -1),
        ("security", 185, -1), ("set_thread_area", 205, -1), ("get_thread_area", 211, -1),
        ("epoll_ctl_old", 214, -1), ("epoll_wait_old", 215, -1), ("vserver", 236, -1), ("nfsservctl", 180, 42),
        ("remap_file_pages", 216, 234), ("uretprobe", 335, -1), ("uprobe", 336, -1),
    ]),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn numbers(of: impl Fn(&Syscall) -> i16) -> BTreeSet<i16> {
        let all: Vec<i16> = GROUPS.iter().flat_map(|group| group.calls).map(of).filter(|number| *number >= 0).collect();
        let set: BTreeSet<i16> = all.iter().copied().collect();
        assert_eq!(set.len(), all.len(), "a number stands twice");
        set
    }

    #[test]
    fn table_covers_both_architectures() {
        let expected: BTreeSet<i16> = (0..=336).chain(424..=NEWEST).collect();
        assert_eq!(numbers(|call| call.1), expected);
        // 244 to 259 are reserved for calls of other architectures; 403 to 423 are the 64-bit time calls of 32-bit machines.
        let expected: BTreeSet<i16> =
            (0..=294).filter(|number| !(244..=259).contains(number)).chain([260]).chain(424..=NEWEST).collect();
        assert_eq!(numbers(|call| call.2), expected);
    }

    #[test]
    fn numbers_match_kernel_headers() {
        for (known, wanted) in [
            (libc::SYS_read, "read"),
            (libc::SYS_prlimit64, "prlimit64"),
            (libc::SYS_clone3, "clone3"),
            (libc::SYS_fcntl, "fcntl"),
            (libc::SYS_socketpair, "socketpair"),
            (libc::SYS_shmget, "shmget"),
            (libc::SYS_mseal, "mseal"),
            (libc::SYS_landlock_restrict_self, "landlock_restrict_self"),
        ] {
            assert_eq!(name(known), Some(wanted));
        }
        assert_eq!(name(i64::from(NEWEST) + 1), None);
    }

    #[test]
    fn document_lists_every_call_with_verdict() {
        let document = include_str!("../../../docs/sandbox.md");
        let table = as_markdown();
        if !document.contains(&table) {
            panic!("docs/sandbox.md should hold this table:\n{table}");
        }
    }

    /// The table of docs/sandbox.md.
    fn as_markdown() -> String {
        let mut text = "| verdict | why | system calls |\n|---|---|---|\n".to_owned();
        for group in GROUPS {
            let verdict = match group.verdict {
                FilterAction::Allowed => "allowed",
                FilterAction::Checked(_) => "argument-checked",
                FilterAction::Refused => "refused",
                FilterAction::Absent => "absent",
            };
            let calls = group.calls.iter().map(|(name, x86_64, aarch64)| match (x86_64, aarch64) {
                (_, -1) => format!("{name}ˣ"),
                (-1, _) => format!("{name}ᵃ"),
                _ => (*name).to_owned(),
            });
            let calls: Vec<String> = calls.collect();
            text.push_str(&format!("| {verdict} | {} | {} |\n", group.why, calls.join(" ")));
        }
        text
    }
}
