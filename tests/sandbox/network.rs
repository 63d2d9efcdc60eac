//! A job that is allowed the network can use only the proxy; services of this machine stay unreachable.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use miniclaw::domain::EgressAttempt;
use miniclaw::egress::{Guard, Lookup, Proxy, system_lookup};
use miniclaw::sandbox::{Exit, Finished, Job, Level, Network, SandboxError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

use crate::kit::{Home, HomeAccess, confined_levels, home};

/// A web server that counts its requests.
struct Site {
    address: SocketAddr,
    hits: Arc<AtomicUsize>,
}

async fn site() -> Site {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, hits) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let count = hits.clone();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                let mut head = vec![0; 4096];
                let got = client.read(&mut head).await.unwrap_or(0);
                let head = String::from_utf8_lossy(&head[..got]).to_lowercase();
                let body = if head.contains("proxy-authorization") { "LEAKED" } else { "HELLO" };
                let length = body.len();
                let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
                let _ = client.write_all(answer.as_bytes()).await;
            });
        }
    });
    Site { address, hits }
}

/// A resolver under the test's control: `site.test` and `inside.test` resolve to this machine; `flips.test` has no
/// address on the first lookup and resolves to this machine afterwards.
fn names() -> Lookup {
    let asked = AtomicUsize::new(0);
    Arc::new(move |name| {
        let here: IpAddr = [127, 0, 0, 1].into();
        let found = match name.as_str() {
            "site.test" | "inside.test" => vec![here],
            "flips.test" if asked.fetch_add(1, Ordering::SeqCst) > 0 => vec![here],
            _ => Vec::new(),
        };
        Box::pin(async move { Ok(found) })
    })
}

/// Creates a home whose sandbox has a proxy; on this machine it allows only `site.test`, at the site's port.
async fn online(level: Level, access: HomeAccess, site: &Site) -> Home {
    let home = home(level, access);
    let guard = Guard::new(&[format!("site.test:{}", site.address.port())]);
    let proxy = Proxy::start(guard, names()).await.unwrap();
    Home { sandbox: home.sandbox.clone().with_egress_proxy(Arc::new(proxy)), ..home }
}

async fn bash(home: &Home, site: &Site, script: &str) -> Finished {
    let job = Job { network: Network::Proxied, ..home.job(&["/bin/bash", "-c", script]) };
    let env = [("SITE".to_owned(), site.address.port().to_string())];
    home.run(Job { env: job.env.iter().cloned().chain(env).collect(), ..job }).await
}

#[tokio::test]
async fn allowed_host_is_reached_and_reported() {
    let site = site().await;
    for level in confined_levels() {
        for access in [HomeAccess::Open, HomeAccess::Private] {
            let home = online(level, access, &site).await;
            assert!(home.sandbox.can_network());
            let port = site.address.port();
            let told = [EgressAttempt { host: format!("site.test:{port}"), refused: false }];
            for script in [
                "curl -sS http://site.test:$SITE/",
                "curl -sS --proxytunnel http://site.test:$SITE/",
                "python3 -c 'import os,urllib.request as u; print(u.urlopen(\"http://site.test:\"+os.environ[\"SITE\"]).read().decode(),end=\"\")'",
            ] {
                let done = bash(&home, &site, script).await;
                assert_eq!(done.stdout.text(), "HELLO", "{level:?} {access:?} {script}: {}", done.stderr.text());
                assert_eq!(done.egress_attempts.hosts, told, "{script}");
            }
        }
    }
    assert!(site.hits.load(Ordering::SeqCst) >= 6);
}

/// Requests that must fail although the network is allowed.
const CLOSED: [(&str, &str); 20] = [
    ("this machine directly", "curl -sS --noproxy '*' http://127.0.0.1:$SITE/"),
    ("this machine directly, IPv6", "curl -sS --noproxy '*' http://[::1]:$SITE/"),
    ("this machine by bash", "exec 3<>/dev/tcp/127.0.0.1/$SITE"),
    ("this machine through the proxy", "curl -sSf http://127.0.0.1:$SITE/"),
    ("this machine through a tunnel", "curl -sSf --proxytunnel http://127.0.0.1:$SITE/"),
    ("this machine at a web port", "curl -sSf http://127.0.0.1:8080/"),
    ("localhost", "curl -sSf http://localhost:$SITE/"),
    ("localhost at a web port", "curl -sSf http://localhost/"),
    ("an address in disguise", "curl -sSf http://[::ffff:127.0.0.1]:8080/"),
    ("a name that leads here", "curl -sSf http://inside.test/"),
    ("a name that changes", "curl -sSf http://flips.test/; curl -sSf http://flips.test/"),
    ("a cloud's metadata", "curl -sSf http://169.254.169.254/latest/"),
    ("another port", "curl -sSf --proxytunnel http://example.test:22/"),
    ("the proxy without credentials", "curl -sSf -x ${http_proxy##*@} http://site.test:$SITE/"),
    ("the proxy with wrong credentials", "curl -sSf -x http://job:guess@${http_proxy##*@} http://site.test:$SITE/"),
    (
        "TCP fast open",
        "python3 -c 'import socket,os; socket.socket().sendto(b\"GET / HTTP/1.0\\r\\n\\r\\n\", 0x20000000, (\"127.0.0.1\", int(os.environ[\"SITE\"])))'",
    ),
    (
        "TCP fast open by message",
        "python3 -c 'import socket,os; socket.socket().sendmsg([b\"x\"], [], 0x20000000, (\"127.0.0.1\", int(os.environ[\"SITE\"])))'",
    ),
    (
        "multipath TCP",
        "python3 -c 'import socket,os; socket.socket(2,1,262).connect((\"127.0.0.1\", int(os.environ[\"SITE\"])))'",
    ),
    ("a datagram", "python3 -c 'import socket; socket.socket(2,2).sendto(b\"x\", (\"127.0.0.1\", 53))'"),
    ("listening", "python3 -c 'import socket; s=socket.socket(); s.listen()'"),
];

#[tokio::test]
async fn job_with_network_cannot_reach_this_machine() {
    let site = site().await;
    for level in confined_levels() {
        let home = online(level, HomeAccess::Open, &site).await;
        for (what, script) in CLOSED {
            let done = bash(&home, &site, script).await;
            assert_ne!(done.exit, Exit::Code(0), "{level:?} {what}: {}", done.stdout.text());
            assert!(!done.stdout.text().contains("HELLO"), "{level:?} {what}");
        }
        assert_eq!(site.hits.load(Ordering::SeqCst), 0, "{level:?}: somebody got through");
        let refused =
            bash(&home, &site, "curl -s http://169.254.169.254/ http://inside.test/").await.egress_attempts.hosts;
        let names: Vec<_> = refused.iter().map(|contact| (contact.host.as_str(), contact.refused)).collect();
        assert_eq!(names, [("169.254.169.254", true), ("inside.test", true)]);
        for (path, name) in [("s.sock", "by path")] {
            let socket = std::os::unix::net::UnixListener::bind(home.path(path)).unwrap();
            let script =
                format!("python3 -c 'import socket; socket.socket(1).connect(\"{}\")'", home.path(path).display());
            assert_ne!(bash(&home, &site, &script).await.exit, Exit::Code(0), "{level:?}: a unix socket {name}");
            drop(socket);
        }
    }
    // Negative control: without confinement the first of them is answered.
    let off = home(Level::Off, HomeAccess::Open);
    assert_eq!(bash(&off, &site, CLOSED[0].1).await.stdout.text(), "HELLO");
    assert_eq!(bash(&off, &site, CLOSED[2].1).await.exit, Exit::Code(0));
}

#[tokio::test]
async fn job_without_network_cannot_reach_proxy() {
    let site = site().await;
    for level in confined_levels() {
        let home = online(level, HomeAccess::Open, &site).await;
        let proxy = bash(&home, &site, "echo $HTTPS_PROXY").await.stdout.text();
        assert!(proxy.starts_with("http://job:"), "{proxy}");
        let script = format!("test -z \"$http_proxy\" && curl -sS -x {} http://site.test/", proxy.trim());
        assert_eq!(home.bash(&script).await.exit, Exit::Code(7), "{level:?}: no connection");
        // The credentials of a finished job are invalid.
        let script = format!("curl -sS -o /dev/null -w '%{{http_code}}' -x {} http://site.test:$SITE/", proxy.trim());
        assert_eq!(bash(&home, &site, &script).await.stdout.text(), "407", "{level:?}");
    }
    assert_eq!(site.hits.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn network_needs_the_proxy() {
    for level in confined_levels() {
        let home = home(level, HomeAccess::Open);
        assert!(!home.sandbox.can_network());
        let job = Job { network: Network::Proxied, ..home.job(&["touch", "ran"]) };
        let refused = home.sandbox.run(job, CancellationToken::new()).await;
        assert!(matches!(refused, Err(SandboxError::NoNetwork(_))), "{refused:?}");
        assert!(!home.path("scratch/ran").exists());
    }
}

#[tokio::test]
async fn interpreter_reports_requested_hosts() {
    let site = site().await;
    let home = online(Level::Standard, HomeAccess::Open, &site).await;
    let script = "while read -r host; do curl -s -o /dev/null http://$host/; echo asked; done";
    let job = Job { network: Network::Proxied, ..home.job(&["/bin/bash", "-c", script]) };
    let mut process = home.sandbox.open(job).await.unwrap();
    assert!(process.take_attempts().is_empty());
    process.send("inside.test").await.unwrap();
    process.line(std::time::Duration::from_secs(20)).await;
    assert_eq!(process.take_attempts().hosts, [EgressAttempt { host: "inside.test".into(), refused: true }]);
}

/// The configuration of the server itself: the system's resolver, and no local address allowed.
#[tokio::test]
async fn egress_proxy_refuses_the_server_itself() {
    let site = site().await;
    let home = home(Level::Standard, HomeAccess::Open);
    let proxy = Proxy::start(Guard::new(&[]), system_lookup()).await.unwrap();
    let home = Home { sandbox: home.sandbox.clone().with_egress_proxy(Arc::new(proxy)), ..home };
    for host in ["127.0.0.1:$SITE", "localhost:$SITE", "[::1]:$SITE", "127.0.0.1", "localhost", "0.0.0.0"] {
        let done = bash(&home, &site, &format!("curl -sSf http://{host}/")).await;
        assert_ne!(done.exit, Exit::Code(0), "{host}");
    }
    assert_eq!(site.hits.load(Ordering::SeqCst), 0);
}
