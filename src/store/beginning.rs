//! Reads the first message of a conversation and counts the others without deserializing them.

use std::fmt;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The number of messages and the content of the first; the others are skipped.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Messages {
    pub count: usize,
    pub first: String,
}

#[derive(Deserialize)]
struct FirstMessage {
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
                let mut count = 1;
                while list.next_element::<IgnoredAny>()?.is_some() {
                    count += 1;
                }
                Ok(Messages { count, first: first.content })
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
        assert_eq!(read(text), Messages { count: 3, first: "hi".to_owned() });
        assert_eq!(read("[]"), Messages::default());
        assert_eq!(read(r#"[{"role": "user"}]"#), Messages { count: 1, first: String::new() });
        assert!(serde_json::from_str::<Messages>("{}").is_err());
    }

    #[test]
    fn preview_is_one_short_line() {
        assert_eq!(beginning("  three\n\tshort  words "), "three short words");
        assert_eq!(beginning(&"长".repeat(500)).chars().count(), 80);
        assert_eq!(beginning(" \n"), "");
    }
}
