//! The person's files and conversations as resources: `miniclaw:///memory/MEMORY.md`, `miniclaw:///sessions/{id}`.

use rmcp::ErrorData;
use rmcp::model::{ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

use super::reading::{file_text, transcript};
use super::server::refused;
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::domain::{Place, Root};
use crate::engine::blocking;
use crate::store::FileEntry;

pub const SCHEME: &str = "miniclaw:///";
pub const SESSIONS: &str = "sessions/";
const MARKDOWN: &str = "text/markdown";
/// Resources of one page of the list.
const PAGE: usize = 500;
/// The folders whose files are listed.
pub const ROOTS: [Root; 3] = [Root::Memory, Root::Knowledge, Root::Skills];

pub fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{SCHEME}{{+path}}"), "file")
            .with_description("A text file of memory/, knowledge/, skills/ or workspace/, by its path."),
        ResourceTemplate::new(format!("{SCHEME}{SESSIONS}{{id}}"), "session")
            .with_description("A conversation with the agent, as Markdown.")
            .with_mime_type(MARKDOWN),
    ]
}

/// Lists files, then conversations. The cursor is the number of resources before the page.
///
/// # Errors
/// Returns an error if the cursor is not ours, or if something cannot be read.
pub async fn list(caller: &Caller, cursor: Option<String>) -> Result<ListResourcesResult, ErrorData> {
    let from = match cursor {
        None => 0,
        Some(cursor) => cursor.parse::<usize>().map_err(|_| ErrorData::invalid_params("unknown cursor", None))?,
    };
    let mut all = files(caller).await.map_err(|error| refused(&error))?;
    all.extend(sessions(caller).await.map_err(|error| refused(&error))?);
    let next = (all.len() > from.saturating_add(PAGE)).then(|| (from + PAGE).to_string());
    let mut list = ListResourcesResult::with_all_items(all.into_iter().skip(from).take(PAGE).collect());
    list.next_cursor = next;
    Ok(list)
}

/// Returns the paths of the files that are listed.
pub async fn paths(caller: &Caller) -> Result<Vec<String>, ApiError> {
    Ok(listed_files(caller).await?.into_iter().map(|file| file.path.to_string()).collect())
}

async fn listed_files(caller: &Caller) -> Result<Vec<FileEntry>, ApiError> {
    let home = caller.tenant().home.clone();
    let files = blocking(move || {
        let mut files = Vec::new();
        for root in ROOTS {
            files.extend(home.list(&root)?);
        }
        Ok(files)
    });
    Ok(files.await?)
}

async fn files(caller: &Caller) -> Result<Vec<Resource>, ApiError> {
    let resources = listed_files(caller).await?.into_iter().map(|file| {
        let path = file.path.to_string();
        let resource = Resource::new(uri_of(&path), path).with_size(file.size);
        match mime_of(&file.path) {
            Some(kind) => resource.with_mime_type(kind),
            None => resource,
        }
    });
    Ok(resources.collect())
}

async fn sessions(caller: &Caller) -> Result<Vec<Resource>, ApiError> {
    let list = caller.engine.list().await?;
    let resources = list.iter().map(|summary| {
        let title = if summary.title.is_empty() { &summary.begins } else { &summary.title };
        let path = format!("{SESSIONS}{}", summary.id);
        Resource::new(uri_of(&path), path).with_title(title.clone()).with_mime_type(MARKDOWN)
    });
    Ok(resources.collect())
}

/// Reads a resource.
///
/// # Errors
/// Returns an error if there is no such resource, or if it is no text.
pub async fn read(caller: &Caller, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let data = || Some(json!({"uri": uri}));
    let missing = |message: String| ErrorData::resource_not_found(message, data());
    let path = path_of(uri).ok_or_else(|| missing(format!("there is no resource {uri:?}; see resources/list")))?;
    let (text, kind) = match path.strip_prefix(SESSIONS) {
        Some(id) => (transcript(caller, id).await, Some(MARKDOWN)),
        None => (file_text(caller, &path).await, Place::parse(&path).ok().and_then(|place| mime_of(&place))),
    };
    let text = text.map_err(|error| match error.status.is_server_error() {
        true => refused(&error),
        false => missing(format!("{} ({})", error.message, error.code)),
    })?;
    let contents = ResourceContents::text(text, uri);
    Ok(ReadResourceResult::new(vec![match kind {
        Some(kind) => contents.with_mime_type(kind),
        None => contents,
    }]))
}

fn mime_of(place: &Place) -> Option<&'static str> {
    let path = place.to_string();
    let (_, extension) = path.rsplit_once('.')?;
    match extension.to_ascii_lowercase().as_str() {
        "md" | "markdown" => Some(MARKDOWN),
        "txt" => Some("text/plain"),
        "json" => Some("application/json"),
        "html" | "htm" => Some("text/html"),
        "csv" => Some("text/csv"),
        // Its text is what can be read.
        "pdf" => Some("text/plain"),
        _ => None,
    }
}

/// Returns the address of a path: all but letters, digits, `/` and a few marks is percent-encoded.
pub fn uri_of(path: &str) -> String {
    let mut uri = SCHEME.to_owned();
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// Returns the path that an address of ours names.
pub fn path_of(uri: &str) -> Option<String> {
    uri.strip_prefix(SCHEME).and_then(decoded)
}

/// Returns a path without percent-encoding; `None` if it is not valid, or no UTF-8.
fn decoded(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?].map(|digit| char::from(digit).to_digit(16));
        let [Some(high), Some(low)] = digits else { return None };
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_survives_its_address() {
        for path in ["memory/MEMORY.md", "knowledge/tea & cake/100 %.md", "knowledge/茶.md", "a?b#c"] {
            let uri = uri_of(path);
            assert!(uri.is_ascii() && !uri[SCHEME.len()..].contains(['?', '#', ' ']), "{uri}");
            assert_eq!(decoded(uri.strip_prefix(SCHEME).unwrap()).as_deref(), Some(path));
        }
        for wrong in ["a%", "a%2", "a%zz", "%ff"] {
            assert_eq!(decoded(wrong), None, "{wrong}");
        }
    }
}
