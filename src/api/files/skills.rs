//! The list of skills, and which of them the model is offered.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use serde::{Deserialize, Serialize};

use crate::api::body::JsonBody;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::Place;
use crate::skills::Skill;
use crate::store::Untrusted;

#[derive(Serialize, utoipa::ToSchema)]
pub struct SkillList {
    skills: Vec<Skill>,
    /// Files in skills/ whose current version is not trusted; reading one taints the conversation. Also the AGENTS.md files
    /// and the files of skills of projects, which count only once they are trusted.
    untrusted: Vec<Untrusted>,
}

/// Lists the skills, including broken ones with their errors.
#[utoipa::path(get, path = "/api/skills", tag = "files", responses((status = 200, body = SkillList)))]
pub async fn skills(caller: Caller) -> Result<Json<SkillList>, ApiError> {
    let untrusted = caller.tenant().untrusted_files().await?;
    Ok(Json(SkillList { skills: caller.tenant().skills.list(), untrusted }))
}

#[derive(Serialize, Deserialize, utoipa::ToSchema)]
pub struct SkillSwitch {
    /// Path of the skill's file, as `skills/get_weather/SKILL.md`.
    location: String,
    /// Whether the model is offered it.
    enabled: bool,
}

/// Disables a skill, so that the model is not offered it, or enables it again. Stored in config.json.
#[utoipa::path(put, path = "/api/skills/enabled", tag = "files", request_body = SkillSwitch,
    responses((status = 200, body = SkillSwitch), (status = 404, description = "No such skill", body = ErrorBody)))]
pub async fn enable_skill(
    caller: Caller,
    request: Result<JsonBody<SkillSwitch>, JsonRejection>,
) -> Result<Json<SkillSwitch>, ApiError> {
    let JsonBody(SkillSwitch { location, enabled }) = request?;
    caller.tenant().enable_skill(Place::parse(&location)?, enabled).await?;
    Ok(Json(SkillSwitch { location, enabled }))
}
