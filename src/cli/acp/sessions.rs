//! Opens, lists and closes sessions.

use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::{
    CloseSessionRequest, DeleteSessionRequest, ListSessionsRequest, ListSessionsResponse, LoadSessionRequest,
    LoadSessionResponse, McpServer, NewSessionRequest, NewSessionResponse, ResumeSessionRequest, ResumeSessionResponse,
    SessionInfo, SessionUpdate,
};
use serde_json::{Value, json};

use super::agent::{Agent, OpenSession};
use super::connection::AcpError;
use super::modes::{self, DEFAULT_MODE};
use super::servers::EditorServers;
use super::{folder, options, updates};
use crate::domain::Message;

/// Sessions of one page of the list.
const PAGE: usize = 100;

/// Begins a session in the editor's folder.
///
/// # Errors
/// Returns an error if the folder is no absolute path, or if the server refuses.
pub async fn new(agent: &Agent, request: NewSessionRequest) -> Result<NewSessionResponse, AcpError> {
    let cwd = absolute(request.cwd)?;
    let project = folder::project_of(agent, &cwd).await?;
    let made = agent.client.post("api/sessions", json!({"project_id": project})).await?;
    let id = made["id"].as_str().ok_or_else(|| AcpError::invalid("the server made no session"))?.to_owned();
    let modes = match modes::choose(agent, &id, DEFAULT_MODE).await {
        Ok(()) => Some(modes::state(DEFAULT_MODE)),
        // Without the secret of the server, its rules decide.
        Err(error) if error.needs_secret() => None,
        Err(error) => return Err(error),
    };
    let folder = if project.is_some() { cwd.clone() } else { agent.home.clone() };
    let EditorServers { usable: servers, refused: notes } = EditorServers::of(&request.mcp_servers);
    let asks_about_folder = project.is_none();
    let session = OpenSession { cwd, folder, asks_about_folder, notes, servers, ..OpenSession::default() };
    agent.set_open(&id, session);
    let options = options::of_history(agent, &json!({})).await?;
    Ok(NewSessionResponse::new(id).modes(modes).config_options(options))
}

/// Opens a session and tells the editor all of it.
///
/// # Errors
/// Returns an error if there is no such session.
pub async fn load(agent: &Agent, request: LoadSessionRequest) -> Result<LoadSessionResponse, AcpError> {
    let id = request.session_id.to_string();
    let history = open(agent, &id, (request.cwd, &request.mcp_servers)).await?;
    let messages: Vec<Message> = serde_json::from_value(history["messages"].clone())?;
    let folder = agent.opened(&id)?.folder;
    for message in &messages {
        for update in updates::of_message(message, &folder) {
            agent.connection.update(&id, update).await;
        }
    }
    if let Some(plan) = plan_of(&history) {
        agent.connection.update(&id, plan).await;
    }
    let options = options::of_history(agent, &history).await?;
    Ok(LoadSessionResponse::new().modes(modes::of_history(&history)).config_options(options))
}

/// Opens a session without telling what was said.
///
/// # Errors
/// Returns an error if there is no such session.
pub async fn resume(agent: &Agent, request: ResumeSessionRequest) -> Result<ResumeSessionResponse, AcpError> {
    let id = request.session_id.to_string();
    let history = open(agent, &id, (request.cwd, &request.mcp_servers)).await?;
    let options = options::of_history(agent, &history).await?;
    Ok(ResumeSessionResponse::new().modes(modes::of_history(&history)).config_options(options))
}

async fn open(agent: &Agent, id: &str, (cwd, servers): (PathBuf, &[McpServer])) -> Result<Value, AcpError> {
    let cwd = absolute(cwd)?;
    checked(id)?;
    let history = agent.client.get(&format!("api/sessions/{id}/history")).await?;
    // It stays in the folder that it has, or in the home.
    let project = match history["project_id"].as_str() {
        Some(project) => folder::linked(agent).await?.into_iter().find(|known| known.id == project),
        None => None,
    };
    let folder = project.map_or_else(|| agent.home.clone(), |project| project.path);
    let EditorServers { usable: servers, refused: notes } = EditorServers::of(servers);
    agent.set_open(id, OpenSession { cwd, folder, notes, servers, ..OpenSession::default() });
    Ok(history)
}

/// Returns the list of tasks of a session as a plan.
pub fn plan_of(history: &Value) -> Option<SessionUpdate> {
    let list = history.get("todo_list").filter(|list| list.is_object())?;
    let items = list["items"]
        .as_array()?
        .iter()
        .filter_map(|item| Some((item["title"].as_str()?.to_owned(), item["completed"].is_string())));
    Some(updates::plan(items))
}

/// Lists sessions, those of a folder if the editor names one.
///
/// # Errors
/// Returns an error if the cursor is not ours.
pub async fn list(agent: &Agent, request: ListSessionsRequest) -> Result<ListSessionsResponse, AcpError> {
    let projects = folder::linked(agent).await?;
    let wanted = request.cwd.map(absolute).transpose()?;
    let cursor = request.cursor.map(|cursor| checked(&cursor).map(|()| format!("&cursor={cursor}"))).transpose()?;
    let path = format!("api/conversations?limit={PAGE}{}", cursor.unwrap_or_default());
    let page = agent.client.get(&path).await?["data"].take();
    let items = page["items"].as_array().cloned().unwrap_or_default();
    let sessions = items.into_iter().filter_map(|item| {
        let project = item["project_id"].as_str().and_then(|id| projects.iter().find(|project| project.id == id));
        let cwd = project.map_or_else(|| agent.home.clone(), |project| project.path.clone());
        let info = SessionInfo::new(item["id"].as_str()?.to_owned(), cwd)
            .title(item["title"].as_str().filter(|title| !title.is_empty()).map(str::to_owned))
            .updated_at(item["updated_at"].as_str().map(str::to_owned));
        Some(info)
    });
    let sessions = sessions.filter(|info| wanted.as_ref().is_none_or(|cwd| info.cwd == *cwd)).collect();
    let next = page["next_cursor"].as_str().map(str::to_owned);
    Ok(ListSessionsResponse::new(sessions).next_cursor(next))
}

/// Ends what a session does, and forgets it here. It stays in the list.
///
/// # Errors
/// Returns an error if it is not open.
pub async fn close(agent: &Agent, request: CloseSessionRequest) -> Result<Value, AcpError> {
    let id = request.session_id.to_string();
    agent.opened(&id)?;
    let _ = agent.client.post(&format!("api/sessions/{id}/interrupt"), json!({})).await;
    agent.forget(&id);
    Ok(json!({}))
}

/// Deletes a session, as the page does: it can be restored there.
///
/// # Errors
/// Returns an error if there is no such session.
pub async fn delete(agent: &Agent, request: DeleteSessionRequest) -> Result<Value, AcpError> {
    let id = request.session_id.to_string();
    checked(&id)?;
    agent.client.delete(&format!("api/sessions/{id}")).await?;
    agent.forget(&id);
    Ok(json!({}))
}

/// Requires that an id can stand in an address.
fn checked(id: &str) -> Result<(), AcpError> {
    let fits = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
    match !id.is_empty() && id.chars().all(fits) && !id.starts_with('.') {
        true => Ok(()),
        false => Err(AcpError::invalid(format!("{id:?} is no id"))),
    }
}

/// Returns the folder as it is linked: its whole path, without links.
fn absolute(cwd: PathBuf) -> Result<PathBuf, AcpError> {
    match Path::is_absolute(&cwd) {
        // One that is not here is refused when it is linked.
        true => Ok(cwd.canonicalize().unwrap_or(cwd)),
        false => Err(AcpError::invalid("cwd is an absolute path")),
    }
}
