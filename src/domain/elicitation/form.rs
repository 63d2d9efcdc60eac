//! The form of an elicitation: a flat list of simple fields, read from the server's schema, and the check of what a person
//! enters.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

use super::secret_words::names_secret;
use crate::domain::visible::{is_hidden, visible};

/// Maximum number of fields.
const MAX_FIELDS: usize = 30;
/// Maximum number of options of a field.
const MAX_OPTIONS: usize = 200;
/// Maximum characters of a field's name, of a label or an option, and of a description.
const MAX_NAME: usize = 100;
const MAX_LABEL: usize = 200;
const MAX_DESCRIPTION: usize = 1_000;
/// Maximum characters of a text that a person enters.
const MAX_TEXT: usize = 10_000;

/// A field of a form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct FormField {
    pub name: String,
    /// Invisible characters are escaped, also in the description and in options' labels.
    pub label: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    #[serde(flatten)]
    pub kind: FieldKind,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum FieldKind {
    Text {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        format: Option<TextFormat>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min_length: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_length: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default: Option<String>,
    },
    Number {
        /// Whether only whole numbers fit.
        whole: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        minimum: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        maximum: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default: Option<f64>,
    },
    Boolean {
        default: bool,
    },
    /// One of several options.
    Choice {
        options: Vec<ChoiceOption>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default: Option<String>,
    },
    /// Several of several options.
    Choices {
        options: Vec<ChoiceOption>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min_items: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_items: Option<u64>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        default: Vec<String>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ChoiceOption {
    pub value: String,
    pub label: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TextFormat {
    Email,
    Uri,
    Date,
    DateTime,
}

/// Why the value of a field does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldProblem {
    pub field: String,
    /// `required`, `type`, `too_short`, `too_long`, `format`, `too_small`, `too_large`, `option`, `too_few`, `too_many` or
    /// `unknown`.
    pub code: &'static str,
}

impl FieldProblem {
    pub fn new(field: &str, code: &'static str) -> Self {
        Self { field: field.to_owned(), code }
    }
}

/// Reads the fields of a form from its schema; `message` is what the server says with it.
///
/// # Errors
/// Returns why the form is not shown: a part of a sentence about the server.
pub fn read(schema: &Value, message: &str) -> Result<Vec<FormField>, String> {
    let Some(properties) = schema["properties"].as_object().filter(|_| schema["type"] == "object") else {
        return Err("its form has no fields that can be shown".to_owned());
    };
    if properties.len() > MAX_FIELDS {
        return Err(format!("its form has more than {MAX_FIELDS} fields"));
    }
    let required: BTreeSet<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if let Some(name) = required.iter().find(|name| !properties.contains_key(**name)) {
        return Err(format!("its form requires {}, which it does not have", named(name)));
    }
    let fields = properties.iter().map(|(name, schema)| field(name, schema, required.contains(name.as_str())));
    let fields: Vec<FormField> = fields.collect::<Result<_, _>>()?;
    let has_text = fields.iter().any(|field| matches!(field.kind, FieldKind::Text { .. }));
    if has_text && names_secret(message) {
        return Err(
            "its form seems to ask for a secret, and what is typed into a form is stored and sent as it is".to_owned()
        );
    }
    Ok(fields)
}

fn named(name: &str) -> String {
    format!("“{}”", visible(&name.chars().take(MAX_NAME).collect::<String>()))
}

fn field(name: &str, schema: &Value, required: bool) -> Result<FormField, String> {
    if name.is_empty() || name.chars().count() > MAX_NAME || name.chars().any(is_hidden) {
        return Err(format!("a field of its form has no usable name: {}", named(name)));
    }
    let label = text(&schema["title"], MAX_LABEL).map_err(|()| format!("the label of {} is too long", named(name)))?;
    let description = text(&schema["description"], MAX_DESCRIPTION)
        .map_err(|()| format!("the description of {} is too long", named(name)))?;
    let kind = kind(schema).map_err(|why| format!("the field {} {why}", named(name)))?;
    let words = [Some(name), label.as_deref(), description.as_deref()];
    if matches!(kind, FieldKind::Text { .. } | FieldKind::Number { .. })
        && words.into_iter().flatten().any(names_secret)
    {
        return Err(format!(
            "the field {} seems to be for a secret, and what is typed into a form is stored and sent as it is",
            named(name)
        ));
    }
    let label = label.map_or_else(|| name.to_owned(), |label| visible(&label));
    Ok(FormField { name: name.to_owned(), label, description: description.map(|text| visible(&text)), required, kind })
}

fn text(value: &Value, most: usize) -> Result<Option<String>, ()> {
    match value.as_str().filter(|text| !text.trim().is_empty()) {
        Some(text) if text.chars().count() > most => Err(()),
        text => Ok(text.map(str::to_owned)),
    }
}

fn kind(schema: &Value) -> Result<FieldKind, String> {
    let whole = |field: &str| schema[field].as_u64();
    match schema["type"].as_str().unwrap_or_default() {
        "string" if schema["enum"].is_array() || schema["oneOf"].is_array() => {
            let options = options(schema)?;
            let default = schema["default"].as_str().map(str::to_owned);
            Ok(FieldKind::Choice { default: default.filter(|default| has(&options, default)), options })
        }
        "string" => Ok(FieldKind::Text {
            format: match schema["format"].as_str() {
                None => None,
                Some("email") => Some(TextFormat::Email),
                Some("uri") => Some(TextFormat::Uri),
                Some("date") => Some(TextFormat::Date),
                Some("date-time") => Some(TextFormat::DateTime),
                Some(_) => return Err("has a format that is not known here".to_owned()),
            },
            min_length: whole("minLength"),
            max_length: whole("maxLength"),
            default: text(&schema["default"], MAX_TEXT).map_err(|()| "has a value that is too long".to_owned())?,
        }),
        kind @ ("number" | "integer") => Ok(FieldKind::Number {
            whole: kind == "integer",
            minimum: schema["minimum"].as_f64(),
            maximum: schema["maximum"].as_f64(),
            default: schema["default"].as_f64(),
        }),
        "boolean" => Ok(FieldKind::Boolean { default: schema["default"] == true }),
        "array" => {
            let options = options(&schema["items"])?;
            let default = schema["default"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let default = default.filter(|value| has(&options, value)).map(str::to_owned).collect();
            Ok(FieldKind::Choices { min_items: whole("minItems"), max_items: whole("maxItems"), default, options })
        }
        _ => Err("is neither text, a number, a yes or no, nor a choice".to_owned()),
    }
}

fn has(options: &[ChoiceOption], value: &str) -> bool {
    options.iter().any(|option| option.value == value)
}

fn options(schema: &Value) -> Result<Vec<ChoiceOption>, String> {
    let titled = schema["oneOf"].as_array().or(schema["anyOf"].as_array());
    let names = &schema["enumNames"];
    let pairs: Vec<(Option<&str>, Option<&str>)> = match titled {
        Some(titled) => titled.iter().map(|option| (option["const"].as_str(), option["title"].as_str())).collect(),
        None => {
            let values = schema["enum"].as_array().into_iter().flatten().enumerate();
            values.map(|(at, value)| (value.as_str(), names[at].as_str())).collect()
        }
    };
    if pairs.is_empty() || pairs.len() > MAX_OPTIONS {
        return Err(format!("has no options or more than {MAX_OPTIONS}"));
    }
    let mut known = BTreeSet::new();
    let options = pairs.into_iter().map(|(value, label)| {
        let value = value.filter(|value| value.chars().count() <= MAX_LABEL && !value.chars().any(is_hidden));
        let value = value.ok_or("has an option that cannot be shown")?;
        let label = label.filter(|label| !label.trim().is_empty()).unwrap_or(value);
        if label.chars().count() > MAX_LABEL || !known.insert(value) {
            return Err("has an option that is too long or there twice");
        }
        Ok(ChoiceOption { value: value.to_owned(), label: visible(label) })
    });
    options.collect::<Result<_, _>>().map_err(str::to_owned)
}

/// Checks the values of a form.
///
/// # Errors
/// Returns the first problem of each field that has one.
pub fn check(fields: &[FormField], content: &Map<String, Value>) -> Result<(), Vec<FieldProblem>> {
    let is_unknown = |name: &&String| !fields.iter().any(|field| field.name == **name);
    let unknown = content.keys().filter(is_unknown).map(|name| FieldProblem::new(name, "unknown"));
    let wrong = fields.iter().filter_map(|field| {
        let code = match content.get(&field.name) {
            None => field.required.then_some("required"),
            Some(value) => problem(&field.kind, value),
        };
        code.map(|code| FieldProblem::new(&field.name, code))
    });
    let problems: Vec<_> = unknown.chain(wrong).collect();
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

fn problem(kind: &FieldKind, value: &Value) -> Option<&'static str> {
    match (kind, value) {
        (FieldKind::Text { format, min_length, max_length, .. }, Value::String(text)) => {
            let length = text.chars().count() as u64;
            if min_length.is_some_and(|least| length < least) {
                return Some("too_short");
            }
            if length > max_length.unwrap_or(u64::MAX).min(MAX_TEXT as u64) {
                return Some("too_long");
            }
            (!format.is_none_or(|format| format.fits(text))).then_some("format")
        }
        (FieldKind::Number { whole, minimum, maximum, .. }, Value::Number(number)) => {
            let number = number.as_f64()?;
            if *whole && number.fract() != 0.0 {
                return Some("type");
            }
            if minimum.is_some_and(|least| number < least) {
                return Some("too_small");
            }
            maximum.is_some_and(|most| number > most).then_some("too_large")
        }
        (FieldKind::Boolean { .. }, Value::Bool(_)) => None,
        (FieldKind::Choice { options, .. }, Value::String(value)) => (!has(options, value)).then_some("option"),
        (FieldKind::Choices { options, min_items, max_items, .. }, Value::Array(values)) => {
            let chosen: BTreeSet<&str> = values.iter().filter_map(Value::as_str).collect();
            if chosen.len() != values.len() || !chosen.iter().all(|value| has(options, value)) {
                return Some("option");
            }
            if min_items.is_some_and(|least| (chosen.len() as u64) < least) {
                return Some("too_few");
            }
            max_items.is_some_and(|most| chosen.len() as u64 > most).then_some("too_many")
        }
        _ => Some("type"),
    }
}

impl TextFormat {
    fn fits(self, text: &str) -> bool {
        match self {
            Self::Email => {
                let parts = text.rsplit_once('@').filter(|(name, host)| !name.is_empty() && !host.is_empty());
                parts.is_some() && !text.chars().any(|char| char.is_whitespace() || is_hidden(char))
            }
            Self::Uri => Url::parse(text).is_ok(),
            Self::Date => text.len() == 10 && text.parse::<Date>().is_ok(),
            Self::DateTime => text.parse::<Timestamp>().is_ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema(properties: Value) -> Value {
        json!({"type": "object", "properties": properties})
    }

    fn fields(properties: Value) -> Result<Vec<FormField>, String> {
        read(&schema(properties), "Please fill in")
    }

    #[test]
    fn every_simple_field_is_read() {
        let all = fields(json!({
            "name": {"type": "string", "title": "Na\u{200b}me", "minLength": 1, "maxLength": 5, "default": "Ada"},
            "mail": {"type": "string", "format": "email"},
            "age": {"type": "integer", "minimum": 0, "maximum": 150},
            "ok": {"type": "boolean", "default": true},
            "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"], "default": "l"},
            "one": {"type": "string", "oneOf": [{"const": "a", "title": "A"}]},
            "many": {"type": "array", "items": {"anyOf": [{"const": "x", "title": "X"}, {"const": "y", "title": "Y"}]},
                     "minItems": 1, "default": ["x", "z"]},
        }));
        let all = all.unwrap();
        assert_eq!(all[0].label, "Na\\u200bme");
        assert!(
            matches!(&all[4].kind, FieldKind::Choice { options, default } if options[1].label == "Large" && default.as_deref() == Some("l"))
        );
        assert!(matches!(&all[6].kind, FieldKind::Choices { default, min_items: Some(1), .. } if default == &["x"]));
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(serde_json::from_str::<Vec<FormField>>(&text).unwrap(), all);
    }

    #[test]
    fn hostile_form_is_refused_with_the_reason() {
        let many: Map<String, Value> = (0..10_000).map(|at| (format!("f{at}"), json!({"type": "string"}))).collect();
        let huge: Vec<String> = (0..5_000).map(|at| at.to_string()).collect();
        for (properties, why) in [
            (Value::Object(many), "more than 30 fields"),
            (json!({"a": {"type": "object", "properties": {"b": {"type": "string"}}}}), "“a” is neither"),
            (json!({"a": {"type": "array", "items": {"type": "object"}}}), "no options"),
            (json!({"a": {"type": "string", "enum": huge}}), "no options or more than 200"),
            (json!({"a": {"type": "string", "enum": ["x", "x"]}}), "twice"),
            (json!({"a": {"type": "string", "enum": ["x", 7]}}), "cannot be shown"),
            (json!({"a": {"type": "string", "enum": ["x\u{202e}"]}}), "cannot be shown"),
            (json!({"a\u{200b}": {"type": "string"}}), "no usable name"),
            (json!({"a": {"type": "string", "format": "password"}}), "format that is not known"),
            (json!({"apiKey": {"type": "string"}}), "“apiKey” seems to be for a secret"),
            (json!({"a": {"type": "string", "title": "Password"}}), "secret"),
            (json!({"a": {"type": "string", "description": "the 密码 of the server"}}), "secret"),
            (json!({"a": {"type": "string", "description": "x".repeat(2_000)}}), "too long"),
            (json!({"pin": {"type": "integer"}}), "secret"),
            (json!(7), "no fields"),
        ] {
            let refused = fields(properties).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
        let form = schema(json!({"a": {"type": "string"}}));
        assert!(read(&form, "Enter your API key").unwrap_err().contains("secret"));
        assert!(read(&schema(json!({"ok": {"type": "boolean"}})), "Rotate the API key?").is_ok());
        assert!(read(&json!({"type": "object", "properties": {}, "required": ["x"]}), "").is_err());
    }

    #[test]
    fn each_wrong_value_is_named() {
        let form = fields(json!({
            "name": {"type": "string", "minLength": 2, "maxLength": 4},
            "when": {"type": "string", "format": "date"},
            "at": {"type": "string", "format": "date-time"},
            "mail": {"type": "string", "format": "email"},
            "link": {"type": "string", "format": "uri"},
            "age": {"type": "integer", "minimum": 1, "maximum": 9},
            "ok": {"type": "boolean"},
            "size": {"type": "string", "enum": ["s", "l"]},
            "many": {"type": "array", "items": {"enum": ["x", "y"]}, "minItems": 1, "maxItems": 1},
        }));
        let form: Vec<FormField> =
            form.unwrap().into_iter().map(|field| FormField { required: field.name == "name", ..field }).collect();
        let code = |name: &str, value: Value| {
            let mut content = Map::from_iter([("name".to_owned(), json!("Ada"))]);
            content.insert(name.to_owned(), value);
            check(&form, &content).err().map_or("", |problems| problems[0].code)
        };
        for (name, value, expected) in [
            ("name", json!("Ada"), ""),
            ("name", json!("A"), "too_short"),
            ("name", json!("Adams"), "too_long"),
            ("name", json!(1), "type"),
            ("name", json!(null), "type"),
            ("when", json!("2026-02-30"), "format"),
            ("when", json!("2026-02-28"), ""),
            ("at", json!("2026-02-28T10:00:00Z"), ""),
            ("at", json!("10"), "format"),
            ("mail", json!("a@b"), ""),
            ("mail", json!("a b@c"), "format"),
            ("link", json!("x"), "format"),
            ("link", json!("https://x.example"), ""),
            ("age", json!(1), ""),
            ("age", json!(1.5), "type"),
            ("age", json!(0), "too_small"),
            ("age", json!(10), "too_large"),
            ("ok", json!(false), ""),
            ("ok", json!("yes"), "type"),
            ("size", json!("m"), "option"),
            ("many", json!([]), "too_few"),
            ("many", json!(["x", "y"]), "too_many"),
            ("many", json!(["x", "x"]), "option"),
            ("many", json!(["x"]), ""),
            ("more", json!("x"), "unknown"),
        ] {
            assert_eq!(code(name, value.clone()), expected, "{name}: {value}");
        }
        assert_eq!(check(&form, &Map::new()), Err(vec![FieldProblem::new("name", "required")]));
    }
}
