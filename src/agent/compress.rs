//! Lets the model summarise the older half of a conversation.

use std::sync::Arc;

use crate::domain::defang::defang;
use crate::domain::{Message, Role};
use crate::provider::{ChatMessage, Client, ModelRequest, ProviderError};

/// Minimum number of messages that are worth a summary, and that are compacted.
pub const FEWEST: usize = 4;
/// The document's limit for a summary, in characters.
const MAX_SUMMARY: usize = 500;
/// Maximum characters that the model reads of one message, and of all messages.
const EXCERPT: usize = 1500;
const MATERIAL: usize = 12_000;

/// Percentage of the tokens that a request may have, from which compaction is proposed, or done.
pub const FULL_PERCENT: usize = 80;

/// Returns how many messages to compact: the first half, at least [`FEWEST`]. `None` if there are too few.
pub fn share(messages: usize) -> Option<usize> {
    (messages >= FEWEST).then(|| (messages / 2).max(FEWEST))
}

/// Asks the model for a summary of `messages`, at temperature 0.3.
pub async fn summarise(client: &Client, messages: &[Arc<Message>]) -> Result<String, ProviderError> {
    let request = ModelRequest {
        messages: vec![ChatMessage::User(format!(
            "{}\n\nSummarise the conversation above for whoever continues it, in its own language and in at most \
             {MAX_SUMMARY} characters: what the person wants, decisions, facts, names, file paths, open questions. \
             用对话本身的语言总结。 Answer with the summary only.",
            material(messages)
        ))],
        temperature: Some(0.3),
        max_tokens: Some(1024),
        ..ModelRequest::default()
    };
    let summary = client.complete(&request).await?;
    Ok(summary.trim().chars().take(MAX_SUMMARY).collect())
}

fn material(messages: &[Arc<Message>]) -> String {
    let mut text = String::new();
    for message in messages {
        let who = match message.role {
            Role::User => "User",
            Role::Assistant => "Assistant",
            Role::System => continue,
        };
        text.push_str(&format!("{who}: {}\n", clip(&message.content, EXCERPT)));
        for file in &message.attachments {
            if file.picture.is_some() {
                text.push_str(&format!("[attached picture {}]\n", file.name_in_line()));
                continue;
            }
            text.push_str(&format!("[attached {}: {}]\n", defang(&file.name), defang(&clip(&file.content, 300))));
        }
        for call in &message.tool_calls {
            text.push_str(&format!("[{} {} → {}]\n", call.tool, clip(&call.input, 200), clip(&call.output, 300)));
        }
    }
    clip(&text, MATERIAL)
}

fn clip(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_half_is_compacted_and_never_everything() {
        let shares: Vec<_> = [3, 4, 5, 8, 9, 10, 101].map(share).to_vec();
        assert_eq!(shares, [None, Some(4), Some(4), Some(4), Some(4), Some(5), Some(50)]);
    }
}
