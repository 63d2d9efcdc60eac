//! Going back to a message, and switching between the branches that begin there.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use serde::{Deserialize, Serialize};

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::{Session, SessionId};

#[derive(Deserialize, utoipa::ToSchema)]
pub struct RewindRequest {
    /// The message that is put aside, with all that follow.
    message_id: String,
    /// The branch that takes its place; without one the conversation ends before the message.
    to: Option<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct Rewound {
    session_id: String,
}

/// A way the conversation has gone that is put aside.
#[derive(Serialize, utoipa::ToSchema)]
pub struct BranchPoint {
    /// Its first message.
    message_id: String,
    /// The message it follows; absent where it is the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
    /// Unix seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<f64>,
}

/// Puts a message and all that follow aside, and another branch in their place.
#[utoipa::path(post, path = "/api/sessions/{id}/rewind", tag = "sessions", request_body = RewindRequest,
    params(("id" = String, Path)), responses((status = 200, body = Rewound), (status = 404, body = ErrorBody),
    (status = 409, body = ErrorBody)))]
pub async fn rewind(
    caller: Caller,
    Path(id): Path<String>,
    request: Result<Json<RewindRequest>, JsonRejection>,
) -> Result<Json<Rewound>, ApiError> {
    let id = SessionId::parse(&id)?;
    let Json(RewindRequest { message_id, to }) = request?;
    caller.engine.rewind(&id, &message_id, to.as_deref()).await?;
    Ok(Json(Rewound { session_id: id.to_string() }))
}

pub fn points(session: &Session) -> Vec<BranchPoint> {
    let named = session.branches.iter().filter_map(|branch| {
        Some(BranchPoint {
            message_id: branch.id()?.to_owned(),
            after: branch.after.clone(),
            created_at: branch.messages.first()?.created_at,
        })
    });
    named.collect()
}
