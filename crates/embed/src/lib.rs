//! Text embeddings on the CPU: the larger the dot product of two vectors, the more similar the texts are in meaning.
//!
//! The crate implements two models and loads each from the bytes of its published weights:
//!
//! - [`UniversalSentenceEncoder`]: the multilingual Universal Sentence Encoder, version 3 (16 languages, 512 floats);
//! - [`E5Small`]: multilingual-e5-small (100 languages, 384 floats), more accurate and about five times slower. It can also
//!   compute one vector for each token, for late interaction.
//!
//! [`dot`] computes dot products of vectors quantised to 8 bits, and [`signs`] those with vectors of signs. The crate does not
//! open files, start processes or use the network: the caller passes weights and vocabularies as byte slices. README.md lists
//! shapes, papers, formats and limits.

pub mod dot;
mod e5;
mod matrix;
mod script;
mod sentence_encoder;
mod sentencepiece;
pub mod signs;

pub use e5::E5Small;
pub use sentence_encoder::UniversalSentenceEncoder;

/// The bytes passed to `load` are damaged, or belong to another model. The message says what is wrong with them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidModel(String);

/// The role of a text in a search. E5 was trained with a different prefix for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    Query,
    Passage,
}

/// A token of a text and its vector in the context of the whole text.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenEmbedding {
    /// The token's id in the model's vocabulary.
    pub id: u32,
    /// Byte offset in the text of the token's first character, excluding the space before a word.
    pub start: usize,
    /// L2-normalised vector of the token.
    pub vector: Vec<f32>,
}

fn invalid(reason: impl Into<String>) -> InvalidModel {
    InvalidModel(reason.into())
}
