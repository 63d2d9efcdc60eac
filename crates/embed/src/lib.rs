//! Text embeddings on the CPU: vectors whose closeness says how near texts are in meaning.
//!
//! Two models are implemented, each from the bytes of its published weights:
//!
//! - [`UniversalSentenceEncoder`]: the multilingual Universal Sentence Encoder, version 3 (16 languages, 512 floats);
//! - [`E5Small`]: multilingual-e5-small (100 languages, 384 floats), more accurate and about five times slower. It also
//!   makes one vector for each token, for late interaction.
//!
//! [`dot`] compares vectors that were quantised to 8 bits. The crate opens no file, starts no process and uses no
//! network: weights and vocabularies are passed in as byte slices. README.md lists shapes, papers, formats and limits.

pub mod dot;
mod e5;
mod matrix;
mod script;
mod sentence_encoder;
mod sentencepiece;

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
    /// Byte offset in the text of the token's first character; the space before a word is not part of its token.
    pub start: usize,
    /// L2-normalised.
    pub vector: Vec<f32>,
}

fn invalid(reason: impl Into<String>) -> InvalidModel {
    InvalidModel(reason.into())
}
