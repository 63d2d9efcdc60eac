//! Searches messages for words. A word is also found inside other words, so that the search works for Chinese.

use super::message::{Message, Role};

/// Characters of an excerpt before and after the first word found.
const BEFORE: usize = 50;
const AFTER: usize = 130;

/// The words to search for; a text matches if it contains all of them. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchTerms(Vec<String>);

/// A message that contains all words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageMatch {
    /// Index of the message in the session.
    pub index: usize,
    /// The tool, if the words are in one of its calls and not in the message's text.
    pub tool: Option<String>,
    /// Name of the file, if the words are in an attachment.
    pub attachment: Option<String>,
    /// One line of text around the first word found.
    pub excerpt: String,
}

/// A line of a text that contains all words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineMatch {
    /// Counted from 1.
    pub line: usize,
    /// The line, or what of it is around the first word found.
    pub excerpt: String,
}

impl SearchTerms {
    /// Returns `None` if the query contains no word.
    pub fn parse(query: &str) -> Option<Self> {
        let words: Vec<String> = query.split_whitespace().map(lower).collect();
        (!words.is_empty()).then_some(Self(words))
    }

    pub fn are_in(&self, text: &str) -> bool {
        let text = lower(text);
        self.0.iter().all(|word| text.contains(word))
    }

    /// Returns the messages that contain all words, in order.
    pub fn find<'a>(&self, messages: impl IntoIterator<Item = &'a Message>) -> Vec<MessageMatch> {
        let found = messages.into_iter().enumerate().filter(|(_, message)| message.role != Role::System);
        found.filter_map(|(index, message)| self.in_message(index, message)).collect()
    }

    /// Returns the lines that contain all words, in order.
    pub fn lines<'a>(&'a self, text: &'a str) -> impl Iterator<Item = LineMatch> + 'a {
        let in_line = |(index, line): (usize, &str)| Some(LineMatch { line: index + 1, excerpt: self.excerpt(line)? });
        text.lines().enumerate().filter_map(in_line)
    }

    fn in_message(&self, index: usize, message: &Message) -> Option<MessageMatch> {
        if let Some(excerpt) = self.excerpt(&message.content) {
            return Some(MessageMatch { index, tool: None, attachment: None, excerpt });
        }
        let mut files = message.attachments.iter();
        let in_file = files.find_map(|file| {
            let excerpt = self.excerpt(&file.name).or_else(|| self.excerpt(&file.content))?;
            Some(MessageMatch { index, tool: None, attachment: Some(file.name.clone()), excerpt })
        });
        if in_file.is_some() {
            return in_file;
        }
        message.tool_calls.iter().find_map(|call| {
            let excerpt = self.excerpt(&call.input).or_else(|| self.excerpt(&call.output))?;
            Some(MessageMatch { index, tool: Some(call.tool.clone()), attachment: None, excerpt })
        })
    }

    fn excerpt(&self, text: &str) -> Option<String> {
        let small = lower(text);
        let places: Option<Vec<usize>> = self.0.iter().map(|word| small.find(word)).collect();
        let first = places?.into_iter().min()?;
        // Lowercasing keeps the number of characters, but not of bytes.
        let first = small[..first].chars().count();
        let from = first.saturating_sub(BEFORE);
        let mut rest = text.chars().skip(from);
        let stretch: String = rest.by_ref().take(first - from + AFTER).collect();
        let words = stretch.split_whitespace().collect::<Vec<_>>().join(" ");
        let (head, tail) = (if from > 0 { "…" } else { "" }, if rest.next().is_some() { "…" } else { "" });
        Some(format!("{head}{words}{tail}"))
    }
}

/// Converts a text to lower case, character by character.
fn lower(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().map(|char| char.to_lowercase().next().unwrap_or(char)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Attachment, ToolCall};
    use std::sync::Arc;

    fn said(role: Role, content: &str) -> Message {
        Message::new(role, content)
    }

    fn found(query: &str, messages: &[Message]) -> Vec<(usize, Option<String>, String)> {
        let wanted = SearchTerms::parse(query).unwrap();
        wanted.find(messages).into_iter().map(|f| (f.index, f.tool, f.excerpt)).collect()
    }

    #[test]
    fn all_words_match_within_one_message() {
        let messages = [said(Role::User, "Where is the KEY?"), said(Role::Assistant, "The key is in the drawer.")];
        assert_eq!(found("drawer Key", &messages), [(1, None, "The key is in the drawer.".to_owned())]);
        assert_eq!(found("key", &messages).len(), 2);
        assert_eq!(found("key roses", &messages), []);
        assert_eq!(SearchTerms::parse(" \n"), None);
    }

    #[test]
    fn finds_chinese_and_survives_lowercase_growth() {
        let messages = [said(Role::User, "请帮我整理三月的发票"), said(Role::User, "İİİİ Straße ÄRGER")];
        assert_eq!(found("三月 发票", &messages)[0].0, 0);
        assert_eq!(found("ärger", &messages), [(1, None, "İİİİ Straße ÄRGER".to_owned())]);
    }

    #[test]
    fn excerpt_is_one_line_around_first_match() {
        let long = format!("{}\n\nthe needle {}", "a ".repeat(100), "z ".repeat(100));
        let [(_, _, excerpt)] = &found("needle", &[said(Role::User, &long)])[..] else { panic!("not found") };
        assert!(
            excerpt.starts_with("…a a") && excerpt.ends_with("z…") && excerpt.contains("a the needle z"),
            "{excerpt}"
        );
        assert!(excerpt.chars().count() < BEFORE + AFTER + 3);
    }

    #[test]
    fn lines_are_counted_from_one_and_contain_all_words() {
        let terms = SearchTerms::parse("TEA 绿").unwrap();
        let lines: Vec<_> = terms.lines("tea\n\n绿色 tea\r\n绿\n  Tea: 绿").map(|l| (l.line, l.excerpt)).collect();
        assert_eq!(lines, [(3, "绿色 tea".to_owned()), (5, "Tea: 绿".to_owned())]);
    }

    #[test]
    fn search_covers_tool_calls_but_not_system_prompt() {
        let mut message = said(Role::Assistant, "I look.");
        let call = serde_json::json!({"tool": "terminal", "input": "ls invoices", "output": "march.pdf"});
        message.tool_calls.push(serde_json::from_value::<ToolCall>(call).unwrap());
        let messages = [said(Role::System, "march"), message];
        assert_eq!(found("march", &messages), [(1, Some("terminal".to_owned()), "march.pdf".to_owned())]);
        assert_eq!(found("ls march", &messages), [], "not across the two");
    }

    #[test]
    fn attachments_are_searched_by_name_and_text() {
        let mut message = said(Role::User, "");
        let file = Attachment::new("march.csv", None, "rent,900".to_owned()).unwrap();
        message.attachments.push(Arc::new(file));
        let in_file = |query: &str| {
            let found = SearchTerms::parse(query).unwrap().find([&message]);
            found.into_iter().map(|found| (found.attachment.unwrap(), found.excerpt)).collect::<Vec<_>>()
        };
        assert_eq!(in_file("Rent"), [("march.csv".to_owned(), "rent,900".to_owned())]);
        assert_eq!(in_file("march"), [("march.csv".to_owned(), "march.csv".to_owned())]);
        assert_eq!(in_file("april"), []);
    }
}
