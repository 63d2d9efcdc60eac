//! The parameters of a request that both APIs have, or have in a similar form.

use axum::http::HeaderMap;
use serde_json::Value;

use super::error::{invalid, unsupported};
use super::fields::Fields;
use super::tools::{read_choice, read_tools};
use crate::api::error::ApiError;
use crate::domain::{AnswerForm, ClientTool};

const MAX_TEMPERATURE: f64 = 2.0;
const MAX_STOPS: usize = 4;
const MAX_STOP: usize = 500;
/// Maximum bytes of `response_format`.
const MAX_FORMAT: usize = 256 << 10;
const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// How a program wants its answer.
#[derive(Debug, Default)]
pub struct Parameters {
    pub temperature: Option<f32>,
    pub max_tokens: Option<u32>,
    pub form: AnswerForm,
    pub tools: Vec<ClientTool>,
    /// What this server does not have, besides the fields that nobody reads.
    pub ignored: Vec<String>,
}

impl Parameters {
    /// Reads the parameters of the chat API.
    ///
    /// # Errors
    /// Returns an error if one has a wrong value, or asks for something that this server does not have and a program would
    /// miss: several answers, probabilities of tokens, audio.
    pub fn of_chat(fields: &mut Fields) -> Result<Self, ApiError> {
        if fields.count("n")?.is_some_and(|n| n > 1) {
            return Err(unsupported("n", "this server gives one answer to a request"));
        }
        let logprobs = fields.take("logprobs").is_some_and(|logprobs| logprobs != Value::Bool(false));
        if logprobs || fields.take("top_logprobs").is_some() {
            return Err(unsupported("logprobs", "this server does not tell probabilities of tokens"));
        }
        let speaks = |modality: &Value| modality != "text";
        if fields.list("modalities")?.is_some_and(|all| all.iter().any(speaks)) || fields.take("audio").is_some() {
            return Err(unsupported("audio", "this server gives no audio"));
        }
        let max_tokens = fields.count("max_tokens")?;
        let max_tokens = fields.count("max_completion_tokens")?.or(max_tokens);
        let mut read = Self { max_tokens, ..Self::of_both(fields)? };
        read.form.effort = effort(fields.text("reasoning_effort")?, "reasoning_effort")?;
        read.form.stop = stops(fields.take("stop"))?;
        read.form.response_format = format(fields.take("response_format"), "response_format")?;
        Ok(read)
    }

    /// Reads what has the same name in both APIs.
    pub fn of_both(fields: &mut Fields) -> Result<Self, ApiError> {
        let temperature = fields.number("temperature")?;
        if temperature.is_some_and(|temperature| !(0.0..=MAX_TEMPERATURE).contains(&temperature)) {
            return Err(invalid("temperature", format!("a temperature is a number from 0 to {MAX_TEMPERATURE}")));
        }
        let read = read_tools(fields.list("tools")?.unwrap_or_default())?;
        let tool_choice = read_choice(fields.take("tool_choice"), &read.tools)?;
        Ok(Self {
            temperature: temperature.map(|temperature| temperature as f32),
            max_tokens: None,
            form: AnswerForm { tool_choice, ..AnswerForm::default() },
            tools: read.tools,
            ignored: read.ignored,
        })
    }
}

/// Checks how much a model should think.
pub fn effort(effort: Option<String>, field: &str) -> Result<Option<String>, ApiError> {
    match effort {
        Some(effort) if !EFFORTS.contains(&effort.as_str()) => {
            Err(invalid(field, format!("it is one of {}", EFFORTS.join(", "))))
        }
        effort => Ok(effort),
    }
}

fn stops(stop: Option<Value>) -> Result<Vec<String>, ApiError> {
    let wrong = || invalid("stop", format!("it is a string, or up to {MAX_STOPS} strings of up to {MAX_STOP} bytes"));
    let stops = match stop {
        None => return Ok(Vec::new()),
        Some(Value::Array(stops)) => stops,
        Some(stop) => vec![stop],
    };
    let text = |stop: Value| match stop {
        Value::String(text) if !text.is_empty() && text.len() <= MAX_STOP => Ok(text),
        _ => Err(wrong()),
    };
    if stops.len() > MAX_STOPS {
        return Err(wrong());
    }
    stops.into_iter().map(text).collect()
}

/// Checks a format in the form of the chat API; `text` is none.
pub fn format(format: Option<Value>, field: &str) -> Result<Option<Value>, ApiError> {
    let Some(format) = format else { return Ok(None) };
    if format.to_string().len() > MAX_FORMAT {
        return Err(invalid(field, format!("it has at most {MAX_FORMAT} bytes")));
    }
    match format["type"].as_str() {
        Some("text") => Ok(None),
        Some("json_object") => Ok(Some(format)),
        Some("json_schema") if format["json_schema"]["name"].is_string() => Ok(Some(format)),
        _ => Err(invalid(field, "its type is text, json_object, or json_schema with a name")),
    }
}

/// Returns a header's value if it is plain text that is not empty.
pub fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(body: Value) -> Result<Parameters, ApiError> {
        Parameters::of_chat(&mut Fields::of(body).unwrap())
    }

    #[test]
    fn parameters_are_read() {
        let format = json!({"type": "json_schema", "json_schema": {"name": "n", "schema": {}}});
        let read = read(json!({"temperature": 0.5, "max_tokens": 9, "max_completion_tokens": 7, "stop": "END", "n": 1,
            "reasoning_effort": "low", "response_format": format, "logprobs": false, "modalities": ["text"]}))
        .unwrap();
        assert_eq!((read.temperature, read.max_tokens), (Some(0.5), Some(7)));
        assert_eq!((read.form.effort.as_deref(), read.form.stop), (Some("low"), vec!["END".to_owned()]));
        assert_eq!(read.form.response_format, Some(format));
    }

    #[test]
    fn wrong_or_missing_parameter_is_named() {
        for (body, field) in [
            (json!({"n": 2}), "n"),
            (json!({"n": 0}), "n"),
            (json!({"logprobs": true}), "logprobs"),
            (json!({"top_logprobs": 3}), "logprobs"),
            (json!({"modalities": ["text", "audio"]}), "audio"),
            (json!({"audio": {}}), "audio"),
            (json!({"temperature": 3}), "temperature"),
            (json!({"temperature": "hot"}), "temperature"),
            (json!({"max_tokens": 0}), "max_tokens"),
            (json!({"stop": ["a", "b", "c", "d", "e"]}), "stop"),
            (json!({"stop": [1]}), "stop"),
            (json!({"reasoning_effort": "huge"}), "reasoning_effort"),
            (json!({"response_format": {"type": "xml"}}), "response_format"),
            (json!({"tools": {}}), "tools"),
        ] {
            assert_eq!(read(body).unwrap_err().field(), Some(field));
        }
    }
}
