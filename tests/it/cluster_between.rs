//! What stands between clients, servers and the database, or beside them: HAProxy, PgBouncer, and clocks.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::cluster_rolling::{Address, Load, addresses, started};
use crate::cluster_world::{Client, Cluster, Door, Network, is_temporary};
use crate::http::{Answer, lasting_port};
use crate::postgres_store::Pooler;
use crate::script::{always, says, script};
use crate::world::{CONFIG, eventually};

/// The library that fakes clocks, where Debian and others have it.
const FAKETIME: [&str; 3] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib64/faketime/libfaketime.so.1",
];

/// HAProxy in front of servers.
struct Balancer {
    address: SocketAddr,
    process: Child,
    _folder: tempfile::TempDir,
}

impl Drop for Balancer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Balancer {
    fn of(servers: &[Address]) -> Option<Self> {
        let program = ["/usr/sbin/haproxy", "/usr/bin/haproxy", "/usr/local/sbin/haproxy"];
        let Some(program) = program.into_iter().find(|path| Path::new(path).is_file()) else {
            eprintln!("SKIPPED: there is no haproxy here; scripts/install-tools.sh cluster installs it");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], lasting_port()));
        let lines = servers.iter().enumerate().map(|(at, server)| format!("    server s{at} {}\n", server.0));
        let text = format!(
            "defaults\n    mode http\n    timeout connect 5s\n    timeout client 90s\n    timeout server 90s\n    retries 2\n    option \
             redispatch\n    retry-on conn-failure\nfrontend page\n    bind {address}\n    http-request del-header X-Forwarded-For\n    \
             http-request set-header X-Forwarded-Proto http\n    option forwardfor\n    http-request set-header Host localhost\n    \
             default_backend servers\nbackend servers\n    balance roundrobin\n    option httpchk\n    http-check send meth GET uri \
             /health ver HTTP/1.1 hdr Host localhost\n    default-server check inter 1s fall 2 rise 1 on-marked-down \
             shutdown-sessions\n{}",
            lines.collect::<String>()
        );
        let file = folder.path().join("haproxy.cfg");
        std::fs::write(&file, text).unwrap();
        let process = Command::new(program).arg("-db").arg("-f").arg(&file).stdin(Stdio::null()).spawn().unwrap();
        Some(Self { address, process, _folder: folder })
    }
}

/// What a client of a load balancer asks. Also the balancer itself refuses, while it does not know yet that a server has ended.
struct Front(Address);

impl Door for Front {
    fn address(&self) -> SocketAddr {
        self.0.address()
    }

    fn bytes(&self, request: (&str, &str), headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
        self.0.bytes(request, headers, body)
    }

    fn is_temporary(&self, answer: &Answer) -> bool {
        is_temporary(answer) || [502, 503, 504].contains(&answer.status()) && answer.text().starts_with("<html>")
    }
}

#[tokio::test]
async fn cluster_kills_behind_haproxy_lose_nothing() {
    let kills = std::env::var("MINICLAW_KILLS").ok().and_then(|n| n.parse::<u64>().ok()).map_or(2, |kills| kills / 10);
    let load = Load::of(3);
    let config = format!("{CONFIG}host_names: [localhost]\ntrusted_proxies: [127.0.0.1]\n");
    let script = |effects: &Path| load.script(effects);
    let Some(cluster) = Cluster::new(3, (&config, Network::Direct), script).await else { return };
    let Some(balancer) = Balancer::of(&addresses(&cluster)) else { return };
    let mut servers = started(&cluster).await;
    let front = Front(Address(balancer.address));
    let kill = async {
        for _ in 0..kills {
            load.goes_on().await;
            let owner = cluster.owner().await.unwrap_or(0);
            servers[owner] = None;
            load.goes_on().await;
            servers[owner] = Some(cluster.serve(owner).await);
        }
    };
    let clients = load.during(&[&front], kill).await;
    cluster.check_all(&clients.iter().collect::<Vec<_>>(), "after").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_kills_with_pgbouncer_keeping_sessions_lose_nothing() {
    let kills = std::env::var("MINICLAW_KILLS").ok().and_then(|n| n.parse::<u64>().ok()).map_or(2, |kills| kills / 10);
    let load = Load::of(3);
    let script = |effects: &Path| load.script(effects);
    let Some(cluster) = Cluster::new(2, (CONFIG, Network::Direct), script).await else { return };
    let Some(pooler) = Pooler::to(&cluster.database, ("session", 60)) else { return };
    let url = cluster.database.url("?sslmode=disable");
    let url = url.replace(&format!(":{}/", cluster.database.port), &format!(":{}/", pooler.port));
    eventually("the pooler answers", async || tokio_postgres::connect(&url, tokio_postgres::NoTls).await.is_ok()).await;
    let cluster = cluster.with_env("DATABASE_URL", &url);
    let mut servers = started(&cluster).await;
    let addresses = addresses(&cluster);
    let kill = async {
        for _ in 0..kills {
            load.goes_on().await;
            let owner = cluster.owner().await.unwrap_or(0);
            servers[owner] = None;
            load.goes_on().await;
            servers[owner] = Some(cluster.serve(owner).await);
        }
    };
    let clients = load.during(&addresses.iter().collect::<Vec<_>>(), kill).await;
    cluster.check_all(&clients.iter().collect::<Vec<_>>(), "after").await;
}

#[tokio::test]
async fn cluster_clock_that_jumps_moves_nothing() {
    let Some(library) = FAKETIME.into_iter().find(|path| Path::new(path).is_file()) else {
        eprintln!("SKIPPED: there is no libfaketime here; scripts/install-tools.sh cluster installs it");
        return;
    };
    let answers = |_: &Path| script([always(says(["Yes."]))]);
    let Some(cluster) = Cluster::new(2, (CONFIG, Network::Direct), answers).await else { return };
    let folder = tempfile::tempdir().unwrap();
    let clock = folder.path().join("clock");
    let set = |offset: &str| {
        let new = folder.path().join("new");
        std::fs::write(&new, format!("{offset}\n")).unwrap();
        std::fs::rename(&new, &clock).unwrap();
    };
    set("+0");
    let wrong = cluster.members[0].world.serve_prepared(&["--sandbox", "off"], |command| {
        command.env("LD_PRELOAD", library).env("FAKETIME_TIMESTAMP_FILE", &clock);
        command.env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    });
    let wrong = wrong.await;
    let mut client = Client::default();
    client.say(&[&wrong], "message 0.").await;
    client.read_to_the_end(&[&wrong]).await;
    assert_eq!(cluster.owner().await, Some(0), "the one with the wrong clock has the home");
    let right = cluster.serve(1).await;
    let (fence, mut number) = (cluster.fence().await, 1);
    for offset in ["+10m", "-10m", "+0", "-10m", "+10m"] {
        set(offset);
        for server in [&wrong, &right] {
            client.say(&[server], &format!("message {number}.")).await;
            client.read_to_the_end(&[server]).await;
            number += 1;
        }
        // A beat by the clock of the database: nobody was late.
        assert_eq!(cluster.ask("SELECT address FROM servers WHERE NOT dead").await.len(), 2, "{offset}");
    }
    let history = right.get("/api/sessions/s/history").await.ok();
    let times = history["messages"].as_array().unwrap().iter().filter_map(|message| message["created_at"].as_f64());
    let (earliest, latest) = times.fold((f64::MAX, f64::MIN), |(low, high), at| (low.min(at), high.max(at)));
    assert!(latest - earliest > 1_000.0, "the clock did jump: {}", json!([earliest, latest]));
    assert_eq!((cluster.owner().await, cluster.fence().await), (Some(0), fence), "nobody took the home over");
    cluster.check(&client, "after").await;
}
