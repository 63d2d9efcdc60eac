//! Messages that a person has pinned: every request contains their text, even if the conversation is compacted or does
//! not fit into the model's context.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::message::{Message, Role};
use super::session::Session;

/// Maximum characters of all pinned messages of a session, so that they leave room for the conversation.
pub const PINNED_CHARACTERS: usize = 8_000;

/// The text of a pinned message. It is a copy, because a summary may replace the message itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PinnedMessage {
    /// Id of the message; for an answer that is pinned as a whole, of its work.
    pub id: String,
    pub role: Role,
    pub content: String,
    /// Whether a summary has replaced the message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compacted: bool,
    /// Whether the message was withdrawn when a summary replaced it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withdrawn: bool,
}

/// Why a message cannot be pinned, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PinRefused {
    #[error("only messages with text can be pinned")]
    NoText,
    #[error("pinned messages can have {PINNED_CHARACTERS} characters together; with this one they would have {0}")]
    TooLong(usize),
}

impl Session {
    /// Checks whether a message can be pinned. `None` if there is no such message.
    pub fn pinnable(&self, id: &str) -> Option<Result<(), PinRefused>> {
        let (role, content) = self.text_of(id)?;
        if role == Role::System || content.trim().is_empty() {
            return Some(Err(PinRefused::NoText));
        }
        let others = self.pinned.iter().filter(|pin| pin.id != id).map(|pin| pin.content.chars().count());
        let characters = others.sum::<usize>() + content.chars().count();
        Some(if characters > PINNED_CHARACTERS { Err(PinRefused::TooLong(characters)) } else { Ok(()) })
    }

    pub(super) fn pin(&mut self, id: &str, pinned: bool) {
        self.pinned.retain(|pin| pin.id != id);
        let Some((role, content)) = self.text_of(id).filter(|_| pinned) else { return };
        self.pinned.push(PinnedMessage { id: id.to_owned(), role, content, compacted: false, withdrawn: false });
    }

    /// Returns the pinned messages of this branch of the conversation that are not withdrawn. A message on another branch
    /// counts only there.
    pub fn pinned_here(&self) -> impl Iterator<Item = &PinnedMessage> {
        let is_here =
            |pin: &PinnedMessage| self.messages.iter().any(|message| pin.is(message) && self.is_in_effect(message));
        self.pinned.iter().filter(move |pin| (pin.compacted && !pin.withdrawn) || is_here(pin))
    }

    /// Notes whether a summary has replaced these messages.
    pub(super) fn note_pinned(&mut self, messages: &[Arc<Message>], compacted: bool) {
        let mut pinned = std::mem::take(&mut self.pinned);
        for pin in &mut pinned {
            if let Some(message) = messages.iter().find(|message| pin.is(message)) {
                pin.compacted = compacted;
                pin.withdrawn = compacted && !self.is_in_effect(message);
            }
        }
        self.pinned = pinned;
    }

    /// Returns the text of a message, or of all messages of an answer.
    fn text_of(&self, id: &str) -> Option<(Role, String)> {
        let mut messages = self.messages.iter().filter(|message| is_named(message, id)).peekable();
        let role = messages.peek()?.role;
        let texts: Vec<_> = messages.map(|message| message.content.trim()).filter(|text| !text.is_empty()).collect();
        Some((role, texts.join("\n\n")))
    }
}

impl PinnedMessage {
    /// Returns whether this message is pinned by it.
    pub fn is(&self, message: &Message) -> bool {
        is_named(message, &self.id)
    }
}

fn is_named(message: &Message, id: &str) -> bool {
    let is_answer = message.role == Role::Assistant && message.work_id.as_ref().is_some_and(|work| work.as_str() == id);
    is_answer || message.id.as_deref() == Some(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Event;

    fn talk() -> Session {
        let mut session = Session::new("t", 1.0);
        session.messages = ["a", "b", "c", "d", "e"]
            .map(|id| {
                let mut message = Message::new(Role::User, format!("text of {id}"));
                message.id = Some(id.to_owned());
                Arc::new(message)
            })
            .into();
        session
    }

    fn pin(session: &mut Session, id: &str, pinned: bool) {
        session.apply(&Event::Pinned { message_id: id.to_owned(), pinned }, 2.0);
    }

    fn here(session: &Session) -> Vec<&str> {
        session.pinned_here().map(|pin| pin.id.as_str()).collect()
    }

    #[test]
    fn pin_stays_through_compaction_and_restoring() {
        let mut session = talk();
        for id in ["b", "d", "nothing"] {
            pin(&mut session, id, true);
        }
        pin(&mut session, "d", true);
        assert_eq!(here(&session), ["b", "d"]);
        let gone = session.messages[..4].to_vec();
        let (summary, archive) = ("short".to_owned(), "x".to_owned());
        let compressed =
            Event::Compressed { count: 4, summary, archive: archive.clone(), sha256: None, automatic: false };
        session.apply(&compressed, 3.0);
        assert_eq!(here(&session), ["b", "d"], "replaced by a summary");
        pin(&mut session, "b", false);
        assert_eq!((here(&session), session.pinned[0].compacted), (vec!["d"], true));
        session.apply(&Event::Restored { archive, messages: gone, foreign: false }, 4.0);
        assert_eq!((here(&session), session.pinned[0].compacted), (vec!["d"], false));
    }

    #[test]
    fn pin_of_another_branch_counts_only_there() {
        let mut session = talk();
        pin(&mut session, "d", true);
        session.apply(&Event::Branched { from: "d".to_owned(), to: None }, 2.0);
        assert_eq!(here(&session), Vec::<&str>::new());
    }

    #[test]
    fn answer_is_pinned_as_a_whole() {
        let mut session = talk();
        for (at, text) in [(1, "First I look."), (2, ""), (3, "Then I write.")] {
            let message = Arc::make_mut(&mut session.messages[at]);
            (message.role, message.content) = (Role::Assistant, text.to_owned());
            message.work_id = Some(crate::domain::WorkId::new("w"));
        }
        pin(&mut session, "w", true);
        assert_eq!(session.pinned[0].content, "First I look.\n\nThen I write.");
        assert_eq!((session.pinned[0].role, here(&session)), (Role::Assistant, vec!["w"]));
    }

    #[test]
    fn what_cannot_be_pinned_is_refused() {
        let mut session = talk();
        assert_eq!(session.pinnable("a"), Some(Ok(())));
        assert_eq!(session.pinnable("z"), None);
        Arc::make_mut(&mut session.messages[1]).content = " \n".to_owned();
        assert_eq!(session.pinnable("b"), Some(Err(PinRefused::NoText)));
        Arc::make_mut(&mut session.messages[2]).content = "好".repeat(PINNED_CHARACTERS);
        assert_eq!(session.pinnable("c"), Some(Ok(())));
        pin(&mut session, "a", true);
        assert_eq!(session.pinnable("c"), Some(Err(PinRefused::TooLong(PINNED_CHARACTERS + 9))));
        pin(&mut session, "a", false);
        pin(&mut session, "c", true);
        assert_eq!(session.pinnable("c"), Some(Ok(())), "it counts once");
    }
}
