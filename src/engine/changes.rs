//! What the works of a session made of files, and what undoing them would do.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::{Engine, EngineError, blocking};
use crate::domain::{Commit, EntryPath, Message, Role, Session, SessionId, ToolCall, WorkId};
use crate::store::StoreError;
use crate::tools::files::{NetChanges, PlannedUndo, Side, WorkCall, net_changes, net_content};

/// Maximum characters of a prompt in a list of works.
const PROMPT_CHARS: usize = 200;

/// The messages of a session, those that summaries replace included.
pub struct Transcript {
    /// Oldest first, without the parts that were restored.
    pub compacted: Vec<Arc<Message>>,
    pub session: Arc<Session>,
}

/// A work that changed files.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangingWork {
    pub work: WorkId,
    /// The beginning of what the person wrote, at most 200 characters; empty if that was deleted.
    pub prompt: String,
    /// Unix seconds of the first message; `None` if unknown.
    pub at: Option<f64>,
    /// A summary replaces its messages, so it cannot be undone before they are restored.
    pub compacted: bool,
}

/// What a session or one of its works changed.
pub struct SessionChanges {
    /// Oldest first.
    pub works: Vec<ChangingWork>,
    pub net: NetChanges,
    /// The commits that commands made, oldest first, also those of works that were withdrawn.
    pub commits: Vec<CommitOfCall>,
}

/// A commit with the call that made it.
pub struct CommitOfCall {
    pub work: WorkId,
    pub call: String,
    pub commit: Commit,
}

/// Which content of a changed file is wanted.
pub struct WantedContent {
    /// The work whose change it is; `None` for the whole session.
    pub work: Option<WorkId>,
    pub path: EntryPath,
    pub side: Side,
}

/// What undoing the works after one would do.
pub struct LaterUndo {
    pub files: Vec<PlannedUndo>,
    /// All calls that changed these files, oldest first.
    pub calls: Vec<String>,
}

impl Transcript {
    pub fn all_messages(&self) -> Vec<Arc<Message>> {
        self.compacted.iter().chain(&self.session.messages).cloned().collect()
    }

    /// Returns the messages whose calls may have changed files: also deleted ones.
    fn with_deleted(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.compacted.iter().chain(&self.session.messages).chain(self.session.deleted_here())
    }

    /// Returns the calls that are done and not undone, oldest first: those of one work, or all.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if there is no such work.
    fn standing_calls(&self, work: Option<&WorkId>) -> Result<Vec<WorkCall>, StoreError> {
        let mut works: Vec<&WorkId> = Vec::new();
        let mut known = HashSet::new();
        for id in self.with_deleted().filter_map(|message| message.work_id.as_ref()) {
            if work.is_none_or(|work| work == id) && known.insert(id.as_str()) {
                works.push(id);
            }
        }
        if !self.session.deleted.is_empty() {
            let place = |id: &&WorkId| self.session.works.iter().position(|work| work.work_id == **id);
            works.sort_by_key(place);
        }
        match work {
            Some(work) if works.is_empty() => Err(no_work(work)),
            _ => Ok(works.into_iter().flat_map(|work| self.standing_calls_of(work)).collect()),
        }
    }

    fn standing_calls_of(&self, work: &WorkId) -> Vec<WorkCall> {
        let of_work = |message: &&Arc<Message>| message.work_id.as_ref() == Some(work);
        let compacted = self.compacted.iter().filter(of_work).flat_map(|message| &message.tool_calls);
        let compacted = compacted.filter(|call| call.has_ended() && !call.undone && !self.session.is_withdrawn(work));
        // A stopped call too may have changed files.
        let standing: HashSet<String> = self.session.changing_calls_of(work).into_iter().collect();
        let current = self.session.calls_of(work);
        let current = current.filter(|call| call.id.as_ref().is_some_and(|id| standing.contains(id)));
        let told = |compacted: bool| {
            move |call: &ToolCall| {
                let data = call.result.as_ref().and_then(|result| result.get("data"));
                let changed_files =
                    data.is_some_and(|data| data["undo"] == Value::Bool(true) || data["undo_gap"].is_string());
                Some(WorkCall { work: work.clone(), call: call.id.clone()?, compacted, changed_files })
            }
        };
        compacted.filter_map(told(true)).chain(current.filter_map(told(false))).collect()
    }

    /// Returns the commits that the calls of a work, or of all, made, oldest first.
    fn commits(&self, work: Option<&WorkId>) -> Vec<CommitOfCall> {
        let messages = self.with_deleted().filter_map(|message| message.work_id.as_ref().map(|work| (work, message)));
        let calls = messages
            .filter(|(of, _)| work.is_none_or(|work| work == *of))
            .flat_map(|(work, message)| message.tool_calls.iter().map(move |call| (work, call)));
        let made = calls.flat_map(|(work, call)| {
            let commits = call.result.as_ref().and_then(|result| result.pointer("/data/commits"));
            let commits = commits.and_then(|commits| Vec::<Commit>::deserialize(commits).ok()).unwrap_or_default();
            let call = call.id.clone().unwrap_or_default();
            commits.into_iter().map(move |commit| CommitOfCall { work: work.clone(), call: call.clone(), commit })
        });
        made.collect()
    }

    /// Returns the works of these calls, oldest first.
    fn works_of(&self, calls: &[WorkCall]) -> Vec<ChangingWork> {
        let mut works: Vec<ChangingWork> = Vec::new();
        for WorkCall { work, compacted, .. } in calls {
            match works.iter_mut().find(|known| known.work == *work) {
                Some(known) => known.compacted |= compacted,
                None => {
                    let mut messages = self.compacted.iter().chain(&self.session.messages);
                    let asked = messages.find(|m| m.role == Role::User && m.work_id.as_ref() == Some(work));
                    let prompt = asked.map(|message| message.content.chars().take(PROMPT_CHARS).collect());
                    works.push(ChangingWork {
                        work: work.clone(),
                        prompt: prompt.unwrap_or_default(),
                        at: asked.and_then(|message| message.created_at),
                        compacted: *compacted,
                    });
                }
            }
        }
        works
    }
}

fn no_work(work: &WorkId) -> StoreError {
    StoreError::NotFound { what: format!("response {work} in this conversation") }
}

impl Engine {
    /// Returns the messages of a session, those that summaries replace included.
    pub async fn transcript(&self, id: &SessionId) -> Result<Transcript, EngineError> {
        let session = self.view(id).await?.session;
        let files = self.tenant.home.session_files(id);
        blocking(move || {
            let mut compacted = Vec::new();
            let restored = |name: &str| session.compacted.iter().any(|p| p.archive == name && p.restored_at.is_some());
            for file in files.compacted_files().into_iter().filter(|file| !restored(&file.name)) {
                let messages = files.compacted(&file.name)?.into_iter();
                compacted.extend(messages.filter_map(|message| serde_json::from_value(message).ok()).map(Arc::new));
            }
            Ok(Transcript { compacted, session })
        })
        .await
    }

    /// Returns what a session, or one of its works, made of files. Changes that are undone do not count.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if there is no such work.
    pub async fn changes(&self, id: &SessionId, work: Option<WorkId>) -> Result<SessionChanges, EngineError> {
        let transcript = self.transcript(id).await?;
        let (home, id) = (self.tenant.home.clone(), id.clone());
        blocking(move || {
            let calls = transcript.standing_calls(work.as_ref())?;
            let net = net_changes(&home, &id, &calls)?;
            let commits = transcript.commits(work.as_ref());
            Ok(SessionChanges { works: transcript.works_of(&net.calls), net, commits })
        })
        .await
    }

    /// Returns the content that a file had before or after the changes of a session or of one of its works.
    ///
    /// # Errors
    /// Returns the errors of [`net_content`], and [`StoreError::NotFound`] if there is no such work.
    pub async fn changed_content(&self, id: &SessionId, wanted: WantedContent) -> Result<Vec<u8>, EngineError> {
        let transcript = self.transcript(id).await?;
        let (home, id) = (self.tenant.home.clone(), id.clone());
        blocking(move || {
            let WantedContent { work, path, side } = wanted;
            let calls = transcript.standing_calls(work.as_ref())?;
            net_content(&home, &id, &calls, (&path, side))
        })
        .await
    }

    /// Returns what undoing all changes of the works after this one would do to files. Skips changes that are already undone.
    ///
    /// # Errors
    /// Returns [`EngineError::Busy`] while a run is under way, and [`StoreError::NotFound`] if there is no such work.
    pub async fn preview_later_undo(&self, id: &SessionId, work: &WorkId) -> Result<LaterUndo, EngineError> {
        let session = self.view(id).await?.session;
        if session.running().is_some() {
            return Err(EngineError::Busy);
        }
        let at = session.works.iter().position(|known| known.work_id == *work).ok_or_else(|| no_work(work))?;
        let later = session.works[at + 1..].iter().map(|work| &work.work_id);
        let calls: Vec<String> = later.flat_map(|work| session.standing_calls_of(work)).collect();
        let files = self.tenant.documents.plan_undo(id, calls.clone()).await?;
        let changing: HashSet<&String> = files.iter().flat_map(|file| &file.calls).collect();
        let calls = calls.iter().filter(|call| changing.contains(call)).cloned().collect();
        Ok(LaterUndo { files, calls })
    }
}
