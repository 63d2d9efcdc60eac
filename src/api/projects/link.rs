//! Linking a folder of this machine as a project. Only the person at the page of a server for one person can.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use serde::{Deserialize, Serialize};

use super::members::Standing;
use super::project::{Project, shown_with};
use crate::api::body::JsonBody;
use crate::api::conversations::conversation::project_id;
use crate::api::conversations::envelope::{Enveloped, EnvelopedError, enveloped};
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::domain::{self, ProjectName};
use crate::store::{LinkTarget, LinkableFolder, NewLink};

#[derive(Deserialize, utoipa::ToSchema)]
pub struct LinkRequest {
    /// The absolute path of a folder of this machine.
    path: String,
    /// `confirm` of the response that showed the folder. Without it nothing is linked.
    #[serde(default)]
    confirm: Option<String>,
    /// The name of the project; if absent, that of the folder.
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
    /// A linked project whose folder was moved or replaced; it gets this folder, and no project is created.
    #[serde(default)]
    project_id: Option<String>,
}

/// A folder that can be linked.
#[derive(Serialize, utoipa::ToSchema)]
pub struct FolderToLink {
    /// The whole path, without links.
    path: String,
    /// Whether the path of the request leads there through a link.
    resolved: bool,
    /// Number of its entries, without those of its folders; at most 10,000.
    entries: usize,
    more_entries: bool,
    /// The name of the user that it belongs to, or their number.
    owner: String,
    /// Whether this server may change it.
    writable: bool,
    /// Send it back to link exactly this folder.
    confirm: String,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct LinkAnswer {
    folder: FolderToLink,
    /// `null` if the request did not confirm the folder.
    project: Option<Project>,
}

/// Shows a folder of this machine that is to become a project; with `confirm`, links it.
///
/// Its files stay where they are and keep their owner. Refused are the whole file system, home directories, folders of the system,
/// folders with keys, and whatever contains this server's home or lies in it.
#[utoipa::path(post, path = "/api/projects/link", tag = "projects", operation_id = "link_project", request_body = LinkRequest,
    params(("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = Enveloped<LinkAnswer>),
              (status = 400, description = "link_bad_path, link_not_folder, bad_project_name", body = EnvelopedError),
              (status = 403, description = "no_secret: only the page; link_system, link_too_much, link_home_directory, \
               link_secrets, link_own_home, link_not_readable, link_several_people", body = EnvelopedError),
              (status = 404, description = "link_missing; not_found: no linked project has the id", body = EnvelopedError),
              (status = 409, description = "link_exists, link_changed, name_taken, busy", body = EnvelopedError)))]
pub async fn link(
    caller: Caller,
    request: Result<JsonBody<LinkRequest>, JsonRejection>,
) -> Result<Json<Enveloped<LinkAnswer>>, ApiError> {
    caller.require_page()?;
    let JsonBody(LinkRequest { path, confirm, name, description, project_id: id }) = request?;
    let existing = id.as_deref().map(project_id).transpose()?;
    let folder = caller.engine.linkable(path.clone(), existing.clone()).await?;
    let Some(proof) = confirm else { return Ok(enveloped(LinkAnswer { folder: to_link(&folder), project: None })) };
    let target = match existing {
        Some(id) => LinkTarget::Existing(id),
        None => {
            let own_name = folder.path.file_name().map(|name| name.to_string_lossy().into_owned());
            let name = name.filter(|name| !name.trim().is_empty()).or(own_name).unwrap_or_default();
            let description = domain::project::description(&description.unwrap_or_default())?;
            LinkTarget::New { name: ProjectName::parse(&name)?, description }
        }
    };
    let linked = caller.engine.link_project(NewLink { path, proof, target }).await?;
    let linked = caller.engine.with_problems(vec![linked]).await?.pop();
    let standing = Standing::of(&caller).await?;
    let project = linked.map(|linked| shown_with(&standing, linked));
    Ok(enveloped(LinkAnswer { folder: to_link(&folder), project }))
}

fn to_link(folder: &LinkableFolder) -> FolderToLink {
    FolderToLink {
        path: folder.path.display().to_string(),
        resolved: folder.is_resolved,
        entries: folder.entries,
        more_entries: folder.has_more,
        owner: folder.owner.clone(),
        writable: folder.is_writable,
        confirm: folder.proof(),
    }
}
