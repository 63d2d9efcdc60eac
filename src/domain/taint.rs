//! Taint: the sources of untrusted text in a session. It determines which calls run without a question.

use serde::{Deserialize, Serialize};

/// Maximum number of sources that a session names; more would not lead to more questions.
const MOST_SOURCES: usize = 50;
/// Maximum characters of a source's name, because an address can have any length.
const NAME_CHARACTERS: usize = 200;

/// One source of text from outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "from", content = "name", rename_all = "snake_case")]
pub enum Taint {
    /// A fetched page: its address.
    Page(String),
    /// A document in knowledge/ or in a project: its path.
    Document(String),
    /// A file that was sent with a message: its name.
    Attachment(String),
    /// Output of a command that had the network or could read knowledge/.
    Command,
    /// A file of a skill, in a version that nobody has trusted.
    Skill(String),
    /// Output of a command, from the sandbox's own folder, where an earlier run may have stored anything it fetched. It
    /// counts only for calls that shape the agent; otherwise no command could follow another without a question.
    Output,
    /// The session itself came from a file that this home did not write.
    Imported,
    /// Anything else; also a source that only a later version knows.
    Outside,
}

impl Taint {
    /// Returns whether it counts for every call that runs or reaches out, and not only for those that shape the agent.
    pub fn is_strong(&self) -> bool {
        match self {
            Taint::Output => false,
            Taint::Page(_)
            | Taint::Document(_)
            | Taint::Attachment(_)
            | Taint::Command
            | Taint::Skill(_)
            | Taint::Imported
            | Taint::Outside => true,
        }
    }

    /// Returns the name of the source, if it has one.
    pub fn name(&self) -> Option<&str> {
        match self {
            Taint::Page(name) | Taint::Document(name) | Taint::Attachment(name) | Taint::Skill(name) => Some(name),
            Taint::Command | Taint::Output | Taint::Imported | Taint::Outside => None,
        }
    }

    /// Returns the source among these that counts most.
    pub fn strongest(sources: &[Taint]) -> Option<&Taint> {
        sources.iter().find(|source| source.is_strong()).or(sources.first())
    }

    /// Adds a source that is not in the list yet. If the list is full, the source is dropped: the strong ones in the
    /// list have the same effect.
    pub fn add(sources: &mut Vec<Taint>, source: &Taint) {
        let source = source.short();
        let has_room = sources.len() < MOST_SOURCES || !sources.iter().any(|known| known.is_strong());
        if has_room && !sources.contains(&source) {
            sources.push(source);
        }
    }

    fn short(&self) -> Self {
        let cut = |name: &String| match name.char_indices().nth(NAME_CHARACTERS) {
            Some((end, _)) => format!("{}…", &name[..end]),
            None => name.clone(),
        };
        match self {
            Taint::Page(name) => Taint::Page(cut(name)),
            Taint::Document(name) => Taint::Document(cut(name)),
            Taint::Attachment(name) => Taint::Attachment(cut(name)),
            Taint::Skill(name) => Taint::Skill(cut(name)),
            other => other.clone(),
        }
    }
}

/// Reads the sources from a session's file. An unknown source counts as text from outside, never as none.
pub(super) fn lenient<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<Taint>, D::Error> {
    let sources: Vec<serde_json::Value> = Vec::deserialize(from)?;
    Ok(sources.into_iter().map(|source| serde_json::from_value(source).unwrap_or(Taint::Outside)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sources_are_bounded_and_unique() {
        let mut sources = vec![Taint::Output];
        for number in 0..2 * MOST_SOURCES {
            Taint::add(&mut sources, &Taint::Page(format!("https://x.test/{number}/{}", "a".repeat(1000))));
            Taint::add(&mut sources, &Taint::Output);
        }
        assert_eq!(sources.len(), MOST_SOURCES);
        assert!(sources.iter().filter_map(Taint::name).all(|name| name.chars().count() == NAME_CHARACTERS + 1));
        assert!(Taint::strongest(&sources).is_some_and(Taint::is_strong));
        assert_eq!(Taint::strongest(&[Taint::Output]), Some(&Taint::Output));
    }

    #[test]
    fn source_of_newer_version_counts_as_outside() {
        #[derive(Deserialize)]
        struct File {
            #[serde(deserialize_with = "lenient")]
            taint: Vec<Taint>,
        }
        let file = json!({"taint": [{"from": "page", "name": "https://x.test/"}, {"from": "dream", "of": 1}, {"from": "imported"}, 7]});
        let file: File = serde_json::from_value(file).unwrap();
        let page = Taint::Page("https://x.test/".to_owned());
        assert_eq!(file.taint, [page, Taint::Outside, Taint::Imported, Taint::Outside]);
    }
}
