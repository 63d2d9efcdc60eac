//! The embedded web UI: assets with hashed names, which clients may cache forever, and the page for the UI's own paths.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

use super::app::App;
use super::error::ApiError;
use crate::api::security::client::Peer;
use crate::api::security::guard::page_secret;
use crate::clock;

/// `frontend/dist`, as built by `npm run build`. Without it the server still builds and serves a page that says what is
/// missing.
#[derive(RustEmbed)]
#[folder = "frontend/dist"]
#[allow_missing = true]
struct Dist;

const PAGE: &str = "index.html";
const NO_PAGE: &str = "<!doctype html><meta charset=utf-8><title>miniclaw</title><p>The server runs, but its web UI was \
not built into it. Build it with <code>make build</code>, or use the API: <a href=/api/docs>/api/docs</a>.";

/// Serves an asset, or the page for any other path, because the UI has its own paths. Unknown API paths return an
/// error.
pub async fn asset(State(app): State<App>, peer: Peer, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    if ["api", "v1"]
        .iter()
        .any(|api| path.strip_prefix(api).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    {
        let message = format!("there is no {}; GET /api/docs shows what there is", uri.path());
        return ApiError::new(StatusCode::NOT_FOUND, "no_such_endpoint", message).into_response();
    }
    if path.is_empty() || path == PAGE {
        return page(&app, peer, &headers);
    }
    let encodings = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let accepts = |name: &str| encodings.split(',').any(|e| e.split(';').next().is_some_and(|e| e.trim() == name));
    for (encoding, ending) in [("br", ".br"), ("gzip", ".gz")] {
        if accepts(encoding)
            && let Some(file) = Dist::get(&format!("{path}{ending}"))
        {
            let mut answer = file_answer(path, file);
            answer.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
            return answer;
        }
    }
    match Dist::get(path) {
        Some(file) => file_answer(path, file),
        // A missing asset is an error; any other path belongs to the UI.
        None if path.starts_with("assets/") => StatusCode::NOT_FOUND.into_response(),
        None => page(&app, peer, &headers),
    }
}

/// Returns the paths of the embedded files. Compressed copies are served under the same paths.
#[cfg(test)]
pub(super) fn files() -> impl Iterator<Item = String> {
    let names = Dist::iter().map(std::borrow::Cow::into_owned);
    names.filter(|name| !name.ends_with(".br") && !name.ends_with(".gz"))
}

/// The policy of the document that draws diagrams of untrusted text. It has no origin and no network, only the page may
/// frame it, and a policy of its own allows one script by its hash.
const DIAGRAM_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; \
base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts";

/// Returns the policy of a file that is a document; the others have that of every response.
fn policy_of(path: &str) -> Option<&'static str> {
    (path.starts_with("assets/diagram-") && path.ends_with(".html")).then_some(DIAGRAM_POLICY)
}

fn file_answer(path: &str, file: EmbeddedFile) -> Response {
    let kind = mime(path);
    let cache = if path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    let mut answer = file.data.into_response();
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    if let Some(policy) = policy_of(path) {
        headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    }
    answer
}

/// Returns the media type of a file in a build of the UI.
fn mime(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}

/// Returns the page, with a new nonce for the styles that the editor and menus add and, if the client may use the API,
/// with the secret that proves that an answer to a question comes from the page.
fn page(app: &App, peer: Peer, headers: &HeaderMap) -> Response {
    let nonce = clock::new_secret();
    let secret = page_secret(app, peer, headers)
        .map(|secret| format!("<meta name=\"miniclaw-secret\" content=\"{secret}\">"))
        .unwrap_or_default();
    let html = match Dist::get(PAGE) {
        Some(file) => String::from_utf8_lossy(&file.data).replace("__CSP_NONCE__", &nonce).replacen(
            "<head>",
            &format!("<head>{secret}"),
            1,
        ),
        None => format!("{NO_PAGE}{secret}"),
    };
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data: blob:; \
         font-src 'self'; connect-src 'self'; manifest-src 'self'; frame-src 'self'; base-uri 'self'; \
         form-action 'none'; frame-ancestors 'none'; object-src 'none'"
    );
    let mut answer = html.into_response();
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_document_that_draws_diagrams_runs_its_own_script() {
        let policy = policy_of("assets/diagram-BkOtHPfR.html").unwrap();
        assert!(policy.starts_with("default-src 'none'") && policy.ends_with("sandbox allow-scripts"));
        assert!(!policy.contains("same-origin") && !policy.contains("connect-src"));
        for path in ["index.html", "assets/diagram-BkOtHPfR.js", "assets/index.html", "diagram-BkOtHPfR.html"] {
            assert_eq!(policy_of(path), None, "{path}");
        }
    }
}
