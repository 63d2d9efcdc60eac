//! `config.json`: the switches a person flips in the UI.

use std::path::Path;

use serde_json::{Map, Value};

use super::atomic;
use super::error::StoreError;
use super::home::Home;

const FILE: &str = "config.json";

/// The switches. Fields of the file that this version does not know are kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    pub rag_mode: bool,
}

/// A configuration file of a home that need not be opened yet: `config.yml` or `.env`. `None` when there is none.
pub fn config_text(home: &Path, name: &str) -> std::io::Result<Option<String>> {
    match std::fs::read_to_string(home.join(name)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The text of a script for the scripted provider.
pub fn script_text(path: &Path) -> std::io::Result<String> {
    std::fs::read_to_string(path)
}

impl Home {
    /// Reads the switches afresh, so that an edit by hand counts at once; a missing or damaged file means the defaults.
    pub fn settings(&self) -> Settings {
        let fields = self.settings_file();
        Settings { rag_mode: fields.get("rag_mode").and_then(Value::as_bool).unwrap_or(false) }
    }

    pub fn set_rag_mode(&self, on: bool) -> Result<(), StoreError> {
        let _one_writer = self.edit_lock();
        let mut fields = self.settings_file();
        fields.insert("rag_mode".to_owned(), Value::Bool(on));
        let mut bytes = serde_json::to_vec_pretty(&fields).expect("a map of JSON values is JSON");
        bytes.push(b'\n');
        atomic::replace(self.root(), FILE, &bytes, 0o600).map_err(StoreError::io("saving config.json"))
    }

    fn settings_file(&self) -> Map<String, Value> {
        let bytes = self.root().read(FILE).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flipping_rag_mode_keeps_what_else_is_in_the_file() {
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
