//! What a request shows to prove whose it is, and how long it counts.

use std::sync::Arc;
use std::time::Duration;

use super::sign_ins::SignIn;
use super::{People, hash_of};
use crate::clock;
use crate::domain::account::TokenScope;
use crate::domain::{Account, AccountBook, AccountId};

/// What personal access tokens begin with.
pub(super) const TOKEN_PREFIX: &str = "mct_";

/// A credential that was valid when it was read.
#[derive(Clone, Debug, PartialEq)]
pub enum Credential {
    SignIn(SignIn),
    /// A personal access token, by its id.
    AccessToken {
        account: AccountId,
        id: String,
        scope: TokenScope,
    },
}

impl Credential {
    /// Returns whether it can only use the OpenAI API and the MCP server.
    pub fn only_asks(&self) -> bool {
        matches!(self, Self::AccessToken { scope: TokenScope::Ask | TokenScope::Tools, .. })
    }

    /// Returns whether it is for programs that call tools themselves.
    pub fn calls_tools(&self) -> bool {
        matches!(self, Self::AccessToken { scope: TokenScope::Tools, .. })
    }

    /// Returns whether it can change anything.
    pub fn may_change(&self) -> bool {
        !matches!(self, Self::AccessToken { scope: TokenScope::Read, .. })
    }
}

/// Why a credential does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAccepted {
    #[error("the credential is unknown, has expired, or was ended")]
    SignedOut,
    #[error("the account is disabled")]
    Disabled,
}

impl Credential {
    pub fn account(&self) -> &AccountId {
        match self {
            Self::SignIn(sign_in) => &sign_in.account,
            Self::AccessToken { account, .. } => account,
        }
    }

    /// Returns the account if the credential counts, and the Unix second at which it expires.
    fn checked<'b>(&self, book: &'b AccountBook) -> Result<(&'b Account, Option<f64>), NotAccepted> {
        let account = book.account(self.account()).ok_or(NotAccepted::SignedOut)?;
        let (counts, expires_at) = match self {
            Self::SignIn(sign_in) => {
                let is_ended = account.ended_sign_ins.iter().any(|ended| ended.id == sign_in.id);
                (sign_in.version == account.token_version && !is_ended, Some(sign_in.expires_at as f64))
            }
            Self::AccessToken { id, .. } => {
                let token = account.access_tokens.iter().find(|token| token.id == *id);
                (token.is_some(), token.and_then(|token| token.expires_at))
            }
        };
        match (counts, account.is_active) {
            (false, _) => Err(NotAccepted::SignedOut),
            (true, false) => Err(NotAccepted::Disabled),
            (true, true) => Ok((account, expires_at)),
        }
    }
}

impl People {
    /// Returns the credential in a token, and its account.
    ///
    /// # Errors
    /// Returns [`NotAccepted`] if it does not count.
    pub fn identify(&self, token: &str) -> Result<(Credential, Account), NotAccepted> {
        let book = self.book();
        let credential = match token.starts_with(TOKEN_PREFIX) {
            true => access_token(&book, token),
            false => self.keys.read(token).map(Credential::SignIn),
        };
        let credential = credential.ok_or(NotAccepted::SignedOut)?;
        let (account, expires_at) = credential.checked(&book)?;
        let is_over = matches!(credential, Credential::AccessToken { .. })
            && expires_at.is_some_and(|expires_at| expires_at <= clock::now());
        if is_over { Err(NotAccepted::SignedOut) } else { Ok((credential.clone(), account.clone())) }
    }

    /// Resolves when the credential does not count any more: it expires, is ended, or its account is disabled.
    pub fn until_ended(self: &Arc<Self>, credential: Credential) -> impl Future<Output = ()> + Send + use<> {
        let mut changes = self.book.subscribe();
        async move {
            loop {
                let checked = credential.checked(&changes.borrow_and_update()).map(|(_, expires_at)| expires_at);
                let Ok(expires_at) = checked else { return };
                let left = expires_at.map(|expires_at| Duration::from_secs_f64((expires_at - clock::now()).max(0.0)));
                let expiry = async {
                    match left {
                        Some(left) => tokio::time::sleep(left).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    changed = changes.changed() => if changed.is_err() { return },
                    () = expiry => return,
                }
            }
        }
    }
}

fn access_token(book: &AccountBook, token: &str) -> Option<Credential> {
    let hash = hash_of(token);
    let tokens =
        book.accounts.iter().flat_map(|account| account.access_tokens.iter().map(move |known| (account, known)));
    // What is compared is the hash of a random token, so its time reveals nothing.
    let (account, known) = tokens.into_iter().find(|(_, known)| known.sha256 == hash)?;
    Some(Credential::AccessToken { account: account.id.clone(), id: known.id.clone(), scope: known.scope })
}
