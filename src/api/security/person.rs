//! The person who asks, and what they may do besides using their own home.

use axum::http::StatusCode;

use crate::api::error::ApiError;
use crate::engine::TenantId;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Person {
    /// The one person of a single-person server.
    Owner,
}

/// What not everybody may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// Change what all people of the server use, such as the providers.
    ManageServer,
}

/// The rights of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights(&'static [Right]);

impl Person {
    /// Returns the tenant whose data this person uses.
    pub fn tenant(self) -> TenantId {
        match self {
            Self::Owner => TenantId::owner(),
        }
    }

    pub fn rights(self) -> Rights {
        match self {
            Self::Owner => Rights(&[Right::ManageServer]),
        }
    }
}

impl Rights {
    /// # Errors
    /// Returns `not_allowed` if the person does not have this right.
    pub fn require(self, right: Right) -> Result<(), ApiError> {
        if self.0.contains(&right) {
            return Ok(());
        }
        let message = match right {
            Right::ManageServer => "only the person who runs this server may change what everybody on it uses",
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
}
