//! Reads texts with the results of a reference implementation, and model files.

use std::path::PathBuf;

use base64::Engine;
use serde::Deserialize;

#[derive(Deserialize)]
pub struct Reference {
    text: String,
    /// Number of times the text occurs in a row; 1 if absent.
    repeat: Option<usize>,
    /// Whether the text is a query, for models that distinguish queries from passages.
    #[serde(default)]
    #[allow(dead_code, reason = "only one of the two models distinguishes them")]
    pub query: bool,
    #[serde(rename = "pieces")]
    pub ids: Vec<u32>,
    /// Base64 of little-endian signed 16-bit numbers.
    vector: Option<String>,
}

impl Reference {
    pub fn all(json: &str) -> Vec<Self> {
        serde_json::from_str(json).expect("the fixture")
    }

    pub fn whole_text(&self) -> String {
        self.text.repeat(self.repeat.unwrap_or(1))
    }

    pub fn floats(&self) -> Option<Vec<f32>> {
        let bytes = base64::engine::general_purpose::STANDARD.decode(self.vector.as_ref()?).expect("base64");
        let (words, _) = bytes.as_chunks();
        Some(words.iter().map(|word| f32::from(i16::from_le_bytes(*word)) / 32767.0).collect())
    }
}

pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

pub fn length(vector: &[f32]) -> f32 {
    vector.iter().map(|value| value * value).sum::<f32>().sqrt()
}

/// Reads a file of a model from the models folder: `MINICLAW_MODELS`, or the default folder of `make embedder`.
pub fn model_file(model: &str, name: &str) -> Vec<u8> {
    let data = || Some(PathBuf::from(std::env::var_os("XDG_DATA_HOME")?));
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/share"));
    let default = || data().or_else(home).map(|data| data.join("miniclaw/models"));
    let models = std::env::var_os("MINICLAW_MODELS").map(PathBuf::from).or_else(default).expect("a home");
    let path = models.join(model).join(name);
    std::fs::read(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; run `make embedder` or `make embedder-use`", path.display()))
}
