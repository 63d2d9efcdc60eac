//! The figures of a run: those of the kit's own scorer, by category, and those of whole sessions of a conversation.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::kit::{Kit, Set};
use super::kit_conversations::session_starts;
use super::kit_floor::UNANSWERABLE;
use super::kit_judgements::{Answer, parse_range};
use crate::sandbox::{COMMAND_MEMORY, Job, Level, Network, Sandbox, SandboxConfig};
use crate::store::outside;

/// The figures of a row, as the scorer names them; `hit` is called `any` in the table.
const FIGURES: [&str; 10] =
    ["hit@1", "hit@3", "hit@5", "hit@10", "all@5", "all@10", "recall@3", "recall@10", "mrr@10", "ndcg@10"];
/// Budget with which the scorer says what is found in the first thousand tokens: it counts three times as many.
const BUDGET: &str = "333";
const IN_BUDGET: &str = "recall@b999";

/// Returns the first line of the table.
pub(super) fn header() -> String {
    let figures = FIGURES.map(|figure| figure.replace("hit", "any"));
    format!("set\tmode\tcategory\tn\t{}\trecall in 1,000 tokens\tms/query", figures.join("\t"))
}

impl Kit {
    /// Returns the rows of the kit's own scorer, which runs in the sandbox: all questions, then each category.
    pub(super) fn scores(&self, set: &Set, run: &Path) -> anyhow::Result<Vec<String>> {
        let scores = self.scorer((&set.folder, run), &["--k", "1,3,5,10"])?;
        let in_budget = self.scorer((&set.folder, run), &["--budget", BUDGET])?;
        let figure = |scores: &Value, name: &str| match scores[name].as_f64() {
            Some(figure) => format!("{figure:.3}"),
            None => "-".to_owned(),
        };
        let mut categories: Vec<&String> = scores.as_object().into_iter().flat_map(|all| all.keys()).collect();
        categories.sort_by_key(|category| (*category != "all", *category));
        if categories.len() == 2 {
            categories.truncate(1);
        }
        let row = |category: &&String| {
            let all = &scores[category.as_str()];
            let figures = FIGURES.map(|name| figure(all, name));
            let in_budget = figure(&in_budget[category.as_str()], IN_BUDGET);
            format!("{category}\t{}\t{}\t{in_budget}", all["n"], figures.join("\t"))
        };
        Ok(categories.iter().map(row).collect())
    }

    fn scorer(&self, (set, run): (&Path, &Path), options: &[&str]) -> anyhow::Result<Value> {
        let [kit, runs, set, run] = [&self.folder, &self.runs, set, run].map(|path| path.canonicalize());
        let (kit, runs, set, run) = (kit?, runs?, set?, run?);
        let text = |path: &Path| path.display().to_string();
        let mut argv = vec!["python3".to_owned(), text(&kit.join("score.py")), text(&set), text(&run)];
        argv.extend(["--json", "--by", "category", "--skip-category", UNANSWERABLE].map(str::to_owned));
        argv.extend(options.iter().map(|option| (*option).to_owned()));
        let job = Job {
            argv,
            cwd: runs,
            readable: vec![kit],
            env: Vec::new(),
            wall: Duration::from_secs(300),
            output_cap: 1 << 20,
            memory: COMMAND_MEMORY,
            network: Network::None,
            capture: None,
            owner: crate::domain::FolderOwner::Commands,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let sandbox = Sandbox::new(SandboxConfig::new(Level::Standard));
        let finished = runtime.block_on(sandbox.run(job, CancellationToken::new()))?;
        let output = finished.stdout.text();
        serde_json::from_str(&output).with_context(|| format!("the scorer failed: {}", finished.stderr.text()))
    }
}

impl Set {
    /// Returns the row of whole sessions, for files that are conversations: a session is found if a hit is in it. `found` holds
    /// the names of the hits by question.
    pub(super) fn sessions(&self, found: &HashMap<String, Vec<String>>) -> anyhow::Result<Option<String>> {
        let mut starts = Starts::default();
        let mut figures = Vec::new();
        for query in self.queries.iter().filter(|query| query.category != UNANSWERABLE) {
            let mut right = BTreeSet::new();
            for answer in self.judgements.of(&query.id) {
                let Answer::Range { file, range } = answer else { return Ok(None) };
                let Some(session) = starts.session(&self.folder, (file, range.start))? else { return Ok(None) };
                right.insert((file.clone(), session));
            }
            let mut ranked = Vec::new();
            for (file, range) in found.get(&query.id).into_iter().flatten().filter_map(|name| parse_range(name)) {
                // A window is about its middle.
                let middle = range.start + range.len() / 2;
                if let Some(session) = starts.session(&self.folder, (file, middle))? {
                    let session = (file.to_owned(), session);
                    if !ranked.contains(&session) {
                        ranked.push(session);
                    }
                }
            }
            figures.push(session_figures(&right, &ranked));
        }
        if figures.is_empty() {
            return Ok(None);
        }
        let mean = |at: usize| figures.iter().map(|row| row[at]).sum::<f64>() / figures.len() as f64;
        let means: Vec<String> = (0..FIGURES.len()).map(|at| format!("{:.3}", mean(at))).collect();
        Ok(Some(format!("sessions\t{}\t{}\t-", figures.len(), means.join("\t"))))
    }
}

/// Returns the [`FIGURES`] of one question.
fn session_figures<S: Ord>(right: &BTreeSet<S>, ranked: &[S]) -> [f64; FIGURES.len()] {
    let found = |k: usize| ranked.iter().take(k).filter(|session| right.contains(session)).count();
    let any = |k: usize| f64::from(u8::from(found(k) > 0));
    let all = |k: usize| f64::from(u8::from(found(k) == right.len()));
    let recall = |k: usize| found(k) as f64 / right.len().max(1) as f64;
    let ranks = ranked.iter().take(10).enumerate().filter(|(_, session)| right.contains(session));
    let ranks: Vec<f64> = ranks.map(|(at, _)| at as f64 + 1.0).collect();
    let gain = |rank: f64| 1.0 / (rank + 1.0).log2();
    let ideal: f64 = (1..=right.len().min(10)).map(|rank| gain(rank as f64)).sum();
    let ndcg = ranks.iter().copied().map(gain).sum::<f64>() / ideal.max(f64::MIN_POSITIVE);
    let reciprocal = ranks.first().map_or(0.0, |rank| 1.0 / rank);
    [any(1), any(3), any(5), any(10), all(5), all(10), recall(3), recall(10), reciprocal, ndcg]
}

/// The places at which the sessions of files begin.
#[derive(Default)]
struct Starts(HashMap<String, Vec<usize>>);

impl Starts {
    /// Returns the place at which the session around `at` begins; `None` if the file is no conversation.
    fn session(&mut self, set: &Path, (file, at): (&str, usize)) -> anyhow::Result<Option<usize>> {
        if !self.0.contains_key(file) {
            let text = outside::text(&set.join("files").join(file))?;
            self.0.insert(file.to_owned(), session_starts(&text));
        }
        let starts = &self.0[file];
        let after = starts.partition_point(|&start| start <= at);
        Ok(starts.get(after.max(1) - 1).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_scored_by_rank() {
        let figures = session_figures(&BTreeSet::from([3, 7]), &[1, 3, 2, 5, 6, 7]);
        let ndcg = (1.0 / 3f64.log2() + 1.0 / 7f64.log2()) / (1.0 + 1.0 / 3f64.log2());
        assert_eq!(figures, [0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.5, 1.0, 0.5, ndcg]);
        assert_eq!(session_figures(&BTreeSet::from([3]), &[])[..9], [0.0; 9]);
    }
}
