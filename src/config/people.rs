//! `auth_mode` in config.yml, and what belongs to a server that several people use.

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::proxy_sign_in::{ProxySignIn, proxy_sign_in};
use super::{ConfigError, Environment, File, bad, substitute};
use crate::domain::{BadUidRange, TrustedProxy, UidRange};

/// The variable with the key of sign-ins, which overrides config.yml.
pub const JWT_SECRET: &str = "MINICLAW_JWT_SECRET";
/// The command that makes a key, for messages.
pub const MAKE_SECRET: &str = "echo \"MINICLAW_JWT_SECRET=$(openssl rand -hex 32)\" >> .env";
/// Minimum bytes of the key: as many as its HMAC has.
const SHORTEST_SECRET: usize = 32;
/// The key in the NanoClaw document, which everybody knows.
const WELL_KNOWN: &str = "nano-claw-default-secret-change-in-production";

/// Who uses a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuthMode {
    /// One person, without an account.
    #[default]
    Single,
    /// Several people, each with an account and a home.
    Multi,
}

/// Who may make an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Registration {
    /// Everybody who reaches the server.
    Open,
    /// Whoever has an invitation of an admin.
    #[default]
    Invite,
    /// Nobody.
    Closed,
}

/// The configuration of a server that several people use.
#[derive(Clone, Debug)]
pub struct PeopleConfig {
    pub mode: AuthMode,
    pub registration: Registration,
    /// The key that signs the tokens of sign-ins; always there in mode `multi`.
    pub jwt_secret: Option<SecretString>,
    /// Whether other machines may reach the server without TLS.
    pub insecure_http: bool,
    /// The addresses of proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` count.
    pub trusted_proxies: Vec<TrustedProxy>,
    /// Whether people may connect providers for themselves.
    pub own_providers: bool,
    /// Hosts with or without port, besides public ones, at which people may connect providers for themselves.
    pub own_provider_hosts: Vec<String>,
    /// How people sign in by one of these proxies, if they can.
    pub proxy_sign_in: Option<ProxySignIn>,
    /// The users of the system that people's commands run as.
    pub uids: UidRange,
}

impl PeopleConfig {
    pub fn is_multi(&self) -> bool {
        self.mode == AuthMode::Multi
    }
}

/// # Errors
/// Returns an error if `auth_mode` is `multi` and the key of sign-ins is missing, short or known to everybody, and if
/// `people_uids` is no range of user ids.
pub(super) fn people(file: &File, environment: &Environment) -> Result<PeopleConfig, ConfigError> {
    let from_file = || file.jwt_secret.as_deref().and_then(|text| substitute(text, environment).ok());
    let secret = environment.value(JWT_SECRET).map(str::to_owned).or_else(from_file);
    if file.auth_mode == AuthMode::Multi {
        let wrong = match secret.as_deref() {
            None => Some("is missing".to_owned()),
            Some(WELL_KNOWN) => Some("is that of the documentation, which everybody knows".to_owned()),
            Some(secret) if secret.len() < SHORTEST_SECRET => {
                Some(format!("is shorter than {SHORTEST_SECRET} characters"))
            }
            Some(secret) if is_repetitive(secret) => Some("is easy to guess".to_owned()),
            Some(_) => None,
        };
        if let Some(wrong) = wrong {
            let reason = format!(
                "auth_mode: multi needs a key that signs the sign-ins, and {JWT_SECRET} (or jwt_secret) {wrong}. \
                 Run this in the home, and start again: {MAKE_SECRET}"
            );
            return Err(bad("config.yml", reason));
        }
    }
    let uids = file.people_uids.as_deref().map(str::parse::<UidRange>).transpose();
    let uids = uids.map_err(|error: BadUidRange| bad("config.yml", format!("people_uids: {error}")))?;
    Ok(PeopleConfig {
        mode: file.auth_mode,
        registration: file.registration,
        jwt_secret: secret.map(SecretString::from),
        insecure_http: file.insecure_http,
        trusted_proxies: file.trusted_proxies.clone(),
        own_providers: file.own_providers.unwrap_or(true),
        own_provider_hosts: file.own_provider_hosts.clone(),
        proxy_sign_in: proxy_sign_in(file, environment)?,
        uids: uids.unwrap_or(UidRange::DEFAULT),
    })
}

/// Whether a secret consists of a few characters only, so that nobody made it at random.
fn is_repetitive(secret: &str) -> bool {
    let mut characters: Vec<char> = secret.chars().collect();
    characters.sort_unstable();
    characters.dedup();
    characters.len() < 8
}

impl PartialEq for PeopleConfig {
    fn eq(&self, other: &Self) -> bool {
        let secret = |config: &Self| config.jwt_secret.as_ref().map(|secret| secret.expose_secret().to_owned());
        (self.mode, self.registration, self.insecure_http) == (other.mode, other.registration, other.insecure_http)
            && (&self.trusted_proxies, self.uids) == (&other.trusted_proxies, other.uids)
            && (self.own_providers, &self.own_provider_hosts) == (other.own_providers, &other.own_provider_hosts)
            && self.proxy_sign_in == other.proxy_sign_in
            && secret(self) == secret(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn config(text: &str, variables: &[(&str, &str)]) -> Result<PeopleConfig, ConfigError> {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let nowhere = std::path::Path::new("/nowhere");
        let environment = Environment::load(nowhere, variables).unwrap();
        Config::parse(Some(text), &environment).map(|config| config.people)
    }

    #[test]
    fn range_of_uids_is_checked() {
        assert_eq!(config("port: 1", &[]).unwrap().uids, UidRange::DEFAULT);
        assert_eq!(config("people_uids: 200000-265535", &[]).unwrap().uids.to_string(), "200000-265535");
        for bad in ["5", "0-70000", "2000-1000", "\"\""] {
            let error = config(&format!("people_uids: {bad}"), &[]).unwrap_err().to_string();
            assert!(error.contains("people_uids: must"), "{bad}: {error}");
        }
    }

    #[test]
    fn several_people_need_a_good_secret() {
        assert_eq!(config("port: 1", &[]).unwrap().mode, AuthMode::Single);
        for text in [
            "auth_mode: multi".to_owned(),
            format!("{{auth_mode: multi, jwt_secret: {WELL_KNOWN}}}"),
            "{auth_mode: multi, jwt_secret: short}".to_owned(),
            format!("{{auth_mode: multi, jwt_secret: {}}}", "ab".repeat(40)),
            "{auth_mode: multi, jwt_secret: \"${NOT_SET}\"}".to_owned(),
        ] {
            let error = config(&text, &[]).unwrap_err().to_string();
            assert!(error.contains(MAKE_SECRET), "{text}: {error}");
        }
        let good = "0123456789abcdef0123456789abcdef";
        let multi = config("{auth_mode: multi, registration: open}", &[(JWT_SECRET, good)]).unwrap();
        assert!(multi.is_multi() && multi.registration == Registration::Open);
        assert!(config(&format!("{{auth_mode: multi, jwt_secret: {good}}}"), &[]).unwrap().is_multi());
        assert!(config("auth_mode: both", &[]).is_err());
        assert!(config(&format!("jwt_secret: {WELL_KNOWN}"), &[]).is_ok(), "it is not used");
    }
}
