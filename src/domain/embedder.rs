//! An embedder turns texts into vectors, and nearby vectors mean texts of similar meaning. This module defines only
//! what every search relies on; which model is used, and where it runs, is decided elsewhere.

/// Which side of a search a text is on; some models treat them differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EmbeddingInput {
    Query,
    Passage,
}

pub trait Embedder: Send + Sync {
    /// Returns model and version. Vectors of different ids are never compared. Safe as part of a file name.
    fn id(&self) -> &str;

    /// Returns how many numbers a vector has.
    fn dimension(&self) -> usize;

    /// Returns whether the model was made for the language or languages of this text (judging by script is enough).
    fn knows(&self, text: &str) -> bool;

    /// Returns the weight of the vectors beside the words when there are both, from 0 to 1: the best value on the data
    /// sets of docs/retrieval.md.
    fn weight(&self) -> f64;

    /// Returns one L2-normalised vector per text, in order. Blocks the thread: call it where blocking is allowed.
    ///
    /// # Errors
    /// Returns an error if the model cannot answer. Search then continues without vectors.
    fn embed(&self, side: EmbeddingInput, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// A model that computes a vector for each piece of a text, in the context of the whole text. One that is also an [`Embedder`]
/// has the same id there.
pub trait TokenEmbedder: Send + Sync {
    /// Returns model and version. Vectors of different ids are never compared. Safe as part of a file name.
    fn id(&self) -> &str;

    /// Returns how many numbers a vector has.
    fn dimension(&self) -> usize;

    /// Returns the vectors of the text and of its pieces. Blocks, like [`Embedder::embed`].
    ///
    /// # Errors
    /// Returns an error if the model cannot answer. Search then continues without these vectors.
    fn embed_tokens(&self, side: EmbeddingInput, text: &str) -> Result<EmbeddedText, EmbedError>;
}

/// The vectors of a text, from one pass of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct EmbeddedText {
    /// The vector of the whole text, equal to that of [`Embedder::embed`] of the same model.
    pub vector: Vec<f32>,
    /// The pieces in order, without the special tokens that the model adds. Pieces at the end of a text that is too long for
    /// the model are left out.
    pub tokens: Vec<TokenVector>,
}

/// A piece of a text with its vector.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenVector {
    /// Index of the piece in the model's vocabulary.
    pub piece: u32,
    /// Byte offset of its first character in the text; whitespace before the piece does not belong to it.
    pub start: usize,
    pub vector: Vec<f32>,
}

/// Why there are no vectors, one variant per remedy. No message contains a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// The weights are missing.
    #[error(
        "the embedding model is not there: {0}. Run `make embedder`, or `make embedder-use` for use-multilingual-v3."
    )]
    Missing(String),
    /// The weights exist but are not valid.
    #[error(
        "the embedding model cannot be used: {0}. Remove its folder, and get it again with `make embedder` or `make embedder-use`."
    )]
    Broken(String),
    /// The embedding service refused the request, or its settings are wrong: a retry does not help.
    #[error("{0} Correct `embedding` in config.yml, or EMBEDDING_MODEL and OPENAI_API_KEY in .env.")]
    Refused(String),
    /// The embedding service did not answer, or not with vectors: a retry may help.
    #[error("{0} Search goes on without vectors; it is tried again later.")]
    Unavailable(String),
    /// The texts are not sent to a service beyond this machine.
    #[error(
        "conversations are not sent to the embedding service, which is not on this machine, so they are searched by words alone. \
         To send them, set `embedding.conversations: true` in config.yml."
    )]
    Withheld,
    /// The library is closed: nothing is computed for it any more.
    #[error("the library is closed.")]
    Closed,
}
