//! Arguments that a remote server wants as headers, too, so that whatever stands before it can route a call without reading
//! its body: properties of a schema with `x-mcp-header` (revision 2026-07-28).

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value};

use super::link::Link;
use super::server::Server;
use crate::domain::visible::visible;

const ANNOTATION: &str = "x-mcp-header";
const PREFIX: &str = "Mcp-Param-";
/// Maximum number of headers of a tool, and characters of the name of one.
const MAX_HEADERS: usize = 50;
const MAX_NAME: usize = 64;

/// An argument with the header that repeats it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamHeader {
    /// The names of the properties that lead to the argument.
    path: Vec<String>,
    /// Its name after [`PREFIX`].
    name: String,
}

/// A header of a request, as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    pub name: String,
    pub value: String,
}

/// Returns the arguments that a schema designates.
///
/// # Errors
/// Returns why the tool cannot be used: a part of a sentence.
pub fn designated(schema: &Value) -> Result<Vec<ParamHeader>, String> {
    let mut found = Vec::new();
    walk(schema, Some(&[]), &mut found)?;
    Ok(found)
}

/// Returns the headers for arguments. One that is absent or null has none.
pub fn headers(designated: &[ParamHeader], arguments: &Value) -> Vec<Header> {
    let of = |param: &ParamHeader| {
        let value = param.path.iter().try_fold(arguments, |value, name| value.get(name))?;
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(is) => is.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        Some(Header { name: format!("{PREFIX}{}", param.name), value: header_text(&text) })
    };
    designated.iter().filter_map(of).collect()
}

impl Server {
    /// Returns the headers of a call, of which these are the parameters.
    pub(super) fn param_headers(&self, link: &Link, params: &Value) -> Vec<Header> {
        let tool = params["name"].as_str().filter(|_| link.mirrors_arguments()).and_then(|name| self.tool(name));
        let designated = tool.and_then(|tool| designated(&tool.definition.value["inputSchema"]).ok());
        headers(&designated.unwrap_or_default(), &params["arguments"])
    }
}

/// Returns a text as a header can have it.
pub fn header_text(text: &str) -> String {
    let is_plain = text.chars().all(|char| matches!(char, ' '..='~')) && text.trim() == text;
    // A text that looks encoded would be decoded.
    let is_encoded = text.starts_with("=?base64?") && text.ends_with("?=");
    if is_plain && !is_encoded { text.to_owned() } else { format!("=?base64?{}?=", BASE64_STANDARD.encode(text)) }
}

/// Collects the annotations of a schema. `path` leads to it from the arguments; it is absent where no argument is sure to be.
fn walk(schema: &Value, path: Option<&[String]>, found: &mut Vec<ParamHeader>) -> Result<(), String> {
    let fields = match schema {
        Value::Object(fields) => fields,
        Value::Array(schemas) => return schemas.iter().try_for_each(|schema| walk(schema, None, found)),
        _ => return Ok(()),
    };
    if let Some(name) = fields.get(ANNOTATION) {
        found.push(annotated(name, fields, path, found)?);
    }
    for (key, value) in fields {
        match (key.as_str(), value) {
            // These hold values, not schemas.
            ("default" | "const" | "enum" | "examples" | "required" | ANNOTATION, _) => {}
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    let below = path.map(|path| [path, std::slice::from_ref(name)].concat());
                    walk(property, below.as_deref(), found)?;
                }
            }
            ("$defs" | "definitions" | "patternProperties" | "dependentSchemas", Value::Object(schemas)) => {
                schemas.values().try_for_each(|schema| walk(schema, None, found))?;
            }
            _ => walk(value, None, found)?,
        }
    }
    Ok(())
}

fn annotated(
    name: &Value,
    fields: &Map<String, Value>,
    path: Option<&[String]>,
    found: &[ParamHeader],
) -> Result<ParamHeader, String> {
    let is_of_token = |char: char| char.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(char);
    let text = name.as_str().unwrap_or_default();
    if text.is_empty() || text.len() > MAX_NAME || !text.chars().all(is_of_token) {
        return Err(format!(
            "wants an argument as the header {}, which is no name of a header",
            visible(&name.to_string())
        ));
    }
    if !matches!(fields.get("type").and_then(Value::as_str), Some("string" | "integer" | "boolean")) {
        return Err(format!("wants something as the header {text} that is no text, whole number or truth value"));
    }
    if found.iter().any(|other| other.name.eq_ignore_ascii_case(text)) {
        return Err(format!("wants two arguments as the header {text}"));
    }
    match path {
        Some(path) if !path.is_empty() && found.len() < MAX_HEADERS => {
            Ok(ParamHeader { path: path.to_vec(), name: text.to_owned() })
        }
        Some([_, ..]) => Err(format!("wants more than {MAX_HEADERS} arguments as headers")),
        Some(_) | None => Err(format!("wants something as the header {text} that may not be an argument")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sent(schema: &Value, arguments: &Value) -> Vec<(String, String)> {
        let all = headers(&designated(schema).unwrap(), arguments);
        all.into_iter().map(|header| (header.name, header.value)).collect()
    }

    #[test]
    fn designated_arguments_travel_in_headers() {
        let schema = json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "at": {"type": "object", "properties": {"hour": {"type": "integer", "x-mcp-header": "Hour"}}},
            "deep": {"type": "boolean", "x-mcp-header": "Deep"},
            // Here it is the name of a property, and a value.
            "x-mcp-header": {"type": "object", "default": {"x-mcp-header": 1}},
            "query": {"type": "string"}}});
        let arguments = json!({"region": "é", "at": {"hour": 7}, "deep": null, "query": "x"});
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            sent(&schema, &arguments),
            [header("Mcp-Param-Region", "=?base64?w6k=?="), header("Mcp-Param-Hour", "7")]
        );
        assert_eq!(
            sent(&schema, &json!({"region": 1, "deep": false})).last(),
            Some(&header("Mcp-Param-Deep", "false"))
        );
        assert_eq!(sent(&schema, &json!([])), []);
    }

    #[test]
    fn values_are_encoded_where_a_header_could_change_them() {
        assert_eq!(header_text("add"), "add");
        assert_eq!(header_text("café"), "=?base64?Y2Fmw6k=?=");
        for unsafe_one in [" a", "a ", "a\r\nX: 1", "\ta", "=?base64?YQ==?="] {
            assert!(header_text(unsafe_one).starts_with("=?base64?"), "{unsafe_one:?}");
            assert_ne!(header_text(unsafe_one), unsafe_one);
        }
    }

    #[test]
    fn schema_that_designates_wrongly_is_refused() {
        let of = |property: Value| json!({"type": "object", "properties": {"a": property}});
        let text = |name: Value| json!({"type": "string", "x-mcp-header": name});
        for (schema, why) in [
            (of(text(json!(""))), "no name"),
            (of(text(json!("My Region"))), "no name"),
            (of(text(json!("A:B"))), "no name"),
            (of(text(json!("Région"))), "no name"),
            (of(text(json!("A\t1"))), "no name"),
            (of(text(json!(1))), "no name"),
            (of(json!({"type": "number", "x-mcp-header": "A"})), "no text"),
            (of(json!({"type": "object", "x-mcp-header": "A"})), "no text"),
            (of(json!({"type": "array", "items": text(json!("A"))})), "may not be"),
            (json!({"anyOf": [of(text(json!("A")))]}), "may not be"),
            (json!({"$defs": {"x": text(json!("A"))}}), "may not be"),
            (text(json!("A")), "may not be"),
            (json!({"properties": {"a": text(json!("A")), "b": text(json!("a"))}}), "two arguments"),
        ] {
            let refused = designated(&schema).unwrap_err();
            assert!(refused.contains(why), "{schema}: {refused}");
        }
        let many: Map<String, Value> = (0..60).map(|at| (format!("a{at}"), text(json!(format!("H{at}"))))).collect();
        assert!(designated(&json!({"properties": many})).unwrap_err().contains("more than 50"));
    }
}
