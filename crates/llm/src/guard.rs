//! A guard that detects repetition loops, which are common with small models, so that the answer can be ended.

use std::collections::HashMap;

/// Minimum length of a sentence that counts. Shorter ones ("}", "- yes") repeat in normal text.
const MIN_SENTENCE_CHARS: usize = 8;
const MAX_SAME_IN_A_ROW: u32 = 4;
const MAX_SAME_IN_ALL: u32 = 6;
/// Minimum length of a sentence that counts when its repetitions are not consecutive.
const MIN_CHARS_IN_ALL: usize = 16;
/// Length of the tail that is checked for a short repeated piece, a loop without sentence ends.
const TAIL_CHARS: usize = 160;
const MAX_PERIOD: usize = 20;

/// Detects repetition in the text of one answer.
#[derive(Default)]
pub struct LoopGuard {
    sentence: String,
    last: String,
    in_a_row: u32,
    seen: HashMap<String, u32>,
    tail: Vec<char>,
}

impl LoopGuard {
    /// Appends text. Returns true if the answer repeats itself so often that it should end here.
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
    fn repeated_sentence_is_a_loop() {
        let mut guard = LoopGuard::default();
        let steps: Vec<bool> = (0..4).map(|_| guard.push("我是一个人工智能助手。")).collect();
        assert_eq!(steps, [false, false, false, true]);
    }

    #[test]
    fn alternating_sentences_are_a_loop() {
        let mut guard = LoopGuard::default();
        let turns = (0..6).map(|_| guard.push("This is the first sentence.\nThis is the second one.\n"));
        assert_eq!(turns.filter(|l| *l).count(), 1);
    }

    #[test]
    fn unpunctuated_repetition_is_a_loop() {
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
