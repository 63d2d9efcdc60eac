//! A place: a file or folder in one of the roots.

use std::fmt;

use serde::{Serialize, Serializer};

use super::runs_later::{EntryKind, runs_later};
use super::{BadPath, RelPath, Root};

/// The files of a project that tell an agent how to work in their folder; the first one that is there counts.
pub const PROJECT_GUIDES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// The folder of a project that holds its skills.
pub const PROJECT_SKILLS: &str = "skills";

/// A file or folder in a root. A path from outside becomes a place once, where it enters the program; from then on its
/// root, and what that root allows, are known. On the wire, on disk and for the model a place is `root/path`, or
/// `project/{id}/path`. It says nothing about symlinks: the store opens it beneath a handle of the root's folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The whole path, which begins with the name of the root.
    text: RelPath,
    root: Root,
}

impl Place {
    /// Accepts `memory/MEMORY.md`, also with a leading `./`.
    ///
    /// # Errors
    /// Same as [`RelPath::parse`]; returns [`BadPath::Outside`] for a path in none of the roots, and for a root itself.
    pub fn parse(text: &str) -> Result<Self, BadPath> {
        RelPath::parse(text)?.try_into()
    }

    /// Accepts the paths of [`Place::parse`], and a root itself: `memory`, `memory/notes`.
    ///
    /// # Errors
    /// Same as [`RelPath::parse`]; returns [`BadPath::Outside`] for a path in none of the roots.
    pub fn parse_folder(text: &str) -> Result<Self, BadPath> {
        let text = RelPath::parse(text)?;
        match Root::split(text.as_str()) {
            Some((root, _)) => Ok(Self { text, root }),
            None => Err(BadPath::Outside(text.to_string())),
        }
    }

    /// Returns the folder of a root.
    pub fn of_root(root: Root) -> Self {
        Self { text: RelPath::parse(&root.to_string()).expect("the name of a root is a path"), root }
    }

    /// Returns the place of `name`, a single name from a folder listing, in this folder.
    ///
    /// # Errors
    /// Same as [`RelPath::child`].
    pub fn child(&self, name: &str) -> Result<Self, BadPath> {
        Ok(Self { text: self.text.child(name)?, root: self.root.clone() })
    }

    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Returns the path below the root; empty for the root itself.
    pub fn path(&self) -> &str {
        (0..self.root.depth()).fold(self.text.as_str(), |path, _| path.split_once('/').map_or("", |(_, below)| below))
    }

    /// Returns whether it is in this folder, or in a folder below it.
    pub fn is_below(&self, folder: &Place) -> bool {
        self.as_str().strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'))
    }

    /// Returns the path of its folder below the root; `None` if it is directly in the root.
    pub fn folder(&self) -> Option<&str> {
        self.path().rsplit_once('/').map(|(folder, _)| folder)
    }

    /// Returns the folder that contains it; the root's folder for a root itself.
    pub fn containing(&self) -> Self {
        match RelPath::parse(self.parent()) {
            Ok(text) if !self.path().is_empty() => Self { text, root: self.root.clone() },
            _ => self.clone(),
        }
    }

    /// Returns the path of its folder, with the root; empty for a root.
    pub fn parent(&self) -> &str {
        if self.path().is_empty() {
            return "";
        }
        self.text.as_str().rsplit_once('/').map_or("", |(parent, _)| parent)
    }

    pub fn file_name(&self) -> &str {
        self.text.file_name()
    }

    /// Returns whether its name, or that of a folder above it, begins with a dot.
    pub fn is_hidden(&self) -> bool {
        self.path().split('/').any(|name| name.starts_with('.'))
    }

    /// Returns whether each version of it counts as text from outside until a person trusts that version: the files of the
    /// skills of the home, and those that tell the agent how to work in a project.
    pub fn is_pinned(&self) -> bool {
        self.root.is_pinned() || (matches!(self.root, Root::Project(_)) && self.is_instruction())
    }

    /// Returns whether it is a file of instructions where it is in its root: an AGENTS.md or CLAUDE.md, or a file of a skill.
    fn is_instruction(&self) -> bool {
        let is_skill = self.path().split_once('/').is_some_and(|(first, _)| first == PROJECT_SKILLS);
        is_skill || PROJECT_GUIDES.contains(&self.file_name())
    }

    /// Returns whether other programs may run later because of it: a file of a project that needs a question of its own.
    pub fn runs_later(&self) -> bool {
        matches!(self.root, Root::Project(_)) && runs_later(self.path(), EntryKind::File)
    }

    pub fn as_str(&self) -> &str {
        self.text.as_str()
    }

    pub fn rel_path(&self) -> &RelPath {
        &self.text
    }
}

impl TryFrom<RelPath> for Place {
    type Error = BadPath;

    fn try_from(text: RelPath) -> Result<Self, BadPath> {
        match Root::split(text.as_str()) {
            Some((root, below)) if !below.is_empty() || root == Root::Snapshot => Ok(Self { text, root }),
            Some(_) | None => Err(BadPath::Outside(text.to_string())),
        }
    }
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ProjectId;
    use proptest::prelude::*;

    #[test]
    fn place_has_root_and_relative_path() {
        let project = Root::Project(ProjectId::parse("p").unwrap());
        for root in Root::HOME.into_iter().chain([project]) {
            let place = Place::parse(&format!("./{root}//a/b.md")).unwrap();
            assert_eq!((place.root(), place.path(), place.folder()), (&root, "a/b.md", Some("a")));
            assert_eq!((place.parent(), Place::of_root(root.clone()).parent()), (format!("{root}/a").as_str(), ""));
            assert_eq!((place.file_name(), place.to_string()), ("b.md", format!("{root}/a/b.md")));
            assert_eq!(Place::of_root(root).child("a").unwrap().child("b.md").unwrap(), place);
        }
        let snapshot = Place::parse("SKILLS_SNAPSHOT.md").unwrap();
        assert_eq!((snapshot.root(), snapshot.path(), snapshot.folder()), (&Root::Snapshot, "", None));
        assert!(
            Place::parse("memory/.x/a.md").unwrap().is_hidden() && !Place::parse("memory/a.md").unwrap().is_hidden()
        );
    }

    #[test]
    fn place_is_below_its_folders_only() {
        let folder = |path: &str| Place::parse_folder(path).unwrap();
        let place = folder("skills/a/b.md");
        assert_eq!((place.containing(), folder("skills").containing()), (folder("skills/a"), folder("skills")));
        for (above, below) in [
            ("skills", true),
            ("skills/a", true),
            ("skills/a/b.md", false),
            ("skills/ab", false),
            ("skills/a/b", false),
            ("memory", false),
        ] {
            assert_eq!(place.is_below(&folder(above)), below, "{above}");
        }
    }

    #[test]
    fn path_outside_roots_is_not_a_place() {
        for outside in [
            ".env",
            "config.yml",
            "sessions/a.json",
            "storage/x",
            "scratch/x",
            "memory",
            "skills2/x",
            "Memory/x",
            "project",
            "project/a",
            "project/a b/x",
            "project/-a/x",
            "projects/a/x",
        ] {
            assert_eq!(Place::parse(outside), Err(BadPath::Outside(outside.to_owned())), "{outside}");
        }
        assert_eq!(Place::parse("SKILLS_SNAPSHOT.md/x"), Err(BadPath::Outside("SKILLS_SNAPSHOT.md/x".to_owned())));
        assert_eq!(Place::parse("memory/../.env"), Err(BadPath::Climbs));
        assert_eq!(Place::parse_folder("./memory/"), Ok(Place::of_root(Root::Memory)));
        assert_eq!(Place::parse_folder("memory/x"), Place::parse("memory/x"));
        assert!(Place::parse_folder("project/a").is_ok_and(|place| place.path().is_empty()));
        assert_eq!(Place::parse_folder("sessions"), Err(BadPath::Outside("sessions".to_owned())));
    }

    proptest! {
        #[test]
        fn place_round_trips_through_text(text in "(workspace|memory|skills|knowledge|scratch|project|project/[-_a-zA-Z0-9]{0,9})/\\PC{0,40}") {
            if let Ok(place) = Place::parse(&text) {
                prop_assert_eq!(Place::parse(place.as_str()), Ok(place.clone()));
                prop_assert_eq!(format!("{}/{}", place.root(), place.path()), place.as_str());
            }
        }
    }
}
