//! The sandbox on the real system: what a job may not do, that nothing of it stays, and that everyday work still works.
//! Every refusal has its negative control: the same command with the sandbox off.

use std::net::TcpListener;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use miniclaw::sandbox::{Exit, Finished, Job, Level, Line, Sandbox, SandboxConfig, SandboxError};
use tokio_util::sync::CancellationToken;

/// How a job can be kept in.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Place {
    /// A folder others may pass through: as root, the job becomes user 65534.
    Open,
    /// A folder below a private one: the job stays the server's user.
    Private,
}

struct Home {
    root: tempfile::TempDir,
    sandbox: Sandbox,
}

fn home(level: Level, place: Place) -> Home {
    let root = tempfile::tempdir().unwrap();
    let mode = match place {
        Place::Open => 0o755,
        Place::Private => 0o700,
    };
    std::fs::set_permissions(root.path(), std::fs::Permissions::from_mode(mode)).unwrap();
    std::fs::create_dir(root.path().join("scratch")).unwrap();
    std::fs::create_dir(root.path().join("skills")).unwrap();
    std::fs::write(root.path().join("secret.key"), "SECRET").unwrap();
    std::fs::write(root.path().join("victim.txt"), "untouched").unwrap();
    let supervisor_exe = PathBuf::from(env!("CARGO_BIN_EXE_miniclaw"));
    Home { root, sandbox: Sandbox::new(SandboxConfig { supervisor_exe, level }) }
}

impl Home {
    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn job(&self, argv: &[&str]) -> Job {
        Job {
            argv: argv.iter().map(|word| word.to_string()).collect(),
            cwd: self.path("scratch"),
            readable: vec![self.path("skills")],
            env: vec![("HOME_ROOT".to_owned(), self.root.path().display().to_string())],
            wall: Duration::from_secs(60),
            output_cap: 20_000,
            network: false,
        }
    }

    async fn bash(&self, script: &str) -> Finished {
        self.sandbox.run(self.job(&["/bin/bash", "-c", script]), CancellationToken::new()).await.unwrap()
    }

    async fn bash_within(&self, script: &str, wall: Duration) -> Finished {
        let job = Job { wall, ..self.job(&["/bin/bash", "-c", script]) };
        self.sandbox.run(job, CancellationToken::new()).await.unwrap()
    }
}

fn open() -> Home {
    home(Level::Standard, Place::Open)
}

/// Processes whose command line or environment holds `marker`, zombies left out.
fn processes_with(marker: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.parse::<i32>().is_ok()))
        .filter(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(marker)
        })
        .count()
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(20), "never happened: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A number of seconds for `sleep` no other process uses.
fn marker() -> String {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let next = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    format!("{}.{:05}{next:03}", 1000, std::process::id())
}

#[tokio::test]
async fn a_command_runs_and_says_how_it_ended() {
    let home = open();
    let done = home.bash("echo out; echo err >&2; exit 7").await;
    assert_eq!((done.exit, done.stdout.text(), done.stderr.text()), (Exit::Code(7), "out\n".into(), "err\n".into()));
    assert_eq!(home.bash("kill -11 $$").await.exit, Exit::Signal(11));
    let missing = home.sandbox.run(home.job(&["no-such-program"]), CancellationToken::new()).await;
    assert!(matches!(missing, Err(SandboxError::Program { .. })), "{missing:?}");
    let nothing = home.sandbox.run(home.job(&[]), CancellationToken::new()).await;
    assert!(matches!(nothing, Err(SandboxError::Program { .. })), "{nothing:?}");
}

#[tokio::test]
async fn nothing_a_job_started_outlives_it() {
    for place in [Place::Open, Place::Private] {
        let home = home(Level::Standard, place);
        for script in [
            "sleep MARK & echo started",
            "setsid nohup sleep MARK >/dev/null 2>&1 & echo started",
            "setsid sleep MARK & disown; echo started",
            "( ( sleep MARK & ) & ); echo started",
            "python3 -c 'import os,time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\nos.execvp(\"sleep\",[\"sleep\",\"MARK\"])'; echo started",
        ] {
            let mark = marker();
            let done = home.bash(&script.replace("MARK", &mark)).await;
            assert_eq!(done.stdout.text(), "started\n", "{script}: {:?}", done.stderr.text());
            assert_eq!(processes_with(&mark), 0, "{place:?} {script}");
            assert!(done.took < Duration::from_secs(20), "{script} took {:?}", done.took);
        }
    }
}

#[tokio::test]
async fn a_job_that_ignores_term_is_killed_at_its_limit_and_keeps_what_it_wrote() {
    let home = open();
    let mark = marker();
    let script = "trap '' TERM INT HUP; echo before; setsid sleep MARK & sleep MARK".replace("MARK", &mark);
    let done = home.bash_within(&script, Duration::from_secs(1)).await;
    assert_eq!((done.exit, done.stdout.text()), (Exit::TimedOut, "before\n".into()));
    assert_eq!(processes_with(&mark), 0);
    assert!(done.took < Duration::from_secs(8), "{:?}", done.took);
}

#[tokio::test]
async fn cancelling_and_dropping_both_kill_the_whole_tree() {
    let home = open();
    let mark = marker();
    let script = format!("setsid sleep {mark} & sleep {mark}");
    let cancel = CancellationToken::new();
    let running = home.sandbox.run(home.job(&["/bin/bash", "-c", &script]), cancel.clone());
    let stop = async {
        until("both sleepers run", || processes_with(&format!("sleep\0{mark}")) == 2).await;
        cancel.cancel();
    };
    let (done, ()) = tokio::join!(running, stop);
    assert_eq!(done.unwrap().exit, Exit::Cancelled);
    assert_eq!(processes_with(&mark), 0);

    let mark = marker();
    let job = home.job(&["/bin/bash", "-c", &format!("setsid sleep {mark} & sleep {mark}")]);
    tokio::select! {
        _ = home.sandbox.run(job, CancellationToken::new()) => panic!("it cannot end"),
        () = until("both sleepers run", || processes_with(&format!("sleep\0{mark}")) == 2) => {}
    }
    until("dropping the future killed them", || processes_with(&mark) == 0).await;
}

#[tokio::test]
async fn a_killed_supervisor_takes_its_job_with_it() {
    let home = open();
    let mark = marker();
    let running = home.sandbox.run(home.job(&["sleep", &mark]), CancellationToken::new());
    let kill = async {
        let sleeper = || {
            let all = std::fs::read_dir("/proc").unwrap().flatten();
            all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()).find(|pid| {
                std::fs::read(format!("/proc/{pid}/cmdline"))
                    .is_ok_and(|line| line == format!("sleep\0{mark}\0").into_bytes())
            })
        };
        until("the sleeper runs", || sleeper().is_some()).await;
        let status = std::fs::read_to_string(format!("/proc/{}/status", sleeper().unwrap())).unwrap();
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim().parse().unwrap();
        assert_ne!(parent, std::process::id() as i32, "there is a supervisor between");
        // SAFETY: the supervisor of this test's job.
        unsafe { libc::kill(parent, libc::SIGKILL) };
    };
    let (done, ()) = tokio::join!(running, kill);
    assert!(matches!(done, Err(SandboxError::Lost)), "{done:?}");
    until("the sleeper died too", || processes_with(&mark) == 0).await;
}

#[tokio::test]
async fn a_job_started_from_a_thread_that_ends_lives_on() {
    let home = open();
    let (sandbox, job) = (home.sandbox.clone(), home.job(&["/bin/bash", "-c", "sleep 0.5; echo alive"]));
    let handle = tokio::runtime::Handle::current();
    let run = async move { sandbox.run(job, CancellationToken::new()).await };
    let task = std::thread::spawn(move || handle.spawn(run)).join().unwrap();
    assert_eq!(task.await.unwrap().unwrap().stdout.text(), "alive\n");
}

#[tokio::test]
async fn output_is_bounded_and_its_ends_are_kept() {
    let home = open();
    let done = home.bash("yes").await;
    assert_eq!(done.exit, Exit::Signal(libc::SIGPIPE), "an endless writer finds its pipe closed");
    assert!(done.stdout.head.len() + done.stdout.tail.len() <= 20_000);

    let done = home.bash("echo first; head -c 50000000 /dev/zero | tr '\\0' x; echo; echo last").await;
    assert_eq!((done.exit, done.stdout.total_bytes), (Exit::Code(0), 50_000_012));
    assert!(done.stdout.text().starts_with("first\nxxx") && done.stdout.text().ends_with("xxx\nlast\n"));

    let done = home.bash(r"printf 'a\xff\xfe\x00b'; cat; echo end").await;
    assert_eq!(done.stdout.text(), "a\u{fffd}\u{fffd}\0bend\n", "bytes are safe, and stdin is empty");
}

#[tokio::test]
async fn a_job_inherits_neither_environment_nor_descriptors() {
    // A descriptor of the server that was opened without close-on-exec.
    let leak = std::fs::File::open("/etc/passwd").unwrap();
    // SAFETY: duplicating a valid descriptor to a high number; std would set close-on-exec.
    let leaked = unsafe { libc::dup(leak.as_raw_fd()) };
    let _ = leak.into_raw_fd();
    assert!(leaked > 2);
    // SAFETY: other tests of this binary do not read this variable.
    unsafe { std::env::set_var("CANARY_API_KEY", "canary-8471") };

    for level in [Level::Standard, Level::Off] {
        let home = home(level, Place::Open);
        let script = "import os\nopen_fds=[]\nfor fd in range(3,1024):\n try: os.fstat(fd); open_fds.append(fd)\n \
                      except OSError: pass\nprint(open_fds, sorted(os.environ))";
        let done = home.sandbox.run(home.job(&["python3", "-c", script]), CancellationToken::new()).await.unwrap();
        let names = "['HOME', 'HOME_ROOT', 'LANG', 'PATH', 'TERM', 'TMPDIR']";
        let seen = done.stdout.text().replace("'LC_CTYPE', ", "");
        assert_eq!(seen.trim(), format!("[] {names}"), "{level:?} {}", done.stderr.text());
    }
    for place in [Place::Open, Place::Private] {
        let done =
            home(Level::Standard, place).bash("cat /proc/*/environ /proc/self/environ 2>/dev/null | wc -c").await;
        assert_eq!(done.stdout.text().trim(), "0", "no environment of any process can be read");
    }
    // Negative control: without the fence, and as the same user, the server's environment is one file away.
    let off = home(Level::Off, Place::Private);
    let done = off.bash("cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c .").await;
    assert_ne!(done.stdout.text().trim(), "0");
}

/// Name, command that must fail behind the fence.
const ESCAPES: [(&str, &str); 29] = [
    ("read the home", "cat $HOME_ROOT/secret.key"),
    ("list the home", "ls $HOME_ROOT/"),
    ("write the home", "echo x > $HOME_ROOT/new.txt"),
    ("overwrite the home", "echo x > $HOME_ROOT/victim.txt"),
    ("truncate the home", "truncate -s0 $HOME_ROOT/victim.txt"),
    ("truncate by path", "python3 -c 'import os;os.truncate(os.environ[\"HOME_ROOT\"]+\"/victim.txt\",0)'"),
    ("rename the scratch folder", "mv $HOME_ROOT/scratch $HOME_ROOT/other"),
    ("write what is readable", "echo x > $HOME_ROOT/skills/x"),
    ("write /tmp", "mktemp --tmpdir=/tmp miniclaw.XXXXXX"),
    ("read through a symlink", "ln -sfn $HOME_ROOT/secret.key l && cat l"),
    ("write through a symlink", "ln -sfn $HOME_ROOT l2 && echo x > l2/new.txt"),
    ("hard link", "ln $HOME_ROOT/secret.key h && cat h"),
    ("shadow", "head -c1 /etc/shadow | grep ."),
    ("root's home", "ls /root/"),
    ("processes", "ls /proc/"),
    ("tcp", "exec 3<>/dev/tcp/127.0.0.1/$PORT"),
    ("udp", "python3 -c 'import socket;socket.socket(2,2).sendto(b\"x\",(\"127.0.0.1\",9))'"),
    ("unix socket", "python3 -c 'import socket;socket.socket(1).bind(\"s\")'"),
    ("datagram pair", "python3 -c 'import socket;socket.socketpair(1,2)'"),
    ("raw socket", "python3 -c 'import socket;socket.socket(2,3,1)'"),
    ("abstract socket", "python3 -c 'import socket,os;socket.socket(1).bind(\"\\0miniclaw\"+str(os.getpid()))'"),
    ("become root", "python3 -c 'import os;os.setuid(0);open(\"/etc/shadow\").read()'"),
    ("trace", "python3 -c 'import ctypes,sys;sys.exit(ctypes.CDLL(None).ptrace(0,0,0,0) != 0)'"),
    (
        "type into a terminal",
        "python3 -c 'import os,fcntl,termios;m,s=os.openpty();os.setsid() if os.getsid(0)!=os.getpid() else 0;\
         fcntl.ioctl(s,termios.TIOCSCTTY,0);fcntl.ioctl(s,termios.TIOCSTI,b\"x\")'",
    ),
    ("netlink", "python3 -c 'import socket;socket.socket(16,3,0)'"),
    ("signal outside", "kill -0 $SERVER"),
    ("user namespace", "unshare -Ur true"),
    ("device node", "mknod nd c 1 3"),
    ("new privileges", "grep -q 'NoNewPrivs:.0' /proc/self/status || (mount -t tmpfs x . 2>/dev/null)"),
];

async fn escaped(home: &Home, port: u16) -> Vec<&'static str> {
    let mut escaped = Vec::new();
    for (name, script) in ESCAPES {
        // Without a fence one of them moves the folder away.
        std::fs::create_dir_all(home.path("scratch")).unwrap();
        let mut job = home.job(&["/bin/bash", "-c", script]);
        job.env.push(("PORT".to_owned(), port.to_string()));
        job.env.push(("SERVER".to_owned(), std::process::id().to_string()));
        let done = home.sandbox.run(job, CancellationToken::new()).await.unwrap();
        if done.exit == Exit::Code(0) {
            escaped.push(name);
        }
    }
    escaped
}

#[tokio::test]
async fn the_fence_holds_where_no_fence_does_not() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    for place in [Place::Open, Place::Private] {
        let home = home(Level::Standard, place);
        assert_eq!(escaped(&home, port).await, Vec::<&str>::new(), "{place:?}");
        assert_eq!(std::fs::read_to_string(home.path("victim.txt")).unwrap(), "untouched");
        assert!(!home.path("new.txt").exists() && !home.path("other").exists());
    }
    assert!(listener.accept().is_err(), "nobody reached the listener");

    let off = escaped(&home(Level::Off, Place::Open), port).await;
    assert!(off.contains(&"tcp") && off.contains(&"read the home"), "the probes work: {off:?}");
    assert!(off.len() >= 16, "the probes work: {off:?}");
    assert!(listener.accept().is_ok());
}

#[tokio::test]
async fn everyday_work_works() {
    const JOBS: [(&str, &str); 14] = [
        ("write and read", "mkdir -p a/b && echo hi > a/b/f && mv a c && cat c/b/f && rm -r c"),
        ("read what is allowed", "cat $HOME_ROOT/skills/SKILL.md"),
        (
            "temporary files",
            "f=$(mktemp) && echo x > $f && python3 -c 'import tempfile;tempfile.NamedTemporaryFile().write(b\"x\")'",
        ),
        ("pipes and sorting", "seq 1000 | sort -rn | head -3 >/dev/null"),
        ("process substitution", "diff <(echo a) <(echo a)"),
        ("here document", "cat <<X\nhi\nX"),
        ("python", "python3 -c 'import json,sqlite3,ssl;c=sqlite3.connect(\"a.db\");c.execute(\"create table t(a)\")'"),
        (
            "python subprocess",
            "python3 -c 'import subprocess;subprocess.run([\"ls\",\"/usr\"],check=True,capture_output=True)'",
        ),
        ("python asyncio", "python3 -c 'import asyncio;asyncio.run(asyncio.to_thread(print,1))'"),
        ("python multiprocessing", "python3 -c 'import multiprocessing as m\nprint(m.Pool(2).map(abs,[1,-2]))'"),
        ("python threads", "python3 -c 'import threading\nfor i in range(20): threading.Thread(target=print).start()'"),
        (
            "git",
            "git init -q r && cd r && git config user.email a@b && git config user.name n && echo x>f && git add f && git commit -qm m && git log --oneline",
        ),
        ("compiler", "echo 'int main(){return 0;}' > a.c && gcc a.c -o a && ./a"),
        ("archive", "echo x > t && tar czf t.tgz t && tar tzf t.tgz"),
    ];
    for place in [Place::Open, Place::Private] {
        let home = home(Level::Standard, place);
        std::fs::write(home.path("skills/SKILL.md"), "skill").unwrap();
        for (name, script) in JOBS {
            let program = name.split(' ').next().unwrap();
            let needed = if name == "compiler" { "gcc" } else { program };
            if ["git", "compiler"].contains(&name) && !Path::new("/usr/bin").join(needed).exists() {
                continue;
            }
            let done = home.bash(script).await;
            assert_eq!(done.exit, Exit::Code(0), "{place:?} {name}: {} {}", done.stdout.text(), done.stderr.text());
        }
    }
}

#[tokio::test]
async fn resources_are_bounded() {
    let home = open();
    let done = home.bash("python3 -c 'x=bytearray(6<<30)' 2>&1 | tail -1").await;
    assert_eq!(done.stdout.text(), "MemoryError\n");
    let done = home.bash("head -c 300000000 /dev/zero > big; echo $?; stat -c %s big").await;
    assert!(done.stdout.text().ends_with("\n268435456\n"), "{}", done.stdout.text());
    // Only a user that is not 0 has a limit of processes.
    let script = "import os,time\nn=0\ntry:\n while n<1000:\n  if os.fork()==0: time.sleep(60)\n  n+=1\nexcept OSError: pass\n\
                  print(n, os.getuid())";
    let done = home.sandbox.run(home.job(&["python3", "-c", script]), CancellationToken::new()).await.unwrap();
    let text = done.stdout.text();
    let (forked, user) = text.trim().split_once(' ').unwrap();
    if user != "0" {
        assert!(forked.parse::<u32>().unwrap() < 1000, "{text}");
    }
}

#[tokio::test]
async fn a_long_lived_process_is_spoken_to_in_lines() {
    let home = open();
    let mut process = home.sandbox.open(home.job(&["/bin/cat"])).await.unwrap();
    process.send("one").await.unwrap();
    process.send("two").await.unwrap();
    assert_eq!(process.line(Duration::from_secs(20)).await, Line::Text("one".into()));
    assert_eq!(process.line(Duration::from_secs(20)).await, Line::Text("two".into()));
    assert_eq!(process.line(Duration::from_millis(20)).await, Line::Late);
    process.interrupt().await;
    assert_eq!(process.line(Duration::from_secs(20)).await, Line::Ended);
    process.kill().await;

    let mark = marker();
    let script = format!("setsid sleep {mark} & echo ready; sleep {mark}");
    let mut process = home.sandbox.open(home.job(&["/bin/bash", "-c", &script])).await.unwrap();
    assert_eq!(process.line(Duration::from_secs(20)).await, Line::Text("ready".into()));
    drop(process);
    until("dropping it killed the tree", || processes_with(&mark) == 0).await;
}

#[tokio::test]
async fn a_service_gets_only_its_own_environment_and_ends_with_us() {
    use miniclaw::sandbox::Service;
    let home = open();
    let mark = marker();
    let service = Service {
        name: "helper".into(),
        program: "/bin/bash".into(),
        arguments: vec!["-c".into(), format!("env | sort | tr '\\n' ' '; echo; echo noise >&2; read -r x; : {mark}")],
        env: vec![("MODEL".into(), "small".into())],
        cwd: home.path("scratch"),
    };
    let mut process = home.sandbox.service(service).unwrap();
    let line = process.first_line(Duration::from_secs(20)).await.unwrap();
    assert!(line.contains("MODEL=small") && !line.contains("PATH=/root") && !line.contains("CANARY"), "{line}");
    assert!(process.is_running(), "its standard input is held open");
    drop(process);
    until("dropping it ended it", || processes_with(&mark) == 0).await;
}

#[tokio::test]
async fn without_landlock_nothing_runs() {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
    // Only this test's thread, and what it starts, has a kernel without Landlock.
    let rules = [(libc::SYS_landlock_create_ruleset, Vec::new())].into();
    let missing = SeccompAction::Errno(libc::ENOSYS as u32);
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, missing, arch).unwrap();
    apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();

    let home = open();
    let refused = home.sandbox.run(home.job(&["/bin/bash", "-c", "touch ran"]), CancellationToken::new()).await;
    let Err(SandboxError::Fence(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("offers Landlock version 0"), "{why}");
    assert!(home.sandbox.describe().starts_with("Commands are refused"));
    assert!(!home.path("scratch/ran").exists());
}

/// Not a test: the server that [`a_server_killed_at_once_leaves_nothing`] kills.
#[tokio::test]
#[ignore = "runs until it is killed"]
async fn a_server_to_be_killed() {
    let Ok(mark) = std::env::var("SERVER_MARK") else { return };
    open().bash(&format!("setsid sleep {mark} & sleep {mark}")).await;
}

#[tokio::test]
async fn a_server_killed_at_once_leaves_nothing() {
    // The killed one cannot tidy up: its folder lies in ours.
    let (home, mark) = (open(), marker());
    let mut server = std::process::Command::new(std::env::current_exe().unwrap());
    server
        .args(["--ignored", "--exact", "a_server_to_be_killed"])
        .env("SERVER_MARK", &mark)
        .env("TMPDIR", home.root.path());
    let mut server = server.stdout(std::process::Stdio::null()).spawn().unwrap();
    until("both sleepers run", || processes_with(&format!("sleep\0{mark}")) == 2).await;
    server.kill().unwrap();
    server.wait().unwrap();
    until("they died with the server", || processes_with(&mark) == 0).await;
}
