//! The list of a server's tools, within bounds.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::connection::RequestLimits;
use super::link::Link;
use super::masking::hide;
use super::param_headers;
use crate::domain::mcp::{canonical_definition, depth};
use crate::domain::visible::visible;
use crate::store::sha256;
use crate::tools::LiveOutput;

/// Maximum bytes of a page.
const MAX_PAGE: usize = 256 << 10;
const MAX_PAGES: usize = 200;
/// Maximum bytes of all pages together.
const MAX_LIST: usize = 4 << 20;
/// How long a server has for all pages.
const LIST_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of tools of a server.
const MAX_TOOLS: usize = 2_000;
/// Maximum nesting of a schema.
const MAX_DEPTH: usize = 32;
/// Maximum characters of a tool's name.
const MAX_NAME: usize = 128;
/// Maximum number of problems that are named.
const MAX_PROBLEMS: usize = 20;
const LIMITS: RequestLimits = RequestLimits { silence: Duration::from_secs(30), total: Duration::from_secs(60) };

/// The tools that a server has listed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Listing {
    pub tools: Vec<Definition>,
    /// What is wrong with the list, as sentences for a person.
    pub problems: Vec<String>,
}

impl Listing {
    /// Hides what a server must not repeat.
    pub fn hide(&mut self, hidden: impl Fn(&str) -> String) {
        for tool in &mut self.tools {
            if hidden(&tool.text) != tool.text {
                hide(&mut tool.value, &hidden);
                *tool = Definition::from(std::mem::take(&mut tool.value));
            }
        }
        self.problems.iter_mut().for_each(|problem| *problem = hidden(problem));
    }
}

/// The definition of a tool as its server gives it. All of it is text from outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Value", into = "Value")]
pub struct Definition {
    pub name: String,
    pub value: Value,
    /// Its canonical text, of which a person trusts the hash.
    pub text: String,
    pub sha256: String,
}

impl From<Value> for Definition {
    fn from(tool: Value) -> Self {
        let text = canonical_definition(&tool);
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        let name = value["name"].as_str().unwrap_or_default().to_owned();
        Self { name, value, sha256: sha256(text.as_bytes()), text }
    }
}

impl From<Definition> for Value {
    fn from(definition: Definition) -> Self {
        definition.value
    }
}

/// Lists the tools of a server.
///
/// # Errors
/// Returns a sentence if the server gives no list, or one beyond the bounds.
pub async fn list(link: &Link) -> Result<Listing, String> {
    let late = |_| format!("it did not list its tools within {} s", LIST_TIMEOUT.as_secs());
    tokio::time::timeout(LIST_TIMEOUT, all_pages(link)).await.map_err(late)?
}

async fn all_pages(link: &Link) -> Result<Listing, String> {
    let mut left = MAX_LIST;
    let (mut listing, mut seen, mut cursors) = (Listing::default(), BTreeSet::new(), BTreeSet::new());
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let stop = (&CancellationToken::new(), &LiveOutput::default());
        let page = link.request(("tools/list", params), &LIMITS, stop).await.map_err(|error| error.to_string())?;
        let length = page.to_string().len();
        if length > MAX_PAGE {
            return Err("a page of its list of tools is larger than 256 KB".to_owned());
        }
        left = left.checked_sub(length).ok_or("its list of tools is larger than 4 MiB")?;
        let Some(tools) = page["tools"].as_array() else { return Err("it answered with no list of tools".to_owned()) };
        for tool in tools {
            if listing.tools.len() >= MAX_TOOLS {
                listing.problems.push("It has more than 2,000 tools; the others are left out.".to_owned());
                return Ok(listing);
            }
            match usable(tool, &mut seen).and_then(|()| designation(link, tool)) {
                Ok(()) => listing.tools.push(Definition::from(tool.clone())),
                Err(why) if listing.problems.len() < MAX_PROBLEMS => listing.problems.push(why),
                Err(_) => {}
            }
        }
        cursor = page["nextCursor"].as_str().filter(|cursor| !cursor.is_empty()).map(str::to_owned);
        match &cursor {
            None => return Ok(listing),
            Some(next) if !cursors.insert(next.clone()) => return Err("its list of tools has no end".to_owned()),
            Some(_) => {}
        }
    }
    Err("its list of tools has too many pages".to_owned())
}

/// Checks what a tool wants as headers, where arguments travel in them.
fn designation(link: &Link, tool: &Value) -> Result<(), String> {
    if !link.mirrors_arguments() {
        return Ok(());
    }
    let name = tool["name"].as_str().unwrap_or_default();
    param_headers::designated(&tool["inputSchema"]).map(drop).map_err(|why| format!("{} {why}.", visible(name)))
}

fn usable(tool: &Value, seen: &mut BTreeSet<String>) -> Result<(), String> {
    let name = tool["name"].as_str().unwrap_or_default();
    let shown = visible(&name.chars().take(MAX_NAME).collect::<String>());
    if name.is_empty() || name.chars().count() > MAX_NAME || name.contains('\0') {
        return Err(format!("A tool has no usable name: {shown:?}."));
    }
    if !tool["inputSchema"].is_object() {
        return Err(format!("{shown} has no schema of its arguments."));
    }
    if depth(tool, MAX_DEPTH + 1) > MAX_DEPTH + 1 {
        return Err(format!("The definition of {shown} is nested deeper than {MAX_DEPTH} levels."));
    }
    if !seen.insert(name.to_owned()) {
        return Err(format!("It has two tools named {shown}; the first one counts."));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_beyond_the_bounds_is_left_out_with_a_reason() {
        let mut seen = BTreeSet::new();
        let schema = json!({"type": "object"});
        assert_eq!(usable(&json!({"name": "a", "inputSchema": schema}), &mut seen), Ok(()));
        let deep = (0..40).fold(json!({}), |value, _| json!({"properties": {"x": value}}));
        for (tool, why) in [
            (json!({"name": "a", "inputSchema": schema}), "two tools"),
            (json!({"name": "", "inputSchema": schema}), "no usable name"),
            (json!({"name": "x".repeat(200), "inputSchema": schema}), "no usable name"),
            (json!({"name": "b"}), "no schema"),
            (json!({"name": "c", "inputSchema": deep}), "deeper than 32"),
        ] {
            let refused = usable(&tool, &mut seen).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }

    #[test]
    fn hash_covers_the_definition_and_nothing_else() {
        let one = Definition::from(json!({"name": "a", "description": "x", "inputSchema": {"b": 1, "a": 2}}));
        let same = Definition::from(
            json!({"inputSchema": {"a": 2, "b": 1}, "_meta": {"x": 1}, "name": "a", "description": "x"}),
        );
        assert_eq!(one, same);
        let kept: Definition = serde_json::from_str(&serde_json::to_string(&one).unwrap()).unwrap();
        assert_eq!(kept, one);
        let other = Definition::from(json!({"name": "a", "description": "y", "inputSchema": {"b": 1, "a": 2}}));
        assert_ne!(one.sha256, other.sha256);
    }
}
