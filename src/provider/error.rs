//! Why a turn failed, one variant for each thing a caller or a person can do about it.

use std::time::Duration;

/// The step that timed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutPhase {
    /// The provider did not start to answer.
    FirstByte,
    /// The answer started, and then made no progress.
    Idle,
}

/// The problem with the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyProblem {
    Missing,
    NotAccepted,
    /// It contains characters that cannot be sent, such as a line break in its middle.
    Unsendable,
}

/// The reason why a provider cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectionFailure {
    /// No request can be sent to `base_url`.
    BadAddress(String),
    /// The host name could not be resolved.
    Dns,
    /// Nothing listens at the address.
    Refused,
    ConnectTimeout,
    /// No secure connection; the detail names the certificate's problem if that is the cause.
    Tls(String),
    /// The server redirects the request, which the client never follows: the key would go to the other address.
    Redirected(String),
    /// A server answers, but does not have this API at this path.
    NoSuchPath,
    /// The answer is a web page or something else that is not from this API.
    NotAnApi,
    /// Any other connection failure.
    Other(String),
    /// A person who does not configure the server is not told: the cause would name the address.
    Undisclosed(Persistence),
}

/// Whether a failure may pass by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persistence {
    Transient,
    Lasting,
}

/// The reason why a turn failed. Each message tells a person what happened and what to do. No message contains a key.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProviderError {
    /// `setting` names where to set the missing or wrong key.
    #[error("{provider} {} {setting}.{}", key_fault(*key), provider_said(provider_message))]
    Auth { provider: String, key: KeyProblem, setting: String, provider_message: String },
    #[error(
        "The {provider} account is out of credit or quota. Top it up, or choose another model.{}",
        provider_said(provider_message)
    )]
    Quota { provider: String, provider_message: String },
    #[error("{provider} doesn't offer the model \"{model}\". Choose another model.{}", provider_said(provider_message))]
    ModelNotFound { provider: String, model: String, provider_message: String },
    /// `limit` is the context window in tokens, if the provider named it.
    #[error("The conversation exceeds the model's context window{}. Compact it, or start a new one.", window(*limit))]
    ContextOverflow { limit: Option<u32> },
    #[error("{provider}: Rate limit reached (429). Try again{}.", later(*after))]
    RateLimited { provider: String, after: Option<Duration> },
    #[error("{}", unreachable(provider, address, trouble))]
    Unreachable { provider: String, address: String, trouble: ConnectionFailure },
    #[error("{provider} {} {} s. Try again. If this keeps happening, the server may be overloaded or down.", silence(*phase), waited.as_secs())]
    Timeout { provider: String, phase: TimeoutPhase, waited: Duration },
    /// The stream broke; the output so far is valid but incomplete.
    #[error("The response from {provider} was interrupted ({cause}). Continue or try again.")]
    Interrupted { provider: String, cause: String },
    #[error("The response from {provider} can't be read ({cause}). Check that the base URL is that of its API.")]
    BadStream { provider: String, cause: String },
    /// The request itself was not accepted; sending it again would not help.
    #[error(
        "{provider} rejected the request ({status}).{} Change the request, or choose another model.",
        provider_said(provider_message)
    )]
    Refused { provider: String, status: u16, provider_message: String },
    #[error("{provider} returned a server error ({status}).{} Try again{}.", provider_said(provider_message), later(*after))]
    Server { provider: String, status: u16, provider_message: String, after: Option<Duration> },
    #[error("{model} at {provider} returned an empty response. Try again, or rephrase your message.")]
    Empty { provider: String, model: String },
}

impl ProviderError {
    /// Returns the stable code of this kind of error, for files and frames.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Auth { .. } => "auth",
            Self::Quota { .. } => "quota",
            Self::ModelNotFound { .. } => "model_not_found",
            Self::ContextOverflow { .. } => "context_overflow",
            Self::RateLimited { .. } => "rate_limited",
            Self::Unreachable { .. } => "unreachable",
            Self::Timeout { .. } => "timeout",
            Self::Interrupted { .. } => "interrupted",
            Self::BadStream { .. } => "bad_stream",
            Self::Refused { .. } => "refused",
            Self::Server { .. } => "server",
            Self::Empty { .. } => "empty",
        }
    }

    /// Returns this error without the provider's address, which is for those who configure the server.
    #[must_use]
    pub fn without_address(self) -> Self {
        match self {
            Self::Unreachable { provider, trouble, .. } => {
                let trouble = match trouble.is_transient() {
                    true => ConnectionFailure::Undisclosed(Persistence::Transient),
                    false => ConnectionFailure::Undisclosed(Persistence::Lasting),
                };
                Self::Unreachable { provider, address: String::new(), trouble }
            }
            other => other,
        }
    }

    /// Returns what happened without advice, for a status line during retries.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::RateLimited { provider, .. } => format!("{provider}: Rate limit reached (429), waiting"),
            Self::Server { provider, status, .. } => format!("{provider} returned a server error ({status}), retrying"),
            Self::Unreachable { provider, .. } => format!("Can't reach {provider}, retrying"),
            Self::Timeout { provider, .. } => format!("{provider} isn't responding, retrying"),
            Self::Interrupted { provider, .. } => format!("Connection to {provider} lost, retrying"),
            Self::Empty { provider, .. } => format!("{provider} returned an empty response, retrying"),
            Self::Auth { .. }
            | Self::Quota { .. }
            | Self::ModelNotFound { .. }
            | Self::ContextOverflow { .. }
            | Self::BadStream { .. }
            | Self::Refused { .. } => self.to_string(),
        }
    }

    /// Whether the provider and not the request is at fault, so that another provider may answer.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::RateLimited { .. }
            | Self::Quota { .. }
            | Self::Timeout { .. }
            | Self::Interrupted { .. }
            | Self::BadStream { .. }
            | Self::Server { .. }
            | Self::Empty { .. }
            | Self::Unreachable { .. } => true,
            Self::Auth { .. } | Self::ModelNotFound { .. } | Self::ContextOverflow { .. } | Self::Refused { .. } => {
                false
            }
        }
    }

    /// Whether the same request may succeed later.
    pub fn retryable(&self) -> bool {
        match self {
            Self::RateLimited { .. }
            | Self::Timeout { .. }
            | Self::Interrupted { .. }
            | Self::Server { .. }
            | Self::Empty { .. } => true,
            Self::Unreachable { trouble, .. } => trouble.is_transient(),
            Self::Auth { .. }
            | Self::Quota { .. }
            | Self::ModelNotFound { .. }
            | Self::ContextOverflow { .. }
            | Self::BadStream { .. }
            | Self::Refused { .. } => false,
        }
    }
}

impl ConnectionFailure {
    /// Whether the failure may be temporary.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Dns | Self::Refused | Self::ConnectTimeout | Self::Tls(_) | Self::Other(_) => true,
            Self::BadAddress(_) | Self::Redirected(_) | Self::NoSuchPath | Self::NotAnApi => false,
            Self::Undisclosed(persistence) => *persistence == Persistence::Transient,
        }
    }
}

fn provider_said(provider_message: &str) -> String {
    if provider_message.is_empty() { String::new() } else { format!(" Provider message: \"{provider_message}\".") }
}

fn key_fault(key: KeyProblem) -> &'static str {
    match key {
        KeyProblem::Missing => "requires an API key. Set",
        KeyProblem::NotAccepted => "rejected the API key. Check",
        KeyProblem::Unsendable => "can't be used with this API key: it contains invalid characters. Check",
    }
}

fn window(limit: Option<u32>) -> String {
    limit.map_or(String::new(), |tokens| format!(" ({tokens} tokens)"))
}

fn silence(phase: TimeoutPhase) -> &'static str {
    match phase {
        TimeoutPhase::FirstByte => "didn't start responding within",
        TimeoutPhase::Idle => "started responding and then sent nothing for",
    }
}

fn later(after: Option<Duration>) -> String {
    match after.map(|time| time.as_secs_f64().ceil() as u64) {
        None => " later".to_owned(),
        Some(seconds @ 0..=119) => format!(" in {seconds} s"),
        Some(seconds @ 120..=7_199) => format!(" in {} minutes", seconds.div_ceil(60)),
        Some(seconds) => format!(" in {} hours", seconds.div_ceil(3_600)),
    }
}

fn unreachable(provider: &str, address: &str, trouble: &ConnectionFailure) -> String {
    let (what, todo) = match trouble {
        ConnectionFailure::BadAddress(why) => (why.clone(), "Correct base_url in the settings"),
        ConnectionFailure::Dns => ("host name not found".to_owned(), "Check base_url and the network connection"),
        ConnectionFailure::Refused => ("connection refused".to_owned(), "Start the server, or correct base_url"),
        ConnectionFailure::ConnectTimeout => {
            ("no response within 10 s".to_owned(), "Check base_url, the network connection and any proxy")
        }
        ConnectionFailure::Tls(detail) => (
            format!("the TLS connection failed ({detail})"),
            "Check that base_url starts with the correct http:// or https://, and that this machine's certificates are up to date",
        ),
        ConnectionFailure::Redirected(to) => (
            format!("it redirects to {to}, and API keys are never sent to another address"),
            "If that address is correct, use it as base_url",
        ),
        ConnectionFailure::NoSuchPath => {
            ("API not found at this path (404)".to_owned(), "Check base_url: it often ends in /v1")
        }
        ConnectionFailure::NotAnApi => {
            ("received a web page instead of an API response".to_owned(), "Check base_url: it often ends in /v1")
        }
        ConnectionFailure::Other(cause) => (cause.clone(), "Check the network connection and try again"),
        ConnectionFailure::Undisclosed(_) => {
            return format!(
                "Can't reach {provider}. Try again later, or tell an admin of this server, who can see why."
            );
        }
    };
    format!("Can't reach {provider} at {address}: {what}. {todo}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_state_cause_and_remedy() {
        let provider = || "DeepSeek".to_owned();
        let cases = [
            (
                ProviderError::RateLimited { provider: provider(), after: Some(Duration::from_secs(86_400)) },
                "DeepSeek: Rate limit reached (429). Try again in 24 hours.",
            ),
            (
                ProviderError::Server {
                    provider: provider(),
                    status: 503,
                    provider_message: "busy".into(),
                    after: None,
                },
                "DeepSeek returned a server error (503). Provider message: \"busy\". Try again later.",
            ),
            (
                ProviderError::Unreachable {
                    provider: "Ollama".into(),
                    address: "http://127.0.0.1:11434".into(),
                    trouble: ConnectionFailure::Refused,
                },
                "Can't reach Ollama at http://127.0.0.1:11434: connection refused. Start the server, or correct base_url.",
            ),
            (
                ProviderError::ContextOverflow { limit: Some(8192) },
                "The conversation exceeds the model's context window (8192 tokens). Compact it, or start a new one.",
            ),
            (
                ProviderError::Timeout {
                    provider: provider(),
                    phase: TimeoutPhase::Idle,
                    waited: Duration::from_secs(90),
                },
                "DeepSeek started responding and then sent nothing for 90 s. Try again. If this keeps happening, the server may be overloaded or down.",
            ),
        ];
        for (error, text) in cases {
            assert_eq!(error.to_string(), text);
        }
    }
}
