//! Resources of servers, as the model finds them with `find_tools`: each is a tool without arguments that reads it.
//!
//! Nobody has trusted their titles and addresses, so these are text from outside: requests do not contain them, and a search
//! that shows them taints the conversation, as what is read does.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::connection::RequestError;
use super::offers::{self, ResourceView};
use super::result::{self, ResultFiles};
use super::server::Server;
use super::tool::safe;
use crate::domain::mcp::{McpLoad, offered_name};
use crate::domain::visible::visible;
use crate::domain::{Effect, EgressAttempts, SessionId, Shown, Taint, ToolAnswer, ToolSpec};
use crate::sandbox::Level;
use crate::store::sha256;
use crate::tools::{
    EndRun, OutsideText, Prepared, PreparedCall, RunOptions, SchemaOrigin, ServerRule, Tool, ToolContext, ToolSet,
    Unrehearsable,
};

/// Maximum number of resources of all servers together that the model can find.
const MAX_FOUND: usize = 1_000;
/// Maximum characters of an address that a search shows.
const MAX_SHOWN: usize = 300;

/// Returns the tools that read the resources of servers.
pub fn resource_tools(servers: &[Arc<Server>]) -> ToolSet {
    let offered = servers.iter().filter(|server| server.current().rules.load != McpLoad::Never);
    let found = offered.flat_map(|server| {
        let resources = server.resources();
        resources.iter().map(|resource| ResourceTool::new(server.clone(), resource)).collect::<Vec<_>>()
    });
    let tools = found.take(MAX_FOUND).filter_map(|tool| {
        let made = ToolSet::new(vec![Arc::new(tool) as Arc<dyn Tool>]);
        made.inspect_err(|error| tracing::warn!(%error, "a resource of an MCP server is left out")).ok()
    });
    ToolSet::all(tools)
}

struct ResourceTool {
    spec: ToolSpec,
    server: Arc<Server>,
    uri: String,
}

impl ResourceTool {
    fn new(server: Arc<Server>, resource: &ResourceView) -> Self {
        let ResourceView { uri, title, mime_type, .. } = resource;
        let shown: String = uri.chars().take(MAX_SHOWN).collect();
        let kind = if mime_type.is_empty() { String::new() } else { format!(" ({})", safe(mime_type)) };
        let spec = ToolSpec {
            // The colon is in no name of a tool, so the name ends in digits of a hash.
            name: offered_name(server.name(), &format!("resource:{uri}"), sha256),
            description: format!("[{}] Reads the resource {}{kind}: {}", server.name(), safe(title), safe(&shown)),
            parameters: json!({"type": "object", "properties": {}}),
            effect: effect(&server),
        };
        Self { spec, server, uri: uri.clone() }
    }
}

/// Returns the effect of reading: none beyond its own folder for a program that can reach nothing else.
fn effect(server: &Server) -> Effect {
    match (server.entry.is_remote(), server.fenced_level()) {
        (true, _) => Effect::Network,
        (false, Some(level)) if level != Level::Off => Effect::Read,
        (false, _) => Effect::Execute,
    }
}

impl Tool for ResourceTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn schema_origin(&self) -> SchemaOrigin {
        SchemaOrigin::Foreign
    }

    fn prepare<'a>(&'a self, _: Value, context: ToolContext<'a>) -> BoxFuture<'a, Prepared> {
        let (server, uri, session) = (self.server.clone(), self.uri.clone(), context.session.clone());
        let prepared = match server.resources().iter().any(|resource| resource.uri == uri) {
            true => Ok(Box::new(ResourceCall { server, uri, session }) as Box<dyn PreparedCall>),
            false => Err(Box::new(ToolAnswer::failed(format!(
                "the server {} no longer lists this resource. Nothing was run.",
                server.name()
            )))),
        };
        Box::pin(std::future::ready(prepared))
    }
}

struct ResourceCall {
    server: Arc<Server>,
    uri: String,
    session: SessionId,
}

impl PreparedCall for ResourceCall {
    fn effect(&self) -> Effect {
        effect(&self.server)
    }

    fn shown(&self) -> Shown {
        let level = self.server.level();
        Shown {
            command: format!("{} → {}", self.server.name(), visible(&self.uri)),
            network: self.server.has_network(),
            level: level.map(|level| level.name().to_owned()).unwrap_or_default(),
            ..Shown::default()
        }
    }

    fn level(&self) -> Option<Level> {
        self.server.fenced_level()
    }

    fn unrehearsable(&self) -> Option<Unrehearsable> {
        Some(Unrehearsable::new("tool", "What the program of a server changes cannot be shown before."))
    }

    fn server_rule(&self) -> ServerRule {
        self.server.rule_of(&self.uri)
    }

    fn outside_text(&self) -> OutsideText {
        OutsideText::from_source(Some(Taint::Outside))
    }

    fn run<'a>(&'a self, options: RunOptions<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>> {
        Box::pin(async move {
            let cancel = options.cancel.clone();
            tokio::select! {
                answer = self.read() => Ok(answer),
                () = cancel.cancelled() => {
                    Err(EndRun::Cancelled { text: String::new(), egress_attempts: EgressAttempts::default() })
                }
            }
        })
    }
}

impl ResourceCall {
    async fn read(&self) -> ToolAnswer {
        let name = self.server.name();
        let failed = |why: &str| {
            let uri = visible(&self.uri);
            ToolAnswer::failed(format!("{uri} of {name}: {why}.")).with_source(Taint::Outside)
        };
        let link = match self.server.connect().await {
            Ok(link) => link,
            Err(why) => return failed(&format!("the server cannot be used: {why}")),
        };
        let contents = match offers::contents(&self.server, &link, &self.uri).await {
            Ok(contents) => contents,
            Err(error @ RequestError::Refused(_)) => return failed(&error.to_string()),
            Err(error) => return failed(&format!("{error}. It can be read again")),
        };
        let content: Vec<Value> =
            contents.into_iter().map(|resource| json!({"type": "resource", "resource": resource})).collect();
        if content.is_empty() {
            return failed("it has no content");
        }
        let pictures = Some((&self.server.shared.keep_pictures, &self.session));
        let files = ResultFiles { home: self.server.home(), pictures };
        result::answer(files, (name, &self.uri), &json!({"content": content})).await
    }
}
