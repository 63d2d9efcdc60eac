//! The folders of the home whose files people and the agent use, and what each allows.

use std::fmt;

/// A folder at the top of the home whose files are open to people, to the agent and to the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Root {
    Workspace,
    Memory,
    Skills,
    Knowledge,
    /// The list of skills at the top of the home, which the server writes; a root that is one file.
    Snapshot,
}

impl Root {
    /// The roots that are folders.
    pub const ALL: [Self; 4] = [Self::Workspace, Self::Memory, Self::Skills, Self::Knowledge];

    /// Returns the name of the root on disk, in the API and in what the model reads.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::Memory => "memory",
            Self::Skills => "skills",
            Self::Knowledge => "knowledge",
            Self::Snapshot => "SKILLS_SNAPSHOT.md",
        }
    }

    /// Returns the folder with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|root| root.name() == name)
    }

    /// Returns whether its files shape what the agent is and does. A person sees every change to such a file before it
    /// is made.
    pub const fn is_persona(self) -> bool {
        match self {
            Self::Workspace | Self::Memory | Self::Skills => true,
            Self::Knowledge | Self::Snapshot => false,
        }
    }

    /// Returns whether each version of its files counts as text from outside until a person trusts that version.
    pub const fn is_pinned(self) -> bool {
        matches!(self, Self::Skills)
    }

    /// Returns whether its files are documents that strangers may have written. Reading one taints the conversation,
    /// and a command reads them only if a person allows it.
    pub const fn is_outside_text(self) -> bool {
        matches!(self, Self::Knowledge)
    }

    /// Returns whether it has an index, through which the agent and RAG mode find passages of its files.
    pub const fn is_searched(self) -> bool {
        matches!(self, Self::Memory | Self::Knowledge)
    }
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_parsed_only_from_its_full_name() {
        for root in Root::ALL {
            assert_eq!(Root::parse(&root.to_string()), Some(root));
        }
        for other in ["", "skill", "skills/", "Skills", "sessions", "storage", "scratch"] {
            assert_eq!(Root::parse(other), None, "{other}");
        }
    }

    #[test]
    fn outside_text_is_never_persona_and_pinned_text_always_is() {
        for root in Root::ALL {
            assert!(!(root.is_outside_text() && root.is_persona()), "{root}");
            assert!(!root.is_pinned() || root.is_persona(), "{root}");
        }
    }
}
