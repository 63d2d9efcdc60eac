//! The tools of a program, and which one it wants to be called.

use serde_json::{Map, Value};

use super::error::invalid;
use crate::api::error::ApiError;
use crate::domain::{ClientTool, ToolChoice};

const MAX_TOOLS: usize = 128;
const MAX_NAME: usize = 64;
/// Maximum bytes of all descriptions and schemas together.
const MAX_BYTES: usize = 1 << 20;

/// Tools as they were read.
#[derive(Debug, Default)]
pub struct ReadTools {
    pub tools: Vec<ClientTool>,
    /// The types of tools that this server does not have.
    pub ignored: Vec<String>,
}

/// Reads `tools`: functions in the form of the chat API, or in that of the Responses API.
///
/// # Errors
/// Returns an error if a function is not described as the API wants it. Other types of tools are ignored.
pub fn read_tools(items: Vec<Value>) -> Result<ReadTools, ApiError> {
    if items.len() > MAX_TOOLS {
        return Err(invalid("tools", format!("there are at most {MAX_TOOLS} tools")));
    }
    let mut read = ReadTools::default();
    let mut bytes = 0;
    for (at, item) in items.into_iter().enumerate() {
        let field = format!("tools[{at}]");
        let Value::Object(mut item) = item else { return Err(invalid(field, "a tool is an object")) };
        match item.get("type").and_then(Value::as_str) {
            Some("function") => {}
            Some(other) => {
                read.ignored.push(format!("tools.{other}"));
                continue;
            }
            None => return Err(invalid(format!("{field}.type"), "the type of a tool is a string")),
        }
        let function = match item.shift_remove("function") {
            Some(Value::Object(function)) => function,
            None => item,
            Some(_) => return Err(invalid(format!("{field}.function"), "it is an object")),
        };
        let tool = function_of(function, &field)?;
        bytes += tool.description.len() + tool.parameters.to_string().len();
        if bytes > MAX_BYTES {
            return Err(invalid("tools", format!("all tools together have at most {MAX_BYTES} bytes")));
        }
        if read.tools.iter().any(|known| known.name == tool.name) {
            return Err(invalid(field, format!("two tools are named \"{}\"", tool.name)));
        }
        read.tools.push(tool);
    }
    Ok(read)
}

fn function_of(mut function: Map<String, Value>, field: &str) -> Result<ClientTool, ApiError> {
    let name = function.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_plain) {
        let message = format!("a name has 1 to {MAX_NAME} letters, digits, '_' or '-'");
        return Err(invalid(format!("{field}.name"), message));
    }
    let description = match function.shift_remove("description") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text,
        Some(_) => return Err(invalid(format!("{field}.description"), "a description is a string")),
    };
    let parameters = match function.shift_remove("parameters") {
        None | Some(Value::Null) => Value::Null,
        Some(schema @ Value::Object(_)) => schema,
        Some(_) => return Err(invalid(format!("{field}.parameters"), "it is a JSON schema of an object")),
    };
    Ok(ClientTool { name, description, parameters })
}

/// Reads `tool_choice`.
///
/// # Errors
/// Returns an error if it names no tool of the request.
pub fn read_choice(choice: Option<Value>, tools: &[ClientTool]) -> Result<ToolChoice, ApiError> {
    let wrong = || invalid("tool_choice", "it is \"auto\", \"none\", \"required\" or names one of the tools");
    let choice = match choice {
        None => return Ok(ToolChoice::Auto),
        Some(Value::String(word)) => match word.as_str() {
            "auto" => ToolChoice::Auto,
            "none" => ToolChoice::None,
            "required" => ToolChoice::Required,
            _ => return Err(wrong()),
        },
        Some(choice) => {
            let name = choice["function"]["name"].as_str().or(choice["name"].as_str()).ok_or_else(wrong)?;
            ToolChoice::Named(name.to_owned())
        }
    };
    let exists = match &choice {
        ToolChoice::Auto | ToolChoice::None => true,
        ToolChoice::Required => !tools.is_empty(),
        ToolChoice::Named(name) => tools.iter().any(|tool| tool.name == *name),
    };
    if exists { Ok(choice) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn functions_are_read_in_both_forms() {
        let chat = json!({"type": "function", "function": {"name": "look", "description": "d", "parameters": {}}});
        let flat = json!({"type": "function", "name": "see", "parameters": {"type": "object"}, "strict": true});
        let read = read_tools(vec![chat, flat, json!({"type": "web_search"})]).unwrap();
        let names: Vec<_> = read.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!((names, read.ignored), (vec!["look", "see"], vec!["tools.web_search".to_owned()]));
    }

    #[test]
    fn bad_tools_name_their_field() {
        let named = |name: &str| json!({"type": "function", "function": {"name": name}});
        for (tools, field) in [
            (vec![json!(1)], "tools[0]"),
            (vec![json!({})], "tools[0].type"),
            (vec![named("a b")], "tools[0].name"),
            (vec![named("a"), named("a")], "tools[1]"),
            (vec![json!({"type": "function", "function": 1})], "tools[0].function"),
            (vec![json!({"type": "function", "name": "x", "parameters": []})], "tools[0].parameters"),
            (vec![named("x"); 129], "tools"),
        ] {
            assert_eq!(read_tools(tools).unwrap_err().field(), Some(field));
        }
    }

    #[test]
    fn choice_names_a_tool_that_there_is() {
        let tools = read_tools(vec![json!({"type": "function", "name": "look"})]).unwrap().tools;
        let named = json!({"type": "function", "function": {"name": "look"}});
        assert_eq!(read_choice(Some(named), &tools).unwrap(), ToolChoice::Named("look".to_owned()));
        assert_eq!(read_choice(Some(json!("required")), &tools).unwrap(), ToolChoice::Required);
        assert!(read_choice(Some(json!("required")), &[]).is_err());
        assert!(read_choice(Some(json!({"type": "function", "name": "other"})), &tools).is_err());
        assert!(read_choice(Some(json!(7)), &tools).is_err());
    }
}
