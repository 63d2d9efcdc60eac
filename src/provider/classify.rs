//! Classifies a provider's errors by what a person can do about them.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::error::{ConnectionFailure, KeyProblem, ProviderError};
use super::reach::AddressRefused;

/// Maximum length of a quotation from a provider, in characters.
const MAX_QUOTE_CHARACTERS: usize = 300;

/// What the errors of one client refer to.
pub(super) struct ErrorContext {
    pub provider: String,
    pub model: String,
    /// Without credentials and query.
    pub address: String,
    /// The setting to check if the key is wrong.
    pub setting: String,
    /// Used only to redact it from the provider's message.
    pub key: Option<SecretString>,
}

/// A failed response: an HTTP error, or an error inside a stream.
pub(super) struct Failure<'a> {
    pub status: u16,
    /// `code` and `type` of the error object.
    pub code: String,
    pub provider_message: String,
    pub after: Option<Duration>,
    /// The text that the other fields were parsed from.
    pub text: &'a str,
}

impl ErrorContext {
    /// Classifies an HTTP response that is not a success.
    pub fn response(&self, status: u16, text: &str, after: Option<Duration>) -> ProviderError {
        let document: Value = serde_json::from_str(text).unwrap_or(Value::Null);
        let error = match &document {
            // Google's OpenAI-compatible API wraps its error in an array.
            Value::Array(items) => items.first().unwrap_or(&Value::Null),
            other => other,
        };
        let error = error.get("error").unwrap_or(error);
        let (code, provider_message) = (code_of(error), message_of(error));
        let html = text.trim_start().starts_with('<');
        let provider_message = if provider_message.is_empty() && !html && document.is_null() {
            text.trim().to_owned()
        } else {
            provider_message
        };
        self.classify(Failure { status, code, provider_message, after, text })
    }

    /// Classifies an error object inside a stream that started successfully.
    pub fn stream_error(&self, error: &Value) -> ProviderError {
        let number = |name: &str| match error.get(name) {
            Some(Value::Number(number)) => number.as_u64(),
            Some(Value::String(text)) => text.parse().ok(),
            _ => None,
        };
        let status = number("status").or_else(|| number("status_code")).or_else(|| number("code"));
        let code = code_of(error);
        let status = match status.and_then(|status| u16::try_from(status).ok()).filter(|s| (400..600).contains(s)) {
            Some(status) => status,
            None => status_of_code(&code),
        };
        let text = error.to_string();
        self.classify(Failure { status, code, provider_message: message_of(error), after: None, text: &text })
    }

    fn classify(&self, failure: Failure<'_>) -> ProviderError {
        let Failure { status, code, provider_message, after, text } = failure;
        let provider = self.provider.clone();
        let lower =
            format!("{code} {provider_message} {}", if provider_message.is_empty() { text } else { "" }).to_lowercase();
        let says = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
        let overflow = says(OVERFLOW) || lower.contains("input length") && lower.contains("range of");
        let provider_message = self.quote(&provider_message);
        match status {
            400 | 413 | 422 if overflow => ProviderError::ContextOverflow { limit: limit_of(text) },
            413 => ProviderError::ContextOverflow { limit: limit_of(text) },
            402 => ProviderError::Quota { provider, provider_message },
            400 | 403 | 429 if says(QUOTA) => ProviderError::Quota { provider, provider_message },
            400 if says(&["api key", "api_key", "apikey"]) && says(&["invalid", "incorrect", "not valid"]) => {
                self.auth(provider_message)
            }
            400 | 403 if says(FILTER) => ProviderError::Refused { provider, status, provider_message },
            401 | 403 => self.auth(provider_message),
            400 | 404 if says(MODEL) && says(MISSING) => {
                ProviderError::ModelNotFound { provider, model: self.model.clone(), provider_message }
            }
            404 | 405 => self.unreachable(ConnectionFailure::NoSuchPath),
            429 => ProviderError::RateLimited { provider, after },
            408 | 500..=599 => ProviderError::Server { provider, status, provider_message, after },
            _ => ProviderError::Refused { provider, status, provider_message },
        }
    }

    fn auth(&self, provider_message: String) -> ProviderError {
        let key = if self.key.is_some() { KeyProblem::NotAccepted } else { KeyProblem::Missing };
        self.key_error(key, provider_message)
    }

    pub fn key_error(&self, key: KeyProblem, provider_message: String) -> ProviderError {
        ProviderError::Auth { provider: self.provider.clone(), key, setting: self.setting.clone(), provider_message }
    }

    pub fn unreachable(&self, trouble: ConnectionFailure) -> ProviderError {
        ProviderError::Unreachable { provider: self.provider.clone(), address: self.address.clone(), trouble }
    }

    pub fn interrupted(&self, cause: impl Into<String>) -> ProviderError {
        ProviderError::Interrupted { provider: self.provider.clone(), cause: cause.into() }
    }

    pub fn bad_stream(&self, cause: impl Into<String>) -> ProviderError {
        ProviderError::BadStream { provider: self.provider.clone(), cause: cause.into() }
    }

    pub fn empty(&self) -> ProviderError {
        ProviderError::Empty { provider: self.provider.clone(), model: self.model.clone() }
    }

    /// Classifies the failure to send a request or to receive the response headers.
    pub fn transport(&self, error: &reqwest::Error) -> ProviderError {
        let causes = causes(error);
        let says = |parts: &[&str]| parts.iter().any(|part| causes.to_lowercase().contains(part));
        let last = || self.quote(causes.rsplit(": ").next().unwrap_or_default());
        let trouble = if error.is_builder() {
            ConnectionFailure::BadAddress("the request could not be built".to_owned())
        } else if let Some(why) = refused_address(error) {
            ConnectionFailure::BadAddress(why)
        } else if error.is_timeout() {
            ConnectionFailure::ConnectTimeout
        } else if says(&["dns error", "failed to lookup"]) {
            ConnectionFailure::Dns
        } else if says(&["connection refused"]) {
            ConnectionFailure::Refused
        } else if says(&["certificate", "tls", "handshake", "corrupt message", "invalidcontenttype"]) {
            ConnectionFailure::Tls(last())
        } else {
            ConnectionFailure::Other(last())
        };
        self.unreachable(trouble)
    }

    /// Returns a provider's message for display: one line, truncated, without the key.
    pub fn quote(&self, message: &str) -> String {
        let mut line = message.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some(key) = self.key.as_ref().map(|key| key.expose_secret().trim()).filter(|key| !key.is_empty()) {
            line = line.replace(key, "•••");
        }
        match line.char_indices().nth(MAX_QUOTE_CHARACTERS) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line.trim_end_matches('.').to_owned(),
        }
    }
}

/// Returns why no address of the name may be dialled, if that is the cause.
fn refused_address(error: &reqwest::Error) -> Option<String> {
    let first: &dyn std::error::Error = error;
    let mut causes = std::iter::successors(Some(first), |cause| cause.source());
    causes.find_map(|cause| cause.downcast_ref::<AddressRefused>()).map(ToString::to_string)
}

/// Returns the causes of the error; its address is left out because it may contain credentials.
fn causes(error: &reqwest::Error) -> String {
    let mut text = String::new();
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    if text.is_empty() { "the connection broke".to_owned() } else { text }
}

/// Returns the innermost cause of a broken body.
pub(super) fn break_cause(error: &reqwest::Error) -> String {
    let causes = causes(error);
    causes.rsplit(": ").next().unwrap_or("the connection broke").to_owned()
}

const OVERFLOW: &[&str] = &[
    "context_length",
    "context length",
    "context window",
    "context size",
    "maximum context",
    "exceed_context",
    "prompt is too long",
    "exceed context limit",
    "input is too long",
    "input_too_long",
    "too many input tokens",
    "exceeded model token limit",
    "prompt 超长",
    "prompt exceeds max length",
];
const QUOTA: &[&str] = &[
    "insufficient_quota",
    "exceeded your current quota",
    "exceeded_current_quota",
    "insufficient balance",
    "credit balance is too low",
    "insufficient_balance",
    "insufficient credits",
    "arrearage",
    "余额",
    "欠费",
    "suspended due to",
];
const FILTER: &[&str] = &[
    "content_filter",
    "content filter",
    "content exists risk",
    "data_inspection_failed",
    "datainspectionfailed",
    "moderation",
    "flagged",
    "unsupported_country",
    "敏感",
];
const MODEL: &[&str] = &["model", "模型"];
const MISSING: &[&str] = &[
    "not found",
    "not_found",
    "not exist",
    "no such",
    "not a valid model",
    "invalid model",
    "unknown model",
    "does not have access",
    "not supported model",
    "no endpoints found",
    "try pulling",
    "不存在",
];

/// Returns the HTTP status that matches the code or type of an error inside a stream.
fn status_of_code(code: &str) -> u16 {
    let code = code.to_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| code.contains(part));
    let known: [(&[&str], u16); 8] = [
        (&["rate_limit", "too_many", "quota"], 429),
        (&["api_key", "authentication", "unauthorized"], 401),
        (&["billing"], 402),
        (&["permission"], 403),
        (&["request_too_large"], 413),
        (&["overload", "unavailable"], 503),
        (&["invalid_request", "bad_request", "context_length", "exceed_context", "content_filter"], 400),
        (&["not_found"], 404),
    ];
    known.iter().find(|(parts, _)| has(parts)).map_or(500, |(_, status)| *status)
}

fn code_of(error: &Value) -> String {
    let part = |name: &str| match error.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    format!("{} {}", part("code"), part("type")).trim().to_owned()
}

fn message_of(error: &Value) -> String {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    match error {
        Value::String(message) => message.clone(),
        other => {
            // OpenRouter puts the upstream provider's own words into `metadata.raw`.
            let raw = other.get("metadata").and_then(|metadata| text(metadata, "raw"));
            let own = ["message", "detail", "msg"].iter().find_map(|name| text(other, name)).unwrap_or_default();
            match raw {
                Some(raw) if !raw.is_empty() => format!("{own}: {raw}"),
                Some(_) | None => own,
            }
        }
    }
}

/// Returns the context window that an error names: llama.cpp's `n_ctx` field, or the first number after a phrase that
/// introduces it.
fn limit_of(text: &str) -> Option<u32> {
    let lower = text.to_lowercase();
    [
        "\"n_ctx\"",
        "maximum context length is",
        "model token limit:",
        "context window of",
        "context length of only",
        "context length of",
        "should be [1,",
        "context size (",
        "maximum:",
        " tokens > ",
    ]
    .iter()
    .find_map(|lead| {
        let after = &lower[lower.find(lead)? + lead.len()..];
        let number: String = after
            .trim_start_matches([' ', ':', '"', '['])
            .chars()
            .take_while(|c| c.is_ascii_digit() || *c == ',')
            .filter(char::is_ascii_digit)
            .collect();
        number.parse().ok().filter(|limit| *limit > 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn error_context() -> ErrorContext {
        ErrorContext {
            provider: "P".into(),
            model: "m".into(),
            address: "https://p.example/v1".into(),
            setting: "P_KEY".into(),
            key: Some(SecretString::from("sk-secret")),
        }
    }

    #[test]
    fn responses_are_classified_by_remedy() {
        // Status, body as a provider sends it, expected code.
        for (status, body, code) in [
            (
                401,
                r#"{"error":{"message":"Authentication Fails, Your api key: ****3a9c is invalid","type":"authentication_error"}}"#,
                "auth",
            ),
            (403, r#"{"error":{"message":"Access denied","code":"access_denied"}}"#, "auth"),
            (
                400,
                r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]"#,
                "auth",
            ),
            (
                402,
                r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}"#,
                "quota",
            ),
            (
                429,
                r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
                "quota",
            ),
            (429, r#"{"error":{"code":"1113","message":"您的账户已欠费，请充值后重试。"}}"#, "quota"),
            (
                400,
                r#"{"error":{"code":"Arrearage","message":"Access denied, please make sure your account is in good standing."}}"#,
                "quota",
            ),
            (
                429,
                r#"{"error":{"message":"Rate limit reached for requests","type":"requests","code":"rate_limit_exceeded"}}"#,
                "rate_limited",
            ),
            (429, "Too Many Requests", "rate_limited"),
            (
                404,
                r#"{"error":{"message":"model "qwen3" not found, try pulling it first","type":"api_error"}}"#,
                "model_not_found",
            ),
            (
                404,
                r#"{"object":"error","message":"The model `x` does not exist.","type":"NotFoundError","code":404}"#,
                "model_not_found",
            ),
            (
                400,
                r#"{"error":{"message":"Model Not Exist","type":"invalid_request_error","code":"invalid_request_error"}}"#,
                "model_not_found",
            ),
            (400, r#"{"error":{"message":"x/y is not a valid model ID","code":400}}"#, "model_not_found"),
            (400, r#"{"error":{"code":"1211","message":"模型不存在，请检查模型代码。"}}"#, "model_not_found"),
            (404, "404 page not found", "unreachable"),
            (405, r#"{"detail":"Method Not Allowed"}"#, "unreachable"),
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.","code":"context_length_exceeded"}}"#,
                "context_overflow",
            ),
            (413, "<html>Request Entity Too Large</html>", "context_overflow"),
            (400, r#"{"error":{"message":"Content Exists Risk","type":"invalid_request_error"}}"#, "refused"),
            (
                400,
                r#"{"error":{"code":"data_inspection_failed","message":"Input data may contain inappropriate content."}}"#,
                "refused",
            ),
            (
                403,
                r#"{"error":{"code":403,"message":"Your input was flagged","metadata":{"reasons":["violence"]}}}"#,
                "refused",
            ),
            (
                400,
                r#"{"error":{"message":"max_tokens is too large: 99999. This model supports at most 16384 completion tokens","code":"invalid_value"}}"#,
                "refused",
            ),
            (422, r#"{"detail":[{"loc":["body","messages"],"msg":"field required"}]}"#, "refused"),
            (500, "", "server"),
            (503, r#"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#, "server"),
            (529, r#"{"error":{"type":"overloaded_error"}}"#, "server"),
            (408, "", "server"),
        ] {
            let error = error_context().response(status, body, None);
            assert_eq!(error.code(), code, "{status} {body}: {error}");
        }
    }

    #[test]
    fn overflow_wordings_are_recognised_with_limit() {
        for (body, limit) in [
            (
                r#"{"error":{"message":"This model's maximum context length is 65536 tokens. However, you requested 70000 tokens"}}"#,
                Some(65_536),
            ),
            (
                r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}"#,
                Some(4_096),
            ),
            (
                r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)","type":"invalid_request_error"}}"#,
                Some(8_192),
            ),
            (
                r#"{"error":{"message":"Range of input length should be [1, 129024]","code":"invalid_parameter_error"}}"#,
                Some(129_024),
            ),
            (r#"{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#, Some(200_000)),
            (
                r#"{"error":{"message":"This endpoint's maximum context length is 131,072 tokens.","code":400}}"#,
                Some(131_072),
            ),
            (
                r#"{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"}"#,
                Some(4_096),
            ),
            (r#"{"error":{"code":"1261","message":"Prompt 超长"}}"#, None),
        ] {
            assert_eq!(error_context().response(400, body, None), ProviderError::ContextOverflow { limit }, "{body}");
        }
    }

    #[test]
    fn stream_error_is_classified_as_http_error() {
        for (error, code) in [
            (json!({"code": 429, "message": "slow down"}), "rate_limited"),
            (json!({"code": "429", "message": "slow down"}), "rate_limited"),
            (json!({"code": "rate_limit_exceeded", "message": "slow down"}), "rate_limited"),
            (json!({"type": "insufficient_quota", "message": "no"}), "quota"),
            (json!({"code": "invalid_api_key", "message": "no"}), "auth"),
            (json!({"type": "exceed_context_size_error", "message": "too long", "n_ctx": 4096}), "context_overflow"),
            (json!({"code": "model_not_found", "message": "The model is not found"}), "model_not_found"),
            (json!({"code": 502, "message": "Provider disconnected"}), "server"),
            (json!({"type": "server_error"}), "server"),
            (json!("something broke"), "server"),
            (json!({"code": "1234", "message": "?"}), "server"),
        ] {
            assert_eq!(error_context().stream_error(&error).code(), code, "{error}");
        }
    }

    #[test]
    fn quoted_response_is_short_and_without_key() {
        assert_eq!(error_context().quote("Your key  sk-secret\nis wrong."), "Your key ••• is wrong");
        assert_eq!(error_context().quote(&"é".repeat(400)).chars().count(), 301);
        let raw = json!({"message": "Provider returned error", "code": 502, "metadata": {"raw": "upstream says no"}});
        assert!(
            error_context().stream_error(&raw).to_string().contains("\"Provider returned error: upstream says no\"")
        );
        let html = error_context().response(502, "<html><body>Bad Gateway</body></html>", None).to_string();
        assert!(!html.contains('<'), "{html}");
    }
}
