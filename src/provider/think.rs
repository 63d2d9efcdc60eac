//! Extracts the model's `<think>…</think>`, which some servers leave in the content, wherever the stream is split into
//! pieces.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// The thinking and the text in a piece of content.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Split {
    pub thinking: String,
    pub text: String,
}

/// Separates thinking from text. Only a tag at the very beginning (after white space) starts a thought: later ones are
/// part of the answer.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    place: TagState,
    /// Bytes that may still become a tag.
    held: String,
}

#[derive(Debug, Default, Clone, Copy)]
enum TagState {
    #[default]
    Start,
    Inside,
    /// After the closing tag, where white space separates thought and answer and belongs to neither.
    After,
    Outside,
}

impl Splitter {
    pub fn push(&mut self, piece: &str) -> Split {
        let mut split = Split::default();
        self.held.push_str(piece);
        loop {
            match self.place {
                TagState::Start => {
                    let trimmed = self.held.trim_start();
                    if let Some(rest) = trimmed.strip_prefix(OPEN) {
                        self.held = rest.to_owned();
                        self.place = TagState::Inside;
                    } else if OPEN.starts_with(trimmed) {
                        return split;
                    } else {
                        self.place = TagState::Outside;
                    }
                }
                TagState::Inside => {
                    if let Some(at) = self.held.find(CLOSE) {
                        split.thinking.push_str(&self.held[..at]);
                        self.held.drain(..at + CLOSE.len());
                        self.place = TagState::After;
                    } else {
                        let sure = self.held.len() - tag_begun(&self.held);
                        split.thinking.extend(self.held.drain(..sure));
                        return split;
                    }
                }
                TagState::After => {
                    let text = self.held.trim_start();
                    if text.is_empty() {
                        self.held.clear();
                        return split;
                    }
                    self.held = text.to_owned();
                    self.place = TagState::Outside;
                }
                TagState::Outside => {
                    split.text.push_str(&std::mem::take(&mut self.held));
                    return split;
                }
            }
        }
    }

    /// Ends the content and returns what was held back, which was not a tag.
    pub fn finish(&mut self) -> Split {
        let held = std::mem::take(&mut self.held);
        match self.place {
            TagState::Inside => Split { thinking: held, text: String::new() },
            TagState::Start | TagState::After | TagState::Outside => Split { thinking: String::new(), text: held },
        }
    }
}

/// Returns how many bytes at the end of `text` may be the beginning of the closing tag.
fn tag_begun(text: &str) -> usize {
    (1..CLOSE.len()).rev().find(|n| text.ends_with(&CLOSE[..*n])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (String, String) {
        let (mut splitter, mut all) = (Splitter::default(), Split::default());
        for piece in pieces {
            let part = splitter.push(piece);
            all.thinking.push_str(&part.thinking);
            all.text.push_str(&part.text);
        }
        let rest = splitter.finish();
        (all.thinking + &rest.thinking, all.text + &rest.text)
    }

    #[test]
    fn only_leading_thought_is_extracted() {
        let pair = |thinking: &str, text: &str| (thinking.to_owned(), text.to_owned());
        assert_eq!(split(["<think>a < b</think>\n\nyes"]), pair("a < b", "yes"));
        assert_eq!(split(["\n<think></think>x"]), pair("", "x"));
        assert_eq!(split(["no <think>tag</think>"]), pair("", "no <think>tag</think>"));
        assert_eq!(split(["<think>never closed</thi"]), pair("never closed</thi", ""));
        assert_eq!(split(["<thin"]), pair("", "<thin"));
        assert_eq!(split(["  plain "]), pair("", "  plain "));
    }

    proptest! {
        #[test]
        fn thinking_is_independent_of_chunking(text in "(<think>)?[<a-z/é> \n]{0,20}(</think>)?[a-z <>]{0,9}", cut in 0..60usize) {
            let at = (0..=cut.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap();
            prop_assert_eq!(split([&text[..at], &text[at..]]), split([text.as_str()]));
            let letters: Vec<String> = text.chars().map(String::from).collect();
            prop_assert_eq!(split(letters.iter().map(String::as_str)), split([text.as_str()]));
        }
    }
}
