//! The JSON schema of a tool's arguments, and its check. Nothing is repaired or filled in.
//!
//! Our own schemas use a few keywords, which a fast check with short sentences knows; one with any other keyword is refused
//! when its tool is registered. Their objects have no other properties than those they name, without saying
//! `additionalProperties`, which every request would repeat for every tool. Schemas from elsewhere may use all of JSON Schema; the `jsonschema` crate checks them.

use jsonschema::Validator;
use serde_json::Value;

/// The keywords that the check of our own schemas knows. `description` says nothing that could be checked.
const KEYWORDS: [&str; 10] =
    ["type", "required", "properties", "items", "enum", "minimum", "maximum", "minLength", "maxLength", "description"];
/// Maximum characters of a foreign schema's complaint: it may quote the schema, which can be long.
const LONGEST_COMPLAINT: usize = 400;

/// Who wrote a tool's schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchemaOrigin {
    #[default]
    Own,
    /// A program that is not ours, such as an MCP server.
    Foreign,
    /// The same in a version that a person has trusted.
    Pinned,
    /// A program that runs the tool's calls, and checks their arguments itself.
    Client,
}

/// A schema that can check arguments.
pub enum ArgumentSchema {
    Own(Value),
    Foreign(Box<Validator>),
    /// Nothing is checked here.
    Client,
}

/// Why a tool's schema cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BadSchema {
    #[error("its schema has the keyword \"{0}\", which our own check does not know")]
    UnknownKeyword(String),
    #[error("its schema says {0} with a value that our own check does not know")]
    UnknownForm(&'static str),
    #[error("its schema is not valid: {0}")]
    Invalid(String),
}

impl ArgumentSchema {
    /// Prepares a schema for checks.
    ///
    /// # Errors
    /// Returns an error if the schema is our own and has a keyword that [`check`] does not know, or if it is foreign and
    /// is not valid. Schemas of other addresses are never fetched, so a reference to one is an error too.
    pub fn new(schema: &Value, origin: SchemaOrigin) -> Result<Self, BadSchema> {
        match origin {
            SchemaOrigin::Own => known(schema).map(|()| Self::Own(schema.clone())),
            SchemaOrigin::Client => Ok(Self::Client),
            SchemaOrigin::Foreign | SchemaOrigin::Pinned => {
                let compiled = jsonschema::options().offline().should_validate_formats(true).build(schema);
                let invalid = |error: jsonschema::ValidationError<'_>| BadSchema::Invalid(short(&error.to_string()));
                compiled.map(|validator| Self::Foreign(Box::new(validator))).map_err(invalid)
            }
        }
    }

    /// Checks arguments. The error is a sentence about the first mistake that names the field.
    pub fn check(&self, arguments: &Value) -> Result<(), String> {
        match self {
            Self::Client => Ok(()),
            Self::Own(schema) => check(schema, arguments),
            Self::Foreign(validator) => validator.validate(arguments).map_err(|error| {
                let place = error.instance_path().as_str().trim_start_matches('/').replace('/', ".");
                short(&error.masked_with(subject(&place)).to_string())
            }),
        }
    }
}

fn short(text: &str) -> String {
    match text.char_indices().nth(LONGEST_COMPLAINT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns an error unless [`check`] knows every keyword of the schema in the form in which it has it.
fn known(schema: &Value) -> Result<(), BadSchema> {
    let Value::Object(keywords) = schema else { return Err(BadSchema::UnknownForm("a schema")) };
    for (keyword, value) in keywords {
        let form = |fits: bool, name| if fits { Ok(()) } else { Err(BadSchema::UnknownForm(name)) };
        match keyword.as_str() {
            "properties" => {
                let Value::Object(fields) = value else { return Err(BadSchema::UnknownForm("properties")) };
                fields.values().try_for_each(known)?;
            }
            "items" => known(value)?,
            "type" => form(value.is_string(), "type")?,
            keyword if KEYWORDS.contains(&keyword) => {}
            keyword => return Err(BadSchema::UnknownKeyword(keyword.to_owned())),
        }
    }
    Ok(())
}

fn subject(place: &str) -> String {
    if place.is_empty() { "the arguments".to_owned() } else { format!("\"{place}\"") }
}

/// Checks `value` against one of our own schemas. The error is a sentence about the first mistake that names the field.
fn check(schema: &Value, value: &Value) -> Result<(), String> {
    at("", schema, value)
}

fn at(place: &str, schema: &Value, value: &Value) -> Result<(), String> {
    let subject = subject(place);
    if let Some(wanted) = schema["type"].as_str()
        && !is_of_type(wanted, value)
    {
        return Err(format!("{subject} must be {}, not {}", with_article(wanted), with_article(type_of(value))));
    }
    if let Some(allowed) = schema["enum"].as_array()
        && !allowed.contains(value)
    {
        let allowed: Vec<String> = allowed.iter().map(Value::to_string).collect();
        return Err(format!("{subject} must be one of {}", allowed.join(", ")));
    }
    let size = match value {
        Value::Number(number) => number.as_f64().map(|number| (number, "minimum", "maximum", "")),
        Value::String(text) => Some((text.chars().count() as f64, "minLength", "maxLength", " characters long")),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    if let Some((size, least, most, unit)) = size {
        if let Some(least) = schema[least].as_f64().filter(|least| size < *least) {
            return Err(format!("{subject} must be at least {least}{unit}"));
        }
        if let Some(most) = schema[most].as_f64().filter(|most| size > *most) {
            return Err(format!("{subject} must be at most {most}{unit}"));
        }
    }
    match value {
        Value::Object(fields) => {
            for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                if !fields.contains_key(name) {
                    return Err(format!("\"{}\" is missing", path(place, name)));
                }
            }
            for (name, field) in fields {
                match schema["properties"].get(name) {
                    Some(schema) => at(&path(place, name), schema, field)?,
                    None if schema["properties"].is_object() => {
                        return Err(format!("\"{}\" is not a known argument", path(place, name)));
                    }
                    None => {}
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                at(&path(place, &index.to_string()), &schema["items"], item)?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    Ok(())
}

fn path(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

fn is_of_type(wanted: &str, value: &Value) -> bool {
    match wanted {
        // 3.0 is an integer in JSON Schema.
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        wanted => wanted == type_of(value),
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn with_article(name: &str) -> String {
    match name {
        "null" => "null".to_owned(),
        "integer" | "array" | "object" => format!("an {name}"),
        name => format!("a {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Map, json};

    /// Any schema of the keywords that [`check`] reads.
    fn any_schema() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!({})),
            Just(json!({"type": "boolean"})),
            Just(json!({"type": "null"})),
            Just(json!({"enum": ["a", "b"]})),
            (0u8..4, 0u8..4).prop_map(|(least, most)| json!({"type": "string", "minLength": least, "maxLength": most})),
            (-2i8..3, -2i8..3).prop_map(|(least, most)| json!({"type": "integer", "minimum": least, "maximum": most})),
            (-2i8..3).prop_map(|least| json!({"type": "number", "minimum": least})),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
                proptest::collection::btree_map("[a-c]", inner, 0..3).prop_map(|fields| {
                    let required: Vec<&String> = fields.keys().take(1).collect();
                    json!({"type": "object", "properties": fields, "required": required})
                }),
            ]
        })
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            proptest::bool::ANY.prop_map(Value::from),
            (-3i8..4).prop_map(Value::from),
            (-3i8..4).prop_map(|number| Value::from(f64::from(number) / 2.0)),
            "[a-c好]{0,5}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                proptest::collection::btree_map("[a-d]", inner, 0..3)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
            ]
        })
    }

    /// Says of every object of a schema that it has no other properties.
    fn closed(mut schema: Value) -> Value {
        if let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            fields.values_mut().for_each(|field| *field = closed(field.take()));
            schema["additionalProperties"] = json!(false);
        }
        if let Some(items) = schema.get_mut("items") {
            *items = closed(items.take());
        }
        schema
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn check_agrees_with_jsonschema(schema in any_schema(), value in any_value()) {
            let reference = jsonschema::draft202012::new(&closed(schema.clone())).expect("the schema is valid");
            prop_assert!(ArgumentSchema::new(&schema, SchemaOrigin::Own).is_ok(), "{}", schema);
            prop_assert_eq!(check(&schema, &value).is_ok(), reference.is_valid(&value), "{} against {}", value, schema);
        }
    }

    #[test]
    fn own_schema_with_unknown_keyword_is_refused() {
        for (schema, keyword) in [
            (json!({"type": "object", "patternProperties": {}}), "patternProperties"),
            (json!({"properties": {"x": {"type": "string", "pattern": "^a"}}}), "pattern"),
            (json!({"properties": {"x": {"type": "array", "items": {"$ref": "#/x"}}}}), "$ref"),
            (json!({"oneOf": []}), "oneOf"),
        ] {
            let refused = ArgumentSchema::new(&schema, SchemaOrigin::Own).err();
            assert_eq!(refused, Some(BadSchema::UnknownKeyword(keyword.to_owned())), "{schema}");
        }
        for (schema, form) in [(json!({"type": ["string", "null"]}), "type"), (json!({"items": true}), "a schema")] {
            let refused = ArgumentSchema::new(&schema, SchemaOrigin::Own).err();
            assert_eq!(refused, Some(BadSchema::UnknownForm(form)), "{schema}");
        }
    }

    #[test]
    fn foreign_schema_is_checked_as_a_whole() {
        let schema = json!({
            "type": "object",
            "$defs": {"size": {"type": "object", "properties": {"unit": {"enum": ["mm", "in"]}}, "required": ["unit"]}},
            "properties": {
                "code": {"type": "string", "pattern": "^[A-Z]{2}[0-9]+$"},
                "target": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
                "size": {"$ref": "#/$defs/size"},
                "day": {"type": "string", "format": "date"},
            },
        });
        let schema = ArgumentSchema::new(&schema, SchemaOrigin::Foreign).unwrap();
        for (arguments, wrong) in [
            (json!({"code": "AB12", "target": 3, "size": {"unit": "mm"}, "day": "2026-02-28"}), ""),
            (json!({"code": "ab"}), "\"code\" does not match \"^[A-Z]{2}[0-9]+$\""),
            (json!({"target": true}), "\"target\" is not valid under any of the schemas listed in the 'oneOf' keyword"),
            (json!({"size": {"unit": "ft"}}), "\"size.unit\" is not one of \"mm\" or \"in\""),
            (json!({"size": {}}), "\"unit\" is a required property"),
            (json!({"day": "2026-02-30"}), "\"day\" is not a \"date\""),
            (json!([]), "the arguments is not of type \"object\""),
        ] {
            assert_eq!(schema.check(&arguments).err().unwrap_or_default(), wrong, "{arguments}");
        }
    }

    #[test]
    fn invalid_or_remote_foreign_schema_is_refused() {
        for schema in [
            json!({"type": "strin"}),
            json!({"properties": {"x": {"pattern": "("}}}),
            json!({"$ref": "https://example.com/schema.json"}),
            json!({"$ref": "#/$defs/none"}),
        ] {
            let refused = ArgumentSchema::new(&schema, SchemaOrigin::Foreign).err();
            assert!(matches!(refused, Some(BadSchema::Invalid(_))), "{schema}: {refused:?}");
        }
    }

    #[test]
    fn long_complaint_is_cut() {
        let pattern = "a".repeat(2 * LONGEST_COMPLAINT);
        let schema = json!({"properties": {"x": {"pattern": pattern}}});
        let schema = ArgumentSchema::new(&schema, SchemaOrigin::Foreign).unwrap();
        let complaint = schema.check(&json!({"x": "b"})).unwrap_err();
        assert!(complaint.chars().count() <= LONGEST_COMPLAINT + 1 && complaint.starts_with("\"x\" does not match"));
    }

    #[test]
    fn each_error_names_its_field() {
        let schema = json!({
            "type": "object",
            "properties": {
                "url": {"type": "string", "minLength": 1},
                "offset": {"type": "integer", "minimum": 0, "maximum": 9},
                "mode": {"enum": ["a", "b"]},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["url"],
        });
        for (value, wrong) in [
            (json!({"url": "x"}), ""),
            (json!({"url": "x", "offset": 3.0, "mode": "b", "tags": ["t"]}), ""),
            (json!("x"), "the arguments must be an object, not a string"),
            (json!({}), "\"url\" is missing"),
            (json!({"url": null}), "\"url\" must be a string, not null"),
            (json!({"url": ""}), "\"url\" must be at least 1 characters long"),
            (json!({"url": "x", "offset": "3"}), "\"offset\" must be an integer, not a string"),
            (json!({"url": "x", "offset": 1.5}), "\"offset\" must be an integer, not a number"),
            (json!({"url": "x", "offset": -1}), "\"offset\" must be at least 0"),
            (json!({"url": "x", "offset": 10}), "\"offset\" must be at most 9"),
            (json!({"url": "x", "mode": "c"}), "\"mode\" must be one of \"a\", \"b\""),
            (json!({"url": "x", "tags": ["t", 1]}), "\"tags.1\" must be a string, not a number"),
            (json!({"url": "x", "link": 1}), "\"link\" is not a known argument"),
        ] {
            assert_eq!(check(&schema, &value).err().unwrap_or_default(), wrong, "{value}");
        }
    }
}
