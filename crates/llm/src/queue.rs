//! The request queue: first in, first out, one at a time, bounded. A waiting request is notified of its position
//! whenever it changes; a request whose client disconnects is removed.

use crate::error::ApiError;
use crate::request::{ChatRequest, Tool};
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;

/// Maximum number of waiting requests.
pub const MAX_WAITING: usize = 32;
/// Interval at which the idle engine checks whether it should stop.
const IDLE_POLL_INTERVAL: Duration = Duration::from_millis(250);

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    Stop,
    ToolCalls,
    Length,
}

/// The router's choice.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// A tool's name or "none".
    pub name: String,
    /// Probability of "none" at the first token, 0 to 1; 0 if "none" was not among the choices.
    pub none_probability: f32,
}

/// Tokens that one step of a request evaluated and generated.
#[derive(Debug, Clone, PartialEq)]
pub struct StepUsage {
    /// "router", "arguments" or "answer".
    pub step: &'static str,
    pub prompt: usize,
    pub cached: usize,
    pub completion: usize,
    /// Set for the router's step only.
    pub choice: Option<Choice>,
}

/// An event that the engine sends to the client of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Position in the queue, 1-based.
    Waiting(usize),
    /// Progress of a step's prompt evaluation, in tokens and milliseconds.
    PromptProgress {
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
    /// The last event of a complete answer. `steps` holds the usage of all steps, in order.
    Done {
        finish: Finish,
        steps: Vec<StepUsage>,
    },
    /// The last event of a failed request.
    Failed(ApiError),
}

/// A request and the channel to its client.
pub struct Job {
    pub request: ChatRequest,
    events: mpsc::Sender<Event>,
}

impl Job {
    /// Sends an event; false if the client has disconnected or does not read.
    pub fn send(&self, event: Event) -> bool {
        self.events.try_send(event).is_ok()
    }

    /// Returns whether the client has disconnected.
    pub fn is_disconnected(&self) -> bool {
        self.events.is_closed()
    }
}

/// The prefix to keep evaluated: the system message and the tools.
#[derive(Debug, Clone, PartialEq)]
pub struct Prefix {
    pub system: String,
    pub tools: Vec<Tool>,
}

/// The engine's next task.
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
    /// Adds a request. Its events arrive on the returned channel; dropping the channel cancels the request.
    ///
    /// # Errors
    /// Returns [`ApiError::Busy`] if the queue is full.
    pub fn push(&self, request: ChatRequest) -> Result<mpsc::Receiver<Event>, ApiError> {
        // an answer has at most a few thousand events; a client that reads none of them counts as disconnected when
        // the buffer is full
        let (events, receiver) = mpsc::channel(8192);
        let mut waiting = self.lock();
        waiting.jobs.retain(|job| !job.is_disconnected());
        if waiting.jobs.len() >= MAX_WAITING {
            return Err(ApiError::Busy(waiting.jobs.len()));
        }
        waiting.jobs.push_back(Job { request, events });
        waiting.notify_positions();
        drop(waiting);
        self.changed.notify_all();
        Ok(receiver)
    }

    /// Sets the prefix to keep ready, replacing an earlier one.
    pub fn want_prefix(&self, prefix: Prefix) {
        self.lock().prefix = Some(prefix);
        self.changed.notify_all();
    }

    /// Puts back a prefix whose evaluation was interrupted, unless a newer one was set in the meantime.
    pub fn return_prefix(&self, prefix: Prefix) {
        self.lock().prefix.get_or_insert(prefix);
    }

    /// Returns whether the engine should interrupt the evaluation of the prefix: a request waits, a newer prefix is
    /// set, or the queue is closed.
    pub fn should_preempt(&self) -> bool {
        let waiting = self.lock();
        waiting.closed || waiting.prefix.is_some() || waiting.jobs.iter().any(|job| !job.is_disconnected())
    }

    /// Closes the queue; the engine then ends.
    pub fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Returns whether [`Queue::close`] was called.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Returns the next task, waiting briefly for one. Requests come before the prefix.
    pub fn next(&self) -> Next {
        let mut waiting = self.lock();
        if waiting.jobs.is_empty() && waiting.prefix.is_none() && !waiting.closed {
            let woken = self.changed.wait_timeout(waiting, IDLE_POLL_INTERVAL);
            waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        if waiting.closed {
            return Next::End;
        }
        waiting.jobs.retain(|job| !job.is_disconnected());
        if let Some(job) = waiting.jobs.pop_front() {
            waiting.notify_positions();
            return Next::Chat(Box::new(job));
        }
        waiting.prefix.take().map_or(Next::Nothing, Next::Prefix)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // no update leaves the data half-changed, so it stays usable after a panic elsewhere
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn notify_positions(&self) {
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
    fn requests_are_served_in_arrival_order() {
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
    fn request_of_disconnected_client_is_skipped() {
        let queue = Queue::default();
        drop(queue.push(request("a")).unwrap());
        let _b = queue.push(request("b")).unwrap();
        assert_eq!(question(queue.next()), "b");
    }

    #[test]
    fn full_queue_rejects_requests() {
        let queue = Queue::default();
        let _kept: Vec<_> = (0..MAX_WAITING).map(|_| queue.push(request("x")).unwrap()).collect();
        assert_eq!(queue.push(request("x")).err(), Some(ApiError::Busy(MAX_WAITING)));
    }

    #[test]
    fn requests_precede_prefix_and_newest_prefix_wins() {
        let queue = Queue::default();
        let prefix = |s: &str| Prefix { system: s.into(), tools: vec![] };
        queue.want_prefix(prefix("old"));
        queue.want_prefix(prefix("new"));
        let _a = queue.push(request("a")).unwrap();
        assert!(queue.should_preempt());
        assert_eq!(question(queue.next()), "a");
        let Next::Prefix(taken) = queue.next() else { panic!("the prefix was expected") };
        assert_eq!(taken, prefix("new"));
        queue.want_prefix(prefix("newest"));
        queue.return_prefix(taken);
        let Next::Prefix(taken) = queue.next() else { panic!("the prefix was expected") };
        assert_eq!(taken, prefix("newest"));
    }

    #[test]
    fn closed_queue_stops_engine() {
        let queue = Queue::default();
        queue.close();
        assert!(matches!(queue.next(), Next::End));
    }
}
