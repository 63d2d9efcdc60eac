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
        let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
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
    let parts = message["content"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    let thinking = message["reasoning_content"].as_str();
    let calls = message["tool_calls"].as_array().into_iter().flatten().map(|call| &call["function"]);
    let calls = calls.flat_map(|call| [call["name"].as_str(), call["arguments"].as_str()]).flatten();
    let texts = std::iter::once(content(message)).chain(parts).chain(thinking).chain(calls);
    MESSAGE_OVERHEAD + texts.map(count).sum::<usize>() + pictures::tokens(message)
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
    }
}
