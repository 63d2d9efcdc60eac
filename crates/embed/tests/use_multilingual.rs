//! Compares the Universal Sentence Encoder with its reference implementation on the real weights. `make test-rust` downloads
//! the weights and runs these tests; plain `cargo test` skips them.
//!
//! The SentencePiece library computed the token ids in `use-multilingual.json`, and the NumPy program in the weights' package
//! computed the vectors, which are rounded to 1/32767. `fixtures/make_use.py` writes the file.

use std::sync::LazyLock;

use miniclaw_embed::UniversalSentenceEncoder;
use proptest::prelude::*;

mod common;
use common::{Reference, cosine, length};

const DIMENSION: usize = UniversalSentenceEncoder::DIMENSION;

fn file(name: &str) -> Vec<u8> {
    common::model_file("use-multilingual-v3", name)
}

static MODEL: LazyLock<UniversalSentenceEncoder> = LazyLock::new(|| {
    let [weights, vocabulary] = ["weights.npz", "sp.model"].map(file);
    UniversalSentenceEncoder::load(&weights, &vocabulary).expect("the model loads")
});

const REFERENCE: &str = include_str!("fixtures/use-multilingual.json");

fn difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

fn embed(texts: &[&str]) -> Vec<Vec<f32>> {
    MODEL.embed(texts)
}

#[test]
fn token_ids_match_sentencepiece() {
    for reference in Reference::all(REFERENCE).iter().filter(|reference| !reference.ids.is_empty()) {
        assert_eq!(MODEL.tokenize(&reference.whole_text()), reference.ids, "{:?}", reference.whole_text());
    }
}

#[test]
fn vectors_match_reference_alone_and_batched() {
    let (texts, expected): (Vec<_>, Vec<_>) =
        Reference::all(REFERENCE).iter().filter_map(|r| Some((r.whole_text(), r.floats()?))).unzip();
    assert!(texts.len() >= 24);
    let together = embed(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(together.len(), texts.len());
    for ((text, expected), together) in texts.iter().zip(&expected).zip(&together) {
        let shown: String = text.chars().take(60).collect();
        let [alone] = &embed(&[text])[..] else { panic!("one vector") };
        assert!(difference(alone, together) < 1e-6, "{shown:?}: the batch does not change a vector");
        let (cosine, difference) = (cosine(alone, expected), difference(alone, expected));
        assert!(cosine >= 0.9999 && difference <= 1e-4, "{shown:?}: cosine {cosine}, difference {difference}");
    }
}

#[test]
fn translations_are_close() {
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
fn megabyte_text_is_truncated() {
    for part in ["word ", "汉字", "\u{1f600}क", "\u{0}\u{7}\u{200d}", " \n", "a"] {
        let text = part.repeat((1 << 20) / part.len());
        assert!(MODEL.tokenize(&text).len() <= UniversalSentenceEncoder::MAX_TOKENS);
        assert_eq!(embed(&[&text])[0].len(), DIMENSION);
    }
    assert_eq!(embed(&[]).len(), 0);
}

#[test]
fn damaged_files_are_rejected() {
    let [weights, vocabulary] = ["weights.npz", "sp.model"].map(file);
    let mut flipped = weights.clone();
    flipped[weights.len() / 2] ^= 1;
    let cut = &vocabulary[..vocabulary.len() / 2];
    for (weights, vocabulary) in
        [(&flipped[..], &vocabulary[..]), (&weights[..1000], &vocabulary), (&weights, cut), (&vocabulary, &weights)]
    {
        assert!(UniversalSentenceEncoder::load(weights, vocabulary).is_err());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_texts_have_unit_vectors(texts in prop::collection::vec(any::<String>(), 0..4)) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let vectors = embed(&texts);
        prop_assert_eq!(vectors.len(), texts.len());
        for vector in vectors {
            prop_assert!((length(&vector) - 1.0).abs() < 1e-4 && vector.len() == DIMENSION);
        }
    }
}
