//! Starting, stopping and using the program on the command line.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::interrupt::{a_long_time, is_running};
use crate::script::{call, calls, says, script, steps};
use crate::world::{CONFIG, KEY, World, eventually, files};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test]
async fn init_creates_working_home_and_keeps_existing_files() {
    let world = World::new(script([says(["Yes."]), says(["Yes."])])).await.with_file("workspace/SOUL.md", "mine\n");
    let home = world.home();
    let output = world.run(&["init", home.to_str().unwrap()]).await;
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(world.read("workspace/SOUL.md"), "mine\n");
    for made in ["workspace/AGENTS.md", "workspace/IDENTITY.md", "workspace/USER.md", "memory/MEMORY.md"] {
        assert!(world.path(made).is_file(), "{made}");
    }
    let made = files(&home).len();
    assert!(world.run(&["init", home.to_str().unwrap()]).await.status.success());
    assert_eq!(files(&home).len(), made, "a second time makes nothing");
    let server = world.serve().await;
    let skills = server.get("/api/skills").await.ok()["skills"].take();
    assert!(skills.as_array().unwrap().len() >= 3);
    assert!(skills.as_array().unwrap().iter().all(|skill| skill.get("error").is_none()), "{skills}");
    server.chat("s", "hi").await;
    let bytes = world.asked()[0].to_string().len();
    assert!(bytes <= 6_144, "{bytes} bytes for \"hi\"");
    let offered = |request: &serde_json::Value| {
        let tools = request["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let plain = offered(&world.asked()[0]);
    assert!(!plain.contains(&"find_tools".to_owned()), "{plain:?}");

    // With the three deferred tools, two more definitions and nothing else.
    let switches = json!({"tools.calculator": true, "tools.web_search": true, "tools.weather": true});
    server.as_page("PATCH", "/api/settings", json!({"set": switches})).await.ok();
    server.chat("t", "hi").await;
    let with = world.asked().pop().unwrap();
    let bytes = with.to_string().len();
    assert!(bytes <= 6_844, "{bytes} bytes for \"hi\" with deferred tools");
    assert_eq!(offered(&with), [plain, vec!["find_tools".to_owned(), "use_tool".to_owned()]].concat());
}

#[tokio::test]
async fn first_start_creates_missing_home() {
    let world = World::new(script([])).await;
    std::fs::remove_dir_all(world.home()).unwrap();
    let server = world.serve().await;
    assert_eq!(server.get("/health").await.ok()["status"], "ok");
    assert!(world.path("workspace/SOUL.md").is_file() && world.path("SKILLS_SNAPSHOT.md").is_file());
}

/// The folders in a clone of the repository.
const FOLDERS: [&str; 6] = ["workspace", "skills", "memory", "knowledge", "sessions", "storage"];

/// Creates a home like a fresh clone: folders that contain only the file that keeps them in git.
async fn clone_of_the_repository() -> World {
    let world = World::new(script([says(["Yes."])])).await;
    std::fs::remove_dir_all(world.home()).unwrap();
    let repository = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in FOLDERS {
        let kept = format!("{folder}/.gitkeep");
        world.write(&kept, std::fs::read(repository.join(&kept)).expect("the repository has it"));
    }
    world.write(".gitignore", std::fs::read(repository.join(".gitignore")).unwrap());
    for example in [".env.example", "config.example.yml"] {
        world.write(example, std::fs::read(repository.join(example)).unwrap());
    }
    world
}

#[tokio::test]
async fn first_start_fills_the_empty_folders_of_a_clone() {
    let world = clone_of_the_repository().await;
    let server = world.serve().await;
    assert_eq!(server.get("/health").await.ok()["status"], "ok");
    let skills = server.get("/api/skills").await.ok()["skills"].take();
    assert!(skills.as_array().unwrap().len() >= 3, "{skills}");
    for made in ["workspace/SOUL.md", "memory/MEMORY.md", "knowledge/tools.md"] {
        assert!(world.path(made).is_file(), "{made}");
    }
    drop(server);

    // Negative control: a file that a person removed from a used home is not restored.
    std::fs::remove_dir_all(world.path("workspace")).unwrap();
    std::fs::create_dir(world.path("workspace")).unwrap();
    let server = world.serve().await;
    assert_eq!(server.get("/health").await.ok()["status"], "ok");
    assert!(!world.path("workspace/SOUL.md").exists());
}

#[tokio::test]
async fn home_in_clone_keeps_git_status_clean() {
    let world = clone_of_the_repository().await;
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.com"]).args(arguments);
        let output = git.current_dir(world.home()).env("GIT_CONFIG_GLOBAL", "/dev/null").output().expect("git runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    git(&["init", "--quiet"]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message", "A clone"]);
    world.write("config.yml", CONFIG);
    let server = world.serve().await;
    server.chat("s", "hi").await;
    world.write("scratch/made.txt", "by a command");
    assert!(world.path("trusted.json").is_file() && world.path("sessions/s.json").is_file());
    assert_eq!(git(&["status", "--porcelain", "--untracked-files=all"]), "");
    // Negative control: a file that does not belong to a home is reported.
    world.write("notes.txt", "mine");
    assert_eq!(git(&["status", "--porcelain"]), "?? notes.txt\n");
}

#[tokio::test]
async fn doctor_names_what_is_set_and_missing_and_prints_no_key() {
    let world = World::new(script([])).await.with_file(".env", "DEEPSEEK_API_KEY=sk-another-hidden-key\n");
    let home = world.home();
    let output = world.run(&["doctor", "--home", home.to_str().unwrap()]).await;
    assert!(output.status.success());
    let said = text(&output.stdout);
    for named in [
        "OPENAI_API_KEY is set (environment)",
        "DEEPSEEK_API_KEY is set (.env)",
        "workspace/USER.md is missing",
        "make model",
        "sandbox",
    ] {
        assert!(said.contains(named), "{named}: {said}");
    }
    let all = said + &text(&output.stderr);
    assert!(!all.contains(KEY) && !all.contains("hidden-key"), "{all}");
    let quiet = world.run(&["doctor", "--needs-model", "--home", home.to_str().unwrap()]).await;
    assert_eq!((quiet.status.code(), quiet.stdout.len()), (Some(1), 0), "a model is configured");
}

#[tokio::test]
async fn doctor_names_the_embedding_model_in_use() {
    let models = tempfile::tempdir().unwrap();
    let world = World::new(script([])).await.with_env("MINICLAW_MODELS", models.path().to_str().unwrap());
    let home = world.home();
    let said = async || text(&world.run(&["doctor", "--home", home.to_str().unwrap()]).await.stdout);
    let add = |path: &str| {
        let path = models.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x").unwrap();
    };
    let expect = async |vectors: &str, rerank: &str| {
        let said = said().await;
        let line = |name: &str| said.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
        assert!(line("vectors").ends_with(vectors) && line("rerank").ends_with(rerank), "{said}");
    };
    expect("multilingual-e5-small/e5-small-q4.bin (missing: make embedder)", "none: it needs multilingual-e5-small")
        .await;
    add("use-multilingual-v3/weights.npz");
    add("use-multilingual-v3/sp.model");
    let better = "use-multilingual-v3 (there); multilingual-e5-small finds more: make embedder";
    expect(better, "none: it needs multilingual-e5-small").await;
    add("multilingual-e5-small/e5-small-q4.bin");
    expect("multilingual-e5-small (there)", "with multilingual-e5-small").await;
    world.write("config.yml", format!("{CONFIG}embedding: {{provider: local, model: use-multilingual-v3}}\n"));
    expect("use-multilingual-v3 (there)", "none: it needs multilingual-e5-small").await;
    world.write("config.yml", format!("{CONFIG}embedding: {{rerank: none}}\n"));
    expect("multilingual-e5-small (there)", "none").await;
}

#[tokio::test]
async fn command_ends_well_though_nobody_reads_its_output() {
    let world = World::new(script([])).await;
    let home = world.home();
    for arguments in [&["doctor", "--home", home.to_str().unwrap()][..], &["openapi"]] {
        let mut command = world.command(arguments);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        assert!(output.status.success() && !text(&output.stderr).contains("panicked"), "{}", text(&output.stderr));
    }
    // A token that nobody has read counts for nothing.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let arguments = ["token", "--home", home.to_str().unwrap(), "add", "--scope", "ask", "--name", "x"];
    let mut unread = world.command(&arguments).stdout(writer).stderr(Stdio::null()).spawn().unwrap();
    assert_eq!(unread.wait().unwrap().code(), Some(1));
    let listed = world.run(&["token", "--home", home.to_str().unwrap(), "list"]).await;
    assert_eq!(text(&listed.stdout), "");
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = world.command(&["openapi"]).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let output = output.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("miniclaw: cannot write to standard output"), "{}", text(&output.stderr));
}

#[tokio::test]
async fn invalid_configuration_error_has_file_line_and_reason() {
    let world = World::new(script([])).await;
    let home = world.home();
    for (file, content, signs) in [
        ("config.yml", "port: 8002\nmax_iteratoins: 3\n", &["config.yml", "max_iteratoins", "line 2"][..]),
        ("config.yml", "port: many\n", &["config.yml", "port"]),
        ("config.yml", "port: [8002\n", &["config.yml", "line"]),
        ("config.yml", "models:\n  - id: a\n    api_url: ftp://x\n", &["config.yml", "api_url", "http"]),
        (".env", "this is not a variable\n", &[".env"]),
    ] {
        world.write("config.yml", CONFIG);
        world.write(".env", "");
        world.write(file, content);
        for arguments in [vec!["serve", "--port", "0"], vec!["doctor"]] {
            let output = world.run(&[arguments.as_slice(), &["--home", home.to_str().unwrap()]].concat()).await;
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(78), "{content}: {said}");
            assert!(!text(&output.stdout).contains("listening"));
            for sign in signs {
                assert!(said.contains(sign), "{sign}: {said}");
            }
        }
    }
}

#[tokio::test]
async fn occupied_port_is_reported() {
    let world = World::new(script([])).await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let home = world.home();
    let output = world.run(&["serve", "--home", home.to_str().unwrap(), "--port", &port]).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains(&port), "{}", text(&output.stderr));
    let bad = world.run(&["serve", "--home", home.to_str().unwrap(), "--host", "nowhere"]).await;
    assert!(!bad.status.success() && text(&bad.stderr).contains("--host"), "{}", text(&bad.stderr));
    assert_eq!(world.run(&["serve", "--prot", "1"]).await.status.code(), Some(2));
}

#[tokio::test]
async fn shutdown_ends_streams_and_keeps_files_whole() {
    let held = steps([json!({"text": "Half an "}), json!({"text": "answer"}), json!({"gate": "never"})]);
    let world = World::new(script([held])).await;
    let server = world.serve().await;
    let mut tab = server.follow("/api/events").await;
    tab.until("hello").await;
    let mut stream = server.open_chat("s", "hi").await;
    stream.until("token").await;
    stream.until("token").await;
    let (status, took) = server.terminate().await;
    assert!(status.success() && took < Duration::from_secs(30), "{status} after {took:?}");
    let rest = stream.rest().await;
    let end = rest.iter().find(|frame| frame.is("done")).expect("followers learn how it ended");
    assert_eq!(end.data["stop_reason"], "interrupted");
    assert_eq!((&end.data["stopped_by"], &end.data["detail"]), (&json!("server"), &json!("the server was stopped")));
    tab.rest().await;
    let session = world.session("s");
    assert_eq!(session["messages"][1]["content"], "Half an answer");
    assert_eq!(session["messages"][1]["stopped_by"], "server");
    assert_eq!(session["works"][0]["outcome"]["by"], "server");
    assert!(session["works"][0]["finished_at"].is_number());
    assert!(!world.path("sessions/s.journal").exists());
    assert!(files(&world.path("sessions")).iter().all(|file| !file.to_string_lossy().ends_with(".miniclaw-tmp")));
}

#[tokio::test]
async fn shutdown_stops_running_tool() {
    let long = a_long_time(4733);
    let stubborn = format!("trap '' TERM; sleep {long} & echo begun; wait; sleep {long}");
    let world = World::new(script([calls([call("c", "terminal", json!({"command": stubborn}))])])).await;
    let server = world.serve().await;
    let mut stream = server.open_chat("s", "hi").await;
    stream.until("tool_start").await;
    eventually("the tool runs", async || is_running(&long)).await;
    let (status, took) = server.terminate().await;
    assert!(status.success() && took < Duration::from_secs(30), "{status} after {took:?}");
    eventually("its processes end", async || !is_running(&long)).await;
    let message = world.session("s")["messages"][1].take();
    let call = &message["tool_calls"][0];
    assert_eq!((&call["status"], &message["stopped_by"]), (&json!("cancelled"), &json!("server")));
    assert!(call["output"].as_str().unwrap().contains("[cancelled: the server was stopped]"), "{call}");
}

#[tokio::test]
async fn second_signal_stops_at_once_and_restart_repairs() {
    let held = steps([json!({"text": "Half."}), json!({"gate": "never"})]);
    let world = World::new(script([held, says(["Yes."])])).await;
    let server = world.serve().await;
    let mut stream = server.open_chat("s", "hi").await;
    stream.until("token").await;
    server.signal(libc::SIGTERM);
    server.signal(libc::SIGINT);
    let (_, took) = server.terminate().await;
    assert!(took < Duration::from_secs(30), "{took:?}");
    let server = world.serve().await;
    let history = server.get("/api/sessions/s/history").await.ok();
    assert_eq!((&history["running"], &history["messages"][1]["stop_reason"]), (&Value::Null, &json!("interrupted")));
    assert_eq!(history["messages"][1]["stopped_by"], "server");
    server.chat("s", "go on").await;
}

/// On the first signal the server saves everything to disk; if the disk hangs, a second signal still ends it.
#[tokio::test]
async fn second_shutdown_signal_does_not_wait() {
    let held = steps([json!({"text": "Half."}), json!({"gate": "never"})]);
    let world = World::new(script([held, says(["Yes."])])).await;
    let server = world.serve().await;
    let mut stream = server.open_chat("s", "hi").await;
    stream.until("token").await;
    let hangs = ("fdatasync,fsync", "delay_enter=3600s");
    let Some(injection) = crate::syscall_faults::SyscallFaultInjection::start(&server, hangs, &[]) else { return };
    server.signal(libc::SIGTERM);
    let path = "/api/sessions/none/history";
    eventually("it begins nothing any more", async || server.get(path).await.status() == 503).await;
    let state = || {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("nobody has waited for it");
        status.lines().find_map(|line| line.strip_prefix("State:")).expect("a state").trim().to_owned()
    };
    assert!(!state().starts_with('Z'), "it waits for the disk");
    server.signal(libc::SIGTERM);
    eventually("it ends", async || state().starts_with('Z')).await;
    // One thread is still in the hanging call and is held there.
    drop(injection);
    let (status, _) = server.terminate().await;
    assert_eq!(status.code(), Some(130), "it was the second one");
    let server = world.serve().await;
    assert_eq!(server.settled("s").await["messages"][0]["content"], "hi");
    server.chat("s", "go on").await;
}

#[tokio::test]
async fn env_file_keys_work_and_environment_wins() {
    let replies = || script([says(["Yes."])]);
    let world = World::new(replies()).await.with_env("OPENAI_API_KEY", "").with_env("OPENAI_BASE_URL", "");
    let world = world.with_env("OPENAI_MODEL", "");
    let url = world.provider.base_url.to_string();
    world.write(".env", format!("DEEPSEEK_API_KEY=hidden-1\nDEEPSEEK_BASE_URL={url}\nDEEPSEEK_MODEL=from-the-file\n"));
    let server = world.serve().await;
    server.chat("s", "hi").await;
    assert_eq!(world.asked()[0]["model"], "from-the-file");
    assert_eq!(server.get("/api/models").await.ok()["available"][0]["from"], ".env");
    drop(server);
    let world = World::new(replies()).await.with_file(".env", "OPENAI_MODEL=from-the-file\n");
    let server = world.serve().await;
    server.chat("s", "hi").await;
    assert_eq!(world.asked()[0]["model"], "mock");
}

#[tokio::test]
async fn printed_openapi_equals_served_one() {
    let world = World::new(script([])).await;
    let printed: Value = serde_json::from_slice(&world.run(&["openapi"]).await.stdout).unwrap();
    let server = world.serve().await;
    assert_eq!(server.get("/api/openapi.json").await.ok(), printed);
    for path in printed["paths"].as_object().unwrap().keys() {
        let is_api = ["/api/", "/v1/", "/.well-known/"].iter().any(|api| path.starts_with(api));
        assert!(
            is_api || ["/health", "/mcp", "/metrics", "/oauth/client.json", "/ready", "/ws"].contains(&path.as_str()),
            "{path}"
        );
    }
}

#[tokio::test]
async fn scripted_provider_starts_from_command_line() {
    let world = World::new(script([])).await;
    world.write("script.yml", "replies:\n  - steps: [{text: 'Hello'}, {finish: stop}]\n");
    let script_file = world.path("script.yml");
    let mut child = world
        .command(&["mock-llm", "--script", script_file.to_str().unwrap()])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.as_mut().unwrap()), &mut line).unwrap();
    let address = line.trim().strip_prefix("listening on http://").unwrap().parse().unwrap();
    let body = br#"{"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": true}"#;
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let answer = crate::http::raw(address, &[head.as_bytes(), body].concat()).await;
    assert!(answer.text().contains("Hello") && answer.text().ends_with("data: [DONE]\n\n"), "{}", answer.text());
    child.kill().unwrap();
    child.wait().unwrap();
    world.write("script.yml", "replies: 3\n");
    let output = world.run(&["mock-llm", "--script", script_file.to_str().unwrap()]).await;
    assert!(!output.status.success() && text(&output.stderr).contains("replies"), "{}", text(&output.stderr));
}
