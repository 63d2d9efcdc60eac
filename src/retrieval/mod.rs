//! Retrieval: pieces of documents, and which of them answer a question.
//!
//! A **document** is a text with a home path. It is cut into **chunks** (`chunk`), whose words (`analyse`) stand in an
//! inverted index (`bm25`). A **folder index** (`index`) keeps the chunks of a set of documents in step with their
//! texts and answers with **hits**. Nothing here opens a file: texts come in as values.

pub mod analyse;
pub mod bm25;
pub mod chunk;
pub mod index;
mod outline;
mod stop_words;

pub use bm25::Contribution;
pub use chunk::{Chunk, Limits};
pub use index::{Changes, CountTokens, Explained, FolderIndex, Listed};
