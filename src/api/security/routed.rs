//! Whose home a request is for, on a server of a cluster that several people use.

use axum::extract::Request;
use axum::http::Method;

use crate::api::app::App;
use crate::api::security::guard;
use crate::domain::HomeId;
use crate::engine::people::People;

/// Below these paths, requests are about accounts, or about what all people use: the home of the server.
const OF_SERVER: [&str; 5] = ["/api/auth", "/api/admin", "/api/logout", "/api/settings", "/api/providers"];
/// What every server of a cluster answers itself.
const HERE: &str = "/api/auth/mode";
/// Below this path, changes are about the server, and the rest about the home of the person who asks.
const MODELS: &str = "/api/models";

/// Returns the home that a request is for; `None` if it is refused, or can be answered by any server. Whoever has the home checks
/// the credential again.
pub(super) fn home_of(app: &App, people: &People, request: &Request) -> Option<HomeId> {
    let path = request.uri().path();
    let is_below =
        |prefix: &str| path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let is_of_server = OF_SERVER.iter().any(|prefix| is_below(prefix))
        || is_below(MODELS) && !matches!(*request.method(), Method::GET | Method::HEAD);
    if path == HERE {
        return None;
    }
    if is_of_server {
        return Some(HomeId::Server);
    }
    match guard::member(app, people, request) {
        Ok(identity) => Some(identity.person.tenant()),
        // Names are told without a credential.
        Err(_) if guard::tells_names(request) && !guard::has_credential(app, request.headers()) => Some(HomeId::Server),
        Err(_) => None,
    }
}
