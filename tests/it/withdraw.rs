//! Works that are withdrawn and reapplied: their files, and what the model reads.

use miniclaw::provider::scripted::Script;
use serde_json::{Value, json};

use crate::file_faults::{Fault, FileFaultInjector};
use crate::script::{always, call, calls, says, script};
use crate::world::{ASKING, Server, World};

fn creates(id: &str, path: &str, content: &str) -> Value {
    call(id, "create_file", json!({"path": path, "content": content}))
}

fn edits(id: &str, path: &str, [search, replace]: [&str; 2]) -> Value {
    call(id, "edit_file", json!({"path": path, "edits": [{"search": search, "replace": replace}]}))
}

/// Returns a script with one work for each list of calls; every later question is answered at once.
fn works<const N: usize>(works: [Vec<Value>; N]) -> Script {
    let works = works.into_iter().flat_map(|of_work| [calls(of_work), says(["Done."])]);
    script(works.chain([always(says(["Yes."]))]))
}

/// Asks a question and waits until its work has settled. Returns the id of the work.
async fn ask(server: &Server<'_>, session: &str, question: &str) -> String {
    server.chat(session, question).await;
    let history = server.settled(session).await;
    let last = history["messages"].as_array().unwrap().last().unwrap().clone();
    last["work_id"].as_str().unwrap().to_owned()
}

fn path(work: &str, verb: &str) -> String {
    format!("/api/sessions/s/works/{work}/{verb}")
}

/// Returns the files that a refusal names, and the works.
fn about(refused: &Value) -> (Vec<&str>, Vec<&str>) {
    let lines = |name: &str| refused["about"][name].as_str().map(|all| all.lines().collect()).unwrap_or_default();
    (lines("files"), lines("works"))
}

async fn refused(server: &Server<'_>, path: &str, body: Value) -> Value {
    let answer = server.post(path, body).await;
    assert_eq!(answer.status(), 409, "{}", answer.text());
    answer.json()
}

#[tokio::test]
async fn withdrawn_work_leaves_its_files_and_every_request() {
    let world = World::new(works([vec![creates("c1", "knowledge/a.md", "one\n")]])).await;
    let server = world.serve().await;
    let work = ask(&server, "s", "Write down the canary.").await;
    let preview = server.get(&path(&work, "undo")).await.ok();
    let file = &preview["files"][0];
    assert_eq!(
        (&file["effect"], &file["changed_since"], &file["path"]),
        (&json!("deleted"), &json!(false), &json!("knowledge/a.md"))
    );
    let before = server.get("/api/tokens/session/s").await.ok()["total_tokens"].as_u64();
    let mut stream = server.follow("/api/sessions/s/events").await;

    let done = server.post(&path(&work, "withdraw"), json!({})).await.ok();
    let files = json!([{"path": "knowledge/a.md", "effect": "deleted"}]);
    assert_eq!(done, json!({"work_id": work, "withdrawn": true, "files": files}));
    let frame = stream.until("withdrawn").await.pop().unwrap();
    assert_eq!((&frame.data["work_id"], &frame.data["withdrawn"]), (&json!(work), &json!(true)));
    assert!(!world.path("knowledge/a.md").exists());
    let history = server.get("/api/sessions/s/history").await.ok();
    assert_eq!((history["messages"].as_array().unwrap().len(), &history["withdrawn"]), (3, &json!([work])));
    assert!(server.get("/api/tokens/session/s").await.ok()["total_tokens"].as_u64() < before);
    assert_eq!(server.get("/api/sessions/s/operations").await.ok(), json!([]));
    let all = server.get("/api/sessions/s/operations?withdrawn=include").await.ok();
    assert_eq!((&all[0]["work_status"], &all[0]["operations"][0]["operation_status"]), (&json!(1), &json!(1)));
    assert_eq!(server.get(&path(&work, "undo")).await.ok(), json!({"files": []}));
    let written = server.get("/api/sessions/s/export?format=md").await.text();
    assert!(written.contains("> This message and its response were withdrawn.\n\nWrite down the canary."), "{written}");

    ask(&server, "s", "And now?").await;
    let asked = world.asked().last().unwrap()["messages"].to_string();
    assert!(!asked.contains("canary") && !asked.contains("knowledge/a.md"), "{asked}");
    assert_eq!(refused(&server, &path(&work, "withdraw"), json!({})).await["code"], "withdrawn");
    assert_eq!(refused(&server, "/api/sessions/s/operations/c1/undo", json!({})).await["code"], "withdrawn");

    let again = server.send("POST", &path(&work, "reapply"), &[("Content-Type", "application/json")], b"").await.ok();
    let files = json!([{"path": "knowledge/a.md", "effect": "created"}]);
    assert_eq!(again, json!({"work_id": work, "withdrawn": false, "files": files}));
    assert_eq!(world.read("knowledge/a.md"), "one\n");
    assert_eq!(refused(&server, &path(&work, "reapply"), json!({})).await["code"], "not_withdrawn");
    ask(&server, "s", "And now again?").await;
    assert!(world.asked().last().unwrap()["messages"].to_string().contains("canary"));
    assert_eq!(server.get("/api/sessions/s/history").await.ok()["withdrawn"], Value::Null);
}

#[tokio::test]
async fn missing_works_and_paths_outside_are_refused() {
    let world = World::new(works([vec![creates("c1", "knowledge/a.md", "one\n")]])).await;
    let server = world.serve().await;
    let work = ask(&server, "s", "go").await;
    let missing = (404, "not_found".to_owned());
    for verb in ["withdraw", "reapply"] {
        assert_eq!(server.post(&path("nobody", verb), json!({})).await.refused(), missing);
        let other = format!("/api/sessions/other/works/{work}/{verb}");
        assert_eq!(server.post(&other, json!({})).await.refused(), missing);
    }
    for (keep, code) in [("../config.yml", (400, "bad_path")), ("knowledge/other.md", (409, "not_of_work"))] {
        let (status, name) = server.post(&path(&work, "withdraw"), json!({"keep": [keep]})).await.refused();
        assert_eq!((status, name.as_str()), code, "{keep}");
    }
    let (status, name) = server.post(&path(&work, "withdraw"), json!({"keep": "all"})).await.refused();
    assert_eq!((status, name.as_str()), (400, "bad_json"));
    assert_eq!(world.read("knowledge/a.md"), "one\n");
}

#[tokio::test]
async fn file_changed_since_blocks_all_unless_it_is_kept() {
    let made = vec![creates("c1", "knowledge/a.md", "one\n"), creates("c2", "knowledge/b.md", "two\n")];
    let world = World::new(works([made])).await;
    let server = world.serve().await;
    let work = ask(&server, "s", "go").await;
    world.write("knowledge/b.md", "mine\n");
    let said = refused(&server, &path(&work, "withdraw"), json!({})).await;
    assert_eq!((&said["code"], about(&said)), (&json!("files_changed"), (vec!["knowledge/b.md"], vec![])));
    assert_eq!(world.read("knowledge/a.md"), "one\n", "all or nothing");
    let preview = server.get(&path(&work, "undo")).await.ok();
    let changed: Vec<_> = preview["files"].as_array().unwrap().iter().map(|file| &file["changed_since"]).collect();
    assert_eq!(changed, [&json!(false), &json!(true)]);

    let done = server.post(&path(&work, "withdraw"), json!({"keep": ["knowledge/b.md"]})).await.ok();
    let effects: Vec<_> = done["files"].as_array().unwrap().iter().map(|file| &file["effect"]).collect();
    assert_eq!(effects, [&json!("deleted"), &json!("kept")]);
    assert!(!world.path("knowledge/a.md").exists());
    world.write("knowledge/a.md", "another\n");
    let said = refused(&server, &path(&work, "reapply"), json!({})).await;
    assert_eq!((&said["code"], about(&said).0), (&json!("files_changed"), vec!["knowledge/a.md"]));
    std::fs::remove_file(world.path("knowledge/a.md")).unwrap();
    server.post(&path(&work, "reapply"), json!({})).await.ok();
    assert_eq!((world.read("knowledge/a.md"), world.read("knowledge/b.md")), ("one\n".into(), "mine\n".into()));
}

#[tokio::test]
async fn works_that_built_on_it_are_named_and_come_first() {
    let first = vec![creates("c1", "knowledge/a.md", "one\n")];
    let world = World::new(works([first, vec![edits("c2", "knowledge/a.md", ["one", "two"])]])).await;
    let server = world.serve().await;
    let works = [ask(&server, "s", "first").await, ask(&server, "s", "second").await];
    let preview = server.get(&path(&works[0], "undo")).await.ok();
    assert_eq!(preview["files"][0]["later_works"], json!([works[1]]));
    let said = refused(&server, &path(&works[0], "withdraw"), json!({})).await;
    assert_eq!(
        (&said["code"], about(&said)),
        (&json!("later_works"), (vec!["knowledge/a.md"], vec![works[1].as_str()]))
    );
    for work in [&works[1], &works[0]] {
        server.post(&path(work, "withdraw"), json!({})).await.ok();
    }
    assert!(!world.path("knowledge/a.md").exists());
    let said = refused(&server, &path(&works[1], "reapply"), json!({})).await;
    assert_eq!((&said["code"], about(&said).1), (&json!("earlier_works"), vec![works[0].as_str()]));
    for work in &works {
        server.post(&path(work, "reapply"), json!({})).await.ok();
    }
    assert_eq!(world.read("knowledge/a.md"), "two\n");
}

#[tokio::test]
async fn each_session_withdraws_only_its_own_changes() {
    let first = vec![creates("c1", "knowledge/a.md", "one\n")];
    let world = World::new(works([first, vec![edits("c1", "knowledge/a.md", ["one", "two"])]])).await;
    let server = world.serve().await;
    let (one, other) = (ask(&server, "s", "first").await, ask(&server, "t", "second").await);
    let said = refused(&server, &path(&one, "withdraw"), json!({})).await;
    assert_eq!((&said["code"], about(&said).0), (&json!("files_changed"), vec!["knowledge/a.md"]));
    server.post(&format!("/api/sessions/t/works/{other}/withdraw"), json!({})).await.ok();
    assert_eq!(world.read("knowledge/a.md"), "one\n");
    server.post(&path(&one, "withdraw"), json!({})).await.ok();
    assert!(!world.path("knowledge/a.md").exists());
}

#[tokio::test]
async fn summaries_titles_and_pins_leave_withdrawn_messages_out() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let server = world.serve().await;
    let mut works = Vec::new();
    for question in ["The canary sings.", "two", "three", "four"] {
        works.push(ask(&server, "s", question).await);
    }
    let first = server.get("/api/sessions/s/history").await.ok()["messages"][0]["id"].as_str().unwrap().to_owned();
    server.put(&format!("/api/sessions/s/messages/{first}/pin"), json!({})).await.ok();
    let hash = server.get("/api/sessions/s/compress").await.ok()["hash"].clone();
    server.post(&path(&works[0], "withdraw"), json!({})).await.ok();
    let said =
        refused(&server, "/api/sessions/s/compress", json!({"hash": hash, "summary": "The canary sings."})).await;
    assert_eq!(said["code"], "changed_since", "a summary that was made before");

    let sent = world.provider.requests().len();
    let plan = server.get("/api/sessions/s/compress").await.ok();
    assert!(!plan["messages"].to_string().contains("canary"), "{plan}");
    server.post("/api/sessions/s/generate-title", json!({})).await.ok();
    let compressed = server.post("/api/sessions/s/compress", json!({})).await.ok();
    assert_eq!(compressed["archived_count"], 6, "four messages, and the two withdrawn ones before them");
    ask(&server, "s", "five").await;
    let requests = world.provider.requests()[sent..].to_vec();
    assert!(requests.len() >= 3, "a title, a summary and an answer: {}", requests.len());
    for request in requests {
        assert!(!request.to_string().contains("canary"), "{request}");
    }
    for (work, verb) in [(&works[0], "reapply"), (&works[1], "withdraw")] {
        assert_eq!(refused(&server, &path(work, verb), json!({})).await["code"], "compacted");
    }
    let all = server.get("/api/sessions/s/operations?withdrawn=include").await.ok();
    let status: Vec<_> = all.as_array().unwrap().iter().map(|work| work["work_status"].as_u64().unwrap()).collect();
    assert_eq!(status, [1, 0, 0, 0, 0], "a compacted work keeps its status");
    let part = server.get("/api/sessions/s/compacted").await.ok()["compacted"][0]["name"].as_str().unwrap().to_owned();
    server.post(&format!("/api/sessions/s/compacted/{part}/restore"), json!({})).await.ok();
    server.post(&path(&works[0], "reapply"), json!({})).await.ok();
    ask(&server, "s", "six").await;
    assert!(world.asked().last().unwrap().to_string().contains("canary"));
}

#[tokio::test]
async fn branches_copies_and_restarts_keep_works_withdrawn() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let server = world.serve().await;
    let work = ask(&server, "s", "The canary sings.").await;
    ask(&server, "s", "two").await;
    server.post(&path(&work, "withdraw"), json!({})).await.ok();
    drop(server);
    let server = world.serve().await;
    let history = server.get("/api/sessions/s/history").await.ok();
    assert_eq!(history["withdrawn"], json!([work]));
    let [first, last] = [0, 3].map(|at| history["messages"][at]["id"].clone());
    let off = server.post("/api/sessions/s/branch", json!({"message_id": last, "cut": "after"})).await.ok();
    let exported = server.get("/api/sessions/s/export?format=json").await.json();
    let imported = server.post("/api/sessions/import", exported).await.ok();
    for copy in [&off["id"], &imported["id"]] {
        ask(&server, copy.as_str().unwrap(), "three").await;
        assert!(!world.asked().last().unwrap()["messages"].to_string().contains("canary"));
    }
    server.post("/api/sessions/s/rewind", json!({"message_id": first})).await.ok();
    assert_eq!(server.post(&path(&work, "reapply"), json!({})).await.refused(), (404, "not_found".to_owned()));
    let other = ask(&server, "s", "Another beginning.").await;
    let begun = server.get("/api/sessions/s/history").await.ok()["messages"][0]["id"].clone();
    assert_eq!(server.get("/api/sessions/s/history").await.ok()["withdrawn"], Value::Null, "{other} is in effect");
    server.post("/api/sessions/s/rewind", json!({"message_id": begun, "to": first})).await.ok();
    assert_eq!(server.get("/api/sessions/s/history").await.ok()["withdrawn"], json!([work]));
    server.post(&path(&work, "reapply"), json!({})).await.ok();
}

#[tokio::test]
async fn branch_is_withdrawn_with_its_own_changes() {
    let [one, other] = ["one", "other"].map(|name| vec![creates("c1", &format!("knowledge/{name}.md"), "x\n")]);
    let world = World::new(works([one, other])).await;
    let server = world.serve().await;
    let work = ask(&server, "s", "first").await;
    let history = async || server.get("/api/sessions/s/history").await.ok()["messages"][0]["id"].clone();
    let first = history().await;
    server.post("/api/sessions/s/rewind", json!({"message_id": first})).await.ok();
    ask(&server, "s", "again").await;
    let again = history().await;
    server.post("/api/sessions/s/rewind", json!({"message_id": again, "to": first})).await.ok();
    server.post(&path(&work, "withdraw"), json!({})).await.ok();
    let stays = ["one", "other"].map(|name| world.path(&format!("knowledge/{name}.md")).exists());
    assert_eq!(stays, [false, true], "the provider gave both calls the same id");
}

#[tokio::test]
async fn work_that_is_compacted_in_part_is_refused() {
    let [one, two] = ["one", "two"].map(|name| vec![creates(name, &format!("knowledge/{name}.md"), "x\n")]);
    let world = World::new(works([one, two])).await;
    let server = world.serve().await;
    ask(&server, "s", "first").await;
    let work = ask(&server, "s", "second").await;
    let compressed = server.post("/api/sessions/s/compress", json!({})).await.ok();
    assert_eq!((&compressed["archived_count"], &compressed["remaining_count"]), (&json!(4), &json!(2)));
    assert_eq!(refused(&server, &path(&work, "withdraw"), json!({})).await["code"], "compacted");
    assert!(world.path("knowledge/two.md").exists());
    let part = server.get("/api/sessions/s/compacted").await.ok()["compacted"][0]["name"].as_str().unwrap().to_owned();
    server.post(&format!("/api/sessions/s/compacted/{part}/restore"), json!({})).await.ok();
    server.post(&path(&work, "withdraw"), json!({})).await.ok();
    assert!(!world.path("knowledge/two.md").exists());
}

#[tokio::test]
async fn nothing_is_withdrawn_while_the_session_is_at_work() {
    let world = World::new(script([says(["Yes."]), calls([creates("c1", "knowledge/a.md", "one\n")])])).await;
    world.write("config.yml", ASKING);
    let server = world.serve().await;
    let work = ask(&server, "s", "first").await;
    let mut stream = server.open_chat("s", "second").await;
    stream.until("approval_request").await;
    for verb in ["withdraw", "reapply"] {
        assert_eq!(refused(&server, &path(&work, verb), json!({})).await["code"], "busy");
    }
}

/// Whichever file operation fails, and if the server is killed right after: the work is withdrawn as a whole, or the same
/// request completes it after the restart.
#[tokio::test]
async fn cut_off_withdrawal_is_completed_by_the_next_one() {
    if !FileFaultInjector::is_possible() {
        return;
    }
    let made = vec![creates("c1", "knowledge/a.md", "one\n"), edits("c2", "knowledge/b.md", ["old", "new"])];
    let world = World::new(works([made])).await.with_file("knowledge/b.md", "old\n");
    let work = ask(&world.serve().await, "s", "go").await;
    let (mut nth, mut between) = (0, 0);
    loop {
        nth += 1;
        let injector = FileFaultInjector::below(world.home());
        let server = world.serve_prepared(&["--port", "0"], |command| injector.watch(command)).await;
        injector.arm(Fault { nth, error: libc::EIO });
        let answered = server.post(&path(&work, "withdraw"), json!({})).await.status();
        let (_, failed) = injector.disarm();
        // Dropping the server kills it.
        drop(server);
        let is_undone =
            || (world.path("knowledge/a.md").exists(), world.read("knowledge/b.md")) == (false, "old\n".to_owned());
        let was_undone = is_undone();
        let server = world.serve().await;
        let withdrawn = server.get("/api/sessions/s/history").await.ok()["withdrawn"] == json!([work]);
        assert!(
            was_undone || !withdrawn,
            "{nth} {failed:?}: a work counts as withdrawn only if its files are restored"
        );
        assert!(withdrawn || answered != 200, "{nth} {failed:?}: what was acknowledged is kept");
        between += usize::from(was_undone && !withdrawn);
        if !withdrawn {
            server.post(&path(&work, "withdraw"), json!({})).await.ok();
        }
        assert!(is_undone(), "{nth} {failed:?}");
        server.post(&path(&work, "reapply"), json!({})).await.ok();
        let tree = (world.read("knowledge/a.md"), world.read("knowledge/b.md"));
        assert_eq!(tree, ("one\n".to_owned(), "new\n".to_owned()), "{nth} {failed:?}");
        if failed.is_none() {
            break;
        }
    }
    assert!(nth > 10 && between > 0, "{nth} operations, {between} times between the files and the record");
}
