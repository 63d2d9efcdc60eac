//! A guard notices that an answer goes round in circles, which small models do; the answer is then ended.

use std::collections::HashMap;

/// Shorter sentences ("}", "- yes") repeat in honest text.
const MIN_SENTENCE_CHARS: usize = 8;
const MAX_SAME_IN_A_ROW: u32 = 4;
const MAX_SAME_IN_ALL: u32 = 6;
/// Sentences shorter than this count only when they follow each other.
const MIN_CHARS_IN_ALL: usize = 16;
/// A tail of this many characters that repeats one piece is a loop without sentence ends.
const TAIL_CHARS: usize = 160;
const MAX_PERIOD: usize = 20;

/// Watches the text of one answer.
#[derive(Default)]
pub struct LoopGuard {
    sentence: String,
    last: String,
    in_a_row: u32,
    seen: HashMap<String, u32>,
    tail: Vec<char>,
}

impl LoopGuard {
    /// Adds text; true when the answer repeats itself so often that it should end here.
    pub fn push(&mut self, text: &str) -> bool {
        let mut looping = false;
        for c in text.chars() {
            self.tail.push(c);
            if matches!(c, '\n' | '。' | '！' | '？' | '.' | '!' | '?' | '；' | ';') {
                looping |= self.end_sentence();
            } else {
                self.sentence.push(c);
            }
        }
        let extra = self.tail.len().saturating_sub(TAIL_CHARS);
        self.tail.drain(..extra);
        looping || self.tail_repeats()
    }

    fn end_sentence(&mut self) -> bool {
        let sentence = std::mem::take(&mut self.sentence).trim().to_owned();
        let chars = sentence.chars().count();
        if chars < MIN_SENTENCE_CHARS || sentence.chars().all(|c| !c.is_alphanumeric()) {
            return false;
        }
        self.in_a_row = if sentence == self.last { self.in_a_row + 1 } else { 1 };
        self.last.clone_from(&sentence);
        let all = self.seen.entry(sentence).or_insert(0);
        *all += 1;
        self.in_a_row >= MAX_SAME_IN_A_ROW || (chars >= MIN_CHARS_IN_ALL && *all >= MAX_SAME_IN_ALL)
    }

    fn tail_repeats(&self) -> bool {
        let n = self.tail.len();
        n == TAIL_CHARS
            && self.tail.iter().any(|c| c.is_alphanumeric())
            && (1..=MAX_PERIOD).any(|p| (p..n).all(|i| self.tail[i] == self.tail[i - p]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_sentence_again_and_again_is_a_loop() {
        let mut guard = LoopGuard::default();
        let steps: Vec<bool> = (0..4).map(|_| guard.push("我是一个人工智能助手。")).collect();
        assert_eq!(steps, [false, false, false, true]);
    }

    #[test]
    fn two_sentences_taking_turns_are_a_loop() {
        let mut guard = LoopGuard::default();
        let turns = (0..6).map(|_| guard.push("This is the first sentence.\nThis is the second one.\n"));
        assert_eq!(turns.filter(|l| *l).count(), 1);
    }

    #[test]
    fn a_tail_without_sentence_ends_is_a_loop() {
        let mut guard = LoopGuard::default();
        assert!((0..60).any(|_| guard.push("very, ")));
    }

    #[test]
    fn code_lists_and_rules_are_not_loops() {
        let mut guard = LoopGuard::default();
        let code = "if a {\n    x();\n}\n".repeat(3) + &"}\n".repeat(20) + &"-".repeat(300) + "\n";
        assert!(!guard.push(&code));
        let list: String = (0..60).map(|i| format!("- item number {i}\n")).collect();
        assert!(!guard.push(&list));
    }
}
