//! Finds model servers that run on this machine.

use std::time::Duration;

use reqwest::header::HeaderMap;
use serde_json::Value;
use url::Url;

use super::Endpoint;
use super::client::builder;
use super::profile::{Profile, ProfileKind};

const CONNECT: Duration = Duration::from_millis(300);
/// Timeout for the whole response: a server that is busy with a model may be slow to list its models.
const ANSWER: Duration = Duration::from_millis(1_200);

/// Returns the models of Ollama (port 11434), loaded ones first, and of LM Studio (port 1234) on this machine. Queries
/// both at once and ignores a server that does not answer. Leaves out embedding models. Never fails.
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
            // The actual window of a loaded model; for others, the server decides it when loading them.
            let window = loaded.and_then(|model| model.get("context_length")).and_then(Value::as_u64);
            let mut endpoint = endpoint(ProfileKind::Ollama, origin, name, window)?;
            endpoint.profile.vision = items(model, "capabilities").any(|capability| capability == "vision");
            Some((loaded.is_some(), endpoint))
        })
        .collect();
    found.sort_by_key(|(loaded, _)| !loaded);
    found.into_iter().map(|(_, endpoint)| endpoint).collect()
}

async fn lm_studio(origin: &str) -> Vec<Endpoint> {
    // The second list is LM Studio's own API and marks the models with vision (`vlm`); older versions do not have it.
    let (Some(models), kinds) = tokio::join!(get(origin, "/v1/models"), get(origin, "/api/v0/models")) else {
        return Vec::new();
    };
    let kinds = kinds.unwrap_or(Value::Null);
    let sees = |name| {
        let mut those = items(&kinds, "data").filter(|model| name_of(model) == Some(name));
        those.any(|model| model.get("type").is_some_and(|kind| kind == "vlm"))
    };
    let found = items(&models, "data").filter(|model| !is_embedding(model)).filter_map(|model| {
        let name = name_of(model)?;
        let mut endpoint = endpoint(ProfileKind::LmStudio, origin, name, None)?;
        endpoint.profile.vision = sees(name);
        Some(endpoint)
    });
    found.collect()
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
        price: None,
        reach: None,
    })
}

async fn get(origin: &str, path: &str) -> Option<Value> {
    let url = Url::parse(&format!("{origin}{path}")).ok()?;
    let http = builder(&url, HeaderMap::new()).connect_timeout(CONNECT).build().ok()?;
    let answer = async {
        let response = http.get(url).send().await.ok()?;
        if response.status().is_success() { response.json::<Value>().await.ok() } else { None }
    };
    tokio::time::timeout(ANSWER, answer).await.ok().flatten()
}

fn items<'a>(document: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    document.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn name_of(model: &Value) -> Option<&str> {
    ["name", "id", "model"].iter().find_map(|field| model.get(field).and_then(Value::as_str)).filter(|n| !n.is_empty())
}

/// Whether a model only computes vectors: judged by its stated capabilities or type, else by its family or name.
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

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Router;
    use axum::routing::get as route;
    use serde_json::json;

    async fn served(router: Router) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        origin
    }

    fn document(document: Value) -> axum::routing::MethodRouter {
        route(move || async move { document.to_string() })
    }

    #[tokio::test]
    async fn ollama_lists_loaded_chat_models_first() {
        let tags = json!({"models": [
            {"name": "nomic-embed-text:latest", "details": {"family": "nomic-bert"}},
            {"name": "qwen3:8b", "details": {"family": "qwen3"}},
            {"name": "vectors", "capabilities": ["embedding"]},
            {"name": "gemma3:4b", "capabilities": ["completion", "vision"]},
        ]});
        let running = json!({"models": [{"name": "gemma3:4b", "context_length": 8192}]});
        let origin = served(Router::new().route("/api/tags", document(tags)).route("/api/ps", document(running))).await;
        let found = ollama(&origin).await;
        let shown: Vec<_> = found.iter().map(|e| (e.model.as_str(), e.context_window, e.profile.kind)).collect();
        assert_eq!(shown, [("gemma3:4b", 8_192, ProfileKind::Ollama), ("qwen3:8b", 32_768, ProfileKind::Ollama)]);
        assert_eq!(found.iter().map(|e| e.profile.vision).collect::<Vec<_>>(), [true, false]);
        assert_eq!(found[0].base_url.as_str(), format!("{origin}/v1"));
    }

    #[tokio::test]
    async fn lm_studio_chat_models_are_listed() {
        let models = json!({"data": [{"id": "text-embedding-nomic-embed-text-v1.5"}, {"id": "qwen/qwen3-8b"}]});
        let origin = served(Router::new().route("/v1/models", document(models))).await;
        let found = lm_studio(&origin).await;
        assert_eq!(found.iter().map(|e| e.model.as_str()).collect::<Vec<_>>(), ["qwen/qwen3-8b"]);
    }

    #[tokio::test]
    async fn lm_studio_vision_models_are_known() {
        let models = json!({"data": [{"id": "qwen2-vl-7b"}, {"id": "qwen3-8b"}]});
        let kinds = json!({"data": [{"id": "qwen2-vl-7b", "type": "vlm"}, {"id": "qwen3-8b", "type": "llm"}]});
        let router = Router::new().route("/v1/models", document(models)).route("/api/v0/models", document(kinds));
        let found = lm_studio(&served(router).await).await;
        assert_eq!(found.iter().map(|e| e.profile.vision).collect::<Vec<_>>(), [true, false]);
    }

    #[tokio::test]
    async fn other_services_are_not_model_servers() {
        let odd = served(Router::new().fallback(|| async { "<html>" })).await;
        assert_eq!(ollama(&odd).await.len() + lm_studio(&odd).await.len(), 0);
        assert_eq!(ollama("http://127.0.0.1:1").await.len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn unresponsive_server_does_not_delay_discovery() {
        let hang = || async {
            tokio::time::sleep(Duration::from_secs(3_600)).await;
            "{}"
        };
        let origin = served(Router::new().fallback(hang)).await;
        let begun = tokio::time::Instant::now();
        assert_eq!(ollama(&origin).await.len() + lm_studio(&origin).await.len(), 0);
        assert!(begun.elapsed() < Duration::from_secs(3));
    }
}
