//! An editor that starts `miniclaw acp` and checks every message of it.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};

use agent_client_protocol_schema::v1::{
    InitializeResponse, ListSessionsResponse, LoadSessionResponse, NewSessionResponse, PromptResponse,
    RequestPermissionRequest, ResumeSessionResponse, SessionNotification, SetSessionConfigOptionResponse,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::http::PATIENCE;
use crate::world::World;

pub struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    lines: mpsc::UnboundedReceiver<String>,
    last: u64,
    /// Methods of the requests whose answers have not come yet.
    pending: Vec<(u64, String)>,
    /// The updates so far.
    pub updates: Vec<Value>,
}

impl Editor {
    pub fn start(world: &World) -> Self {
        let home = world.home();
        let mut command = world.command(&["acp", "--home", home.to_str().unwrap()]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let out = child.stdout.take().unwrap();
        let (sender, lines) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            BufReader::new(out).lines().map_while(Result::ok).for_each(|line| drop(sender.send(line)));
        });
        let input = child.stdin.take();
        Self { child, input, lines, last: 0, pending: Vec::new(), updates: Vec::new() }
    }

    /// Starts it and makes its acquaintance.
    pub async fn greeted(world: &World) -> Self {
        let mut editor = Self::start(world);
        let capabilities = json!({"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true});
        let hello = editor.call("initialize", json!({"protocolVersion": 1, "clientCapabilities": capabilities})).await;
        assert_eq!(hello["protocolVersion"], 1);
        editor
    }

    pub async fn session(&mut self, cwd: &Path) -> String {
        let made = self.call("session/new", json!({"cwd": cwd, "mcpServers": []})).await;
        made["sessionId"].as_str().unwrap().to_owned()
    }

    pub fn write(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).and_then(|()| input.write_all(b"\n")).and_then(|()| input.flush()).unwrap();
    }

    /// Sends a request and returns its id.
    pub fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        self.pending.push((self.last, method.to_owned()));
        let request = json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params});
        self.write(&request.to_string());
        self.last
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    pub fn prompt(&mut self, session: &str, text: &str) -> u64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.send("session/prompt", json!({"sessionId": session, "prompt": prompt}))
    }

    /// Returns the next message, which was checked. Updates are kept, too.
    pub async fn next(&mut self) -> Value {
        let line = tokio::time::timeout(PATIENCE, self.lines.recv()).await.expect("a message in time");
        let message: Value = serde_json::from_str(&line.expect("a message")).expect("only JSON on standard output");
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        match (message["method"].as_str(), message.get("id")) {
            (Some("session/update"), None) => {
                checked::<SessionNotification>(&message["params"]);
                self.updates.push(message["params"]["update"].clone());
            }
            (Some("session/request_permission"), Some(_)) => {
                checked::<RequestPermissionRequest>(&message["params"]);
            }
            (Some("$/cancel_request"), None) => assert!(message["params"]["requestId"].is_u64(), "{message}"),
            (None, Some(id)) => {
                if let Some(at) = self.pending.iter().position(|(known, _)| id == *known) {
                    let (_, method) = self.pending.remove(at);
                    if message.get("result").is_some() {
                        check_result(&method, &message["result"]);
                    }
                }
            }
            _ => panic!("not of the protocol: {message}"),
        }
        message
    }

    /// Reads up to the answer of a request.
    pub async fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.next().await;
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// Reads up to a request or notification of this method.
    pub async fn until(&mut self, method: &str) -> Value {
        loop {
            let message = self.next().await;
            if message["method"] == method {
                return message;
            }
        }
    }

    /// Sends a request and returns its result.
    pub async fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let mut answer = self.answer(id).await;
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }

    /// Sends a request and returns the code of its error.
    pub async fn refused(&mut self, method: &str, params: Value) -> i64 {
        let id = self.send(method, params);
        let answer = self.answer(id).await;
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{method}: {answer}"))
    }

    /// Chooses an option of a question.
    pub fn choose(&mut self, question: &Value, option: &str) {
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": option}});
        self.write(&json!({"jsonrpc": "2.0", "id": question["id"], "result": outcome}).to_string());
    }

    /// Returns the updates of a kind.
    pub fn of(&self, kind: &str) -> Vec<&Value> {
        self.updates.iter().filter(|update| update["sessionUpdate"] == kind).collect()
    }

    /// Returns the text of the updates of a kind.
    pub fn text(&self, kind: &str) -> String {
        self.of(kind).iter().map(|update| update["content"]["text"].as_str().unwrap()).collect()
    }

    /// Closes standard input, as an editor does at its end, and waits for the exit.
    pub async fn quit(mut self) {
        self.input = None;
        let mut child = self.child;
        let status = tokio::task::spawn_blocking(move || child.wait().unwrap()).await.unwrap();
        assert!(status.success(), "{status}");
    }
}

/// Checks that a value is what the protocol says, and nothing more.
fn checked<T: DeserializeOwned + Serialize>(value: &Value) {
    let read: T = serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}"));
    assert_eq!(serde_json::to_value(read).unwrap(), *value);
}

fn check_result(method: &str, result: &Value) {
    match method {
        "initialize" => checked::<InitializeResponse>(result),
        "session/new" => checked::<NewSessionResponse>(result),
        "session/load" => checked::<LoadSessionResponse>(result),
        "session/resume" => checked::<ResumeSessionResponse>(result),
        "session/list" => checked::<ListSessionsResponse>(result),
        "session/set_config_option" => checked::<SetSessionConfigOptionResponse>(result),
        "session/prompt" => checked::<PromptResponse>(result),
        "session/set_mode" | "session/close" | "session/delete" | "authenticate" => assert_eq!(*result, json!({})),
        other => panic!("nobody sends {other}"),
    }
}
