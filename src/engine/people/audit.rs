//! Records acts in the audit log. Acts of admins are recorded before they happen, and do not happen if that fails. Everything
//! else goes on: nobody is kept out of their home because a log is full. What was not recorded is counted.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;

use super::{People, PeopleError};
use crate::clock;
use crate::domain::{AccountId, AuditEntry, AuditFilter, AuditOutcome, AuditPage};
use crate::engine::{EngineError, blocking};

/// Maximum number of entries of an account in an hour, and of everybody who is not signed in together, so that nobody can push
/// the acts of admins out of the log. Acts of admins do not count.
const PER_HOUR: u32 = 120;
const HOUR: Duration = Duration::from_secs(3600);

/// An act that is about to be recorded.
#[derive(Clone, Debug, Default)]
pub struct Act {
    pub event: &'static str,
    pub actor: Option<AccountId>,
    pub account: Option<AccountId>,
    pub address: Option<IpAddr>,
    pub detail: Map<String, Value>,
}

/// How many entries each account has made in this hour; nobody's are under `None`.
#[derive(Default)]
pub(super) struct Quotas(Mutex<HashMap<Option<AccountId>, Quota>>);

#[derive(Clone, Copy)]
struct Quota {
    since: Instant,
    recorded: u32,
    unrecorded: u64,
}

impl Quotas {
    /// Counts an entry. Returns the number of those before it that were not recorded; `None` if it is not recorded either.
    fn take(&self, actor: &Option<AccountId>) -> Option<u64> {
        let now = Instant::now();
        let mut quotas = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = Quota { since: now, recorded: 0, unrecorded: 0 };
        let quota = quotas.entry(actor.clone()).or_insert(new);
        if now.duration_since(quota.since) >= HOUR {
            *quota = Quota { unrecorded: quota.unrecorded, ..new };
        }
        if quota.recorded >= PER_HOUR {
            quota.unrecorded += 1;
            return None;
        }
        quota.recorded += 1;
        Some(std::mem::take(&mut quota.unrecorded))
    }

    /// Counts entries that could not be written.
    fn add_unrecorded(&self, actor: &Option<AccountId>, number: u64) {
        let mut quotas = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(quota) = quotas.get_mut(actor) {
            quota.unrecorded += number;
        }
    }
}

impl People {
    /// Records that an admin begins an act, and returns the id of the act.
    ///
    /// # Errors
    /// Returns [`PeopleError::NoAudit`] if it cannot be recorded; then it must not happen.
    pub async fn record_begin(&self, act: &Act) -> Result<String, PeopleError> {
        let entry = self.entry(clock::new_id(), (act, AuditOutcome::Begun, None));
        let id = entry.id.clone();
        match self.append(entry).await {
            Ok(()) => Ok(id),
            Err(error) => {
                tracing::error!(%error, event = act.event, "an act of an admin was refused, because the audit log cannot be written");
                Err(PeopleError::NoAudit(error.to_string()))
            }
        }
    }

    /// Records how an act ended that [`People::record_begin`] has begun.
    pub async fn record_end(&self, id: String, act: &Act, refused: Option<&str>) {
        if let Err(error) = self.append(self.entry(id, (act, outcome(refused), refused))).await {
            tracing::error!(%error, event = act.event, "the end of an act of an admin was not recorded in the audit log");
        }
    }

    /// Records an act after it happened.
    pub async fn record(&self, act: &Act, refused: Option<&str>) {
        let Some(unrecorded) = self.audit_quotas.take(&act.actor) else { return };
        let entry = self.entry(clock::new_id(), (act, outcome(refused), refused));
        if let Err(error) = self.append(AuditEntry { unrecorded, ..entry }).await {
            tracing::error!(%error, event = act.event, "an act was not recorded in the audit log");
            self.audit_quotas.add_unrecorded(&act.actor, unrecorded + 1);
        }
    }

    /// Returns part of the log. `None` if the entry `after` is not in it any more.
    ///
    /// # Errors
    /// Returns an error if the log cannot be read.
    pub async fn audit(
        &self,
        filter: AuditFilter,
        (after, most): (Option<String>, usize),
    ) -> Result<Option<AuditPage>, PeopleError> {
        let home = self.server().await?.home.clone();
        Ok(blocking(move || home.audit_page(&filter, after.as_deref(), most)).await?)
    }

    fn entry(&self, id: String, (act, outcome, reason): (&Act, AuditOutcome, Option<&str>)) -> AuditEntry {
        let name = |id: &Option<AccountId>| Some(self.account(id.as_ref()?).ok()?.username);
        let text = |id: &Option<AccountId>| id.as_ref().map(ToString::to_string);
        AuditEntry {
            id,
            at: clock::rfc3339(clock::now()),
            event: act.event.to_owned(),
            outcome,
            reason: reason.map(str::to_owned),
            actor: text(&act.actor),
            actor_name: name(&act.actor),
            account: text(&act.account),
            account_name: name(&act.account),
            address: act.address.map(|address| address.to_canonical().to_string()),
            detail: act.detail.clone(),
            unrecorded: 0,
        }
    }

    async fn append(&self, entry: AuditEntry) -> Result<(), PeopleError> {
        let server = self.server().await?;
        // In a task of its own: a client that disconnects does not keep an entry out of the log.
        let written = tokio::spawn(async move { server.tree.append_audit(server.claim, entry).await });
        Ok(written.await.map_err(|_| EngineError::ShuttingDown)?.map_err(EngineError::from)?)
    }

    /// Returns the account with a user name, for the audit log.
    pub fn account_named(&self, username: &str) -> Option<AccountId> {
        self.book().named(username).map(|account| account.id.clone())
    }
}

fn outcome(refused: Option<&str>) -> AuditOutcome {
    if refused.is_some() { AuditOutcome::Refused } else { AuditOutcome::Done }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn entries_of_an_account_are_bounded_and_counted() {
        let quotas = Quotas::default();
        let ann = AccountId::parse("ann");
        for _ in 0..PER_HOUR {
            assert_eq!(quotas.take(&None), Some(0));
        }
        for _ in 0..5 {
            assert_eq!(quotas.take(&None), None);
        }
        assert_eq!(quotas.take(&ann), Some(0), "others are recorded");
        tokio::time::advance(HOUR).await;
        assert_eq!(quotas.take(&None), Some(5), "the next entry says how many are missing");
        assert_eq!(quotas.take(&None), Some(0));
        quotas.add_unrecorded(&ann, 2);
        assert_eq!(quotas.take(&ann), Some(2));
    }
}
