//! `traces` in config.yml: the collector that gets traces of works, over OTLP.

use std::collections::{BTreeMap, HashMap};

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use super::{ConfigError, Environment, bad, substitute};

/// The path of traces at a collector.
const PATH: &str = "/v1/traces";

/// Where traces are sent.
#[derive(Clone, Debug)]
pub struct TracesConfig {
    pub url: Url,
    /// Headers of each request, such as `authorization`.
    pub headers: HashMap<String, SecretString>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    endpoint: String,
    #[serde(default)]
    headers: BTreeMap<String, SecretString>,
}

/// # Errors
/// Returns an error if the address is none, or if a header has a name or value that HTTP does not allow, or names a variable that is not
/// set. No value is in it.
pub(super) fn traces(entry: Option<&Entry>, environment: &Environment) -> Result<Option<TracesConfig>, ConfigError> {
    let Some(entry) = entry else { return Ok(None) };
    let wrong = |field: &str, message: String| bad(&format!("traces.{field}"), message);
    let refused = || {
        let message =
            "it is not the address of a collector, such as http://127.0.0.1:4318; a secret belongs in `headers`";
        wrong("endpoint", message.to_owned())
    };
    let mut url = Url::parse(&entry.endpoint).map_err(|_| refused())?;
    let is_plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    if !matches!(url.scheme(), "http" | "https") || !is_plain || url.fragment().is_some() {
        return Err(refused());
    }
    if !url.path().ends_with(PATH) {
        let path = format!("{}{PATH}", url.path().trim_end_matches('/'));
        url.set_path(&path);
    }
    let mut headers = HashMap::new();
    for (name, value) in &entry.headers {
        let field = format!("headers.{name}");
        let value = substitute(value.expose_secret(), environment)
            .map_err(|variable| wrong(&field, format!("the variable {variable} is not set")))?;
        if !is_token(name) || !value.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return Err(wrong(&field, "HTTP does not allow this name or value".to_owned()));
        }
        headers.insert(name.clone(), SecretString::from(value));
    }
    Ok(Some(TracesConfig { url, headers }))
}

/// Whether HTTP allows the name of a header (RFC 9110, 5.6.2).
fn is_token(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<TracesConfig>, ConfigError> {
        let nowhere = std::path::Path::new("/nonexistent");
        let environment = Environment::load(nowhere, [("KEY".to_owned(), "canary".to_owned())].into_iter()).unwrap();
        traces(Some(&serde_json::from_str(text).unwrap()), &environment)
    }

    #[test]
    fn collector_is_named_by_its_address() {
        for (endpoint, url) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("https://traces.example/otlp/", "https://traces.example/otlp/v1/traces"),
            ("https://traces.example/v1/traces", "https://traces.example/v1/traces"),
        ] {
            let config = read(&format!(r#"{{"endpoint": "{endpoint}"}}"#)).unwrap().unwrap();
            assert_eq!(config.url.as_str(), url);
        }
        let config = read(r#"{"endpoint": "http://h", "headers": {"authorization": "Bearer ${KEY}"}}"#);
        let config = config.unwrap().unwrap();
        assert_eq!(config.headers["authorization"].expose_secret(), "Bearer canary");
        assert!(!format!("{config:?}").contains("canary"));
    }

    #[test]
    fn wrong_collectors_are_refused_without_their_secrets() {
        for text in [
            r#"{"endpoint": "traces.example:4318"}"#,
            r#"{"endpoint": "ftp://h"}"#,
            r#"{"endpoint": "https://canary@h"}"#,
            r#"{"endpoint": "https://h?key=canary"}"#,
            r#"{"endpoint": "http://h", "headers": {"a b": "canary"}}"#,
            r#"{"endpoint": "http://h", "headers": {"a": "canary\n"}}"#,
            r#"{"endpoint": "http://h", "headers": {"a": "${MISSING}"}}"#,
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains("traces.") && !error.contains("canary"), "{text}: {error}");
        }
    }
}
