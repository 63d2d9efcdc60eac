//! The tools, as clients are told about them. What runs commands or changes files is not among them: for that, a program asks.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

pub const ASK: &str = "ask";
pub const REMEMBER: &str = "remember";
pub const SEARCH_MEMORY: &str = "search_memory";
pub const SEARCH_KNOWLEDGE: &str = "search_knowledge";
pub const READ_FILE: &str = "read_file";
pub const LIST_SESSIONS: &str = "list_sessions";
pub const READ_SESSION: &str = "read_session";

/// Returns all tools, always in the same order.
pub fn all() -> Vec<Tool> {
    vec![
        ask(),
        reads(
            SEARCH_MEMORY,
            "Searches the agent's memory. Returns passages with their place and why each was found.",
            searching(),
            hits(),
        ),
        reads(
            SEARCH_KNOWLEDGE,
            "Searches the person's documents. Returns passages with their place and why each was found.",
            searching(),
            hits(),
        ),
        read_file(),
        reads(
            LIST_SESSIONS,
            "Lists the conversations with the agent, the most recent first.",
            json!({"limit": {"type": "integer", "minimum": 1, "maximum": 500, "description": "50 if absent."}}),
            list_of("sessions", &["id", "title", "updated_at", "message_count"]),
        ),
        reads(
            READ_SESSION,
            "Reads the last messages of a conversation.",
            json!({
                "session": {"type": "string", "description": "Its id."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 500, "description": "Number of messages; 50 if absent."},
            }),
            list_of("messages", &["role", "text"]),
        ),
        remember(),
    ]
}

fn ask() -> Tool {
    let properties = json!({
        "message": {"type": "string", "description": "What the agent should do or answer."},
        "session": {"type": "string", "description": "Id of a session to go on in. Without it a new one begins."},
        "model": {"type": "string", "description": "The model for this answer, by the name that the page shows."},
        "detach": {"type": "boolean", "description": "Whether the work goes on when this request is closed."},
        "wait": waiting(),
    });
    let description = "Gives the agent a message and returns its answer, with the session to go on in. The agent has memory, \
                       documents and tools of its own.";
    Tool::new(ASK, description, input(properties, &["message"]))
        .with_raw_output_schema(answer())
        .with_annotations(ToolAnnotations::with_title("Ask the agent").read_only(false).open_world(true))
}

fn remember() -> Tool {
    let properties = json!({
        "text": {"type": "string", "description": "What to remember, as a sentence that will be understood later."},
        "wait": waiting(),
    });
    let description = "Has the agent add a note to its memory (MEMORY.md). The person is asked about the change, as about every change.";
    Tool::new(REMEMBER, description, input(properties, &["text"]))
        .with_raw_output_schema(answer())
        .with_annotations(ToolAnnotations::with_title("Remember").read_only(false).destructive(false).open_world(false))
}

fn waiting() -> Value {
    json!({
        "type": "integer", "minimum": 0, "maximum": 3600,
        "description": "Seconds to wait for the person if a call needs approval, before the answer says so; 25 if absent.",
    })
}

fn read_file() -> Tool {
    let properties = json!({
        "path": {"type": "string", "description": "For instance memory/MEMORY.md, or a path of knowledge/, workspace/ or skills/."},
        "offset": {"type": "integer", "minimum": 0, "description": "Number of characters to leave out."},
    });
    let output = output(
        json!({
            "path": {"type": "string"},
            "content": {"type": "string"},
            "next_offset": {"type": "integer", "description": "Where the rest begins; absent at the end."},
        }),
        &["path", "content"],
    );
    reads(READ_FILE, "Reads a text file of the agent's home.", properties, output)
}

/// Returns a tool that changes nothing.
fn reads(name: &'static str, description: &'static str, properties: Value, output: Arc<JsonObject>) -> Tool {
    let required: &[&str] = match name {
        SEARCH_MEMORY | SEARCH_KNOWLEDGE => &["query"],
        READ_FILE => &["path"],
        READ_SESSION => &["session"],
        _ => &[],
    };
    Tool::new(name, description, input(properties, required))
        .with_raw_output_schema(output)
        .with_annotations(ToolAnnotations::new().read_only(true).destructive(false).idempotent(true).open_world(false))
}

fn searching() -> Value {
    json!({
        "query": {"type": "string", "description": "What to look for, as a question or words."},
        "k": {"type": "integer", "minimum": 1, "maximum": 50, "description": "Number of passages; 5 if absent."},
        "include_weak": {"type": "boolean", "description": "Whether passages that probably do not answer are returned, too."},
    })
}

fn hits() -> Arc<JsonObject> {
    output(
        json!({
            "hits": {"type": "array", "items": {"type": "object", "required": ["place", "text", "score"]}},
            "withheld": {"type": "integer", "description": "Number of weak passages that are left out."},
        }),
        &["hits", "withheld"],
    )
}

/// Returns the schema of an object with one list, whose items have at least these fields.
fn list_of(name: &str, fields: &[&str]) -> Arc<JsonObject> {
    output(json!({name: {"type": "array", "items": {"type": "object", "required": fields}}}), &[name])
}

/// Returns the schema of an answer of the agent.
fn answer() -> Arc<JsonObject> {
    output(
        json!({
            "text": {"type": "string", "description": "The answer so far."},
            "state": {"enum": ["done", "cut_off", "waiting"], "description": "waiting: a call needs the person's approval."},
            "session": {"type": "string", "description": "Send it with the next message to go on."},
            "work": {"type": "string"},
            "page": {"type": "string", "description": "Where the person sees the conversation and answers questions."},
            "detail": {"type": "string", "description": "Why it was cut off, or which call waits."},
        }),
        &["text", "state", "session", "work", "page"],
    )
}

fn input(properties: Value, required: &[&str]) -> Arc<JsonObject> {
    let schema =
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    Arc::new(object(schema))
}

fn output(properties: Value, required: &[&str]) -> Arc<JsonObject> {
    Arc::new(object(json!({"type": "object", "properties": properties, "required": required})))
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_schemas_and_says_whether_it_reads() {
        let tools = all();
        assert_eq!(tools, all(), "the order stays");
        for tool in &tools {
            let (input, output) = (&tool.input_schema, tool.output_schema.as_ref().expect("an output schema"));
            assert_eq!((&input["type"], &output["type"]), (&json!("object"), &json!("object")), "{}", tool.name);
            let known = input["properties"].as_object().unwrap();
            assert!(
                input["required"].as_array().unwrap().iter().all(|name| known.contains_key(name.as_str().unwrap()))
            );
            let reads = tool.annotations.as_ref().and_then(|known| known.read_only_hint);
            assert_eq!(reads, Some(![ASK, REMEMBER].contains(&&*tool.name)), "{}", tool.name);
        }
        assert_eq!(tools.len(), 7);
    }
}
