//! A home, a scripted provider, and the real server that uses them.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use miniclaw::provider::scripted::{self, MockProvider, Script};
use serde_json::{Value, json};

use crate::http::{Answer, Frame, Incoming, PATIENCE, open, raw};
use crate::transcript;

/// The provider's API key. It must appear only in the header of requests to the provider.
pub const KEY: &str = "sk-canary-4f9d2c7b81e6a350";
/// No call needs approval: these tests are about what tools do, not about who allows it.
pub const CONFIG: &str =
    "find_local_models: false\napprovals: {effects: {write: unattended, execute: unattended, network: unattended}}\n";
/// The configuration of a person who configured nothing.
pub const PLAIN: &str = "find_local_models: false\n";
/// The configuration of a person who is asked before each command, and configured nothing else.
pub const ASKING: &str = "find_local_models: false\napprovals: {effects: {execute: ask}}\n";

/// State that outlives a server: its home and its provider.
pub struct World {
    root: tempfile::TempDir,
    pub provider: MockProvider,
    env: Vec<(String, String)>,
    /// Output of the servers on stdout and stderr.
    log: Arc<Mutex<String>>,
    /// The page secrets of these servers. They must appear nowhere else.
    secrets: Mutex<Vec<String>>,
}

impl World {
    /// Creates a small home and a provider with this script.
    pub async fn new(script: Script) -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        for folder in ["home/workspace", "home/memory", "home/skills", "home/knowledge", "user"] {
            std::fs::create_dir_all(root.path().join(folder)).expect("a folder");
        }
        let provider = scripted::start(script).await.expect("a provider");
        let world = Self { root, provider, env: Vec::new(), log: Arc::default(), secrets: Mutex::default() };
        world.write("config.yml", CONFIG);
        world.write("workspace/SOUL.md", "You are the soul of a test.\n");
        world
    }

    pub fn with_env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn with_file(self, path: &str, content: &str) -> Self {
        self.write(path, content);
        self
    }

    pub fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.home().join(path)
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().expect("a folder above")).expect("a folder");
        std::fs::write(path, content).expect("a file");
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Returns a session's file, which must be complete, without its chain and its MAC.
    pub fn session(&self, id: &str) -> Value {
        let file = self.read(&format!("sessions/{id}.json"));
        let mut file: Value = serde_json::from_str(&file).expect("a session file is JSON");
        if let Some(fields) = file.as_object_mut() {
            for of_file in ["chain", "mac"] {
                fields.shift_remove(of_file);
            }
        }
        file
    }

    /// Waits until a command runs in `folder` of the home, and makes a file `name` in its folder for temporary files (`$TMPDIR`). It does
    /// not see what others write into the folder that it works in.
    pub async fn signal_command(&self, folder: &str, name: &str) {
        let subfolders = |of: PathBuf| std::fs::read_dir(of).into_iter().flatten().flatten().map(|entry| entry.path());
        eventually("a command runs", async || {
            let captures = subfolders(self.path("storage/captures")).flat_map(subfolders);
            let temporary = captures.map(|capture| capture.join("temporary")).chain([self.path(folder).join(".tmp")]);
            temporary.filter(|folder| std::fs::write(folder.join(name), "").is_ok()).count() > 0
        })
        .await;
    }

    pub fn log(&self) -> String {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the bodies of the requests for answers, without those for titles and summaries.
    pub fn asked(&self) -> Vec<Value> {
        self.provider.requests().into_iter().filter(|body| body.get("tools").is_some()).collect()
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_miniclaw"));
        command.args(arguments).env_clear().current_dir(self.root.path()).stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.root.path().join("user"));
        command.env("MINICLAW_LLM", "/nonexistent/miniclaw-llm");
        command.env("OPENAI_API_KEY", KEY).env("OPENAI_MODEL", "mock");
        command.env("OPENAI_BASE_URL", self.provider.base_url.as_str());
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs the program until it exits.
    pub async fn run(&self, arguments: &[&str]) -> Output {
        let mut command = self.command(arguments);
        let output = tokio::task::spawn_blocking(move || command.output()).await.expect("no panic").expect("it starts");
        self.note(&String::from_utf8_lossy(&output.stdout));
        self.note(&String::from_utf8_lossy(&output.stderr));
        output
    }

    pub fn note(&self, text: &str) {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
    }

    pub async fn serve(&self) -> Server<'_> {
        self.serve_with(&["--port", "0"]).await
    }

    pub async fn serve_with(&self, arguments: &[&str]) -> Server<'_> {
        self.serve_prepared(arguments, |_| {}).await
    }

    /// Starts a server after `prepare` has changed its command.
    pub async fn serve_prepared(&self, arguments: &[&str], prepare: impl FnOnce(&mut Command)) -> Server<'_> {
        let home = self.home();
        let mut all = vec!["serve", "--home", home.to_str().expect("a UTF-8 path")];
        all.extend(arguments);
        let mut command = self.command(&all);
        prepare(&mut command);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the server starts");
        let (first, line) = tokio::sync::oneshot::channel();
        let readers = [
            follow(child.stdout.take().expect("a pipe"), self.log.clone(), Some(first)),
            follow(child.stderr.take().expect("a pipe"), self.log.clone(), None),
        ];
        let line = tokio::time::timeout(PATIENCE, line).await.expect("the server starts in time");
        let line = match line {
            Ok(line) => line,
            Err(_) => {
                readers.into_iter().for_each(|reader| drop(reader.join()));
                panic!("the server did not start, {:?}: {}", child.wait(), self.log());
            }
        };
        let address = line.trim().strip_prefix("listening on ").expect("the first line names the address");
        let address = address.trim_start_matches("http").trim_start_matches("s").trim_start_matches("://");
        let mut address: SocketAddr = address.parse().expect("an address");
        if address.ip().is_unspecified() {
            address.set_ip([127, 0, 0, 1].into());
        }
        Server { world: self, address, child, readers: readers.into(), token: None }
    }
}

/// Copies a pipe into the log and sends its first line to `first`.
fn follow(
    pipe: impl Read + Send + 'static,
    log: Arc<Mutex<String>>,
    first: Option<tokio::sync::oneshot::Sender<String>>,
) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut first = first;
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
            log.push_str(&line);
            log.push('\n');
            drop(log);
            if let Some(first) = first.take() {
                let _ = first.send(line);
            }
        }
    })
}

/// Checks the guarantees that hold in every test.
impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- what the servers of this test wrote ---\n{}", self.log());
            return;
        }
        for (at, body) in self.provider.requests().iter().enumerate() {
            assert_eq!(transcript::problems(body), Vec::<String>::new(), "request {at}: {body:#}");
            assert!(!body.to_string().contains(KEY), "the key is in the body of request {at}");
        }
        let log = self.log();
        let secrets = std::mem::take(&mut *self.secrets.lock().unwrap_or_else(PoisonError::into_inner));
        for secret in &secrets {
            assert!(!log.contains(secret), "the page's secret is in the log");
            assert!(self.provider.requests().iter().all(|body| !body.to_string().contains(secret)));
        }
        assert!(!log.contains("panicked at"), "the server panicked:\n{log}");
        assert!(!log.contains(KEY), "the key is in the log:\n{log}");
        for path in files(&self.home()) {
            let bytes = std::fs::read(&path).unwrap_or_default();
            let found = bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes());
            assert!(!found, "the key is in {}", path.display());
            let text = String::from_utf8_lossy(&bytes);
            assert!(secrets.iter().all(|secret| !text.contains(secret)), "the secret is in {}", path.display());
        }
    }
}

/// Returns all files below a folder, sorted.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files(&entry.path())),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    found.sort();
    found
}

/// A running server. Dropping it kills it, like a power cut.
pub struct Server<'w> {
    pub world: &'w World,
    pub address: SocketAddr,
    child: Child,
    readers: Vec<JoinHandle<()>>,
    /// Sent with every request.
    pub token: Option<String>,
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.readers.drain(..).for_each(|reader| drop(reader.join()));
    }
}

impl Server<'_> {
    /// Sends SIGTERM, as `kill` and service managers do, and waits for the exit.
    pub async fn terminate(self) -> (ExitStatus, Duration) {
        self.signal(libc::SIGTERM);
        self.ended().await
    }

    /// Waits until the server has ended by itself, and returns how long that took.
    pub async fn ended(mut self) -> (ExitStatus, Duration) {
        let since = Instant::now();
        let mut status = None;
        eventually("the server ends", async || {
            status = self.child.try_wait().expect("our own child");
            status.is_some()
        })
        .await;
        (status.expect("seen just above"), since.elapsed())
    }

    pub fn signal(&self, signal: i32) {
        let pid = i32::try_from(self.child.id()).expect("a process id");
        // SAFETY: signals our own child, which has not been waited for, so its process id cannot have been reused.
        assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("our own child").is_some()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.address);
        if let Some(token) = &self.token {
            head.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        [head.as_bytes(), body].concat()
    }

    pub async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        raw(self.address, &self.request(method, path, headers, body)).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"").await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send("POST", path, &[("Content-Type", "application/json")], body.to_string().as_bytes()).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.send("PUT", path, &[("Content-Type", "application/json")], body.to_string().as_bytes()).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, &[], b"").await
    }

    pub async fn follow(&self, path: &str) -> Incoming {
        self.follow_with(path, &[]).await
    }

    pub async fn follow_with(&self, path: &str, headers: &[(&str, &str)]) -> Incoming {
        let incoming = open(self.address, &self.request("GET", path, headers, b"")).await;
        assert_eq!(incoming.head.status, 200);
        incoming
    }

    /// Sends a message and leaves the stream open.
    pub async fn open_chat(&self, session: &str, message: &str) -> Incoming {
        let body = json!({"message": message, "session_id": session}).to_string();
        let request = self.request("POST", "/api/chat", &[("Content-Type", "application/json")], body.as_bytes());
        let incoming = open(self.address, &request).await;
        assert_eq!(incoming.head.status, 200);
        incoming
    }

    /// Sends a message and reads the whole stream.
    pub async fn chat(&self, session: &str, message: &str) -> Vec<Frame> {
        self.open_chat(session, message).await.rest().await
    }

    /// Sends JSON as the page does, with its secret.
    pub async fn as_page(&self, method: &str, path: &str, body: Value) -> Answer {
        let secret = self.secret().await;
        let headers = [("Content-Type", "application/json"), ("X-Miniclaw-Secret", secret.as_str())];
        self.send(method, path, &headers, body.to_string().as_bytes()).await
    }

    /// Returns the secret with which the page of this server may answer approvals.
    pub async fn secret(&self) -> String {
        let page = self.get("/").await.text();
        let (_, rest) = page.split_once("name=\"miniclaw-secret\" content=\"").expect("the page has its secret");
        let secret = rest.split('"').next().expect("an end").to_owned();
        assert_eq!(secret.len(), 64, "256 bits in hexadecimal");
        let mut secrets = self.world.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        if !secrets.contains(&secret) {
            secrets.push(secret.clone());
        }
        secret
    }

    /// Keeps an approval open as the page does while a person has it in front of them.
    pub async fn hold(&self, id: &str) -> Answer {
        let secret = self.secret().await;
        let headers = [("Content-Type", "application/json"), ("X-Miniclaw-Secret", secret.as_str())];
        self.send("POST", &format!("/api/approvals/{id}/hold"), &headers, b"").await
    }

    /// Answers an approval as the page does.
    pub async fn answer(&self, id: &str, body: Value) -> Answer {
        let secret = self.secret().await;
        let headers = [("Content-Type", "application/json"), ("X-Miniclaw-Secret", secret.as_str())];
        self.send("POST", &format!("/api/approvals/{id}"), &headers, body.to_string().as_bytes()).await
    }

    /// Approves, denies or permanently allows what was shown.
    pub async fn decide(&self, approval: &Value, decision: &str) -> Value {
        let id = approval["id"].as_str().expect("an id");
        self.answer(id, json!({"decision": decision, "hash": approval["hash"]})).await.ok()
    }

    /// Waits until `count` calls wait for a person.
    pub async fn waiting(&self, count: usize) -> Vec<Value> {
        let mut found = Vec::new();
        eventually("approvals wait", async || {
            found = self.get("/api/approvals").await.ok()["approvals"].as_array().expect("a list").clone();
            found.len() == count
        })
        .await;
        found
    }

    /// Waits until nothing runs in a session and returns its history.
    pub async fn settled(&self, session: &str) -> Value {
        let path = format!("/api/sessions/{session}/history");
        let mut history = Value::Null;
        eventually("the work settles", async || {
            history = self.get(&path).await.ok();
            history["running"].is_null() && !self.world.path(&format!("sessions/{session}.journal")).exists()
        })
        .await;
        history
    }
}

/// Polls until the condition holds.
pub async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let since = Instant::now();
    while !is_so().await {
        assert!(since.elapsed() < PATIENCE, "still waiting: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
