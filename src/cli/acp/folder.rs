//! The editor's folder: the session works in it once the person has linked it as a project (docs/projects.md). The person is asked
//! about a folder that was never linked, once, before the first message.

use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::{PermissionOption, PermissionOptionKind};
use serde_json::{Value, json};

use super::agent::{Agent, OpenSession};
use super::connection::AcpError;
use super::permission::{Choice, Confirmation};
use super::updates;

const LINK: &str = "link";
const HOME: &str = "home";

/// A linked folder.
pub struct LinkedFolder {
    pub id: String,
    pub path: PathBuf,
}

/// Returns the folders that are linked and there.
///
/// # Errors
/// Returns an error if the server refuses.
pub async fn linked(agent: &Agent) -> Result<Vec<LinkedFolder>, AcpError> {
    let mut projects = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = agent.client.get(&format!("api/projects?limit=100{cursor}")).await?["data"].take();
        let items = page["items"].as_array().cloned().unwrap_or_default();
        projects.extend(items.iter().filter(|item| item["linked"] == true && item["available"] == true).filter_map(
            |item| Some(LinkedFolder { id: item["id"].as_str()?.to_owned(), path: item["path"].as_str()?.into() }),
        ));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return Ok(projects),
        }
    }
}

/// Returns the project of a folder; `None` if it is not linked.
///
/// # Errors
/// Returns an error if the server refuses.
pub async fn project_of(agent: &Agent, cwd: &Path) -> Result<Option<String>, AcpError> {
    let folders = linked(agent).await?;
    Ok(folders.into_iter().find(|folder| folder.path == cwd).map(|folder| folder.id))
}

/// Asks the person about the folder of a new session, once, and binds the session to it. Whatever happens, the conversation
/// goes on: without the folder it works in the home.
pub async fn confirm(agent: &Agent, id: &str) -> Result<(), AcpError> {
    let mut session = agent.opened(id)?;
    if !std::mem::take(&mut session.asks_about_folder) {
        return Ok(());
    }
    let cwd = session.cwd.clone();
    agent.set_open(id, session);
    let path = cwd.display().to_string();
    let shown = match agent.client.post("api/projects/link", json!({"path": path})).await {
        Ok(shown) => shown["data"]["folder"].clone(),
        Err(error) => {
            let text = format!("The folder {path} is not used: {error}. The conversation works in the agent's home.");
            agent.connection.update(id, updates::note(&text)).await;
            return Ok(());
        }
    };
    match ask(agent, id, &shown).await {
        Choice::Allowed(option) if option == LINK => {}
        Choice::Allowed(_) => return Ok(()),
        // Nobody has decided, so it is asked again with the next message.
        Choice::Withdrawn => {
            let session = agent.opened(id)?;
            agent.set_open(id, OpenSession { asks_about_folder: true, ..session });
            return Ok(());
        }
    }
    let body = json!({"path": path, "confirm": shown["confirm"]});
    let linked = agent.client.post("api/projects/link", body).await?;
    let project = &linked["data"]["project"]["id"];
    agent.client.put(&format!("api/sessions/{id}/project"), json!({"project_id": project})).await?;
    let session = agent.opened(id)?;
    agent.set_open(id, OpenSession { folder: session.cwd.clone(), ..session });
    Ok(())
}

async fn ask(agent: &Agent, id: &str, shown: &Value) -> Choice {
    let text = |field: &str| shown[field].as_str().unwrap_or_default().to_owned();
    let path = text("path");
    let about = format!(
        "{path}\n{} entries, of {}{}\n\nThe agent reads this folder, and works in it. Each change of a file and each command still \
         needs the approval that it needs otherwise.",
        shown["entries"],
        text("owner"),
        if shown["writable"] == true { "" } else { ", and cannot be changed" },
    );
    let title = format!("Let the agent work in {path}?");
    let options = vec![
        PermissionOption::new(LINK, "Work in this folder", PermissionOptionKind::AllowOnce),
        PermissionOption::new(HOME, "Work in the agent's home instead", PermissionOptionKind::RejectOnce),
    ];
    agent.confirmed(id, Confirmation { call: format!("folder-{id}"), title, about, options }).await
}
