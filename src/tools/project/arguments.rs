//! The arguments of the tools that change files, and the items that they consist of.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::whole_number;

/// What a call of one of the four tools asks for.
#[derive(Clone, Debug)]
pub enum Request {
    Create(Vec<NewItem>),
    Delete(Deletion),
    Edit(Edits),
    Move(Vec<MoveItem>),
}

#[derive(Clone, Debug, Deserialize)]
pub struct Items<T> {
    pub items: Vec<T>,
}

/// A file with its content, or a folder.
#[derive(Clone, Debug, Deserialize)]
pub struct NewItem {
    pub path: String,
    #[serde(default)]
    pub content: Option<String>,
    #[serde(default)]
    pub folder: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Deletion {
    pub paths: Vec<String>,
    #[serde(default)]
    pub recursive: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub struct MoveItem {
    pub from: String,
    pub to: String,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Edits {
    pub path: String,
    pub operations: Vec<EditOperation>,
    /// Whether the operations that fit are made even if others do not.
    #[serde(default)]
    pub partial: bool,
}

/// One change of a text. Exactly one of the three forms is complete.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct EditOperation {
    #[serde(default)]
    pub search: Option<String>,
    #[serde(default)]
    pub replace: Option<String>,
    /// How often the search text occurs, all of which is replaced; 1 if absent.
    #[serde(default, deserialize_with = "whole_number")]
    pub count: Option<usize>,
    /// The first and last line that are replaced, counted from 1.
    #[serde(default, deserialize_with = "whole_number")]
    pub start_line: Option<usize>,
    #[serde(default, deserialize_with = "whole_number")]
    pub end_line: Option<usize>,
    /// The line after which `text` is inserted; 0 is before the first.
    #[serde(default, deserialize_with = "whole_number")]
    pub insert_after: Option<usize>,
    #[serde(default)]
    pub text: Option<String>,
}

/// Returns the schemas of the arguments of the four tools, in the order create, delete, edit, move.
pub fn schemas() -> [(Value, &'static [&'static str]); 4] {
    let string = || json!({"type": "string"});
    let line = |least: u8| json!({"type": "integer", "minimum": least});
    let items = |properties: Value, required: &[&str]| {
        let item = json!({"type": "object", "properties": properties, "required": required});
        json!({"type": "array", "items": item})
    };
    let new = json!({"path": string(), "content": string(), "folder": {"type": "boolean"}});
    let operation = json!({
        "search": {"type": "string", "minLength": 1}, "replace": string(), "count": line(1),
        "start_line": line(1), "end_line": line(1), "insert_after": line(0), "text": string(),
    });
    let boolean = || json!({"type": "boolean"});
    [
        (json!({"items": items(new, &["path"])}), &["items"]),
        (json!({"paths": {"type": "array", "items": string()}, "recursive": boolean()}), &["paths"]),
        (json!({"path": string(), "operations": items(operation, &[]), "partial": boolean()}), &["path", "operations"]),
        (json!({"items": items(json!({"from": string(), "to": string()}), &["from", "to"])}), &["items"]),
    ]
}
