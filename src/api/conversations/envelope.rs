//! The envelope of the document's responses, and its pages.

use std::ops::Range;

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use crate::api::error::{ApiError, RefusedWith};

/// Paths whose responses have the envelope.
const ENVELOPED: &[&str] =
    &["/api/admin", "/api/auth", "/api/conversations", "/api/projects", "/api/stats", "/api/tools"];
/// Maximum number of items in a page.
const MAX_LIMIT: usize = 100;

/// A response to a request that succeeded.
#[derive(Serialize, utoipa::ToSchema)]
pub struct Enveloped<T> {
    /// Always 0.
    code: u16,
    data: T,
}

/// A response to a request that failed.
#[derive(Serialize, utoipa::ToSchema)]
pub struct EnvelopedError {
    /// The HTTP status.
    code: u16,
    /// What happened and what to do, as an English sentence.
    message: String,
    /// A stable code for programs, e.g. `not_found`.
    reason: &'static str,
}

pub fn enveloped<T>(data: T) -> Json<Enveloped<T>> {
    Json(Enveloped { code: 0, data })
}

/// One page of a list.
#[derive(Serialize, utoipa::ToSchema)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// The `cursor` of the next page; `null` if this is the last one.
    pub next_cursor: Option<String>,
    pub has_more: bool,
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageQuery {
    /// Number of items, at most 100.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<i64>,
    /// The id of the last item of the page before.
    cursor: Option<String>,
}

impl PageQuery {
    /// Returns the range of the page in a list of `length` items, with `default_limit` items if the request does not say how
    /// many. `after` returns the index after the item of a cursor.
    ///
    /// # Errors
    /// Returns `bad_cursor` if the cursor has no place in the list, and `bad_limit` for a limit out of range.
    pub fn range(
        &self,
        length: usize,
        default_limit: usize,
        after: impl FnOnce(&str) -> Option<usize>,
    ) -> Result<Range<usize>, ApiError> {
        let limit = self.limit.map_or(Ok(default_limit), usize::try_from).unwrap_or(0);
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(ApiError::bad_request("bad_limit", format!("limit is a number from 1 to {MAX_LIMIT}")));
        }
        let start = match self.cursor.as_deref().filter(|cursor| !cursor.is_empty()) {
            None => 0,
            Some(cursor) => {
                let missing = || ApiError::bad_request("bad_cursor", "nothing has the id in cursor; begin without it");
                after(cursor).ok_or_else(missing)?.min(length)
            }
        };
        Ok(start..length.min(start + limit))
    }
}

impl<T> Page<T> {
    /// Returns the page with these items; `last` is the id of the last one, and `has_more` whether others follow it.
    pub fn of(items: Vec<T>, last: Option<&str>, has_more: bool) -> Self {
        Self { items, next_cursor: last.filter(|_| has_more).map(str::to_owned), has_more }
    }

    /// Returns the only page of a list that is short.
    pub fn whole(items: Vec<T>) -> Self {
        Self { items, next_cursor: None, has_more: false }
    }
}

/// Returns whether the responses of a path have the envelope.
pub(in crate::api) fn is_enveloped(path: &str) -> bool {
    ENVELOPED.iter().any(|known| path.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// Rewrites an error response of the API in the form of the document. Other responses stay as they are.
pub(in crate::api) fn envelope_error(answer: Response) -> Response {
    let Some(RefusedWith { code, message, .. }) = answer.extensions().get::<RefusedWith>().cloned() else {
        return answer;
    };
    // The document has one status for a body that is not valid.
    let status = match answer.status() {
        StatusCode::UNPROCESSABLE_ENTITY if code == "bad_json" => StatusCode::BAD_REQUEST,
        status => status,
    };
    let body =
        Json(EnvelopedError { code: status.as_u16(), message: in_words_of_the_document(&message), reason: code });
    let (parts, _) = answer.into_parts();
    let mut enveloped = (status, body).into_response();
    for kept in [header::RETRY_AFTER, header::ALLOW] {
        if let Some(value) = parts.headers.get(&kept) {
            enveloped.headers_mut().insert(kept, value.clone());
        }
    }
    enveloped
}

/// Returns a sentence with the words of the document: a session is a conversation there, and paths are relative to the project.
fn in_words_of_the_document(message: &str) -> String {
    let message = message.replace("there is no session", "there is no conversation");
    let mut parts = message.split("project/");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let id = part.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-').unwrap_or(part.len());
        match part[id..]
            .strip_prefix('/')
            .filter(|_| id > 0 && !plain.ends_with(|before: char| before == '/' || before.is_alphanumeric()))
        {
            Some(path) => plain.push_str(path),
            None => plain.extend(["project/", part]),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(limit: Option<i64>, cursor: Option<&str>) -> Result<Page<String>, ApiError> {
        let all: Vec<String> = (0..5).map(|n| format!("i{n}")).collect();
        let after = |cursor: &str| all.iter().position(|item| item == cursor).map(|at| at + 1);
        let range = PageQuery { limit, cursor: cursor.map(str::to_owned) }.range(all.len(), 2, after)?;
        let last = range.clone().next_back().map(|at| all[at].as_str());
        Ok(Page::of(all[range.clone()].to_vec(), last, range.end < all.len()))
    }

    #[test]
    fn pages_join_to_the_whole_list() {
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let next = page(None, cursor.as_deref()).unwrap();
            assert_eq!(next.has_more, next.next_cursor.is_some());
            seen.extend(next.items);
            cursor = next.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, ["i0", "i1", "i2", "i3", "i4"]);
    }

    #[test]
    fn page_of_exactly_the_rest_is_the_last() {
        let last = page(Some(5), None).unwrap();
        assert_eq!((last.items.len(), last.next_cursor, last.has_more), (5, None, false));
        assert!(page(Some(3), Some("i4")).unwrap().items.is_empty());
    }

    #[test]
    fn errors_have_the_words_of_the_document() {
        let id = "01a22114-fef1-7000-8000-000000000000";
        for (message, plain) in [
            (format!("there is no project/{id}/a/nope.txt"), "there is no a/nope.txt"),
            (format!("project/{id}/a and “project/{id}/b”"), "a and “b”"),
            ("there is no session nope".to_owned(), "there is no conversation nope"),
            ("my/project/x/y and project/ and project/x".to_owned(), "my/project/x/y and project/ and project/x"),
        ] {
            assert_eq!(in_words_of_the_document(&message), plain);
        }
    }

    #[test]
    fn limit_and_cursor_are_checked() {
        for limit in [-1, 0, 101] {
            assert_eq!(page(Some(limit), None).err().unwrap().code, "bad_limit");
        }
        assert_eq!(page(None, Some("gone")).err().unwrap().code, "bad_cursor");
        assert_eq!(page(None, Some("")).unwrap().items.len(), 2);
    }

    #[test]
    fn only_paths_of_the_document_have_the_envelope() {
        assert!(is_enveloped("/api/conversations") && is_enveloped("/api/conversations/x/messages"));
        assert!(is_enveloped("/api/stats/tokens"));
        assert!(!is_enveloped("/api/conversationsx") && !is_enveloped("/api/sessions"));
    }
}
