//! Answers that are one JSON value and match a schema.

use std::path::Path;

use anyhow::Context;
use serde_json::Value;

use crate::tools::{ArgumentSchema, SchemaOrigin};

pub struct AnswerSchema {
    text: String,
    schema: ArgumentSchema,
}

impl AnswerSchema {
    /// Reads a JSON Schema. Schemas of other addresses are never fetched.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let name = path.display();
        let text = crate::store::outside::text(path).with_context(|| format!("cannot read {name}"))?;
        Self::of(&text).with_context(|| format!("{name} is no JSON Schema"))
    }

    fn of(text: &str) -> anyhow::Result<Self> {
        let value: Value = serde_json::from_str(text)?;
        let schema = ArgumentSchema::new(&value, SchemaOrigin::Foreign)?;
        Ok(Self { text: text.trim().to_owned(), schema })
    }

    /// Returns a question that asks for a value of this schema.
    pub fn asked_for(&self, question: &str) -> String {
        format!(
            "{question}\n\nAnswer with one JSON value that matches this JSON Schema, and with nothing else:\n\n```json\n{}\n```",
            self.text
        )
    }

    /// Returns the JSON value in an answer, or what is wrong with it.
    pub fn value_in(&self, answer: &str) -> Result<Value, String> {
        let value = serde_json::from_str(json_of(answer)).map_err(|error| format!("it is no JSON: {error}"))?;
        self.schema.check(&value).map(|()| value)
    }
}

/// Returns an answer without the fence around it that many models write.
fn json_of(answer: &str) -> &str {
    let answer = answer.trim();
    let Some(fenced) = answer.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) else { return answer };
    fenced.split_once('\n').map_or(answer, |(_, inside)| inside.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn value_is_found_with_and_without_a_fence() {
        let schema =
            AnswerSchema::of(r#"{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}"#);
        let schema = schema.unwrap();
        for answer in [r#"{"n": 1}"#, "```json\n{\"n\": 1}\n```", "\n```\n{\"n\": 1}\n```\n"] {
            assert_eq!(schema.value_in(answer), Ok(json!({"n": 1})), "{answer}");
        }
        for (answer, wrong) in
            [(r#"{"n": "1"}"#, "n"), ("Here: {\"n\": 1}", "no JSON"), ("[]", "object"), ("```", "no JSON")]
        {
            let said = schema.value_in(answer).unwrap_err();
            assert!(said.contains(wrong), "{answer}: {said}");
        }
        assert!(AnswerSchema::of("{").is_err() && AnswerSchema::of(r#"{"type": 7}"#).is_err());
    }
}
