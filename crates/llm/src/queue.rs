//! The queue is where requests wait: first come, first served, one at a time, bounded. A waiting request is
//! told its position whenever that changes; one whose client has gone leaves by itself.

use crate::error::ApiError;
use crate::request::{ChatRequest, Tool};
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;

/// Most requests that may wait.
pub const MAX_WAITING: usize = 32;
/// How often the engine looks whether it is to stop.
const GLANCE: Duration = Duration::from_millis(250);

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    Stop,
    ToolCalls,
    Length,
}

/// What the router chose.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// A tool's name or "none".
    pub name: String,
    /// How likely "none" was at the first token, 0 to 1; 0 when it was not among the choices.
    pub none: f32,
}

/// What one step of a request read and wrote, in tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct StepUsage {
    /// "router", "arguments" or "answer".
    pub step: &'static str,
    pub prompt: usize,
    pub cached: usize,
    pub completion: usize,
    /// Of the router's step only.
    pub choice: Option<Choice>,
}

/// What the engine tells a request's client.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// So many requests are before this one.
    Waiting(usize),
    /// Reading the prompt of a step; tokens and milliseconds.
    Reading {
        step: &'static str,
        total: usize,
        cached: usize,
        done: usize,
        ms: u64,
    },
    Text(String),
    Call {
        name: String,
        arguments: String,
    },
    /// The last event of an answer. The usage of all steps, in order.
    Done {
        finish: Finish,
        steps: Vec<StepUsage>,
    },
    /// The last event when there is no answer.
    Failed(ApiError),
}

/// A request and the way back to its client.
pub struct Job {
    pub request: ChatRequest,
    events: mpsc::Sender<Event>,
}

impl Job {
    /// Sends an event; false when the client has gone or does not read.
    pub fn send(&self, event: Event) -> bool {
        self.events.try_send(event).is_ok()
    }

    /// Whether the client has gone.
    pub fn is_gone(&self) -> bool {
        self.events.is_closed()
    }
}

/// The prefix that is to be kept ready: the system message and the tools.
#[derive(Debug, Clone, PartialEq)]
pub struct Prefix {
    pub system: String,
    pub tools: Vec<Tool>,
}

/// What the engine is to do next.
pub enum Next {
    Chat(Box<Job>),
    Prefix(Prefix),
    Nothing,
    End,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    prefix: Option<Prefix>,
    closed: bool,
}

/// The queue between the HTTP server and the engine.
#[derive(Default)]
pub struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

impl Queue {
    /// Adds a request. Its events come over the returned channel; dropping that cancels the request.
    ///
    /// # Errors
    /// [`ApiError::Busy`] when the queue is full.
    pub fn push(&self, request: ChatRequest) -> Result<mpsc::Receiver<Event>, ApiError> {
        // an answer has at most a few thousand events; a client that reads none of them is dropped
        let (events, receiver) = mpsc::channel(8192);
        let mut waiting = self.lock();
        waiting.jobs.retain(|job| !job.is_gone());
        if waiting.jobs.len() >= MAX_WAITING {
            return Err(ApiError::Busy(waiting.jobs.len()));
        }
        waiting.jobs.push_back(Job { request, events });
        waiting.tell_positions();
        drop(waiting);
        self.changed.notify_all();
        Ok(receiver)
    }

    /// Sets the prefix to keep ready; the newest wins.
    pub fn want_prefix(&self, prefix: Prefix) {
        self.lock().prefix = Some(prefix);
        self.changed.notify_all();
    }

    /// Puts a prefix back whose reading was interrupted, unless a newer one is wanted by now.
    pub fn return_prefix(&self, prefix: Prefix) {
        self.lock().prefix.get_or_insert(prefix);
    }

    /// Whether the engine should leave off reading the prefix: a request waits, a newer prefix is wanted, or it
    /// is time to stop.
    pub fn is_pressing(&self) -> bool {
        let waiting = self.lock();
        waiting.closed || waiting.prefix.is_some() || waiting.jobs.iter().any(|job| !job.is_gone())
    }

    /// No more work; the engine ends.
    pub fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Whether [`Queue::close`] was called.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// The next work, waiting a moment for it. Requests come before the prefix.
    pub fn next(&self) -> Next {
        let mut waiting = self.lock();
        if waiting.jobs.is_empty() && waiting.prefix.is_none() && !waiting.closed {
            let woken = self.changed.wait_timeout(waiting, GLANCE);
            waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        if waiting.closed {
            return Next::End;
        }
        waiting.jobs.retain(|job| !job.is_gone());
        if let Some(job) = waiting.jobs.pop_front() {
            waiting.tell_positions();
            return Next::Chat(Box::new(job));
        }
        waiting.prefix.take().map_or(Next::Nothing, Next::Prefix)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // the data is only ever replaced whole, so a panic elsewhere leaves it usable
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn tell_positions(&self) {
        for (i, job) in self.jobs.iter().enumerate() {
            job.send(Event::Waiting(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> ChatRequest {
        let body = serde_json::json!({"messages": [{"role": "user", "content": text}]}).to_string();
        crate::request::parse(body.as_bytes()).unwrap()
    }

    fn question(next: Next) -> String {
        match next {
            Next::Chat(job) => job.request.messages[0].text.clone(),
            _ => "nothing".into(),
        }
    }

    #[test]
    fn requests_are_served_in_the_order_they_came() {
        let queue = Queue::default();
        let mut first = queue.push(request("a")).unwrap();
        let mut second = queue.push(request("b")).unwrap();
        assert_eq!(second.try_recv(), Ok(Event::Waiting(2)));
        assert_eq!(question(queue.next()), "a");
        assert_eq!(second.try_recv(), Ok(Event::Waiting(1)));
        assert_eq!(question(queue.next()), "b");
        assert_eq!(first.try_recv(), Ok(Event::Waiting(1)));
    }

    #[test]
    fn a_request_whose_client_has_gone_is_not_served() {
        let queue = Queue::default();
        drop(queue.push(request("a")).unwrap());
        let _b = queue.push(request("b")).unwrap();
        assert_eq!(question(queue.next()), "b");
    }

    #[test]
    fn a_full_queue_refuses() {
        let queue = Queue::default();
        let _kept: Vec<_> = (0..MAX_WAITING).map(|_| queue.push(request("x")).unwrap()).collect();
        assert_eq!(queue.push(request("x")).err(), Some(ApiError::Busy(MAX_WAITING)));
    }

    #[test]
    fn a_request_comes_before_the_prefix_and_the_newest_prefix_wins() {
        let queue = Queue::default();
        let prefix = |s: &str| Prefix { system: s.into(), tools: vec![] };
        queue.want_prefix(prefix("old"));
        queue.want_prefix(prefix("new"));
        let _a = queue.push(request("a")).unwrap();
        assert!(queue.is_pressing());
        assert_eq!(question(queue.next()), "a");
        let Next::Prefix(taken) = queue.next() else { panic!("the prefix was expected") };
        assert_eq!(taken, prefix("new"));
        queue.want_prefix(prefix("newest"));
        queue.return_prefix(taken);
        let Next::Prefix(taken) = queue.next() else { panic!("the prefix was expected") };
        assert_eq!(taken, prefix("newest"));
    }

    #[test]
    fn a_closed_queue_ends_the_engine() {
        let queue = Queue::default();
        queue.close();
        assert!(matches!(queue.next(), Next::End));
    }
}
