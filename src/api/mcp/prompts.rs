//! The trusted skills as prompts: a client offers them to its person, and sends their text to its own model.

use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, Prompt, PromptMessage, Role};

use super::reading::file_text;
use super::server::refused;
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::skills::Skill;

pub async fn list(caller: &Caller) -> Result<Vec<Prompt>, ErrorData> {
    let skills = trusted(caller).await.map_err(|error| refused(&error))?;
    Ok(skills.into_iter().map(|skill| Prompt::new(skill.name, Some(skill.description), None)).collect())
}

/// Returns the text of a trusted skill.
///
/// # Errors
/// Returns an error if there is no trusted skill with this name.
pub async fn get(caller: &Caller, name: &str) -> Result<GetPromptResult, ErrorData> {
    let missing = || ErrorData::invalid_params(format!("there is no trusted skill {name:?}; see prompts/list"), None);
    let known = caller.tenant().skills.list().into_iter().find(|skill| skill.name == name).ok_or_else(missing)?;
    let text = file_text(caller, &known.location.to_string()).await.map_err(|error| refused(&error))?;
    // After it was read, so that what is sent is not newer than what is trusted.
    let trusted = trusted(caller).await.map_err(|error| refused(&error))?;
    let skill = trusted.into_iter().find(|skill| skill.location == known.location).ok_or_else(missing)?;
    let message = PromptMessage::new_text(Role::User, text);
    Ok(GetPromptResult::new(vec![message]).with_description(skill.description))
}

/// Returns the skills that can be used and whose file a person trusts.
async fn trusted(caller: &Caller) -> Result<Vec<Skill>, ApiError> {
    let untrusted = caller.tenant().untrusted_files().await?;
    let is_trusted = |skill: &Skill| !untrusted.iter().any(|file| file.path == skill.location);
    let skills = caller.tenant().skills.list().into_iter();
    Ok(skills.filter(|skill| skill.error.is_none() && !skill.disabled).filter(is_trusted).collect())
}
