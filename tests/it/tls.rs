//! TLS of the server itself: what clients get, which certificates are refused, and that a renewed one is used.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::http::PATIENCE;
use crate::people;
use crate::script::script;
use crate::world::{PLAIN, World};

/// Whether this machine has the program that makes certificates.
pub fn can_make_certificates() -> bool {
    let is_there = Command::new("openssl").arg("version").output().is_ok_and(|output| output.status.success());
    if !is_there {
        eprintln!("SKIPPED: there is no openssl on this machine");
    }
    is_there
}

/// Makes a certificate for `name` and its key, `{file}.pem` and `{file}.key`, beside the home.
pub fn certify(world: &World, (file, name): (&str, &str), more: &[&str]) {
    let [certificate, key] = ["pem", "key"].map(|ending| beside(world, &format!("{file}.{ending}")));
    let mut command = Command::new("openssl");
    command.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-days", "30", "-subj"]);
    command.arg(format!("/CN={name}")).args(["-keyout", &key, "-out", &certificate]);
    command.args(if more.is_empty() { &["-nodes"][..] } else { more });
    let made = command.output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
}

pub fn beside(world: &World, name: &str) -> String {
    world.home().parent().unwrap().join(name).to_str().unwrap().to_owned()
}

fn der_of(world: &World, file: &str) -> Vec<u8> {
    let pem = std::fs::read_to_string(beside(world, file)).unwrap();
    let text: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    STANDARD.decode(text).unwrap()
}

fn write_pem(world: &World, file: &str, der: &[u8]) {
    let pem = format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(der));
    std::fs::write(beside(world, file), pem).unwrap();
}

/// A client that accepts every certificate.
#[derive(Debug)]
struct AcceptAll;

impl ServerCertVerifier for AcceptAll {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = default_provider().signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, &algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = default_provider().signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, &algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        default_provider().signature_verification_algorithms.supported_schemes()
    }
}

/// Sends a request over TLS. Returns the certificate of the server, and its answer as text.
pub async fn secure(address: SocketAddr, request: &str) -> (Vec<u8>, String) {
    let config = rustls::ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().dangerous();
    let config = config.with_custom_certificate_verifier(Arc::new(AcceptAll)).with_no_client_auth();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    let asked = async {
        let stream = TcpStream::connect(address).await.unwrap();
        let mut stream = connector.connect("desk.lan".try_into().unwrap(), stream).await.unwrap();
        let certificate = stream.get_ref().1.peer_certificates().unwrap()[0].to_vec();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        (certificate, String::from_utf8_lossy(&answer).into_owned())
    };
    tokio::time::timeout(PATIENCE, asked).await.unwrap()
}

async fn plain(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    tokio::time::timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    answer
}

pub fn request(line: &str, host: &str, more: &str) -> String {
    format!("{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n")
}

#[tokio::test]
async fn several_people_use_https_on_an_open_address() {
    let world = people::world("host_names: [desk.lan]").await;
    if !can_make_certificates() {
        return;
    }
    certify(&world, ("a", "desk.lan"), &[]);
    let [certificate, key] = ["a.pem", "a.key"].map(|name| beside(&world, name));
    let arguments = ["--port", "0", "--host", "0.0.0.0", "--tls-cert", &certificate, "--tls-key", &key];
    let server = world.serve_with(&arguments).await;
    let (address, port) = (server.address, server.address.port());
    let host = format!("desk.lan:{port}");

    let (shown, mode) = secure(address, &request("GET /api/auth/mode", &host, "")).await;
    assert_eq!(shown, der_of(&world, "a.pem"));
    let not_for_other_ports = |answer: &str| answer.starts_with("HTTP/1.1 200") && !answer.contains("strict-transport");
    assert!(not_for_other_ports(&mode), "{mode}");
    let (_, here) = secure(address, &request("GET /api/auth/mode", &format!("127.0.0.1:{port}"), "")).await;
    assert!(not_for_other_ports(&here), "{here}");

    let code = people::setup_code(&world).await;
    let posted = async |path: &str, origin: &str, body: &str| {
        let more = format!("Content-Type: application/json\r\nOrigin: {origin}\r\nContent-Length: {}\r\n", body.len());
        secure(address, &(request(&format!("POST {path}"), &host, &more) + body)).await.1
    };
    let https = format!("https://{host}");
    let body = format!("{{\"username\": \"ada\", \"password\": \"{}\", \"setup_code\": \"{code}\"}}", people::PASSWORD);
    let made = posted("/api/auth/register", &https, &body).await;
    assert!(made.starts_with("HTTP/1.1 200"), "{made}");
    let signed_in = posted("/api/auth/login", &https, &body).await;
    assert!(signed_in.contains("HttpOnly; SameSite=Strict; Path=/; Secure\r\n"), "{signed_in}");
    let elsewhere = posted("/api/auth/login", &format!("http://{host}"), &body).await;
    assert!(elsewhere.starts_with("HTTP/1.1 403") && elsewhere.contains("bad_origin"), "{elsewhere}");

    let visit = plain(address, &request("GET /s/1?a=b", &host, "")).await;
    assert!(visit.starts_with("HTTP/1.1 307") && visit.contains(&format!("location: {https}/s/1?a=b\r\n")), "{visit}");
    for (line, host, more) in [
        ("GET /api/sessions", host.as_str(), ""),
        ("GET /", &host, "Authorization: Bearer x\r\n"),
        ("GET /", &host, "Cookie: a=b\r\n"),
        ("GET /", "desk.lan/@evil.example", ""),
        ("GET /", "evil.example\"", ""),
        ("POST /", &host, "Content-Length: 0\r\n"),
        ("DELETE /api/sessions/1", &host, ""),
    ] {
        let refused = plain(address, &request(line, host, more)).await;
        let is_explained = refused.contains("HTTPS only") && !refused.contains("location:");
        assert!(refused.starts_with("HTTP/1.1 400") && is_explained, "{line} {host} {more}: {refused}");
    }
    assert!(!plain(address, "\u{1}\u{2}nonsense\r\n\r\n").await.contains("200 OK"));

    let secret = std::fs::read_to_string(&key).unwrap();
    let lines: Vec<&str> = secret.lines().filter(|line| !line.starts_with("-----")).collect();
    assert!(!lines.is_empty() && lines.iter().all(|line| !world.log().contains(line)));
}

#[tokio::test]
async fn stalled_handshakes_do_not_stop_others() {
    let world = World::new(script([])).await;
    if !can_make_certificates() {
        return;
    }
    certify(&world, ("a", "desk.lan"), &[]);
    world.write("config.yml", format!("{PLAIN}tls_cert: ../a.pem\ntls_key: ../a.key\n"));
    let server = world.serve().await;
    let mut stalled = Vec::new();
    for number in 0..200 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        // Nothing, the first byte of a handshake, or the head of one that never comes.
        let begun: [&[u8]; 3] = [b"", b"\x16", b"\x16\x03\x01\x02\x00\x01"];
        stream.write_all(begun[number % 3]).await.unwrap();
        stalled.push(stream);
    }
    let health = request("GET /health", &server.address.to_string(), "");
    assert!(secure(server.address, &health).await.1.starts_with("HTTP/1.1 200"));
    let (status, _) = server.terminate().await;
    assert!(status.success(), "handshakes do not delay the end");
    drop(stalled);
}

#[tokio::test]
async fn renewed_certificate_is_used_without_restart() {
    let world = World::new(script([])).await;
    if !can_make_certificates() {
        return;
    }
    certify(&world, ("a", "desk.lan"), &[]);
    certify(&world, ("b", "desk.lan"), &[]);
    world.write("config.yml", format!("{PLAIN}tls_cert: ../a.pem\ntls_key: ../a.key\n"));
    let server = world.serve().await;
    let [old, new] = ["a.pem", "b.pem"].map(|file| der_of(&world, file));
    let health = request("GET /health", &server.address.to_string(), "");
    let shown = async || secure(server.address, &health).await.0;
    assert_eq!(shown().await, old);
    // As certbot does: the certificate first, then the key.
    let rename = |from: &str, to: &str| std::fs::rename(beside(&world, from), beside(&world, to)).unwrap();
    rename("b.pem", "a.pem");
    assert_eq!(shown().await, old, "its key is not there yet");
    rename("b.key", "a.key");
    assert_eq!(shown().await, new);
    std::fs::write(beside(&world, "a.pem"), "nonsense").unwrap();
    assert_eq!(shown().await, new, "a damaged file changes nothing");
    std::fs::remove_file(beside(&world, "a.pem")).unwrap();
    assert_eq!(shown().await, new);
    crate::world::eventually("it is said", async || world.log().contains("the former one stays")).await;
}

#[tokio::test]
async fn unusable_certificate_ends_the_start_with_advice() {
    let world = World::new(script([])).await;
    if !can_make_certificates() {
        return;
    }
    certify(&world, ("a", "desk.lan"), &[]);
    certify(&world, ("b", "other.lan"), &[]);
    certify(&world, ("locked", "desk.lan"), &["-passout", "pass:canary"]);
    let text = |file: &str| std::fs::read_to_string(beside(&world, file)).unwrap();
    std::fs::write(beside(&world, "chain.pem"), text("a.pem") + &text("b.pem")).unwrap();
    let der = der_of(&world, "a.pem");
    let times: Vec<usize> =
        (0..der.len() - 2).filter(|&at| der[at..].starts_with(&[0x17, 13])).map(|at| at + 2).collect();
    for (file, time) in [("expired.pem", times[1]), ("future.pem", times[0])] {
        let mut other = der.clone();
        let year = if file == "expired.pem" { b"20" } else { b"49" };
        other[time..time + 2].copy_from_slice(year);
        write_pem(&world, file, &other);
    }
    write_pem(&world, "damaged.pem", &der[..der.len() / 2]);
    for (file, mode) in [("open.key", 0o604), ("closed.key", 0o000)] {
        std::fs::copy(beside(&world, "a.key"), beside(&world, file)).unwrap();
        std::fs::set_permissions(beside(&world, file), std::fs::Permissions::from_mode(mode)).unwrap();
    }
    world.write("workspace/a.key", text("a.key"));
    std::fs::set_permissions(world.path("workspace/a.key"), std::fs::Permissions::from_mode(0o600)).unwrap();
    // Root can read every file.
    let is_root = std::fs::read(beside(&world, "closed.key")).is_ok();
    let home = world.home();
    for (certificate, key, said) in [
        ("none.pem", "a.key", "cannot be read"),
        ("a.pem", "none.key", "tls_key in config.yml"),
        ("a.pem", "closed.key", "deploy hook"),
        ("a.key", "a.key", "has no certificate in PEM format"),
        ("a.pem", "a.pem", "everybody on this machine can read"),
        ("a.pem", "b.key", "is not that of the certificate"),
        ("locked.pem", "locked.key", "openssl pkey"),
        ("a.pem", "open.key", "chmod o-rwx"),
        ("a.pem", "home/workspace/a.key", "commands of the agent could read"),
        ("chain.pem", "a.key", "number 1 was not issued by number 2"),
        ("expired.pem", "a.key", "expired on 2020-"),
        ("future.pem", "a.key", "is valid only from 2049-"),
        ("damaged.pem", "a.key", "is damaged"),
        ("home", "a.key", "not a regular file"),
    ] {
        if is_root && key == "closed.key" {
            continue;
        }
        let [certificate, key] = [certificate, key].map(|file| beside(&world, file));
        let arguments = ["serve", "--port", "0", "--home", home.to_str().unwrap(), "--tls-cert", &certificate];
        let output = world.run(&[&arguments[..], &["--tls-key", &key]].concat()).await;
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(printed.contains(said), "{certificate} {key}: {printed}");
        assert_eq!(output.status.code(), Some(78), "{certificate} {key}: {printed}");
        assert!(text("a.key").lines().filter(|line| !line.starts_with("---")).all(|line| !printed.contains(line)));
        let alone = world.run(&arguments).await;
        assert!(String::from_utf8_lossy(&alone.stderr).contains("--tls-key or tls_key is missing"));
    }
}
