//! The calls of all sessions that wait for a person. A projection of what the sessions' tasks record.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use tokio::time::Instant;

use super::{EngineError, Tenant, blocking};
use crate::domain::elicitation::FieldProblem;
use crate::domain::{AlwaysAllowedCall, Approval, Decision, RehearsalState, Session, SessionId, WorkId};
use crate::tools::Unrehearsable;

/// Number of answered approvals remembered, so that a second answer is told the first decision.
const ANSWERED: usize = 1_000;

/// A person's response to an approval.
#[derive(Clone, Debug, PartialEq)]
pub enum ApprovalResponse {
    /// With the person's own arguments, if they changed them.
    Approve(Option<Value>),
    Deny(Option<String>),
    /// Approves the call and every later one that is exactly the same.
    Always,
    /// Approves the call and every later page of the same host.
    AlwaysHost,
    /// Sends these values to the server that asks for them.
    Fill(Map<String, Value>),
    /// Leaves what a server asks for without a choice.
    Dismiss,
}

/// Why a response is refused.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum AnswerRefused {
    #[error("this approval request doesn't exist")]
    Unknown,
    #[error("this request was already {0}")]
    Already(&'static str),
    #[error("this request expired; the call was not run")]
    Expired,
    #[error("this request has changed; review it again")]
    HashDiffers,
    #[error("{0}")]
    BadArguments(String),
    /// The call cannot be rehearsed.
    #[error("{}", .0.why)]
    Unrehearsable(Unrehearsable),
    #[error("this question is answered with a form; answer it on the page")]
    FormNeeded,
    #[error("this question has no form")]
    NoForm,
    #[error("what a server asks for is answered each time; it can't be always allowed")]
    FormNeverAlways,
    /// Values of a form do not fit.
    #[error("{}", first_problem(.0))]
    BadFields(Vec<FieldProblem>),
    #[error("only fetching a page can be allowed for its whole host")]
    NoHost,
    #[error("changes to persona, memory and skills require approval every time; they can't be always allowed")]
    NeverAlways,
    #[error("a command that gets secrets requires approval every time; it can't be always allowed")]
    SecretsNeverAlways,
}

/// What became of a person's request to rehearse a call that waits for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RequestedRehearsal {
    /// It is being rehearsed, or is as soon as the run waits for a person again.
    Running,
    /// It has been rehearsed: the question says what it would change.
    Ended,
}

fn first_problem(problems: &[FieldProblem]) -> String {
    let named = problems.iter().map(|problem| format!("{} ({})", problem.field, problem.code));
    format!("these fields do not fit: {}", named.take(10).collect::<Vec<_>>().join(", "))
}

pub fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Approved => "approved",
        Decision::Denied => "denied",
        Decision::Expired => "denied, because nobody answered in time",
        Decision::Cancelled => "cancelled, because the run was stopped",
    }
}

#[derive(Default)]
pub struct Approvals(Mutex<ApprovalState>);

#[derive(Default)]
struct ApprovalState {
    waiting: Vec<Approval>,
    answered: VecDeque<(String, Decision)>,
}

impl Approvals {
    fn known(&self) -> MutexGuard<'_, ApprovalState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the pending approvals, oldest first.
    pub fn list(&self) -> Vec<Approval> {
        self.known().waiting.clone()
    }

    /// Returns the sessions with a pending approval.
    pub fn sessions(&self) -> HashSet<String> {
        self.known().waiting.iter().map(|approval| approval.session_id.to_string()).collect()
    }

    /// Returns the session that a pending approval belongs to.
    ///
    /// # Errors
    /// Returns an error if the approval is unknown, answered or expired.
    pub fn session_of(&self, id: &str) -> Result<SessionId, AnswerRefused> {
        let known = self.known();
        if let Some(approval) = known.waiting.iter().find(|approval| approval.id == id) {
            return Ok(approval.session_id.clone());
        }
        match known.answered.iter().find(|(answered, _)| answered == id) {
            Some((_, Decision::Expired)) => Err(AnswerRefused::Expired),
            Some((_, decision)) => Err(AnswerRefused::Already(word(*decision))),
            None => Err(AnswerRefused::Unknown),
        }
    }

    /// Adds a question. One that is asked again keeps its place.
    pub(super) fn asked(&self, approval: &Approval) {
        let mut known = self.known();
        match known.waiting.iter_mut().find(|other| other.id == approval.id) {
            Some(other) => *other = approval.clone(),
            None => known.waiting.push(approval.clone()),
        }
    }

    pub(super) fn held(&self, id: &str, expires_at: f64) {
        let mut known = self.known();
        if let Some(approval) = known.waiting.iter_mut().find(|approval| approval.id == id) {
            approval.expires_at = expires_at;
        }
    }

    pub(super) fn set_rehearsal(&self, id: &str, state: RehearsalState) {
        let mut known = self.known();
        if let Some(approval) = known.waiting.iter_mut().find(|approval| approval.id == id) {
            approval.rehearsal = Some(state);
        }
    }

    /// Notes what was answered during a work before its session was loaded: whoever answers it again is told.
    pub(super) fn note_answers(&self, session: &Session, work_id: &WorkId) {
        for answer in session.calls_of(work_id).filter_map(|call| call.approval.as_ref()?.answered()) {
            self.answered(&answer.id, answer.decision);
        }
    }

    pub(super) fn answered(&self, id: &str, decision: Decision) {
        let mut known = self.known();
        known.answered.retain(|(other, _)| other != id);
        known.waiting.retain(|approval| approval.id != id);
        known.answered.truncate(ANSWERED - 1);
        known.answered.push_front((id.to_owned(), decision));
    }
}

impl Tenant {
    /// Returns the calls that are always allowed.
    pub async fn always_allowed_calls(&self) -> Result<Vec<AlwaysAllowedCall>, EngineError> {
        let home = self.home.clone();
        blocking(move || Ok(home.remembered())).await
    }

    /// Removes a call from those that are always allowed: a person is asked about it again. Returns `false` if it is not
    /// one of them.
    pub async fn forget_call(&self, id: String) -> Result<bool, EngineError> {
        Ok(self.tree.forget_remembered(self.claim, id).await?)
    }
}

/// The pending approvals of one session with their expiry times.
#[derive(Default)]
pub struct ApprovalTimers(Vec<(Instant, String)>);

impl ApprovalTimers {
    pub fn put(&mut self, id: &str, until: Instant) {
        self.take(id);
        self.0.push((until, id.to_owned()));
    }

    pub fn take(&mut self, id: &str) {
        self.0.retain(|(_, other)| other != id);
    }

    pub fn is_over(&self, id: &str) -> bool {
        self.0.iter().any(|(until, other)| other == id && *until <= Instant::now())
    }

    /// Resolves to the next approval that expires; never, while none is pending.
    pub async fn expired(&self) -> String {
        match self.0.iter().min_by_key(|(until, _)| *until) {
            Some((until, id)) => {
                tokio::time::sleep_until(*until).await;
                id.clone()
            }
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn approval_expires_after_300_seconds_and_not_before() {
        let started = Instant::now();
        let mut timers = ApprovalTimers::default();
        timers.put("later", started + Duration::from_secs(400));
        timers.put("first", started + crate::tools::Policy::default().timeout);
        let early = tokio::time::timeout(Duration::from_millis(299_900), timers.expired()).await;
        assert!(early.is_err() && !timers.is_over("first"));
        assert_eq!(timers.expired().await, "first");
        assert_eq!(started.elapsed().as_secs(), 300);
        assert!(timers.is_over("first") && !timers.is_over("later"));
        timers.take("first");
        assert_eq!(timers.expired().await, "later");
        timers.take("later");
        assert!(tokio::time::timeout(Duration::from_secs(86_400), timers.expired()).await.is_err());
    }
}
