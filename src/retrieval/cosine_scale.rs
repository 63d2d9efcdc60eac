//! The coefficients of the confidence, and what the cosines of a model mean for it. `eval/fit-confidence.py` fits them.

use super::analyse::WritingSystem;
use crate::domain::knowledge::Evidence;

/// Added to the coverage before its logarithm.
const COVERAGE_OFFSET: f64 = 0.1;
/// An index of fewer chunks counts like one of this many.
const FEWEST_CHUNKS: u32 = 10;
/// The highest share of a word's weight that BM25 counts, reciprocally: its `k1 + 1`.
pub(super) const SATURATED: f64 = 2.2;

/// The coefficients of a logistic function.
pub(super) struct Coefficients {
    coverage: f64,
    weight: f64,
    best: f64,
    nowhere: f64,
    missing_names: f64,
    characters: f64,
    chunks: f64,
    cosine: f64,
    late: f64,
    constant: f64,
}

/// For words alone, in scripts with spaces between words.
pub(super) const WORDS: Coefficients = Coefficients {
    coverage: 6.38,
    weight: 4.43,
    best: 0.0,
    nowhere: 0.0,
    missing_names: -1.47,
    characters: 0.0,
    chunks: -0.52,
    cosine: 0.0,
    late: 0.0,
    constant: -2.3,
};
/// For words alone, in scripts without spaces.
pub(super) const CHARACTERS: Coefficients = Coefficients {
    coverage: 5.36,
    weight: 2.64,
    best: 0.358,
    nowhere: -0.49,
    missing_names: -0.66,
    characters: -10.84,
    chunks: -0.72,
    cosine: 0.0,
    late: 0.0,
    constant: 3.7,
};
/// For words and vectors of the sentence encoder, in scripts with spaces.
const WORDS_AND_VECTORS: Coefficients = Coefficients {
    coverage: 6.11,
    weight: 1.63,
    best: 0.0,
    nowhere: -5.12,
    missing_names: -2.05,
    characters: 0.0,
    chunks: -1.33,
    cosine: 15.06,
    late: 0.0,
    constant: 8.25,
};
/// The same, in scripts without spaces.
const CHARACTERS_AND_VECTORS: Coefficients = Coefficients {
    coverage: 7.25,
    weight: 0.30,
    best: 0.0,
    nowhere: 1.43,
    missing_names: -0.45,
    characters: -7.89,
    chunks: -0.86,
    cosine: 20.78,
    late: 0.0,
    constant: 9.93,
};

/// For words and vectors of multilingual-e5-small, in scripts with spaces.
const WORDS_AND_E5: Coefficients = Coefficients {
    coverage: 3.73,
    weight: 2.07,
    best: 0.0,
    nowhere: -3.53,
    missing_names: -1.66,
    characters: 0.0,
    chunks: -1.31,
    cosine: 59.5,
    late: 0.0,
    constant: -40.8,
};
/// The same, in scripts without spaces.
const CHARACTERS_AND_E5: Coefficients = Coefficients {
    coverage: 5.23,
    weight: 0.745,
    best: 0.0,
    nowhere: 0.0,
    missing_names: -0.39,
    characters: -6.98,
    chunks: -1.195,
    cosine: 139.9,
    late: 0.0,
    constant: -107.6,
};

/// For words and late interaction, in scripts with spaces.
pub(super) const WORDS_AND_LATE: Coefficients = Coefficients {
    coverage: 0.994,
    weight: 2.643,
    best: 0.0,
    nowhere: -6.1,
    missing_names: 0.0,
    characters: 0.0,
    chunks: -1.187,
    cosine: 0.0,
    late: 26.1,
    constant: -6.32,
};
/// For words, vectors of multilingual-e5-small and late interaction, in scripts with spaces. The constant is 0.23 higher than the fitted
/// one, so that at least 97 % of the right passages of each set are strong, and not only of all sets together.
const WORDS_E5_AND_LATE: Coefficients = Coefficients {
    coverage: 1.118,
    weight: 1.588,
    best: 0.0,
    nowhere: -4.51,
    missing_names: 0.0,
    characters: 0.0,
    chunks: -0.913,
    cosine: 55.96,
    late: 18.21,
    constant: -48.55,
};

/// The bounds for the cosine alone, where a passage has few or none of the question's words.
pub(super) struct CosineBounds {
    /// How fast the confidence rises with the cosine.
    slope: f64,
    /// What is added for each unit of the logarithm of the number of chunks: the best of many unrelated chunks is nearer than the
    /// best of a few.
    chunks: f64,
    /// The cosine that an index of one chunk would need, by the script of the question.
    spaced: f64,
    unspaced: f64,
    /// The same for a passage in another script than the question, which cannot have its words.
    foreign: f64,
}

const SENTENCE_ENCODER_ALONE: CosineBounds =
    CosineBounds { slope: 20.0, chunks: 0.02, spaced: 0.27, unspaced: 0.27, foreign: 0.156 };
const E5_ALONE: CosineBounds =
    CosineBounds { slope: 80.0, chunks: 0.005, spaced: 0.82, unspaced: 0.846, foreign: 0.807 };

/// What the cosines of an embedding model mean. Models differ in how near to each other they place unrelated texts, and related
/// ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CosineScale {
    /// Unrelated texts have a cosine of about 0: Universal Sentence Encoder.
    #[default]
    SentenceEncoder,
    /// Unrelated texts have a cosine of 0.75 to 0.85: multilingual-e5.
    E5,
    /// A model of which nothing was measured: what unrelated texts have is taken from the chunks of the index.
    Unknown,
}

/// The least number of chunks from which an unknown scale is measured; in a smaller index, the cosine does not count.
const MIN_MEASURED: usize = 3;

impl CosineScale {
    /// Returns the scale of a model by its name, also if a service runs it.
    pub fn of(model: &str) -> Self {
        let model = model.to_lowercase();
        if model.contains("multilingual-e5") {
            Self::E5
        } else if model.contains("use-multilingual") {
            Self::SentenceEncoder
        } else {
            Self::Unknown
        }
    }

    /// Returns the coefficients for a passage whose cosine is known; `has_late` says that its score of late interaction is, too.
    pub(super) fn coefficients(self, script: WritingSystem, has_late: bool) -> &'static Coefficients {
        match (self, script) {
            (Self::E5, WritingSystem::Unspaced) => &CHARACTERS_AND_E5,
            (Self::E5, _) if has_late => &WORDS_E5_AND_LATE,
            (Self::E5, _) => &WORDS_AND_E5,
            (_, WritingSystem::Unspaced) => &CHARACTERS_AND_VECTORS,
            (_, _) => &WORDS_AND_VECTORS,
        }
    }

    pub(super) fn bounds(self) -> &'static CosineBounds {
        match self {
            Self::E5 => &E5_ALONE,
            Self::SentenceEncoder | Self::Unknown => &SENTENCE_ENCODER_ALONE,
        }
    }

    /// Returns a cosine as the coefficients mean it; `None` if nothing is known of the model.
    pub(super) fn scaled(self, Nearness { cosine, mean, raised }: Nearness, chunks: usize) -> Option<f64> {
        match self {
            Self::E5 | Self::SentenceEncoder => Some(cosine - raised),
            Self::Unknown if chunks < MIN_MEASURED => None,
            Self::Unknown => {
                // The chunk itself is not one of those that are unrelated to it.
                let others = (mean * chunks as f64 - cosine) / (chunks as f64 - 1.0);
                Some((cosine - others) / (1.0 - others).max(f64::MIN_POSITIVE))
            }
        }
    }
}

/// How near a passage is to the question.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nearness {
    pub cosine: f64,
    /// Mean cosine of all chunks.
    pub mean: f64,
    /// By how much the cosine was raised because the passage is in another script, so that such passages can be ranked.
    pub raised: f64,
}

impl Coefficients {
    pub fn log_odds(&self, evidence: &Evidence, cosine: f64, late: f64) -> f64 {
        let missing = f64::from(evidence.missing_names) / f64::from(evidence.names.max(1));
        self.constant
            + self.coverage * (evidence.coverage + COVERAGE_OFFSET).ln()
            + self.weight * (SATURATED * evidence.weight).ln_1p()
            + self.best * evidence.best
            + self.nowhere * evidence.nowhere
            + self.missing_names * missing
            + self.characters * f64::from(u8::from(evidence.characters))
            + self.chunks * f64::from(evidence.chunks.max(FEWEST_CHUNKS)).ln()
            + self.cosine * cosine
            + self.late * late
    }
}

impl CosineBounds {
    pub fn confidence(&self, cosine: f64, script: WritingSystem, (chunks, is_foreign): (usize, bool)) -> f64 {
        let least = match (is_foreign, script) {
            (true, _) => self.foreign,
            (false, WritingSystem::Unspaced) => self.unspaced,
            (false, _) => self.spaced,
        };
        logistic(self.slope * (cosine - least - self.chunks * (chunks.max(1) as f64).ln()))
    }
}

pub(super) fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}
