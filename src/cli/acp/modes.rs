//! The modes of a session: what may run without a question. They are the permission modes of the page (docs/trust.md); the
//! editor shows questions, but never decides when there is one.

use agent_client_protocol_schema::v1::{SessionMode, SessionModeState, SetSessionModeRequest};
use serde_json::{Value, json};

use super::agent::Agent;
use super::connection::AcpError;

pub const DEFAULT_MODE: &str = "ask";
/// The mode of a session for which nothing is chosen.
const RULES: &str = "rules";

/// Id, the word of the server, name and description of each mode.
const MODES: [(&str, Option<&str>, &str, &str); 5] = [
    ("ask", Some("ask"), "Ask", "Everything but reading needs your approval"),
    (
        "sandboxed",
        Some("sandboxed"),
        "Sandboxed",
        "Commands run without approval if they are sandboxed and have no network",
    ),
    ("read-only", Some("read_only"), "Read only", "Changes of files and commands are denied"),
    ("plan", Some("plan"), "Plan", "Read only, and you get a plan instead of the work"),
    (RULES, None, "Rules of the server", "What config.yml says"),
];

pub fn state(current: &str) -> SessionModeState {
    let modes = MODES.iter().map(|(id, _, name, description)| {
        SessionMode::new((*id).to_owned(), *name).description((*description).to_owned())
    });
    SessionModeState::new(current.to_owned(), modes.collect())
}

/// Returns the modes of a session with what was chosen for it.
pub fn of_history(history: &Value) -> SessionModeState {
    let chosen = history["chosen"]["permission_mode"].as_str();
    let current = MODES.iter().find(|(_, word, ..)| *word == chosen).map_or(RULES, |(id, ..)| id);
    state(current)
}

/// Chooses a mode. That the person has chosen it in the editor is their consent to what it allows.
///
/// # Errors
/// Returns an error if there is no such mode, or if the server refuses.
pub async fn choose(agent: &Agent, id: &str, mode: &str) -> Result<(), AcpError> {
    let known = MODES.iter().find(|(known, ..)| *known == mode);
    let (_, word, ..) = known.ok_or_else(|| AcpError::invalid(format!("there is no mode {mode:?}")))?;
    let mut chosen = chosen(agent, id).await?;
    chosen["permission_mode"] = json!(word);
    chosen["confirm_loosening"] = json!(true);
    put(agent, id, chosen).await
}

/// Returns what is chosen for a session.
///
/// # Errors
/// Returns an error if there is no such session.
pub async fn chosen(agent: &Agent, id: &str) -> Result<Value, AcpError> {
    let history = agent.client.get(&format!("api/sessions/{id}/history?last=1")).await?;
    Ok(Some(history["chosen"].clone()).filter(Value::is_object).unwrap_or_else(|| json!({})))
}

/// Replaces what is chosen for a session.
///
/// # Errors
/// Returns an error if the server refuses.
pub async fn put(agent: &Agent, id: &str, chosen: Value) -> Result<(), AcpError> {
    agent.client.put(&format!("api/sessions/{id}/model"), chosen).await?;
    Ok(())
}

/// Chooses the mode that the editor names.
///
/// # Errors
/// Returns an error if the session is not open, there is no such mode, or the server refuses.
pub async fn set(agent: &Agent, request: SetSessionModeRequest) -> Result<Value, AcpError> {
    let id = request.session_id.to_string();
    agent.opened(&id)?;
    choose(agent, &id, &request.mode_id.to_string()).await?;
    Ok(json!({}))
}
