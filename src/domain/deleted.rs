//! Deleted messages: a person removed them from the conversation. They stay in the session's file, and nothing shows or sends
//! them.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::compacted::name_of;
use super::ids::WorkId;
use super::message::{Message, Role, ToolCall};
use super::session::Session;

/// A message of a person, or all messages of an answer: a call is never parted from its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeletedTurn {
    /// Unix seconds.
    #[serde(default)]
    pub deleted_at: f64,
    /// Id of the message that it followed; absent if it came first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    pub messages: Vec<Arc<Message>>,
}

/// Reads the entries of a session's file that this version understands.
pub(super) fn lenient<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<DeletedTurn>, D::Error> {
    let entries = match Value::deserialize(from)? {
        Value::Array(entries) => entries,
        _ => Vec::new(),
    };
    Ok(entries.into_iter().filter_map(|entry| serde_json::from_value(entry).ok()).collect())
}

/// Returns the turns of a conversation as ranges of its messages: each message of a person, and each answer with all its
/// messages.
pub fn turns(messages: &[Arc<Message>]) -> impl Iterator<Item = Range<usize>> {
    let is_answer = |message: &Message| message.role == Role::Assistant;
    let mut start = 0;
    messages.chunk_by(move |a, b| is_answer(a) && is_answer(b) && a.work_id == b.work_id).map(move |turn| {
        let range = start..start + turn.len();
        start = range.end;
        range
    })
}

/// Returns the turn with a message, by the id of the message. One without an id is named by `m` and its index.
pub fn turn_of(messages: &[Arc<Message>], id: &str) -> Option<Range<usize>> {
    let named = messages.iter().position(|message| message.id.as_deref() == Some(id));
    let numbered = || {
        let at = id.strip_prefix('m')?.parse::<usize>().ok()?;
        messages.get(at).filter(|message| message.id.is_none()).map(|_| at)
    };
    let at = named.or_else(numbered)?;
    turns(messages).find(|turn| turn.contains(&at))
}

impl Session {
    /// Returns the complete turn that begins at `place` with the message `first`. `None` if there is none, or if its work is
    /// under way.
    pub fn deletable(&self, (first, place): (&str, usize)) -> Option<Range<usize>> {
        let begins = |turn: &Range<usize>| turn.start == place && name_of(&self.messages[place]) == first;
        let turn = turns(&self.messages).find(begins)?;
        let messages = &self.messages[turn.clone()];
        let is_under_way = self.works.iter().any(|work| {
            work.finished_at.is_none() && messages.iter().any(|message| message.work_id.as_ref() == Some(&work.work_id))
        });
        let is_open = messages.iter().flat_map(|message| &message.tool_calls).any(ToolCall::is_open);
        (!is_under_way && !is_open).then_some(turn)
    }

    /// Removes a turn from the conversation. Does nothing if it is not [`Session::deletable`].
    pub(super) fn delete_turn(&mut self, named: (&str, usize), at: f64) {
        let Some(turn) = self.deletable(named) else { return };
        let messages: Vec<Arc<Message>> = self.messages.drain(turn.clone()).collect();
        self.pinned.retain(|pin| !messages.iter().any(|message| pin.is(message)));
        let after = turn.start.checked_sub(1).and_then(|before| self.messages[before].id.clone());
        self.point_past(&messages, (&after, self.messages.get(turn.start).map(|next| name_of(next))));
        self.deleted.push(DeletedTurn { deleted_at: at, after, messages });
    }

    /// Updates what names one of these messages, which are gone: branches that followed it follow `before`, and a compacted
    /// part that it followed is followed by `next`.
    fn point_past(&mut self, gone: &[Arc<Message>], (before, next): (&Option<String>, Option<String>)) {
        let is_gone = |id: &Option<String>| id.is_some() && gone.iter().any(|message| message.id == *id);
        for branch in self.branches.iter_mut().filter(|branch| is_gone(&branch.after)) {
            branch.after.clone_from(before);
        }
        for turn in self.deleted.iter_mut().filter(|turn| is_gone(&turn.after)) {
            turn.after.clone_from(before);
        }
        let first = gone.first().map(|message| name_of(message));
        for part in self.compacted.iter_mut().filter(|part| part.next.is_some() && part.next == first) {
            part.next.clone_from(&next);
        }
    }

    /// Returns the deleted messages, in the order in which they were deleted.
    pub fn deleted_messages(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.deleted.iter().flat_map(|turn| &turn.messages)
    }

    /// Returns the deleted messages of the works of this branch of the conversation. What they changed in files is still
    /// there, and can be undone.
    pub fn deleted_here(&self) -> impl Iterator<Item = &Arc<Message>> {
        let is_here = |work_id: &WorkId| self.works.iter().any(|work| work.work_id == *work_id);
        self.deleted_messages().filter(move |message| message.work_id.as_ref().is_some_and(is_here))
    }

    /// Returns whether a message of a work was deleted, with this role.
    pub fn has_deleted(&self, work_id: &WorkId, role: Role) -> bool {
        self.deleted_messages().any(|message| message.role == role && message.work_id.as_ref() == Some(work_id))
    }

    /// Returns all messages in the session's file: also those on other branches and the deleted ones.
    pub fn stored_messages(&self) -> impl Iterator<Item = &Arc<Message>> {
        let of_branches = self.branches.iter().flat_map(|branch| &branch.messages);
        self.messages.iter().chain(of_branches).chain(self.deleted_messages())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::{Branch, Event, Outcome, Work};

    fn message(role: Role, id: &str, work: &str) -> Arc<Message> {
        let (id, work_id) = (Some(id.to_owned()), Some(WorkId::new(work)));
        Arc::new(Message { id, work_id, ..Message::new(role, format!("text of {work}")) })
    }

    /// Returns a session with these works, each with a question and an answer of two segments, the first with a call.
    fn session(works: &[&str]) -> Session {
        let mut session = Session::new("t", 1.0);
        for id in works {
            let call = json!({"tool": "t", "id": format!("c-{id}"), "status": "done", "output": "o"});
            let mut first = Arc::unwrap_or_clone(message(Role::Assistant, &format!("{id}.0"), id));
            first.tool_calls.push(serde_json::from_value(call).unwrap());
            let question = message(Role::User, &format!("q-{id}"), id);
            session.messages.extend([question, Arc::new(first), message(Role::Assistant, &format!("{id}.1"), id)]);
            let work = json!({"work_id": id, "created_at": 1.0, "finished_at": 2.0, "outcome": Outcome::Done});
            session.works.push(Arc::new(serde_json::from_value::<Work>(work).unwrap()));
        }
        session
    }

    /// Deletes the turn that a message with this id begins.
    fn delete(session: &mut Session, first: &str) {
        let place = session.messages.iter().position(|message| message.id.as_deref() == Some(first));
        session.apply(&Event::Deleted { message_id: first.to_owned(), place: place.unwrap_or_default() }, 3.0);
    }

    fn ids(session: &Session) -> Vec<&str> {
        session.messages.iter().filter_map(|message| message.id.as_deref()).collect()
    }

    #[test]
    fn answer_is_deleted_whole_and_question_alone() {
        let mut session = session(&["a", "b"]);
        assert_eq!(turn_of(&session.messages, "b.1"), Some(4..6), "any segment names the answer");
        delete(&mut session, "b.0");
        delete(&mut session, "q-a");
        assert_eq!(ids(&session), ["a.0", "a.1", "q-b"]);
        let kept: Vec<_> = session.deleted_messages().filter_map(|message| message.id.as_deref()).collect();
        assert_eq!(kept, ["b.0", "b.1", "q-a"], "the record keeps them");
        assert_eq!((session.deleted[0].after.as_deref(), session.deleted[1].after.as_deref()), (Some("q-b"), None));
        let before = session.clone();
        delete(&mut session, "b.0");
        delete(&mut session, "nobody");
        delete(&mut session, "a.1");
        assert_eq!(session, before, "only the first message names a turn in a fact");
        let text = serde_json::to_string(&session).unwrap();
        assert_eq!(serde_json::from_str::<Session>(&text).unwrap(), session);
    }

    #[test]
    fn changes_of_a_deleted_answer_can_still_be_undone() {
        let mut session = session(&["a", "b"]);
        delete(&mut session, "a.0");
        assert_eq!(session.changing_calls_of(&WorkId::new("a")), ["c-a"]);
        let undone = Event::Undone { call_id: "c-a".to_owned(), path: "memory/x.md".to_owned(), undone: true };
        session.apply(&undone, 4.0);
        assert_eq!(session.changing_calls_of(&WorkId::new("a")), Vec::<String>::new());
    }

    #[test]
    fn work_under_way_keeps_its_messages() {
        let mut session = session(&["a"]);
        Arc::make_mut(&mut session.works[0]).finished_at = None;
        let before = session.clone();
        delete(&mut session, "a.0");
        assert_eq!(session, before);
    }

    #[test]
    fn pins_and_references_to_a_deleted_message_are_updated() {
        let mut session = session(&["a", "b", "c"]);
        let gone = session.messages[..3].to_vec();
        let (summary, archive) = ("of a".to_owned(), "x.json".to_owned());
        session.apply(&Event::Compressed { count: 3, summary, archive, sha256: None, automatic: false }, 2.0);
        session.apply(&Event::Pinned { message_id: "b".to_owned(), pinned: true }, 2.0);
        session.branches.push(Branch { after: Some("b.1".to_owned()), messages: Vec::new(), works: Vec::new() });
        delete(&mut session, "b.0");
        assert_eq!(session.pinned, []);
        assert_eq!(session.branches[0].after.as_deref(), Some("q-b"));
        delete(&mut session, "q-b");
        assert_eq!((&session.branches[0].after, &session.deleted[0].after), (&None, &None));
        assert!(session.restorable("x.json", 3).is_ok(), "what followed it is deleted");
        session.apply(&Event::Restored { archive: "x.json".to_owned(), messages: gone, foreign: false }, 4.0);
        assert_eq!(ids(&session), ["q-a", "a.0", "a.1", "q-c", "c.0", "c.1"]);
    }

    #[test]
    fn answer_without_its_question_cannot_be_regenerated() {
        let mut session = session(&["a", "b"]);
        assert_eq!(session.question_of("b.1").unwrap().id.as_deref(), Some("q-b"));
        delete(&mut session, "q-b");
        assert!(session.question_of("b.1").is_none(), "the question of another answer is not its own");
        assert!(session.question_of("a.1").is_some());
    }

    #[test]
    fn messages_of_an_old_file_are_named_by_their_place() {
        let mut session = Session::new("t", 1.0);
        session.messages = [Role::User, Role::Assistant, Role::Assistant, Role::User]
            .map(|role| Arc::new(Message::new(role, "text")))
            .into();
        let turn = |id| turn_of(&session.messages, id);
        assert_eq!((turn("m2"), turn("m3"), turn("m4"), turn("m")), (Some(1..3), Some(3..4), None, None));
        let message_id = name_of(&session.messages[3]);
        assert_eq!(message_id, name_of(&session.messages[0]), "the same words are the same name");
        session.apply(&Event::Deleted { message_id, place: 3 }, 3.0);
        let roles: Vec<_> = session.messages.iter().map(|message| message.role).collect();
        assert_eq!(roles, [Role::User, Role::Assistant, Role::Assistant]);
    }

    #[test]
    fn session_file_skips_unknown_entries() {
        let mut session = session(&["a"]);
        delete(&mut session, "a.0");
        let mut file = serde_json::to_value(&session).unwrap();
        file["deleted"].as_array_mut().unwrap().push(json!(7));
        assert_eq!(serde_json::from_value::<Session>(file).unwrap(), session);
        let text = serde_json::to_string(&Session::new("t", 1.0)).unwrap();
        assert!(!text.contains("deleted"), "a session without any is written as before");
    }
}
