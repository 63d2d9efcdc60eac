//! A project: a folder of files that sessions work in.

use serde::{Deserialize, Serialize};

use super::ids::ProjectId;
use super::linking::{FolderIdentity, LinkRefused};

/// Maximum number of characters of a project's name, and of its description.
pub const NAME_CHARACTERS: usize = 255;
pub const DESCRIPTION_CHARACTERS: usize = 4_000;
/// Maximum length in bytes of the name of its folder, so that a number fits behind it.
const FOLDER_BYTES: usize = 60;
/// Names that some systems do not allow for a folder.
const RESERVED: [&str; 6] = ["con", "prn", "aux", "nul", "com", "lpt"];

/// A project as `projects.json` keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Project {
    pub id: ProjectId,
    pub name: String,
    /// The name of its folder in `workspaces/`, or the absolute path of the folder that is linked.
    pub path: String,
    /// Which folder a person has linked; `None` for a project with a folder of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<FolderIdentity>,
    #[serde(default)]
    pub description: String,
    /// Unix seconds.
    pub created_at: f64,
    /// Unix seconds.
    pub updated_at: f64,
    /// When it was deleted, in Unix seconds; its folder is then in the trash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<f64>,
}

/// What a person says about a project, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectName(String);

/// Why a project cannot be made or changed as a person says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProjectRefused {
    #[error("a project's name has 1 to {NAME_CHARACTERS} characters and no control characters")]
    BadName,
    #[error("a project's description has at most {DESCRIPTION_CHARACTERS} characters")]
    LongDescription,
    #[error("there is a project named {0} already; choose another name")]
    NameTaken(String),
    #[error("a conversation is at work in this project; wait until it is done, or stop it first")]
    Busy,
    #[error("the folder workspaces/{0} exists already; move it away, then restore the project")]
    FolderTaken(String),
    #[error("{0}")]
    Link(LinkRefused),
}

impl ProjectName {
    /// Accepts a name without surrounding space.
    ///
    /// # Errors
    /// Returns [`ProjectRefused::BadName`] for an empty or long name, and for one with control characters.
    pub fn parse(text: &str) -> Result<Self, ProjectRefused> {
        let name = text.trim();
        let is_valid = (1..=NAME_CHARACTERS).contains(&name.chars().count()) && !name.chars().any(char::is_control);
        if is_valid { Ok(Self(name.to_owned())) } else { Err(ProjectRefused::BadName) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether a person would take both for the same name.
    pub fn is_same_as(&self, other: &str) -> bool {
        self.0.to_lowercase() == other.trim().to_lowercase()
    }

    /// Returns the name of a folder for it: its letters and digits, `-` for the rest, and a number if `is_taken` says that
    /// there is such a folder. Names that differ only in case count as the same folder, which they are on some systems.
    pub fn folder(&self, is_taken: impl Fn(&str) -> bool) -> String {
        let mut plain = String::new();
        for letter in self.0.chars() {
            let kept = if letter.is_alphanumeric() || matches!(letter, '_' | '.') { letter } else { '-' };
            if plain.len() + kept.len_utf8() > FOLDER_BYTES {
                break;
            }
            if kept != '-' || !plain.ends_with('-') {
                plain.push(kept);
            }
        }
        let plain = plain.trim_matches(['-', '.']);
        let stem = plain.split('.').next().unwrap_or_default().to_ascii_lowercase();
        let is_reserved = RESERVED.contains(&stem.trim_end_matches(|last: char| last.is_ascii_digit()));
        let first = match plain {
            "" => "project".to_owned(),
            plain if is_reserved => format!("project-{plain}"),
            plain => plain.to_owned(),
        };
        let numbered = (2_u32..).map(|number| format!("{first}-{number}"));
        std::iter::once(first.clone()).chain(numbered).find(|name| !is_taken(name)).unwrap_or(first)
    }
}

/// Checks a description. Returns it without surrounding space.
///
/// # Errors
/// Returns [`ProjectRefused::LongDescription`] for more than 4,000 characters.
pub fn description(text: &str) -> Result<String, ProjectRefused> {
    let text = text.trim();
    if text.chars().count() > DESCRIPTION_CHARACTERS {
        return Err(ProjectRefused::LongDescription);
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Place;
    use proptest::prelude::*;

    fn folder(name: &str, taken: &[&str]) -> String {
        let is_taken = |folder: &str| taken.iter().any(|taken| taken.eq_ignore_ascii_case(folder));
        ProjectName::parse(name).unwrap().folder(is_taken)
    }

    #[test]
    fn folder_is_named_after_the_project() {
        assert_eq!(folder("Tea House", &[]), "Tea-House");
        assert_eq!(folder("茶馆 2", &[]), "茶馆-2");
        assert_eq!(folder("../../etc/passwd", &[]), "etc-passwd");
        assert_eq!(folder("...", &[]), "project");
        assert_eq!(folder("COM1.txt", &[]), "project-COM1.txt");
        assert_eq!(folder("tea", &["Tea", "tea-2"]), "tea-3");
    }

    #[test]
    fn name_and_description_are_checked() {
        for bad in ["", "  ", "a\nb", &"x".repeat(NAME_CHARACTERS + 1)] {
            assert_eq!(ProjectName::parse(bad), Err(ProjectRefused::BadName), "{bad:?}");
        }
        let name = ProjectName::parse("  Tea ").unwrap();
        assert!(name.as_str() == "Tea" && name.is_same_as("tEA") && !name.is_same_as("tea2"));
        assert_eq!(description(" a ").as_deref(), Ok("a"));
        assert_eq!(description(&"x".repeat(4_001)), Err(ProjectRefused::LongDescription));
    }

    proptest! {
        #[test]
        fn folder_is_one_visible_name(text in "\\PC{1,80}") {
            if let Ok(name) = ProjectName::parse(&text) {
                let folder = name.folder(|_| false);
                prop_assert!(!folder.starts_with('.') && !folder.contains(['/', '\\']) && folder.len() < 80);
                let place = Place::parse(&format!("knowledge/{folder}")).unwrap();
                prop_assert_eq!(place.file_name(), folder.as_str());
            }
        }
    }
}
