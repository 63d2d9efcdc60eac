//! Calls that wait for approval, as questions of the editor. The person's answer there counts for exactly what was sent: it is
//! bound to the hash of the approval. Who answers first, there or on the page, counts.

use std::path::Path;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use serde_json::{Value, json};

use super::agent::Agent;
use super::updates;
use crate::domain::Approval;

const ONCE: &str = "once";
const ALWAYS: &str = "always";
const REJECT: &str = "reject";

/// What the person chose in the editor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The option with this id.
    Allowed(String),
    /// The editor cancelled the question, or could not show it.
    Withdrawn,
}

/// What the person is asked beside calls, in the form of one.
pub struct Confirmation {
    /// The id of the call.
    pub call: String,
    pub title: String,
    pub about: String,
    pub options: Vec<PermissionOption>,
}

impl Agent {
    /// Asks the person something and waits for the answer.
    pub async fn confirmed(&self, session: &str, what: Confirmation) -> Choice {
        let fields = ToolCallUpdateFields::new()
            .title(what.title)
            .kind(ToolKind::Other)
            .status(ToolCallStatus::Pending)
            .content(vec![ToolCallContent::from(what.about.as_str())]);
        let call = ToolCallUpdate::new(what.call, fields);
        let request = RequestPermissionRequest::new(session.to_owned(), call, what.options);
        let question = self.connection.ask("session/request_permission", &request).await;
        match question.answer.await {
            Ok(answer) => chosen(answer),
            Err(_) => Choice::Withdrawn,
        }
    }
}

/// Returns what an answer of the editor says. Anything that is not a choice counts as none.
pub fn chosen(mut answer: Value) -> Choice {
    let response = serde_json::from_value::<RequestPermissionResponse>(answer["result"].take());
    match response.map(|response| response.outcome) {
        Ok(RequestPermissionOutcome::Selected(selected)) => Choice::Allowed(selected.option_id.to_string()),
        Ok(_) | Err(_) => Choice::Withdrawn,
    }
}

/// Shows the person a call that waits, and passes their answer on. Returns the id of the question, with which it can be
/// withdrawn.
pub async fn ask(agent: &Arc<Agent>, approval: Approval, folder: &Path) -> u64 {
    let fields = ToolCallUpdateFields::new()
        .title(updates::title(&approval.tool, &approval.shown.command))
        .kind(updates::kind(&approval.tool))
        .status(ToolCallStatus::Pending)
        .content(updates::question(&approval, folder, agent.client.page()))
        .locations(updates::locations(&approval.arguments, folder))
        .raw_input(approval.arguments.clone());
    let call = ToolCallUpdate::new(approval.call_id.clone(), fields);
    let request = RequestPermissionRequest::new(approval.session_id.to_string(), call, options(&approval));
    let question = agent.connection.ask("session/request_permission", &request).await;
    let (id, agent) = (question.id, agent.clone());
    tokio::spawn(async move {
        // If it was withdrawn, somebody else has answered.
        let Ok(answer) = question.answer.await else { return };
        pass_on(&agent, &approval, chosen(answer)).await;
    });
    id
}

async fn pass_on(agent: &Agent, approval: &Approval, choice: Choice) {
    let hash = &approval.hash;
    let is_offered = |id: &str| options(approval).iter().any(|option| option.option_id.to_string() == id);
    let body = match &choice {
        // An editor can only choose what it was offered.
        Choice::Allowed(option) if !is_offered(option) => return,
        Choice::Allowed(option) if option == ONCE => json!({"decision": "approve", "hash": hash}),
        Choice::Allowed(option) if option == ALWAYS => json!({"decision": "always", "hash": hash}),
        Choice::Allowed(_) => json!({"decision": "deny", "hash": hash}),
        // It still waits: on the page, or until the work is cancelled.
        Choice::Withdrawn => return,
    };
    if let Err(error) = agent.client.post(&format!("api/approvals/{}", approval.id), body).await {
        let text = format!("Your answer did not count: {error}. Questions that wait are on {}", agent.client.page());
        agent.connection.update(approval.session_id.as_str(), updates::note(&text)).await;
    }
}

fn options(approval: &Approval) -> Vec<PermissionOption> {
    let shown = &approval.shown;
    let mut options = Vec::new();
    // What a rehearsed call changes is listed on the page only, and forms are there, so they are answered there.
    let is_on_page = shown.rehearsal.is_some() || shown.elicitation.is_some();
    if !is_on_page {
        options.push(PermissionOption::new(ONCE, "Allow once", PermissionOptionKind::AllowOnce));
    }
    if !shown.changes_persona() && shown.secrets.is_empty() && !is_on_page {
        options.push(PermissionOption::new(
            ALWAYS,
            "Always allow exactly this call",
            PermissionOptionKind::AllowAlways,
        ));
    }
    options.push(PermissionOption::new(REJECT, "Reject", PermissionOptionKind::RejectOnce));
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_choice_counts_as_one() {
        let selected = json!({"result": {"outcome": {"outcome": "selected", "optionId": "once"}}});
        assert_eq!(chosen(selected), Choice::Allowed("once".to_owned()));
        for other in [
            json!({"result": {"outcome": {"outcome": "cancelled"}}}),
            json!({"error": {"code": -32601, "message": "no"}}),
            json!({"result": {}}),
            json!({"result": {"outcome": "once"}}),
            json!(null),
        ] {
            assert_eq!(chosen(other.clone()), Choice::Withdrawn, "{other}");
        }
    }
}
