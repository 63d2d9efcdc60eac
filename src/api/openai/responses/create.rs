//! `POST /v1/responses`.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use super::following::{DeltaSource, Following};
use super::input::read_input;
use super::object::ResponseHead;
use super::stored::ResponseId;
use crate::api::body::JsonBody;
use crate::api::chat::sse::respond;
use crate::api::error::ApiError;
use crate::api::openai::chat::ignored_header;
use crate::api::openai::client_turn::{AgentRequest, Naming, Previous, SESSION_HEADER, begin};
use crate::api::openai::error::{OpenAiErrorBody, invalid, unsupported};
use crate::api::openai::fields::Fields;
use crate::api::openai::message::Conversation;
use crate::api::openai::models::{ModelFields, RequestedModel};
use crate::api::openai::page_address::PageAddress;
use crate::api::openai::parameters::{Parameters, effort, format};
use crate::api::openai::progress::Progress;
use crate::api::openai::raw::{self, RawDeltas};
use crate::api::security::caller::Caller;
use crate::clock;
use crate::domain::ClientTool;
use crate::engine::client_turns::ClientTurnWork;

/// What a request for a response says, read.
struct CreateRequest {
    conversation: Conversation,
    parameters: Parameters,
    head: ResponseHead,
    naming: Naming,
    streams: bool,
    ignored: Vec<String>,
}

/// Begins a response of the agent, or of a model alone.
///
/// The shapes are those of OpenAI's API reference. Steps of the agent are items of the type `miniclaw:tool_call`. With
/// `background: true` it goes on without the request, and is read with `GET /v1/responses/{id}`.
#[utoipa::path(post, path = "/v1/responses", tag = "openai", request_body = Object,
    responses((status = 200, description = "a response, or with stream:true SSE of its events"),
              (status = 400, body = OpenAiErrorBody), (status = 401, body = OpenAiErrorBody),
              (status = 404, body = OpenAiErrorBody), (status = 429, body = OpenAiErrorBody)))]
pub async fn create_response(
    caller: Caller,
    page: PageAddress,
    headers: HeaderMap,
    request: Result<JsonBody<Value>, JsonRejection>,
) -> Result<Response, ApiError> {
    let ModelFields { name, model, fields } = ModelFields::of(&caller, request)?;
    let request = read(fields, name, &headers)?;
    let CreateRequest { conversation, parameters, mut head, naming, streams, ignored } = request;
    let mut answer_headers = ignored_header(&ignored);
    let steps = caller.tenant().runtime.config().api.steps;
    let model = match model {
        RequestedModel::Agent(model) => model,
        RequestedModel::Raw(chosen) => {
            if naming.previous.is_some() || naming.conversation.is_some() || head.background {
                let message = "a model alone keeps nothing: send the whole conversation, and wait for the response";
                return Err(unsupported("model", message));
            }
            let request = raw::request(conversation, parameters)?;
            let answer = caller.tenant().raw_turn(chosen, request, caller.until_over()).await?;
            head.id = format!("resp_{}", answer.id);
            head.store = false;
            let following = Following::new(DeltaSource::Raw(Box::new(RawDeltas::new(answer))), head, None);
            return sent(following, answer_headers, streams).await;
        }
    };
    let is_named = naming.previous.is_some() || naming.conversation.is_some() || naming.salt.is_some();
    let discard = !head.store && !is_named && naming.session.is_none() && naming.chat.is_none();
    let (background, goes_on) = (head.background, naming.goes_on);
    let turn = begin(&caller, AgentRequest { model, conversation, parameters, naming, discard }).await?;
    let ClientTurnWork { session_id, work, mut hold } = turn;
    if background || goes_on {
        hold.release();
    }
    let address = page.of_session(session_id.as_str());
    let named = HeaderValue::from_str(session_id.as_str()).ok();
    answer_headers.extend(named.map(|session| (HeaderName::from_static(SESSION_HEADER), session)));
    let progress = Progress::of(work, None);
    head.id = ResponseId { work: progress.work_id().clone(), part: progress.part() }.to_string();
    let source = DeltaSource::Work(Box::new(progress), Box::new(hold));
    let following = Following::new(source, head, None).shown(address, steps);
    if background && !streams {
        return Ok((answer_headers, Json(following.now())).into_response());
    }
    sent(following, answer_headers, streams).await
}

async fn sent(following: Following, headers: HeaderMap, streams: bool) -> Result<Response, ApiError> {
    if streams {
        return Ok((headers, respond(following.stream())).into_response());
    }
    following.whole(headers).await
}

fn read(mut fields: Fields, model: String, headers: &HeaderMap) -> Result<CreateRequest, ApiError> {
    let input = fields.take("input").ok_or_else(|| invalid("input", "input is a string or an array of items"))?;
    let mut conversation = read_input(input)?;
    let instructions = fields.text("instructions")?;
    conversation.instructions.splice(0..0, instructions.clone());
    let streams = fields.flag("stream")?.unwrap_or(false);
    let background = fields.flag("background")?.unwrap_or(false);
    let store = fields.flag("store")?.unwrap_or(true);
    if background && !store {
        return Err(invalid("background", "a response in the background has to be stored"));
    }
    let mut parameters = Parameters::of_both(&mut fields)?;
    parameters.max_tokens = fields.count("max_output_tokens")?;
    let reasoning = fields.object("reasoning")?.unwrap_or_default();
    let wanted = reasoning.get("effort").and_then(Value::as_str).map(str::to_owned);
    parameters.form.effort = effort(wanted, "reasoning.effort")?;
    let text = fields.object("text")?.unwrap_or_default();
    parameters.form.response_format = format(text.get("format").and_then(chat_format), "text.format")?;
    let mut naming = Naming::of_headers(headers)?;
    naming.salt = fields.text("prompt_cache_key")?;
    let previous = fields.text("previous_response_id")?;
    let id = previous.as_deref().map(|id| ResponseId::parse(id).ok_or_else(|| ResponseId::missing(id))).transpose()?;
    naming.previous = id.map(|id| Previous { work: id.work });
    naming.conversation = match fields.take("conversation") {
        None => None,
        Some(Value::String(id)) => Some(id),
        Some(named) => Some(named["id"].as_str().ok_or_else(|| invalid("conversation", "it is an id"))?.to_owned()),
    };
    if naming.previous.is_some() && naming.conversation.is_some() {
        return Err(invalid("conversation", "name a conversation or a previous response, not both"));
    }
    let metadata: Map<String, Value> = fields.object("metadata")?.unwrap_or_default();
    naming.chat = naming.chat.or(metadata.get("session_id").and_then(Value::as_str).map(str::to_owned));
    for known in ["user", "safety_identifier", "parallel_tool_calls", "include"] {
        fields.take(known);
    }
    let head = ResponseHead {
        id: String::new(),
        created_at: clock::now() as u64,
        model,
        previous_response_id: previous,
        instructions,
        store,
        background,
        temperature: parameters.temperature,
        max_output_tokens: parameters.max_tokens,
        metadata,
        tools: parameters.tools.iter().map(tool_json).collect(),
    };
    let ignored = [fields.ignored(), parameters.ignored.clone()].concat();
    Ok(CreateRequest { conversation, parameters, head, naming, streams, ignored })
}

pub fn tool_json(tool: &ClientTool) -> Value {
    let ClientTool { name, description, parameters } = tool;
    json!({"type": "function", "name": name, "description": description, "parameters": parameters, "strict": false})
}

/// Returns a format in the form of the chat API, which has a level of its own for the schema.
fn chat_format(format: &Value) -> Option<Value> {
    if format["type"] != "json_schema" {
        return Some(format.clone());
    }
    let mut schema = format.as_object()?.clone();
    schema.shift_remove("type");
    Some(json!({"type": "json_schema", "json_schema": schema}))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::api::openai::any_body::{any_request, is_own_fault};

    proptest! {
        #[test]
        fn any_response_request_is_read_or_refused(body in any_request("input")) {
            let read = Fields::of(body).and_then(|fields| read(fields, "miniclaw".to_owned(), &HeaderMap::new()).map(drop));
            if let Err(error) = read {
                prop_assert!(is_own_fault(&error), "{error:?}");
            }
        }
    }
}
