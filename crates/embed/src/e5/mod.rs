//! **multilingual-e5-small** (Wang et al. 2024, arXiv:2402.05672; 100 languages, 384 floats) with weights quantised to 4
//! bits. It is more accurate than the Universal Sentence Encoder, and about five times slower.
//!
//! A SentencePiece tokenizer (`crate::sentencepiece`) converts the text to token ids, and a BERT (`network`) with quantised
//! layers (`linear`) computes one vector for each token. The mean of these vectors is the vector of the text. One file
//! (`file`) contains the vocabulary and the weights.

mod file;
mod linear;
mod network;

use crate::sentencepiece::Tokenizer;
use crate::{InvalidModel, Role, TokenEmbedding, invalid};
use file::WeightsFile;
use network::Network;

/// The loaded model. Uses about 90 MB of memory.
pub struct E5Small {
    tokenizer: Tokenizer,
    network: Network,
}

impl E5Small {
    /// Identifies the model and the precision of its weights. Vectors with different ids must not be compared; every change
    /// that alters the vector of any text changes the id.
    pub const ID: &str = "multilingual-e5-small-q4";
    /// Number of floats in a vector.
    pub const DIMENSION: usize = network::DIMENSION;
    /// Maximum number of tokens of a text, including the role's prefix and the begin and end tokens: about 2,000 letters of
    /// English or 750 characters of Chinese. The rest of a longer text is ignored.
    pub const MAX_TOKENS: usize = network::POSITIONS;

    /// Loads the model from the bytes of `e5-small-q4.bin`.
    ///
    /// # Errors
    /// Returns an error if the bytes are damaged or belong to another model.
    pub fn load(file: &[u8]) -> Result<Self, InvalidModel> {
        let (tokenizer, file) = WeightsFile::open(file)?;
        let network = Network::read(&file)?;
        if network.vocabulary_size() < tokenizer.vocabulary_size() {
            return Err(invalid("its vocabulary has more tokens than its weights"));
        }
        Ok(Self { tokenizer, network })
    }

    /// Returns the token ids of the role's prefix and the text, including the begin and end tokens; at most
    /// [`Self::MAX_TOKENS`].
    pub fn tokenize(&self, role: Role, text: &str) -> Vec<u32> {
        self.tokenizer.encode(&format!("{} {text}", prefix(role)), Self::MAX_TOKENS)
    }

    /// Returns whether at least half of the text's letters are tokens by themselves, as are the letters of the 100 languages
    /// that the model was trained on.
    pub fn covers(&self, text: &str) -> bool {
        self.tokenizer.covers(text)
    }

    /// Computes one L2-normalised vector of [`Self::DIMENSION`] floats for each text, in order.
    pub fn embed(&self, role: Role, texts: &[&str]) -> Vec<Vec<f32>> {
        texts.iter().map(|text| mean(&self.network.encode(&self.tokenize(role, text)))).collect()
    }

    /// Computes the same vector as [`E5Small::embed`], and one for each token in the context of the whole text, in one pass. The
    /// tokens exclude the begin and end tokens, the prefix, and those past the limit.
    pub fn embed_with_tokens(&self, role: Role, text: &str) -> (Vec<f32>, Vec<TokenEmbedding>) {
        let prefix_bytes = prefix(role).len() + 1;
        let offsets = self.tokenizer.encode_with_offsets(&format!("{} {text}", prefix(role)), Self::MAX_TOKENS);
        let offsets = offsets.into_iter().filter_map(|(id, start)| Some((id, start.checked_sub(prefix_bytes)?)));
        let before = self.tokenizer.encode(prefix(role), Self::MAX_TOKENS).len() - 1;
        let ids = self.tokenize(role, text);
        let rows = self.network.encode(&ids);
        let count = ids.len().saturating_sub(before + 1);
        let vectors = rows.chunks_exact(Self::DIMENSION).skip(before).take(count);
        let token =
            |((id, start), row): ((u32, usize), &[f32])| TokenEmbedding { id, start, vector: normalized(row.to_vec()) };
        (mean(&rows), offsets.zip(vectors).map(token).collect())
    }
}

/// Returns the prefix that the model was trained with for a role.
fn prefix(role: Role) -> &'static str {
    match role {
        Role::Query => "query:",
        Role::Passage => "passage:",
    }
}

/// Returns the mean of the rows of all tokens, scaled to length 1.
fn mean(rows: &[f32]) -> Vec<f32> {
    let mut sum = vec![0.0; E5Small::DIMENSION];
    rows.chunks_exact(E5Small::DIMENSION).for_each(|row| network::add(&mut sum, row));
    normalized(sum)
}

fn normalized(mut vector: Vec<f32>) -> Vec<f32> {
    let scale = 1.0 / network::sum(&vector, |value| value * value).max(f32::MIN_POSITIVE).sqrt();
    vector.iter_mut().for_each(|value| *value *= scale);
    vector
}

/// Compiles a function twice: for any processor, and for AVX2 with FMA, which runs if the processor supports them.
macro_rules! vectorised {
    ($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) $body:block) => {
        $(#[$doc])*
        fn $name($($argument: $type),*) {
            #[inline(always)]
            fn portable($($argument: $type),*) $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2($($argument: $type),*) {
                portable($($argument),*);
            }

            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                // SAFETY: the condition checks that the processor supports AVX2 and FMA.
                return unsafe { avx2($($argument),*) };
            }
            portable($($argument),*);
        }
    };
}
use vectorised;
