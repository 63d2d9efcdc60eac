//! Environment variables, and those of `.env` in the home.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::{ConfigError, bad, read};

/// The variables of the process and of `.env`.
pub struct Environment {
    process: HashMap<String, String>,
    file: HashMap<String, String>,
}

impl Environment {
    /// # Errors
    /// Returns an error, with the line, if `.env` exists and is not valid.
    pub fn load(home: &Path, process: impl Iterator<Item = (String, String)>) -> Result<Self, ConfigError> {
        let mut file = HashMap::new();
        if let Some(text) = read(home, ".env")? {
            for pair in dotenvy::from_read_iter(text.as_bytes()) {
                let (name, value) = pair.map_err(|error| bad(".env", line_of(&error, &text)))?;
                file.insert(name, value);
            }
        }
        Ok(Self { process: process.collect(), file })
    }

    /// Returns a variable's value and its source. An empty value counts as not set: copying `.env.example` leaves such
    /// values.
    pub(super) fn get(&self, name: &str) -> Option<(&str, &'static str)> {
        let process = self.process.get(name).map(|value| (value.trim(), "environment"));
        let file = self.file.get(name).map(|value| (value.trim(), ".env"));
        [process, file].into_iter().flatten().find(|(value, _)| !value.is_empty())
    }

    /// Returns the names of all variables, those without a value included.
    pub fn names(&self) -> Vec<String> {
        self.process.keys().chain(self.file.keys()).cloned().collect()
    }

    /// Returns a variable for a program that a person has given it to.
    pub fn variable(&self, name: &str) -> Option<String> {
        self.value(name).map(str::to_owned)
    }

    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.get(name).map(|(value, _)| value)
    }
}

/// Returns the variables of the process that are Unicode text; the program uses no others.
pub fn process_variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Whether the process has this variable, which then wins over `.env`. An empty value counts as not set.
pub fn is_set_by_process(name: &str) -> bool {
    std::env::var(name).is_ok_and(|value| !value.trim().is_empty())
}

/// Describes which line of `.env` is wrong. The line itself may contain a key, so it is not shown.
fn line_of(error: &dotenvy::Error, text: &str) -> String {
    let wrong = match error {
        dotenvy::Error::LineParse(line, _) => text.lines().position(|known| known.trim() == line.trim()),
        _ => None,
    };
    let place = wrong.map_or_else(|| "a line".to_owned(), |at| format!("line {}", at + 1));
    format!("{place} is not NAME=value; put values with spaces or # into double quotes")
}

/// Returns what `doctor` shows of the variables: which are set and where, never their values.
pub fn known_variables(environment: &Environment) -> BTreeMap<&'static str, &'static str> {
    const NAMES: [&str; 14] = [
        "DEEPSEEK_API_KEY",
        "DEEPSEEK_BASE_URL",
        "DEEPSEEK_MODEL",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "OPENAI_MODEL",
        "EMBEDDING_MODEL",
        "MINICLAW_MODELS",
        "MINICLAW_VISION_MODELS",
        "MINICLAW_TOKEN",
        super::people::JWT_SECRET,
        "BRAVE_API_KEY",
        "TAVILY_API_KEY",
        "SESSION_TTL",
    ];
    NAMES.into_iter().filter_map(|name| environment.get(name).map(|(_, from)| (name, from))).collect()
}

/// Returns the folder in which `make model` and `make embedder` put weights: `$MINICLAW_MODELS`, else below the user's
/// data folder.
pub fn models_dir(environment: &Environment) -> PathBuf {
    if let Some(dir) = environment.value("MINICLAW_MODELS") {
        return PathBuf::from(dir);
    }
    let data = match (environment.value("XDG_DATA_HOME"), environment.value("HOME")) {
        (Some(data), _) => PathBuf::from(data),
        (None, Some(home)) => Path::new(home).join(".local/share"),
        (None, None) => PathBuf::from("/var/lib"),
    };
    data.join("miniclaw/models")
}
