//! The operations of a session by works, as the session-operations document defines them: a projection of its messages.

use std::collections::HashSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::{Message, Role, SessionId, ToolCall};

/// A work: what a person asked for, and the operations that it led to.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub struct WorkOperations {
    work_id: String,
    /// 0: in effect; 1: withdrawn.
    work_status: u8,
    /// Unix seconds of its first message; `null` if unknown.
    create_time: Option<f64>,
    user_messages: Vec<UserContent>,
    /// By dialogue, then by `operation_index`.
    operations: Vec<Operation>,
}

/// A message of a person.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub struct UserContent {
    user_content: String,
}

/// One string of a tool's `operationCode`; a call without any has one operation with its input.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub struct Operation {
    operation_id: String,
    /// The request to the model that the operation answers: the id of the work and the number of the request in it.
    dialogue_id: String,
    /// The name of the tool.
    operation_method: String,
    operation_code: String,
    /// 0-based position inside the dialogue.
    operation_index: usize,
    /// 0: in effect; 1: its change of files is undone, or its work is withdrawn.
    operation_status: u8,
    /// Unix seconds when the call started; `null` if it did not.
    create_time: Option<f64>,
    /// `{status: 0|1, message, data, operationCode}` of the call; `null` while there is none.
    result: Option<Value>,
}

/// Which operations are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Withdrawn {
    /// Only what is in effect.
    #[default]
    Leave,
    /// Also what is withdrawn or undone.
    Include,
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct OperationsQuery {
    /// `include` also returns works and operations that were taken back; otherwise they are left out.
    #[serde(default)]
    #[param(inline)]
    withdrawn: Withdrawn,
}

/// The query of the document's own path.
#[derive(Deserialize)]
pub struct SessionOperationsQuery {
    session_id: String,
    #[serde(default)]
    withdrawn: Withdrawn,
}

/// Returns the operations of a session by works, oldest first. Compacted messages are part of it; replaced branches of the
/// conversation are not. Also at `/getSessionOperations?session_id=`.
#[utoipa::path(get, path = "/api/sessions/{id}/operations", tag = "sessions",
    params(("id" = String, Path), OperationsQuery),
    responses((status = 200, body = Vec<WorkOperations>), (status = 404, body = ErrorBody)))]
pub async fn operations(
    caller: Caller,
    Path(id): Path<String>,
    Query(OperationsQuery { withdrawn }): Query<OperationsQuery>,
) -> Result<Json<Vec<WorkOperations>>, ApiError> {
    of_session(&caller, &id, withdrawn).await.map(Json)
}

/// The same at the path of the document.
pub async fn session_operations(
    caller: Caller,
    Query(SessionOperationsQuery { session_id, withdrawn }): Query<SessionOperationsQuery>,
) -> Result<Json<Vec<WorkOperations>>, ApiError> {
    of_session(&caller, &session_id, withdrawn).await.map(Json)
}

async fn of_session(caller: &Caller, id: &str, withdrawn: Withdrawn) -> Result<Vec<WorkOperations>, ApiError> {
    let id = SessionId::parse(id)?;
    let transcript = caller.engine.transcript(&id).await?;
    let taken_back = transcript.session.withdrawn.iter().map(|withdrawn| withdrawn.work_id.as_str()).collect();
    Ok(works_of(&transcript.all_messages(), &taken_back, withdrawn))
}

/// Returns the works of messages with their operations; those with an id in `taken_back` are withdrawn.
fn works_of(messages: &[Arc<Message>], taken_back: &HashSet<&str>, withdrawn: Withdrawn) -> Vec<WorkOperations> {
    let mut works = all_works_of(messages);
    for work in works.iter_mut().filter(|work| taken_back.contains(work.work_id.as_str())) {
        work.work_status = 1;
        work.operations.iter_mut().for_each(|operation| operation.operation_status = 1);
    }
    if withdrawn == Withdrawn::Leave {
        works.retain(|work| work.work_status == 0);
        works.iter_mut().for_each(|work| work.operations.retain(|operation| operation.operation_status == 0));
    }
    works
}

fn all_works_of(messages: &[Arc<Message>]) -> Vec<WorkOperations> {
    let mut works: Vec<WorkOperations> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let name = || message.id.clone().unwrap_or_else(|| format!("m{at}"));
        // A message of an earlier version names no work: each question begins one.
        let known = match (&message.work_id, message.role) {
            (Some(id), _) => works.iter().rposition(|work| work.work_id == id.as_str()),
            (None, Role::User) => None,
            (None, _) => works.len().checked_sub(1),
        };
        let work = known.unwrap_or_else(|| {
            works.push(WorkOperations {
                work_id: message.work_id.as_ref().map_or_else(name, ToString::to_string),
                work_status: 0,
                create_time: message.created_at,
                user_messages: Vec::new(),
                operations: Vec::new(),
            });
            works.len() - 1
        });
        if message.role == Role::User {
            works[work].user_messages.push(UserContent { user_content: message.content.clone() });
        }
        for (place, call) in message.tool_calls.iter().enumerate() {
            let id = call.id.clone().unwrap_or_else(|| format!("{}.{place}", name()));
            works[work].add(&id, call);
        }
    }
    works
}

impl WorkOperations {
    fn add(&mut self, id: &str, call: &ToolCall) {
        let dialogue_id = format!("{}.{}", self.work_id, call.dialogue.unwrap_or_default());
        let codes = codes_of(call);
        let count = codes.len();
        let before = self.operations.iter().rev().find(|operation| operation.dialogue_id == dialogue_id);
        let next = before.map_or(0, |operation| operation.operation_index + 1);
        let first = next.max(call.index.unwrap_or_default() as usize);
        self.operations.extend(codes.into_iter().enumerate().map(|(n, operation_code)| Operation {
            operation_id: if count == 1 { id.to_owned() } else { format!("{id}.{n}") },
            dialogue_id: dialogue_id.clone(),
            operation_method: call.tool.clone(),
            operation_code,
            operation_index: first + n,
            operation_status: u8::from(call.undone),
            create_time: call.started_at,
            result: call.result.clone(),
        }));
    }
}

fn codes_of(call: &ToolCall) -> Vec<String> {
    let told = call.result.as_ref().and_then(|result| result.get("operationCode")?.as_array());
    let codes: Vec<String> = told.into_iter().flatten().filter_map(|code| code.as_str().map(str::to_owned)).collect();
    if codes.is_empty() { vec![call.input.clone()] } else { codes }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::WorkId;

    fn call(id: &str, at: (u32, u32), codes: &[&str]) -> ToolCall {
        let mut call = ToolCall::new(id, "terminal", &json!({"command": "ls"})).at(at.0, at.1);
        call.result = Some(json!({"status": 0, "operationCode": codes}));
        call
    }

    fn message(role: Role, work: Option<&str>, tool_calls: Vec<ToolCall>) -> Arc<Message> {
        let work_id = work.map(|work| WorkId::new(work.to_owned()));
        Arc::new(Message { work_id, tool_calls, ..Message::new(role, "text") })
    }

    fn places(works: &[WorkOperations]) -> Vec<(String, String, usize, u8)> {
        let all = works.iter().flat_map(|work| &work.operations);
        all.map(|o| (o.operation_id.clone(), o.operation_code.clone(), o.operation_index, o.operation_status)).collect()
    }

    #[test]
    fn each_code_is_an_operation_and_indexes_do_not_repeat() {
        let calls = vec![call("a", (1, 0), &["one", "two"]), call("b", (1, 1), &[]), call("c", (2, 0), &["three"])];
        let messages = [message(Role::User, Some("w"), vec![]), message(Role::Assistant, Some("w"), calls)];
        let works = works_of(&messages, &HashSet::new(), Withdrawn::Leave);
        let row = |id: &str, code: &str, index| (id.to_owned(), code.to_owned(), index, 0);
        let wanted = [row("a.0", "one", 0), row("a.1", "two", 1), row("b", "ls", 2), row("c", "three", 0)];
        assert_eq!(places(&works), wanted);
        let dialogues: Vec<&str> = works[0].operations.iter().map(|o| o.dialogue_id.as_str()).collect();
        assert_eq!(dialogues, ["w.1", "w.1", "w.1", "w.2"]);
    }

    #[test]
    fn undone_operation_is_left_out_unless_asked_for() {
        let undone = ToolCall { undone: true, ..call("a", (1, 0), &["one"]) };
        let calls = vec![undone, call("b", (1, 1), &["two"])];
        let messages = [message(Role::User, Some("w"), vec![]), message(Role::Assistant, Some("w"), calls)];
        assert_eq!(
            places(&works_of(&messages, &HashSet::new(), Withdrawn::Leave)),
            [("b".to_owned(), "two".to_owned(), 1, 0)]
        );
        let all = works_of(&messages, &HashSet::new(), Withdrawn::Include);
        assert_eq!(places(&all)[0], ("a".to_owned(), "one".to_owned(), 0, 1));
    }

    #[test]
    fn withdrawn_work_has_status_one_with_its_operations() {
        let of = |work: &str| {
            let calls = vec![call(&format!("c-{work}"), (0, 0), &["one"])];
            [message(Role::User, Some(work), vec![]), message(Role::Assistant, Some(work), calls)]
        };
        let messages = [of("v"), of("w")].concat();
        let taken_back = HashSet::from(["w"]);
        let statuses = |withdrawn| -> Vec<_> {
            let works = works_of(&messages, &taken_back, withdrawn);
            works.iter().map(|work| (work.work_status, work.operations[0].operation_status)).collect()
        };
        assert_eq!(statuses(Withdrawn::Leave), [(0, 0)]);
        assert_eq!(statuses(Withdrawn::Include), [(0, 0), (1, 1)]);
    }

    #[test]
    fn messages_without_works_are_grouped_by_questions() {
        let messages = [
            message(Role::Assistant, None, vec![]),
            message(Role::User, None, vec![]),
            message(Role::Assistant, None, vec![call("a", (0, 0), &["one"])]),
            message(Role::Assistant, None, vec![call("b", (0, 0), &["two"])]),
            message(Role::User, None, vec![]),
        ];
        let works = works_of(&messages, &HashSet::new(), Withdrawn::Leave);
        let shape: Vec<_> = works.iter().map(|work| (work.user_messages.len(), work.operations.len())).collect();
        assert_eq!(shape, [(0, 0), (1, 2), (1, 0)]);
    }
}
