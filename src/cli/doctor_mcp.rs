//! What `miniclaw doctor` says of the MCP servers of a home.

use std::path::Path;

use serde_json::Value;

use super::ask::client::Client;
use crate::domain::mcp::{McpEntry, McpTransport};
use crate::domain::visible::visible;
use crate::sandbox::Level;
use crate::store::{Home, running_server, sha256};

/// Returns a line for each server: what is configured and confirmed, how it is confined, and, if a server runs on the home, in
/// which state it is and why it failed last.
pub async fn servers(folder: &Path, level: Level) -> Vec<String> {
    let Ok(home) = Home::open_for_reading(folder) else { return Vec::new() };
    let entries = match home.mcp_file().entries {
        Ok(entries) => entries,
        Err(why) => return vec![why],
    };
    let running = states(folder).await;
    entries.iter().map(|(name, entry)| line((name, entry), (&home, level), running.as_ref())).collect()
}

fn line((name, entry): (&str, &Value), (home, level): (&Home, Level), running: Option<&Value>) -> String {
    let shown = visible(name);
    let parsed = match McpEntry::parse(name, entry) {
        Ok(parsed) => parsed,
        Err(why) => return format!("{shown}: cannot be used: {}", visible(&why.to_string())),
    };
    let trust = home.mcp_trust(name);
    let is_confirmed = trust.get("").is_some_and(|own| own.contains(&sha256(parsed.confirmed.as_bytes())));
    let confirmed = match is_confirmed {
        true => match trust.len() - 1 {
            1 => "confirmed, 1 tool trusted".to_owned(),
            tools => format!("confirmed, {tools} tools trusted"),
        },
        false => format!("not confirmed: miniclaw mcp trust {shown}"),
    };
    let fence = match (&parsed.transport, level) {
        (McpTransport::Http { .. }, _) => "remote".to_owned(),
        (McpTransport::Stdio { .. }, Level::Off) => "without a fence, because the sandbox is off".to_owned(),
        (McpTransport::Stdio { .. }, level) => format!("fenced ({})", level.name()),
    };
    let servers = running.and_then(|listed| listed["servers"].as_array()).into_iter().flatten();
    let state = servers.into_iter().find(|server| server["name"] == shown.as_str()).map(|server| {
        let reason = server["reason"].as_str().map(|why| format!(": {}", visible(why))).unwrap_or_default();
        format!("; {}{reason}", server["status"].as_str().unwrap_or_default().replace('_', " "))
    });
    format!("{shown}: {confirmed}; {fence}{}", state.unwrap_or_default())
}

/// Asks the server that runs on the home, if one does.
async fn states(folder: &Path) -> Option<Value> {
    let contact = running_server(folder).ok()??;
    Client::new(&contact, None).ok()?.get("api/mcp").await.ok()
}
