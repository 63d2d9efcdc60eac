//! Retrieval: pieces of documents, and which of them answer a question.
//!
//! A file becomes a text (`extract`), the text **chunks** (`outline`, `chunk`), their words terms (`analyse`). The `shelf`
//! keeps files and chunks in a tantivy index; `index` keeps the shelf in step with a folder. A `search` asks two legs, the
//! `lexical` one by words and the `vectors` by meaning (an `embed` engine makes them), may have the candidates compared with
//! the question piece by piece (`late`), and `fuse`s the answers into **hits** that say why they were found. Nothing here
//! opens a file: bytes, folders and handles come in as values.

pub mod analyse;
pub mod cases;
pub mod chunk;
mod dot;
pub mod embed;
pub mod extract;
pub mod fuse;
pub mod index;
pub mod late;
pub mod lexical;
mod outline;
mod places;
mod prepared;
pub mod search;
pub mod shelf;
mod stop_words;
mod stretch;
pub mod vectors;
pub mod windows;

pub use chunk::Limits;
pub use index::{FolderIndex, Listed};
pub use late::Tokens;
pub use lexical::Snapshot;
pub use search::{Asked, Found, Ranking, SearchError, Searchable, wants_words_only};
pub use tantivy::DocAddress as Address;
pub use vectors::Vectors;

#[cfg(test)]
mod tests;
