//! Vectors of texts that a program sends, from the model that searches use.

use super::{EngineError, Tenant};
use crate::domain::{EmbedError, EmbeddingInput};

/// Vectors with the model that they are of.
pub struct EmbeddedTexts {
    pub model: String,
    /// One for each text, in order.
    pub vectors: Vec<Vec<f32>>,
}

/// Why there are no vectors.
#[derive(Debug, thiserror::Error)]
pub enum NotEmbedded {
    #[error("this server has no embedding model; run `make embedder`, or set `embedding` in config.yml")]
    None,
    /// The id of the one that there is.
    #[error("there is no such embedding model; this server has \"embedding\", which is {0}")]
    Unknown(String),
    #[error(transparent)]
    Embed(#[from] EmbedError),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// The name by which any embedding model can be asked for.
const ANY: &str = "embedding";

impl Tenant {
    /// Returns the vectors of these texts. `model` is `embedding`, or the id of the model that the server has.
    ///
    /// # Errors
    /// Returns an error if there is no such model, or if it does not answer.
    pub async fn embed(
        &self,
        model: &str,
        side: EmbeddingInput,
        texts: Vec<String>,
    ) -> Result<EmbeddedTexts, NotEmbedded> {
        let (embedders, model) = (self.runtime.embedders.clone(), model.to_owned());
        let embedded = tokio::task::spawn_blocking(move || {
            let embedder = embedders.get()?.ok_or(NotEmbedded::None)?;
            if model != ANY && model != embedder.id() {
                return Err(NotEmbedded::Unknown(embedder.id().to_owned()));
            }
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            Ok(EmbeddedTexts { model: embedder.id().to_owned(), vectors: embedder.embed(side, &texts)? })
        });
        embedded.await.map_err(|_| EngineError::Internal("computing vectors was cut off"))?
    }
}
