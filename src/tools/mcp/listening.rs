//! What a server says while nobody asks it: that a list of it has changed, and, in the older era, what it asks a person during
//! a call. Since 2026-07-28 a client subscribes to it; before, it comes over the lines of a program, or over a stream of its own.
//!
//! A remote server is listened to as long as it is used. A stream that ends is opened again, each time later.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::askers::ServerQuestion;
use super::connection::RequestError;
use super::elicitation;
use super::era::Era;
use super::events::{Event, take_events};
use super::link::Link;
use super::message::{self, Incoming};
use super::remote::{Remote, Sent, is_stream};
use crate::tools::fetch_url::StreamAnswer;

pub const SUBSCRIBE: &str = "subscriptions/listen";
/// Maximum bytes of a message.
const MAX_MESSAGE: usize = 1 << 20;
/// For how long a remote server that nobody uses is listened to.
const IDLE: Duration = Duration::from_secs(600);
/// How long after its end a stream is opened again; doubled each time up to the longest.
pub const AGAIN: Duration = Duration::from_secs(1);
const LONGEST_AGAIN: Duration = Duration::from_secs(300);
/// How long a stream has to last so that the next one is opened as soon as the first.
pub const LASTING: Duration = Duration::from_secs(60);
/// Maximum number of messages of a stream that are read.
const MAX_MESSAGES: u32 = 10_000;

/// What a server says that it can, what it has announced, and whether it is listened to.
#[derive(Default)]
pub struct Announcements {
    /// The server says that it announces changes.
    is_offered: AtomicBool,
    has_resources: AtomicBool,
    is_listened_to: AtomicBool,
    /// The id of the subscription.
    subscription: AtomicU64,
    list_changed: AtomicBool,
}

impl Announcements {
    /// Takes what a server says that it can.
    pub fn note_capabilities(&self, capabilities: &Value) {
        self.is_offered.store(announces(capabilities), Ordering::Relaxed);
        self.has_resources.store(capabilities["resources"].is_object(), Ordering::Relaxed);
    }

    pub fn is_offered(&self) -> bool {
        self.is_offered.load(Ordering::Relaxed)
    }

    pub fn has_resources(&self) -> bool {
        self.has_resources.load(Ordering::Relaxed)
    }

    pub fn note_list_changed(&self) {
        self.list_changed.store(true, Ordering::Relaxed);
    }

    /// Returns whether the list of tools has changed since the last call.
    pub fn take_list_changed(&self) -> bool {
        self.list_changed.swap(false, Ordering::Relaxed)
    }

    /// Returns whether somebody has to begin to listen: the server may say something, and nobody does.
    fn begins(&self, era: Era) -> bool {
        let says = era == Era::Legacy || self.is_offered.load(Ordering::Relaxed);
        says && !self.is_listened_to.swap(true, Ordering::Relaxed)
    }
}

/// What became of the wish to listen to a server.
enum Listened {
    Stream(Box<StreamAnswer>),
    /// The server has nothing to listen to.
    Refused,
    Failed,
}

/// What a message means for the stream that it came over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    More,
    /// It is the last one.
    End,
    /// The server does not want to be listened to.
    Refused,
}

impl Remote {
    /// Asks the server for what it says by itself. `last_event` is where an earlier stream of the older era ended.
    async fn listens(&self, last_event: Option<&str>) -> Listened {
        let (headers, body);
        let sent = match self.era {
            Era::Legacy => {
                headers = self.headers_of("", &Value::Null);
                Sent::Listening(last_event)
            }
            Era::Modern => {
                let id = self.next.fetch_add(1, Ordering::Relaxed);
                self.announcements.subscription.store(id, Ordering::Relaxed);
                headers = self.headers_of(SUBSCRIBE, &subscription());
                body = message::request(self.era, id, (SUBSCRIBE, subscription()));
                Sent::Message(&body)
            }
        };
        match self.answer_aside(&headers, sent).await {
            Ok(answer) if answer.status == 200 && is_stream(&answer) => Listened::Stream(Box::new(answer)),
            Ok(answer) if answer.status < 500 && !matches!(answer.status, 408 | 429) => Listened::Refused,
            // A token that cannot be renewed now may be later.
            Ok(_) | Err(RequestError::Lost(_) | RequestError::SignIn(_)) => Listened::Failed,
            Err(_) => Listened::Refused,
        }
    }

    /// Takes a message of the server that belongs to no request.
    async fn hears(&self, bytes: &[u8]) -> Heard {
        match Incoming::parse(bytes) {
            Incoming::Notification { method, .. } if is_list_changed(&method) => {
                self.announcements.note_list_changed();
            }
            Incoming::Request { id, method, params } if self.era == Era::Legacy => {
                let question = ServerQuestion { id: id.clone(), params };
                if method != elicitation::CREATE || !self.askers.ask(question) {
                    let (headers, response) = (self.headers_of("", &Value::Null), message::response_to(&id, &method));
                    // A server that does not take it goes on without.
                    let _ = self.answer_aside(&headers, Sent::Message(&response)).await;
                }
            }
            Incoming::Response { id, result } if id == self.announcements.subscription.load(Ordering::Relaxed) => {
                return if result.is_ok() { Heard::End } else { Heard::Refused };
            }
            Incoming::Notification { .. } | Incoming::Request { .. } | Incoming::Response { .. } | Incoming::Other => {}
        }
        Heard::More
    }
}

/// Returns what this client subscribes to.
pub fn subscription() -> Value {
    json!({"notifications": {"toolsListChanged": true, "resourcesListChanged": true}})
}

/// Returns whether the capabilities of a server say that it announces changes of its tools or resources.
pub fn announces(capabilities: &Value) -> bool {
    ["tools", "resources"].iter().any(|list| capabilities[list]["listChanged"] == true)
}

/// Returns whether a notification says that the tools or resources of a server have changed.
pub fn is_list_changed(method: &str) -> bool {
    matches!(method, "notifications/tools/list_changed" | "notifications/resources/list_changed")
}

/// Returns how long after this many ends in a row a stream is opened again.
pub fn pause(ends: u32) -> Duration {
    AGAIN.saturating_mul(2_u32.saturating_pow(ends)).min(LONGEST_AGAIN)
}

/// Begins to listen to a server, unless it is listened to.
pub fn listen(link: &Arc<Link>) {
    match &**link {
        Link::Program(connection) => connection.subscribe(),
        Link::Remote(remote) => {
            if !remote.announcements.begins(remote.era) {
                return;
            }
            let (link, closing) = (Arc::downgrade(link), remote.closing());
            tokio::spawn(async move {
                let ended = tokio::select! {
                    () = closing.cancelled() => Ended::ForGood,
                    ended = listened(&link) => ended,
                };
                if let (Ended::Idle, Some(link)) = (ended, link.upgrade())
                    && let Link::Remote(remote) = &*link
                {
                    remote.announcements.is_listened_to.store(false, Ordering::Relaxed);
                }
            });
        }
    }
}

enum Ended {
    /// Nobody uses the server: its next use begins again.
    Idle,
    ForGood,
}

/// Listens to a remote server until nobody uses it, or it does not want that.
async fn listened(link: &Weak<Link>) -> Ended {
    let (mut ends, mut stream) = (0, Stream::default());
    loop {
        let Some(opened) = with(link, async |remote| remote.listens(stream.last_event.as_deref()).await).await else {
            return Ended::ForGood;
        };
        let began = Instant::now();
        match opened {
            // The server may not know the event any more.
            Listened::Refused if stream.last_event.take().is_some() => continue,
            Listened::Refused => return Ended::ForGood,
            Listened::Failed => {}
            Listened::Stream(mut answer) => match stream.read(link, &mut answer).await {
                Some(ended) => return ended,
                None => {
                    // What it has announced meanwhile is lost.
                    let noted = with(link, async |remote| remote.announcements.note_list_changed()).await;
                    if noted.is_none() {
                        return Ended::ForGood;
                    }
                }
            },
        }
        if began.elapsed() >= LASTING {
            ends = 0;
        }
        tokio::time::sleep(pause(ends).max(stream.retry.unwrap_or_default().min(LONGEST_AGAIN))).await;
        ends += 1;
        match with(link, async |remote| remote.idle_at(IDLE) <= Instant::now()).await {
            None => return Ended::ForGood,
            Some(true) => return Ended::Idle,
            Some(false) => {}
        }
    }
}

/// Does something with a remote server, unless it is not used any more.
async fn with<T>(link: &Weak<Link>, act: impl AsyncFnOnce(&Remote) -> T) -> Option<T> {
    let link = link.upgrade()?;
    match &*link {
        Link::Remote(remote) => Some(act(remote).await),
        Link::Program(_) => None,
    }
}

/// How far a stream was read.
#[derive(Default)]
struct Stream {
    bytes: Vec<u8>,
    searched: usize,
    /// Where it can be resumed.
    last_event: Option<String>,
    retry: Option<Duration>,
}

impl Stream {
    /// Reads a stream to its end. Returns a reason if it is not opened again.
    async fn read(&mut self, link: &Weak<Link>, answer: &mut StreamAnswer) -> Option<Ended> {
        self.bytes.clear();
        self.searched = 0;
        let mut messages = 0;
        loop {
            let Some(idle_at) = with(link, async |remote| remote.idle_at(IDLE)).await else {
                return Some(Ended::ForGood);
            };
            let chunk = tokio::select! {
                chunk = answer.chunk() => chunk,
                () = tokio::time::sleep_until(idle_at) => {
                    let is_idle = with(link, async |remote| remote.idle_at(IDLE) <= Instant::now()).await;
                    match is_idle {
                        None => return Some(Ended::ForGood),
                        Some(true) => return Some(Ended::Idle),
                        Some(false) => continue,
                    }
                }
            };
            let Ok(Some(chunk)) = chunk else { return None };
            self.bytes.extend_from_slice(&chunk);
            if self.bytes.len() > MAX_MESSAGE {
                return Some(Ended::ForGood);
            }
            for Event { data, id, retry } in take_events(&mut self.bytes, &mut self.searched) {
                if let Some(id) = id.filter(|id| !id.is_empty()) {
                    // It is resumed with a header, so another text is none.
                    self.last_event = Some(id).filter(|id| !id.chars().any(char::is_control));
                }
                self.retry = retry.or(self.retry);
                let Some(data) = data.filter(|data| !data.is_empty()) else { continue };
                messages += 1;
                if messages > MAX_MESSAGES {
                    return Some(Ended::ForGood);
                }
                match with(link, async |remote| remote.hears(&data).await).await {
                    None | Some(Heard::Refused) => return Some(Ended::ForGood),
                    Some(Heard::End) => return None,
                    Some(Heard::More) => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_are_bounded() {
        let seconds: Vec<u64> = [0, 1, 2, 8, 9, 40].map(|ends| pause(ends).as_secs()).into();
        assert_eq!(seconds, [1, 2, 4, 256, 300, 300]);
    }

    #[test]
    fn only_a_server_that_announces_is_subscribed_to() {
        assert!(announces(&json!({"tools": {"listChanged": true}})));
        for silent in [json!(null), json!({"tools": {}}), json!({"tools": {"listChanged": "yes"}}), json!([])] {
            assert!(!announces(&silent), "{silent}");
        }
    }
}
