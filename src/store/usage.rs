//! The tokens that works used, read from the session files, which are the only place that records them.

use std::collections::HashSet;

use serde::Deserialize;

use super::error::StoreError;
use super::home::Home;
use crate::domain::Usage;

/// A work as far as its cost goes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct CountedWork {
    work_id: String,
    /// Unix seconds.
    pub created_at: f64,
    /// Empty where no model was asked, or an earlier version did not say which.
    #[serde(default)]
    pub model: String,
    #[serde(default)]
    pub usage: Usage,
}

/// A session file, or a way put aside in one.
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
    /// The works of all sessions that are not deleted, those included that were put aside for another way; each once, though
    /// a branch has the works of its past as well.
    pub fn counted_works(&self) -> Result<Vec<CountedWork>, StoreError> {
        let mut known = HashSet::new();
        let mut counted = Vec::new();
        for id in self.session_ids()? {
            let Ok(bytes) = self.sessions_dir().read(format!("{id}.json")) else { continue };
            // A damaged file is the list's to tell of.
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
    fn works_of_other_ways_count_and_version_1_has_none() {
        let file = r#"{"messages": [], "works": [{"work_id": "a", "created_at": 1.0, "usage": {"input_tokens": 3, "output_tokens": 1}}],
            "branches": [{"messages": [], "works": [{"work_id": "b", "created_at": 2.0, "model": "m"}]}]}"#;
        let works: Vec<CountedWork> = serde_json::from_str::<Works>(file).unwrap().all().collect();
        assert_eq!(works.iter().map(|work| work.work_id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((works[0].usage.input_tokens, works[1].usage), (3, Usage::default()));
        assert!(serde_json::from_str::<Works>(r#"[{"role": "user", "content": "hi"}]"#).is_err());
    }
}
