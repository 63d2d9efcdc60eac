//! `config.json`: the settings of the page, and the calls that are always allowed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::atomic;
use super::error::StoreError;
use super::files::{Expect, etag};
use super::home::Home;
use super::tree::{TreeChange, TreePath};
use crate::domain::{AlwaysAllowedCall, GitAuthor, Place, UsageLimits, WrittenLimits};

const ALWAYS: &str = "always_allowed";
const GIT_AUTHOR: &str = "git_author";
const DISABLED_SKILLS: &str = "disabled_skills";
const TOOLS: &str = "tools";
const USAGE_LIMITS: &str = "usage_limits";

/// A file at the top of the home that the program writes for a person. No tool and no part of the page can name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsFile {
    /// The settings of the page, the lists of sessions, and the calls that are always allowed.
    Config,
    /// The versions of the files in skills/ that are trusted.
    Trusted,
    /// The configuration of the server, which a person writes too.
    Server,
    /// The projects.
    Projects,
    /// The secrets of the projects, sealed.
    Secrets,
    /// The providers that a person has connected for themselves, with sealed keys.
    OwnProviders,
    /// The accounts of a server that several people use.
    Accounts,
    /// The members of the projects that people share.
    Members,
    /// The MCP servers, with what their programs get as variables.
    Mcp,
    /// The browsers that have signed out of a server for one person.
    SignOuts,
}

impl SettingsFile {
    pub fn name(self) -> &'static str {
        match self {
            Self::Config => "config.json",
            Self::Trusted => "trusted.json",
            Self::Server => "config.yml",
            Self::Projects => "projects.json",
            Self::Secrets => "project-secrets.json",
            Self::OwnProviders => "providers.json",
            Self::Accounts => "accounts.json",
            Self::Members => "project-members.json",
            Self::Mcp => "mcp.json",
            Self::SignOuts => "sign-outs.json",
        }
    }
}

/// The settings. A write keeps fields of the file that this version does not know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    pub rag_mode: bool,
    /// Whether RAG mode also retrieves passages of past conversations.
    pub rag_conversations: bool,
}

/// A change of the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingsChange {
    pub rag_mode: bool,
    /// `None` leaves it as it is.
    pub rag_conversations: Option<bool>,
}

/// Reads a configuration file of a home that need not be open: `config.yml` or `.env`. `None` if there is no such file.
pub fn config_text(home: &Path, name: &str) -> std::io::Result<Option<String>> {
    match std::fs::read_to_string(home.join(name)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns whether a configuration file is a symbolic link. It is read, but not written: the file that it points to may be
/// anywhere.
pub fn is_link(home: &Path, name: &str) -> bool {
    std::fs::symlink_metadata(home.join(name)).is_ok_and(|metadata| metadata.is_symlink())
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
        let is_on = |name: &str| fields.get(name).and_then(Value::as_bool).unwrap_or(false);
        Settings { rag_mode: is_on("rag_mode"), rag_conversations: is_on("rag_conversations") }
    }

    pub(super) fn settings_change(&self, change: SettingsChange) -> Result<Option<TreeChange>, StoreError> {
        self.fields_change(|fields| {
            fields.insert("rag_mode".to_owned(), Value::Bool(change.rag_mode));
            if let Some(on) = change.rag_conversations
                && (on || fields.contains_key("rag_conversations"))
            {
                fields.insert("rag_conversations".to_owned(), Value::Bool(on));
            }
            true
        })
    }

    /// Reads from disk the locations of the skills that a person has disabled.
    pub fn disabled_skills(&self) -> BTreeSet<String> {
        names(self.settings_file().get(DISABLED_SKILLS))
    }

    /// Returns the change that disables the skill at a location, or enables it again; `None` if it is so already.
    pub(super) fn skill_change(&self, location: &Place, enabled: bool) -> Result<Option<TreeChange>, StoreError> {
        self.setting_change(DISABLED_SKILLS, |now| {
            let mut disabled = names(now);
            let changed = match enabled {
                true => disabled.remove(location.as_str()),
                false => disabled.insert(location.as_str().to_owned()),
            };
            changed.then(|| serde_json::to_value(disabled).expect("names are JSON"))
        })
    }

    /// Reads from disk whose commits a person made last.
    pub fn git_author(&self) -> Option<GitAuthor> {
        let known: GitAuthor = serde_json::from_value(self.settings_file().get(GIT_AUTHOR)?.clone()).ok()?;
        GitAuthor::parse(&known.name, &known.email).ok()
    }

    pub(super) fn git_author_change(&self, author: &GitAuthor) -> Result<Option<TreeChange>, StoreError> {
        self.setting_change(GIT_AUTHOR, |_| Some(serde_json::to_value(author).expect("two texts are JSON")))
    }

    /// Reads from disk the limits of usage that the person has set for themselves. Those that do not parse limit nothing.
    pub fn own_limits(&self) -> UsageLimits {
        let written = self.settings_file().get(USAGE_LIMITS).cloned();
        let written: Option<WrittenLimits> = written.and_then(|written| serde_json::from_value(written).ok());
        written.and_then(|written| written.parse().ok()).unwrap_or_default()
    }

    pub(super) fn own_limits_change(&self, limits: &WrittenLimits) -> Result<Option<TreeChange>, StoreError> {
        self.setting_change(USAGE_LIMITS, |_| Some(serde_json::to_value(limits).expect("limits are JSON")))
    }

    /// Reads from disk which tools a person has switched on or off, by their names.
    pub fn tool_choices(&self) -> BTreeMap<String, bool> {
        choices(self.settings_file().get(TOOLS))
    }

    /// Returns the change that switches a tool on or off, or, with `None`, takes the choice back; `None` if it is so already.
    pub(super) fn tool_change(&self, name: &str, choice: Option<bool>) -> Result<Option<TreeChange>, StoreError> {
        self.setting_change(TOOLS, |now| {
            let mut choices = choices(now);
            let before = match choice {
                Some(choice) => choices.insert(name.to_owned(), choice),
                None => choices.remove(name),
            };
            (before != choice).then(|| serde_json::to_value(choices).expect("switches are JSON"))
        })
    }

    /// Reads from disk which calls are always allowed. Entries that do not parse allow nothing.
    pub fn remembered(&self) -> Vec<AlwaysAllowedCall> {
        rules(self.settings_file().get(ALWAYS))
    }

    pub(super) fn remember_change(&self, rule: &AlwaysAllowedCall) -> Result<Option<TreeChange>, StoreError> {
        self.setting_change(ALWAYS, |now| {
            let mut rules = rules(now);
            rules.push(rule.clone());
            Some(serde_json::to_value(rules).expect("rules are JSON"))
        })
    }

    /// Returns the change that removes a rule; `None` if there is no such rule.
    pub(super) fn forget_change(&self, id: &str) -> Result<Option<TreeChange>, StoreError> {
        self.setting_change(ALWAYS, |now| {
            let mut rules = rules(now);
            let before = rules.len();
            rules.retain(|rule| rule.id != id);
            (rules.len() < before).then(|| serde_json::to_value(rules).expect("rules are JSON"))
        })
    }

    /// Returns the change of one field to what `new` makes of its value. First copies a file that does not parse to
    /// quarantine, because it holds what a person wrote.
    pub(super) fn setting_change(
        &self,
        name: &str,
        new: impl FnOnce(Option<&Value>) -> Option<Value>,
    ) -> Result<Option<TreeChange>, StoreError> {
        self.fields_change(|fields| {
            let value = new(fields.get(name));
            value.map(|value| fields.insert(name.to_owned(), value)).is_some()
        })
    }

    /// Like [`Self::setting_change`] for several fields; `change` returns whether there is anything to write.
    fn fields_change(
        &self,
        change: impl FnOnce(&mut Map<String, Value>) -> bool,
    ) -> Result<Option<TreeChange>, StoreError> {
        let file = SettingsFile::Config;
        let (bytes, expect) = self.settings_bytes(file)?;
        let mut fields: Map<String, Value> = match bytes.as_deref().map(serde_json::from_slice) {
            None => Map::new(),
            Some(Ok(fields)) => fields,
            Some(Err(reason)) => {
                self.quarantine_copy(file, &bytes.unwrap_or_default(), reason.to_string()).map(|()| Map::new())?
            }
        };
        if !change(&mut fields) {
            return Ok(None);
        }
        let mut bytes = serde_json::to_vec_pretty(&fields).expect("a map of JSON values is JSON");
        bytes.push(b'\n');
        Ok(Some(TreeChange::write(TreePath::Settings(file), &bytes, expect)))
    }

    /// Makes the change that `plan` derives from the files, and plans again if one of them changed in between. Returns
    /// `false` if nothing was to be changed.
    pub(super) fn edit(
        &self,
        plan: impl Fn(&Self) -> Result<Option<TreeChange>, StoreError>,
    ) -> Result<bool, StoreError> {
        while let Some(change) = plan(self)? {
            match self.commit(&[change]) {
                // Whoever was faster has made progress, so this ends.
                Err(StoreError::Conflict { .. }) => {}
                committed => return committed.map(|()| true),
            }
        }
        Ok(false)
    }

    /// Reads a settings file, and returns what a change of it expects; no bytes if there is no file.
    pub(super) fn settings_bytes(&self, file: SettingsFile) -> Result<(Option<Vec<u8>>, Expect), StoreError> {
        match self.root().read(file.name()) {
            Ok(bytes) => {
                let expect = Expect::Etag(etag(&bytes));
                Ok((Some(bytes), expect))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok((None, Expect::Absent)),
            Err(error) => Err(StoreError::io(format!("reading {}", file.name()))(error)),
        }
    }

    /// Writes a settings file, or removes it.
    pub(super) fn replace_settings(&self, file: SettingsFile, bytes: Option<&[u8]>) -> Result<(), StoreError> {
        let written = match bytes {
            // They hold hashes of passwords and sealed secrets, whatever mode a person has given them.
            Some(bytes)
                if matches!(
                    file,
                    SettingsFile::Accounts | SettingsFile::Secrets | SettingsFile::OwnProviders | SettingsFile::Mcp
                ) =>
            {
                atomic::replace_with_mode(self.root(), file.name(), bytes, 0o600)
            }
            Some(bytes) => atomic::replace(self.root(), file.name(), bytes, 0o600),
            None => self.root().remove_file(file.name()).and_then(|()| atomic::sync_dir(self.root())),
        };
        written.map_err(StoreError::io(format!("saving {}", file.name())))?;
        if let (SettingsFile::Trusted, Some(bytes)) = (file, bytes) {
            self.drop_texts(bytes);
        }
        Ok(())
    }

    /// Reads the fields of the file; empty if it cannot be read. Never changes the file.
    pub(super) fn settings_file(&self) -> Map<String, Value> {
        let bytes = self.root().read(SettingsFile::Config.name()).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }
}

fn choices(value: Option<&Value>) -> BTreeMap<String, bool> {
    value.and_then(|choices| BTreeMap::deserialize(choices).ok()).unwrap_or_default()
}

fn names(value: Option<&Value>) -> BTreeSet<String> {
    value.and_then(|names| BTreeSet::deserialize(names).ok()).unwrap_or_default()
}

fn rules(value: Option<&Value>) -> Vec<AlwaysAllowedCall> {
    let rules = value.and_then(Value::as_array).into_iter().flatten();
    rules.filter_map(|rule| AlwaysAllowedCall::deserialize(rule).ok()).collect()
}

#[cfg(test)]
impl Home {
    fn set_rag_mode(&self, rag_mode: bool) -> Result<bool, StoreError> {
        self.edit(|home| home.settings_change(SettingsChange { rag_mode, rag_conversations: None }))
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

    #[test]
    fn change_of_one_setting_leaves_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let change = |rag_mode, rag_conversations| {
            home.edit(|home| home.settings_change(SettingsChange { rag_mode, rag_conversations })).unwrap();
            (home.settings().rag_mode, home.settings().rag_conversations)
        };
        assert_eq!(change(true, Some(true)), (true, true));
        assert_eq!(change(false, None), (false, true));
        assert_eq!(change(false, Some(false)), (false, false));
    }

    #[test]
    fn edit_keeps_what_another_program_wrote_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let (home, file) = (Home::open(folder.path()).unwrap(), folder.path().join("config.json"));
        std::fs::write(&file, "{}").unwrap();
        let plans = std::cell::Cell::new(0);
        let edited = home.edit(|home| {
            let change = home.settings_change(SettingsChange { rag_mode: true, rag_conversations: None });
            if plans.replace(plans.get() + 1) == 0 {
                std::fs::write(&file, r#"{"mine": 1}"#).unwrap();
            }
            change
        });
        assert_eq!((edited.unwrap(), plans.get()), (true, 2));
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), serde_json::json!({"mine": 1, "rag_mode": true}));
    }
}
