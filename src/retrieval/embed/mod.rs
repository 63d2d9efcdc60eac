//! Vectors of texts from a model that runs here: the **Universal Sentence Encoder, multilingual v3** (16 languages, 512
//! floats), in Rust alone; or the better and slower multilingual-e5-small (`e5`).
//!
//! A text is brought into a normal form (`normalize`), cut into **pieces** (`pieces`), and the **network** (`network`)
//! makes one vector of their vectors. Its two files, the weights (`npz`) and the vocabulary (`protobuf`), come in as
//! bytes. The model reads at most [`MAX_PIECES`] pieces of a text, about 4,000 letters of English or 1,500 characters of
//! Chinese; what comes after changes nothing.

mod e5;
mod matrix;
mod network;
mod normalize;
mod npz;
mod pieces;
mod protobuf;
mod script;

use crate::domain::{EmbedError, Embedder, Side};

pub use e5::E5Small;
use network::Network;
use npz::Npz;
use pieces::Pieces;

/// Most pieces of a text that are read, with the two for its begin and end.
pub const MAX_PIECES: usize = 1024;

/// The loaded model. Takes about 66 MB.
pub struct UseMultilingual {
    pieces: Pieces,
    network: Network,
}

impl UseMultilingual {
    /// The model, and behind the dot what we make of it: to be raised when the same text would get another vector.
    pub const ID: &str = "use-multilingual-v3.1";

    /// Takes the bytes of `weights.npz` and `sp.model`.
    ///
    /// # Errors
    /// When they are damaged, or not of this model.
    pub fn load(weights: &[u8], vocabulary: &[u8]) -> Result<Self, EmbedError> {
        let pieces = Pieces::read(vocabulary)?;
        let network = Network::read(&Npz::open(weights)?)?;
        if network.pieces() < pieces.count() {
            return Err(broken("its vocabulary has more pieces than its weights"));
        }
        Ok(Self { pieces, network })
    }

    /// The numbers of the pieces that the model reads of a text.
    pub fn pieces(&self, text: &str) -> Vec<u32> {
        self.pieces.of(text, MAX_PIECES)
    }
}

impl Embedder for UseMultilingual {
    fn id(&self) -> &str {
        Self::ID
    }

    fn dimension(&self) -> usize {
        network::DIMENSION
    }

    fn knows(&self, text: &str) -> bool {
        script::knows(text)
    }

    fn weight(&self) -> f64 {
        0.20
    }

    /// The model treats questions and passages alike. Never fails.
    fn embed(&self, _side: Side, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let texts: Vec<_> = texts.iter().map(|text| self.pieces(text)).collect();
        Ok(self.network.encode(&texts))
    }
}

fn broken(reason: impl Into<String>) -> EmbedError {
    EmbedError::Broken(reason.into())
}
