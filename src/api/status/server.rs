//! The state of the server: health and status.

use axum::Json;
use axum::extract::State;
use serde::Serialize;

use crate::api::app::{App, SandboxInfo};
use crate::api::error::ApiError;
use crate::api::security::caller::{Caller, PresentCaller};
use crate::api::security::person::Right;
use crate::domain::{Effect, ErrorParams};
use crate::engine::blocking;
use crate::engine::command_access::CommandAccess;
use crate::engine::model_status::ModelStatus;
use crate::engine::tool_sources::ExchangeScope;
use crate::sandbox::grouped;
use crate::store::Quarantined;
use crate::tools::mcp::{McpFence, PinState, ServerStatus, ServerView};

#[derive(Serialize, utoipa::ToSchema)]
pub struct Health {
    status: HealthState,
    version: String,
    /// Files that could not be parsed and were quarantined since the start; empty if the server needs a token.
    quarantine: Vec<Quarantined>,
}

#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = HealthWord)]
pub enum HealthState {
    Ok,
    /// A file was quarantined; the rest works.
    Degraded,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct Status {
    version: String,
    /// Random id of this start of the server; event ids begin with it.
    boot_id: String,
    home: String,
    started_at: f64,
    /// Whether the server needs a token or an account, so that a browser can sign out.
    needs_token: bool,
    /// Whether it is a member of a cluster: GET /api/cluster.
    in_cluster: bool,
    /// Whether the home is in a database, and `home` is a copy of it.
    in_database: bool,
    /// Number of sessions in memory.
    live_sessions: usize,
    /// Ids of the sessions with a run under way.
    running: Vec<String>,
    rag_mode: bool,
    /// Whether RAG mode also retrieves passages of past conversations.
    rag_conversations: bool,
    model: ModelStatus,
    tools: Vec<ToolInfo>,
    sandbox: SandboxInfo,
    /// As whom this person's commands run, or why there are none; null if one person uses the server.
    commands: Option<CommandsInfo>,
    /// The MCP servers that are configured.
    mcp: Vec<McpServerInfo>,
    skills: usize,
    /// Warnings about the configuration and the home, as English sentences.
    problems: Vec<String>,
    /// Files that could not be parsed and were quarantined since the start.
    quarantine: Vec<Quarantined>,
}

/// As whom a person's commands run, or why they are left out.
#[derive(Clone, Serialize, utoipa::ToSchema)]
pub struct CommandsInfo {
    available: bool,
    /// One English sentence.
    note: String,
    /// Code of the sentence: `own_user`, `off`, `no_landlock`, `no_bubblewrap`, `not_root`, `no_capabilities`, `no_namespace`,
    /// `unmapped_uids`, `taken_uids`, `no_uid` or `exposed_home`; of a project of somebody else also `no_exchange`.
    code: String,
    /// Values that the sentence contains, by name.
    about: ErrorParams,
}

impl CommandsInfo {
    pub(in crate::api) fn of(access: &CommandAccess) -> Option<Self> {
        Some(match access.person.as_ref()? {
            Ok(uid) => Self {
                available: true,
                note: format!("Your commands run as user {uid} of the system, whom nobody else has."),
                code: "own_user".to_owned(),
                about: ErrorParams::from([("uid".to_owned(), uid.to_string())]),
            },
            Err(obstacle) => Self {
                available: false,
                note: access.problem().unwrap_or_default(),
                code: obstacle.code().to_owned(),
                about: obstacle.params(),
            },
        })
    }

    /// Says why no command runs, if none does.
    pub(in crate::api) fn problem(access: &CommandAccess) -> Option<Self> {
        Self::of(access).filter(|commands| !commands.available)
    }

    /// Says that no command can work in a project of somebody else.
    pub(in crate::api) fn without_exchange(reason: String) -> Self {
        Self {
            available: false,
            note: format!("Commands and git do not work in projects of others on this server: {reason}."),
            code: "no_exchange".to_owned(),
            about: ErrorParams::from([("reason".to_owned(), reason)]),
        }
    }
}

/// An MCP server: whether it can be used, and how its program is confined.
#[derive(Serialize, utoipa::ToSchema)]
pub struct McpServerInfo {
    name: String,
    /// Whether a person has confirmed its entry.
    confirmed: bool,
    status: ServerStatus,
    fence: McpFence,
    /// Number of tools that a person has trusted.
    trusted_tools: usize,
    /// Why it failed last; for the page only, because it may quote the server.
    error: Option<String>,
}

impl McpServerInfo {
    fn of(server: ServerView, is_page: bool) -> Self {
        let trusted = server.tools.iter().filter(|tool| tool.state == PinState::Trusted).count();
        Self {
            confirmed: !matches!(server.status, ServerStatus::Unconfirmed | ServerStatus::Broken),
            status: server.status,
            fence: server.fence(),
            trusted_tools: trusted,
            error: server.reason.filter(|_| is_page),
            name: server.name,
        }
    }
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct ToolInfo {
    name: String,
    description: String,
    effect: Effect,
}

/// Health check. Needs no token and reveals no content.
#[utoipa::path(get, path = "/health", tag = "status", responses((status = 200, body = Health)))]
pub async fn health(State(app): State<App>, PresentCaller(caller): PresentCaller) -> Json<Health> {
    let status = if app.tenants.has_quarantined() { HealthState::Degraded } else { HealthState::Ok };
    // Names and reasons are for people who have signed in: GET /api/status.
    let quarantine = caller.map(|caller| caller.tenant().home.quarantined()).unwrap_or_default();
    Json(Health { status, version: env!("CARGO_PKG_VERSION").to_owned(), quarantine })
}

/// Returns the configuration and the current activity.
#[utoipa::path(get, path = "/api/status", tag = "status", responses((status = 200, body = Status)))]
pub async fn status(State(app): State<App>, caller: Caller) -> Result<Json<Status>, ApiError> {
    let tenant = caller.tenant();
    let home = tenant.home.clone();
    let settings = blocking(move || Ok(home.settings())).await?;
    let specs = tenant.tools(ExchangeScope::new_session()).await.specs();
    let libraries = [&tenant.memory, &tenant.knowledge];
    let left_out = libraries.into_iter().filter(|library| library.left_out() > 0).map(|library| {
        let (count, folder) = (grouped(library.left_out() as u64), library.folder());
        format!(
            "{count} files in {folder}/ are not indexed, because it holds more than 20,000. Move what need not be searched \
             to another folder."
        )
    });
    let config = tenant.runtime.config();
    let manages_server = caller.person.rights().has(Right::ManageServer);
    let warnings = config.warnings.iter().filter(|_| manages_server).cloned();
    let home = match caller.person.account() {
        // Where the server keeps its homes is nobody else's business.
        Some(account) if !manages_server => format!("people/{account}"),
        _ => tenant.home.path().display().to_string(),
    };
    let tools = specs.iter().map(|spec| ToolInfo {
        name: spec.name.clone(),
        description: spec.description.clone(),
        effect: spec.effect,
    });
    let (servers, _) = tenant.mcp_servers().await;
    let mcp = servers.into_iter().map(|server| McpServerInfo::of(server, caller.is_page()));
    Ok(Json(Status {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        boot_id: tenant.hub.boot().to_owned(),
        home,
        started_at: app.started_at,
        in_cluster: app.forwarder.is_some(),
        in_database: config.database.is_some(),
        needs_token: app.access.needs_token() || app.people.is_some(),
        live_sessions: caller.engine.live_sessions().await,
        running: tenant.runs.list().iter().map(ToString::to_string).collect(),
        rag_mode: settings.rag_mode,
        rag_conversations: settings.rag_conversations,
        model: tenant.models.status(),
        tools: tools.collect(),
        sandbox: SandboxInfo::clone(&app.sandbox),
        commands: CommandsInfo::of(&tenant.commands),
        mcp: mcp.collect(),
        skills: tenant.skills.list().len(),
        problems: warnings.chain(tenant.problems.iter().cloned()).chain(left_out).collect(),
        quarantine: tenant.home.quarantined(),
    }))
}
