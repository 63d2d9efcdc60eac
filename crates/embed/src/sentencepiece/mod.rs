//! SentencePiece's unigram tokenizer: finds the most probable segmentation of a text into tokens, assuming that tokens are
//! independent. Sources: Kudo 2018, arXiv:1804.10959; SentencePiece, `unigram_model.cc`.

mod normalize;
mod protobuf;

use crate::{InvalidModel, invalid, script};
pub(crate) use normalize::Normalizer;
use normalize::SPACE;
use protobuf::{Fields, Value};

/// Ids of the special tokens: for characters outside the vocabulary, and for the beginning and the end of a text.
#[derive(Clone, Copy)]
pub(crate) struct SpecialTokens {
    pub unknown: u32,
    pub begin: u32,
    pub end: u32,
}

/// SentencePiece's default ids.
const DEFAULT_SPECIAL: SpecialTokens = SpecialTokens { unknown: 0, begin: 1, end: 2 };
/// Difference between the log probabilities of the least probable token and of an unknown character.
const UNKNOWN_PENALTY: f32 = 10.0;
/// Type of a text token in a model file.
const NORMAL: u64 = 1;

/// A text token of the vocabulary.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub text: &'a [u8],
    pub id: u32,
    /// Log probability of the token.
    pub score: f32,
}

pub(crate) struct Tokenizer {
    normalizer: Normalizer,
    special: SpecialTokens,
    /// The bytes of all text tokens, sorted in ascending order and concatenated.
    text: Vec<u8>,
    /// Offset of each text token in `text`, followed by the length of `text`.
    starts: Vec<u32>,
    /// Id and score of each text token, in the order of `text`.
    known: Vec<(u32, f32)>,
    /// Highest id plus 1.
    vocabulary_size: usize,
    unknown_score: f32,
}

/// The most probable segmentation of a text up to a byte offset.
#[derive(Clone, Copy)]
struct Best {
    score: f32,
    /// Byte offset at which the last token begins.
    from: usize,
    /// Id of the last token.
    id: u32,
}

impl Tokenizer {
    /// Reads a SentencePiece model (`sp.model`).
    pub fn read(model: &[u8]) -> Result<Self, InvalidModel> {
        let unreadable = || invalid("its vocabulary is not a SentencePiece model");
        let mut entries = Vec::new();
        let mut count = 0;
        let mut map: &[u8] = &[];
        for field in Fields::of(model) {
            match field.ok_or_else(unreadable)? {
                (1, Value::Bytes(message)) => {
                    if let Some((text, score)) = token(message).ok_or_else(unreadable)? {
                        entries.push(Entry { text, id: count, score });
                    }
                    count = count.checked_add(1).ok_or_else(unreadable)?;
                }
                (3, Value::Bytes(message)) => map = charsmap(message).ok_or_else(unreadable)?,
                _ => {}
            }
        }
        let normalizer = Normalizer::new(map).ok_or_else(unreadable)?;
        Self::new(entries, count, DEFAULT_SPECIAL, normalizer).ok_or_else(unreadable)
    }

    /// Builds a tokenizer from text tokens. `vocabulary_size` is the highest id plus 1, including special tokens. Returns `None`
    /// if there are no entries, or if their texts add up to 4 GiB or more.
    pub fn new(
        mut entries: Vec<Entry<'_>>,
        vocabulary_size: u32,
        special: SpecialTokens,
        normalizer: Normalizer,
    ) -> Option<Self> {
        entries.sort_unstable_by_key(|entry| (entry.text, entry.id));
        let lowest = entries.iter().map(|entry| entry.score).reduce(f32::min)?;
        let mut starts = vec![0];
        let mut text = Vec::new();
        for entry in &entries {
            text.extend_from_slice(entry.text);
            starts.push(u32::try_from(text.len()).ok()?);
        }
        let known = entries.iter().map(|entry| (entry.id, entry.score)).collect();
        let unknown_score = lowest - UNKNOWN_PENALTY;
        Some(Self {
            normalizer,
            special,
            text,
            starts,
            known,
            vocabulary_size: vocabulary_size as usize,
            unknown_score,
        })
    }

    /// Returns the highest id that [`Self::encode`] can return, plus 1.
    pub fn vocabulary_size(&self) -> usize {
        self.vocabulary_size
    }

    /// Returns whether at least half of a text's letters are tokens by themselves.
    pub fn covers(&self, text: &str) -> bool {
        script::most_letters(&self.normalizer.normalize(text, script::SAMPLE * 4), |letter| {
            let mut alone = false;
            self.for_each_prefix(letter.encode_utf8(&mut [0; 4]).as_bytes(), |length, _| {
                alone |= length == letter.len_utf8()
            });
            alone
        })
    }

    /// Returns the ids of a text's tokens, enclosed by the begin and end tokens; at most `limit` ids in total. Normalises only
    /// as much text as yields 16 bytes for each token of the limit.
    pub fn encode(&self, text: &str, limit: usize) -> Vec<u32> {
        let normal = self.normalizer.normalize(text, limit.saturating_mul(16));
        let mut ids = vec![self.special.begin];
        ids.extend(self.segment(&normal).into_iter().map(|(_, id)| id));
        ids.truncate(limit - 1);
        ids.push(self.special.end);
        ids
    }

    /// Returns the same tokens without the begin and end tokens, each with the byte offset in `text` at which it begins,
    /// excluding the space before a word.
    pub fn encode_with_offsets(&self, text: &str, limit: usize) -> Vec<(u32, usize)> {
        let mut offsets = vec![(0, 0)];
        let normal =
            self.normalizer.normalize_with_offsets(text, limit.saturating_mul(16), |at, from| offsets.push((at, from)));
        let offset = |at: usize| {
            let first = if normal[at..].starts_with(SPACE) { at + SPACE.len() } else { at };
            offsets[offsets.partition_point(|(at, _)| *at <= first) - 1].1
        };
        let tokens = self.segment(&normal).into_iter().map(|(at, id)| (id, offset(at)));
        tokens.take(limit.saturating_sub(2)).collect()
    }

    /// Segments a normalised text with the Viterbi algorithm. Returns the byte offset and id of each token. Adjacent unknown
    /// characters form one unknown token.
    fn segment(&self, normal: &str) -> Vec<(usize, u32)> {
        let unknown = self.special.unknown;
        let bytes = normal.as_bytes();
        let mut best = vec![Best { score: f32::NEG_INFINITY, from: 0, id: unknown }; bytes.len() + 1];
        best[0].score = 0.0;
        for (at, c) in normal.char_indices() {
            let score = best[at].score;
            let mut better = |length: usize, new: Best| {
                if new.score > best[at + length].score {
                    best[at + length] = new;
                }
            };
            let mut alone = false;
            self.for_each_prefix(&bytes[at..], |length, (id, more)| {
                alone |= length == c.len_utf8();
                better(length, Best { score: score + more, from: at, id });
            });
            if !alone {
                better(c.len_utf8(), Best { score: score + self.unknown_score, from: at, id: unknown });
            }
        }
        let mut tokens: Vec<(usize, u32)> = Vec::new();
        let mut at = bytes.len();
        while at > 0 {
            let Best { from, id, .. } = best[at];
            match tokens.last_mut() {
                Some((start, last)) if id == unknown && *last == unknown => *start = from,
                _ => tokens.push((from, id)),
            }
            at = from;
        }
        tokens.reverse();
        tokens
    }

    /// Calls `each` with the length, id and score of every token that is a prefix of `text`, shortest first.
    fn for_each_prefix(&self, text: &[u8], mut each: impl FnMut(usize, (u32, f32))) {
        // Tokens that share the bytes read so far are adjacent, and a token that ends here comes first.
        let (mut low, mut high) = (0, self.known.len());
        for (depth, byte) in text.iter().enumerate() {
            // Usually all these tokens continue with this byte; otherwise a binary search finds the ones that do.
            if self.byte(high - 1, depth) != Some(*byte) || self.byte(low, depth) != Some(*byte) {
                low = self.first_with(low..high, |other| self.byte(other, depth) >= Some(*byte));
                high = self.first_with(low..high, |other| self.byte(other, depth) > Some(*byte));
            }
            if low == high {
                return;
            }
            if self.length(low) == depth + 1 {
                each(depth + 1, self.known[low]);
                low += 1;
                if low == high {
                    return;
                }
            }
        }
    }

    fn byte(&self, token: usize, at: usize) -> Option<u8> {
        let (start, end) = (self.starts[token] as usize, self.starts[token + 1] as usize);
        self.text[start..end].get(at).copied()
    }

    fn length(&self, token: usize) -> usize {
        (self.starts[token + 1] - self.starts[token]) as usize
    }

    fn first_with(&self, tokens: std::ops::Range<usize>, is: impl Fn(usize) -> bool) -> usize {
        let (mut low, mut high) = (tokens.start, tokens.end);
        while low < high {
            let middle = low.midpoint(high);
            if is(middle) { high = middle } else { low = middle + 1 }
        }
        low
    }
}

/// Reads the text and score of a token. The inner `None` means that the token is not a text token, the outer `None` that the
/// message is malformed.
fn token(message: &[u8]) -> Option<Option<(&[u8], f32)>> {
    let (mut text, mut score, mut kind): (&[u8], _, _) = (&[], 0.0, NORMAL);
    for field in Fields::of(message) {
        match field? {
            (1, Value::Bytes(bytes)) => text = bytes,
            (2, Value::Word(word)) => score = f32::from_le_bytes(word),
            (3, Value::Number(number)) => kind = number,
            _ => {}
        }
    }
    let whole = std::str::from_utf8(text).is_ok() && !text.is_empty() && score.is_finite();
    match kind {
        NORMAL if whole => Some(Some((text, score))),
        NORMAL => None,
        _ => Some(None),
    }
}

/// Returns the normalizer's replacement table, or `None` if the message is malformed or its whitespace flags differ from the
/// behaviour of [`Normalizer`].
fn charsmap(message: &[u8]) -> Option<&[u8]> {
    let mut map: &[u8] = &[];
    for field in Fields::of(message) {
        match field? {
            (2, Value::Bytes(bytes)) => map = bytes,
            // The flags add_dummy_prefix, remove_extra_whitespaces and escape_whitespaces.
            (3..=5, Value::Number(0)) => return None,
            _ => {}
        }
    }
    Some(map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UNKNOWN: u32 = DEFAULT_SPECIAL.unknown;
    const BEGIN: u32 = DEFAULT_SPECIAL.begin;
    const END: u32 = DEFAULT_SPECIAL.end;

    fn field(number: u8, kind: u8, payload: &[u8]) -> Vec<u8> {
        let length = if kind == 2 { vec![u8::try_from(payload.len()).expect("a short field")] } else { Vec::new() };
        [&[number << 3 | kind][..], &length, payload].concat()
    }

    /// Builds a model file with three control tokens, followed by `tokens`, and without replacements.
    fn model(tokens: &[(&str, f32)]) -> Vec<u8> {
        let control = ["<unk>", "<s>", "</s>"].map(|name| [field(1, 2, name.as_bytes()), field(3, 0, &[3])].concat());
        let normal = tokens
            .iter()
            .map(|(text, score)| [field(1, 2, text.as_bytes()), field(2, 5, &score.to_le_bytes())].concat());
        let rules = [field(3, 0, &[1]), field(4, 0, &[1]), field(5, 0, &[1])].concat();
        control.into_iter().chain(normal).flat_map(|token| field(1, 2, &token)).chain(field(3, 2, &rules)).collect()
    }

    fn read(tokens: &[(&str, f32)]) -> Tokenizer {
        Tokenizer::read(&model(tokens)).unwrap()
    }

    #[test]
    fn most_probable_segmentation_wins() {
        let tokenizer = read(&[("▁", -3.0), ("▁ab", -4.0), ("a", -2.0), ("b", -2.0), ("abc", -3.0), ("c", -9.0)]);
        // `▁ab c` scores -13, `▁ abc` scores -6.
        assert_eq!(tokenizer.encode("abc", 10), [BEGIN, 3, 7, END]);
        assert_eq!(tokenizer.encode("ab", 10), [BEGIN, 4, END]);
        assert_eq!(tokenizer.encode("", 10), [BEGIN, END]);
        assert_eq!(tokenizer.encode(" \n", 10), [BEGIN, 3, UNKNOWN, END], "no map makes a space of the line break");
        assert_eq!(tokenizer.vocabulary_size(), 9);
    }

    #[test]
    fn unknown_characters_merge_and_control_tokens_match_nothing() {
        let tokenizer = read(&[("▁", -1.0), ("a", -1.0), ("s", -1.0)]);
        assert_eq!(tokenizer.encode("日本a語", 10), [BEGIN, 3, UNKNOWN, 4, UNKNOWN, END]);
        assert_eq!(tokenizer.encode("<s>", 10), [BEGIN, 3, UNKNOWN, 5, UNKNOWN, END]);
    }

    #[test]
    fn offsets_skip_surrounding_spaces() {
        let tokenizer = read(&[("▁", -1.0), ("▁ab", -1.0), ("c", -1.0), ("▁c", -1.5)]);
        assert_eq!(
            tokenizer.encode_with_offsets("  abc  日本c ab", 10),
            [(4, 2), (5, 4), (3, 7), (UNKNOWN, 7), (5, 13), (4, 15)]
        );
        assert_eq!(tokenizer.encode_with_offsets("ab ab ab", 4), [(4, 0), (4, 3)]);
        assert_eq!(tokenizer.encode_with_offsets("", 10), []);
    }

    #[test]
    fn long_text_is_truncated() {
        let tokenizer = read(&[("▁", -1.0), ("a", -1.0)]);
        assert_eq!(tokenizer.encode(&"a".repeat(1 << 20), 6), [BEGIN, 3, 4, 4, 4, END]);
    }

    #[test]
    fn malformed_model_is_rejected() {
        let whole = model(&[("▁", -1.0)]);
        for bytes in [&[][..], b"{}", &whole[..whole.len() - 1], b"\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"] {
            assert!(matches!(Tokenizer::read(bytes), Err(InvalidModel(_))), "{bytes:?}");
        }
        let other_rules = [whole, field(3, 2, &field(3, 0, &[0]))].concat();
        assert!(Tokenizer::read(&other_rules).is_err(), "a model that puts no space in front");
    }

    const TOY: [(&str, f32); 9] = [
        ("▁", -2.5),
        ("a", -2.0),
        ("b", -2.1),
        ("ab", -3.0),
        ("▁a", -3.3),
        ("ba", -3.2),
        ("aba", -4.5),
        ("é", -2.2),
        ("éa▁b", -5.0),
    ];

    /// Returns the best score of all segmentations, by brute force.
    fn best(text: &str) -> f32 {
        let Some(first) = text.chars().next() else { return 0.0 };
        let known = TOY.iter().filter(|(token, _)| text.starts_with(token));
        let tries = known.map(|(token, score)| score + best(&text[token.len()..]));
        let alone = TOY.iter().any(|(token, _)| *token == first.to_string());
        let unknown = (!alone).then(|| best(&text[first.len_utf8()..]) - 15.0);
        tries.chain(unknown).fold(f32::NEG_INFINITY, f32::max)
    }

    proptest! {
        #[test]
        fn segmentation_is_optimal(text in "[ab é]{0,9}") {
            let tokenizer = read(&TOY);
            let normal = tokenizer.normalizer.normalize(&text, 1000);
            let ids = tokenizer.encode(&text, 100);
            let own = &ids[1..ids.len() - 1];
            let said: String = own.iter().map(|id| TOY[*id as usize - 3].0).collect();
            prop_assert_eq!(&said, &normal);
            let score: f32 = own.iter().map(|id| TOY[*id as usize - 3].1).sum();
            prop_assert!((score - best(&normal)).abs() < 1e-4);
        }

        #[test]
        fn any_text_yields_valid_ids_within_limit(text: String, limit in 2_usize..40) {
            let tokenizer = read(&TOY);
            let ids = tokenizer.encode(&text, limit);
            prop_assert!(ids.len() <= limit && ids.starts_with(&[BEGIN]) && ids.ends_with(&[END]));
            prop_assert!(ids.iter().all(|id| (*id as usize) < tokenizer.vocabulary_size()));
        }

        #[test]
        fn any_model_bytes_are_handled(bytes: Vec<u8>, at in 0_usize..200, byte: u8) {
            let _ = Tokenizer::read(&bytes);
            let mut damaged = model(&TOY);
            let place = at % damaged.len();
            damaged[place] = byte;
            if let Ok(tokenizer) = Tokenizer::read(&damaged) {
                let _ = tokenizer.encode("a b é 日", 10);
            }
        }
    }
}
