//! Messages that wait for the run under way to end.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::attachment::Attachment;
use super::client::ClientRequest;
use super::event::Event;
use super::ids::WorkId;
use super::session::Session;

/// Maximum number of messages that wait in one session.
pub const MOST_QUEUED: usize = 20;

/// When a message runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// At once. A run under way is interrupted.
    #[default]
    Now,
    /// After the run under way and the messages that are queued already. If that run waits for approvals, they are
    /// denied with the message as the reason, and the run continues.
    Next,
}

/// A message that a person sent while a run was under way. It runs as the work `work_id`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct QueuedMessage {
    /// The id that the message will have in the conversation.
    pub id: String,
    #[schema(value_type = String)]
    pub work_id: WorkId,
    pub content: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Attachment>)]
    pub attachments: Vec<Arc<Attachment>>,
    /// Unix seconds.
    #[serde(default)]
    pub created_at: f64,
    /// The model is offered no tools.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_tools: bool,
    /// What the program sent that the message came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(ignore)]
    pub client: Option<Arc<ClientRequest>>,
}

impl QueuedMessage {
    /// Returns the event with which its work begins.
    pub fn begins(self, model: String) -> Event {
        Event::WorkStarted {
            work_id: self.work_id,
            message_id: self.id,
            content: self.content,
            attachments: self.attachments,
            model,
            without_tools: self.without_tools,
            client: self.client,
        }
    }
}

/// Reads the queue from a session's file. An entry that this version cannot read is left out.
pub(super) fn lenient<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<QueuedMessage>, D::Error> {
    let entries = match Value::deserialize(from)? {
        Value::Array(entries) => entries,
        _ => Vec::new(),
    };
    Ok(entries.into_iter().filter_map(|entry| serde_json::from_value(entry).ok()).collect())
}

impl Session {
    pub fn queued(&self, id: &str) -> Option<&QueuedMessage> {
        self.queue.iter().find(|message| message.id == id)
    }

    /// Adds a message to the end of the queue, or replaces the one with the same id.
    pub(super) fn enqueue(&mut self, message: &QueuedMessage) {
        match self.queue.iter_mut().find(|known| known.id == message.id) {
            Some(known) => known.clone_from(message),
            None => self.queue.push(message.clone()),
        }
    }

    pub(super) fn dequeue(&mut self, id: &str) {
        self.queue.retain(|message| message.id != id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: &str, content: &str) -> QueuedMessage {
        QueuedMessage {
            id: id.to_owned(),
            work_id: WorkId::new(format!("w{id}")),
            content: content.to_owned(),
            attachments: Vec::new(),
            created_at: 1.0,
            without_tools: false,
            client: None,
        }
    }

    #[test]
    fn queued_message_is_edited_in_place_and_leaves_when_it_begins() {
        let mut session = Session::new("t", 1.0);
        for queued in [message("a", "one"), message("b", "two"), message("a", "uno")] {
            session.apply(&Event::Queued { message: queued }, 2.0);
        }
        let contents: Vec<&str> = session.queue.iter().map(|queued| queued.content.as_str()).collect();
        assert_eq!(contents, ["uno", "two"]);
        let first = session.queued("a").unwrap().clone();
        session.apply(&first.begins("mock".to_owned()), 3.0);
        assert_eq!((session.queue.len(), session.messages[0].content.as_str()), (1, "uno"));
        assert_eq!(session.asked_as("a").unwrap().as_str(), "wa");
        session.apply(&Event::Unqueued { message_id: "b".to_owned(), work_id: WorkId::new("wb") }, 4.0);
        assert!(session.queue.is_empty());
    }
}
