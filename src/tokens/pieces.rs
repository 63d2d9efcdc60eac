//! The pre-tokeniser: splits text into the pieces inside which bytes are merged.
//!
//! cl100k_base defines it as a regular expression. It is implemented by hand here because a regex engine with
//! look-ahead costs megabytes per thread:
//!
//! ```text
//! '(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s
//! ```

use regex_syntax::hir::{Class, HirKind};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Letter,
    Number,
    Space,
    Other,
}

/// The letters (`\p{L}`) and numbers (`\p{N}`). The standard library's `is_alphabetic` is a wider class.
pub struct PreTokenizer {
    letters: Vec<(char, char)>,
    numbers: Vec<(char, char)>,
}

impl PreTokenizer {
    pub fn load() -> Self {
        Self { letters: ranges(r"\p{L}"), numbers: ranges(r"\p{N}") }
    }

    /// Returns the length in bytes of the piece at the beginning of `text`; 0 only if `text` is empty.
    pub fn next(&self, text: &str) -> usize {
        let mut chars = text.chars();
        let Some(first) = chars.next() else { return 0 };
        let rest = chars.as_str();
        if first == '\''
            && let Some(length) = contraction(rest)
        {
            return 1 + length;
        }
        let kind = self.kind(first);
        if kind == Kind::Letter {
            return self.run(text, Kind::Letter);
        }
        if kind == Kind::Number {
            return text.chars().take(3).take_while(|&c| self.kind(c) == Kind::Number).map(char::len_utf8).sum();
        }
        if first != '\r' && first != '\n' {
            let letters = self.run(rest, Kind::Letter);
            if letters > 0 {
                return first.len_utf8() + letters;
            }
        }
        let blank = usize::from(first == ' ');
        let others = self.run(&text[blank..], Kind::Other);
        if others > 0 {
            let end = blank + others;
            return end + text[end..].bytes().take_while(|b| matches!(b, b'\r' | b'\n')).count();
        }
        self.spaces(text)
    }

    /// Returns the length of the piece at the beginning of `text`, which begins with whitespace.
    fn spaces(&self, text: &str) -> usize {
        let run = self.run(text, Kind::Space);
        if run == text.len() {
            return run;
        }
        if let Some(newline) = text[..run].rfind(['\r', '\n']) {
            return newline + 1;
        }
        // The last space belongs to the piece that follows.
        match text[..run].char_indices().next_back() {
            Some((last, _)) if last > 0 => last,
            _ => run,
        }
    }

    fn run(&self, text: &str, kind: Kind) -> usize {
        text.char_indices().find(|&(_, c)| self.kind(c) != kind).map_or(text.len(), |(at, _)| at)
    }

    fn kind(&self, c: char) -> Kind {
        if c.is_ascii() {
            return match c {
                'a'..='z' | 'A'..='Z' => Kind::Letter,
                '0'..='9' => Kind::Number,
                '\t'..='\r' | ' ' => Kind::Space,
                _ => Kind::Other,
            };
        }
        // Nearly all Chinese text is in this block, and all its characters are letters.
        if ('\u{4e00}'..='\u{9fff}').contains(&c) || within(&self.letters, c) {
            Kind::Letter
        } else if c.is_whitespace() {
            Kind::Space
        } else if within(&self.numbers, c) {
            Kind::Number
        } else {
            Kind::Other
        }
    }
}

/// Returns the length of the part of a contraction (`'s`, `'ll` …) after the apostrophe. Ignores case, so `ſ` counts as
/// `s`.
fn contraction(rest: &str) -> Option<usize> {
    let mut chars = rest.chars();
    let first = chars.next()?;
    match first {
        's' | 'd' | 'm' | 't' | 'S' | 'D' | 'M' | 'T' | 'ſ' => Some(first.len_utf8()),
        _ => match (first.to_ascii_lowercase(), chars.next()?.to_ascii_lowercase()) {
            ('l', 'l') | ('v', 'e') | ('r', 'e') => Some(2),
            _ => None,
        },
    }
}

fn within(ranges: &[(char, char)], c: char) -> bool {
    let after = ranges.partition_point(|&(start, _)| start <= c);
    after > 0 && c <= ranges[after - 1].1
}

fn ranges(class: &str) -> Vec<(char, char)> {
    let hir = regex_syntax::parse(class).expect("a general category is a valid pattern");
    match hir.into_kind() {
        HirKind::Class(Class::Unicode(class)) => class.ranges().iter().map(|r| (r.start(), r.end())).collect(),
        _ => unreachable!("a general category is a class of characters"),
    }
}
