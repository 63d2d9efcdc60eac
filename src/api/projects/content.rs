//! The content of a project's files: text as JSON, everything else as a download, whole or in ranges.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::RangeInclusive;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Query};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, stream};
use serde::{Deserialize, Serialize};

use super::files::file;
use crate::api::conversations::envelope::{Enveloped, EnvelopedError, enveloped};
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::clock;
use crate::domain::Place;
use crate::domain::picture::head;
use crate::engine::blocking;
use crate::store::{Home, OpenedFile, StoreError, TextFile};

/// Maximum bytes of a text that is returned as JSON.
const MAX_TEXT: u64 = 5 << 20;
/// Bytes of a download that are in memory at a time.
const PIECE: usize = 256 << 10;
/// Bytes at the beginning of a file that tell what it is.
const HEAD: u64 = 4 << 10;

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DownloadQuery {
    /// `true` returns the bytes of a text file too, as a download.
    #[serde(default)]
    download: bool,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct ProjectText {
    /// Relative to the project's root.
    path: String,
    content: String,
    /// In bytes.
    size: usize,
    /// Hash of the content. Send it in `If-Match` when you write the file.
    etag: String,
    /// RFC 3339, UTC.
    modified_at: String,
}

/// Reads a file of a project.
///
/// A UTF-8 text of at most 5 MiB is returned in the envelope. Any other file is a download with its type and its name, and so
/// is a text with `download=true` or a `Range` header; of several ranges, none is served.
#[utoipa::path(get, path = "/api/projects/{id}/files/{*filepath}", tag = "projects", operation_id = "read_project_file",
    params(("id" = String, Path), ("filepath" = String, Path), DownloadQuery, ("Range" = Option<String>, Header)),
    responses((status = 200, body = Enveloped<ProjectText>),
              (status = 206, description = "The bytes of a range", body = Vec<u8>, content_type = "application/octet-stream"),
              (status = 404, body = EnvelopedError),
              (status = 413, description = "too_large: a text of more than 5 MiB; ask for a download or a range",
               body = EnvelopedError),
              (status = 416, description = "bad_range", body = EnvelopedError)))]
pub async fn read(
    caller: Caller,
    Path((id, filepath)): Path<(String, String)>,
    Query(DownloadQuery { download }): Query<DownloadQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let place = file(&caller, &id, &filepath)?;
    let home = caller.tenant().home.clone();
    let wanted = headers.get(header::RANGE).cloned();
    let opened = {
        let (home, place) = (home.clone(), place.clone());
        blocking(move || open(&home, &place)).await?
    };
    if opened.is_text && !download && wanted.is_none() {
        if opened.file.size > MAX_TEXT {
            let message = format!(
                "{place} has {} bytes; a text of more than 5 MiB is read with ?download=true or a Range header",
                opened.file.size
            );
            return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message));
        }
        match text(&home, &place).await? {
            Some(text) => return Ok(text.into_response()),
            // Its beginning is text, and something behind it is not.
            None => return serve(opened, &place, None),
        }
    }
    serve(opened, &place, wanted.as_ref())
}

/// A file with what its beginning says about it.
struct Opened {
    file: OpenedFile,
    is_text: bool,
    media: &'static str,
}

fn open(home: &Home, place: &Place) -> Result<Opened, StoreError> {
    let mut file = home.open_file(place)?;
    let mut first = Vec::new();
    let read = (&mut file.file).take(HEAD).read_to_end(&mut first);
    // A file that cannot be read fails again where it is served.
    let is_text = read.is_ok() && !first.contains(&0) && is_beginning_of_text(&first);
    let media = match head(&first) {
        Some(picture) => picture.media.name(),
        None if is_text => "text/plain; charset=utf-8",
        None => "application/octet-stream",
    };
    Ok(Opened { file, is_text, media })
}

/// Returns whether these bytes are UTF-8, apart from a letter that is cut at the end.
fn is_beginning_of_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).map_or_else(|error| error.error_len().is_none(), |_| true)
}

async fn text(home: &Home, place: &Place) -> Result<Option<Json<Enveloped<ProjectText>>>, ApiError> {
    let (home, place) = (home.clone(), place.clone());
    let read = blocking(move || match home.read_text(&place) {
        Ok(TextFile { content, etag, .. }) => {
            let modified_at = clock::rfc3339(home.modified(&place).unwrap_or_default());
            let (path, size) = (place.path().to_owned(), content.len());
            Ok(Some(ProjectText { path, content, size, etag, modified_at }))
        }
        Err(StoreError::NotText { .. }) => Ok(None),
        Err(error) => Err(error),
    });
    Ok(read.await?.map(enveloped))
}

/// Returns the bytes of a file, or of one range of it.
fn serve(
    Opened { file, media, .. }: Opened,
    place: &Place,
    wanted: Option<&HeaderValue>,
) -> Result<Response, ApiError> {
    let OpenedFile { file, size, .. } = file;
    let range = wanted.map(|wanted| range(wanted, size)).transpose()?;
    let (start, length) = range.as_ref().map_or((0, size), |range| (*range.start(), range.end() - range.start() + 1));
    let mut response = Response::new(Body::from_stream(pieces(file, start, length)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(header::CONTENT_LENGTH, length.into());
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if let Ok(disposition) = HeaderValue::from_str(&disposition(place.file_name())) {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    if let Some(range) = range {
        let text = format!("bytes {}-{}/{size}", range.start(), range.end());
        headers.insert(header::CONTENT_RANGE, HeaderValue::from_str(&text).expect("numbers are a header"));
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    Ok(response)
}

/// Returns the header with a file's name, in the encoding of RFC 8187 for names that are not plain.
fn disposition(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let encode = |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    let encoded: String = name.bytes().map(encode).collect();
    format!("attachment; filename*=UTF-8''{encoded}")
}

/// Parses a `Range` header (RFC 9110, section 14.2) with one range of a file of `size` bytes.
fn range(wanted: &HeaderValue, size: u64) -> Result<RangeInclusive<u64>, ApiError> {
    let refused = || {
        let message = format!("send one range of the {size} bytes, like Range: bytes=0-1023");
        ApiError::new(StatusCode::RANGE_NOT_SATISFIABLE, "bad_range", message)
    };
    let text = wanted.to_str().ok().and_then(|text| text.strip_prefix("bytes=")).ok_or_else(refused)?;
    let (first, last) = text.split_once('-').ok_or_else(refused)?;
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| refused());
    let (start, end) = match (first.trim(), last.trim()) {
        ("", last) => (size.saturating_sub(number(last)?), size.saturating_sub(1)),
        (first, "") => (number(first)?, size.saturating_sub(1)),
        (first, last) => (number(first)?, number(last)?.min(size.saturating_sub(1))),
    };
    if start >= size || start > end { Err(refused()) } else { Ok(start..=end) }
}

/// Reads a part of a file piece by piece. It ends early if the file has become shorter.
fn pieces(file: File, start: u64, length: u64) -> impl Stream<Item = io::Result<Bytes>> {
    stream::try_unfold((Some(file), start, length), |(file, at, left)| async move {
        let Some(mut file) = file.filter(|_| left > 0) else { return Ok(None) };
        let read = tokio::task::spawn_blocking(move || {
            let mut piece = vec![0; PIECE.min(usize::try_from(left).unwrap_or(PIECE))];
            file.seek(SeekFrom::Start(at))?;
            let length = file.read(&mut piece)?;
            piece.truncate(length);
            Ok::<_, io::Error>((file, piece))
        });
        let (file, piece) = read.await.map_err(io::Error::other)??;
        if piece.is_empty() {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        let length = piece.len() as u64;
        Ok(Some((Bytes::from(piece), (Some(file), at + length, left - length))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_is_served_and_others_are_refused() {
        let parse = |text: &'static str, size| range(&HeaderValue::from_static(text), size).ok();
        assert_eq!(parse("bytes=0-0", 5), Some(0..=0));
        assert_eq!(parse("bytes=2-", 5), Some(2..=4));
        assert_eq!(parse("bytes=1-99", 5), Some(1..=4));
        assert_eq!(parse("bytes=-2", 5), Some(3..=4));
        assert_eq!(parse("bytes=-99", 5), Some(0..=4));
        for refused in ["bytes=5-", "bytes=3-2", "bytes=0-1,3-4", "bytes=a-b", "bytes=", "lines=0-1", "bytes=-0"] {
            assert_eq!(parse(refused, 5), None, "{refused}");
        }
        assert_eq!(parse("bytes=0-", 0), None);
    }

    #[test]
    fn name_of_a_download_is_never_a_second_header() {
        assert_eq!(disposition("a b\"\r\n茶.txt"), "attachment; filename*=UTF-8''a%20b%22%0D%0A%E8%8C%B6.txt");
    }

    #[test]
    fn letter_that_is_cut_is_still_text() {
        assert!(is_beginning_of_text("茶".as_bytes()) && is_beginning_of_text(&"茶".as_bytes()[..2]));
        assert!(!is_beginning_of_text(&[0xff, 0xfe, b'a']));
    }
}
