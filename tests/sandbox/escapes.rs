//! Thirty-one attempts to escape or to look outside. The required outcome of each command is known: three must work, the
//! others must fail in the sandbox. To prove that the attempts are real, most of them succeed without it.

use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::{Child, Command, Stdio};

use miniclaw::sandbox::{Exit, Level};

use crate::kit::{Home, HomeAccess, confined_levels, home, is_root, skipped};

#[derive(Clone, Copy, PartialEq, Debug)]
enum Must {
    Work,
    Fail,
}

use Must::{Fail, Work};

/// Name of the probe, required outcome, and the command, which exits with 0 if it achieves its aim.
const PROBES: [(&str, Must, &str); 31] = [
    ("write in its own folder", Work, "echo hi > f && grep -q hi f"),
    ("run Python", Work, "python3 -c 'print(1 + 1)'"),
    ("write to /dev/null", Work, "echo x > /dev/null"),
    ("write beside its folder", Fail, "echo x > $HOME_ROOT/new.txt"),
    ("write into /etc", Fail, "f=/etc/probe.$$; touch $f && rm $f"),
    ("write into root's home", Fail, "f=/root/.probe.$$; touch $f && rm $f"),
    ("read the password hashes", Fail, "head -c1 /etc/shadow | grep -q ."),
    ("list root's home", Fail, "ls -A /root/ | grep -q ."),
    ("read a key of the agent", Fail, "grep -q SECRET $HOME_ROOT/secret.key"),
    ("write through a symlink", Fail, "ln -sfn $HOME_ROOT w && echo x > w/new.txt"),
    ("read through a symlink", Fail, "ln -sfn $HOME_ROOT/secret.key r && grep -q SECRET r"),
    ("read through a hard link", Fail, "ln -f $HOME_ROOT/secret.key h && grep -q SECRET h"),
    ("see the environment of the server", Fail, "grep -qz CANARY /proc/$VICTIM/environ"),
    ("see the environment of the first process", Fail, "head -c1 /proc/1/environ | grep -q ."),
    ("find a key in its own environment", Fail, "env | grep -q CANARY"),
    ("connect by TCP to this machine", Fail, "exec 3<>/dev/tcp/127.0.0.1/$TCP"),
    (
        "send a datagram",
        Fail,
        "python3 -c 'import socket,os; socket.socket(2,2).sendto(b\"x\", (\"127.0.0.1\", int(os.environ[\"UDP\"])))'",
    ),
    ("open a raw socket", Fail, "python3 -c 'import socket; socket.socket(2,3,1)'"),
    ("ask the kernel by netlink", Fail, "python3 -c 'import socket; socket.socket(16,3,0)'"),
    (
        "connect to a unix socket by path",
        Fail,
        "python3 -c 'import socket,os; socket.socket(1).connect(os.environ[\"HOME_ROOT\"]+\"/s.sock\")'",
    ),
    (
        "connect to an abstract socket",
        Fail,
        "python3 -c 'import socket,os; socket.socket(1).connect(\"\\0\"+os.environ[\"ABSTRACT\"])'",
    ),
    ("signal a process outside", Fail, "kill -0 $VICTIM"),
    (
        "trace a process outside",
        Fail,
        "python3 -c 'import ctypes,os,sys; n=ctypes.c_void_p(0)\nsys.exit(ctypes.CDLL(None).ptrace(0x4206, \
         int(os.environ[\"VICTIM\"]), n, n) != 0)'",
    ),
    ("make a user namespace", Fail, "unshare -Ur true"),
    ("mount", Fail, "mkdir -p m && mount -t tmpfs none m && umount m"),
    ("become root", Fail, "python3 -c 'import os; os.setuid(0); open(\"/etc/shadow\").read(1)'"),
    ("make a device", Fail, "rm -f d; mknod d c 1 3 && head -c1 d; test -c d"),
    ("read the disk", Fail, "head -c1 $DISK | grep -qaz ''"),
    ("truncate a file outside", Fail, "truncate -s0 $HOME_ROOT/victim.txt"),
    (
        "type into a terminal",
        Fail,
        "python3 -c 'import os,fcntl,termios; m,s=os.openpty(); os.getsid(0)==os.getpid() or os.setsid()\n\
         fcntl.ioctl(s,termios.TIOCSCTTY,0); fcntl.ioctl(s,termios.TIOCSTI,b\"x\")'",
    ),
    (
        "gain rights by a set-user-id program",
        Fail,
        "python3 -c 'import ctypes,sys; sys.exit(ctypes.CDLL(None).prctl(39,0,0,0,0))'",
    ),
];

/// More probes, for what the thirty-one do not cover.
const FURTHER: [(&str, Must, &str); 12] = [
    ("list the home", Fail, "ls $HOME_ROOT/ | grep -q ."),
    ("overwrite the home", Fail, "echo x > $HOME_ROOT/victim.txt"),
    ("truncate by path", Fail, "python3 -c 'import os; os.truncate(os.environ[\"HOME_ROOT\"]+\"/victim.txt\",0)'"),
    ("rename its own folder", Fail, "mv $HOME_ROOT/scratch $HOME_ROOT/other"),
    ("write what it may only read", Fail, "echo x > $HOME_ROOT/skills/x"),
    ("write to /tmp", Fail, "mktemp --tmpdir=/tmp miniclaw.XXXXXX"),
    ("see other processes", Fail, "ls -d /proc/[0-9]*"),
    ("bind a unix socket", Fail, "python3 -c 'import socket; socket.socket(1).bind(\"s\")'"),
    ("make a pair of datagram sockets", Fail, "python3 -c 'import socket; socket.socketpair(1,2)'"),
    ("listen", Fail, "python3 -c 'import socket; s=socket.socket(); s.bind((\"127.0.0.1\",0)); s.listen()'"),
    ("use io_uring", Fail, "python3 -c 'import ctypes,sys; sys.exit(ctypes.CDLL(None).syscall(425,8,bytes(120))<0)'"),
    ("read the kernel's log", Fail, "python3 -c 'import ctypes,sys; sys.exit(ctypes.CDLL(None).klogctl(10,0,0)<0)'"),
];

/// Targets outside the sandbox.
struct Outside {
    tcp: TcpListener,
    udp: UdpSocket,
    _path: UnixListener,
    _abstract: UnixListener,
    victim: Child,
    env: Vec<(String, String)>,
}

impl Outside {
    fn beside(home: &Home) -> Self {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        tcp.set_nonblocking(true).unwrap();
        udp.set_nonblocking(true).unwrap();
        let path = home.path("s.sock");
        let by_path = UnixListener::bind(&path).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap();
        let name = format!("miniclaw-{}", tcp.local_addr().unwrap().port());
        let by_name = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let mut victim = Command::new("sleep");
        victim.arg("1000").env("CANARY_API_KEY", "canary-8471").stdin(Stdio::null());
        let victim = victim.spawn().unwrap();
        let disks = std::fs::read_dir("/sys/class/block").into_iter().flatten().flatten();
        let disk = disks.map(|disk| format!("/dev/{}", disk.file_name().display())).find(|disk| {
            let empty = std::fs::read_to_string(disk.replace("/dev/", "/sys/class/block/") + "/size");
            std::path::Path::new(disk).exists() && empty.is_ok_and(|size| size.trim() != "0")
        });
        let env = [
            ("TCP", tcp.local_addr().unwrap().port().to_string()),
            ("UDP", udp.local_addr().unwrap().port().to_string()),
            ("ABSTRACT", name),
            ("VICTIM", victim.id().to_string()),
            ("DISK", disk.unwrap_or_else(|| "/dev/no-disk".to_owned())),
        ];
        let env = env.map(|(name, value)| (name.to_owned(), value)).into();
        Self { tcp, udp, _path: by_path, _abstract: by_name, victim, env }
    }

    /// Returns whether any client connected or sent a packet.
    fn was_reached(&self) -> bool {
        self.tcp.accept().is_ok() || self.udp.recv_from(&mut [0; 8]).is_ok()
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

/// Returns the names of the probes whose outcome is wrong.
async fn wrong(home: &Home, outside: &Outside, probes: &[(&'static str, Must, &str)]) -> Vec<&'static str> {
    let mut wrong = Vec::new();
    for (name, must, script) in probes {
        // Without confinement one of the probes moves the folder away.
        std::fs::create_dir_all(home.path("scratch")).unwrap();
        let mut job = home.job(&["/bin/bash", "-c", script]);
        job.env.extend(outside.env.iter().cloned());
        let done = home.run(job).await;
        let worked = if done.exit == Exit::Code(0) { Work } else { Fail };
        if worked != *must {
            wrong.push(*name);
        }
    }
    wrong
}

/// Runs all probes at this level as the current user.
pub async fn all_hold(level: Level, access: HomeAccess) {
    let home = home(level, access);
    let outside = Outside::beside(&home);
    let who = format!("{level:?} {access:?}");
    assert_eq!(wrong(&home, &outside, &PROBES).await, Vec::<&str>::new(), "{who}");
    assert_eq!(wrong(&home, &outside, &FURTHER).await, Vec::<&str>::new(), "{who}");
    assert_eq!(std::fs::read_to_string(home.path("victim.txt")).unwrap(), "untouched");
    assert!(!home.path("new.txt").exists() && !home.path("other").exists() && !home.path("skills/x").exists());
    assert!(!outside.was_reached(), "{who}: somebody reached the listeners");
}

/// Checks that without confinement at least `many` of the probes escape.
pub async fn most_escapes_succeed_unconfined(many: usize) {
    let home = home(Level::Off, HomeAccess::Open);
    let outside = Outside::beside(&home);
    let out = wrong(&home, &outside, &PROBES).await;
    assert!(out.len() >= many, "only {} of the probes do anything: {out:?}", out.len());
    assert!(out.contains(&"connect by TCP to this machine") && out.contains(&"read a key of the agent"), "{out:?}");
    assert!(outside.was_reached());
    assert!(wrong(&home, &outside, &FURTHER).await.len() >= 8);
}

#[tokio::test]
async fn all_31_attempts_are_contained_at_every_level() {
    for level in confined_levels() {
        for access in [HomeAccess::Open, HomeAccess::Private] {
            all_hold(level, access).await;
        }
    }
}

#[tokio::test]
async fn at_least_20_escape_without_the_sandbox() {
    if !is_root() {
        skipped("20 of 31 escapes without a sandbox", "an ordinary user may do less; 8 are demanded instead");
    }
    most_escapes_succeed_unconfined(if is_root() { 20 } else { 8 }).await;
}
