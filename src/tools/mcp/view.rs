//! What a person sees of a server and its tools. Texts of the server are unchanged here; whoever shows them makes invisible
//! characters visible.

use serde::Serialize;
use serde_json::Value;

use super::confirmation::CurrentEntry;
use super::era::Era;
use super::oauth::SignInState;
use super::pins::{PinState, PinnedTool};
use super::server::{Server, ServerState};
use crate::domain::mcp::{McpRules, McpTransport, offered_name};
use crate::domain::visible::visible;
use crate::sandbox::Level;
use crate::store::sha256;

#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct ServerView {
    pub name: String,
    pub status: ServerStatus,
    /// Why it failed or its entry is broken. May quote the server.
    pub reason: Option<String>,
    /// The entry as it is confirmed, in canonical JSON; empty for a broken one. Without the page's secret, values of variables
    /// and headers are left out.
    pub entry: String,
    /// SHA-256 of the entry, which a confirmation names.
    pub sha256: String,
    /// Whether another version of the entry was confirmed before.
    pub changed: bool,
    /// What a person may change without another confirmation.
    pub rules: McpRules,
    pub remote: bool,
    /// Sandbox level of its program; absent for a remote server, and where no program runs.
    pub level: Option<String>,
    /// The package that its program was installed from.
    pub package: Option<PackageView>,
    /// Whether a person has signed in to a remote server, as far as is known; absent if that is not how it is used.
    pub sign_in: Option<SignInState>,
    /// Whether a person has begun to sign in and has not come back yet.
    pub signing_in: bool,
    /// Of the server when it was last asked; null if it never was.
    pub era: Option<Era>,
    /// All tools that it lists, trusted or not.
    pub tools: Vec<ToolView>,
    /// What is wrong with its list, as sentences.
    pub problems: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerStatus {
    /// Nobody has confirmed its entry, so it was never started.
    Unconfirmed,
    Stopped,
    Starting,
    Running,
    Failed,
    /// A person has to sign in before it can be used. Its tools are not offered.
    NeedsSignIn,
    /// Its entry cannot be used.
    Broken,
}

/// A package in the version that the entry names.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct PackageView {
    pub name: String,
    pub version: String,
    /// The version that was confirmed before, if it is another one.
    pub confirmed: Option<String>,
}

/// How the program of a server is confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpFence {
    Standard,
    Strict,
    /// The sandbox is switched off.
    Off,
    /// The server is remote, so no program runs here.
    Remote,
    /// No program runs in this home.
    NoPrograms,
}

#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct ToolView {
    /// Its name at the server, with invisible characters written out.
    pub name: String,
    /// Its name for the model.
    pub offered_as: String,
    pub state: PinState,
    /// Why it is unusable.
    pub reason: Option<String>,
    /// SHA-256 of the definition, which trust names.
    pub sha256: String,
    /// The definition as the server gives it now.
    #[schema(value_type = Object)]
    pub definition: Value,
    /// The definition that was trusted last, if it is another one.
    #[schema(value_type = Option<Object>)]
    pub trusted: Option<Value>,
}

impl ServerView {
    pub(super) fn of(server: &Server) -> Self {
        let (status, reason) = match server.state() {
            ServerState::Unconfirmed => (ServerStatus::Unconfirmed, None),
            ServerState::Stopped => (ServerStatus::Stopped, None),
            ServerState::Starting => (ServerStatus::Starting, None),
            ServerState::Running => (ServerStatus::Running, None),
            ServerState::Failed(why) => (ServerStatus::Failed, Some(visible(&why))),
        };
        let (status, reason) = match server.is_confirmed() && server.needs_sign_in() {
            true => (ServerStatus::NeedsSignIn, None),
            false => (status, reason),
        };
        let CurrentEntry { confirmation, confirmed, rules } = server.current();
        let listed = server.listed();
        let tools = listed.iter().flat_map(|listed| listed.tools.iter());
        Self {
            name: server.name().to_owned(),
            status,
            reason,
            entry: confirmed,
            sha256: confirmation.fingerprint,
            changed: !confirmation.is_confirmed && confirmation.was_confirmed,
            rules,
            remote: matches!(server.entry.transport, McpTransport::Http { .. }),
            level: server.level().map(|level| level.name().to_owned()),
            package: server.entry.package.as_ref().map(|package| PackageView {
                name: package.name.clone(),
                version: package.version.clone(),
                confirmed: confirmation.package_before.filter(|before| *before != package.version),
            }),
            sign_in: server.sign_in().map(|sign_in| sign_in.state()),
            signing_in: server.shared.sign_ins.is_under_way(server.name()),
            era: server.era(),
            tools: tools.map(|tool| ToolView::of(server.name(), tool)).collect(),
            problems: listed.as_ref().map(|listed| listed.problems.clone()).unwrap_or_default(),
        }
    }

    pub fn fence(&self) -> McpFence {
        match self.level.as_deref() {
            _ if self.remote => McpFence::Remote,
            None => McpFence::NoPrograms,
            Some(level) if level == Level::Off.name() => McpFence::Off,
            Some(level) if level == Level::Strict.name() => McpFence::Strict,
            Some(_) => McpFence::Standard,
        }
    }

    pub(super) fn broken(name: &str, why: &str) -> Self {
        Self {
            name: visible(name),
            status: ServerStatus::Broken,
            reason: Some(visible(why)),
            entry: String::new(),
            sha256: String::new(),
            changed: false,
            rules: McpRules::default(),
            remote: false,
            level: None,
            package: None,
            sign_in: None,
            signing_in: false,
            era: None,
            tools: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Returns this without what may contain a secret: the entry, and what the server or the parser said of a failure.
    #[must_use]
    pub fn without_secrets(self) -> Self {
        Self { entry: String::new(), reason: None, ..self }
    }
}

impl ToolView {
    fn of(server: &str, tool: &PinnedTool) -> Self {
        let PinnedTool { definition, state, trusted, why } = tool;
        Self {
            name: visible(&definition.name),
            offered_as: offered_name(server, &definition.name, sha256),
            state: *state,
            reason: why.clone(),
            sha256: definition.sha256.clone(),
            definition: definition.value.clone(),
            trusted: trusted.clone().filter(|trusted| *trusted != definition.value),
        }
    }
}
