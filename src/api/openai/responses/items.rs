//! The items of a response, and the events of its stream.
//!
//! The number of an event is its place in the work, not a count of events: a delta of text advances it by the bytes of the
//! text. So the same text has the same numbers in whatever pieces it is sent, and a stream resumes after any of them, also from
//! what a session's file holds after a restart.

use serde_json::{Value, json};

use crate::api::openai::progress::{Delta, HandedCall};
use crate::domain::client_chain::STEP_LINE;

/// An event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemEvent {
    pub number: u64,
    pub kind: &'static str,
    /// Its fields without `type` and `sequence_number`.
    pub fields: Value,
}

/// The items of a response so far.
#[derive(Debug)]
pub struct Items {
    /// What the ids of items end with.
    id: String,
    position: u64,
    /// Events up to this number are not told.
    after: Option<u64>,
    pub done: Vec<Value>,
    open: Option<OpenItem>,
}

#[derive(Debug)]
struct OpenItem {
    kind: TextKind,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextKind {
    Message,
    Reasoning,
}

impl Items {
    /// Begins after this many events of the response as a whole.
    pub fn new(id: &str, first: u64, after: Option<u64>) -> Self {
        Self { id: id.to_owned(), position: first, after, done: Vec::new(), open: None }
    }

    /// Returns whether an event with this number was told before.
    pub fn is_told(&self, number: u64) -> bool {
        self.after.is_some_and(|after| number <= after)
    }

    /// Returns the number of an event after all of these.
    pub fn next_number(&self) -> u64 {
        self.position
    }

    /// Adds what a work has done, and returns the events that tell it.
    pub fn add(&mut self, delta: &Delta) -> Vec<ItemEvent> {
        let mut events = Vec::new();
        match delta {
            Delta::Text(text) => self.write(TextKind::Message, text, &mut events),
            Delta::Thought(text) => self.write(TextKind::Reasoning, text, &mut events),
            Delta::Step(line) => {
                let (name, input) =
                    line.strip_prefix(STEP_LINE).and_then(|line| line.split_once(": ")).unwrap_or_default();
                let id = format!("mtc_{}_{}", self.id, self.index(true));
                let item = json!({"id": id, "type": "miniclaw:tool_call", "status": "completed", "name": name, "input": input});
                self.close(&mut events);
                self.whole(item, &mut events);
            }
            Delta::Call(call) => {
                self.close(&mut events);
                self.call(call, &mut events);
            }
            Delta::HandedOff | Delta::Ended(_) => self.close(&mut events),
            Delta::Asked { .. } | Delta::Answered { .. } | Delta::Usage(_) => {}
        }
        events
    }

    /// Returns all items, the one that is being written included.
    pub fn all(&self) -> Vec<Value> {
        let open = self.open.as_ref().map(|open| self.item(open, "in_progress"));
        self.done.iter().cloned().chain(open).collect()
    }

    /// Returns the index of the next item; of the one after the open item, if that is about to be closed.
    fn index(&self, is_closed: bool) -> usize {
        self.done.len() + usize::from(is_closed && self.open.is_some())
    }

    fn push(&mut self, events: &mut Vec<ItemEvent>, (kind, fields): (&'static str, Value)) {
        let number = self.position;
        self.position += 1;
        if !self.is_told(number) {
            events.push(ItemEvent { number, kind, fields });
        }
    }

    fn item_id(&self, kind: TextKind) -> String {
        let prefix = if kind == TextKind::Message { "msg" } else { "rs" };
        format!("{prefix}_{}_{}", self.id, self.done.len())
    }

    fn item(&self, open: &OpenItem, status: &str) -> Value {
        let id = self.item_id(open.kind);
        match open.kind {
            TextKind::Message => {
                let part = json!({"type": "output_text", "text": open.text, "annotations": [], "logprobs": []});
                json!({"id": id, "type": "message", "role": "assistant", "status": status, "content": [part]})
            }
            TextKind::Reasoning => {
                json!({"id": id, "type": "reasoning", "summary": [{"type": "summary_text", "text": open.text}]})
            }
        }
    }

    fn write(&mut self, kind: TextKind, text: &str, events: &mut Vec<ItemEvent>) {
        if self.open.as_ref().is_some_and(|open| open.kind != kind) {
            self.close(events);
        }
        // What sets two segments apart in one text is not needed between two items.
        let text = if self.open.is_none() { text.trim_start_matches('\n') } else { text };
        if text.is_empty() {
            return;
        }
        let (id, index) = (self.item_id(kind), self.done.len());
        if self.open.is_none() {
            self.open = Some(OpenItem { kind, text: String::new() });
            let (added, part_added, part) = match kind {
                TextKind::Message => (
                    json!({"id": id, "type": "message", "role": "assistant", "status": "in_progress", "content": []}),
                    "response.content_part.added",
                    json!({"type": "output_text", "text": "", "annotations": [], "logprobs": []}),
                ),
                TextKind::Reasoning => (
                    json!({"id": id, "type": "reasoning", "summary": []}),
                    "response.reasoning_summary_part.added",
                    json!({"type": "summary_text", "text": ""}),
                ),
            };
            self.push(events, ("response.output_item.added", json!({"output_index": index, "item": added})));
            let mut fields = part_fields(kind, &id, index);
            fields["part"] = part;
            self.push(events, (part_added, fields));
        }
        if let Some(open) = &mut self.open {
            open.text.push_str(text);
        }
        let first = self.position;
        self.position += text.len() as u64;
        let number = self.position - 1;
        if self.is_told(number) {
            return;
        }
        let told = self.after.map_or(0, |after| (after + 1).saturating_sub(first)) as usize;
        let mut fields = part_fields(kind, &id, index);
        fields["delta"] = text[text.ceil_char_boundary(told)..].into();
        let kind = match kind {
            TextKind::Message => "response.output_text.delta",
            TextKind::Reasoning => "response.reasoning_summary_text.delta",
        };
        events.push(ItemEvent { number, kind, fields });
    }

    fn close(&mut self, events: &mut Vec<ItemEvent>) {
        let Some(open) = self.open.take() else { return };
        let (id, index) = (self.item_id(open.kind), self.done.len());
        let item = self.item(&open, "completed");
        let (text_done, part_done, part) = match open.kind {
            TextKind::Message => {
                ("response.output_text.done", "response.content_part.done", item["content"][0].clone())
            }
            TextKind::Reasoning => (
                "response.reasoning_summary_text.done",
                "response.reasoning_summary_part.done",
                item["summary"][0].clone(),
            ),
        };
        let fields = part_fields(open.kind, &id, index);
        let mut with_text = fields.clone();
        with_text["text"] = open.text.into();
        self.push(events, (text_done, with_text));
        let mut with_part = fields;
        with_part["part"] = part;
        self.push(events, (part_done, with_part));
        self.push(events, ("response.output_item.done", json!({"output_index": index, "item": item.clone()})));
        self.done.push(item);
    }

    fn whole(&mut self, item: Value, events: &mut Vec<ItemEvent>) {
        let index = self.done.len();
        for kind in ["response.output_item.added", "response.output_item.done"] {
            self.push(events, (kind, json!({"output_index": index, "item": item.clone()})));
        }
        self.done.push(item);
    }

    fn call(&mut self, call: &HandedCall, events: &mut Vec<ItemEvent>) {
        let index = self.done.len();
        let id = format!("fc_{}_{index}", self.id);
        let item = |arguments: &str, status: &str| {
            json!({"id": id, "type": "function_call", "call_id": call.id, "name": call.name,
                   "arguments": arguments, "status": status})
        };
        let added = json!({"output_index": index, "item": item("", "in_progress")});
        self.push(events, ("response.output_item.added", added));
        let delta = json!({"item_id": id, "output_index": index, "delta": call.arguments});
        self.push(events, ("response.function_call_arguments.delta", delta));
        let done = json!({"item_id": id, "output_index": index, "name": call.name, "arguments": call.arguments});
        self.push(events, ("response.function_call_arguments.done", done));
        let item = item(&call.arguments, "completed");
        self.push(events, ("response.output_item.done", json!({"output_index": index, "item": item.clone()})));
        self.done.push(item);
    }
}

fn part_fields(kind: TextKind, id: &str, index: usize) -> Value {
    match kind {
        TextKind::Message => json!({"item_id": id, "output_index": index, "content_index": 0, "logprobs": []}),
        TextKind::Reasoning => json!({"item_id": id, "output_index": index, "summary_index": 0}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Outcome;

    fn all(deltas: &[Delta], after: Option<u64>) -> (Vec<ItemEvent>, Vec<Value>) {
        let mut items = Items::new("w", 2, after);
        let events = deltas.iter().flat_map(|delta| items.add(delta)).collect();
        (events, items.all())
    }

    fn deltas(text: &[&str]) -> Vec<Delta> {
        let step = Delta::Step("> ⚙ bash: ls".to_owned());
        let call = HandedCall { id: "c".to_owned(), name: "look".to_owned(), arguments: "{}".to_owned() };
        let text = text.iter().map(|text| Delta::Text((*text).to_owned()));
        let before = [Delta::Thought("hm".to_owned()), step];
        before.into_iter().chain(text).chain([Delta::Call(call), Delta::Ended(Outcome::Done)]).collect()
    }

    #[test]
    fn items_are_those_of_the_work() {
        let (_, items) = all(&deltas(&["\n\nHé", "llo"]), None);
        let kinds: Vec<_> = items.iter().map(|item| item["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["reasoning", "miniclaw:tool_call", "message", "function_call"]);
        assert_eq!((&items[2]["content"][0]["text"], &items[1]["name"]), (&json!("Héllo"), &json!("bash")));
    }

    #[test]
    fn numbers_depend_on_the_text_and_not_on_its_pieces() {
        let (whole, _) = all(&deltas(&["Héllo wörld"]), None);
        let (pieces, _) = all(&deltas(&["Hé", "llo w", "örld"]), None);
        assert_eq!(whole.last(), pieces.last());
        let numbers: Vec<_> = pieces.iter().map(|event| event.number).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    }

    #[test]
    fn stream_resumes_after_any_event() {
        let (events, _) = all(&deltas(&["Hé", "llo w", "örld"]), None);
        let text = |events: &[ItemEvent]| -> String {
            let deltas = events.iter().filter(|event| event.kind == "response.output_text.delta");
            deltas.map(|event| event.fields["delta"].as_str().unwrap().to_owned()).collect()
        };
        for cut in 0..events.len() {
            // What a session's file holds has no pieces any more.
            let (rest, _) = all(&deltas(&["Héllo wörld"]), Some(events[cut].number));
            let together = format!("{}{}", text(&events[..=cut]), text(&rest));
            assert_eq!(together, "Héllo wörld", "cut after {cut}");
            assert!(rest.iter().all(|event| event.number > events[cut].number));
        }
    }
}
