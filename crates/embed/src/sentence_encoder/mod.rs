//! The multilingual **Universal Sentence Encoder**, version 3 (Yang et al. 2019, arXiv:1907.04307): 16 languages, one
//! vector of 512 floats per text.
//!
//! A SentencePiece tokenizer (`crate::sentencepiece`) converts the text to token ids, and the convolutional `network`
//! computes one vector from their embeddings. The weights are in a NumPy archive (`npz`).

mod network;
mod npz;

use crate::script;
use crate::sentencepiece::Tokenizer;
use crate::{InvalidModel, invalid};
use network::Network;
use npz::Npz;

/// The loaded model. Uses about 66 MB of memory.
pub struct UniversalSentenceEncoder {
    tokenizer: Tokenizer,
    network: Network,
}

impl UniversalSentenceEncoder {
    /// Identifies the model and, after the dot, the version of this implementation. Vectors with different ids must not be
    /// compared; every change that alters the vector of any text increments the version.
    pub const ID: &str = "use-multilingual-v3.1";
    /// Number of floats in a vector.
    pub const DIMENSION: usize = network::DIMENSION;
    /// Maximum number of tokens of a text, including the begin and end tokens: about 4,000 letters of English or 1,500
    /// characters of Chinese. The rest of a longer text is ignored.
    pub const MAX_TOKENS: usize = 1024;

    /// Loads the model from the bytes of `weights.npz` and of the SentencePiece model `sp.model`.
    ///
    /// # Errors
    /// Returns an error if the bytes are damaged or belong to another model.
    pub fn load(weights: &[u8], vocabulary: &[u8]) -> Result<Self, InvalidModel> {
        let tokenizer = Tokenizer::read(vocabulary)?;
        let network = Network::read(&Npz::open(weights)?)?;
        if network.vocabulary_size() < tokenizer.vocabulary_size() {
            return Err(invalid("its vocabulary has more tokens than its weights"));
        }
        Ok(Self { tokenizer, network })
    }

    /// Returns the token ids of a text, including the begin and end tokens; at most [`Self::MAX_TOKENS`].
    pub fn tokenize(&self, text: &str) -> Vec<u32> {
        self.tokenizer.encode(text, Self::MAX_TOKENS)
    }

    /// Returns whether at least half of the text's letters belong to the scripts of the 16 languages.
    pub fn covers(&self, text: &str) -> bool {
        script::is_covered(text)
    }

    /// Computes one L2-normalised vector of [`Self::DIMENSION`] floats for each text, in order.
    pub fn embed(&self, texts: &[&str]) -> Vec<Vec<f32>> {
        let texts: Vec<_> = texts.iter().map(|text| self.tokenize(text)).collect();
        self.network.encode(&texts)
    }
}
