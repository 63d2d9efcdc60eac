//! The sandbox as the whole server uses it: its level, its refusals, and what a command can learn about the server.

use std::os::unix::process::CommandExt;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use serde_json::{Value, json};

use crate::script::{call, calls, says, script};
use crate::world::{CONFIG, Server, World, eventually};

const CANARY: &str = "canary-key-7d1f03ab";

async fn asks_for(tool: &str, arguments: Value) -> World {
    World::new(script([calls([call("c", tool, arguments)]), says(["Yes."])])).await
}

/// Returns the recorded tool call of the first answer.
async fn recorded(world: &World, server: &Server<'_>) -> Value {
    server.chat("s", "go").await;
    server.settled("s").await;
    world.session("s")["messages"][1]["tool_calls"][0].take()
}

pub fn has_bubblewrap() -> bool {
    let there = std::path::Path::new("/usr/bin/bwrap").exists();
    if !there {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "SKIPPED: level strict: bubblewrap is not installed");
    }
    there
}

#[tokio::test]
async fn no_landlock_means_no_commands() {
    // The three system calls of Landlock fail as on a kernel without it.
    let calls = [444, 445, 446].map(|call| (call, Vec::new())).into();
    let missing = SeccompAction::Errno(libc::ENOSYS as u32);
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(calls, SeccompAction::Allow, missing, arch).unwrap();
    let filter = BpfProgram::try_from(filter).unwrap();

    for (tool, arguments) in [
        ("terminal", json!({"command": "touch ran; echo it ran"})),
        ("python_repl", json!({"code": "open('ran', 'w'); print('it ran')"})),
    ] {
        let world = asks_for(tool, arguments).await;
        let filter = filter.clone();
        let server = world
            .serve_prepared(&["--port", "0"], move |command| {
                // SAFETY: a single system call on memory that was allocated before the fork.
                unsafe { command.pre_exec(move || apply_filter(&filter).map_err(std::io::Error::other)) };
            })
            .await;
        let done = recorded(&world, &server).await;
        assert_eq!(done["status"], "error", "{done}");
        let told = done["output"].as_str().unwrap();
        assert!(told.contains("nothing was run") && told.contains("Landlock version 0"), "{told}");
        assert!(!told.contains("it ran") && !world.path("scratch/ran").exists());
        let note = server.get("/api/status").await.ok()["sandbox"]["note"].take();
        assert!(note.as_str().unwrap().starts_with("Commands are refused"), "{note}");
    }
}

#[tokio::test]
async fn command_finds_no_server_key_at_any_level() {
    let look = "env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; \
                grep -rs canary-key .. /etc /tmp 2>/dev/null | head; echo end";
    for level in ["standard", "strict"] {
        if level == "strict" && !has_bubblewrap() {
            continue;
        }
        let world = asks_for("terminal", json!({"command": look})).await;
        let world = world.with_env("OTHER_API_KEY", CANARY).with_file(".env", &format!("SOME_KEY={CANARY}\n"));
        let server = world.serve_with(&["--port", "0", "--sandbox", level]).await;
        let done = recorded(&world, &server).await;
        let told = done["output"].as_str().unwrap();
        assert!(told.contains("end") && told.contains("PATH="), "{told}");
        assert!(!told.contains("canary") && !told.contains("API_KEY"), "{level}: {told}");
    }
}

#[tokio::test]
async fn sandbox_is_disabled_only_on_the_command_line() {
    let world = World::new(script([])).await;
    let home = world.home();
    let home = home.to_str().unwrap();
    assert_eq!(world.serve().await.get("/api/status").await.ok()["sandbox"]["level"], "standard");

    let server = world.serve_with(&["--port", "0", "--sandbox", "off"]).await;
    let status = server.get("/api/status").await.ok();
    assert_eq!(status["sandbox"]["level"], "off");
    assert!(status["problems"].to_string().contains("sandbox is off"), "{status}");
    drop(server);

    world.write("config.yml", format!("{CONFIG}sandbox: off\n"));
    let refused = world.run(&["serve", "--home", home, "--port", "0"]).await;
    assert_eq!(refused.status.code(), Some(78));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--sandbox off"), "{refused:?}");
    world.write("config.yml", CONFIG);

    let world = world.with_env("MINICLAW_TOKEN", "a-long-random-word-0123456789");
    let open = world.run(&["serve", "--home", home, "--port", "0", "--host", "0.0.0.0", "--sandbox", "off"]).await;
    assert_eq!(open.status.code(), Some(78), "{open:?}");
    assert!(String::from_utf8_lossy(&open.stderr).contains("without the sandbox"), "{open:?}");
    let unknown = world.run(&["serve", "--home", home, "--port", "0", "--sandbox", "none"]).await;
    assert_eq!(unknown.status.code(), Some(2), "{unknown:?}");
}

#[tokio::test]
async fn strict_without_bubblewrap_refuses_commands_with_the_reason() {
    let world = asks_for("terminal", json!({"command": "touch ran"})).await;
    if has_bubblewrap() {
        let server = world.serve_with(&["--port", "0", "--sandbox", "strict"]).await;
        assert_eq!(recorded(&world, &server).await["status"], "done");
        let note = server.get("/api/status").await.ok()["sandbox"]["note"].take();
        assert!(note.as_str().unwrap().contains("separate namespaces"), "{note}");
        assert!(world.path("scratch/ran").exists());
        return;
    }
    let server = world.serve_with(&["--port", "0", "--sandbox", "strict"]).await;
    let done = recorded(&world, &server).await;
    assert!(done["output"].as_str().unwrap().contains("bubblewrap (bwrap) is not installed"), "{done}");
    assert!(!world.path("scratch/ran").exists());
}

#[tokio::test]
async fn doctor_names_the_level_and_tries_it() {
    let world = World::new(script([])).await;
    let home = world.home();
    let said = |output: std::process::Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let text = said(world.run(&["doctor", "--home", home.to_str().unwrap()]).await);
    assert!(text.contains("sandbox    standard: Commands run in a sandbox"), "{text}");
    assert!(text.contains("a trial command ran"), "{text}");
    world.write("config.yml", format!("{CONFIG}sandbox: strict\n"));
    let text = said(world.run(&["doctor", "--home", home.to_str().unwrap()]).await);
    assert!(text.contains("sandbox    strict: "), "{text}");
    let found = if has_bubblewrap() { "a trial command ran" } else { "bubblewrap (bwrap) is not installed" };
    assert!(text.contains(found), "{text}");
}

/// Returns the live supervisors of a server.
fn supervisors(server: &Server<'_>) -> Vec<i32> {
    let children = std::fs::read_dir(format!("/proc/{}/task", server.pid())).expect("its threads");
    let lists = children.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("children")).ok());
    let pids: Vec<i32> =
        lists.flat_map(|list| list.split(' ').filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect();
    let supervises = |pid: &i32| {
        std::fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| line.windows(11).any(|part| part == b"__supervise"))
    };
    pids.into_iter().filter(supervises).collect()
}

#[tokio::test]
async fn idle_supervisor_may_die_and_ends_with_server() {
    let echo = |text: &str| calls([call(text, "terminal", json!({"command": format!("echo {text}")}))]);
    let world = World::new(script([echo("one"), says(["Yes."]), echo("two"), says(["Yes."])])).await;
    let server = world.serve().await;
    server.chat("s", "go").await;
    eventually("the next one waits", async || supervisors(&server).len() == 1).await;
    let waiting = supervisors(&server)[0];
    // SAFETY: signals a child of the server that this test started, which was running just now.
    assert_eq!(unsafe { libc::kill(waiting, libc::SIGKILL) }, 0);
    eventually("it is dead", async || !supervisors(&server).contains(&waiting)).await;
    server.chat("s", "again").await;
    server.settled("s").await;
    let session = world.session("s");
    let outputs = session["messages"].as_array().unwrap().iter().filter_map(|m| m["tool_calls"][0]["output"].as_str());
    assert_eq!(outputs.map(str::trim).collect::<Vec<_>>(), ["one", "two"]);
    eventually("the next one waits", async || supervisors(&server).len() == 1).await;
    let waiting = supervisors(&server)[0];
    drop(server);
    eventually("it ends with its server", async || !std::path::Path::new(&format!("/proc/{waiting}")).exists()).await;
}
