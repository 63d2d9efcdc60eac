//! Configuration: environment variables override `.env`, and `.env` overrides `config.yml`. Both files are in the home.

mod api;
mod approvals;
mod database;
mod document;
pub mod edit;
mod embedding;
mod environment;
mod models;
pub mod people;
mod prices;
pub mod providers;
mod proxy_sign_in;
mod retrieval;
pub mod settings;
mod tls;
mod tools;
mod traces;
mod vision;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use url::Url;

use crate::agent::RunLimits;
use crate::domain::{AutoCompact, Price, UsageLimits, WrittenLimits};
use crate::provider::Endpoint;
use crate::sandbox::Level;
use crate::store;
use crate::tools::{Policy, SearchEngine};

use models::{ModelEntry, choose, configured, deepseek, endpoint, model_of, openai};
use settings::SettingSource;

pub use api::{ApiConfig, StepsShown};
pub use database::{ClusterConfig, DatabaseConfig};
pub use embedding::{E5_FILE, EmbeddingSource, LocalModel, Rerank, USE_FILES};
pub use environment::{Environment, is_set_by_process, known_variables, models_dir, process_variables};
pub use prices::Prices;
pub use proxy_sign_in::{ProxySecret, ProxySignIn};
pub use retrieval::Retrieval;
pub use tls::TlsPaths;
pub use tools::{McpServerConfig, ToolSwitches};
pub use traces::TracesConfig;
pub use vision::VisionModels;

/// The fields of config.yml. An unknown field is an error, so that a typo does not go unnoticed.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    host: Option<String>,
    port: Option<u16>,
    host_names: Vec<String>,
    max_iterations: Option<u32>,
    max_minutes: Option<u64>,
    models: Vec<ModelEntry>,
    providers: Vec<providers::Entry>,
    /// Ids of models that a person likes.
    favorite_models: Vec<String>,
    default_model: Option<String>,
    fallback_model: Option<String>,
    auto_compact: AutoCompact,
    find_local_models: Option<bool>,
    vision_models: Vec<String>,
    embedded_model: EmbeddedModel,
    embedding: embedding::Entry,
    sandbox: Option<SandboxLevel>,
    /// As text, so that an error says what is wrong with it.
    people_uids: Option<String>,
    fetch_allow_hosts: Vec<String>,
    retrieval: retrieval::Entry,
    api: ApiConfig,
    mcp_server: McpServerConfig,
    approvals: approvals::Entry,
    undo: UndoEntry,
    store: Option<database::Entry>,
    /// Whether `/metrics` is served.
    metrics: bool,
    traces: Option<traces::Entry>,
    /// By the id of a model, or the name that is sent to its server.
    prices: BTreeMap<String, Price>,
    limits: WrittenLimits,
    tools: ToolSwitches,
    web_search: tools::SearchEntry,
    // Fields of the NanoClaw document that this server has under another name, or does not need (`document`).
    backend_port: Option<u16>,
    frontend_port: Option<IgnoredAny>,
    workspace_root: Option<String>,
    db_type: Option<String>,
    db_host: Option<database::DocumentField>,
    db_port: Option<database::DocumentField>,
    db_user: Option<database::DocumentField>,
    db_password: Option<database::DocumentField>,
    db_name: Option<database::DocumentField>,
    db_sqlite_file: Option<IgnoredAny>,
    auth_mode: people::AuthMode,
    registration: people::Registration,
    jwt_secret: Option<String>,
    insecure_http: bool,
    trusted_proxies: Vec<crate::domain::TrustedProxy>,
    own_providers: Option<bool>,
    own_provider_hosts: Vec<String>,
    proxy_sign_in: Option<proxy_sign_in::Entry>,
    tls_cert: Option<PathBuf>,
    tls_key: Option<PathBuf>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct UndoEntry {
    kept_mib: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct EmbeddedModel {
    program: Option<PathBuf>,
    weights: Option<PathBuf>,
    threads: Option<u32>,
    context_window: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SandboxLevel {
    Strict,
    Standard,
    /// Parsed only so that the error can say where the setting belongs.
    Off,
}

/// The configuration of a running server.
pub struct Config {
    pub host: Option<String>,
    pub port: Option<u16>,
    /// Host names besides localhost that this server answers to.
    pub host_names: Vec<String>,
    pub limits: RunLimits,
    /// Configured models, the chosen one first.
    pub endpoints: Vec<ConfiguredEndpoint>,
    /// The providers, with all of their models.
    pub providers: Vec<providers::Provider>,
    /// Ids of the models that a person likes.
    pub favorites: Vec<String>,
    /// The model chosen by name (`default_model`), if it is not a configured one: a discovered one or the embedded one.
    pub wanted: Option<String>,
    /// The model to ask when another does not answer: its name as sent to the server, or `local`.
    pub fallback: Option<String>,
    /// What happens when a conversation nearly fills the context window, unless its person chose otherwise.
    pub auto_compact: AutoCompact,
    /// Models that see pictures, including discovered ones.
    pub seeing: VisionModels,
    /// What the tokens of models cost, including discovered ones.
    pub prices: Prices,
    /// How many tokens this server's models may use.
    pub usage_limits: UsageLimits,
    /// Whether to look for Ollama and LM Studio on this machine.
    pub find_local: bool,
    pub embedded: EmbeddedPaths,
    /// Where vectors for search come from.
    pub embedding: EmbeddingSource,
    /// Whether conversations are sent to an embedding service that is not on this machine.
    pub embeds_conversations: bool,
    /// Whether searches use late interaction.
    pub rerank: Rerank,
    pub sandbox: Level,
    pub fetch_allow_hosts: Vec<String>,
    pub retrieval: Retrieval,
    /// The OpenAI API of this server.
    pub api: ApiConfig,
    /// What the MCP server of the agent offers.
    pub mcp_server: McpServerConfig,
    /// Which calls may run, and which a person is asked about.
    pub policy: Policy,
    /// Which tools the model can use.
    pub tools: ToolSwitches,
    /// The engine that `web_search` asks.
    pub search_engine: SearchEngine,
    /// Maximum size of everything that a home keeps for undos, in bytes.
    pub kept_limit: u64,
    /// Time without a request after which a session leaves memory. It comes back from disk with the next one.
    pub session_ttl: Duration,
    pub token: Option<SecretString>,
    /// Whether figures are counted for `/metrics`.
    pub metrics: bool,
    /// The collector that gets traces of works.
    pub traces: Option<TracesConfig>,
    /// The database in which the home is kept; `None` if it is kept in files.
    pub database: Option<DatabaseConfig>,
    /// Who uses the server, and how they sign in.
    pub people: people::PeopleConfig,
    /// Relative paths are beneath the home.
    pub tls: TlsPaths,
    /// Settings that the command line or the environment decides, by their keys.
    pub overrides: BTreeMap<&'static str, (Value, SettingSource)>,
    /// Problems for a person to look at, none of which stops the server.
    pub warnings: Vec<String>,
}

/// A model's endpoint, and where it was configured or found, for people: `.env`, `config.yml`, …
#[derive(Clone, Debug)]
pub struct ConfiguredEndpoint {
    /// Its `id` in `models` of config.yml; `None` if it comes from elsewhere.
    pub id: Option<String>,
    pub endpoint: Endpoint,
    pub from: String,
}

/// Where the parts of the embedded model are looked for.
#[derive(Clone, Debug)]
pub struct EmbeddedPaths {
    pub program: PathBuf,
    pub weights: PathBuf,
    pub threads: u32,
    pub context_window: u32,
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{file} cannot be used: {reason}")]
    Bad { file: String, reason: String },
}

/// Anything with write access can change a file unnoticed; a command line belongs to a person.
const SANDBOX_OFF: &str = "sandbox: it cannot be switched off here, only by starting with --sandbox off";

/// The weights that `make model` downloads.
const WEIGHTS: &str = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf";
const WEIGHTS_LOW_MEMORY: &str = "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf";
const EMBEDDED_CONTEXT: u32 = 8192;
const OPENAI_URL: &str = "https://api.openai.com/v1";

const TOKEN: &str = "MINICLAW_TOKEN";
/// Minimum characters of a token: someone who obtains a cookie could guess a shorter one.
const SHORTEST_TOKEN: usize = 16;

impl Config {
    /// Reads the configuration in `home`, with the variables of this process.
    ///
    /// # Errors
    /// As [`Config::load`] and [`Environment::load`].
    pub fn of_process(home: &Path) -> Result<Self, ConfigError> {
        Self::load(home, &Environment::load(home, process_variables())?)
    }

    /// Reads `config.yml` in `home` and combines it with the environment.
    ///
    /// # Errors
    /// Returns an error, with line and reason, if the file exists and is not valid.
    pub fn load(home: &Path, environment: &Environment) -> Result<Self, ConfigError> {
        Self::parse(read(home, "config.yml")?.as_deref(), environment)
    }

    /// Parses a text of `config.yml` and combines it with the environment.
    ///
    /// # Errors
    /// Returns an error, with line and reason, if the text is not valid.
    pub fn parse(text: Option<&str>, environment: &Environment) -> Result<Self, ConfigError> {
        let file = text.map(parse).transpose()?.unwrap_or_default();
        document::check(&file)?;
        let mut warnings = document::notes(&file, environment);
        let mut endpoints = Vec::new();
        endpoints.extend(deepseek(environment)?);
        endpoints.extend(openai(environment)?);
        for entry in &file.models {
            match configured(entry, environment)? {
                Ok(endpoint) => endpoints.push(ConfiguredEndpoint {
                    id: Some(entry.id().to_owned()),
                    endpoint,
                    from: "config.yml".to_owned(),
                }),
                Err(warning) => warnings.push(warning),
            }
        }
        let mut providers = providers::listed(&file.providers, environment, &mut warnings)?;
        let grouped = providers::grouped(&endpoints, &providers, environment);
        endpoints.extend(providers.iter().flat_map(providers::Provider::endpoints));
        providers.splice(0..0, grouped);
        let seeing = VisionModels::of(file.vision_models.clone(), environment);
        let prices = prices::prices(&file.prices, |id| model_of(&file, id))?;
        let of_providers = providers.iter_mut().flat_map(|provider| &mut provider.models);
        let configured = endpoints.iter_mut().map(|configured| &mut configured.endpoint);
        for endpoint in configured.chain(of_providers.map(|model| &mut model.endpoint)) {
            seeing.mark(endpoint);
            prices.mark(endpoint);
        }
        let wanted = choose(&mut endpoints, &file);
        let fallback = file.fallback_model.as_ref().map(|id| model_of(&file, id).to_owned());
        let embedding = embedding::source(&file.embedding, environment)?.unwrap_or_else(|warning| {
            warnings.push(warning);
            EmbeddingSource::None
        });
        let limits = RunLimits {
            max_iterations: file.max_iterations.unwrap_or(RunLimits::default().max_iterations).max(1),
            deadline: file
                .max_minutes
                .map_or(RunLimits::default().deadline, |minutes| Duration::from_secs(minutes.max(1) * 60)),
            ..RunLimits::default()
        };
        let people = people::people(&file, environment)?;
        Ok(Self {
            people,
            database: database::database(&file, environment)?,
            metrics: file.metrics,
            traces: traces::traces(file.traces.as_ref(), environment)?,
            tls: TlsPaths { certificate: file.tls_cert, key: file.tls_key },
            host: file.host,
            port: file.port.or(file.backend_port),
            host_names: file.host_names,
            limits,
            endpoints,
            providers,
            favorites: file.favorite_models,
            wanted,
            fallback,
            auto_compact: file.auto_compact,
            seeing,
            prices,
            usage_limits: prices::limits(&file.limits)?,
            find_local: file.find_local_models.unwrap_or(true),
            embedded: embedded(&file.embedded_model, environment),
            embedding,
            embeds_conversations: file.embedding.conversations,
            rerank: embedding::rerank(&file.embedding, environment),
            sandbox: match file.sandbox {
                Some(SandboxLevel::Strict) => Level::Strict,
                Some(SandboxLevel::Standard) => Level::Standard,
                Some(SandboxLevel::Off) => return Err(bad("config.yml", SANDBOX_OFF)),
                None => default_sandbox(file.auth_mode),
            },
            fetch_allow_hosts: file.fetch_allow_hosts,
            retrieval: retrieval::settings(&file.retrieval)?,
            api: file.api,
            mcp_server: file.mcp_server,
            policy: approvals::policy(&file.approvals)?,
            tools: file.tools,
            search_engine: tools::search_engine(&file.web_search, environment)?,
            kept_limit: file.undo.kept_mib.map_or(store::DEFAULT_KEPT_LIMIT, |mib| mib.max(1).saturating_mul(1 << 20)),
            session_ttl: document::session_ttl(environment)?,
            token: environment.value(TOKEN).map(token).transpose()?,
            overrides: settings::SETTINGS
                .iter()
                .filter_map(|setting| {
                    let value = environment.value(setting.variable?)?;
                    let entries: Vec<&str> =
                        value.split(',').map(str::trim).filter(|entry| !entry.is_empty()).collect();
                    Some((setting.key, (Value::from(entries), SettingSource::Environment)))
                })
                .collect(),
            warnings,
        })
    }
}

/// The level of the sandbox if config.yml names none.
pub fn default_sandbox(mode: people::AuthMode) -> Level {
    match mode {
        people::AuthMode::Single => Level::Standard,
        people::AuthMode::Multi => Level::Strict,
    }
}

fn read(home: &Path, name: &str) -> Result<Option<String>, ConfigError> {
    store::config_text(home, name).map_err(|error| bad(name, error.to_string()))
}

fn bad(file: &str, reason: impl Into<String>) -> ConfigError {
    ConfigError::Bad { file: file.to_owned(), reason: reason.into() }
}

fn parse(text: &str) -> Result<File, ConfigError> {
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(File::default());
    }
    let file = serde_path_to_error::deserialize(serde_yaml::Deserializer::from_str(text));
    file.map_err(|error| {
        let place = error.path().to_string();
        let reason = error.into_inner().to_string();
        bad("config.yml", if place == "." { reason } else { format!("{place}: {reason}") })
    })
}

/// Replaces `${NAME}` with its value; the error is the name of a variable that is not set.
fn substitute(text: &str, environment: &Environment) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}') else { break };
        out.push_str(before);
        out.push_str(environment.value(name).ok_or_else(|| name.to_owned())?);
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

fn url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("is no address ({error}): {text}"))?;
    if matches!(url.scheme(), "http" | "https") {
        Ok(url)
    } else {
        Err(format!("must begin with http:// or https://: {text}"))
    }
}

fn embedded(file: &EmbeddedModel, environment: &Environment) -> EmbeddedPaths {
    let beside = std::env::current_exe().ok().and_then(|exe| exe.parent().map(|dir| dir.join("miniclaw-llm")));
    let program = file.program.clone().or_else(|| environment.value("MINICLAW_LLM").map(PathBuf::from)).or(beside);
    let models = models_dir(environment);
    let weights = file.weights.clone().unwrap_or_else(|| {
        let (better, smaller) = (models.join(WEIGHTS), models.join(WEIGHTS_LOW_MEMORY));
        if !better.is_file() && smaller.is_file() { smaller } else { better }
    });
    EmbeddedPaths {
        program: program.unwrap_or_else(|| PathBuf::from("miniclaw-llm")),
        weights,
        threads: file.threads.unwrap_or(0),
        context_window: file.context_window.unwrap_or(EMBEDDED_CONTEXT),
    }
}

fn token(word: &str) -> Result<SecretString, ConfigError> {
    let length = word.chars().count();
    if length >= SHORTEST_TOKEN {
        return Ok(SecretString::from(word.to_owned()));
    }
    let reason = format!(
        "it has {length} characters and needs at least {SHORTEST_TOKEN}, or it could be guessed. Set it to a long random \
         word, for example what `openssl rand -hex 16` prints, or to nothing"
    );
    Err(ConfigError::Bad { file: TOKEN.to_owned(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;

    pub(super) fn load(files: &[(&str, &str)], process: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let home = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(home.path().join(name), text).unwrap();
        }
        let process = process.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        let environment = Environment::load(home.path(), process)?;
        Config::load(home.path(), &environment)
    }

    fn first(config: &Config) -> (&str, &str, String, &str) {
        let ConfiguredEndpoint { endpoint, from, .. } = &config.endpoints[0];
        let key = endpoint.api_key.as_ref().map_or("", |key| key.expose_secret());
        (endpoint.base_url.as_str(), &endpoint.model, key.to_owned(), from)
    }

    #[test]
    fn environment_overrides_documented_names() {
        let env = "DEEPSEEK_API_KEY=sk-file\nDEEPSEEK_MODEL=deepseek-reasoner\nOPENAI_API_KEY=\n";
        let config = load(&[(".env", env)], &[]).unwrap();
        let expected = ("https://api.deepseek.com/", "deepseek-reasoner", "sk-file".to_owned(), ".env");
        assert_eq!(first(&config), expected);
        assert_eq!(config.endpoints.len(), 1);
        let config = load(&[(".env", env)], &[("DEEPSEEK_API_KEY", "sk-process")]).unwrap();
        assert_eq!(first(&config).2, "sk-process");
    }

    #[test]
    fn compatible_server_works_without_key() {
        let config = load(&[], &[("OPENAI_BASE_URL", "http://127.0.0.1:9999/v1"), ("OPENAI_MODEL", "mine")]).unwrap();
        assert_eq!(first(&config), ("http://127.0.0.1:9999/v1", "mine", String::new(), "environment"));
        let nothing = load(&[], &[("OPENAI_BASE_URL", "https://api.openai.com/v1")]).unwrap();
        assert!(nothing.endpoints.is_empty());
    }

    #[test]
    fn sandbox_level_is_configurable_but_cannot_be_off() {
        let level = |text: &str| load(&[("config.yml", text)], &[]).map(|config| config.sandbox);
        assert_eq!(level("port: 1\n").unwrap(), Level::Standard);
        assert_eq!(level("sandbox: strict\n").unwrap(), Level::Strict);
        let several = "auth_mode: multi\njwt_secret: 0123456789abcdef0123456789abcdef\n";
        assert_eq!(level(several).unwrap(), Level::Strict, "people are kept apart twice");
        assert_eq!(level(&format!("{several}sandbox: standard\n")).unwrap(), Level::Standard);
        assert!(level("sandbox: off\n").unwrap_err().to_string().contains("--sandbox off"));
        assert!(level("sandbox: none\n").unwrap_err().to_string().contains("none"));
    }

    #[test]
    fn misspelt_setting_error_names_its_line() {
        let error = load(&[("config.yml", "port: 8002\nmodles: []\n")], &[]).err().unwrap().to_string();
        assert!(error.contains("modles") && error.contains("line 2"), "{error}");
        let error = load(&[("config.yml", "models:\n  - id: a\n    api_url: [3]\n")], &[]).err().unwrap().to_string();
        assert!(error.contains("models[0].api_url"), "{error}");
        assert!(load(&[("config.yml", "# only a comment\n")], &[]).is_ok());
    }

    #[test]
    fn model_keys_come_from_variables() {
        let file = "default_model: b\nmodels:\n  - {id: a, api_url: 'http://h/v1', api_key: '${NOT_SET}'}\n  \
                    - {id: b, name: Bee, api_url: 'http://h/v1', api_key: 'x-${KEY}', context_window: 5}\n";
        let config = load(&[("config.yml", file)], &[("KEY", "k"), ("DEEPSEEK_API_KEY", "d")]).unwrap();
        assert_eq!(first(&config), ("http://h/v1", "b", "x-k".to_owned(), "config.yml"));
        assert_eq!(
            (config.endpoints[0].endpoint.context_window, config.endpoints[0].endpoint.label.as_str()),
            (5, "Bee")
        );
        assert!(config.warnings[0].contains("NOT_SET"), "{:?}", config.warnings);
    }

    #[test]
    fn broken_env_file_error_names_line_but_not_key() {
        for env in ["# keys\nOPENAI_API_KEY=sk-canary my note\n", "A=1\nOPENAI_API_KEY=\"sk-canary\n"] {
            let error = load(&[(".env", env)], &[]).err().unwrap().to_string();
            assert!(!error.contains("canary"), "{error}");
            assert!(error.contains("line 2") || error.contains("a line"), "{error}");
        }
    }

    #[test]
    fn weak_token_is_refused_and_never_printed() {
        for short in ["x", "canary-15-chars", "企鹅企鹅企鹅企鹅企鹅企鹅企鹅企"] {
            let error = load(&[], &[("MINICLAW_TOKEN", short)]).err().unwrap().to_string();
            assert!(error.contains("MINICLAW_TOKEN") && error.contains("at least 16"), "{error}");
            assert!(!error.contains("canary"), "{error}");
        }
        assert!(load(&[(".env", "MINICLAW_TOKEN=short\n")], &[]).is_err());
        for good in ["0123456789abcdef", "企鹅企鹅企鹅企鹅企鹅企鹅企鹅企鹅"] {
            assert!(load(&[], &[("MINICLAW_TOKEN", good)]).unwrap().token.is_some());
        }
        assert!(load(&[(".env", "MINICLAW_TOKEN=\n")], &[]).unwrap().token.is_none());
    }

    #[test]
    fn keys_are_not_printed() {
        let config = load(&[], &[("OPENAI_API_KEY", "canary-key")]).unwrap();
        assert!(!format!("{:?}", config.endpoints).contains("canary"));
    }
}
