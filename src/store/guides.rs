//! What a project tells the agent: the AGENTS.md of its folders, and its skills. None of it counts before a person trusts it:
//! a project may come from anywhere.

use super::error::StoreError;
use super::home::Home;
use super::listing::is_too_deep;
use super::trusted::Untrusted;
use crate::domain::place::{PROJECT_GUIDES, PROJECT_SKILLS};
use crate::domain::{Place, Root};

/// Maximum size of a file of instructions, in bytes.
const MAX_SIZE: u64 = 1 << 20;
/// Maximum number of skills of a project.
const MAX_SKILLS: usize = 200;
const SKILL_FILE: &str = "SKILL.md";

/// A file of a project that holds instructions for the agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Instructions {
    pub place: Place,
    pub text: InstructionText,
}

/// Its text, or why the agent does not get it.
#[derive(Clone, Debug, PartialEq)]
pub enum InstructionText {
    /// A person trusts this version.
    Trusted {
        text: String,
        /// Hash of the content.
        etag: String,
    },
    Untrusted {
        /// Whether another version of the file was trusted before.
        changed: bool,
    },
    /// It cannot be read, with the reason.
    Unusable(String),
}

impl Instructions {
    /// Returns the file if it waits for a person to trust it.
    pub fn waiting(&self) -> Option<Untrusted> {
        match self.text {
            InstructionText::Untrusted { changed } => Some(Untrusted { path: self.place.clone(), changed }),
            InstructionText::Trusted { .. } | InstructionText::Unusable(_) => None,
        }
    }
}

impl Home {
    /// Returns the AGENTS.md of a folder of a project, or its CLAUDE.md where there is none, as it is on the disk now.
    pub fn guide_of(&self, folder: &Place) -> Option<Instructions> {
        let places = PROJECT_GUIDES.iter().filter_map(|name| folder.child(name).ok());
        places.into_iter().find(|place| self.has_entry(place)).map(|place| self.instructions(place))
    }

    /// Returns the SKILL.md of each skill of a project, `skills/{name}/SKILL.md`, sorted by path. Hidden folders are no skills.
    pub fn project_skills(&self, root: &Root) -> Vec<Instructions> {
        let files = self.skill_folders(root).into_iter().filter_map(|folder| folder.child(SKILL_FILE).ok());
        files.filter(|place| self.has_entry(place)).take(MAX_SKILLS).map(|place| self.instructions(place)).collect()
    }

    /// Returns the files with instructions of a project that a person has not trusted in their current version: the AGENTS.md
    /// at its root, and the files of its skills.
    pub fn waiting_instructions(&self, root: &Root) -> Vec<Untrusted> {
        let mut waiting: Vec<Untrusted> =
            self.guide_of(&Place::of_root(root.clone())).iter().filter_map(Instructions::waiting).collect();
        for folder in self.skill_folders(root).into_iter().take(MAX_SKILLS) {
            // A folder that cannot be listed as a whole can be used only through its SKILL.md.
            let files = self.files_below(&folder).unwrap_or_else(|_| folder.child(SKILL_FILE).into_iter().collect());
            let there = files.into_iter().filter(|place| self.has_entry(place));
            waiting.extend(there.filter_map(|place| self.instructions(place).waiting()));
        }
        waiting
    }

    fn skill_folders(&self, root: &Root) -> Vec<Place> {
        let Ok(skills) = Place::of_root(root.clone()).child(PROJECT_SKILLS) else { return Vec::new() };
        self.list_folder(&skills).unwrap_or_default().folders
    }

    /// Reads a file once, so that what is trusted is what is used.
    fn instructions(&self, place: Place) -> Instructions {
        let text = match self.read_instructions(&place) {
            Ok(text) => text,
            Err(error) => InstructionText::Unusable(error.to_string()),
        };
        Instructions { place, text }
    }

    fn read_instructions(&self, place: &Place) -> Result<InstructionText, StoreError> {
        if is_too_deep(place) {
            let (path, why) = (place.path().to_owned(), "it lies too deep");
            return Err(StoreError::NotAllowed { path, why });
        }
        // A link is followed only within the project, and what it leads to is trusted by its content like a file.
        let size = self.open_file(place)?.size;
        if size > MAX_SIZE {
            return Err(StoreError::TooLarge { path: place.path().to_owned(), size, limit: MAX_SIZE });
        }
        let bytes = self.read_bytes(place)?;
        if !self.trusts(place, &bytes) {
            return Ok(InstructionText::Untrusted { changed: self.trusted_last(place).is_some() });
        }
        let etag = super::etag(&bytes);
        match String::from_utf8(bytes) {
            Ok(text) => Ok(InstructionText::Trusted { text, etag }),
            Err(bad) => Err(StoreError::NotText { path: place.path().to_owned(), at: bad.utf8_error().valid_up_to() }),
        }
    }
}
