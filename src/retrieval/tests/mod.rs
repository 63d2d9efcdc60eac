//! Tests that search a folder of documents, as a library does.

mod answers;
mod duplicates;
mod follows;
mod library_chunks;
mod retrievers;

use std::collections::HashMap;
use std::sync::RwLock;

use super::analyse::Analyser;
use super::search::{SearchOutcome, SearchRequest};
use super::vectors::{QueryVector, Vectors};
use super::windows::WindowLimit;
use super::{Address, ChunkLimits, FolderIndex, Listed, Ranking, Searchable, wants_words_only};
use crate::domain::{FileStamp, Hit, RelPath};

pub fn listed(name: &str, text: &str) -> Listed {
    let path = RelPath::parse(name).unwrap();
    let size = text.len() as u64;
    let hash = crc32fast::hash(text.as_bytes());
    Listed { path, stamp: FileStamp::of(size, (i64::from(hash), 0), (0, 0), (0, 0)), size }
}

pub fn put(index: &mut FolderIndex, name: &str, text: &str) {
    index.put(&listed(name, text), Ok(text.as_bytes().to_vec())).unwrap();
}

pub fn index(files: &[(&str, &str)]) -> FolderIndex {
    let mut index = FolderIndex::in_memory(ChunkLimits::default()).unwrap();
    for (name, text) in files {
        put(&mut index, name, text);
    }
    index.commit().unwrap();
    index
}

/// An embedding model that knows only these words: texts that contain words with the same number are near each other.
pub struct Meanings(pub HashMap<&'static str, usize>);

impl Meanings {
    pub fn of(groups: &[&[&'static str]]) -> Self {
        let words = groups.iter().enumerate().flat_map(|(number, words)| words.iter().map(move |word| (*word, number)));
        Self(words.collect())
    }

    pub fn vector(&self, text: &str) -> Vec<f32> {
        const DIMENSION: usize = 16;
        let mut vector = [0.02f32; DIMENSION];
        for (word, number) in &self.0 {
            if text.contains(word) {
                vector[*number] += 1.0;
            }
        }
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        vector.iter().map(|x| x / length).collect()
    }
}

/// Searches as a library does; with `meanings`, uses both retrievers.
pub fn ask(index: &FolderIndex, query: &str, k: usize, meanings: Option<&Meanings>) -> SearchOutcome {
    let snapshot = index.snapshot().unwrap();
    let vectors = meanings.map(|meanings| {
        let mut vectors = Vectors::open(tempfile::tempfile().unwrap(), "made", 16).unwrap();
        for (address, key) in snapshot.keys() {
            vectors.add(key, &meanings.vector(&snapshot.chunk(address).unwrap().indexed())).unwrap();
        }
        RwLock::new(vectors)
    });
    let rows: Vec<(Address, u32)> = match &vectors {
        Some(vectors) => {
            let vectors = vectors.read().unwrap();
            snapshot.keys().filter_map(|(address, key)| Some((address, vectors.row(key)?))).collect()
        }
        None => Vec::new(),
    };
    let searchable = Searchable {
        snapshot: &snapshot,
        rows: &rows,
        vectors: vectors.as_ref(),
        fetched: None,
        tokens: None,
        analyser: &Analyser::default(),
        ranking: Ranking::default(),
        window: WindowLimit(ChunkLimits::default().tokens),
    };
    let words_only = wants_words_only(query);
    let query_vector =
        meanings.filter(|_| words_only.is_none()).map(|meanings| QueryVector::new(meanings.vector(query)));
    searchable
        .search(&SearchRequest {
            query,
            k,
            near_misses: 3,
            query_vector,
            pieces: None,
            words_only,
            vector_weight: None,
        })
        .unwrap()
}

pub fn hits(index: &FolderIndex, query: &str, k: usize) -> Vec<Hit> {
    ask(index, query, k, None).hits
}
