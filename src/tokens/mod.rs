//! Counts the tokens of a text exactly, with the vocabulary cl100k_base. docs/tokens.md explains why this is not a
//! crate.
//!
//! Names of control tokens such as `<|endoftext|>` are ordinary text here, as they are in what a person or a file says.

mod pieces;
mod vocabulary;

use std::collections::HashMap;
use std::mem;
use std::sync::{Mutex, OnceLock, PoisonError};

use sha2::{Digest, Sha256};

use pieces::PreTokenizer;
use vocabulary::Vocabulary;

/// Counts per generation of the cache: more than a full context has messages, so that a long conversation is counted
/// once. Both generations take half a megabyte when full.
const GENERATION: usize = 8192;
/// Below this many bytes, counting is as fast as a cache lookup.
const WORTH_REMEMBERING: usize = 32;

/// Counts tokens. Creating one is cheap: the first count builds the index of the vocabulary (about 1.4 MB).
#[derive(Default)]
pub struct Counter {
    encoder: OnceLock<(PreTokenizer, Vocabulary)>,
    remembered: Mutex<CountCache>,
}

impl Counter {
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of cl100k_base tokens in `text`.
    pub fn count(&self, text: &str) -> usize {
        let (pieces, vocabulary) = self.encoder.get_or_init(|| (PreTokenizer::load(), Vocabulary::load()));
        let mut rest = text;
        let mut count = 0;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(pieces.next(rest));
            count += vocabulary.count_piece(piece.as_bytes());
            rest = after;
        }
        count
    }

    /// Returns the same number from a cache: a recently counted text is recognised by its SHA-256 and not counted
    /// again.
    pub fn count_cached(&self, text: &str) -> usize {
        if text.len() < WORTH_REMEMBERING {
            return self.count(text);
        }
        let key = key(text);
        if let Some(count) = self.remembered().get(key) {
            return count;
        }
        let count = self.count(text);
        self.remembered().put(key, count);
        count
    }

    /// Ignores poisoning: each count is written in one step, so a panic under the lock cannot leave a wrong one.
    fn remembered(&self) -> std::sync::MutexGuard<'_, CountCache> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Key = [u8; 16];

fn key(text: &str) -> Key {
    let digest = Sha256::digest(text.as_bytes());
    let mut key = Key::default();
    key.copy_from_slice(&digest[..16]);
    key
}

/// A bounded cache of two generations: when the young one is full it becomes the old one, whose counts are evicted
/// unless they are used in the meantime.
#[derive(Default)]
struct CountCache {
    young: HashMap<Key, usize>,
    old: HashMap<Key, usize>,
}

impl CountCache {
    fn get(&mut self, key: Key) -> Option<usize> {
        if let Some(&count) = self.young.get(&key) {
            return Some(count);
        }
        let count = self.old.remove(&key)?;
        self.put(key, count);
        Some(count)
    }

    fn put(&mut self, key: Key, count: usize) {
        if self.young.len() >= GENERATION {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(key, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::LazyLock;
    use tiktoken_rs::CoreBPE;

    static COUNTER: LazyLock<Counter> = LazyLock::new(Counter::new);
    static REFERENCE: LazyLock<CoreBPE> = LazyLock::new(|| tiktoken_rs::cl100k_base().unwrap());

    fn exact(text: &str) -> usize {
        REFERENCE.encode_ordinary(text).len()
    }

    #[test]
    fn counts_match_reference() {
        let long = ["a".repeat(5000), " ".repeat(5000), "一".repeat(3000), "=-".repeat(900), "\r\n \n".repeat(300)];
        let texts = [
            "",
            " ",
            "Hello, world!",
            "<|endoftext|><|im_start|>system<|fim_prefix|>",
            "I'LL say it'S theirs, we've don'ſt 'RE x'Ve '",
            "你好，世界！今天天气怎么样？\n\n我叫小明。",
            "👩‍👩‍👧‍👦 🇨🇳 e\u{301} \u{200b}\u{feff}Ⅷ½ ٣٤٥٦ ａｂｃ１２３４",
            "fn main() {\n    println!(\"{:?}\", x);\n\t\t// done  \n}\n",
            "12345678 3.14159 1,000,000 0xdeadbeef",
            "  two\u{3000}\u{a0} spaces \u{2028} \n \r\n\r x  \n  ",
            "देवनागरी ไทย العربية עברית ǅ ʰ ª",
        ];
        for text in texts.into_iter().map(str::to_owned).chain(long) {
            assert_eq!(COUNTER.count(&text), exact(&text), "{text:?}");
        }
    }

    #[test]
    fn cached_count_is_exact_and_cache_is_bounded() {
        let counter = Counter::new();
        let text = "the same file, looked at twice. ".repeat(20);
        let count = exact(&text);
        assert_eq!(counter.count_cached(&text), count);
        assert_eq!(counter.count_cached(&text), count);
        assert_eq!(counter.remembered().young.len(), 1);
        for n in 0..3 * GENERATION {
            counter.remembered().put(key(&n.to_string()), n);
            assert_eq!(counter.count_cached(&text), count);
        }
        let remembered = counter.remembered();
        assert!(remembered.young.len() <= GENERATION && remembered.old.len() <= GENERATION);
        assert!(remembered.young.contains_key(&key(&text)) || remembered.old.contains_key(&key(&text)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(2000)))]
        #[test]
        fn every_text_has_the_reference_count(
            text in prop_oneof![
                "\\PC{0,80}",
                any::<String>(),
                "[a-zA-Z' \\n\\r\\t0-9.,;{}()_/-]{0,200}",
                "([一-龥，。？！ ]|[a-z0-9]){0,80}",
                "(<\\|endoftext\\|>|'ll|'S|ſ|  |\\n|\\r\\n|[😀-🙏]|[０-９]|é|\u{301}|x){0,40}",
                "[ab]{90,260}",
            ]
        ) {
            prop_assert_eq!(COUNTER.count(&text), exact(&text));
        }
    }
}
