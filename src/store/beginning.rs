//! Reads the first message of a conversation and counts the others without deserializing their content.

use std::borrow::Cow;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The number of messages and the content of the first; the others are skipped.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Messages {
    pub count: usize,
    /// Like [`Turns`].
    pub turns: usize,
    pub first: String,
}

/// Counts the turns of a conversation: messages of people, and answers, of which each counts once, whatever number of
/// messages it has.
#[derive(Default)]
pub(super) struct Turns {
    count: usize,
    in_answer: bool,
}

impl Turns {
    pub(super) fn add(&mut self, is_answer: bool) {
        self.count += usize::from(!(is_answer && self.in_answer));
        self.in_answer = is_answer;
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }
}

/// Whether a message is part of an answer; nothing else is read of it. Anything that is not an object counts as no answer.
struct IsAnswer(bool);

impl<'de> Deserialize<'de> for IsAnswer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ReadingRole;
        impl<'de> Visitor<'de> for ReadingRole {
            type Value = IsAnswer;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a message")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<IsAnswer, A::Error> {
                let mut is_answer = false;
                while let Some(name) = fields.next_key::<Cow<'de, str>>()? {
                    if name == "role" {
                        is_answer = fields.next_value::<serde_json::Value>()? == "assistant";
                    } else {
                        fields.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(IsAnswer(is_answer))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<IsAnswer, A::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(IsAnswer(false))
            }

            fn visit_str<E>(self, _: &str) -> Result<IsAnswer, E> {
                Ok(IsAnswer(false))
            }

            fn visit_bool<E>(self, _: bool) -> Result<IsAnswer, E> {
                Ok(IsAnswer(false))
            }

            fn visit_u64<E>(self, _: u64) -> Result<IsAnswer, E> {
                Ok(IsAnswer(false))
            }

            fn visit_i64<E>(self, _: i64) -> Result<IsAnswer, E> {
                Ok(IsAnswer(false))
            }

            fn visit_f64<E>(self, _: f64) -> Result<IsAnswer, E> {
                Ok(IsAnswer(false))
            }

            fn visit_unit<E>(self) -> Result<IsAnswer, E> {
                Ok(IsAnswer(false))
            }
        }
        deserializer.deserialize_any(ReadingRole)
    }
}

#[derive(Deserialize)]
struct FirstMessage {
    #[serde(default)]
    role: serde_json::Value,
    #[serde(default)]
    content: String,
}

impl<'de> Deserialize<'de> for Messages {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Counting;
        impl<'de> Visitor<'de> for Counting {
            type Value = Messages;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of messages")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Messages, A::Error> {
                let Some(first) = list.next_element::<FirstMessage>()? else { return Ok(Messages::default()) };
                let (mut count, mut turns) = (1, Turns::default());
                turns.add(first.role == "assistant");
                while let Some(IsAnswer(is_answer)) = list.next_element()? {
                    count += 1;
                    turns.add(is_answer);
                }
                Ok(Messages { count, turns: turns.count(), first: first.content })
            }
        }
        deserializer.deserialize_seq(Counting)
    }
}

/// Returns the beginning of a text on one line, at most 80 characters.
pub fn beginning(text: &str) -> String {
    const LONGEST: usize = 80;
    let mut line = String::new();
    for word in text.split_whitespace() {
        if line.chars().count() >= LONGEST {
            break;
        }
        line.push_str(if line.is_empty() { "" } else { " " });
        line.push_str(word);
    }
    line.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_counted_and_first_is_read() {
        let read = |text| serde_json::from_str::<Messages>(text).unwrap();
        let text = r#"[{"role": "user", "content": "hi"}, {"any": [1, {"thing": null}]}, 3]"#;
        assert_eq!(read(text), Messages { count: 3, turns: 3, first: "hi".to_owned() });
        assert_eq!(read("[]"), Messages::default());
        assert_eq!(read(r#"[{"role": "user"}]"#), Messages { count: 1, turns: 1, first: String::new() });
        assert!(serde_json::from_str::<Messages>("{}").is_err());
    }

    #[test]
    fn answer_of_several_messages_is_one_turn() {
        let text = r#"[{"role": "user"}, {"role": "assistant", "content": "a"}, {"role": "assistant"}, {"role": "user"},
            {"r\u006fle": "assistant"}, {"role": "user"}, {"role": "user"}]"#;
        let messages = serde_json::from_str::<Messages>(text).unwrap();
        assert_eq!((messages.count, messages.turns), (7, 6));
    }

    #[test]
    fn preview_is_one_short_line() {
        assert_eq!(beginning("  three\n\tshort  words "), "three short words");
        assert_eq!(beginning(&"长".repeat(500)).chars().count(), 80);
        assert_eq!(beginning(" \n"), "");
    }
}
