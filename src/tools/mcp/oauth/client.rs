//! Who miniclaw is for an authorization server: the client that a person has registered, a metadata document, or a client that
//! it registers itself (RFC 7591).

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

use super::SignInRequest;
use super::discovery::Discovered;
use crate::tools::fetch_url::StreamClient;
use crate::tools::mcp::address::{check_address, is_loopback};

const MAX_REGISTRATION: usize = 64 << 10;
const REGISTRATION_TIMEOUT: Duration = Duration::from_secs(15);

/// A client of one authorization server. Without `Debug`, because it may have a secret.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct OAuthClient {
    pub issuer: String,
    pub id: String,
    pub secret: Option<String>,
    /// How it proves itself at the token endpoint if it has a secret.
    pub proof: ClientProof,
    /// Where its answers come to.
    pub callback: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientProof {
    /// The secret is a field of the form.
    Form,
    /// The secret is in the header `Authorization`.
    Header,
}

impl OAuthClient {
    /// Returns the client to sign in with. `known` is the one of an earlier sign-in.
    ///
    /// # Errors
    /// Returns a sentence if there is none and none can be registered.
    pub async fn of(
        http: &StreamClient,
        discovered: &Discovered,
        SignInRequest { configured, secret, callback, .. }: &SignInRequest<'_>,
        known: Option<Self>,
    ) -> Result<Self, String> {
        let proof = if proves_by_form(&discovered.client_proofs) { ClientProof::Form } else { ClientProof::Header };
        let client = |id: String, secret| Self {
            issuer: discovered.issuer.clone(),
            id,
            secret,
            proof,
            callback: callback.to_string(),
        };
        match &configured.client_id {
            Some(id) if !is_document(id) || discovered.takes_client_metadata => {
                return Ok(client(id.clone(), secret.clone()));
            }
            Some(_) | None => {}
        }
        let is_same = |known: &Self| known.issuer == discovered.issuer && known.callback == callback.as_str();
        if let Some(known) = known.filter(is_same) {
            return Ok(known);
        }
        let Some(endpoint) = &discovered.registration_endpoint else {
            return Err(format!(
                "{} registers no clients by itself; register miniclaw there with the address {callback} and set `oauth.client_id`",
                discovered.issuer
            ));
        };
        let registering = registered(http, endpoint, callback);
        let late = |_| "the authorization server did not register a client in time".to_owned();
        let answer = tokio::time::timeout(REGISTRATION_TIMEOUT, registering).await.map_err(late)??;
        let text = |name: &str| answer[name].as_str().filter(|text| is_plain(text)).map(str::to_owned);
        let id = text("client_id").ok_or("the authorization server registered a client without an id")?;
        let registered = client(id, text("client_secret"));
        Ok(match answer["token_endpoint_auth_method"].as_str() {
            Some("client_secret_basic") => Self { proof: ClientProof::Header, ..registered },
            Some("client_secret_post") => Self { proof: ClientProof::Form, ..registered },
            Some(_) | None => registered,
        })
    }
}

/// Returns whether the id of a client is the address of its metadata document.
fn is_document(id: &str) -> bool {
    check_address(id).is_ok_and(|url| url.path() != "/")
}

fn proves_by_form(proofs: &[String]) -> bool {
    proofs.iter().any(|proof| proof == "client_secret_post")
        || !proofs.iter().any(|proof| proof == "client_secret_basic")
}

pub fn is_plain(text: &str) -> bool {
    (1..=8_192).contains(&text.len()) && text.chars().all(|char| char.is_ascii_graphic())
}

async fn registered(http: &StreamClient, endpoint: &Url, callback: &Url) -> Result<Value, String> {
    let body = json!({
        "client_name": "miniclaw",
        "redirect_uris": [callback.as_str()],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": if is_loopback(callback) { "native" } else { "web" },
    });
    let failed = |why: &dyn std::fmt::Display| format!("the authorization server registered no client: {why}");
    let answer = http.post(endpoint, &[], &body).await.map_err(|error| failed(&error))?;
    if !matches!(answer.status, 200 | 201) {
        return Err(failed(&format_args!("the HTTP status {}", answer.status)));
    }
    let body = answer.whole(MAX_REGISTRATION).await.map_err(|error| failed(&error))?;
    let body = body.ok_or_else(|| failed(&"its answer is larger than 64 KB"))?;
    serde_json::from_slice(&body).map_err(|_| failed(&"its answer is no JSON"))
}
