//! The settings of config.yml that a person can change from the page: one table, from which they are read, checked,
//! listed and explained.

use serde_json::{Value, json};

use super::edit::{Edit, Step, at};
use super::{Config, ConfigError, Environment, approvals};
use crate::retrieval;
use crate::store;
use crate::tools::{BUILT_IN, Rule};

/// A setting of config.yml.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The path of its key in config.yml: `approvals.effects.write`.
    pub key: &'static str,
    pub kind: SettingKind,
    /// When a change takes effect.
    pub effect: TakesEffect,
    /// Which changes make the server less safe, so that a person has to confirm them.
    pub loosening: Loosening,
    /// The variable of the environment that overrides it.
    pub variable: Option<&'static str>,
}

/// The values that a setting can have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SettingKind {
    Whole { minimum: u32, maximum: u32 },
    Number { minimum: f64, maximum: f64 },
    Boolean,
    Text,
    Choice(&'static [&'static str]),
    List,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakesEffect {
    AtOnce,
    AfterRestart,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loosening {
    Never,
    /// A choice that comes later in the list of choices than the present one.
    LaterChoice,
    /// This choice: it sends data to another machine.
    Choice(&'static str),
    /// Switching it on: it sends data to another machine.
    On,
    /// An entry that the list does not have.
    NewEntry,
    /// An address that other machines can reach.
    OpenAddress,
}

/// Where the value of a setting comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingSource {
    Default,
    File,
    Environment,
    CommandLine,
}

/// Why a value cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    #[error("there is no setting {0} that can be changed here; see GET /api/settings")]
    Unknown(String),
    #[error("{key}: {reason}")]
    Bad { key: &'static str, reason: String },
    #[error("the sandbox can be switched off only on the command line, with --sandbox off")]
    SandboxOff,
    #[error("this makes the server less safe and has to be confirmed: {}", .0.join(", "))]
    Confirm(Vec<&'static str>),
}

/// The rules of an effect or a tool, from the safest to the least safe.
const PLAIN: &[&str] = &["deny", "ask", "allow", "unattended"];
const SANDBOXED: &[&str] = &["deny", "ask", "rehearse", "sandboxed", "allow", "unattended"];
const SEARCH_ENGINES: &[&str] = &["auto", "duckduckgo", "searxng", "brave", "tavily"];
/// Maximum length of a text, in bytes.
const MAX_TEXT: usize = 200;
/// Maximum number of entries of a list.
const MAX_ENTRIES: usize = 100;

const fn setting(key: &'static str, kind: SettingKind) -> Setting {
    Setting { key, kind, effect: TakesEffect::AtOnce, loosening: Loosening::Never, variable: None }
}

const fn after_restart(setting: Setting) -> Setting {
    Setting { effect: TakesEffect::AfterRestart, ..setting }
}

const fn rule(key: &'static str, choices: &'static [&'static str]) -> Setting {
    Setting { loosening: Loosening::LaterChoice, ..setting(key, SettingKind::Choice(choices)) }
}

const fn whole(key: &'static str, minimum: u32, maximum: u32) -> Setting {
    setting(key, SettingKind::Whole { minimum, maximum })
}

/// All settings, in the order in which they are shown.
pub const SETTINGS: &[Setting] = &[
    setting("default_model", SettingKind::Text),
    setting("fallback_model", SettingKind::Text),
    setting("find_local_models", SettingKind::Boolean),
    Setting { variable: Some("MINICLAW_VISION_MODELS"), ..setting("vision_models", SettingKind::List) },
    whole("max_iterations", 1, 1000),
    whole("max_minutes", 1, 1440),
    setting("auto_compact", SettingKind::Choice(&["ask", "on", "off"])),
    rule("approvals.effects.read", PLAIN),
    rule("approvals.effects.write", PLAIN),
    rule("approvals.effects.execute", SANDBOXED),
    rule("approvals.effects.network", PLAIN),
    rule("approvals.tools.terminal", SANDBOXED),
    rule("approvals.tools.python_repl", SANDBOXED),
    rule("approvals.tools.fetch_url", PLAIN),
    rule("approvals.tools.web_search", PLAIN),
    rule("approvals.tools.weather", PLAIN),
    rule("approvals.tools.read_file", PLAIN),
    rule("approvals.tools.search_knowledge_base", PLAIN),
    rule("approvals.tools.search_memory", PLAIN),
    rule("approvals.tools.create_file", PLAIN),
    rule("approvals.tools.edit_file", PLAIN),
    rule("approvals.tools.delete_file", PLAIN),
    whole("approvals.timeout_seconds", 1, 86_400),
    setting("tools.terminal", SettingKind::Boolean),
    setting("tools.bash", SettingKind::Boolean),
    setting("tools.python_repl", SettingKind::Boolean),
    setting("tools.fetch_url", SettingKind::Boolean),
    setting("tools.web_search", SettingKind::Boolean),
    setting("tools.weather", SettingKind::Boolean),
    setting("tools.calculator", SettingKind::Boolean),
    setting("tools.sql", SettingKind::Boolean),
    setting("tools.read_file", SettingKind::Boolean),
    setting("tools.create_file", SettingKind::Boolean),
    setting("tools.edit_file", SettingKind::Boolean),
    setting("tools.delete_file", SettingKind::Boolean),
    setting("tools.move_file", SettingKind::Boolean),
    setting("tools.list_files", SettingKind::Boolean),
    setting("tools.search_files", SettingKind::Boolean),
    setting("tools.search_knowledge_base", SettingKind::Boolean),
    setting("tools.search_memory", SettingKind::Boolean),
    setting("tools.create_todolist", SettingKind::Boolean),
    setting("tools.done_todo", SettingKind::Boolean),
    after_restart(setting("web_search.backend", SettingKind::Choice(SEARCH_ENGINES))),
    after_restart(rule("sandbox", &["strict", "standard"])),
    after_restart(Setting { loosening: Loosening::NewEntry, ..setting("fetch_allow_hosts", SettingKind::List) }),
    after_restart(Setting {
        loosening: Loosening::Choice("openai"),
        ..setting("embedding.provider", SettingKind::Choice(&["local", "openai", "none"]))
    }),
    after_restart(setting("embedding.model", SettingKind::Text)),
    after_restart(Setting { loosening: Loosening::On, ..setting("embedding.conversations", SettingKind::Boolean) }),
    after_restart(setting("embedding.rerank", SettingKind::Choice(&["auto", "none", "multilingual-e5-small"]))),
    after_restart(whole("retrieval.chunk_tokens", 32, 4096)),
    after_restart(whole("retrieval.chunk_overlap", 0, 2048)),
    after_restart(setting("retrieval.bm25_k1", SettingKind::Number { minimum: 0.0, maximum: 10.0 })),
    after_restart(setting("retrieval.bm25_b", SettingKind::Number { minimum: 0.0, maximum: 1.0 })),
    after_restart(setting("retrieval.vector_weight", SettingKind::Number { minimum: 0.0, maximum: 1.0 })),
    after_restart(whole("undo.kept_mib", 1, 1 << 20)),
    Setting { loosening: Loosening::NewEntry, ..setting("host_names", SettingKind::List) },
    after_restart(Setting { loosening: Loosening::OpenAddress, ..setting("host", SettingKind::Text) }),
    after_restart(whole("port", 1, 65_535)),
];

impl Setting {
    /// Returns the setting with this key.
    pub fn of_key(key: &str) -> Result<&'static Self, SettingError> {
        SETTINGS.iter().find(|setting| setting.key == key).ok_or_else(|| SettingError::Unknown(key.to_owned()))
    }

    pub fn edit(&self, value: Option<Value>) -> Edit {
        Edit::of_key(self.key, value)
    }

    /// Returns its value in config.yml.
    pub fn in_file<'a>(&self, file: &'a Value) -> Option<&'a Value> {
        let path: Vec<Step> = self.edit(None).path;
        let document_name = || file.get("backend_port").filter(|_| self.key == "port");
        at(file, &path).filter(|value| !value.is_null()).or_else(document_name)
    }

    /// Returns the value that applies if this config.yml has none; null if the model or another setting decides.
    pub fn default_value(&self, file: &Value) -> Value {
        let limits = retrieval::ChunkLimits::default();
        let bm25 = retrieval::Ranking::default().bm25;
        let run = crate::agent::RunLimits::default();
        let policy = crate::tools::Policy::default();
        match self.key {
            "find_local_models" => json!(true),
            "vision_models" | "fetch_allow_hosts" | "host_names" => json!([]),
            "max_iterations" => json!(run.max_iterations),
            "max_minutes" => json!(run.deadline.as_secs() / 60),
            "auto_compact" => json!("ask"),
            "approvals.effects.read" => json!(word(policy.effects.read)),
            "approvals.effects.write" => json!(word(policy.effects.write)),
            "approvals.effects.execute" => json!(word(policy.effects.execute)),
            "approvals.effects.network" => json!(word(policy.effects.network)),
            "approvals.timeout_seconds" => json!(policy.timeout.as_secs()),
            "sandbox" => {
                let mode = file.get("auth_mode").and_then(|mode| serde_json::from_value(mode.clone()).ok());
                json!(super::default_sandbox(mode.unwrap_or_default()).name())
            }
            "embedding.conversations" => json!(false),
            "embedding.rerank" => json!("auto"),
            "retrieval.chunk_tokens" => json!(limits.tokens),
            "retrieval.chunk_overlap" => json!(limits.overlap),
            "retrieval.bm25_k1" => json!(bm25.k1),
            "retrieval.bm25_b" => json!(bm25.b),
            "undo.kept_mib" => json!(store::DEFAULT_KEPT_LIMIT >> 20),
            "host" => json!("127.0.0.1"),
            "port" => json!(8002),
            "web_search.backend" => json!("auto"),
            key => BUILT_IN.iter().find(|tool| tool.key == key).map_or(Value::Null, |tool| json!(tool.on)),
        }
    }

    /// Checks a value and brings it into the form in which it is written.
    ///
    /// # Errors
    /// Returns [`SettingError::Bad`] for a value of another kind or out of range, and [`SettingError::SandboxOff`].
    pub fn checked(&self, value: &Value) -> Result<Value, SettingError> {
        let bad = |reason: String| Err(SettingError::Bad { key: self.key, reason });
        match (self.kind, value) {
            (SettingKind::Whole { minimum, maximum }, value) => match value.as_u64() {
                Some(number) if (u64::from(minimum)..=u64::from(maximum)).contains(&number) => Ok(value.clone()),
                _ => bad(format!("must be a whole number between {minimum} and {maximum}")),
            },
            (SettingKind::Number { minimum, maximum }, value) => match value.as_f64() {
                Some(number) if (minimum..=maximum).contains(&number) => Ok(value.clone()),
                _ => bad(format!("must be a number between {minimum} and {maximum}")),
            },
            (SettingKind::Boolean, Value::Bool(_)) => Ok(value.clone()),
            (SettingKind::Boolean, _) => bad("must be true or false".to_owned()),
            (SettingKind::Choice(_), Value::String(word)) if self.key == "sandbox" && word == "off" => {
                Err(SettingError::SandboxOff)
            }
            (SettingKind::Choice(choices), Value::String(word)) if choices.contains(&word.as_str()) => {
                Ok(value.clone())
            }
            (SettingKind::Choice(choices), _) => bad(format!("must be one of {}", choices.join(", "))),
            (SettingKind::Text, Value::String(text)) if is_plain(text) => Ok(json!(text.trim())),
            (SettingKind::Text, _) => bad(format!("must be a line of 1 to {MAX_TEXT} bytes")),
            (SettingKind::List, Value::Array(entries)) => {
                let entries: Option<Vec<&str>> =
                    entries.iter().map(|entry| entry.as_str().filter(|entry| is_plain(entry)).map(str::trim)).collect();
                match entries {
                    Some(entries) if entries.len() <= MAX_ENTRIES => Ok(json!(entries)),
                    _ => bad(format!("must be a list of at most {MAX_ENTRIES} lines of 1 to {MAX_TEXT} bytes")),
                }
            }
            (SettingKind::List, _) => bad("must be a list of words".to_owned()),
        }
    }

    /// Returns the values that a person has to confirm, as things are in this file; `*` for every new one.
    pub fn loosening_values(&self, file: &Value) -> Vec<&'static str> {
        match (self.loosening, self.kind) {
            (Loosening::LaterChoice, SettingKind::Choice(choices)) => {
                let loosens = |choice: &&&str| self.loosens(file, Some(&json!(choice)));
                choices.iter().filter(loosens).copied().collect()
            }
            (Loosening::Choice(choice), _) => {
                self.loosens(file, Some(&json!(choice))).then_some(choice).into_iter().collect()
            }
            (Loosening::On, _) => self.loosens(file, Some(&json!(true))).then_some("true").into_iter().collect(),
            (Loosening::NewEntry | Loosening::OpenAddress, _) => vec!["*"],
            _ => Vec::new(),
        }
    }

    /// Whether the new value makes the server less safe than the one in the file. `None` is the default.
    pub fn loosens(&self, file: &Value, new: Option<&Value>) -> bool {
        let old = self.in_file(file);
        match self.loosening {
            Loosening::Never => false,
            Loosening::LaterChoice => match new {
                // What is allowed by the tool's own name is allowed for the persona and the memory too.
                Some(new)
                    if old.is_none() && self.is_writing_tool() && self.rank(file, Some(new)) > rank("sandboxed") =>
                {
                    true
                }
                new => self.rank(file, new) > self.rank(file, old),
            },
            Loosening::Choice(choice) => {
                let is_it = |value: Option<&Value>| value.and_then(Value::as_str) == Some(choice);
                is_it(new) && !is_it(old)
            }
            Loosening::On => new == Some(&json!(true)) && old != Some(&json!(true)),
            Loosening::NewEntry => {
                let known = old.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                let entries = new.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                entries.iter().any(|entry| !known.contains(entry))
            }
            Loosening::OpenAddress => new.is_some_and(|new| Some(new) != old && !is_loopback(new)),
        }
    }

    fn is_writing_tool(&self) -> bool {
        self.tool().is_some_and(|tool| approvals::effect_key(tool) == "approvals.effects.write")
    }

    fn tool(&self) -> Option<&'static str> {
        self.key.strip_prefix("approvals.tools.")
    }

    /// Returns how little a value protects: 0 is the safest. A tool without a rule has that of its effect.
    fn rank(&self, file: &Value, value: Option<&Value>) -> usize {
        let word = value.and_then(Value::as_str);
        match (word, self.tool()) {
            (Some("strict"), None) => 0,
            (Some("standard"), None) => 1,
            (Some(word), _) => rank(word),
            (None, Some(tool)) => {
                let effect = Self::of_key(approvals::effect_key(tool)).ok();
                effect.map_or(0, |effect| effect.rank(file, effect.in_file(file)))
            }
            (None, None) => self.default_value(file).as_str().map_or(0, |word| self.rank(file, Some(&json!(word)))),
        }
    }
}

/// Returns the place of a rule in the order from the safest to the least safe.
fn rank(word: &str) -> usize {
    SANDBOXED.iter().position(|rule| *rule == word).unwrap_or_default()
}

fn word(rule: Rule) -> &'static str {
    match rule {
        Rule::Allow => "allow",
        Rule::Ask => "ask",
        Rule::Deny => "deny",
        Rule::Rehearse => "rehearse",
        Rule::Sandboxed => "sandboxed",
        Rule::Unattended => "unattended",
    }
}

fn is_plain(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && text.len() <= MAX_TEXT && !text.chars().any(char::is_control)
}

fn is_loopback(address: &Value) -> bool {
    let address = address.as_str().unwrap_or_default();
    address == "localhost" || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Returns the checked edits for `changes`, in which null stands for the default.
///
/// # Errors
/// Returns the first [`SettingError`]; [`SettingError::Confirm`] with all settings that would make the server less safe,
/// unless that is confirmed.
pub fn edits(
    file: &Value,
    changes: &serde_json::Map<String, Value>,
    confirmed: Confirmed,
) -> Result<Vec<Edit>, SettingError> {
    let mut edits = Vec::new();
    let mut loosening = Vec::new();
    for (key, value) in changes {
        let setting = Setting::of_key(key)?;
        let value = (!value.is_null()).then(|| setting.checked(value)).transpose()?;
        if setting.loosens(file, value.as_ref()) {
            loosening.push(setting.key);
        }
        edits.push(setting.edit(value));
    }
    if confirmed == Confirmed::No && !loosening.is_empty() {
        return Err(SettingError::Confirm(loosening));
    }
    Ok(edits)
}

/// Whether a person has confirmed that the server becomes less safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmed {
    Yes,
    No,
}

/// A configuration file as it is now.
pub struct FileState {
    /// Its text; empty if there is no file.
    pub text: String,
    /// Its values, and the configuration that they give.
    pub parsed: Result<(Value, Config), ConfigError>,
}

impl FileState {
    /// Parses a text of config.yml.
    pub fn of(text: String, environment: &Environment) -> Self {
        let config = Config::parse(Some(&text), environment);
        let parsed = config.and_then(|config| {
            let values = super::edit::values(&text).map_err(|error| super::bad("config.yml", error.to_string()))?;
            Ok((values, config))
        });
        Self { text, parsed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Value {
        super::super::edit::values(text).unwrap()
    }

    fn tried(text: &str, key: &str, value: Value) -> Result<Vec<Edit>, SettingError> {
        edits(&file(text), &serde_json::Map::from_iter([(key.to_owned(), value)]), Confirmed::No)
    }

    #[test]
    fn every_setting_is_a_field_of_the_file() {
        let environment = Environment::load(std::path::Path::new("/nonexistent"), std::iter::empty()).unwrap();
        for setting in SETTINGS {
            let value = match setting.kind {
                // The overlap is limited by the size of a chunk.
                SettingKind::Whole { .. } if setting.key == "retrieval.chunk_tokens" => json!(64),
                SettingKind::Whole { minimum, .. } => json!(minimum),
                SettingKind::Number { maximum, .. } => json!(maximum),
                SettingKind::Boolean => json!(false),
                SettingKind::Text if setting.key == "embedding.model" => json!("multilingual-e5-small"),
                SettingKind::Text => json!("127.0.0.1"),
                SettingKind::Choice(choices) => json!(choices[0]),
                SettingKind::List => json!(["a"]),
            };
            assert_eq!(setting.checked(&value).unwrap(), value, "{}", setting.key);
            let text = super::super::edit::edited("", &[setting.edit(Some(value.clone()))]).unwrap();
            let config = Config::parse(Some(&text), &environment);
            assert!(config.is_ok(), "{}: {:?}", setting.key, config.err());
            assert_eq!(setting.in_file(&file(&text)), Some(&value), "{}", setting.key);
            let default = setting.default_value(&Value::Null);
            assert!(default.is_null() || setting.checked(&default).is_ok(), "{}", setting.key);
        }
    }

    #[test]
    fn defaults_are_those_of_an_empty_file() {
        let environment = Environment::load(std::path::Path::new("/nonexistent"), std::iter::empty()).unwrap();
        let given: Vec<Edit> = SETTINGS
            .iter()
            .filter(|setting| !setting.default_value(&Value::Null).is_null())
            .map(|setting| setting.edit(Some(setting.default_value(&Value::Null))))
            .collect();
        let text = super::super::edit::edited("", &given).unwrap();
        let (with, without) =
            (Config::parse(Some(&text), &environment).unwrap(), Config::parse(None, &environment).unwrap());
        assert_eq!(
            (with.limits.max_iterations, with.limits.deadline),
            (without.limits.max_iterations, without.limits.deadline)
        );
        assert_eq!((with.policy, with.sandbox, with.retrieval), (without.policy, without.sandbox, without.retrieval));
        assert_eq!((with.find_local, with.auto_compact), (without.find_local, without.auto_compact));
    }

    #[test]
    fn wrong_values_are_refused() {
        for (key, value) in [
            ("max_iterations", json!(0)),
            ("max_iterations", json!(1.5)),
            ("max_iterations", json!("3")),
            ("retrieval.bm25_b", json!(2)),
            ("find_local_models", json!("yes")),
            ("approvals.effects.write", json!("sandboxed")),
            ("default_model", json!("a\nport: 1")),
            ("default_model", json!("")),
            ("host_names", json!("a")),
            ("host_names", json!(["a", 1])),
            ("port", json!(0)),
        ] {
            assert!(matches!(tried("", key, value), Err(SettingError::Bad { .. })), "{key}");
        }
        for key in ["models", "embedding.api_key", "approvals", "approvals.tools.other", ""] {
            assert!(matches!(tried("", key, json!("x")), Err(SettingError::Unknown(_))), "{key}");
        }
        assert_eq!(tried("sandbox: strict\n", "sandbox", json!("off")), Err(SettingError::SandboxOff));
    }

    #[test]
    fn only_a_safer_value_needs_no_confirmation() {
        let loosens = |text, key, value| matches!(tried(text, key, value), Err(SettingError::Confirm(_)));
        assert!(loosens("", "approvals.effects.execute", json!("unattended")));
        assert!(loosens("", "approvals.effects.execute", json!("sandboxed")));
        assert!(!loosens("", "approvals.effects.execute", json!("deny")));
        assert!(!loosens("approvals: {effects: {execute: unattended}}\n", "approvals.effects.execute", Value::Null));
        assert!(loosens("approvals: {effects: {execute: deny}}\n", "approvals.effects.execute", Value::Null));
        assert!(loosens("approvals: {effects: {write: allow}}\n", "approvals.tools.edit_file", json!("allow")));
        assert!(loosens("approvals: {tools: {terminal: deny}}\n", "approvals.tools.terminal", Value::Null));
        assert!(!loosens("", "approvals.tools.read_file", json!("allow")));
        assert!(
            loosens("", "embedding.provider", json!("openai")) && !loosens("", "embedding.provider", json!("local"))
        );
        assert!(loosens("", "embedding.conversations", json!(true)));
        assert!(!loosens("embedding: {conversations: true}\n", "embedding.conversations", json!(true)));
        assert!(!loosens("embedding: {conversations: true}\n", "embedding.conversations", json!(false)));
        assert!(loosens("sandbox: strict\n", "sandbox", json!("standard")));
        assert!(loosens("sandbox: strict\n", "sandbox", Value::Null));
        assert!(!loosens("", "sandbox", json!("strict")));
        // With several people the default is strict.
        assert!(loosens("auth_mode: multi\n", "sandbox", json!("standard")));
        assert!(!loosens("auth_mode: multi\nsandbox: standard\n", "sandbox", Value::Null));
        assert!(loosens("fetch_allow_hosts: [a]\n", "fetch_allow_hosts", json!(["a", "b"])));
        assert!(!loosens("fetch_allow_hosts: [a, b]\n", "fetch_allow_hosts", json!(["b"])));
        assert!(loosens("", "host", json!("0.0.0.0")) && !loosens("", "host", json!("::1")));
        assert_eq!(Setting::of_key("sandbox").unwrap().loosening_values(&file("sandbox: strict\n")), ["standard"]);
    }
}
