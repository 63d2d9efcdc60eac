//! Compression as a proposal: a plan of what would be summarised, a summary that a person can edit, and then exactly
//! that compression or none. It can be undone.

use std::sync::Arc;

use super::actor::Command;
use super::work::summary_of;
use super::{Compression, Engine, EngineError, IfMissing};
use crate::agent::compress::share;
use crate::domain::{Session, SessionId};

/// What a compression would remove from the conversation.
pub struct Plan {
    pub session: Arc<Session>,
    /// Number of messages, counted from the first one. Those of withdrawn works are removed too, but not summarised.
    pub count: usize,
    /// Hash of the conversation that a proposal is bound to.
    pub hash: String,
}

/// A summary that a person has accepted, for the conversation with this hash.
#[derive(Clone, Debug)]
pub struct Proposal {
    pub hash: String,
    pub summary: String,
}

impl Engine {
    /// Has the model summarise the older half, and compacts it.
    pub async fn compress(&self, id: &SessionId) -> Result<Compression, EngineError> {
        self.ask(id, IfMissing::Fail, |reply| Command::Compress { accepted: None, reply }).await
    }

    /// Compacts the older half under a summary that a person has accepted.
    pub async fn accept(&self, id: &SessionId, accepted: Proposal) -> Result<Compression, EngineError> {
        self.ask(id, IfMissing::Fail, |reply| Command::Compress { accepted: Some(accepted.clone()), reply }).await
    }

    /// Returns what a compression would remove. Asks no model and changes nothing.
    pub async fn plan(&self, id: &SessionId) -> Result<Plan, EngineError> {
        let session = self.view(id).await?.session;
        if session.running().is_some() {
            return Err(EngineError::Busy);
        }
        let count = share(&session).ok_or(EngineError::TooShort)?;
        Ok(Plan { hash: session.fingerprint(), session, count })
    }

    /// Has the model summarise what [`Engine::plan`] returned with this hash. Changes nothing; dropping the future
    /// cancels the model request.
    pub async fn propose(&self, id: &SessionId, hash: &str) -> Result<(Plan, String), EngineError> {
        let plan = self.plan(id).await?;
        if plan.hash != hash {
            return Err(EngineError::ChangedSince);
        }
        let older = plan.session.in_effect(&plan.session.messages[..plan.count]);
        let summary = summary_of(self.tenant(), &plan.session.chosen, &older).await?;
        Ok((plan, summary))
    }

    /// Restores compacted messages to their place. Returns their number.
    pub async fn restore_compacted(&self, id: &SessionId, archive: &str) -> Result<usize, EngineError> {
        let archive = archive.to_owned();
        self.ask(id, IfMissing::Fail, |reply| Command::BringBack { archive: archive.clone(), reply }).await
    }
}
