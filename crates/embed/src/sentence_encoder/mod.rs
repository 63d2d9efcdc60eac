//! The multilingual **Universal Sentence Encoder**, version 3 (Yang et al. 2019, arXiv:1907.04307): 16 languages, one
//! vector of 512 floats a text.
//!
//! A SentencePiece tokenizer (`crate::sentencepiece`) makes token ids of the text, and the convolutional `network` makes
//! one vector of their embeddings. The weights come as a NumPy archive (`npz`).

mod network;
mod npz;

use crate::script;
use crate::sentencepiece::Tokenizer;
use crate::{InvalidModel, invalid};
use network::Network;
use npz::Npz;

/// The loaded model. Takes about 66 MB.
pub struct UniversalSentenceEncoder {
    tokenizer: Tokenizer,
    network: Network,
}

impl UniversalSentenceEncoder {
    /// Names the model and, after the dot, this implementation of it. Vectors of different ids must not be compared; a
    /// change that alters the vector of any text raises the number after the dot.
    pub const ID: &str = "use-multilingual-v3.1";
    /// Floats of a vector.
    pub const DIMENSION: usize = network::DIMENSION;
    /// The longest text in tokens, with the two that mark its begin and end: about 4,000 letters of English or 1,500
    /// characters of Chinese. The rest of a longer text is ignored.
    pub const MAX_TOKENS: usize = 1024;

    /// Takes the bytes of `weights.npz` and of the SentencePiece model `sp.model`.
    ///
    /// # Errors
    /// When they are damaged, or belong to another model.
    pub fn load(weights: &[u8], vocabulary: &[u8]) -> Result<Self, InvalidModel> {
        let tokenizer = Tokenizer::read(vocabulary)?;
        let network = Network::read(&Npz::open(weights)?)?;
        if network.vocabulary_size() < tokenizer.vocabulary_size() {
            return Err(invalid("its vocabulary has more tokens than its weights"));
        }
        Ok(Self { tokenizer, network })
    }

    /// The token ids of a text, between those for begin and end; at most [`Self::MAX_TOKENS`].
    pub fn tokenize(&self, text: &str) -> Vec<u32> {
        self.tokenizer.encode(text, Self::MAX_TOKENS)
    }

    /// Whether at least half of the text's letters belong to the scripts of the 16 languages.
    pub fn covers(&self, text: &str) -> bool {
        script::is_covered(text)
    }

    /// One L2-normalised vector of [`Self::DIMENSION`] floats for each text, in order.
    pub fn embed(&self, texts: &[&str]) -> Vec<Vec<f32>> {
        let texts: Vec<_> = texts.iter().map(|text| self.tokenize(text)).collect();
        self.network.encode(&texts)
    }
}
