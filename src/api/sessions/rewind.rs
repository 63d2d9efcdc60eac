//! Rewinding to a message, and switching between the branches that start there.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use serde::{Deserialize, Serialize};

use crate::api::body::JsonBody;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::{Branch, Session, SessionId};

#[derive(Deserialize, utoipa::ToSchema)]
pub struct RewindRequest {
    /// Id of a message of the person. It and all following messages are put aside as a branch.
    message_id: String,
    /// The branch to restore, by the id of its first message. If absent, the conversation ends before `message_id`.
    to: Option<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct Rewound {
    session_id: String,
}

/// A branch: messages that an edit or a retry replaced.
#[derive(Serialize, utoipa::ToSchema)]
pub struct BranchPoint {
    /// Id of its first message, which names the branch.
    message_id: String,
    /// Id of the message it follows; absent if it is the start of the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
    /// Time of its first message, in Unix seconds; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<f64>,
}

/// Replaces a message and all that follow by another branch, or by nothing.
#[utoipa::path(post, path = "/api/sessions/{id}/rewind", tag = "sessions", request_body = RewindRequest,
    params(("id" = String, Path)), responses((status = 200, body = Rewound), (status = 404, body = ErrorBody),
    (status = 409, body = ErrorBody)))]
pub async fn rewind(
    caller: Caller,
    Path(id): Path<String>,
    request: Result<JsonBody<RewindRequest>, JsonRejection>,
) -> Result<Json<Rewound>, ApiError> {
    let id = SessionId::parse(&id)?;
    let JsonBody(RewindRequest { message_id, to }) = request?;
    caller.engine.rewind(&id, &message_id, to.as_deref()).await?;
    Ok(Json(Rewound { session_id: id.to_string() }))
}

pub fn points(session: &Session) -> Vec<BranchPoint> {
    session.branches.iter().filter_map(point).collect()
}

/// Returns a branch as its name and its place; `None` if it has no name.
pub fn point(branch: &Branch) -> Option<BranchPoint> {
    Some(BranchPoint {
        message_id: branch.id()?.to_owned(),
        after: branch.after.clone(),
        created_at: branch.messages.first()?.created_at,
    })
}
