//! Files that come along with a message: taken in, looked at, and counted before they are sent.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};

use super::app::App;
use super::error::{ApiError, ErrorBody};
use crate::domain::attachment::{NotAttached, checked_together};
use crate::domain::{Attachment, Prompt};
use crate::engine::blocking;

/// The longest text of a person, in bytes.
const MAX_MESSAGE: usize = 1 << 20;

/// A text file to go along with a message.
#[derive(Deserialize, utoipa::ToSchema)]
pub struct Attached {
    /// Only its last part counts where it is a path; what does not show is taken out.
    name: String,
    /// That of the name where it is not given.
    extension: Option<String>,
    /// At most 256 KiB; those of one message at most 10, and 1 MiB together.
    content: String,
}

/// What a file comes to once it is sent.
#[derive(Serialize, utoipa::ToSchema)]
pub struct AttachmentTokens {
    /// As it will be kept and shown.
    name: String,
    extension: String,
    bytes: usize,
    /// In the request, its name and frame included.
    tokens: usize,
}

/// What a file would cost if it went along with a message, or why it cannot. Nothing is kept.
#[utoipa::path(post, path = "/api/tokens/attachment", tag = "tokens", request_body = Attached,
    responses((status = 200, body = AttachmentTokens), (status = 413, body = ErrorBody), (status = 422, body = ErrorBody)))]
pub async fn attachment_tokens(
    State(app): State<App>,
    request: Result<Json<Attached>, JsonRejection>,
) -> Result<Json<AttachmentTokens>, ApiError> {
    let attachment = taken(request?.0)?;
    let services = app.engine.services().clone();
    let counted = blocking(move || {
        let (tokens, bytes) = (services.tokens.count(&attachment.block()), attachment.content.len());
        Ok(AttachmentTokens { name: attachment.name, extension: attachment.extension, bytes, tokens })
    });
    Ok(Json(counted.await?))
}

/// What a person says, when it says something and is not absurdly long.
pub(super) fn prompt(message: String, files: Vec<Attached>) -> Result<Prompt, ApiError> {
    if message.trim().is_empty() && files.is_empty() {
        return Err(ApiError::bad_request("empty_message", "the message is empty"));
    }
    if message.len() > MAX_MESSAGE {
        let text =
            format!("the message has {} bytes; the limit is {MAX_MESSAGE}: put long text into a file", message.len());
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", text));
    }
    let files = files.into_iter().map(|file| taken(file).map(Arc::new));
    let attachments = files.collect::<Result<Vec<_>, _>>()?;
    checked_together(&attachments)?;
    Ok(Prompt { text: message, attachments })
}

fn taken(file: Attached) -> Result<Attachment, NotAttached> {
    Attachment::new(&file.name, file.extension.as_deref(), file.content)
}

impl From<NotAttached> for ApiError {
    fn from(error: NotAttached) -> Self {
        let (status, code) = match &error {
            NotAttached::TooMany(_) => (StatusCode::BAD_REQUEST, "too_many_attachments"),
            NotAttached::TooLarge { .. } | NotAttached::TooLargeTogether(_) => {
                (StatusCode::PAYLOAD_TOO_LARGE, "attachment_too_large")
            }
            NotAttached::NotText(_) => (StatusCode::UNPROCESSABLE_ENTITY, "not_text"),
        };
        Self::new(status, code, error.to_string())
    }
}
