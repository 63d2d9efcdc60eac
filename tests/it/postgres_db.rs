//! `miniclaw db`: the tables of a database, and every reason for which a database cannot be used.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::postgres::{PASSWORD, TestDatabase, postgres};
use crate::script::script;
use crate::world::World;

/// How a client asks whether the server encrypts.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// What a command of `miniclaw db` printed, without the password in it.
struct Said {
    code: i32,
    out: String,
    err: String,
}

impl Said {
    fn of(output: &Output) -> Self {
        let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        assert!(!out.contains(PASSWORD) && !err.contains(PASSWORD), "{out}{err}");
        Self { code: output.status.code().unwrap(), out, err }
    }

    fn is_refused_as(&self, code: &str) {
        assert!(
            self.code == 1 && self.err.starts_with(&format!("miniclaw: {code}: ")),
            "{code}: {}{}",
            self.out,
            self.err
        );
    }
}

/// Returns a home whose database is at this address.
async fn home_at(url: &str) -> World {
    let world = World::new(script([])).await.with_env("DATABASE_URL", url);
    world.write("config.yml", "store: {postgres: '${DATABASE_URL}'}\n");
    world
}

async fn db(world: &World, command: &str) -> Said {
    Said::of(&world.run(&["db", command, "--home", world.home().to_str().unwrap()]).await)
}

/// Returns what `miniclaw db status` says of this address.
async fn status(url: &str) -> Said {
    db(&home_at(url).await, "status").await
}

async fn migrated() -> Option<(TestDatabase, World)> {
    let database = postgres().await?.database().await;
    let world = home_at(&database.url("")).await;
    let said = db(&world, "migrate").await;
    assert_eq!(said.code, 0, "{}", said.err);
    Some((database, world))
}

#[tokio::test]
async fn postgres_tables_are_made_by_migrate_only() {
    let Some(server) = postgres().await else { return };
    let world = home_at(&server.database().await.url("")).await;
    let before = db(&world, "status").await;
    before.is_refused_as("database_not_migrated");
    assert!(
        before.err.contains("miniclaw db migrate") && before.out.contains("schema     version 0 of 8"),
        "{}",
        before.out
    );
    let made = db(&world, "migrate").await;
    assert_eq!(
        (made.code, made.out.as_str()),
        (
            0,
            "applied    1 homes\napplied    2 commits\napplied    3 servers\napplied    4 people\n\
             applied    5 accounts\napplied    6 libraries\napplied    7 appends\napplied    8 secrets\nschema     version 8 of 8\n"
        ),
        "{}",
        made.err
    );
    let again = db(&world, "migrate").await;
    assert_eq!((again.code, again.out.as_str()), (0, "schema     version 8 of 8\n"), "{}", again.err);
    let after = db(&world, "status").await;
    assert!(after.code == 0 && after.out.contains("schema     version 8 of 8"), "{}{}", after.out, after.err);
    assert!(after.out.contains("database   miniclaw@127.0.0.1:") && after.out.contains("PostgreSQL "), "{}", after.out);
}

#[tokio::test]
async fn postgres_migrations_at_once_apply_each_once() {
    let Some(server) = postgres().await else { return };
    let world = home_at(&server.database().await.url("")).await;
    let (a, b, c, d) =
        tokio::join!(db(&world, "migrate"), db(&world, "migrate"), db(&world, "migrate"), db(&world, "migrate"));
    let all = [a, b, c, d];
    assert!(all.iter().all(|said| said.code == 0), "{:?}", all.map(|said| said.err));
    let applied: usize = all.iter().map(|said| said.out.matches("applied    1 homes").count()).sum();
    assert_eq!(applied, 1);
}

#[tokio::test]
async fn postgres_failed_migration_leaves_nothing() {
    let Some(server) = postgres().await else { return };
    let database = server.database().await;
    let world = home_at(&database.url("")).await;
    // A type of this name is in the way of the table of the same name.
    database.execute("CREATE TYPE facts AS ENUM ('one')").await;
    db(&world, "migrate").await.is_refused_as("database_failed");
    let status = db(&world, "status").await;
    status.is_refused_as("database_not_migrated");
    assert!(status.out.contains("schema     version 0 of 8"), "{}", status.out);
    database.execute("DROP TYPE facts").await;
    assert_eq!(db(&world, "migrate").await.code, 0);
}

#[tokio::test]
async fn postgres_refusals_of_the_server_have_codes() {
    let Some(server) = postgres().await else { return };
    let database = server.database().await;
    let url = database.url("");
    status(&url.replace(PASSWORD, "wrong")).await.is_refused_as("database_login_refused");
    status(&url.replace(&format!(":{PASSWORD}"), "")).await.is_refused_as("database_login_refused");
    status(&url.replace("miniclaw:", "nobody:")).await.is_refused_as("database_login_refused");
    status(&url.replace(&database.name, "no_such")).await.is_refused_as("database_missing");
    status(&database.url("?options=-c%20search_path%3Dno_such")).await.is_refused_as("database_without_schema");
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    status(&url.replace(&database.port.to_string(), &closed.to_string())).await.is_refused_as("database_unreachable");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port().to_string();
    let mute = database.url("?connect_timeout=1").replace(&database.port.to_string(), &port);
    status(&mute).await.is_refused_as("database_unreachable");
}

#[tokio::test]
async fn postgres_read_only_database_is_refused() {
    let Some((database, world)) = migrated().await else { return };
    database.execute(&format!("ALTER DATABASE {} SET default_transaction_read_only = on", database.name)).await;
    for command in ["status", "migrate"] {
        db(&world, command).await.is_refused_as("database_read_only");
    }
    let host = format!("127.0.0.1:{}", database.port);
    let two = database.url("").replace(&host, &format!("{host},{host}"));
    status(&two).await.is_refused_as("database_read_only");
}

#[tokio::test]
async fn postgres_host_that_answers_is_found() {
    let Some((database, _world)) = migrated().await else { return };
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let host = format!("127.0.0.1:{}", database.port);
    let list = database.url("").replace(&host, &format!("127.0.0.1:{closed},{host}"));
    let said = status(&list).await;
    assert!(said.code == 0 && said.out.contains(&format!("127.0.0.1:{closed},{host}/")), "{}{}", said.out, said.err);
}

#[tokio::test]
async fn postgres_unsafe_commits_need_consent() {
    let Some((database, world)) = migrated().await else { return };
    database.execute(&format!("ALTER DATABASE {} SET synchronous_commit = off", database.name)).await;
    let refused = db(&world, "status").await;
    refused.is_refused_as("database_not_durable");
    assert!(
        refused.err.contains("synchronous_commit is off") && refused.err.contains("accept_loss: true"),
        "{}",
        refused.err
    );
    db(&world, "migrate").await.is_refused_as("database_not_durable");
    world.write("config.yml", "store: {postgres: '${DATABASE_URL}', accept_loss: true}\n");
    let accepted = db(&world, "status").await;
    assert!(accepted.code == 0 && accepted.out.contains("warning    synchronous_commit is off"), "{}", accepted.out);
}

#[tokio::test]
async fn postgres_tables_of_others_are_not_touched() {
    let Some(server) = postgres().await else { return };
    for table in ["books (title text)", "\"schema\" (version integer PRIMARY KEY)"] {
        let database = server.database().await;
        database.execute(&format!("CREATE TABLE {table}")).await;
        let world = home_at(&database.url("")).await;
        for command in ["status", "migrate"] {
            let said = db(&world, command).await;
            said.is_refused_as("database_of_something_else");
            assert!(said.err.contains("books") || said.err.contains("schema"), "{}", said.err);
        }
        database.execute(&format!("DROP TABLE {}", table.split(' ').next().unwrap())).await;
        assert_eq!(db(&world, "migrate").await.code, 0, "nothing was left behind");
    }
}

#[tokio::test]
async fn postgres_tables_of_other_versions_are_refused() {
    let Some((database, world)) = migrated().await else { return };
    database.execute("INSERT INTO \"schema\" VALUES (99, 'later', '\\x00')").await;
    for command in ["status", "migrate"] {
        db(&world, command).await.is_refused_as("database_newer");
    }
    database.execute("DELETE FROM \"schema\" WHERE version = 99; UPDATE \"schema\" SET sha256 = '\\x00'").await;
    for command in ["status", "migrate"] {
        db(&world, command).await.is_refused_as("database_changed");
    }
}

#[tokio::test]
async fn postgres_user_without_rights_is_refused() {
    let Some(server) = postgres().await else { return };
    let database = server.database().await;
    let user = format!("reader_{}", database.name);
    database.execute(&format!("CREATE ROLE {user} LOGIN PASSWORD '{PASSWORD}'")).await;
    let world = home_at(&database.url("").replace("miniclaw:", &format!("{user}:"))).await;
    db(&world, "migrate").await.is_refused_as("database_not_allowed");
}

/// A proxy that speaks TLS for a database that does not. Its certificate is for `localhost`.
struct TlsProxy {
    port: u16,
    certificate: PathBuf,
    /// The number of connections that were encrypted.
    encrypted: Arc<AtomicUsize>,
    _folder: tempfile::TempDir,
}

impl TlsProxy {
    /// Returns `None`, with a printed reason, if this machine cannot make certificates.
    async fn to(database: u16) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let [certificate, key] = ["server.pem", "server.key"].map(|name| folder.path().join(name));
        let mut command = std::process::Command::new("openssl");
        command.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"]);
        command.args([
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost",
            "-addext",
            "basicConstraints=critical,CA:FALSE",
        ]);
        if !command
            .arg("-keyout")
            .arg(&key)
            .arg("-out")
            .arg(&certificate)
            .output()
            .is_ok_and(|made| made.status.success())
        {
            eprintln!("SKIPPED: there is no openssl on this machine");
            return None;
        }
        let chain = vec![CertificateDer::from_pem_file(&certificate).unwrap()];
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let config = config.with_no_client_auth().with_single_cert(chain, PrivateKeyDer::from_pem_file(&key).unwrap());
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config.unwrap()));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, encrypted) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
        let counter = encrypted.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(pass_on(stream, (acceptor.clone(), database), counter.clone()));
            }
        });
        Some(Self { port, certificate, encrypted, _folder: folder })
    }
}

async fn pass_on(
    mut client: TcpStream,
    (acceptor, database): (tokio_rustls::TlsAcceptor, u16),
    encrypted: Arc<AtomicUsize>,
) -> std::io::Result<()> {
    let mut server = TcpStream::connect(("127.0.0.1", database)).await?;
    let mut first = [0; 8];
    client.read_exact(&mut first).await?;
    if first != SSL_REQUEST {
        server.write_all(&first).await?;
        return tokio::io::copy_bidirectional(&mut client, &mut server).await.map(drop);
    }
    client.write_all(b"S").await?;
    let mut client = acceptor.accept(client).await?;
    encrypted.fetch_add(1, Ordering::Relaxed);
    tokio::io::copy_bidirectional(&mut client, &mut server).await.map(drop)
}

#[tokio::test]
async fn postgres_encryption_follows_sslmode() {
    let Some(server) = postgres().await else { return };
    let database = server.database().await;
    let Some(proxy) = TlsProxy::to(database.port).await else { return };
    let url = |host: &str, rest: &str| {
        let url = database.url(rest).replace(&database.port.to_string(), &proxy.port.to_string());
        url.replace("127.0.0.1", host)
    };
    let root = format!("?sslmode=verify-full&sslrootcert={}", proxy.certificate.display());
    for (url, expected) in [
        (url("127.0.0.1", "?sslmode=disable"), 0),
        (url("127.0.0.1", "?sslmode=prefer"), 1),
        (url("127.0.0.1", "?sslmode=require"), 1),
        (url("127.0.0.1", ""), 1),
        (url("localhost", &root), 1),
    ] {
        let before = proxy.encrypted.load(Ordering::Relaxed);
        status(&url).await.is_refused_as("database_not_migrated");
        assert_eq!(proxy.encrypted.load(Ordering::Relaxed) - before, expected, "{url}");
    }
    // A certificate for another name, one of an unknown authority, and authorities that cannot be read.
    let missing = root.replace("server.pem", "missing.pem");
    for url in [url("127.0.0.1", &root), url("localhost", "?sslmode=verify-full"), url("localhost", &missing)] {
        status(&url).await.is_refused_as("database_not_encrypted");
    }
}

/// Nothing of the sign-in may be sent when the encryption that was asked for is refused.
#[tokio::test]
async fn postgres_downgrade_to_plain_text_is_refused() {
    for mode in ["require", "verify-full"] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let answering = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 8];
            stream.read_exact(&mut request).unwrap();
            stream.write_all(b"N").unwrap();
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest);
            rest
        });
        let said = status(&format!("postgres://miniclaw:{PASSWORD}@127.0.0.1:{port}/d?sslmode={mode}")).await;
        said.is_refused_as("database_not_encrypted");
        assert_eq!(answering.join().unwrap(), b"", "{mode}");
    }
}

#[tokio::test]
async fn postgres_server_starts_on_migrated_database_only() {
    let Some(server) = postgres().await else { return };
    let database = server.database().await;
    let config = format!("store: {{postgres: '{}'}}\n", database.url(""));
    let world = World::new(script([])).await;
    world.write("config.yml", &config);
    let said = serve(&world).await;
    assert!(said.code == 78 && said.err.contains("cache_is_a_home"), "{}", said.err);
    std::fs::remove_dir_all(world.path("workspace")).unwrap();
    let said = serve(&world).await;
    assert!(said.code == 78 && said.err.contains("database_not_migrated"), "{}", said.err);
    assert!(!world.path("workspace").exists(), "a refused start makes no home");
    world.write("config.yml", config.replace(&database.port.to_string(), "1"));
    let said = serve(&world).await;
    assert!(said.code == 78 && said.err.contains("database_unreachable"), "{}", said.err);
    let several = World::new(script([])).await.with_env("MINICLAW_JWT_SECRET", "0123456789abcdef0123456789abcdef");
    several.write("config.yml", format!("auth_mode: multi\nstore: {{postgres: '{}'}}\n", database.url("")));
    std::fs::remove_dir_all(several.path("workspace")).unwrap();
    let said = serve(&several).await;
    assert!(said.code == 78 && said.err.contains("database_not_migrated"), "{}", said.err);
    let world = World::new(script([])).await;
    let said = db(&world, "status").await;
    assert!(said.code == 1 && said.err.contains("names no database"), "{}", said.err);
}

async fn serve(world: &World) -> Said {
    Said::of(&world.run(&["serve", "--port", "0", "--home", world.home().to_str().unwrap()]).await)
}

#[tokio::test]
async fn doctor_looks_at_the_database_and_the_machine() {
    let Some(server) = postgres().await else { return };
    let database = server.database().await;
    let world = home_at(&database.url("")).await;
    world.write("config.yml", "find_local_models: false\nstore: {postgres: '${DATABASE_URL}'}\n");
    let doctor = async || Said::of(&world.run(&["doctor", "--home", world.home().to_str().unwrap()]).await);
    let before = doctor().await;
    assert!(before.code == 1 && before.out.contains("problem    its tables have version 0"), "{}", before.out);
    assert_eq!(db(&world, "migrate").await.code, 0);
    let good = doctor().await;
    assert_eq!(good.code, 0, "{}{}", good.out, good.err);
    for line in ["database   PostgreSQL ", "a commit takes ", "pgvector   ", "disk       ", "limits     "] {
        assert!(good.out.contains(line), "{line} is not in {}", good.out);
    }
    assert!(good.out.contains("it is in the database, and its copy is in"), "{}", good.out);
    world.write("config.yml", "find_local_models: false\nstore: {postgres: '${DATABASE_URL}', cache: 'copies'}\n");
    let without = doctor().await;
    assert!(
        without.out.contains("the server makes its copy in") && !without.out.contains("missing; it"),
        "{}",
        without.out
    );
    world.write("config.yml", "find_local_models: false\nstore: {postgres: 'postgres://u:p@127.0.0.1:1/x'}\n");
    let gone = doctor().await;
    assert!(gone.code == 1 && gone.out.contains("problem    database_unreachable: "), "{}", gone.out);
}
