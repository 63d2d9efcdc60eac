//! What people do with their own accounts: they sign in and out, and change their profiles, passwords and tokens.

use std::net::IpAddr;
use std::sync::Arc;

use super::credential::TOKEN_PREFIX;
use super::passwords::Checked;
use super::sign_ins::Way;
use super::{Credential, People, PeopleError, hash_of, new_opaque_id};
use crate::clock;
use crate::domain::account::{AccessToken, EndedSignIn, MAX_TOKENS, TokenScope};
use crate::domain::account_fields::{
    Username, checked_avatar, checked_email, checked_password, checked_token_name, folded,
};
use crate::domain::{Account, AccountId, AccountRefused};

/// Length of a day in seconds.
pub(super) const DAY: f64 = 86_400.0;
/// Maximum number of days after which a token or an invitation expires.
const MAX_DAYS: u32 = 3650;

/// A sign-in that has just been made.
pub struct SignedIn {
    pub token: String,
    pub account: Account,
}

/// A change of a profile; `None` leaves a field as it is, and `Some(None)` clears it.
#[derive(Clone, Debug, Default)]
pub struct ProfileChange {
    pub username: Option<String>,
    pub email: Option<Option<String>>,
    pub avatar: Option<Option<String>>,
}

/// A personal access token that a person wants.
pub struct NewAccessToken {
    pub name: String,
    /// `None` if it is not to expire.
    pub expires_in_days: Option<u32>,
    pub scope: TokenScope,
}

/// A personal access token that has just been made.
pub struct NewToken {
    /// Shown once; only its hash is stored.
    pub token: String,
    pub stored: AccessToken,
}

/// Where a sign-in comes from.
#[derive(Clone, Copy, Debug)]
pub struct LoginFrom<'a> {
    pub source: IpAddr,
    /// What the browser kept of an earlier sign-in ([`People::device_proof`]).
    pub device: Option<&'a str>,
}

impl People {
    /// Returns what a browser keeps after somebody has signed in to this account: if strangers guess its password, their
    /// failures hold up nobody in this browser.
    pub fn device_proof(&self, account: &Account) -> String {
        self.devices.issue(account)
    }

    /// Signs a person in. Names that nobody has get the same answer as wrong passwords, after the same time.
    ///
    /// # Errors
    /// Returns [`AccountRefused::WrongPassword`], [`AccountRefused::Disabled`] if the password is right and the account is
    /// disabled, and [`AccountRefused::Wait`] after too many failures.
    pub async fn login(
        self: &Arc<Self>,
        (username, password): (&str, &str),
        LoginFrom { source, device }: LoginFrom<'_>,
    ) -> Result<SignedIn, PeopleError> {
        let found = self.book().named(username).cloned();
        let known = found.as_ref().zip(device).and_then(|(account, proof)| self.devices.read(proof, account));
        let name = known.map_or_else(|| folded(username), |device| format!("device {device}"));
        let may_try = || {
            self.names.check(&name).map_err(AccountRefused::Wait)?;
            self.addresses.check(source).map_err(AccountRefused::Wait)
        };
        may_try()?;
        let hash = found.as_ref().map(|account| account.password_hash.as_str());
        let (checked, new_hash) = {
            // Failures are counted before the next one is checked, so that many requests at once do not help.
            let turn = self.passwords.turn().await?;
            may_try()?;
            let checked = self.passwords.check(&turn, password, hash).await?;
            if !checked.is_right {
                self.names.record_failure(&name);
                self.addresses.record_failure(source);
            }
            let new_hash = match checked {
                Checked { is_right: true, is_outdated: true } => Some(self.passwords.hash(&turn, password).await?),
                Checked { .. } => None,
            };
            (checked, new_hash)
        };
        let Some(account) = found.filter(|_| checked.is_right) else {
            return Err(AccountRefused::WrongPassword.into());
        };
        if !account.is_active {
            return Err(AccountRefused::Disabled.into());
        }
        self.names.forget(&name);
        let account = self
            .edit(move |book| {
                let known = book.account_mut(&account.id)?;
                if known.password_hash != account.password_hash {
                    return Err(AccountRefused::WrongPassword);
                }
                if !known.is_active {
                    return Err(AccountRefused::Disabled);
                }
                known.last_login_at = Some(clock::now());
                known.password_hash = new_hash.unwrap_or(account.password_hash);
                Ok(known.clone())
            })
            .await?;
        self.signed_in(account, Way::Password)
    }

    pub(super) fn signed_in(&self, account: Account, way: Way) -> Result<SignedIn, PeopleError> {
        let signed = self.keys.sign_in(account.id.clone(), account.token_version, way);
        let (_, token) = signed.ok_or(AccountRefused::Busy)?;
        Ok(SignedIn { token, account })
    }

    /// Ends a sign-in. An access token is deleted instead.
    ///
    /// # Errors
    /// Returns an error if the end cannot be stored.
    pub async fn logout(self: &Arc<Self>, credential: Credential) -> Result<(), PeopleError> {
        match credential {
            Credential::SignIn(sign_in) => {
                self.edit(move |book| {
                    let ended = EndedSignIn { id: sign_in.id, expires_at: sign_in.expires_at };
                    book.account_mut(&sign_in.account)?.end_sign_in(ended, clock::now());
                    Ok(())
                })
                .await
            }
            Credential::AccessToken { account, id, .. } => self.delete_token(&account, id).await,
        }
    }

    /// Ends all sign-ins of an account.
    ///
    /// # Errors
    /// Returns an error if the end cannot be stored.
    pub async fn logout_everywhere(self: &Arc<Self>, account: &AccountId) -> Result<(), PeopleError> {
        let id = account.clone();
        self.edit(move |book| book.account_mut(&id).map(Account::end_sign_ins)).await
    }

    /// Changes a password. Ends all sign-ins and deletes all access tokens; returns a new sign-in.
    ///
    /// # Errors
    /// Returns [`AccountRefused::WrongCurrentPassword`], and [`AccountRefused::BadPassword`] if the new one is not allowed.
    pub async fn change_password(
        self: &Arc<Self>,
        account: &AccountId,
        [current, new]: [&str; 2],
    ) -> Result<SignedIn, PeopleError> {
        let account = self.account(account)?;
        // Not the name's: strangers who guess passwords must not keep the owner from changing theirs.
        let key = format!("account {}", account.id.as_str());
        self.names.check(&key).map_err(AccountRefused::Wait)?;
        let new = checked_password(new, &Username::parse(&account.username)?)?;
        let hash = {
            let turn = self.passwords.turn().await?;
            self.names.check(&key).map_err(AccountRefused::Wait)?;
            let checked = self.passwords.check(&turn, current, Some(&account.password_hash)).await?;
            if !checked.is_right {
                self.names.record_failure(&key);
                return Err(AccountRefused::WrongCurrentPassword.into());
            }
            self.passwords.hash(&turn, &new).await?
        };
        let account = self
            .edit(move |book| {
                let known = book.account_mut(&account.id)?;
                if known.password_hash != account.password_hash {
                    return Err(AccountRefused::WrongCurrentPassword);
                }
                known.set_password(hash);
                Ok(known.clone())
            })
            .await?;
        self.signed_in(account, Way::Password)
    }

    /// Changes a profile.
    ///
    /// # Errors
    /// Returns [`AccountRefused`] if a value is not allowed or belongs to another account, and [`AccountRefused::Wait`] after too
    /// many names or addresses of others.
    pub async fn change_profile(
        self: &Arc<Self>,
        account: &AccountId,
        change: ProfileChange,
    ) -> Result<Account, PeopleError> {
        let username = change.username.as_deref().map(Username::parse).transpose()?;
        let checked = |value: Option<Option<String>>, check: fn(&str) -> Result<String, AccountRefused>| {
            let given = value.map(|value| value.filter(|text| !text.trim().is_empty()));
            given.map(|value| value.as_deref().map(check).transpose()).transpose()
        };
        let is_renamed = |name: &Username| Ok(name.key() != folded(&self.account(account)?.username));
        if self.signs_in_by_proxy() && username.as_ref().map_or(Ok::<_, AccountRefused>(false), is_renamed)? {
            // Whoever took the name that somebody else has at the proxy would get them into the own account.
            return Err(AccountRefused::NameOfProxy.into());
        }
        let email = checked(change.email, checked_email)?;
        let avatar = checked(change.avatar, checked_avatar)?;
        let (id, people) = (account.clone(), self.clone());
        self.edit(move |book| {
            // Nobody may try out which names there are. The profile has a count of its own, so that it keeps nobody from signing in.
            let key = format!("profile {}", id.as_str());
            people.names.check(&key).map_err(AccountRefused::Wait)?;
            let free = book.require_free(Some(&id), username.as_ref(), email.as_ref().and_then(Option::as_deref));
            if free.is_err() {
                people.names.record_failure(&key);
            }
            free?;
            let account = book.account_mut(&id)?;
            if let Some(username) = &username {
                username.as_str().clone_into(&mut account.username);
            }
            account.email = email.unwrap_or_else(|| account.email.take());
            account.avatar = avatar.unwrap_or_else(|| account.avatar.take());
            Ok(account.clone())
        })
        .await
    }

    /// Makes a personal access token. It can do what its person can in their home, and nothing about accounts or the server.
    ///
    /// # Errors
    /// Returns [`AccountRefused::BadTokenName`], [`AccountRefused::BadExpiry`] and [`AccountRefused::TooMany`].
    pub async fn make_token(
        self: &Arc<Self>,
        account: &AccountId,
        NewAccessToken { name, expires_in_days, scope }: NewAccessToken,
    ) -> Result<NewToken, PeopleError> {
        let now = clock::now();
        let token = format!("{TOKEN_PREFIX}{}", clock::new_secret());
        let stored = AccessToken {
            id: new_opaque_id(),
            name: checked_token_name(&name)?,
            sha256: hash_of(&token),
            created_at: now,
            expires_at: expires_in_days.map(|days| expiry(now, days)).transpose()?,
            scope,
        };
        let (id, new) = (account.clone(), stored.clone());
        self.edit(move |book| {
            let account = book.account_mut(&id)?;
            account.access_tokens.retain(|known| known.expires_at.is_none_or(|expires_at| expires_at > now));
            if account.access_tokens.len() >= MAX_TOKENS {
                return Err(AccountRefused::TooMany);
            }
            account.access_tokens.push(new);
            Ok(())
        })
        .await?;
        Ok(NewToken { token, stored })
    }

    /// Deletes a personal access token.
    ///
    /// # Errors
    /// Returns [`AccountRefused::Unknown`] if the account has no such token.
    pub async fn delete_token(self: &Arc<Self>, account: &AccountId, token: String) -> Result<(), PeopleError> {
        let id = account.clone();
        self.edit(move |book| {
            let tokens = &mut book.account_mut(&id)?.access_tokens;
            let before = tokens.len();
            tokens.retain(|known| known.id != token);
            if tokens.len() < before { Ok(()) } else { Err(AccountRefused::Unknown) }
        })
        .await
    }
}

/// Returns the Unix second a number of days after `now`.
///
/// # Errors
/// Returns [`AccountRefused::BadExpiry`] if they are none or too many.
pub(super) fn expiry(now: f64, days: u32) -> Result<f64, AccountRefused> {
    if (1..=MAX_DAYS).contains(&days) { Ok(now + f64::from(days) * DAY) } else { Err(AccountRefused::BadExpiry) }
}
