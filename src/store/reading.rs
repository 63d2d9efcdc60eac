//! Reads sessions from their files without asking the tasks that own them; repairs and quarantines nothing. Also writes
//! imported compacted messages and the lists of marked sessions.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::StoreError;
use super::home::Home;
use super::session_files::SessionFiles;
use super::session_log::SessionListKind;
use super::{atomic, seal, session_file};
use crate::clock;
use crate::domain::{Message, Session, SessionId};

const ARCHIVE: &str = "archive";
pub(super) const DELETED: &str = "archive/deleted";
/// Maximum number of deleted sessions in a response: enough to find one again.
const MOST_DELETED: usize = 200;

/// A file of compacted messages in `sessions/archive/`.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub struct CompactedMessages {
    /// The file's name.
    pub name: String,
    pub message_count: usize,
    /// Unix seconds.
    pub archived_at: f64,
}

/// The messages of a file in `sessions/archive/`.
pub struct CompactedContent {
    pub messages: Vec<Value>,
    /// Whether this home wrote them: the file has the hash that the session keeps of it, or it existed before this home
    /// had a key.
    pub own: bool,
}

/// Why a file of compacted messages cannot be read.
#[derive(Debug)]
pub(super) enum CompactedUnreadable {
    Missing,
    Damaged,
    /// Not the file's fault: reading it may succeed later.
    Io(io::Error),
}

/// A deleted session that can be restored.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub struct DeletedSession {
    pub id: String,
    pub title: String,
    pub message_count: usize,
    /// Unix seconds.
    pub updated_at: f64,
}

impl SessionFiles {
    /// Returns the session's files of compacted messages, oldest first.
    pub fn compacted_files(&self) -> Vec<CompactedMessages> {
        let Ok(dir) = self.home.sessions_dir().open_dir(ARCHIVE) else { return Vec::new() };
        let Ok(entries) = dir.entries() else { return Vec::new() };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut found: Vec<CompactedMessages> = names
            .filter(|name| is_compacted_file_of(&self.session, name))
            .filter_map(|name| {
                let messages: Vec<serde::de::IgnoredAny> = serde_json::from_slice(&dir.read(&name).ok()?).ok()?;
                let modified = dir.metadata(&name).ok()?.modified().ok()?.into_std();
                let archived_at = modified.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs_f64();
                Some(CompactedMessages { name, message_count: messages.len(), archived_at })
            })
            .collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found
    }

    /// Returns the messages of one file, unchanged.
    pub fn compacted(&self, name: &str) -> Result<Vec<Value>, StoreError> {
        self.compacted_as(name, None).map(|content| content.messages)
    }

    /// Like [`Self::compacted`], and also returns whether this home wrote the messages. `sha256` is the hash that the
    /// session keeps of the file.
    pub fn compacted_as(&self, name: &str, sha256: Option<&str>) -> Result<CompactedContent, StoreError> {
        let missing = || StoreError::NotFound { what: format!("archive {name} of session {}", self.session) };
        self.read_compacted(name, sha256).map_err(|_| missing())
    }

    /// Like [`Self::compacted_as`], and tells why the file cannot be read.
    pub(super) fn read_compacted(
        &self,
        name: &str,
        sha256: Option<&str>,
    ) -> Result<CompactedContent, CompactedUnreadable> {
        if !is_compacted_file_of(&self.session, name) {
            return Err(CompactedUnreadable::Missing);
        }
        let because = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => CompactedUnreadable::Missing,
            _ => CompactedUnreadable::Io(error),
        };
        let dir = self.home.sessions_dir().open_dir(ARCHIVE).map_err(because)?;
        let bytes = dir.read(name).map_err(because)?;
        let messages = serde_json::from_slice(&bytes).map_err(|_| CompactedUnreadable::Damaged)?;
        let own = sha256.is_some_and(|known| known == seal::sha256(&bytes))
            || self.home.seal().was_there(&format!("{ARCHIVE}/{name}"), &bytes);
        Ok(CompactedContent { messages, own })
    }
}

impl SessionFiles {
    /// Returns the messages of the session that summaries replace, as far as their files can be read and are this home's.
    pub(super) fn compacted_messages(&self, session: &Session) -> Vec<Message> {
        let parts = session.compacted.iter().filter(|part| part.restored_at.is_none());
        let read = parts.filter_map(|part| self.compacted_as(&part.archive, part.sha256.as_deref()).ok());
        let messages = read.filter(|part| part.own).flat_map(|part| part.messages);
        messages.filter_map(|message| serde_json::from_value(message).ok()).collect()
    }
}

impl Home {
    /// Returns the ids of all sessions that have a file.
    pub(super) fn session_ids(&self) -> Result<Vec<SessionId>, StoreError> {
        let entries = self.sessions_dir().entries().map_err(StoreError::io("listing sessions/"))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Ok(names.filter_map(|name| SessionId::parse(name.strip_suffix(".json")?).ok()).collect())
    }

    /// Returns a session as stored in its file; `None` if the file is missing or cannot be read.
    pub(super) fn stored_session(&self, id: &SessionId) -> Option<Session> {
        let bytes = self.sessions_dir().read(format!("{id}.json")).ok()?;
        session_file::parse_foreign(&bytes, clock::now()).ok()
    }

    /// Writes the compacted messages of an imported session to files that are named after the session's id. Returns the new
    /// name for each old one.
    pub(super) fn adopt_compacted(
        &self,
        id: &SessionId,
        files: &BTreeMap<String, Vec<Value>>,
    ) -> Result<BTreeMap<String, String>, StoreError> {
        let mut names = BTreeMap::new();
        let doing = || format!("keeping compacted messages of {id}");
        for (at, (before, messages)) in files.iter().enumerate() {
            self.sessions_dir().create_dir_all(ARCHIVE).map_err(StoreError::io(doing()))?;
            let dir = self.sessions_dir().open_dir(ARCHIVE).map_err(StoreError::io(doing()))?;
            let mut bytes = serde_json::to_vec_pretty(messages).expect("JSON values are JSON");
            bytes.push(b'\n');
            let name = format!("{id}_{}-{at:03}.json", clock::stamp());
            atomic::replace(&dir, &name, &bytes, 0o600).map_err(StoreError::io(doing()))?;
            names.insert(before.clone(), name);
        }
        Ok(names)
    }

    pub(super) fn has_deleted_session(&self, id: &SessionId) -> bool {
        self.sessions_dir().is_file(format!("{DELETED}/{id}.json"))
    }

    /// Returns the deleted sessions that can be restored, most recently used first.
    pub(super) fn deleted_sessions(&self) -> Vec<DeletedSession> {
        let Ok(dir) = self.sessions_dir().open_dir(DELETED) else { return Vec::new() };
        let Ok(entries) = dir.entries() else { return Vec::new() };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut found: Vec<DeletedSession> = names
            .filter_map(|name| {
                let id = SessionId::parse(name.strip_suffix(".json")?).ok()?;
                let session = session_file::parse_foreign(&dir.read(&name).ok()?, 0.0).ok()?;
                Some(DeletedSession {
                    id: id.to_string(),
                    title: session.title,
                    message_count: session.messages.len(),
                    updated_at: session.updated_at,
                })
            })
            .collect();
        found.sort_by(|a, b| b.updated_at.total_cmp(&a.updated_at));
        found.truncate(MOST_DELETED);
        found
    }

    /// Returns the ids on a list; empty if `config.json` has no valid list.
    pub(super) fn session_list(&self, list: SessionListKind) -> Vec<String> {
        listed_ids(self.settings_file().get(list.setting()))
    }

    /// Adds a session to the end of a list, or moves it there.
    pub(super) fn add_session_to_list(&self, list: SessionListKind, id: &SessionId) -> Result<(), StoreError> {
        let added = |now: Option<&Value>| {
            let mut ids = listed_ids(now);
            ids.retain(|known| known != id.as_str());
            ids.push(id.to_string());
            Some(ids.into())
        };
        self.edit(|home| home.setting_change(list.setting(), added)).map(drop)
    }

    /// Removes a session from a list. Writes nothing if the session is not on the list.
    pub(super) fn remove_session_from_list(&self, list: SessionListKind, id: &SessionId) -> Result<(), StoreError> {
        let removed = |now: Option<&Value>| {
            let mut ids = listed_ids(now);
            let before = ids.len();
            ids.retain(|known| known != id.as_str());
            (ids.len() < before).then(|| ids.into())
        };
        self.edit(|home| home.setting_change(list.setting(), removed)).map(drop)
    }

    /// Returns the labels of sessions by their ids; empty if `config.json` has no valid labels.
    pub(super) fn session_labels(&self) -> BTreeMap<String, Vec<String>> {
        labels(self.settings_file().get(LABELS))
    }

    /// Gives a session these labels instead of those it has.
    pub(super) fn set_session_labels(&self, id: &SessionId, new: &[String]) -> Result<(), StoreError> {
        let changed = |now: Option<&Value>| {
            let mut all = labels(now);
            let before =
                if new.is_empty() { all.remove(id.as_str()) } else { all.insert(id.to_string(), new.to_vec()) };
            let is_same = before.unwrap_or_default() == new;
            (!is_same).then(|| serde_json::to_value(all).expect("texts are JSON"))
        };
        self.edit(|home| home.setting_change(LABELS, changed)).map(drop)
    }
}

/// The field of `config.json` with the labels of sessions.
const LABELS: &str = "labels";

fn labels(value: Option<&Value>) -> BTreeMap<String, Vec<String>> {
    value.and_then(|labels| BTreeMap::deserialize(labels).ok()).unwrap_or_default()
}

fn listed_ids(value: Option<&Value>) -> Vec<String> {
    value.and_then(|ids| Vec::deserialize(ids).ok()).unwrap_or_default()
}

/// Whether this is the name of a file of compacted messages of the session: its id, `_`, a time, and `.json`. Such a name
/// cannot lead to another folder.
pub(super) fn is_compacted_file_of(id: &SessionId, name: &str) -> bool {
    let Some(stamp) = name.strip_prefix(id.as_str()).and_then(|rest| rest.strip_prefix('_')) else { return false };
    let Some(stamp) = stamp.strip_suffix(".json") else { return false };
    // Ids may contain `_`. The rest must be a time, or a file of session `a_b` would count as one of session `a`.
    !stamp.is_empty() && stamp.bytes().all(|byte| byte.is_ascii_digit() || b"-TZ.:".contains(&byte))
}
