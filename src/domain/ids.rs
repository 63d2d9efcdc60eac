//! Identifiers. A [`SessionId`] becomes a file name and a [`ProjectId`] a name in a path, so both are validated here once
//! and can then be trusted.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Names one session and its files `sessions/{id}.json` and `sessions/{id}.journal`.
///
/// 1 to 64 characters of `A–Z a–z 0–9 _ -`, not beginning with `-`: enough for UUIDs and for hand-made names such as
/// `abc123`, and never a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct SessionId(Arc<str>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a session id has 1 to 64 letters, digits, '_' or '-' and does not begin with '-'")]
pub struct BadSessionId;

impl SessionId {
    pub fn parse(text: &str) -> Result<Self, BadSessionId> {
        if is_plain(text) { Ok(Self(text.into())) } else { Err(BadSessionId) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for SessionId {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// Names one project of a home: what follows `project/` in the paths of its files. Made of the same characters as a
/// [`SessionId`], and never a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct ProjectId(Arc<str>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a project id has 1 to 64 letters, digits, '_' or '-' and does not begin with '-'")]
pub struct BadProjectId;

impl ProjectId {
    /// Returns the id of the project that every home has: its folder for commands, scratch/.
    pub fn scratch() -> Self {
        Self("scratch".into())
    }

    pub fn parse(text: &str) -> Result<Self, BadProjectId> {
        if is_plain(text) { Ok(Self(text.into())) } else { Err(BadProjectId) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for ProjectId {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// Deserializes the id of a project; one that cannot be an id counts as none.
pub fn lenient_project<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<ProjectId>, D::Error> {
    let id = Option::<serde_json::Value>::deserialize(from)?;
    Ok(id.and_then(|id| ProjectId::parse(id.as_str()?).ok()))
}

impl fmt::Display for ProjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns whether a text is one plain name: 1 to 64 characters of `A–Z a–z 0–9 _ -`, not beginning with `-`.
fn is_plain(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && !text.starts_with('-')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// Names one work inside a session. Shared, like a session's id, because every event of an answer carries both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkId(Arc<str>);

impl WorkId {
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn session_id_is_never_a_path() {
        for bad in ["", "..", "a/b", "a\\b", "a.json", "-rf", "a b", "会话", "a\0", &"x".repeat(65)] {
            assert_eq!(SessionId::parse(bad), Err(BadSessionId), "{bad:?}");
            assert_eq!(ProjectId::parse(bad), Err(BadProjectId), "{bad:?}");
        }
        for good in ["abc123", "0192d3a4-7e1c-7000-8000-000000000000", "_x", &"x".repeat(64)] {
            assert_eq!(SessionId::parse(good).map(|id| id.to_string()), Ok(good.to_owned()));
        }
    }

    proptest! {
        #[test]
        fn parsed_id_is_one_plain_file_name(text in "\\PC{0,20}|[-_a-zA-Z0-9./\\\\]{0,70}") {
            if let Ok(id) = SessionId::parse(&text) {
                prop_assert_eq!(id.as_str(), text.as_str());
                let name = format!("{id}.json");
                let path = std::path::Path::new(&name);
                prop_assert_eq!(path.components().count(), 1);
                prop_assert!(matches!(path.components().next(), Some(std::path::Component::Normal(_))));
                prop_assert!(!text.starts_with(['-', '.']));
            }
        }
    }
}
