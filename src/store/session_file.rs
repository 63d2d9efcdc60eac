//! The format of `sessions/{id}.json` (mini-OpenClaw document): reads all versions and writes the newest.

use std::sync::Arc;

use serde_json::Value;

use super::chain::{self, Chain};
use crate::domain::{Message, Session, without_claims};

/// The field with the MAC that proves who wrote the file.
const MAC: &str = "mac";

/// Why a session file cannot be used.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum BadSession {
    #[error("not JSON: {0}")]
    Json(String),
    #[error("neither an object with messages nor, as in version 1, an array of them")]
    Shape,
    #[error("a field has the wrong type: {0}")]
    Field(String),
}

/// A session with the chain of its facts.
#[derive(Debug)]
pub(super) struct ChainedSession {
    pub session: Session,
    /// `None` if the file has no chain up to the session's last fact.
    pub chain: Option<Chain>,
}

/// Parses a session that this home wrote, with its chain. See [`parse`].
pub(super) fn parse_chained(bytes: &[u8], migrated_at: f64) -> Result<ChainedSession, BadSession> {
    let mut session = parse_whole(bytes, migrated_at)?;
    let chain = Chain::take(&mut session).filter(|chain| chain.seq == session.seq && chain.since <= chain.seq);
    Ok(ChainedSession { session, chain })
}

/// Parses a session. Version 1 is a bare array of messages; it becomes an object with `migrated_at` as both its times.
pub fn parse(bytes: &[u8], migrated_at: f64) -> Result<Session, BadSession> {
    parse_chained(bytes, migrated_at).map(|file| file.session)
}

fn parse_whole(bytes: &[u8], migrated_at: f64) -> Result<Session, BadSession> {
    let value: Value = serde_json::from_slice(bytes).map_err(|e| BadSession::Json(e.to_string()))?;
    match value {
        Value::Array(messages) => {
            let messages: Vec<Arc<Message>> =
                serde_json::from_value(Value::Array(messages)).map_err(|e| BadSession::Field(e.to_string()))?;
            let mut session = Session::new("", migrated_at);
            session.messages = messages;
            Ok(session)
        }
        Value::Object(ref fields) if fields.get("messages").is_some_and(Value::is_array) => {
            let mut session: Session = serde_json::from_value(value).map_err(|e| BadSession::Field(e.to_string()))?;
            // The MAC belongs to the file and is not part of the session.
            session.extra.shift_remove(MAC);
            Ok(session)
        }
        _ => Err(BadSession::Shape),
    }
}

/// Parses a session of another program, and ignores values that this version does not know.
pub fn parse_foreign(bytes: &[u8], migrated_at: f64) -> Result<Session, BadSession> {
    let strict = parse(bytes, migrated_at);
    let Ok(Value::Object(mut fields)) = serde_json::from_slice(bytes) else { return strict };
    if strict.is_ok() || !fields.get("messages").is_some_and(Value::is_array) {
        return strict;
    }
    without_claims(&mut fields);
    for of_file in [chain::FIELD, MAC] {
        fields.shift_remove(of_file);
    }
    serde_json::from_value(Value::Object(fields)).or(strict)
}

/// Encodes a session as indented JSON, which is easy to read and diff, with a newline at the end.
pub fn encode(session: &Session) -> Vec<u8> {
    let mut bytes =
        serde_json::to_vec_pretty(session).expect("a session has string keys and finite numbers, so it is JSON");
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Attachment, Role, ToolCall};
    use proptest::prelude::*;

    const DOCUMENTED: &str = r#"{
      "title": "讨论天气查询", "created_at": 1706000000.0, "updated_at": 1706000100.0,
      "compressed_context": "用户之前询问了北京天气...",
      "messages": [
        {"role": "user", "content": "北京天气怎么样？"},
        {"role": "assistant", "content": "让我查一下...",
         "tool_calls": [{"tool": "terminal", "input": "curl wttr.in/Beijing", "output": "..."}]},
        {"role": "assistant", "content": "北京今天晴，气温 25°C。"}
      ]}"#;

    #[test]
    fn documented_file_round_trips_unchanged() {
        let session = parse(DOCUMENTED.as_bytes(), 0.0).unwrap();
        let back: Value = serde_json::from_slice(&encode(&session)).unwrap();
        assert_eq!(back, serde_json::from_str::<Value>(DOCUMENTED).unwrap());
    }

    #[test]
    fn version_1_is_migrated() {
        let session = parse(br#"[{"role":"user","content":"hi"}]"#, 9.0).unwrap();
        assert_eq!((session.messages.len(), session.created_at, session.title.as_str()), (1, 9.0, ""));
    }

    #[test]
    fn damage_is_reported() {
        assert!(matches!(parse(b"{", 0.0), Err(BadSession::Json(_))));
        assert_eq!(parse(b"{}", 0.0), Err(BadSession::Shape));
        assert_eq!(parse(b"3", 0.0), Err(BadSession::Shape));
        assert!(matches!(parse(br#"{"messages":[{"role":"king"}]}"#, 0.0), Err(BadSession::Field(_))));
    }

    fn any_message() -> impl Strategy<Value = Message> {
        let role = prop_oneof![Just(Role::User), Just(Role::Assistant)];
        let files = proptest::collection::vec((".*", ".{0,4}", ".*"), 0..3);
        let said = (role, ".*", files);
        (said, proptest::option::of(".*"), proptest::collection::vec((".*", ".*", ".*"), 0..3)).prop_map(
            |((role, content, files), thinking, calls)| {
                let mut message = Message::new(role, content);
                message.attachments = files
                    .into_iter()
                    .map(|(name, extension, content)| {
                        let json =
                            serde_json::json!({"name": name, "extension": extension, "content": content, "n": 1});
                        Arc::new(serde_json::from_value::<Attachment>(json).unwrap())
                    })
                    .collect();
                message.thinking = thinking;
                message.tool_calls = calls
                    .into_iter()
                    .map(|(tool, input, output)| {
                        let json = serde_json::json!({"tool": tool, "input": input, "output": output});
                        serde_json::from_value::<ToolCall>(json).unwrap()
                    })
                    .collect();
                message
            },
        )
    }

    proptest! {
        #[test]
        fn session_round_trips(messages in proptest::collection::vec(any_message(), 0..6), title in ".*") {
            let mut session = Session::new(title, 12.25);
            session.messages = messages.into_iter().map(Arc::new).collect();
            prop_assert_eq!(parse(&encode(&session), 0.0).unwrap(), session);
        }

        #[test]
        fn damaged_file_is_read_or_reported(cuts in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
            let mut bytes = DOCUMENTED.as_bytes().to_vec();
            for (place, byte) in cuts {
                let at = place.index(bytes.len().max(1));
                match byte {
                    0 => bytes.truncate(at),
                    _ if bytes.is_empty() => {}
                    b'~'.. => drop(bytes.remove(at)),
                    byte => bytes[at] = byte,
                }
            }
            if let Ok(session) = parse(&bytes, 0.0) {
                prop_assert_eq!(parse(&encode(&session), 0.0).unwrap(), session);
            }
        }

        #[test]
        fn reading_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes, 0.0);
        }
    }
}
