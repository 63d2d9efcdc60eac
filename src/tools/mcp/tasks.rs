//! Calls that a server carries out as a task (the extension `io.modelcontextprotocol/tasks`): it answers with a handle, and is
//! asked from time to time how far it is, until there is a result.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::connection::{RequestError, RequestLimits};
use super::elicitation;
use super::link::Link;
use super::masking::{hidden_error, hide_result};
use super::message::RpcError;
use super::server::Server;
use super::uses::Use;
use crate::tools::LiveOutput;

pub const EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// How long a task is left alone between two looks, unless its server says how long, and the bounds of what it may say.
const INTERVAL: Duration = Duration::from_secs(1);
const SHORTEST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(60);
/// How long a task may take until it ends or asks a person, and then after each answer.
const TOTAL: Duration = Duration::from_secs(3_600);
/// How often in a row a look may fail.
const FAILURES: u32 = 5;
/// How long a server has to answer a look, and to take a cancellation.
const LOOK: RequestLimits = RequestLimits { silence: Duration::from_secs(30), total: Duration::from_secs(30) };
const CANCEL: RequestLimits = RequestLimits { silence: Duration::from_secs(2), total: Duration::from_secs(2) };
/// Maximum bytes of the id of a task, and characters of what a server says about it.
const MAX_ID: usize = 1_000;
const MAX_MESSAGE: usize = 500;

/// Returns the id of the task that a call has become; `None` if this is the result of the call.
///
/// # Errors
/// Returns a part of a sentence if the task has no usable id.
pub fn created(result: &Value) -> Option<Result<String, String>> {
    if result["resultType"] != "task" {
        return None;
    }
    let id = result["taskId"].as_str().filter(|id| !id.is_empty() && id.len() <= MAX_ID);
    Some(id.map(str::to_owned).ok_or_else(|| "the server began a task without a usable name".to_owned()))
}

/// A task that somebody waits for. Dropping it before it has ended cancels it.
pub struct TaskGuard {
    link: Arc<Link>,
    /// `None` once it has ended.
    id: Option<String>,
    _in_use: Use,
}

/// A task that waits for a person. Only [`WaitingTask::cancel`] cancels it, because it outlives a restart.
pub struct WaitingTask {
    link: Arc<Link>,
    id: String,
    _in_use: Use,
}

impl TaskGuard {
    pub fn new(link: Arc<Link>, id: String) -> Self {
        Self { _in_use: link.begin_use(), link, id: Some(id) }
    }

    /// Goes over to another connection to its server.
    pub fn move_to(&mut self, link: &Arc<Link>) {
        if !Arc::ptr_eq(&self.link, link) {
            (self._in_use, self.link) = (link.begin_use(), link.clone());
        }
    }

    /// Returns the task for as long as a person is asked; `None` if it has ended.
    pub fn waits(mut self) -> Option<WaitingTask> {
        let id = self.id.take()?;
        Some(WaitingTask { _in_use: self.link.begin_use(), link: self.link.clone(), id })
    }

    /// Cancels it, and waits until its server was told.
    async fn cancel(&mut self) {
        if let Some(id) = self.id.take() {
            let link = self.link.clone();
            // In a task of its own, so that it is told also if nobody waits for that.
            let _ = tokio::spawn(async move { cancel_task(&link, &id).await }).await;
        }
    }
}

impl Drop for TaskGuard {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            cancel_later(self.link.clone(), id);
        }
    }
}

impl WaitingTask {
    /// Returns the task once a person has answered.
    pub fn goes_on(self) -> TaskGuard {
        TaskGuard::new(self.link, self.id)
    }

    pub fn cancel(self) {
        cancel_later(self.link.clone(), self.id);
    }
}

fn cancel_later(link: Arc<Link>, id: String) {
    // Without a runtime the process is ending.
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move { cancel_task(&link, &id).await });
    }
}

/// How far a task is.
enum Look {
    /// It goes on; what the server says of it.
    Working(String),
    /// The result of the call, or what the server asks for, in the form of a call's result.
    Ended(Value),
    Failed(RpcError),
}

impl Server {
    /// Follows a task until it has a result or asks for input, which is returned as a call's result would be. A stop cancels it.
    /// It first gets the answers of a person in `given`, by the server's names of its requests.
    ///
    /// # Errors
    /// Returns an error if the task failed, took too long, or the server says nothing about it any more.
    pub(super) async fn follow(
        &self,
        task: &mut TaskGuard,
        given: &Map<String, Value>,
        (cancel, live): (&CancellationToken, &LiveOutput),
    ) -> Result<Value, RequestError> {
        let live = self.hiding(live);
        let (link, id) = (task.link.clone(), task.id.clone().unwrap_or_default());
        let followed = tokio::select! {
            followed = tokio::time::timeout(TOTAL, self.looked_after(&link, (&id, given), &live)) => followed,
            () = cancel.cancelled() => Ok(Err(RequestError::Cancelled)),
        };
        let followed = followed.unwrap_or(Err(RequestError::TimedOut(TOTAL.as_secs())));
        match &followed {
            Err(RequestError::Cancelled | RequestError::TimedOut(_)) => task.cancel().await,
            Ok(result) if !elicitation::is_required(result) => task.id = None,
            Err(RequestError::Refused(error)) if error.code != 0 => task.id = None,
            Ok(_) | Err(_) => {}
        }
        let mask = self.mask();
        let hidden = |text: &str| mask.text(text).into_owned();
        let mut followed = followed.map_err(|error| hidden_error(error, &hidden))?;
        hide_result(&mut followed, &hidden);
        Ok(followed)
    }

    async fn looked_after(
        &self,
        link: &Link,
        (id, given): (&str, &Map<String, Value>),
        live: &LiveOutput,
    ) -> Result<Value, RequestError> {
        let _slot = self.task_slots.acquire().await.map_err(|_| RequestError::Cancelled)?;
        let mut answers = (!given.is_empty()).then(|| json!({"taskId": id, "inputResponses": given}));
        let (mut failures, mut shown) = (0, String::new());
        loop {
            // The server may have been stopped or removed.
            if !link.is_open() {
                return Err(RequestError::Lost("the connection to the server of the task has ended".to_owned()));
            }
            let began = Instant::now();
            let request = match &answers {
                Some(answers) => ("tasks/update", answers.clone()),
                None => ("tasks/get", json!({"taskId": id})),
            };
            let interval = match ask(link, request).await {
                Ok(_) if answers.take().is_some() => {
                    failures = 0;
                    continue;
                }
                Ok(task) => {
                    failures = 0;
                    match look(&task, given) {
                        Look::Ended(result) => return Ok(result),
                        Look::Failed(error) => return Err(RequestError::Refused(error)),
                        Look::Working(said) => {
                            if said != shown {
                                live.show(format!("{said}\n"));
                                shown = said;
                            }
                        }
                    }
                    interval(&task)
                }
                Err(RequestError::Lost(_) | RequestError::TimedOut(_)) if failures < FAILURES && link.is_open() => {
                    failures += 1;
                    INTERVAL * 2_u32.pow(failures)
                }
                Err(RequestError::TimedOut(_)) => {
                    return Err(RequestError::Lost("the server does not say how far its task is".to_owned()));
                }
                Err(RequestError::Refused(error)) => {
                    return Err(RequestError::Lost(format!("the server does not go on with its task: {error}")));
                }
                Err(error) => return Err(error),
            };
            tokio::time::sleep_until(began + interval).await;
        }
    }
}

/// Tells a server that nobody waits for a task any more.
async fn cancel_task(link: &Link, id: &str) {
    let stop = (&CancellationToken::new(), &LiveOutput::default());
    // A server that does not take it ends the task by itself.
    let _ = link.request(("tasks/cancel", json!({"taskId": id})), &CANCEL, stop).await;
}

async fn ask(link: &Link, request: (&str, Value)) -> Result<Value, RequestError> {
    link.request(request, &LOOK, (&CancellationToken::new(), &LiveOutput::default())).await
}

/// Reads what a server says about a task. Requests that a person has just answered may still be in it.
fn look(task: &Value, given: &Map<String, Value>) -> Look {
    let failed = |why: &str| Look::Failed(RpcError::of(why.to_owned()));
    let status = task["status"].as_str().unwrap_or_default();
    match status {
        "completed" if task["result"].is_object() => Look::Ended(task["result"].clone()),
        "completed" => failed("its task has ended without a result"),
        "failed" => match serde_json::from_value::<RpcError>(task["error"].clone()) {
            Ok(error) if error.code != 0 || !error.message.is_empty() => Look::Failed(error),
            Ok(_) | Err(_) => failed("its task failed"),
        },
        "cancelled" => failed("its task was cancelled"),
        "working" | "input_required" => {
            let requests = task["inputRequests"].as_object().filter(|_| status == "input_required");
            let open = requests.into_iter().flatten().filter(|(key, _)| !given.contains_key(*key));
            let open: Map<String, Value> = open.map(|(key, request)| (key.clone(), request.clone())).collect();
            match open.is_empty() {
                true => Look::Working(said(task)),
                false => Look::Ended(json!({"resultType": "input_required", "inputRequests": open})),
            }
        }
        _ => failed("its task is in a state that is not known here"),
    }
}

fn said(task: &Value) -> String {
    let message: String = task["statusMessage"].as_str().unwrap_or_default().chars().take(MAX_MESSAGE).collect();
    if message.is_empty() { "The server works on it as a task.".to_owned() } else { message }
}

fn interval(task: &Value) -> Duration {
    task["pollIntervalMs"].as_u64().map_or(INTERVAL, Duration::from_millis).clamp(SHORTEST, LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(task: Value, given: &Map<String, Value>) -> Result<Value, String> {
        match look(&task, given) {
            Look::Ended(value) => Ok(value),
            Look::Working(said) => Err(said),
            Look::Failed(error) => Err(error.message),
        }
    }

    #[test]
    fn state_of_a_task_is_read() {
        let nothing = Map::new();
        let result = json!({"content": []});
        assert_eq!(seen(json!({"status": "completed", "result": result}), &nothing), Ok(result));
        let asks = json!({"status": "input_required", "inputRequests": {"a": {"method": "x"}}});
        assert_eq!(
            seen(asks.clone(), &nothing),
            Ok(json!({"resultType": "input_required", "inputRequests": {"a": {"method": "x"}}}))
        );
        let answered = Map::from_iter([("a".to_owned(), json!({}))]);
        assert!(seen(asks, &answered).unwrap_err().contains("works on it"), "it is not asked twice");
        for (task, why) in [
            (json!({"status": "working", "statusMessage": "half"}), "half"),
            (json!({"status": "completed"}), "without a result"),
            (json!({"status": "failed", "error": {"code": 1, "message": "broken"}}), "broken"),
            (json!({"status": "failed", "error": {}}), "its task failed"),
            (json!({"status": "failed", "error": "x"}), "its task failed"),
            (json!({"status": "cancelled"}), "cancelled"),
            (json!({"status": 7}), "not known"),
            (json!(null), "not known"),
        ] {
            let text = seen(task, &nothing).unwrap_err();
            assert!(text.contains(why), "{text}");
        }
    }

    #[test]
    fn interval_of_a_server_is_bounded() {
        let of = |wanted: Value| interval(&json!({"pollIntervalMs": wanted}));
        assert_eq!(
            [of(json!(0)), of(json!(500)), of(json!(u64::MAX))],
            [SHORTEST, Duration::from_millis(500), LONGEST]
        );
        assert_eq!([of(json!(null)), of(json!(-1)), of(json!("x"))], [INTERVAL; 3]);
    }

    #[test]
    fn only_a_task_with_a_name_is_followed() {
        assert_eq!(created(&json!({"content": []})), None);
        assert_eq!(created(&json!({"resultType": "task", "taskId": "t"})), Some(Ok("t".to_owned())));
        for odd in [json!(null), json!(""), json!(1), json!("x".repeat(2_000))] {
            assert!(created(&json!({"resultType": "task", "taskId": odd})).unwrap().is_err());
        }
    }
}
