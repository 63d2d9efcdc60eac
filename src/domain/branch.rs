//! Branches: messages that an edit or a retry replaced.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::message::{Message, Role};
use super::session::Session;
use super::work::Work;

/// Messages that were put aside, from one of a person's messages to the end, with their works.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Branch {
    /// Id of the message that they followed; absent if they came first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    pub messages: Vec<Arc<Message>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub works: Vec<Arc<Work>>,
}

impl Branch {
    /// Returns the id of the first message, which identifies the branch.
    pub fn id(&self) -> Option<&str> {
        self.messages.first()?.id.as_deref()
    }
}

impl Session {
    /// Puts aside everything from the message `from` on, and restores the branch `to` in its place if that branch
    /// follows the same message. Does nothing if there is no message `from`.
    pub(super) fn put_aside(&mut self, from: &str, to: Option<&str>) {
        let Some(at) = self.place_of(from) else { return };
        let messages = self.messages.split_off(at);
        let after = self.messages.last().and_then(|message| message.id.clone());
        let (works, kept) = std::mem::take(&mut self.works)
            .into_iter()
            .partition(|work| messages.iter().any(|message| message.work_id.as_ref() == Some(&work.work_id)));
        self.works = kept;
        let is_wanted = |branch: &Branch| to.is_some() && branch.id() == to && branch.after == after;
        if let Some(back) = self.branches.iter().position(is_wanted) {
            let back = self.branches.remove(back);
            self.messages.extend(back.messages);
            self.works.extend(back.works);
        }
        self.branches.push(Branch { after, messages, works });
    }

    /// Returns the index of the person's message with this id.
    pub fn place_of(&self, id: &str) -> Option<usize> {
        self.messages.iter().position(|message| message.role == Role::User && message.id.as_deref() == Some(id))
    }

    /// Returns the person's message that began the branch with this message, if the conversation ends where the branch did
    /// begin: nothing has taken its place.
    pub fn last_aside(&self, id: &str) -> Option<&Arc<Message>> {
        let end = self.messages.last().and_then(|message| message.id.as_deref());
        let is_last = |branch: &&Branch| branch.after.as_deref() == end;
        let branch = self.branches.iter().rev().filter(is_last).find(|branch| {
            let first = branch.messages.iter().skip(1).position(|message| message.role == Role::User);
            let answer = first.map_or(branch.messages.len(), |next| next + 1);
            branch.messages[..answer].iter().any(|message| message.id.as_deref() == Some(id))
        })?;
        branch.messages.first().filter(|message| message.role == Role::User)
    }

    /// Returns the person's message that a message answers, or that message itself; `None` if it was deleted.
    pub fn question_of(&self, id: &str) -> Option<&Arc<Message>> {
        let at = self.messages.iter().position(|message| message.id.as_deref() == Some(id))?;
        let work_id = self.messages[at].work_id.as_ref();
        if work_id.is_some_and(|work_id| self.has_deleted(work_id, Role::User)) {
            return None;
        }
        self.messages[..=at].iter().rev().find(|message| message.role == Role::User)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Event;

    fn said(id: &str) -> Arc<Message> {
        let mut message = Message::new(Role::User, id);
        message.id = Some(id.to_owned());
        Arc::new(message)
    }

    fn ids(messages: &[Arc<Message>]) -> Vec<&str> {
        messages.iter().filter_map(|message| message.id.as_deref()).collect()
    }

    fn branched(session: &mut Session, from: &str, to: Option<&str>) {
        session.apply(&Event::Branched { from: from.to_owned(), to: to.map(str::to_owned) }, 2.0);
    }

    #[test]
    fn branch_is_restored_whole_in_place() {
        let mut session = Session::new("t", 1.0);
        session.messages = ["a", "b", "c", "d"].map(said).to_vec();
        branched(&mut session, "c", None);
        session.messages.push(said("e"));
        assert_eq!((ids(&session.messages), ids(&session.branches[0].messages)), (vec!["a", "b", "e"], vec!["c", "d"]));
        branched(&mut session, "e", Some("c"));
        assert_eq!(ids(&session.messages), ["a", "b", "c", "d"]);
        assert_eq!(session.branches.iter().map(|branch| branch.id().unwrap()).collect::<Vec<_>>(), ["e"]);
        branched(&mut session, "a", Some("e"));
        assert_eq!(ids(&session.messages), Vec::<&str>::new(), "`e` follows `b`, which is not there");
        branched(&mut session, "nowhere", None);
        assert_eq!(session.branches.len(), 2);
    }
}
