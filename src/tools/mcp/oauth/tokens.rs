//! Tokens, and the requests that bring them (OAuth 2.1, RFC 8707).

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::challenge::scopes_of;
use super::client::{ClientProof, OAuthClient, is_plain};
use crate::clock;
use crate::tools::fetch_url::StreamClient;
use crate::tools::mcp::address::check_address;

/// Maximum bytes of an answer of the token endpoint, and how long it may take.
const MAX_ANSWER: usize = 64 << 10;
const TOKEN_TIMEOUT: Duration = Duration::from_secs(30);
/// From which part of its life on a token is refreshed.
const WORN: f64 = 0.8;
/// Longest life of a token that is believed, in seconds.
const LONGEST: f64 = 10.0 * 365.0 * 86_400.0;

/// What is kept of a sign-in. Without `Debug`, because it holds tokens.
#[derive(Clone, Serialize, Deserialize)]
pub struct SignInRecord {
    pub client: OAuthClient,
    pub token_endpoint: String,
    pub resource: String,
    /// The scopes that were granted.
    pub scopes: Vec<String>,
    /// Absent once they do not count any more: then a person has to sign in again.
    pub tokens: Option<Tokens>,
    /// The person has signed out.
    #[serde(default)]
    pub is_signed_out: bool,
}

#[derive(Clone, Serialize, Deserialize)]
pub struct Tokens {
    pub access: String,
    pub refresh: Option<String>,
    /// Unix times in seconds.
    pub obtained: f64,
    pub expires: Option<f64>,
}

impl Tokens {
    /// Returns whether the token has to be refreshed before its next use, at a Unix time in seconds: from a part of its life on,
    /// so that no call fails because it has just expired.
    pub fn needs_refresh(&self, now: f64) -> bool {
        let is_worn = self.expires.is_some_and(|expires| now >= self.obtained + (expires - self.obtained) * WORN);
        (is_worn && self.refresh.is_some()) || self.is_expired(now)
    }

    pub fn is_expired(&self, now: f64) -> bool {
        self.expires.is_some_and(|expires| now >= expires)
    }
}

/// Why there are no tokens.
pub enum TokenError {
    /// The authorization server says that the grant does not count.
    Rejected(String),
    Failed(String),
}

/// What is exchanged for tokens.
pub enum Grant<'a> {
    Code { code: &'a str, verifier: &'a str },
    Refresh(&'a str),
}

/// What an authorization server has granted.
pub struct Granted {
    pub tokens: Tokens,
    /// The scopes, if they are others than were asked for.
    pub scopes: Option<Vec<String>>,
}

/// Exchanges a grant for tokens.
///
/// # Errors
/// Returns [`TokenError::Rejected`] if the authorization server does not accept the grant.
pub async fn request(http: &StreamClient, record: &SignInRecord, grant: Grant<'_>) -> Result<Granted, TokenError> {
    let asked = clock::now();
    let exchange = exchanged(http, record, &grant);
    let late = |_| TokenError::Failed("the authorization server did not answer in time".to_owned());
    let answer = tokio::time::timeout(TOKEN_TIMEOUT, exchange).await.map_err(late)??;
    let text = |name: &str| answer[name].as_str().filter(|text| is_plain(text)).map(str::to_owned);
    let failed = |why: &str| TokenError::Failed(format!("the authorization server answered with {why}"));
    if !answer["token_type"].as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
        return Err(failed("no bearer token"));
    }
    let access = text("access_token").ok_or_else(|| failed("no token"))?;
    let before = match grant {
        Grant::Refresh(token) => Some(token.to_owned()),
        Grant::Code { .. } => None,
    };
    let life = answer["expires_in"].as_f64().filter(|life| life.is_finite() && *life >= 0.0);
    let tokens = Tokens {
        access,
        // Without rotation the old one goes on.
        refresh: text("refresh_token").or(before),
        obtained: asked,
        expires: life.map(|life| asked + life.min(LONGEST)),
    };
    Ok(Granted { tokens, scopes: answer["scope"].as_str().map(scopes_of) })
}

async fn exchanged(http: &StreamClient, record: &SignInRecord, grant: &Grant<'_>) -> Result<Value, TokenError> {
    let client = &record.client;
    let mut fields = vec![("resource", record.resource.as_str())];
    match grant {
        Grant::Code { code, verifier } => fields.extend([
            ("grant_type", "authorization_code"),
            ("code", code),
            ("code_verifier", verifier),
            ("redirect_uri", &client.callback),
        ]),
        Grant::Refresh(token) => fields.extend([("grant_type", "refresh_token"), ("refresh_token", token)]),
    }
    let mut headers = Vec::new();
    match (&client.secret, client.proof) {
        (Some(secret), ClientProof::Header) => {
            let pair = BASE64_STANDARD.encode(format!("{}:{}", encoded(&client.id), encoded(secret)));
            headers.push(("Authorization".to_owned(), SecretString::from(format!("Basic {pair}"))));
        }
        (Some(secret), ClientProof::Form) => {
            fields.extend([("client_id", client.id.as_str()), ("client_secret", secret.as_str())]);
        }
        (None, _) => fields.push(("client_id", &client.id)),
    }
    let failed =
        |why: &dyn std::fmt::Display| TokenError::Failed(format!("the authorization server gave no token: {why}"));
    let endpoint = check_address(&record.token_endpoint).map_err(|why| failed(&why))?;
    let answer = http.post_form(&endpoint, &headers, &fields).await.map_err(|error| failed(&error))?;
    let status = answer.status;
    let body = answer.whole(MAX_ANSWER).await.map_err(|error| failed(&error))?;
    let body = body.ok_or_else(|| failed(&"its answer is larger than 64 KB"))?;
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    match status {
        200 => Ok(answer),
        400 | 401 | 403 if ends_sign_in(&answer["error"]) => Err(TokenError::Rejected(reason(&answer["error"]))),
        400..=499 if answer["error"].is_string() => Err(failed(&reason(&answer["error"]))),
        status => Err(failed(&format_args!("the HTTP status {status}"))),
    }
}

/// Returns whether an error says that the grant or the client does not count any more (RFC 6749, section 5.2). After any other one
/// it can be tried again.
fn ends_sign_in(error: &Value) -> bool {
    matches!(error.as_str(), Some("invalid_grant" | "invalid_client" | "unauthorized_client"))
}

/// Returns the code of an error. Its description is left out: it could repeat what was sent.
pub fn reason(error: &Value) -> String {
    let code: String = error.as_str().unwrap_or_default().chars().filter(char::is_ascii_graphic).take(60).collect();
    let is_code = !code.is_empty() && code.chars().all(|char| char.is_ascii_lowercase() || char == '_');
    if is_code { code } else { "an error that it does not name".to_owned() }
}

fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lasting(life: Option<f64>, refresh: Option<&str>) -> Tokens {
        let expires = life.map(|life| 1_000.0 + life);
        Tokens { access: "a".to_owned(), refresh: refresh.map(str::to_owned), obtained: 1_000.0, expires }
    }

    #[test]
    fn token_is_refreshed_from_four_fifths_of_its_life_on() {
        let hour = lasting(Some(3_600.0), Some("r"));
        for (after, needs_refresh, is_expired) in [
            (0.0, false, false),
            (2_879.9, false, false),
            (2_880.0, true, false),
            (3_599.9, true, false),
            (3_600.0, true, true),
            // The clock was set back.
            (-50_000.0, false, false),
        ] {
            let now = 1_000.0 + after;
            assert_eq!((hour.needs_refresh(now), hour.is_expired(now)), (needs_refresh, is_expired), "after {after} s");
        }
    }

    #[test]
    fn token_without_another_is_used_to_its_end() {
        let alone = lasting(Some(3_600.0), None);
        assert!(!alone.needs_refresh(1_000.0 + 3_599.9) && alone.needs_refresh(1_000.0 + 3_600.0));
        let endless = lasting(None, Some("r"));
        assert!(!endless.needs_refresh(f64::MAX) && !endless.is_expired(f64::MAX));
        assert!(lasting(Some(0.0), Some("r")).needs_refresh(1_000.0), "one that has no life is replaced at once");
    }
}
