//! The members of a project, and the invitations of a person. Only with a sign-in: an access token does not administer members.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use serde::{Deserialize, Serialize};

use crate::api::body::JsonBody;
use crate::api::conversations::conversation::project_id;
use crate::api::conversations::envelope::{Enveloped, EnvelopedError, Page, enveloped};
use crate::api::error::ApiError;
use crate::api::security::audit::AuditNote;
use crate::api::security::caller::Caller;
use crate::api::security::person::Right;
use crate::api::status::server::CommandsInfo;
use crate::clock;
use crate::domain::{AccountId, LinkProblem, MemberRole, MemberState, ProjectId, ProjectRole, RoleRefused};
use crate::engine::people::ShownMember;
use crate::store::StoreError;

/// The user name of the one person of a server without accounts.
const ONLY_PERSON: &str = "default";

#[derive(Serialize, utoipa::ToSchema)]
pub struct ProjectMembers {
    /// What the person who asks may do.
    role: ProjectRole,
    /// User name.
    owner: String,
    members: Vec<ProjectMember>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct ProjectMember {
    username: String,
    role: MemberRole,
    /// `invited` until the person accepts; also if nobody has the user name.
    state: MemberState,
    /// RFC 3339, UTC.
    since: String,
}

#[derive(Deserialize, utoipa::ToSchema)]
pub struct MemberRequest {
    role: MemberRole,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct ProjectInvitation {
    #[schema(value_type = String)]
    project_id: ProjectId,
    name: String,
    /// User name of who invites.
    owner: String,
    role: MemberRole,
    /// RFC 3339, UTC.
    since: String,
}

impl From<ShownMember> for ProjectMember {
    fn from(ShownMember { username, role, state, since }: ShownMember) -> Self {
        Self { username, role, state, since: clock::rfc3339(since) }
    }
}

/// What the caller may do in their projects, and whose these are.
pub(super) struct Standing {
    own: String,
    shared: BTreeMap<ProjectId, InProject>,
}

/// What the person who asks is in a project.
#[derive(Clone)]
pub(super) struct InProject {
    pub role: ProjectRole,
    /// User name of whose project it is.
    pub owner: String,
    /// Why no command of this person can work in it.
    pub commands_problem: Option<CommandsInfo>,
}

impl Standing {
    pub async fn of(caller: &Caller) -> Result<Self, ApiError> {
        let Ok((people, account)) = caller.members() else {
            return Ok(Self { own: ONLY_PERSON.to_owned(), shared: BTreeMap::new() });
        };
        let name = |id: &AccountId| people.account(id).map(|account| account.username).unwrap_or_default();
        let shared = caller.engine.shared_with_me().await?.into_iter();
        let tenant = caller.tenant();
        let shared = shared.map(|(project, role, owner)| {
            let without_exchange = || tenant.home.exchange_problem(&project.id).map(CommandsInfo::without_exchange);
            let commands_problem = CommandsInfo::problem(&tenant.commands).or_else(without_exchange);
            let commands_problem = commands_problem.filter(|_| role != ProjectRole::Viewer);
            (project.id, InProject { role, owner: name(&owner), commands_problem })
        });
        let shared = shared.collect();
        Ok(Self { own: name(account), shared })
    }

    pub fn in_project(&self, id: &ProjectId) -> InProject {
        let own = || InProject { role: ProjectRole::Owner, owner: self.own.clone(), commands_problem: None };
        self.shared.get(id).cloned().unwrap_or_else(own)
    }
}

/// Lists the members of a project, for its owner and its members.
#[utoipa::path(get, path = "/api/projects/{id}/members", tag = "projects", operation_id = "list_project_members",
    params(("id" = String, Path)),
    responses((status = 200, body = Enveloped<ProjectMembers>), (status = 404, body = EnvelopedError),
              (status = 409, description = "single_mode", body = EnvelopedError)))]
pub async fn list(caller: Caller, Path(id): Path<String>) -> Result<Json<Enveloped<ProjectMembers>>, ApiError> {
    let (people, account) = caller.members()?;
    let id = project_id(&id)?;
    let (role, owner) = caller.engine.role_in(&id).await?;
    let all = people.members_of(&id, owner.as_ref().unwrap_or(account), role)?;
    let members = all.members.into_iter().map(ProjectMember::from).collect();
    Ok(enveloped(ProjectMembers { role: all.role, owner: all.owner, members }))
}

/// Invites a person to a project, or changes the role of one who is invited or a member. Only for its owner.
///
/// The response is the same whether somebody has the user name or not. The person becomes a member by accepting.
#[utoipa::path(put, path = "/api/projects/{id}/members/{username}", tag = "projects", operation_id = "set_project_member",
    params(("id" = String, Path), ("username" = String, Path)), request_body = MemberRequest,
    responses((status = 200, body = Enveloped<ProjectMember>), (status = 404, body = EnvelopedError),
              (status = 400, description = "own_name, bad_username", body = EnvelopedError),
              (status = 403, description = "owner_only, read_only; not_allowed with an access token", body = EnvelopedError),
              (status = 409, description = "too_many_members, single_mode", body = EnvelopedError)))]
pub async fn set(
    caller: Caller,
    note: AuditNote,
    Path((id, username)): Path<(String, String)>,
    request: Result<JsonBody<MemberRequest>, JsonRejection>,
) -> Result<Json<Enveloped<ProjectMember>>, ApiError> {
    let (people, account) = caller.members()?;
    let id = project_id(&id)?;
    let project = caller.engine.project(&id).await?;
    caller.tenant().home.require_own(&id)?;
    caller.require(Right::OwnAccount)?;
    if project.link.is_some() {
        return Err(StoreError::Unavailable(LinkProblem::NotHere(project.path)).into());
    }
    let JsonBody(MemberRequest { role }) = request?;
    note.detail("role", serde_json::to_value(role).ok());
    if let Some(invited) = people.account_named(&username) {
        note.account(invited);
    }
    let member = people.invite_member((&id, account), &username, role).await?;
    Ok(enveloped(member.into()))
}

/// Removes a member or takes an invitation back, as the owner; or leaves a project, as its member.
#[utoipa::path(delete, path = "/api/projects/{id}/members/{username}", tag = "projects", operation_id = "remove_project_member",
    params(("id" = String, Path), ("username" = String, Path)),
    responses((status = 200, body = Enveloped<Option<String>>),
              (status = 404, description = "no_member", body = EnvelopedError),
              (status = 403, description = "owner_only; not_allowed with an access token", body = EnvelopedError),
              (status = 409, description = "single_mode", body = EnvelopedError)))]
pub async fn remove(
    caller: Caller,
    note: AuditNote,
    Path((id, username)): Path<(String, String)>,
) -> Result<Json<Enveloped<Option<String>>>, ApiError> {
    let (people, account) = caller.members()?;
    let id = project_id(&id)?;
    let (_, owner) = caller.engine.role_in(&id).await?;
    let named = people.account_named(&username);
    if owner.is_some() && named.as_ref() != Some(account) {
        return Err(StoreError::Role(RoleRefused::OwnerOnly).into());
    }
    caller.require(Right::OwnAccount)?;
    if let Some(removed) = named {
        note.account(removed);
    }
    people.remove_member((&id, owner.as_ref().unwrap_or(account)), &username, account).await?;
    Ok(enveloped(None))
}

/// Lists the projects that others want to share with the caller.
#[utoipa::path(get, path = "/api/projects/invitations", tag = "projects", operation_id = "list_project_invitations",
    responses((status = 200, body = Enveloped<Page<ProjectInvitation>>),
              (status = 409, description = "single_mode", body = EnvelopedError)))]
pub async fn invitations(caller: Caller) -> Result<Json<Enveloped<Page<ProjectInvitation>>>, ApiError> {
    let (people, account) = caller.members()?;
    let invitations = people.project_invitations(account).await?.into_iter();
    let items = invitations.map(|invitation| ProjectInvitation {
        project_id: invitation.project,
        name: invitation.name,
        owner: invitation.owner,
        role: invitation.role,
        since: clock::rfc3339(invitation.since),
    });
    Ok(enveloped(Page::of(items.collect(), None, false)))
}

/// Accepts an invitation: the caller is a member from now on.
#[utoipa::path(post, path = "/api/projects/invitations/{project_id}", tag = "projects", operation_id = "accept_project_invitation",
    params(("project_id" = String, Path)),
    responses((status = 200, body = Enveloped<Option<String>>),
              (status = 404, description = "no_invitation", body = EnvelopedError),
              (status = 409, description = "single_mode", body = EnvelopedError)))]
pub async fn accept(
    caller: Caller,
    note: AuditNote,
    Path(id): Path<String>,
) -> Result<Json<Enveloped<Option<String>>>, ApiError> {
    let (people, account) = caller.members()?;
    caller.require(Right::OwnAccount)?;
    let id = project_id(&id)?;
    note.detail("id", Some(id.as_str().into()));
    people.accept_project(&id, account).await?;
    Ok(enveloped(None))
}

/// Declines an invitation.
#[utoipa::path(delete, path = "/api/projects/invitations/{project_id}", tag = "projects", operation_id = "decline_project_invitation",
    params(("project_id" = String, Path)),
    responses((status = 200, body = Enveloped<Option<String>>),
              (status = 404, description = "no_invitation", body = EnvelopedError),
              (status = 409, description = "single_mode", body = EnvelopedError)))]
pub async fn decline(
    caller: Caller,
    note: AuditNote,
    Path(id): Path<String>,
) -> Result<Json<Enveloped<Option<String>>>, ApiError> {
    let (people, account) = caller.members()?;
    caller.require(Right::OwnAccount)?;
    let id = project_id(&id)?;
    note.detail("id", Some(id.as_str().into()));
    people.decline_project(&id, account).await?;
    Ok(enveloped(None))
}
