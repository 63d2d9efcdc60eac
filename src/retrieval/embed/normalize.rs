//! The form of a text that its pieces are looked up in: compatibility characters unfolded, spaces single and visible.
//!
//! Which characters become what is data in the model: a double array trie of byte strings (Darts-clone) whose values
//! point to replacements that end in a zero byte. Source: SentencePiece, `normalizer.cc`.

/// What a space becomes, so that pieces can begin with one: `▁`.
pub(super) const SPACE: &str = "\u{2581}";

#[derive(Default)]
pub(super) struct Normalizer {
    units: Vec<u32>,
    replacements: Vec<u8>,
}

impl Normalizer {
    /// `map` is the length of the trie in bytes, the trie, and the replacements; an empty one changes no character.
    /// `None` when it is none of these.
    pub fn new(map: &[u8]) -> Option<Self> {
        if map.is_empty() {
            return Some(Self::default());
        }
        let (length, rest) = map.split_first_chunk()?;
        let (trie, replacements) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
        let (units, odd) = trie.as_chunks();
        let whole = odd.is_empty() && std::str::from_utf8(replacements).is_ok();
        let units = units.iter().map(|unit| u32::from_le_bytes(*unit)).collect();
        whole.then(|| Self { units, replacements: replacements.to_vec() })
    }

    /// The normal form, without spaces at either end, each word begun by [`SPACE`]. What comes after `limit` bytes is
    /// left out, by whole characters.
    pub fn normalize(&self, text: &str, limit: usize) -> String {
        let mut out = String::new();
        let mut rest = text;
        // Nothing was said yet: a space here would only be trimmed.
        let mut after_space = true;
        while !rest.is_empty() && out.len() < limit {
            let (mut piece, behind) = self.first(rest);
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
            piece.split_inclusive(' ').for_each(|part| match part.strip_suffix(' ') {
                Some(word) => out.extend([word, SPACE]),
                None => out.push_str(part),
            });
        }
        out.truncate(out.trim_end_matches(SPACE).len());
        out
    }

    /// The longest beginning that has a replacement, else the first character as it is; and what comes after.
    fn first<'t>(&'t self, text: &'t str) -> (&'t str, &'t str) {
        if let Some((length, replacement)) = self.longest(text.as_bytes())
            && let Some((_, rest)) = text.split_at_checked(length)
        {
            return (replacement, rest);
        }
        text.split_at(text.chars().next().map_or(0, char::len_utf8))
    }

    fn longest(&self, text: &[u8]) -> Option<(usize, &str)> {
        let mut node = offset(*self.units.first()?);
        let mut longest = None;
        for (at, byte) in text.iter().enumerate() {
            node ^= usize::from(*byte);
            let Some(unit) = self.units.get(node).filter(|unit| **unit & 0x8000_00ff == u32::from(*byte)) else {
                break;
            };
            node ^= offset(*unit);
            if unit & 0x100 != 0 {
                let value = self.units.get(node).map(|unit| unit & 0x7fff_ffff);
                longest = value.and_then(|value| Some((at + 1, self.replacement(value)?))).or(longest);
            }
        }
        longest
    }

    fn replacement(&self, at: u32) -> Option<&str> {
        let from = self.replacements.get(usize::try_from(at).ok()?..)?;
        let end = from.iter().position(|byte| *byte == 0)?;
        std::str::from_utf8(&from[..end]).ok()
    }
}

fn offset(unit: u32) -> usize {
    // 22 bits, shifted by at most 8: fits 32 bits.
    ((unit >> 10) << ((unit & 0x200) >> 6)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A map of single bytes, for tests: each becomes its replacement.
    fn map(pairs: &[(u8, &str)]) -> Vec<u8> {
        // The root's children begin at 256; a leaf's value stands where its offset leads, here at 512 + byte.
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
    fn spaces_are_single_and_stand_before_words() {
        let plain = Normalizer::default();
        for (text, normal) in
            [("", ""), ("   ", ""), ("a", "▁a"), ("  a  b ", "▁a▁b"), ("日本 語", "▁日本▁語"), ("\u{0}", "▁\u{0}")]
        {
            assert_eq!(plain.normalize(text, 100), normal, "{text:?}");
        }
    }

    #[test]
    fn characters_are_replaced_by_the_map() {
        let map = map(&[(b'\t', " "), (b'A', "a"), (b'!', ""), (b'%', " per cent ")]);
        let normalizer = Normalizer::new(&map).unwrap();
        assert_eq!(normalizer.normalize("\tA!\t b A%%", 100), "▁a▁b▁a▁per▁cent▁per▁cent");
        assert_eq!(normalizer.normalize("\t!!", 100), "");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let normal = Normalizer::default().normalize(&"é".repeat(1000), 10);
        assert_eq!(normal, "▁éééé");
        assert_eq!(Normalizer::default().normalize(&" ".repeat(1 << 20), 10), "");
    }

    proptest! {
        #[test]
        fn any_map_and_any_text_are_survived(map: Vec<u8>, units: Vec<u32>, text: String) {
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
        fn normalizing_twice_changes_nothing(text in "[a-c é]{0,20}") {
            let plain = Normalizer::default();
            let once = plain.normalize(&text, 1000);
            prop_assert_eq!(plain.normalize(&once.replace(SPACE, " "), 1000), once);
        }
    }
}
