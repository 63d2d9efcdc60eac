//! The MCP servers that an editor brings. Each is shown to the person before it starts, and so are its tools before the model
//! reads them; then it is one of the home's servers (docs/mcp.md).

use agent_client_protocol_schema::v1::{McpServer, PermissionOption, PermissionOptionKind};
use serde_json::{Map, Value, json};

use super::agent::{Agent, OpenSession};
use super::connection::AcpError;
use super::permission::{Choice, Confirmation};
use super::updates;
use crate::domain::visible::visible;

const USE: &str = "use";
const LEAVE: &str = "leave";
/// Maximum length of a server's name, in characters.
const MAX_NAME: usize = 32;

/// A server of the editor, as mcp.json has it.
#[derive(Clone, Debug, PartialEq)]
pub struct EditorServer {
    pub name: String,
    pub entry: Value,
}

/// What an editor brings: servers, and why others cannot be used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EditorServers {
    pub usable: Vec<EditorServer>,
    pub refused: Vec<String>,
}

impl EditorServers {
    pub fn of(servers: &[McpServer]) -> Self {
        let mut brought = Self::default();
        for server in servers {
            match entry_of(server) {
                Ok(server) => brought.usable.push(server),
                Err(why) => brought.refused.push(why),
            }
        }
        brought
    }
}

/// Returns a server as mcp.json has it.
///
/// # Errors
/// Returns a sentence if it cannot be used here.
fn entry_of(server: &McpServer) -> Result<EditorServer, String> {
    let (name, entry, values) = match server {
        McpServer::Stdio(program) => {
            let env: Map<String, Value> =
                program.env.iter().map(|it| (it.name.clone(), it.value.clone().into())).collect();
            let values: Vec<_> = program.env.iter().map(|it| it.value.clone()).collect();
            let command = program.command.display().to_string();
            (&program.name, json!({"command": command, "args": program.args, "env": env}), values)
        }
        McpServer::Http(remote) => {
            let headers: Map<String, Value> =
                remote.headers.iter().map(|it| (it.name.clone(), it.value.clone().into())).collect();
            let values = remote.headers.iter().map(|it| it.value.clone()).collect();
            (&remote.name, json!({"type": "http", "url": remote.url, "headers": headers}), values)
        }
        McpServer::Sse(remote) => {
            return Err(format!("The MCP server {:?} of the editor is not used: SSE is not supported.", remote.name));
        }
        _ => return Err("An MCP server of the editor is not used: its transport is not supported.".to_owned()),
    };
    // In mcp.json that would name a variable of this machine.
    if values.iter().any(|value| value.contains("${")) {
        return Err(format!("The MCP server {name:?} of the editor is not used: one of its values contains \"${{\"."));
    }
    Ok(EditorServer { name: name_of(name), entry })
}

/// Returns the name that a server has here: letters, digits, `-` and single `_`.
fn name_of(name: &str) -> String {
    let parts = name.split(|char: char| !char.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    let name: String = parts.collect::<Vec<_>>().join("-").chars().take(MAX_NAME).collect();
    name.trim_end_matches('-').to_owned()
}

/// Asks the person about the servers that the editor brought to a session, once. Whatever happens, the conversation goes on.
///
/// # Errors
/// Returns an error if the session is not open.
pub async fn confirm(agent: &Agent, id: &str) -> Result<(), AcpError> {
    let mut session = agent.opened(id)?;
    let servers = std::mem::take(&mut session.servers);
    agent.set_open(id, session);
    let mut left = Vec::new();
    for server in servers {
        match offer(agent, id, &server).await {
            Ok(Offered::Decided) => {}
            Ok(Offered::Withdrawn) => left.push(server),
            Err(error) => {
                let text = format!("The MCP server {} of the editor is not used: {}", server.name, error.message);
                agent.connection.update(id, updates::note(&text)).await;
            }
        }
    }
    let session = agent.opened(id)?;
    // Nobody has decided about these, so they are asked about again with the next message.
    agent.set_open(id, OpenSession { servers: left, ..session });
    Ok(())
}

enum Offered {
    Decided,
    Withdrawn,
}

async fn offer(agent: &Agent, id: &str, server: &EditorServer) -> Result<Offered, AcpError> {
    let name = &server.name;
    let known = known(agent, name).await?;
    let is_known = known.is_object();
    if !agent.client.has_secret() {
        return Err(AcpError::invalid("only the page can decide about MCP servers here"));
    }
    if is_known && !is_same(&known, &server.entry) {
        return Err(AcpError::invalid("another server has this name here; rename one of them"));
    }
    if is_known && known["status"] != "unconfirmed" {
        return Ok(Offered::Decided);
    }
    // One that is there already has what it is granted in its entry.
    let entry = if is_known { entry_in(&known) } else { server.entry.clone() };
    let about = format!(
        "{}\n\nIts program runs in the sandbox, without the network and without your files, unless its entry grants them. You can \
         change that on {}.",
        visible(&serde_json::to_string_pretty(&entry).unwrap_or_default()),
        agent.client.page(),
    );
    match ask(agent, id, format!("Use the MCP server {name} of the editor?"), about).await {
        Choice::Allowed(option) if option == USE => {}
        Choice::Allowed(_) => return Ok(Offered::Decided),
        Choice::Withdrawn => return Ok(Offered::Withdrawn),
    }
    if !is_known {
        agent.client.post("api/mcp", json!({"mcpServers": {name: server.entry}})).await?;
    }
    let added = self::known(agent, name).await?;
    // Exactly what the person was shown.
    if entry_in(&added) != entry {
        return Err(AcpError::invalid("its entry was changed in the meantime"));
    }
    agent.client.post(&format!("api/mcp/{name}/trust"), json!({"sha256": added["sha256"]})).await?;
    offer_tools(agent, id, name).await
}

/// Shows the tools of a server that nobody has trusted, and trusts them if the person agrees.
async fn offer_tools(agent: &Agent, id: &str, name: &str) -> Result<Offered, AcpError> {
    let server = known(agent, name).await?;
    if let Some(reason) = server["reason"].as_str() {
        return Err(AcpError::invalid(reason.to_owned()));
    }
    let tools = server["tools"].as_array().into_iter().flatten().filter(|tool| tool["state"] == "new");
    let tools: Vec<&Value> = tools.collect();
    if tools.is_empty() {
        return Ok(Offered::Decided);
    }
    let definitions =
        tools.iter().map(|tool| visible(&serde_json::to_string_pretty(&tool["definition"]).unwrap_or_default()));
    let about = definitions.collect::<Vec<_>>().join("\n\n");
    let title = match tools.len() {
        1 => format!("Let the model read and call this tool of {name}?"),
        number => format!("Let the model read and call these {number} tools of {name}?"),
    };
    match ask(agent, id, title, about).await {
        Choice::Allowed(option) if option == USE => {}
        // They can be trusted on the page at any time.
        Choice::Allowed(_) | Choice::Withdrawn => return Ok(Offered::Decided),
    }
    let seen: Vec<_> = tools.iter().map(|tool| json!({"name": tool["name"], "sha256": tool["sha256"]})).collect();
    agent.client.post(&format!("api/mcp/{name}/tools/trust"), json!({"tools": seen})).await?;
    Ok(Offered::Decided)
}

/// Returns what the server says about an MCP server; null if it has none of this name.
async fn known(agent: &Agent, name: &str) -> Result<Value, AcpError> {
    let list = agent.client.get("api/mcp").await?;
    let mut servers = list["servers"].as_array().into_iter().flatten();
    Ok(servers.find(|server| server["name"] == name).cloned().unwrap_or_default())
}

/// Returns the entry of a server of the home, with what it is granted.
fn entry_in(known: &Value) -> Value {
    known["entry"].as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// Returns whether a server of the home is started as this entry says. What it is granted here does not matter.
fn is_same(known: &Value, entry: &Value) -> bool {
    let mut known = entry_in(known);
    if let Some(fields) = known.as_object_mut() {
        fields.remove("miniclaw");
    }
    known == *entry
}

async fn ask(agent: &Agent, id: &str, title: String, about: String) -> Choice {
    let options = vec![
        PermissionOption::new(USE, "Use it", PermissionOptionKind::AllowOnce),
        PermissionOption::new(LEAVE, "Go on without it", PermissionOptionKind::RejectOnce),
    ];
    agent.confirmed(id, Confirmation { call: format!("mcp-{id}"), title, about, options }).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brought(servers: Value) -> EditorServers {
        EditorServers::of(&serde_json::from_value::<Vec<McpServer>>(servers).unwrap())
    }

    #[test]
    fn servers_become_entries_of_mcp_json() {
        let servers = brought(json!([
            {"name": "My files!", "command": "/bin/files", "args": ["-v"], "env": [{"name": "A", "value": "1"}]},
            {"type": "http", "name": "web", "url": "https://example.com/mcp", "headers": [{"name": "X", "value": "2"}]},
        ]));
        let entries: Vec<_> = servers.usable.iter().map(|it| (it.name.as_str(), it.entry.clone())).collect();
        assert_eq!(entries[0], ("My-files", json!({"command": "/bin/files", "args": ["-v"], "env": {"A": "1"}})));
        let web = json!({"type": "http", "url": "https://example.com/mcp", "headers": {"X": "2"}});
        assert_eq!(entries[1], ("web", web));
    }

    #[test]
    fn other_transports_and_variables_are_refused() {
        let servers = brought(json!([
            {"type": "sse", "name": "old", "url": "https://example.com/sse", "headers": []},
            {"name": "sly", "command": "/bin/x", "args": [], "env": [{"name": "A", "value": "${OPENAI_API_KEY}"}]},
        ]));
        assert!(servers.usable.is_empty());
        assert!(servers.refused[0].contains("SSE") && servers.refused[1].contains("${"), "{servers:?}");
    }

    #[test]
    fn grants_do_not_make_another_server() {
        let entry = json!({"command": "x", "args": [], "env": {}});
        let granted =
            json!({"entry": json!({"command": "x", "args": [], "env": {}, "miniclaw": {"read": ["a"]}}).to_string()});
        assert!(is_same(&granted, &entry));
        assert!(!is_same(&json!({"entry": "{\"command\":\"y\"}"}), &entry));
        assert!(!is_same(&Value::Null, &entry));
    }
}
