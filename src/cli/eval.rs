//! `miniclaw eval`: runs a home's retrieval tests, or the data sets of an evaluation kit.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use secrecy::SecretString;

use super::kit::{self, Kit};
use super::{home_dir, load_config};
use crate::domain::Root;
use crate::engine::embedder::Embedders;
use crate::engine::tenant::Libraries;
use crate::extraction::Extractor;
use crate::library::Library;
use crate::library::evaluation::TestReport;
use crate::sandbox::{Sandbox, SandboxConfig};
use crate::store::{DatabaseAddress, Home};

#[derive(Args)]
pub struct EvalArguments {
    /// The home whose knowledge/tests.jsonl and memory/tests.jsonl are run. No server may be running on it.
    #[arg(long, env = "MINICLAW_HOME")]
    home: Option<PathBuf>,
    /// How many hits count.
    #[arg(long, default_value_t = 3)]
    k: usize,
    /// Measure the data sets of this kit instead: write TREC runs and print the table of the kit's scorer.
    #[arg(long, value_name = "DIR")]
    kit: Option<PathBuf>,
    /// Measure only these sets of the kit.
    #[arg(long = "set", value_name = "NAME", requires = "kit")]
    sets: Vec<String>,
    /// The folder for the runs, and for vectors that the next evaluation reuses.
    #[arg(long, value_name = "DIR", requires = "kit", default_value = "eval-runs")]
    runs: PathBuf,
    /// Search the kit's data sets in this database (postgres://…), as large libraries are, instead of on this machine.
    #[arg(long, value_name = "ADDRESS", requires = "kit")]
    in_database: Option<String>,
}

/// Runs the evaluation. The exit code is 1 if the right hit of a question ranks lower than in the last run.
pub fn eval(arguments: &EvalArguments) -> anyhow::Result<ExitCode> {
    let folder = home_dir(arguments.home.clone());
    let (config, _) = load_config(&folder)?;
    let runtime = tokio::runtime::Runtime::new()?;
    let embedders =
        Arc::new(Embedders::new(config.embedding.clone(), runtime.handle().clone()).with_rerank(config.rerank.clone()));
    if let Some(kit) = &arguments.kit {
        let parse = |address: &String| DatabaseAddress::parse(&SecretString::from(address.clone()));
        let database = arguments.in_database.as_ref().map(parse).transpose()?;
        let kit = Kit {
            folder: kit.clone(),
            runs: arguments.runs.clone(),
            retrieval: config.retrieval,
            embedder: embedders.get()?,
            tokens: embedders.tokens()?,
            database: database.map(|address| (address, runtime.handle().clone())),
        };
        return kit::measure(&kit, &arguments.sets);
    }
    let home = Home::open(&folder)?;
    let extractor = Extractor::new(Sandbox::new(SandboxConfig::new(config.sandbox)));
    let idle_time = Arc::default();
    let libraries =
        Libraries { config: &config, home: &home, embedders: &embedders, idle_time: &idle_time, extractor: &extractor };
    let mut worse = 0;
    for root in Root::HOME.into_iter().filter(|root| root.is_searched()) {
        let library: Arc<Library> = libraries.of_root(root);
        let (cases, problems) = library.cases()?;
        for problem in &problems {
            say!("{}:{}: {}", library.tests_path(), problem.line, problem.message);
        }
        if cases.is_empty() {
            say!("{}: no tests", library.tests_path());
            continue;
        }
        let report = library.evaluate(arguments.k)?;
        print(&report);
        worse += report.worse.len();
    }
    Ok(if worse > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn print(report: &TestReport) {
    let before = report.before.map_or_else(String::new, |before| {
        format!("  (before: recall {:.3}, MRR {:.3})", before.recall_at_k, before.mrr)
    });
    say!(
        "{}: {} questions, {}: recall@{} {:.3}, MRR {:.3}, {:.1} ms a question (p95 {:.1}){before}",
        report.folder,
        report.cases,
        report.mode,
        report.k,
        report.recall_at_k,
        report.mrr,
        report.latency_ms.p50,
        report.latency_ms.p95
    );
    let place = |rank: Option<u32>| rank.map_or_else(|| "not found".to_owned(), |rank| format!("place {rank}"));
    for moved in &report.worse {
        say!("  worse: line {}, {}: {} → {}", moved.line, moved.query, place(moved.before), place(moved.now));
    }
    for moved in &report.better {
        say!("  better: line {}, {}: {} → {}", moved.line, moved.query, place(moved.before), place(moved.now));
    }
    for missed in report.results.iter().filter(|result| result.rank.is_none_or(|rank| rank > report.k)) {
        say!("  not among the first {}: line {}, {} ({})", report.k, missed.line, missed.query, missed.expected);
    }
}
