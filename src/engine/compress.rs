//! Compression as a proposal: what would be summarised, a summary that a person can edit, and then either nothing or exactly
//! that. It can be undone.

use std::sync::Arc;

use super::actor::Command;
use super::work::summary_of;
use super::{Compression, Engine, EngineError, IfMissing};
use crate::agent::compress::share;
use crate::domain::{Session, SessionId};

/// What a compression would take away now.
pub struct Plan {
    pub session: Arc<Session>,
    /// How many messages, from the first on.
    pub count: usize,
    /// What a proposal is bound to.
    pub hash: String,
}

/// A summary that a person has accepted, for the conversation that has this hash.
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

    /// What a compression would take away. Asks no model and changes nothing.
    pub async fn plan(&self, id: &SessionId) -> Result<Plan, EngineError> {
        let session = self.view(id).await?.session;
        if session.running().is_some() {
            return Err(EngineError::Busy);
        }
        let count = share(session.messages.len()).ok_or(EngineError::TooShort)?;
        Ok(Plan { hash: session.fingerprint(), session, count })
    }

    /// A summary of what [`Engine::plan`] showed under this hash. Changes nothing; dropping it stops the model.
    pub async fn propose(&self, id: &SessionId, hash: &str) -> Result<(Plan, String), EngineError> {
        let plan = self.plan(id).await?;
        if plan.hash != hash {
            return Err(EngineError::ChangedSince);
        }
        let summary = summary_of(self.tenant(), &plan.session.chosen, &plan.session.messages[..plan.count]).await?;
        Ok((plan, summary))
    }

    /// Puts compacted messages back where they stood; answers how many.
    pub async fn bring_back(&self, id: &SessionId, archive: &str) -> Result<usize, EngineError> {
        let archive = archive.to_owned();
        self.ask(id, IfMissing::Fail, |reply| Command::BringBack { archive: archive.clone(), reply }).await
    }
}
