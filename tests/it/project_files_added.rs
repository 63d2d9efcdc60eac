//! Files of any kind that are uploaded into a project.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::conversations::{data, refused};
use crate::http::Answer;
use crate::project_uploads::{BOUNDARY, file, form, is_empty};
use crate::script::script;
use crate::world::{Server, World, eventually};

const FILES: &str = "/api/projects/scratch/files";

async fn add(server: &Server<'_>, folder: &str, header: (&str, &str), fields: &[Vec<u8>]) -> Answer {
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    let path = format!("{FILES}?path={folder}");
    server.send("POST", &path, &[("Content-Type", &kind), header], &form(fields)).await
}

const PLAIN: (&str, &str) = ("X-Plain", "1");
const NEW: (&str, &str) = ("If-None-Match", "*");

#[tokio::test]
async fn uploaded_file_replaces_and_is_taken_back() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let binary: Vec<u8> = (0..200_000_u32).map(|at| (at % 256) as u8).collect();
    let added = data(&add(&server, "img", NEW, &[file("deep/\u{8336}.bin", &binary), file("b", b"b")]).await);
    assert_eq!(added[0]["path"], "img/deep/茶.bin");
    assert_eq!(fs::read(world.path("scratch/img/deep/茶.bin")).unwrap(), binary);
    assert!(added[1].get("trash").is_none());
    assert_eq!(data(&server.get(&format!("{FILES}/img/b")).await)["etag"], added[1]["etag"]);

    fs::set_permissions(world.path("scratch/img/b"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(refused(&add(&server, "img", NEW, &[file("b", b"new")]).await), (412, "changed_on_disk".to_owned()));
    let stale = add(&server, "img", ("If-Match", "\"0000\""), &[file("b", b"new")]).await;
    assert_eq!(refused(&stale), (412, "changed_on_disk".to_owned()));
    let etag = format!("\"{}\"", added[1]["etag"].as_str().unwrap());
    let replaced = data(&add(&server, "img", ("If-Match", &etag), &[file("b", b"new")]).await);
    assert_eq!(world.read("scratch/img/b"), "new");
    assert_eq!(fs::metadata(world.path("scratch/img/b")).unwrap().permissions().mode() & 0o777, 0o755);
    data(&server.delete(&format!("{FILES}/img/b")).await);
    server.post("/api/files/restore", json!({"trash": replaced[0]["trash"]})).await.ok();
    assert_eq!(world.read("scratch/img/b"), "b");
    assert!(is_empty(&world, "storage/uploads"));
}

#[tokio::test]
async fn upload_leads_nowhere_else() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let outside = tempfile::tempdir().unwrap();
    symlink(outside.path(), world.path("scratch/out")).unwrap();
    symlink(world.path("config.yml"), world.path("scratch/link")).unwrap();
    symlink("loop", world.path("scratch/loop")).unwrap();
    fs::create_dir(world.path("scratch/folder")).unwrap();
    fs::write(world.path("scratch/plain"), "x").unwrap();
    for (folder, path, status) in [
        ("", "../config.yml", 400),
        ("..", "config.yml", 400),
        ("", "/etc/x", 400),
        ("", "link", 403),
        ("", "folder", 403),
        ("out", "x", 403),
        ("", "out/x", 403),
        ("plain", "x", 404),
    ] {
        let answer = add(&server, folder, PLAIN, &[file(path, b"x")]).await;
        assert_eq!(answer.status(), status, "{folder} {path}: {}", answer.text());
    }
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    assert_eq!(world.read("scratch/plain"), "x");
    // A link that leads to itself, which any command can make.
    assert_eq!(refused(&server.get(&format!("{FILES}/loop")).await), (403, "not_allowed".to_owned()));
    let path = format!("{FILES}/loop");
    let written = server.send("PUT", &path, &[("Content-Type", "application/json")], b"{\"content\": \"\"}");
    assert_eq!(refused(&written.await), (403, "not_allowed".to_owned()));
    let beneath = server.get(&format!("{FILES}/plain/x")).await;
    assert!(refused(&beneath).0 == 404 && !beneath.text().contains("os error"), "{}", beneath.text());
    let none =
        server.send("POST", "/api/projects/none/files", &[("Content-Type", "multipart/form-data; boundary=x")], b"");
    assert_eq!(refused(&none.await).0, 404);
    assert_eq!(refused(&server.post(FILES, json!({})).await), (415, "not_form".to_owned()));
    assert!(is_empty(&world, "storage/uploads"));
}

#[tokio::test]
async fn upload_that_breaks_off_leaves_the_old_file() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    fs::write(world.path("scratch/a"), "old").unwrap();
    let whole = form(&[file("a", &[b'x'; 300_000])]);
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    let request = server.request("POST", FILES, &[("Content-Type", &kind)], &whole);
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(&request[..request.len() - 100_000]).await.unwrap();
    eventually("it has begun", async || !is_empty(&world, "storage/uploads")).await;
    drop(stream);
    eventually("nothing is left", async || is_empty(&world, "storage/uploads")).await;
    assert_eq!(world.read("scratch/a"), "old");
}
