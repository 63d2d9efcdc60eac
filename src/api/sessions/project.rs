//! The project that a session is bound to.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use serde::{Deserialize, Serialize};

use crate::api::body::JsonBody;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::{ProjectId, SessionId};

#[derive(Deserialize, utoipa::ToSchema)]
pub struct ProjectBinding {
    /// `scratch` is the folder of commands; `null` or absent for none.
    #[schema(value_type = Option<String>)]
    #[serde(default)]
    project_id: Option<ProjectId>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct BoundSession {
    session_id: String,
    #[schema(value_type = Option<String>)]
    project_id: Option<ProjectId>,
}

/// Binds a session to a project, whose folder its tools work in from the next message on, or to none. Each file that they
/// change and each command still needs the approval that it needed before.
#[utoipa::path(put, path = "/api/sessions/{id}/project", tag = "sessions", request_body = ProjectBinding,
    params(("id" = String, Path)),
    responses((status = 200, body = BoundSession),
              (status = 404, description = "No such session, or this home does not have the project", body = ErrorBody),
              (status = 409, description = "busy: the session is at work", body = ErrorBody)))]
pub async fn bind(
    caller: Caller,
    Path(id): Path<String>,
    request: Result<JsonBody<ProjectBinding>, JsonRejection>,
) -> Result<Json<BoundSession>, ApiError> {
    let id = SessionId::parse(&id)?;
    let JsonBody(ProjectBinding { project_id }) = request?;
    caller.engine.bind(&id, project_id.clone()).await?;
    Ok(Json(BoundSession { session_id: id.to_string(), project_id }))
}
