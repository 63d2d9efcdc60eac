//! How an answer should look, in the words of each API: where it ends, its format, how much the model thinks, and which tool it
//! has to call.

use serde_json::{Map, Value, json};

use crate::domain::{AnswerForm, ToolChoice};
use crate::provider::profile::{Api, Profile, ThinkingParameter};

/// Adds the form that a program has asked for, as far as the API has it. Nothing is added that nobody asked for:
/// `tool_choice: auto` is every provider's default, and DeepSeek's thinking models refuse the field.
pub(super) fn add_form(profile: &Profile, form: &AnswerForm, body: &mut Map<String, Value>) {
    let (stop, format) = match profile.api {
        Api::Chat => (Some("stop"), Some("response_format")),
        Api::Messages => (Some("stop_sequences"), None),
        Api::Responses => (None, Some("text")),
    };
    if let Some(stop) = stop.filter(|_| !form.stop.is_empty() && profile.accepts("stop")) {
        body.insert(stop.into(), json!(form.stop));
    }
    if let (Some(field), Some(wanted)) = (format, &form.response_format)
        && profile.accepts("response_format")
    {
        let format = match profile.api {
            Api::Responses => json!({"format": responses_format(wanted)}),
            Api::Chat | Api::Messages => wanted.clone(),
        };
        body.insert(field.into(), format);
    }
    if let Some(effort) = &form.effort {
        match profile.thinking_parameter {
            ThinkingParameter::Effort { .. } => drop(body.insert("reasoning_effort".into(), json!(effort))),
            ThinkingParameter::ResponsesEffort { .. } => {
                body.insert("reasoning".into(), json!({"effort": effort, "summary": "auto"}));
            }
            _ => {}
        }
    }
    if body.contains_key("tools") && profile.accepts("tool_choice") {
        body.extend(tool_choice(profile.api, &form.tool_choice).map(|choice| ("tool_choice".to_owned(), choice)));
    }
}

/// Returns `response_format` of the chat API as the Responses API wants it: without a level of its own for the schema.
fn responses_format(format: &Value) -> Value {
    let mut flat = Map::from_iter([("type".to_owned(), format["type"].clone())]);
    if let Some(schema) = format["json_schema"].as_object() {
        flat.extend(schema.clone());
    }
    Value::Object(flat)
}

fn tool_choice(api: Api, choice: &ToolChoice) -> Option<Value> {
    Some(match (api, choice) {
        (_, ToolChoice::Auto) => return None,
        (Api::Messages, ToolChoice::None) => json!({"type": "none"}),
        (Api::Messages, ToolChoice::Required) => json!({"type": "any"}),
        (Api::Messages, ToolChoice::Named(name)) => json!({"type": "tool", "name": name}),
        (Api::Chat | Api::Responses, ToolChoice::None) => json!("none"),
        (Api::Chat | Api::Responses, ToolChoice::Required) => json!("required"),
        (Api::Chat, ToolChoice::Named(name)) => json!({"type": "function", "function": {"name": name}}),
        (Api::Responses, ToolChoice::Named(name)) => json!({"type": "function", "name": name}),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::ProfileKind;

    fn added(profile: &Profile, form: AnswerForm) -> Value {
        let mut body = Map::from_iter([("tools".to_owned(), json!([]))]);
        add_form(profile, &form, &mut body);
        body.shift_remove("tools");
        Value::Object(body)
    }

    fn of_api(api: Api) -> Profile {
        Profile { api, ..Profile::new(ProfileKind::Other, "m") }
    }

    #[test]
    fn form_is_said_in_the_words_of_each_api() {
        let format = json!({"type": "json_schema", "json_schema": {"name": "n", "schema": {}}});
        let form = AnswerForm {
            stop: vec!["END".to_owned()],
            response_format: Some(format.clone()),
            tool_choice: ToolChoice::Named("look".to_owned()),
            effort: Some("high".to_owned()),
        };
        let named = json!({"type": "function", "function": {"name": "look"}});
        assert_eq!(
            added(&of_api(Api::Chat), form.clone()),
            json!({"stop": ["END"], "response_format": format, "tool_choice": named})
        );
        assert_eq!(
            added(&of_api(Api::Messages), form.clone()),
            json!({"stop_sequences": ["END"], "tool_choice": {"type": "tool", "name": "look"}})
        );
        let flat = json!({"format": {"type": "json_schema", "name": "n", "schema": {}}});
        assert_eq!(
            added(&of_api(Api::Responses), form),
            json!({"text": flat, "tool_choice": {"type": "function", "name": "look"}})
        );
    }

    #[test]
    fn nothing_is_added_that_nobody_asked_for() {
        for api in [Api::Chat, Api::Messages, Api::Responses] {
            assert_eq!(added(&of_api(api), AnswerForm::default()), json!({}));
        }
    }

    #[test]
    fn effort_goes_to_models_that_have_it() {
        let effort = ThinkingParameter::Effort { on: "medium", off: "low" };
        let profile = Profile { thinking_parameter: effort, ..of_api(Api::Chat) };
        let form = AnswerForm { effort: Some("high".to_owned()), ..AnswerForm::default() };
        assert_eq!(added(&profile, form), json!({"reasoning_effort": "high"}));
    }
}
