//! Runs a folder's retrieval tests and reports what got better and what got worse since the last run.

use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::{Library, LibraryError, SearchOptions, TESTS};
use crate::clock;
use crate::domain::{Hit, Place};
use crate::retrieval::cases::{InvalidTestLine, TestCase, parse};
use crate::store::StoreError;

/// Number of hits searched for the right one; a test whose right hit ranks lower counts as not found.
const DEPTH: usize = 20;

/// One run of a folder's tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TestReport {
    pub folder: String,
    /// Unix seconds.
    pub at: f64,
    pub k: u32,
    /// The embedding model's id, or `lexical`.
    pub mode: String,
    pub cases: u32,
    /// Share of the questions whose answer is among the first `k` hits.
    pub recall_at_k: f64,
    /// Mean of 1/rank of the first right hit; 0 for a question without one.
    pub mrr: f64,
    pub latency_ms: Latency,
    pub results: Vec<CaseResult>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<PreviousRun>,
    pub worse: Vec<RankChange>,
    pub better: Vec<RankChange>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Latency {
    pub p50: f64,
    pub p95: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct CaseResult {
    pub line: u32,
    pub query: String,
    /// The expected hit, in one line.
    pub expected: String,
    /// 1-based rank of the first right hit; null if there is none.
    pub rank: Option<u32>,
    /// The first `k` hits.
    pub found: Vec<FoundPassage>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct FoundPassage {
    pub source: String,
    pub heading: Option<String>,
    pub lines: Option<(u32, u32)>,
    pub score: f64,
}

/// Summary of the previous run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PreviousRun {
    pub at: f64,
    pub recall_at_k: f64,
    pub mrr: f64,
}

/// A question whose first right hit has another rank than in the previous run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RankChange {
    pub line: u32,
    pub query: String,
    pub before: Option<u32>,
    pub now: Option<u32>,
}

impl Library {
    /// Returns the folder's tests, and the lines that are not valid tests.
    ///
    /// # Errors
    /// Returns an error if the file exists and cannot be read.
    pub fn cases(&self) -> Result<(Vec<TestCase>, Vec<InvalidTestLine>), LibraryError> {
        let Ok(path) = Place::parse(&self.tests_path()) else { return Ok(Default::default()) };
        match self.home.read_text(&path) {
            Ok(text) => Ok(parse(&text.content)),
            Err(StoreError::NotFound { .. }) => Ok(Default::default()),
            Err(error) => Err(error.into()),
        }
    }

    pub fn tests_path(&self) -> String {
        format!("{}/{TESTS}", self.folder())
    }

    /// Runs all tests, compares the results with the previous run and stores them.
    ///
    /// # Errors
    /// Returns an error if the tests or the folder cannot be read.
    pub fn evaluate(self: &Arc<Self>, k: usize) -> Result<TestReport, LibraryError> {
        let (cases, _) = self.cases()?;
        let before = self.last_report();
        let mut results = Vec::with_capacity(cases.len());
        let mut took = Vec::with_capacity(cases.len());
        let mut mode = "lexical".to_owned();
        self.wait_until_ready()?;
        for case in &cases {
            let started = Instant::now();
            let found = self.search(&case.query, SearchOptions { k: DEPTH, near_misses: 0, vector_weight: None })?;
            took.push(started.elapsed().as_secs_f64() * 1000.0);
            if let Some(model) = found.model {
                mode = model.id;
            }
            let rank = found.hits.iter().position(|hit| case.is_answered_by(hit)).map(|at| at as u32 + 1);
            results.push(CaseResult {
                line: case.line,
                query: case.query.clone(),
                expected: case.expected(),
                rank,
                found: found.hits.iter().take(k).map(FoundPassage::of).collect(),
            });
        }
        let report = TestReport {
            folder: self.folder().to_owned(),
            at: clock::now(),
            k: k as u32,
            mode,
            cases: cases.len() as u32,
            recall_at_k: mean(results.iter().map(|r| f64::from(r.rank.is_some_and(|rank| rank <= k as u32)))),
            mrr: mean(results.iter().map(|result| result.rank.map_or(0.0, |rank| 1.0 / f64::from(rank)))),
            latency_ms: Latency { p50: percentile(&mut took, 0.5), p95: percentile(&mut took, 0.95) },
            worse: Vec::new(),
            better: Vec::new(),
            before: None,
            results,
        };
        let report = report.compared(before.as_ref());
        if let Err(error) = self.remember(&report) {
            tracing::warn!(folder = self.folder(), %error, "the report of the retrieval tests could not be kept");
        }
        Ok(report)
    }

    /// Returns the report of the last run, if there is one.
    pub fn last_report(&self) -> Option<TestReport> {
        serde_json::from_str(&self.home.caches().text(&self.report_name())?).ok()
    }

    fn remember(&self, report: &TestReport) -> Result<(), Box<dyn std::error::Error>> {
        Ok(self.home.caches().keep_text(&self.report_name(), &serde_json::to_string_pretty(report)?)?)
    }

    fn report_name(&self) -> String {
        format!("{}-tests.json", self.cache_prefix())
    }
}

impl FoundPassage {
    fn of(hit: &Hit) -> Self {
        Self { source: hit.source.clone(), heading: hit.heading.clone(), lines: hit.lines, score: hit.score }
    }
}

impl TestReport {
    /// Adds the changes since `before`: questions of both runs whose right hit has another rank are better or worse.
    fn compared(mut self, before: Option<&TestReport>) -> Self {
        let Some(before) = before else { return self };
        self.before = Some(PreviousRun { at: before.at, recall_at_k: before.recall_at_k, mrr: before.mrr });
        for result in &self.results {
            let same = |old: &&CaseResult| old.query == result.query && old.expected == result.expected;
            let Some(old) = before.results.iter().find(same) else { continue };
            let moved =
                RankChange { line: result.line, query: result.query.clone(), before: old.rank, now: result.rank };
            let place = |rank: Option<u32>| rank.unwrap_or(u32::MAX);
            match place(result.rank).cmp(&place(old.rank)) {
                std::cmp::Ordering::Greater => self.worse.push(moved),
                std::cmp::Ordering::Less => self.better.push(moved),
                std::cmp::Ordering::Equal => {}
            }
        }
        self
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len();
    if count == 0 { 0.0 } else { values.sum::<f64>() / count as f64 }
}

fn percentile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values.get((last as f64 * share).round() as usize).copied().unwrap_or_default()
}
