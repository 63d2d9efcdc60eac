//! Git in a project, as a person uses it in the page.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::conversations::{data, refused};
use crate::postgres_home::{kept, wipe};
use crate::script::{always, call, calls, says, script};
use crate::world::{Server, World};

pub const FOLDER: &str = "workspaces/Tea";

/// Returns whether there is no git here, and says so.
pub fn has_no_git() -> bool {
    let missing = Command::new("git").arg("--version").output().is_err();
    if missing {
        eprintln!("SKIPPED: git is not installed here");
    }
    missing
}

/// Creates a project, and returns the path of its API for git.
pub async fn project(server: &Server<'_>) -> String {
    let made = data(&server.post("/api/projects", json!({"name": "Tea"})).await);
    format!("/api/projects/{}/git", made["id"].as_str().unwrap())
}

/// Runs git as the owner of the machine does.
pub fn git(folder: &Path, arguments: &[&str]) {
    let settings = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main"];
    let mut command = Command::new("git");
    command.current_dir(folder).args(settings).args(["-c", "safe.directory=*", "-c", "protocol.file.allow=always"]);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null").args(arguments);
    let done = command.output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Returns `path staged unstaged` of each changed file.
async fn rows(server: &Server<'_>, api: &str) -> Vec<String> {
    let status = data(&server.get(api).await);
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let row =
        |entry: &Value| format!("{} {} {}", text(&entry["path"]), text(&entry["staged"]), text(&entry["unstaged"]));
    status["entries"].as_array().unwrap().iter().map(row).collect()
}

async fn ok(server: &Server<'_>, path: String, body: Value) -> Value {
    data(&server.post(&path, body).await)
}

#[tokio::test]
async fn postgres_commit_is_stored_when_it_is_answered() {
    if has_no_git() {
        return;
    }
    let Some((_database, world)) = kept(World::new(script([])).await).await else { return };
    let server = world.serve().await;
    let api = project(&server).await;
    ok(&server, format!("{api}/init"), json!({})).await;
    world.write(&format!("{FOLDER}/a.txt"), "one\n");
    ok(&server, format!("{api}/stage"), json!({"paths": ["a.txt"]})).await;
    let author = json!({"name": "Ada", "email": "ada@example.org"});
    ok(&server, format!("{api}/commit"), json!({"message": "Begin", "author": author})).await;
    drop(server);
    wipe(&world);
    let server = world.serve().await;
    assert_eq!(data(&server.get(&format!("{api}/log")).await)["items"][0]["subject"], "Begin");
    assert_eq!(rows(&server, &api).await, Vec::<String>::new());
}

#[tokio::test]
async fn changes_are_staged_committed_and_listed() {
    if has_no_git() {
        return;
    }
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let api = project(&server).await;
    let none = data(&server.get(&api).await);
    assert_eq!((&none["is_repository"], &none["entries"], &none["author"]), (&json!(false), &json!([]), &json!(null)));
    for path in ["diff", "branches"] {
        assert_eq!(refused(&server.get(&format!("{api}/{path}")).await), (409, "no_repository".to_owned()), "{path}");
    }
    ok(&server, format!("{api}/init"), json!({})).await;
    assert_eq!(refused(&server.post(&format!("{api}/init"), json!({})).await), (409, "repository_exists".to_owned()));
    assert_eq!(data(&server.get(&format!("{api}/log")).await)["items"], json!([]));

    world.write(&format!("{FOLDER}/a.txt"), "one\n");
    world.write(&format!("{FOLDER}/src/茶 b.txt"), "tea\n");
    let odd = world.path(FOLDER).join(std::ffi::OsStr::from_bytes(b"odd\xff\n\"'$(touch x).txt"));
    fs::write(&odd, "odd\n").unwrap();
    let shown = "odd\\xff\\x0a\"'$(touch x).txt";
    let expected =
        ["a.txt - untracked".to_owned(), format!("{shown} - untracked"), "src/茶 b.txt - untracked".to_owned()];
    assert_eq!(rows(&server, &api).await, expected);
    let new = data(&server.get(&format!("{api}/diff?path=a.txt")).await);
    assert_eq!(new["text"], "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,1 @@\n+one\n");

    let commit = format!("{api}/commit");
    let by_ada = json!({"message": "First\n\nWhy", "author": {"name": "Ada", "email": "ada@example.org"}});
    assert_eq!(refused(&server.post(&commit, by_ada.clone()).await), (409, "nothing_staged".to_owned()));
    ok(&server, format!("{api}/stage"), json!({"paths": [shown, "src/茶 b.txt"]})).await;
    assert_eq!(
        rows(&server, &api).await,
        [format!("{shown} added -"), "src/茶 b.txt added -".to_owned(), "a.txt - untracked".to_owned()]
    );
    ok(&server, format!("{api}/unstage"), json!({"paths": [shown]})).await;
    ok(&server, format!("{api}/stage"), json!({})).await;
    ok(&server, format!("{api}/unstage"), json!({"paths": ["a.txt"]})).await;
    assert_eq!(refused(&server.post(&commit, json!({"message": "x"})).await), (409, "author_needed".to_owned()));
    for (body, code) in [
        (json!({"message": " "}), "bad_message"),
        (json!({"message": "x", "author": {"name": "<a>", "email": "a"}}), "bad_author"),
    ] {
        assert_eq!(refused(&server.post(&commit, body).await), (400, code.to_owned()));
    }
    let first = ok(&server, commit.clone(), by_ada).await["id"].as_str().unwrap().to_owned();
    assert_eq!(data(&server.get(&api).await)["author"]["name"], "Ada");
    ok(&server, format!("{api}/stage"), json!({"paths": ["a.txt"]})).await;
    ok(&server, commit.clone(), json!({"message": "--amend"})).await;

    let log = data(&server.get(&format!("{api}/log?limit=1")).await);
    assert_eq!((&log["items"][0]["subject"], &log["items"][0]["refs"]), (&json!("--amend"), &json!(["HEAD -> main"])));
    world.write(&format!("{FOLDER}/a.txt"), "two\n");
    ok(&server, format!("{api}/stage"), json!({})).await;
    let staged = data(&server.get(&format!("{api}/diff?path=a.txt&staged=true")).await);
    assert_eq!((&staged["added"], &staged["removed"]), (&json!(1), &json!(1)));
    ok(&server, commit, json!({"message": "Third"})).await;
    let next = log["next_cursor"].as_str().unwrap();
    let older = data(&server.get(&format!("{api}/log?cursor={next}")).await);
    assert_eq!((&older["items"][0]["id"], &older["has_more"]), (&json!(first), &json!(false)), "the page is stable");
    let of_file = data(&server.get(&format!("{api}/log?path=a.txt")).await);
    assert_eq!(of_file["items"].as_array().unwrap().len(), 2);
    let shown_commit = data(&server.get(&format!("{api}/diff?commit={first}")).await);
    assert!(shown_commit["text"].as_str().unwrap().contains("+tea\n"), "{shown_commit}");
    for bad in ["HEAD", "--output=x", "main"] {
        assert_eq!(refused(&server.get(&format!("{api}/diff?commit={bad}")).await), (400, "bad_commit".to_owned()));
    }
    assert_eq!(refused(&server.get(&format!("{api}/diff?path=../x")).await).0, 400);
    assert_eq!(refused(&server.get(&format!("{api}/log?cursor=--all:1")).await), (400, "bad_cursor".to_owned()));
}

#[tokio::test]
async fn branches_are_created_and_switched_without_losing_changes() {
    if has_no_git() {
        return;
    }
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let api = project(&server).await;
    let folder = world.path(FOLDER);
    git(&folder, &["init", "-q"]);
    world.write(&format!("{FOLDER}/a.txt"), "main\n");
    world.write(&format!("{FOLDER}/.gitignore"), "ignored\n");
    git(&folder, &["add", "-A"]);
    git(&folder, &["commit", "-qm", "One"]);
    git(&folder, &["checkout", "-qb", "other"]);
    world.write(&format!("{FOLDER}/a.txt"), "other\n");
    world.write(&format!("{FOLDER}/ignored"), "tracked here\n");
    git(&folder, &["add", "-Af"]);
    git(&folder, &["commit", "-qm", "Two"]);
    git(&folder, &["checkout", "-q", "main"]);

    let switch = format!("{api}/switch");
    ok(&server, switch.clone(), json!({"name": "other"})).await;
    assert_eq!(world.read(&format!("{FOLDER}/a.txt")), "other\n");
    ok(&server, switch.clone(), json!({"name": "main"})).await;
    assert_eq!(world.read(&format!("{FOLDER}/a.txt")), "main\n");

    world.write(&format!("{FOLDER}/a.txt"), "mine\n");
    assert_eq!(refused(&server.post(&switch, json!({"name": "other"})).await), (409, "git_dirty".to_owned()));
    let branches = format!("{api}/branches");
    ok(&server, branches.clone(), json!({"name": "idea/茶", "switch": true})).await;
    assert_eq!(world.read(&format!("{FOLDER}/a.txt")), "mine\n", "a new branch keeps the changes");
    assert_eq!(data(&server.get(&api).await)["branch"], "idea/茶");
    assert_eq!(refused(&server.post(&branches, json!({"name": "main"})).await), (409, "branch_exists".to_owned()));
    assert_eq!(refused(&server.post(&branches, json!({"name": "-d"})).await), (400, "bad_branch".to_owned()));
    assert_eq!(refused(&server.post(&switch, json!({"name": "none"})).await), (404, "no_branch".to_owned()));
    let names = data(&server.get(&branches).await)["items"].as_array().unwrap().len();
    assert_eq!(names, 3);

    let discarded = ok(&server, format!("{api}/discard"), json!({"paths": ["a.txt"]})).await;
    assert_eq!(world.read(&format!("{FOLDER}/a.txt")), "main\n");
    ok(&server, format!("{api}/undo-discard"), discarded).await;
    assert_eq!(world.read(&format!("{FOLDER}/a.txt")), "mine\n");
    ok(&server, format!("{api}/discard"), json!({"paths": ["a.txt"]})).await;
    // A file that git ignores is not overwritten either.
    world.write(&format!("{FOLDER}/ignored"), "not committed\n");
    assert_eq!(refused(&server.post(&switch, json!({"name": "other"})).await), (409, "git_failed".to_owned()));
    assert_eq!(world.read(&format!("{FOLDER}/ignored")), "not committed\n");
}

#[tokio::test]
async fn discarded_changes_come_back() {
    if has_no_git() {
        return;
    }
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let api = project(&server).await;
    let folder = world.path(FOLDER);
    git(&folder, &["init", "-q"]);
    for name in ["changed", "deleted", "linked"] {
        world.write(&format!("{FOLDER}/{name}"), format!("{name} before\n"));
    }
    git(&folder, &["add", "-A"]);
    git(&folder, &["commit", "-qm", "One"]);
    world.write(&format!("{FOLDER}/changed"), b"after\xff\0");
    fs::remove_file(folder.join("deleted")).unwrap();
    fs::remove_file(folder.join("linked")).unwrap();
    std::os::unix::fs::symlink("changed", folder.join("linked")).unwrap();
    world.write(&format!("{FOLDER}/new/file"), "new\n");
    let before = rows(&server, &api).await;
    assert_eq!(before, ["changed - modified", "deleted - deleted", "linked - type_changed", "new/file - untracked"]);
    let paths = json!({"paths": ["changed", "deleted", "new/file", "linked"]});
    let discarded = ok(&server, format!("{api}/discard"), paths.clone()).await;
    assert_eq!(rows(&server, &api).await.len(), 0);
    assert_eq!(world.read(&format!("{FOLDER}/changed")), "changed before\n");
    ok(&server, format!("{api}/undo-discard"), discarded.clone()).await;
    assert_eq!(rows(&server, &api).await, before);
    assert_eq!(fs::read(folder.join("changed")).unwrap(), b"after\xff\0");
    let nothing = json!({"paths": ["changed", "none"]});
    assert_eq!(refused(&server.post(&format!("{api}/discard"), nothing).await), (409, "git_failed".to_owned()));
    assert_eq!(fs::read(folder.join("changed")).unwrap(), b"after\xff\0", "all are checked first");
    assert_eq!(refused(&server.post(&format!("{api}/undo-discard"), discarded).await).0, 404, "it was restored");
    assert_eq!(fs::read(folder.join("changed")).unwrap(), b"after\xff\0", "what was restored stays");
}

#[tokio::test]
async fn large_repository_and_diff_are_bounded() {
    if has_no_git() {
        return;
    }
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let api = project(&server).await;
    let folder = world.path(FOLDER);
    git(&folder, &["init", "-q"]);
    world.write(&format!("{FOLDER}/large.txt"), "x\n");
    git(&folder, &["add", "-A"]);
    git(&folder, &["commit", "-qm", "One"]);
    world.write(&format!("{FOLDER}/large.txt"), "a line of a large file\n".repeat(5_000_000));
    for group in 0..12 {
        fs::create_dir(folder.join(format!("g{group}"))).unwrap();
        for at in 0..1_000 {
            fs::write(folder.join(format!("g{group}/f{at}")), "").unwrap();
        }
    }
    let diff = data(&server.get(&format!("{api}/diff?path=large.txt")).await);
    assert_eq!(diff["is_cut"], true);
    assert!((900_000..=1 << 20).contains(&diff["text"].as_str().unwrap().len()));
    let status = data(&server.get(&api).await);
    assert_eq!(status["entries"].as_array().unwrap().len(), 10_000);
    assert_eq!(status["left_out"], 2_001);
}

#[tokio::test]
async fn lock_and_broken_repository_are_explained() {
    if has_no_git() {
        return;
    }
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let api = project(&server).await;
    let folder = world.path(FOLDER);
    git(&folder, &["init", "-q"]);
    world.write(&format!("{FOLDER}/a"), "x\n");
    fs::write(folder.join(".git/index.lock"), "").unwrap();
    let locked = server.post(&format!("{api}/stage"), json!({})).await;
    assert_eq!(refused(&locked), (409, "git_locked".to_owned()));
    assert!(locked.json()["message"].as_str().unwrap().contains("delete .git/index.lock"), "{}", locked.text());
    fs::remove_file(folder.join(".git/index.lock")).unwrap();
    ok(&server, format!("{api}/stage"), json!({})).await;
    fs::write(folder.join(".git/config"), "[core\n").unwrap();
    let broken = server.get(&api).await;
    assert_eq!(refused(&broken), (409, "git_failed".to_owned()));
    assert!(broken.json()["message"].as_str().unwrap().contains("bad config line 1"), "{}", broken.text());
}

#[tokio::test]
async fn files_do_not_change_while_a_conversation_works() {
    if has_no_git() {
        return;
    }
    let sleep = calls([call("a", "bash", json!({"commands": [{"instruction": "sleep 60"}], "timeout": 100}))]);
    let world = World::new(script([sleep, always(says(["Done."]))])).await;
    let server = world.serve().await;
    let api = project(&server).await;
    let folder = world.path(FOLDER);
    git(&folder, &["init", "-q"]);
    world.write(&format!("{FOLDER}/a"), "x\n");
    git(&folder, &["add", "-A"]);
    git(&folder, &["commit", "-qm", "One"]);
    world.write(&format!("{FOLDER}/a"), "y\n");
    let id = api.split('/').nth(3).unwrap();
    let made = data(&server.post("/api/conversations", json!({"title": "Work", "project_id": id})).await);
    let session = made["id"].as_str().unwrap();
    let mut stream = server.open_chat(session, "go").await;
    stream.until("tool_start").await;
    for (path, body) in [("discard", json!({"paths": ["a"]})), ("switch", json!({"name": "main"}))] {
        assert_eq!(refused(&server.post(&format!("{api}/{path}"), body).await), (409, "busy".to_owned()), "{path}");
    }
    let deleted = server.delete(&format!("/api/projects/{id}")).await;
    assert_eq!(refused(&deleted), (409, "busy".to_owned()), "the project is not deleted either");
    assert_eq!(rows(&server, &api).await, ["a - modified"], "looking is always possible");
    server.post(&format!("/api/sessions/{session}/interrupt"), json!({})).await;
    stream.rest().await;
    server.settled(session).await;
    ok(&server, format!("{api}/discard"), json!({"paths": ["a"]})).await;
    assert_eq!(world.read(&format!("{FOLDER}/a")), "x\n");
}
