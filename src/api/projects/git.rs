//! Git in a project: status, diffs, staging, and discarding changes.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};

use crate::api::body::JsonBody;
use crate::api::conversations::conversation::project_id;
use crate::api::conversations::envelope::{Enveloped, EnvelopedError, enveloped};
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::domain::entry_path::escaped;
use crate::domain::{self, EntryPath, GitRefused, ProjectId, Root};
use crate::engine::git::{DiffOf, Discarded, GitOverview, MAX_DISCARDED, is_id};
use crate::engine::{EngineError, git};

/// Maximum number of paths in a request.
const MAX_PATHS: usize = 2_000;

#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GitChange {
    Added,
    Modified,
    Deleted,
    Renamed,
    Copied,
    /// A file became a link, for example.
    TypeChanged,
    Untracked,
    /// A merge left a conflict in it.
    Conflict,
}

/// Paths are relative to the project's root. In a name, a backslash is `\\`, and each byte of a control character, or of what
/// is not UTF-8, is `\x` with two hexadecimal digits.
#[derive(Serialize, utoipa::ToSchema)]
pub struct GitEntry {
    path: String,
    /// Where it was before it was renamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// What is staged of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    staged: Option<GitChange>,
    /// What is not staged.
    #[serde(skip_serializing_if = "Option::is_none")]
    unstaged: Option<GitChange>,
    /// It is a folder that is a repository of its own.
    is_folder: bool,
}

#[derive(Serialize, Deserialize, utoipa::ToSchema)]
pub struct GitAuthor {
    pub(super) name: String,
    pub(super) email: String,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct GitStatus {
    /// `false` if the project is no repository yet.
    is_repository: bool,
    /// The branch; `null` if a commit is checked out instead.
    branch: Option<String>,
    /// The last commit; `null` before the first.
    head: Option<String>,
    upstream: Option<String>,
    /// Commits that only the branch has, and only its upstream.
    ahead: u64,
    behind: u64,
    /// Files that differ from the last commit, by path; at most 10,000.
    entries: Vec<GitEntry>,
    /// Number of further files.
    left_out: usize,
    /// Filters that the repository configures, such as `lfs`. They do not run here.
    filters: Vec<String>,
    /// Whose commits a person made last.
    author: Option<GitAuthor>,
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DiffQuery {
    /// A file; all files if absent.
    path: Option<String>,
    /// `true`: what is staged, compared with the last commit. Otherwise the file compared with what is staged.
    #[serde(default)]
    staged: bool,
    /// The id of a commit, which is compared with its first parent instead.
    commit: Option<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct GitDiff {
    /// Unified diff; each file begins with `--- ` and `+++ `. What is not UTF-8 is replaced.
    text: String,
    /// Numbers of lines in `text`.
    added: usize,
    removed: usize,
    /// A file in it is not text, so its lines are not shown.
    is_binary: bool,
    /// It is longer than the 1 MiB that is shown.
    is_cut: bool,
}

#[derive(Deserialize, utoipa::ToSchema)]
pub struct GitPaths {
    /// At most 2,000. All changes if absent.
    #[serde(default)]
    paths: Option<Vec<String>>,
}

#[derive(Deserialize, utoipa::ToSchema)]
pub struct DiscardedPaths {
    /// At most 100.
    paths: Vec<String>,
}

#[derive(Serialize, Deserialize, utoipa::ToSchema)]
pub struct DiscardedFile {
    path: String,
    /// The name under which the trash has what it was; `null` if it had been deleted.
    trash: Option<String>,
}

#[derive(Serialize, Deserialize, utoipa::ToSchema)]
pub struct DiscardedFiles {
    files: Vec<DiscardedFile>,
}

/// Returns the state of a project's repository.
#[utoipa::path(get, path = "/api/projects/{id}/git", tag = "projects", operation_id = "git_status", params(("id" = String, Path)),
    responses((status = 200, body = Enveloped<GitStatus>), (status = 404, body = EnvelopedError),
              (status = 409, description = "git_elsewhere, git_locked, git_failed", body = EnvelopedError),
              (status = 503, description = "git_missing, git_timed_out, no_sandbox", body = EnvelopedError)))]
pub async fn status(caller: Caller, Path(id): Path<String>) -> Result<Json<Enveloped<GitStatus>>, ApiError> {
    let id = existing(&caller, &id)?;
    let GitOverview { status, filters, author } = caller.engine.git_overview(&id).await?;
    let is_repository = status.is_some();
    let git::GitStatus { branch, head, upstream, ahead, behind, entries, left_out, .. } = status.unwrap_or_default();
    let entries = entries.iter().map(entry).collect();
    let author = author.map(|domain::GitAuthor { name, email }| GitAuthor { name, email });
    let status = GitStatus { is_repository, branch, head, upstream, ahead, behind, entries, left_out, filters, author };
    Ok(enveloped(status))
}

/// Returns the diff of a file or of all, or of a commit.
#[utoipa::path(get, path = "/api/projects/{id}/git/diff", tag = "projects", operation_id = "git_diff",
    params(("id" = String, Path), DiffQuery),
    responses((status = 200, body = Enveloped<GitDiff>), (status = 404, body = EnvelopedError),
              (status = 400, description = "bad_commit", body = EnvelopedError),
              (status = 409, description = "no_repository, git_elsewhere, git_failed", body = EnvelopedError)))]
pub async fn diff(
    caller: Caller,
    Path(id): Path<String>,
    Query(DiffQuery { path, staged, commit }): Query<DiffQuery>,
) -> Result<Json<Enveloped<GitDiff>>, ApiError> {
    let id = existing(&caller, &id)?;
    let path = path.map(|path| entry_path(&id, &path)).transpose()?;
    let of = match (commit, staged) {
        (Some(commit), _) if is_id(&commit) => DiffOf::Commit(commit),
        (Some(_), _) => return Err(bad_commit()),
        (None, true) => DiffOf::Staged,
        (None, false) => DiffOf::Unstaged,
    };
    let git::GitDiff { text, added, removed, is_binary, is_cut } = caller.engine.git_diff(&id, of, path).await?;
    Ok(enveloped(GitDiff { text, added, removed, is_binary, is_cut }))
}

/// Makes a project a git repository.
#[utoipa::path(post, path = "/api/projects/{id}/git/init", tag = "projects", operation_id = "git_init", params(("id" = String, Path)),
    responses((status = 200, body = Enveloped<Option<String>>), (status = 404, body = EnvelopedError),
              (status = 409, description = "repository_exists, git_elsewhere", body = EnvelopedError)))]
pub async fn init(caller: Caller, Path(id): Path<String>) -> Result<Json<Enveloped<Option<String>>>, ApiError> {
    caller.engine.git_init(&existing(&caller, &id)?).await?;
    Ok(enveloped(None))
}

/// Stages changes for the next commit.
#[utoipa::path(post, path = "/api/projects/{id}/git/stage", tag = "projects", operation_id = "git_stage",
    params(("id" = String, Path)), request_body = GitPaths,
    responses((status = 200, body = Enveloped<Option<String>>), (status = 404, body = EnvelopedError),
              (status = 409, description = "git_locked, git_failed", body = EnvelopedError)))]
pub async fn stage(
    caller: Caller,
    Path(id): Path<String>,
    request: Result<JsonBody<GitPaths>, JsonRejection>,
) -> Result<Json<Enveloped<Option<String>>>, ApiError> {
    let id = existing(&caller, &id)?;
    let JsonBody(GitPaths { paths }) = request?;
    let paths = paths.map(|paths| entry_paths(&id, &paths, MAX_PATHS)).transpose()?;
    caller.engine.git_stage(&id, paths).await?;
    Ok(enveloped(None))
}

/// Takes changes out of what is staged. The files stay as they are.
#[utoipa::path(post, path = "/api/projects/{id}/git/unstage", tag = "projects", operation_id = "git_unstage",
    params(("id" = String, Path)), request_body = GitPaths,
    responses((status = 200, body = Enveloped<Option<String>>), (status = 404, body = EnvelopedError),
              (status = 409, description = "git_locked, git_failed", body = EnvelopedError)))]
pub async fn unstage(
    caller: Caller,
    Path(id): Path<String>,
    request: Result<JsonBody<GitPaths>, JsonRejection>,
) -> Result<Json<Enveloped<Option<String>>>, ApiError> {
    let id = existing(&caller, &id)?;
    let JsonBody(GitPaths { paths }) = request?;
    let paths = paths.map(|paths| entry_paths(&id, &paths, MAX_PATHS)).transpose()?;
    caller.engine.git_unstage(&id, paths).await?;
    Ok(enveloped(None))
}

/// Makes files what is staged of them; new files go. What they were goes to the trash.
#[utoipa::path(post, path = "/api/projects/{id}/git/discard", tag = "projects", operation_id = "git_discard",
    params(("id" = String, Path)), request_body = DiscardedPaths,
    responses((status = 200, body = Enveloped<DiscardedFiles>), (status = 404, body = EnvelopedError),
              (status = 409, description = "busy: a conversation is at work in it; git_failed", body = EnvelopedError)))]
pub async fn discard(
    caller: Caller,
    Path(id): Path<String>,
    request: Result<JsonBody<DiscardedPaths>, JsonRejection>,
) -> Result<Json<Enveloped<DiscardedFiles>>, ApiError> {
    let id = existing(&caller, &id)?;
    let JsonBody(DiscardedPaths { paths }) = request?;
    let paths = entry_paths(&id, &paths, MAX_DISCARDED)?;
    let discarded = caller.engine.git_discard(&id, &paths).await?;
    let file = |Discarded { path, trash }| DiscardedFile { path: relative(&path), trash };
    Ok(enveloped(DiscardedFiles { files: discarded.into_iter().map(file).collect() }))
}

/// Undoes a discard: restores what the files were. What they became since goes to the trash.
#[utoipa::path(post, path = "/api/projects/{id}/git/undo-discard", tag = "projects", operation_id = "git_undo_discard",
    params(("id" = String, Path)), request_body = DiscardedFiles,
    responses((status = 200, body = Enveloped<Option<String>>),
              (status = 404, description = "not_found: it is not in the trash any more", body = EnvelopedError),
              (status = 409, description = "busy", body = EnvelopedError)))]
pub async fn undo_discard(
    caller: Caller,
    Path(id): Path<String>,
    request: Result<JsonBody<DiscardedFiles>, JsonRejection>,
) -> Result<Json<Enveloped<Option<String>>>, ApiError> {
    let id = existing(&caller, &id)?;
    let JsonBody(DiscardedFiles { files }) = request?;
    if files.len() > MAX_DISCARDED {
        return Err(too_many(MAX_DISCARDED));
    }
    let discarded = files
        .into_iter()
        .map(|DiscardedFile { path, trash }| entry_path(&id, &path).map(|path| Discarded { path, trash }));
    caller.engine.git_undo_discard(&id, &discarded.collect::<Result<Vec<_>, _>>()?).await?;
    Ok(enveloped(None))
}

/// Returns the id of a project of the caller's home.
///
/// # Errors
/// Returns `not_found` if the home does not have it.
pub(super) fn existing(caller: &Caller, id: &str) -> Result<ProjectId, ApiError> {
    let id = project_id(id)?;
    let is_there = caller.tenant().home.has_root(&Root::Project(id.clone()));
    if is_there { Ok(id) } else { Err(EngineError::NoProject(id).into()) }
}

/// Reads a path of a request.
pub(super) fn entry_path(id: &ProjectId, path: &str) -> Result<EntryPath, ApiError> {
    let root = Root::Project(id.clone());
    Ok(EntryPath::parse(&format!("{root}/{path}"))?)
}

pub(super) fn bad_commit() -> ApiError {
    ApiError::new(StatusCode::BAD_REQUEST, "bad_commit", "a commit is named by its whole id")
}

fn entry_paths(id: &ProjectId, paths: &[String], most: usize) -> Result<Vec<EntryPath>, ApiError> {
    match paths.len() {
        0 => Err(GitRefused::Failed("no paths were sent".to_owned()).into()),
        count if count > most => Err(too_many(most)),
        _ => paths.iter().map(|path| entry_path(id, path)).collect(),
    }
}

fn too_many(most: usize) -> ApiError {
    ApiError::bad_request("too_many_paths", format!("send at most {most} paths"))
}

fn relative(path: &EntryPath) -> String {
    escaped(path.below().as_os_str().as_encoded_bytes())
}

fn entry(entry: &git::GitEntry) -> GitEntry {
    GitEntry {
        path: relative(&entry.path),
        from: entry.from.as_ref().map(relative),
        staged: entry.staged.map(change),
        unstaged: entry.unstaged.map(change),
        is_folder: entry.is_folder,
    }
}

fn change(change: git::GitChange) -> GitChange {
    match change {
        git::GitChange::Added => GitChange::Added,
        git::GitChange::Modified => GitChange::Modified,
        git::GitChange::Deleted => GitChange::Deleted,
        git::GitChange::Renamed => GitChange::Renamed,
        git::GitChange::Copied => GitChange::Copied,
        git::GitChange::TypeChanged => GitChange::TypeChanged,
        git::GitChange::Untracked => GitChange::Untracked,
        git::GitChange::Conflict => GitChange::Conflict,
    }
}
