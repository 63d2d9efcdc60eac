//! Projects: create, list, read, change, delete, restore.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, Query};
use serde::{Deserialize, Serialize};

use super::members::{InProject, Standing};
use crate::api::body::JsonBody;
use crate::api::conversations::conversation::{OWNER, project_id};
use crate::api::conversations::envelope::{Enveloped, EnvelopedError, Page, PageQuery, enveloped};
use crate::api::error::{ApiError, problem_code};
use crate::api::security::caller::Caller;
use crate::api::status::server::CommandsInfo;
use crate::clock;
use crate::domain::{self, LinkProblem, ProjectId, ProjectName, ProjectRole};
use crate::store::ProjectChange;

/// Number of projects in a page, unless the request says how many.
const DEFAULT_LIMIT: usize = 20;

#[derive(Serialize, utoipa::ToSchema)]
pub struct Project {
    #[schema(value_type = String)]
    id: ProjectId,
    user_id: u64,
    name: String,
    /// The name of its folder in `workspaces/`, or the absolute path of the folder that is linked.
    path: String,
    /// What the person who asks may do.
    role: ProjectRole,
    /// User name of whose project it is.
    owner: String,
    /// Whether it is a folder of the machine that a person has linked.
    linked: bool,
    /// Whether its files can be used now. A linked folder may be gone.
    available: bool,
    /// Why they cannot: `folder_missing`, `folder_replaced`, `folder_not_readable` or `folder_not_here`.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'static str>,
    /// Why no command of the person who asks can work in it, in a project that somebody else shares.
    #[serde(skip_serializing_if = "Option::is_none")]
    commands_problem: Option<CommandsInfo>,
    description: String,
    /// RFC 3339, UTC.
    created_at: String,
    updated_at: String,
    /// When it was deleted; absent if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted_at: Option<String>,
}

#[derive(Deserialize, utoipa::ToSchema)]
pub struct NewProject {
    /// 1 to 255 characters; no other project may have the name, whatever its case.
    name: String,
    /// At most 4,000 characters.
    #[serde(default)]
    description: Option<String>,
}

/// What is absent stays as it is.
#[derive(Deserialize, utoipa::ToSchema)]
pub struct ChangedProject {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DeletedFilter {
    /// `true` lists the deleted projects that can be restored.
    #[serde(default)]
    deleted: bool,
}

/// Lists projects, newest first.
///
/// `scratch`, the folder of commands, is not listed: every home has it, and conversations can be bound to it too.
#[utoipa::path(get, path = "/api/projects", tag = "projects", operation_id = "list_projects", params(PageQuery, DeletedFilter),
    responses((status = 200, body = Enveloped<Page<Project>>), (status = 400, body = EnvelopedError)))]
pub async fn list(
    caller: Caller,
    Query(page): Query<PageQuery>,
    Query(DeletedFilter { deleted }): Query<DeletedFilter>,
) -> Result<Json<Enveloped<Page<Project>>>, ApiError> {
    let all = if deleted { caller.engine.deleted_projects().await? } else { caller.engine.projects().await? };
    let after = |cursor: &str| all.iter().position(|project| project.id.as_str() == cursor).map(|at| at + 1);
    let range = page.range(all.len(), DEFAULT_LIMIT, after)?;
    let (items, has_more) = (&all[range.clone()], range.end < all.len());
    let last = items.last().map(|last| last.id.as_str());
    let items = caller.engine.with_problems(items.to_vec()).await?;
    let standing = Standing::of(&caller).await?;
    let items = items.into_iter().map(|item| shown_with(&standing, item)).collect();
    Ok(enveloped(Page::of(items, last, has_more)))
}

/// Creates a project with an empty folder.
#[utoipa::path(post, path = "/api/projects", tag = "projects", operation_id = "create_project", request_body = NewProject,
    responses((status = 200, body = Enveloped<Project>),
              (status = 400, description = "bad_project_name, description_too_long", body = EnvelopedError),
              (status = 409, description = "name_taken", body = EnvelopedError)))]
pub async fn create(
    caller: Caller,
    request: Result<JsonBody<NewProject>, JsonRejection>,
) -> Result<Json<Enveloped<Project>>, ApiError> {
    let JsonBody(NewProject { name, description }) = request?;
    let name = ProjectName::parse(&name)?;
    let description = domain::project::description(&description.unwrap_or_default())?;
    let made = caller.engine.create_project(name, description).await?;
    Ok(enveloped(shown(&caller, made).await?))
}

#[utoipa::path(get, path = "/api/projects/{id}", tag = "projects", operation_id = "read_project", params(("id" = String, Path)),
    responses((status = 200, body = Enveloped<Project>), (status = 404, body = EnvelopedError)))]
pub async fn read(caller: Caller, Path(id): Path<String>) -> Result<Json<Enveloped<Project>>, ApiError> {
    let project = caller.engine.project(&project_id(&id)?).await?;
    one(&caller, project).await
}

/// Changes the name or the description of a project. Its folder keeps its name.
#[utoipa::path(put, path = "/api/projects/{id}", tag = "projects", operation_id = "change_project", params(("id" = String, Path)),
    request_body = ChangedProject,
    responses((status = 200, body = Enveloped<Project>), (status = 404, body = EnvelopedError),
              (status = 400, description = "bad_project_name, description_too_long", body = EnvelopedError),
              (status = 409, description = "name_taken", body = EnvelopedError)))]
pub async fn change(
    caller: Caller,
    Path(id): Path<String>,
    request: Result<JsonBody<ChangedProject>, JsonRejection>,
) -> Result<Json<Enveloped<Project>>, ApiError> {
    let (id, JsonBody(ChangedProject { name, description })) = (project_id(&id)?, request?);
    let change = ProjectChange {
        name: name.as_deref().map(ProjectName::parse).transpose()?,
        description: description.as_deref().map(domain::project::description).transpose()?,
    };
    let changed = caller.engine.change_project(&id, change).await?;
    one(&caller, changed).await
}

/// Deletes a project: its folder goes to the trash, and its conversations stay. A linked folder is only unlinked.
#[utoipa::path(delete, path = "/api/projects/{id}", tag = "projects", operation_id = "delete_project", params(("id" = String, Path)),
    responses((status = 200, body = Enveloped<Option<String>>), (status = 404, body = EnvelopedError),
              (status = 409, description = "busy: a conversation is at work in it", body = EnvelopedError)))]
pub async fn delete(caller: Caller, Path(id): Path<String>) -> Result<Json<Enveloped<Option<String>>>, ApiError> {
    caller.engine.delete_project(&project_id(&id)?).await?;
    Ok(enveloped(None))
}

/// Restores a deleted project with its folder.
#[utoipa::path(post, path = "/api/projects/{id}/restore", tag = "projects", operation_id = "restore_project",
    params(("id" = String, Path)),
    responses((status = 200, body = Enveloped<Project>),
              (status = 404, description = "There is no deleted project with this id", body = EnvelopedError),
              (status = 409, description = "name_taken, folder_taken", body = EnvelopedError)))]
pub async fn restore(caller: Caller, Path(id): Path<String>) -> Result<Json<Enveloped<Project>>, ApiError> {
    let restored = caller.engine.restore_project(&project_id(&id)?).await?;
    one(&caller, restored).await
}

async fn one(caller: &Caller, project: domain::Project) -> Result<Json<Enveloped<Project>>, ApiError> {
    let problem = caller.engine.with_problems(vec![project.clone()]).await?.pop().and_then(|(_, problem)| problem);
    Ok(enveloped(shown_with(&Standing::of(caller).await?, (project, problem))))
}

/// Returns what the API tells of a project whose folder can be used.
pub(super) async fn shown(caller: &Caller, project: domain::Project) -> Result<Project, ApiError> {
    Ok(shown_with(&Standing::of(caller).await?, (project, None)))
}

pub(super) fn shown_with(standing: &Standing, (project, problem): (domain::Project, Option<LinkProblem>)) -> Project {
    let InProject { role, owner, commands_problem } = standing.in_project(&project.id);
    let domain::Project { id, name, path, link, description, created_at, updated_at, deleted_at } = project;
    Project {
        id,
        user_id: OWNER,
        name,
        path,
        role,
        owner,
        linked: link.is_some(),
        available: problem.is_none(),
        problem: problem.as_ref().map(problem_code),
        commands_problem,
        description,
        created_at: clock::rfc3339(created_at),
        updated_at: clock::rfc3339(updated_at),
        deleted_at: deleted_at.map(clock::rfc3339),
    }
}
