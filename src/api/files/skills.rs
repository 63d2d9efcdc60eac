//! The list of skills.

use axum::Json;
use serde::Serialize;

use crate::api::security::caller::Caller;
use crate::skills::Skill;
use crate::store::Untrusted;

#[derive(Serialize, utoipa::ToSchema)]
pub struct SkillList {
    skills: Vec<Skill>,
    /// Files in skills/ whose current version is not trusted; reading one taints the conversation.
    untrusted: Vec<Untrusted>,
}

/// Lists the skills, including broken ones with their errors.
#[utoipa::path(get, path = "/api/skills", tag = "files", responses((status = 200, body = SkillList)))]
pub async fn skills(caller: Caller) -> Json<SkillList> {
    Json(SkillList { skills: caller.tenant().skills.list(), untrusted: caller.tenant().skills.untrusted() })
}
