//! A text as **pieces**: the words and parts of words that the model has a vector for, in the segmentation that is the
//! most probable when each piece is drawn by itself (a unigram model). Sources: Kudo 2018, arXiv:1804.10959;
//! SentencePiece, `unigram_model.cc`.

use super::broken;
use super::normalize::{Normalizer, SPACE};
use super::protobuf::{Fields, Value};
use super::script;
use crate::domain::EmbedError;

/// The numbers that stand for no text: of characters that no piece has, and of a text's begin and end.
#[derive(Clone, Copy)]
pub(super) struct Marks {
    pub unknown: u32,
    pub begin: u32,
    pub end: u32,
}

/// Those of a SentencePiece model that says nothing else.
const MARKS: Marks = Marks { unknown: 0, begin: 1, end: 2 };
/// How much less probable than the rarest piece an unknown character is, as a logarithm.
const UNKNOWN_PENALTY: f32 = 10.0;
/// Types of pieces in a model file; others stand for no text.
const NORMAL: u64 = 1;

/// A piece that stands for text: its bytes, its number and its log probability.
pub(super) type Piece<'a> = (&'a [u8], u32, f32);

pub(super) struct Pieces {
    normalizer: Normalizer,
    marks: Marks,
    /// All pieces one after another, sorted by their bytes.
    text: Vec<u8>,
    /// Where each begins in `text`, and at last where it ends.
    starts: Vec<u32>,
    /// Number and log probability of each.
    known: Vec<(u32, f32)>,
    /// How many numbers there are: every number that is given is below.
    count: usize,
    unknown_score: f32,
}

/// The best way to write a text up to some byte.
#[derive(Clone, Copy)]
struct Best {
    score: f32,
    /// Where its last piece begins, and which it is.
    from: usize,
    piece: u32,
}

impl Pieces {
    /// Reads a SentencePiece model (`sp.model`).
    pub fn read(model: &[u8]) -> Result<Self, EmbedError> {
        let unreadable = || broken("its vocabulary is no SentencePiece model");
        let mut pieces: Vec<Piece<'_>> = Vec::new();
        let mut count = 0;
        let mut map: &[u8] = &[];
        for field in Fields::of(model) {
            match field.ok_or_else(unreadable)? {
                (1, Value::Bytes(message)) => {
                    if let Some((text, score)) = piece(message).ok_or_else(unreadable)? {
                        pieces.push((text, count, score));
                    }
                    count = count.checked_add(1).ok_or_else(unreadable)?;
                }
                (3, Value::Bytes(message)) => map = charsmap(message).ok_or_else(unreadable)?,
                _ => {}
            }
        }
        let normalizer = Normalizer::new(map).ok_or_else(unreadable)?;
        Self::new(pieces, count, MARKS, normalizer).ok_or_else(unreadable)
    }

    /// `count` is one more than the highest number, of pieces and marks. `None` where there is no piece, or 4 GB of them.
    pub fn new(mut pieces: Vec<Piece<'_>>, count: u32, marks: Marks, normalizer: Normalizer) -> Option<Self> {
        pieces.sort_unstable_by_key(|(text, number, _)| (*text, *number));
        let lowest = pieces.iter().map(|(_, _, score)| *score).reduce(f32::min)?;
        let mut starts = vec![0];
        let mut text = Vec::new();
        for (piece, _, _) in &pieces {
            text.extend_from_slice(piece);
            starts.push(u32::try_from(text.len()).ok()?);
        }
        let known = pieces.iter().map(|(_, number, score)| (*number, *score)).collect();
        let unknown_score = lowest - UNKNOWN_PENALTY;
        Some(Self { normalizer, marks, text, starts, known, count: count as usize, unknown_score })
    }

    /// How many numbers there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether most letters of a text are pieces; those that the model was made of all are.
    pub fn know(&self, text: &str) -> bool {
        script::most_letters(&self.normalizer.normalize(text, script::LOOK * 4), |letter| {
            let mut alone = false;
            self.beginning(letter.encode_utf8(&mut [0; 4]).as_bytes(), |length, _| {
                alone |= length == letter.len_utf8()
            });
            alone
        })
    }

    /// The numbers of a text's pieces between those for begin and end: at most `limit` with these. What comes after is
    /// left out, and so is what comes after 16 bytes of normal form a piece.
    pub fn of(&self, text: &str, limit: usize) -> Vec<u32> {
        let normal = self.normalizer.normalize(text, limit.saturating_mul(16));
        let mut numbers = vec![self.marks.begin];
        numbers.extend(self.segment(&normal).into_iter().map(|(_, number)| number));
        numbers.truncate(limit - 1);
        numbers.push(self.marks.end);
        numbers
    }

    /// The same pieces without those for begin and end, each with the byte of the text that it begins at; a space before
    /// it is not counted to it.
    pub fn places(&self, text: &str, limit: usize) -> Vec<(u32, usize)> {
        let mut trace = vec![(0, 0)];
        let normal = self.normalizer.traced(text, limit.saturating_mul(16), |at, from| trace.push((at, from)));
        let place = |at: usize| {
            let said = if normal[at..].starts_with(SPACE) { at + SPACE.len() } else { at };
            trace[trace.partition_point(|(at, _)| *at <= said) - 1].1
        };
        let pieces = self.segment(&normal).into_iter().map(|(at, piece)| (piece, place(at)));
        pieces.take(limit.saturating_sub(2)).collect()
    }

    /// The pieces of a normalised text, each with its first byte. Neighbouring unknown characters are one unknown piece.
    fn segment(&self, normal: &str) -> Vec<(usize, u32)> {
        let unknown = self.marks.unknown;
        let bytes = normal.as_bytes();
        let mut best = vec![Best { score: f32::NEG_INFINITY, from: 0, piece: unknown }; bytes.len() + 1];
        best[0].score = 0.0;
        for (at, c) in normal.char_indices() {
            let score = best[at].score;
            let mut better = |length: usize, new: Best| {
                if new.score > best[at + length].score {
                    best[at + length] = new;
                }
            };
            let mut alone = false;
            self.beginning(&bytes[at..], |length, (piece, more)| {
                alone |= length == c.len_utf8();
                better(length, Best { score: score + more, from: at, piece });
            });
            if !alone {
                better(c.len_utf8(), Best { score: score + self.unknown_score, from: at, piece: unknown });
            }
        }
        let mut numbers: Vec<(usize, u32)> = Vec::new();
        let mut at = bytes.len();
        while at > 0 {
            let Best { from, piece, .. } = best[at];
            match numbers.last_mut() {
                Some((start, last)) if piece == unknown && *last == unknown => *start = from,
                _ => numbers.push((from, piece)),
            }
            at = from;
        }
        numbers.reverse();
        numbers
    }

    /// Every piece that `text` begins with, the shortest first, with its length.
    fn beginning(&self, text: &[u8], mut each: impl FnMut(usize, (u32, f32))) {
        // Those that share the bytes so far stand side by side, and one that has no more bytes stands first.
        let (mut low, mut high) = (0, self.known.len());
        for (depth, byte) in text.iter().enumerate() {
            // Mostly all go on in the same way; where they do not, halving finds those that go on in this one.
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

    fn byte(&self, piece: usize, at: usize) -> Option<u8> {
        let (start, end) = (self.starts[piece] as usize, self.starts[piece + 1] as usize);
        self.text[start..end].get(at).copied()
    }

    fn length(&self, piece: usize) -> usize {
        (self.starts[piece + 1] - self.starts[piece]) as usize
    }

    fn first_with(&self, pieces: std::ops::Range<usize>, is: impl Fn(usize) -> bool) -> usize {
        let (mut low, mut high) = (pieces.start, pieces.end);
        while low < high {
            let middle = low.midpoint(high);
            if is(middle) { high = middle } else { low = middle + 1 }
        }
        low
    }
}

/// Text and score of a piece; `None` inside where it stands for no text, outside where it is no piece.
fn piece(message: &[u8]) -> Option<Option<(&[u8], f32)>> {
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

/// The map of the normalizer. The rules about spaces must be those that [`Normalizer`] follows.
fn charsmap(message: &[u8]) -> Option<&[u8]> {
    let mut map: &[u8] = &[];
    for field in Fields::of(message) {
        match field? {
            (2, Value::Bytes(bytes)) => map = bytes,
            // A space in front, single spaces, visible spaces.
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

    const UNKNOWN: u32 = MARKS.unknown;
    const BEGIN: u32 = MARKS.begin;
    const END: u32 = MARKS.end;

    fn field(number: u8, kind: u8, payload: &[u8]) -> Vec<u8> {
        let length = if kind == 2 { vec![u8::try_from(payload.len()).expect("a short field")] } else { Vec::new() };
        [&[number << 3 | kind][..], &length, payload].concat()
    }

    /// A model file: three control pieces, then these. No character is replaced.
    fn model(pieces: &[(&str, f32)]) -> Vec<u8> {
        let control = ["<unk>", "<s>", "</s>"].map(|name| [field(1, 2, name.as_bytes()), field(3, 0, &[3])].concat());
        let normal = pieces
            .iter()
            .map(|(text, score)| [field(1, 2, text.as_bytes()), field(2, 5, &score.to_le_bytes())].concat());
        let rules = [field(3, 0, &[1]), field(4, 0, &[1]), field(5, 0, &[1])].concat();
        control.into_iter().chain(normal).flat_map(|piece| field(1, 2, &piece)).chain(field(3, 2, &rules)).collect()
    }

    fn read(pieces: &[(&str, f32)]) -> Pieces {
        Pieces::read(&model(pieces)).unwrap()
    }

    #[test]
    fn the_most_probable_segmentation_is_found() {
        let pieces = read(&[("▁", -3.0), ("▁ab", -4.0), ("a", -2.0), ("b", -2.0), ("abc", -3.0), ("c", -9.0)]);
        // ▁ab c is -13, ▁ abc is -6.
        assert_eq!(pieces.of("abc", 10), [BEGIN, 3, 7, END]);
        assert_eq!(pieces.of("ab", 10), [BEGIN, 4, END]);
        assert_eq!(pieces.of("", 10), [BEGIN, END]);
        assert_eq!(pieces.of(" \n", 10), [BEGIN, 3, UNKNOWN, END], "no map makes a space of the line break");
        assert_eq!(pieces.count(), 9);
    }

    #[test]
    fn neighbouring_unknown_characters_are_one_piece_and_control_pieces_are_no_text() {
        let pieces = read(&[("▁", -1.0), ("a", -1.0), ("s", -1.0)]);
        assert_eq!(pieces.of("日本a語", 10), [BEGIN, 3, UNKNOWN, 4, UNKNOWN, END]);
        assert_eq!(pieces.of("<s>", 10), [BEGIN, 3, UNKNOWN, 5, UNKNOWN, END]);
    }

    #[test]
    fn each_piece_is_found_in_the_text_whatever_blanks_stand_around_it() {
        let pieces = read(&[("▁", -1.0), ("▁ab", -1.0), ("c", -1.0), ("▁c", -1.5)]);
        assert_eq!(pieces.places("  abc  日本c ab", 10), [(4, 2), (5, 4), (3, 7), (UNKNOWN, 7), (5, 13), (4, 15)]);
        assert_eq!(pieces.places("ab ab ab", 4), [(4, 0), (4, 3)]);
        assert_eq!(pieces.places("", 10), []);
    }

    #[test]
    fn a_long_text_is_cut_to_the_limit() {
        let pieces = read(&[("▁", -1.0), ("a", -1.0)]);
        assert_eq!(pieces.of(&"a".repeat(1 << 20), 6), [BEGIN, 3, 4, 4, 4, END]);
    }

    #[test]
    fn what_is_no_model_is_refused() {
        let whole = model(&[("▁", -1.0)]);
        for bytes in [&[][..], b"{}", &whole[..whole.len() - 1], b"\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"] {
            assert!(matches!(Pieces::read(bytes), Err(EmbedError::Broken(_))), "{bytes:?}");
        }
        let other_rules = [whole, field(3, 2, &field(3, 0, &[0]))].concat();
        assert!(Pieces::read(&other_rules).is_err(), "a model that puts no space in front");
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

    /// The best score of any segmentation, by trying all of them.
    fn best(text: &str) -> f32 {
        let Some(first) = text.chars().next() else { return 0.0 };
        let known = TOY.iter().filter(|(piece, _)| text.starts_with(piece));
        let tries = known.map(|(piece, score)| score + best(&text[piece.len()..]));
        let alone = TOY.iter().any(|(piece, _)| *piece == first.to_string());
        let unknown = (!alone).then(|| best(&text[first.len_utf8()..]) - 15.0);
        tries.chain(unknown).fold(f32::NEG_INFINITY, f32::max)
    }

    proptest! {
        #[test]
        fn no_other_segmentation_is_more_probable(text in "[ab é]{0,9}") {
            let pieces = read(&TOY);
            let normal = pieces.normalizer.normalize(&text, 1000);
            let numbers = pieces.of(&text, 100);
            let own = &numbers[1..numbers.len() - 1];
            let said: String = own.iter().map(|number| TOY[*number as usize - 3].0).collect();
            prop_assert_eq!(&said, &normal);
            let score: f32 = own.iter().map(|number| TOY[*number as usize - 3].1).sum();
            prop_assert!((score - best(&normal)).abs() < 1e-4);
        }

        #[test]
        fn any_text_gives_known_numbers_within_the_limit(text: String, limit in 2_usize..40) {
            let pieces = read(&TOY);
            let numbers = pieces.of(&text, limit);
            prop_assert!(numbers.len() <= limit && numbers.starts_with(&[BEGIN]) && numbers.ends_with(&[END]));
            prop_assert!(numbers.iter().all(|number| (*number as usize) < pieces.count()));
        }

        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>, at in 0_usize..200, byte: u8) {
            let _ = Pieces::read(&bytes);
            let mut damaged = model(&TOY);
            let place = at % damaged.len();
            damaged[place] = byte;
            if let Ok(pieces) = Pieces::read(&damaged) {
                let _ = pieces.of("a b é 日", 10);
            }
        }
    }
}
