//! Conversations: create, list, read, change, delete.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, Query};
use serde::{Deserialize, Deserializer, Serialize};

use super::envelope::{Enveloped, EnvelopedError, Page, PageQuery, enveloped};
use crate::api::body::JsonBody;
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::api::sessions::session::title;
use crate::clock;
use crate::domain::{ChoiceChange, Chosen, ProjectId, SessionId};
use crate::engine::SessionChange;
use crate::store::{SessionListKind, SessionSummary};

/// Number of conversations in a page, unless the request says how many.
const DEFAULT_LIMIT: usize = 20;
/// The id of the only person of a server without accounts.
pub(in crate::api) const OWNER: u64 = 1;
/// Defaults of the document, which are answered for what nobody chose and are not sent to a provider.
const TEMPERATURE: f32 = 1.0;
const MAX_TOKENS: u32 = 65_536;

#[derive(Serialize, utoipa::ToSchema)]
pub struct Conversation {
    id: String,
    user_id: u64,
    #[schema(value_type = Option<String>)]
    project_id: Option<ProjectId>,
    /// `null` without a project, and if the project is deleted.
    project_name: Option<String>,
    title: String,
    /// The model that answers next.
    model: String,
    system_prompt: String,
    temperature: f32,
    max_tokens: u32,
    thinking_enabled: bool,
    /// An answer counts once.
    message_count: usize,
    /// Names of MCP servers whose tools it does not get.
    mcp_off: BTreeSet<String>,
    /// RFC 3339, UTC.
    created_at: String,
    updated_at: String,
}

/// What is chosen for a conversation. `null` resets a value to its default; what is absent stays as it is.
#[derive(Default, Deserialize, utoipa::ToSchema)]
pub struct ConversationChange {
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    title: Option<Option<String>>,
    /// A model: its id as listed by `GET /api/models`, its `id` in config.yml, or the name that is sent to its provider.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    model: Option<Option<String>>,
    /// Instructions that follow the files of the system prompt; at most 20,000 characters.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    system_prompt: Option<Option<String>>,
    /// 0 to 2.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<f32>)]
    temperature: Option<Option<f32>>,
    /// Of one response of the model.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<u32>)]
    max_tokens: Option<Option<u32>>,
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<bool>)]
    thinking_enabled: Option<Option<bool>>,
    /// The project that its tools work in; `null` for none.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    project_id: Option<Option<String>>,
    /// Names of MCP servers whose tools it does not get. Switching one on again needs the page.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Vec<String>>)]
    mcp_off: Option<Option<BTreeSet<String>>>,
}

/// Deserializes a field that is there, `null` included.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(from).map(Some)
}

impl ConversationChange {
    /// Returns what is chosen differently. Empty texts choose nothing.
    fn choice(&self) -> ChoiceChange {
        let text =
            |field: &Option<Option<String>>| field.clone().map(|text| text.filter(|text| !text.trim().is_empty()));
        ChoiceChange {
            model: text(&self.model),
            thinking: self.thinking_enabled,
            system_prompt: text(&self.system_prompt),
            temperature: self.temperature,
            max_tokens: self.max_tokens,
            mcp_off: self.mcp_off.clone().map(Option::unwrap_or_default),
            not_for_recall: None,
        }
    }

    fn project(&self) -> Result<Option<Option<ProjectId>>, ApiError> {
        let Some(project) = &self.project_id else { return Ok(None) };
        project.as_deref().filter(|id| !id.is_empty()).map(project_id).transpose().map(Some)
    }

    fn title(&self) -> Result<Option<String>, ApiError> {
        self.title.as_ref().map(|text| title(text.as_deref().unwrap_or_default())).transpose()
    }
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ProjectFilter {
    /// Only conversations that are bound to this project.
    project_id: Option<String>,
    /// Archived conversations are listed too.
    #[serde(default)]
    archived: bool,
}

/// Creates a conversation, bound to a project or to none.
#[utoipa::path(post, path = "/api/conversations", tag = "conversations", request_body = ConversationChange,
    responses((status = 200, body = Enveloped<Conversation>), (status = 400, body = EnvelopedError),
              (status = 404, description = "There is no such project", body = EnvelopedError)))]
pub async fn create(
    caller: Caller,
    request: Result<JsonBody<ConversationChange>, JsonRejection>,
) -> Result<Json<Enveloped<Conversation>>, ApiError> {
    let JsonBody(change) = request?;
    let (title, project) = (change.title()?.unwrap_or_default(), change.project()?.flatten());
    let chosen = change.choice().of(&Chosen::default());
    let (id, session) = caller.engine.create_with(&title, project, chosen).await?;
    Ok(enveloped(shown_one(&caller, SessionSummary::of(&id, &session)).await?))
}

/// Lists conversations, the most recently used first, in pages of 20. Archived ones are left out unless they are asked for. The
/// next page begins where the one before it ended, even if the last conversation of that has been used or deleted since.
#[utoipa::path(get, path = "/api/conversations", tag = "conversations", params(PageQuery, ProjectFilter),
    responses((status = 200, body = Enveloped<Page<Conversation>>),
              (status = 400, description = "bad_cursor, bad_limit", body = EnvelopedError)))]
pub async fn list(
    caller: Caller,
    Query(page): Query<PageQuery>,
    Query(ProjectFilter { project_id, archived: with_archived }): Query<ProjectFilter>,
) -> Result<Json<Enveloped<Page<Conversation>>>, ApiError> {
    let all = caller.engine.list().await?;
    let archived: HashSet<String> = if with_archived {
        HashSet::new()
    } else {
        caller.tenant().log.list_ids(SessionListKind::Archived).await?.into_iter().collect()
    };
    let project_id = project_id.filter(|id| !id.is_empty());
    let is_listed = |summary: &SessionSummary| {
        let bound = summary.project_id.as_ref().map(ProjectId::as_str);
        (project_id.is_none() || bound == project_id.as_deref()) && !archived.contains(&summary.id)
    };
    let listed: Vec<&SessionSummary> = all.iter().map(Arc::as_ref).filter(|summary| is_listed(summary)).collect();
    let ends = &caller.tenant().page_ends;
    let range = page.range(listed.len(), DEFAULT_LIMIT, |cursor| match ends.find(cursor) {
        Some(updated_at) => Some(listed.partition_point(|summary| is_up_to(summary, (cursor, updated_at)))),
        None => listed.iter().position(|summary| summary.id == cursor).map(|at| at + 1),
    })?;
    let (items, has_more) = (&listed[range.clone()], range.end < listed.len());
    let last = items.last().filter(|_| has_more);
    if let Some(last) = last {
        ends.remember(&last.id, last.updated_at);
    }
    let last = last.map(|last| last.id.as_str());
    let names = project_names(&caller, items.iter().copied()).await?;
    let items = items.iter().map(|summary| shown(&caller, (*summary).clone(), &names)).collect();
    Ok(enveloped(Page::of(items, last, has_more)))
}

/// Returns whether a session is listed at this place or before it: the most recently used first, and then by id.
fn is_up_to(summary: &SessionSummary, (id, updated_at): (&str, f64)) -> bool {
    summary.updated_at.total_cmp(&updated_at).then_with(|| summary.id.as_str().cmp(id)).is_ge()
}

/// Returns a conversation.
#[utoipa::path(get, path = "/api/conversations/{id}", tag = "conversations", params(("id" = String, Path)),
    responses((status = 200, body = Enveloped<Conversation>), (status = 404, body = EnvelopedError)))]
pub async fn read(caller: Caller, Path(id): Path<String>) -> Result<Json<Enveloped<Conversation>>, ApiError> {
    let id = conversation_id(&id)?;
    read_again(&caller, &id).await
}

/// Changes a conversation from its next message on: as a whole, or not at all.
#[utoipa::path(patch, path = "/api/conversations/{id}", tag = "conversations", request_body = ConversationChange,
    params(("id" = String, Path)),
    responses((status = 200, body = Enveloped<Conversation>), (status = 400, body = EnvelopedError),
              (status = 404, description = "There is no such conversation or project", body = EnvelopedError),
              (status = 409, description = "busy: another project can be chosen when it has answered",
               body = EnvelopedError)))]
pub async fn change(
    caller: Caller,
    Path(id): Path<String>,
    request: Result<JsonBody<ConversationChange>, JsonRejection>,
) -> Result<Json<Enveloped<Conversation>>, ApiError> {
    let id = conversation_id(&id)?;
    let JsonBody(change) = request?;
    let change = SessionChange { title: change.title()?, project_id: change.project()?, choice: change.choice() };
    caller.engine.change(&id, change).await?;
    read_again(&caller, &id).await
}

/// Deletes a conversation: moves it to `sessions/archive/deleted/`, from where `POST /api/sessions/{id}/restore` brings it
/// back.
#[utoipa::path(delete, path = "/api/conversations/{id}", tag = "conversations", params(("id" = String, Path)),
    responses((status = 200, body = Enveloped<Option<String>>), (status = 404, body = EnvelopedError)))]
pub async fn delete(caller: Caller, Path(id): Path<String>) -> Result<Json<Enveloped<Option<String>>>, ApiError> {
    let id = conversation_id(&id)?;
    caller.engine.delete(&id).await?;
    Ok(enveloped(None))
}

async fn read_again(caller: &Caller, id: &SessionId) -> Result<Json<Enveloped<Conversation>>, ApiError> {
    let session = caller.engine.view(id).await?.session;
    Ok(enveloped(shown_one(caller, SessionSummary::of(id, &session)).await?))
}

/// Parses the id of a conversation. One that cannot be an id names nothing.
pub(super) fn conversation_id(text: &str) -> Result<SessionId, ApiError> {
    let missing = |_| ApiError::new(axum::http::StatusCode::NOT_FOUND, "not_found", "conversation not found");
    SessionId::parse(text).map_err(missing)
}

pub(in crate::api) fn project_id(text: &str) -> Result<ProjectId, ApiError> {
    let missing = |_| ApiError::new(axum::http::StatusCode::NOT_FOUND, "not_found", "project not found");
    ProjectId::parse(text).map_err(missing)
}

/// The names of projects, by id.
type ProjectNames = HashMap<ProjectId, String>;

/// Returns the names of the projects, if any of these conversations is bound to one.
async fn project_names(
    caller: &Caller,
    summaries: impl IntoIterator<Item = &SessionSummary>,
) -> Result<ProjectNames, ApiError> {
    if summaries.into_iter().all(|summary| summary.project_id.is_none()) {
        return Ok(ProjectNames::new());
    }
    let scratch = ProjectId::scratch();
    let mut names = ProjectNames::from([(scratch.clone(), scratch.to_string())]);
    names.extend(caller.engine.projects().await?.into_iter().map(|project| (project.id, project.name)));
    Ok(names)
}

async fn shown_one(caller: &Caller, summary: SessionSummary) -> Result<Conversation, ApiError> {
    let names = project_names(caller, [&summary]).await?;
    Ok(shown(caller, summary, &names))
}

fn shown(caller: &Caller, summary: SessionSummary, names: &ProjectNames) -> Conversation {
    let SessionSummary { id, title, created_at, updated_at, project_id, chosen, turns, .. } = summary;
    Conversation {
        id,
        user_id: OWNER,
        project_name: project_id.as_ref().and_then(|id| names.get(id).cloned()),
        project_id,
        title,
        model: caller.tenant().models.name_of(&chosen),
        system_prompt: chosen.system_prompt.clone().unwrap_or_default(),
        temperature: chosen.temperature.unwrap_or(TEMPERATURE),
        max_tokens: chosen.max_tokens.unwrap_or(MAX_TOKENS),
        thinking_enabled: chosen.thinking.unwrap_or_default(),
        message_count: turns,
        mcp_off: chosen.mcp_off.clone(),
        created_at: clock::rfc3339(created_at),
        updated_at: clock::rfc3339(updated_at),
    }
}
