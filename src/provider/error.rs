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
}

/// The reason why a turn failed. Each message tells a person what happened and what to do. No message contains a key.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProviderError {
    /// `setting` names where to set the missing or wrong key.
    #[error("{provider} {} {setting}.{}", key_fault(*key), provider_said(provider_message))]
    Auth { provider: String, key: KeyProblem, setting: String, provider_message: String },
    #[error(
        "The account at {provider} has no credit or quota left. Top it up, or choose another model.{}",
        provider_said(provider_message)
    )]
    Quota { provider: String, provider_message: String },
    #[error(
        "{provider} does not offer the model \"{model}\". Choose another model in the settings.{}",
        provider_said(provider_message)
    )]
    ModelNotFound { provider: String, model: String, provider_message: String },
    /// `limit` is the context window in tokens, if the provider named it.
    #[error("The conversation is longer than the model can read{}. Compress it, or start a new session.", window(*limit))]
    ContextOverflow { limit: Option<u32> },
    #[error("{provider} allows no more requests for now. Try again{}.", later(*after))]
    RateLimited { provider: String, after: Option<Duration> },
    #[error("{}", unreachable(provider, address, trouble))]
    Unreachable { provider: String, address: String, trouble: ConnectionFailure },
    #[error("{provider} {} for {} s. Try again; if it stays so, the server is overloaded or down.", silence(*phase), waited.as_secs())]
    Timeout { provider: String, phase: TimeoutPhase, waited: Duration },
    /// The stream broke; the output so far is valid but incomplete.
    #[error("The answer from {provider} broke off before its end ({cause}). Continue or try again.")]
    Interrupted { provider: String, cause: String },
    #[error(
        "{provider} answered in a form that cannot be read ({cause}). Check that the address is an OpenAI-compatible API."
    )]
    BadStream { provider: String, cause: String },
    /// The request itself was not accepted; sending it again would not help.
    #[error(
        "{provider} refused the request ({status}).{} Change the request or the model.",
        provider_said(provider_message)
    )]
    Refused { provider: String, status: u16, provider_message: String },
    #[error("{provider} has a fault of its own ({status}).{} Try again{}.", provider_said(provider_message), later(*after))]
    Server { provider: String, status: u16, provider_message: String, after: Option<Duration> },
    #[error("The model {model} at {provider} returned nothing. Try again, or ask in other words.")]
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

    /// Returns what happened without advice, for a status line during retries.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::RateLimited { provider, .. } => format!("{provider} asks to wait"),
            Self::Server { provider, status, .. } => format!("{provider} has a fault ({status}), trying again"),
            Self::Unreachable { provider, .. } => format!("{provider} cannot be reached, trying again"),
            Self::Timeout { provider, .. } => format!("{provider} is silent, trying again"),
            Self::Interrupted { provider, .. } => format!("The connection to {provider} broke, trying again"),
            Self::Empty { provider, .. } => format!("{provider} returned nothing, trying again"),
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
        }
    }
}

fn provider_said(provider_message: &str) -> String {
    if provider_message.is_empty() { String::new() } else { format!(" It said: \"{provider_message}\".") }
}

fn key_fault(key: KeyProblem) -> &'static str {
    match key {
        KeyProblem::Missing => "wants an API key, and there is none. Set",
        KeyProblem::NotAccepted => "did not accept the API key. Check",
        KeyProblem::Unsendable => "cannot be asked with this API key: it has characters that no key has. Check",
    }
}

fn window(limit: Option<u32>) -> String {
    limit.map_or(String::new(), |tokens| format!(" ({tokens} tokens)"))
}

fn silence(phase: TimeoutPhase) -> &'static str {
    match phase {
        TimeoutPhase::FirstByte => "did not begin to answer",
        TimeoutPhase::Idle => "began to answer and then said nothing new",
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
        ConnectionFailure::Dns => {
            ("the name could not be found".to_owned(), "Check base_url and the network connection")
        }
        ConnectionFailure::Refused => {
            ("nothing is listening there".to_owned(), "Start the server, or correct base_url")
        }
        ConnectionFailure::ConnectTimeout => {
            ("it did not answer within 10 s".to_owned(), "Check base_url, the network connection and any proxy")
        }
        ConnectionFailure::Tls(detail) => (
            format!("no secure connection ({detail})"),
            "Check that base_url begins with the right http:// or https:// and that this machine's certificates are current",
        ),
        ConnectionFailure::Redirected(to) => (
            format!("it redirects to {to}, and a key is never sent on to another address"),
            "If that address is right, put it into base_url",
        ),
        ConnectionFailure::NoSuchPath => {
            ("there is no such API at this path (404)".to_owned(), "Check base_url: it often ends in /v1")
        }
        ConnectionFailure::NotAnApi => {
            ("a web page came back instead of an answer".to_owned(), "Check base_url: it often ends in /v1")
        }
        ConnectionFailure::Other(cause) => (cause.clone(), "Check the network connection and try again"),
    };
    format!("{provider} cannot be reached at {address}: {what}. {todo}.")
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
                "DeepSeek allows no more requests for now. Try again in 24 hours.",
            ),
            (
                ProviderError::Server {
                    provider: provider(),
                    status: 503,
                    provider_message: "busy".into(),
                    after: None,
                },
                "DeepSeek has a fault of its own (503). It said: \"busy\". Try again later.",
            ),
            (
                ProviderError::Unreachable {
                    provider: "Ollama".into(),
                    address: "http://127.0.0.1:11434".into(),
                    trouble: ConnectionFailure::Refused,
                },
                "Ollama cannot be reached at http://127.0.0.1:11434: nothing is listening there. Start the server, or correct base_url.",
            ),
            (
                ProviderError::ContextOverflow { limit: Some(8192) },
                "The conversation is longer than the model can read (8192 tokens). Compress it, or start a new session.",
            ),
            (
                ProviderError::Timeout {
                    provider: provider(),
                    phase: TimeoutPhase::Idle,
                    waited: Duration::from_secs(90),
                },
                "DeepSeek began to answer and then said nothing new for 90 s. Try again; if it stays so, the server is overloaded or down.",
            ),
        ];
        for (error, text) in cases {
            assert_eq!(error.to_string(), text);
        }
    }
}
