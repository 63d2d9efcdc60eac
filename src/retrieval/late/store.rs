//! The vectors of the pieces of all chunks, by the key of the chunk's indexed text: an append-only cache file. It stores only
//! the sign of each component after subtracting the mean of the sampled pieces (which is most of what the pieces of a model
//! have in common): 48 bytes per piece for 384 components, and retrieval is as good as with the full floats.
//!
//! Layout, little-endian: a line of UTF-8 that names format, model and dimension, padded with spaces to [`HEADER`] bytes;
//! the **mean**: the number of chunks in the index when it was computed (u32), `dimension` floats (f32), the CRC-32 of
//! both; then **records**: key (u64), the number of pieces of the chunk (u32) and of distinct piece ids (u32), the distinct
//! piece ids (u32, ascending), for each piece its byte offset (u32), for each piece its signs (one bit per component, set if
//! above the mean), and the CRC-32 of the whole record.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::FileExt;

use crate::domain::TokenVector;

const HEADER: usize = 256;
/// Bytes of a record's header: the key and two counts.
const RECORD_HEADER: usize = 16;
/// A mean computed for an index of fewer chunks than this is recomputed when the index has more than [`GROWTH_FACTOR`] times as many.
const SMALL_INDEX: usize = 64;
const GROWTH_FACTOR: usize = 4;

pub struct TokenVectors {
    file: File,
    dimension: usize,
    mean: Option<Mean>,
    records: HashMap<u64, Record>,
    end: u64,
}

struct Mean {
    values: Vec<f32>,
    /// Number of chunks in the index when the mean was computed.
    chunks: usize,
}

/// A record's file offset, its length, and the distinct piece ids of its text, ascending.
struct Record {
    at: u64,
    bytes: usize,
    pieces: Vec<u32>,
}

/// The pieces of a chunk's text in order: their byte offsets in the chunk, and their signs.
pub(super) struct SignBits {
    starts: Vec<u32>,
    /// The bytes of the record, and where its signs are.
    record: Vec<u8>,
    bits: Range<usize>,
    width: usize,
}

impl SignBits {
    pub fn each(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.starts.iter().copied().zip(self.record[self.bits.clone()].chunks_exact(self.width))
    }
}

impl TokenVectors {
    /// Reads `file` if it was written for this model and dimension; otherwise clears it. Truncates the file before the first
    /// incomplete or damaged record.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written.
    pub fn open(file: File, model: &str, dimension: usize) -> io::Result<Self> {
        let mut tokens = Self { file, dimension, mean: None, records: HashMap::new(), end: HEADER as u64 };
        let header = header(model, dimension);
        let mut reader = BufReader::with_capacity(1 << 16, tokens.file.try_clone()?);
        reader.seek(SeekFrom::Start(0))?;
        let mut found = vec![0; HEADER];
        if reader.read_exact(&mut found).is_err() || found != header {
            tokens.file.set_len(0)?;
            tokens.file.write_all_at(&header, 0)?;
            return Ok(tokens);
        }
        tokens.mean = read_mean(&mut reader, dimension);
        if let Some(mean) = &tokens.mean {
            tokens.end += encoded_mean(mean).len() as u64;
            let length = tokens.file.metadata()?.len();
            while let Some((key, record)) = tokens.next(&mut reader, length) {
                tokens.end += record.bytes as u64;
                tokens.records.insert(key, record);
            }
        }
        tokens.file.set_len(tokens.end)?;
        Ok(tokens)
    }

    /// Returns the number of chunks.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub fn has(&self, key: u64) -> bool {
        self.records.contains_key(&key)
    }

    /// Returns the distinct piece ids of a chunk's indexed text, ascending, if the chunk is stored.
    pub fn distinct_pieces(&self, key: u64) -> Option<&[u32]> {
        self.records.get(&key).map(|record| record.pieces.as_slice())
    }

    pub fn mean(&self) -> Option<&[f32]> {
        self.mean.as_ref().map(|mean| mean.values.as_slice())
    }

    /// Returns whether there is no mean yet, or only one computed for an index of far fewer chunks.
    pub fn needs_new_mean(&self, chunks: usize) -> bool {
        self.mean.as_ref().is_none_or(|mean| mean.chunks < SMALL_INDEX && chunks > GROWTH_FACTOR * mean.chunks)
    }

    /// Drops all records and sets the mean. `chunks` is the number of chunks in the index.
    ///
    /// # Errors
    /// Returns an error if the mean has another dimension, or if the file cannot be written; the store is then empty.
    pub fn reset(&mut self, values: Vec<f32>, chunks: usize) -> io::Result<()> {
        if values.len() != self.dimension {
            return Err(wrong(values.len(), self.dimension));
        }
        (self.mean, self.end) = (None, HEADER as u64);
        self.records.clear();
        self.file.set_len(self.end)?;
        let mean = Mean { values, chunks };
        let encoded = encoded_mean(&mean);
        self.file.write_all_at(&encoded, self.end)?;
        self.end += encoded.len() as u64;
        self.mean = Some(mean);
        Ok(())
    }

    /// Adds the pieces of an indexed text whose first `heading_bytes` bytes are the headings above the chunk. Does nothing if the key is
    /// already stored.
    ///
    /// # Errors
    /// Returns an error if there is no mean yet, a vector has another dimension, or the file cannot be written; the text is
    /// then not stored.
    pub fn add(&mut self, key: u64, tokens: &[TokenVector], heading_bytes: usize) -> io::Result<()> {
        let Some(mean) = &self.mean else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no mean yet"));
        };
        if let Some(token) = tokens.iter().find(|token| token.vector.len() != self.dimension) {
            return Err(wrong(token.vector.len(), self.dimension));
        }
        if self.has(key) {
            return Ok(());
        }
        let pieces: Vec<u32> = tokens.iter().map(|token| token.piece).collect::<BTreeSet<_>>().into_iter().collect();
        let own: Vec<&TokenVector> = tokens.iter().filter(|token| token.start >= heading_bytes).collect();
        let mut record = key.to_le_bytes().to_vec();
        let starts = own.iter().map(|token| (token.start - heading_bytes) as u32);
        let words = [own.len() as u32, pieces.len() as u32].into_iter().chain(pieces.iter().copied()).chain(starts);
        record.extend(words.flat_map(u32::to_le_bytes));
        own.iter().for_each(|token| record.extend(signs(&token.vector, &mean.values)));
        record.extend(crc32fast::hash(&record).to_le_bytes());
        self.append(key, &record, pieces)
    }

    /// Reads the pieces of a chunk. Returns `None` if they are missing or damaged.
    pub(super) fn read(&self, key: u64) -> Option<SignBits> {
        let record = self.records.get(&key)?;
        let record = self.bytes(record).ok()?;
        let (body, crc) = record.split_last_chunk::<4>()?;
        (crc32fast::hash(body) == u32::from_le_bytes(*crc)).then_some(())?;
        let (begin, _) = body.split_first_chunk::<RECORD_HEADER>()?;
        let (count, different) = counts(begin);
        let starts_at = RECORD_HEADER + 4 * different;
        let bits = starts_at + 4 * count..body.len();
        let starts = body.get(starts_at..bits.start)?.as_chunks().0.iter();
        let starts = starts.map(|start| u32::from_le_bytes(*start)).collect();
        Some(SignBits { starts, record, bits, width: self.width() })
    }

    /// Copies the mean and the records of `keys` into `file`, overwriting it, and returns the cache in that file.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or written.
    pub fn copy(&self, keys: impl Iterator<Item = u64>, file: File, model: &str) -> io::Result<Self> {
        file.set_len(0)?;
        let mut kept = Self::open(file, model, self.dimension)?;
        let Some(mean) = &self.mean else { return Ok(kept) };
        kept.reset(mean.values.clone(), mean.chunks)?;
        for key in keys {
            if let Some(record) = self.records.get(&key)
                && !kept.has(key)
            {
                kept.append(key, &self.bytes(record)?, record.pieces.clone())?;
            }
        }
        Ok(kept)
    }

    fn append(&mut self, key: u64, record: &[u8], pieces: Vec<u32>) -> io::Result<()> {
        self.file.write_all_at(record, self.end)?;
        self.records.insert(key, Record { at: self.end, bytes: record.len(), pieces });
        self.end += record.len() as u64;
        Ok(())
    }

    fn bytes(&self, record: &Record) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; record.bytes];
        self.file.read_exact_at(&mut bytes, record.at)?;
        Ok(bytes)
    }

    /// Reads the next record of a file of this length. Returns `None` if it is incomplete or damaged.
    fn next(&self, reader: &mut impl Read, length: u64) -> Option<(u64, Record)> {
        let mut record = vec![0; RECORD_HEADER];
        reader.read_exact(&mut record).ok()?;
        let (begin, _) = record.split_first_chunk::<RECORD_HEADER>()?;
        let (count, different) = counts(begin);
        let key = u64::from_le_bytes(*begin.first_chunk()?);
        let bytes = RECORD_HEADER + 4 * different + (4 + self.width()) * count + 4;
        // A damaged count could otherwise allocate any amount of memory.
        (self.end + bytes as u64 <= length).then_some(())?;
        record.resize(bytes, 0);
        reader.read_exact(&mut record[RECORD_HEADER..]).ok()?;
        let (body, crc) = record.split_last_chunk::<4>()?;
        (crc32fast::hash(body) == u32::from_le_bytes(*crc)).then_some(())?;
        let pieces = body.get(RECORD_HEADER..RECORD_HEADER + 4 * different)?.as_chunks().0.iter();
        let pieces = pieces.map(|piece| u32::from_le_bytes(*piece)).collect();
        Some((key, Record { at: self.end, bytes, pieces }))
    }

    /// Returns the number of bytes of a piece's signs.
    fn width(&self) -> usize {
        self.dimension.div_ceil(8)
    }
}

/// Returns one bit per component, set if above the mean; the first is the lowest bit of the first byte.
pub(super) fn signs(vector: &[f32], mean: &[f32]) -> Vec<u8> {
    let mut bits = vec![0; vector.len().div_ceil(8)];
    for (at, (value, mean)) in vector.iter().zip(mean).enumerate() {
        bits[at / 8] |= u8::from(value > mean) << (at % 8);
    }
    bits
}

fn header(model: &str, dimension: usize) -> Vec<u8> {
    let mut header = format!("miniclaw token vectors 1, {dimension} signs, {model}").into_bytes();
    header.resize(HEADER - 1, b' ');
    header.push(b'\n');
    header
}

fn encoded_mean(mean: &Mean) -> Vec<u8> {
    let mut encoded = (mean.chunks as u32).to_le_bytes().to_vec();
    encoded.extend(mean.values.iter().flat_map(|value| value.to_le_bytes()));
    encoded.extend(crc32fast::hash(&encoded).to_le_bytes());
    encoded
}

fn read_mean(reader: &mut impl Read, dimension: usize) -> Option<Mean> {
    let mut encoded = vec![0; 4 + 4 * dimension + 4];
    reader.read_exact(&mut encoded).ok()?;
    let (body, crc) = encoded.split_last_chunk::<4>()?;
    (crc32fast::hash(body) == u32::from_le_bytes(*crc)).then_some(())?;
    let (chunks, values) = body.split_first_chunk::<4>()?;
    let values = values.as_chunks().0.iter().map(|value| f32::from_le_bytes(*value)).collect();
    Some(Mean { values, chunks: u32::from_le_bytes(*chunks) as usize })
}

/// Returns how many pieces a record has, and how many distinct piece ids its text has.
fn counts(begin: &[u8; RECORD_HEADER]) -> (usize, usize) {
    let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| begin[at + byte])) as usize;
    (number(8), number(12))
}

fn wrong(found: usize, dimension: usize) -> io::Error {
    let message = format!("a vector has {found} components instead of {dimension}");
    io::Error::new(io::ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIMENSION: usize = 12;

    fn some(number: usize) -> Vec<TokenVector> {
        let vector = |at: usize| (0..DIMENSION).map(|n| ((number * 31 + at * 17 + n * 7) % 23) as f32 - 11.0).collect();
        (0..3 + number % 4)
            .map(|at| TokenVector { piece: (number + at) as u32 % 9, start: 5 * at, vector: vector(at) })
            .collect()
    }

    fn open(file: &File) -> TokenVectors {
        TokenVectors::open(file.try_clone().unwrap(), "m", DIMENSION).unwrap()
    }

    fn filled(file: &File) -> TokenVectors {
        let mut tokens = open(file);
        tokens.reset(vec![0.5; DIMENSION], 20).unwrap();
        for number in 0..20 {
            tokens.add(number as u64, &some(number), 5).unwrap();
        }
        tokens
    }

    fn shown(tokens: &TokenVectors, key: u64) -> Vec<(u32, Vec<u8>)> {
        tokens.read(key).unwrap().each().map(|(start, bits)| (start, bits.to_vec())).collect()
    }

    #[test]
    fn signs_places_and_pieces_round_trip() {
        let file = tempfile::tempfile().unwrap();
        filled(&file);
        let tokens = open(&file);
        let kept = some(7).into_iter().skip(1);
        let kept: Vec<_> =
            kept.map(|token| (token.start as u32 - 5, signs(&token.vector, &[0.5; DIMENSION]))).collect();
        assert_eq!((tokens.len(), shown(&tokens, 7)), (20, kept));
        let distinct: BTreeSet<u32> = some(7).iter().map(|token| token.piece).collect();
        let distinct = distinct.into_iter().collect::<Vec<_>>();
        assert_eq!(tokens.distinct_pieces(7), Some(distinct.as_slice()), "also the pieces above the chunk");
        assert!(!tokens.has(20) && tokens.read(20).is_none() && tokens.distinct_pieces(20).is_none());
        assert_eq!(tokens.mean(), Some(&[0.5; DIMENSION][..]));
    }

    #[test]
    fn other_model_or_damaged_mean_resets_cache() {
        for damage in [0, HEADER + 2] {
            let file = tempfile::tempfile().unwrap();
            filled(&file);
            file.write_all_at(&[0xff], damage as u64).unwrap();
            let tokens = open(&file);
            assert!(tokens.is_empty() && tokens.mean().is_none() && tokens.needs_new_mean(1));
            assert_eq!(file.metadata().unwrap().len(), HEADER as u64);
        }
    }

    #[test]
    fn damaged_record_truncates_cache_and_is_recomputed() {
        let file = tempfile::tempfile().unwrap();
        let tokens = filled(&file);
        let (fifth, tenth) = (tokens.records[&5].at, tokens.records[&10].at);
        file.set_len(tenth + 9).unwrap();
        let mut tokens = open(&file);
        assert_eq!((tokens.len(), file.metadata().unwrap().len()), (10, tenth));
        tokens.add(99, &some(99), 0).unwrap();
        assert_eq!(shown(&open(&file), 99), shown(&tokens, 99));
        // A piece count that would need gigabytes.
        file.write_all_at(&[0xff; 4], fifth + 8).unwrap();
        assert!(tokens.read(5).is_none(), "what was damaged meanwhile is not there");
        assert_eq!((open(&file).len(), file.metadata().unwrap().len()), (5, fifth));
    }

    #[test]
    fn mean_is_recomputed_when_corpus_grows() {
        let mut tokens = filled(&tempfile::tempfile().unwrap());
        assert!(!tokens.needs_new_mean(80) && tokens.needs_new_mean(81));
        tokens.reset(vec![0.0; DIMENSION], 64).unwrap();
        assert!(tokens.is_empty() && !tokens.needs_new_mean(10_000));
    }

    #[test]
    fn only_live_records_are_copied_with_mean() {
        let tokens = filled(&tempfile::tempfile().unwrap());
        let file = tempfile::tempfile().unwrap();
        tokens.copy([3, 77, 5, 3].into_iter(), file.try_clone().unwrap(), "m").unwrap();
        let kept = open(&file);
        assert_eq!((kept.len(), shown(&kept, 5), kept.mean()), (2, shown(&tokens, 5), tokens.mean()));
        assert!(!kept.needs_new_mean(80) && kept.needs_new_mean(81));
    }

    #[test]
    fn mismatched_vectors_are_refused() {
        let mut tokens = open(&tempfile::tempfile().unwrap());
        assert!(tokens.add(1, &some(1), 0).is_err(), "no mean yet");
        assert!(tokens.reset(vec![0.0; 3], 1).is_err());
        tokens.reset(vec![0.0; DIMENSION], 1).unwrap();
        let short = TokenVector { piece: 0, start: 0, vector: vec![1.0; 3] };
        assert!(tokens.add(1, &[short], 0).is_err() && tokens.is_empty());
    }
}
