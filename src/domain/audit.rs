//! The audit log of a server that several people use: who did what about accounts and the server, without contents.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What is known of an act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuditOutcome {
    /// It began, and its end was not recorded: a crash came between.
    Begun,
    Done,
    Refused,
}

/// An act. If the log has several entries with an id, the last one counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct AuditEntry {
    /// Sorts by time.
    pub id: String,
    /// RFC 3339, UTC.
    pub at: String,
    /// `sign_in`, `sign_out`, `sign_out_everywhere`, `password_changed`, `profile_changed`, `token_made`, `token_deleted`,
    /// `registered`, `account_changed`, `password_reset`, `invitation_made`, `invitation_deleted`, `member_set`, `member_removed`,
    /// `project_joined`, `project_declined`, `settings_changed`,
    /// `provider_changed`, `model_changed`, or `admin_request` for any other request of an admin.
    pub event: String,
    pub outcome: AuditOutcome,
    /// Why it was refused, as a code such as `wrong_password`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Account of the person who acted. Absent if nobody was signed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// User name of the actor at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor_name: Option<String>,
    /// Account that the act was about. Absent for a sign-in with a name that nobody has: people type passwords there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// User name of the account at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account_name: Option<String>,
    /// Address of the client; absent for the command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// What was changed, such as the new role or the names of settings; never a secret.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub detail: Map<String, Value>,
    /// Number of acts of the same account, or of nobody, that were not recorded since the entry before, because they were too
    /// many or the log could not be written.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unrecorded: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Which entries a person wants to see; `None` means all.
#[derive(Clone, Debug, Default)]
pub struct AuditFilter {
    pub event: Option<String>,
    pub outcome: Option<AuditOutcome>,
    /// The id of an account that acted or was acted on.
    pub account: Option<String>,
}

impl AuditFilter {
    pub fn fits(&self, entry: &AuditEntry) -> bool {
        let is_event = self.event.as_ref().is_none_or(|event| *event == entry.event);
        let is_outcome = self.outcome.is_none_or(|outcome| outcome == entry.outcome);
        let is_account = self.account.as_ref().is_none_or(|account| {
            [&entry.actor, &entry.account].into_iter().any(|known| known.as_ref() == Some(account))
        });
        is_event && is_outcome && is_account
    }
}

/// Part of the log, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditPage {
    pub entries: Vec<AuditEntry>,
    pub has_more: bool,
}
