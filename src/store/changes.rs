//! What files were before the agent changed them: `sessions/changes/{session}/{call}.json`.

use serde::{Deserialize, Serialize};

use super::error::StoreError;
use super::home::Home;
use super::seal::Sealed;
use super::{atomic, etag};
use crate::domain::SessionId;

/// A change as it is kept for its undo. `None` stands for no file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptChange {
    pub path: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

impl Home {
    pub fn keep_change(&self, session: &SessionId, call_id: &str, change: &KeptChange) -> Result<(), StoreError> {
        let doing = || format!("keeping {} for an undo", change.path);
        let folder = format!("changes/{session}");
        self.sessions_dir().create_dir_all(&folder).map_err(StoreError::io(doing()))?;
        let dir = self.sessions_dir().open_dir(&folder).map_err(StoreError::io(doing()))?;
        let mut bytes = serde_json::to_vec_pretty(change).expect("texts are JSON");
        bytes.push(b'\n');
        let name = file_name(call_id);
        let bytes = self.seal().close(Sealed::Change, &format!("{session}/{name}"), bytes);
        atomic::replace(&dir, &name, &bytes, 0o600).map_err(StoreError::io(doing()))
    }

    /// `None` when the call changed no file, or its record is not whole or not this home's.
    pub fn kept_change(&self, session: &SessionId, call_id: &str) -> Result<Option<KeptChange>, StoreError> {
        let name = format!("{session}/{}", file_name(call_id));
        match self.sessions_dir().read(format!("changes/{name}")) {
            // An undo would write what stands in it.
            Ok(bytes) if !self.seal().knows(Sealed::Change, &name, &bytes) => Ok(None),
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::io("reading what a file was before")(error)),
        }
    }
}

/// A provider makes call ids: what is no plain name is stored under its hash.
fn file_name(call_id: &str) -> String {
    let plain = call_id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    match plain && (1..=64).contains(&call_id.len()) {
        true => format!("{call_id}.json"),
        false => format!("{}~.json", etag(call_id.as_bytes())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_found_under_any_id_and_never_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let session = SessionId::parse("s").unwrap();
        let long = "x".repeat(300);
        let ids = ["call_1", "../../memory/x", "", "a/b", ".", "..", "会话", long.as_str()];
        for (at, id) in ids.iter().enumerate() {
            assert_eq!(home.kept_change(&session, id).unwrap(), None);
            let change = KeptChange { path: format!("memory/{at}.md"), before: None, after: Some("x".to_owned()) };
            home.keep_change(&session, id, &change).unwrap();
        }
        for (at, id) in ids.iter().enumerate() {
            assert_eq!(home.kept_change(&session, id).unwrap().unwrap().path, format!("memory/{at}.md"));
        }
        assert_eq!(std::fs::read_dir(folder.path().join("sessions/changes/s")).unwrap().count(), ids.len());
        assert_eq!(std::fs::read_dir(folder.path().join("memory")).unwrap().count(), 0);
    }
}
