//! Pinned sessions, which are listed before the others.

use axum::Json;
use axum::extract::Path;
use serde::Serialize;

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::SessionId;
use crate::engine::Notice;
use crate::store::SessionListKind;

#[derive(Serialize, utoipa::ToSchema)]
pub struct Pinned {
    pinned: Vec<String>,
}

/// Pins a session, so that it is listed before the others.
#[utoipa::path(put, path = "/api/sessions/{id}/pin", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = Pinned), (status = 404, body = ErrorBody)))]
pub async fn pin(caller: Caller, Path(id): Path<String>) -> Result<Json<Pinned>, ApiError> {
    let id = SessionId::parse(&id)?;
    // Fails if there is no such session.
    caller.engine.view(&id).await?;
    let tenant = caller.tenant();
    let pinned = tenant.log.add_to_list(tenant.claim, &id, SessionListKind::Pinned).await?;
    changed(&caller, &id);
    Ok(Json(Pinned { pinned }))
}

/// Unpins a session.
#[utoipa::path(delete, path = "/api/sessions/{id}/pin", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = Pinned)))]
pub async fn unpin(caller: Caller, Path(id): Path<String>) -> Result<Json<Pinned>, ApiError> {
    let id = SessionId::parse(&id)?;
    let tenant = caller.tenant();
    let pinned = tenant.log.remove_from_list(tenant.claim, &id, SessionListKind::Pinned).await?;
    changed(&caller, &id);
    Ok(Json(Pinned { pinned }))
}

fn changed(caller: &Caller, id: &SessionId) {
    caller.tenant().hub.notice(Notice::SessionsChanged { session_id: id.to_string() });
}
