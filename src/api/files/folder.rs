//! Listing one folder at a time, and finding files by their names.

use axum::Json;
use axum::extract::Query;
use serde::{Deserialize, Serialize};

use super::file::{FileEntry, FileQuery, parse_root};
use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::{Place, Root};
use crate::engine::blocking;
use crate::store::{self, Home};
use crate::tokens::Counter;

/// Maximum number of files in a result.
const MAX_FOUND: usize = 200;

#[derive(Deserialize, utoipa::IntoParams)]
pub struct FindQuery {
    /// Words of the path, in any order, case-insensitive. If absent, all files match.
    #[serde(default)]
    words: String,
    /// `memory`, `workspace`, `skills` or `knowledge`; all of them if absent.
    root: Option<String>,
    /// Maximum number of files, 1 to 200; 200 if absent.
    limit: Option<usize>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct FolderEntry {
    path: String,
    /// Tokens of all text files in the folder, at any depth; null if there are too many to count.
    tokens: Option<usize>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct FolderContent {
    path: String,
    /// Sorted by name.
    folders: Vec<FolderEntry>,
    /// Sorted by name.
    files: Vec<FileEntry>,
    /// Number of folders and files that are not listed, because at most 5,000 of each are.
    left_out: usize,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct FoundFiles {
    /// Sorted by path within each root.
    files: Vec<FileEntry>,
    /// Whether more files may match: the limit was reached, or not every folder was searched.
    more: bool,
}

/// Lists the direct content of a folder.
///
/// Tokens are counted in the first 1,000 files, up to 8 MB.
#[utoipa::path(get, path = "/api/files/folder", tag = "files", params(FileQuery),
    responses((status = 200, body = FolderContent), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub async fn folder(caller: Caller, Query(query): Query<FileQuery>) -> Result<Json<FolderContent>, ApiError> {
    let path = Place::parse_folder(&query.path)?;
    let tenant = caller.tenant();
    let (home, tokens) = (tenant.home.clone(), tenant.runtime.tokens.clone());
    let content = blocking(move || {
        let store::FolderContent { folders, files, left_out } = home.list_folder(&path)?;
        let mut reader = BoundedReader::new(&home, &tokens);
        // Spend the limits on the listed files before the files of subfolders.
        let files = files.into_iter().map(|file| reader.entry(file)).collect();
        let folders =
            folders.iter().map(|folder| FolderEntry { path: folder.to_string(), tokens: reader.tokens_below(folder) });
        Ok(FolderContent { path: path.to_string(), folders: folders.collect(), files, left_out })
    })
    .await?;
    Ok(Json(content))
}

/// Finds files by words of their paths.
#[utoipa::path(get, path = "/api/files/find", tag = "files", params(FindQuery),
    responses((status = 200, body = FoundFiles), (status = 400, body = ErrorBody)))]
pub async fn find(caller: Caller, Query(query): Query<FindQuery>) -> Result<Json<FoundFiles>, ApiError> {
    let roots = match query.root.as_deref() {
        Some(root) => vec![parse_root(root)?],
        None => Root::HOME.to_vec(),
    };
    let limit = query.limit.unwrap_or(MAX_FOUND);
    if !(1..=MAX_FOUND).contains(&limit) {
        return Err(ApiError::bad_request("bad_limit", format!("limit must be from 1 to {MAX_FOUND}")));
    }
    let words: Vec<String> = query.words.to_lowercase().split_whitespace().map(str::to_owned).collect();
    let tenant = caller.tenant();
    let (home, tokens) = (tenant.home.clone(), tenant.runtime.tokens.clone());
    let found = blocking(move || {
        let wanted = |path: &Place| {
            let path = path.as_str().to_lowercase();
            words.iter().all(|word| path.contains(word))
        };
        let mut reader = BoundedReader::new(&home, &tokens);
        let mut found = FoundFiles { files: Vec::new(), more: false };
        for root in roots {
            let of_root = home.find_files(&root, limit - found.files.len(), &wanted)?;
            found.files.extend(of_root.files.into_iter().map(|file| reader.entry(file)));
            found.more |= of_root.more;
        }
        Ok(found)
    })
    .await?;
    Ok(Json(found))
}

/// Reads files to count their tokens, within limits for one response.
struct BoundedReader<'a> {
    home: &'a Home,
    tokens: &'a Counter,
    files_left: usize,
    bytes_left: u64,
    /// Number of files and folders below the listed ones that may still be visited.
    entries_left: usize,
}

impl<'a> BoundedReader<'a> {
    fn new(home: &'a Home, tokens: &'a Counter) -> Self {
        Self { home, tokens, files_left: 1_000, bytes_left: 8_000_000, entries_left: 5_000 }
    }

    fn entry(&mut self, file: store::FileEntry) -> FileEntry {
        if self.may_read(&file) { FileEntry::read(self.home, self.tokens, &file) } else { FileEntry::unread(&file) }
    }

    /// Counts the tokens of all text files below a folder; `None` if a limit is reached.
    fn tokens_below(&mut self, folder: &Place) -> Option<usize> {
        if self.entries_left == 0 {
            return None;
        }
        let content = self.home.list_folder(folder).ok()?;
        let count = content.files.len() + content.folders.len() + content.left_out;
        self.entries_left = self.entries_left.saturating_sub(count.max(1));
        if content.left_out > 0 || content.files.len() > self.files_left {
            return None;
        }
        let mut sum = 0;
        for file in &content.files {
            if !self.may_read(file) {
                return None;
            }
            sum += FileEntry::read(self.home, self.tokens, file).tokens.unwrap_or(0);
        }
        for inner in &content.folders {
            sum += self.tokens_below(inner)?;
        }
        Some(sum)
    }

    fn may_read(&mut self, file: &store::FileEntry) -> bool {
        if self.files_left == 0 || file.size > self.bytes_left {
            return false;
        }
        self.files_left -= 1;
        self.bytes_left -= file.size;
        true
    }
}
