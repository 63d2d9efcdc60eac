//! Conversion of token bytes to text that may be sent: valid UTF-8 across token boundaries, and without stop sequences.

/// Joins bytes into text; an incomplete character waits for its remaining bytes.
#[derive(Default)]
pub struct Utf8Joiner {
    rest: Vec<u8>,
}

impl Utf8Joiner {
    /// Adds the bytes of one token and returns the text that is complete so far. Invalid bytes become U+FFFD.
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

/// Result of [`StopFilter::push`].
#[derive(Debug, PartialEq, Eq)]
pub enum Passed {
    /// Send this text, which may be empty, and continue.
    More(String),
    /// Send this text and stop; a stop sequence follows it.
    Stopped(String),
}

/// Withholds text while it could still become part of a stop sequence.
pub struct StopFilter {
    stops: Vec<String>,
    held: String,
}

impl StopFilter {
    pub fn new(stops: Vec<String>) -> Self {
        Self { stops, held: String::new() }
    }

    /// Adds text and returns the part that cannot belong to a stop sequence.
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

    /// Returns the text still withheld when the answer ends.
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

/// Returns the length in bytes of the longest suffix of `text` that is a proper prefix of `stop`.
fn overlap(text: &str, stop: &str) -> usize {
    let starts = stop.char_indices().map(|(i, c)| i + c.len_utf8());
    starts.filter(|&n| n < stop.len() && text.ends_with(&stop[..n])).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn character_split_over_tokens_is_joined() {
        let bytes = "好a🦀".as_bytes();
        let mut joiner = Utf8Joiner::default();
        let out: Vec<String> = bytes.iter().map(|b| joiner.push(&[*b])).collect();
        assert_eq!(out, ["", "", "好", "a", "", "", "", "🦀"]);
    }

    #[test]
    fn invalid_bytes_do_not_block_later_text() {
        let mut joiner = Utf8Joiner::default();
        assert_eq!(joiner.push(b"a\xffb"), "a\u{fffd}b");
        assert_eq!(joiner.push("é".as_bytes()), "é");
    }

    #[test]
    fn stop_sequence_across_pieces_is_not_sent() {
        let mut filter = StopFilter::new(vec!["\n\n".into(), "END".into()]);
        assert_eq!(filter.push("one\n"), Passed::More("one".into()));
        assert_eq!(filter.push("two E"), Passed::More("\ntwo ".into()));
        assert_eq!(filter.push("ND of it"), Passed::Stopped(String::new()));
    }

    #[test]
    fn held_back_text_is_flushed_at_end() {
        let mut filter = StopFilter::new(vec!["停止".into()]);
        assert_eq!(filter.push("现在停"), Passed::More("现在".into()));
        assert_eq!(filter.finish(), "停");
    }
}
