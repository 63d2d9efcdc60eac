//! A skill is a Markdown file of instructions, `skills/{folder}/SKILL.md`, with a YAML front matter that says when to
//! use it. The model sees a list of all skills (the snapshot) and reads the file when one fits.
//!
//! The front matter has the fields of the Agent Skills format: `name`, `description`, and optionally `license`,
//! `compatibility`, `metadata` and `allowed-tools`. A harmless violation of that format gives a note; a violation that
//! makes a skill unusable gives an error. Neither affects anything else.

mod front_matter;
mod message;
mod snapshot;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::domain::Place;

pub use message::{MessageCode, SkillMessage};
pub use snapshot::{project_snapshot, snapshot};

/// The Agent Skills limit on a description, in characters; the snapshot shows no more.
pub const DESCRIPTION_CHARACTERS: usize = 1024;
/// The Agent Skills limit on a name, in characters; the snapshot shows no more.
pub const NAME_CHARACTERS: usize = 64;

#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub struct Skill {
    /// The folder's name if the file has no name.
    pub name: String,
    pub description: String,
    /// Path of the skill's file in the home.
    #[schema(value_type = String)]
    pub location: Place,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compatibility: Option<String>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_tools: Vec<String>,
    /// Why the model is not offered this skill, and what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<MessageCode>,
    /// A person has disabled it: the model is not offered it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
    /// Harmless problems that a person should know, most of them for other programs that read skills.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Codes of the notes, in the same order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub note_codes: Vec<MessageCode>,
}

impl Skill {
    /// Parses the bytes of a SKILL.md. Never fails: `error` says what is wrong.
    pub fn parse(location: &Place, bytes: &[u8]) -> Self {
        let mut skill = Self::unread(location);
        let fields = match front_matter::read(bytes) {
            Ok(fields) => fields,
            Err(error) => {
                skill.fail(SkillMessage::from(&error));
                return skill;
            }
        };
        skill.fill(fields);
        skill.check();
        skill
    }

    /// Returns a skill of which only the location is known.
    pub fn unread(location: &Place) -> Self {
        Self {
            name: folder(location).to_owned(),
            description: String::new(),
            location: location.clone(),
            license: None,
            compatibility: None,
            metadata: Map::new(),
            allowed_tools: Vec::new(),
            error: None,
            error_code: None,
            disabled: false,
            notes: Vec::new(),
            note_codes: Vec::new(),
        }
    }

    /// Returns whether a person or a model would take both names for the same.
    pub fn is_named_like(&self, other: &Self) -> bool {
        let plain = |name: &str| name.to_lowercase().replace('_', "-");
        plain(&self.name) == plain(&other.name)
    }

    fn fill(&mut self, mut fields: Map<String, Value>) {
        match fields.remove("name").as_ref().and_then(line) {
            Some(name) => self.name = name,
            None => self.fail(SkillMessage::no_name()),
        }
        match fields.remove("description").as_ref().and_then(line) {
            Some(description) => self.description = description,
            None => self.fail(SkillMessage::no_description()),
        }
        self.license = fields.remove("license").as_ref().and_then(line);
        self.compatibility = fields.remove("compatibility").as_ref().and_then(line);
        self.allowed_tools = fields.remove("allowed-tools").map(names).unwrap_or_default();
        match fields.remove("metadata") {
            Some(Value::Object(metadata)) => self.metadata = metadata,
            None | Some(Value::Null) => {}
            Some(_) => self.note(SkillMessage::bad_metadata()),
        }
    }

    fn check(&mut self) {
        let fits = (1..=64).contains(&self.name.len())
            && self.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if self.name.chars().count() > NAME_CHARACTERS {
            self.note(SkillMessage::long_name());
        }
        if !fits {
            self.note(SkillMessage::unusual_name());
        }
        let folder = folder(&self.location).to_owned();
        if self.name.replace('_', "-") != folder.replace('_', "-") {
            self.note(SkillMessage::not_folder_name(&folder));
        }
        let length = self.description.chars().count();
        if length > DESCRIPTION_CHARACTERS {
            self.note(SkillMessage::long_description(length));
        }
    }
}

/// Returns the name of a skill's folder: `get_weather` for `skills/get_weather/SKILL.md`.
fn folder(location: &Place) -> &str {
    let parent = location.parent();
    parent.rsplit('/').next().unwrap_or(parent)
}

/// Returns a value as one line of text; `None` if it is empty, a list or an object. Numbers and booleans become text.
fn line(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => String::new(),
    };
    (!text.is_empty()).then_some(text)
}

/// Parses `allowed-tools`: a list, or one string with names separated by spaces or commas.
fn names(value: Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().filter_map(line).collect(),
        Value::String(text) => split_names(&text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

/// Splits a string into names. `Bash(git add, git commit) Read` is two names: text in parentheses belongs to the name
/// before it.
fn split_names(text: &str) -> Vec<String> {
    let mut depth = 0usize;
    text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c == ',' || c.is_whitespace())
    })
    .filter(|name| !name.is_empty())
    .map(str::to_owned)
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(path: &str) -> Place {
        Place::parse(path).unwrap()
    }

    fn parse(text: &str) -> Skill {
        Skill::parse(&at("skills/get_weather/SKILL.md"), text.as_bytes())
    }

    #[test]
    fn complete_skill_is_read() {
        let skill = Skill::parse(
            &at("skills/pdf-tools/SKILL.md"),
            b"---\nname: pdf-tools\ndescription: >\n  Reads PDFs.\n  Use it for forms.\nlicense: MIT\ncompatibility: needs python\nmetadata:\n  version: 1.0\n  author: x\nallowed-tools: Bash(git add, git log) Read, Write\n---\nbody",
        );
        assert_eq!(skill.name, "pdf-tools");
        assert_eq!(skill.description, "Reads PDFs. Use it for forms.");
        assert_eq!(skill.license.as_deref(), Some("MIT"));
        assert_eq!(skill.compatibility.as_deref(), Some("needs python"));
        assert_eq!(serde_json::to_value(&skill.metadata).unwrap(), serde_json::json!({"version": 1.0, "author": "x"}));
        assert_eq!(skill.allowed_tools, ["Bash(git add, git log)", "Read", "Write"]);
        assert_eq!((skill.error, skill.notes), (None, vec![]));
    }

    #[test]
    fn documented_chinese_skill_is_accepted_with_notes() {
        for text in [
            "---\nname: 天气查询\ndescription: 查询指定城市的天气信息\n---\n\n## 步骤\n",
            "\u{feff}---\r\nname: 天气查询\r\ndescription: 查询指定城市的天气信息\r\n---\r\n",
            "--- \nname: 天气查询\ndescription: 查询指定城市的天气信息\n---",
        ] {
            let skill = parse(text);
            assert_eq!((skill.name.as_str(), skill.error), ("天气查询", None), "{text:?}");
            assert_eq!(skill.description, "查询指定城市的天气信息");
            assert_eq!(skill.notes.len(), 2);
        }
    }

    #[test]
    fn folder_may_use_underscore_for_hyphen() {
        assert_eq!(parse("---\nname: get-weather\ndescription: d\n---\n").notes, Vec::<String>::new());
        assert_eq!(parse("---\nname: weather\ndescription: d\n---\n").notes.len(), 1);
    }

    #[test]
    fn invalid_skill_error_states_remedy() {
        let cases: [(&[u8], &str); 9] = [
            (b"# just text", "front matter"),
            (b"", "front matter"),
            (b"\n---\nname: a\n---\n", "front matter"),
            (b"---\nname: a\ndescription: b\n", "isn't closed"),
            (b"---\nname: [a\n---\n", "YAML"),
            (b"---\n- a\n- b\n---\n", "key: value"),
            (b"---\ndescription: b\n---\n", "name is missing"),
            (b"---\nname: a\ndescription:\n---\n", "description is missing"),
            (b"---\nname: \xff\xfe\n---\n", "UTF-8"),
        ];
        for (bytes, expected) in cases {
            let skill = Skill::parse(&at("skills/x/SKILL.md"), bytes);
            let error = skill.error.unwrap();
            assert!(error.contains(expected), "{error}");
            assert!(!skill.name.is_empty());
        }
    }

    #[test]
    fn hostile_yaml_is_an_error_and_not_a_hang() {
        let bomb = (0..9).fold("a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned(), |text, n| {
            let items = vec![format!("*a{n}"); 9].join(",");
            format!("{text}a{}: &a{} [{items}]\n", n + 1, n + 1)
        });
        let deep = format!("name: {}", "[".repeat(5000));
        let wide = format!("name: {}", "x".repeat(200_000));
        for yaml in [bomb, deep, wide, "name: a\nname: b".into(), "? [a]\n: b".into(), "name: !!binary x".into()] {
            let skill = parse(&format!("---\n{yaml}\ndescription: d\n---\n"));
            assert!(skill.error.is_some() || skill.name == "x", "{}", &yaml[..20.min(yaml.len())]);
        }
    }

    #[test]
    fn numeric_names_and_tool_lists_are_accepted() {
        let skill = parse("---\nname: 2048\ndescription: true\nallowed-tools: [read_file, 7]\nmetadata: none\n---\n");
        assert_eq!((skill.name.as_str(), skill.description.as_str()), ("2048", "true"));
        assert_eq!(skill.allowed_tools, ["read_file", "7"]);
        assert_eq!(skill.notes.len(), 2);
    }

    #[test]
    fn starter_home_is_small_and_its_skills_are_valid() {
        let skills = [
            ("get_weather", include_bytes!("../../starter/skills/get_weather/SKILL.md").as_slice()),
            ("remember_this", include_bytes!("../../starter/skills/remember_this/SKILL.md")),
            ("web_digest", include_bytes!("../../starter/skills/web_digest/SKILL.md")),
        ]
        .map(|(folder, bytes)| Skill::parse(&at(&format!("skills/{folder}/SKILL.md")), bytes));
        assert!(skills.iter().all(|skill| skill.error.is_none()));
        let parts = [
            &snapshot(&skills),
            include_str!("../../starter/workspace/SOUL.md"),
            include_str!("../../starter/workspace/IDENTITY.md"),
            include_str!("../../starter/workspace/USER.md"),
            include_str!("../../starter/workspace/AGENTS.md"),
            include_str!("../../starter/memory/MEMORY.md"),
        ];
        // A local model reads about 30 tokens a second, and every request begins with these.
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        assert!(bytes <= 3_000, "{bytes}");
    }

    proptest! {
        #[test]
        fn any_skill_bytes_are_handled(bytes in any::<Vec<u8>>(), yaml in "\\PC{0,60}|[-a-z:\\[\\]{}&*!|>'\"%@ \\n#,?]{0,80}") {
            let location = at("skills/x/SKILL.md");
            Skill::parse(&location, &bytes);
            let skill = Skill::parse(&location, format!("---\n{yaml}\n---\n").as_bytes());
            prop_assert!(skill.error.is_some() || !(skill.name.is_empty() || skill.description.is_empty()));
            serde_json::to_string(&skill).unwrap();
        }
    }
}
