//! Normalises a text before segmentation: replaces compatibility characters and turns runs of spaces into one visible space.
//!
//! The replacements are part of the model. A SentencePiece file has a double-array trie of byte strings (Darts-clone) whose
//! values are offsets of zero-terminated replacements; other files list single characters with their replacements.
//! Source: SentencePiece, `normalizer.cc`.

use std::collections::HashMap;

/// The visible space `▁`, which replaces a space so that tokens can begin with it.
pub(super) const SPACE: &str = "\u{2581}";

pub(crate) struct Normalizer {
    map: Map,
}

enum Map {
    Trie { units: Vec<u32>, replacements: Vec<u8> },
    Characters(HashMap<char, String>),
}

impl Normalizer {
    /// Reads a replacement table. `map` consists of the length of the trie in bytes (little-endian `u32`), the trie and the
    /// replacements; an empty `map` replaces nothing. Returns `None` if `map` is malformed.
    pub fn new(map: &[u8]) -> Option<Self> {
        if map.is_empty() {
            return Some(Self::from_characters(HashMap::new()));
        }
        let (length, rest) = map.split_first_chunk()?;
        let (trie, replacements) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
        let (units, odd) = trie.as_chunks();
        let whole = odd.is_empty() && std::str::from_utf8(replacements).is_ok();
        let units = units.iter().map(|unit| u32::from_le_bytes(*unit)).collect();
        whole.then(|| Self { map: Map::Trie { units, replacements: replacements.to_vec() } })
    }

    /// Creates a normalizer that replaces single characters.
    pub fn from_characters(replacements: HashMap<char, String>) -> Self {
        Self { map: Map::Characters(replacements) }
    }

    /// Returns the normalised text, without spaces at either end but with [`SPACE`] before each word. Stops after the
    /// replacement with which the result reaches `limit` bytes.
    pub fn normalize(&self, text: &str, limit: usize) -> String {
        self.normalize_with_offsets(text, limit, |_, _| {})
    }

    /// Like [`Self::normalize`], and calls `each` for every character or replacement that is not a space, with its byte offset
    /// in the result and the byte offset of its source in `text`.
    pub fn normalize_with_offsets(&self, text: &str, limit: usize, mut each: impl FnMut(usize, usize)) -> String {
        let mut out = String::new();
        let mut rest = text;
        // Initially true, to drop leading spaces.
        let mut after_space = true;
        while !rest.is_empty() && out.len() < limit {
            let (mut piece, behind) = self.first(rest);
            let from = text.len() - rest.len();
            rest = behind;
            if after_space {
                piece = piece.trim_start_matches(' ');
            }
            if piece.is_empty() {
                continue;
            }
            if out.is_empty() {
                out.push_str(SPACE);
            }
            after_space = piece.ends_with(' ');
            if piece != " " {
                each(out.len(), from);
            }
            piece.split_inclusive(' ').for_each(|part| match part.strip_suffix(' ') {
                Some(word) => out.extend([word, SPACE]),
                None => out.push_str(part),
            });
        }
        out.truncate(out.trim_end_matches(SPACE).len());
        out
    }

    /// Returns the replacement of the longest prefix that has one (otherwise the first character), and the rest of the text.
    fn first<'t>(&'t self, text: &'t str) -> (&'t str, &'t str) {
        let first = text.chars().next().map_or(0, char::len_utf8);
        let replaced = match &self.map {
            Map::Trie { units, replacements } => longest(units, replacements, text.as_bytes()),
            Map::Characters(map) => {
                let replacement = text.chars().next().and_then(|first| map.get(&first));
                replacement.map(|replacement| (first, replacement.as_str()))
            }
        };
        if let Some((length, replacement)) = replaced
            && let Some((_, rest)) = text.split_at_checked(length)
        {
            return (replacement, rest);
        }
        text.split_at(first)
    }
}

/// Returns the length and the replacement of the longest prefix of `text` that is in the trie.
fn longest<'m>(units: &[u32], replacements: &'m [u8], text: &[u8]) -> Option<(usize, &'m str)> {
    let mut node = offset(*units.first()?);
    let mut longest = None;
    for (at, byte) in text.iter().enumerate() {
        node ^= usize::from(*byte);
        let Some(unit) = units.get(node).filter(|unit| **unit & 0x8000_00ff == u32::from(*byte)) else {
            break;
        };
        node ^= offset(*unit);
        if unit & 0x100 != 0 {
            let value = units.get(node).map(|unit| unit & 0x7fff_ffff);
            longest = value.and_then(|value| Some((at + 1, replacement(replacements, value)?))).or(longest);
        }
    }
    longest
}

fn replacement(replacements: &[u8], at: u32) -> Option<&str> {
    let from = replacements.get(usize::try_from(at).ok()?..)?;
    let end = from.iter().position(|byte| *byte == 0)?;
    std::str::from_utf8(&from[..end]).ok()
}

fn offset(unit: u32) -> usize {
    // 22 bits shifted left by at most 8, so the result fits 32 bits.
    ((unit >> 10) << ((unit & 0x200) >> 6)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain() -> Normalizer {
        Normalizer::new(&[]).unwrap()
    }

    /// Builds a map that replaces single bytes.
    fn map(pairs: &[(u8, &str)]) -> Vec<u8> {
        // The root's children begin at 256. The value of a leaf is stored at the index that its offset yields, here 512 + byte.
        let mut units = vec![0_u32; 1024];
        units[0] = 256 << 10;
        let mut replacements = Vec::new();
        for (byte, replacement) in pairs {
            let node = 256 ^ usize::from(*byte);
            let leaf = 512 + usize::from(*byte);
            units[node] = ((node ^ leaf) as u32) << 10 | 0x100 | u32::from(*byte);
            units[leaf] = 0x8000_0000 | replacements.len() as u32;
            replacements.extend_from_slice(replacement.as_bytes());
            replacements.push(0);
        }
        let trie: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        [&(trie.len() as u32).to_le_bytes()[..], &trie, &replacements].concat()
    }

    #[test]
    fn spaces_are_collapsed_and_precede_words() {
        let plain = plain();
        for (text, normal) in
            [("", ""), ("   ", ""), ("a", "▁a"), ("  a  b ", "▁a▁b"), ("日本 語", "▁日本▁語"), ("\u{0}", "▁\u{0}")]
        {
            assert_eq!(plain.normalize(text, 100), normal, "{text:?}");
        }
    }

    #[test]
    fn trie_replaces_characters() {
        let map = map(&[(b'\t', " "), (b'A', "a"), (b'!', ""), (b'%', " per cent ")]);
        let normalizer = Normalizer::new(&map).unwrap();
        assert_eq!(normalizer.normalize("\tA!\t b A%%", 100), "▁a▁b▁a▁per▁cent▁per▁cent");
        assert_eq!(normalizer.normalize("\t!!", 100), "");
    }

    #[test]
    fn character_list_replaces_characters() {
        let map = [('\u{3000}', " "), ('Ａ', "a"), ('!', ""), ('㎏', "kg"), ('½', "1/2 ")];
        let normalizer = Normalizer::from_characters(map.map(|(from, to)| (from, to.to_owned())).into());
        assert_eq!(normalizer.normalize("\u{3000}Ａ!\u{3000} b 3㎏½", 100), "▁a▁b▁3kg1/2");
        assert_eq!(normalizer.normalize("!!", 100), "");
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        let normal = plain().normalize(&"é".repeat(1000), 10);
        assert_eq!(normal, "▁éééé");
        assert_eq!(plain().normalize(&" ".repeat(1 << 20), 10), "");
    }

    proptest! {
        #[test]
        fn any_map_and_any_text_are_handled(map: Vec<u8>, units: Vec<u32>, text: String) {
            let trie: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
            let whole = [&(trie.len() as u32).to_le_bytes()[..], &trie, b"x\0 y\0\0"].concat();
            for map in [map, whole] {
                if let Some(normalizer) = Normalizer::new(&map) {
                    let normal = normalizer.normalize(&text, 64);
                    prop_assert!(!normal.contains(' ') && !normal.ends_with(SPACE));
                }
            }
        }

        #[test]
        fn normalization_is_idempotent(text in "[a-c é]{0,20}") {
            let plain = plain();
            let once = plain.normalize(&text, 1000);
            prop_assert_eq!(plain.normalize(&once.replace(SPACE, " "), 1000), once);
        }
    }
}
