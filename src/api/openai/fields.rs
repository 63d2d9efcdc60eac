//! Reads the fields of a request one by one, so that each error names its field, and those that nobody reads are known.

use serde_json::{Map, Value};

use super::error::invalid;
use crate::api::error::ApiError;

/// Maximum number and length of the names that are told as ignored.
const MAX_NAMES: usize = 20;
const MAX_NAME: usize = 64;

/// The fields of a request that have not been read.
pub struct Fields(Map<String, Value>);

impl Fields {
    /// # Errors
    /// Returns an error if the body is no object.
    pub fn of(body: Value) -> Result<Self, ApiError> {
        match body {
            Value::Object(fields) => Ok(Self(fields)),
            _ => Err(ApiError::bad_request("bad_json", "the body is a JSON object")),
        }
    }

    /// Takes a field; `null` counts as absent.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        self.0.shift_remove(name).filter(|value| !value.is_null())
    }

    /// # Errors
    /// Returns an error if it is no text. So do the others below if it has another type.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, ApiError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(invalid(name, format!("{name} is a string"))),
        }
    }

    pub fn flag(&mut self, name: &str) -> Result<Option<bool>, ApiError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(_) => Err(invalid(name, format!("{name} is true or false"))),
        }
    }

    /// Takes a whole number that is at least 1.
    pub fn count(&mut self, name: &str) -> Result<Option<u32>, ApiError> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let count = value.as_u64().and_then(|count| u32::try_from(count).ok()).filter(|count| *count > 0);
        count.map(Some).ok_or_else(|| invalid(name, format!("{name} is a whole number from 1 on")))
    }

    pub fn number(&mut self, name: &str) -> Result<Option<f64>, ApiError> {
        match self.take(name) {
            None => Ok(None),
            Some(value) => value.as_f64().map(Some).ok_or_else(|| invalid(name, format!("{name} is a number"))),
        }
    }

    pub fn list(&mut self, name: &str) -> Result<Option<Vec<Value>>, ApiError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(_) => Err(invalid(name, format!("{name} is an array"))),
        }
    }

    pub fn object(&mut self, name: &str) -> Result<Option<Map<String, Value>>, ApiError> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Object(fields)) => Ok(Some(fields)),
            Some(_) => Err(invalid(name, format!("{name} is an object"))),
        }
    }

    /// Returns the names of the fields that nobody has taken, for a header.
    pub fn ignored(self) -> Vec<String> {
        let plain = |name: &String| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
            name.len() <= MAX_NAME && name.chars().all(is_plain)
        };
        let set = self.0.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, _)| name);
        set.filter(plain).take(MAX_NAMES).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn wrong_type_names_its_field() {
        let mut fields = Fields::of(json!({"a": 1, "b": "x", "c": -1, "d": null, "e": 3, "bad\nname": 1})).unwrap();
        assert_eq!(fields.text("a").unwrap_err().field(), Some("a"));
        assert_eq!(fields.number("b").unwrap_err().field(), Some("b"));
        assert_eq!(fields.count("c").unwrap_err().field(), Some("c"));
        assert_eq!(fields.text("d").unwrap(), None);
        assert_eq!(fields.ignored(), ["e"]);
        assert!(Fields::of(json!([])).is_err());
    }
}
