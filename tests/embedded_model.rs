//! End-to-end test with the real embedded model: no API key, no provider, no network. `make test-model` runs it with
//! MINICLAW_TEST_MODEL (the weights) and MINICLAW_TEST_LLM (the program) set; plain `cargo test` skips it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Request timeout: the first answer evaluates the whole prompt, which takes minutes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(900);

struct Server {
    child: Child,
    address: String,
    home: tempfile::TempDir,
    http: reqwest::Client,
}

fn required(name: &str) -> PathBuf {
    let path =
        PathBuf::from(std::env::var_os(name).unwrap_or_else(|| panic!("{name} is not set; run make test-model")));
    assert!(path.is_file(), "{name} names {}, which is no file", path.display());
    path
}

impl Server {
    fn start() -> Self {
        let (weights, program) = (required("MINICLAW_TEST_MODEL"), required("MINICLAW_TEST_LLM"));
        let home = tempfile::tempdir().unwrap();
        let made = Command::new(env!("CARGO_BIN_EXE_miniclaw")).arg("init").arg(home.path()).output().unwrap();
        assert!(made.status.success());
        let config = format!(
            "find_local_models: false\nembedded_model:\n  weights: {}\n  program: {}\n",
            weights.display(),
            program.display()
        );
        std::fs::write(home.path().join("config.yml"), config).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_miniclaw"))
            .args(["serve", "--port", "0", "--home"])
            .arg(home.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").expect("the first line names the address").to_owned();
        // Another part of the program may have installed the same provider already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().unwrap();
        Self { child, address, home, http }
    }

    /// Sends a message and returns all frames as (event, data).
    async fn chat(&self, session: &str, message: &str) -> Vec<(String, Value)> {
        let request = self.http.post(format!("{}/api/chat", self.address));
        let answer = request.json(&json!({"session_id": session, "message": message})).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        let text = answer.text().await.unwrap();
        let event = |block: &str| {
            let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
            let data = serde_json::from_str(&field("data: ")?).unwrap();
            Some((field("event: ")?, data))
        };
        let frames: Vec<_> = text.split("\n\n").filter_map(event).collect();
        eprintln!("{message}\n  → {}", content(&frames));
        frames
    }

    async fn get(&self, path: &str) -> Value {
        self.http.get(format!("{}{path}", self.address)).send().await.unwrap().json().await.unwrap()
    }

    /// Returns the process ids of the model's server among the children of this server.
    fn models(&self) -> Vec<i32> {
        let children = format!("/proc/{0}/task/{0}/children", self.child.id());
        let tasks = Path::new("/proc").join(self.child.id().to_string()).join("task");
        let mut all = std::fs::read_to_string(children).unwrap_or_default();
        for task in std::fs::read_dir(tasks).into_iter().flatten().filter_map(Result::ok) {
            all.push(' ');
            all.push_str(&std::fs::read_to_string(task.path().join("children")).unwrap_or_default());
        }
        let mut pids: Vec<i32> = all.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
        pids.sort_unstable();
        pids.dedup();
        let is_model = |pid: &i32| {
            std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|c| c.starts_with("miniclaw-llm"))
        };
        pids.into_iter().filter(is_model).collect()
    }

    fn signal(pid: i32, signal: i32) {
        // SAFETY: no memory is involved; the pid is a child of a process this test started.
        assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Kills the server in any case, also if the test fails.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn content(frames: &[(String, Value)]) -> String {
    frames.iter().filter(|(event, _)| event == "token").filter_map(|(_, data)| data["content"].as_str()).collect()
}

fn only<'a>(frames: &'a [(String, Value)], event: &str) -> &'a Value {
    let found: Vec<_> = frames.iter().filter(|(name, _)| name == event).collect();
    assert_eq!(found.len(), 1, "exactly one {event} in {frames:?}");
    &found[0].1
}

fn is_gone(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z "))
}

#[tokio::test]
async fn embedded_model_answers_and_ends_with_the_server() {
    let mut server = Server::start();
    let status = server.get("/api/status").await;
    assert_eq!((&status["model"]["provider"], &status["model"]["small"]), (&json!("local"), &json!(true)));
    assert!(server.models().is_empty(), "the model starts with the first use, not before");

    // A greeting needs no tool, streams, and names the session.
    let hello = server.chat("first", "你好！请用一句话介绍你自己。").await;
    assert_eq!(only(&hello, "done")["stop_reason"], "done");
    assert!(content(&hello).chars().count() >= 4, "{hello:?}");
    assert!(hello.iter().all(|(event, _)| event != "tool_start"), "a greeting needs no tool: {hello:?}");
    assert!(hello.iter().any(|(_, data)| data["kind"] == "reading_prompt"), "reading is shown");
    assert!(!only(&hello, "title")["title"].as_str().unwrap().is_empty());

    // The evaluated tokens are cached: the next question of the session costs little.
    let again = server.chat("first", "Thank you. And what is the capital of France?").await;
    let usage = only(&again, "usage");
    let (input, cached) = (usage["input_tokens"].as_u64().unwrap(), usage["cached_tokens"].as_u64().unwrap());
    assert!(cached * 2 > input, "{cached} of {input} tokens were kept");
    assert!(content(&again).contains("Paris"), "{}", content(&again));

    // The model reads a file through the tool and answers from it.
    std::fs::write(server.home.path().join("memory/pets.md"), "# Pets\n\nThe cat is called Mochi.\n").unwrap();
    let read = server.chat("second", "Read the file memory/pets.md and tell me the name of the cat.").await;
    let call = read.iter().find(|(event, _)| event == "tool_end").expect("a tool ran");
    assert_eq!((&call.1["tool"], &call.1["status"]), (&json!("read_file"), &json!("done")));
    assert!(content(&read).contains("Mochi"), "{}", content(&read));

    // If the model's process dies, the next question starts another one.
    let [model] = server.models()[..] else { panic!("one model, not {:?}", server.models()) };
    Server::signal(model, libc::SIGKILL);
    let revived = server.chat("third", "What is two plus two? Answer with the number.").await;
    assert_eq!(only(&revived, "done")["stop_reason"], "done");
    let [second] = server.models()[..] else { panic!("one model, not {:?}", server.models()) };
    assert_ne!(model, second);

    // When the server stops, the model stops too.
    Server::signal(server.child.id() as i32, libc::SIGTERM);
    let deadline = Instant::now() + Duration::from_secs(60);
    while server.child.try_wait().unwrap().is_none() || !is_gone(second) {
        assert!(Instant::now() < deadline, "the server and its model end in time");
        tokio::task::yield_now().await;
    }
}
