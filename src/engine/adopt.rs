//! New sessions with existing messages: imported, or branched off another session.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::actor::Command;
use super::{Engine, EngineError, IfMissing, Tenant, blocking};
use crate::clock;
use crate::domain::{Event, NewPicture, Outcome, Role, Session, SessionId, StoppedBy, WorkId};
use crate::store::{SessionSummary, beginning};

/// Where a branch ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchEnd {
    /// The new session ends before the message.
    Before,
    /// The new session includes the message.
    After,
}

/// Where the pictures of a session come from.
enum Pictures {
    Brought(Vec<NewPicture>),
    /// Copied from another session.
    Of(SessionId),
}

impl Engine {
    /// Imports a session from a file under a new id, with its compacted messages and pictures. Nothing in it is acted
    /// on.
    pub async fn import(
        &self,
        session: Session,
        compacted: BTreeMap<String, Vec<Value>>,
        pictures: Vec<NewPicture>,
    ) -> Result<SessionSummary, EngineError> {
        self.adopt(session.adopted(&clock::new_id()), compacted, Pictures::Brought(pictures)).await
    }

    /// Saves a session under a new id, with its compacted messages and pictures.
    async fn adopt(
        &self,
        mut session: Session,
        compacted: BTreeMap<String, Vec<Value>>,
        pictures: Pictures,
    ) -> Result<SessionSummary, EngineError> {
        let id = SessionId::parse(&clock::new_id()).map_err(|_| EngineError::Internal("a new id was not an id"))?;
        let Tenant { home, log, claim, .. } = &**self.tenant();
        match pictures {
            Pictures::Brought(brought) => log.keep_pictures(*claim, &id, brought).await?,
            Pictures::Of(other) => {
                for hash in session.pictures() {
                    let kept = home.session_files(&other);
                    let copy =
                        blocking(move || Ok(kept.picture(&hash).map(|bytes| NewPicture { hash, bytes: bytes.into() })));
                    log.keep_pictures(*claim, &id, copy.await?.into_iter().collect()).await?;
                }
            }
        }
        let names = log.adopt_compacted(*claim, &id, compacted).await?;
        for part in &mut session.compacted {
            if let Some(name) = names.get(&part.archive) {
                part.archive.clone_from(name);
            }
        }
        self.save_new(&id, &session).await?;
        Ok(SessionSummary::of(&id, &session))
    }

    /// Puts a message and all that follow aside as a branch, and restores the branch `to` in their place.
    pub async fn rewind(&self, id: &SessionId, from: &str, to: Option<&str>) -> Result<(), EngineError> {
        let (from, to) = (from.to_owned(), to.map(str::to_owned));
        self.ask(id, IfMissing::Fail, |reply| Command::Rewind { from: from.clone(), to: to.clone(), reply }).await
    }

    /// Creates a session with the messages of another one up to a message, and records where it comes from. `None` if
    /// there is no such message.
    pub async fn branch(
        &self,
        id: &SessionId,
        message: &str,
        cut: BranchEnd,
    ) -> Result<Option<SessionSummary>, EngineError> {
        let view = self.view(id).await?;
        let Some(mut session) = branched(&view.session, message, cut) else { return Ok(None) };
        session.title = point_title(&view.session, message, cut).unwrap_or(session.title);
        session.updated_at = clock::now();
        session.extra.insert("parent".to_owned(), json!({"session_id": id, "message_id": message}));
        self.adopt(session, BTreeMap::new(), Pictures::Of(id.clone())).await.map(Some)
    }
}

/// Returns a title that tells a branch from its parent: the beginning of the person's message at its point. `None` if there
/// is no text there.
fn point_title(session: &Session, message: &str, cut: BranchEnd) -> Option<String> {
    let at = session.messages.iter().position(|known| known.id.as_deref() == Some(message))?;
    let asked = match cut {
        BranchEnd::Before => session.messages.get(at),
        BranchEnd::After => session.messages[..=at].iter().rev().find(|known| known.role == Role::User),
    };
    let beginning = beginning(&asked?.content);
    (!beginning.is_empty()).then(|| format!("↳ {beginning}"))
}

fn branched(session: &Session, message: &str, cut: BranchEnd) -> Option<Session> {
    let at = session.messages.iter().position(|known| known.id.as_deref() == Some(message))?;
    let mut branch = session.clone();
    // Compacted and deleted messages stay with the session they belong to.
    branch.compacted.clear();
    branch.deleted.clear();
    branch.branches.clear();
    branch.queue.clear();
    let kept = match cut {
        BranchEnd::Before => at,
        BranchEnd::After => at + 1,
    };
    branch.messages.truncate(kept);
    let messages = &branch.messages;
    branch.works.retain(|work| messages.iter().any(|known| known.work_id.as_ref() == Some(&work.work_id)));
    // A program that goes on with its conversation means the session that it was in.
    branch.works.iter_mut().for_each(|work| Arc::make_mut(work).client = None);
    let works = &branch.works;
    branch.withdrawn.retain(|withdrawn| works.iter().any(|work| work.work_id == withdrawn.work_id));
    stop_copies(&mut branch);
    Some(branch)
}

/// Ends works that are under way or wait for a person: they continue in the original session only.
fn stop_copies(branch: &mut Session) {
    let open: Vec<WorkId> =
        branch.works.iter().filter(|work| work.finished_at.is_none()).map(|work| work.work_id.clone()).collect();
    for work_id in open {
        let detail = "the conversation was branched off before this answer was complete".to_owned();
        let outcome = Outcome::Interrupted { detail, by: StoppedBy::Person };
        let end = Event::WorkFinished { work_id: work_id.clone(), outcome, content: "".into() };
        for event in branch.closings(&work_id).iter().chain([&end]) {
            branch.apply(event, branch.updated_at);
        }
    }
}
