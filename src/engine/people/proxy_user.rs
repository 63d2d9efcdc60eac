//! Signing in by a trusted proxy: it has checked who a person is, and names them.

use std::sync::Arc;

use super::accounts::SignedIn;
use super::sign_ins::Way;
use super::{People, PeopleError, new_opaque_id};
use crate::clock;
use crate::domain::account::NewAccount;
use crate::domain::account_fields::Username;
use crate::domain::{AccountBook, AccountId, AccountRefused, AccountRole};

/// A sign-in by a proxy that has just been made.
pub struct ByProxy {
    pub signed_in: SignedIn,
    /// Whether the account is new.
    pub is_new: bool,
}

impl People {
    /// Signs in the person whom a trusted proxy names. With `creates`, an account is made for a name that nobody has, as `user`;
    /// never the first one, which is the admin's. It has no password that anybody knows.
    ///
    /// # Errors
    /// Returns [`AccountRefused::NoAccount`] if nobody has the name, [`AccountRefused::SetupCodeNeeded`] if there is no account
    /// yet, and [`AccountRefused::Disabled`].
    pub async fn sign_in_by_proxy(self: &Arc<Self>, name: &Username, creates: bool) -> Result<ByProxy, PeopleError> {
        let name = name.clone();
        let password_hash = match allowed(&self.book(), &name, creates)? {
            Found::Account(_) => None,
            Found::Nobody => {
                let turn = self.passwords.turn().await?;
                Some(self.passwords.hash(&turn, &clock::new_secret()).await?)
            }
        };
        let (now, new_id) = (clock::now(), AccountId::parse(&new_opaque_id()).ok_or(AccountRefused::Busy)?);
        let (account, is_new) = self
            .edit(move |book| {
                let (id, is_new) = match (allowed(book, &name, creates)?, password_hash) {
                    (Found::Account(id), _) => (id, false),
                    (Found::Nobody, Some(password_hash)) => {
                        let (username, role) = (name, AccountRole::User);
                        let new = NewAccount { id: new_id, username, email: None, password_hash, role, now };
                        (book.add(new)?.id.clone(), true)
                    }
                    // Somebody gave the name away in between.
                    (Found::Nobody, None) => return Err(AccountRefused::Busy),
                };
                let account = book.account_mut(&id)?;
                account.last_login_at = Some(now);
                Ok((account.clone(), is_new))
            })
            .await?;
        Ok(ByProxy { signed_in: self.signed_in(account, Way::Proxy)?, is_new })
    }
}

enum Found {
    Account(AccountId),
    Nobody,
}

/// Returns whose name it is, if its person may sign in.
fn allowed(book: &AccountBook, name: &Username, creates: bool) -> Result<Found, AccountRefused> {
    match book.named(name.as_str()) {
        Some(account) if !account.is_active => Err(AccountRefused::Disabled),
        Some(account) => Ok(Found::Account(account.id.clone())),
        None if book.accounts.is_empty() => Err(AccountRefused::SetupCodeNeeded),
        None if creates => Ok(Found::Nobody),
        None => Err(AccountRefused::NoAccount),
    }
}
