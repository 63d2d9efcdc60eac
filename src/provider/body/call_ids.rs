//! The ids and names of calls in an API that accepts only some characters. A conversation may have begun with another
//! provider, whose ids contain others.

use std::collections::{HashMap, HashSet};

/// Maximum length of an id and a name: OpenAI accepts 64 characters, Anthropic more.
const MAX_LENGTH: usize = 64;

/// The ids of one request.
#[derive(Default)]
pub(super) struct CallIds {
    sent: HashMap<String, String>,
    used: HashSet<String>,
}

impl CallIds {
    /// Returns the id to send for a call and its result: the same for the same id, and another one for another.
    pub fn of(&mut self, id: &str) -> String {
        if let Some(known) = self.sent.get(id) {
            return known.clone();
        }
        let plain = plain(id);
        let mut sent = plain.clone();
        for number in 2.. {
            if self.used.insert(sent.clone()) {
                break;
            }
            let suffix = format!("_{number}");
            sent = format!("{}{suffix}", &plain[..plain.len().min(MAX_LENGTH - suffix.len())]);
        }
        self.sent.insert(id.to_owned(), sent.clone());
        sent
    }
}

/// Returns an id or a name with `_` for what is not an ASCII letter, a digit, `_` or `-`; never empty.
pub(super) fn plain(name: &str) -> String {
    let plain = name.chars().take(MAX_LENGTH);
    let plain = plain.map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect::<String>();
    if plain.is_empty() { "_".to_owned() } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_plain_and_stay_different() {
        let mut ids = CallIds::default();
        assert_eq!(ids.of("toolu_01A-b"), "toolu_01A-b");
        assert_eq!(ids.of("functions.read:0"), "functions_read_0");
        assert_eq!(ids.of("functions_read_0"), "functions_read_0_2");
        assert_eq!(ids.of("functions.read:0"), "functions_read_0");
        assert_eq!(ids.of("天".repeat(100).as_str()).len(), MAX_LENGTH);
        assert_eq!(ids.of("天".repeat(101).as_str()).len(), MAX_LENGTH);
        assert_eq!(ids.of(""), "_");
    }
}
