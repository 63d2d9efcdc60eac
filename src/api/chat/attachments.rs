//! Files attached to a message: checked, stored and counted before the message is sent.

use std::sync::Arc;

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::api::body::JsonBody;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::attachment::{MOST_FILES, NotAttached, checked_together};
use crate::domain::picture::head;
use crate::domain::{Attachment, NewPicture, SessionId, UserPrompt};
use crate::engine::blocking;
use crate::extraction::Extractor;
use crate::retrieval::extract::{DocumentKind, Unreadable};
use crate::store::{StoreError, picture_hash};

/// Maximum length of a message's text, in bytes.
const MAX_MESSAGE: usize = 1 << 20;

/// Maximum bytes of a document, as of any file that is read.
const MAX_DOCUMENT: usize = 10 << 20;

/// How `content` holds a file.
#[derive(Clone, Copy, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// The text of a text file.
    #[default]
    Text,
    /// The bytes of a picture (PNG, JPEG, WebP or GIF) in base64.
    Base64,
    /// The bytes of a PDF, Word, OpenDocument, PowerPoint or HTML document in base64. The attachment is its text.
    Document,
    /// The SHA-256, in hexadecimal, of a picture that this session already has.
    Kept,
}

/// A text file, a document or a picture that is sent with a message.
#[derive(Deserialize, utoipa::ToSchema)]
pub struct Attached {
    /// The file's name. Only the last segment of a path is used; invisible characters are removed.
    name: String,
    /// The extension, for a text file. If absent, that of the name.
    extension: Option<String>,
    /// The content, in the form that `encoding` names. Limits: 256 KiB for a text; 10 MiB for a document, and 256 KiB for
    /// its text; 1.5 MiB and 8192 pixels a side for a picture; for all files of one message, 10 files, 1 MiB of text and
    /// 6 MiB of pictures.
    content: String,
    #[serde(default)]
    encoding: Encoding,
}

impl Attached {
    pub fn new(name: String, content: String, encoding: Encoding) -> Self {
        Self { name, extension: None, content, encoding }
    }
}

/// The size of an attachment once it is sent.
#[derive(Serialize, utoipa::ToSchema)]
pub struct AttachmentTokens {
    /// The name as it will be stored and shown.
    name: String,
    extension: String,
    bytes: usize,
    /// Tokens in the request, including the file's name and delimiters. For a picture, an estimate from its dimensions.
    tokens: usize,
    /// The text of a document, which is what the message will contain; absent for other files.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// Returns the token count of a file if it were attached to a message, or why it cannot be attached.
///
/// Nothing is stored.
#[utoipa::path(post, path = "/api/tokens/attachment", tag = "tokens", request_body = Attached,
    responses((status = 200, body = AttachmentTokens), (status = 413, body = ErrorBody), (status = 422, body = ErrorBody)))]
pub async fn attachment_tokens(
    caller: Caller,
    request: Result<JsonBody<Attached>, JsonRejection>,
) -> Result<Json<AttachmentTokens>, ApiError> {
    let JsonBody(file) = request?;
    let tenant = caller.tenant().clone();
    let is_document = matches!(file.encoding, Encoding::Document);
    let counted = blocking(move || {
        // Without a session there is no stored picture to refer to.
        let (attachment, picture) = match taken(file, &tenant.extractor, &|_| None) {
            Ok(taken) => taken,
            Err(refused) => return Ok(Err(refused)),
        };
        let (tokens, bytes) = match (&attachment.picture, picture) {
            (Some(picture), Some(new)) => (picture.tokens(), new.bytes.len()),
            _ => (tenant.runtime.tokens.count(&attachment.block()), attachment.content.len()),
        };
        let Attachment { name, extension, content, .. } = attachment;
        Ok(Ok(AttachmentTokens { name, extension, bytes, tokens, text: is_document.then_some(content) }))
    });
    Ok(Json(counted.await??))
}

/// Checks a message and its files and returns the prompt. The message must not be empty without files, and has at most
/// [`MAX_MESSAGE`] bytes.
pub(in crate::api) async fn prompt(
    caller: &Caller,
    session: &SessionId,
    message: String,
    files: Vec<Attached>,
) -> Result<UserPrompt, ApiError> {
    if message.trim().is_empty() && files.is_empty() {
        return Err(ApiError::bad_request("empty_message", "the message is empty"));
    }
    if message.len() > MAX_MESSAGE {
        let text =
            format!("the message has {} bytes; the limit is {MAX_MESSAGE}: put long text into a file", message.len());
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", text));
    }
    if files.len() > MOST_FILES {
        return Err(NotAttached::TooMany(files.len()).into());
    }
    let session_files = caller.tenant().home.session_files(session);
    let extractor = caller.tenant().extractor.clone();
    let all = blocking(move || {
        let kept = |hash: &str| session_files.picture(hash);
        Ok(files.into_iter().map(|file| taken(file, &extractor, &kept)).collect::<Result<Vec<_>, _>>())
    });
    let (attachments, pictures): (Vec<_>, Vec<_>) =
        all.await??.into_iter().map(|(attachment, picture)| (Arc::new(attachment), picture)).unzip();
    checked_together(&attachments)?;
    let pictures = pictures.into_iter().flatten().collect();
    Ok(UserPrompt { text: message, attachments, pictures, ..UserPrompt::default() })
}

/// Returns the attachment as it will be stored with the message, and the bytes of a picture.
fn taken(
    file: Attached,
    extractor: &Extractor,
    kept: &dyn Fn(&str) -> Option<Vec<u8>>,
) -> Result<(Attachment, Option<NewPicture>), NotAttached> {
    let bytes = match file.encoding {
        Encoding::Text => {
            return Attachment::new(&file.name, file.extension.as_deref(), file.content).map(|text| (text, None));
        }
        Encoding::Document => {
            let text = text_of(&file, extractor)?;
            return Attachment::new(&file.name, file.extension.as_deref(), text).map(|text| (text, None));
        }
        // Invalid base64 becomes empty bytes, which are rejected as not a picture.
        Encoding::Base64 => STANDARD.decode(file.content.trim()).unwrap_or_default(),
        Encoding::Kept => kept(&file.content).ok_or(NotAttached::NotKept(file.name.clone()))?,
    };
    let new = NewPicture { hash: picture_hash(&bytes), bytes: bytes.into() };
    Ok((Attachment::of_picture(&file.name, &new)?, Some(new)))
}

/// Returns the text of a document. A hostile one can only harm the confined process that reads it.
fn text_of(file: &Attached, extractor: &Extractor) -> Result<String, NotAttached> {
    let kind = DocumentKind::of_name(&file.name).ok_or_else(|| NotAttached::NotText(file.name.clone()))?;
    let bytes = STANDARD.decode(file.content.trim()).map_err(|_| Unreadable::Damaged);
    let text = bytes.and_then(|bytes| {
        if bytes.len() > MAX_DOCUMENT { Err(Unreadable::FileLimit) } else { extractor.read(kind, bytes) }
    });
    text.map_err(|why| NotAttached::NotReadable { name: file.name.clone(), why: why.to_string() })
}

/// Returns a picture of a session, as it was sent.
///
/// The URL contains the hash of the bytes, so the response never changes and may be cached forever.
#[utoipa::path(get, path = "/api/sessions/{id}/pictures/{hash}", tag = "sessions",
    params(("id" = String, Path), ("hash" = String, Path, description = "SHA-256 of its bytes, in hexadecimal")),
    responses((status = 200, description = "PNG, JPEG, WebP or GIF", body = Vec<u8>, content_type = "image/png"),
              (status = 404, body = ErrorBody)))]
pub async fn picture(caller: Caller, Path((id, hash)): Path<(String, String)>) -> Result<Response, ApiError> {
    let id = SessionId::parse(&id)?;
    let kept = caller.tenant().home.session_files(&id);
    let found = blocking(move || {
        let missing = || StoreError::NotFound { what: format!("the picture {hash} of session {id}") };
        let bytes = kept.picture(&hash).ok_or_else(missing)?;
        let kind = head(&bytes).ok_or_else(missing)?.media.name();
        Ok((kind, bytes))
    });
    let (kind, bytes) = found.await?;
    let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "private, max-age=31536000, immutable")];
    Ok((headers, bytes).into_response())
}

impl From<NotAttached> for ApiError {
    fn from(error: NotAttached) -> Self {
        let (status, code) = match &error {
            NotAttached::TooMany(_) => (StatusCode::BAD_REQUEST, "too_many_attachments"),
            NotAttached::TooLarge { .. }
            | NotAttached::TooLargeTogether(_)
            | NotAttached::TooWide { .. }
            | NotAttached::PictureTooLarge { .. }
            | NotAttached::PicturesTooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "attachment_too_large"),
            NotAttached::NotPicture(_) => (StatusCode::UNPROCESSABLE_ENTITY, "not_picture"),
            NotAttached::NotKept(_) => (StatusCode::UNPROCESSABLE_ENTITY, "picture_gone"),
            NotAttached::NotReadable { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "not_readable"),
            NotAttached::NotText(_) => (StatusCode::UNPROCESSABLE_ENTITY, "not_text"),
        };
        Self::new(status, code, error.to_string())
    }
}
