//! An embedder turns texts into vectors whose closeness says how near the texts are in meaning. Which model that is, and
//! where it runs, is somebody else's business; here is what everyone who searches may count on.

/// Which side of a search a text is on; some models treat them differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EmbeddingInput {
    Query,
    Passage,
}

pub trait Embedder: Send + Sync {
    /// Model and version; vectors of different ids are never compared. Safe as part of a file name.
    fn id(&self) -> &str;

    /// How many numbers a vector has.
    fn dimension(&self) -> usize;

    /// Whether the model was made for the language(s) this text is written in (by script is enough).
    fn knows(&self, text: &str) -> bool;

    /// How much the vectors' closeness counts beside the words', from 0 to 1, when there are both: what is best on the data
    /// sets of docs/retrieval.md.
    fn weight(&self) -> f64;

    /// One L2-normalised vector a text, in order. Blocks: call it where blocking is allowed.
    ///
    /// # Errors
    /// When the model cannot answer. Search goes on without vectors then.
    fn embed(&self, side: EmbeddingInput, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;
}

/// A model that makes a vector of each piece of a text, in view of the whole text.
pub trait TokenEmbedder: Send + Sync {
    /// Model and version; vectors of different ids are never compared. Safe as part of a file name.
    fn id(&self) -> &str;

    /// How many numbers a vector has.
    fn dimension(&self) -> usize;

    /// The pieces of the text itself, in order, without what the model puts around it; those at the end of a text that is
    /// too long for the model are left out. Blocks, as [`Embedder::embed`].
    ///
    /// # Errors
    /// When the model cannot answer. Search goes on without these vectors then.
    fn tokens(&self, side: EmbeddingInput, text: &str) -> Result<Vec<TokenVector>, EmbedError>;
}

/// A piece of a text with its vector.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenVector {
    /// The number of the piece in the model's vocabulary.
    pub piece: u32,
    /// The byte of the text that its first character stands at; blanks before it are not counted to it.
    pub start: usize,
    pub vector: Vec<f32>,
}

/// Why there are no vectors, one variant for each thing that can be done about it. No message holds a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmbedError {
    /// The weights are not there.
    #[error(
        "the embedding model is not there: {0}. Run `make embedder`, or `make embedder-e5` for multilingual-e5-small."
    )]
    Missing(String),
    /// The weights are there and are not what they should be.
    #[error(
        "the embedding model cannot be used: {0}. Remove its folder, and get it again with `make embedder` or `make embedder-e5`."
    )]
    Broken(String),
    /// The embedding service refused, or its settings are wrong: trying again does not help.
    #[error("{0} Correct `embedding` in config.yml, or EMBEDDING_MODEL and OPENAI_API_KEY in .env.")]
    Refused(String),
    /// The embedding service did not answer, or not with vectors: it may the next time.
    #[error("{0} Search goes on without vectors; it is tried again later.")]
    Unavailable(String),
}
