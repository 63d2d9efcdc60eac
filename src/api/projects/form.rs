//! Forms with files, read as they arrive. Nothing of a file is kept here.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::{Body, Bytes};
use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::StatusCode;
use futures_util::StreamExt;

use crate::api::error::ApiError;
use crate::domain::RelPath;
use crate::domain::visible::visible;

/// Maximum bytes of a field that is no file.
const MAX_FIELD: usize = 64 << 10;
/// Maximum bytes that arrive before a piece of a field is read.
const MAX_UNREAD: u64 = 64 << 20;

/// Maximum characters of a file's name in an error.
const MAX_SHOWN: usize = 200;

/// A form that is read as it arrives.
pub struct Form {
    fields: Multipart,
    /// Bytes that have arrived since the last piece of a field was read.
    unread: Arc<AtomicU64>,
}

/// A field of a form.
pub struct FormField<'a> {
    pub inner: Field<'a>,
    unread: Arc<AtomicU64>,
}

impl Form {
    /// # Errors
    /// Returns `bad_form` if the request has no form.
    pub async fn of(request: Request) -> Result<Self, ApiError> {
        let unread = Arc::<AtomicU64>::default();
        let form = Multipart::from_request(bounded(request, unread.clone()), &()).await;
        Ok(Self { fields: form.map_err(|error| bad_form(&error.body_text()))?, unread })
    }

    /// # Errors
    /// Returns `bad_form` if the connection breaks or the form cannot be read.
    pub async fn next_field(&mut self) -> Result<Option<FormField<'_>>, ApiError> {
        let field = self.fields.next_field().await.map_err(|error| form_error(&error))?;
        self.unread.store(0, Ordering::Relaxed);
        Ok(field.map(|inner| FormField { inner, unread: self.unread.clone() }))
    }
}

impl FormField<'_> {
    /// Returns the next piece of the field; `None` at its end.
    ///
    /// # Errors
    /// Returns `bad_form` if the connection breaks before the end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, ApiError> {
        let piece = self.inner.chunk().await.map_err(|error| form_error(&error))?;
        self.unread.store(0, Ordering::Relaxed);
        Ok(piece)
    }

    /// Returns the whole field as text.
    ///
    /// # Errors
    /// Returns `bad_form` if it is not UTF-8 or has more than 64 KiB.
    pub async fn text(mut self) -> Result<String, ApiError> {
        let mut bytes = Vec::new();
        while let Some(more) = self.chunk().await? {
            bytes.extend_from_slice(&more);
            if bytes.len() > MAX_FIELD {
                return Err(bad_form("a field that is no file has more than 64 KiB"));
            }
        }
        String::from_utf8(bytes).map_err(|_| bad_form("a field is not UTF-8"))
    }
}

/// Returns the request with a body that ends with an error if the parser keeps too much of it: what comes before the first
/// field, and the head of a field, are read into memory.
fn bounded(request: Request, unread: Arc<AtomicU64>) -> Request {
    let (parts, body) = request.into_parts();
    let counted = body.into_data_stream().map(move |piece| {
        let piece = piece.map_err(io::Error::other)?;
        let length = piece.len() as u64;
        if unread.fetch_add(length, Ordering::Relaxed).saturating_add(length) > MAX_UNREAD {
            return Err(io::Error::other("the head of a field is too long"));
        }
        Ok(piece)
    });
    Request::from_parts(parts, Body::from_stream(counted))
}

/// Returns the path that a file of a form has as its name.
///
/// # Errors
/// Returns `bad_path`, with the name, because a form has many files.
pub fn path_of(name: &str) -> Result<RelPath, ApiError> {
    RelPath::parse(name).map_err(|why| {
        let shown: String = name.chars().take(MAX_SHOWN).collect();
        ApiError::bad_request("bad_path", format!("“{}”: {why}", visible(&shown)))
    })
}

pub fn bad_form(why: &str) -> ApiError {
    ApiError::bad_request("bad_form", format!("the form cannot be read: {why}"))
}

fn form_error(error: &MultipartError) -> ApiError {
    match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", error.body_text()),
        _ => bad_form(&error.body_text()),
    }
}
