//! Invitations: codes with which people make accounts.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use serde::{Deserialize, Serialize};

use crate::api::body::JsonBody;
use crate::api::conversations::envelope::{Enveloped, EnvelopedError, Page, enveloped};
use crate::api::error::ApiError;
use crate::api::security::person::Right;
use crate::api::security::requester::Requester;
use crate::clock;
use crate::domain::account::Invitation;

/// Number of days after which an invitation expires if the request does not say.
const USUAL_DAYS: u32 = 7;

#[derive(Serialize, utoipa::ToSchema)]
pub struct InvitationInfo {
    id: String,
    /// RFC 3339, UTC.
    created_at: String,
    /// RFC 3339, UTC.
    expires_at: String,
    /// User name of the account that was made with it.
    used_by: Option<String>,
}

#[derive(Default, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct InvitationRequest {
    /// 1 to 3650; 7 by default.
    expires_in_days: Option<u32>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct MadeInvitation {
    /// Shown only in this response.
    code: String,
    #[serde(flatten)]
    stored: InvitationInfo,
}

impl InvitationInfo {
    fn new(stored: Invitation, used_by: Option<String>) -> Self {
        let (created_at, expires_at) = (clock::rfc3339(stored.created_at), clock::rfc3339(stored.expires_at));
        Self { id: stored.id, created_at, expires_at, used_by }
    }
}

/// Lists the invitations that have not expired. Only for admins.
#[utoipa::path(get, path = "/api/admin/invitations", tag = "admin",
    responses((status = 200, body = Enveloped<Page<InvitationInfo>>), (status = "default", body = EnvelopedError)))]
pub async fn list_invitations(requester: Requester) -> Result<Json<Enveloped<Page<InvitationInfo>>>, ApiError> {
    let (people, _) = requester.people(Right::ManagePeople)?;
    let items = people.invitations().into_iter().map(|stored| {
        let used_by = stored.used_by.as_ref().and_then(|id| people.account(id).ok());
        InvitationInfo::new(stored, used_by.map(|account| account.username))
    });
    Ok(enveloped(Page::whole(items.collect())))
}

/// Makes an invitation for one person. Only for admins.
#[utoipa::path(post, path = "/api/admin/invitations", tag = "admin", request_body = Option<InvitationRequest>,
    responses((status = 200, body = Enveloped<MadeInvitation>),
              (status = "default", description = "400 bad_expiry; 409 too_many_items", body = EnvelopedError)))]
pub async fn invite(
    requester: Requester,
    request: Result<JsonBody<InvitationRequest>, JsonRejection>,
) -> Result<Json<Enveloped<MadeInvitation>>, ApiError> {
    let (people, admin) = requester.people(Right::ManagePeople)?;
    let JsonBody(request) = request?;
    let made = people.invite(admin, request.expires_in_days.unwrap_or(USUAL_DAYS)).await?;
    Ok(enveloped(MadeInvitation { code: made.code, stored: InvitationInfo::new(made.stored, None) }))
}

/// Takes an invitation back. Only for admins.
#[utoipa::path(delete, path = "/api/admin/invitations/{id}", tag = "admin", params(("id" = String, Path)),
    responses((status = 200, body = Enveloped<Option<bool>>), (status = "default", body = EnvelopedError)))]
pub async fn delete_invitation(requester: Requester, Path(id): Path<String>) -> Result<Json<Enveloped<()>>, ApiError> {
    let (people, _) = requester.people(Right::ManagePeople)?;
    people.delete_invitation(id).await?;
    Ok(enveloped(()))
}
