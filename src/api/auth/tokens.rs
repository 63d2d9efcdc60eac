//! The personal access tokens of the person who asks.

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
use crate::domain::account::{AccessToken, TokenScope};
use crate::engine::people::NewAccessToken;

#[derive(Serialize, utoipa::ToSchema)]
pub struct AccessTokenInfo {
    id: String,
    name: String,
    /// RFC 3339, UTC.
    created_at: String,
    /// RFC 3339, UTC; null if it does not expire.
    expires_at: Option<String>,
    scope: TokenScope,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AccessTokenRequest {
    name: String,
    /// 1 to 3650; without it the token does not expire.
    expires_in_days: Option<u32>,
    /// Default: `full`.
    #[serde(default)]
    scope: TokenScope,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct MadeAccessToken {
    /// Shown only in this response.
    token: String,
    #[serde(flatten)]
    stored: AccessTokenInfo,
}

impl From<AccessToken> for AccessTokenInfo {
    fn from(token: AccessToken) -> Self {
        Self {
            id: token.id,
            name: token.name,
            created_at: clock::rfc3339(token.created_at),
            expires_at: token.expires_at.map(clock::rfc3339),
            scope: token.scope,
        }
    }
}

/// Lists the caller's access tokens.
#[utoipa::path(get, path = "/api/auth/tokens", tag = "auth",
    responses((status = 200, body = Enveloped<Page<AccessTokenInfo>>), (status = "default", body = EnvelopedError)))]
pub async fn list_tokens(requester: Requester) -> Result<Json<Enveloped<Page<AccessTokenInfo>>>, ApiError> {
    let (people, account) = requester.people(Right::OwnAccount)?;
    let items = people.account(account)?.access_tokens.into_iter().map(AccessTokenInfo::from).collect();
    Ok(enveloped(Page::whole(items)))
}

/// Makes an access token for programs. It can do what its person can in their own home, and nothing about accounts or the
/// server.
#[utoipa::path(post, path = "/api/auth/tokens", tag = "auth", request_body = AccessTokenRequest,
    responses((status = 200, body = Enveloped<MadeAccessToken>),
              (status = "default", description = "400 bad_token_name, bad_expiry; 409 too_many_items", body = EnvelopedError)))]
pub async fn make_token(
    requester: Requester,
    request: Result<JsonBody<AccessTokenRequest>, JsonRejection>,
) -> Result<Json<Enveloped<MadeAccessToken>>, ApiError> {
    let (people, account) = requester.people(Right::OwnAccount)?;
    let JsonBody(AccessTokenRequest { name, expires_in_days, scope }) = request?;
    let made = people.make_token(account, NewAccessToken { name, expires_in_days, scope }).await?;
    Ok(enveloped(MadeAccessToken { token: made.token, stored: made.stored.into() }))
}

/// Deletes an access token, and ends its streams.
#[utoipa::path(delete, path = "/api/auth/tokens/{id}", tag = "auth", params(("id" = String, Path)),
    responses((status = 200, body = Enveloped<Option<bool>>), (status = "default", body = EnvelopedError)))]
pub async fn delete_token(requester: Requester, Path(id): Path<String>) -> Result<Json<Enveloped<()>>, ApiError> {
    let (people, account) = requester.people(Right::OwnAccount)?;
    people.delete_token(account, id).await?;
    Ok(enveloped(()))
}
