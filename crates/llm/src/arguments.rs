//! The arguments of a tool call: JSON generated under the tool's own schema from the user's message.

use crate::chatml::Prompt;
use crate::cues;
use crate::request::Tool;
use crate::router::strip_retrieved_passages;
use crate::turns::{Conversation, cut_middle, head};
use llama_cpp_2::json_schema_to_grammar;
use serde_json::{Map, Value, json};

const DESCRIPTION_CHARS: usize = 600;
const QUESTION_CHARS: usize = 3000;
const CONTEXT_CHARS: usize = 300;
const RESULT_CHARS: usize = 600;
/// Parameters that carry the subject of a call, even if a schema declares them optional.
const SUBJECT_PARAMETERS: [&str; 16] = [
    "query",
    "q",
    "text",
    "content",
    "code",
    "command",
    "commands",
    "expression",
    "url",
    "city",
    "location",
    "name",
    "message",
    "prompt",
    "items",
    "question",
];

/// Returns the prompt that asks for the arguments of `tool`.
pub fn prompt(tool: &Tool, schema: &Value, conversation: &Conversation) -> Prompt {
    let turn = conversation.last();
    let mut task = format!(
        "You fill in the arguments of one call of the tool {}.\n{}\nParameters:\n",
        tool.name,
        head(&tool.description, DESCRIPTION_CHARS)
    );
    list_parameters(schema, 0, &mut task);
    task.push_str(
        "Answer with one JSON object. Copy names, paths, numbers, addresses and quoted text exactly as the user \
         wrote them, without translating. Where a file's content or code is asked for, write it as the user wants \
         it. A search query is a few words of the question. Do not make anything else up.",
    );
    let mut request = String::new();
    if let [.., before, _] = conversation.turns.as_slice() {
        request.push_str(&format!("(Earlier I said: {})\n", head(&before.question, CONTEXT_CHARS)));
        if !before.answer.is_empty() {
            request.push_str(&format!("(You answered: {})\n", head(&before.answer, CONTEXT_CHARS)));
        }
    }
    request.push_str(&cut_middle(strip_retrieved_passages(&turn.question), QUESTION_CHARS));
    for result in &turn.results {
        let got = cut_middle(&result.text, RESULT_CHARS);
        request.push_str(&format!("\n({} {} already returned: {got})", result.name, result.arguments));
    }
    let mut prompt = Prompt::default();
    prompt.message("system", &task).message("user", &request).assistant();
    prompt
}

/// Writes one line per parameter, and indents the parameters of objects and of arrays of objects by one more level.
fn list_parameters(schema: &Value, depth: usize, out: &mut String) {
    let Some(properties) = schema["properties"].as_object() else { return };
    for (name, property) in properties {
        let kind = property["type"].as_str().unwrap_or("value");
        out.push_str(&format!("{}- {name} ({kind})", "  ".repeat(depth)));
        if let Some(text) = property["description"].as_str() {
            out.push_str(&format!(": {}", head(text, 160)));
        }
        if let Some(values) = property["enum"].as_array() {
            out.push_str(&format!(" one of {}", Value::Array(values.clone())));
        }
        out.push('\n');
        if depth < 2 {
            let inner = if kind == "array" { &property["items"] } else { property };
            list_parameters(inner, depth + 1, out);
        }
    }
}

/// Returns the schema without the optional parameters that the question does not mention: a small model fills in
/// every parameter it is offered, and an invented `limit` or `cwd` spoils a good call.
pub fn reduce_schema(schema: &Value, question: &str) -> Value {
    let mut schema = schema.clone();
    let required: Vec<String> = strings(&schema["required"]);
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
        return json!({"type": "object", "properties": {}, "additionalProperties": false});
    };
    properties.retain(|name, property| required.contains(name) || is_mentioned(name, property, question));
    for (_, property) in properties.iter_mut() {
        no_empty_string(property);
        if property["type"] == "array" && property.get("minItems").is_none() {
            property["minItems"] = json!(1);
        }
        if let Some(items) = property.get_mut("items").filter(|i| i["type"] == "object" && i.get("$ref").is_none()) {
            *items = reduce_schema(items, question);
        }
    }
    let keep: Vec<Value> = properties.keys().filter(|k| required.contains(k)).map(|k| json!(k)).collect();
    schema["required"] = Value::Array(keep);
    schema["type"] = json!("object");
    schema["additionalProperties"] = json!(false);
    schema
}

fn no_empty_string(property: &mut Value) {
    let plain = property["type"] == "string" && property.get("enum").is_none() && property.get("format").is_none();
    if plain && property.get("minLength").is_none() && property.get("pattern").is_none() {
        property["minLength"] = json!(1);
    }
}

fn is_mentioned(name: &str, property: &Value, question: &str) -> bool {
    let lower = question.to_lowercase();
    let values = strings(&property["enum"]);
    if !values.is_empty() {
        return values.iter().any(|v| lower.contains(&v.to_lowercase()));
    }
    SUBJECT_PARAMETERS.contains(&name)
        || is_path(name) && cues::has_path(question)
        || lower.contains(&name.to_lowercase().replace('_', " "))
        || property["type"] == "integer" && question.chars().any(|c| c.is_ascii_digit()) && is_count(name)
}

fn is_path(name: &str) -> bool {
    ["path", "file", "folder", "dir"].iter().any(|part| name.contains(part))
}

fn is_count(name: &str) -> bool {
    ["limit", "count", "top_k", "max", "num", "days", "n"].iter().any(|part| match part.len() {
        1 => name == *part,
        _ => name.contains(part),
    })
}

fn strings(value: &Value) -> Vec<String> {
    let all = value.as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().filter_map(|v| v.as_str().map(str::to_owned)).collect()
}

/// Returns the GBNF grammar of a JSON schema; the start rule is `root`. If the converter does not support the schema,
/// the grammar accepts any JSON object.
///
/// # Errors
/// Returns the converter's message if the fallback schema fails too, which is not expected.
pub fn grammar(schema: &Value) -> Result<String, String> {
    let convert = |schema: &Value| json_schema_to_grammar(&schema.to_string());
    let grammar = convert(schema).or_else(|_| convert(&json!({"type": "object"}))).map_err(|e| e.to_string())?;
    Ok(without_long_blanks(&grammar))
}

/// Limits whitespace between values. The converter allows up to 20 blanks after a newline, and small models then
/// generate blanks instead of values.
fn without_long_blanks(grammar: &str) -> String {
    let lines = grammar.lines().map(|line| match line.starts_with("space ::=") {
        true => "space ::= | \" \"",
        false => line,
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// Returns the arguments to send: the generated JSON in compact form, or None if it is not a JSON object.
pub fn finished(text: &str) -> Option<String> {
    let mut value: Map<String, Value> = serde_json::from_str(text).ok()?;
    for text in value.values_mut() {
        if let Value::String(text) = text {
            drop_stray_brace(text);
        }
    }
    Some(Value::Object(value).to_string())
}

/// Removes one surplus closing brace at the very end of a string. The model sometimes closes the object before
/// the string: `{"code":"print(1)}"}`.
fn drop_stray_brace(text: &mut String) {
    if text.ends_with('}') && text.matches('}').count() == text.matches('{').count() + 1 {
        text.pop();
    }
}

#[cfg(test)]
#[path = "arguments_tests.rs"]
mod tests;
