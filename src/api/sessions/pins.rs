//! Sessions that stand before the others.

use axum::Json;
use axum::extract::{Path, State};
use serde::Serialize;

use crate::api::app::App;
use crate::api::error::{ApiError, ErrorBody};
use crate::domain::SessionId;
use crate::engine::Notice;
use crate::store::SessionList;

#[derive(Serialize, utoipa::ToSchema)]
pub struct Pinned {
    pinned: Vec<String>,
}

/// Puts a session before the others.
#[utoipa::path(put, path = "/api/sessions/{id}/pin", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = Pinned), (status = 404, body = ErrorBody)))]
pub async fn pin(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Pinned>, ApiError> {
    let id = SessionId::parse(&id)?;
    // Only what there is can be pinned.
    app.engine.view(&id).await?;
    let services = app.engine.services();
    let pinned = services.log.enlist(services.claim, &id, SessionList::Pinned).await?;
    changed(&app, &id);
    Ok(Json(Pinned { pinned }))
}

/// Puts a session back among the others.
#[utoipa::path(delete, path = "/api/sessions/{id}/pin", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = Pinned)))]
pub async fn unpin(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Pinned>, ApiError> {
    let id = SessionId::parse(&id)?;
    let services = app.engine.services();
    let pinned = services.log.delist(services.claim, &id, SessionList::Pinned).await?;
    changed(&app, &id);
    Ok(Json(Pinned { pinned }))
}

fn changed(app: &App, id: &SessionId) {
    app.engine.services().hub.notice(Notice::SessionsChanged { session_id: id.to_string() });
}
