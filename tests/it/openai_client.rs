//! A program that uses the OpenAI API of a server.

use serde_json::{Value, json};

use crate::http::{Answer, Incoming, open};
use crate::world::{Server, World};

/// A program with a token of its own.
pub struct Program<'s, 'w> {
    pub server: &'s Server<'w>,
    pub bearer: String,
}

/// What a stream said.
#[derive(Debug, Default)]
pub struct Streamed {
    pub text: String,
    pub thoughts: String,
    /// Id, name and arguments of each call.
    pub calls: Vec<(String, String, String)>,
    pub finish: Option<String>,
    pub usage: Value,
    pub error: Value,
    pub is_done: bool,
}

/// Makes a token for the home of a server, as a person does on the command line.
pub async fn new_token(world: &World) -> String {
    let home = world.home();
    let home = home.to_str().unwrap();
    let made = world.command(&["token", "--home", home, "add", "--scope", "ask", "--name", "test"]).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    String::from_utf8(made.stdout).unwrap().trim().to_owned()
}

impl<'s, 'w> Program<'s, 'w> {
    pub async fn new(server: &'s Server<'w>) -> Self {
        let token = new_token(server.world).await;
        Self { server, bearer: format!("Bearer {token}") }
    }

    pub fn headers<'h>(&'h self, more: &[(&'h str, &'h str)]) -> Vec<(&'h str, &'h str)> {
        [&[("Authorization", self.bearer.as_str()), ("Content-Type", "application/json")], more].concat()
    }

    pub async fn post_with(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
        self.server.send("POST", path, &self.headers(headers), body.to_string().as_bytes()).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.post_with(path, &[], &body).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.server.send("GET", path, &self.headers(&[]), b"").await
    }

    /// Sends a conversation, which begins with a person's message; the others alternate.
    pub async fn chat(&self, said: &[&str]) -> Answer {
        self.post("/v1/chat/completions", json!({"model": "miniclaw", "messages": messages(said)})).await
    }

    /// Sends a conversation and returns the answer's text and the session.
    pub async fn says(&self, said: &[&str]) -> (String, String) {
        let answer = self.chat(said).await;
        let text = answer.ok()["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
        (text, session_of(&answer))
    }

    pub async fn open(&self, body: &Value) -> Incoming {
        let mut body = body.clone();
        body["stream"] = true.into();
        let request =
            self.server.request("POST", "/v1/chat/completions", &self.headers(&[]), body.to_string().as_bytes());
        open(self.server.address, &request).await
    }

    pub async fn stream(&self, body: &Value) -> Streamed {
        let incoming = self.open(body).await;
        assert_eq!(incoming.head.status, 200);
        assert_eq!(incoming.head.header("content-type"), Some("text/event-stream"));
        Streamed::parse(&incoming.body_text().await)
    }
}

pub fn session_of(answer: &Answer) -> String {
    answer.head.header("x-miniclaw-session").expect("the session").to_owned()
}

/// Returns messages of a person and answers in turn.
pub fn messages(said: &[&str]) -> Value {
    let role = |at: usize| if at.is_multiple_of(2) { "user" } else { "assistant" };
    said.iter().enumerate().map(|(at, text)| json!({"role": role(at), "content": text})).collect()
}

impl Streamed {
    pub fn parse(text: &str) -> Self {
        let mut read = Self::default();
        let mut event = "";
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("event: ") {
                event = name;
            }
            let Some(data) = line.strip_prefix("data: ") else { continue };
            if data == "[DONE]" {
                read.is_done = true;
                continue;
            }
            assert!(!read.is_done, "nothing follows the end: {text}");
            let data: Value = serde_json::from_str(data).expect("data is JSON");
            if event == "error" {
                read.error = data["error"].clone();
                continue;
            }
            assert_eq!(data["object"], "chat.completion.chunk");
            read.add(&data);
        }
        read
    }

    fn add(&mut self, chunk: &Value) {
        if chunk["usage"].is_object() {
            self.usage = chunk["usage"].clone();
            assert_eq!(chunk["choices"], json!([]));
        }
        let choice = &chunk["choices"][0];
        let delta = &choice["delta"];
        self.text.push_str(delta["content"].as_str().unwrap_or_default());
        self.thoughts.push_str(delta["reasoning_content"].as_str().unwrap_or_default());
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let at = call["index"].as_u64().expect("a place") as usize;
            if at == self.calls.len() {
                self.calls.push((text(&call["id"]), text(&call["function"]["name"]), String::new()));
            }
            self.calls[at].2.push_str(&text(&call["function"]["arguments"]));
        }
        self.finish = choice["finish_reason"].as_str().map(str::to_owned).or(self.finish.take());
    }
}
