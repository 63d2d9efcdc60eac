//! Responses that there are already: read, followed again, cancelled and deleted.

use std::fmt;

use axum::Json;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::create::tool_json;
use super::following::{DeltaSource, Following};
use super::object::ResponseHead;
use crate::api::chat::sse::respond;
use crate::api::error::ApiError;
use crate::api::openai::error::OpenAiErrorBody;
use crate::api::openai::models::AGENT;
use crate::api::openai::page_address::PageAddress;
use crate::api::openai::progress::Progress;
use crate::api::security::caller::Caller;
use crate::domain::{ClientRequest, Role, SessionId, WorkId};
use crate::engine::client_turns::ClientTurnWork;

/// The id of a response: `resp_{work}`, and `_{part}` for those after hand-offs of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseId {
    pub work: WorkId,
    /// Number of hand-offs before it.
    pub part: usize,
}

impl ResponseId {
    pub fn parse(id: &str) -> Option<Self> {
        let name = id.strip_prefix("resp_").filter(|name| !name.is_empty())?;
        let (work, part) = match name.split_once('_') {
            None => (name, 0),
            Some((work, part)) => (work, part.parse().ok()?),
        };
        Some(Self { work: WorkId::new(work), part })
    }

    pub fn missing(id: &str) -> ApiError {
        let message = format!("there is no response {id}");
        ApiError::new(StatusCode::NOT_FOUND, "not_found", message).of_field("response_id")
    }
}

impl fmt::Display for ResponseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            0 => write!(f, "resp_{}", self.work),
            part => write!(f, "resp_{}_{part}", self.work),
        }
    }
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ResponseQuery {
    /// Streams the events of the response instead of its state.
    #[serde(default)]
    stream: bool,
    /// The `sequence_number` of the last event that the program has.
    starting_after: Option<u64>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct DeletedResponse {
    id: String,
    object: &'static str,
    deleted: bool,
}

/// Returns a response as it is now, or streams its events from any of them on, also after a restart.
#[utoipa::path(get, path = "/v1/responses/{id}", tag = "openai", params(("id" = String, Path), ResponseQuery),
    responses((status = 200, description = "a response, or SSE of its events"), (status = 404, body = OpenAiErrorBody)))]
pub async fn read_response(
    caller: Caller,
    page: PageAddress,
    Path(id): Path<String>,
    Query(query): Query<ResponseQuery>,
) -> Result<Response, ApiError> {
    let (session, response) = found(&caller, &id).await?;
    let address = page.of_session(session.as_str());
    let following = followed(&caller, (session, response), query.starting_after).await?;
    let following = following.shown(address, caller.tenant().runtime.config().api.steps);
    if query.stream {
        return Ok(respond(following.stream()).into_response());
    }
    Ok(Json(following.now()).into_response())
}

/// Stops the work of a response.
#[utoipa::path(post, path = "/v1/responses/{id}/cancel", tag = "openai", params(("id" = String, Path)),
    responses((status = 200, description = "the response"), (status = 404, body = OpenAiErrorBody)))]
pub async fn cancel_response(caller: Caller, Path(id): Path<String>) -> Result<Json<Value>, ApiError> {
    let (session, response) = found(&caller, &id).await?;
    caller.engine.stop_work(&session, &response.work).await?;
    Ok(Json(followed(&caller, (session, response), None).await?.now()))
}

/// Deletes a response with its session, if nothing else is in it.
#[utoipa::path(delete, path = "/v1/responses/{id}", tag = "openai", params(("id" = String, Path)),
    responses((status = 200, body = DeletedResponse), (status = 404, body = OpenAiErrorBody),
              (status = 409, body = OpenAiErrorBody)))]
pub async fn delete_response(caller: Caller, Path(id): Path<String>) -> Result<Json<DeletedResponse>, ApiError> {
    let (session, response) = found(&caller, &id).await?;
    let works = caller.engine.view(&session).await?.session.works.clone();
    if works.iter().any(|work| work.work_id != response.work) {
        let message = "other responses are in its conversation; delete that on the page";
        return Err(ApiError::new(StatusCode::CONFLICT, "not_alone", message));
    }
    caller.engine.delete(&session).await?;
    Ok(Json(DeletedResponse { id, object: "response", deleted: true }))
}

/// Lists the input of a response: the message that its work began with.
#[utoipa::path(get, path = "/v1/responses/{id}/input_items", tag = "openai", params(("id" = String, Path)),
    responses((status = 200, description = "a list of items"), (status = 404, body = OpenAiErrorBody)))]
pub async fn input_items(caller: Caller, Path(id): Path<String>) -> Result<Json<Value>, ApiError> {
    let (session, response) = found(&caller, &id).await?;
    let session = caller.engine.view(&session).await?.session;
    let mut questions = session.messages.iter().filter(|message| message.role == Role::User);
    let question = questions.find(|message| message.work_id.as_ref() == Some(&response.work));
    let items: Vec<Value> = question
        .into_iter()
        .map(|message| {
            let content = json!([{"type": "input_text", "text": message.content}]);
            let id = format!("msg_{}", message.id.as_deref().unwrap_or_default());
            json!({"id": id, "type": "message", "role": "user", "status": "completed", "content": content})
        })
        .collect();
    let end = |item: Option<&Value>| item.map_or(Value::Null, |item| item["id"].clone());
    let (first_id, last_id) = (end(items.first()), end(items.last()));
    Ok(Json(json!({"object": "list", "data": items, "first_id": first_id, "last_id": last_id, "has_more": false})))
}

/// Returns the session of a response that a program with this credential began.
async fn found(caller: &Caller, id: &str) -> Result<(SessionId, ResponseId), ApiError> {
    let response = ResponseId::parse(id).ok_or_else(|| ResponseId::missing(id))?;
    let session = caller.engine.client_work(&caller.client_key(), &response.work).await?;
    session.map(|session| (session, response)).ok_or_else(|| ResponseId::missing(id))
}

async fn followed(
    caller: &Caller,
    (session, response): (SessionId, ResponseId),
    after: Option<u64>,
) -> Result<Following, ApiError> {
    let work = (session, response.work.clone());
    let ClientTurnWork { work, mut hold, .. } = caller.engine.watch_client_work(work, caller.until_over()).await?;
    // Who looks on does not stop it.
    hold.release();
    let known = work.session.works.iter().find(|work| work.work_id == response.work);
    let sent = known.and_then(|work| work.client.as_deref().cloned()).unwrap_or_default();
    let created_at = known.map_or(0, |work| work.created_at as u64);
    let ClientRequest { model, instructions, temperature, max_tokens, tools, discard, .. } = sent;
    let head = ResponseHead {
        id: response.to_string(),
        created_at,
        model: model.map_or_else(|| AGENT.to_owned(), |model| format!("{AGENT}/{model}")),
        instructions,
        store: !discard,
        temperature,
        max_output_tokens: max_tokens,
        tools: tools.iter().map(tool_json).collect(),
        ..ResponseHead::default()
    };
    let progress = Progress::of(work, Some(response.part));
    Ok(Following::new(DeltaSource::Work(Box::new(progress), Box::new(hold)), head, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_of_a_response_names_its_work_and_part() {
        for (id, work, part) in [("resp_a-1", "a-1", 0), ("resp_a-1_2", "a-1", 2)] {
            let parsed = ResponseId::parse(id).unwrap();
            assert_eq!((parsed.work.as_str(), parsed.part, parsed.to_string().as_str()), (work, part, id));
        }
        for other in ["", "resp_", "a-1", "resp_a_x", "chatcmpl-a"] {
            assert_eq!(ResponseId::parse(other), None, "{other}");
        }
    }
}
