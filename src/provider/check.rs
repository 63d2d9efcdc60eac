//! Checks an address and a key by requesting the provider's list of models, once and with a short timeout.

use std::time::Duration;

use serde_json::Value;

use super::Endpoint;
use super::client::Shared;
use super::error::{ConnectionFailure, ProviderError, TimeoutPhase};
use super::profile::{Api, ProfileKind};
use super::turn::error_from_response;

const MODELS: &str = "/models";
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum bytes of a list of models.
const MAX_LIST_BYTES: usize = 4 << 20;
/// Maximum number of names returned.
const MAX_MODELS: usize = 500;

/// Query with which Anthropic lists all models, and not the first 20.
const ALL_MODELS: &str = "limit=1000";

/// Returns the names of the available models, in the provider's order.
///
/// # Errors
/// Returns an error if the provider cannot be reached, refuses the key, or sends something other than a list of models.
pub async fn list_models(mut endpoint: Endpoint) -> Result<Vec<String>, ProviderError> {
    if endpoint.profile.kind == ProfileKind::Anthropic {
        // The list of models belongs to this API, whatever the requests use.
        endpoint.profile.api = Api::Messages;
    }
    if endpoint.profile.api == Api::Messages && endpoint.base_url.query().is_none() {
        endpoint.base_url.set_query(Some(ALL_MODELS));
    }
    let shared = Shared::new(endpoint, MODELS)?;
    let provider = shared.error_context.provider.clone();
    match tokio::time::timeout(REQUEST_TIMEOUT, ask(&shared)).await {
        Ok(answer) => answer,
        Err(_) => Err(ProviderError::Timeout { provider, phase: TimeoutPhase::FirstByte, waited: REQUEST_TIMEOUT }),
    }
}

async fn ask(shared: &Shared) -> Result<Vec<String>, ProviderError> {
    let mut response = shared.get().await?;
    if !response.status().is_success() {
        return Err(error_from_response(shared, response).await);
    }
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| shared.error_context.transport(&error))? {
        if bytes.len() + piece.len() > MAX_LIST_BYTES {
            return Err(shared.error_context.unreachable(ConnectionFailure::NotAnApi));
        }
        bytes.extend_from_slice(&piece);
    }
    let document: Value =
        serde_json::from_slice(&bytes).map_err(|_| shared.error_context.unreachable(ConnectionFailure::NotAnApi))?;
    let list = document.get("data").or_else(|| document.get("models")).and_then(Value::as_array);
    let list = list.ok_or_else(|| shared.error_context.unreachable(ConnectionFailure::NotAnApi))?;
    let names = list.iter().filter_map(|model| model.get("id").or_else(|| model.get("name"))?.as_str());
    Ok(names.map(str::to_owned).take(MAX_MODELS).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::Profile;
    use axum::Router;
    use axum::http::{HeaderMap, StatusCode};
    use axum::routing::get;
    use serde_json::json;
    use url::Url;

    const KEY: &str = "sk-canary-77";

    async fn endpoint(router: Router, key: Option<&str>) -> Endpoint {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = Url::parse(&format!("http://{}/v1", listener.local_addr().unwrap())).unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        Endpoint {
            profile: Profile::from_url(&base_url, ""),
            base_url,
            api_key: key.map(|key| key.to_owned().into()),
            model: String::new(),
            label: String::new(),
            price: None,
            reach: None,
            context_window: 1,
        }
    }

    async fn models(headers: HeaderMap) -> (StatusCode, String) {
        let given = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
        match given == format!("Bearer {KEY}") {
            true => (StatusCode::OK, json!({"data": [{"id": "a"}, {"id": "b"}, {"x": 1}]}).to_string()),
            false => (StatusCode::UNAUTHORIZED, json!({"error": {"message": format!("wrong: {given}")}}).to_string()),
        }
    }

    #[tokio::test]
    async fn key_check_lists_models_and_never_shows_the_key() {
        let router = || Router::new().route("/v1/models", get(models));
        assert_eq!(list_models(endpoint(router(), Some(KEY)).await).await.unwrap(), ["a", "b"]);
        let error = list_models(endpoint(router(), Some("sk-canary-wrong")).await).await.unwrap_err();
        assert_eq!(error.code(), "auth");
        assert!(!format!("{error} {error:?}").contains("canary"), "{error}");
    }

    #[tokio::test]
    async fn malformed_model_list_is_reported() {
        for page in ["<html>", "[]", "{}"] {
            let router = Router::new().route("/v1/models", get(move || async move { page }));
            let error = list_models(endpoint(router, None).await).await.unwrap_err();
            assert!(matches!(error, ProviderError::Unreachable { .. }), "{page}: {error}");
        }
    }
}
