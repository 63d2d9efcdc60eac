//! Finds what a text names and a summary of it may lose: addresses, file paths, ids, numbers, questions. It goes by
//! form and not by meaning, so it misses what is named in other words, and a match may not be a name.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Serialize;

use super::message::{Message, Role};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MentionKind {
    Url,
    /// A path, or the name of a file.
    Path,
    /// Letters and digits in one word: a hash, a ticket, a version.
    Id,
    Number,
    /// A sentence that ends with a question mark.
    Question,
}

/// Something that a message names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Mention {
    pub kind: MentionKind,
    /// The text as it appears in the message.
    pub text: String,
    /// Role of the message that names it first.
    pub role: Role,
    /// 0-based index of that message among those that were searched.
    pub message: usize,
}

/// Maximum characters of a question; a longer one is truncated.
const LONGEST_QUESTION: usize = 200;
/// Maximum bytes of a word; a longer one is data and not a name.
const LONGEST_WORD: usize = 300;

/// Returns what the messages name, each thing once, in order: in their text, in the input of tools, and as names of
/// attached files. The output of tools and the text of files are not searched.
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

/// Splits a text into words that may be paths or addresses, without the punctuation around them. A path or file name
/// that is quoted as code is one word.
fn words(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, part) in text.split('`').enumerate() {
        let quoted = part.trim();
        let is_name = at % 2 == 1 && !quoted.is_empty() && !quoted.contains(char::is_whitespace);
        if is_name && (quoted.contains('/') || quoted.contains('.')) {
            found.push(quoted);
        } else {
            let words = parts(part).flat_map(values).map(bare);
            found.extend(words.filter(|word| !word.is_empty() && word.len() <= LONGEST_WORD));
        }
    }
    found
}

/// Splits a text at the characters between words. A comma before a group of three digits is part of a number.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut begun = 0;
    let ends = text.char_indices().filter(|(at, c)| is_between(*c) && !(*c == ',' && is_in_number(text, *at)));
    let bounds = ends.map(|(at, c)| (at, at + c.len_utf8())).chain([(text.len(), text.len())]);
    bounds.map(move |(end, next)| &text[std::mem::replace(&mut begun, next)..end])
}

/// Returns whether the comma at this byte groups the digits of a number, as in 98,000.
fn is_in_number(text: &str, comma: usize) -> bool {
    let (before, after) = (&text.as_bytes()[..comma], &text.as_bytes()[comma + 1..]);
    let group = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
    before.last().is_some_and(u8::is_ascii_digit) && group == 3
}

/// Returns whether the character separates words. So does every character of a script that is written without spaces.
fn is_between(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '"' | '\'' | '<' | '>' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | ',' | ';' | '*')
        || !c.is_ascii() && !('\u{c0}'..'\u{250}').contains(&c)
}

/// Splits `NAME=value`, which names two things. An address may contain `=`, so it stays whole.
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
    let number = word.bytes().all(|b| b.is_ascii_digit() || b"+-.,:%#/$".contains(&b));
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
        // “and/or” is not a path; “src/engine/” and “/etc” are.
        Some(folder) => {
            named && (has_ending || folder.contains('/') || word.starts_with(['/', '.', '~']) || name.is_empty())
        }
        // “e.g” and “3.5x” are not files.
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
    fn each_kind_is_recognised_by_shape() {
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
    fn number_with_commas_is_one() {
        assert_eq!(
            texts("It costs $98,000, or 1,250,000 in 10, 20 or 30,40 parts.", Number),
            ["$98,000", "1,250,000", "10", "20", "30", "40"]
        );
        assert_eq!(texts("共98,000元", Number), ["98,000"]);
    }

    #[test]
    fn mentions_are_found_in_chinese() {
        let text = "打开`memory/计划.md`和/etc/hosts，端口是8002。为什么不行？好。";
        assert_eq!(texts(text, Path), ["memory/计划.md", "/etc/hosts"]);
        assert_eq!(texts(text, Number), ["8002"]);
        assert_eq!(texts(text, Question), ["为什么不行？"]);
    }

    #[test]
    fn ordinary_words_are_not_mentions() {
        for text in ["and/or", "e.g. this", "What a day!", "It is 3 o'clock.", "1. one 2. two", "a - b", "?!"] {
            let found: Vec<_> = of(text).into_iter().filter(|(kind, _)| *kind != Question).collect();
            assert_eq!(found, [], "{text}");
        }
        assert_eq!(texts("Look at v1.5? Or not. Why? Really?", Question), ["Look at v1.5?", "Why?", "Really?"]);
    }

    #[test]
    fn attachment_names_count_and_their_text_does_not() {
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
        fn every_mention_occurs_in_the_text(text in ".{0,80}") {
            for (kind, found) in of(&text) {
                prop_assert!(text.contains(&found), "{:?} {}", kind, found);
            }
        }
    }
}
