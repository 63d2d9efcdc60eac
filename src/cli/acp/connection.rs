//! The connection to the editor: JSON-RPC 2.0, one message on a line, requests in both directions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol_schema::v1::{SessionNotification, SessionUpdate};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

/// Why a request is refused, as the protocol says it.
#[derive(Clone, Debug)]
pub struct AcpError {
    pub code: i64,
    pub message: String,
}

impl AcpError {
    pub fn parse(message: impl Into<String>) -> Self {
        Self { code: -32_700, message: message.into() }
    }

    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self { code: -32_600, message: message.into() }
    }

    pub fn no_method(method: &str) -> Self {
        Self { code: -32_601, message: format!("there is no method {method:?} here") }
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self { code: -32_602, message: message.into() }
    }

    /// The person has to connect a model first.
    pub fn needs_model(message: impl Into<String>) -> Self {
        Self { code: -32_000, message: message.into() }
    }
}

impl AcpError {
    /// Returns whether the server refused something because only its page may do it.
    pub fn needs_secret(&self) -> bool {
        // The code of the refusal is at the end of its sentence.
        self.message.ends_with("(no_secret)")
    }
}

impl<E: std::error::Error> From<E> for AcpError {
    fn from(error: E) -> Self {
        Self { code: -32_603, message: error.to_string() }
    }
}

/// A request to the editor whose answer is awaited.
pub struct Question {
    pub id: u64,
    pub answer: oneshot::Receiver<Value>,
}

#[derive(Clone)]
pub struct Connection {
    out: mpsc::Sender<Value>,
    pending: Arc<Mutex<Pending>>,
}

#[derive(Default)]
struct Pending {
    last: u64,
    questions: HashMap<u64, oneshot::Sender<Value>>,
}

impl Connection {
    pub fn new(out: mpsc::Sender<Value>) -> Self {
        Self { out, pending: Arc::default() }
    }

    /// Resolves when nobody reads the messages any more.
    pub async fn closed(&self) {
        self.out.closed().await;
    }

    pub async fn update(&self, session: &str, update: SessionUpdate) {
        let told = SessionNotification::new(session.to_owned(), update);
        self.notify("session/update", &told).await;
    }

    async fn notify(&self, method: &str, params: &impl Serialize) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }

    /// Sends a request to the editor.
    pub async fn ask(&self, method: &str, params: &impl Serialize) -> Question {
        let (sender, answer) = oneshot::channel();
        let id = {
            let mut pending = self.pending();
            pending.last += 1;
            let id = pending.last;
            pending.questions.insert(id, sender);
            id
        };
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        Question { id, answer }
    }

    /// Withdraws a request that the editor has not answered.
    pub async fn withdraw(&self, id: u64) {
        if self.pending().questions.remove(&id).is_some() {
            self.notify("$/cancel_request", &json!({"requestId": id})).await;
        }
    }

    /// Passes the editor's answer on. An answer that nobody waits for is ignored.
    pub fn answered(&self, id: &Value, answer: Value) {
        let Some(id) = id.as_u64() else { return };
        if let Some(waiting) = self.pending().questions.remove(&id) {
            let _ = waiting.send(answer);
        }
    }

    pub async fn respond(&self, id: &Value, result: Result<Value, AcpError>) {
        self.send(match result {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(AcpError { code, message }) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
            }
        })
        .await;
    }

    async fn send(&self, message: Value) {
        // Once the editor is gone, the command ends.
        let _ = self.out.send(message).await;
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the parameters of a request.
///
/// # Errors
/// Returns an error that says what is wrong with them.
pub fn params<T: DeserializeOwned>(params: Value) -> Result<T, AcpError> {
    serde_json::from_value(params).map_err(|error| AcpError::invalid(format!("params: {error}")))
}

/// Returns a result as JSON.
pub fn result(result: &impl Serialize) -> Result<Value, AcpError> {
    Ok(serde_json::to_value(result)?)
}
