//! The places whose files people and the agent use, and what each allows.

use std::fmt;

use super::ids::ProjectId;

/// A folder whose files are open to people, to the agent and to the API: one of four at the top of the home, or a
/// project, whose folder may lie anywhere. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Root {
    Workspace,
    Memory,
    Skills,
    Knowledge,
    /// The list of skills at the top of the home, which the server writes; a root that is one file.
    Snapshot,
    /// A folder that was registered with the home. Not every home has one, and a path may name one that does not exist.
    Project(ProjectId),
}

/// The name of the list of skills.
const SNAPSHOT: &str = "SKILLS_SNAPSHOT.md";
/// What the path of a project's file begins with: `project/{id}/…`.
const PROJECT: &str = "project";

impl Root {
    /// The roots that are folders of every home.
    pub const HOME: [Self; 4] = [Self::Workspace, Self::Memory, Self::Skills, Self::Knowledge];

    /// Returns the name of its folder in the home; `None` for the list of skills, which is a file, and for a project,
    /// whose folder lies elsewhere.
    pub const fn folder(&self) -> Option<&'static str> {
        match self {
            Self::Workspace => Some("workspace"),
            Self::Memory => Some("memory"),
            Self::Skills => Some("skills"),
            Self::Knowledge => Some("knowledge"),
            Self::Snapshot | Self::Project(_) => None,
        }
    }

    /// Returns the folder with this name: `memory`, `project/{id}`.
    pub fn parse(name: &str) -> Option<Self> {
        let (root, below) = Self::split(name)?;
        (below.is_empty() && !name.ends_with('/') && root != Self::Snapshot).then_some(root)
    }

    /// Splits a path into its root and the path below it, which is empty for the root itself.
    pub(super) fn split(path: &str) -> Option<(Self, &str)> {
        if path == SNAPSHOT {
            return Some((Self::Snapshot, ""));
        }
        let (first, below) = path.split_once('/').unwrap_or((path, ""));
        if first == PROJECT {
            let (id, below) = below.split_once('/').unwrap_or((below, ""));
            return Some((Self::Project(ProjectId::parse(id).ok()?), below));
        }
        Some((Self::HOME.into_iter().find(|root| root.folder() == Some(first))?, below))
    }

    /// Returns the number of names that a path in it begins with.
    pub(super) const fn depth(&self) -> usize {
        match self {
            Self::Workspace | Self::Memory | Self::Skills | Self::Knowledge | Self::Snapshot => 1,
            Self::Project(_) => 2,
        }
    }

    /// Returns whether its files shape what the agent is and does. A person sees every change to such a file before it
    /// is made.
    pub const fn is_persona(&self) -> bool {
        match self {
            Self::Workspace | Self::Memory | Self::Skills => true,
            Self::Knowledge | Self::Snapshot | Self::Project(_) => false,
        }
    }

    /// Returns whether each version of its files counts as text from outside until a person trusts that version.
    pub const fn is_pinned(&self) -> bool {
        match self {
            Self::Skills => true,
            Self::Workspace | Self::Memory | Self::Knowledge | Self::Snapshot | Self::Project(_) => false,
        }
    }

    /// Returns whether its files may have been written by strangers. Reading one taints the conversation, and a command
    /// reads them only if a person allows it, or if it runs there.
    pub const fn is_outside_text(&self) -> bool {
        match self {
            Self::Knowledge | Self::Project(_) => true,
            Self::Workspace | Self::Memory | Self::Skills | Self::Snapshot => false,
        }
    }

    /// Returns whether it can have an index, through which the agent and RAG mode find passages of its files.
    pub const fn is_searched(&self) -> bool {
        match self {
            Self::Memory | Self::Knowledge | Self::Project(_) => true,
            Self::Workspace | Self::Skills | Self::Snapshot => false,
        }
    }

    /// Returns whether commands may run in it and write to it.
    pub const fn is_executable(&self) -> bool {
        match self {
            Self::Project(_) => true,
            Self::Workspace | Self::Memory | Self::Skills | Self::Knowledge | Self::Snapshot => false,
        }
    }
}

/// The root's name in the API, on disk and in what the model reads.
impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.folder(), self) {
            (Some(folder), _) => f.write_str(folder),
            (None, Self::Project(id)) => write!(f, "{PROJECT}/{id}"),
            (None, _) => f.write_str(SNAPSHOT),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> Root {
        Root::Project(ProjectId::parse("tea-house").unwrap())
    }

    #[test]
    fn root_is_parsed_only_from_its_full_name() {
        for root in Root::HOME.into_iter().chain([project()]) {
            assert_eq!(Root::parse(&root.to_string()), Some(root));
        }
        for other in [
            "",
            "skill",
            "skills/",
            "Skills",
            "sessions",
            "storage",
            "scratch",
            "project",
            "project/",
            "project/a b",
            "project/a/",
            "project/a/b",
            "SKILLS_SNAPSHOT.md",
        ] {
            assert_eq!(Root::parse(other), None, "{other}");
        }
    }

    #[test]
    fn outside_text_is_never_persona_and_pinned_text_always_is() {
        for root in Root::HOME.into_iter().chain([Root::Snapshot, project()]) {
            assert!(!(root.is_outside_text() && root.is_persona()), "{root}");
            assert!(!root.is_pinned() || root.is_persona(), "{root}");
            assert!(!(root.is_executable() && root.is_persona()), "{root}: a command would change the agent unseen");
        }
    }
}
