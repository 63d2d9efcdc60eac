//! The language that a person writes in, as far as records distinguish it.

use serde::{Deserialize, Serialize};

use super::message::Role;
use super::session::Session;

/// The two languages that results are recorded in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    #[default]
    English,
    Chinese,
}

impl Language {
    /// Returns Chinese for a text that contains a Chinese character.
    pub fn of(text: &str) -> Self {
        let is_chinese =
            |char: char| matches!(char, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{20000}'..='\u{323af}');
        if text.chars().any(is_chinese) { Self::Chinese } else { Self::English }
    }
}

impl Session {
    /// Returns the language of the person's last message.
    pub fn language(&self) -> Language {
        let last = self.messages.iter().rev().find(|message| message.role == Role::User);
        last.map_or_else(Language::default, |message| Language::of(&message.content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_chinese_character_makes_a_text_chinese() {
        for (text, language) in [
            ("", Language::English),
            ("make tea, 42 × — “now”", Language::English),
            ("naïve Ünïcode ドキュ", Language::English),
            ("fix 登录.vue", Language::Chinese),
            ("泡茶", Language::Chinese),
        ] {
            assert_eq!(Language::of(text), language, "{text}");
        }
    }
}
