//! What a text names that a summary of it may lose: addresses, file paths, ids, numbers, questions. Found by their shape, not
//! by understanding: something may be named in other words, and a name may be none.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Serialize;

use super::message::{Message, Role};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MentionKind {
    Url,
    /// A path, or a file's name.
    Path,
    /// Letters and digits in one word: a hash, a ticket, a version.
    Id,
    Number,
    /// A sentence that asks.
    Question,
}

/// Something that a message names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Mention {
    pub kind: MentionKind,
    /// As it stands in the message.
    pub text: String,
    /// Who said it first.
    pub role: Role,
    /// The message's place among those that were looked through, from 0.
    pub message: usize,
}

/// A question longer than this is cut, in characters.
const LONGEST_QUESTION: usize = 200;
/// A longer word is data and not a name.
const LONGEST_WORD: usize = 300;

/// What the messages name, each thing once, in their order: in what was said, in what tools were called with, and the names of
/// files that were sent along. What tools answered, and the text of files, is not looked through.
pub fn mentions(messages: &[Arc<Message>]) -> Vec<Mention> {
    let mut known = HashSet::new();
    let mut found = Vec::new();
    for (at, message) in messages.iter().enumerate().filter(|(_, message)| message.role != Role::System) {
        let calls = message.tool_calls.iter().map(|call| call.input.as_str());
        let words = std::iter::once(message.content.as_str()).chain(calls).flat_map(words);
        let named = words.filter_map(|word| Some((kind_of(word)?, word.to_owned())));
        let files = message.attachments.iter().map(|file| (MentionKind::Path, file.name.clone()));
        let named = files.chain(named);
        let asked = questions(&message.content).into_iter().map(|question| (MentionKind::Question, question));
        for (kind, text) in named.chain(asked) {
            if known.insert((kind, text.clone())) {
                found.push(Mention { kind, text, role: message.role, message: at });
            }
        }
    }
    found
}

/// Words as they may stand in a path or an address, without what is around them. What is quoted as code is one word.
fn words(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, part) in text.split('`').enumerate() {
        let quoted = part.trim();
        let is_name = at % 2 == 1 && !quoted.is_empty() && !quoted.contains(char::is_whitespace);
        if is_name && (quoted.contains('/') || quoted.contains('.')) {
            found.push(quoted);
        } else {
            let words = part.split(is_between).flat_map(values).map(bare);
            found.extend(words.filter(|word| !word.is_empty() && word.len() <= LONGEST_WORD));
        }
    }
    found
}

/// Scripts that are written without spaces separate words too.
fn is_between(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '"' | '\'' | '<' | '>' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | ',' | ';' | '*')
        || !c.is_ascii() && !('\u{c0}'..'\u{250}').contains(&c)
}

/// `NAME=value` names two things; an address may hold `=`.
fn values(word: &str) -> impl Iterator<Item = &str> {
    word.split(if word.contains("://") { '\n' } else { '=' })
}

fn bare(word: &str) -> &str {
    word.trim_end_matches(['.', ':', '!', '?', ',']).trim_start_matches([':', '!', '?'])
}

fn kind_of(word: &str) -> Option<MentionKind> {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let letters = word.chars().filter(|c| c.is_alphabetic()).count();
    if let Some((_, address)) = word.split_once("://") {
        return (!address.is_empty()).then_some(MentionKind::Url);
    }
    if is_path(word) {
        return Some(MentionKind::Path);
    }
    let plain = word.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '#' | ':' | '@'));
    if digits > 0 && letters > 0 && plain && word.len() >= 4 {
        return Some(MentionKind::Id);
    }
    let number = word.bytes().all(|b| b.is_ascii_digit() || b"+-.:%#/$".contains(&b));
    (digits >= 2 && letters == 0 && number).then_some(MentionKind::Number)
}

fn is_path(word: &str) -> bool {
    let named = word.chars().any(char::is_alphabetic);
    let (folder, name) = word.rsplit_once('/').map_or((None, word), |(folder, name)| (Some(folder), name));
    let ending =
        name.rsplit_once('.').filter(|(stem, _)| stem.chars().any(char::is_alphanumeric) || name.starts_with('.'));
    let has_ending = ending.is_some_and(|(_, ending)| {
        (1..=8).contains(&ending.len())
            && ending.bytes().all(|b| b.is_ascii_alphanumeric())
            && ending.bytes().any(|b| b.is_ascii_alphabetic())
    });
    match folder {
        // “and/or” is no path; “src/engine/” and “/etc” are.
        Some(folder) => {
            named && (has_ending || folder.contains('/') || word.starts_with(['/', '.', '~']) || name.is_empty())
        }
        // “e.g” and “3.5x” are no files.
        None => {
            named
                && has_ending
                && ending.is_some_and(|(stem, _)| stem.len() >= 2)
                && !word.starts_with(|c: char| c.is_ascii_digit())
        }
    }
}

fn questions(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut begun = 0;
        for (at, mark) in line.char_indices() {
            let end = at + mark.len_utf8();
            let rest = &line[end..];
            let ends = matches!(mark, '。' | '！' | '？')
                || matches!(mark, '.' | '!' | '?') && (rest.is_empty() || rest.starts_with([' ', '"', ')', '*']));
            if !ends {
                continue;
            }
            let sentence =
                line[begun..end].trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '-' | '>' | '#'));
            if matches!(mark, '?' | '？') && sentence.chars().count() > 2 {
                found.push(sentence.chars().take(LONGEST_QUESTION).collect());
            }
            begun = end;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Attachment;
    use MentionKind::{Id, Number, Path, Question, Url};
    use proptest::prelude::*;

    fn of(text: &str) -> Vec<(MentionKind, String)> {
        let found = mentions(&[Arc::new(Message::new(Role::User, text))]);
        found.into_iter().map(|mention| (mention.kind, mention.text)).collect()
    }

    fn texts(text: &str, kind: MentionKind) -> Vec<String> {
        of(text).into_iter().filter(|(of, _)| *of == kind).map(|(_, text)| text).collect()
    }

    #[test]
    fn each_kind_is_known_by_its_shape() {
        let text = "See https://example.com/a?b=1, (src/engine/mod.rs) and `my notes.md`; ticket ABC-1234 of 2026-11-21 \
                    costs 1500. Is that right? Fine.";
        assert_eq!(
            of(text),
            [
                (Url, "https://example.com/a?b=1"),
                (Path, "src/engine/mod.rs"),
                (Path, "notes.md"),
                (Id, "ABC-1234"),
                (Number, "2026-11-21"),
                (Number, "1500"),
                (Question, "Is that right?"),
            ]
            .map(|(kind, text)| (kind, text.to_owned()))
        );
    }

    #[test]
    fn a_chinese_text_names_things_too() {
        let text = "打开`memory/计划.md`和/etc/hosts，端口是8002。为什么不行？好。";
        assert_eq!(texts(text, Path), ["memory/计划.md", "/etc/hosts"]);
        assert_eq!(texts(text, Number), ["8002"]);
        assert_eq!(texts(text, Question), ["为什么不行？"]);
    }

    #[test]
    fn ordinary_words_are_no_names() {
        for text in ["and/or", "e.g. this", "What a day!", "It is 3 o'clock.", "1. one 2. two", "a - b", "?!"] {
            let found: Vec<_> = of(text).into_iter().filter(|(kind, _)| *kind != Question).collect();
            assert_eq!(found, [], "{text}");
        }
        assert_eq!(texts("Look at v1.5? Or not. Why? Really?", Question), ["Look at v1.5?", "Why?", "Really?"]);
    }

    #[test]
    fn attachments_are_named_and_their_text_ignored() {
        let mut message = Message::new(Role::User, "Compare.");
        let file = Attachment::new("三月 report", None, "see src/inner.rs".to_owned()).unwrap();
        message.attachments.push(Arc::new(file));
        let found = mentions(&[Arc::new(message)]);
        let named: Vec<_> = found.iter().map(|mention| (mention.kind, mention.text.as_str())).collect();
        assert_eq!(named, [(Path, "三月 report")]);
    }

    #[test]
    fn each_mention_is_listed_once_with_its_first_message() {
        let mut answer = Message::new(Role::Assistant, "In a.rs and b.rs.");
        let call = serde_json::json!({"tool": "read_file", "input": "src/c.rs", "output": "d.rs"});
        answer.tool_calls.push(serde_json::from_value(call).unwrap());
        let found = mentions(&[
            Arc::new(Message::new(Role::User, "see ab.rs")),
            Arc::new(answer),
            Arc::new(Message::new(Role::User, "ab.rs")),
        ]);
        let told: Vec<_> = found.iter().map(|mention| (mention.text.as_str(), mention.message)).collect();
        assert_eq!(told, [("ab.rs", 0), ("src/c.rs", 1)]);
    }

    proptest! {
        #[test]
        fn whatever_is_said_what_is_found_stands_in_it(text in ".{0,80}") {
            for (kind, found) in of(&text) {
                prop_assert!(text.contains(&found), "{:?} {}", kind, found);
            }
        }
    }
}
