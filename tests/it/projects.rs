//! The projects of the NanoClaw document: made, changed, deleted and restored, with their files and with conversations that
//! work in them.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::command_changes::{ask, bash, cannot_capture, tree, undo};
use crate::conversations::{data, refused};
use crate::http::{Answer, raw};
use crate::script::{calls, says, script};
use crate::world::{CONFIG, Server, World};

const PROJECTS: &str = "/api/projects";
const JSON: (&str, &str) = ("Content-Type", "application/json");

pub async fn created(server: &Server<'_>, name: &str) -> String {
    data(&server.post(PROJECTS, json!({"name": name})).await)["id"].as_str().unwrap().to_owned()
}

/// Creates a conversation that works in a project.
async fn bound(server: &Server<'_>, project: &str) -> String {
    let made = server.post("/api/conversations", json!({"title": "Work", "project_id": project})).await;
    let made = data(&made);
    assert_eq!(made["project_name"].as_str().map(str::is_empty), Some(false), "{made}");
    made["id"].as_str().unwrap().to_owned()
}

async fn patch(server: &Server<'_>, path: &str, body: Value) -> Answer {
    server.send("PATCH", path, &[JSON], body.to_string().as_bytes()).await
}

/// Returns `type name` of each entry of a folder.
async fn listed(server: &Server<'_>, id: &str, folder: &str) -> Vec<String> {
    let page = data(&server.get(&format!("{PROJECTS}/{id}/files?path={folder}")).await);
    let row = |entry: &Value| format!("{} {}", entry["type"].as_str().unwrap(), entry["name"].as_str().unwrap());
    page["items"].as_array().unwrap().iter().map(row).collect()
}

async fn names(server: &Server<'_>, query: &str) -> Vec<String> {
    let page = data(&server.get(&format!("{PROJECTS}{query}")).await);
    let name = |project: &Value| project["name"].as_str().unwrap().to_owned();
    page["items"].as_array().unwrap().iter().map(name).collect()
}

#[tokio::test]
async fn project_is_made_changed_deleted_and_restored() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let made = data(&server.post(PROJECTS, json!({"name": " Tea House ", "description": "leaves"})).await);
    let id = made["id"].as_str().unwrap();
    let told = [&made["name"], &made["path"], &made["description"], &made["user_id"]];
    assert_eq!(told, [&json!("Tea House"), &json!("Tea-House"), &json!("leaves"), &json!(1)]);
    assert!(world.path("workspaces/Tea-House").is_dir());
    assert_eq!(refused(&server.post(PROJECTS, json!({"name": "TEA house"})).await), (409, "name_taken".to_owned()));
    assert_eq!(refused(&server.post(PROJECTS, json!({"name": "a\nb"})).await), (400, "bad_project_name".to_owned()));
    assert_eq!(refused(&server.post(PROJECTS, json!({"title": "x"})).await), (400, "bad_json".to_owned()));
    created(&server, "Coffee").await;
    assert_eq!(names(&server, "").await, ["Coffee", "Tea House"], "newest first");
    assert_eq!(names(&server, "?limit=1").await, ["Coffee"]);

    let path = format!("{PROJECTS}/{id}");
    let changed = data(&server.put(&path, json!({"name": "Tea"})).await);
    assert_eq!((&changed["name"], &changed["path"]), (&json!("Tea"), &json!("Tea-House")));
    assert_eq!(refused(&server.put(&path, json!({"name": "coffee"})).await), (409, "name_taken".to_owned()));
    server.put(&format!("{path}/files/a/b.txt"), json!({"content": "x"})).await.ok();

    assert_eq!(data(&server.delete(&path).await), Value::Null);
    assert!(!world.path("workspaces/Tea-House").exists());
    assert_eq!((names(&server, "").await.len(), names(&server, "?deleted=true").await), (1, vec!["Tea".to_owned()]));
    for gone in [path.clone(), format!("{path}/files"), format!("{path}/files/a/b.txt")] {
        assert_eq!(refused(&server.get(&gone).await), (404, "not_found".to_owned()), "{gone}");
    }
    let tea = created(&server, "tea").await;
    let restore = format!("{path}/restore");
    assert_eq!(refused(&server.post(&restore, json!({})).await), (409, "name_taken".to_owned()));
    server.delete(&format!("{PROJECTS}/{tea}")).await.ok();
    drop(server);
    let server = world.serve().await;
    assert_eq!(data(&server.post(&restore, json!({})).await)["name"], "Tea");
    assert_eq!(data(&server.get(&format!("{path}/files/a/b.txt")).await)["content"], "x");
    assert_eq!(refused(&server.post(&restore, json!({})).await).0, 404);
}

#[tokio::test]
async fn files_of_a_project_are_written_moved_deleted_and_restored() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let id = created(&server, "Tea").await;
    let file = |path: &str| format!("{PROJECTS}/{id}/files/{path}");
    let written = data(&server.put(&file("src/%E8%8C%B6.md"), json!({"content": "one"})).await);
    assert_eq!(written["path"], "src/茶.md");
    let read = data(&server.get(&file("src/%E8%8C%B6.md")).await);
    assert_eq!((&read["content"], &read["size"], &read["etag"]), (&json!("one"), &json!(3), &written["etag"]));

    let stale = [JSON, ("If-Match", "\"0123\"")];
    let body = json!({"content": "two"}).to_string();
    let lost = server.send("PUT", &file("src/%E8%8C%B6.md"), &stale, body.as_bytes()).await;
    assert_eq!(refused(&lost), (412, "changed_on_disk".to_owned()));
    let new = server.send("PUT", &file("src/%E8%8C%B6.md"), &[JSON, ("If-None-Match", "*")], body.as_bytes()).await;
    assert_eq!(refused(&new).0, 412);

    server.put(&file(".env.example"), json!({"content": "A=1"})).await.ok();
    server.post(&format!("{PROJECTS}/{id}/directories"), json!({"path": "docs/deep"})).await.ok();
    assert_eq!(listed(&server, &id, "").await, ["folder docs", "folder src", "file .env.example"]);
    assert_eq!(data(&patch(&server, &file("src"), json!({"new_path": "lib/src"})).await)["path"], "lib/src");
    data(&patch(&server, &file(".env.example"), json!({"new_path": "docs/env"})).await);
    assert_eq!(refused(&patch(&server, &file("docs"), json!({"new_path": "lib"})).await), (409, "exists".to_owned()));
    assert_eq!(refused(&patch(&server, &file("lib"), json!({"new_path": "lib/x"})).await).0, 403);
    assert_eq!(listed(&server, &id, "docs").await, ["folder deep", "file env"]);

    let trash = data(&server.delete(&file("lib")).await)["trash"].clone();
    assert_eq!(listed(&server, &id, "").await, ["folder docs"]);
    let deleted = server.get("/api/files/deleted").await.ok();
    assert_eq!((&deleted["files"][0]["trash"], &deleted["files"][0]["folder"]), (&trash, &json!(true)));
    server.post("/api/files/restore", json!({"trash": trash})).await.ok();
    assert_eq!(data(&server.get(&file("lib/src/%E8%8C%B6.md")).await)["content"], "one");
    server.delete(&file("docs/env")).await.ok();
    assert_eq!(listed(&server, &id, "docs").await, ["folder deep"], "the folder of a deleted file stays");
    assert_eq!(refused(&server.get(&file("docs/env")).await).0, 404);

    let search = format!("{PROJECTS}/{id}/search");
    server.put(&file("a.txt"), json!({"content": "x\nONE\none\n"})).await.ok();
    let found = data(&server.post(&search, json!({"query": "one"})).await);
    let line = |line: &Value| format!("{}:{}", line["path"].as_str().unwrap(), line["line"]);
    let lines: Vec<String> = found["results"].as_array().unwrap().iter().map(line).collect();
    assert_eq!(lines, ["a.txt:2", "a.txt:3", "lib/src/茶.md:1"]);
    let exact = json!({"query": "one", "case_sensitive": true, "path": "a.txt", "max_results": 1});
    let exact = data(&server.post(&search, exact).await);
    assert_eq!((exact["results"].as_array().unwrap().len(), &exact["more"]), (1, &json!(false)));
    assert_eq!(refused(&server.post(&search, json!({"query": ""})).await).0, 400);
}

#[tokio::test]
async fn no_path_leads_out_of_a_project() {
    let world = World::new(script([])).await;
    world.write("config.yml", CONFIG);
    let server = world.serve().await;
    let (id, other) = (created(&server, "Tea").await, created(&server, "Other").await);
    server.put(&format!("{PROJECTS}/{other}/files/secret.txt"), json!({"content": "canary"})).await.ok();
    symlink(world.path("workspaces/Other"), world.path("workspaces/Tea/link")).unwrap();
    symlink("../../config.yml", world.path("workspaces/Tea/config")).unwrap();
    let files = format!("{PROJECTS}/{id}/files");
    for path in [
        "../Other/secret.txt",
        "..%2fOther%2fsecret.txt",
        "%2e%2e/%2e%2e/config.yml",
        "link/secret.txt",
        "config",
        "/etc/passwd",
        "a%00b",
        "..%5cOther",
        "~/x",
        "x/../../../config.yml",
        "C:/x",
    ] {
        // A link itself may be moved and deleted; what it leads to is not reached.
        let methods = if path == "config" { &["GET", "PUT"][..] } else { &["GET", "DELETE", "PUT", "PATCH"] };
        for method in methods {
            let body = json!({"content": "x", "new_path": "stolen"}).to_string();
            let request = server.request(method, &format!("{files}/{path}"), &[JSON], body.as_bytes());
            let (status, _) = refused(&raw(server.address, &request).await);
            assert!((400..410).contains(&status), "{method} {path}: {status}");
        }
    }
    for path in ["../Other/x", "/etc/x", "link/x", "a\u{0}b", "..\\x", "x/../../y"] {
        let moved = patch(&server, &format!("{files}/config"), json!({"new_path": path})).await;
        assert!(moved.status() >= 400, "{path}");
    }
    assert!(fs::read_link(world.path("workspaces/Tea/config")).is_ok(), "nothing was moved");
    for folder in ["..", "../Other", "link", "/", "/etc", "%00"] {
        let answer = server.get(&format!("{files}?path={folder}")).await;
        assert!(answer.status() >= 400 || folder == "/", "{folder}: {}", answer.text());
        assert!(!answer.text().contains("secret.txt"), "{folder}");
    }
    let made = server.post(&format!("{PROJECTS}/{id}/directories"), json!({"path": "link/new"})).await;
    assert_eq!(refused(&made).0, 403);
    let found = data(&server.post(&format!("{PROJECTS}/{id}/search"), json!({"query": "canary"})).await);
    assert_eq!(found["results"], json!([]));
    assert_eq!(world.read("workspaces/Other/secret.txt"), "canary");
    assert_eq!(world.read("config.yml"), CONFIG);
    for id in ["..", "a%2fb", "scratch.", "none"] {
        assert_eq!(refused(&server.get(&format!("{PROJECTS}/{id}/files")).await).0, 404, "{id}");
    }
}

#[tokio::test]
async fn large_and_binary_files_are_downloads_with_ranges() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let id = created(&server, "Tea").await;
    let path = |name: &str| format!("{PROJECTS}/{id}/files/{name}");
    let large: Vec<u8> = (0..6 << 20).map(|at: u32| b'a' + (at / 7 % 26) as u8).collect();
    fs::write(world.path("workspaces/Tea/large.txt"), &large).unwrap();
    fs::write(world.path("workspaces/Tea/a b.bin"), [0, 159, 1, 2]).unwrap();
    assert_eq!(refused(&server.get(&path("large.txt")).await), (413, "too_large".to_owned()));
    let whole = server.get(&path("large.txt?download=true")).await;
    assert_eq!((whole.status(), whole.body.len()), (200, large.len()));
    assert_eq!(whole.body, large);
    let part = server.send("GET", &path("large.txt"), &[("Range", "bytes=5000000-5000003")], b"").await;
    assert_eq!((part.status(), part.head.header("content-range")), (206, Some("bytes 5000000-5000003/6291456")));
    assert_eq!(part.body, large[5_000_000..5_000_004]);
    let wrong = server.send("GET", &path("large.txt"), &[("Range", "bytes=9999999-")], b"").await;
    assert_eq!(refused(&wrong), (416, "bad_range".to_owned()));
    let binary = server.get(&path("a%20b.bin")).await;
    assert_eq!(binary.body, [0, 159, 1, 2]);
    assert_eq!(binary.head.header("content-disposition"), Some("attachment; filename*=UTF-8''a%20b.bin"));
    assert_eq!(binary.head.header("content-type"), Some("application/octet-stream"));
    assert_eq!(binary.head.header("x-content-type-options"), Some("nosniff"));
}

#[tokio::test]
async fn large_files_and_links_are_moved_deleted_and_restored() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let id = created(&server, "Tea").await;
    let file = |path: &str| format!("{PROJECTS}/{id}/files/{path}");
    let large = vec![7; 12 << 20];
    fs::write(world.path("workspaces/Tea/large.bin"), &large).unwrap();
    fs::write(world.path("workspaces/Tea/AGENTS.md"), "kept").unwrap();
    symlink("AGENTS.md", world.path("workspaces/Tea/CLAUDE.md")).unwrap();
    symlink("nowhere", world.path("workspaces/Tea/dangling")).unwrap();

    data(&patch(&server, &file("large.bin"), json!({"new_path": "moved.bin"})).await);
    for name in ["moved.bin", "CLAUDE.md", "dangling"] {
        let trash = data(&server.delete(&file(name)).await)["trash"].clone();
        assert!(world.path(&format!("workspaces/Tea/{name}")).symlink_metadata().is_err(), "{name}");
        let listed = server.get("/api/files/deleted").await.ok();
        assert_eq!(listed["files"][0]["trash"], trash, "{name}");
        server.post("/api/files/restore", json!({"trash": trash})).await.ok();
    }
    assert_eq!(fs::read(world.path("workspaces/Tea/moved.bin")).unwrap(), large);
    assert_eq!(fs::read_link(world.path("workspaces/Tea/dangling")).unwrap().to_str(), Some("nowhere"));

    for link in ["CLAUDE.md", "dangling"] {
        let written = server.put(&file(link), json!({"content": "x"})).await;
        assert_eq!(refused(&written), (403, "not_allowed".to_owned()), "{link}");
    }
    assert_eq!(world.read("workspaces/Tea/AGENTS.md"), "kept");
    let below_a_file = server.put(&file("AGENTS.md/x"), json!({"content": "x"})).await;
    assert_eq!(refused(&below_a_file), (404, "not_found".to_owned()));
}

#[tokio::test]
async fn conversation_works_in_its_project_and_nowhere_else() {
    if cannot_capture().await {
        return;
    }
    let attack = "pwd; echo new > made.txt; cat ../Other/secret.txt ../../scratch/note ../../config.yml; \
                  echo bad > ../Other/made.txt; ls ..; ln -s ../Other way; cat way/secret.txt";
    let world = World::new(script([calls([bash("c", attack)]), says(["Done."]), says(["Again."])])).await;
    world.write("config.yml", CONFIG);
    let server = world.serve().await;
    let (id, other) = (created(&server, "Tea").await, created(&server, "Other").await);
    server.put(&format!("{PROJECTS}/{other}/files/secret.txt"), json!({"content": "canary"})).await.ok();
    fs::write(world.path("scratch/note"), "canary").unwrap();
    let session = bound(&server, &id).await;
    ask(&server, &session, "go").await;
    assert_eq!(world.read("workspaces/Tea/made.txt"), "new\n");
    let answer = world.asked()[1]["messages"].to_string();
    assert!(!answer.contains("canary") && !answer.contains("unattended"), "{answer}");
    assert_eq!(tree(&world.path("workspaces/Other")).len(), 1);
    let changes = server.get(&format!("/api/sessions/{session}/changes")).await.ok();
    let paths: Vec<&str> =
        changes["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(paths, [format!("project/{id}/made.txt"), format!("project/{id}/way")]);
    drop(server);
    let server = world.serve().await;
    undo(&server, &session, "c").await;
    assert_eq!(tree(&world.path("workspaces/Tea")).len(), 0);
    undo(&server, &session, "c").await;
    assert_eq!(tree(&world.path("workspaces/Tea")).len(), 2, "done again");

    let listed = data(&server.get(&format!("/api/conversations?project_id={id}")).await);
    assert_eq!(listed["items"][0]["project_name"], "Tea");
    server.delete(&format!("{PROJECTS}/{id}")).await.ok();
    let unnamed = data(&server.get(&format!("/api/conversations/{session}")).await);
    assert_eq!((&unnamed["project_id"], &unnamed["project_name"]), (&json!(id), &Value::Null));
    ask(&server, &session, "hi").await;
    let tools = world.asked()[2]["tools"].to_string();
    assert!(tools.contains("\"terminal\"") && !tools.contains("\"bash\""), "without its project: {tools}");
    let prompt = world.asked()[2]["messages"][0].to_string();
    assert!(prompt.contains("was deleted or is not shared any more"), "the model knows why: {prompt}");
}

#[tokio::test]
async fn one_name_many_times_at_once_makes_one_project() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    for round in 0..3 {
        let name = format!("Race {round}");
        let made = (0..8).map(|_| server.post(PROJECTS, json!({"name": name})));
        let mut statuses: Vec<u16> =
            futures_util::future::join_all(made).await.iter().map(|answer| answer.status()).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409, 409, 409, 409, 409, 409, 409]);
        assert!(world.path(&format!("workspaces/Race-{round}")).is_dir());
    }
    assert_eq!(names(&server, "").await.len(), 3);
}

#[tokio::test]
async fn deleted_folder_is_missing_until_it_is_back() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let id = created(&server, "Tea").await;
    let path = format!("{PROJECTS}/{id}");
    server.put(&format!("{path}/files/a.txt"), json!({"content": "x"})).await.ok();
    let state = async || {
        let shown = data(&server.get(&path).await);
        (shown["available"].clone(), shown["problem"].clone())
    };
    assert_eq!(state().await, (json!(true), Value::Null));
    fs::rename(world.path("workspaces/Tea"), world.path("kept")).unwrap();
    assert_eq!(state().await, (json!(false), json!("folder_missing")), "it is not looked for elsewhere");
    for gone in [server.get(&format!("{path}/files")).await, server.get(&format!("{path}/files/a.txt")).await] {
        assert_eq!(refused(&gone), (409, "folder_missing".to_owned()));
    }
    let refused_write = server.put(&format!("{path}/files/b.txt"), json!({"content": "x"})).await;
    assert_eq!(refused(&refused_write), (409, "folder_missing".to_owned()));
    assert_eq!(fs::read_dir(world.path("kept")).unwrap().count(), 1, "nothing was written into the moved folder");
    fs::create_dir(world.path("workspaces/Tea")).unwrap();
    fs::write(world.path("workspaces/Tea/back.txt"), "again").unwrap();
    assert_eq!(state().await, (json!(true), Value::Null));
    assert_eq!(listed(&server, &id, "").await, ["file back.txt"]);
    fs::remove_dir_all(world.path("workspaces/Tea")).unwrap();
    server.delete(&path).await.ok();
    assert_eq!(names(&server, "").await, Vec::<String>::new());
}

#[tokio::test]
async fn folder_that_is_away_at_a_start_can_come_back() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let id = created(&server, "Tea").await;
    let path = format!("{PROJECTS}/{id}");
    server.put(&format!("{path}/files/a.txt"), json!({"content": "x"})).await.ok();
    fs::rename(world.path("workspaces/Tea"), world.path("kept")).unwrap();
    server.terminate().await;
    let server = world.serve().await;
    assert_eq!(data(&server.get(&path).await)["problem"], "folder_missing");
    let gone = server.get(&format!("{path}/files")).await;
    assert_eq!(refused(&gone), (409, "folder_missing".to_owned()));
    assert!(!gone.text().contains(world.home().to_str().unwrap()), "{}", gone.text());
    server.delete(&path).await.ok();
    let restored = data(&server.post(&format!("{path}/restore"), json!({})).await);
    assert_eq!((&restored["id"], &restored["available"]), (&json!(id), &json!(false)));
    fs::rename(world.path("kept"), world.path("workspaces/Tea")).unwrap();
    assert_eq!(listed(&server, &id, "").await, ["file a.txt"]);
}

#[tokio::test]
async fn deletion_that_was_killed_is_completed() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let id = created(&server, "Tea").await;
    server.put(&format!("{PROJECTS}/{id}/files/a.txt"), json!({"content": "x"})).await.ok();
    drop(server);
    // As if the server had been killed between the two steps of a deletion.
    let mut list: Value = serde_json::from_str(&world.read("projects.json")).unwrap();
    list["projects"][0]["deleted_at"] = json!(1.0);
    list["added_by_hand"] = json!(true);
    world.write("projects.json", list.to_string());
    let server = world.serve().await;
    assert!(!world.path("workspaces/Tea").exists());
    assert_eq!(names(&server, "?deleted=true").await, ["Tea"]);
    server.post(&format!("{PROJECTS}/{id}/restore"), json!({})).await.ok();
    assert_eq!(world.read("workspaces/Tea/a.txt"), "x");
    let kept: Value = serde_json::from_str(&world.read("projects.json")).unwrap();
    assert_eq!(kept["added_by_hand"], true, "fields of other versions stay");
}

#[tokio::test]
async fn bad_entry_hides_no_other_project_and_stays() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    created(&server, "Tea").await;
    drop(server);
    let mut list: Value = serde_json::from_str(&world.read("projects.json")).unwrap();
    let bad = json!({"id": "p", "name": "Coffee", "path": "Coffee", "created_at": "yesterday", "mine": [1]});
    list["projects"].as_array_mut().unwrap().insert(0, bad.clone());
    list["projects"].as_array_mut().unwrap().push(json!(7));
    world.write("projects.json", list.to_string());
    let server = world.serve().await;
    assert_eq!(names(&server, "").await, ["Tea"]);
    let status = server.get("/api/status").await.text();
    assert!(status.contains("Coffee") && status.contains("cannot be read"), "{status}");
    created(&server, "Milk").await;
    let kept: Value = serde_json::from_str(&world.read("projects.json")).unwrap();
    let kept = kept["projects"].as_array().unwrap();
    assert!(kept.len() == 4 && kept.contains(&bad) && kept.contains(&json!(7)), "nothing is lost: {kept:?}");
    assert!(is_empty_folder(&world, "storage/quarantine"), "the file itself is whole");
    // Somebody mends it.
    drop(server);
    let mut list: Value = serde_json::from_str(&world.read("projects.json")).unwrap();
    for entry in list["projects"].as_array_mut().unwrap() {
        if entry["name"] == "Coffee" {
            (entry["created_at"], entry["updated_at"]) = (json!(1.0), json!(1.0));
        }
    }
    world.write("projects.json", list.to_string());
    fs::create_dir(world.path("workspaces/Coffee")).unwrap();
    let server = world.serve().await;
    let mut all = names(&server, "").await;
    all.sort();
    assert_eq!(all, ["Coffee", "Milk", "Tea"]);
}

fn is_empty_folder(world: &World, folder: &str) -> bool {
    fs::read_dir(world.path(folder)).map_or(true, |mut entries| entries.next().is_none())
}

#[tokio::test]
async fn damaged_list_of_projects_is_kept_and_reported() {
    let world = World::new(script([])).await.with_file("projects.json", "{\"projects\": [");
    let server = world.serve().await;
    assert_eq!(names(&server, "").await, Vec::<String>::new());
    let status = server.get("/api/status").await.text();
    assert!(status.contains("projects.json is damaged"), "{status}");
    created(&server, "Tea").await;
    let quarantined = fs::read_dir(world.path("storage/quarantine")).unwrap().count();
    assert_eq!(quarantined, 1, "the damaged list is kept");

    drop(server);
    let hostile =
        json!({"projects": [{"id": "p", "name": "Out", "path": "../scratch", "created_at": 1, "updated_at": 1}]});
    world.write("projects.json", hostile.to_string());
    let server = world.serve().await;
    assert_eq!(refused(&server.get(&format!("{PROJECTS}/p/files")).await).0, 404);
    assert!(server.get("/api/status").await.text().contains("cannot be used"));
}
