//! Commands that go on in the background: they can be looked at and stopped, by the model and by people, and end with
//! their session or the server.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::command::CommandEnd;
use crate::clock;
use crate::domain::{Mask, MaskedStream, Root, SessionId};
use crate::tools::CommandChanges;
use crate::tools::text::plain;

/// Maximum number of jobs of a session that are remembered, of which the oldest ended one is forgotten first.
const MAX_JOBS: usize = 16;
/// Maximum number of jobs of a home that run at once.
const MAX_RUNNING: usize = 32;
/// Maximum time to wait for the end of a stopped job.
const STOP_TIMEOUT: Duration = Duration::from_secs(8);
/// Maximum bytes of output that are kept of a job while it runs.
const KEPT: usize = 64 << 10;
/// Maximum characters of a job's output that a report contains.
const REPORTED: usize = 5_000;

/// Output of a running command: the part that has not been shown yet, and the end of all of it.
#[derive(Default)]
pub struct LiveText {
    parts: Mutex<LiveParts>,
    mask: Mask,
}

#[derive(Default)]
struct LiveParts {
    unseen: Vec<u8>,
    end: Vec<u8>,
    /// Hides secrets of which each stream, or each piece, has only a part.
    shown: MaskedStream,
}

impl LiveText {
    /// Creates a text in which these secrets are hidden.
    pub fn masking(mask: &Mask) -> Self {
        let parts = LiveParts { shown: mask.stream(), ..LiveParts::default() };
        Self { parts: Mutex::new(parts), mask: mask.clone() }
    }

    pub fn push(&self, bytes: &[u8]) {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let LiveParts { unseen, end, .. } = &mut *parts;
        for kept in [unseen, end] {
            kept.extend_from_slice(bytes);
            kept.drain(..kept.len().saturating_sub(KEPT));
        }
    }

    /// Takes the text since the last time; `None` if there is none. A character that is not complete waits, and so does what
    /// may be the beginning of a secret.
    pub fn take(&self) -> Option<String> {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let complete = match std::str::from_utf8(&parts.unseen) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Ok(_) | Err(_) => parts.unseen.len(),
        };
        let bytes: Vec<u8> = parts.unseen.drain(..complete).collect();
        let shown = parts.shown.push(plain(&String::from_utf8_lossy(&bytes)).as_bytes());
        (!shown.is_empty()).then(|| String::from_utf8_lossy(&shown).into_owned())
    }

    /// Takes the rest of the text at its end.
    pub fn take_rest(&self) -> Option<String> {
        let text = self.take();
        let rest = self.parts.lock().unwrap_or_else(PoisonError::into_inner).shown.end();
        let all = text.unwrap_or_default() + &String::from_utf8_lossy(&rest);
        (!all.is_empty()).then_some(all)
    }

    /// Returns the end of all output, up to 64 KiB.
    pub fn end(&self) -> String {
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        self.mask.text(&plain(&String::from_utf8_lossy(&parts.end))).into_owned()
    }
}

/// What a job is started with.
pub struct NewJob {
    /// The call that started it.
    pub call_id: String,
    /// The commands as people see them, one a line, without hidden characters.
    pub command: String,
    /// The project whose folder it works in.
    pub root: Root,
    /// Hides the project's secrets in its output.
    pub mask: Mask,
    pub cancel: CancellationToken,
}

/// How a job ended: the end of its last command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobOutcome {
    /// In a few English words, for example `exit code 0`.
    pub text: String,
    /// `stopped`, or why the command failed, in the words of the records; `None` if it succeeded.
    pub code: Option<&'static str>,
    pub exit_code: Option<i32>,
}

impl From<&CommandEnd> for JobOutcome {
    fn from(end: &CommandEnd) -> Self {
        let code = if end.is_cancelled { Some("stopped") } else { end.reason.map(|reason| reason.failure().code) };
        Self { text: end.message.clone(), code, exit_code: end.exit_code }
    }
}

/// A job as of now.
#[derive(Clone, Debug)]
pub struct JobReport {
    pub id: String,
    pub call_id: String,
    pub command: String,
    /// Unix seconds.
    pub started_at: f64,
    /// How long it ran, or has run so far.
    pub took: Duration,
    /// What became of it; `None` while it runs.
    pub outcome: Option<JobOutcome>,
    /// The end of its output, up to 5,000 characters.
    pub output: String,
    /// Whether the output was longer.
    pub is_truncated: bool,
}

/// Is called when a job of a session starts or ends, with the number of those that run. The registry is locked meanwhile, so
/// that the calls are in this order: it must not be used in them.
pub type OnJobsChanged = Arc<dyn Fn(&SessionId, usize) + Send + Sync>;

/// A command in the background.
#[derive(Clone)]
pub struct Job {
    pub id: String,
    pub live: Arc<LiveText>,
    call_id: String,
    command: String,
    root: Root,
    started: Instant,
    started_at: f64,
    cancel: CancellationToken,
    /// How it ended and how long it ran, once it has ended.
    ended: watch::Sender<Option<(JobOutcome, Duration)>>,
    /// What it changed in files, once it has ended.
    changes: Arc<OnceLock<CommandChanges>>,
}

impl Job {
    fn new(id: String, NewJob { call_id, command, root, mask, cancel }: NewJob) -> Self {
        let (ended, _) = watch::channel(None);
        let (started, started_at) = (Instant::now(), clock::now());
        Self {
            id,
            live: Arc::new(LiveText::masking(&mask)),
            call_id,
            command,
            root,
            started,
            started_at,
            cancel,
            ended,
            changes: Arc::default(),
        }
    }

    fn is_running(&self) -> bool {
        self.ended.borrow().is_none()
    }

    pub fn report(&self) -> JobReport {
        let ended = self.ended.borrow().clone();
        let (outcome, took) = match ended {
            Some((outcome, took)) => (Some(outcome), took),
            None => (None, self.started.elapsed()),
        };
        let output = self.live.end();
        let skipped = output.chars().count().saturating_sub(REPORTED);
        JobReport {
            id: self.id.clone(),
            call_id: self.call_id.clone(),
            command: self.command.clone(),
            started_at: self.started_at,
            took,
            outcome,
            output: output.chars().skip(skipped).collect(),
            is_truncated: skipped > 0,
        }
    }

    /// Returns what it changed in files; `None` while it runs.
    pub fn changes(&self) -> Option<&CommandChanges> {
        self.changes.get()
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
pub struct Jobs {
    sessions: Mutex<BTreeMap<SessionId, SessionJobs>>,
    on_change: OnJobsChanged,
}

#[derive(Default)]
struct SessionJobs {
    count: usize,
    jobs: BTreeMap<usize, Job>,
}

impl SessionJobs {
    fn running(&self) -> usize {
        self.jobs.values().filter(|job| job.is_running()).count()
    }
}

impl Jobs {
    pub fn new(on_change: OnJobsChanged) -> Self {
        Self { sessions: Mutex::default(), on_change }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, SessionJobs>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job; returns `None` if too many are running.
    pub fn add(&self, session: &SessionId, job: NewJob) -> Option<Job> {
        let mut all = self.lock();
        if all.values().map(SessionJobs::running).sum::<usize>() >= MAX_RUNNING {
            return None;
        }
        let of_session = all.entry(session.clone()).or_default();
        if of_session.jobs.len() >= MAX_JOBS {
            let ended = *of_session.jobs.iter().find(|(_, job)| !job.is_running())?.0;
            of_session.jobs.remove(&ended);
        }
        of_session.count += 1;
        let job = Job::new(format!("job{}", of_session.count), job);
        of_session.jobs.insert(of_session.count, job.clone());
        (self.on_change)(session, of_session.running());
        Some(job)
    }

    /// Records how a job ended and what it changed. Nobody is told about a job of a closed session.
    pub fn end(&self, session: &SessionId, job: &Job, (outcome, changes): (JobOutcome, CommandChanges)) {
        let all = self.lock();
        // A job ends once.
        let _ = job.changes.set(changes);
        job.ended.send_replace(Some((outcome, job.started.elapsed())));
        if let Some(of_session) = all.get(session) {
            (self.on_change)(session, of_session.running());
        }
    }

    pub fn get(&self, session: &SessionId, id: &str) -> Option<Job> {
        let number = id.strip_prefix("job")?.parse::<usize>().ok()?;
        self.lock().get(session)?.jobs.get(&number).cloned()
    }

    /// Returns the jobs of a session, oldest first.
    pub fn list(&self, session: &SessionId) -> Vec<JobReport> {
        let jobs: Vec<Job> =
            self.lock().get(session).map(|of_session| of_session.jobs.values().cloned().collect()).unwrap_or_default();
        jobs.iter().map(Job::report).collect()
    }

    /// Returns the calls of a session whose jobs are running.
    pub fn running_calls(&self, session: &SessionId) -> Vec<String> {
        let all = self.lock();
        let jobs = all.get(session).into_iter().flat_map(|of_session| of_session.jobs.values());
        jobs.filter(|job| job.is_running()).map(|job| job.call_id.clone()).collect()
    }

    /// Stops all jobs, and waits until they have ended and what they changed is recorded, up to eight seconds.
    pub async fn stop_all(&self) {
        let jobs: Vec<Job> = self.lock().values().flat_map(|of_session| of_session.jobs.values().cloned()).collect();
        join_all(jobs.iter().filter(|job| job.is_running()).map(Job::stopped)).await;
    }

    /// Stops the jobs in the folder of a project, and waits until they have ended, up to eight seconds.
    pub async fn stop_in(&self, root: &Root) {
        let jobs: Vec<Job> = self.lock().values().flat_map(|of_session| of_session.jobs.values().cloned()).collect();
        join_all(jobs.iter().filter(|job| job.is_running() && job.root == *root).map(Job::stopped)).await;
    }

    /// Whether a job is running in the folder of a project.
    pub fn is_any_running_in(&self, root: &Root) -> bool {
        let all = self.lock();
        let mut jobs = all.values().flat_map(|of_session| of_session.jobs.values());
        jobs.any(|job| job.is_running() && job.root == *root)
    }

    /// Whether a job of any session is running.
    pub fn is_any_running(&self) -> bool {
        self.lock().values().any(|of_session| of_session.running() > 0)
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
    use crate::domain::ProjectId;

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

    fn new_job(cancel: &CancellationToken) -> NewJob {
        let root = Root::Project(ProjectId::scratch());
        let mask = Mask::default();
        NewJob { call_id: "call".to_owned(), command: "sleep 9".to_owned(), root, mask, cancel: cancel.clone() }
    }

    fn succeeded() -> JobOutcome {
        JobOutcome { text: "exit code 0".to_owned(), code: None, exit_code: Some(0) }
    }

    #[test]
    fn jobs_are_bounded_and_stopped_with_their_session() {
        let (jobs, session) = (Jobs::new(Arc::new(|_, _| ())), SessionId::parse("s").unwrap());
        let other = SessionId::parse("other").unwrap();
        let add = |token: &CancellationToken| jobs.add(&session, new_job(token)).map(|job| job.id);
        let tokens: Vec<CancellationToken> = (0..MAX_JOBS).map(|_| CancellationToken::new()).collect();
        for (at, token) in tokens.iter().enumerate() {
            assert_eq!(add(token), Some(format!("job{}", at + 1)));
        }
        assert_eq!(add(&CancellationToken::new()), None);
        jobs.end(&session, &jobs.get(&session, "job3").unwrap(), (succeeded(), CommandChanges::default()));
        assert_eq!(add(&CancellationToken::new()), Some("job17".to_owned()));
        assert!(jobs.get(&session, "job3").is_none() && jobs.get(&other, "job1").is_none());
        assert!(jobs.get(&session, "job").is_none() && jobs.get(&session, "x1").is_none());
        assert!(jobs.is_any_running() && jobs.list(&other).is_empty());
        jobs.close(&session);
        assert!(tokens[0].is_cancelled() && jobs.get(&session, "job1").is_none() && !jobs.is_any_running());
        let token = CancellationToken::new();
        jobs.add(&session, new_job(&token));
        drop(jobs);
        assert!(token.is_cancelled());
    }

    #[test]
    fn running_jobs_of_all_sessions_are_bounded() {
        let jobs = Jobs::new(Arc::new(|_, _| ()));
        let session = |number: usize| SessionId::parse(&format!("s{number}")).unwrap();
        let add = |number: usize| jobs.add(&session(number), new_job(&CancellationToken::new()));
        assert!((0..MAX_RUNNING).all(|number| add(number % 8).is_some()));
        assert!(add(9).is_none());
        jobs.end(&session(0), &jobs.get(&session(0), "job1").unwrap(), (succeeded(), CommandChanges::default()));
        assert!(add(9).is_some() && add(9).is_none());
    }

    #[test]
    fn start_and_end_of_a_job_are_told_and_reported() {
        let told: Arc<Mutex<Vec<usize>>> = Arc::default();
        let listener = told.clone();
        let jobs = Jobs::new(Arc::new(move |_, running| listener.lock().unwrap().push(running)));
        let session = SessionId::parse("s").unwrap();
        let job = jobs.add(&session, new_job(&CancellationToken::new())).unwrap();
        job.live.push("茶".repeat(REPORTED + 1).as_bytes());
        assert_eq!(jobs.running_calls(&session), ["call"]);
        let report = jobs.list(&session).remove(0);
        assert_eq!((report.id.as_str(), report.call_id.as_str(), &report.outcome), ("job1", "call", &None));
        assert_eq!((report.output.chars().count(), report.is_truncated), (REPORTED, true));
        jobs.end(&session, &job, (succeeded(), CommandChanges::default()));
        assert!(jobs.running_calls(&session).is_empty() && job.changes().is_some());
        let report = jobs.list(&session).remove(0);
        assert_eq!(report.outcome, Some(succeeded()));
        assert_eq!(job.report().took, report.took, "the time of an ended job stands still");
        assert_eq!(*told.lock().unwrap(), [1, 0]);
        jobs.close(&session);
        jobs.end(&session, &job, (succeeded(), CommandChanges::default()));
        assert_eq!(told.lock().unwrap().len(), 2);
    }
}
