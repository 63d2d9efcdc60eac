//! What a session and each of its works changed in files, and the contents before and after.

use serde_json::{Value, json};

use crate::script::{call, calls, says, script};
use crate::world::{Server, World};

/// A PNG of one pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde";

fn create(id: &str, path: &str, content: &str) -> Value {
    call(id, "create_file", json!({"path": path, "content": content}))
}

fn edit(id: &str, path: &str, (search, replace): (&str, &str)) -> Value {
    call(id, "edit_file", json!({"path": path, "edits": [{"search": search, "replace": replace}]}))
}

fn delete(id: &str, path: &str) -> Value {
    call(id, "delete_file", json!({"path": path}))
}

/// Returns a world whose works make these calls, one list for each question.
async fn world<const N: usize>(works: [Vec<Value>; N]) -> World {
    let replies = works.into_iter().flat_map(|made| [calls(made), says(["Done."])]);
    World::new(script(replies)).await
}

async fn ask(server: &Server<'_>, questions: &[&str]) {
    for question in questions {
        server.chat("s", question).await;
        server.settled("s").await;
    }
}

async fn changes(server: &Server<'_>) -> Value {
    server.get("/api/sessions/s/changes").await.ok()
}

fn encoded(path: &str) -> String {
    path.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

async fn content(server: &Server<'_>, path: &str, side: &str) -> crate::http::Answer {
    server.get(&format!("/api/sessions/s/changes/content?path={}&side={side}", encoded(path))).await
}

/// Returns `[path, kind, added, removed]` of each file.
fn told(changes: &Value) -> Vec<Value> {
    let files = changes["files"].as_array().unwrap();
    files.iter().map(|file| json!([file["path"], file["kind"], file["added"], file["removed"]])).collect()
}

#[tokio::test]
async fn net_change_of_each_file_is_listed() {
    let spaced = "knowledge/with space/说明 1.md";
    let world = world([
        vec![
            create("n", spaced, "one\ntwo\n"),
            edit("e1", "knowledge/a.md", ("one", "1")),
            delete("d", "knowledge/x.bin"),
        ],
        vec![edit("e2", "knowledge/a.md", ("two", "2")), create("t", "knowledge/tmp.md", "x")],
        vec![delete("u", "knowledge/tmp.md")],
    ])
    .await
    .with_file("knowledge/a.md", "one\ntwo\n");
    world.write("knowledge/x.bin", [0, 255, 1]);
    let server = world.serve().await;
    ask(&server, &["first", "second", "third"]).await;
    let all = changes(&server).await;
    let expected = [
        json!(["knowledge/a.md", "changed", 2, 2]),
        json!([spaced, "created", 2, 0]),
        json!(["knowledge/x.bin", "deleted", null, null]),
    ];
    assert_eq!(told(&all), expected);
    let works = all["works"].as_array().unwrap();
    let prompts: Vec<&str> = works.iter().map(|work| work["prompt"].as_str().unwrap()).collect();
    assert_eq!((prompts, all["problems"].clone()), (vec!["first", "second", "third"], json!([])));
    let [first, second] = [0, 1].map(|n| works[n]["work_id"].as_str().unwrap().to_owned());
    let a = &all["files"][0];
    assert_eq!(a["works"], json!([{"work_id": first, "calls": ["e1"]}, {"work_id": second, "calls": ["e2"]}]));
    assert_eq!((&a["changed_since"], &a["undo"]), (&json!(false), &json!("possible")));
    assert_eq!((&a["before"]["size"], &a["before"]["content"]), (&json!(8), &json!("text")));
    assert_eq!(all["files"][2]["before"]["content"], "binary");
    assert_eq!(all["files"][2]["after"], Value::Null);

    let one = server.get(&format!("/api/sessions/s/changes?work_id={first}")).await.ok();
    assert_eq!(told(&one)[0], json!(["knowledge/a.md", "changed", 1, 1]));
    assert_eq!((&one["files"][0]["changed_since"], &one["files"][0]["undo"]), (&json!(true), &json!("changed")));
    let two = server.get(&format!("/api/sessions/s/changes?work_id={second}")).await.ok();
    let created = json!(["knowledge/tmp.md", "created", 1, 0]);
    assert_eq!(told(&two), [json!(["knowledge/a.md", "changed", 1, 1]), created]);
    assert_eq!(two["files"][1]["deleted_since"], true, "a later work deleted it");
    let before = format!("/api/sessions/s/changes/content?path=knowledge/a.md&side=before&work_id={second}");
    assert_eq!(server.get(&before).await.text(), "1\ntwo\n", "the first work had changed it already");
}

#[tokio::test]
async fn contents_are_served_by_their_kind() {
    let world = world([vec![
        delete("p", "knowledge/p.png"),
        delete("x", "knowledge/x.bin"),
        delete("h", "knowledge/h.html"),
        create("n", "knowledge/说明 1.md", "new\n"),
    ]])
    .await
    .with_file("knowledge/h.html", "<script>alert(1)</script>");
    world.write("knowledge/p.png", PNG);
    world.write("knowledge/x.bin", [0, 255, 1]);
    let server = world.serve().await;
    ask(&server, &["go"]).await;
    for (path, side, kind, bytes) in [
        ("knowledge/p.png", "before", "image/png", PNG),
        ("knowledge/x.bin", "before", "application/octet-stream", &[0, 255, 1]),
        ("knowledge/h.html", "before", "text/plain; charset=utf-8", b"<script>alert(1)</script>"),
        ("knowledge/说明 1.md", "after", "text/plain; charset=utf-8", b"new\n"),
    ] {
        let answer = content(&server, path, side).await;
        assert_eq!((answer.status(), answer.body.as_slice()), (200, bytes), "{path}");
        let header = |name| answer.head.header(name).unwrap_or_default().to_owned();
        assert_eq!((header("content-type").as_str(), header("x-content-type-options").as_str()), (kind, "nosniff"));
        assert!(header("content-security-policy").contains("default-src 'none'; "), "{path}");
        let saved = kind == "application/octet-stream";
        assert_eq!(header("content-disposition"), if saved { "attachment" } else { "inline" });
    }
    let png = changes(&server).await["files"]
        .as_array()
        .unwrap()
        .iter()
        .find(|file| file["path"] == "knowledge/p.png")
        .cloned();
    let png = png.unwrap()["before"].take();
    assert_eq!(
        (&png["content"], &png["width"], &png["media_type"]),
        (&json!("picture"), &json!(1), &json!("image/png"))
    );

    for (path, side, refused) in [
        ("knowledge/p.png", "after", (404, "not_found")),
        ("knowledge/none.md", "before", (404, "not_found")),
        ("knowledge/../../x", "before", (400, "bad_path")),
        ("knowledge/a\nb.md", "before", (400, "bad_path")),
        ("config.yml", "before", (403, "not_allowed")),
        ("/etc/passwd", "before", (400, "bad_path")),
    ] {
        let (status, code) = content(&server, path, side).await.refused();
        assert_eq!((status, code.as_str()), refused, "{path:?}");
    }
    assert_eq!(content(&server, "knowledge/p.png", "between").await.refused().0, 400);
}

#[tokio::test]
async fn undo_and_later_edits_are_seen() {
    let world = world([vec![
        edit("e1", "knowledge/a.md", ("one", "1")),
        create("n", "knowledge/n.md", "n\n"),
        create("m", "knowledge/m.md", "m\n"),
    ]])
    .await
    .with_file("knowledge/a.md", "one\n");
    let server = world.serve().await;
    ask(&server, &["go"]).await;
    server.post("/api/sessions/s/operations/e1/undo", json!({})).await.ok();
    let paths = |changes: &Value| told(changes).into_iter().map(|file| file[0].clone()).collect::<Vec<_>>();
    assert_eq!(paths(&changes(&server).await), [json!("knowledge/m.md"), json!("knowledge/n.md")]);
    assert_eq!(content(&server, "knowledge/a.md", "before").await.refused(), (404, "not_found".to_owned()));
    server.post("/api/sessions/s/operations/e1/undo", json!({})).await.ok();
    assert_eq!(paths(&changes(&server).await)[0], "knowledge/a.md", "it is redone");

    world.write("knowledge/n.md", "n\nand mine\n");
    std::fs::remove_file(world.path("knowledge/m.md")).unwrap();
    let now = changes(&server).await;
    let since = |at: usize| {
        let file = &now["files"][at];
        json!([file["path"], file["changed_since"], file["deleted_since"], file["undo"]])
    };
    assert_eq!(since(0), json!(["knowledge/a.md", false, false, "possible"]));
    assert_eq!(since(1), json!(["knowledge/m.md", true, true, "changed"]));
    assert_eq!(since(2), json!(["knowledge/n.md", true, false, "changed"]));
    assert_eq!(content(&server, "knowledge/n.md", "after").await.text(), "n\n", "what the call left");
}

#[tokio::test]
async fn executable_bit_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let world = world([vec![delete("d", "knowledge/run.sh")]]).await.with_file("knowledge/run.sh", "#!/bin/sh\n");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(world.path("knowledge/run.sh"), executable).unwrap();
    let server = world.serve().await;
    ask(&server, &["go"]).await;
    assert_eq!(changes(&server).await["files"][0]["before"]["executable"], true);
}

#[tokio::test]
async fn damaged_and_foreign_records_are_named() {
    let world = world([vec![create("a", "knowledge/a.md", "a\n"), create("b", "knowledge/b.md", "bb\n")]]).await;
    let server = world.serve().await;
    ask(&server, &["go"]).await;
    let folder = world.path("sessions/changes/s");
    let own = std::fs::read(folder.join("a.json")).unwrap();
    std::fs::write(folder.join("a.json"), own.iter().map(u8::to_ascii_uppercase).collect::<Vec<_>>()).unwrap();
    for blob in std::fs::read_dir(folder.join("blobs")).unwrap().map(|entry| entry.unwrap().path()) {
        if std::fs::read(&blob).unwrap() == b"bb\n" {
            std::fs::write(&blob, "tampered").unwrap();
        }
    }
    let found = changes(&server).await;
    assert_eq!((&found["problems"][0]["call_id"], &found["problems"][0]["problem"]), (&json!("a"), &json!("foreign")));
    let b = &found["files"][0];
    assert_eq!((&b["path"], &b["after"]["content"]), (&json!("knowledge/b.md"), &json!("damaged")));
    assert_eq!((&b["after"]["size"], &b["added"]), (&Value::Null, &Value::Null));
    let refused = content(&server, "knowledge/b.md", "after").await;
    assert!(refused.text().contains("no intact copy of knowledge/b.md"), "{}", refused.text());
    assert_eq!(refused.refused(), (404, "not_found".to_owned()));
    std::fs::remove_file(folder.join("a.json")).unwrap();
    assert_eq!(changes(&server).await["problems"][0]["problem"], "missing");
}

#[tokio::test]
async fn content_above_the_limit_is_refused_with_its_size() {
    let world = world([vec![create("a", "knowledge/a.md", "a\n")]]).await;
    let server = world.serve().await;
    ask(&server, &["go"]).await;
    let blobs = world.path("sessions/changes/s/blobs");
    let blob = std::fs::read_dir(blobs).unwrap().next().unwrap().unwrap().path();
    std::fs::File::create(blob).unwrap().set_len(11 << 20).unwrap();
    let after = changes(&server).await["files"][0]["after"].take();
    assert_eq!((&after["content"], &after["size"]), (&json!("too_large"), &json!(11 << 20)));
    let refused = content(&server, "knowledge/a.md", "after").await;
    assert!(refused.text().contains("11534336 bytes"), "{}", refused.text());
    assert_eq!(refused.refused(), (413, "too_large".to_owned()));
}

#[tokio::test]
async fn compacted_changes_stay_listed() {
    let world = world([vec![create("a", "knowledge/a.md", "a\n")], vec![], vec![]]).await;
    let server = world.serve().await;
    ask(&server, &["first"]).await;
    let before = changes(&server).await;
    ask(&server, &["second", "third"]).await;
    server.post("/api/sessions/s/compress", json!({})).await.ok();
    let after = changes(&server).await;
    assert_eq!(told(&after), told(&before));
    assert_eq!((&after["works"][0]["compacted"], &after["files"][0]["undo"]), (&json!(true), &json!("compacted")));
}

#[tokio::test]
async fn undo_of_later_works_is_previewed() {
    let world = world([
        vec![create("a", "knowledge/a.md", "a\n")],
        vec![edit("b", "knowledge/a.md", ("a", "b"))],
        vec![edit("c", "knowledge/a.md", ("b", "c")), create("d", "knowledge/d.md", "d\n")],
    ])
    .await;
    let server = world.serve().await;
    ask(&server, &["1", "2", "3"]).await;
    let works = changes(&server).await["works"].take();
    let preview = async |at: usize| {
        let work = works[at]["work_id"].as_str().unwrap();
        server.get(&format!("/api/sessions/s/works/{work}/undo/later")).await.ok()
    };
    let later = preview(0).await;
    assert_eq!(later["calls"], json!(["b", "c", "d"]));
    let diff = "--- knowledge/a.md\n+++ knowledge/a.md\n@@ -1 +1 @@\n-c\n+a\n";
    assert_eq!((&later["files"][0]["diff"], &later["files"][0]["calls"]), (&json!(diff), &json!(["b", "c"])));
    assert_eq!(preview(1).await["calls"], json!(["c", "d"]));
    assert_eq!(preview(2).await, json!({"files": [], "calls": []}));
    let unknown = server.get("/api/sessions/s/works/none/undo/later").await;
    assert_eq!(unknown.refused(), (404, "not_found".to_owned()), "an unknown work must not mean the whole session");
}

#[tokio::test]
async fn changes_of_an_unknown_session_or_work_are_refused() {
    let world = world([vec![create("a", "knowledge/a.md", "a\n")]]).await;
    let server = world.serve().await;
    ask(&server, &["go"]).await;
    for path in [
        "nobody/changes",
        "nobody/changes/content?path=knowledge/a.md&side=after",
        "s/changes?work_id=none",
        "s/changes/content?path=knowledge/a.md&side=after&work_id=none",
    ] {
        assert_eq!(
            server.get(&format!("/api/sessions/{path}")).await.refused(),
            (404, "not_found".to_owned()),
            "{path}"
        );
    }
    assert_eq!(server.get("/api/sessions/..%2fx/changes").await.refused().0, 400);
}
