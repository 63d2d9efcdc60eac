//! How the server is: health, status, models, signing in.

use std::net::SocketAddr;

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderName, StatusCode, header};
use serde::{Deserialize, Serialize};

use crate::api::app::{App, SandboxInfo};
use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::access::{COOKIE_LIFE, Given};
use crate::domain::Effect;
use crate::engine::blocking;
use crate::engine::model_status::{Candidate, ModelStatus};
use crate::sandbox::grouped;
use crate::store::Quarantined;

#[derive(Serialize, utoipa::ToSchema)]
pub struct Health {
    status: HealthWord,
    version: String,
    /// Files that did not parse and were moved aside since the start; empty where the server needs a token.
    quarantine: Vec<Quarantined>,
}

#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum HealthWord {
    Ok,
    /// Something was damaged or refused; the rest works.
    Degraded,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct Status {
    version: String,
    /// Names this start of the server; ids of events begin with it.
    boot_id: String,
    home: String,
    started_at: f64,
    /// Sessions in memory.
    live_sessions: usize,
    /// Sessions with a run under way.
    running: Vec<String>,
    rag_mode: bool,
    model: ModelStatus,
    tools: Vec<ToolInfo>,
    sandbox: SandboxInfo,
    skills: usize,
    /// What a person should look at.
    problems: Vec<String>,
    /// Files that did not parse and were moved aside since the start.
    quarantine: Vec<Quarantined>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct ToolInfo {
    name: String,
    description: String,
    effect: Effect,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct Models {
    /// The one that answers where a session has chosen none.
    current: ModelStatus,
    /// Its id among those available.
    default_id: Option<String>,
    available: Vec<Candidate>,
}

#[derive(Deserialize, utoipa::ToSchema)]
pub struct Login {
    /// The server's token …
    token: Option<String>,
    /// … or the code of its one-time link.
    code: Option<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct SignedIn {
    signed_in: bool,
}

/// Whether it works. Needs no token and tells no content.
#[utoipa::path(get, path = "/health", tag = "status", responses((status = 200, body = Health)))]
pub async fn health(State(app): State<App>) -> Json<Health> {
    let mut quarantine = app.engine.services().home.quarantined();
    let status = if quarantine.is_empty() { HealthWord::Ok } else { HealthWord::Degraded };
    if app.access.needs_token() {
        // Names and reasons are for those who have signed in: GET /api/status.
        quarantine.clear();
    }
    Json(Health { status, version: env!("CARGO_PKG_VERSION").to_owned(), quarantine })
}

/// What is configured and what is going on.
#[utoipa::path(get, path = "/api/status", tag = "status", responses((status = 200, body = Status)))]
pub async fn status(State(app): State<App>) -> Result<Json<Status>, ApiError> {
    let services = app.engine.services();
    let home = services.home.clone();
    let rag_mode = blocking(move || Ok(home.settings().rag_mode)).await?;
    let specs = services.registry.specs();
    let libraries = [&services.memory, &services.knowledge];
    let left_out = libraries.into_iter().filter(|library| library.left_out() > 0).map(|library| {
        let (count, folder) = (grouped(library.left_out() as u64), library.folder());
        format!(
            "{count} files in {folder}/ are not indexed, because it holds more than 20,000. Move what need not be searched \
             to another folder."
        )
    });
    let tools = specs.iter().map(|spec| ToolInfo {
        name: spec.name.clone(),
        description: spec.description.clone(),
        effect: spec.effect,
    });
    Ok(Json(Status {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        boot_id: services.hub.boot().to_owned(),
        home: services.home.path().display().to_string(),
        started_at: app.started_at,
        live_sessions: app.engine.live_sessions().await,
        running: services.runs.list().iter().map(ToString::to_string).collect(),
        rag_mode,
        model: services.models.status(),
        tools: tools.collect(),
        sandbox: SandboxInfo::clone(&app.sandbox),
        skills: app.skills.list().len(),
        problems: app.problems.iter().cloned().chain(left_out).collect(),
        quarantine: services.home.quarantined(),
    }))
}

/// The model that answers, and the ones that could.
#[utoipa::path(get, path = "/api/models", tag = "status", responses((status = 200, body = Models)))]
pub async fn models(State(app): State<App>) -> Json<Models> {
    let models = &app.engine.services().models;
    Json(Models { current: models.status(), default_id: models.default_id(), available: models.candidates() })
}

/// Trades the token, or the code of the one-time link, for a cookie that only this browser sends.
#[utoipa::path(post, path = "/api/login", tag = "status", request_body = Login,
    responses((status = 200, body = SignedIn), (status = 401, body = ErrorBody), (status = 429, body = ErrorBody)))]
pub async fn login(
    State(app): State<App>,
    ConnectInfo(source): ConnectInfo<SocketAddr>,
    request: Result<Json<Login>, JsonRejection>,
) -> Result<([(HeaderName, String); 1], Json<SignedIn>), ApiError> {
    let Json(Login { token, code }) = request?;
    let given = match (&token, &code) {
        (Some(token), None) => Given::Token(token),
        (None, Some(code)) => Given::Code(code),
        (None, None) | (Some(_), Some(_)) => {
            return Err(ApiError::bad_request("bad_json", "give either `token` or `code`"));
        }
    };
    let right = app.access.accepts(given, source.ip()).map_err(ApiError::too_many_tries)?;
    let Some(cookie) = app.access.new_cookie().filter(|_| right) else {
        let message = match given {
            Given::Token(_) => "this is not the server's token",
            Given::Code(_) => {
                "this link was used before or is too old; sign in with the token, or start the server again"
            }
        };
        return Err(ApiError::new(StatusCode::UNAUTHORIZED, "wrong_token", message));
    };
    let name = app.access.cookie_name();
    let cookie = format!("{name}={cookie}; Max-Age={COOKIE_LIFE}; HttpOnly; SameSite=Strict; Path=/");
    Ok(([(header::SET_COOKIE, cookie)], Json(SignedIn { signed_in: true })))
}
