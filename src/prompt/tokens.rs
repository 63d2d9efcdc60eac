//! The tokens of a request by origin, counted in one way for the next request and for one that was sent.

use serde_json::Value;

use super::budget::MESSAGE_OVERHEAD;
use super::sent::{content, find_retrieved};
use super::{SystemPrompt, pictures};

/// The tokens of a request by origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestTokens {
    /// All parts of the system prompt.
    pub system: usize,
    /// Names, descriptions and schemas of the tools.
    pub tools: usize,
    /// The conversation, with its summary.
    pub messages: usize,
    /// Files attached to a question that is not sent yet. Afterwards they are part of its message.
    pub attachments: usize,
    /// Passages of memory. Before they are retrieved, the most that they can have, about.
    pub retrieved: usize,
}

impl RequestTokens {
    /// Counts a body whose messages begin with `system` and contain the `retrieved` text, if there is any.
    pub fn of(body: &Value, system: &SystemPrompt, retrieved: &str, count: &dyn Fn(&str) -> usize) -> Self {
        let parts = system.parts.iter().map(|part| count(&system.text[part.start..part.end]));
        let tools = body.get("tools").map(|tools| count(&tools.to_string()));
        let messages = body.get("messages").or_else(|| body.get("input"));
        let messages = messages.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let messages =
            messages.split_first().filter(|(first, _)| first["role"] == "system").map_or(messages, |(_, rest)| rest);
        let found = find_retrieved(messages, retrieved);
        let mut tokens = Self { system: parts.sum(), tools: tools.unwrap_or_default(), ..Self::default() };
        for (at, message) in messages.iter().enumerate() {
            match found.filter(|found| found.message == at) {
                None => tokens.messages += of_message(message, count),
                Some(found) => {
                    let (own, passages) = content(message).split_at(found.start);
                    // The message is that of its own text, if it has any.
                    let overhead = if own.is_empty() { &mut tokens.retrieved } else { &mut tokens.messages };
                    *overhead += MESSAGE_OVERHEAD;
                    tokens.messages += count(own);
                    tokens.retrieved += count(passages);
                }
            }
        }
        tokens
    }

    pub fn total(&self) -> usize {
        self.system + self.tools + self.messages + self.attachments + self.retrieved
    }
}

/// Returns the tokens of a message in a request's body.
pub fn of_message(message: &Value, count: &dyn Fn(&str) -> usize) -> usize {
    let parts = message["content"].as_array().into_iter().flatten();
    let calls = message["tool_calls"].as_array().into_iter().flatten().map(|call| &call["function"]);
    // In the Responses API, a call and its result are items of their own.
    let texts = std::iter::once(message).chain(parts).chain(calls).map(|part| of_part(part, count)).sum::<usize>();
    MESSAGE_OVERHEAD + texts + pictures::tokens(message)
}

/// Returns the tokens of the texts of a part of a message: a block, a call or its result, a thought.
fn of_part(part: &Value, count: &dyn Fn(&str) -> usize) -> usize {
    let texts = ["content", "text", "reasoning_content", "thinking", "name", "arguments", "output"];
    let texts = texts.iter().filter_map(|field| part.get(field)?.as_str()).map(count).sum::<usize>();
    texts + part.get("input").map_or(0, |input| count(&input.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tokens(body: Value, retrieved: &str) -> RequestTokens {
        RequestTokens::of(&body, &SystemPrompt::default(), retrieved, &str::len)
    }

    #[test]
    fn retrieved_text_is_counted_apart_from_message_it_follows() {
        let body = |before: &str| {
            json!({"messages": [
                {"role": "system", "content": "not a message"},
                {"role": "assistant", "content": format!("{before}FOUND")},
                {"role": "user", "content": "why"}]})
        };
        let own = tokens(body("abc"), "FOUND");
        assert_eq!(own, RequestTokens { messages: 3 + 3 + 2 * MESSAGE_OVERHEAD, retrieved: 5, ..own });
        let alone = tokens(body(""), "FOUND");
        assert_eq!(alone, RequestTokens { messages: 3 + MESSAGE_OVERHEAD, retrieved: 5 + MESSAGE_OVERHEAD, ..alone });
        assert_eq!((own.system, own.tools, own.total()), (0, 0, alone.total() + 3));
    }

    #[test]
    fn every_text_of_message_is_counted() {
        let call = json!({"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}});
        let message = json!({"role": "assistant", "content": "ab", "reasoning_content": "cde", "tool_calls": [call]});
        assert_eq!(of_message(&message, &str::len), MESSAGE_OVERHEAD + 2 + 3 + 4 + 2);
        let pictured = json!({"role": "user", "content": [{"type": "text", "text": "look"}]});
        assert_eq!(of_message(&pictured, &str::len), MESSAGE_OVERHEAD + 4);
        let blocks = json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "abc", "signature": "…"},
            {"type": "text", "text": "ab"}, {"type": "tool_use", "id": "c", "name": "read", "input": {}},
            {"type": "tool_result", "tool_use_id": "c", "content": "abcde"}]});
        assert_eq!(of_message(&blocks, &str::len), MESSAGE_OVERHEAD + 3 + 2 + 4 + 2 + 5);
        let item = json!({"type": "function_call", "call_id": "c", "name": "read", "arguments": "{}"});
        assert_eq!(of_message(&item, &str::len), MESSAGE_OVERHEAD + 4 + 2);
        let item = json!({"type": "function_call_output", "call_id": "c", "output": "abc"});
        assert_eq!(of_message(&item, &str::len), MESSAGE_OVERHEAD + 3);
    }
}
