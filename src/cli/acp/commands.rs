//! The slash commands of the editor: two of its own, and the skills that the agent can use.

use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, SessionUpdate, UnstructuredCommandInput,
};

use serde_json::{Value, json};

use super::agent::Agent;
use super::connection::AcpError;

const COMPRESS: &str = "compress";
const UNDO: &str = "undo";

/// A skill that the agent can use.
struct Skill {
    name: String,
    description: String,
    location: String,
}

/// Tells the editor which commands there are.
pub async fn tell(agent: &Agent, session: &str) {
    let own = [
        AvailableCommand::new(COMPRESS, "Replace the earlier half of the conversation by a summary"),
        AvailableCommand::new(UNDO, "Withdraw the last message and its answer, with all changes of files"),
    ];
    let skills = skills(agent).await.into_iter().filter(|skill| !is_own(&skill.name)).map(|skill| {
        let input = UnstructuredCommandInput::new("what to do with it");
        AvailableCommand::new(skill.name, skill.description).input(AvailableCommandInput::Unstructured(input))
    });
    let update = AvailableCommandsUpdate::new(own.into_iter().chain(skills).collect());
    agent.connection.update(session, SessionUpdate::AvailableCommandsUpdate(update)).await;
}

fn is_own(name: &str) -> bool {
    name == COMPRESS || name == UNDO
}

/// Runs a command that is not for the agent, and returns what it did; `None` if the text is no such command.
///
/// # Errors
/// Returns an error if the server refuses.
pub async fn run(agent: &Agent, session: &str, text: &str) -> Result<Option<String>, AcpError> {
    match text.trim().strip_prefix('/') {
        Some(COMPRESS) => {
            let done = agent.client.post(&format!("api/sessions/{session}/compress"), json!({})).await?;
            Ok(Some(format!(
                "Messages replaced by this summary: {}.\n\n{}",
                done["archived_count"],
                text_of(&done["summary"])
            )))
        }
        Some(UNDO) => undo(agent, session).await.map(Some),
        Some(_) | None => Ok(None),
    }
}

/// Withdraws the newest work that is not withdrawn.
async fn undo(agent: &Agent, session: &str) -> Result<String, AcpError> {
    let history = agent.client.get(&format!("api/sessions/{session}/history")).await?;
    let withdrawn = history["withdrawn"].as_array().cloned().unwrap_or_default();
    let messages = history["messages"].as_array().into_iter().flatten().rev();
    let newest = messages.map(|message| &message["work_id"]).find(|work| work.is_string() && !withdrawn.contains(work));
    let work = newest.and_then(|work| work.as_str()).ok_or_else(|| AcpError::invalid("there is nothing to undo"))?;
    let done = agent.client.post(&format!("api/sessions/{session}/works/{work}/withdraw"), json!({})).await?;
    let files = done["files"].as_array().into_iter().flatten().map(|file| format!("\n- {}", text_of(&file["path"])));
    let files: String = files.collect();
    let files = if files.is_empty() { " It had changed no files.".to_owned() } else { format!(" Restored:\n{files}") };
    Ok(format!("The last message and its answer were withdrawn. The page can bring them back.{files}"))
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns a message in which a command is written out. Any other message stays as it is.
pub async fn written_out(agent: &Agent, text: String) -> String {
    let Some(command) = text.strip_prefix('/') else { return text };
    let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    let skills = skills(agent).await;
    let Some(skill) = skills.into_iter().find(|skill| skill.name == name) else { return text };
    format!("Use the skill {name} ({}).\n\n{}", skill.location, rest.trim()).trim_end().to_owned()
}

async fn skills(agent: &Agent) -> Vec<Skill> {
    let Ok(list) = agent.client.get("api/skills").await else { return Vec::new() };
    let skills = list["skills"].as_array().into_iter().flatten().filter_map(|skill| {
        let text = |field: &str| skill[field].as_str().map(str::to_owned);
        let can_be_used = skill["error"].is_null() && skill["disabled"] != true;
        can_be_used.then_some(())?;
        Some(Skill { name: text("name")?, description: text("description")?, location: text("location")? })
    });
    skills.collect()
}
