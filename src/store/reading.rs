//! Reads sessions from their files without asking the tasks that own them. Nothing is repaired or moved aside here.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::error::StoreError;
use super::home::Home;
use super::session_files::SessionFiles;
use super::session_log::MarkedSessions;
use super::{atomic, seal, session_file};
use crate::clock;
use crate::domain::{Session, SessionId};

const ARCHIVE: &str = "archive";
const DELETED: &str = "archive/deleted";
/// Enough to find one again; more would be a list, not an answer.
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

/// A session that was deleted and can be brought back.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub struct DeletedSession {
    pub id: String,
    pub title: String,
    pub message_count: usize,
    /// Unix seconds.
    pub updated_at: f64,
}

impl SessionFiles {
    /// The files of compacted messages of a session, oldest first.
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

    /// The messages of one file, as they were written.
    pub fn compacted(&self, name: &str) -> Result<Vec<Value>, StoreError> {
        self.compacted_as(name, None).map(|(messages, _)| messages)
    }

    /// The same, and whether they are what this home wrote: by the hash that the session keeps of the file, or because
    /// the file was there before this home had a key.
    pub fn compacted_as(&self, name: &str, sha256: Option<&str>) -> Result<(Vec<Value>, bool), StoreError> {
        let missing = || StoreError::NotFound { what: format!("archive {name} of session {}", self.session) };
        if !is_compacted_file_of(&self.session, name) {
            return Err(missing());
        }
        let dir = self.home.sessions_dir().open_dir(ARCHIVE).map_err(|_| missing())?;
        let bytes = dir.read(name).map_err(|_| missing())?;
        let messages = serde_json::from_slice(&bytes).map_err(|_| missing())?;
        let own = sha256.is_some_and(|known| known == seal::sha256(&bytes))
            || self.home.seal().was_there(&format!("{ARCHIVE}/{name}"), &bytes);
        Ok((messages, own))
    }
}

impl Home {
    /// Ids of all sessions that have a file.
    pub(super) fn session_ids(&self) -> Result<Vec<SessionId>, StoreError> {
        let entries = self.sessions_dir().entries().map_err(StoreError::io("listing sessions/"))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Ok(names.filter_map(|name| SessionId::parse(name.strip_suffix(".json")?).ok()).collect())
    }

    /// A session as its file has it; `None` when there is none that can be read.
    pub(super) fn stored_session(&self, id: &SessionId) -> Option<Session> {
        let bytes = self.sessions_dir().read(format!("{id}.json")).ok()?;
        session_file::parse_foreign(&bytes, clock::now()).ok()
    }

    /// Writes the compacted messages that came with an imported session. File names get the session's id; answers old and new
    /// names.
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

    /// Sessions that can be brought back, the one used last first.
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

    /// The ids on a list; none where `config.json` says nothing that can be read.
    pub(super) fn session_list(&self, list: MarkedSessions) -> Vec<String> {
        serde_json::from_value(self.settings_file().remove(list.setting()).unwrap_or_default()).unwrap_or_default()
    }

    /// Puts a session at the end of a list.
    pub(super) fn enlist_session(&self, list: MarkedSessions, id: &SessionId) -> Result<(), StoreError> {
        let _one_writer = self.edit_lock();
        let mut ids = self.session_list(list);
        ids.retain(|known| known != id.as_str());
        ids.push(id.to_string());
        self.write_setting(list.setting(), ids.into())
    }

    /// Takes a session from a list. Nothing is written where it is not on it.
    pub(super) fn delist_session(&self, list: MarkedSessions, id: &SessionId) -> Result<(), StoreError> {
        let _one_writer = self.edit_lock();
        let mut ids = self.session_list(list);
        let before = ids.len();
        ids.retain(|known| known != id.as_str());
        if ids.len() == before {
            return Ok(());
        }
        self.write_setting(list.setting(), ids.into())
    }
}

/// The name of such a file is the session's id, `_`, and a time; nothing that leads elsewhere.
pub(super) fn is_compacted_file_of(id: &SessionId, name: &str) -> bool {
    let Some(stamp) = name.strip_prefix(id.as_str()).and_then(|rest| rest.strip_prefix('_')) else { return false };
    let Some(stamp) = stamp.strip_suffix(".json") else { return false };
    // Ids may hold `_`: what follows must be a time, or a file of `a` would be one of `a_b` too.
    !stamp.is_empty() && stamp.bytes().all(|byte| byte.is_ascii_digit() || b"-TZ.:".contains(&byte))
}
