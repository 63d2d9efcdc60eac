//! The application: the runtime of the process, the tenants, and the sessions in memory with their operations.

mod actor;
mod adopt;
pub mod approvals;
mod archive;
mod catalogue;
pub mod changes;
mod choices;
pub mod client_asks;
pub mod client_turns;
mod closing;
pub mod command_access;
mod compress;
mod config_watch;
mod deletion;
pub mod documents;
pub mod embed_texts;
pub mod embedder;
mod error;
pub mod export;
mod file_authors;
pub mod find;
mod followed_work;
pub mod git;
mod home_tools;
mod homes;
pub mod hub;
mod jobs;
mod labels;
mod ledger;
pub mod local_model;
pub mod mcp;
mod mcp_offers;
mod memory_mode;
pub mod metrics;
pub mod model_status;
pub mod models;
mod next_request;
pub mod note_links;
pub mod notice;
mod opening;
mod outgoing;
pub mod own_providers;
pub mod page_ends;
pub mod people;
mod pins;
pub mod project_find;
pub mod project_notes;
pub mod project_search;
mod projects;
pub mod provider_changes;
mod provider_keys;
pub mod provider_list;
pub mod raw_turns;
pub mod registry;
mod runs;
pub mod runtime;
pub mod server_settings;
mod sharing;
pub mod skills;
pub mod starter;
pub mod takeover;
pub mod tenant;
pub mod tool_choices;
pub mod tool_sources;
mod traces;
mod uploads;
pub mod usage_report;
pub mod watch;
pub mod withdrawal;
mod work;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, oneshot};

use actor::{Closing, Command, Reply};
pub use actor::{Compression, MessageState, View, WorkStarted};
pub use adopt::BranchEnd;
pub use choices::{ChoiceSender, SessionChange};
pub use compress::{Plan, Proposal};
pub use documents::{Direction, Documents, UndoError, Undone};
pub use error::EngineError;
pub use followed_work::{FinishedWork, FollowedWork, WatchedWork};
pub use homes::{Homes, KeptHomes, Served};
pub use hub::{EventId, Hub, Publication, PublishedItem, Subscription};
pub use next_request::{Draft, RequestSize};
pub use notice::{ChangedBy, Notice};
use opening::{IfMissing, OpenSessions, OpeningLock, OpeningLocks};
pub use projects::UploadSlot;
pub use registry::TenantRegistry;
pub use runs::Runs;
pub use runtime::Runtime;
pub use sharing::Sharing;
pub use tenant::Tenant;

use crate::domain::{ApprovalAnswer, EntryPath, SessionId, UserPrompt, When, WorkId};
use crate::store::{Loaded, SessionList, SessionSummary, StoreError};

/// A message that a person sends.
#[derive(Default)]
pub struct NewMessage {
    pub prompt: UserPrompt,
    /// Idempotency key; it becomes the message's id.
    pub key: Option<String>,
    pub when: When,
}

/// The sessions of a tenant that are in memory, each owned by its task.
pub struct Engine {
    tenant: Arc<Tenant>,
    alive: Arc<Mutex<OpenSessions>>,
    turns: OpeningLocks,
}

impl Engine {
    pub fn new(tenant: Arc<Tenant>) -> Arc<Self> {
        Arc::new(Self { tenant, alive: Arc::default(), turns: OpeningLocks::default() })
    }

    fn lock(&self) -> MutexGuard<'_, OpenSessions> {
        self.alive.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn tenant(&self) -> &Arc<Tenant> {
        &self.tenant
    }

    /// Closes what a crash left open in these sessions, asks open questions again, and goes on with works that were taken over.
    /// Called at the start. Returns how
    /// many sessions it closed.
    pub async fn recover(&self, unsettled: Vec<SessionId>) -> Result<usize, EngineError> {
        let (mut closed, mut open) = (0, Vec::new());
        for id in unsettled {
            // An unreadable session must not block the others.
            match self.tenant.log.load(self.tenant.claim, &id).await {
                Ok(Some(Loaded { session, .. }))
                    if session.waiting().is_some() || self.tenant.work_taken_over(&session).is_some() =>
                {
                    open.push(id);
                }
                Ok(_) => closed += 1,
                Err(error) => {
                    tracing::error!(session = %id, %error, "could not close what a crash had left open");
                }
            }
        }
        for id in &open {
            // The session's task asks the person again, or goes on with the work that was taken over.
            self.open(id, IfMissing::Fail).await?;
        }
        Ok(closed)
    }

    /// Starts a work, or queues the message. An unknown session is created. A repeated idempotency key returns the first
    /// result.
    pub async fn say(
        &self,
        id: &SessionId,
        NewMessage { prompt, key, when }: NewMessage,
    ) -> Result<WorkStarted, EngineError> {
        let say = |reply| Command::Say { prompt: prompt.clone(), key: key.clone(), when, reply };
        let started = self.ask(id, IfMissing::Create, say).await?;
        if let Err(error) = self.unarchive(id).await {
            tracing::warn!(session = %id, %error, "a session that goes on could not be put back into the list");
        }
        Ok(started)
    }

    /// Continues the last work, which ended before its answer was complete: a cut answer goes on, and a failed one is
    /// requested again. `beyond_own_limit`: the person's own limit of usage does not stop it again.
    ///
    /// # Errors
    /// Returns [`EngineError::NothingToContinue`] if its answer is complete.
    pub async fn continue_work(&self, id: &SessionId, beyond_own_limit: bool) -> Result<WorkStarted, EngineError> {
        self.ask(id, IfMissing::Fail, |reply| Command::Continue { beyond_own_limit, reply }).await
    }

    /// Replaces the text of a queued message.
    pub async fn edit_queued(&self, id: &SessionId, message: &str, content: &str) -> Result<(), EngineError> {
        let (message, content) = (message.to_owned(), content.to_owned());
        let edit = |reply| Command::EditQueued { id: message.clone(), content: content.clone(), reply };
        self.ask(id, IfMissing::Fail, edit).await
    }

    pub async fn remove_queued(&self, id: &SessionId, message: &str) -> Result<(), EngineError> {
        self.ask(id, IfMissing::Fail, |reply| Command::RemoveQueued { id: message.to_owned(), reply }).await
    }

    /// Interrupts the run under way and runs a queued message.
    pub async fn send_queued(&self, id: &SessionId, message: &str) -> Result<(), EngineError> {
        self.ask(id, IfMissing::Fail, |reply| Command::SendQueued { id: message.to_owned(), reply }).await
    }

    /// Clears the session's taint, on a person's request. Returns `false` if it had none.
    ///
    /// # Errors
    /// Returns an error while a run is under way.
    pub async fn clear_taint(&self, id: &SessionId) -> Result<bool, EngineError> {
        self.ask(id, IfMissing::Fail, |reply| Command::ClearTaint { reply }).await
    }

    /// Stops the run; returns `false` if there is none.
    pub async fn interrupt(&self, id: &SessionId) -> Result<bool, EngineError> {
        self.ask(id, IfMissing::Fail, |reply| Command::Interrupt { reply }).await
    }

    /// Stops this work only: one under way is interrupted, and the message of one that waits leaves the queue. Returns `false`
    /// if it is neither.
    pub async fn interrupt_work(&self, id: &SessionId, work_id: &WorkId) -> Result<bool, EngineError> {
        self.ask(id, IfMissing::Fail, |reply| Command::StopWork { work_id: work_id.clone(), reply }).await
    }

    /// Records a person's answer to a question; `hash` is that of the approval they saw.
    pub async fn answer(
        &self,
        id: &str,
        hash: &str,
        wish: approvals::ApprovalResponse,
    ) -> Result<ApprovalAnswer, EngineError> {
        let session = self.tenant.approvals.session_of(id)?;
        let command = |reply| Command::Answer { id: id.to_owned(), hash: hash.to_owned(), wish: wish.clone(), reply };
        self.ask(&session, IfMissing::Fail, command).await
    }

    /// Starts the time to answer a question again, because a person has the page in front of them. Returns when it
    /// expires, in Unix seconds.
    pub async fn hold_approval(&self, id: &str) -> Result<f64, EngineError> {
        let session = self.tenant.approvals.session_of(id)?;
        self.ask(&session, IfMissing::Fail, |reply| Command::Hold { id: id.to_owned(), reply }).await
    }

    /// Has a call rehearsed that waits for a person, so that they see what it would change before they answer.
    pub async fn rehearse(&self, id: &str) -> Result<approvals::RequestedRehearsal, EngineError> {
        let session = self.tenant.approvals.session_of(id)?;
        self.ask(&session, IfMissing::Fail, |reply| Command::Rehearse { id: id.to_owned(), reply }).await
    }

    /// Undoes the changes that a call made to files, or redoes them.
    pub async fn undo(&self, id: &SessionId, call_id: &str) -> Result<Undone, EngineError> {
        self.ask(id, IfMissing::Fail, |reply| Command::Undo { call_id: call_id.to_owned(), reply }).await
    }

    /// Returns the text of a file before a work changed it; `None` if it did not exist then. Changes that are undone
    /// do not count.
    pub async fn text_before(
        &self,
        id: &SessionId,
        work: &WorkId,
        path: EntryPath,
    ) -> Result<Option<String>, EngineError> {
        let calls = self.view(id).await?.session.standing_calls_of(work);
        self.tenant.documents.text_before(id, calls, path).await
    }

    pub async fn rename(&self, id: &SessionId, title: &str) -> Result<SessionSummary, EngineError> {
        self.ask(id, IfMissing::Fail, |reply| Command::Rename { title: title.to_owned(), reply }).await?;
        let view = self.view(id).await?;
        Ok(SessionSummary::of(id, &view.session))
    }

    /// Has the model make a title.
    pub async fn retitle(&self, id: &SessionId) -> Result<String, EngineError> {
        self.ask(id, IfMissing::Fail, |reply| Command::Retitle { reply }).await
    }

    pub async fn view(&self, id: &SessionId) -> Result<View, EngineError> {
        self.ask(id, IfMissing::Fail, |reply| Command::View { reply }).await
    }

    /// Lists all sessions, most recently updated first.
    pub async fn list(&self) -> Result<SessionList, EngineError> {
        let in_memory: HashSet<SessionId> = self.lock().sessions.keys().cloned().collect();
        let sessions = self.tenant.log.list(self.tenant.claim, in_memory).await?;
        // The file of a session in its first work has no messages yet, so they are read from memory.
        let running: HashSet<String> = self.tenant.runs.list().iter().map(ToString::to_string).collect();
        let begins =
            |it: &Arc<SessionSummary>| it.title.is_empty() && it.message_count == 0 && running.contains(&it.id);
        if running.is_empty() || !sessions.iter().any(begins) {
            return Ok(sessions);
        }
        let mut sessions = sessions.to_vec();
        for summary in sessions.iter_mut().filter(|summary| begins(summary)) {
            if let Ok(id) = SessionId::parse(&summary.id)
                && let Ok(view) = self.view(&id).await
            {
                Arc::make_mut(summary).begins = SessionSummary::of(&id, &view.session).begins;
            }
        }
        Ok(sessions.into())
    }

    /// Stops the session and moves its file to the deleted ones.
    pub async fn delete(&self, id: &SessionId) -> Result<(), EngineError> {
        // Held until the file is moved, so that nobody opens the session in the meantime, even if the requester
        // disconnects.
        let turn = self.turns.of(id).await;
        let running = self.lock().sessions.get(id).cloned();
        if let Some(handle) = running {
            close(&handle, Closing::Deleted).await;
            self.lock().sessions.remove(id);
        }
        let deleted = self.move_session(turn, id, Move::Delete).await?;
        self.tenant.tool_sources.session_closed(id);
        self.tenant.hub.remove(id);
        self.tenant.hub.notice(Notice::SessionsChanged { session_id: id.to_string() });
        if deleted { Ok(()) } else { Err(EngineError::NoSession(id.clone())) }
    }

    pub async fn restore(&self, id: &SessionId) -> Result<SessionSummary, EngineError> {
        let turn = self.turns.of(id).await;
        if !self.move_session(turn, id, Move::Restore).await? {
            return Err(EngineError::NoSession(id.clone()));
        }
        self.tenant.hub.notice(Notice::SessionsChanged { session_id: id.to_string() });
        let view = self.view(id).await?;
        Ok(SessionSummary::of(id, &view.session))
    }

    /// Deletes a deleted session permanently, first in the indexes of conversations, which may hold its words.
    ///
    /// # Errors
    /// Returns an error, and keeps the session, if it cannot be removed from the indexes.
    pub async fn purge(&self, id: &SessionId) -> Result<(), EngineError> {
        self.purge_as(id, Indexing::Possible).await
    }

    async fn purge_as(&self, id: &SessionId, indexing: Indexing) -> Result<(), EngineError> {
        let turn = self.turns.of(id).await;
        let purged = self.move_session(turn, id, Move::Purge(indexing)).await?;
        if purged { Ok(()) } else { Err(EngineError::NoSession(id.clone())) }
    }

    /// Moves a session's record; returns `false` if there is none. Holds the lock until it is moved, even if the
    /// requester disconnects.
    async fn move_session(&self, turn: OpeningLock, id: &SessionId, how: Move) -> Result<bool, EngineError> {
        let (log, claim, id) = (self.tenant.log.clone(), self.tenant.claim, id.clone());
        let conversations = self.tenant.conversations.clone();
        let moving = tokio::spawn(async move {
            let _turn = turn;
            if how == Move::Purge(Indexing::Possible) && log.has_deleted(&id).await? {
                // First, so that a crash in between leaves no word of it: no index brings it back while it is deleted.
                let purged = id.clone();
                blocking(move || conversations.purge(&purged)).await?;
            }
            let moved = match how {
                Move::Delete => log.delete(claim, &id).await,
                Move::Restore => log.restore(claim, &id).await,
                Move::Purge(_) => log.purge(claim, &id).await,
            };
            Ok::<_, EngineError>(moved?)
        });
        moving.await.map_err(|_| EngineError::Internal("the moving of a session was cut off"))?
    }

    async fn ask<T>(
        &self,
        id: &SessionId,
        missing: IfMissing,
        command: impl Fn(Reply<T>) -> Command,
    ) -> Result<T, EngineError> {
        // An actor that has just become idle drops its commands; retry with the next one.
        for _ in 0..3 {
            let handle = self.open(id, missing).await?;
            let (reply, answer) = oneshot::channel();
            if handle.send(command(reply)).await.is_ok()
                && let Ok(answer) = answer.await
            {
                return answer;
            }
        }
        Err(self.tenant.closed())
    }

    /// Whether the tenant can be closed unnoticed: no session is in memory, no command runs in the background, and nobody
    /// follows an event stream.
    pub(super) fn is_idle(&self) -> bool {
        let runs_git = self.tenant.git.try_lock().is_err();
        let is_busy = runs_git || self.tenant.jobs.is_any_running() || self.tenant.hub.has_followers();
        !is_busy && self.lock().sessions.values().all(mpsc::Sender::is_closed)
    }

    /// Returns the number of sessions in memory.
    pub async fn live_sessions(&self) -> usize {
        self.lock().sessions.values().filter(|handle| !handle.is_closed()).count()
    }
}

/// What happens to a session's record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Move {
    Delete,
    Restore,
    Purge(Indexing),
}

/// Whether the indexes of conversations may hold a session.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Indexing {
    Possible,
    Never,
}

async fn close(handle: &mpsc::Sender<Command>, closing: Closing) {
    let (reply, closed) = oneshot::channel();
    if handle.send(Command::Close { closing, reply }).await.is_ok() {
        // An actor that has just ended by itself drops the reply channel.
        let _ = closed.await;
    }
}

/// Runs blocking file operations on the thread pool for blocking tasks.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, EngineError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(EngineError::Internal("file work was cut off")),
    }
}
