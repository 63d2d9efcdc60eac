//! The server loads each embedding model from the models folder, with the real weights. `make test-rust` downloads
//! them and runs this; plain `cargo test` skips it. crates/embed tests the models themselves.

use std::path::{Path, PathBuf};

use miniclaw::config::{self, Environment};
use miniclaw::config::{EmbeddingSource, LocalModel};
use miniclaw::domain::{Embedder, EmbeddingInput, TokenEmbedder};
use miniclaw::engine::embedder::Embedders;
use std::sync::Arc;

/// Returns the folder from which the server loads models.
fn models() -> PathBuf {
    let environment = Environment::load(Path::new("/nowhere"), std::env::vars()).expect("no .env is there");
    config::models_dir(&environment)
}

fn load(model: LocalModel) -> Arc<dyn Embedder> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let embedders = Embedders::new(EmbeddingSource::Local(model, models()), runtime.handle().clone());
    embedders.get().unwrap_or_else(|error| panic!("{error}")).expect("a local model is configured")
}

fn length(vector: &[f32]) -> f32 {
    vector.iter().map(|value| value * value).sum::<f32>().sqrt()
}

#[test]
fn universal_sentence_encoder_is_loaded_on_first_use() {
    let embedder = load(LocalModel::UseMultilingual);
    assert_eq!((embedder.id(), embedder.dimension()), ("use-multilingual-v3.1", 512));
    let vectors = embedder.embed(EmbeddingInput::Passage, &["cat", "dog"]).unwrap();
    assert!(vectors.len() == 2 && vectors.iter().all(|v| v.len() == 512 && (length(v) - 1.0).abs() < 1e-4));
    assert_eq!(
        embedder.embed(EmbeddingInput::Query, &["cat", "dog"]).unwrap(),
        vectors,
        "both sides are treated alike"
    );
}

#[test]
fn e5_small_is_loaded_on_first_use() {
    let embedder = load(LocalModel::E5Small);
    assert_eq!((embedder.id(), embedder.dimension()), ("multilingual-e5-small-q4", 384));
    let vectors =
        [EmbeddingInput::Query, EmbeddingInput::Passage].map(|side| embedder.embed(side, &["cat"]).unwrap().remove(0));
    assert!(vectors.iter().all(|v| v.len() == 384 && (length(v) - 1.0).abs() < 1e-4));
    assert_ne!(vectors[0], vectors[1], "each side has its own prefix");
}

#[test]
fn texts_and_their_pieces_share_one_loaded_model() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let embedders = Embedders::new(EmbeddingSource::LocalIfThere(models()), runtime.handle().clone());
    let (whole, pieces): (Arc<dyn Embedder>, Arc<dyn TokenEmbedder>) =
        (embedders.get().unwrap().unwrap(), embedders.tokens().unwrap().expect("it is on by default"));
    assert!(std::ptr::addr_eq(Arc::as_ptr(&whole), Arc::as_ptr(&pieces)));
    assert_eq!(whole.id(), pieces.id());
    for text in ["The meeting is on Friday.", "会议在星期五。", ""] {
        let embedded = pieces.embed_tokens(EmbeddingInput::Passage, text).unwrap();
        assert_eq!(whole.embed(EmbeddingInput::Passage, &[text]).unwrap(), [embedded.vector], "{text}");
    }
}
