//! Tool calls arrive in pieces that say in different ways which call they belong to. This joins them and gives every call
//! a dense index and an id of its own.

use serde_json::Value;

use super::StreamChunk;

/// A piece of a call as it came over the wire; any part may be missing.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct CallPiece {
    pub index: Option<u64>,
    pub id: Option<String>,
    pub name: Option<String>,
    pub arguments: String,
}

#[derive(Debug)]
struct Call {
    /// What the provider calls it by; several of these may be missing or lie.
    wire_index: Option<u64>,
    wire_id: Option<String>,
    id: String,
    /// Its place among the calls that were announced, which needs a name.
    index: Option<u32>,
    /// All arguments so far; what came before the name is sent after it.
    arguments: String,
}

#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
}

impl Calls {
    /// Takes a piece and appends what can be said of it.
    pub fn push(&mut self, piece: CallPiece, out: &mut Vec<StreamChunk>) {
        let at = self.find(&piece).unwrap_or_else(|| self.open(&piece));
        let announced = self.calls.iter().filter(|call| call.index.is_some()).count() as u32;
        let call = &mut self.calls[at];
        call.arguments.push_str(&piece.arguments);
        let (index, delta) = match (call.index, piece.name) {
            (Some(index), _) => (index, piece.arguments),
            (None, Some(name)) => {
                call.index = Some(announced);
                out.push(StreamChunk::ToolCallStart { index: announced, id: call.id.clone(), name });
                (announced, call.arguments.clone())
            }
            (None, None) => return,
        };
        if !delta.is_empty() {
            out.push(StreamChunk::ToolCallArguments { index, delta });
        }
    }

    /// Whether a call was announced.
    pub fn any(&self) -> bool {
        self.calls.iter().any(|call| call.index.is_some())
    }

    /// Whether every announced call has arguments that parse, so that nothing seems to be cut off.
    pub fn complete(&self) -> bool {
        self.calls.iter().filter(|call| call.index.is_some()).all(|call| {
            call.arguments.trim().is_empty() || serde_json::from_str::<serde::de::IgnoredAny>(&call.arguments).is_ok()
        })
    }

    /// By index, else by id, else the last call. Two servers' habits are seen through: all parallel calls under index 0
    /// but with ids of their own, and whole calls with neither index nor id.
    fn find(&self, piece: &CallPiece) -> Option<usize> {
        let by_id = |id: &String| self.calls.iter().position(|call| call.wire_id.as_ref() == Some(id));
        match (piece.index, &piece.id) {
            (Some(index), id) => {
                let at = self.calls.iter().rposition(|call| call.wire_index == Some(index))?;
                let other = match (id, &self.calls[at].wire_id) {
                    (Some(new), Some(known)) => new != known && piece.name.is_some(),
                    (Some(_), None) | (None, _) => false,
                };
                if other { id.as_ref().and_then(by_id) } else { Some(at) }
            }
            (None, Some(id)) => by_id(id),
            (None, None) => {
                let last = self.calls.len().checked_sub(1)?;
                let another = piece.name.is_some() && self.calls[last].index.is_some();
                if another { None } else { Some(last) }
            }
        }
    }

    fn open(&mut self, piece: &CallPiece) -> usize {
        let at = self.calls.len();
        let taken = |id: &str| self.calls.iter().any(|call| call.id == id);
        let id = match &piece.id {
            Some(id) if !taken(id) => id.clone(),
            Some(_) | None => {
                (at..).map(|n| format!("call_{n}")).find(|id| !taken(id)).unwrap_or_else(|| format!("call_{at}"))
            }
        };
        self.calls.push(Call {
            wire_index: piece.index,
            wire_id: piece.id.clone(),
            id,
            index: None,
            arguments: String::new(),
        });
        at
    }
}

/// Arguments as text: most servers send a string, some an object.
pub(super) fn arguments_text(arguments: Option<&Value>) -> String {
    match arguments {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(index: Option<u64>, id: &str, name: &str, arguments: &str) -> CallPiece {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        CallPiece { index, id: some(id), name: some(name), arguments: arguments.to_owned() }
    }

    /// `(id, name, arguments)` of each call.
    fn joined(pieces: impl IntoIterator<Item = CallPiece>) -> Vec<(String, String, String)> {
        let (mut calls, mut out) = (Calls::default(), Vec::new());
        for piece in pieces {
            calls.push(piece, &mut out);
        }
        let mut joined: Vec<(String, String, String)> = Vec::new();
        for chunk in out {
            match chunk {
                StreamChunk::ToolCallStart { index, id, name } => {
                    assert_eq!(index as usize, joined.len());
                    joined.push((id, name, String::new()));
                }
                StreamChunk::ToolCallArguments { index, delta } => joined[index as usize].2.push_str(&delta),
                other => panic!("{other:?}"),
            }
        }
        joined
    }

    fn expect(calls: &[(&str, &str, &str)]) -> Vec<(String, String, String)> {
        calls.iter().map(|(id, name, arguments)| (id.to_string(), name.to_string(), arguments.to_string())).collect()
    }

    #[test]
    fn pieces_find_their_call_by_index_then_id_then_order() {
        assert_eq!(
            joined([
                piece(Some(0), "a", "read", ""),
                piece(Some(1), "b", "list", ""),
                piece(Some(0), "", "", "{\"p\":"),
                piece(Some(1), "", "", "{}"),
                piece(Some(0), "", "", "1}"),
            ]),
            expect(&[("a", "read", "{\"p\":1}"), ("b", "list", "{}")])
        );
        assert_eq!(
            joined([
                piece(None, "a", "read", "{"),
                piece(None, "b", "list", "["),
                piece(None, "a", "", "}"),
                piece(None, "", "", "]")
            ]),
            expect(&[("a", "read", "{}"), ("b", "list", "[]")])
        );
    }

    #[test]
    fn whole_calls_without_index_or_id_are_different_calls() {
        assert_eq!(
            joined([piece(None, "", "read", "{}"), piece(None, "", "read", "{\"a\":1}")]),
            expect(&[("call_0", "read", "{}"), ("call_1", "read", "{\"a\":1}")])
        );
    }

    #[test]
    fn parallel_calls_that_all_claim_index_0_are_told_apart_by_id() {
        assert_eq!(
            joined([piece(Some(0), "a", "read", "{"), piece(Some(0), "a", "", "}"), piece(Some(0), "b", "list", "{}")]),
            expect(&[("a", "read", "{}"), ("b", "list", "{}")])
        );
    }

    #[test]
    fn a_repeated_name_is_not_another_call_and_ids_are_unique() {
        assert_eq!(
            joined([piece(Some(0), "x", "read", "{"), piece(Some(0), "x", "read", "}")]),
            expect(&[("x", "read", "{}")])
        );
        assert_eq!(
            joined([piece(Some(0), "call_1", "a", ""), piece(Some(1), "call_1", "b", ""), piece(Some(2), "", "c", "")]),
            expect(&[("call_1", "a", ""), ("call_2", "b", ""), ("call_3", "c", "")])
        );
    }

    #[test]
    fn arguments_before_the_name_wait_for_it() {
        assert_eq!(
            joined([piece(Some(0), "x", "", "{\"a\""), piece(Some(0), "", "read", ":1"), piece(Some(0), "", "", "}")]),
            expect(&[("x", "read", "{\"a\":1}")])
        );
    }
}
