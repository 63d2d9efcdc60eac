//! The person who asks, and what they may do besides using their own home.

use axum::http::StatusCode;

use crate::api::error::ApiError;
use crate::domain::{Account, AccountId, AccountRole, HomeId};
use crate::engine::people::Credential;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Person {
    /// The one person of a single-person server.
    Owner,
    /// A person with an account.
    Member {
        account: AccountId,
        role: AccountRole,
        /// Whether the person has signed in, and does not use a personal access token.
        has_signed_in: bool,
    },
}

/// What not everybody may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Change what all people of the server use, such as the providers.
    ManageServer,
    /// Manage the accounts of others.
    ManagePeople,
    /// Change the own account, its password and its tokens.
    OwnAccount,
}

/// The rights of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights(&'static [Right]);

impl Person {
    /// Returns the person of an account who has shown this credential.
    pub fn of(account: &Account, credential: &Credential) -> Self {
        let has_signed_in = matches!(credential, Credential::SignIn(_));
        Self::Member { account: account.id.clone(), role: account.role, has_signed_in }
    }

    /// Returns the tenant whose data this person uses.
    pub fn tenant(&self) -> HomeId {
        match self {
            Self::Owner => HomeId::Server,
            Self::Member { account, .. } => HomeId::from(account),
        }
    }

    pub fn account(&self) -> Option<&AccountId> {
        match self {
            Self::Owner => None,
            Self::Member { account, .. } => Some(account),
        }
    }

    pub fn rights(&self) -> Rights {
        match self {
            Self::Owner => Rights(&[Right::ManageServer]),
            Self::Member { has_signed_in: false, .. } => Rights(&[]),
            Self::Member { role: AccountRole::User, .. } => Rights(&[Right::OwnAccount]),
            Self::Member { role: AccountRole::Admin, .. } => {
                Rights(&[Right::ManageServer, Right::ManagePeople, Right::OwnAccount])
            }
        }
    }
}

impl Rights {
    pub fn has(self, right: Right) -> bool {
        self.0.contains(&right)
    }

    /// # Errors
    /// Returns `not_allowed` if the person does not have this right.
    pub fn require(self, right: Right) -> Result<(), ApiError> {
        if self.has(right) {
            return Ok(());
        }
        let message = match right {
            Right::ManageServer => "only the person who runs this server may change what everybody on it uses",
            Right::ManagePeople => "only an admin who has signed in may manage accounts",
            Right::OwnAccount => "an access token cannot change its account; sign in",
        };
        Err(ApiError::new(StatusCode::FORBIDDEN, "not_allowed", message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_right_is_refused() {
        assert!(Person::Owner.rights().require(Right::ManageServer).is_ok());
        let refused = Rights(&[]).require(Right::ManageServer).unwrap_err();
        assert_eq!((refused.status, refused.code), (StatusCode::FORBIDDEN, "not_allowed"));
    }

    #[test]
    fn access_token_of_an_admin_is_not_the_admin() {
        let account = AccountId::parse("ann").unwrap();
        let rights = |role, has_signed_in| Person::Member { account: account.clone(), role, has_signed_in }.rights();
        let all = [Right::ManageServer, Right::ManagePeople, Right::OwnAccount];
        assert!(all.into_iter().all(|right| rights(AccountRole::Admin, true).has(right)));
        assert!(all.into_iter().all(|right| !rights(AccountRole::Admin, false).has(right)));
        assert_eq!(rights(AccountRole::User, true), Rights(&[Right::OwnAccount]));
    }
}
