//! Two people of one server, each with a user of the system for their commands: what the commands of one try against the
//! home, the processes, the memory, the ports and the permissions of the other.

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use miniclaw::domain::UidRange;
use miniclaw::egress::{Guard, Proxy, system_lookup};
use miniclaw::sandbox::{
    COMMAND_MEMORY, Exit, Finished, Job, Level, LineOutcome, Network, Process, Sandbox, SandboxConfig, SandboxError,
};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio_util::sync::CancellationToken;

use crate::kit::{confined_levels, marker, pids_with, program, skipped};

/// The first user of these tests, in the default range; each server has two others.
const FIRST: u32 = 2_100_060_000;
/// What is in everything of Bob's.
const SECRET: &str = "quetzalcoatlus";

/// What Bob's processes do: they hold the secret in memory, and offer everything that one process can offer another.
const OFFERS: &str = r#"
import ctypes, json, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
held = ctypes.create_string_buffer(os.environ["BOBS_SECRET"].encode())
os.umask(0)
told = {"ADDRESS": ctypes.addressof(held)}
if sys.argv[1] == "outside":
    key = lambda number: 0x6d630000 + os.getpid() % 4096 * 16 + number
    shm = libc.shmget(key(1), 4096, 0o1666)
    ctypes.memmove(libc.shmat(shm, None, 0), held, len(held))
    queue = libc.msgget(key(2), 0o1666)
    message = ctypes.create_string_buffer(ctypes.string_at(ctypes.byref(ctypes.c_long(1)), 8) + bytes(held))
    libc.msgsnd(queue, message, len(held), 0)
    semaphore = libc.semget(key(3), 1, 0o1666)
    name = "bob-%d" % os.getpid()
    posix = libc.mq_open(("/" + name).encode(), os.O_CREAT | os.O_RDWR, 0o666, None)
    for path in ["/dev/shm/" + name, "/tmp/" + name]:
        open(path, "wb").write(held.value)
    tcp = [socket.socket(socket.AF_INET), socket.socket(socket.AF_INET6)]
    tcp[0].bind(("127.0.0.1", 0)); tcp[0].listen()
    try: tcp[1].bind(("::1", 0)); tcp[1].listen()
    except OSError: pass
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); udp.bind(("127.0.0.1", 0))
    abstract = socket.socket(socket.AF_UNIX); abstract.bind("\0" + name); abstract.listen()
    by_path = socket.socket(socket.AF_UNIX); by_path.bind("/tmp/" + name + ".s"); by_path.listen()
    told.update(SHM=shm, QUEUE=queue, SEMAPHORE=semaphore, NAME=name, TCP=tcp[0].getsockname()[1],
                TCP6=tcp[1].getsockname()[1], UDP=udp.getsockname()[1], PID=os.getpid())
print(json.dumps(told), flush=True)
sys.stdin.readline()
if sys.argv[1] == "outside":
    libc.shmctl(shm, 0, None); libc.msgctl(queue, 0, None); libc.semctl(semaphore, 0, 0)
    libc.mq_unlink(("/" + name).encode())
    for path in ["/dev/shm/" + name, "/tmp/" + name, "/tmp/" + name + ".s"]:
        os.unlink(path)
"#;

/// Attempts on Bob's files. In all of these tables, a command that succeeds has got through.
const FILES: [(&str, &str); 20] = [
    ("list the people", "ls \"$PEOPLE/\" | grep -q bob"),
    ("list his home", "ls \"$HIS/\" | grep -q ."),
    ("read what his command wrote for everybody", "grep -q $SECRET \"$HIS/scratch/open.txt\""),
    ("read his project", "grep -q $SECRET \"$HIS/workspaces/plan/secret.txt\""),
    ("read his memory", "grep -q $SECRET \"$HIS/memory/MEMORY.md\""),
    ("read his session", "grep -q $SECRET \"$HIS/sessions/s.json\""),
    ("read the accounts", "grep -q $SECRET \"$PEOPLE/../accounts.json\""),
    ("find a file of his by its relative path", "grep -q $SECRET ../../bob/scratch/open.txt"),
    ("learn whether a file of his exists", "stat \"$HIS/scratch/open.txt\""),
    ("read his temporary files", "ls \"$HIS/scratch/.tmp/\" | grep -q ."),
    ("write into his folder", "echo x > \"$HIS/scratch/planted.txt\""),
    ("overwrite his file", "echo x >> \"$HIS/scratch/open.txt\""),
    ("truncate his file", "python3 -c 'import os; os.truncate(os.environ[\"HIS\"]+\"/scratch/open.txt\",3)'"),
    ("remove his file", "rm \"$HIS/scratch/removable.txt\""),
    ("read through a link of her own", "ln -sfn \"$HIS/scratch\" link; grep -q $SECRET link/open.txt"),
    ("give his file a second name", "ln \"$HIS/scratch/open.txt\" second"),
    ("change the mode of his folder", "chmod 777 \"$HIS/scratch\""),
    ("give him a file", "rm -f given; echo x > given; chown $BOB given"),
    ("read a file of his in /tmp", "grep -q $SECRET /tmp/$NAME"),
    (
        "watch his folder",
        "python3 -c 'import ctypes,os,sys; c=ctypes.CDLL(None); d=c.inotify_init(); \
      sys.exit(d<0 or c.inotify_add_watch(d,os.environb[b\"HIS\"],0xfff)<0)'",
    ),
];

/// Attempts on his processes and their memory; `VICTIM` is one that runs in his sandbox, `PID` one outside.
const PROCESSES: [(&str, &str); 20] = [
    ("see that his process exists", "test -d /proc/$VICTIM"),
    ("see his process outside", "stat /proc/$PID"),
    ("list processes", "ls -d /proc/[0-9]*"),
    ("read his environment", "tr '\\0' '\\n' < /proc/$VICTIM/environ | grep -q $SECRET"),
    ("read his command line", "test -s /proc/$VICTIM/cmdline && grep -qa . /proc/$VICTIM/cmdline"),
    (
        "read his memory by /proc",
        "python3 -c 'import os; f=open(\"/proc/\"+os.environ[\"VICTIM\"]+\"/mem\",\"rb\"); \
      f.seek(int(os.environ[\"ADDRESS\"])); assert os.environb[b\"SECRET\"] in f.read(14)'",
    ),
    (
        "read his memory",
        "python3 -c 'import ctypes,os,sys; b=ctypes.create_string_buffer(14); \
      class_=type(\"V\",(ctypes.Structure,),{\"_fields_\":[(\"p\",ctypes.c_void_p),(\"n\",ctypes.c_size_t)]}); \
      a=class_(ctypes.addressof(b),14); r=class_(int(os.environ[\"ADDRESS\"]),14); \
      sys.exit(ctypes.CDLL(None).process_vm_readv(int(os.environ[\"VICTIM\"]),ctypes.byref(a),1,ctypes.byref(r),1,0)!=14)'",
    ),
    (
        "write to his memory",
        "python3 -c 'import ctypes,os,sys; b=ctypes.create_string_buffer(b\"q\",1); \
      class_=type(\"V\",(ctypes.Structure,),{\"_fields_\":[(\"p\",ctypes.c_void_p),(\"n\",ctypes.c_size_t)]}); \
      a=class_(ctypes.addressof(b),1); r=class_(int(os.environ[\"ADDRESS\"]),1); \
      sys.exit(ctypes.CDLL(None).process_vm_writev(int(os.environ[\"VICTIM\"]),ctypes.byref(a),1,ctypes.byref(r),1,0)!=1)'",
    ),
    (
        "trace his process",
        "python3 -c 'import ctypes,os,sys; n=ctypes.c_void_p(0); \
      sys.exit(ctypes.CDLL(None).ptrace(0x4206,int(os.environ[\"VICTIM\"]),n,n)!=0)'",
    ),
    ("enter his working directory", "grep -q $SECRET /proc/$VICTIM/cwd/open.txt"),
    ("enter his root", "ls /proc/$VICTIM/root/ | grep -q ."),
    ("list his open files", "ls /proc/$VICTIM/fd/ | grep -q ."),
    (
        "take one of his open files",
        "python3 -c 'import ctypes,os,sys; c=ctypes.CDLL(None); \
      d=os.pidfd_open(int(os.environ[\"VICTIM\"])); sys.exit(c.syscall(438,d,1,0)<0)'",
    ),
    ("signal his process", "kill -0 $VICTIM"),
    ("signal his process outside", "kill -0 $PID"),
    ("lower his priority", "python3 -c 'import os; os.setpriority(0,int(os.environ[\"VICTIM\"]),1)'"),
    (
        "bind his process to a processor",
        "python3 -c 'import os; os.sched_setaffinity(int(os.environ[\"VICTIM\"]),{0})'",
    ),
    (
        "read his limits",
        "python3 -c 'import os,resource; resource.prlimit(int(os.environ[\"VICTIM\"]),resource.RLIMIT_NOFILE)'",
    ),
    (
        "become him",
        "python3 -c 'import os; os.setresgid(*[int(os.environ[\"BOB\"])]*3); os.setresuid(*[int(os.environ[\"BOB\"])]*3)'",
    ),
    ("enter his namespaces", "nsenter -t $VICTIM -m true"),
];

/// Attempts on what he shares with other processes, and on what all processes share.
const SHARED: [(&str, &str); 10] = [
    (
        "attach his shared memory",
        "python3 -c 'import ctypes,os,sys; c=ctypes.CDLL(None); c.shmat.restype=ctypes.c_void_p; \
      p=c.shmat(int(os.environ[\"SHM\"]),None,0o10000); sys.exit(p in (None,2**64-1))'",
    ),
    (
        "read his message queue",
        "python3 -c 'import ctypes,os,sys; b=ctypes.create_string_buffer(99); \
      sys.exit(ctypes.CDLL(None).msgrcv(int(os.environ[\"QUEUE\"]),b,90,0,0o4000|0o40000)<0)'",
    ),
    (
        "use his semaphore",
        "python3 -c 'import ctypes,os,sys; sys.exit(ctypes.CDLL(None).semctl(int(os.environ[\"SEMAPHORE\"]),0,12)<0)'",
    ),
    (
        "open his POSIX queue",
        "python3 -c 'import ctypes,os,sys; \
      sys.exit(ctypes.CDLL(None).mq_open((\"/\"+os.environ[\"NAME\"]).encode(),0)<0)'",
    ),
    ("read his file in /dev/shm", "grep -q $SECRET /dev/shm/$NAME"),
    ("list shared memory of the machine", "python3 -c 'assert len(open(\"/proc/sysvipc/shm\").readlines())>1'"),
    (
        "use a keyring",
        "python3 -c 'import ctypes,os,sys; n={\"x86_64\":250}.get(os.uname().machine,219); \
      sys.exit(ctypes.CDLL(None).syscall(n,0,-4,1)<0)'",
    ),
    ("read keys of the machine", "grep -q . /proc/keys"),
    ("look at control groups", "ls /sys/fs/cgroup/ | grep -q ."),
    ("make a user namespace", "unshare -Ur true"),
];

/// Attempts on his ports and sockets.
const NETWORK: [(&str, &str); 10] = [
    ("connect to his service", "timeout 5 bash -c '</dev/tcp/127.0.0.1/'$TCP"),
    (
        "connect to his service by IPv6",
        "python3 -c 'import os,socket; socket.create_connection((\"::1\",int(os.environ[\"TCP6\"])),5)'",
    ),
    (
        "send him a packet",
        "python3 -c 'import os,socket; s=socket.socket(2,2); s.sendto(b\"x\",(\"127.0.0.1\",int(os.environ[\"UDP\"])))'",
    ),
    (
        "connect to his abstract socket",
        "python3 -c 'import os,socket; socket.socket(1).connect(\"\\0\"+os.environ[\"NAME\"])'",
    ),
    (
        "connect to his socket in /tmp",
        "python3 -c 'import os,socket; socket.socket(1).connect(\"/tmp/\"+os.environ[\"NAME\"]+\".s\")'",
    ),
    (
        "listen where he could connect",
        "python3 -c 'import socket; s=socket.socket(); s.bind((\"127.0.0.1\",0)); s.listen()'",
    ),
    ("bind an abstract name", "python3 -c 'import socket; socket.socket(1).bind(\"\\0hers\")'"),
    ("ask the kernel for sockets", "python3 -c 'import socket; socket.socket(16,3,4)'"),
    ("read the list of ports", "grep -q : /proc/net/tcp"),
    ("read the list of sockets", "grep -qa $NAME /proc/net/unix"),
];

fn all() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    FILES.iter().chain(&PROCESSES).chain(&SHARED).chain(&NETWORK)
}

/// What her commands need for the attempts, and may do.
const HER_OWN: &str = "set -e; echo x > own.txt; test -O own.txt; cat ../memory/MEMORY.md; python3 -c 'import ctypes, os, socket; \
    ctypes.CDLL(None); os.kill(os.getppid(), 0)'; test -n $SECRET$VICTIM$PID$ADDRESS$SHM$NAME$TCP; timeout 5 true; sleep 0.01";

/// A person and the sandbox of their commands.
struct Person {
    uid: u32,
    home: PathBuf,
    sandbox: Sandbox,
}

impl Person {
    fn job(&self, argv: &[&str]) -> Job {
        Job {
            argv: argv.iter().map(|word| (*word).to_owned()).collect(),
            cwd: self.home.join("scratch"),
            readable: ["workspace", "memory", "skills"].map(|folder| self.home.join(folder)).into(),
            env: Vec::new(),
            wall: Duration::from_secs(60),
            output_cap: 20_000,
            memory: COMMAND_MEMORY,
            network: Network::None,
            capture: None,
            owner: miniclaw::domain::FolderOwner::Commands,
        }
    }

    async fn run(&self, job: Job) -> Finished {
        self.sandbox.run(job, CancellationToken::new()).await.unwrap()
    }

    async fn bash(&self, script: &str) -> Finished {
        self.run(self.job(&["/bin/bash", "-c", script])).await
    }
}

/// The home of a server with two people.
struct Server {
    root: tempfile::TempDir,
    ann: Person,
    bob: Person,
}

fn sandbox(level: Level) -> Sandbox {
    Sandbox::new(SandboxConfig { supervisor_exe: program(), level })
}

/// Returns the levels at which the machine can run the commands of two people, and reports the others.
fn levels() -> Vec<Level> {
    let mut levels = confined_levels();
    levels.retain(|level| match sandbox(*level).person_obstacle(UidRange::DEFAULT) {
        None => true,
        Some(obstacle) => {
            skipped(&format!("two people at level {}", level.name()), &obstacle.to_string());
            false
        }
    });
    levels
}

impl Server {
    async fn new(level: Level) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(FIRST);
        let first = NEXT.fetch_add(2, Ordering::Relaxed);
        let root = tempfile::tempdir().unwrap();
        let mode = |path: &PathBuf, mode: u32| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        mode(&root.path().to_owned(), 0o755);
        std::fs::write(root.path().join("accounts.json"), SECRET).unwrap();
        mode(&root.path().join("accounts.json"), 0o600);
        let proxy = Arc::new(Proxy::start(Guard::new(&[]), system_lookup()).await.unwrap());
        let sandbox = sandbox(level).with_egress_proxy(proxy);
        let [ann, bob] = [("ann", first), ("bob", first + 1)].map(|(name, uid)| {
            let home = root.path().join("people").join(name);
            for folder in ["scratch", "workspaces/plan", "workspace", "memory", "skills", "sessions", "storage"] {
                std::fs::create_dir_all(home.join(folder)).unwrap();
            }
            for (file, mine) in [("memory/MEMORY.md", name == "bob"), ("sessions/s.json", name == "bob")] {
                std::fs::write(home.join(file), if mine { SECRET } else { "hers" }).unwrap();
            }
            std::fs::write(home.join("workspaces/plan/secret.txt"), SECRET).unwrap();
            Person { uid, home, sandbox: sandbox.of_person(uid) }
        });
        mode(&root.path().join("people"), 0o700);
        Self { root, ann, bob }
    }

    fn people(&self) -> String {
        self.root.path().join("people").display().to_string()
    }
}

/// Bob's processes: one in his sandbox and one outside.
struct Offers {
    inside: Process,
    outside: tokio::process::Child,
    variables: Vec<(String, String)>,
}

impl Offers {
    async fn of(server: &Server) -> Self {
        let bob = &server.bob;
        let opens =
            "umask 0; echo $SECRET > open.txt; echo x > removable.txt; mkdir -p .tmp; echo x > .tmp/t; chmod 777 . ..";
        let opens = format!("SECRET={SECRET}; {opens}");
        let done = bob.bash(&opens).await;
        assert!(done.stderr.text().contains("chmod"), "he cannot open his home: {}", done.stderr.text());
        let mark = marker();
        let mut job = bob.job(&["/usr/bin/python3", "-c", OFFERS, "inside", &mark]);
        job.env.push(("BOBS_SECRET".to_owned(), SECRET.to_owned()));
        let mut inside = bob.sandbox.open(job).await.unwrap();
        let LineOutcome::Text(line) = inside.line(Duration::from_secs(20)).await else { panic!("he says nothing") };
        let mut variables = told(&line);
        // Not the supervisor, and not bubblewrap, which have no such argument.
        let victim = *pids_with(&mark).last().unwrap();
        variables.push(("VICTIM".to_owned(), victim.to_string()));
        let mut outside = tokio::process::Command::new("/usr/bin/python3");
        outside.args(["-c", OFFERS, "outside"]).env_clear().env("BOBS_SECRET", SECRET).current_dir("/");
        outside.uid(bob.uid).gid(bob.uid).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut outside = outside.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(outside.stdout.take().unwrap()).read_line(&mut line).await.unwrap();
        variables.extend(told(&line).into_iter().filter(|(name, _)| name != "ADDRESS"));
        let more = [
            ("PEOPLE", server.people()),
            ("HIS", bob.home.display().to_string()),
            ("BOB", bob.uid.to_string()),
            ("SECRET", SECRET.to_owned()),
        ];
        variables.extend(more.map(|(name, value)| (name.to_owned(), value)));
        Self { inside, outside, variables }
    }

    /// Ends both; the one outside removes what it shared.
    async fn end(mut self) {
        drop(self.outside.stdin.take());
        self.outside.wait().await.unwrap();
        self.inside.kill().await;
    }
}

fn told(line: &str) -> Vec<(String, String)> {
    let told: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).unwrap();
    told.into_iter().map(|(name, value)| (name, value.to_string().trim_matches('"').to_owned())).collect()
}

/// Returns the attempts of Ann's commands that get through.
async fn through<'a>(
    ann: &Person,
    offers: &Offers,
    (attempts, network): (impl Iterator<Item = &'a (&'a str, &'a str)>, Network),
) -> Vec<&'a str> {
    let mut through = Vec::new();
    for (name, script) in attempts {
        let mut job = Job { network, ..ann.job(&["/bin/bash", "-c", script]) };
        job.env.extend(offers.variables.iter().cloned());
        if ann.run(job).await.exit == Exit::Code(0) {
            through.push(*name);
        }
    }
    let mut job = Job { network, ..ann.job(&["/bin/bash", "-c", HER_OWN]) };
    job.env.extend(offers.variables.iter().cloned());
    let own = ann.run(job).await;
    assert_eq!(own.exit, Exit::Code(0), "what she may do works: {}", own.stderr.text());
    through
}

#[tokio::test]
async fn no_command_of_one_person_reaches_another() {
    for level in levels() {
        let server = Server::new(level).await;
        let offers = Offers::of(&server).await;
        let none = Vec::<&str>::new();
        assert_eq!(through(&server.ann, &offers, (all(), Network::None)).await, none, "{level:?}");
        // With network a command is in the network of the machine, at level strict too.
        let again = NETWORK.iter().chain(&PROCESSES).chain(&SHARED);
        assert_eq!(through(&server.ann, &offers, (again, Network::Proxied)).await, none, "{level:?}, with network");
        let scratch = server.bob.home.join("scratch");
        assert_eq!(std::fs::read_to_string(scratch.join("open.txt")).unwrap().trim(), SECRET);
        assert!(scratch.join("removable.txt").exists() && !scratch.join("planted.txt").exists());
        offers.end().await;
    }
}

#[tokio::test]
async fn most_attempts_succeed_for_root_without_a_sandbox() {
    let Some(level) = levels().first().copied() else { return };
    let server = Server::new(level).await;
    let offers = Offers::of(&server).await;
    let mut failed = Vec::new();
    for (name, script) in all() {
        let mut attempt = tokio::process::Command::new("/bin/bash");
        attempt
            .args(["-c", script])
            .current_dir(server.ann.home.join("scratch"))
            .envs(offers.variables.iter().cloned());
        attempt.stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null());
        if !attempt.status().await.unwrap().success() {
            failed.push(*name);
        }
    }
    assert!(failed.len() <= 8, "these attempts prove nothing: {failed:?}");
    offers.end().await;
}

/// The kernel keeps people's files apart even if the sandbox did not.
#[tokio::test]
async fn file_modes_alone_keep_people_apart() {
    let Some(level) = levels().first().copied() else { return };
    let server = Server::new(level).await;
    let offers = Offers::of(&server).await;
    let mut through = Vec::new();
    for (name, script) in FILES.iter().filter(|(name, _)| *name != "read a file of his in /tmp") {
        let mut attempt = std::process::Command::new("/bin/bash");
        attempt.args(["-c", script]).current_dir("/tmp").env_clear().envs(offers.variables.iter().cloned());
        attempt.env("PATH", "/usr/bin:/bin").uid(server.ann.uid).gid(server.ann.uid).stdin(Stdio::null());
        attempt.stdout(Stdio::null()).stderr(Stdio::null());
        if attempt.status().unwrap().success() {
            through.push(*name);
        }
    }
    assert_eq!(through, Vec::<&str>::new());
    offers.end().await;
}

#[tokio::test]
async fn folder_belongs_to_its_person_and_is_closed() {
    use std::os::unix::fs::MetadataExt;
    for level in levels() {
        let server = Server::new(level).await;
        for (mine, other) in [(&server.ann, &server.bob), (&server.bob, &server.ann)] {
            let done = mine.bash("id -u; id -g; id -G; echo x > made; chmod 777 .; cat ../memory/MEMORY.md").await;
            let said = done.stdout.text();
            assert_eq!(done.exit, Exit::Code(0), "{level:?}: {}", done.stderr.text());
            assert!(said.starts_with(&format!("{0}\n{0}\n{0}\n", mine.uid)), "{level:?}: {said}");
            assert_eq!(mine.bash("true").await.exit, Exit::Code(0));
            let scratch = std::fs::metadata(mine.home.join("scratch")).unwrap();
            assert_eq!((scratch.uid(), scratch.gid(), scratch.mode() & 0o7777), (mine.uid, mine.uid, 0o700));
            assert_eq!(std::fs::metadata(mine.home.join("scratch/made")).unwrap().uid(), mine.uid);
            // Whatever user a folder has, such as after a restore from a backup.
            chown(mine.home.join("scratch"), Some(other.uid), Some(other.uid)).unwrap();
            chown(mine.home.join("scratch/made"), Some(other.uid), Some(other.uid)).unwrap();
            assert_eq!(mine.bash("echo more >> made && test -O made").await.exit, Exit::Code(0), "{level:?}");
        }
    }
}

#[tokio::test]
async fn processes_are_limited_for_a_person_and_not_for_others() {
    let fork = "import os, sys, time\nforked = 0\ntry:\n while forked < 900:\n  if os.fork() == 0: time.sleep(60)\n  \
                forked += 1\nexcept OSError: pass\nprint(forked, flush=True)\nsys.stdin.readline()";
    for level in levels() {
        let server = Server::new(level).await;
        let mut greedy = server.ann.sandbox.open(server.ann.job(&["/usr/bin/python3", "-c", fork])).await.unwrap();
        let LineOutcome::Text(forked) = greedy.line(Duration::from_secs(60)).await else { panic!("no number") };
        let forked: usize = forked.parse().unwrap();
        assert!((100..=512).contains(&forked), "{level:?}: {forked}");
        let done = server.bob.bash("echo $(echo fine)").await;
        assert_eq!((done.exit, done.stdout.text().trim()), (Exit::Code(0), "fine"), "{level:?}");
        let hers = "import os\nos.fork()";
        let hers =
            server.ann.sandbox.run(server.ann.job(&["/usr/bin/python3", "-c", hers]), CancellationToken::new()).await;
        assert!(
            !matches!(hers, Ok(Finished { exit: Exit::Code(0), .. })),
            "{level:?}: it counts for all of her commands"
        );
        greedy.kill().await;
        assert_eq!(server.ann.bash("echo $(echo fine)").await.exit, Exit::Code(0), "{level:?}");
    }
}

#[tokio::test]
async fn permission_to_use_the_network_is_ones_own() {
    for level in levels() {
        let server = Server::new(level).await;
        let ask = "python3 - <<'END'\nimport base64, os, re, socket\n\
            secret, port = re.match(r'http://job:(\\w+)@127.0.0.1:(\\d+)', os.environ['HTTP_PROXY']).groups()\n\
            secret = os.environ.get('OTHER', secret)\n\
            s = socket.create_connection(('127.0.0.1', int(port)))\n\
            word = base64.b64encode(('job:' + secret).encode()).decode()\n\
            s.sendall(f'CONNECT 10.0.0.1:443 HTTP/1.1\\r\\nProxy-Authorization: Basic {word}\\r\\n\\r\\n'.encode())\n\
            print(secret, s.recv(99).decode().split()[1])\nEND";
        let network = |person: &Person, other: Option<&str>| {
            let mut job = Job { network: Network::Proxied, ..person.job(&["/bin/bash", "-c", ask]) };
            job.env.extend(other.map(|secret| ("OTHER".to_owned(), secret.to_owned())));
            job
        };
        let said = server.bob.run(network(&server.bob, None)).await;
        let text = said.stdout.text();
        let (secret, status) = text.trim().split_once(' ').unwrap_or_else(|| panic!("{level:?}: {said:?}"));
        assert_eq!(status, "403", "{level:?}: he is known, and the address is not allowed");
        let said = server.ann.run(network(&server.ann, Some(secret))).await.stdout.text();
        assert!(said.trim().ends_with(" 407"), "{level:?}: his permission ended with his command: {said}");
        let said = server.ann.run(network(&server.ann, Some("guessed"))).await.stdout.text();
        assert!(said.trim().ends_with(" 407"), "{level:?}: {said}");
    }
}

#[tokio::test]
async fn no_command_of_a_person_runs_without_a_sandbox() {
    let Some(level) = levels().first().copied() else { return };
    let server = Server::new(level).await;
    let off = sandbox(Level::Off).of_person(server.ann.uid);
    let refused = off.run(server.ann.job(&["/bin/true"]), CancellationToken::new()).await;
    assert!(
        matches!(&refused, Err(SandboxError::Confinement(why)) if why.contains("without the sandbox")),
        "{refused:?}"
    );
}
