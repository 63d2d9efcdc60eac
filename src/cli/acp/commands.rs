//! The slash commands of the editor: the skills that the agent can use.

use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, SessionUpdate, UnstructuredCommandInput,
};

use super::agent::Agent;

/// A skill that the agent can use.
struct Skill {
    name: String,
    description: String,
    location: String,
}

/// Tells the editor which commands there are.
pub async fn tell(agent: &Agent, session: &str) {
    let commands = skills(agent).await.into_iter().map(|skill| {
        let input = UnstructuredCommandInput::new("what to do with it");
        AvailableCommand::new(skill.name, skill.description).input(AvailableCommandInput::Unstructured(input))
    });
    let update = AvailableCommandsUpdate::new(commands.collect());
    agent.connection.update(session, SessionUpdate::AvailableCommandsUpdate(update)).await;
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
