//! `GET /v1/models`: the agent and the models alone, by the names that requests use.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use serde::Serialize;
use serde_json::Value;

use super::error::{OpenAiErrorBody, invalid, model_not_found};
use super::fields::Fields;
use super::message::Conversation;
use crate::api::body::JsonBody;
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::domain::Chosen;
use crate::engine::models::Models;

/// The name of the agent with the model that is chosen.
pub const AGENT: &str = "miniclaw";
/// What the name of a model without the agent begins with.
const RAW: &str = "raw/";

#[derive(Serialize, utoipa::ToSchema)]
pub struct OpenAiModels {
    object: &'static str,
    data: Vec<OpenAiModel>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct OpenAiModel {
    id: String,
    object: &'static str,
    /// Unix seconds; 0, because nobody knows.
    created: u64,
    owned_by: &'static str,
}

/// The model that a request names.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestedModel {
    /// The agent, on this model or on the one that is chosen.
    Agent(Option<String>),
    /// The model alone.
    Raw(Chosen),
}

impl RequestedModel {
    /// # Errors
    /// Returns `model_not_found` if there is no such model.
    pub fn parse(name: &str, models: &Models) -> Result<Self, ApiError> {
        let resolved = |model: &str| {
            let chosen = Chosen { model: Some(model.to_owned()), ..Chosen::default() };
            models.resolve(chosen).map_err(|_| model_not_found(name))
        };
        if name == AGENT {
            return Ok(Self::Agent(None));
        }
        if let Some(model) = name.strip_prefix(RAW) {
            return resolved(model).map(Self::Raw);
        }
        match name.strip_prefix(AGENT).and_then(|rest| rest.strip_prefix('/')) {
            Some(model) => resolved(model).map(|chosen| Self::Agent(chosen.model)),
            None => Err(model_not_found(name)),
        }
    }

    /// Returns the same, but the model alone for a frontend's job about a chat: it would put the chat itself aside.
    pub fn for_conversation(self, conversation: &Conversation) -> Self {
        match self {
            Self::Agent(model) if conversation.is_job_about_chat() => Self::Raw(Chosen { model, ..Chosen::default() }),
            other => other,
        }
    }
}

/// A request that names a model, with the fields that have not been read.
pub struct ModelFields {
    /// The model, as the request names it.
    pub name: String,
    pub model: RequestedModel,
    pub fields: Fields,
}

impl ModelFields {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// Returns an error if the body is no JSON object or names no model, and `model_not_found` if there is no such model.
    pub fn of(caller: &Caller, request: Result<JsonBody<Value>, JsonRejection>) -> Result<Self, ApiError> {
        let JsonBody(body) = request?;
        let mut fields = Fields::of(body)?;
        let name = fields.text("model")?.ok_or_else(|| invalid("model", "name a model; GET /v1/models lists them"))?;
        let model = RequestedModel::parse(&name, &caller.tenant().models)?;
        Ok(Self { name, model, fields })
    }
}

/// Lists the models that requests can name.
///
/// `miniclaw` is the agent with the model that is chosen, `miniclaw/…` the agent on that model, and `raw/…` the model alone:
/// without persona and tools, and nothing is kept but its usage.
#[utoipa::path(get, path = "/v1/models", tag = "openai",
    responses((status = 200, body = OpenAiModels), (status = 401, body = OpenAiErrorBody)))]
pub async fn list_models(caller: Caller) -> Json<OpenAiModels> {
    Json(OpenAiModels { object: "list", data: names(&caller).into_iter().map(model).collect() })
}

/// Returns one of the models that requests can name.
#[utoipa::path(get, path = "/v1/models/{id}", tag = "openai", params(("id" = String, Path)),
    responses((status = 200, body = OpenAiModel), (status = 404, body = OpenAiErrorBody)))]
pub async fn retrieve_model(caller: Caller, Path(id): Path<String>) -> Result<Json<OpenAiModel>, ApiError> {
    RequestedModel::parse(&id, &caller.tenant().models)?;
    Ok(Json(model(id)))
}

fn names(caller: &Caller) -> Vec<String> {
    let all = caller.tenant().models.candidates();
    // The name that is sent to the provider, if no other model has it.
    let named: Vec<&str> = all
        .iter()
        .map(|model| match all.iter().filter(|other| other.model == model.model).count() {
            1 => model.model.as_str(),
            _ => model.id.as_str(),
        })
        .collect();
    let of = |prefix: &str| named.iter().map(|name| format!("{prefix}{name}")).collect::<Vec<_>>();
    [vec![AGENT.to_owned()], of("miniclaw/"), of(RAW)].concat()
}

fn model(id: String) -> OpenAiModel {
    OpenAiModel { id, object: "model", created: 0, owned_by: AGENT }
}
