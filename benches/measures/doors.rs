//! What the doors of programs take beyond the page's: the OpenAI API and the live socket, and the memory of open sockets.

use std::io::{self, Error};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::turn::{OF_SERVER, ask};
use super::{Bench, fast_model, titled_session};
use crate::kit::http::Connection;
use crate::kit::numbers::Samples;
use crate::kit::report::Report;
use crate::kit::server::{Server, program, starter_home};

const QUESTION: &str = "Say one word.";
const SOCKETS: usize = 1_000;
/// Turns of one conversation.
const TURNS: usize = 10;

pub async fn measure(bench: &Bench, report: &mut Report) -> io::Result<()> {
    report.section("Doors of programs, against a model that answers at once");
    let model = fast_model(1).await?;
    let home = bench.folder("doors");
    starter_home(&home, &model.base_url)?;
    let token = ask_token(&home)?;
    let server = Server::start(&home)?;
    let mut page = server.connect().await?;
    let mut program = server.connect().await?.signed_in(&token);
    let (mut of_page, mut of_program, mut of_socket) = (Samples::default(), Samples::default(), Samples::default());
    let n = bench.times(300);
    for conversation in 0..n.div_ceil(TURNS) {
        let id = titled_session(&mut page).await?;
        let mut chat = Chat::new(conversation);
        let mut socket = Socket::open(&server, &format!("?session_id={}", titled_session(&mut page).await?)).await?;
        for _ in 0..TURNS {
            let body = json!({"message": QUESTION, "session_id": id}).to_string();
            of_page.push_ms(ask(&mut page, "/api/chat", &body, OF_SERVER).await?.first);
            of_program.push_ms(chat.ask(&mut program).await?);
            of_socket.push_ms(socket.ask().await?);
        }
    }
    let base = of_page.p50();
    let mut beyond = |name: &str, samples: &Samples, target| {
        let samples = samples.beyond(base);
        let note = format!("n = {}; of `/api/chat` {base:.2} ms; ± {:.2}", samples.len(), samples.spread());
        let name = format!("`{name}`: time to first token beyond that of `/api/chat`, p50");
        report.figure(name, samples.p50(), "ms").at_most(target).note(note);
    };
    beyond("/v1/chat/completions", &of_program, 3.0);
    beyond("/ws", &of_socket, 1.0);
    drop(server);

    allow_more_sockets()?;
    let server = Server::start(&home)?;
    let before = server.memory()?;
    let mut open = Vec::new();
    for _ in 0..SOCKETS {
        open.push(Socket::open(&server, "").await?);
    }
    let after = server.memory()?;
    let note = format!("of it {:.1} not file pages; {:.1} MB before them", after.1, before.0);
    report.figure(format!("resident with {SOCKETS} open sockets"), after.0, "MB").at_most(60.0).note(note);
    report.show();
    Ok(())
}

/// Makes a token of the OpenAI API.
fn ask_token(home: &Path) -> io::Result<String> {
    let made = program().args(["token", "add", "--scope", "ask", "--home"]).arg(home).stderr(Stdio::null()).output()?;
    let token = String::from_utf8_lossy(&made.stdout).trim().to_owned();
    if token.is_empty() { Err(Error::other("no token was made")) } else { Ok(token) }
}

/// Raises this process's limit of open files to what is allowed, for its side of the sockets.
fn allow_more_sockets() -> io::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })?)
}

/// A conversation of a program, which sends all of it each time.
struct Chat {
    id: String,
    messages: Vec<Value>,
}

impl Chat {
    fn new(number: usize) -> Self {
        Self { id: format!("chat-{number}"), messages: Vec::new() }
    }

    /// Asks a question and returns the time to the first token.
    async fn ask(&mut self, connection: &mut Connection) -> io::Result<Duration> {
        self.messages.push(json!({"role": "user", "content": QUESTION}));
        let metadata = json!({"session_id": self.id});
        let body = json!({"model": "miniclaw", "stream": true, "messages": self.messages, "metadata": metadata});
        let (began, mut first, mut answer) = (Instant::now(), None, String::new());
        let seen = |event: &[u8], now: Instant| {
            let data = event.strip_prefix(b"data: ").unwrap_or_default();
            let chunk: Value = serde_json::from_slice(data).unwrap_or_default();
            if let Some(text) = chunk["choices"][0]["delta"]["content"].as_str().filter(|text| !text.is_empty()) {
                first.get_or_insert(now - began);
                answer.push_str(text);
            }
        };
        connection.stream("/v1/chat/completions", &body.to_string(), seen).await?;
        self.messages.push(json!({"role": "assistant", "content": answer}));
        first.ok_or_else(|| Error::other("the program got no answer"))
    }
}

struct Socket(WebSocketStream<TcpStream>);

impl Socket {
    /// Opens a socket and reads the history, which comes first.
    async fn open(server: &Server, query: &str) -> io::Result<Self> {
        let connection = TcpStream::connect(server.address).await?;
        connection.set_nodelay(true)?;
        let address = format!("ws://{}/ws{query}", server.address);
        let (stream, _) = tokio_tungstenite::client_async(address, connection).await.map_err(Error::other)?;
        let mut socket = Self(stream);
        socket.until("HISTORY").await?;
        Ok(socket)
    }

    /// Asks a question, waits for the end of the answer, and returns the time to the first token.
    async fn ask(&mut self) -> io::Result<Duration> {
        let message = json!({"type": "USER_MESSAGE", "data": {"content": QUESTION}, "id": 1}).to_string();
        let began = Instant::now();
        self.0.send(Message::text(message)).await.map_err(Error::other)?;
        self.until("ASSISTANT_TEXT").await?;
        let first = began.elapsed();
        self.until("RESULT").await?;
        Ok(first)
    }

    async fn until(&mut self, kind: &str) -> io::Result<()> {
        let wanted = format!("\"type\":\"{kind}\"");
        while let Some(message) = self.0.next().await {
            let message = message.map_err(Error::other)?;
            if message.to_text().is_ok_and(|text| text.contains(&wanted)) {
                return Ok(());
            }
        }
        Err(Error::other(format!("the socket was closed before {kind}")))
    }
}
