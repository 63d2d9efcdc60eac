//! Renaming, deleting and restoring files, and the token count of a text before it is saved.

use serde_json::{Value, json};

use crate::script::script;
use crate::world::{Server, World};

async fn etag(server: &Server<'_>, path: &str) -> String {
    server.get(&format!("/api/files?path={path}")).await.ok()["etag"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn deleted_file_is_restored_and_tabs_are_told() {
    let world = World::new(script([])).await.with_file("memory/tea.md", "green\n").with_file("memory/x.md", "x\n");
    let server = world.serve().await;
    let seen = etag(&server, "memory/tea.md").await;
    let stale = server.send("DELETE", "/api/files?path=memory/tea.md", &[("If-Match", "\"other\"")], b"").await;
    assert_eq!(stale.refused(), (412, "changed_on_disk".to_owned()));
    let mut tab = server.follow("/api/events").await;
    tab.until("hello").await;
    let matching = format!("\"{seen}\"");
    let gone = server.send("DELETE", "/api/files?path=memory/tea.md", &[("If-Match", &matching)], b"").await.ok();
    assert!(!world.path("memory/tea.md").exists());
    let told = tab.until("file_changed").await.pop().unwrap().data;
    assert_eq!((&told["path"], &told["etag"], &told["by"]), (&json!("memory/tea.md"), &Value::Null, &json!("editor")));
    let trash = gone["trash"].as_str().unwrap();
    assert_eq!(world.read(&format!("storage/trash/{trash}")), "green\n");
    let back = server.post("/api/files/restore", json!({"trash": trash})).await.ok();
    assert_eq!((back["path"].as_str(), back["etag"].as_str()), (Some("memory/tea.md"), Some(seen.as_str())));
    assert_eq!(world.read("memory/tea.md"), "green\n");
    let twice = server.post("/api/files/restore", json!({"trash": trash})).await.refused();
    assert_eq!(twice, (404, "not_found".to_owned()));
    let outside = server.send("DELETE", "/api/files?path=.env", &[], b"").await.refused();
    assert_eq!(outside, (403, "not_allowed".to_owned()));
}

#[tokio::test]
async fn trash_lists_files_until_restored_or_forgotten() {
    let world = World::new(script([])).await.with_file("memory/tea.md", "green\n").with_file("memory/x.md", "x\n");
    let server = world.serve().await;
    let none = server.get("/api/files/deleted").await.ok();
    assert_eq!((&none["files"], &none["kept"]), (&json!([]), &json!(200)));
    let tea = server.delete("/api/files?path=memory/tea.md").await.ok()["trash"].clone();
    let x = server.delete("/api/files?path=memory/x.md").await.ok()["trash"].clone();
    let listed = server.get("/api/files/deleted").await.ok()["files"].clone();
    let told = |n: usize| (listed[n]["path"].clone(), listed[n]["trash"].clone(), listed[n]["bytes"].clone());
    assert_eq!(told(0), (json!("memory/x.md"), x.clone(), json!(2)));
    assert_eq!(told(1), (json!("memory/tea.md"), tea.clone(), json!(6)));
    let kept = |trash: &Value| format!("/api/files/deleted?trash={}", trash.as_str().unwrap());
    server.delete(&kept(&x)).await.ok();
    assert_eq!(server.delete(&kept(&x)).await.refused(), (404, "not_found".to_owned()));
    assert_eq!(server.delete("/api/files/deleted?trash=../memory/tea.md").await.refused().0, 404);
    assert_eq!(server.post("/api/files/restore", json!({"trash": x})).await.refused().0, 404);
    server.post("/api/files/restore", json!({"trash": tea})).await.ok();
    assert_eq!(server.get("/api/files/deleted").await.ok()["files"], json!([]));
}

#[tokio::test]
async fn renamed_file_is_found_and_overwrites_nothing() {
    let world =
        World::new(script([])).await.with_file("knowledge/a.md", "alpha\n").with_file("knowledge/b.md", "beta\n");
    let server = world.serve().await;
    let to = |to: &str| json!({"from": "knowledge/a.md", "to": to});
    let taken = server.post("/api/files/rename", to("knowledge/b.md")).await.refused();
    assert_eq!(taken, (409, "exists".to_owned()));
    assert_eq!(world.read("knowledge/b.md"), "beta\n");
    let moved = server.post("/api/files/rename", to("knowledge/letters/alpha.md")).await.ok();
    assert_eq!(moved["path"], "knowledge/letters/alpha.md");
    let search = server.get("/api/retrieval/search?query=alpha").await.ok();
    assert_eq!(search["hits"][0]["source"], "knowledge/letters/alpha.md");
    let gone = server.post("/api/files/rename", to("knowledge/c.md")).await.refused();
    assert_eq!(gone.0, 404);
}

#[tokio::test]
async fn draft_cost_is_counted_and_not_saved() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let cost =
        async |path: &str, text: &str| server.post("/api/tokens/text", json!({"path": path, "text": text})).await;
    let soul = cost("workspace/SOUL.md", "You are a penguin.").await.ok();
    assert_eq!((&soul["share"], &soul["truncated"]), (&json!("each"), &json!(false)));
    assert_eq!((&soul["characters"], &soul["limit"]), (&json!(18), &json!(20_000)));
    assert!(soul["prompt_tokens"].as_u64() > soul["tokens"].as_u64(), "its label costs, too: {soul}");
    let long = cost("workspace/SOUL.md", &"word ".repeat(20_000)).await.ok();
    assert_eq!(long["truncated"], true);
    assert!(long["prompt_tokens"].as_u64() < long["tokens"].as_u64());
    let note = cost("knowledge/a.md", "alpha").await.ok();
    assert_eq!((&note["share"], &note["prompt_tokens"]), (&json!("found"), &json!(0)));
    assert_eq!(cost("../x", "x").await.refused().0, 400);
    assert_eq!(world.read("workspace/SOUL.md"), "You are the soul of a test.\n");
}

#[tokio::test]
async fn skill_list_follows_rename_delete_and_restore() {
    let skill = "---\nname: tidy\ndescription: Tidies up.\n---\nTidy.\n";
    let world = World::new(script([])).await.with_file("skills/tidy/SKILL.md", skill);
    let server = world.serve().await;
    let listed = async || {
        let skills = server.get("/api/skills").await.ok()["skills"].clone();
        skills
            .as_array()
            .unwrap()
            .iter()
            .map(|skill| skill["location"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let (before, after) = ("skills/tidy/SKILL.md", "skills/neat/SKILL.md");
    assert!(listed().await.contains(&before.to_owned()));
    server.post("/api/files/rename", json!({"from": before, "to": after})).await.ok();
    let moved = listed().await;
    assert!(moved.contains(&after.to_owned()) && !moved.contains(&before.to_owned()), "{moved:?}");
    let trash = server.delete(&format!("/api/files?path={after}")).await.ok()["trash"].clone();
    assert!(!listed().await.contains(&after.to_owned()));
    let prompt = server.get("/api/prompt").await.ok().to_string();
    assert!(!prompt.contains("Tidies up."), "a deleted skill is not in the next prompt");
    server.post("/api/files/restore", json!({"trash": trash})).await.ok();
    assert!(listed().await.contains(&after.to_owned()));
}
