//! Checks a tool's arguments against its JSON schema: `type`, `required`, `properties`, `additionalProperties`, `items`,
//! `enum`, `minimum`, `maximum`, `minLength`, `maxLength`. Nothing is repaired or filled in.

use serde_json::Value;

/// Checks `value`. The error is a sentence about the first mistake that names the field.
pub fn check(schema: &Value, value: &Value) -> Result<(), String> {
    at("", schema, value)
}

fn at(place: &str, schema: &Value, value: &Value) -> Result<(), String> {
    let subject = if place.is_empty() { "the arguments".to_owned() } else { format!("\"{place}\"") };
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
                    None if schema["additionalProperties"] == false => {
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
                (proptest::collection::btree_map("[a-c]", inner, 0..3), proptest::bool::ANY).prop_map(|(fields, open)| {
                    let required: Vec<&String> = fields.keys().take(1).collect();
                    json!({"type": "object", "properties": fields, "required": required, "additionalProperties": open})
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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn check_agrees_with_jsonschema(schema in any_schema(), value in any_value()) {
            let reference = jsonschema::draft202012::new(&schema).expect("the schema is valid");
            prop_assert_eq!(check(&schema, &value).is_ok(), reference.is_valid(&value), "{} against {}", value, schema);
        }
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
            "additionalProperties": false,
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
