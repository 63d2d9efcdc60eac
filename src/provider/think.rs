//! Some servers leave the model's `<think>…</think>` in the content. This takes it out again, wherever the pieces of
//! the stream are cut.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// What a piece of content turned out to be.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Split {
    pub thinking: String,
    pub text: String,
}

/// Only a tag at the very beginning (after white space) opens a thought: later ones are the answer's own words.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    place: TagState,
    /// Bytes that could still become a tag.
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

    /// The content is over: what was held back was no tag.
    pub fn finish(&mut self) -> Split {
        let held = std::mem::take(&mut self.held);
        match self.place {
            TagState::Inside => Split { thinking: held, text: String::new() },
            TagState::Start | TagState::After | TagState::Outside => Split { thinking: String::new(), text: held },
        }
    }
}

/// How many bytes at the end of `text` could be the beginning of the closing tag.
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
    fn only_a_leading_thought_is_taken_out() {
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
        fn any_cut_gives_the_same(text in "(<think>)?[<a-z/é> \n]{0,20}(</think>)?[a-z <>]{0,9}", cut in 0..60usize) {
            let at = (0..=cut.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap();
            prop_assert_eq!(split([&text[..at], &text[at..]]), split([text.as_str()]));
            let letters: Vec<String> = text.chars().map(String::from).collect();
            prop_assert_eq!(split(letters.iter().map(String::as_str)), split([text.as_str()]));
        }
    }
}
