//! The sign-in to one server: its tokens, and what it asks for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use tokio::task::spawn_blocking;
use url::Url;

use super::challenge::Challenge;
use super::client::OAuthClient;
use super::tokens::{self, Grant, SignInRecord, TokenError};
use crate::clock;
use crate::domain::{Mask, SecretName};
use crate::store::Home;
use crate::tools::fetch_url::{StreamAnswer, StreamClient};
use crate::tools::mcp::era::Era;
use crate::tools::mcp::message;

/// What hidden tokens are called.
const HIDDEN: &str = "TOKEN";

/// Whether a person has signed in to a server, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SignInState {
    /// The server has not asked for a sign-in.
    NotAsked,
    /// A person has to sign in.
    Needed,
    /// A person was signed in, and has to sign in again.
    Expired,
    SignedIn,
    /// A person is signed in, and the server asks for more scopes.
    MoreScopes,
}

pub struct SignIn {
    home: Home,
    server: String,
    url: String,
    /// Held while tokens are exchanged, so that calls that need new ones at the same time share one refresh.
    exchange: tokio::sync::Mutex<()>,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    record: Option<SignInRecord>,
    /// Its server was removed: nothing is kept of it any more.
    is_closed: bool,
    /// The server has refused a request for want of a sign-in, and none has succeeded since.
    is_refused: bool,
    was_signed_in: bool,
    /// Scopes that a call needed and the tokens did not have.
    missing: Vec<String>,
    /// Whether the server has refused something for want of permissions, even if it did not name them.
    needs_more: bool,
    /// The authorization server does not know the client any more.
    is_client_gone: bool,
    mask: Mask,
}

/// The sign-in to a server with the way to its authorization server.
#[derive(Clone)]
pub struct Authorization {
    pub sign_in: Arc<SignIn>,
    /// Reaches what the guard allows, which may be more than the address of the server.
    pub http: Arc<StreamClient>,
}

impl SignIn {
    /// Reads what is kept. Blocks.
    pub fn open(home: Home, server: &str, url: &str) -> Self {
        let kept = home.mcp_sign_in(server, url);
        let record: Option<SignInRecord> = kept.and_then(|kept| serde_json::from_str(kept.expose_secret()).ok());
        let mask = mask_of(record.iter());
        let was_signed_in = record.as_ref().is_some_and(|record| !record.is_signed_out);
        // A record without tokens says that they did not count any more.
        let is_refused = record.as_ref().is_some_and(|record| record.tokens.is_none());
        let held = Held { record, is_refused, was_signed_in, mask, ..Held::default() };
        Self {
            home,
            server: server.to_owned(),
            url: url.to_owned(),
            exchange: tokio::sync::Mutex::default(),
            held: Mutex::new(held),
        }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn record(&self) -> Option<SignInRecord> {
        self.held().record.clone()
    }

    /// Returns the client of the last sign-in, if it still counts.
    pub fn known_client(&self) -> Option<OAuthClient> {
        let held = self.held();
        held.record.as_ref().filter(|_| !held.is_client_gone).map(|record| record.client.clone())
    }

    pub fn missing_scopes(&self) -> Vec<String> {
        self.held().missing.clone()
    }

    /// Hides the tokens in what the server says.
    pub fn mask(&self) -> Mask {
        self.held().mask.clone()
    }

    pub fn state(&self) -> SignInState {
        let held = self.held();
        let has_tokens = held.record.as_ref().is_some_and(|record| record.tokens.is_some());
        match (held.is_refused, has_tokens) {
            (true, _) if held.was_signed_in => SignInState::Expired,
            (true, _) => SignInState::Needed,
            (false, true) if held.needs_more => SignInState::MoreScopes,
            (false, true) => SignInState::SignedIn,
            (false, false) => SignInState::NotAsked,
        }
    }

    /// Returns whether the server can only be used after a sign-in.
    pub fn is_needed(&self) -> bool {
        self.held().is_refused
    }

    /// Exchanges a code for tokens, and keeps them.
    ///
    /// # Errors
    /// Returns a sentence if there are none, or they cannot be kept.
    pub async fn signed_in(
        &self,
        http: &StreamClient,
        mut record: SignInRecord,
        grant: Grant<'_>,
    ) -> Result<(), String> {
        let _one = self.exchange.lock().await;
        let issuer = record.client.issuer.clone();
        let granted = tokens::request(http, &record, grant).await.map_err(|error| match error {
            TokenError::Rejected(why) => {
                self.note_rejection(&why);
                format!("{issuer} refused: {why}")
            }
            TokenError::Failed(why) => why,
        })?;
        record.scopes = granted.scopes.unwrap_or(record.scopes);
        record.tokens = Some(granted.tokens);
        self.keep(record).await
    }

    /// Keeps nothing from now on, also of what is under way.
    pub fn close(&self) {
        self.held().is_closed = true;
    }

    /// Keeps a record on disk before it is used: with rotation, the tokens before it do not count any more.
    async fn keep(&self, record: SignInRecord) -> Result<(), String> {
        if self.held().is_closed {
            return Err("the server was removed".to_owned());
        }
        let text = SecretString::from(serde_json::to_string(&record).unwrap_or_default());
        let (home, server, url) = (self.home.clone(), self.server.clone(), self.url.clone());
        let kept = spawn_blocking(move || home.keep_mcp_sign_in((&server, &url), &text)).await;
        {
            let mut held = self.held();
            // Those before may still count at the server.
            held.mask = mask_of(held.record.iter().chain([&record]));
            held.is_refused = record.tokens.is_none();
            held.was_signed_in = !record.is_signed_out;
            held.missing.clear();
            held.needs_more = false;
            held.is_client_gone = false;
            held.record = Some(record);
        }
        match kept {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("the server is shutting down".to_owned()),
        }
    }

    /// Signs out: the tokens are removed, the client stays registered.
    ///
    /// # Errors
    /// Returns a sentence if the file cannot be changed.
    pub async fn sign_out(&self) -> Result<(), String> {
        let _one = self.exchange.lock().await;
        let Some(record) = self.record() else { return Ok(()) };
        self.keep(SignInRecord { tokens: None, is_signed_out: true, ..record }).await
    }

    fn note_rejection(&self, code: &str) {
        self.held().is_client_gone = matches!(code, "invalid_client" | "unauthorized_client");
    }

    /// Returns tokens that are newer than `used`, and refreshes them if there are none yet.
    async fn refreshed(&self, http: &StreamClient, used: &str) -> Result<SecretString, String> {
        let _one = self.exchange.lock().await;
        let record = self.record().ok_or_else(|| self.request_to_sign_in())?;
        let Some(tokens) = record.tokens.as_ref() else { return Err(self.request_to_sign_in()) };
        if tokens.access != used && !tokens.is_expired(clock::now()) {
            return Ok(SecretString::from(tokens.access.clone()));
        }
        let Some(refresh) = tokens.refresh.clone() else {
            self.held().is_refused = true;
            return Err(self.request_to_sign_in());
        };
        match tokens::request(http, &record, Grant::Refresh(&refresh)).await {
            Ok(granted) => {
                let access = SecretString::from(granted.tokens.access.clone());
                let (missing, needs_more) = {
                    let held = self.held();
                    (held.missing.clone(), held.needs_more)
                };
                let scopes = granted.scopes.unwrap_or_else(|| record.scopes.clone());
                if let Err(why) = self.keep(SignInRecord { tokens: Some(granted.tokens), scopes, ..record }).await {
                    tracing::warn!(server = self.server, why, "the sign-in to an MCP server could not be kept");
                }
                let mut held = self.held();
                (held.missing, held.needs_more) = (missing, needs_more);
                Ok(access)
            }
            Err(TokenError::Rejected(why)) => {
                tracing::info!(server = self.server, why, "a sign-in to an MCP server has ended");
                if let Err(why) = self.keep(SignInRecord { tokens: None, ..record }).await {
                    tracing::warn!(server = self.server, why, "the end of a sign-in could not be kept");
                }
                self.note_rejection(&why);
                Err(self.request_to_sign_in())
            }
            Err(TokenError::Failed(why)) => Err(why),
        }
    }

    fn request_to_sign_in(&self) -> String {
        format!(
            "it requires a sign-in: a person signs in in the list of MCP servers, or with `miniclaw mcp login {}`",
            self.server
        )
    }
}

impl Authorization {
    /// Returns the token for a request; `None` if nobody has signed in.
    ///
    /// # Errors
    /// Returns a sentence if there is none that counts.
    pub async fn token(&self) -> Result<Option<SecretString>, String> {
        let tokens = self.sign_in.record().and_then(|record| record.tokens);
        let Some(tokens) = tokens else { return Ok(None) };
        if !tokens.needs_refresh(clock::now()) {
            return Ok(Some(SecretString::from(tokens.access)));
        }
        match self.refreshed(&tokens.access).await {
            Ok(token) => Ok(Some(token)),
            // It still counts for a while.
            Err(_) if !tokens.is_expired(clock::now()) && !self.sign_in.is_needed() => {
                Ok(Some(SecretString::from(tokens.access)))
            }
            Err(why) => Err(why),
        }
    }

    /// Returns whether to send a request again that was answered with 401 or 403: the token for it.
    ///
    /// # Errors
    /// Returns a sentence if a person has to sign in first.
    pub async fn after_refusal(
        &self,
        answer: &StreamAnswer,
        used: Option<&SecretString>,
    ) -> Result<SecretString, String> {
        let challenge = Challenge::of(answer);
        let lacks_scopes = challenge.error.as_deref() == Some("insufficient_scope");
        match (answer.status, used) {
            (403, Some(_)) if lacks_scopes => {
                let scopes = match challenge.scopes.is_empty() {
                    true => String::new(),
                    false => format!(" ({})", challenge.scopes.join(" ")),
                };
                {
                    let mut held = self.sign_in.held();
                    held.missing = challenge.scopes;
                    held.needs_more = true;
                }
                Err(format!(
                    "it requires a sign-in with more permissions{scopes}: a person signs in again in the list \
                             of MCP servers, or with `miniclaw mcp login {}`",
                    self.sign_in.server
                ))
            }
            (401, Some(used)) => self.refreshed(used.expose_secret()).await,
            (401, None) => {
                self.sign_in.held().is_refused = true;
                Err(self.sign_in.request_to_sign_in())
            }
            (status, _) => Err(format!("it answered with the HTTP status {status}")),
        }
    }

    /// Notes that the server has taken a request.
    pub fn accepted(&self) {
        self.sign_in.held().is_refused = false;
    }

    /// Notes that a fresh token was refused: a person has to sign in again.
    pub fn refused_again(&self) -> String {
        self.sign_in.held().is_refused = true;
        self.sign_in.request_to_sign_in()
    }

    /// Refreshes the tokens in a task of its own: if the person stops the run meanwhile, the new ones are kept all the same.
    async fn refreshed(&self, used: &str) -> Result<SecretString, String> {
        let (this, used) = (self.clone(), used.to_owned());
        let task = tokio::spawn(async move { this.sign_in.refreshed(&this.http, &used).await });
        task.await.unwrap_or_else(|_| Err("the server is shutting down".to_owned()))
    }

    /// Asks the server without a token what it requires.
    ///
    /// # Errors
    /// Returns a sentence if it does not answer.
    pub async fn challenge(&self, url: &Url) -> Result<Challenge, String> {
        let body = message::request(Era::Modern, 0, ("server/discover", json!({})));
        let version = ("MCP-Protocol-Version".to_owned(), SecretString::from(Era::Modern.revision()));
        let method = ("Mcp-Method".to_owned(), SecretString::from("server/discover"));
        let answer = self.http.post(url, &[version, method], &body).await.map_err(|error| error.to_string())?;
        Ok(Challenge::of(&answer))
    }
}

fn mask_of<'r>(records: impl Iterator<Item = &'r SignInRecord>) -> Mask {
    let Ok(name) = SecretName::parse(HIDDEN) else { return Mask::default() };
    let secrets = records.flat_map(|record| {
        let tokens = record.tokens.iter().flat_map(|tokens| std::iter::once(&tokens.access).chain(&tokens.refresh));
        tokens.chain(&record.client.secret)
    });
    Mask::new(secrets.map(|secret| (&name, secret.as_str())))
}
