//! The YAML between the two `---` lines at the top of a file.

use serde_json::{Map, Value};
use serde_yaml::Value as Yaml;

use crate::domain::yaml::repeats;

/// Maximum size of a front matter in bytes: more than any legitimate one needs, and little for the YAML parser.
const LIMIT: usize = 64 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum BadFrontMatter {
    #[error("Not a UTF-8 text file (byte {at}). Save it as UTF-8.")]
    NotUtf8 { at: usize },
    #[error("No front matter. Start the file with a line ---, then name: and description:, then a line ---.")]
    Missing,
    #[error("The front matter isn't closed. Add a line --- after the last field.")]
    NotClosed,
    #[error("The front matter is larger than 64 KB. Move the instructions below it.")]
    TooLong,
    #[error("The front matter isn't valid YAML ({reason}). Quote values that contain :, # or brackets.")]
    NotYaml { reason: String },
    #[error("The front matter isn't a list of “key: value” lines.")]
    NotFields,
}

/// Parses the fields. Skips keys that are not strings; a value that JSON cannot express becomes null.
pub fn read(bytes: &[u8]) -> Result<Map<String, Value>, BadFrontMatter> {
    let text = std::str::from_utf8(bytes).map_err(|error| BadFrontMatter::NotUtf8 { at: error.valid_up_to() })?;
    let yaml = block(text.strip_prefix('\u{feff}').unwrap_or(text))?;
    if yaml.len() > LIMIT {
        return Err(BadFrontMatter::TooLong);
    }
    if repeats(yaml) {
        return Err(BadFrontMatter::NotYaml { reason: "anchors and aliases are not supported".to_owned() });
    }
    let value: Yaml = serde_yaml::from_str(yaml).map_err(|error| {
        // The parser counts lines from the one after the first ---. The first line of its message is enough.
        BadFrontMatter::NotYaml { reason: error.to_string().lines().next().unwrap_or_default().to_owned() }
    })?;
    match value {
        Yaml::Mapping(fields) => {
            Ok(fields.into_iter().filter_map(|(key, value)| Some((key.as_str()?.to_owned(), json(value)))).collect())
        }
        Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) | Yaml::String(_) | Yaml::Sequence(_) | Yaml::Tagged(_) => {
            Err(BadFrontMatter::NotFields)
        }
    }
}

fn block(text: &str) -> Result<&str, BadFrontMatter> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| is_fence(line)).ok_or(BadFrontMatter::Missing)?;
    let mut end = first.len();
    for line in lines {
        if is_fence(line) {
            return Ok(&text[first.len()..end]);
        }
        end += line.len();
    }
    Err(BadFrontMatter::NotClosed)
}

fn is_fence(line: &str) -> bool {
    line.trim_end() == "---"
}

fn json(value: Yaml) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}
