//! The vectors of one model, by the key of the embedded text: an append-only cache file, and an 8-bit code of each vector
//! in memory.
//!
//! A search compares the question with every code (a full scan: below about 100,000 chunks an approximate index would save
//! milliseconds per question and cost minutes of building); it compares the best again with the vectors themselves, read from
//! the file. The file is a cache: a damaged record and all records after it are dropped and computed again.
//!
//! Layout, little-endian: a line of UTF-8 that names format, model and dimension, padded with spaces to [`HEADER`]
//! bytes; then records of key (u64), `dimension` floats (f32) and the CRC-32 of both.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use miniclaw_embed::dot::{Kernel, QueryCode};

const HEADER: usize = 256;
/// What the header begins with.
const FORMAT: &str = "miniclaw vectors 1, ";
/// Maximum dimension in a header that is believed without knowing the model.
const MAX_DIMENSION: usize = 1 << 16;

/// The 8-bit code of a vector of length 1: each component is approximately `code × scale`.
struct Code {
    components: Vec<i8>,
    scale: f32,
}

pub struct Vectors {
    file: File,
    dimension: usize,
    rows: HashMap<u64, u32>,
    codes: Vec<i8>,
    scales: Vec<f32>,
}

/// A question's vector, prepared for comparison.
pub struct QueryVector {
    vector: Vec<f32>,
    code: QueryCode,
    scale: f32,
}

impl QueryVector {
    pub fn new(vector: Vec<f32>) -> Self {
        let code = Code::of(&vector);
        Self { vector, code: QueryCode::new(&code.components), scale: code.scale }
    }

    pub fn components(&self) -> &[f32] {
        &self.vector
    }
}

impl Vectors {
    /// Reads `file` if it was written for this model and dimension; otherwise clears it. Truncates the file before the first
    /// incomplete or damaged record.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written.
    pub fn open(file: File, model: &str, dimension: usize) -> io::Result<Self> {
        let mut vectors = Self { file, dimension, rows: HashMap::new(), codes: Vec::new(), scales: Vec::new() };
        let header = header(model, dimension);
        let mut found = vec![0; HEADER];
        let mut reader = BufReader::with_capacity(1 << 16, vectors.file.try_clone()?);
        reader.seek(SeekFrom::Start(0))?;
        if reader.read_exact(&mut found).is_err() || found != header {
            vectors.file.set_len(0)?;
            vectors.file.write_all_at(&header, 0)?;
            return Ok(vectors);
        }
        let mut record = vec![0; vectors.record()];
        while reader.read_exact(&mut record).is_ok() {
            let Some((key, vector)) = decoded(&record) else { break };
            vectors.remember(key, &vector);
        }
        vectors.file.set_len(vectors.end())?;
        Ok(vectors)
    }

    /// Reads a file whatever model wrote it, and returns its vectors with the model's id; `None` if it is not such a file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written.
    pub fn open_any(file: File) -> io::Result<Option<(Self, String)>> {
        let mut found = [0; HEADER];
        if file.read_exact_at(&mut found, 0).is_err() {
            return Ok(None);
        }
        let named = || {
            let (dimension, model) = str::from_utf8(&found).ok()?.strip_prefix(FORMAT)?.split_once(" floats, ")?;
            Some((dimension.parse().ok().filter(|dimension| *dimension <= MAX_DIMENSION)?, model.trim_end().to_owned()))
        };
        let Some((dimension, model)) = named() else { return Ok(None) };
        Ok(Some((Self::open(file, &model, dimension)?, model)))
    }

    /// Returns the number of vectors.
    pub fn len(&self) -> usize {
        self.scales.len()
    }

    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Returns the row of a text's vector, if it is stored.
    pub fn row(&self, key: u64) -> Option<u32> {
        self.rows.get(&key).copied()
    }

    /// Adds a vector of length 1. Does nothing if the key is already stored.
    ///
    /// # Errors
    /// Returns an error if the vector has another dimension or the file cannot be written; the vector is then not stored.
    pub fn add(&mut self, key: u64, vector: &[f32]) -> io::Result<()> {
        if vector.len() != self.dimension {
            let message = format!("a vector has {} components instead of {}", vector.len(), self.dimension);
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        if self.rows.contains_key(&key) {
            return Ok(());
        }
        self.file.write_all_at(&encoded(key, vector), self.end())?;
        self.remember(key, vector);
        Ok(())
    }

    /// Returns the cosines of the question with the vectors in `rows`, accurate to about 0.01, from the codes in memory.
    pub fn near(&self, question: &QueryVector, rows: &[u32]) -> Vec<f32> {
        let products = Kernel::best().dot_products(&question.code, &self.codes, rows);
        let scaled = |(product, row): (i32, &u32)| product as f32 * question.scale * self.scales[*row as usize];
        products.into_iter().zip(rows).map(scaled).collect()
    }

    /// Returns the exact cosine of the question with a vector, read from the file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or the stored vector is damaged.
    pub fn cosine(&self, question: &QueryVector, row: u32) -> io::Result<f32> {
        Ok(self.vector(row)?.iter().zip(&question.vector).map(|(a, b)| a * b).sum())
    }

    /// Returns a stored vector.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or the stored vector is damaged.
    pub fn vector(&self, row: u32) -> io::Result<Vec<f32>> {
        let mut record = vec![0; self.record()];
        self.file.read_exact_at(&mut record, (HEADER + row as usize * self.record()) as u64)?;
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "a stored vector is damaged");
        decoded(&record).map(|(_, vector)| vector).ok_or_else(damaged)
    }

    /// Copies the vectors of `keys` into `file`, overwriting it, and returns the cache in that file.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or written.
    pub fn copy(&self, keys: impl Iterator<Item = u64>, file: File, model: &str) -> io::Result<Self> {
        file.set_len(0)?;
        let mut kept = Self::open(file, model, self.dimension)?;
        for key in keys {
            if let Some(row) = self.row(key) {
                kept.add(key, &self.vector(row)?)?;
            }
        }
        Ok(kept)
    }

    fn remember(&mut self, key: u64, vector: &[f32]) {
        let code = Code::of(vector);
        self.rows.insert(key, self.scales.len() as u32);
        self.codes.extend(code.components);
        self.scales.push(code.scale);
    }

    fn record(&self) -> usize {
        8 + 4 * self.dimension + 4
    }

    fn end(&self) -> u64 {
        (HEADER + self.len() * self.record()) as u64
    }
}

impl Code {
    fn of(vector: &[f32]) -> Self {
        let largest = vector.iter().fold(0.0f32, |largest, x| largest.max(x.abs()));
        if largest == 0.0 {
            return Self { components: vec![0; vector.len()], scale: 0.0 };
        }
        let scale = largest / 127.0;
        Self { components: vector.iter().map(|x| (x / scale).round() as i8).collect(), scale }
    }
}

fn header(model: &str, dimension: usize) -> Vec<u8> {
    let mut header = format!("{FORMAT}{dimension} floats, {model}").into_bytes();
    header.resize(HEADER - 1, b' ');
    header.push(b'\n');
    header
}

fn encoded(key: u64, vector: &[f32]) -> Vec<u8> {
    let mut record = Vec::with_capacity(12 + 4 * vector.len());
    record.extend(key.to_le_bytes());
    record.extend(vector.iter().flat_map(|x| x.to_le_bytes()));
    record.extend(crc32fast::hash(&record).to_le_bytes());
    record
}

fn decoded(record: &[u8]) -> Option<(u64, Vec<f32>)> {
    let (body, crc) = record.split_last_chunk::<4>()?;
    let (key, floats) = body.split_first_chunk::<8>()?;
    if crc32fast::hash(body) != u32::from_le_bytes(*crc) {
        return None;
    }
    let (floats, _) = floats.as_chunks::<4>();
    Some((u64::from_le_bytes(*key), floats.iter().map(|x| f32::from_le_bytes(*x)).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unit(components: &[f32]) -> Vec<f32> {
        let length = components.iter().map(|x| x * x).sum::<f32>().sqrt();
        components.iter().map(|x| x / length).collect()
    }

    fn some(number: usize, dimension: usize) -> Vec<f32> {
        unit(&(0..dimension).map(|at| ((number * 31 + at * 17) % 97) as f32 - 48.0).collect::<Vec<_>>())
    }

    fn filled(file: &File) -> Vectors {
        let mut vectors = Vectors::open(file.try_clone().unwrap(), "m", 24).unwrap();
        for number in 0..40 {
            vectors.add(number as u64, &some(number, 24)).unwrap();
        }
        vectors
    }

    #[test]
    fn vectors_round_trip_through_file() {
        let file = tempfile::tempfile().unwrap();
        let before = filled(&file);
        let after = Vectors::open(file.try_clone().unwrap(), "m", 24).unwrap();
        assert_eq!((after.len(), &after.codes), (40, &before.codes));
        assert_eq!(after.vector(after.row(7).unwrap()).unwrap(), some(7, 24));
        assert_eq!(after.row(40), None);
    }

    #[test]
    fn other_model_resets_cache() {
        let file = tempfile::tempfile().unwrap();
        filled(&file);
        assert!(Vectors::open(file.try_clone().unwrap(), "other", 24).unwrap().is_empty());
        filled(&file);
        assert!(Vectors::open(file.try_clone().unwrap(), "m", 23).unwrap().is_empty());
    }

    #[test]
    fn damaged_record_truncates_cache_and_is_recomputed() {
        let file = tempfile::tempfile().unwrap();
        filled(&file);
        let record = 8 + 24 * 4 + 4;
        file.set_len((HEADER + 10 * record + 5) as u64).unwrap();
        let mut vectors = Vectors::open(file.try_clone().unwrap(), "m", 24).unwrap();
        assert_eq!(vectors.len(), 10);
        vectors.add(99, &some(99, 24)).unwrap();
        file.write_all_at(&[0xff], (HEADER + 4 * record + 20) as u64).unwrap();
        let vectors = Vectors::open(file.try_clone().unwrap(), "m", 24).unwrap();
        assert_eq!(vectors.len(), 4);
        assert_eq!(file.metadata().unwrap().len(), (HEADER + 4 * record) as u64);
    }

    #[test]
    fn only_live_vectors_are_copied() {
        let vectors = filled(&tempfile::tempfile().unwrap());
        let kept = vectors.copy([3, 77, 5].into_iter(), tempfile::tempfile().unwrap(), "m").unwrap();
        assert_eq!((kept.len(), kept.vector(kept.row(5).unwrap()).unwrap()), (2, some(5, 24)));
    }

    #[test]
    fn wrong_dimension_is_refused() {
        let mut vectors = filled(&tempfile::tempfile().unwrap());
        assert!(vectors.add(100, &[1.0; 23]).is_err());
        assert_eq!(vectors.len(), 40);
    }

    proptest! {
        #[test]
        fn quantised_score_approximates_cosine(a in prop::collection::vec(-1.0f32..1.0, 48), b in prop::collection::vec(-1.0f32..1.0, 48)) {
            let (a, b) = (unit(&a), unit(&b));
            let mut vectors = Vectors::open(tempfile::tempfile().unwrap(), "m", 48).unwrap();
            vectors.add(1, &b).unwrap();
            let question = QueryVector::new(a);
            let exact = vectors.cosine(&question, 0).unwrap();
            prop_assert!((vectors.near(&question, &[0])[0] - exact).abs() < 0.015);
        }
    }
}
