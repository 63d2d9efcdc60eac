//! A search in memory/ or knowledge/: what was found, where it stands, and why it was found.
//!
//! Two **retrievers** look for chunks: the lexical one by words (BM25), the vector one by meaning (cosine). Each retriever's scores
//! are brought to a **share** between 0 and 1, and the fused score is `weights.lexical × share + weights.vector × share`.
//! A third one, **late interaction**, may compare the question with the candidates of both, piece by piece.

use serde::{Deserialize, Serialize};

/// One found piece of memory or knowledge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Hit {
    pub text: String,
    /// The fused score, 0 to 1; comparable only within one answer.
    pub score: f64,
    /// The home path of the file, e.g. `memory/MEMORY.md`.
    pub source: String,
    /// The headings above it, joined by ` › `; absent at the top of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
    /// First and last line in the file, counted from 1; absent where the file is no text (PDF, HTML).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u32, u32)>,
    /// First byte and the one after the last, of the text the file was read as.
    #[serde(default)]
    pub range: (usize, usize),
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<ScoreExplanation>,
}

impl Hit {
    /// `knowledge/a.md:12-20`, the form the model is told to cite and the UI turns into a link.
    pub fn place(&self) -> String {
        match self.lines {
            Some((first, last)) if first == last => format!("{}:{first}", self.source),
            Some((first, last)) => format!("{}:{first}-{last}", self.source),
            None => self.source.clone(),
        }
    }
}

/// Why a hit stands where it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ScoreExplanation {
    /// From 1.
    pub rank: u32,
    /// How much the vector retriever counts for this chunk: the fused score is `vector_weight × vector.share + late.weight ×
    /// late.share + (1 − vector_weight − late.weight) × lexical.share`, where an absent retriever has the share 0 (a vector that
    /// is still to be made: the lexical share).
    #[serde(default)]
    pub vector_weight: f64,
    /// Absent: no word of the question stands in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lexical: Option<LexicalScore>,
    /// Absent: it has no vector yet, or the vector retriever was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vector: Option<VectorScore>,
    /// Absent: late interaction was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<LateScore>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct LexicalScore {
    /// BM25: the sum of `terms`.
    pub score: f64,
    /// Place among all chunks by this retriever alone, from 1.
    pub rank: u32,
    /// 0 to 1.
    pub share: f64,
    pub terms: Vec<TermScore>,
}

/// What one word of a question adds to a BM25 score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TermScore {
    pub term: String,
    pub score: f64,
    /// How often the chunk holds it.
    pub times: u32,
    /// How many chunks hold it.
    pub texts: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct VectorScore {
    /// -1 to 1.
    pub cosine: f64,
    /// Place among all chunks by this retriever alone, from 1.
    pub rank: u32,
    /// 0 to 1.
    pub share: f64,
}

/// How well the pieces of the question are met by pieces near the centre of a hit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct LateScore {
    /// 0 to 1: the mean over the question's pieces, the rarer the weightier.
    pub score: f64,
    /// 0 to 1.
    pub share: f64,
    /// What it counts for this hit.
    pub weight: f64,
}

/// A chunk that was not handed on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct NearMiss {
    pub hit: Hit,
    /// Points of the fused score behind the last hit.
    pub behind: f64,
    pub reason: NearMissReason,
    /// The reason with its figures, as a sentence.
    pub detail: String,
}

/// Why a near miss lost against the last hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NearMissReason {
    NoSharedWord,
    WeakerWords,
    FartherMeaning,
    BothWeaker,
    NoVectorYet,
}

/// How much each retriever counts, and why.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Weights {
    pub lexical: f64,
    pub vector: f64,
    /// What the vector retriever counts for texts in another script than the question, where no word of it can stand.
    pub other_script: f64,
    /// What late interaction counts, except for those texts; absent: it was not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<f64>,
    pub reason: WeightReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WeightReason {
    /// Both retrievers answered.
    Balanced,
    /// No embedding model is there.
    NoModel,
    /// The vectors are being made.
    Embedding,
    /// The question could not be embedded; the log says why.
    EmbeddingFailed,
    /// The model was not made for the question's language.
    UnknownLanguage,
    /// The question is a name from code or a file; such names have no meaning a model knows.
    Identifier,
    /// The question is in quotation marks: its very words are wanted.
    Quoted,
    /// The caller said so.
    Asked,
}

/// A word of a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SearchedTerm {
    pub term: String,
    /// How many chunks hold it.
    pub texts: u32,
    /// How telling it is: the rarer, the more.
    pub idf: f64,
}

/// How many chunks have their vector.
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

/// Microseconds each part of a search took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SearchTimings {
    /// Looking whether files changed, and reading those that did.
    pub refresh: u64,
    pub lexical: u64,
    /// Embedding the question.
    pub embed: u64,
    pub vector: u64,
    pub fuse: u64,
}

/// A search with everything that decided it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Search {
    pub query: String,
    /// `memory` or `knowledge`.
    pub folder: String,
    pub k: u32,
    pub weights: Weights,
    pub terms: Vec<SearchedTerm>,
    /// Words of the question that were left out, because they only make it a question.
    pub ignored: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelName>,
    pub embedded: Embedded,
    /// Best first.
    pub hits: Vec<Hit>,
    /// The next best.
    pub near_misses: Vec<NearMiss>,
    pub took_us: SearchTimings,
}
