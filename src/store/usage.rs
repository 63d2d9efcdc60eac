//! The tokens that works used, read from the session files, which are the only place that records them.

use std::collections::HashSet;

use serde::Deserialize;

use super::error::StoreError;
use super::home::Home;
use crate::domain::Usage;

/// The fields of a work that determine its cost.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct CountedWork {
    work_id: String,
    /// Unix seconds.
    pub created_at: f64,
    /// Empty if no model was called, or if an earlier version did not record it.
    #[serde(default)]
    pub model: String,
    #[serde(default)]
    pub usage: Usage,
}

/// The works of a session file, or of a branch in one.
#[derive(Deserialize)]
struct Works {
    #[serde(default)]
    works: Vec<CountedWork>,
    #[serde(default)]
    branches: Vec<Works>,
}

impl Works {
    fn all(self) -> impl Iterator<Item = CountedWork> {
        self.works.into_iter().chain(self.branches.into_iter().flat_map(|aside| aside.works))
    }
}

impl Home {
    /// Returns the works of all sessions that are not deleted, including those of branches. Each work occurs once, although
    /// a session that was branched off another one contains the earlier works too.
    pub fn counted_works(&self) -> Result<Vec<CountedWork>, StoreError> {
        let mut known = HashSet::new();
        let mut counted = Vec::new();
        for id in self.session_ids()? {
            let Ok(bytes) = self.sessions_dir().read(format!("{id}.json")) else { continue };
            // The session list reports damaged files.
            let Ok(file) = serde_json::from_slice::<Works>(&bytes) else { continue };
            counted.extend(file.all().filter(|work| known.insert(work.work_id.clone())));
        }
        Ok(counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_works_count_and_version_1_has_none() {
        let file = r#"{"messages": [], "works": [{"work_id": "a", "created_at": 1.0, "usage": {"input_tokens": 3, "output_tokens": 1}}],
            "branches": [{"messages": [], "works": [{"work_id": "b", "created_at": 2.0, "model": "m"}]}]}"#;
        let works: Vec<CountedWork> = serde_json::from_str::<Works>(file).unwrap().all().collect();
        assert_eq!(works.iter().map(|work| work.work_id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((works[0].usage.input_tokens, works[1].usage), (3, Usage::default()));
        assert!(serde_json::from_str::<Works>(r#"[{"role": "user", "content": "hi"}]"#).is_err());
    }
}
