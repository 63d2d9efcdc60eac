//! `retrieval` in config.yml: how memory/ and knowledge/ are split and searched.

use serde::Deserialize;

use super::{ConfigError, bad};
use crate::retrieval;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Entry {
    chunk_tokens: Option<usize>,
    chunk_overlap: Option<usize>,
    bm25_k1: Option<f64>,
    bm25_b: Option<f64>,
    vector_weight: Option<f64>,
    database_from: Option<usize>,
}

/// How memory/ and knowledge/ are split and searched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retrieval {
    pub limits: retrieval::ChunkLimits,
    pub ranking: retrieval::Ranking,
    /// From how many chunks on knowledge/ of a home in a database is indexed and searched there.
    pub database_from: usize,
}

/// Up to here, an index on the server is faster.
const DATABASE_FROM: usize = 1_000_000;

impl Default for Retrieval {
    fn default() -> Self {
        let (limits, ranking) = (retrieval::ChunkLimits::default(), retrieval::Ranking::default());
        Self { limits, ranking, database_from: DATABASE_FROM }
    }
}

pub(super) fn settings(entry: &Entry) -> Result<Retrieval, ConfigError> {
    let wrong = |field: &str, must: &str| Err(bad("config.yml", format!("retrieval.{field}: must be {must}")));
    let mut retrieval = Retrieval::default();
    let Retrieval { limits, ranking, database_from } = &mut retrieval;
    *database_from = entry.database_from.unwrap_or(*database_from);
    if *database_from == 0 {
        return wrong("database_from", "a number of chunks of at least 1");
    }
    limits.tokens = entry.chunk_tokens.unwrap_or(limits.tokens);
    limits.overlap = entry.chunk_overlap.unwrap_or(limits.overlap);
    ranking.bm25.k1 = entry.bm25_k1.unwrap_or(ranking.bm25.k1);
    ranking.bm25.b = entry.bm25_b.unwrap_or(ranking.bm25.b);
    ranking.vector_weight = entry.vector_weight;
    if !(32..=4096).contains(&limits.tokens) {
        return wrong("chunk_tokens", "between 32 and 4096");
    }
    if limits.overlap > limits.tokens / 2 {
        return wrong("chunk_overlap", "at most half of chunk_tokens");
    }
    if !(0.0..=10.0).contains(&ranking.bm25.k1) {
        return wrong("bm25_k1", "between 0 and 10");
    }
    if !(0.0..=1.0).contains(&ranking.bm25.b) {
        return wrong("bm25_b", "between 0 and 1");
    }
    if ranking.vector_weight.is_some_and(|weight| !(0.0..=1.0).contains(&weight)) {
        return wrong("vector_weight", "between 0 and 1");
    }
    Ok(retrieval)
}
