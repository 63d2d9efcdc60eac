//! Refusals about accounts as responses.

use axum::http::StatusCode;

use crate::api::error::ApiError;
use crate::domain::{AccountRefused, MembersRefused};
use crate::engine::people::PeopleError;

impl From<PeopleError> for ApiError {
    fn from(error: PeopleError) -> Self {
        match error {
            PeopleError::Refused(refused) => refused.into(),
            PeopleError::Members(ref refused) => members_refused(refused),
            PeopleError::ChangedOnDisk => Self::new(StatusCode::CONFLICT, "accounts_changed", error.to_string()),
            PeopleError::NoAudit(_) => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "audit_unavailable", error.to_string())
            }
            PeopleError::Engine(error) => error.into(),
        }
    }
}

fn members_refused(refused: &MembersRefused) -> ApiError {
    let (status, code) = match refused {
        MembersRefused::OwnName => (StatusCode::BAD_REQUEST, "own_name"),
        MembersRefused::TooMany => (StatusCode::CONFLICT, "too_many_members"),
        MembersRefused::NoMember => (StatusCode::NOT_FOUND, "no_member"),
        MembersRefused::NoInvitation => (StatusCode::NOT_FOUND, "no_invitation"),
        MembersRefused::InDatabase => (StatusCode::CONFLICT, "no_sharing_in_database"),
        MembersRefused::Damaged => (StatusCode::SERVICE_UNAVAILABLE, "members_damaged"),
        MembersRefused::ChangedOnDisk => (StatusCode::CONFLICT, "members_changed"),
    };
    ApiError::new(status, code, refused.to_string())
}

impl From<AccountRefused> for ApiError {
    fn from(refused: AccountRefused) -> Self {
        let (status, code, retry_after) = match refused {
            AccountRefused::BadUsername => (StatusCode::BAD_REQUEST, "bad_username", None),
            AccountRefused::BadEmail => (StatusCode::BAD_REQUEST, "bad_email", None),
            AccountRefused::BadAvatar => (StatusCode::BAD_REQUEST, "bad_avatar", None),
            AccountRefused::BadPassword => (StatusCode::BAD_REQUEST, "weak_password", None),
            AccountRefused::BadTokenName => (StatusCode::BAD_REQUEST, "bad_token_name", None),
            AccountRefused::BadExpiry => (StatusCode::BAD_REQUEST, "bad_expiry", None),
            AccountRefused::NameTaken => (StatusCode::CONFLICT, "username_taken", None),
            AccountRefused::EmailTaken => (StatusCode::CONFLICT, "email_taken", None),
            AccountRefused::WrongPassword | AccountRefused::WrongCurrentPassword => {
                (StatusCode::UNAUTHORIZED, "wrong_password", None)
            }
            AccountRefused::Disabled => (StatusCode::FORBIDDEN, "disabled", None),
            AccountRefused::BadInvitation => (StatusCode::FORBIDDEN, "bad_invitation", None),
            AccountRefused::InvitationNeeded => (StatusCode::FORBIDDEN, "invitation_needed", None),
            AccountRefused::RegistrationClosed => (StatusCode::FORBIDDEN, "registration_closed", None),
            AccountRefused::SetupCodeNeeded => (StatusCode::FORBIDDEN, "setup_code_needed", None),
            AccountRefused::NoAccount => (StatusCode::FORBIDDEN, "no_account", None),
            AccountRefused::NameOfProxy => (StatusCode::CONFLICT, "name_of_proxy", None),
            AccountRefused::Unknown => (StatusCode::NOT_FOUND, "not_found", None),
            AccountRefused::LastAdmin => (StatusCode::CONFLICT, "last_admin", None),
            AccountRefused::TooMany => (StatusCode::CONFLICT, "too_many_items", None),
            AccountRefused::Wait(seconds) => (StatusCode::TOO_MANY_REQUESTS, "too_many_tries", Some(seconds)),
            AccountRefused::Busy => (StatusCode::SERVICE_UNAVAILABLE, "sign_in_busy", Some(1)),
        };
        Self { retry_after, ..Self::new(status, code, refused.to_string()) }
    }
}
