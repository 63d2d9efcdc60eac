//! Commands that go on in the background: they can be looked at and stopped, and end with their session or the server.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::domain::SessionId;
use crate::tools::text::plain;

/// Maximum number of jobs of a session that are remembered, of which the oldest ended one is forgotten first.
const MAX_JOBS: usize = 16;
/// Maximum time to wait for the end of a stopped job.
const STOP_TIMEOUT: Duration = Duration::from_secs(8);
/// Maximum bytes of output that are kept of a job while it runs.
const KEPT: usize = 64 << 10;

/// Output of a running command: the part that has not been shown yet, and the end of all of it.
#[derive(Default)]
pub struct LiveText(Mutex<LiveParts>);

#[derive(Default)]
struct LiveParts {
    unseen: Vec<u8>,
    end: Vec<u8>,
}

impl LiveText {
    pub fn push(&self, bytes: &[u8]) {
        let mut parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let LiveParts { unseen, end } = &mut *parts;
        for kept in [unseen, end] {
            kept.extend_from_slice(bytes);
            kept.drain(..kept.len().saturating_sub(KEPT));
        }
    }

    /// Takes the text since the last time; `None` if there is none. A character that is not complete waits.
    pub fn take(&self) -> Option<String> {
        let mut parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let complete = match std::str::from_utf8(&parts.unseen) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Ok(_) | Err(_) => parts.unseen.len(),
        };
        let bytes: Vec<u8> = parts.unseen.drain(..complete).collect();
        (!bytes.is_empty()).then(|| plain(&String::from_utf8_lossy(&bytes)))
    }

    /// Returns the end of all output, up to 64 KiB.
    pub fn end(&self) -> String {
        let parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        plain(&String::from_utf8_lossy(&parts.end))
    }
}

/// A command in the background.
#[derive(Clone)]
pub struct Job {
    pub live: Arc<LiveText>,
    pub started: Instant,
    cancel: CancellationToken,
    /// What became of it, once it has ended.
    ended: watch::Sender<Option<String>>,
}

impl Job {
    pub fn new(cancel: CancellationToken) -> Self {
        let (ended, _) = watch::channel(None);
        Self { live: Arc::default(), started: Instant::now(), cancel, ended }
    }

    pub fn end(&self, outcome: String) {
        self.ended.send_replace(Some(outcome));
    }

    /// Returns what became of it; `None` while it runs.
    pub fn outcome(&self) -> Option<String> {
        self.ended.borrow().clone()
    }

    /// Stops it, and waits until it has ended, up to eight seconds: the sandbox ends every process of a command within six.
    pub async fn stopped(&self) {
        self.stop();
        let mut ended = self.ended.subscribe();
        // If it has not ended by then, the caller sees that it runs.
        let _ = timeout(STOP_TIMEOUT, ended.wait_for(Option::is_some)).await;
    }

    fn stop(&self) {
        self.cancel.cancel();
    }
}

/// The jobs of all sessions. Dropping it stops them.
#[derive(Default)]
pub struct Jobs(Mutex<BTreeMap<SessionId, SessionJobs>>);

#[derive(Default)]
struct SessionJobs {
    count: usize,
    jobs: BTreeMap<usize, Job>,
}

impl Jobs {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, SessionJobs>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job and returns its id; `None` if too many are running.
    pub fn add(&self, session: &SessionId, job: Job) -> Option<String> {
        let mut all = self.lock();
        let of_session = all.entry(session.clone()).or_default();
        if of_session.jobs.len() >= MAX_JOBS {
            let ended = *of_session.jobs.iter().find(|(_, job)| job.outcome().is_some())?.0;
            of_session.jobs.remove(&ended);
        }
        of_session.count += 1;
        of_session.jobs.insert(of_session.count, job);
        Some(format!("job{}", of_session.count))
    }

    pub fn get(&self, session: &SessionId, id: &str) -> Option<Job> {
        let number = id.strip_prefix("job")?.parse::<usize>().ok()?;
        self.lock().get(session)?.jobs.get(&number).cloned()
    }

    /// Stops the jobs of a closed session and forgets them.
    pub fn close(&self, session: &SessionId) {
        let closed = self.lock().remove(session);
        closed.into_iter().flat_map(|closed| closed.jobs.into_values()).for_each(|job| job.stop());
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.lock().values().flat_map(|of_session| of_session.jobs.values()).for_each(Job::stop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_text_waits_for_whole_characters_and_is_bounded() {
        let live = LiveText::default();
        let tea = "茶\u{1b}[31m!".as_bytes();
        live.push(&tea[..2]);
        assert_eq!(live.take(), None);
        live.push(&tea[2..]);
        assert_eq!((live.take().as_deref(), live.take()), (Some("茶!"), None));
        live.push(&[b'a', 0xff, b'b']);
        assert_eq!(live.take().as_deref(), Some("a\u{fffd}b"));
        live.push("x".repeat(3 * KEPT).as_bytes());
        assert_eq!((live.take().unwrap().len(), live.end().len()), (KEPT, KEPT));
    }

    #[test]
    fn jobs_are_bounded_and_stopped_with_their_session() {
        let (jobs, session) = (Jobs::default(), SessionId::parse("s").unwrap());
        let other = SessionId::parse("other").unwrap();
        let tokens: Vec<CancellationToken> = (0..MAX_JOBS).map(|_| CancellationToken::new()).collect();
        for (at, token) in tokens.iter().enumerate() {
            assert_eq!(jobs.add(&session, Job::new(token.clone())), Some(format!("job{}", at + 1)));
        }
        assert_eq!(jobs.add(&session, Job::new(CancellationToken::new())), None);
        jobs.get(&session, "job3").unwrap().end("exit code 0".to_owned());
        assert_eq!(jobs.add(&session, Job::new(CancellationToken::new())), Some("job17".to_owned()));
        assert!(jobs.get(&session, "job3").is_none() && jobs.get(&other, "job1").is_none());
        assert!(jobs.get(&session, "job").is_none() && jobs.get(&session, "x1").is_none());
        jobs.close(&session);
        assert!(tokens[0].is_cancelled() && jobs.get(&session, "job1").is_none());
        let token = CancellationToken::new();
        jobs.add(&session, Job::new(token.clone()));
        drop(jobs);
        assert!(token.is_cancelled());
    }
}
