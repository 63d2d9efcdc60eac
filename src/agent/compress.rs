//! Lets the model summarise the older half of a conversation.

use std::sync::Arc;

use crate::domain::defang::defang;
use crate::domain::{Message, Role, Session};
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

/// Returns how many messages of a session to compact, counted from the first: up to the half of those that are not
/// withdrawn, at least [`FEWEST`] of them. `None` if there are too few.
pub fn share(session: &Session) -> Option<usize> {
    let in_effect = || session.messages.iter().enumerate().filter(|(_, message)| session.is_in_effect(message));
    let (last, _) = in_effect().nth(half(in_effect().count())? - 1)?;
    Some(last + 1)
}

fn half(messages: usize) -> Option<usize> {
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
    use crate::domain::{WithdrawnWork, WorkId};

    fn talk(works: &[&str]) -> Session {
        let mut session = Session::new("t", 1.0);
        session.messages = works
            .iter()
            .map(|work| {
                let work_id = Some(WorkId::new((*work).to_owned()));
                Arc::new(Message { work_id, ..Message::new(Role::User, *work) })
            })
            .collect();
        session
    }

    #[test]
    fn withdrawn_messages_do_not_count_toward_the_half() {
        let mut session = talk(&["x", "a", "b", "x", "c", "d", "x", "e"]);
        assert_eq!(share(&session), Some(4));
        let withdrawn = |work: &str| WithdrawnWork {
            work_id: WorkId::new(work.to_owned()),
            withdrawn_at: 1.0,
            calls: Vec::new(),
            kept: Vec::new(),
        };
        session.withdrawn = vec![withdrawn("x")];
        assert_eq!(share(&session), Some(6), "a, b, c and d, with the withdrawn ones between them");
        session.withdrawn.extend(["a", "b"].map(withdrawn));
        assert_eq!(share(&session), None);
    }

    #[test]
    fn first_half_is_compacted_and_never_everything() {
        let shares: Vec<_> = [3, 4, 5, 8, 9, 10, 101].map(|count| share(&talk(&vec!["a"; count]))).to_vec();
        assert_eq!(shares, [None, Some(4), Some(4), Some(4), Some(4), Some(5), Some(50)]);
    }
}
