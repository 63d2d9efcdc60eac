//! Joins the pieces of tool calls, which identify their call in different ways, and gives every call a dense index and
//! a unique id.

use serde_json::Value;

use super::StreamChunk;

/// A piece of a call as received; any field may be missing.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct CallPiece {
    pub index: Option<u64>,
    pub id: Option<String>,
    pub name: Option<String>,
    pub arguments: String,
}

#[derive(Debug)]
struct Call {
    /// Index and id as the provider sent them; either may be missing or wrong.
    wire_index: Option<u64>,
    wire_id: Option<String>,
    id: String,
    /// Position among the announced calls; a call is announced once its name is known.
    index: Option<u32>,
    /// All arguments so far; those received before the name are emitted after it.
    arguments: String,
}

#[derive(Debug, Default)]
pub(super) struct CallAssembler {
    calls: Vec<Call>,
}

impl CallAssembler {
    /// Adds a piece and appends the resulting chunks.
    pub fn push(&mut self, piece: CallPiece, out: &mut Vec<StreamChunk>) {
        let at = self.find(&piece).unwrap_or_else(|| self.open(&piece));
        let announced = self.announced() as u32;
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

    /// Whether any call was announced.
    pub fn any(&self) -> bool {
        self.announced() > 0
    }

    /// Returns how many calls were announced.
    pub fn announced(&self) -> usize {
        self.calls.iter().filter(|call| call.index.is_some()).count()
    }

    /// Whether the arguments of every announced call parse, so that none appear truncated.
    pub fn complete(&self) -> bool {
        self.calls.iter().filter(|call| call.index.is_some()).all(|call| {
            call.arguments.trim().is_empty() || serde_json::from_str::<serde::de::IgnoredAny>(&call.arguments).is_ok()
        })
    }

    /// Finds the call by index, else by id, else takes the last one. Handles two quirks of servers: all parallel calls
    /// under index 0 but with different ids, and whole calls with neither index nor id.
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

/// Returns arguments as text: most servers send a string, some an object.
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

    /// Returns `(id, name, arguments)` of each call.
    fn joined(pieces: impl IntoIterator<Item = CallPiece>) -> Vec<(String, String, String)> {
        let (mut calls, mut out) = (CallAssembler::default(), Vec::new());
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
    fn deltas_match_calls_by_index_then_id_then_order() {
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
    fn complete_calls_without_index_or_id_are_separate() {
        assert_eq!(
            joined([piece(None, "", "read", "{}"), piece(None, "", "read", "{\"a\":1}")]),
            expect(&[("call_0", "read", "{}"), ("call_1", "read", "{\"a\":1}")])
        );
    }

    #[test]
    fn parallel_calls_with_index_0_are_split_by_id() {
        assert_eq!(
            joined([piece(Some(0), "a", "read", "{"), piece(Some(0), "a", "", "}"), piece(Some(0), "b", "list", "{}")]),
            expect(&[("a", "read", "{}"), ("b", "list", "{}")])
        );
    }

    #[test]
    fn repeated_name_continues_call_and_ids_are_unique() {
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
    fn arguments_before_name_are_buffered() {
        assert_eq!(
            joined([piece(Some(0), "x", "", "{\"a\""), piece(Some(0), "", "read", ":1"), piece(Some(0), "", "", "}")]),
            expect(&[("x", "read", "{\"a\":1}")])
        );
    }
}
