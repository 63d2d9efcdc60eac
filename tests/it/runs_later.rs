//! Files of a project that other programs run later, outside of the sandbox: the agent changes them only after a question of
//! their own, whatever the rules allow, and whichever tool changes them.

use serde_json::{Value, json};

use crate::command_changes::{bash, cannot_capture, tree};
use crate::conversations::data;
use crate::script::{call, calls, says, script};
use crate::world::{CONFIG, PLAIN, Server, World};

const FOLDER: &str = "workspaces/Tea";
const ALLOWING: &str = "find_local_models: false\napprovals: {effects: {write: allow, execute: allow}}\n";

/// A conversation that works in a new project.
async fn session(server: &Server<'_>) -> String {
    let project = data(&server.post("/api/projects", json!({"name": "Tea"})).await)["id"].clone();
    let made = server.post("/api/conversations", json!({"title": "Work", "project_id": project})).await;
    data(&made)["id"].as_str().unwrap().to_owned()
}

/// Sends a message, and answers its questions in this order. Returns them.
async fn turn(server: &Server<'_>, session: &str, decisions: &[&str]) -> Vec<Value> {
    let mut stream = server.open_chat(session, "go").await;
    let mut asked = Vec::new();
    while let Some(frame) = stream.next().await {
        if frame.is("approval_request") {
            server.decide(&frame.data, decisions[asked.len()]).await;
            asked.push(frame.data);
        }
    }
    server.settled(session).await;
    assert_eq!(asked.len(), decisions.len(), "{asked:#?}");
    asked
}

fn run_later(asked: &Value) -> Vec<&str> {
    asked["shown"]["rehearsal"]["runs_later"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect()
}

#[tokio::test]
async fn allowed_command_that_plants_a_hook_is_asked_about() {
    if cannot_capture().await {
        return;
    }
    let plant = "mkdir -p .git/hooks sub; echo evil > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; \
                 echo evil > .git/hooks/x.sample; echo ok > sub/a.txt; echo done";
    let replies = [calls([bash("a", plant)]), says(["No."]), calls([bash("b", plant), bash("c", "cat sub/a.txt")])];
    let world = World::new(script(replies.into_iter().chain([says(["Yes."])]))).await;
    world.write("config.yml", ALLOWING);
    let server = world.serve().await;
    let session = session(&server).await;
    let asked = turn(&server, &session, &["deny"]).await;
    assert_eq!(run_later(&asked[0]), [".git/hooks/pre-commit"]);
    assert_eq!(asked[0]["because"]["code"], "runs_later");
    let reason = asked[0]["reason"].as_str().unwrap();
    assert!(reason.contains(".git/hooks/pre-commit") && reason.contains("outside of the sandbox"), "{reason}");
    assert_eq!(tree(&world.path(FOLDER)).len(), 0, "nothing of the command was applied");
    assert!(world.asked()[1].to_string().contains("discarded"));

    turn(&server, &session, &["approve"]).await;
    assert_eq!(world.read(&format!("{FOLDER}/.git/hooks/pre-commit")), "evil\n");
    let results = world.asked()[3]["messages"].to_string();
    assert!(results.contains("done") && results.contains("ok"), "the call after it goes on: {results}");
}

#[tokio::test]
async fn no_disguise_plants_a_program_unasked() {
    if cannot_capture().await {
        return;
    }
    let disguises = [
        ("mv evil .git", ".git/hooks/pre-commit"),
        ("mv evil .GIT", ".GIT/hooks/pre-commit"),
        ("mkdir a; mv evil a/.git", "a/.git/hooks/pre-commit"),
        ("ln -s evil .git", ".git"),
        ("echo gitdir: evil > .git", ".git"),
        ("ln -s ../evil/hooks real/.git/hooks", "real/.git/hooks"),
        ("echo ../evil > real/.git/commondir", "real/.git/commondir"),
        ("ln evil/config real/.git/config.worktree", "real/.git/config.worktree"),
        ("ln -s conf .vscode", ".vscode"),
        ("cp -r conf .VSCODE", ".VSCODE/tasks.json"),
        ("echo x > real/.envrc", "real/.envrc"),
        ("chmod 755 old/.husky/pre-push", "old/.husky/pre-push"),
    ];
    let replies = disguises
        .iter()
        .enumerate()
        .flat_map(|(at, (command, _))| [calls([bash(&format!("c{at}"), command)]), says(["Done."])]);
    let world = World::new(script(replies)).await;
    world.write("config.yml", ALLOWING);
    let server = world.serve().await;
    let session = session(&server).await;
    for (path, text) in [
        ("evil/hooks/pre-commit", "evil"),
        ("evil/config", "[core]"),
        ("conf/tasks.json", "{}"),
        ("real/.git/HEAD", "ref: refs/heads/main"),
        ("old/.husky/pre-push", "x"),
    ] {
        world.write(&format!("{FOLDER}/{path}"), text);
    }
    for (command, planted) in disguises {
        let before = tree(&world.path(FOLDER));
        let asked = turn(&server, &session, &["deny"]).await;
        assert!(run_later(&asked[0]).contains(&planted), "{command}: {:?}", run_later(&asked[0]));
        assert_eq!(tree(&world.path(FOLDER)), before, "{command}");
    }
}

#[tokio::test]
async fn file_tools_ask_about_files_that_run_programs() {
    let create = |id: &str, path: &str| call(id, "create_file", json!({"items": [{"path": path, "content": "{}"}]}));
    let moved = call("m", "move_file", json!({"items": [{"from": "conf", "to": ".vscode"}]}));
    let replies = [calls([create("a", "src/a.json"), create("b", ".vscode/tasks.json")]), says(["1"])];
    let more = [calls([create("e", ".envrc"), moved, create("g", ".git/hooks/x")]), says(["2"])];
    let world = World::new(script(replies.into_iter().chain(more))).await;
    world.write("config.yml", ALLOWING);
    let server = world.serve().await;
    let session = session(&server).await;
    world.write(&format!("{FOLDER}/conf/settings.json"), "{}");
    let asked = turn(&server, &session, &["deny"]).await;
    assert_eq!(
        (&asked[0]["because"]["code"], &asked[0]["shown"]["command"]),
        (&json!("runs_later"), &json!("create /.vscode/tasks.json (+1 line)"))
    );
    assert!(world.path(&format!("{FOLDER}/src/a.json")).is_file(), "the other one was allowed");
    turn(&server, &session, &["approve", "deny"]).await;
    assert_eq!(world.read(&format!("{FOLDER}/.envrc")), "{}");
    assert!(!world.path(&format!("{FOLDER}/.vscode")).exists() && !world.path(&format!("{FOLDER}/.git")).exists());
}

#[tokio::test]
async fn rehearsed_command_names_the_files_that_run_programs() {
    if cannot_capture().await {
        return;
    }
    let world = World::new(script([calls([bash("a", "echo x > .envrc; echo y > a.txt")]), says(["Done."])])).await;
    world.write("config.yml", PLAIN);
    let server = world.serve().await;
    let session = session(&server).await;
    let asked = turn(&server, &session, &["approve"]).await;
    assert_eq!((run_later(&asked[0]), &asked[0]["because"]["code"]), (vec![".envrc"], &json!("runs_later")));
    assert_eq!(world.read(&format!("{FOLDER}/.envrc")), "x\n");
}

#[tokio::test]
async fn approved_command_is_asked_about_again() {
    if cannot_capture().await {
        return;
    }
    let world = World::new(script([calls([bash("a", "echo x > .envrc")]), says(["Done."])])).await;
    world.write("config.yml", crate::world::ASKING);
    let server = world.serve().await;
    let session = session(&server).await;
    let asked = turn(&server, &session, &["approve", "approve"]).await;
    assert_eq!(asked[0]["shown"]["rehearsal"], Value::Null);
    assert_eq!(run_later(&asked[1]), [".envrc"], "what was approved before did not show this file");
    assert_ne!(asked[0]["id"], asked[1]["id"]);
    assert_eq!(world.read(&format!("{FOLDER}/.envrc")), "x\n");
}

#[tokio::test]
async fn server_that_nobody_watches_refuses_such_files() {
    let create = |id: &str, path: &str| call(id, "create_file", json!({"items": [{"path": path, "content": "{}"}]}));
    let both =
        json!({"items": [{"path": "AGENTS.md", "content": "x"}, {"path": ".vscode/tasks.json", "content": "{}"}]});
    let replies = [
        calls([create("a", ".envrc"), call("b", "create_file", both), create("c", "fine.txt")]),
        says(["1"]),
        calls([bash("d", "echo x > .envrc; echo y > y.txt; echo ran"), bash("e", "echo z > z.txt")]),
        says(["2"]),
    ];
    let world = World::new(script(replies)).await;
    // Also if the tool itself is allowed without anybody there.
    world.write("config.yml", CONFIG.replace("}}", "}, tools: {create_file: unattended}}"));
    let server = world.serve().await;
    let session = session(&server).await;
    turn(&server, &session, &[]).await;
    let told = world.asked()[1]["messages"].to_string();
    assert!(told.contains("nobody is there to approve") && told.contains(".envrc"), "{told}");
    assert!(told.contains(".vscode/tasks.json"), "a guide in the same call does not help: {told}");
    let there: Vec<String> = tree(&world.path(FOLDER)).keys().map(|path| path.display().to_string()).collect();
    assert_eq!(there, ["fine.txt"]);
    if cannot_capture().await {
        return;
    }
    turn(&server, &session, &[]).await;
    let told = world.asked()[3]["messages"].to_string();
    assert!(told.contains("ran") && told.contains("were discarded") && told.contains(".envrc"), "{told}");
    let there: Vec<String> = tree(&world.path(FOLDER)).keys().map(|path| path.display().to_string()).collect();
    assert_eq!(there, ["fine.txt", "z.txt"], "the next call is run");
    let recorded = world.session(&session).to_string();
    assert!(recorded.contains("\"denied\""), "{recorded}");
}

#[tokio::test]
async fn database_behind_a_link_is_not_written() {
    let sql = |id: &str, database: &str, statement: &str| {
        call(id, "sql", json!({"database": database, "sql": statement, "write": statement.starts_with("CREATE")}))
    };
    let create = "CREATE TABLE t (a TEXT)";
    let replies = [
        calls([sql("a", "link.db", create), sql("b", "way/new.db", create), sql("c", "dangling.db", create)]),
        says(["1"]),
        calls([sql("d", "real.db", create)]),
        calls([sql("e", "other.db", "SELECT name FROM sqlite_master")]),
        says(["2"]),
    ];
    let world = World::new(script(replies)).await;
    world.write("config.yml", ALLOWING);
    let server = world.serve().await;
    let session = session(&server).await;
    world.write(&format!("{FOLDER}/AGENTS.md"), "");
    world.write(&format!("{FOLDER}/skills/tea/SKILL.md"), "x");
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(target, world.path(&format!("{FOLDER}/{name}"))).unwrap();
    };
    link("AGENTS.md", "link.db");
    link("skills/tea", "way");
    link("CLAUDE.md", "dangling.db");
    let before = tree(&world.path(FOLDER));
    turn(&server, &session, &[]).await;
    assert_eq!(tree(&world.path(FOLDER)), before, "neither the file behind the link nor the link is changed");
    let told = world.asked()[1]["messages"].to_string();
    assert_eq!(told.matches("is a link").count(), 3, "{told}");
    link("real.db", "other.db");
    turn(&server, &session, &[]).await;
    let told = world.asked()[4]["messages"].to_string();
    assert!(told.contains("name\\nt"), "reading through a link in the project is fine: {told}");
}
