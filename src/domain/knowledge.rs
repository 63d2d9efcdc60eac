//! A search in memory/ or knowledge/: what was found, where it is, and why it was found.
//!
//! Two **retrievers** look for chunks: the lexical one by words (BM25), the vector one by meaning (cosine). Each
//! retriever's scores are normalised to a **share** between 0 and 1, and the fused score is `weights.lexical × share +
//! weights.vector × share`. A third one, **late interaction**, may compare the question with the candidates of both,
//! piece by piece.

use serde::{Deserialize, Serialize};

/// One passage found in memory or knowledge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Hit {
    pub text: String,
    /// Fused score, 0 to 1, which the order is by; comparable only within one answer.
    pub score: f64,
    /// How likely it answers the question, 0 to 1, judged by itself; comparable between searches. Absent if an older version
    /// found it, or if it was not searched for by its words or meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Whether the confidence is below the floor, so that the hit hardly answers the question.
    #[serde(default)]
    pub weak: bool,
    /// Path of the file in the home, e.g. `memory/MEMORY.md`.
    pub source: String,
    /// The headings above it, joined by ` › `; absent at the top of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
    /// First and last line in the file, 1-based; absent if the file is not text (PDF, HTML).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
    /// Byte range in the text that was read from the file; the end is exclusive.
    #[serde(default)]
    pub range: (usize, usize),
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<ScoreExplanation>,
}

impl Hit {
    /// Returns `knowledge/a.md:12-20`, the form that the model is told to cite and that the UI turns into a link.
    pub fn place(&self) -> String {
        match self.lines {
            Some((first, last)) if first == last => format!("{}:{first}", self.source),
            Some((first, last)) => format!("{}:{first}-{last}", self.source),
            None => self.source.clone(),
        }
    }
}

/// Why a hit has its rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ScoreExplanation {
    /// 1-based.
    pub rank: u32,
    /// Weight of the vector retriever for this chunk. The fused score is `vector_weight × vector.share + late.weight ×
    /// late.share + (1 − vector_weight − late.weight) × lexical.share`, where an absent retriever has the share 0 (if
    /// the vector is not computed yet: the lexical share).
    #[serde(default)]
    pub vector_weight: f64,
    /// Absent if the chunk contains no word of the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lexical: Option<LexicalScore>,
    /// Absent if the chunk has no vector yet, or the vector retriever was not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector: Option<VectorScore>,
    /// Absent if late interaction was not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<LateScore>,
    /// What the confidence is judged by, with the cosine. Absent if an older version found the hit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// Number of other passages with the same text that were found in the file and are left out. The hit is the first of them in
    /// the file; the scores are those of the best of them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub duplicates: u32,
}

/// What a passage has of its question, whatever the other passages have.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Evidence {
    /// Share of the weight of the question's words that the passage has, 0 to 1. A word far from the centre counts less.
    pub coverage: f64,
    /// Weight of the words that it has; rarer words weigh more.
    pub weight: f64,
    /// Weight of the one that counts most.
    pub best: f64,
    /// Share of the weight of words that no text contains, 0 to 1.
    pub nowhere: f64,
    /// Number of names and numbers in the question.
    pub names: u32,
    /// How many of these the passage lacks.
    pub missing_names: u32,
    /// Whether single characters were searched, because no text has two of the question's side by side.
    pub characters: bool,
    /// Number of chunks in the index: the best of many is easily similar by chance.
    pub chunks: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct LexicalScore {
    /// BM25 score: the sum of `terms`.
    pub score: f64,
    /// 1-based rank among all chunks by this retriever alone.
    pub rank: u32,
    /// 0 to 1.
    pub share: f64,
    pub terms: Vec<TermScore>,
}

/// What one word of a question contributes to a BM25 score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TermScore {
    pub term: String,
    pub score: f64,
    /// Number of occurrences in the chunk.
    pub times: u32,
    /// Number of chunks that contain the word.
    pub texts: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct VectorScore {
    /// -1 to 1.
    pub cosine: f64,
    /// Mean cosine of all chunks, with which the confidence compares it. Absent if an older version found the hit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// 1-based rank among all chunks by this retriever alone.
    pub rank: u32,
    /// 0 to 1.
    pub share: f64,
}

/// How well pieces near the centre of a hit match the pieces of the question.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct LateScore {
    /// 0 to 1: the mean over the question's pieces, in which rarer pieces weigh more.
    pub score: f64,
    /// 0 to 1.
    pub share: f64,
    /// Weight of late interaction for this hit.
    pub weight: f64,
}

/// A chunk that was not returned as a hit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct NearMiss {
    pub hit: Hit,
    /// Distance of the fused score from that of the last hit.
    pub behind: f64,
    pub reason: NearMissReason,
    /// The reason with its figures, as a sentence.
    pub detail: String,
}

/// Why a near miss ranks below the last hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NearMissReason {
    NoSharedWord,
    WeakerWords,
    FartherMeaning,
    BothWeaker,
    NoVectorYet,
}

/// The weight of each retriever, and the reason for the weights.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Weights {
    pub lexical: f64,
    pub vector: f64,
    /// Weight of the vector retriever for texts in another script than the question, which cannot contain its words.
    pub other_script: f64,
    /// Weight of late interaction, except for those texts; absent if it was not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<f64>,
    pub reason: WeightReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WeightReason {
    /// Both retrievers answered.
    Balanced,
    /// No embedding model is available.
    NoModel,
    /// The vectors are still being computed.
    Embedding,
    /// The question could not be embedded; the log says why.
    EmbeddingFailed,
    /// Conversations are not sent to the embedding service.
    Withheld,
    /// The model was not made for the question's language.
    UnknownLanguage,
    /// The question is an identifier from code or the name of a file; no model knows the meaning of such names.
    Identifier,
    /// The question is in quotation marks, so its exact words are wanted.
    Quoted,
    /// The caller set the weights.
    Asked,
}

/// A word of a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SearchedTerm {
    pub term: String,
    /// Number of chunks that contain the word.
    pub texts: u32,
    /// Inverse document frequency: the rarer the word, the higher.
    pub idf: f64,
}

/// How many chunks have a vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Embedded {
    pub done: u32,
    pub total: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ModelName {
    pub id: String,
    pub dimension: u32,
}

/// Duration of each part of a search, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SearchTimings {
    /// Checking which files changed, and reading those.
    pub refresh: u64,
    pub lexical: u64,
    /// Embedding the question.
    pub embed: u64,
    pub vector: u64,
    pub fuse: u64,
}

/// A search with everything that determined its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Search {
    pub query: String,
    /// `memory` or `knowledge`.
    pub folder: String,
    pub k: u32,
    pub weights: Weights,
    pub terms: Vec<SearchedTerm>,
    /// Words of the question that were ignored, because they only mark it as a question.
    pub ignored: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
    pub embedded: Embedded,
    /// Best first.
    pub hits: Vec<Hit>,
    /// How many of the hits the model did not receive, because they are weak. 0 if the search was not made for a model.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub withheld: u32,
    /// The next best chunks.
    pub near_misses: Vec<NearMiss>,
    pub took_us: SearchTimings,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}
