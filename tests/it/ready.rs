//! `/ready` says whether new requests should come to a server: not while it starts, stops, or cannot reach its database.

use std::net::{Ipv4Addr, SocketAddr};

use serde_json::json;
use tokio::net::TcpStream;

use crate::http::{Answer, lasting_port, raw};
use crate::postgres_home::{kept, kept_behind};
use crate::script::script;
use crate::world::{Server, World, eventually};

async fn asked(address: SocketAddr, path: &str) -> Answer {
    raw(address, format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes()).await
}

/// Waits until a server that has just said that it listens is ready, too.
async fn ready(server: &Server<'_>) {
    eventually("it is ready", async || server.get("/ready").await.status() == 200).await;
    assert_eq!(server.get("/ready").await.ok(), json!({"status": "ready"}));
}

#[tokio::test]
async fn ready_server_says_nothing_but_that() {
    let world = World::new(script([])).await.with_env("MINICLAW_TOKEN", "a-long-random-word-0123456789");
    let server = world.serve_with(&["--port", "0", "--host", "0.0.0.0"]).await;
    ready(&server).await;
    let rebound = "GET /ready HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    assert_eq!(raw(server.address, rebound.as_bytes()).await.refused(), (403, "bad_host".to_owned()));
}

#[tokio::test]
async fn starting_server_is_unready_and_other_requests_wait() {
    let Some((database, world)) = kept(World::new(script([])).await).await else { return };
    let held = database.hold("LOCK TABLE homes IN ACCESS EXCLUSIVE MODE").await;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, lasting_port()));
    let port = address.port().to_string();
    let arguments = ["--port", &port];
    let meanwhile = async {
        eventually("it accepts connections", async || TcpStream::connect(address).await.is_ok()).await;
        let early = tokio::spawn(async move { asked(address, "/health").await });
        for _ in 0..3 {
            let unready = asked(address, "/ready").await;
            assert_eq!(unready.head.header("x-content-type-options"), Some("nosniff"));
            assert_eq!(unready.refused(), (503, "starting".to_owned()));
        }
        assert!(!early.is_finished(), "it waits for the start");
        drop(held);
        assert_eq!(early.await.unwrap().ok()["status"], "ok", "the same request is answered after the start");
    };
    let (server, ()) = tokio::join!(world.serve_with(&arguments), meanwhile);
    ready(&server).await;
}

#[tokio::test]
async fn stopping_server_is_unready_first() {
    let Some((database, world)) = kept(World::new(script([])).await).await else { return };
    let server = world.serve().await;
    ready(&server).await;
    // It cannot give the home up meanwhile.
    let held = database.hold("LOCK TABLE homes IN ACCESS EXCLUSIVE MODE").await;
    server.signal(libc::SIGTERM);
    eventually("it is unready", async || server.get("/ready").await.status() == 503).await;
    assert_eq!(server.get("/ready").await.refused(), (503, "shutting_down".to_owned()));
    assert_eq!(server.get("/health").await.status(), 200, "what is under way goes on");
    drop(held);
    eventually("it ends", async || TcpStream::connect(server.address).await.is_err()).await;
}

#[tokio::test]
async fn server_without_its_database_is_unready() {
    let Some((proxy, world)) = kept_behind(World::new(script([])).await).await else { return };
    let server = world.serve().await;
    ready(&server).await;
    proxy.set_down(true);
    eventually("it is unready", async || server.get("/ready").await.status() == 503).await;
    let unready = server.get("/ready").await;
    assert!(!unready.text().contains(&proxy.port.to_string()), "no address is told: {}", unready.text());
    assert_eq!(unready.refused(), (503, "database_unreachable".to_owned()));
    assert_eq!(server.get("/health").await.status(), 200, "the process is well");
    proxy.set_down(false);
    eventually("it is ready again", async || server.get("/ready").await.status() == 200).await;
}
