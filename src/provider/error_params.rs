//! The parameters of an error's message, by name. A page needs only them and the error's code to translate the message.

use super::error::{ConnectionFailure, KeyProblem, ProviderError, TimeoutPhase};
use crate::domain::ErrorParams;

impl ProviderError {
    /// Returns `provider` (except for a context overflow), and depending on the code: `key` and `setting`; `said`, the
    /// provider's own words; `model`; `limit` in tokens; `after` and `waited` in seconds; `status`; `address`;
    /// `trouble` or `phase`, a stable word; `cause`. Unknown values are absent.
    pub fn params(&self) -> ErrorParams {
        let mut params = ParamsBuilder::default();
        match self {
            Self::Auth { provider, key, setting, provider_message } => params
                .set("provider", provider)
                .set("key", key.word())
                .set("setting", setting)
                .set("said", provider_message),
            Self::Quota { provider, provider_message } => {
                params.set("provider", provider).set("said", provider_message)
            }
            Self::ModelNotFound { provider, model, provider_message } => {
                params.set("provider", provider).set("model", model).set("said", provider_message)
            }
            Self::ContextOverflow { limit } => params.set_known("limit", *limit),
            Self::RateLimited { provider, after } => {
                params.set("provider", provider).set_known("after", after.map(seconds))
            }
            Self::Unreachable { provider, address, trouble } => {
                let (word, cause) = trouble.word();
                params.set("provider", provider).set("address", address).set("trouble", word).set("cause", cause)
            }
            Self::Timeout { provider, phase, waited } => {
                params.set("provider", provider).set("phase", phase.word()).set("waited", waited.as_secs().to_string())
            }
            Self::Interrupted { provider, cause } | Self::BadStream { provider, cause } => {
                params.set("provider", provider).set("cause", cause)
            }
            Self::Refused { provider, status, provider_message } => {
                params.set("provider", provider).set("status", status.to_string()).set("said", provider_message)
            }
            Self::Server { provider, status, provider_message, after } => {
                params.set("provider", provider).set("status", status.to_string()).set("said", provider_message);
                params.set_known("after", after.map(seconds))
            }
            Self::Empty { provider, model } => params.set("provider", provider).set("model", model),
        };
        params.0
    }
}

#[derive(Default)]
struct ParamsBuilder(ErrorParams);

impl ParamsBuilder {
    fn set(&mut self, name: &str, value: impl AsRef<str>) -> &mut Self {
        if !value.as_ref().is_empty() {
            self.0.insert(name.to_owned(), value.as_ref().to_owned());
        }
        self
    }

    fn set_known(&mut self, name: &str, value: Option<impl ToString>) -> &mut Self {
        self.set(name, value.map(|value| value.to_string()).unwrap_or_default())
    }
}

fn seconds(time: std::time::Duration) -> u64 {
    time.as_secs_f64().ceil() as u64
}

impl KeyProblem {
    fn word(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::NotAccepted => "not_accepted",
            Self::Unsendable => "unsendable",
        }
    }
}

impl TimeoutPhase {
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
            Self::Undisclosed(_) => ("undisclosed", ""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn params(error: &ProviderError) -> String {
        let params = error.params();
        params.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn error_parameters_match_message() {
        let provider = || "DeepSeek".to_owned();
        let auth = ProviderError::Auth {
            provider: provider(),
            key: KeyProblem::NotAccepted,
            setting: "DEEPSEEK_API_KEY".into(),
            provider_message: "no".into(),
        };
        assert_eq!(params(&auth), "key=not_accepted provider=DeepSeek said=no setting=DEEPSEEK_API_KEY");
        let limited = ProviderError::RateLimited { provider: provider(), after: Some(Duration::from_millis(1_200)) };
        assert_eq!(params(&limited), "after=2 provider=DeepSeek");
        let server =
            ProviderError::Server { provider: provider(), status: 503, provider_message: String::new(), after: None };
        assert_eq!(params(&server), "provider=DeepSeek status=503");
        let trouble = ConnectionFailure::Redirected("http://other".into());
        let unreachable = ProviderError::Unreachable { provider: provider(), address: "http://a".into(), trouble };
        assert_eq!(params(&unreachable), "address=http://a cause=http://other provider=DeepSeek trouble=redirected");
        assert_eq!(params(&ProviderError::ContextOverflow { limit: None }), "");
        assert_eq!(params(&ProviderError::ContextOverflow { limit: Some(8192) }), "limit=8192");
    }
}
