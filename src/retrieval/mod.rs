//! Hybrid retrieval: splits documents into chunks and finds those that answer a question.
//!
//! A file becomes a text (`extract`), the text becomes **chunks** (`outline`, `chunk`), and their words become terms (`analyse`).
//! A `chunk_index` stores files and chunks in tantivy; `index` keeps it in sync with a folder. A `search` queries two retrievers:
//! `lexical` searches by words, `vectors` by meaning (with a model of `miniclaw_embed` or a service). It can compare the
//! candidates with the question piece by piece (`late`), and it fuses the scores (`fuse`) into **hits** that explain why they
//! were found, each with a `confidence` that it answers. This module opens no documents: callers pass in bytes, index folders and file handles.

pub mod analyse;
pub mod cases;
pub mod chunk;
pub mod chunk_index;
mod chunk_positions;
mod chunk_writer;
pub mod confidence;
mod cosine_scale;
mod duplicates;
mod embed;
pub mod extract;
mod fetched;
pub mod fuse;
mod hits;
pub mod index;
pub mod late;
pub mod lexical;
pub mod library_chunks;
pub mod note;
mod outline;
mod passage;
mod prepared;
pub mod search;
mod snapshot;
mod span;
mod stop_words;
pub mod vectors;
pub mod windows;

pub use chunk::ChunkLimits;
pub use cosine_scale::CosineScale;
pub use embed::LOCAL_MODELS;
pub use index::{FolderIndex, Listed};
pub use late::TokenVectors;
pub use search::{FetchedCosines, Ranking, SearchError, SearchOutcome, SearchRequest, Searchable, wants_words_only};
pub use snapshot::IndexSnapshot;
pub use tantivy::DocAddress as Address;
pub use vectors::Vectors;

#[cfg(test)]
mod tests;
