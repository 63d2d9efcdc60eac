//! What a server has for people besides tools: resources, which they attach to a message, and prompts, which they use as a
//! message. The model gets nothing of it by itself. All of it is text from outside.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::connection::{RequestError, RequestLimits};
use super::link::Link;
use super::masking::hide;
use super::result::written_out;
use super::server::Server;
use crate::domain::approval::canonical;
use crate::domain::visible::{is_hidden, visible};
use crate::store::sha256;
use crate::tools::LiveOutput;

/// Maximum bytes of a page of a list.
const MAX_PAGE: usize = 256 << 10;
const MAX_PAGES: usize = 20;
/// Maximum number of resources, templates or prompts of a server that are listed.
const MAX_ITEMS: usize = 1_000;
/// Maximum number of arguments of a prompt.
const MAX_ARGUMENTS: usize = 20;
/// Maximum characters of a name or an address, of a title, and of a description.
const MAX_ADDRESS: usize = 2_000;
const MAX_TITLE: usize = 200;
const MAX_DESCRIPTION: usize = 1_000;
/// Maximum bytes of what is read: as much as a message can have attached.
const MAX_TEXT: usize = 256 << 10;
const LIMITS: RequestLimits =
    RequestLimits { silence: std::time::Duration::from_secs(30), total: std::time::Duration::from_secs(60) };
/// Maximum number of resources of a server that the model can find, and how long the server has to list them.
const MAX_FINDABLE: usize = 200;
const FINDABLE_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);
/// What a server answers that does not have a method.
const NO_METHOD: i64 = -32601;

/// Invisible characters are written out in all texts but `uri` and `name`, which have none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ResourceView {
    pub uri: String,
    pub title: String,
    pub description: String,
    /// As the server says.
    pub mime_type: String,
    /// Whether `uri` is a template (RFC 6570) with variables in braces.
    pub is_template: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct PromptView {
    pub name: String,
    pub title: String,
    pub description: String,
    pub arguments: Vec<PromptArgument>,
    /// SHA-256 of its definition, which a use of it names.
    pub sha256: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct PromptArgument {
    pub name: String,
    pub description: String,
    pub required: bool,
}

/// Why something of a server is not there.
#[derive(Debug, thiserror::Error)]
pub enum OfferError {
    /// The prompt is not what a person has seen.
    #[error("the prompt has changed since it was listed")]
    Changed,
    #[error("{0}")]
    Failed(String),
}

impl From<String> for OfferError {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// Lists the resources of a server, and its templates.
///
/// # Errors
/// Returns a sentence if the server gives no list within the bounds.
pub async fn resources(server: &Server, link: &Link) -> Result<Vec<ResourceView>, String> {
    let mut found = Vec::new();
    for (method, field, address) in
        [("resources/list", "resources", "uri"), ("resources/templates/list", "resourceTemplates", "uriTemplate")]
    {
        let listed = list(server, link, (method, field)).await?;
        found.extend(listed.iter().filter_map(|item| resource(item, address)));
    }
    Ok(found)
}

fn resource(item: &Value, address: &str) -> Option<ResourceView> {
    let uri = item[address].as_str().filter(|uri| is_plain(uri, MAX_ADDRESS))?.to_owned();
    let title = item["title"].as_str().or(item["name"].as_str()).unwrap_or(&uri);
    Some(ResourceView {
        title: shortened(title, MAX_TITLE),
        description: shortened(item["description"].as_str().unwrap_or_default(), MAX_DESCRIPTION),
        mime_type: shortened(item["mimeType"].as_str().unwrap_or_default(), MAX_TITLE),
        is_template: address == "uriTemplate",
        uri,
    })
}

/// Reads a resource as text.
///
/// # Errors
/// Returns a sentence if it cannot be read, is no text, or is too long for a message.
pub async fn read(server: &Server, link: &Link, uri: &str) -> Result<String, String> {
    let contents = contents(server, link, uri).await.map_err(|error| error.to_string())?;
    let texts: Vec<&str> = contents.iter().filter_map(|content| content["text"].as_str()).collect();
    if texts.is_empty() {
        return Err("it is no text, so it cannot be attached".to_owned());
    }
    bounded(&texts.join("\n"))
}

/// Reads a resource.
///
/// # Errors
/// Returns an error if the server refuses, does not answer in time, or is gone.
pub async fn contents(server: &Server, link: &Link, uri: &str) -> Result<Vec<Value>, RequestError> {
    let mut result = server.ask(link, ("resources/read", json!({"uri": uri})), &LIMITS).await?;
    match result.get_mut("contents").map(Value::take) {
        Some(Value::Array(contents)) => Ok(contents),
        Some(_) | None => Ok(Vec::new()),
    }
}

/// Lists the resources that the model can find: none if the server does not list them in time.
pub async fn findable(server: &Server, link: &Link) -> Vec<ResourceView> {
    if !link.has_resources() {
        return Vec::new();
    }
    let listing = list(server, link, ("resources/list", "resources"));
    let listed = match tokio::time::timeout(FINDABLE_TIMEOUT, listing).await {
        Ok(Ok(listed)) => listed,
        Ok(Err(why)) => {
            tracing::warn!(server = server.name(), why, "the resources of an MCP server cannot be found");
            Vec::new()
        }
        Err(_) => Vec::new(),
    };
    listed.iter().filter_map(|item| resource(item, "uri")).take(MAX_FINDABLE).collect()
}

/// Lists the prompts of a server.
///
/// # Errors
/// Returns a sentence if the server gives no list within the bounds.
pub async fn prompts(server: &Server, link: &Link) -> Result<Vec<PromptView>, String> {
    let listed = list(server, link, ("prompts/list", "prompts")).await?;
    Ok(listed.iter().filter_map(prompt).collect())
}

fn prompt(item: &Value) -> Option<PromptView> {
    let name = item["name"].as_str().filter(|name| is_plain(name, MAX_TITLE))?.to_owned();
    let arguments = item["arguments"].as_array().map(Vec::as_slice).unwrap_or_default();
    if arguments.len() > MAX_ARGUMENTS {
        return None;
    }
    let arguments = arguments.iter().map(|argument| {
        Some(PromptArgument {
            name: argument["name"].as_str().filter(|name| is_plain(name, MAX_TITLE))?.to_owned(),
            description: shortened(argument["description"].as_str().unwrap_or_default(), MAX_DESCRIPTION),
            required: argument["required"] == true,
        })
    });
    let definition = json!({"name": item["name"], "title": item["title"], "description": item["description"],
        "arguments": item["arguments"]});
    Some(PromptView {
        title: shortened(item["title"].as_str().unwrap_or(&name), MAX_TITLE),
        description: shortened(item["description"].as_str().unwrap_or_default(), MAX_DESCRIPTION),
        arguments: arguments.collect::<Option<_>>()?,
        sha256: sha256(canonical(&definition).as_bytes()),
        name,
    })
}

/// Returns the text of a prompt in the version that a person has seen.
///
/// # Errors
/// Returns [`OfferError::Changed`] if it is another version now.
pub async fn prompt_text(
    server: &Server,
    link: &Link,
    (name, seen): (&str, &str),
    arguments: &Map<String, Value>,
) -> Result<String, OfferError> {
    let known = prompts(server, link).await?;
    if !known.iter().any(|prompt| prompt.name == name && prompt.sha256 == seen) {
        return Err(OfferError::Changed);
    }
    let request = ("prompts/get", json!({"name": name, "arguments": arguments}));
    let result = server.ask(link, request, &LIMITS).await.map_err(|error| error.to_string())?;
    let messages = result["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts = messages.iter().filter_map(|message| {
        let content = &message["content"];
        content["text"].as_str().or(content["resource"]["text"].as_str())
    });
    let texts: Vec<&str> = texts.collect();
    if texts.is_empty() {
        return Err("the prompt has no text".to_owned().into());
    }
    Ok(bounded(&texts.join("\n\n"))?)
}

fn bounded(text: &str) -> Result<String, String> {
    if text.len() > MAX_TEXT {
        return Err(format!("it has {} bytes, and a message can have up to {MAX_TEXT} attached", text.len()));
    }
    Ok(written_out(text))
}

/// Returns whether a name is there, short enough, and without invisible characters.
fn is_plain(text: &str, most: usize) -> bool {
    !text.is_empty() && text.chars().count() <= most && !text.chars().any(is_hidden)
}

fn shortened(text: &str, most: usize) -> String {
    visible(&text.chars().take(most).collect::<String>())
}

/// Returns all items of a list; none if the server does not have it.
async fn list(server: &Server, link: &Link, (method, field): (&str, &str)) -> Result<Vec<Value>, String> {
    let (mut items, mut cursor) = (Vec::new(), None::<String>);
    for _ in 0..MAX_PAGES {
        let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let mut page = match server.ask(link, (method, params), &LIMITS).await {
            Ok(page) => page,
            Err(RequestError::Refused(error)) if error.code == NO_METHOD => return Ok(Vec::new()),
            Err(error) => return Err(error.to_string()),
        };
        if page.to_string().len() > MAX_PAGE {
            return Err("a page of its list is larger than 256 KB".to_owned());
        }
        cursor = page["nextCursor"].as_str().filter(|cursor| !cursor.is_empty()).map(str::to_owned);
        let Some(Value::Array(more)) = page.get_mut(field).map(Value::take) else {
            return Err("it answered with no list".to_owned());
        };
        items.extend(more);
        items.truncate(MAX_ITEMS);
        if cursor.is_none() || items.len() == MAX_ITEMS {
            return Ok(items);
        }
    }
    Ok(items)
}

impl Server {
    /// Sends a request of a person. The values of variables are hidden in the result.
    ///
    /// # Errors
    /// Returns an error if the server refuses, does not answer in time, or is gone.
    async fn ask(&self, link: &Link, request: (&str, Value), limits: &RequestLimits) -> Result<Value, RequestError> {
        let stop = (&CancellationToken::new(), &LiveOutput::default());
        let mut result = link.request(request, limits, stop).await?;
        let mask = self.mask();
        hide(&mut result, &|text: &str| mask.text(text).into_owned());
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_offers_are_left_out() {
        let fine = json!({"uri": "pets://1", "name": "one", "title": "On\u{200b}e", "mimeType": "text/plain"});
        let shown = resource(&fine, "uri").unwrap();
        assert_eq!((shown.title.as_str(), shown.is_template), ("On\\u200be", false));
        for odd in [json!({"name": "x"}), json!({"uri": "a\u{202e}b"}), json!({"uri": "x".repeat(3_000)})] {
            assert_eq!(resource(&odd, "uri"), None, "{odd}");
        }
        let told = json!({"name": "tell", "arguments": [{"name": "pet", "required": true}]});
        assert!(prompt(&told).unwrap().arguments[0].required);
        let many: Vec<Value> = (0..50).map(|at| json!({"name": at.to_string()})).collect();
        for odd in
            [json!({"name": ""}), json!({"name": "x", "arguments": many}), json!({"name": "x", "arguments": [{}]})]
        {
            assert_eq!(prompt(&odd), None, "{odd}");
        }
        assert!(bounded(&"x".repeat(300_000)).is_err());
    }
}
