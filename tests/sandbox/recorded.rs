//! Jobs without network whose requests are recorded: the list is what they asked for, and nothing can be reached.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::Duration;

use miniclaw::domain::EgressAttempt;
use miniclaw::domain::egress::MAX_HOSTS;
use miniclaw::sandbox::{Exit, Finished, Job, Level, Network, Sandbox, SandboxConfig};
use tokio_util::sync::CancellationToken;

use crate::kit::{
    Home, HomeAccess, confined_levels, has, home, is_root, marker, pids_with, processes_with, program, skipped, until,
};

/// Sends bytes to the proxy: `ask(bytes)` returns the answer.
const ASK: &str = r#"
import os, socket, sys
PORT = int(os.environ["http_proxy"].rsplit(":", 1)[1])
def connect():
    s = socket.create_connection(("127.0.0.1", PORT)); s.settimeout(20); return s
def ask(head):
    s = connect()
    try: s.sendall(head)
    except OSError: pass
    got = b""
    try:
        while True:
            more = s.recv(4096)
            if not more: break
            got += more
    except OSError: pass
    s.close()
    return got
def host(name): return ask(b"CONNECT " + name + b":443 HTTP/1.1\r\n\r\n")
"#;

fn recorded(home: &Home, argv: &[&str]) -> Job {
    Job { network: Network::Recorded, ..home.job(argv) }
}

async fn bash(home: &Home, script: &str) -> Finished {
    home.run(recorded(home, &["/bin/bash", "-c", script])).await
}

async fn python(home: &Home, script: &str) -> Finished {
    home.run(recorded(home, &["/usr/bin/python3", "-c", &format!("{ASK}{script}")])).await
}

fn hosts(done: &Finished) -> Vec<&str> {
    assert!(done.egress_attempts.hosts.iter().all(|attempt| attempt.refused), "{:?}", done.egress_attempts);
    done.egress_attempts.hosts.iter().map(|attempt| attempt.host.as_str()).collect()
}

/// Returns whether this machine has no network namespaces for commands; the tests then have nothing to look at.
async fn cannot_record() -> bool {
    let home = home(Level::Standard, HomeAccess::Open);
    let cannot = bash(&home, "test -n \"$http_proxy\"").await.exit != Exit::Code(0);
    if cannot {
        skipped("recorded hosts", "no network namespace can be made here");
    }
    cannot
}

#[tokio::test]
async fn requested_hosts_are_listed_and_clients_fail() {
    if cannot_record().await {
        return;
    }
    for access in [HomeAccess::Open, HomeAccess::Private] {
        let home = home(Level::Standard, access);
        for (client, script, host) in [
            ("curl", "curl -sS https://a.example/x", "a.example"),
            ("curl", "curl -sS http://b.example:8080/?token=secret", "b.example:8080"),
            ("wget", "wget -q -O - --tries=1 https://c.example/", "c.example"),
            ("python3", "python3 -c 'import urllib.request as u; u.urlopen(\"https://d.example/\")'", "d.example"),
            (
                "python3",
                "python3 -c 'import urllib.request as u; u.urlopen(\"http://d.example/\", b\"x\")'",
                "d.example",
            ),
            (
                "bash",
                "exec 3<>/dev/tcp/127.0.0.1/${http_proxy##*:}; printf 'CONNECT [::1]:22 HTTP/1.1\\r\\n\\r\\n' >&3; \
                      grep -q 'true.* asks the user' <&3 && exit 5",
                "[::1]:22",
            ),
        ] {
            if !has(client) {
                skipped("recorded hosts", &format!("{client} is not installed"));
                continue;
            }
            let done = bash(&home, script).await;
            assert_ne!(done.exit, Exit::Code(0), "{script}: {}", done.stdout.text());
            assert_eq!(hosts(&done), [host], "{access:?} {script}: {}", done.stderr.text());
        }
    }
}

#[tokio::test]
async fn only_a_recorded_job_has_a_proxy() {
    for level in confined_levels() {
        let home = home(level, HomeAccess::Open);
        let none = home
            .bash("env | grep -i proxy; python3 -c 'import socket; socket.socket()' 2>/dev/null && echo MADE")
            .await;
        assert_eq!(none.stdout.text(), "", "{level:?}");
        if level == Level::Strict {
            let done = bash(&home, "echo $http_proxy; curl -s http://a.example/; echo ran").await;
            assert_eq!(
                (done.stdout.text().as_str(), hosts(&done)),
                ("\nran\n", vec![]),
                "bubblewrap makes no recorder"
            );
        }
    }
}

#[tokio::test]
async fn only_a_recorded_job_has_a_network_namespace() {
    if cannot_record().await {
        return;
    }
    let home = home(Level::Standard, HomeAccess::Open);
    let own = std::fs::read_link("/proc/self/ns/net").unwrap();
    for (network, is_own) in [(Network::None, true), (Network::Recorded, false)] {
        let (mark, cancel) = (marker(), CancellationToken::new());
        let job = Job { network, ..home.job(&["/usr/bin/sleep", &mark]) };
        let look = async {
            until("the job runs", || processes_with(&mark) == 1).await;
            let namespace = std::fs::read_link(format!("/proc/{}/ns/net", pids_with(&mark)[0]));
            cancel.cancel();
            namespace
        };
        let (done, namespace) = tokio::join!(home.sandbox.run(job, cancel.clone()), look);
        assert_eq!(done.unwrap().exit, Exit::Cancelled);
        assert_eq!(namespace.unwrap() == own, is_own, "{network:?}");
    }
}

/// Attempts to reach something, each of which exits with 0 if it succeeds. `$SITE` is a port on which this machine listens.
const ATTEMPTS: [(&str, &str); 14] = [
    ("a server of this machine", "exec 3<>/dev/tcp/127.0.0.1/$SITE"),
    ("it through the proxy", "curl -sf --max-time 9 http://127.0.0.1:$SITE/"),
    ("it by IPv6", "exec 3<>/dev/tcp/::1/$SITE"),
    ("another address of the loopback at the proxy's port", "exec 3<>/dev/tcp/127.0.0.2/$PROXY"),
    ("the proxy's port by IPv6", "exec 3<>/dev/tcp/::1/$PROXY"),
    ("another machine at the proxy's port", "exec 3<>/dev/tcp/$ADDRESS/$PROXY"),
    ("a public address at the proxy's port", "exec 3<>/dev/tcp/192.0.2.1/$PROXY"),
    ("an abstract socket", "python3 -c 'import socket,os; socket.socket(1).connect(\"\\0\"+os.environ[\"ABSTRACT\"])'"),
    (
        "a datagram",
        "python3 -c 'import socket,os; socket.socket(2,2).sendto(b\"x\", (\"127.0.0.1\", int(os.environ[\"SITE\"])))'",
    ),
    ("listening", "python3 -c 'import socket; s=socket.socket(); s.bind((\"127.0.0.1\",0)); s.listen()'"),
    (
        "bringing up an interface",
        "python3 -c 'import socket,fcntl,struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack(\"16sh14x\", b\"lo\", 0))'",
    ),
    ("asking the kernel for interfaces", "python3 -c 'import socket; socket.socket(16,3,0)'"),
    ("another network namespace", "unshare -n true || unshare -Urn true"),
    ("joining a namespace", "python3 -c 'import os; os.setns(os.open(\"/proc/1/ns/net\", 0), 0)'"),
];

#[tokio::test]
async fn recorded_job_reaches_nothing_but_its_recorder() {
    if cannot_record().await {
        return;
    }
    for access in [HomeAccess::Open, HomeAccess::Private] {
        let mut runs = 0;
        while !reaches_nothing(access).await {
            runs += 1;
            assert!(runs < 20, "the port of the proxy is always in use on this machine");
        }
    }
}

/// Runs a job that tries to get out. Returns `false` without an attempt if the port of its proxy, which is one of its own
/// network namespace, is in use on this machine.
async fn reaches_nothing(access: HomeAccess) -> bool {
    let home = home(Level::Standard, access);
    let site = TcpListener::bind("127.0.0.1:0").unwrap();
    let site_port = site.local_addr().unwrap().port();
    let name = format!("miniclaw-recorded-{site_port}");
    let _abstract = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let attempts: String = ATTEMPTS
        .iter()
        .map(|(what, script)| format!("( {script} ) > /dev/null 2>&1 && echo 'REACHED {what}'\n"))
        .collect();
    // The proxy's port on this machine becomes a listener, too, before the attempts begin.
    let script = format!(
        "export PROXY=${{http_proxy##*:}}; echo $PROXY > port.new; mv port.new port\n\
         until test -e go -o -e taken; do sleep 0.01; done; test ! -e taken || exit 0\n{attempts}exit 0"
    );
    let mut job = recorded(&home, &["/bin/bash", "-c", &script]);
    let address = address_of_this_machine();
    for (name, value) in [("SITE", site_port.to_string()), ("ABSTRACT", name), ("ADDRESS", address.to_string())] {
        job.env.push((name.to_owned(), value));
    }
    let port = home.path("scratch/port");
    let start = async {
        until("the job tells its port", || port.exists()).await;
        let number: u16 = std::fs::read_to_string(&port).unwrap().trim().parse().unwrap();
        let same_port = TcpListener::bind((Ipv4Addr::UNSPECIFIED, number));
        std::fs::write(home.path(if same_port.is_ok() { "scratch/go" } else { "scratch/taken" }), "").unwrap();
        same_port
    };
    // The test has one thread: blocking waits are for the job only.
    let (done, same_port) = tokio::join!(home.run(job), start);
    assert_eq!((done.exit, done.stdout.text().as_str()), (Exit::Code(0), ""), "{access:?}");
    let same_port = match same_port {
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => return false,
        bound => bound.unwrap(),
    };
    for listener in [&site, &same_port] {
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err(), "{access:?}: somebody got through");
    }
    assert_eq!(hosts(&done), [format!("127.0.0.1:{site_port}")], "what the proxy was asked for is listed");
    // Negative control: without a sandbox the same attempts succeed.
    let off = Home { sandbox: crate::kit::sandbox(Level::Off), ..home };
    let mut job = off.job(&["/bin/bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/$SITE && exec 4<>/dev/tcp/$ADDRESS/$PROXY"]);
    let proxy = same_port.local_addr().unwrap().port().to_string();
    for (name, value) in [("SITE", site_port.to_string()), ("ADDRESS", address.to_string()), ("PROXY", proxy)] {
        job.env.push((name.to_owned(), value));
    }
    assert_eq!(off.run(job).await.exit, Exit::Code(0));
    true
}

/// Returns an address of this machine that is not a loopback one, if there is a route to others.
fn address_of_this_machine() -> std::net::IpAddr {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    // Sends nothing: the system only chooses a route.
    let routed = socket.connect("192.0.2.1:9").and_then(|()| socket.local_addr());
    routed.map_or(Ipv4Addr::LOCALHOST.into(), |address| address.ip())
}

#[tokio::test]
async fn hostile_requests_do_no_harm() {
    if cannot_record().await {
        return;
    }
    let home = home(Level::Standard, HomeAccess::Open);
    let script = r#"
held = []
for n in range(1000):
    s = socket.socket(); s.setblocking(False)
    try: s.connect(("127.0.0.1", PORT))
    except BlockingIOError: pass
    held.append(s)
for s in held: s.close()
print(ask(b"GET http://a.example/ HTTP/1.1\r\nA: " + b"b" * (10 << 20))[:12])
print(ask(os.urandom(3000).replace(b"\r", b"") + b"\r\n\r\n")[:12])
print(ask(b"POST http://body.example/ HTTP/1.1\r\n\r\n" + b"b" * (10 << 20))[:12])
for name in [b"a\r\nX-Injected: y", b"a\x1b[2Jb", b"a\x00b", b"a b", b"a\xe2\x80\xaeb", b"a\xff", b"", b"u:p@c.example", b"../x", b"%0d%0a"]:
    host(name)
host("bücher\u200b.example".encode()); host(b"x" * 5000 + b".example"); host(b"sk-canary-4f9d2c7b81e6a350.example")
print(host(b"last.example")[:12])
"#;
    let done = python(&home, script).await;
    let answers = done.stdout.text();
    assert!(answers.ends_with("b'HTTP/1.1 403'\n"), "{answers} {}", done.stderr.text());
    let listed = hosts(&done);
    for host in &listed {
        assert!(host.len() <= 260 && host.bytes().all(|byte| byte.is_ascii_graphic()), "{host:?}");
    }
    for expected in ["body.example", "last.example", "sk-canary-4f9d2c7b81e6a350.example", "xn--bcher-kva.example"] {
        assert!(listed.contains(&expected), "{expected}: {listed:?}");
    }
    for injected in ["a.example", "a", "ab", "u", "c.example", "x"] {
        assert!(!listed.contains(&injected), "{injected}: {listed:?}");
    }
}

#[tokio::test]
async fn many_hosts_are_counted() {
    if cannot_record().await {
        return;
    }
    let home = home(Level::Standard, HomeAccess::Open);
    let done = python(&home, "for n in range(300): host(b'h%d.example' % n)").await;
    assert_eq!((hosts(&done).len(), done.egress_attempts.more), (MAX_HOSTS, 300 - MAX_HOSTS as u64));
}

#[tokio::test]
async fn time_limit_holds_while_requests_keep_coming() {
    if cannot_record().await {
        return;
    }
    let home = home(Level::Standard, HomeAccess::Open);
    let mark = marker();
    let script = format!(
        "{ASK}
host(b'first.example')
for n in range(4):
    if os.fork() == 0: break
os.system('setsid sleep {mark} &')
while True:
    s = connect(); s.sendall(b'GET http://' + os.urandom(4).hex().encode() + b'.example/ HTTP/1.1\\r\\n\\r\\n')
    if n % 2: s.close()
"
    );
    let job = Job { wall: Duration::from_secs(6), ..recorded(&home, &["/usr/bin/python3", "-c", &script]) };
    let done = home.run(job).await;
    assert_eq!(done.exit, Exit::TimedOut);
    assert!(!done.egress_attempts.is_empty() && done.egress_attempts.hosts.len() <= MAX_HOSTS);
    assert_eq!(processes_with(&mark), 0);
    // A stopped job tells what it asked for, too.
    let cancel = CancellationToken::new();
    let script = "curl -s http://a.example/; touch asked; sleep 1000";
    let job = recorded(&home, &["/bin/bash", "-c", script]);
    let stop = async {
        until("the job has asked", || home.path("scratch/asked").exists()).await;
        cancel.cancel();
    };
    let (done, ()) = tokio::join!(home.sandbox.run(job, cancel.clone()), stop);
    let done = done.unwrap();
    assert_eq!((done.exit, hosts(&done)), (Exit::Cancelled, vec!["a.example"]));
}

#[tokio::test]
async fn request_that_is_not_awaited_is_listed() {
    if cannot_record().await {
        return;
    }
    let home = home(Level::Standard, HomeAccess::Open);
    for _ in 0..20 {
        let script = "exec 3<>/dev/tcp/127.0.0.1/${http_proxy##*:}; printf 'CONNECT a.example:443 HTTP/1.1\\r\\n\\r\\n' >&3; kill -9 $$";
        let done = bash(&home, script).await;
        assert_eq!(done.egress_attempts.hosts, [EgressAttempt { host: "a.example".to_owned(), refused: true }]);
    }
}

/// Runs without a proxy, as a command without network does.
const OFFLINE: &str = "echo \"[$http_proxy]\"; curl -s http://a.example/ || echo offline; (exec 3<>/dev/tcp/127.0.0.1/80) 2>&1 | grep -m1 -o permitted";

fn assert_offline(done: &Finished) {
    let said = (done.stdout.text(), hosts(done));
    assert_eq!(said, ("[]\noffline\npermitted\n".to_owned(), vec![]), "{}", done.stderr.text());
}

/// The server may create a network namespace, and not configure it.
#[tokio::test]
async fn job_runs_unrecorded_without_a_loopback_interface() {
    if !is_root() || !has("setpriv") {
        skipped("a namespace without an interface", "needs root and setpriv");
        return;
    }
    let home = home(Level::Standard, HomeAccess::Open);
    let wrapper = home.path("supervisor");
    let script = format!(
        "#!/bin/sh\nPATH=/usr/bin:/bin exec setpriv --inh-caps=-all --bounding-set=-net_admin {} \"$@\"\n",
        program().display()
    );
    std::fs::write(&wrapper, script).unwrap();
    std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).unwrap();
    let sandbox = Sandbox::new(SandboxConfig { supervisor_exe: wrapper, level: Level::Standard });
    assert_offline(&bash(&Home { sandbox, ..home }, OFFLINE).await);
}

/// The system refuses network namespaces, and nothing else.
#[tokio::test]
async fn job_runs_unrecorded_without_a_network_namespace() {
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
        apply_filter,
    };
    let home = home(Level::Standard, HomeAccess::Open);
    let bit = libc::CLONE_NEWNET as u64;
    let asked = SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(bit), bit).unwrap();
    let rule = SeccompRule::new(vec![asked]).unwrap();
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let rules = [(libc::SYS_unshare, vec![rule])].into();
    // Only for the thread of this test, and what it starts.
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch).unwrap();
    apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();
    assert_offline(&bash(&home, OFFLINE).await);
}
