//! The parameters of an error's message, by name. A page needs only them and the error's code to translate the message.

use super::error::{ConnectionFailure, Key, Phase, ProviderError};
use crate::domain::ErrorFields;

impl ProviderError {
    /// Returns `provider` (except for a context overflow), and depending on the code: `key` and `setting`; `said`, the
    /// provider's own words; `model`; `limit` in tokens; `after` and `waited` in seconds; `status`; `address`;
    /// `trouble` or `phase`, a stable word; `cause`. Unknown values are absent.
    pub fn about(&self) -> ErrorFields {
        let mut about = ErrorContext::default();
        match self {
            Self::Auth { provider, key, setting, words } => {
                about.tell("provider", provider).tell("key", key.word()).tell("setting", setting).tell("said", words)
            }
            Self::Quota { provider, words } => about.tell("provider", provider).tell("said", words),
            Self::ModelNotFound { provider, model, words } => {
                about.tell("provider", provider).tell("model", model).tell("said", words)
            }
            Self::ContextOverflow { limit } => about.tell_known("limit", *limit),
            Self::RateLimited { provider, after } => {
                about.tell("provider", provider).tell_known("after", after.map(seconds))
            }
            Self::Unreachable { provider, address, trouble } => {
                let (word, cause) = trouble.word();
                about.tell("provider", provider).tell("address", address).tell("trouble", word).tell("cause", cause)
            }
            Self::Timeout { provider, phase, waited } => about
                .tell("provider", provider)
                .tell("phase", phase.word())
                .tell("waited", waited.as_secs().to_string()),
            Self::Interrupted { provider, cause } | Self::BadStream { provider, cause } => {
                about.tell("provider", provider).tell("cause", cause)
            }
            Self::Refused { provider, status, words } => {
                about.tell("provider", provider).tell("status", status.to_string()).tell("said", words)
            }
            Self::Server { provider, status, words, after } => {
                about.tell("provider", provider).tell("status", status.to_string()).tell("said", words);
                about.tell_known("after", after.map(seconds))
            }
            Self::Empty { provider, model } => about.tell("provider", provider).tell("model", model),
        };
        about.0
    }
}

#[derive(Default)]
struct ErrorContext(ErrorFields);

impl ErrorContext {
    fn tell(&mut self, name: &str, value: impl AsRef<str>) -> &mut Self {
        if !value.as_ref().is_empty() {
            self.0.insert(name.to_owned(), value.as_ref().to_owned());
        }
        self
    }

    fn tell_known(&mut self, name: &str, value: Option<impl ToString>) -> &mut Self {
        self.tell(name, value.map(|value| value.to_string()).unwrap_or_default())
    }
}

fn seconds(time: std::time::Duration) -> u64 {
    time.as_secs_f64().ceil() as u64
}

impl Key {
    fn word(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::NotAccepted => "not_accepted",
            Self::Unsendable => "unsendable",
        }
    }
}

impl Phase {
    fn word(self) -> &'static str {
        match self {
            Self::FirstByte => "first_byte",
            Self::Idle => "idle",
        }
    }
}

impl ConnectionFailure {
    /// Returns the stable word, and the text of `cause`.
    fn word(&self) -> (&'static str, &str) {
        match self {
            Self::BadAddress(why) => ("bad_address", why),
            Self::Dns => ("dns", ""),
            Self::Refused => ("refused", ""),
            Self::ConnectTimeout => ("connect_timeout", ""),
            Self::Tls(detail) => ("tls", detail),
            Self::Redirected(to) => ("redirected", to),
            Self::NoSuchPath => ("no_such_path", ""),
            Self::NotAnApi => ("not_an_api", ""),
            Self::Other(cause) => ("other", cause),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn about(error: &ProviderError) -> String {
        let about = error.about();
        about.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn error_parameters_match_message() {
        let provider = || "DeepSeek".to_owned();
        let auth = ProviderError::Auth {
            provider: provider(),
            key: Key::NotAccepted,
            setting: "DEEPSEEK_API_KEY".into(),
            words: "no".into(),
        };
        assert_eq!(about(&auth), "key=not_accepted provider=DeepSeek said=no setting=DEEPSEEK_API_KEY");
        let limited = ProviderError::RateLimited { provider: provider(), after: Some(Duration::from_millis(1_200)) };
        assert_eq!(about(&limited), "after=2 provider=DeepSeek");
        let server = ProviderError::Server { provider: provider(), status: 503, words: String::new(), after: None };
        assert_eq!(about(&server), "provider=DeepSeek status=503");
        let trouble = ConnectionFailure::Redirected("http://other".into());
        let unreachable = ProviderError::Unreachable { provider: provider(), address: "http://a".into(), trouble };
        assert_eq!(about(&unreachable), "address=http://a cause=http://other provider=DeepSeek trouble=redirected");
        assert_eq!(about(&ProviderError::ContextOverflow { limit: None }), "");
        assert_eq!(about(&ProviderError::ContextOverflow { limit: Some(8192) }), "limit=8192");
    }
}
