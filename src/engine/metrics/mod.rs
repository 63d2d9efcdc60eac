//! Figures about the server for monitoring, as OpenMetrics (`metrics: true` in config.yml, docs/monitoring.md).
//!
//! Every label has a bounded number of values: routes, codes, names of built-in tools, and models that the server is configured
//! with. No label is a person, a session, a path or a text that somebody chose.

mod exposed;
mod work_meter;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::domain::{Root, Usage};
use crate::sandbox::OwnProcess;
use crate::store::DatabaseFigures;
use crate::tools::BUILT_IN;

use exposed::{add_cluster, add_database, add_process};

pub use exposed::ClusterFigures;
pub use work_meter::WorkMeter;

/// What a label says instead of a value that it may not have.
const OTHER: &str = "other";
/// Maximum number of values of a label that comes from a code or a configuration.
const MAX_VALUES: usize = 100;
/// Upper bounds of durations, in seconds: of requests to this server and to models, and of works.
const SECONDS: [f64; 14] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0, 600.0];
/// Upper bounds of the time of a commit, in seconds.
const COMMIT_SECONDS: [f64; 12] = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10.0];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RouteLabels {
    method: &'static str,
    route: String,
    status: u32,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RouteLabel {
    route: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ModelLabel {
    model: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct TokenLabels {
    model: String,
    kind: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ToolLabels {
    tool: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ToolLabel {
    tool: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CodeLabel {
    code: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct StoreLabel {
    store: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct LibraryLabel {
    library: &'static str,
}

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

fn durations() -> Histogram {
    Histogram::new(SECONDS)
}

fn commits() -> Histogram {
    Histogram::new(COMMIT_SECONDS)
}

/// What is counted while the server works. Exists only if `metrics` is on.
pub struct Metrics {
    registry: Registry,
    requests: Family<RouteLabels, Counter>,
    request_seconds: Histograms<RouteLabel>,
    works: Family<OutcomeLabel, Counter>,
    work_seconds: Histogram,
    first_token_seconds: Histograms<ModelLabel>,
    model_seconds: Histograms<ModelLabel>,
    tokens: Family<TokenLabels, Counter>,
    retries: Counter,
    errors: Family<CodeLabel, Counter>,
    tool_calls: Family<ToolLabels, Counter>,
    tool_seconds: Histograms<ToolLabel>,
    commit_seconds: Histograms<StoreLabel>,
    forwarded: Family<OutcomeLabel, Counter>,
    /// What is only known at the moment of a scrape.
    now: Now,
    codes: Values,
    models: Values,
}

#[derive(Default)]
struct Now {
    works: Gauge,
    sessions: Gauge,
    homes: Gauge,
    approvals: Gauge,
    index_files: Family<LibraryLabel, Gauge>,
    index_bytes: Family<LibraryLabel, Gauge>,
}

/// The state of the server at a scrape.
#[derive(Debug, Default)]
pub struct Snapshot {
    pub works: usize,
    pub sessions: usize,
    pub homes: usize,
    pub approvals: usize,
    /// Files and bytes of the indexes of memory/ and knowledge/.
    pub indexes: [IndexSize; 2],
    /// Set if the homes are in a database.
    pub database: Option<DatabaseFigures>,
    /// Set if the server is in a cluster.
    pub cluster: Option<ClusterFigures>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct IndexSize {
    pub library: &'static str,
    pub files: usize,
    pub bytes: u64,
}

impl IndexSize {
    pub(super) fn of(root: &Root) -> Self {
        Self { library: if *root == Root::Memory { "memory" } else { "knowledge" }, ..Self::default() }
    }
}

/// The values that a label has had, so that it never has too many.
#[derive(Default)]
struct Values(Mutex<BTreeSet<String>>);

impl Values {
    fn bounded(&self, value: &str) -> String {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains(value) {
            return value.to_owned();
        }
        if known.len() >= MAX_VALUES || value.len() > MAX_VALUES {
            return OTHER.to_owned();
        }
        known.insert(value.to_owned());
        value.to_owned()
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("miniclaw"),
            requests: Family::default(),
            request_seconds: Family::new_with_constructor(durations),
            works: Family::default(),
            work_seconds: durations(),
            first_token_seconds: Family::new_with_constructor(durations),
            model_seconds: Family::new_with_constructor(durations),
            tokens: Family::default(),
            retries: Counter::default(),
            errors: Family::default(),
            tool_calls: Family::default(),
            tool_seconds: Family::new_with_constructor(durations),
            commit_seconds: Family::new_with_constructor(commits),
            forwarded: Family::default(),
            now: Now::default(),
            codes: Values::default(),
            models: Values::default(),
        };
        metrics.register();
        metrics
    }
}

impl Metrics {
    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register("http_requests", "Requests by route and status", self.requests.clone());
        let help = "Time from a request to the head of its answer";
        registry.register_with_unit("http_request_duration", help, Unit::Seconds, self.request_seconds.clone());
        registry.register("works", "Works that have ended, by how", self.works.clone());
        registry.register_with_unit("work_duration", "Time that works took", Unit::Seconds, self.work_seconds.clone());
        let help = "Time from a request to a model to the first token of its answer";
        registry.register_with_unit("first_token", help, Unit::Seconds, self.first_token_seconds.clone());
        let help = "Time of a request to a model, with all its attempts";
        registry.register_with_unit("model_request_duration", help, Unit::Seconds, self.model_seconds.clone());
        registry.register("tokens", "Tokens by model; cached ones are input, too", self.tokens.clone());
        registry.register(
            "model_retries",
            "Attempts of requests to models that failed and were repeated",
            self.retries.clone(),
        );
        registry.register("work_errors", "Works that ended with an error, by its code", self.errors.clone());
        registry.register("tool_calls", "Calls of tools, by outcome", self.tool_calls.clone());
        registry.register_with_unit(
            "tool_call_duration",
            "Time that tools ran",
            Unit::Seconds,
            self.tool_seconds.clone(),
        );
        let help = "Time until a fact is durable: in the journal, or in the database and the journal";
        registry.register_with_unit("fact_commit", help, Unit::Seconds, self.commit_seconds.clone());
        let help = "Requests that were passed on to the server with the home, by what became of them";
        registry.register("forwarded_requests", help, self.forwarded.clone());
        let now = &self.now;
        registry.register("works_under_way", "Works under way", now.works.clone());
        registry.register("sessions_in_memory", "Conversations in memory", now.sessions.clone());
        registry.register("homes_open", "Homes in memory", now.homes.clone());
        registry.register("approvals_waiting", "Calls that wait for a person", now.approvals.clone());
        registry.register("index_files", "Files in the search indexes of open homes", now.index_files.clone());
        registry.register_with_unit(
            "index_size",
            "Size of these indexes on the disk",
            Unit::Bytes,
            now.index_bytes.clone(),
        );
    }

    /// Counts an answer to a request. `route` is the pattern of its path, such as `/api/sessions/{id}`.
    pub fn answered(&self, (method, route): (&'static str, Option<&str>), status: u16, took: Duration) {
        let route = route.unwrap_or(OTHER).to_owned();
        self.request_seconds.get_or_create(&RouteLabel { route: route.clone() }).observe(took.as_secs_f64());
        self.requests.get_or_create(&RouteLabels { method, route, status: status.into() }).inc();
    }

    /// Notes how long it took until a fact was durable.
    pub fn committed(&self, store: &'static str, took: Duration) {
        self.commit_seconds.get_or_create(&StoreLabel { store }).observe(took.as_secs_f64());
    }

    /// Counts a request that was passed on to another server of the cluster. `outcome` is `answered` or the code of the refusal.
    pub fn forwarded(&self, outcome: &'static str) {
        self.forwarded.get_or_create(&OutcomeLabel { outcome }).inc();
    }

    fn used(&self, model: &str, usage: &Usage) {
        for (kind, count) in
            [("input", usage.input_tokens), ("output", usage.output_tokens), ("cached", usage.cached_tokens)]
        {
            self.tokens.get_or_create(&TokenLabels { model: model.to_owned(), kind }).inc_by(count);
        }
    }

    fn called(&self, tool: &str, outcome: &'static str, took: Duration) {
        let tool = BUILT_IN.iter().find(|known| known.name == tool).map_or(OTHER, |known| known.name);
        self.tool_calls.get_or_create(&ToolLabels { tool, outcome }).inc();
        self.tool_seconds.get_or_create(&ToolLabel { tool }).observe(took.as_secs_f64());
    }

    /// Returns everything in the text format of OpenMetrics.
    pub fn exposition(&self, now: &Snapshot, process: &OwnProcess) -> String {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.now.works.set(number(now.works));
        self.now.sessions.set(number(now.sessions));
        self.now.homes.set(number(now.homes));
        self.now.approvals.set(number(now.approvals));
        for IndexSize { library, files, bytes } in now.indexes {
            let label = LibraryLabel { library };
            self.now.index_files.get_or_create(&label).set(number(files));
            self.now.index_bytes.get_or_create(&label).set(i64::try_from(bytes).unwrap_or(i64::MAX));
        }
        let mut exposition = String::new();
        text::encode_registry(&mut exposition, &self.registry).expect("a String takes everything");
        if let Some(figures) = &now.database {
            add_database(&mut exposition, figures);
        }
        if let Some(figures) = now.cluster {
            add_cluster(&mut exposition, figures);
        }
        add_process(&mut exposition, process);
        text::encode_eof(&mut exposition).expect("a String takes everything");
        exposition
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exposition(metrics: &Metrics) -> String {
        let process = OwnProcess { memory: Some(1 << 20), open_files: Some(9), ..OwnProcess::default() };
        metrics.exposition(&Snapshot { works: 2, ..Snapshot::default() }, &process)
    }

    #[test]
    fn figures_are_counted_under_their_labels() {
        let metrics = Metrics::default();
        metrics.answered(("GET", Some("/api/sessions/{id}")), 200, Duration::from_millis(3));
        metrics.answered(("GET", None), 404, Duration::from_millis(300));
        metrics.called("read_file", "done", Duration::from_millis(30));
        metrics.called("mcp_their_name", "error", Duration::from_secs(3));
        metrics.committed("files", Duration::from_micros(400));
        metrics.used("m", &Usage { input_tokens: 7, output_tokens: 3, ..Usage::default() });
        let text = exposition(&metrics);
        for line in [
            "miniclaw_http_requests_total{method=\"GET\",route=\"/api/sessions/{id}\",status=\"200\"} 1",
            "miniclaw_http_requests_total{method=\"GET\",route=\"other\",status=\"404\"} 1",
            "miniclaw_http_request_duration_seconds_bucket{le=\"0.005\",route=\"/api/sessions/{id}\"} 1",
            "miniclaw_tool_calls_total{tool=\"read_file\",outcome=\"done\"} 1",
            "miniclaw_tool_calls_total{tool=\"other\",outcome=\"error\"} 1",
            "miniclaw_fact_commit_seconds_count{store=\"files\"} 1",
            "miniclaw_tokens_total{model=\"m\",kind=\"input\"} 7",
            "miniclaw_works_under_way 2",
            "process_open_fds 9",
        ] {
            assert!(text.lines().any(|known| known == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("their_name") && text.ends_with("# EOF\n"), "{text}");
    }

    #[test]
    fn labels_have_a_bounded_number_of_values() {
        let values = Values::default();
        for n in 0..MAX_VALUES {
            assert_eq!(values.bounded(&n.to_string()), n.to_string());
        }
        assert_eq!(values.bounded("one more"), OTHER);
        assert_eq!(values.bounded("7"), "7", "a known one stays");
        assert_eq!(Values::default().bounded(&"long".repeat(100)), OTHER);
    }
}
