//! A prompt of the editor: its blocks become one message with attachments, and the work is followed to its end.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    ContentBlock, EmbeddedResourceResource, PromptRequest, PromptResponse, ResourceLink, StopReason,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::agent::Agent;
use super::connection::AcpError;
use super::turn::Turn;
use super::{commands, folder, servers, updates};

/// A message as the server takes it.
#[derive(Debug, Default)]
struct Said {
    text: String,
    attachments: Vec<Value>,
}

/// Sends a message and tells the editor what the agent does, until it has ended.
///
/// # Errors
/// Returns an error if the session is not open, if there is no model, or if the work fails.
pub async fn prompt(agent: &Arc<Agent>, request: PromptRequest) -> Result<PromptResponse, AcpError> {
    let id = request.session_id.to_string();
    let mut session = agent.opened(&id)?;
    let cancelled = CancellationToken::new();
    session.prompt = cancelled.clone();
    agent.set_open(&id, session);
    let mut said = Said::of(request.prompt)?;
    if said.attachments.is_empty()
        && let Some(done) = commands::run(agent, &id, &said.text).await?
    {
        agent.connection.update(&id, updates::text(&done)).await;
        return Ok(PromptResponse::new(StopReason::EndTurn));
    }
    said.text = commands::written_out(agent, said.text).await;
    agent.require_model().await?;
    folder::confirm(agent, &id).await?;
    servers::confirm(agent, &id).await?;
    if cancelled.is_cancelled() {
        return Ok(PromptResponse::new(StopReason::Cancelled));
    }
    let mut session = agent.opened(&id)?;
    for text in std::mem::take(&mut session.notes) {
        agent.connection.update(&id, updates::note(&text)).await;
    }
    let folder = session.folder.clone();
    agent.set_open(&id, session);
    let message = json!({"message": said.text, "session_id": id, "when": "next", "attachments": said.attachments});
    let frames = agent.client.chat(message).await?;
    let reason = Turn::new(agent.clone(), id, folder).follow(frames, cancelled).await?;
    Ok(PromptResponse::new(reason))
}

impl Said {
    /// # Errors
    /// Returns an error for a block that is neither text, a picture nor a file.
    fn of(blocks: Vec<ContentBlock>) -> Result<Self, AcpError> {
        let mut said = Self::default();
        for block in blocks {
            match block {
                ContentBlock::Text(text) => said.text.push_str(&text.text),
                ContentBlock::ResourceLink(link) => said.text.push_str(&named(&link)),
                ContentBlock::Image(image) => {
                    let name = format!("picture {}", said.attachments.len() + 1);
                    said.attachments.push(json!({"name": name, "content": image.data, "encoding": "base64"}));
                }
                ContentBlock::Resource(resource) => match resource.resource {
                    EmbeddedResourceResource::TextResourceContents(file) => {
                        let name = file.uri.rsplit('/').find(|part| !part.is_empty()).unwrap_or("file").to_owned();
                        said.text.push_str(&format!("[{name}]({})", file.uri));
                        let text = json!({"name": with_extension(name), "content": file.text});
                        said.attachments.push(text);
                    }
                    _ => return Err(AcpError::invalid("of embedded files, only texts can be sent")),
                },
                _ => return Err(AcpError::invalid("a prompt has texts, pictures and files")),
            }
        }
        if said.text.trim().is_empty() && said.attachments.is_empty() {
            return Err(AcpError::invalid("the prompt is empty"));
        }
        Ok(said)
    }
}

/// Returns how a message names a file that the agent can read itself.
fn named(link: &ResourceLink) -> String {
    let path = link.uri.strip_prefix("file://").unwrap_or(&link.uri);
    format!("[{}]({path})", link.name)
}

/// Returns a name that the server takes as that of a text.
fn with_extension(name: String) -> String {
    if name.contains('.') { name } else { format!("{name}.txt") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(blocks: Value) -> Result<Said, AcpError> {
        Said::of(serde_json::from_value(blocks).unwrap())
    }

    #[test]
    fn blocks_become_one_message() {
        let blocks = json!([
            {"type": "text", "text": "Look at "},
            {"type": "resource_link", "name": "a.rs", "uri": "file:///work/a.rs"},
            {"type": "text", "text": "."},
            {"type": "resource", "resource": {"uri": "file:///work/b.md", "text": "# B"}},
            {"type": "image", "data": "QQ==", "mimeType": "image/png"},
        ]);
        let said = said(blocks).unwrap();
        assert_eq!(said.text, "Look at [a.rs](/work/a.rs).[b.md](file:///work/b.md)");
        assert_eq!(said.attachments[0], json!({"name": "b.md", "content": "# B"}));
        assert_eq!(said.attachments[1]["encoding"], "base64");
    }

    #[test]
    fn empty_prompt_and_audio_are_refused() {
        assert_eq!(said(json!([])).unwrap_err().code, -32602);
        assert_eq!(said(json!([{"type": "audio", "data": "QQ==", "mimeType": "audio/wav"}])).unwrap_err().code, -32602);
    }
}
