//! From the bytes of tokens to text that may be sent: valid UTF-8 across token borders, and nothing of a
//! stop sequence.

/// Joins byte pieces into text; an unfinished character waits for its next piece.
#[derive(Default)]
pub struct Utf8Joiner {
    rest: Vec<u8>,
}

impl Utf8Joiner {
    /// Adds the bytes of one token and returns the text that is complete by now. Bytes that can never
    /// become a character turn into U+FFFD.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.rest.extend_from_slice(bytes);
        let mut text = String::new();
        loop {
            match std::str::from_utf8(&self.rest) {
                Ok(valid) => {
                    text.push_str(valid);
                    self.rest.clear();
                    return text;
                }
                Err(e) => {
                    let good = e.valid_up_to();
                    text.push_str(&String::from_utf8_lossy(&self.rest[..good]));
                    let Some(bad) = e.error_len() else {
                        self.rest.drain(..good);
                        return text;
                    };
                    text.push(char::REPLACEMENT_CHARACTER);
                    self.rest.drain(..good + bad);
                }
            }
        }
    }
}

/// What [`StopFilter::push`] lets through.
#[derive(Debug, PartialEq, Eq)]
pub enum Passed {
    /// Send this (possibly empty) text and go on.
    More(String),
    /// Send this text; a stop sequence came right after it.
    Stopped(String),
}

/// Holds text back while it could still become a stop sequence.
pub struct StopFilter {
    stops: Vec<String>,
    held: String,
}

impl StopFilter {
    pub fn new(stops: Vec<String>) -> Self {
        Self { stops, held: String::new() }
    }

    /// Adds text and returns what is certain not to belong to a stop sequence.
    pub fn push(&mut self, text: &str) -> Passed {
        self.held.push_str(text);
        let first = self.stops.iter().filter_map(|s| self.held.find(s.as_str())).min();
        if let Some(at) = first {
            self.held.truncate(at);
            return Passed::Stopped(std::mem::take(&mut self.held));
        }
        let keep = self.stops.iter().map(|s| overlap(&self.held, s)).max().unwrap_or(0);
        let rest = self.held.split_off(self.held.len() - keep);
        Passed::More(std::mem::replace(&mut self.held, rest))
    }

    /// The text still held back when the answer ends.
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

/// Length in bytes of the longest end of `text` that is a beginning of `stop`.
fn overlap(text: &str, stop: &str) -> usize {
    let starts = stop.char_indices().map(|(i, c)| i + c.len_utf8());
    starts.filter(|&n| n < stop.len() && text.ends_with(&stop[..n])).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_split_over_tokens_arrives_whole() {
        let bytes = "好a🦀".as_bytes();
        let mut joiner = Utf8Joiner::default();
        let out: Vec<String> = bytes.iter().map(|b| joiner.push(&[*b])).collect();
        assert_eq!(out, ["", "", "好", "a", "", "", "", "🦀"]);
    }

    #[test]
    fn bytes_that_are_no_character_do_not_block_the_rest() {
        let mut joiner = Utf8Joiner::default();
        assert_eq!(joiner.push(b"a\xffb"), "a\u{fffd}b");
        assert_eq!(joiner.push("é".as_bytes()), "é");
    }

    #[test]
    fn a_stop_sequence_over_two_pieces_is_not_sent() {
        let mut filter = StopFilter::new(vec!["\n\n".into(), "END".into()]);
        assert_eq!(filter.push("one\n"), Passed::More("one".into()));
        assert_eq!(filter.push("two E"), Passed::More("\ntwo ".into()));
        assert_eq!(filter.push("ND of it"), Passed::Stopped(String::new()));
    }

    #[test]
    fn text_held_back_in_vain_comes_at_the_end() {
        let mut filter = StopFilter::new(vec!["停止".into()]);
        assert_eq!(filter.push("现在停"), Passed::More("现在".into()));
        assert_eq!(filter.finish(), "停");
    }
}
