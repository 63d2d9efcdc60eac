//! Finding text in the files of a root, line by line.

use axum::Json;
use axum::extract::Query;
use serde::{Deserialize, Serialize};

use super::file::parse_root;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::find::{LineMatch, SearchTerms};
use crate::domain::{Place, Root};
use crate::engine::blocking;
use crate::store::{Home, StoreError};

/// Maximum number of lines in a result, and of one file.
const MAX_LINES: usize = 300;
const MAX_LINES_OF_FILE: usize = 50;
/// Maximum number of files that are read, and of their bytes.
const MAX_FILES: usize = 5_000;
const MAX_BYTES: usize = 64_000_000;

#[derive(Deserialize, utoipa::IntoParams)]
pub struct TextQuery {
    /// Words that a line contains, all of them, in any order, case-insensitive.
    text: String,
    /// `memory`, `workspace`, `skills` or `knowledge`.
    root: String,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct FoundLine {
    /// Counted from 1.
    line: usize,
    /// The line, or what of it is around the first word.
    excerpt: String,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct FileWithText {
    path: String,
    /// The first lines that match, at most 50.
    lines: Vec<FoundLine>,
    /// Number of further lines of this file that match.
    left_out: usize,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct FoundText {
    /// Sorted by path.
    files: Vec<FileWithText>,
    /// Whether more may match: a limit was reached.
    more: bool,
}

/// Finds text in the files of a root.
///
/// Reads at most 5,000 files and 64 MB, and returns at most 300 lines. Files that are not text are skipped.
#[utoipa::path(get, path = "/api/files/search", tag = "files", params(TextQuery),
    responses((status = 200, body = FoundText), (status = 400, description = "bad_root, bad_request: no words", body = ErrorBody)))]
pub async fn search(caller: Caller, Query(query): Query<TextQuery>) -> Result<Json<FoundText>, ApiError> {
    let root = parse_root(&query.root)?;
    let Some(terms) = SearchTerms::parse(&query.text) else {
        return Err(ApiError::bad_request("bad_request", "text must contain a word"));
    };
    let home = caller.tenant().home.clone();
    Ok(Json(blocking(move || search_root(&home, &root, &terms)).await?))
}

fn search_root(home: &Home, root: &Root, terms: &SearchTerms) -> Result<FoundText, StoreError> {
    let listed = home.find_files(root, MAX_FILES, &|_| true)?;
    let mut search = TextSearch { home, terms, lines_left: MAX_LINES, bytes_left: MAX_BYTES };
    let mut found = FoundText { files: Vec::new(), more: listed.more };
    for file in listed.files {
        if search.lines_left == 0 || search.bytes_left == 0 {
            found.more = true;
            break;
        }
        found.files.extend(search.file(&file.path));
    }
    Ok(found)
}

struct TextSearch<'a> {
    home: &'a Home,
    terms: &'a SearchTerms,
    lines_left: usize,
    bytes_left: usize,
}

impl TextSearch<'_> {
    /// Returns the matches in a file; `None` if there are none, or if it is not text.
    fn file(&mut self, path: &Place) -> Option<FileWithText> {
        let text = self.home.read_text(path).ok()?.content;
        self.bytes_left = self.bytes_left.saturating_sub(text.len());
        let mut matches = self.terms.lines(&text);
        let lines: Vec<_> = matches
            .by_ref()
            .take(self.lines_left.min(MAX_LINES_OF_FILE))
            .map(|LineMatch { line, excerpt }| FoundLine { line, excerpt })
            .collect();
        self.lines_left -= lines.len();
        let left_out = matches.count();
        (!lines.is_empty()).then(|| FileWithText { path: path.to_string(), lines, left_out })
    }
}
