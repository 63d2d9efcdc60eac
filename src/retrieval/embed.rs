//! Implements the embedder traits for the models of [`miniclaw_embed`].

use miniclaw_embed::{E5Small, InvalidModel, Role, UniversalSentenceEncoder};

use crate::domain::{EmbedError, EmbeddedText, Embedder, EmbeddingInput, TokenEmbedder, TokenVector};

/// The ids of all models that run in this process.
pub const LOCAL_MODELS: [&str; 2] = [UniversalSentenceEncoder::ID, E5Small::ID];

impl Embedder for UniversalSentenceEncoder {
    fn id(&self) -> &str {
        Self::ID
    }

    fn dimension(&self) -> usize {
        Self::DIMENSION
    }

    fn knows(&self, text: &str) -> bool {
        self.covers(text)
    }

    fn weight(&self) -> f64 {
        0.20
    }

    /// The model does not distinguish questions from passages. Never fails.
    fn embed(&self, _side: EmbeddingInput, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(self.embed(texts))
    }
}

impl Embedder for E5Small {
    fn id(&self) -> &str {
        Self::ID
    }

    fn dimension(&self) -> usize {
        Self::DIMENSION
    }

    fn knows(&self, text: &str) -> bool {
        self.covers(text)
    }

    fn weight(&self) -> f64 {
        0.30
    }

    /// Never fails.
    fn embed(&self, side: EmbeddingInput, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(self.embed(role(side), texts))
    }
}

impl TokenEmbedder for E5Small {
    fn id(&self) -> &str {
        Self::ID
    }

    fn dimension(&self) -> usize {
        Self::DIMENSION
    }

    /// Never fails.
    fn embed_tokens(&self, side: EmbeddingInput, text: &str) -> Result<EmbeddedText, EmbedError> {
        let (vector, tokens) = self.embed_with_tokens(role(side), text);
        let tokens = tokens.into_iter();
        let tokens = tokens.map(|token| TokenVector { piece: token.id, start: token.start, vector: token.vector });
        Ok(EmbeddedText { vector, tokens: tokens.collect() })
    }
}

impl From<InvalidModel> for EmbedError {
    fn from(error: InvalidModel) -> Self {
        Self::Broken(error.to_string())
    }
}

fn role(side: EmbeddingInput) -> Role {
    match side {
        EmbeddingInput::Query => Role::Query,
        EmbeddingInput::Passage => Role::Passage,
    }
}
