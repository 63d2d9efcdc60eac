//! Servers of a cluster that reach each other over TLS.

use crate::http::lasting_port;
use crate::postgres::{TestDatabase, postgres};
use crate::postgres_home::{run, wipe};
use crate::script::script;
use crate::tls::{beside, can_make_certificates, certify, request, secure};
use crate::world::{CONFIG, Server, World, eventually};

const SECRET: &str = "cluster-canary-3e9d54b70c8f41a2d6";
/// Of a certificate that is known by itself.
const OF_THIS_MACHINE: [&str; 5] =
    ["-nodes", "-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"];

/// Returns a server with a certificate of its own, which trusts those in `ca.pem` beside its home.
async fn member(database: &TestDatabase) -> World {
    let world = World::new(script([])).await.with_env("DATABASE_URL", &database.url(""));
    let world = world.with_env("CLUSTER_SECRET", SECRET);
    wipe(&world);
    certify(&world, ("a", "127.0.0.1"), &OF_THIS_MACHINE);
    let port = lasting_port();
    let cluster =
        format!("address: 'https://127.0.0.1:{port}', cluster_secret: '${{CLUSTER_SECRET}}', cluster_ca: ../ca.pem");
    let store = format!("store: {{postgres: '${{DATABASE_URL}}', {cluster}}}\n");
    world.write("config.yml", format!("{CONFIG}port: {port}\ntls_cert: ../a.pem\ntls_key: ../a.key\n{store}"));
    world
}

fn trust(world: &World, of: &World) {
    std::fs::copy(beside(of, "a.pem"), beside(world, "ca.pem")).unwrap();
}

async fn sessions(server: &Server<'_>) -> String {
    let host = server.address.to_string();
    secure(server.address, &request("GET /api/sessions", &host, "")).await.1
}

#[tokio::test]
async fn servers_of_a_cluster_check_their_certificates() {
    let Some(postgres) = postgres().await else { return };
    if !can_make_certificates() {
        return;
    }
    let database = postgres.database().await;
    let (first, second) = (member(&database).await, member(&database).await);
    run(&first, &["db", "migrate", "--home", first.home().to_str().unwrap()]).await;
    trust(&first, &second);
    trust(&second, &first);
    let (with, without) = (first.serve_with(&[]).await, second.serve_with(&[]).await);
    let answer = sessions(&with).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let answer = sessions(&without).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(first.path("workspace").exists() && !second.path("workspace").exists(), "it was passed on");
    // A certificate that it does not know is that of an impostor.
    drop(without);
    trust(&second, &second);
    let without = second.serve_with(&[]).await;
    let answer = sessions(&without).await;
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("home_moving"), "{answer}");
    let said = "no encrypted connection to another server";
    eventually("it is said", async || second.log().contains(said)).await;
    assert!(!second.log().contains(SECRET));
    // Others would speak HTTP with a server that speaks HTTPS only, or trust nobody.
    drop(without);
    let config = second.read("config.yml");
    for (config, reason) in [
        (config.replace("https://", "http://"), "let the address begin with https://"),
        (config.replace("ca.pem", "missing.pem"), "certificates of the other servers of the cluster cannot be checked"),
    ] {
        second.write("config.yml", config);
        let refused = second.run(&["serve", "--home", second.home().to_str().unwrap()]).await;
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(78) && said.contains(reason), "{said}");
    }
}
