//! The embedding model against what the reference implementation makes of the same texts, with the real weights. `make
//! test-rust` gets them and runs it; plain `cargo test` leaves it out.
//!
//! The numbers of pieces in `reference.json` are from the SentencePiece library, the vectors from the NumPy program of
//! the package that the weights come in, rounded to 1/32767.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use miniclaw::config::{self, Environment};
use miniclaw::domain::{EmbedError, Embedder, Side};
use miniclaw::engine::embedder::{Embedders, LocalModel, Source};
use miniclaw::retrieval::embed::{MAX_PIECES, UseMultilingual};
use miniclaw::store;
use proptest::prelude::*;

#[path = "fixtures/embedder/reference.rs"]
mod reference;
use reference::{Reference, cosine};

static MODEL: LazyLock<UseMultilingual> = LazyLock::new(|| {
    let [weights, vocabulary] = ["weights.npz", "sp.model"].map(file);
    UseMultilingual::load(&weights, &vocabulary).expect("the model loads")
});

const REFERENCE: &str = include_str!("fixtures/embedder/reference.json");

/// The folder that the server takes models from.
fn models() -> PathBuf {
    let environment = Environment::load(Path::new("/nowhere"), std::env::vars()).expect("no .env is there");
    config::models_dir(&environment)
}

fn file(name: &str) -> Vec<u8> {
    let path = models().join(LocalModel::UseMultilingual.name()).join(name);
    store::weights(&path, 1 << 30)
        .unwrap_or_else(|error| panic!("{} cannot be read ({error}); run `make embedder`", path.display()))
}

fn difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

fn embed(texts: &[&str]) -> Vec<Vec<f32>> {
    MODEL.embed(Side::Query, texts).expect("it never fails")
}

#[test]
fn pieces_are_those_of_the_sentencepiece_library() {
    for reference in Reference::all(REFERENCE).iter().filter(|reference| !reference.pieces.is_empty()) {
        assert_eq!(MODEL.pieces(&reference.whole_text()), reference.pieces, "{:?}", reference.whole_text());
    }
}

#[test]
fn vectors_are_those_of_the_reference_alone_and_together() {
    let (texts, expected): (Vec<_>, Vec<_>) =
        Reference::all(REFERENCE).iter().filter_map(|r| Some((r.whole_text(), r.floats()?))).unzip();
    assert!(texts.len() >= 24);
    let together = embed(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(together.len(), texts.len());
    for ((text, expected), together) in texts.iter().zip(&expected).zip(&together) {
        let shown: String = text.chars().take(60).collect();
        let [alone] = &embed(&[text])[..] else { panic!("one vector") };
        assert!(difference(alone, together) < 1e-6, "{shown:?}: neighbours in a batch change nothing");
        let (cosine, difference) = (cosine(alone, expected), difference(alone, expected));
        assert!(cosine >= 0.9999 && difference <= 1e-4, "{shown:?}: cosine {cosine}, difference {difference}");
    }
}

#[test]
fn what_means_the_same_is_near_in_any_language() {
    let same =
        ["How do I reset my password?", "如何重置我的密码？", "Как мне сбросить пароль?", "パスワードの再設定方法"];
    let other = "The cat sat on the mat.";
    let vectors = embed(&[&same[..], &[other]].concat());
    for text in 1..same.len() {
        let (near, far) = (cosine(&vectors[0], &vectors[text]), cosine(&vectors[0], &vectors[same.len()]));
        assert!(near > far + 0.3, "{}: {near} and {far}", same[text]);
    }
}

#[test]
fn a_text_of_a_megabyte_is_read_up_to_its_limit() {
    for part in ["word ", "汉字", "\u{1f600}क", "\u{0}\u{7}\u{200d}", " \n", "a"] {
        let text = part.repeat((1 << 20) / part.len());
        assert!(MODEL.pieces(&text).len() <= MAX_PIECES);
        assert_eq!(embed(&[&text])[0].len(), MODEL.dimension());
    }
    assert_eq!(embed(&[]).len(), 0);
}

#[test]
fn the_server_loads_it_when_it_is_first_needed() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let embedders = Embedders::new(Source::Local(LocalModel::UseMultilingual, models()), runtime.handle().clone());
    let embedder = embedders.get().expect("run `make embedder`").expect("there is one");
    assert_eq!((embedder.id(), embedder.dimension()), (UseMultilingual::ID, 512));
    assert_eq!(embedder.embed(Side::Passage, &["cat"]), Ok(embed(&["cat"])));
}

#[test]
fn damaged_files_are_refused() {
    let [weights, vocabulary] = ["weights.npz", "sp.model"].map(file);
    let mut flipped = weights.clone();
    flipped[weights.len() / 2] ^= 1;
    let cut = &vocabulary[..vocabulary.len() / 2];
    for (weights, vocabulary) in
        [(&flipped[..], &vocabulary[..]), (&weights[..1000], &vocabulary), (&weights, cut), (&vocabulary, &weights)]
    {
        assert!(matches!(UseMultilingual::load(weights, vocabulary), Err(EmbedError::Broken(_))));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_texts_have_vectors_of_length_one(texts in prop::collection::vec(any::<String>(), 0..4)) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let vectors = embed(&texts);
        prop_assert_eq!(vectors.len(), texts.len());
        for vector in vectors {
            let square: f32 = vector.iter().map(|value| value * value).sum();
            prop_assert!((square - 1.0).abs() < 1e-4 && vector.len() == MODEL.dimension());
        }
    }
}
