//! Git in a project: commits and branches.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, Query};
use serde::{Deserialize, Serialize};

use super::git::{GitAuthor, entry_path, existing};
use crate::api::body::JsonBody;
use crate::api::conversations::envelope::{Enveloped, EnvelopedError, Page, enveloped};
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::clock;
use crate::domain::git::commit_message;
use crate::domain::{self, BranchName};
use crate::engine::git::{self, GitLog, is_id};

/// Number of commits in a page, unless the request says how many, and at most.
const DEFAULT_LIMIT: usize = 50;
const MAX_LIMIT: usize = 100;

#[derive(Deserialize, utoipa::ToSchema)]
pub struct NewCommit {
    /// At most 32 KiB.
    message: String,
    /// Needed for the first commit of a person; then it is remembered.
    #[serde(default)]
    author: Option<GitAuthor>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct MadeCommit {
    id: String,
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct LogQuery {
    /// 1 to 100 commits; 50 if absent.
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
    /// A file, of whose changes the commits are listed.
    path: Option<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct GitCommit {
    id: String,
    parents: Vec<String>,
    author: String,
    email: String,
    /// RFC 3339, UTC.
    committed_at: String,
    /// Branches and tags that name it, as git writes them.
    refs: Vec<String>,
    /// The first line of its message. Invisible characters are escaped.
    subject: String,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct GitBranch {
    name: String,
    /// Its last commit.
    head: String,
    /// RFC 3339, UTC.
    committed_at: String,
    subject: String,
}

#[derive(Deserialize, utoipa::ToSchema)]
pub struct NewBranch {
    name: String,
    /// Whether it becomes the current branch; the files stay as they are.
    #[serde(default)]
    switch: bool,
}

#[derive(Deserialize, utoipa::ToSchema)]
pub struct WantedBranch {
    name: String,
}

/// Commits what is staged.
#[utoipa::path(post, path = "/api/projects/{id}/git/commit", tag = "projects", operation_id = "git_commit",
    params(("id" = String, Path)), request_body = NewCommit,
    responses((status = 200, body = Enveloped<MadeCommit>), (status = 404, body = EnvelopedError),
              (status = 400, description = "bad_message, bad_author", body = EnvelopedError),
              (status = 409, description = "author_needed, nothing_staged, git_conflicts, git_locked", body = EnvelopedError)))]
pub async fn commit(
    caller: Caller,
    Path(id): Path<String>,
    request: Result<JsonBody<NewCommit>, JsonRejection>,
) -> Result<Json<Enveloped<MadeCommit>>, ApiError> {
    let id = existing(&caller, &id)?;
    let JsonBody(NewCommit { message, author }) = request?;
    let author = author.map(|author| domain::GitAuthor::parse(&author.name, &author.email)).transpose()?;
    let id = caller.engine.git_commit(&id, commit_message(&message)?, author).await?;
    Ok(enveloped(MadeCommit { id }))
}

/// Lists commits, newest first.
#[utoipa::path(get, path = "/api/projects/{id}/git/log", tag = "projects", operation_id = "git_log",
    params(("id" = String, Path), LogQuery),
    responses((status = 200, body = Enveloped<Page<GitCommit>>), (status = 404, body = EnvelopedError),
              (status = 400, description = "bad_cursor, bad_limit", body = EnvelopedError),
              (status = 409, description = "no_repository, git_failed", body = EnvelopedError)))]
pub async fn log(
    caller: Caller,
    Path(id): Path<String>,
    Query(LogQuery { limit, cursor, path }): Query<LogQuery>,
) -> Result<Json<Enveloped<Page<GitCommit>>>, ApiError> {
    let id = existing(&caller, &id)?;
    let limit = limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(ApiError::bad_request("bad_limit", format!("limit is a number from 1 to {MAX_LIMIT}")));
    }
    let path = path.map(|path| entry_path(&id, &path)).transpose()?;
    let (head, skip) = match cursor.as_deref().filter(|cursor| !cursor.is_empty()) {
        Some(cursor) => place_of(cursor)
            .ok_or_else(|| ApiError::bad_request("bad_cursor", "send next_cursor of the page before, or none"))?,
        None => match caller.engine.git_overview(&id).await?.status.and_then(|status| status.head) {
            Some(head) => (head, 0),
            // There is no commit yet.
            None => return Ok(enveloped(Page::of(Vec::new(), None, false))),
        },
    };
    let GitLog { commits, has_more } = caller.engine.git_log(&id, (&head, skip, limit), path).await?;
    // The list stays the same while commits are added.
    let next = format!("{head}:{}", skip + commits.len());
    let items = commits.into_iter().map(shown).collect();
    Ok(enveloped(Page::of(items, Some(&next), has_more)))
}

/// Lists the branches: those with the newest commits first, at most 1,000.
#[utoipa::path(get, path = "/api/projects/{id}/git/branches", tag = "projects", operation_id = "git_branches",
    params(("id" = String, Path)),
    responses((status = 200, body = Enveloped<Page<GitBranch>>), (status = 404, body = EnvelopedError),
              (status = 409, description = "no_repository, git_failed", body = EnvelopedError)))]
pub async fn branches(caller: Caller, Path(id): Path<String>) -> Result<Json<Enveloped<Page<GitBranch>>>, ApiError> {
    let branches = caller.engine.git_branches(&existing(&caller, &id)?).await?;
    let branch = |git::GitBranch { name, head, at, subject }| GitBranch {
        name,
        head,
        committed_at: clock::rfc3339(at as f64),
        subject,
    };
    Ok(enveloped(Page::whole(branches.into_iter().map(branch).collect())))
}

/// Creates a branch at the last commit.
#[utoipa::path(post, path = "/api/projects/{id}/git/branches", tag = "projects", operation_id = "git_create_branch",
    params(("id" = String, Path)), request_body = NewBranch,
    responses((status = 200, body = Enveloped<Option<String>>), (status = 404, body = EnvelopedError),
              (status = 400, description = "bad_branch", body = EnvelopedError),
              (status = 409, description = "branch_exists, git_failed", body = EnvelopedError)))]
pub async fn create_branch(
    caller: Caller,
    Path(id): Path<String>,
    request: Result<JsonBody<NewBranch>, JsonRejection>,
) -> Result<Json<Enveloped<Option<String>>>, ApiError> {
    let id = existing(&caller, &id)?;
    let JsonBody(NewBranch { name, switch }) = request?;
    caller.engine.git_create_branch(&id, &BranchName::parse(&name)?, switch).await?;
    Ok(enveloped(None))
}

/// Switches to a branch. Files change to what they are in it.
#[utoipa::path(post, path = "/api/projects/{id}/git/switch", tag = "projects", operation_id = "git_switch",
    params(("id" = String, Path)), request_body = WantedBranch,
    responses((status = 200, body = Enveloped<Option<String>>),
              (status = 404, description = "not_found, no_branch", body = EnvelopedError),
              (status = 400, description = "bad_branch", body = EnvelopedError),
              (status = 409, description = "git_dirty, busy, git_failed", body = EnvelopedError)))]
pub async fn switch(
    caller: Caller,
    Path(id): Path<String>,
    request: Result<JsonBody<WantedBranch>, JsonRejection>,
) -> Result<Json<Enveloped<Option<String>>>, ApiError> {
    let id = existing(&caller, &id)?;
    let JsonBody(WantedBranch { name }) = request?;
    caller.engine.git_switch(&id, &BranchName::parse(&name)?).await?;
    Ok(enveloped(None))
}

/// Returns the commit that a list begins with, and how many of its commits come before the page.
fn place_of(cursor: &str) -> Option<(String, usize)> {
    let (head, skip) = cursor.split_once(':')?;
    Some((head.to_owned(), skip.parse().ok()?)).filter(|_| is_id(head))
}

fn shown(commit: git::GitCommit) -> GitCommit {
    let git::GitCommit { id, parents, author, email, at, refs, subject } = commit;
    GitCommit { id, parents, author, email, committed_at: clock::rfc3339(at as f64), refs, subject }
}
