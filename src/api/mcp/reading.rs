//! The tools that only read: searches, files and conversations.

use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResult};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answering::{failed, failed_with};
use super::asking::arguments_of;
use super::tools;
use crate::api::error::ApiError;
use crate::api::retrieval::library::library_error;
use crate::api::security::caller::Caller;
use crate::domain::{Hit, Message, Place, Role, SessionId};
use crate::engine::blocking;
use crate::library::SearchOptions;

const DEFAULT_HITS: usize = 5;
const MAX_HITS: usize = 50;
const DEFAULT_LIMIT: usize = 50;
const MAX_LIMIT: usize = 500;
/// Maximum characters of a file in one answer.
const MAX_CONTENT: usize = 50_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    query: String,
    k: Option<usize>,
    /// Whether hits that hardly answer are returned, too.
    #[serde(default)]
    include_weak: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileArguments {
    path: String,
    #[serde(default)]
    offset: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListArguments {
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SessionArguments {
    session: String,
    limit: Option<usize>,
}

/// Why a call fails: its arguments, or what was asked for.
enum Failure {
    Arguments(String),
    Refused(ApiError),
}

impl From<String> for Failure {
    fn from(wrong: String) -> Self {
        Self::Arguments(wrong)
    }
}

impl<E: Into<ApiError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Refused(error.into())
    }
}

/// Answers a call of a tool that reads.
///
/// # Errors
/// Returns an error if there is no such tool.
pub async fn call(caller: &Caller, request: CallToolRequestParams) -> Result<CallToolResult, ErrorData> {
    let arguments = request.arguments;
    let done = match request.name.as_ref() {
        tools::SEARCH_MEMORY | tools::SEARCH_KNOWLEDGE => match arguments_of(arguments) {
            Ok(arguments) => search(caller, &request.name, arguments).await,
            Err(wrong) => Err(wrong.into()),
        },
        tools::READ_FILE => match arguments_of(arguments) {
            Ok(arguments) => read_file(caller, arguments).await,
            Err(wrong) => Err(wrong.into()),
        },
        tools::LIST_SESSIONS => match arguments_of(arguments) {
            Ok(arguments) => list_sessions(caller, arguments).await,
            Err(wrong) => Err(wrong.into()),
        },
        tools::READ_SESSION => match arguments_of(arguments) {
            Ok(arguments) => read_session(caller, arguments).await,
            Err(wrong) => Err(wrong.into()),
        },
        other => return Err(ErrorData::invalid_params(format!("there is no tool {other:?}; see tools/list"), None)),
    };
    Ok(match done {
        Ok(value) => CallToolResult::structured(value),
        Err(Failure::Arguments(wrong)) => failed_with(wrong),
        Err(Failure::Refused(error)) => failed(&error),
    })
}

async fn search(caller: &Caller, tool: &str, arguments: SearchArguments) -> Result<Value, Failure> {
    let SearchArguments { query, k, include_weak } = arguments;
    if query.trim().is_empty() {
        return Err("query is empty; say what to look for".to_owned().into());
    }
    let tenant = caller.tenant();
    let library = if tool == tools::SEARCH_MEMORY { tenant.memory.clone() } else { tenant.knowledge.clone() };
    let options = SearchOptions::best(k.unwrap_or(DEFAULT_HITS).clamp(1, MAX_HITS));
    let found = blocking(move || Ok(library.search(&query, options))).await?.map_err(library_error)?;
    let (given, withheld): (Vec<&Hit>, Vec<&Hit>) = found.hits.iter().partition(|hit| include_weak || !hit.weak);
    let hits = given.into_iter().map(|hit| {
        let mut value = serde_json::to_value(hit).unwrap_or_default();
        value["place"] = hit.place().into();
        value
    });
    Ok(json!({"hits": hits.collect::<Vec<_>>(), "withheld": withheld.len()}))
}

async fn read_file(caller: &Caller, arguments: FileArguments) -> Result<Value, Failure> {
    let FileArguments { path, offset } = arguments;
    let text = file_text(caller, &path).await?;
    let content: String = text.chars().skip(offset).take(MAX_CONTENT).collect();
    let mut value = json!({"path": path, "content": content});
    let end = offset.saturating_add(MAX_CONTENT);
    if text.chars().nth(end).is_some() {
        value["next_offset"] = end.into();
    }
    Ok(value)
}

/// Returns the text of a file of the home.
///
/// # Errors
/// Returns an error if the path is not one of the home's files, or if the file is no text.
pub async fn file_text(caller: &Caller, path: &str) -> Result<String, ApiError> {
    let place = Place::parse(path)?;
    let home = caller.tenant().home.clone();
    Ok(blocking(move || Ok(home.read_text(&place)?.content)).await?)
}

async fn list_sessions(caller: &Caller, arguments: ListArguments) -> Result<Value, Failure> {
    let limit = limit(arguments.limit);
    let list = caller.engine.list().await?;
    let sessions = list.iter().take(limit).map(|summary| {
        let title = if summary.title.is_empty() { &summary.begins } else { &summary.title };
        json!({
            "id": summary.id,
            "title": title,
            "updated_at": summary.updated_at,
            "message_count": summary.message_count,
        })
    });
    Ok(json!({"sessions": sessions.collect::<Vec<_>>()}))
}

async fn read_session(caller: &Caller, arguments: SessionArguments) -> Result<Value, Failure> {
    let SessionArguments { session: id, limit: told } = arguments;
    let session = caller.engine.view(&SessionId::parse(&id)?).await?.session;
    let earlier = session.messages.len().saturating_sub(limit(told));
    let messages: Vec<Value> = session.messages.iter().skip(earlier).map(|message| shown(message)).collect();
    Ok(json!({"id": id, "title": session.title, "earlier": earlier, "messages": messages}))
}

fn limit(told: Option<usize>) -> usize {
    told.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT)
}

/// Returns what a program sees of a message: its text, and which tools it called.
fn shown(message: &Message) -> Value {
    let role = if message.role == Role::User { "user" } else { "assistant" };
    let mut value = json!({"role": role, "text": message.content});
    let tools: Vec<&str> = message.tool_calls.iter().map(|call| call.tool.as_str()).collect();
    if !tools.is_empty() {
        value["tools"] = json!(tools);
    }
    value
}

/// Returns a conversation as Markdown.
///
/// # Errors
/// Returns an error if there is no such session.
pub async fn transcript(caller: &Caller, id: &str) -> Result<String, ApiError> {
    let session = caller.engine.view(&SessionId::parse(id)?).await?.session;
    let mut text = format!("# {}\n", if session.title.is_empty() { id } else { &session.title });
    for message in &session.messages {
        let who = if message.role == Role::User { "Person" } else { "Agent" };
        if !message.content.trim().is_empty() {
            text.push_str(&format!("\n## {who}\n\n{}\n", message.content));
        }
        for call in &message.tool_calls {
            text.push_str(&format!("\n- called {}\n", call.tool));
        }
    }
    Ok(text)
}
