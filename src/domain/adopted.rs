//! Adopts a session that this home did not write: its messages are kept as content that strangers may have written, and
//! nothing in it is acted on.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::chosen::Chosen;
use super::compacted::name_of;
use super::ids::WorkId;
use super::message::{CallStatus, Message, Role};
use super::repair::{ending_of_open, unrun_result};
use super::session::Session;
use super::taint::Taint;
use super::work::{Outcome, StoppedBy, Work};

/// Maximum length of an id that is kept, in bytes.
const LONGEST_ID: usize = 256;
/// Maximum length of an archive's name, in bytes: the limit for a file name.
const LONGEST_NAME: usize = 255;
/// The last second of the year 9999; later times are clamped to it.
const LATEST: f64 = 253_402_300_799.0;
/// The only choice that is kept.
const EXCLUDED: &str = "not_for_recall";
const DETAIL: &str = "this session was taken over from a file before the answer was complete";

/// The values of `stop_reason` that are kept; any other value is removed.
const WORDS: [&str; 6] = ["done", "length", "refusal", "interrupted", "limit", "error"];

impl Session {
    /// Returns the session in a form that is safe in a home that did not write its file. All messages stay. Every work
    /// has ended, every call has exactly one result, nothing waits for a person and nothing is left to run. No answer,
    /// reason or choice is taken from the file, except that it is excluded from recall. Fact numbers restart at 0, and an id that is missing, invalid or not
    /// unique is replaced with one that begins with `fresh`.
    pub fn adopted(mut self, fresh: &str) -> Self {
        let mut names = UniqueIds { fresh, made: 0 };
        let mut works = HashSet::new();
        for work in self.works.iter_mut().chain(self.branches.iter_mut().flat_map(|branch| &mut branch.works)) {
            let work = Arc::make_mut(work);
            if !(is_id(work.work_id.as_str()) && works.insert(work.work_id.clone())) {
                work.work_id = WorkId::new(names.next());
            }
            work.requested.clear();
            work.requests.clear();
            work.project_id = None;
            work.client = None;
            work.foreign = true;
            work.created_at = time(work.created_at);
            work.finished_at = work.finished_at.map(time);
        }
        self.name_messages(&mut names);
        let mut calls = HashSet::new();
        adopt_calls(&mut self.messages, &mut calls, &mut names);
        for branch in &mut self.branches {
            // A branch has its own call ids: calls of other branches are not in the same conversation.
            adopt_calls(&mut branch.messages, &mut HashSet::new(), &mut names);
            branch.works.iter_mut().for_each(|work| end(work, &mut branch.messages));
        }
        for turn in &mut self.deleted {
            adopt_calls(&mut turn.messages, &mut calls, &mut names);
            turn.deleted_at = time(turn.deleted_at);
        }
        let mut messages = std::mem::take(&mut self.messages);
        self.works.iter_mut().for_each(|work| end(work, &mut messages));
        self.messages = messages;
        for part in &mut self.compacted {
            if !is_file_name(&part.archive) {
                part.archive = names.next();
            }
            // The hash in the file proves nothing about the archive.
            part.sha256 = None;
        }
        (self.created_at, self.updated_at) = (time(self.created_at), time(self.updated_at));
        // Whoever wrote it, an exclusion only withholds.
        self.chosen = Chosen { not_for_recall: self.chosen.not_for_recall, ..Chosen::default() };
        self.project_id = None;
        self.queue.clear();
        self.pinned.clear();
        // Which works are withdrawn is content; the files of a work are written only from records that this home signed.
        self.withdrawn.retain(|withdrawn| works.contains(&withdrawn.work_id));
        self.withdrawn.iter_mut().for_each(|withdrawn| withdrawn.withdrawn_at = time(withdrawn.withdrawn_at));
        self.taint = vec![Taint::Imported];
        self.seq = 0;
        for of_file in ["chain", "mac"] {
            self.extra.shift_remove(of_file);
        }
        self
    }

    /// Gives every message a unique id, and updates the references to messages that were renamed.
    fn name_messages(&mut self, names: &mut UniqueIds<'_>) {
        let mut taken = HashSet::new();
        let mut renamed = HashMap::new();
        let of_branches = self.branches.iter_mut().flat_map(|branch| &mut branch.messages);
        let deleted = self.deleted.iter_mut().flat_map(|turn| &mut turn.messages);
        for message in self.messages.iter_mut().chain(of_branches).chain(deleted) {
            if message.id.as_ref().is_some_and(|id| is_id(id) && taken.insert(id.clone())) {
                continue;
            }
            let (before, now) = (name_of(message), names.next());
            Arc::make_mut(message).id = Some(now.clone());
            renamed.entry(before).or_insert(now);
        }
        // If several messages had the same name, a reference means the first one.
        renamed.retain(|before, _| !taken.contains(before));
        let rename = |name: &mut String| {
            if let Some(now) = renamed.get(name) {
                name.clone_from(now);
            }
        };
        let of_branches = self.branches.iter_mut().filter_map(|branch| branch.after.as_mut());
        of_branches.chain(self.deleted.iter_mut().filter_map(|turn| turn.after.as_mut())).for_each(rename);
        for part in &mut self.compacted {
            part.next.iter_mut().chain(&mut part.beginnings).for_each(rename);
        }
    }
}

/// Removes from a session's JSON the fields that [`Session::adopted`] does not trust, and words that only another
/// version knows: one unknown word must not keep the rest from being read.
pub fn without_claims(session: &mut Map<String, Value>) {
    let is_excluded = session.get("chosen").is_some_and(|chosen| chosen[EXCLUDED] == true);
    for claim in ["taint", "chosen", "project_id", "queue", "pinned"] {
        session.shift_remove(claim);
    }
    if is_excluded {
        session.insert("chosen".to_owned(), json!({EXCLUDED: true}));
    }
    for parts in ["branches", "deleted"] {
        objects(session, parts).for_each(without_claims_of_parts);
    }
    without_claims_of_parts(session);
}

fn without_claims_of_parts(part: &mut Map<String, Value>) {
    for work in objects(part, "works") {
        work.shift_remove("requested");
        work.shift_remove("requests");
        drop_unknown::<Outcome>(work, "outcome");
    }
    for message in objects(part, "messages") {
        drop_unknown::<StoppedBy>(message, "stopped_by");
        for call in objects(message, "tool_calls") {
            call.shift_remove("approval");
            drop_unknown::<CallStatus>(call, "status");
        }
    }
}

fn objects<'v>(of: &'v mut Map<String, Value>, name: &str) -> impl Iterator<Item = &'v mut Map<String, Value>> {
    of.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

fn drop_unknown<T: DeserializeOwned>(of: &mut Map<String, Value>, name: &str) {
    if of.get(name).is_some_and(|value| T::deserialize(value).is_err()) {
        of.shift_remove(name);
    }
}

/// Makes the messages of an archive that this home did not write safe to return to a conversation.
pub fn adopted_messages(messages: &mut [Arc<Message>], fresh: &str) {
    let mut names = UniqueIds { fresh, made: 0 };
    adopt_calls(messages, &mut HashSet::new(), &mut names);
}

fn adopt_calls(messages: &mut [Arc<Message>], taken: &mut HashSet<String>, names: &mut UniqueIds<'_>) {
    for message in messages {
        let message = Arc::make_mut(message);
        message.created_at = message.created_at.map(time);
        message.stop_reason = message.stop_reason.take().filter(|word| WORDS.contains(&word.as_str()));
        for call in &mut message.tool_calls {
            call.approval = None;
            call.elicitations.clear();
            if let Some((status, output)) = ending_of_open(call) {
                call.status = Some(status);
                call.output = output.to_owned();
                call.result = Some(unrun_result(output));
                call.duration_ms = Some(0);
            }
            if !call.id.as_ref().is_some_and(|id| is_id(id) && taken.insert(id.clone())) {
                call.id = Some(names.next());
            }
        }
    }
}

/// Marks a work without a complete end, and its last answer, as interrupted.
fn end(work: &mut Arc<Work>, messages: &mut [Arc<Message>]) {
    if work.finished_at.is_some() && work.outcome.is_some() {
        return;
    }
    let work = Arc::make_mut(work);
    let outcome = Outcome::Interrupted { detail: DETAIL.to_owned(), by: StoppedBy::Server };
    work.finished_at = Some(work.finished_at.unwrap_or(work.created_at));
    let is_answer = |m: &&mut Arc<Message>| m.role == Role::Assistant && m.work_id.as_ref() == Some(&work.work_id);
    if let Some(answer) = messages.iter_mut().rev().find(is_answer).map(Arc::make_mut) {
        answer.stop_reason = Some(outcome.word().to_owned());
        answer.stopped_by = outcome.stopped_by();
    }
    work.outcome = Some(outcome);
}

/// Generates ids that are unique in the session: `fresh` was generated for it alone.
struct UniqueIds<'f> {
    fresh: &'f str,
    made: u32,
}

impl UniqueIds<'_> {
    fn next(&mut self) -> String {
        self.made += 1;
        format!("{}.{}", self.fresh, self.made)
    }
}

fn is_id(id: &str) -> bool {
    (1..=LONGEST_ID).contains(&id.len()) && !id.chars().any(|c| c.is_control() || c.is_whitespace())
}

fn is_file_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    (1..=LONGEST_NAME).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(plain)
}

fn time(seconds: f64) -> f64 {
    if seconds.is_finite() { seconds.clamp(0.0, LATEST) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Branch, Event, InterruptedWork};
    use proptest::prelude::*;
    use serde_json::json;

    fn read(mut value: Value) -> Session {
        without_claims(value.as_object_mut().unwrap());
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn unknown_values_do_not_stop_reading() {
        let call = json!({"tool": "t", "status": "queued", "approval": 7, "output": "x"});
        let message = json!({"role": "assistant", "content": "hi", "stopped_by": "moon", "tool_calls": [call]});
        let work = json!({"work_id": "w", "created_at": 1.0, "outcome": {"stop_reason": "tired"}, "requested": {}});
        let parts = json!({"messages": [message], "works": [work]});
        let mut session = parts.clone();
        session["branches"] = json!([parts]);
        session["taint"] = json!([{"from": "mars"}]);
        session["chosen"] = json!([]);
        session["project_id"] = json!({});
        let session = read(session).adopted("new");
        assert_eq!(session.messages[0].tool_calls[0].output, "x");
        assert!(matches!(session.works[0].outcome, Some(Outcome::Interrupted { .. })));
        assert_eq!((session.branches.len(), session.taint), (1, vec![Taint::Imported]));
    }

    #[test]
    fn references_follow_renumbered_messages() {
        let said = |id: Option<&str>, text: &str| {
            let mut message = Message::new(Role::User, text);
            message.id = id.map(str::to_owned);
            Arc::new(message)
        };
        let mut session = Session::new("t", 1.0);
        session.messages = vec![said(None, "a"), said(Some("b"), "b"), said(None, "c"), said(Some("b"), "d")];
        session.apply(
            &Event::Compressed {
                count: 2,
                summary: "s".into(),
                archive: "s_1.json".into(),
                sha256: None,
                automatic: false,
            },
            2.0,
        );
        let long = "x".repeat(LONGEST_ID + 1);
        session.branches.push(Branch { after: Some(long.clone()), messages: vec![said(None, "e")], works: Vec::new() });
        session.messages.push(said(Some(&long), "f"));
        let session = session.adopted("new");
        let ids: Vec<_> = session.messages.iter().map(|message| message.id.clone().unwrap()).collect();
        assert_eq!(session.compacted[0].next.as_ref(), Some(&ids[0]), "what followed the archive is still known");
        assert_eq!((session.branches[0].after.as_ref(), ids[1].as_str()), (Some(&ids[2]), "b"));
        assert!(session.restorable("s_1.json", 2).is_ok());
    }

    proptest! {
        #[test]
        fn adopted_file_opens_no_question_and_has_valid_ids(
            ids in proptest::collection::vec(proptest::option::of("[a-c]|\\PC{0,3}|x{300}"), 0..8),
            statuses in proptest::collection::vec(prop_oneof!["approval", "running", "done", "denied"], 8),
            ended in proptest::collection::vec(any::<bool>(), 3),
            seq in any::<u64>(),
        ) {
            let works: Vec<Value> = ended.iter().map(|ended| {
                let mut work = json!({"work_id": "w", "created_at": 1e308, "requested": [
                    {"index": 0, "call_id": "c", "tool": "terminal", "arguments": "{}"}]});
                if *ended {
                    work["finished_at"] = json!(2.0);
                }
                work
            }).collect();
            let messages: Vec<Value> = ids.iter().zip(&statuses).map(|(id, status)| {
                let call = json!({"tool": "terminal", "id": id, "status": status});
                json!({"role": "assistant", "id": id, "work_id": "w", "tool_calls": [call]})
            }).collect();
            let value = json!({"messages": messages, "works": works, "seq": seq, "project_id": "scratch"});
            let session = serde_json::from_value::<Session>(value).unwrap().adopted("new");
            prop_assert!(session.running().is_none() && session.waiting().is_none() && session.repairs(InterruptedWork::Ends).is_empty());
            prop_assert!(session.works.iter().all(|work| work.outcome.is_some() && work.requested.is_empty()));
            let unique = |ids: Vec<&str>| ids.iter().collect::<HashSet<_>>().len() == ids.len();
            let calls = || session.messages.iter().flat_map(|message| &message.tool_calls);
            prop_assert!(unique(session.messages.iter().map(|message| message.id.as_deref().unwrap()).collect()));
            prop_assert!(unique(calls().map(|call| call.id.as_deref().unwrap()).collect()));
            prop_assert!(unique(session.works.iter().map(|work| work.work_id.as_str()).collect()));
            prop_assert!(calls().all(|call| !call.is_open() && call.approval.is_none()));
            prop_assert_eq!((session.seq, &session.project_id), (0, &None));
            prop_assert_eq!(session.clone().adopted("other"), session, "taking it over twice changes nothing");
        }
    }
}
