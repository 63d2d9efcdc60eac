//! `miniclaw mcp`: the MCP server on standard input and output, for programs that start their MCP servers. It passes messages on
//! to the running server, or to one that it starts for the time. Nothing but messages goes to standard output.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use url::Url;

use crate::cli::ask::client::Client;
use crate::cli::ask::host::Host;
use crate::cli::ask::mcp_messages::error_message;
use crate::cli::lines::{read_lines, write_lines};
use crate::cli::serve::stop_signal;
use crate::cli::{home_dir, log_to_stderr};

/// How long requests go on when standard input has ended.
const LAST_ANSWERS: Duration = Duration::from_secs(2);
const PARSE_ERROR: i64 = -32_700;
const INVALID_REQUEST: i64 = -32_600;
const SERVER_ERROR: i64 = -32_000;

/// Runs the command.
pub fn run(home: Option<PathBuf>, server: Option<Url>) -> anyhow::Result<ExitCode> {
    log_to_stderr("error");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = runtime.block_on(async {
        let host = match &server {
            Some(url) => Host::at(url)?,
            None => Host::of_home(&home_dir(home)).await?,
        };
        let stopped = stop_signal()?;
        let (out, written) = write_lines();
        let relay = Relay { client: host.client.clone(), out, version: Arc::default() };
        tokio::select! {
            () = relay.run(read_lines()) => {}
            () = stopped => {}
        }
        drop(relay);
        written.await;
        host.stop().await;
        Ok(ExitCode::SUCCESS)
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    done
}

/// What passes messages on.
#[derive(Clone)]
struct Relay {
    client: Arc<Client>,
    out: mpsc::Sender<Value>,
    /// The revision that `initialize` agreed on.
    version: Arc<Mutex<Option<String>>>,
}

impl Relay {
    /// Passes messages on until there are no more.
    async fn run(&self, mut lines: mpsc::Receiver<Result<Vec<u8>, &'static str>>) {
        let mut tasks = JoinSet::new();
        let mut pending: HashMap<String, tokio::task::AbortHandle> = HashMap::new();
        loop {
            let line = tokio::select! {
                line = lines.recv() => line,
                () = self.out.closed() => None,
            };
            let Some(line) = line else { break };
            let message = match line.map(|line| serde_json::from_slice::<Value>(&line)) {
                Ok(Ok(message)) => message,
                Ok(Err(error)) => {
                    self.refuse(PARSE_ERROR, &format!("the message is no JSON: {error}")).await;
                    continue;
                }
                Err(wrong) => {
                    self.refuse(INVALID_REQUEST, wrong).await;
                    continue;
                }
            };
            pending.retain(|_, task| !task.is_finished());
            while tasks.try_join_next().is_some() {}
            match (message.get("id"), message["method"].as_str()) {
                (Some(id), Some(_)) => {
                    let (id, relay) = (id.to_string(), self.clone());
                    pending.insert(id, tasks.spawn(async move { relay.answer(message).await }));
                }
                // Closing the request is what cancels it over HTTP.
                (None, Some("notifications/cancelled")) => {
                    let cancelled = pending.remove(&message["params"]["requestId"].to_string());
                    cancelled.into_iter().for_each(|task| task.abort());
                }
                // The server keeps nothing between requests, so that other notifications change nothing.
                (None, Some(_)) => {}
                (_, None) if message.is_object() && message.get("id").is_some() => {}
                (_, None) => self.refuse(INVALID_REQUEST, "a message is an object with a method").await,
            }
        }
        let last = async { while tasks.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LAST_ANSWERS, last).await;
    }

    async fn refuse(&self, code: i64, message: &str) {
        let _ = self.out.send(error_message(&Value::Null, code, message)).await;
    }

    /// Sends a request and passes on what answers it.
    async fn answer(&self, request: Value) {
        if let Err(error) = self.pass_on(&request).await {
            let message = error_message(&request["id"], SERVER_ERROR, &format!("{error:#}"));
            let _ = self.out.send(message).await;
        }
    }

    async fn pass_on(&self, request: &Value) -> anyhow::Result<()> {
        let version = self.version.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let is_initialize = request["method"] == "initialize";
        let mut messages = self.client.mcp(request, version.as_deref().filter(|_| !is_initialize)).await?;
        let mut is_answered = false;
        while let Some(mut message) = messages.next().await? {
            let is_answer = message.get("result").is_some() || message.get("error").is_some();
            if is_answer && message["id"].is_null() {
                message["id"] = request["id"].clone();
            }
            is_answered |= is_answer;
            if is_initialize && let Some(agreed) = message["result"]["protocolVersion"].as_str() {
                *self.version.lock().unwrap_or_else(PoisonError::into_inner) = Some(agreed.to_owned());
            }
            if self.out.send(message).await.is_err() {
                return Ok(());
            }
        }
        if is_answered { Ok(()) } else { Err(anyhow::anyhow!("the server ended the stream before it answered")) }
    }
}
