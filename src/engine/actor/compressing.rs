//! Compacts the older half of a conversation into a summary, and restores it.

use std::sync::Arc;

use super::{Actor, CompactedBy, Compression, Reply, SideRequest};
use crate::agent::compress;
use crate::clock;
use crate::domain::{AutoCompact, Event, Message, adopted_messages};
use crate::engine::work::{store_compacted, summary_of};
use crate::engine::{Draft, EngineError, Proposal, blocking};
use crate::store::{CompactedContent, CompactedFile};

impl Actor {
    /// Compacts the older half in the background. Until then, prompts are refused.
    pub(super) fn compress(&mut self, accepted: Option<Proposal>, reply: Reply<Compression>) {
        let count = match self.compressible(accepted.as_ref()) {
            Ok(count) => count,
            Err(refused) => return drop(reply.send(Err(refused))),
        };
        self.summarize(count, accepted, Some(reply));
    }

    /// Has the first `count` messages compacted under a summary, an accepted one or the model's. Nobody waits for a reply if
    /// a setting is the cause.
    fn summarize(&mut self, count: usize, accepted: Option<Proposal>, reply: Option<Reply<Compression>>) {
        self.compressing = Some(if reply.is_some() { CompactedBy::Person } else { CompactedBy::Setting });
        let session = &self.ledger.session;
        let (older, chosen) = (session.messages[..count].to_vec(), session.chosen.clone());
        let read = session.in_effect(&older);
        let (tenant, id, to) = (self.tenant.clone(), self.ledger.id.clone(), self.errands.0.clone());
        tokio::spawn(async move {
            let made = async {
                let summary = match accepted {
                    Some(proposal) => proposal.summary,
                    None => summary_of(&tenant, &chosen, &read).await?,
                };
                Ok((summary, store_compacted(&tenant, &id, older).await?))
            };
            let made = made.await;
            // If the session was closed in the meantime, it is unchanged and the file is a mere copy.
            let _ = to.send(SideRequest::Summary { count, made, reply }).await;
        });
    }

    /// Returns how many messages a compression would remove.
    fn compressible(&self, accepted: Option<&Proposal>) -> Result<usize, EngineError> {
        self.ledger.writable()?;
        if self.is_busy() {
            return Err(EngineError::Busy);
        }
        let session = &self.ledger.session;
        if accepted.is_some_and(|proposal| proposal.hash != session.fingerprint()) {
            return Err(EngineError::ChangedSince);
        }
        compress::share(session).ok_or(EngineError::TooShort)
    }

    pub(super) async fn compressed(
        &mut self,
        count: usize,
        made: Result<(String, CompactedFile), EngineError>,
    ) -> Result<Compression, EngineError> {
        let automatic = self.compressing.take() == Some(CompactedBy::Setting);
        let (summary, CompactedFile { name: archive, sha256 }) = made?;
        let (kept, sha256) = (archive.clone(), Some(sha256));
        let event = Event::Compressed { count, summary: summary.clone(), archive: kept, sha256, automatic };
        self.ledger.fact(event).await?;
        self.settle().await;
        self.changed();
        Ok(Compression { compacted: count, remaining: self.ledger.session.messages.len(), summary, archive })
    }

    /// Finds out in the background whether the session nearly fills the context window, if it is to be compacted then.
    pub(super) fn check_fullness(&self) {
        let session = self.ledger.session.clone();
        if self.tenant.auto_compact(&session.chosen) != AutoCompact::On || compress::share(&session).is_none() {
            return;
        }
        let (tenant, to) = (self.tenant.clone(), self.errands.0.clone());
        tokio::spawn(async move {
            match tenant.request_size(Some(session), Draft::default()).await {
                // If the session was closed in the meantime, it is checked after its next work.
                Ok(size) if size.is_nearly_full() => drop(to.send(SideRequest::NearlyFull).await),
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "could not measure the next request of a session"),
            }
        });
    }

    pub(super) fn compact_automatically(&mut self) {
        // A prompt that came first is answered first; its work ends with another check.
        if let Ok(count) = self.compressible(None) {
            self.summarize(count, None, None);
        }
    }

    pub(super) fn log_failed_compaction(&self, made: Result<Compression, EngineError>) {
        if let Err(error) = made {
            tracing::warn!(session = %self.ledger.id, %error, "could not compact a session automatically");
        }
    }

    /// Restores compacted messages to their place. One fact holds all of them, so either all are restored or none.
    pub(super) async fn restore_compacted(&mut self, archive: &str) -> Result<usize, EngineError> {
        self.ledger.writable()?;
        if self.is_busy() {
            return Err(EngineError::Busy);
        }
        let (kept, name) = (self.tenant.home.session_files(&self.ledger.id), archive.to_owned());
        let parts = &self.ledger.session.compacted;
        let part = parts.iter().rev().find(|part| part.archive == archive);
        let sha256 = part.and_then(|part| part.sha256.clone());
        let CompactedContent { messages: found, own } =
            blocking(move || kept.compacted_as(&name, sha256.as_deref())).await?;
        let messages: Result<Vec<Arc<Message>>, _> = found.into_iter().map(serde_json::from_value).collect();
        let mut messages = messages.map_err(|error| {
            EngineError::Refused(format!(
                "sessions/archive/{archive} holds what is no message ({error}); it stays as it is"
            ))
        })?;
        self.ledger.session.restorable(archive, messages.len())?;
        if !own {
            adopted_messages(&mut messages, &clock::new_id());
        }
        let count = messages.len();
        self.ledger.fact(Event::Restored { archive: archive.to_owned(), messages, foreign: !own }).await?;
        self.settle().await;
        self.changed();
        Ok(count)
    }

    /// Whether the messages must not change.
    pub(super) fn is_busy(&self) -> bool {
        self.running.is_some() || self.compressing.is_some() || !self.said.is_empty()
    }
}
