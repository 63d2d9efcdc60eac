//! The rules that every provider enforces for a conversation, checked on the next request of a session.

use std::collections::HashSet;

use super::budget::Room;
use super::history::{History, VisionSupport};
use crate::domain::Session;
use crate::provider::ChatMessage;

/// Returns what a provider would refuse in the messages of a session's next request; empty if it accepts them.
pub fn problems(session: &Session) -> Vec<String> {
    let room = Room { at_least: 0, tokens: &|| usize::MAX, count: &str::len };
    // A model that sees pictures is sent everything that another one is, and more.
    refused(&History::of(session, VisionSupport::Sees, room).messages)
}

fn refused(messages: &[ChatMessage]) -> Vec<String> {
    let (mut problems, mut ids) = (Vec::new(), HashSet::new());
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let mut say = |what: String| problems.push(format!("message {at} of the next request {what}"));
        if !matches!(message, ChatMessage::Tool { .. }) && !open.is_empty() {
            say(format!("comes before the results of the calls {open:?}"));
            open.clear();
        }
        match message {
            ChatMessage::System(_) => say("is a system message that is not the first".to_owned()),
            ChatMessage::User(_) | ChatMessage::Pictured { .. } => {}
            ChatMessage::Assistant { content, calls, .. } => {
                if calls.is_empty() && content.is_empty() {
                    say("says nothing".to_owned());
                }
                for call in calls {
                    if call.id.is_empty() || !ids.insert(call.id.as_str()) {
                        say(format!("has the call id {:?}, which is empty or was used before", call.id));
                    }
                    open.push(&call.id);
                }
            }
            ChatMessage::Tool { call_id, .. } => match open.iter().position(|id| id == call_id) {
                Some(place) => drop(open.remove(place)),
                None => say(format!("is a result of {call_id:?}, which no call waits for")),
            },
        }
    }
    if !open.is_empty() {
        problems.push(format!("the calls {open:?} have no result"));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::CallRequest;

    fn asks(id: &str) -> ChatMessage {
        let call = CallRequest { id: id.to_owned(), name: "t".to_owned(), arguments: "{}".to_owned() };
        ChatMessage::Assistant { content: String::new(), thinking: None, reasoning: None, calls: vec![call] }
    }

    fn result(id: &str) -> ChatMessage {
        ChatMessage::Tool { call_id: id.to_owned(), content: "r".to_owned() }
    }

    #[test]
    fn every_call_needs_exactly_one_result() {
        let user = || ChatMessage::User("hi".to_owned());
        assert_eq!(refused(&[user(), asks("a"), result("a"), user()]), Vec::<String>::new());
        for bad in [
            vec![user(), asks("a")],
            vec![user(), asks("a"), user()],
            vec![user(), asks("a"), result("a"), result("a")],
            vec![user(), asks("a"), result("a"), asks("a"), result("a")],
            vec![user(), asks(""), result("")],
            vec![user(), ChatMessage::System("s".to_owned())],
            vec![
                user(),
                ChatMessage::Assistant { content: String::new(), thinking: None, reasoning: None, calls: Vec::new() },
            ],
        ] {
            assert_eq!(refused(&bad).len(), 1, "{}: {:?}", bad.len(), refused(&bad));
        }
    }
}
