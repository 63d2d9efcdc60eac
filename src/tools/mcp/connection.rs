//! A connection to the program of a server: requests, progress and cancellation over its lines.
//!
//! One task writes and one reads, so a program that reads nothing cannot keep the server from reading what it writes. The
//! reading task owns the process: when it ends, for whatever reason, everything that the program started is killed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::askers::{Askers, ServerQuestion};
use super::elicitation::{self, Elicitor};
use super::era::Era;
use super::listening::{self, Announcements, is_list_changed};
use super::message::{self, Incoming, Request, RpcError};
use super::uses::{Use, Uses};
use crate::sandbox::{CompanionInput, CompanionMessage, CompanionOutput, CompanionProcess, Exit};
use crate::tools::LiveOutput;

/// Maximum number of lines that wait to be written.
const QUEUE: usize = 64;
/// Maximum number of lines that are no message; some programs print a greeting.
const MAX_NOISE: usize = 200;
/// Maximum number of requests of a server that are answered.
const MAX_REQUESTS: usize = 1_000;
/// Maximum characters of standard error in the reason for an end.
const SHOWN_STDERR: usize = 2_000;
/// How long a program may take to read a person's answer.
const ANSWER: Duration = Duration::from_secs(10);

/// Why a connection has ended that this server has closed.
pub const STOPPED: &str = "the server was stopped";

/// How long a request may take.
#[derive(Clone, Debug)]
pub struct RequestLimits {
    /// Maximum time without progress.
    pub silence: Duration,
    pub total: Duration,
}

/// Why a request has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error("{0}")]
    Refused(RpcError),
    /// The request may or may not have been carried out.
    #[error("{0}")]
    Lost(String),
    #[error("the server did not answer within {0} s")]
    TimedOut(u64),
    #[error("the request was cancelled")]
    Cancelled,
    /// A person has to sign in first: a sentence. Nothing was carried out.
    #[error("{0}")]
    SignIn(String),
}

pub struct Connection {
    pub era: Era,
    outgoing: mpsc::Sender<Value>,
    state: Arc<State>,
}

struct State {
    waiting: Mutex<HashMap<u64, Waiting>>,
    /// Set when the connection has ended.
    ended: Mutex<Option<String>>,
    closing: CancellationToken,
    /// Cancelled when no process is left.
    gone: CancellationToken,
    uses: Uses,
    askers: Askers,
    next: AtomicU64,
    announcements: Announcements,
    subscription: Mutex<Subscription>,
}

/// The subscription to what the server announces.
#[derive(Default)]
struct Subscription {
    id: Option<u64>,
    began: Option<Instant>,
    /// How often in a row it has ended soon.
    ends: u32,
    /// It has ended, and begins again later.
    is_paused: bool,
}

struct Waiting {
    reply: oneshot::Sender<Result<Value, RpcError>>,
    progress: mpsc::Sender<String>,
}

impl Connection {
    /// Begins to exchange messages with a program, which is killed when nobody has used it for `idle`.
    pub fn start(
        era: Era,
        (input, output, process): (CompanionInput, CompanionOutput, CompanionProcess),
        idle: Duration,
    ) -> Self {
        let (outgoing, lines) = mpsc::channel(QUEUE);
        let state = Arc::new(State {
            waiting: Mutex::default(),
            ended: Mutex::default(),
            closing: CancellationToken::new(),
            gone: CancellationToken::new(),
            uses: Uses::default(),
            askers: Askers::default(),
            next: AtomicU64::new(1),
            announcements: Announcements::default(),
            subscription: Mutex::default(),
        });
        tokio::spawn(write(input, lines));
        tokio::spawn(read(state.clone(), (output, process), (outgoing.clone(), idle)));
        Self { era, outgoing, state }
    }

    pub fn is_open(&self) -> bool {
        !self.state.closing.is_cancelled() && whole(&self.state.ended).is_none()
    }

    /// Keeps the program from being killed as idle.
    pub fn begin_use(&self) -> Use {
        self.state.uses.begin()
    }

    /// Returns why it has ended.
    pub fn ended(&self) -> Option<String> {
        whole(&self.state.ended).clone()
    }

    /// Ends it, and kills the program.
    pub fn close(&self) {
        self.state.closing.cancel();
    }

    /// Ends it, and waits until no process is left.
    pub async fn closed(&self) {
        self.close();
        self.state.gone.cancelled().await;
    }

    pub fn announcements(&self) -> &Announcements {
        &self.state.announcements
    }

    /// Subscribes to what the server announces, unless that was done or there is nothing.
    pub fn subscribe(&self) {
        let is_new = {
            let subscription = whole(&self.state.subscription);
            subscription.id.is_none() && !subscription.is_paused
        };
        if self.era == Era::Modern && self.state.announcements.is_offered() && is_new {
            subscribe(&self.state, &self.outgoing);
        }
    }

    pub async fn notify(&self, method: &str, params: Value) {
        // A connection that has ended needs no notification.
        let _ = self.outgoing.send(message::notification(method, params)).await;
    }

    /// Sends a request and waits for its result. `cancel` tells the server to stop; progress is shown in `live`. No time passes
    /// while a person answers what the server asks.
    ///
    /// # Errors
    /// Returns an error if the server refuses, does not answer in time, or is gone.
    pub async fn request(
        &self,
        Request { method, params, .. }: Request<'_>,
        limits: &RequestLimits,
        (cancel, live): (&CancellationToken, &LiveOutput),
        elicitor: Option<&Elicitor<'_>>,
    ) -> Result<Value, RequestError> {
        let id = self.state.next.fetch_add(1, Ordering::Relaxed);
        let (reply, mut answer) = oneshot::channel();
        let (progress, mut news) = mpsc::channel(8);
        let mut asking = self.state.askers.add(id, elicitor);
        whole(&self.state.waiting).insert(id, Waiting { reply, progress });
        let _waits = Registered { state: &self.state, id };
        if !self.is_open() {
            return Err(self.lost());
        }
        let _use = self.begin_use();
        let mut end = Instant::now() + limits.total;
        let mut quiet = Instant::now() + limits.silence;
        let sending = self.outgoing.send(message::request(self.era, id, (method, params)));
        tokio::select! {
            sent = sending => sent.map_err(|_| self.lost())?,
            () = tokio::time::sleep_until(quiet) => return Err(RequestError::TimedOut(limits.silence.as_secs())),
            () = cancel.cancelled() => return Err(RequestError::Cancelled),
        }
        let (mut answering, mut since) = (None::<BoxFuture<'_, Value>>, Instant::now());
        loop {
            let (until, most) = if quiet < end { (quiet, limits.silence) } else { (end, limits.total) };
            tokio::select! {
                answered = &mut answer => {
                    return match answered {
                        Ok(result) => result.map_err(RequestError::Refused),
                        Err(_) => Err(self.lost()),
                    };
                }
                Some(text) = news.recv() => {
                    quiet = Instant::now() + limits.silence;
                    if !text.is_empty() {
                        live.show(format!("{text}\n"));
                    }
                }
                Some(question) = asking.asked.recv(), if answering.is_none() => {
                    since = Instant::now();
                    answering = elicitor.map(|elicitor| -> BoxFuture<'_, Value> {
                        Box::pin(async move {
                            message::response(&question.id, elicitor.response(question.params).await)
                        })
                    });
                }
                response = whenever(&mut answering) => {
                    answering = None;
                    if tokio::time::timeout(ANSWER, self.outgoing.send(response)).await.is_err() {
                        return Err(self.lost());
                    }
                    (quiet, end) = (Instant::now() + limits.silence, end + since.elapsed());
                }
                () = tokio::time::sleep_until(until), if answering.is_none() => {
                    self.cancel(id, "it took too long").await;
                    return Err(RequestError::TimedOut(most.as_secs()));
                }
                () = cancel.cancelled() => {
                    self.cancel(id, "a person stopped it").await;
                    return Err(RequestError::Cancelled);
                }
            }
        }
    }

    async fn cancel(&self, id: u64, reason: &str) {
        let notification = message::notification("notifications/cancelled", json!({"requestId": id, "reason": reason}));
        // A server that reads nothing is not waited for.
        let _ = self.outgoing.try_send(notification);
    }

    fn lost(&self) -> RequestError {
        RequestError::Lost(self.ended().unwrap_or_else(|| "the connection to the server has ended".to_owned()))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.close();
    }
}

/// Removes a request that nobody waits for any more.
struct Registered<'a> {
    state: &'a State,
    id: u64,
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        whole(&self.state.waiting).remove(&self.id);
    }
}

async fn write(mut input: CompanionInput, mut lines: mpsc::Receiver<Value>) {
    while let Some(message) = lines.recv().await {
        if input.send(&message.to_string()).await.is_err() {
            return;
        }
    }
}

async fn read(
    state: Arc<State>,
    (mut output, process): (CompanionOutput, CompanionProcess),
    (outgoing, idle): (mpsc::Sender<Value>, Duration),
) {
    let (mut noise, mut requests) = (0, 0);
    let why = loop {
        let rest = state.uses.idle_at(idle);
        let line = tokio::select! {
            message = output.next() => message,
            () = state.closing.cancelled() => break None,
            () = tokio::time::sleep_until(rest) => {
                if state.uses.idle_at(idle) <= Instant::now() {
                    break None;
                }
                continue;
            }
        };
        let line = match line {
            CompanionMessage::Line(line) => line,
            CompanionMessage::Ended => break Some("the program of the server ended"),
            CompanionMessage::TooLong => break Some("the server sent a message over 4 MiB"),
        };
        match Incoming::parse(&line) {
            Incoming::Response { id, result } => match whole(&state.waiting).remove(&id) {
                Some(waiting) => drop(waiting.reply.send(result)),
                None => subscription_ended(&state, &outgoing, (id, result.is_ok())),
            },
            Incoming::Request { id, method, params } => {
                requests += 1;
                if requests > MAX_REQUESTS {
                    break Some("the server sent too many requests of its own");
                }
                let question = ServerQuestion { id: id.clone(), params };
                if method != elicitation::CREATE || !state.askers.ask(question) {
                    // A program that asks and reads no answers gets none.
                    let _ = outgoing.try_send(message::response_to(&id, &method));
                }
            }
            Incoming::Notification { method, params } => notified(&state, &method, &params),
            Incoming::Other => {
                noise += 1;
                if noise > MAX_NOISE {
                    break Some("the server writes lines that are no messages");
                }
            }
        }
    };
    // Nobody begins to wait after this, and whoever waits learns why.
    let (exit, stderr) = process.kill().await;
    let reason = match why {
        Some(why) => format!("{why}{}{}", exited(exit), shown(&stderr)),
        None => STOPPED.to_owned(),
    };
    *whole(&state.ended) = Some(reason);
    state.closing.cancel();
    whole(&state.waiting).clear();
    state.gone.cancel();
}

/// Resolves when there is a future and it does.
pub(super) async fn whenever<T>(future: &mut Option<BoxFuture<'_, T>>) -> T {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

/// Subscribes to what the server announces.
fn subscribe(state: &State, outgoing: &mpsc::Sender<Value>) {
    let id = state.next.fetch_add(1, Ordering::Relaxed);
    {
        let mut subscription = whole(&state.subscription);
        (subscription.id, subscription.began, subscription.is_paused) = (Some(id), Some(Instant::now()), false);
    }
    let request = message::request(Era::Modern, id, (listening::SUBSCRIBE, listening::subscription()));
    // A server that reads nothing is not waited for; the next use tries again.
    if outgoing.try_send(request).is_err() {
        whole(&state.subscription).id = None;
    }
}

/// Subscribes again later if the server has ended the subscription, and not if it has refused it.
fn subscription_ended(state: &Arc<State>, outgoing: &mpsc::Sender<Value>, (id, is_ended): (u64, bool)) {
    let ends = {
        let mut subscription = whole(&state.subscription);
        if subscription.id != Some(id) || !is_ended {
            return;
        }
        let has_lasted = subscription.began.is_some_and(|began| began.elapsed() >= listening::LASTING);
        let ends = if has_lasted { 0 } else { subscription.ends };
        (subscription.id, subscription.is_paused, subscription.ends) = (None, true, ends + 1);
        ends
    };
    let (state, outgoing) = (state.clone(), outgoing.clone());
    tokio::spawn(async move {
        tokio::select! {
            () = state.closing.cancelled() => return,
            () = tokio::time::sleep(listening::pause(ends)) => {}
        }
        // What it has announced meanwhile is lost.
        state.announcements.note_list_changed();
        subscribe(&state, &outgoing);
    });
}

fn exited(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!(" (exit code {code})"),
        Exit::Signal(_) | Exit::TimedOut | Exit::Cancelled => String::new(),
    }
}

fn shown(stderr: &str) -> String {
    let stderr = stderr.trim();
    if stderr.is_empty() {
        return String::new();
    }
    let skipped = stderr.chars().count().saturating_sub(SHOWN_STDERR);
    let end: String = stderr.chars().skip(skipped).collect();
    format!(". It wrote: {end}")
}

fn notified(state: &State, method: &str, params: &Value) {
    match method {
        method if is_list_changed(method) => state.announcements.note_list_changed(),
        "notifications/progress" => {
            let Some(id) = params["progressToken"].as_u64() else { return };
            let text: String = params["message"].as_str().unwrap_or_default().chars().take(500).collect();
            if let Some(waiting) = whole(&state.waiting).get(&id) {
                // What nobody has looked at yet is news enough.
                let _ = waiting.progress.try_send(text);
            }
        }
        _ => {}
    }
}

fn whole<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
