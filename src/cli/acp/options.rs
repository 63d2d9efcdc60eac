//! What the person can choose for a session in the editor, beside its mode: the model, and whether it thinks.

use agent_client_protocol_schema::v1::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigOptionValue, SessionConfigSelectOption,
    SetSessionConfigOptionRequest, SetSessionConfigOptionResponse,
};
use serde_json::{Value, json};

use super::agent::Agent;
use super::connection::AcpError;
use super::modes::{chosen, put};

const MODEL: &str = "model";
const THINKING: &str = "thinking";

/// Returns the options of a session with this history.
///
/// # Errors
/// Returns an error if the server refuses.
pub async fn of_history(agent: &Agent, history: &Value) -> Result<Vec<SessionConfigOption>, AcpError> {
    let models = agent.client.get("api/models").await?;
    Ok(of_models(&models, history))
}

fn of_models(models: &Value, history: &Value) -> Vec<SessionConfigOption> {
    let chosen = &history["chosen"];
    let known = models["available"].as_array().cloned().unwrap_or_default();
    let current = chosen["model"].as_str().or(models["default_id"].as_str());
    let Some(current) = known.iter().find(|model| model["id"].as_str() == current) else { return Vec::new() };
    let choices = known.iter().filter_map(|model| {
        let id = model["id"].as_str()?;
        Some(SessionConfigSelectOption::new(id.to_owned(), model["label"].as_str().unwrap_or(id)))
    });
    let id = current["id"].as_str().unwrap_or_default().to_owned();
    let model = SessionConfigOption::select(MODEL, "Model", id, choices.collect::<Vec<_>>())
        .category(SessionConfigOptionCategory::Model);
    let mut options = vec![model];
    if current["thinking"] == true {
        let thinks = chosen["thinking"].as_bool().unwrap_or(true);
        let option = SessionConfigOption::boolean(THINKING, "Thinking", thinks);
        options.push(option.category(SessionConfigOptionCategory::ThoughtLevel));
    }
    options
}

/// Chooses what the editor names, and returns all options as they are then.
///
/// # Errors
/// Returns an error if the session is not open, there is no such option, or the server refuses.
pub async fn set(
    agent: &Agent,
    request: SetSessionConfigOptionRequest,
) -> Result<SetSessionConfigOptionResponse, AcpError> {
    let id = request.session_id.to_string();
    agent.opened(&id)?;
    let mut choice = chosen(agent, &id).await?;
    match (request.config_id.to_string().as_str(), request.value) {
        (MODEL, SessionConfigOptionValue::ValueId { value }) => choice[MODEL] = json!(value.to_string()),
        (THINKING, SessionConfigOptionValue::Boolean { value }) => choice[THINKING] = json!(value),
        (other, _) => return Err(AcpError::invalid(format!("{other:?} is no option with such a value"))),
    }
    put(agent, &id, choice).await?;
    let history = agent.client.get(&format!("api/sessions/{id}/history?last=1")).await?;
    Ok(SetSessionConfigOptionResponse::new(of_history(agent, &history).await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_model_and_its_thinking_are_shown() {
        let models = json!({"default_id": "p/a", "available": [
            {"id": "p/a", "label": "A", "thinking": false}, {"id": "p/b", "label": "B", "thinking": true}]});
        let shown = |history: Value| serde_json::to_value(of_models(&models, &history)).unwrap();
        let plain = shown(json!({}));
        assert_eq!((&plain[0]["currentValue"], plain.as_array().unwrap().len()), (&json!("p/a"), 1));
        let chosen = shown(json!({"chosen": {"model": "p/b", "thinking": false}}));
        assert_eq!((&chosen[0]["currentValue"], &chosen[1]["currentValue"]), (&json!("p/b"), &json!(false)));
        assert_eq!(shown(json!({"chosen": {"model": "p/gone"}})), json!([]));
    }
}
