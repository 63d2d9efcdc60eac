//! Withdrawn works: a person took back what they did. Their messages stay in the record, but no request contains them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ids::WorkId;
use super::message::{Message, ToolCall};
use super::session::Session;
use super::work::Work;

/// What is recorded of a withdrawn work, and what is needed to reapply it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WithdrawnWork {
    pub work_id: WorkId,
    /// Unix seconds.
    #[serde(default)]
    pub withdrawn_at: f64,
    /// Ids of the calls whose changes of files were taken back, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
    /// Paths of these changes that were not taken back, because a person kept the files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<String>,
}

/// Reads the entries of a session's file that this version understands.
pub(super) fn lenient<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<WithdrawnWork>, D::Error> {
    let entries = match Value::deserialize(from)? {
        Value::Array(entries) => entries,
        _ => Vec::new(),
    };
    Ok(entries.into_iter().filter_map(|entry| serde_json::from_value(entry).ok()).collect())
}

impl Session {
    /// Returns what was recorded when a work was withdrawn; `None` if it is in effect.
    pub fn withdrawal(&self, work_id: &WorkId) -> Option<&WithdrawnWork> {
        self.withdrawn.iter().find(|withdrawn| withdrawn.work_id == *work_id)
    }

    pub fn is_withdrawn(&self, work_id: &WorkId) -> bool {
        self.withdrawal(work_id).is_some()
    }

    /// Returns whether a message belongs to no withdrawn work.
    pub fn is_in_effect(&self, message: &Message) -> bool {
        self.withdrawn.is_empty() || message.work_id.as_ref().is_none_or(|work_id| !self.is_withdrawn(work_id))
    }

    /// Returns those of `messages` that are in effect, which a model may read.
    pub fn in_effect(&self, messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
        messages.iter().filter(|message| self.is_in_effect(message)).cloned().collect()
    }

    /// Returns the ids of a work's calls that have run to their end and are not undone, oldest first; none if the work is withdrawn. A failed call may have changed
    /// files too.
    pub fn standing_calls_of(&self, work_id: &WorkId) -> Vec<String> {
        let is_withdrawn = self.is_withdrawn(work_id);
        let stands = |call: &&ToolCall| call.has_ended() && !call.undone && !is_withdrawn;
        self.calls_of(work_id).filter(stands).filter_map(|call| call.id.clone()).collect()
    }

    /// Returns the ids of a work's calls that can have changed files and are not undone, oldest first; none if the work is
    /// withdrawn. Of a stopped call it is not known.
    pub fn changing_calls_of(&self, work_id: &WorkId) -> Vec<String> {
        let is_withdrawn = self.is_withdrawn(work_id);
        let may_have = |call: &&ToolCall| (call.has_ended() || call.was_stopped()) && !call.undone && !is_withdrawn;
        self.calls_of(work_id).filter(may_have).filter_map(|call| call.id.clone()).collect()
    }

    /// Returns the ids of a work's calls that a person or the server stopped, oldest first.
    pub fn stopped_calls_of(&self, work_id: &WorkId) -> Vec<String> {
        self.calls_of(work_id).filter(|call| call.was_stopped()).filter_map(|call| call.id.clone()).collect()
    }

    /// Returns the works that were not withdrawn and began after this one, oldest first.
    pub fn works_after<'s, 'w>(&'s self, work_id: &'w WorkId) -> impl Iterator<Item = &'s Work> + use<'s, 'w> {
        let later = self.works.iter().skip_while(move |work| work.work_id != *work_id).skip(1);
        later.map(Arc::as_ref).filter(|work| !self.is_withdrawn(&work.work_id))
    }

    /// Returns the withdrawn works that began before this one, oldest first.
    pub fn withdrawn_before<'s, 'w>(
        &'s self,
        work_id: &'w WorkId,
    ) -> impl Iterator<Item = &'s WithdrawnWork> + use<'s, 'w> {
        let earlier = self.works.iter().take_while(move |work| work.work_id != *work_id);
        earlier.filter_map(|work| self.withdrawal(&work.work_id))
    }

    /// Returns the ids of a withdrawn work's calls whose changes were taken back, oldest first.
    pub fn withdrawn_calls_of(&self, withdrawn: &WithdrawnWork) -> Vec<String> {
        let is_one = |call: &&ToolCall| call.id.as_ref().is_some_and(|id| withdrawn.calls.contains(id));
        self.calls_of(&withdrawn.work_id).filter(is_one).filter_map(|call| call.id.clone()).collect()
    }

    /// Marks a work as withdrawn. Does nothing if there is no such work, or if it is withdrawn already.
    pub(super) fn withdraw(&mut self, work_id: &WorkId, (calls, kept): (&[String], &[String]), at: f64) {
        if self.is_withdrawn(work_id) || !self.works.iter().any(|work| work.work_id == *work_id) {
            return;
        }
        let (calls, kept) = (calls.to_vec(), kept.to_vec());
        self.withdrawn.push(WithdrawnWork { work_id: work_id.clone(), withdrawn_at: at, calls, kept });
    }

    pub(super) fn reapply(&mut self, work_id: &WorkId) {
        self.withdrawn.retain(|withdrawn| withdrawn.work_id != *work_id);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::CallStatus;
    use crate::domain::Event;

    fn work(id: &str) -> WorkId {
        WorkId::new(id.to_owned())
    }

    /// Returns a session with these works, each with a question and one call that is done.
    fn session(works: &[&str]) -> Session {
        let mut session = Session::new("t", 1.0);
        for id in works {
            let (work_id, call_id, tool) = (work(id), format!("c-{id}"), "create_file".to_owned());
            let (content, model) = (format!("question of {id}"), String::new());
            let message_id = format!("m-{id}");
            for event in [
                Event::WorkStarted {
                    work_id: work_id.clone(),
                    message_id,
                    content,
                    attachments: Vec::new(),
                    model,
                    without_tools: false,
                    client: None,
                },
                Event::SegmentStarted { work_id: work_id.clone(), dialogue: 0, segment: 0 },
                Event::ToolStarted {
                    work_id: work_id.clone(),
                    dialogue: 0,
                    index: 0,
                    call_id: call_id.clone(),
                    tool: tool.clone(),
                    arguments: json!({}),
                    handed_off: None,
                },
                Event::ToolFinished {
                    work_id: work_id.clone(),
                    call_id,
                    tool,
                    status: CallStatus::Done,
                    output: "created".to_owned(),
                    result: json!({}),
                    duration_ms: 1,
                    taint: Vec::new(),
                },
                Event::WorkFinished { work_id, outcome: crate::domain::Outcome::Done, content: "".into() },
            ] {
                session.apply(&event, 1.0);
            }
        }
        session
    }

    fn withdrawn(id: &str, calls: &[&str]) -> Event {
        let calls = calls.iter().map(|call| (*call).to_owned()).collect();
        Event::Withdrawn { work_id: work(id), withdrawn: true, calls, kept: vec!["memory/a.md".to_owned()] }
    }

    fn reapplied(id: &str) -> Event {
        Event::Withdrawn { work_id: work(id), withdrawn: false, calls: Vec::new(), kept: Vec::new() }
    }

    #[test]
    fn withdrawn_work_is_out_of_effect_until_reapplied() {
        let mut session = session(&["a", "b", "c"]);
        let before = session.clone();
        session.apply(&withdrawn("b", &["c-b"]), 2.0);
        let in_effect = |session: &Session| session.in_effect(&session.messages).len();
        assert_eq!((session.messages.len(), in_effect(&session)), (6, 4), "the record keeps the messages");
        assert_eq!((session.standing_calls_of(&work("b")), session.changing_calls_of(&work("b"))), (vec![], vec![]));
        let found = session.withdrawal(&work("b")).unwrap();
        assert_eq!((found.withdrawn_at, session.withdrawn_calls_of(found)), (2.0, vec!["c-b".to_owned()]));
        session.apply(&withdrawn("b", &[]), 3.0);
        assert_eq!(session.withdrawal(&work("b")).unwrap().withdrawn_at, 2.0, "it is withdrawn once");
        session.apply(&reapplied("b"), 4.0);
        assert_eq!(session, before);
    }

    #[test]
    fn unknown_works_and_foreign_calls_change_nothing() {
        let mut session = session(&["a", "b"]);
        let before = session.clone();
        session.apply(&withdrawn("nobody", &["c-a"]), 2.0);
        session.apply(&reapplied("a"), 2.0);
        assert_eq!(session, before);
        session.apply(&withdrawn("b", &["c-a", "c-b"]), 2.0);
        let found = session.withdrawal(&work("b")).unwrap();
        assert_eq!(session.withdrawn_calls_of(found), ["c-b"], "a call of another work is not reapplied with it");
    }

    #[test]
    fn neighbours_are_found_on_the_side_that_matters() {
        let mut session = session(&["a", "b", "c", "d"]);
        session.apply(&withdrawn("a", &[]), 2.0);
        session.apply(&withdrawn("d", &[]), 2.0);
        let later: Vec<_> = session.works_after(&work("b")).map(|work| work.work_id.to_string()).collect();
        assert_eq!(later, ["c"], "withdrawn works are not in the way");
        let of_d = work("d");
        let earlier: Vec<_> = session.withdrawn_before(&of_d).map(|it| it.work_id.to_string()).collect();
        assert_eq!(earlier, ["a"]);
    }

    #[test]
    fn withdrawn_pin_is_not_sent_even_if_compacted() {
        let mut session = session(&["a", "b"]);
        session.apply(&Event::Pinned { message_id: "m-a".to_owned(), pinned: true }, 2.0);
        let here = |session: &Session| session.pinned_here().count();
        session.apply(&withdrawn("a", &[]), 2.0);
        assert_eq!(here(&session), 0);
        let gone = session.messages[..2].to_vec();
        let (summary, archive) = ("of b".to_owned(), "x".to_owned());
        session.apply(&Event::Compressed { count: 2, summary, archive, sha256: None, automatic: false }, 3.0);
        assert_eq!(here(&session), 0, "a summary does not bring it back");
        session.apply(&Event::Restored { archive: "x".to_owned(), messages: gone, foreign: false }, 4.0);
        assert_eq!(here(&session), 0);
        session.apply(&reapplied("a"), 5.0);
        assert_eq!(here(&session), 1);
    }

    #[test]
    fn summary_made_before_a_withdrawal_does_not_fit_after_it() {
        let mut session = session(&["a", "b"]);
        let before = session.fingerprint();
        session.apply(&withdrawn("a", &[]), 2.0);
        assert_ne!(session.fingerprint(), before);
        session.apply(&reapplied("a"), 3.0);
        assert_eq!(session.fingerprint(), before);
    }

    #[test]
    fn session_file_keeps_withdrawn_works_and_skips_unknown_ones() {
        let mut session = session(&["a"]);
        session.apply(&withdrawn("a", &["c-a"]), 2.0);
        let mut file = serde_json::to_value(&session).unwrap();
        assert_eq!(serde_json::from_value::<Session>(file.clone()).unwrap(), session);
        let list = file["withdrawn"].as_array_mut().unwrap();
        list.insert(0, json!({"by": "somebody"}));
        list.push(json!(7));
        assert_eq!(serde_json::from_value::<Session>(file.clone()).unwrap(), session);
        file["withdrawn"] = json!("all");
        assert_eq!(serde_json::from_value::<Session>(file).unwrap().withdrawn, []);
        let text = serde_json::to_string(&Session::new("t", 1.0)).unwrap();
        assert!(!text.contains("withdrawn"), "a session without any is written as before");
    }
}
