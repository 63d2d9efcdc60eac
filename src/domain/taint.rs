//! Taint: the sources of untrusted text in a session. What runs without a question depends on it.

use serde::{Deserialize, Serialize};

/// A session names so many sources; more would not make it ask more.
const MOST_SOURCES: usize = 50;
/// Characters kept of a source's name: an address can be as long as its maker likes.
const NAME_CHARACTERS: usize = 200;

/// One source of text from outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "from", content = "name", rename_all = "snake_case")]
pub enum Taint {
    /// A page that was fetched: its address.
    Page(String),
    /// A document of knowledge/: its path.
    Document(String),
    /// A file that was sent along with a message: its name.
    Attachment(String),
    /// What a command wrote that had the network or could read knowledge/.
    Command,
    /// A file of a skill, in a version that nobody has trusted.
    Skill(String),
    /// What a command wrote: from the sandbox's own folder, into which an earlier run may have fetched anything. It counts
    /// for what shapes the agent, or no command could be followed by another.
    Output,
    /// The session itself came from a file that this home did not write.
    Imported,
    /// Something else; also what a later version knows by another word.
    Outside,
}

impl Taint {
    /// It counts for everything that runs or reaches out, not only for what shapes the agent.
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

    /// What it is called, where it has a name of its own.
    pub fn name(&self) -> Option<&str> {
        match self {
            Taint::Page(name) | Taint::Document(name) | Taint::Attachment(name) | Taint::Skill(name) => Some(name),
            Taint::Command | Taint::Output | Taint::Imported | Taint::Outside => None,
        }
    }

    /// The source among these that counts most.
    pub fn strongest(sources: &[Taint]) -> Option<&Taint> {
        sources.iter().find(|source| source.is_strong()).or(sources.first())
    }

    /// Adds a source that is not known yet. Where there is no room for its name, it is known all the same by what is there.
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

/// Reads the sources of a session's file: what this version does not know counts as text from outside, never as nothing.
pub(super) fn lenient<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<Taint>, D::Error> {
    let sources: Vec<serde_json::Value> = Vec::deserialize(from)?;
    Ok(sources.into_iter().map(|source| serde_json::from_value(source).unwrap_or(Taint::Outside)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sources_are_bounded_and_named_once() {
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
    fn a_source_of_a_later_version_counts_as_outside() {
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
