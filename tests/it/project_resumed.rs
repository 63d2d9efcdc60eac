//! Uploads of folders that go on after an interruption: what arrived whole stays, and the project is made whole or not at all.

use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::process::Command;

use crate::conversations::{data, refused};
use crate::http::Answer;
use crate::project_uploads::{BOUNDARY, field, file, form, is_empty};
use crate::script::script;
use crate::world::{Server, World, eventually};

const UPLOADS: &str = "/api/projects/uploads";
const MANY: usize = 20_000;

async fn begin(server: &Server<'_>, name: &str) -> String {
    data(&server.post(UPLOADS, json!({"name": name})).await)["id"].as_str().unwrap().to_owned()
}

fn kind() -> String {
    format!("multipart/form-data; boundary={BOUNDARY}")
}

async fn add(server: &Server<'_>, id: &str, fields: &[Vec<u8>]) -> Answer {
    server.send("POST", &format!("{UPLOADS}/{id}/files"), &[("Content-Type", &kind())], &form(fields)).await
}

async fn commit(server: &Server<'_>, id: &str, body: Value) -> Answer {
    server.post(&format!("{UPLOADS}/{id}/commit"), body).await
}

/// Returns the paths that have arrived.
async fn arrived(server: &Server<'_>, id: &str) -> Vec<String> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = data(&server.get(&format!("{UPLOADS}/{id}?limit=7000&cursor={cursor}")).await)["arrived"].clone();
        let items = page["items"].as_array().unwrap().iter();
        all.extend(items.map(|item| item["path"].as_str().unwrap().to_owned()));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = next.to_owned(),
            None => return all,
        }
    }
}

fn name(at: usize) -> String {
    format!("tea/{:02}/{at}.txt", at % 50)
}

fn content(at: usize) -> Vec<u8> {
    format!("file {at}").into_bytes()
}

/// Sends a batch, and stops after a share of its bytes.
async fn send_a_part(server: &Server<'_>, id: &str, fields: &[Vec<u8>]) -> TcpStream {
    let path = format!("{UPLOADS}/{id}/files");
    let request = server.request("POST", &path, &[("Content-Type", &kind())], &form(fields));
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(&request[..request.len() / 2]).await.unwrap();
    stream
}

/// Uploads 20,000 files, is cut off by `cut` in the middle, and goes on.
async fn resumed(world: &World, server: Server<'_>, cut: impl AsyncFnOnce(Server<'_>, TcpStream)) {
    let id = begin(&server, "").await;
    let all: Vec<Vec<u8>> = (0..MANY).map(|at| file(&name(at), &content(at))).collect();
    let stream = send_a_part(&server, &id, &all).await;
    let tree = world.path(&format!("storage/resumable/{id}/tree/tea"));
    eventually("files have arrived", async || fs::read_dir(&tree).is_ok_and(|mut all| all.nth(30).is_some())).await;
    cut(server, stream).await;

    let server = world.serve().await;
    let there = arrived(&server, &id).await;
    assert!(there.len() > 20 && there.len() < MANY, "{}", there.len());
    assert_eq!(data(&server.get("/api/projects").await)["items"], json!([]));
    let early = commit(&server, &id, json!({"files": MANY})).await;
    assert_eq!(refused(&early), (409, "incomplete".to_owned()));
    let is_there: std::collections::HashSet<&String> = there.iter().collect();
    let rest: Vec<Vec<u8>> = (0..MANY).filter(|at| !is_there.contains(&name(*at))).map(|at| all[at].clone()).collect();
    let bytes: usize = (0..MANY).map(|at| content(at).len()).sum();
    let told = data(&add(&server, &id, &rest).await);
    assert_eq!((&told["files"], &told["bytes"]), (&json!(MANY), &json!(bytes)));
    // The commit waits until all files are on the disk, which takes a slow one longer than a test waits for an answer.
    let synced = Command::new("sync").arg("-f").arg(world.home()).status().await;
    assert!(synced.is_ok_and(|synced| synced.success()));
    let made = data(&commit(&server, &id, json!({"files": MANY, "bytes": bytes})).await);
    assert_eq!((&made["name"], &made["path"]), (&json!("tea"), &json!("tea")));
    for at in [0, 1, 777, MANY / 2, MANY - 1] {
        let below = name(at).replacen("tea/", "workspaces/tea/", 1);
        assert_eq!(world.read(&below).into_bytes(), content(at), "{at}");
    }
    assert!(is_empty(world, "storage/resumable"));
    assert_eq!(refused(&server.get(&format!("{UPLOADS}/{id}")).await), (404, "no_upload".to_owned()));
}

#[tokio::test]
async fn upload_goes_on_after_the_connection_broke() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    resumed(&world, server, async |server, stream| {
        drop(stream);
        server.terminate().await;
    })
    .await;
}

#[tokio::test]
async fn upload_goes_on_after_the_server_was_killed() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    resumed(&world, server, async |server, stream| {
        server.signal(libc::SIGKILL);
        drop(server);
        drop(stream);
    })
    .await;
}

#[tokio::test]
async fn file_that_did_not_arrive_whole_is_not_there() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let id = begin(&server, "Tea").await;
    let large = vec![b'x'; 3 << 20];
    let stream = send_a_part(&server, &id, &[file("small.txt", b"1"), file("large.bin", &large)]).await;
    let listed = async || arrived(&server, &id).await;
    eventually("the first file has arrived", async || listed().await == ["small.txt"]).await;
    drop(stream);
    let parts = format!("storage/resumable/{id}/parts");
    eventually("the rest is discarded", async || is_empty(&world, &parts)).await;
    assert_eq!(listed().await, ["small.txt"]);
    data(&add(&server, &id, &[file("large.bin", &large)]).await);
    data(&commit(&server, &id, json!({"files": 2})).await);
    assert_eq!(fs::read(world.path("workspaces/Tea/large.bin")).unwrap(), large);
}

#[tokio::test]
async fn file_that_changed_between_attempts_is_replaced() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let id = begin(&server, "Tea").await;
    let dated =
        |at: &str, path: &str, content: &[u8]| vec![field("modified", None, at.as_bytes()), file(path, content)];
    let batch: Vec<Vec<u8>> = [dated("1700000000123", "a.txt", b"old"), dated("1700000000456", "b.txt", b"b")].concat();
    data(&add(&server, &id, &batch).await);
    let page = data(&server.get(&format!("{UPLOADS}/{id}")).await)["arrived"]["items"].clone();
    assert_eq!(page[0], json!({"path": "a.txt", "size": 3, "modified": 1_700_000_000_123_i64}));
    data(&add(&server, &id, &dated("1700000009999", "a.txt", b"newer")).await);
    let now = data(&server.get(&format!("{UPLOADS}/{id}")).await);
    assert_eq!((&now["files"], &now["bytes"]), (&json!(2), &json!(6)));
    let gone = server.delete(&format!("{UPLOADS}/{id}/files?path=b.txt")).await;
    assert_eq!(data(&gone)["files"], 1);
    data(&commit(&server, &id, json!({"files": 1, "bytes": 5})).await);
    assert_eq!(world.read("workspaces/Tea/a.txt"), "newer");
    assert!(!world.path("workspaces/Tea/b.txt").exists());
}

#[tokio::test]
async fn two_batches_of_one_upload_arrive_at_once() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let id = begin(&server, "Tea").await;
    let batch = |from: usize| -> Vec<Vec<u8>> {
        (from..from + 200).map(|at| file(&format!("{}/{at}", at % 7), &content(at))).collect()
    };
    let (first, second, same) = (batch(0), batch(100), batch(0));
    let (a, b, c) = tokio::join!(add(&server, &id, &first), add(&server, &id, &second), add(&server, &id, &same));
    for answer in [a, b, c] {
        data(&answer);
    }
    let bytes: usize = (0..300).map(|at| content(at).len()).sum();
    let body = json!({"files": 300, "bytes": bytes});
    // Two commits at once make one project. The one that comes while the other is at it is refused; later, it gets the project.
    let (one, other) = tokio::join!(commit(&server, &id, body.clone()), commit(&server, &id, body.clone()));
    let made: Vec<&Answer> = [&one, &other].into_iter().filter(|answer| answer.status() == 200).collect();
    assert!(!made.is_empty(), "{} {}", one.text(), other.text());
    assert!(made.iter().all(|answer| data(answer)["id"] == id.as_str()));
    assert!([&one, &other].into_iter().all(|answer| matches!(answer.status(), 200 | 404)), "{}", other.text());
    assert_eq!(data(&server.get("/api/projects").await)["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn repeated_commit_returns_the_project_that_it_made() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let id = begin(&server, "Tea").await;
    data(&add(&server, &id, &[file("tea/a.txt", b"a")]).await);
    let body = json!({"files": 1, "bytes": 1});
    let made = data(&commit(&server, &id, body.clone()).await);
    assert_eq!(made["id"], id.as_str(), "the project has the id of the upload");
    // The response was lost, and the client asks again: at once, and after a restart.
    assert_eq!(data(&commit(&server, &id, body.clone()).await), made);
    assert_eq!(refused(&add(&server, &id, &[file("b", b"b")]).await), (404, "no_upload".to_owned()));
    drop(server);
    let server = world.serve().await;
    assert_eq!(data(&commit(&server, &id, body.clone()).await), made);
    assert_eq!(data(&server.get("/api/projects").await)["items"].as_array().unwrap().len(), 1);
    // A project that is deleted is not told of: the upload is over.
    data(&server.delete(&format!("/api/projects/{id}")).await);
    assert_eq!(refused(&commit(&server, &id, body).await), (404, "no_upload".to_owned()));
    data(&server.post(&format!("/api/projects/{id}/restore"), json!({})).await);
    assert_eq!(world.read("workspaces/Tea/a.txt"), "a");
}

#[tokio::test]
async fn commit_that_was_killed_is_completed() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let id = begin(&server, "Tea").await;
    data(&add(&server, &id, &[file("a.txt", b"a"), file("deep/b.txt", b"b")]).await);
    drop(server);
    // As if the server had been killed between the two steps of a commit.
    let entry = json!({"id": id, "name": "Tea", "path": "Tea", "created_at": 1.0, "updated_at": 1.0});
    world.write("projects.json", json!({"projects": [entry]}).to_string());
    let server = world.serve().await;
    assert_eq!(world.read("workspaces/Tea/deep/b.txt"), "b");
    assert_eq!(data(&commit(&server, &id, json!({})).await)["id"], id.as_str());
    assert!(is_empty(&world, "storage/resumable"));
    assert_eq!(data(&server.get(UPLOADS).await), json!({"items": [], "next_cursor": null, "has_more": false}));
}

#[tokio::test]
async fn names_that_no_system_keeps_are_refused_by_name() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let id = begin(&server, "Tea").await;
    let project = data(&server.post("/api/projects", json!({"name": "Other"})).await)["id"].clone();
    let into = format!("/api/projects/{}/files?path=", project.as_str().unwrap());
    for odd in ["a\\b.txt", "..\\x", "deep/a\tb"] {
        let fields = form(&[file(odd, b"x")]);
        for path in [format!("{UPLOADS}/{id}/files"), "/api/projects/upload".to_owned(), into.clone()] {
            let answer = server.send("POST", &path, &[("Content-Type", &kind())], &fields).await;
            assert_eq!(refused(&answer), (400, "bad_path".to_owned()), "{path}: {odd:?}");
            let shown = odd.split(['\\', '\t']).next().unwrap();
            assert!(answer.text().contains(&format!("“{shown}")), "a form has many files: {}", answer.text());
        }
    }
    // The names in archives from Windows: the same files are refused.
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zip.start_file("tea\\b.txt", zip::write::SimpleFileOptions::default()).unwrap();
    let zip = zip.finish().unwrap().into_inner();
    let archive = form(&[field("archive", Some("tea.zip"), &zip)]);
    let answer = server.send("POST", "/api/projects/upload", &[("Content-Type", &kind())], &archive).await;
    assert_eq!(refused(&answer), (400, "bad_archive".to_owned()));
    assert!(answer.text().contains("backslash"), "{}", answer.text());
    // Names that differ only in case or in their Unicode form are different files on this system, and stay so.
    let twins = ["R.txt", "r.txt", "caf\u{e9}", "cafe\u{301}"];
    data(&add(&server, &id, &twins.map(|name| file(name, name.as_bytes()))).await);
    data(&commit(&server, &id, json!({"files": 4})).await);
    for name in twins {
        assert_eq!(world.read(&format!("workspaces/Tea/{name}")), name);
    }
}

#[tokio::test]
async fn refused_file_leaves_the_others() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let id = begin(&server, "Tea").await;
    data(&add(&server, &id, &[file("A.txt", b"A"), file("a.txt", b"a"), file("deep/b", b"b")]).await);
    for (path, status, reason) in [
        ("../../config.yml", 400, "bad_path"),
        ("/etc/passwd", 400, "bad_path"),
        ("deep", 409, "exists"),
        ("a.txt/b", 409, "exists"),
    ] {
        let answer = add(&server, &id, &[file(path, b"x"), file("after", b"x")]).await;
        assert_eq!(refused(&answer), (status, reason.to_owned()), "{path}");
    }
    let deep = vec!["d"; 65].join("/");
    assert_eq!(refused(&add(&server, &id, &[file(&deep, b"x")]).await).0, 403);
    for other in ["", "..", "none", "../../sessions", &"a".repeat(500)] {
        let path = format!("{UPLOADS}/{}/files", other.replace('/', "%2F"));
        let answer = server.send("POST", &path, &[("Content-Type", &kind())], &form(&[file("a", b"x")])).await;
        assert!(answer.status() == 404, "{other}: {}", answer.text());
    }
    assert_eq!(arrived(&server, &id).await, ["A.txt", "a.txt", "deep/b"], "names that differ by case are two files");
    data(&server.post("/api/projects", json!({"name": "tea"})).await);
    assert_eq!(refused(&commit(&server, &id, json!({})).await), (409, "name_taken".to_owned()));
    assert_eq!(data(&commit(&server, &id, json!({"name": "Other"})).await)["name"], "Other");
    assert_eq!((world.read("workspaces/Other/A.txt"), world.read("workspaces/Other/a.txt")), ("A".into(), "a".into()));
    let empty = begin(&server, "Empty").await;
    assert_eq!(refused(&commit(&server, &empty, json!({})).await), (409, "incomplete".to_owned()));
    data(&server.delete(&format!("{UPLOADS}/{empty}")).await);
    assert!(is_empty(&world, "storage/resumable"));
}

#[tokio::test]
async fn uploads_are_bounded_and_expire() {
    let world = World::new(script([])).await;
    let (old, new) = {
        let server = world.serve().await;
        let mut ids = Vec::new();
        for at in 0..4 {
            ids.push(begin(&server, &format!("u{at}")).await);
        }
        assert_eq!(refused(&server.post(UPLOADS, json!({})).await), (503, "too_many_uploads".to_owned()));
        assert_eq!(data(&server.get(UPLOADS).await)["items"].as_array().unwrap().len(), 4);
        data(&add(&server, &ids[0], &[file("a", b"a")]).await);
        server.terminate().await;
        (ids[0].clone(), ids[1].clone())
    };
    let about = |id: &str| world.path(&format!("storage/resumable/{id}/upload.json"));
    let long_ago = |id: &str, hours: u64| {
        let opened = fs::File::options().write(true).open(about(id)).unwrap();
        opened.set_modified(SystemTime::now() - Duration::from_secs(hours * 3600)).unwrap();
    };
    long_ago(&old, 25);
    long_ago(&new, 2);
    let server = world.serve().await;
    assert_eq!(refused(&server.get(&format!("{UPLOADS}/{old}")).await), (404, "no_upload".to_owned()));
    assert!(!about(&old).exists(), "a day without a file");
    begin(&server, "a fourth").await;
    begin(&server, "instead of the oldest").await;
    assert!(!about(&new).exists(), "it was idle");
    assert_eq!(refused(&server.post(UPLOADS, json!({})).await).0, 503);
    // A system that was started again may have lost contents.
    let id = data(&server.get(UPLOADS).await)["items"][0]["id"].as_str().unwrap().to_owned();
    server.terminate().await;
    let text = fs::read_to_string(about(&id)).unwrap();
    let mut info: Value = serde_json::from_str(&text).unwrap();
    info["boot"] = json!("an earlier start");
    fs::write(about(&id), info.to_string()).unwrap();
    let server = world.serve().await;
    assert_eq!(refused(&server.get(&format!("{UPLOADS}/{id}")).await).0, 404);
}
