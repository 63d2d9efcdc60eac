//! Calls that a server carries out as a task (the extension `io.modelcontextprotocol/tasks`): it answers with a handle, and is
//! asked from time to time how far it is, until there is a result.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::connection::{RequestError, RequestLimits};
use super::link::Link;
use super::masking::{hidden_error, hide};
use super::message::RpcError;
use super::server::Server;
use crate::tools::LiveOutput;

pub const EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// How long a task is left alone between two looks, unless its server says how long, and the bounds of what it may say.
const INTERVAL: Duration = Duration::from_secs(1);
const SHORTEST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(60);
/// How long a task may take in all.
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

/// A task to follow.
#[derive(Clone, Copy)]
pub struct FollowedTask<'a> {
    pub id: &'a str,
    /// Answers of a person that it gets first, by the server's names of its requests.
    pub given: &'a Map<String, Value>,
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
    ///
    /// # Errors
    /// Returns an error if the task failed, took too long, or the server says nothing about it any more.
    pub(super) async fn follow(
        &self,
        link: &Link,
        task: FollowedTask<'_>,
        (cancel, live): (&CancellationToken, &LiveOutput),
    ) -> Result<Value, RequestError> {
        let live = self.hiding(live);
        let followed = tokio::select! {
            followed = tokio::time::timeout(TOTAL, self.looked_after(link, task, &live)) => followed,
            () = cancel.cancelled() => Ok(Err(RequestError::Cancelled)),
        };
        let followed = followed.unwrap_or(Err(RequestError::TimedOut(TOTAL.as_secs())));
        if matches!(followed, Err(RequestError::Cancelled | RequestError::TimedOut(_))) {
            cancel_task(link, task.id).await;
        }
        let mask = self.mask();
        let hidden = |text: &str| mask.text(text).into_owned();
        let mut followed = followed.map_err(|error| hidden_error(error, &hidden))?;
        hide(&mut followed, &hidden);
        Ok(followed)
    }

    async fn looked_after(
        &self,
        link: &Link,
        FollowedTask { id, given }: FollowedTask<'_>,
        live: &LiveOutput,
    ) -> Result<Value, RequestError> {
        if !given.is_empty() {
            ask(link, ("tasks/update", json!({"taskId": id, "inputResponses": given}))).await?;
        }
        let (mut failures, mut shown) = (0, String::new());
        loop {
            let began = Instant::now();
            let interval = match ask(link, ("tasks/get", json!({"taskId": id}))).await {
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
                Err(error) => return Err(error),
            };
            tokio::time::sleep_until(began + interval).await;
        }
    }
}

/// Tells a server that nobody waits for a task any more.
pub async fn cancel_task(link: &Link, id: &str) {
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
        "failed" => Look::Failed(serde_json::from_value(task["error"].clone()).unwrap_or(RpcError::of(String::new()))),
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
