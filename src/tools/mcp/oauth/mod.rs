//! Signing in to remote servers with OAuth 2.1 (docs/mcp.md).
//!
//! A person begins a sign-in on the page or the command line, opens the address of the authorization server, and comes back to
//! our page, which hands over the code. The tokens are sealed in a file that no tool can read, and go only to the address of
//! the server that they were asked for.

mod challenge;
mod client;
mod discovery;
mod sign_in;
mod tokens;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use tokio::time::Instant;
use url::Url;

use self::client::OAuthClient;
use self::discovery::Discovered;
use self::tokens::{Grant, SignInRecord};
use super::address::check_address;
use crate::clock;
use crate::domain::mcp::McpOAuth;
use crate::store::Home;

pub use self::challenge::Challenge;
pub use self::sign_in::{Authorization, SignIn, SignInState};

/// How long a person has to sign in.
const BEGUN_FOR: Duration = Duration::from_secs(600);
/// Maximum number of sign-ins of a home that have begun; the oldest makes way.
const MAX_BEGUN: usize = 50;

/// The sign-ins of a home: those that are kept, and those that have begun.
#[derive(Default)]
pub struct SignIns {
    known: Mutex<HashMap<String, Arc<SignIn>>>,
    /// By `state`, which only the person's browser and the authorization server know.
    begun: Mutex<HashMap<String, Begun>>,
}

/// A sign-in that waits for the person to come back.
#[derive(Clone)]
struct Begun {
    server: String,
    authorization: Authorization,
    record: SignInRecord,
    verifier: String,
    sends_issuer: bool,
    since: Instant,
    /// The person has come back, and the code is being exchanged.
    is_taken: bool,
}

/// What a person wants to sign in to, and how.
pub struct SignInRequest<'a> {
    /// Name of the server.
    pub server: &'a str,
    pub url: &'a Url,
    /// What its entry says.
    pub configured: &'a McpOAuth,
    /// The value of `client_secret` of its entry.
    pub secret: Option<String>,
    /// Where the browser comes back to.
    pub callback: &'a Url,
}

/// What only this server and the authorization server know of a sign-in.
struct SignInSecrets {
    state: String,
    /// Of PKCE.
    verifier: String,
}

/// Where a person signs in.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct SignInAddress {
    /// Address to open in a browser.
    pub authorization_url: String,
    /// The authorization server.
    pub issuer: String,
    /// The scopes that are asked for; empty if the authorization server decides.
    pub scopes: Vec<String>,
}

/// What the browser brings back from the authorization server.
#[derive(Clone, serde::Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignInAnswer {
    pub state: String,
    #[serde(default)]
    pub code: Option<String>,
    /// Why the authorization server refused.
    #[serde(default)]
    pub error: Option<String>,
    /// The authorization server, as it names itself.
    #[serde(default)]
    pub iss: Option<String>,
}

/// Why a sign-in did not succeed.
#[derive(Debug)]
pub enum SignInFailed {
    /// No sign-in with this `state` has begun, or it was too long ago.
    Unknown,
    Failed(String),
}

impl SignIns {
    /// Returns the sign-in to a server at an address. Reads what is kept of it. Blocks.
    pub fn of(&self, home: &Home, server: &str, url: &str) -> Arc<SignIn> {
        let mut known = whole(&self.known);
        match known.get(server).filter(|known| known.url() == url) {
            Some(known) => known.clone(),
            None => {
                let fresh = Arc::new(SignIn::open(home.clone(), server, url));
                known.insert(server.to_owned(), fresh.clone());
                fresh
            }
        }
    }

    /// Returns whether a person is signing in to a server.
    pub fn is_under_way(&self, server: &str) -> bool {
        whole(&self.begun).values().any(|begun| begun.server == server && begun.since.elapsed() < BEGUN_FOR)
    }

    /// Begins a sign-in. An earlier one to the same server ends.
    ///
    /// # Errors
    /// Returns a sentence if the server does not say where to sign in, or what it says cannot be used.
    pub async fn begin(
        &self,
        request: SignInRequest<'_>,
        authorization: Authorization,
    ) -> Result<SignInAddress, String> {
        let SignInRequest { server, url, configured, .. } = request;
        let http = &authorization.http;
        let challenge = authorization.challenge(url).await?;
        let found = discovery::discover(http, url, &challenge).await?;
        if configured
            .issuer
            .as_ref()
            .is_some_and(|only| only.trim_end_matches('/') != found.issuer.trim_end_matches('/'))
        {
            return Err(format!("it names the authorization server {}, which its entry does not allow", found.issuer));
        }
        let known = authorization.sign_in.known_client();
        let client = OAuthClient::of(http, &found, &request, known).await?;
        let scopes = wanted_scopes(configured, &authorization.sign_in, &challenge, &found);
        let secrets = SignInSecrets { state: clock::new_secret(), verifier: clock::new_secret() };
        let address = authorization_url(&found, &client, &scopes, &secrets);
        let SignInSecrets { state, verifier } = secrets;
        let record = SignInRecord {
            client,
            token_endpoint: found.token_endpoint.into(),
            resource: found.resource,
            scopes: scopes.clone(),
            tokens: None,
            is_signed_out: false,
        };
        let begun = Begun {
            server: server.to_owned(),
            authorization,
            record,
            verifier,
            sends_issuer: found.sends_issuer,
            since: Instant::now(),
            is_taken: false,
        };
        let mut all = whole(&self.begun);
        all.retain(|_, begun| begun.server != server && begun.since.elapsed() < BEGUN_FOR);
        if all.len() >= MAX_BEGUN
            && let Some(oldest) = all.iter().min_by_key(|(_, begun)| begun.since).map(|(state, _)| state.clone())
        {
            all.remove(&oldest);
        }
        all.insert(state, begun);
        Ok(SignInAddress { authorization_url: address.into(), issuer: found.issuer, scopes })
    }

    /// Ends a sign-in with what the browser has brought back, and returns the name of the server. Each `state` counts once.
    ///
    /// # Errors
    /// Returns [`SignInFailed`] if it had not begun, or the authorization server gives no tokens.
    pub async fn finish(&self, answer: SignInAnswer) -> Result<String, SignInFailed> {
        let begun = self.take(&answer.state).ok_or(SignInFailed::Unknown)?;
        let state = answer.state.clone();
        let ended = ended(begun, answer).await;
        whole(&self.begun).remove(&state);
        ended
    }

    /// Returns the sign-in that has begun with this `state`, the first time, and only while the server has the same address.
    fn take(&self, state: &str) -> Option<Begun> {
        let known = whole(&self.known).clone();
        let mut all = whole(&self.begun);
        let begun = all.get_mut(state).filter(|begun| !begun.is_taken && begun.since.elapsed() < BEGUN_FOR)?;
        begun.is_taken = true;
        let begun = begun.clone();
        let is_same = known.get(&begun.server).is_some_and(|known| Arc::ptr_eq(known, &begun.authorization.sign_in));
        if !is_same {
            all.remove(state);
        }
        is_same.then_some(begun)
    }

    /// Forgets the sign-ins that have begun to a server, and signs out.
    ///
    /// # Errors
    /// Returns a sentence if the file with the tokens cannot be changed.
    pub async fn sign_out(&self, server: &str) -> Result<(), String> {
        whole(&self.begun).retain(|_, begun| begun.server != server);
        let known = whole(&self.known).get(server).cloned();
        match known {
            Some(known) => known.sign_out().await,
            None => Ok(()),
        }
    }

    /// Forgets all about a server that was removed.
    pub fn forget(&self, server: &str) {
        whole(&self.begun).retain(|_, begun| begun.server != server);
        if let Some(sign_in) = whole(&self.known).remove(server) {
            sign_in.close();
        }
    }
}

async fn ended(begun: Begun, answer: SignInAnswer) -> Result<String, SignInFailed> {
    let Begun { server, authorization, record, verifier, sends_issuer, .. } = begun;
    let issuer = &record.client.issuer;
    match answer.iss {
        Some(iss) if iss != *issuer => {
            return Err(failed("the answer is from another authorization server than the one that was asked"));
        }
        None if sends_issuer => return Err(failed("the answer does not say from which authorization server it is")),
        Some(_) | None => {}
    }
    if let Some(error) = answer.error {
        return Err(failed(&format!("{issuer} refused: {}", tokens::reason(&error.into()))));
    }
    let code = answer.code.filter(|code| client::is_plain(code)).ok_or_else(|| failed("the answer has no code"))?;
    let grant = Grant::Code { code: &code, verifier: &verifier };
    authorization.sign_in.signed_in(&authorization.http, record, grant).await.map_err(SignInFailed::Failed)?;
    Ok(server)
}

fn failed(why: &str) -> SignInFailed {
    SignInFailed::Failed(why.to_owned())
}

/// Returns the scopes to ask for: those of the entry, else those that the server has named, with those that were granted
/// before, so that a wider sign-in loses none.
fn wanted_scopes(configured: &McpOAuth, sign_in: &SignIn, challenge: &Challenge, found: &Discovered) -> Vec<String> {
    let missing = sign_in.missing_scopes();
    let named = if !configured.scopes.is_empty() {
        &configured.scopes
    } else if !challenge.scopes.is_empty() {
        &challenge.scopes
    } else {
        &found.resource_scopes
    };
    let mut scopes = challenge::scopes_of(&named.join(" "));
    if !missing.is_empty() {
        let granted = sign_in.record().map(|record| record.scopes).unwrap_or_default();
        scopes = challenge::scopes_of(&[granted, scopes, missing].concat().join(" "));
    }
    // Where refresh tokens are given only for this scope.
    let offline = "offline_access";
    if !scopes.is_empty() && found.issuer_scopes.iter().any(|scope| scope == offline) {
        scopes = challenge::scopes_of(&format!("{} {offline}", scopes.join(" ")));
    }
    scopes
}

fn authorization_url(
    found: &Discovered,
    client: &OAuthClient,
    scopes: &[String],
    SignInSecrets { state, verifier }: &SignInSecrets,
) -> Url {
    let mut url = found.authorization_endpoint.clone();
    let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
    url.set_fragment(None);
    url.query_pairs_mut()
        .append_pair("response_type", "code")
        .append_pair("client_id", &client.id)
        .append_pair("redirect_uri", &client.callback)
        .append_pair("state", state)
        .append_pair("code_challenge", &challenge)
        .append_pair("code_challenge_method", "S256")
        .append_pair("resource", &found.resource);
    if !scopes.is_empty() {
        url.query_pairs_mut().append_pair("scope", &scopes.join(" "));
    }
    url
}

/// Returns whether this is an address that a person can come back to.
///
/// # Errors
/// Returns a sentence if it is not.
pub fn callback_address(text: &str) -> Result<Url, String> {
    check_address(text)
        .map_err(|_| "open the page over https or on this machine to sign in; the code would be readable".to_owned())
}

fn whole<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
