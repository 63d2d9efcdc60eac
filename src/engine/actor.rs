//! The task that owns one session. Every change goes through it, always in the order journal, fold, publish.

mod answers;
mod branches;
mod command;
mod compressing;
mod deleting;
mod delivering;
mod errands;
mod saying;
mod stopping;
mod withdrawing;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

pub use command::{Closing, Command, Compression, MessageState, Reply, View, WorkStarted};

use super::approvals::ApprovalTimers;
use super::hub::PublishedItem;
use super::ledger::{Ledger, OnDisk};
use super::notice::Notice;
use super::work::{RunStart, WorkTask, work};
use super::{EngineError, Tenant};
use crate::agent::{EventKind, OwnerMessage, RecordedEvent, Recorder, RunEnd, StopSignal};
use crate::domain::{ErrorParams, Event, Outcome, SessionId, UserPrompt, WorkId};
use crate::store::{CompactedFile, Loaded};

/// Number of idempotency keys kept in memory for each session.
const KEYS: usize = 32;
pub struct Actor {
    ledger: Ledger,
    tenant: Arc<Tenant>,
    running: Option<ActiveRun>,
    keys: VecDeque<(String, WorkStarted)>,
    /// The work that has ended and waits for the session's title.
    untitled: Option<WorkId>,
    /// Prompts that interrupt the run under way, in the order in which they run next.
    said: VecDeque<QueuedPrompt>,
    /// The queue waits for a person: the last run was stopped or failed, or the session was just loaded.
    queue_paused: bool,
    /// The queued message that runs next, whatever its place and even if the queue is paused.
    send_now: Option<String>,
    timers: ApprovalTimers,
    /// The server is stopping or the session leaves memory: questions that wait for a person stay open.
    suspending: bool,
    /// Whether a run that is cut off ends here, also in a cluster.
    ends_here: bool,
    /// A summary is being made: the messages must not change.
    compressing: Option<CompactedBy>,
    /// Channel for the results of model requests outside the run.
    errands: (mpsc::Sender<SideRequest>, mpsc::Receiver<SideRequest>),
}

struct ActiveRun {
    work_id: WorkId,
    stop_signal: StopSignal,
    entries: mpsc::Receiver<RecordedEvent>,
    messages: mpsc::UnboundedSender<OwnerMessage>,
    /// Questions whose calls are being rehearsed because a person requested it.
    rehearsing: HashSet<String>,
    /// Questions that were answered while the run was under way.
    answered: HashSet<String>,
    task: JoinHandle<Result<RunEnd, String>>,
}

/// A prompt and the requesters that wait for its work to begin.
struct QueuedPrompt {
    prompt: UserPrompt,
    key: Option<String>,
    replies: Vec<Reply<WorkStarted>>,
}

/// The result of a model request outside a run.
enum SideRequest {
    Title {
        title: String,
        settles: Option<WorkId>,
        reply: Option<Reply<String>>,
    },
    Summary {
        count: usize,
        made: Result<(String, CompactedFile), EngineError>,
        reply: Option<Reply<Compression>>,
    },
    /// The next request nearly fills the context window.
    NearlyFull,
}

/// Who has a session compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CompactedBy {
    Person,
    /// `auto_compact` is on. Prompts wait until it is done.
    Setting,
}

/// How a work ended, as far as the session's title is concerned.
enum Ended {
    Answered,
    Stopped,
    Failed,
}

/// What woke the actor up.
enum ActorWakeup {
    Command(Option<Command>),
    RecordedEvent(Option<RecordedEvent>),
    SideRequest(SideRequest),
    /// This question was not answered in time.
    Expired(String),
    Idle,
}

impl Actor {
    pub fn new(id: SessionId, loaded: Loaded, tenant: Arc<Tenant>) -> Self {
        if let Some(work_id) = tenant.work_taken_over(&loaded.session) {
            tenant.hub.resume(&id, &work_id);
            tenant.approvals.note_answers(&loaded.session, &work_id);
        }
        if let Some(work) = loaded.session.waiting() {
            tenant.hub.resume(&id, &work.work_id);
            tenant.approvals.note_answers(&loaded.session, &work.work_id);
            tenant.client_works.note(&id, &loaded.session);
        }
        let ledger = Ledger::new(id, loaded, &tenant);
        Self {
            ledger,
            tenant,
            running: None,
            keys: VecDeque::new(),
            untitled: None,
            said: VecDeque::new(),
            queue_paused: true,
            send_now: None,
            timers: ApprovalTimers::default(),
            suspending: false,
            ends_here: false,
            compressing: None,
            errands: mpsc::channel(4),
        }
    }

    pub async fn live(mut self, mut commands: mpsc::Receiver<Command>) {
        let waiting = self.ledger.session.waiting().map(|work| work.work_id.clone());
        if let Some(work_id) = waiting {
            // The server stopped while questions were open; the run asks them again and continues from there.
            self.start_run(work_id, RunStart::Calls);
        } else if let Some(work_id) = self.tenant.work_taken_over(&self.ledger.session) {
            self.start_run(work_id, RunStart::Continued { beyond_own_limit: false });
        }
        let closed = self.serve(&mut commands).await;
        for said in std::mem::take(&mut self.said) {
            said.replies.into_iter().for_each(|reply| drop(reply.send(Err(self.tenant.closed()))));
        }
        if let Some(work_id) = self.untitled.take() {
            // The title will not be made any more; do not keep subscribers waiting for it.
            self.ledger.publish(PublishedItem::Settled(work_id));
        }
        if let Some(reply) = closed {
            // The requester may have disconnected; the session is closed all the same.
            let _ = reply.send(Ok(()));
        }
    }

    /// Serves commands until the session is closed, idle for `SESSION_TTL`, or its file is gone. Returns the reply channel
    /// of the close command, if there was one.
    async fn serve(&mut self, commands: &mut mpsc::Receiver<Command>) -> Option<Reply<()>> {
        let idle = self.tenant.runtime.config().session_ttl;
        loop {
            let wake = tokio::select! {
                biased;
                command = commands.recv() => ActorWakeup::Command(command),
                entry = next_entry(&mut self.running) => ActorWakeup::RecordedEvent(entry),
                Some(errand) = self.errands.1.recv() => ActorWakeup::SideRequest(errand),
                id = self.timers.expired() => ActorWakeup::Expired(id),
                () = tokio::time::sleep(idle), if self.running.is_none() && self.compressing.is_none() => ActorWakeup::Idle,
            };
            match wake {
                ActorWakeup::RecordedEvent(Some(entry)) => self.record(entry).await,
                ActorWakeup::RecordedEvent(None) => {
                    self.end_run().await;
                    self.go_on().await;
                }
                ActorWakeup::Expired(id) => self.expire(&id).await,
                ActorWakeup::SideRequest(SideRequest::Title { title, settles, reply }) => {
                    self.titled(title, settles, reply).await
                }
                ActorWakeup::SideRequest(SideRequest::Summary { count, made, reply }) => {
                    let made = self.compressed(count, made).await;
                    match reply {
                        // The requester may have disconnected; the compression is kept.
                        Some(reply) => drop(reply.send(made)),
                        None => self.log_failed_compaction(made),
                    }
                    self.go_on().await;
                }
                ActorWakeup::SideRequest(SideRequest::NearlyFull) => self.compact_automatically(),
                ActorWakeup::Command(Some(Command::Close { closing, reply })) => {
                    self.suspending = closing != Closing::Deleted;
                    self.ends_here = closing != Closing::Server;
                    self.stop().await;
                    return Some(reply);
                }
                ActorWakeup::Command(Some(command)) => {
                    if self.file_is_gone().await {
                        // The requester sees a closed channel and retries, which opens the session again or reports
                        // that it is missing.
                        return None;
                    }
                    self.command(command).await;
                }
                ActorWakeup::Command(None) | ActorWakeup::Idle => {
                    self.suspending = true;
                    self.stop().await;
                    // Recent publications are kept for clients that reconnect; after this long they load the history
                    // instead.
                    self.tenant.hub.forget(&self.ledger.id);
                    return None;
                }
            }
        }
    }

    /// Checks whether the session's file was deleted, and reloads a changed one. While nothing runs, a person may edit
    /// or delete the file, and their version counts.
    async fn file_is_gone(&mut self) -> bool {
        if self.running.is_some() || self.compressing.is_some() {
            return false;
        }
        match self.ledger.refresh().await {
            Ok(OnDisk::AsKnown) => false,
            Ok(OnDisk::ReadAgain) => {
                self.changed();
                false
            }
            Ok(OnDisk::Gone) => true,
            Err(error) => {
                tracing::error!(session = %self.ledger.id, %error, "could not look at the session's file");
                false
            }
        }
    }

    async fn command(&mut self, command: Command) {
        // A requester that has disconnected does not undo the command, so failed replies are ignored.
        match command {
            Command::Say { prompt, key, when, reply } => {
                self.say(QueuedPrompt { prompt, key, replies: vec![reply] }, when).await
            }
            Command::Continue { beyond_own_limit, reply } => {
                drop(reply.send(self.continue_work(beyond_own_limit).await));
            }
            Command::EditQueued { id, content, reply } => drop(reply.send(self.edit_queued(&id, content).await)),
            Command::RemoveQueued { id, reply } => drop(reply.send(self.remove_queued(&id).await)),
            Command::SendQueued { id, reply } => drop(reply.send(self.send_queued(&id).await)),
            Command::Interrupt { reply } => drop(reply.send(Ok(self.interrupt().await))),
            Command::StopWork { work_id, reply } => drop(reply.send(self.stop_work(&work_id).await)),
            Command::Answer { id, hash, wish, reply } => drop(reply.send(self.answer(&id, &hash, wish).await)),
            Command::Deliver { results, reply } => drop(reply.send(self.deliver(results).await)),
            Command::Hold { id, reply } => drop(reply.send(self.hold(&id).await)),
            Command::Rehearse { id, reply } => drop(reply.send(self.rehearse(&id).await)),
            Command::Undo { call_id, reply } => drop(reply.send(self.undo(&call_id).await)),
            Command::Withdraw { request, reply } => drop(reply.send(self.withdraw(request).await)),
            Command::Rewind { from, to, reply } => drop(reply.send(self.rewind(from, to).await)),
            Command::DeleteMessage { first, reply } => drop(reply.send(self.delete_message(first).await)),
            Command::Pin { message_id, pinned, reply } => drop(reply.send(self.pin(message_id, pinned).await)),
            Command::ClearTaint { reply } => drop(reply.send(self.clear_taint().await)),
            Command::Rename { title, reply } => drop(reply.send(self.rename(title).await)),
            Command::Choose { chosen, sender, reply } => drop(reply.send(self.choose(chosen, sender).await)),
            Command::Change { change, reply } => drop(reply.send(self.change(change).await)),
            Command::Bind { project_id, reply } => drop(reply.send(self.bind(project_id).await)),
            Command::Retitle { reply } => self.retitle(None, Some(reply)),
            Command::Compress { accepted, reply } => self.compress(accepted, reply),
            Command::BringBack { archive, reply } => drop(reply.send(self.restore_compacted(&archive).await)),
            Command::View { reply } => {
                drop(reply.send(Ok(View { session: self.ledger.session.clone(), last: self.ledger.last })))
            }
            Command::Close { reply, .. } => drop(reply.send(Ok(()))),
        }
    }

    fn start_run(&mut self, work_id: WorkId, begin: RunStart) {
        let (to, entries) = mpsc::channel(256);
        let (messages, told) = mpsc::unbounded_channel();
        let stop_signal = StopSignal::default();
        let session = (*self.ledger.session).clone();
        let recorder = match begin {
            RunStart::Question => Recorder::new(work_id.clone(), session, (to, told)),
            RunStart::Calls => Recorder::resumed(work_id.clone(), session, (to, told)),
            RunStart::Continued { .. } => Recorder::continued(work_id.clone(), session, (to, told)),
        };
        let task = WorkTask { begin, stop_signal: stop_signal.clone(), chosen: self.ledger.session.chosen_now() };
        let task = tokio::spawn(work(self.tenant.clone(), self.ledger.id.clone(), recorder, task));
        self.tenant.runs.started(&self.ledger.id);
        let (rehearsing, answered) = (HashSet::new(), HashSet::new());
        self.running = Some(ActiveRun { work_id, stop_signal, entries, messages, rehearsing, answered, task });
    }

    async fn record(&mut self, entry: RecordedEvent) {
        match entry.kind {
            EventKind::Preview => self.ledger.preview(entry.event),
            EventKind::Mark => self.ledger.mark(entry.event).await,
            EventKind::Piece => self.ledger.piece(entry.event).await,
            // A person answered it while its call was being rehearsed: the answer counts.
            EventKind::Withdrawal(done) => drop(done.send(self.withdraw_question(&entry.event).await)),
            EventKind::Fact(done) if self.was_answered(&entry.event) => drop(done.send(Ok(()))),
            EventKind::Fact(done) => {
                let kept = match self.ledger.keep(entry.event).await {
                    Ok(event) => {
                        // Before it is published: whoever sees a question may answer it at once.
                        if let Event::ApprovalAsked { .. } = event {
                            self.noted(&event);
                        }
                        self.ledger.publish(PublishedItem::Event(event));
                        Ok(())
                    }
                    Err(error) => Err(error.to_string()),
                };
                // An aborted run does not wait for the reply.
                let _ = done.send(kept);
                if self.running.as_ref().is_some_and(|running| running.stop_signal.cancel.is_cancelled())
                    && !self.suspending
                {
                    self.cancel_questions().await;
                }
            }
        }
    }

    /// Called after the run's task has dropped its recorder: records how the run ended, writes the snapshot, and starts
    /// making a title if there is none.
    async fn end_run(&mut self) {
        let Some(running) = self.running.take() else { return };
        let ended = running.task.await;
        let is_cut_off = match &ended {
            Ok(Ok(RunEnd::Suspended)) => true,
            Err(join) if join.is_cancelled() => true,
            _ => self.tenant.is_lost(),
        };
        let goes_on = self.ledger.session.waiting().is_some() || is_cut_off && self.goes_on_elsewhere();
        // Whoever lost the home is told of the end by its next owner, also before this actor is closed.
        if goes_on && (self.suspending || self.tenant.is_lost() && self.goes_on_elsewhere()) {
            // The journal holds everything; the next start, or another server, continues from there.
            self.tenant.runs.ended(&self.ledger.id);
            self.queue_paused |= self.tenant.is_lost();
            return;
        }
        let outcome = match ended {
            Ok(Ok(RunEnd::Outcome(outcome))) => outcome,
            Ok(Err(reason)) => failed(reason, "not_saved"),
            Err(join) if join.is_cancelled() => running.stop_signal.outcome(),
            Ok(Ok(RunEnd::Suspended)) => running.stop_signal.outcome(),
            Err(_) => failed("an internal error ended this run; the log has more".to_owned(), "internal"),
        };
        let work_id = running.work_id;
        self.queue_paused = matches!(outcome, Outcome::Error { .. } | Outcome::Interrupted { .. });
        let is_call = self.ledger.session.client().is_some_and(|client| client.call.is_some());
        let ended = match outcome {
            // No model has read the call of a program, and none is asked to name it.
            Outcome::Done if is_call => Ended::Stopped,
            Outcome::Done => Ended::Answered,
            Outcome::Error { .. } => Ended::Failed,
            Outcome::Length | Outcome::Refusal | Outcome::Interrupted { .. } | Outcome::Limit { .. } => Ended::Stopped,
        };
        for event in self.ledger.session.closings(&work_id) {
            if self.ledger.fact(event.clone()).await.is_err() {
                break;
            }
            self.noted(&event);
        }
        let content = self.ledger.session.work_text(&work_id).into();
        let event = Event::WorkFinished { work_id: work_id.clone(), outcome, content };
        if let Err(error) = self.ledger.fact(event.clone()).await {
            // The disk refuses the write, but clients must still learn that the work has ended.
            tracing::error!(session = %self.ledger.id, %error, "could not record the end of a run");
            self.ledger.preview(event);
        }
        self.tenant.runs.ended(&self.ledger.id);
        self.settle().await;
        self.changed();
        self.check_fullness();
        if self.ledger.session.title.is_empty() {
            match ended {
                Ended::Answered => return self.retitle(Some(work_id), None),
                // There is no answer for a model to name: use the beginning of the question.
                Ended::Stopped => self.title_by_question().await,
                // The person will ask again.
                Ended::Failed => {}
            }
        }
        self.ledger.publish(PublishedItem::Settled(work_id));
    }

    /// Writes the session's file, and has the indexes of conversations follow it.
    async fn settle(&mut self) {
        self.ledger.settle().await;
        // Nobody waits for it: the next search also brings the indexes up to date.
        if let Some(refresh) = self.tenant.conversations.queue_refresh() {
            tokio::task::spawn_blocking(refresh);
        }
    }

    fn changed(&self) {
        self.tenant.hub.notice(Notice::SessionsChanged { session_id: self.ledger.id.to_string() });
    }
}

async fn next_entry(running: &mut Option<ActiveRun>) -> Option<RecordedEvent> {
    match running {
        Some(running) => running.entries.recv().await,
        None => std::future::pending().await,
    }
}

fn failed(error: String, code: &str) -> Outcome {
    Outcome::Error { error, code: code.to_owned(), retryable: true, params: ErrorParams::new() }
}
