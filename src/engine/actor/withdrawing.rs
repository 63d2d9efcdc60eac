//! Withdraws a work of the session, and reapplies it.

use super::Actor;
use crate::domain::{Event, Message, Role, WorkId};
use crate::engine::documents::{FileEffect, WorkChanges, WorkFile};
use crate::engine::withdrawal::{WithdrawRefused, WithdrawRequest, reapplication_of, withdrawal_of};
use crate::engine::{Direction, EngineError};

impl Actor {
    /// Changes the files first, and then records it: the same request again completes what a crash cut off.
    pub(super) async fn withdraw(&mut self, request: WithdrawRequest) -> Result<Vec<WorkFile>, EngineError> {
        self.ledger.writable()?;
        if self.is_busy() {
            return Err(EngineError::Busy);
        }
        let WithdrawRequest { work_id, direction, keep } = request;
        let session = &self.ledger.session;
        if !session.works.iter().any(|work| work.work_id == work_id) {
            return Err(WithdrawRefused::NoWork(work_id).into());
        }
        let wanted = match (direction, session.withdrawal(&work_id)) {
            (Direction::Undo, None) => withdrawal_of(session, &work_id, keep),
            (Direction::Undo, Some(_)) => return Err(WithdrawRefused::Withdrawn.into()),
            (Direction::Redo, Some(withdrawn)) => reapplication_of(session, withdrawn, keep),
            (Direction::Redo, None) => return Err(WithdrawRefused::NotWithdrawn.into()),
        };
        // A summary may have replaced the beginning of a work, and then it contains what the person asked.
        if !session.messages.iter().chain(session.deleted_messages()).any(|message| begins(message, &work_id)) {
            return Err(WithdrawRefused::Compacted.into());
        }
        let WorkChanges { calls, stopped, .. } = wanted.changes.clone();
        if self.tenant.jobs.running_calls(&self.ledger.id).iter().any(|running| calls.contains(running)) {
            return Err(WithdrawRefused::JobRunning.into());
        }
        let files = self.tenant.documents.change_work(&self.ledger.id, wanted).await?;
        let event = match direction {
            Direction::Undo => {
                // A stopped call without an effect has nothing to reapply.
                let had_effect = |call: &String| files.iter().any(|file| file.calls.contains(call));
                let calls = calls.into_iter().filter(|call| !stopped.contains(call) || had_effect(call)).collect();
                let kept = files.iter().filter(|file| file.effect == FileEffect::Kept);
                let kept = kept.map(|file| file.path.to_string()).collect();
                Event::Withdrawn { work_id, withdrawn: true, calls, kept }
            }
            Direction::Redo => Event::Withdrawn { work_id, withdrawn: false, calls: Vec::new(), kept: Vec::new() },
        };
        self.ledger.fact(event).await?;
        self.settle().await;
        self.changed();
        Ok(files)
    }
}

/// Whether a work began with this message.
fn begins(message: &Message, work_id: &WorkId) -> bool {
    message.role == Role::User && message.work_id.as_ref() == Some(work_id)
}
