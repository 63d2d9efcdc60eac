//! Checks where a request comes from: `Host`, `Origin`, `Sec-Fetch-Site` and the content type. Stops DNS rebinding and
//! cross-site requests (W1–W3).

use axum::body::HttpBody as _;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};

use crate::api::app::App;
use crate::api::error::ApiError;

/// What the paths that take a form begin with: any site could send one to them, but not with our `Origin`.
const PROJECTS: &str = "/api/projects/";
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// Checks that a request is for this server and not from another site.
///
/// # Errors
/// Returns `bad_host`, `bad_origin` or `cross_site`.
pub fn check_origin(app: &App, request: &Request) -> Result<(), ApiError> {
    let refused = |code, message: &str| Err(ApiError::new(StatusCode::FORBIDDEN, code, message));
    let headers = request.headers();
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().unwrap_or_default(),
        _ => return refused("bad_host", "a request needs exactly one Host header"),
    };
    let authority = request.uri().authority().map(|authority| authority.as_str());
    if !app.access.is_our_host(host) || authority.is_some_and(|authority| !authority.eq_ignore_ascii_case(host)) {
        return refused("bad_host", "this server answers only to its own address; see `host_names` in config.yml");
    }
    let mut origins = headers.get_all(header::ORIGIN).iter();
    if let Some(origin) = origins.next()
        && (origins.next().is_some() || !origin.to_str().is_ok_and(|origin| app.access.is_our_origin(origin)))
    {
        return refused("bad_origin", "requests from other sites are refused");
    }
    if is_cross_site(headers) && !is_page_visit(request) {
        return refused("cross_site", "requests from other sites are refused");
    }
    Ok(())
}

/// Checks the type of the body of a request that changes something. A type that forms of other sites cannot send keeps them out
/// even where `Origin` is missing. A request with neither a type nor a body comes from no form; what needs a body refuses it.
///
/// # Errors
/// Returns `not_json` or `not_form`.
pub fn check_type(request: &Request) -> Result<(), ApiError> {
    if matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS | Method::DELETE) {
        return Ok(());
    }
    if !request.headers().contains_key(header::CONTENT_TYPE) && request.body().is_end_stream() {
        return Ok(());
    }
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let error = if takes_form(request) {
        if kind.eq_ignore_ascii_case("multipart/form-data") {
            return Ok(());
        }
        ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_form", "send the files as multipart/form-data")
    } else {
        if kind.eq_ignore_ascii_case("application/json") {
            return Ok(());
        }
        ApiError::not_json()
    };
    Err(error)
}

/// Returns whether a path takes files.
fn takes_form(request: &Request) -> bool {
    let Some(below) = request.uri().path().strip_prefix(PROJECTS) else { return false };
    let is_files = *request.method() == Method::POST && below.ends_with("/files");
    below == "upload" || is_files && matches!(below.split('/').count(), 2 | 3)
}

fn is_cross_site(headers: &HeaderMap) -> bool {
    headers.get(FETCH_SITE).is_some_and(|site| site != "same-origin" && site != "none")
}

/// Whether the request is a navigation to the UI, for instance by a link on another site. It is harmless: a GET changes
/// nothing, and the page cannot be framed.
fn is_page_visit(request: &Request) -> bool {
    *request.method() == Method::GET
        && request.headers().get(FETCH_MODE).is_some_and(|mode| mode == "navigate")
        && !request.uri().path().starts_with("/api/")
}
