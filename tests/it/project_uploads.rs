//! Folders that are uploaded as projects: written as they arrive, whole or not at all.

use std::fs;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::conversations::{data, refused};
use crate::http::Answer;
use crate::script::script;
use crate::world::{Server, World, eventually};

const UPLOAD: &str = "/api/projects/upload";
pub const BOUNDARY: &str = "XyZ0123";

/// A field of a form: a file if it has a path.
pub fn field(name: &str, path: Option<&str>, content: &[u8]) -> Vec<u8> {
    let file = path.map(|path| format!("; filename=\"{path}\"")).unwrap_or_default();
    let head = format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n");
    [head.as_bytes(), content, b"\r\n"].concat()
}

pub fn file(path: &str, content: &[u8]) -> Vec<u8> {
    field("files", Some(path), content)
}

pub fn form(fields: &[Vec<u8>]) -> Vec<u8> {
    [&fields.concat()[..], format!("--{BOUNDARY}--\r\n").as_bytes()].concat()
}

async fn send(server: &Server<'_>, fields: &[Vec<u8>]) -> Answer {
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    server.send("POST", UPLOAD, &[("Content-Type", &kind)], &form(fields)).await
}

pub fn is_empty(world: &World, folder: &str) -> bool {
    fs::read_dir(world.path(folder)).map_or(true, |mut entries| entries.next().is_none())
}

#[tokio::test]
async fn uploaded_folder_becomes_a_project() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let large: Vec<u8> = (0..3 << 20).map(|at: u32| (at % 251) as u8).collect();
    let fields = [
        file("site/index.html", b"<h1>hi</h1>"),
        file("site/img/\u{8336}.bin", &large),
        file("site/.gitignore", b""),
        field("description", None, b"A site"),
    ];
    let made = data(&send(&server, &fields).await);
    let told = [&made["name"], &made["path"], &made["description"]];
    assert_eq!(told, [&json!("site"), &json!("site"), &json!("A site")]);
    assert_eq!(fs::read(world.path("workspaces/site/img/茶.bin")).unwrap(), large);
    assert_eq!(world.read("workspaces/site/.gitignore"), "");
    assert_eq!(refused(&send(&server, &fields).await), (409, "name_taken".to_owned()));

    let named = [field("name", None, b"Other"), file("a.txt", b"1"), file("deep/b.txt", b"2")];
    assert_eq!(data(&send(&server, &named).await)["name"], "Other");
    assert_eq!(
        (world.read("workspaces/Other/a.txt"), world.read("workspaces/Other/deep/b.txt")),
        ("1".into(), "2".into())
    );
    assert!(is_empty(&world, "storage/uploads"));
}

#[tokio::test]
async fn refused_upload_leaves_nothing() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let named = |more: Vec<u8>| [field("name", None, b"Tea"), file("tea/a.txt", b"1"), more];
    for (more, status, reason) in [
        (file("../../config.yml", b"x"), 400, "bad_path"),
        (file("/etc/passwd", b"x"), 400, "bad_path"),
        (file("tea\\..\\b", b"x"), 400, "bad_path"),
        (file("tea/a.txt", b"2"), 409, "exists"),
        (file("tea/a.txt/b", b"2"), 409, "exists"),
        (field("name", None, b"a\tb"), 400, "bad_project_name"),
        (field("description", None, &[b'x'; 70_000]), 400, "bad_form"),
        (field("description", None, &[0xff]), 400, "bad_form"),
    ] {
        let answer = send(&server, &named(more)).await;
        assert_eq!(refused(&answer), (status, reason.to_owned()));
    }
    assert_eq!(refused(&send(&server, &[field("name", None, b"Tea")]).await), (400, "no_files".to_owned()));
    assert_eq!(refused(&server.post(UPLOAD, json!({})).await), (415, "not_form".to_owned()));
    let other_site = [("Content-Type", "multipart/form-data; boundary=x"), ("Origin", "http://evil.example")];
    assert_eq!(refused(&server.send("POST", UPLOAD, &other_site, b"").await).0, 403);
    assert_eq!(data(&server.get("/api/projects").await)["items"], json!([]));
    eventually("nothing is left", async || is_empty(&world, "storage/uploads")).await;
    assert!(is_empty(&world, "workspaces"));
}

/// Sends the beginning of an upload and waits until its first file has arrived.
async fn begin(world: &World, server: &Server<'_>) -> TcpStream {
    let whole = form(&[file("tea/a.txt", b"1"), file("tea/b.txt", &[b'x'; 100_000])]);
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    let request = server.request("POST", UPLOAD, &[("Content-Type", &kind)], &whole);
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(&request[..request.len() - 50_000]).await.unwrap();
    eventually("a file has arrived", async || !is_empty(world, "storage/uploads")).await;
    stream
}

#[tokio::test]
async fn uploaded_archive_becomes_a_project() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    let mut header = tar::Header::new_gnu();
    header.set_size(3);
    header.set_mode(0o644);
    tar.append_data(&mut header, "tea/notes/a.txt", &b"one"[..]).unwrap();
    let archive = tar.into_inner().unwrap().finish().unwrap();
    let send_archive = async |name: &str, bytes: &[u8]| send(&server, &[field("archive", Some(name), bytes)]).await;
    let made = data(&send_archive("download.tar.gz", &archive).await);
    assert_eq!((&made["name"], world.read("workspaces/tea/notes/a.txt")), (&json!("tea"), "one".to_owned()));
    for (name, bytes) in [("a.rar", &archive[..]), ("a.zip", &archive), ("b.tgz", &archive[..archive.len() / 2])] {
        assert_eq!(refused(&send_archive(name, bytes).await), (400, "bad_archive".to_owned()), "{name}");
    }
    assert_eq!(data(&server.get("/api/projects").await)["items"].as_array().unwrap().len(), 1);
    eventually("nothing is left", async || is_empty(&world, "storage/uploads")).await;
}

#[tokio::test]
async fn upload_that_is_cut_off_leaves_nothing() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    drop(begin(&world, &server).await);
    eventually("nothing is left", async || is_empty(&world, "storage/uploads")).await;
    let stream = begin(&world, &server).await;
    server.signal(libc::SIGKILL);
    drop(server);
    drop(stream);
    assert!(!is_empty(&world, "storage/uploads"), "it was killed in the middle");
    let server = world.serve().await;
    assert!(is_empty(&world, "storage/uploads"));
    assert_eq!(data(&server.get("/api/projects").await)["items"], Value::Array(Vec::new()));
}
