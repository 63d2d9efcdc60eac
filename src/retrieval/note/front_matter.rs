//! The fields between two lines `---` at the top of a note.

use serde_yaml::Value;

use crate::domain::yaml::repeats;

/// Maximum bytes of a front matter that is read: more than any legitimate one needs, and little for the YAML parser.
const MAX_SIZE: usize = 64 << 10;
/// Maximum number of aliases, and characters of an alias or a title.
const MAX_ALIASES: usize = 100;
const LONGEST: usize = 300;

/// The fields that count here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Properties {
    pub title: Option<String>,
    pub aliases: Vec<String>,
    /// Without the `#`.
    pub tags: Vec<String>,
}

/// Returns the fields of a note, and where its text begins. Front matter that is no YAML has no fields.
pub fn split(text: &str) -> (Properties, usize) {
    let Some((yaml, body)) = parts(text) else { return (Properties::default(), 0) };
    let fields = if yaml.len() > MAX_SIZE || repeats(yaml) { None } else { serde_yaml::from_str::<Value>(yaml).ok() };
    (fields.map(|fields| properties(&fields)).unwrap_or_default(), body)
}

/// Returns the YAML between the two lines, and the byte after the second.
fn parts(text: &str) -> Option<(&str, usize)> {
    let is_fence = |line: &str| line.trim_end() == "---";
    let mut lines = text.split_inclusive('\n');
    let start = lines.next().filter(|line| is_fence(line) && line.ends_with('\n'))?.len();
    let mut at = start;
    for line in lines {
        if is_fence(line) {
            return Some((&text[start..at], at + line.len()));
        }
        at += line.len();
    }
    None
}

fn properties(fields: &Value) -> Properties {
    let mut found = Properties::default();
    let Some(fields) = fields.as_mapping() else { return found };
    for (name, value) in fields {
        match name.as_str().unwrap_or_default().to_lowercase().as_str() {
            "title" => found.title = word(value),
            "alias" | "aliases" => {
                found.aliases.extend(words(value, &|text| text.split(',').map(str::to_owned).collect()))
            }
            "tag" | "tags" => {
                let separate = |text: &str| text.split([',', ' ']).map(str::to_owned).collect();
                let tags = words(value, &separate).into_iter().map(|tag| tag.trim_start_matches('#').to_owned());
                found.tags.extend(tags.filter(|tag| !tag.is_empty()));
            }
            _ => {}
        }
    }
    found.aliases.truncate(MAX_ALIASES);
    found
}

/// Returns the texts of a list, or the parts of a text.
fn words(value: &Value, separate: &dyn Fn(&str) -> Vec<String>) -> Vec<String> {
    match value {
        Value::Sequence(all) => all.iter().filter_map(word).collect(),
        value => {
            let text = word(value).unwrap_or_default();
            let parts = separate(&text).into_iter().map(|part| part.trim().to_owned());
            parts.filter(|part| !part.is_empty()).collect()
        }
    }
}

fn word(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Bool(bool) => bool.to_string(),
        _ => return None,
    };
    let text: String = text.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    (!text.is_empty()).then_some(text)
}
