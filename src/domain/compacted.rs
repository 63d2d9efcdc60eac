//! Compacted parts of a conversation: what is recorded of each, and when it can be restored.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::message::Message;
use super::session::Session;

/// Separator between the summaries of several parts (the mini-OpenClaw document).
const BETWEEN: &str = "\n---\n";

/// Messages that a summary replaced, and what is needed to restore them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompactedPart {
    /// Name of the file in `sessions/archive/`.
    pub archive: String,
    pub count: usize,
    /// SHA-256 of the file as written, in hexadecimal; absent if this home did not write the file, or an older version
    /// did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    pub summary: String,
    /// Id of the message that followed; absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Ids of the branches that were other beginnings of the conversation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beginnings: Vec<String>,
    /// When its messages were restored, in Unix seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored_at: Option<f64>,
}

/// Why compacted messages cannot be restored, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestoreRefused {
    #[error("the position of these messages wasn't recorded (they were compacted by an older version, or elsewhere)")]
    NotRecorded,
    #[error("these messages are already restored")]
    AlreadyBack,
    #[error("later messages were compacted after them ({0}): restore those first")]
    LaterPart(String),
    #[error(
        "the conversation continues differently after these messages; if it has another version, switch back to the \
         original one first"
    )]
    OtherWay,
    #[error("the summary of these messages was changed in the session's file")]
    SummaryChanged,
    #[error("the archive has {found} messages instead of {count}")]
    FileChanged { found: usize, count: usize },
}

impl Session {
    /// Returns a hash of the conversation's messages and summaries, which identifies its state: also of which works are
    /// withdrawn, because a summary must not contain them.
    pub fn fingerprint(&self) -> String {
        let withdrawn: Vec<_> = self.withdrawn.iter().map(|withdrawn| &withdrawn.work_id).collect();
        let state = serde_json::to_vec(&(&self.compressed_context, &self.messages, withdrawn))
            .expect("messages have string keys and finite numbers, so they are JSON");
        base16ct::lower::encode_string(&Sha256::digest(state))
    }

    /// Replaces the first `count` messages with `summary`.
    pub(super) fn compact(&mut self, count: usize, summary: &str, (archive, sha256): (&str, &Option<String>)) {
        let gone: Vec<_> = self.messages.drain(..count.min(self.messages.len())).collect();
        self.note_pinned(&gone, true);
        let beginnings = self.branches.iter().filter(|branch| branch.after.is_none());
        self.compacted.push(CompactedPart {
            archive: archive.to_owned(),
            count: gone.len(),
            sha256: sha256.clone(),
            summary: summary.to_owned(),
            next: self.messages.first().map(|message| name_of(message)),
            beginnings: beginnings.filter_map(|branch| branch.id().map(str::to_owned)).collect(),
            restored_at: None,
        });
        self.compressed_context = Some(match self.compressed_context.take() {
            Some(before) if !before.trim().is_empty() => format!("{before}{BETWEEN}{summary}"),
            _ => summary.to_owned(),
        });
    }

    /// Checks whether `found` compacted messages can be restored, and returns the reason if not.
    pub fn restorable(&self, archive: &str, found: usize) -> Result<(), RestoreRefused> {
        let is_it = |part: &&CompactedPart| part.archive == archive;
        let part = self.compacted.iter().rev().find(is_it).ok_or(RestoreRefused::NotRecorded)?;
        if part.restored_at.is_some() {
            return Err(RestoreRefused::AlreadyBack);
        }
        if let Some(last) = self.last_compacted().filter(|last| last.archive != archive) {
            return Err(RestoreRefused::LaterPart(last.archive.clone()));
        }
        if found != part.count {
            return Err(RestoreRefused::FileChanged { found, count: part.count });
        }
        let first = self.messages.first().map(|message| name_of(message));
        let began_otherwise = first.as_ref().is_some_and(|first| part.beginnings.contains(first));
        let goes_on_otherwise = first.is_some() && part.next.is_some() && part.next != first;
        if began_otherwise || goes_on_otherwise {
            return Err(RestoreRefused::OtherWay);
        }
        self.context_before(&part.summary).map(|_| ()).ok_or(RestoreRefused::SummaryChanged)
    }

    /// Restores compacted messages to where they stood. Does nothing if [`Session::restorable`] refuses.
    pub(super) fn restore_compacted(&mut self, archive: &str, messages: &[Arc<Message>], at: f64) {
        if self.restorable(archive, messages.len()).is_err() {
            return;
        }
        let Some(part) = self.compacted.iter_mut().rev().find(|part| part.archive == archive) else { return };
        part.restored_at = Some(at);
        let (beginnings, summary) = (part.beginnings.clone(), part.summary.clone());
        self.compressed_context = self.context_before(&summary).flatten();
        let last = messages.last().and_then(|message| message.id.clone());
        for branch in self.branches.iter_mut().filter(|branch| branch.after.is_none()) {
            // A branch that was put aside after the compression begins where these messages end.
            if !branch.id().is_some_and(|id| beginnings.iter().any(|known| known == id)) {
                branch.after.clone_from(&last);
            }
        }
        self.note_pinned(messages, false);
        self.messages.splice(0..0, messages.iter().cloned());
    }

    /// Returns the part that was compacted last and is not restored.
    pub fn last_compacted(&self) -> Option<&CompactedPart> {
        self.compacted.iter().rev().find(|part| part.restored_at.is_none())
    }

    /// Returns the summaries without the last one; `None` if the last one is not `summary`.
    fn context_before(&self, summary: &str) -> Option<Option<String>> {
        let before = self.compressed_context.as_deref()?.strip_suffix(summary)?;
        if before.is_empty() {
            return Some(None);
        }
        before.strip_suffix(BETWEEN).map(|before| Some(before.to_owned()))
    }
}

/// Returns a message's id, or a hash in its place for files without ids.
pub fn name_of(message: &Message) -> String {
    message.id.clone().unwrap_or_else(|| {
        let said = serde_json::to_vec(&(message.role, &message.content)).expect("texts are JSON");
        format!("sha256:{}", &base16ct::lower::encode_string(&Sha256::digest(said))[..16])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Event, Role};
    use proptest::prelude::*;

    fn said(id: &str) -> Arc<Message> {
        let mut message = Message::new(Role::User, id);
        message.id = Some(id.to_owned());
        Arc::new(message)
    }

    fn talk(ids: &[&str]) -> Session {
        let mut session = Session::new("t", 1.0);
        session.messages = ids.iter().map(|id| said(id)).collect();
        session
    }

    fn compress(session: &mut Session, count: usize, name: &str) -> Vec<Arc<Message>> {
        let gone = session.messages[..count].to_vec();
        let (summary, archive) = (format!("of {name}"), name.to_owned());
        session.apply(&Event::Compressed { count, summary, archive, sha256: None, automatic: false }, 2.0);
        gone
    }

    fn restore(session: &mut Session, name: &str, messages: &[Arc<Message>]) {
        session.apply(&Event::Restored { archive: name.to_owned(), messages: messages.to_vec(), foreign: false }, 3.0);
    }

    fn ids(session: &Session) -> Vec<&str> {
        session.messages.iter().filter_map(|message| message.id.as_deref()).collect()
    }

    #[test]
    fn last_part_is_restored_first_and_each_once() {
        let mut session = talk(&["a", "b", "c", "d"]);
        let one = compress(&mut session, 2, "one");
        let two = compress(&mut session, 1, "two");
        assert_eq!(session.compressed_context.as_deref(), Some("of one\n---\nof two"));
        assert_eq!(session.restorable("one", 2), Err(RestoreRefused::LaterPart("two".to_owned())));
        assert_eq!(session.restorable("two", 3), Err(RestoreRefused::FileChanged { found: 3, count: 1 }));
        assert_eq!(session.restorable("none", 1), Err(RestoreRefused::NotRecorded));
        restore(&mut session, "one", &one);
        assert_eq!(ids(&session), ["d"], "nothing changes where it cannot be");
        restore(&mut session, "two", &two);
        restore(&mut session, "two", &two);
        assert_eq!((ids(&session), session.compressed_context.as_deref()), (vec!["c", "d"], Some("of one")));
        assert_eq!(session.restorable("two", 1), Err(RestoreRefused::AlreadyBack));
        restore(&mut session, "one", &one);
        assert_eq!((ids(&session), session.compressed_context.as_deref()), (vec!["a", "b", "c", "d"], None));
    }

    #[test]
    fn messages_are_restored_before_their_successors() {
        let mut session = talk(&["a", "b", "c", "d"]);
        let gone = compress(&mut session, 2, "x");
        session.messages.push(said("later"));
        session.apply(&Event::Branched { from: "c".to_owned(), to: None }, 2.5);
        session.messages.push(said("other"));
        assert_eq!(session.restorable("x", 2), Err(RestoreRefused::OtherWay));
        session.apply(&Event::Branched { from: "other".to_owned(), to: Some("c".to_owned()) }, 2.6);
        restore(&mut session, "x", &gone);
        assert_eq!(ids(&session), ["a", "b", "c", "d", "later"]);
        // The other branch begins where `c` did, and is attached there.
        assert_eq!(session.branches[0].after.as_deref(), Some("b"));
        session.apply(&Event::Branched { from: "c".to_owned(), to: Some("other".to_owned()) }, 4.0);
        assert_eq!(ids(&session), ["a", "b", "other"]);
    }

    #[test]
    fn first_branch_excludes_later_messages() {
        let mut session = talk(&["a", "b"]);
        session.apply(&Event::Branched { from: "a".to_owned(), to: None }, 1.0);
        session.messages = vec![said("p"), said("q")];
        let gone = compress(&mut session, 2, "x");
        session.messages.push(said("r"));
        session.apply(&Event::Branched { from: "r".to_owned(), to: Some("a".to_owned()) }, 2.0);
        assert_eq!(session.restorable("x", 2), Err(RestoreRefused::OtherWay));
        session.apply(&Event::Branched { from: "a".to_owned(), to: Some("r".to_owned()) }, 3.0);
        restore(&mut session, "x", &gone);
        assert_eq!(ids(&session), ["p", "q", "r"]);
        assert_eq!(session.branches[0].after, None, "`a` still begins the conversation");
    }

    #[test]
    fn summary_edited_in_file_is_kept() {
        let mut session = talk(&["a", "b"]);
        compress(&mut session, 1, "x");
        session.compressed_context = Some("mine".to_owned());
        assert_eq!(session.restorable("x", 1), Err(RestoreRefused::SummaryChanged));
    }

    #[test]
    fn messages_without_ids_are_matched_by_content() {
        let mut session = Session::new("t", 1.0);
        session.messages = ["a", "b", "c"].map(|text| Arc::new(Message::new(Role::User, text))).to_vec();
        let gone = compress(&mut session, 2, "x");
        session.messages[0] = Arc::new(Message::new(Role::User, "edited"));
        assert_eq!(session.restorable("x", 2), Err(RestoreRefused::OtherWay));
        session.messages[0] = Arc::new(Message::new(Role::User, "c"));
        restore(&mut session, "x", &gone);
        assert_eq!(session.messages.len(), 3);
    }

    proptest! {
        #[test]
        fn restored_messages_equal_compressed_ones(
            sizes in proptest::collection::vec(1..4usize, 1..5), summary in "[a-z][a-z\\-\n ]{0,12}", before in proptest::option::of("[a-z\n\\-]{1,9}")
        ) {
            let names: Vec<String> = (0..12).map(|n| format!("m{n}")).collect();
            let mut session = talk(&names.iter().map(String::as_str).collect::<Vec<_>>());
            session.compressed_context = before.filter(|text| !text.trim().is_empty());
            let original = (session.messages.clone(), session.compressed_context.clone());
            let mut parts = Vec::new();
            for (n, count) in sizes.iter().enumerate() {
                let count = (*count).min(session.messages.len());
                let gone = session.messages[..count].to_vec();
                let archive = format!("p{n}");
                session.apply(&Event::Compressed { count, summary: summary.clone(), archive: archive.clone(), sha256: None, automatic: false }, 2.0);
                parts.push((archive, gone));
            }
            for (archive, gone) in parts.iter().rev() {
                restore(&mut session, archive, gone);
            }
            prop_assert_eq!((session.messages, session.compressed_context), original);
        }
    }
}
