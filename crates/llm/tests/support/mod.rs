//! A running `miniclaw-llm` and a minimal HTTP client for it.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::sleep;
use std::time::Duration;

const SECRET: &str = "a secret of this test";

/// The server. It ends with the test process, because its standard input is closed then.
pub struct Server {
    child: Child,
    pub address: String,
}

/// Returns the file named by MINICLAW_TEST_MODEL.
pub fn model() -> PathBuf {
    let file = std::env::var_os("MINICLAW_TEST_MODEL").map(PathBuf::from);
    let file = file.expect("MINICLAW_TEST_MODEL must name the GGUF file these tests run against");
    assert!(file.is_file(), "MINICLAW_TEST_MODEL names {}, which is not there", file.display());
    file
}

/// Returns the server that all tests share, locked for one test at a time.
pub fn server() -> MutexGuard<'static, Server> {
    static SERVER: OnceLock<Mutex<Server>> = OnceLock::new();
    let server = SERVER.get_or_init(|| Mutex::new(Server::start(&[])));
    server.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    pub fn start(more: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_miniclaw-llm"))
            .arg("--model")
            .arg(model())
            .args(more)
            .env("MINICLAW_LLM_SECRET", SECRET)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").expect("the first line").to_owned();
        let server = Self { child, address };
        server.wait(|health| health["status"] != "loading");
        assert_eq!(server.health()["status"], "ready", "{}", server.health());
        server
    }

    /// Waits until `GET /health` satisfies `condition`.
    pub fn wait(&self, condition: impl Fn(&Value) -> bool) {
        while !condition(&self.health()) {
            sleep(Duration::from_millis(100));
        }
    }

    pub fn health(&self) -> Value {
        self.send("GET", "/health", &Value::Null).json().1
    }

    /// Sends a request and returns the status and the JSON body.
    pub fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.send("POST", path, body).json()
    }

    /// Returns one answer, not streamed.
    pub fn chat(&self, body: &Value) -> Value {
        let (status, reply) = self.post("/v1/chat/completions", body);
        assert_eq!(status, 200, "{reply}");
        reply
    }

    /// Requests a streamed answer.
    pub fn stream(&self, mut body: Value) -> Reply {
        body["stream"] = json!(true);
        body["return_progress"] = json!(true);
        body["stream_options"] = json!({"include_usage": true});
        self.send("POST", "/v1/chat/completions", &body)
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Reply {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {SECRET}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.address,
            body.len()
        );
        self.raw(&(head + &body))
    }

    /// Sends raw bytes.
    pub fn raw(&self, text: &str) -> Reply {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).expect("a status line").parse().unwrap();
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).unwrap();
        }
        Reply { status, reader }
    }

    /// Closes standard input and returns the exit code of the process.
    pub fn stop(mut self) -> Option<i32> {
        drop(self.child.stdin.take());
        self.child.wait().unwrap().code()
    }
}

/// A response whose body has not been read yet; dropping it closes the connection.
pub struct Reply {
    pub status: u16,
    reader: BufReader<TcpStream>,
}

impl Reply {
    fn json(mut self) -> (u16, Value) {
        let mut body = String::new();
        self.reader.read_to_string(&mut body).unwrap();
        (self.status, serde_json::from_str(&body).unwrap_or(Value::String(body)))
    }

    /// Returns the next chunk of a stream; None after `[DONE]`. The framing lines of HTTP chunks are skipped like blank lines.
    pub fn chunk(&mut self) -> Option<Value> {
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            match line.trim().strip_prefix("data: ") {
                Some("[DONE]") => return None,
                Some(data) => return Some(serde_json::from_str(data).unwrap()),
                None => {}
            }
        }
    }
}

pub fn system(text: &str) -> Value {
    json!({"role": "system", "content": text})
}

pub fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// Returns the text of a reply that is not streamed.
pub fn text(reply: &Value) -> &str {
    reply["choices"][0]["message"]["content"].as_str().unwrap_or_default()
}

/// Returns the name and the parsed arguments of the call in a reply.
pub fn call(reply: &Value) -> Option<(String, Value)> {
    let call = &reply["choices"][0]["message"]["tool_calls"][0]["function"];
    let arguments = serde_json::from_str(call["arguments"].as_str()?).expect("arguments are JSON");
    Some((call["name"].as_str()?.to_owned(), arguments))
}

/// Returns the number of prompt tokens that came from the cache.
pub fn cached(reply: &Value) -> u64 {
    reply["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap()
}
