//! Model servers that already run on this machine.

use std::time::Duration;

use reqwest::header::HeaderMap;
use serde_json::Value;
use url::Url;

use super::Endpoint;
use super::client::build;
use super::profile::{Profile, ProfileKind};

/// For connecting; also what the whole answer may take, four times over.
const CONNECT: Duration = Duration::from_millis(300);

/// Models of an Ollama (port 11434) and an LM Studio (port 1234) on this machine, those in memory first. Both are asked at
/// once; who does not answer is not there. Embedding models are left out. Never fails.
pub async fn find_local() -> Vec<Endpoint> {
    let (mut found, more) = tokio::join!(ollama("http://127.0.0.1:11434"), lm_studio("http://127.0.0.1:1234"));
    found.extend(more);
    found
}

async fn ollama(origin: &str) -> Vec<Endpoint> {
    let (Some(tags), running) = tokio::join!(get(origin, "/api/tags"), get(origin, "/api/ps")) else {
        return Vec::new();
    };
    let running = running.unwrap_or(Value::Null);
    let mut found: Vec<(bool, Endpoint)> = items(&tags, "models")
        .filter(|model| !is_embedding(model))
        .filter_map(|model| {
            let name = name_of(model)?;
            let loaded = items(&running, "models").find(|other| name_of(other) == Some(name));
            // A loaded model's real window; otherwise the server decides when it loads it.
            let window = loaded.and_then(|model| model.get("context_length")).and_then(Value::as_u64);
            Some((loaded.is_some(), endpoint(ProfileKind::Ollama, origin, name, window)?))
        })
        .collect();
    found.sort_by_key(|(loaded, _)| !loaded);
    found.into_iter().map(|(_, endpoint)| endpoint).collect()
}

async fn lm_studio(origin: &str) -> Vec<Endpoint> {
    let Some(models) = get(origin, "/v1/models").await else { return Vec::new() };
    items(&models, "data")
        .filter(|model| !is_embedding(model))
        .filter_map(|model| endpoint(ProfileKind::LmStudio, origin, name_of(model)?, None))
        .collect()
}

fn endpoint(kind: ProfileKind, origin: &str, model: &str, window: Option<u64>) -> Option<Endpoint> {
    let profile = Profile::new(kind, model);
    let window = window.and_then(|window| u32::try_from(window).ok()).filter(|window| *window > 0);
    Some(Endpoint {
        context_window: window.unwrap_or_else(|| profile.context_window(model)),
        profile,
        base_url: Url::parse(&format!("{origin}/v1")).ok()?,
        api_key: None,
        model: model.to_owned(),
        label: kind.name().to_owned(),
    })
}

async fn get(origin: &str, path: &str) -> Option<Value> {
    let url = Url::parse(&format!("{origin}{path}")).ok()?;
    let http = build(&url, HeaderMap::new()).ok()?;
    let answer = async {
        let response = http.get(url).send().await.ok()?;
        if response.status().is_success() { response.json::<Value>().await.ok() } else { None }
    };
    tokio::time::timeout(CONNECT * 4, answer).await.ok().flatten()
}

fn items<'a>(document: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    document.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn name_of(model: &Value) -> Option<&str> {
    ["name", "id", "model"].iter().find_map(|field| model.get(field).and_then(Value::as_str)).filter(|n| !n.is_empty())
}

/// Whether a model only makes vectors: by its stated capabilities or type, else by its family or name.
fn is_embedding(model: &Value) -> bool {
    if let Some(capabilities) = model.get("capabilities").and_then(Value::as_array)
        && !capabilities.is_empty()
    {
        return !capabilities.iter().any(|capability| capability == "completion" || capability == "tools");
    }
    if let Some(kind) = model.get("type").and_then(Value::as_str) {
        return kind.contains("embed");
    }
    let family = model.get("details").and_then(|details| details.get("family")).and_then(Value::as_str);
    let bert = family.is_some_and(|family| family.contains("bert"));
    let name = name_of(model).unwrap_or_default().to_ascii_lowercase();
    bert || name.contains("embed") || name.contains("bge-") || name.contains("all-minilm")
}
