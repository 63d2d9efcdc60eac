//! `config.json`: the settings of the page, and the calls that are always allowed.

use std::path::Path;

use serde_json::{Map, Value};

use super::atomic;
use super::error::StoreError;
use super::home::Home;
use crate::domain::AlwaysAllowedCall;

const FILE: &str = "config.json";
const ALWAYS: &str = "always_allowed";

/// The settings. A write keeps fields of the file that this version does not know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    pub rag_mode: bool,
}

/// Reads a configuration file of a home that need not be open: `config.yml` or `.env`. `None` if there is no such file.
pub fn config_text(home: &Path, name: &str) -> std::io::Result<Option<String>> {
    match std::fs::read_to_string(home.join(name)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads a script for the scripted provider.
pub fn script_text(path: &Path) -> std::io::Result<String> {
    std::fs::read_to_string(path)
}

impl Home {
    /// Reads the settings from disk, so that a manual edit takes effect at once. A missing or damaged file gives the
    /// defaults.
    pub fn settings(&self) -> Settings {
        let fields = self.settings_file();
        Settings { rag_mode: fields.get("rag_mode").and_then(Value::as_bool).unwrap_or(false) }
    }

    pub(super) fn set_rag_mode(&self, on: bool) -> Result<(), StoreError> {
        let _one_writer = self.edit_lock();
        self.write_setting("rag_mode", Value::Bool(on))
    }

    /// Reads from disk which calls are always allowed. Entries that do not parse allow nothing.
    pub fn remembered(&self) -> Vec<AlwaysAllowedCall> {
        let rules = self.settings_file().remove(ALWAYS);
        let rules = rules.and_then(|rules| serde_json::from_value::<Vec<Value>>(rules).ok()).unwrap_or_default();
        rules.into_iter().filter_map(|rule| serde_json::from_value(rule).ok()).collect()
    }

    pub(super) fn remember(&self, rule: &AlwaysAllowedCall) -> Result<(), StoreError> {
        let _one_writer = self.edit_lock();
        let mut rules = self.remembered();
        rules.push(rule.clone());
        self.write_setting(ALWAYS, serde_json::to_value(rules).expect("rules are JSON"))
    }

    /// Removes a rule. Returns `false` if there is no such rule.
    pub(super) fn forget_remembered(&self, id: &str) -> Result<bool, StoreError> {
        let _one_writer = self.edit_lock();
        let mut rules = self.remembered();
        let before = rules.len();
        rules.retain(|rule| rule.id != id);
        if rules.len() == before {
            return Ok(false);
        }
        self.write_setting(ALWAYS, serde_json::to_value(rules).expect("rules are JSON"))?;
        Ok(true)
    }

    /// Writes one field. The caller holds the edit lock. First moves a file that does not parse to quarantine, because it
    /// holds what a person wrote.
    pub(super) fn write_setting(&self, name: &str, value: Value) -> Result<(), StoreError> {
        let mut fields: Map<String, Value> = match self.root().read(FILE) {
            Ok(bytes) => match serde_json::from_slice(&bytes) {
                Ok(fields) => fields,
                Err(reason) => self.quarantine_setting(FILE, reason.to_string()).map(|()| Map::new())?,
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Map::new(),
            Err(error) => return Err(StoreError::io("reading config.json")(error)),
        };
        fields.insert(name.to_owned(), value);
        let mut bytes = serde_json::to_vec_pretty(&fields).expect("a map of JSON values is JSON");
        bytes.push(b'\n');
        atomic::replace(self.root(), FILE, &bytes, 0o600).map_err(StoreError::io("saving config.json"))
    }

    /// Reads the fields of the file; empty if it cannot be read. Never changes the file.
    pub(super) fn settings_file(&self) -> Map<String, Value> {
        let bytes = self.root().read(FILE).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::SessionListKind;
    use super::*;

    #[test]
    fn damaged_settings_move_aside_and_unreadable_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (home, file) = (Home::open(folder.path()).unwrap(), folder.path().join("config.json"));
        let damaged = "{\"always_allowed\": [], \"mine\": 1";
        std::fs::write(&file, damaged).unwrap();
        assert_eq!((home.settings(), home.remembered()), (Settings::default(), Vec::new()));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), damaged, "reading it changes nothing");
        home.set_rag_mode(true).unwrap();
        let moved = home.quarantined().pop().unwrap();
        assert_eq!(moved.file, "config.json");
        assert_eq!(std::fs::read_to_string(folder.path().join(moved.moved_to)).unwrap(), damaged);
        assert!(home.settings().rag_mode);
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        assert!(home.set_rag_mode(true).is_err());
        assert!(
            home.add_session_to_list(SessionListKind::Pinned, &crate::domain::SessionId::parse("s").unwrap()).is_err()
        );
        assert!(file.is_dir());
    }

    #[test]
    fn rag_mode_change_keeps_other_fields() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        std::fs::write(folder.path().join("config.json"), r#"{"mine": 1, "rag_mode": "broken"}"#).unwrap();
        assert!(!home.settings().rag_mode);
        home.set_rag_mode(true).unwrap();
        assert!(home.settings().rag_mode);
        let text = std::fs::read_to_string(folder.path().join("config.json")).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), serde_json::json!({"mine": 1, "rag_mode": true}));
    }
}
