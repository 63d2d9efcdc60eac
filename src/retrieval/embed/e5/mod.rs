//! **multilingual-e5-small** (100 languages, 384 floats) with weights of 4 bits: nearer to what a text means than the
//! Universal Sentence Encoder, and five times slower. A text is cut into pieces, and the **network** (`network`) makes a
//! vector of each in view of all others, by **layers** (`linear`) that come in one file (`blob`).

mod blob;
mod linear;
mod network;

use crate::domain::{EmbedError, Embedder, Side, TokenEmbedder, TokenVector};

use super::broken;
use super::pieces::Pieces;
use blob::Blob;
use network::{DIMENSION, Network};

/// Most pieces of a text that are read, with the side and the two for its begin and end: about 2,000 letters of English
/// or 750 characters of Chinese.
pub const MAX_PIECES: usize = 512;

/// The loaded model. Takes about 90 MB.
pub struct E5Small {
    pieces: Pieces,
    network: Network,
}

impl E5Small {
    /// The model and the precision of its weights; to be raised when the same text would get another vector.
    pub const ID: &str = "multilingual-e5-small-q4";

    /// Takes the bytes of `e5-small-q4.bin`.
    ///
    /// # Errors
    /// When they are damaged, or not of this model.
    pub fn load(file: &[u8]) -> Result<Self, EmbedError> {
        let (pieces, blob) = Blob::open(file)?;
        let network = Network::read(&blob)?;
        if network.pieces() < pieces.count() {
            return Err(broken("its vocabulary has more pieces than its weights"));
        }
        Ok(Self { pieces, network })
    }

    /// The numbers of the pieces that the model reads of a text.
    pub fn pieces(&self, side: Side, text: &str) -> Vec<u32> {
        self.pieces.of(&format!("{} {text}", said(side)), MAX_PIECES)
    }

    /// A vector of length 1 for each of the text's own pieces, in view of the whole text: what
    /// [`E5Small::pieces`] gives without begin, side and end.
    pub fn tokens(&self, side: Side, text: &str) -> Vec<Vec<f32>> {
        let own = self.pieces.of(said(side), MAX_PIECES).len() - 1;
        let pieces = self.pieces(side, text);
        let rows = self.network.encode(&pieces);
        let count = pieces.len().saturating_sub(own + 1);
        rows.chunks_exact(DIMENSION).skip(own).take(count).map(|row| unit(row.to_vec())).collect()
    }

    fn vector(&self, side: Side, text: &str) -> Vec<f32> {
        let mut sum = vec![0.0; DIMENSION];
        let rows = self.network.encode(&self.pieces(side, text));
        rows.chunks_exact(DIMENSION).for_each(|row| network::add(&mut sum, row));
        unit(sum)
    }
}

impl Embedder for E5Small {
    fn id(&self) -> &str {
        Self::ID
    }

    fn dimension(&self) -> usize {
        DIMENSION
    }

    /// What the model was made of was in 100 languages.
    fn knows(&self, text: &str) -> bool {
        self.pieces.know(text)
    }

    fn weight(&self) -> f64 {
        0.30
    }

    /// Never fails.
    fn embed(&self, side: Side, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|text| self.vector(side, text)).collect())
    }
}

impl TokenEmbedder for E5Small {
    fn id(&self) -> &str {
        Self::ID
    }

    fn dimension(&self) -> usize {
        DIMENSION
    }

    /// Never fails.
    fn tokens(&self, side: Side, text: &str) -> Result<Vec<TokenVector>, EmbedError> {
        let own = said(side).len() + 1;
        let places = self.pieces.places(&format!("{} {text}", said(side)), MAX_PIECES);
        let places = places.into_iter().filter_map(|(piece, start)| Some((piece, start.checked_sub(own)?)));
        let vectors = E5Small::tokens(self, side, text);
        Ok(places.zip(vectors).map(|((piece, start), vector)| TokenVector { piece, start, vector }).collect())
    }
}

/// What the model was taught that texts begin with.
fn said(side: Side) -> &'static str {
    match side {
        Side::Query => "query:",
        Side::Passage => "passage:",
    }
}

fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let scale = 1.0 / network::sum(&vector, |value| value * value).max(f32::MIN_POSITIVE).sqrt();
    vector.iter_mut().for_each(|value| *value *= scale);
    vector
}

/// Compiles a function twice: for any processor, and for AVX2 with FMA, which is taken where the processor has them.
macro_rules! vectorised {
    ($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) $body:block) => {
        $(#[$doc])*
        fn $name($($argument: $type),*) {
            #[inline(always)]
            fn anywhere($($argument: $type),*) $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2($($argument: $type),*) {
                anywhere($($argument),*);
            }

            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                // SAFETY: the processor has AVX2 and FMA, as was just asked.
                return unsafe { avx2($($argument),*) };
            }
            anywhere($($argument),*);
        }
    };
}
use vectorised;
