//! Messages about a skill: each is a sentence with a code and its values, so that the page can translate it.

use serde::Serialize;

use super::front_matter::BadFrontMatter;
use super::{DESCRIPTION_CHARACTERS, NAME_CHARACTERS, Skill};
use crate::domain::ErrorParams;

/// A sentence about a skill, for people.
#[derive(Clone, Debug, PartialEq)]
pub struct SkillMessage {
    text: String,
    code: MessageCode,
}

/// What the page needs to translate a message.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub struct MessageCode {
    pub code: &'static str,
    /// The values in the sentence, by name.
    #[serde(rename = "about", skip_serializing_if = "ErrorParams::is_empty")]
    #[schema(value_type = std::collections::HashMap<String, String>)]
    pub params: ErrorParams,
}

impl SkillMessage {
    pub fn new(code: &'static str, text: impl Into<String>) -> Self {
        Self { text: text.into(), code: MessageCode { code, params: ErrorParams::new() } }
    }

    #[must_use]
    pub fn param(mut self, name: &str, value: impl ToString) -> Self {
        self.code.params.insert(name.to_owned(), value.to_string());
        self
    }

    /// A skill of a project has the name of one of the home, or of another one of the project.
    pub fn name_taken(location: &str) -> Self {
        let text = format!("The skill {location} has the same name. Rename one of them.");
        Self::new("name_taken", text).param("location", location)
    }

    pub(super) fn no_name() -> Self {
        Self::new("no_name", "The name is missing. Add a line “name: …” between the --- lines.")
    }

    pub(super) fn no_description() -> Self {
        let text =
            "The description is missing. Add a line “description: …” that says what the skill does and when to use it.";
        Self::new("no_description", text)
    }

    pub(super) fn bad_metadata() -> Self {
        Self::new("metadata", "metadata is ignored: it must be a list of “key: value” lines.")
    }

    pub(super) fn long_name() -> Self {
        let text = format!("The name is too long. The model sees the first {NAME_CHARACTERS} characters.");
        Self::new("long_name", text).param("n", NAME_CHARACTERS)
    }

    pub(super) fn unusual_name() -> Self {
        Self::new("name_form", "The name works here, but other agents require 1 to 64 characters of a–z, 0–9 and -.")
    }

    pub(super) fn not_folder_name(folder: &str) -> Self {
        let text = format!("Other agents require the name to match the folder, {folder}.");
        Self::new("folder_name", text).param("folder", folder)
    }

    pub(super) fn long_description(length: usize) -> Self {
        let text =
            format!("The description has {length} characters. The model sees the first {DESCRIPTION_CHARACTERS}.");
        Self::new("long_description", text).param("length", length).param("n", DESCRIPTION_CHARACTERS)
    }
}

impl From<&BadFrontMatter> for SkillMessage {
    fn from(error: &BadFrontMatter) -> Self {
        let text = error.to_string();
        match error {
            BadFrontMatter::NotUtf8 { at } => Self::new("not_utf8", text).param("at", at),
            BadFrontMatter::Missing => Self::new("no_front_matter", text),
            BadFrontMatter::NotClosed => Self::new("not_closed", text),
            BadFrontMatter::TooLong => Self::new("too_long", text),
            BadFrontMatter::NotYaml { reason } => Self::new("not_yaml", text).param("reason", reason),
            BadFrontMatter::NotFields => Self::new("not_fields", text),
        }
    }
}

impl Skill {
    /// Sets the reason why the skill is not used. Keeps an earlier reason.
    pub fn fail(&mut self, message: SkillMessage) {
        if self.error.is_none() {
            self.error = Some(message.text);
            self.error_code = Some(message.code);
        }
    }

    /// Adds a note for people. Keeps only the first note with a given code.
    pub fn note(&mut self, message: SkillMessage) {
        if self.note_codes.iter().all(|known| known.code != message.code.code) {
            self.notes.push(message.text);
            self.note_codes.push(message.code);
        }
    }
}
