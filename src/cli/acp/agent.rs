//! The agent as the editor sees it: which request does what, and what is known of the open sessions.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, AuthMethod, AuthMethodAgent, AuthenticateRequest, CancelNotification, Implementation,
    InitializeRequest, InitializeResponse, PromptCapabilities, SessionCapabilities, SessionCloseCapabilities,
    SessionDeleteCapabilities, SessionListCapabilities, SessionResumeCapabilities,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::connection::{AcpError, Connection, params, result};
use super::servers::EditorServer;
use super::{commands, modes, options, prompt, sessions};
use crate::cli::ask::client::Client;

/// The way to authenticate: a person connects a model on the page.
const PAGE: &str = "page";

pub struct Agent {
    pub client: Arc<Client>,
    pub connection: Connection,
    /// The home, where sessions without a folder of their own work.
    pub home: PathBuf,
    open: Mutex<HashMap<String, OpenSession>>,
}

/// A session that the editor has opened.
#[derive(Clone, Debug, Default)]
pub struct OpenSession {
    /// The folder of the editor.
    pub cwd: PathBuf,
    /// The folder that it works in: that of the editor once it is linked, otherwise the home.
    pub folder: PathBuf,
    /// Whether the person has to be asked about the folder before the first message.
    pub asks_about_folder: bool,
    /// MCP servers of the editor that the person has to be asked about before the first message.
    pub servers: Vec<EditorServer>,
    /// What the person is told with the first message.
    pub notes: Vec<String>,
    /// Cancelled when the person cancels the prompt.
    pub prompt: CancellationToken,
}

impl Agent {
    pub fn new(client: Arc<Client>, connection: Connection, home: PathBuf) -> Self {
        Self { client, connection, home, open: Mutex::default() }
    }

    /// Answers the editor until it goes away.
    pub async fn run(self: &Arc<Self>, mut lines: mpsc::Receiver<Result<Vec<u8>, &'static str>>) {
        loop {
            let line = tokio::select! {
                line = lines.recv() => line,
                () = self.connection.closed() => None,
            };
            let Some(line) = line else { return };
            let message = match line.map(|line| serde_json::from_slice::<Value>(&line)) {
                Ok(Ok(message)) => message,
                Ok(Err(error)) => {
                    let error = AcpError::parse(format!("the message is no JSON: {error}"));
                    self.connection.respond(&Value::Null, Err(error)).await;
                    continue;
                }
                Err(wrong) => {
                    self.connection.respond(&Value::Null, Err(AcpError::invalid_request(wrong))).await;
                    continue;
                }
            };
            self.take(message).await;
        }
    }

    async fn take(self: &Arc<Self>, mut message: Value) {
        let (id, method) = (message.get("id").cloned(), message["method"].as_str().map(str::to_owned));
        let params = message.as_object_mut().and_then(|fields| fields.remove("params")).unwrap_or_else(|| json!({}));
        match (id, method) {
            (Some(id), Some(method)) => {
                let agent = self.clone();
                // A task, because a prompt takes as long as the work, and asks the editor meanwhile.
                tokio::spawn(async move {
                    let named = params["sessionId"].as_str().map(str::to_owned);
                    let answer = agent.answer(&method, params).await;
                    let made = answer.as_ref().ok().and_then(|made| made["sessionId"].as_str()).map(str::to_owned);
                    let opens = answer.is_ok() && ["session/new", "session/load", "session/resume"].contains(&&*method);
                    agent.connection.respond(&id, answer).await;
                    if let Some(session) = made.or(named).filter(|_| opens) {
                        commands::tell(&agent, &session).await;
                    }
                });
            }
            (None, Some(method)) if method == "session/cancel" => {
                let Ok(CancelNotification { session_id, .. }) = serde_json::from_value(params) else { return };
                if let Ok(session) = self.opened(&session_id.to_string()) {
                    session.prompt.cancel();
                }
            }
            (None, Some(_)) => {}
            (Some(id), None) if message.get("result").is_some() || message.get("error").is_some() => {
                self.connection.answered(&id, message);
            }
            (_, None) => {
                let error = AcpError::invalid_request("a message has a method, or is an answer");
                self.connection.respond(&Value::Null, Err(error)).await;
            }
        }
    }

    async fn answer(self: &Arc<Self>, method: &str, given: Value) -> Result<Value, AcpError> {
        match method {
            "initialize" => result(&self.initialize(params(given)?)),
            "authenticate" => self.authenticate(params(given)?).await,
            "session/new" => result(&sessions::new(self, params(given)?).await?),
            "session/load" => result(&sessions::load(self, params(given)?).await?),
            "session/resume" => result(&sessions::resume(self, params(given)?).await?),
            "session/list" => result(&sessions::list(self, params(given)?).await?),
            "session/close" => sessions::close(self, params(given)?).await,
            "session/delete" => sessions::delete(self, params(given)?).await,
            "session/set_mode" => modes::set(self, params(given)?).await,
            "session/set_config_option" => result(&options::set(self, params(given)?).await?),
            "session/prompt" => result(&prompt::prompt(self, params(given)?).await?),
            other => Err(AcpError::no_method(other)),
        }
    }

    fn initialize(&self, _: InitializeRequest) -> InitializeResponse {
        let sessions = SessionCapabilities::new()
            .list(SessionListCapabilities::default())
            .delete(SessionDeleteCapabilities::default())
            .resume(SessionResumeCapabilities::default())
            .close(SessionCloseCapabilities::default());
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
            .session_capabilities(sessions);
        let page = self.client.page();
        let method = AuthMethodAgent::new(PAGE, "Connect a model")
            .description(format!("Connect a model on the agent's page, {page}, and try again."));
        // Version 1 is the only one that is spoken here; an editor that cannot ends the connection.
        InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .auth_methods(vec![AuthMethod::Agent(method)])
            .agent_info(Implementation::new("miniclaw", env!("CARGO_PKG_VERSION")).title("miniclaw".to_owned()))
    }

    async fn authenticate(&self, request: AuthenticateRequest) -> Result<Value, AcpError> {
        if request.method_id.to_string() != PAGE {
            return Err(AcpError::invalid(format!("the only way to authenticate is {PAGE:?}")));
        }
        self.require_model().await.map(|()| json!({}))
    }

    /// Requires that there is a model.
    ///
    /// # Errors
    /// Returns an error that says where to connect one.
    pub async fn require_model(&self) -> Result<(), AcpError> {
        let models = self.client.get("api/models").await?;
        if models["available"].as_array().is_some_and(|available| !available.is_empty()) {
            return Ok(());
        }
        let message = format!("there is no model yet; connect one on the agent's page, {}", self.client.page());
        Err(AcpError::needs_model(message))
    }

    /// Returns what is known of an open session.
    ///
    /// # Errors
    /// Returns an error if the editor has not opened it.
    pub fn opened(&self, id: &str) -> Result<OpenSession, AcpError> {
        let known = self.open().get(id).cloned();
        known.ok_or_else(|| AcpError::invalid(format!("the session {id:?} is not open; use session/load first")))
    }

    pub fn set_open(&self, id: &str, session: OpenSession) {
        self.open().insert(id.to_owned(), session);
    }

    pub fn forget(&self, id: &str) {
        self.open().remove(id);
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, OpenSession>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
