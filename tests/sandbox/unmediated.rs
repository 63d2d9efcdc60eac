//! System calls that Landlock does not mediate: limits and priorities of other processes, leases and watches on
//! files, globally shared memory, set-user-id bits, modes of files outside. Each attack is a Python program that
//! exits with 0 if it achieves its aim; without confinement nearly all of them do.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Child, Command, Stdio};

use miniclaw::sandbox::{Exit, Level};

use crate::kit::{Home, HomeAccess, confined_levels, has, home, is_root, marker, processes_with, until};

/// Start of every attack program: the C library, a process outside, and a function that fails on errors.
const BEGIN: &str = "import ctypes, fcntl, os, resource, sys\n\
    c = ctypes.CDLL(None, use_errno=True)\n\
    home, victim, parent = os.environ['HOME_ROOT'], int(os.environ.get('VICTIM', 0)), os.getppid()\n\
    readable = home + '/skills/SKILL.md'\n\
    def got(result):\n    if result < 0: sys.exit(os.strerror(ctypes.get_errno()))\n    return result\n";

const ATTACKS: [(&str, &str); 35] = [
    ("limit the file size of a process outside", "resource.prlimit(victim, resource.RLIMIT_FSIZE, (0, 0))"),
    ("read the limits of a process outside", "resource.prlimit(victim, resource.RLIMIT_NOFILE)"),
    ("slow a process outside down", "os.setpriority(os.PRIO_PROCESS, victim, 19)"),
    ("slow every process of the user down", "os.setpriority(os.PRIO_USER, 0, 19)"),
    ("bind a process outside to one processor", "os.sched_setaffinity(victim, {0})"),
    ("give a process outside idle time only", "os.sched_setscheduler(victim, os.SCHED_IDLE, os.sched_param(0))"),
    ("give a process outside another schedule", "os.sched_setparam(victim, os.sched_param(0))"),
    ("give a process outside attributes", "a = (ctypes.c_uint32 * 14)(56, 5); got(c.syscall(314, victim, a, 0))"),
    ("slow the disk of a process outside down", "got(c.syscall(251, 1, victim, 3 << 13))"),
    ("slow the disk of the user down", "got(c.syscall(251, 3, os.getuid(), 3 << 13))"),
    ("put a lease on a file it may read", "fcntl.fcntl(os.open(readable, 0), fcntl.F_SETLEASE, fcntl.F_RDLCK)"),
    ("be told of changes in a folder", "fcntl.fcntl(os.open(home + '/skills', 0), fcntl.F_NOTIFY, fcntl.DN_CREATE)"),
    ("have signals sent about a file", "fcntl.fcntl(os.open(readable, 0), fcntl.F_SETSIG, 10)"),
    ("watch a closed folder", "got(c.inotify_add_watch(got(c.inotify_init1(0)), home.encode(), 0x100))"),
    ("watch a file system", "got(c.fanotify_init(0x200, 0))"),
    ("read another's shared memory", "got(c.shmget(int(os.environ['SEGMENT']), 16, 0))"),
    ("remove another's shared memory", "got(c.shmctl(int(os.environ['SEGMENT_ID']), 0, None))"),
    ("make shared memory that stays", "i = got(c.shmget(0, 4096, 0o1600)); c.shmctl(i, 0, None)"),
    ("make semaphores that stay", "i = got(c.semget(0, 1, 0o1600)); c.semctl(i, 0, 0)"),
    ("make a queue that stays", "i = got(c.msgget(0, 0o1600)); c.msgctl(i, 0, None)"),
    (
        "make a POSIX queue",
        "import ctypes.util\nn = b'/q%d' % os.getpid()\nq = c.syscall(240, n[1:], 0o102, 0o600, None)\ngot(q)\nc.syscall(241, n[1:])",
    ),
    ("read what others keep in shared memory", "open('/dev/shm/' + os.environ['KEPT']).read()"),
    ("remove what others keep in shared memory", "os.unlink('/dev/shm/' + os.environ['KEPT'])"),
    ("make a set-user-id program", "open('s', 'w').close(); os.chmod('s', 0o4755)"),
    ("make a set-group-id program", "open('g', 'w').close(); os.fchmod(os.open('g', 0), 0o2755)"),
    (
        "open a new set-user-id file",
        "os.close(os.open('o', os.O_CREAT | os.O_WRONLY, 0o4755)); sys.exit(not os.stat('o').st_mode & 0o4000)",
    ),
    ("make a set-user-id file as a node", "os.mknod('n', 0o104755); sys.exit(not os.stat('n').st_mode & 0o4000)"),
    ("change a mode outside", "os.chmod(home + '/victim.txt', 0o666)"),
    ("change times outside", "os.utime(home + '/victim.txt', (1, 1))"),
    ("change an attribute outside", "os.setxattr(home + '/victim.txt', 'user.x', b'y')"),
    ("set up an io_uring", "got(c.syscall(425, 4, (ctypes.c_uint32 * 30)()))"),
    ("set up asynchronous input and output", "got(c.syscall(206, 8, ctypes.byref(ctypes.c_uint64(0))))"),
    ("lock memory in secret", "got(c.syscall(447, 0))"),
    ("call by numbers of another table", "got(c.syscall(0x40000000 + 39))"),
    (
        "ask for the handle of a file",
        "got(c.syscall(303, -100, readable.encode(), (ctypes.c_uint32 * 40)(128), ctypes.byref(ctypes.c_int()), 0))",
    ),
];

/// Resources outside the home that must stay unchanged.
struct Outside {
    victim: Child,
    segment: i32,
    kept: String,
}

impl Outside {
    fn new() -> Self {
        let victim = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
        let key = victim.id() as i32;
        // SAFETY: takes only numbers; the segment is removed when `Outside` is dropped.
        let segment = unsafe { libc::shmget(key, 16, libc::IPC_CREAT | 0o666) };
        assert!(segment >= 0);
        let kept = format!("kept-{}", victim.id());
        std::fs::write(format!("/dev/shm/{kept}"), "kept").unwrap();
        std::fs::set_permissions(format!("/dev/shm/{kept}"), std::fs::Permissions::from_mode(0o666)).unwrap();
        Self { victim, segment, kept }
    }

    fn env(&self) -> Vec<(String, String)> {
        let id = self.victim.id().to_string();
        let all = [
            ("VICTIM", id.clone()),
            ("SEGMENT", id),
            ("SEGMENT_ID", self.segment.to_string()),
            ("KEPT", self.kept.clone()),
        ];
        all.map(|(name, value)| (name.to_owned(), value)).into()
    }

    fn is_whole(&self) -> bool {
        let mut status: libc::shmid_ds = unsafe { std::mem::zeroed() };
        // SAFETY: the struct outlives the call.
        let segment = unsafe { libc::shmctl(self.segment, libc::IPC_STAT, &raw mut status) };
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", self.victim.id())).unwrap();
        let unlimited = limits.lines().any(|line| line.starts_with("Max file size") && line.contains("unlimited"));
        segment == 0 && unlimited && std::fs::read_to_string(format!("/dev/shm/{}", self.kept)).is_ok()
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        let _ = std::fs::remove_file(format!("/dev/shm/{}", self.kept));
        // SAFETY: takes only numbers; the segment belongs to this test.
        unsafe { libc::shmctl(self.segment, libc::IPC_RMID, std::ptr::null_mut()) };
    }
}

/// Returns the names of the attacks that achieved their aim.
async fn successful(home: &Home) -> Vec<&'static str> {
    let mut successful = Vec::new();
    for (name, attack) in ATTACKS {
        // Some attacks destroy what the next one needs.
        let outside = Outside::new();
        let mut job = home.job(&["/usr/bin/python3", "-c", &format!("{BEGIN}{attack}")]);
        job.env.extend(outside.env());
        let done = home.run(job).await;
        if done.exit == Exit::Code(0) {
            successful.push(name);
        } else if home.sandbox.level() != Level::Off {
            assert!(outside.is_whole(), "{name}");
        }
    }
    successful
}

/// Checks that every attack fails at this level as the current user.
pub async fn none_succeeds(level: Level, access: HomeAccess) {
    let home = home(level, access);
    let before = outside_of(&home);
    assert_eq!(successful(&home).await, Vec::<&str>::new(), "{level:?} {access:?}");
    // The folder that bubblewrap mounts in place of the parent may change; the real folder must not.
    home.bash("chmod 777 ..; touch -d 2001-01-01 ..").await;
    assert_eq!(outside_of(&home), before, "{level:?} {access:?}");
    for entry in std::fs::read_dir(home.path("scratch")).unwrap().flatten() {
        assert_eq!(entry.metadata().unwrap().mode() & 0o6000, 0, "{:?}", entry.path());
    }
    private_memory(&home).await;
    supervisor_stays_free(&home).await;
    refused_calls_are_named(&home).await;
}

/// Returns modes and modification times of what lies beside the working directory.
fn outside_of(home: &Home) -> [(u32, i64); 2] {
    ["victim.txt", "."].map(|name| std::fs::metadata(home.path(name)).unwrap()).map(|meta| (meta.mode(), meta.mtime()))
}

/// Shared memory is available to the processes of one command, and ends with it.
async fn private_memory(home: &Home) {
    let mark = marker();
    let script = format!(
        "import multiprocessing.shared_memory as m\ns = m.SharedMemory('{mark}', True, 1 << 20)\ns.buf[0] = 7\n\
         again = m.SharedMemory('{mark}')\nprint(again.buf[0], flush=True)\nimport os; os._exit(0)"
    );
    let done = home.run(home.job(&["/usr/bin/python3", "-c", &script])).await;
    assert_eq!(done.stdout.text(), "7\n", "{}", done.stderr.text());
    assert!(!std::path::Path::new("/dev/shm").join(&mark).exists());
}

/// A supervisor that cannot open files could not find the processes that it has to end.
async fn supervisor_stays_free(home: &Home) {
    let mark = marker();
    let script = format!(
        "{BEGIN}for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE):\n    try: resource.prlimit(parent, limit, (0, 0))\n    \
         except OSError: pass\nif os.fork() == 0:\n    os.setsid()\n    os.execvp('sleep', ['sleep', '{mark}'])\n"
    );
    let done = home.run(home.job(&["/usr/bin/python3", "-c", &script])).await;
    assert_eq!(done.exit, Exit::Code(0), "{}", done.stderr.text());
    until("nothing outlived the call", || processes_with(&mark) == 0).await;
}

/// Refused calls are reported by name; calls newer than the list fail as missing, so that programs use fallbacks.
async fn refused_calls_are_named(home: &Home) {
    let script = format!(
        "{BEGIN}c.inotify_init1(0); c.inotify_init1(0); c.shmget(0, 1, 0o1600)\nprint(c.syscall(999), ctypes.get_errno())\n\
         print(c.syscall(435, None, 0), ctypes.get_errno())"
    );
    let done = home.run(home.job(&["/usr/bin/python3", "-c", &script])).await;
    assert_eq!(done.stdout.text(), format!("-1 {0}\n-1 {0}\n", libc::ENOSYS), "{}", done.stderr.text());
    assert_eq!(done.refused, ["inotify_init1", "shmget"]);
}

#[tokio::test]
async fn unmediated_calls_are_refused() {
    for level in confined_levels() {
        for access in [HomeAccess::Open, HomeAccess::Private] {
            none_succeeds(level, access).await;
        }
    }
}

#[tokio::test]
async fn most_attacks_succeed_without_sandbox() {
    let successful = successful(&home(Level::Off, HomeAccess::Open)).await;
    // Some systems lack x32, asynchronous I/O, or attributes on temporary files.
    assert!(successful.len() >= ATTACKS.len() - 6, "{} of {}: {successful:?}", successful.len(), ATTACKS.len());
}

#[tokio::test]
async fn only_listed_files_of_etc_are_readable() {
    for level in confined_levels() {
        for access in [HomeAccess::Open, HomeAccess::Private] {
            let home = home(level, access);
            let closed = "for f in shadow environment machine-id crontab fstab apt sudoers; do cat /etc/$f; done 2>/dev/null; ls /etc/apt 2>/dev/null";
            assert_eq!(home.bash(closed).await.stdout.text(), "", "{level:?} {access:?}");
            let open = home.bash("cat /etc/passwd /etc/nsswitch.conf >/dev/null && echo open").await;
            assert_eq!(open.stdout.text(), "open\n", "{level:?} {access:?}: {}", open.stderr.text());
        }
    }
    assert!(std::path::Path::new("/etc/fstab").exists() || std::path::Path::new("/etc/machine-id").exists());
}

/// As root in a closed folder and without the right to mount, the server refuses and reports the remedy.
#[tokio::test]
async fn root_without_usable_user_refuses() {
    if !is_root() || !has("setpriv") {
        crate::kit::skipped("root without CAP_SYS_ADMIN", "needs root and setpriv");
        return;
    }
    let home = home(Level::Standard, HomeAccess::Private);
    let wrapper = home.path("supervisor");
    let program = crate::kit::program();
    let script = format!("#!/bin/sh\nexec /usr/bin/setpriv --bounding-set -sys_admin {} \"$@\"\n", program.display());
    std::fs::write(&wrapper, script).unwrap();
    std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).unwrap();
    let config = miniclaw::sandbox::SandboxConfig { supervisor_exe: wrapper, level: Level::Standard };
    let sandbox = miniclaw::sandbox::Sandbox::new(config);
    let job = home.job(&["/bin/bash", "-c", "touch ran"]);
    let refused = sandbox.run(job, tokio_util::sync::CancellationToken::new()).await.unwrap_err().to_string();
    assert!(refused.contains("as an ordinary user") && refused.contains("CAP_SYS_ADMIN"), "{refused}");
    assert!(!home.path("scratch/ran").exists());
    // In an open folder the job runs, but without shared memory.
    let open = crate::kit::home(Level::Standard, HomeAccess::Open);
    let done =
        sandbox.run(open.job(&["/bin/bash", "-c", "id -u; ls /dev/shm"]), tokio_util::sync::CancellationToken::new());
    let done = done.await.unwrap();
    assert_eq!(done.stdout.text(), "65534\n");
    assert!(done.stderr.text().contains("Permission denied"), "{}", done.stderr.text());
}
