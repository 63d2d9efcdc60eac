//! What admins do with the accounts of others. They see no contents.

use std::sync::Arc;

use super::accounts::expiry;
use super::{People, PeopleError, hash_of, new_opaque_id};
use crate::clock;
use crate::domain::account::{Invitation, MAX_INVITATIONS};
use crate::domain::{Account, AccountId, AccountRefused, AccountRole, HomeId, WrittenLimits};

/// Number of characters of a temporary password: 80 random bits.
const TEMPORARY_PASSWORD: usize = 20;

/// A change that an admin makes to an account; `None` leaves it as it is.
#[derive(Clone, Debug, Default)]
pub struct AccountChange {
    pub is_active: Option<bool>,
    pub role: Option<AccountRole>,
    /// `Some(None)` lets the limits of the server count again.
    pub limits: Option<Option<WrittenLimits>>,
}

/// An invitation that has just been made.
pub struct NewInvitation {
    /// Shown once; only its hash is stored.
    pub code: String,
    pub stored: Invitation,
}

pub(super) fn temporary_password() -> String {
    clock::new_secret().chars().take(TEMPORARY_PASSWORD).collect()
}

impl People {
    /// Changes an account. The streams of a disabled person end at once, and their runs are stopped. An account that is enabled
    /// again has no sign-ins and no access tokens.
    ///
    /// # Errors
    /// Returns [`AccountRefused::LastAdmin`] if no active admin would be left.
    pub async fn change_account(
        self: &Arc<Self>,
        id: &AccountId,
        change: AccountChange,
    ) -> Result<Account, PeopleError> {
        let wanted = id.clone();
        let (account, was_active) = self
            .edit(move |book| {
                let account = book.account_mut(&wanted)?;
                let was_active = account.is_active;
                account.is_active = change.is_active.unwrap_or(was_active);
                if account.is_active && !was_active {
                    // Whoever had a sign-in or a token before it was disabled must not have one now.
                    account.end_all();
                }
                account.role = change.role.unwrap_or(account.role);
                account.limits = change.limits.unwrap_or_else(|| account.limits.take());
                let account = account.clone();
                book.require_admin().map(|()| (account, was_active))
            })
            .await?;
        // A home that was opened while the account was disabled has no commands.
        if account.is_active != was_active || !account.is_active {
            self.tenants.close(&HomeId::from(id)).await;
        }
        Ok(account)
    }

    /// Gives an account a temporary password, which is returned. Ends all sign-ins and deletes all access tokens.
    ///
    /// # Errors
    /// Returns [`AccountRefused::Unknown`] if there is no such account.
    pub async fn reset_password(self: &Arc<Self>, id: &AccountId) -> Result<String, PeopleError> {
        let account = self.account(id)?;
        let password = temporary_password();
        let hash = {
            let turn = self.passwords.turn().await?;
            self.passwords.hash(&turn, &password).await?
        };
        let id = account.id;
        self.edit(move |book| {
            book.account_mut(&id)?.set_password(hash);
            Ok(())
        })
        .await?;
        Ok(password)
    }

    /// Returns the invitations that have not expired, oldest first; also those that were accepted.
    pub fn invitations(&self) -> Vec<Invitation> {
        let now = clock::now();
        self.book().invitations.iter().filter(|invitation| invitation.expires_at > now).cloned().collect()
    }

    /// Makes an invitation for one person.
    ///
    /// # Errors
    /// Returns [`AccountRefused::BadExpiry`] and [`AccountRefused::TooMany`].
    pub async fn invite(self: &Arc<Self>, admin: &AccountId, days: u32) -> Result<NewInvitation, PeopleError> {
        let (code, now) = (clock::new_secret(), clock::now());
        let stored = Invitation {
            id: new_opaque_id(),
            sha256: hash_of(&code),
            created_by: admin.clone(),
            created_at: now,
            expires_at: expiry(now, days)?,
            used_by: None,
        };
        let new = stored.clone();
        self.edit(move |book| {
            book.invitations.retain(|known| known.expires_at > now);
            if book.invitations.len() >= MAX_INVITATIONS {
                return Err(AccountRefused::TooMany);
            }
            book.invitations.push(new);
            Ok(())
        })
        .await?;
        Ok(NewInvitation { code, stored })
    }

    /// Takes an invitation back.
    ///
    /// # Errors
    /// Returns [`AccountRefused::Unknown`] if there is no such invitation.
    pub async fn delete_invitation(self: &Arc<Self>, id: String) -> Result<(), PeopleError> {
        self.edit(move |book| {
            let before = book.invitations.len();
            book.invitations.retain(|known| known.id != id);
            if book.invitations.len() < before { Ok(()) } else { Err(AccountRefused::Unknown) }
        })
        .await
    }
}
