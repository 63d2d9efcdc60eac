//! What a call changes whose process works in the project's folder itself: `python_repl`, a command in the background, and
//! every command where there is no overlay. It is undone like the changes of other calls.

use std::path::Path;

use serde_json::{Value, json};

use crate::command_changes::{EVERYDAY, Tree, ask, bash, bound, fill, undo};
use crate::sandbox::has_bubblewrap;
use crate::script::{call, calls, says, script};
use crate::world::{CONFIG, Server, World, eventually};

/// Changes some of everything.
const PYTHON: &str = "
import os, shutil
open('src/a.txt', 'a').write('three\\n')
shutil.rmtree('old')
os.rename('src/deep', 'moved')
os.chmod('run.sh', 0o755)
os.chmod('kept.txt', 0o600)
open('data.bin', 'wb').write(b'\\xff\\0')
os.remove('link'); os.symlink('moved', 'link')
os.symlink('/nowhere', 'dangling')
os.makedirs('new/folder'); open('new/folder/file', 'w').write('new')
os.rmdir('empty'); open('empty', 'w').write('file')
shutil.rmtree('swapped'); os.symlink('src', 'swapped')
os.link('kept.txt', 'hard')
";

/// Returns the content of the project without the folder that the sandbox puts temporary files into.
fn tree(world: &World) -> Tree {
    let mut tree = crate::command_changes::tree(&world.path("scratch"));
    tree.retain(|path, _| !path.starts_with(".tmp"));
    tree
}

fn python(id: &str, code: &str) -> Value {
    call(id, "python_repl", json!({"code": code}))
}

fn in_background(id: &str, command: &str) -> Value {
    call(id, "bash", json!({"commands": [{"instruction": command}], "background": true, "timeout": 600}))
}

async fn world(replies: impl IntoIterator<Item = Value>) -> World {
    let world = World::new(script(replies)).await;
    world.write("config.yml", CONFIG);
    fill(&world);
    world
}

/// Returns the recorded tool call of an id.
fn recorded(world: &World, session: &str, call: &str) -> Value {
    let session = world.session(session);
    let messages = session["messages"].as_array().unwrap().iter();
    let mut all = messages.filter_map(|message| message["tool_calls"].as_array()).flatten();
    all.find(|known| known["id"] == call).unwrap().clone()
}

async fn refused_undo(server: &Server<'_>, id: &str, call: &str) -> (u16, String) {
    server.post(&format!("/api/sessions/{id}/operations/{call}/undo"), json!({})).await.refused()
}

async fn job_has_ended(server: &Server<'_>, id: &str) {
    let path = format!("/api/sessions/{id}/jobs");
    eventually("the command has ended", async || server.get(&path).await.ok()[0]["state"] == "ended").await;
}

#[tokio::test]
async fn python_is_undone_and_done_again_to_the_byte() {
    let world = world([calls([python("c", PYTHON)]), says(["Done."])]).await;
    let server = world.serve().await;
    let id = bound(&server).await;
    let first = tree(&world);
    let work = ask(&server, &id, "go").await;
    let second = tree(&world);
    assert_eq!(second[Path::new("src/a.txt")].1, b"one\ntwo\nthree\n", "{}", recorded(&world, &id, "c"));
    let data = &recorded(&world, &id, "c")["result"]["data"];
    assert_eq!(data["undo"], true, "{data}");
    let listed = server.get(&format!("/api/sessions/{id}/changes?work_id={work}")).await.ok();
    let of_data = listed["files"].as_array().unwrap().iter().find(|file| file["path"] == "project/scratch/data.bin");
    assert_eq!(of_data.unwrap()["before"]["content"], "binary", "{listed}");

    undo(&server, &id, "c").await;
    assert_eq!(tree(&world), first);
    undo(&server, &id, "c").await;
    assert_eq!(tree(&world), second, "done again");
    drop(server);
    let server = world.serve().await;
    let withdraw = format!("/api/sessions/{id}/works/{work}/withdraw");
    server.post(&withdraw, json!({})).await.ok();
    assert_eq!(tree(&world), first, "after a restart");
    server.post(&format!("/api/sessions/{id}/works/{work}/reapply"), json!({})).await.ok();
    assert_eq!(tree(&world), second);
    drop(server);
    let checked = world.run(&["verify", "--home", world.home().to_str().unwrap()]).await;
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
}

#[tokio::test]
async fn all_tools_of_a_work_are_undone_together() {
    let edit = json!({"path": "src/a.txt", "operations": [{"search": "two", "replace": "TWO"}]});
    let work = [
        bash("c1", "echo three >> src/a.txt; mkdir out; cp src/a.txt out/"),
        python("c2", "open('src/a.txt', 'a').write('four\\n'); import os; os.remove('out/a.txt')"),
        call("c3", "edit_file", edit),
        python("c4", "open('src/a.txt', 'a').write('five\\n'); open('out/b', 'w').write('b')"),
        call("c5", "delete_file", json!({"paths": ["src/deep/b.txt"]})),
    ];
    let world = world([calls(work), says(["Done."])]).await;
    let server = world.serve().await;
    let id = bound(&server).await;
    let first = tree(&world);
    let work = ask(&server, &id, "go").await;
    let second = tree(&world);
    assert_eq!(world.read("scratch/src/a.txt"), "one\nTWO\nthree\nfour\nfive\n");
    server.post(&format!("/api/sessions/{id}/works/{work}/withdraw"), json!({})).await.ok();
    assert_eq!(tree(&world), first);
    server.post(&format!("/api/sessions/{id}/works/{work}/reapply"), json!({})).await.ok();
    assert_eq!(tree(&world), second);
}

#[tokio::test]
async fn what_a_stopped_python_had_changed_is_undone() {
    let code = "open('kept.txt', 'w').write('half'); open('ready', 'w')\nwhile True: pass";
    let world = world([calls([python("c", code)]), says(["Done."])]).await;
    let server = world.serve().await;
    let id = bound(&server).await;
    let first = tree(&world);
    let stream = server.open_chat(&id, "go").await;
    eventually("it has written", async || world.path("scratch/ready").exists()).await;
    server.post(&format!("/api/sessions/{id}/interrupt"), json!({})).await.ok();
    stream.rest().await;
    server.settled(&id).await;
    assert_eq!(world.read("scratch/kept.txt"), "half");
    undo(&server, &id, "c").await;
    assert_eq!(tree(&world), first);
}

#[tokio::test]
async fn what_a_crashed_python_had_changed_is_undone() {
    let code = "import os; os.remove('kept.txt'); os._exit(3)";
    let world = world([calls([python("c", code)]), says(["Done."])]).await;
    let server = world.serve().await;
    let id = bound(&server).await;
    let first = tree(&world);
    ask(&server, &id, "go").await;
    assert!(!world.path("scratch/kept.txt").exists());
    undo(&server, &id, "c").await;
    assert_eq!(tree(&world), first);
}

#[tokio::test]
async fn kill_during_python_loses_only_the_record_of_that_call() {
    let endless = "open('lost', 'w')\nwhile True: pass";
    let replies = [
        calls([python("c1", "open('kept.txt', 'w').write('1')")]),
        says(["Done."]),
        calls([python("c2", endless)]),
        calls([python("c3", "open('kept.txt', 'w').write('3')")]),
        says(["Done."]),
    ];
    let world = world(replies).await;
    let server = world.serve().await;
    let id = bound(&server).await;
    ask(&server, &id, "go").await;
    let stream = server.open_chat(&id, "on").await;
    eventually("it has written", async || world.path("scratch/lost").exists()).await;
    // Dropping the server kills it.
    drop(server);
    drop(stream);
    let before = tree(&world);
    let server = world.serve().await;
    server.settled(&id).await;
    ask(&server, &id, "again").await;
    undo(&server, &id, "c3").await;
    assert_eq!(tree(&world), before, "nothing of the killed call counts as a change of the next one");
    undo(&server, &id, "c1").await;
    assert_eq!(world.read("scratch/kept.txt"), "kept\n");
}

#[tokio::test]
async fn background_command_is_undone_after_it_was_stopped() {
    let command = format!("{EVERYDAY}\ntouch ready\nsleep 500");
    let world = world([calls([in_background("c", &command)]), says(["Started."])]).await;
    let server = world.serve().await;
    let id = bound(&server).await;
    let first = tree(&world);
    let work = ask(&server, &id, "go").await;
    eventually("it has written", async || world.path("scratch/ready").exists()).await;
    assert_eq!(refused_undo(&server, &id, "c").await, (409, "job_running".to_owned()));
    let withdraw = format!("/api/sessions/{id}/works/{work}/withdraw");
    assert_eq!(server.post(&withdraw, json!({})).await.refused(), (409, "job_running".to_owned()));
    let second = tree(&world);
    server.post(&format!("/api/sessions/{id}/jobs/job1/stop"), json!({})).await.ok();
    let listed = server.get(&format!("/api/sessions/{id}/changes?work_id={work}")).await.ok();
    assert!(listed["files"].as_array().unwrap().iter().any(|file| file["path"] == "project/scratch/moved/b.txt"));
    undo(&server, &id, "c").await;
    assert_eq!(tree(&world), first);
    undo(&server, &id, "c").await;
    assert_eq!(tree(&world), second);
    server.post(&withdraw, json!({})).await.ok();
    assert_eq!(tree(&world), first);
}

#[tokio::test]
async fn background_command_is_recorded_when_the_server_stops() {
    let command = "rm kept.txt; echo new > new.txt; touch ready; sleep 500";
    let world = world([calls([in_background("c", command)]), says(["Started."])]).await;
    let server = world.serve().await;
    let id = bound(&server).await;
    let first = tree(&world);
    ask(&server, &id, "go").await;
    eventually("it has written", async || world.path("scratch/ready").exists()).await;
    server.terminate().await;
    let server = world.serve().await;
    assert!(world.path("scratch/new.txt").exists());
    undo(&server, &id, "c").await;
    assert_eq!(tree(&world), first);
}

#[tokio::test]
async fn model_is_told_what_an_ended_background_command_changed() {
    let look = call("c2", "bash", json!({"job": "job1", "stop": true}));
    let replies = [calls([in_background("c1", "echo x > x.txt")]), says(["Started."]), calls([look]), says(["Done."])];
    let world = world(replies).await;
    let server = world.serve().await;
    let id = bound(&server).await;
    ask(&server, &id, "go").await;
    job_has_ended(&server, &id).await;
    ask(&server, &id, "look").await;
    let data = &recorded(&world, &id, "c2")["result"]["data"];
    assert_eq!((&data["changes"][0]["path"], &data["undo"]), (&json!("project/scratch/x.txt"), &Value::Null), "{data}");
    undo(&server, &id, "c1").await;
    assert!(!world.path("scratch/x.txt").exists());
}

#[tokio::test]
async fn two_sessions_at_once_undo_only_their_own_changes() {
    let edit = json!({"path": "src/a.txt", "operations": [{"search": "two", "replace": "TWO"}]});
    let go = json!({"items": [{"path": "go", "content": ""}]});
    let waiting = "echo a > a.txt; echo ONE > src/a.txt; echo two >> src/a.txt; touch ready; until [ -e go ]; do \
                   sleep 0.05; done; echo b > b.txt";
    let replies = [
        calls([in_background("a", waiting)]),
        says(["Started."]),
        calls([
            call("b1", "edit_file", edit),
            python("b2", "open('c.txt', 'w').write('c')"),
            call("b3", "create_file", go),
        ]),
        says(["Done."]),
    ];
    let world = world(replies).await;
    let server = world.serve().await;
    let (one, other) = (bound(&server).await, bound(&server).await);
    let first = tree(&world);
    ask(&server, &one, "go").await;
    eventually("it has written", async || world.path("scratch/ready").exists()).await;
    ask(&server, &other, "go").await;
    job_has_ended(&server, &one).await;
    assert_eq!(world.read("scratch/src/a.txt"), "ONE\nTWO\n");
    let changed = server.get(&format!("/api/sessions/{one}/changes")).await.ok();
    let paths: Vec<&str> = changed["files"].as_array().unwrap().iter().filter_map(|f| f["path"].as_str()).collect();
    let own = ["a.txt", "b.txt", "ready", "src/a.txt"].map(|path| format!("project/scratch/{path}"));
    assert_eq!(paths, own, "{changed}");
    assert_eq!(refused_undo(&server, &one, "a").await, (409, "changed_since".to_owned()));
    for call in ["b3", "b2", "b1"] {
        undo(&server, &other, call).await;
    }
    undo(&server, &one, "a").await;
    assert_eq!(tree(&world), first);
}

#[tokio::test]
async fn commands_without_overlay_are_undone_to_the_byte() {
    for level in ["strict", "off"] {
        if level == "strict" && !has_bubblewrap() {
            continue;
        }
        let world = world([calls([bash("c", EVERYDAY)]), says(["Done."])]).await;
        let server = world.serve_with(&["--port", "0", "--sandbox", level]).await;
        let id = bound(&server).await;
        let first = tree(&world);
        ask(&server, &id, "go").await;
        let second = tree(&world);
        assert_eq!(second[Path::new("src/a.txt")].1, b"ONE\ntwo\n", "{level}: {}", recorded(&world, &id, "c"));
        assert_eq!(recorded(&world, &id, "c")["result"]["data"]["undo"], true, "{level}");
        undo(&server, &id, "c").await;
        assert_eq!(tree(&world), first, "{level}");
        undo(&server, &id, "c").await;
        assert_eq!(tree(&world), second, "{level}");
    }
}

#[tokio::test]
async fn python_whose_changes_cannot_be_recorded_does_not_run() {
    let world = world([calls([python("c", "open('x.txt', 'w')")]), says(["Done."])]).await;
    world.write("storage/index", "in the way");
    let server = world.serve().await;
    let id = bound(&server).await;
    ask(&server, &id, "go").await;
    assert!(!world.path("scratch/x.txt").exists());
    let output = recorded(&world, &id, "c")["output"].to_string();
    assert!(output.contains("nothing was run"), "{output}");
}
