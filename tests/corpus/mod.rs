//! Hostile, broken and unusual documents, and a few intact ones, generated identically for each test.

mod archives;
mod pages;
mod pdfs;

#[allow(unused_imports, reason = "shared between tests that use different parts")]
pub use archives::{Member, docx, docx_of, odt, pptx, zip};
pub use pdfs::pdf_of;

/// A document, and whether its text must be readable.
pub struct Sample {
    /// File name; its extension determines the kind.
    pub name: String,
    pub bytes: Vec<u8>,
    pub text: Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// The document is intact and contains this word.
    Contains(&'static str),
    /// The document is refused for this reason.
    Refused(&'static str),
    /// The result depends on the parser.
    Any,
}

pub fn sample(name: impl Into<String>, bytes: impl Into<Vec<u8>>, text: Text) -> Sample {
    Sample { name: name.into(), bytes: bytes.into(), text }
}

/// Returns all samples, more than 200.
pub fn samples() -> Vec<Sample> {
    let mut all = pdfs::samples();
    all.extend(pages::samples());
    all.extend(archives::samples());
    all
}

/// Deterministic pseudo-random numbers (xorshift).
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

/// Returns `count` damaged variants of a document: truncated, with flipped bits, with a duplicated part, or with a hole.
pub fn broken(whole: &[u8], ending: &str, count: usize) -> Vec<Sample> {
    let made = (0..count).map(|number| {
        let mut numbers = Numbers::new(number as u64 + 1);
        let mut bytes = whole.to_vec();
        match number % 4 {
            0 => bytes.truncate(numbers.below(whole.len())),
            1 => {
                for _ in 0..=numbers.below(20) {
                    let at = numbers.below(bytes.len());
                    bytes[at] ^= 1 << numbers.below(8);
                }
            }
            2 => {
                let from = numbers.below(bytes.len());
                let to = (from + numbers.below(64)).min(bytes.len());
                let part = bytes[from..to].to_vec();
                bytes.splice(from..from, part.repeat(1 + numbers.below(20)));
            }
            _ => {
                let from = numbers.below(bytes.len());
                let to = (from + 1 + numbers.below(64)).min(bytes.len());
                bytes.drain(from..to);
            }
        }
        sample(format!("broken-{ending}-{number:03}.{ending}"), bytes, Text::Any)
    });
    made.collect()
}
