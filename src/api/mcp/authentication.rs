//! Where a program without a token learns that it needs one: the challenge of a refused request, and the document about the
//! protected resource (RFC 9728). There is no authorization server; people make tokens themselves.

use axum::Json;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;

use crate::api::app::App;
use crate::api::error::ApiError;
use crate::api::openai::page_address::PageAddress;
use crate::api::security::client::{Client, Peer};

pub const MCP_PATH: &str = "/mcp";
/// Where the document is that tells programs how to use `/mcp`, for the whole server and for its path.
pub const PROTECTED_RESOURCE: &str = "/.well-known/oauth-protected-resource";
pub const PROTECTED_RESOURCE_OF_MCP: &str = "/.well-known/oauth-protected-resource/mcp";

/// MCP takes no cookies, and needs a token even on the own machine.
pub fn no_mcp_token() -> ApiError {
    let message = "MCP needs Authorization: Bearer <token>; make a token with `miniclaw token add --scope ask` (or read, tools), or under \
                   “Access tokens” of an account";
    ApiError::new(StatusCode::UNAUTHORIZED, "signed_out", message)
}

/// Returns the value of `WWW-Authenticate` for a request without a valid token.
pub fn challenge(app: &App, request: &Request) -> HeaderValue {
    const BARE: HeaderValue = HeaderValue::from_static("Bearer");
    // A host that is not ours is refused otherwise, and is not repeated.
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let Some(host) = host.filter(|host| app.people.is_some() && app.access.is_our_host(host)) else { return BARE };
    let client = Client::of(&app.access.proxies, Peer::of(request.extensions()), request.headers());
    let scheme = if client.is_https { "https" } else { "http" };
    let value = format!("Bearer resource_metadata=\"{scheme}://{host}{PROTECTED_RESOURCE_OF_MCP}\"");
    HeaderValue::from_str(&value).unwrap_or(BARE)
}

/// Adds the challenge to a response that refuses a request for want of a token.
pub fn with_challenge(mut answer: Response, challenge: &HeaderValue) -> Response {
    if answer.status() == StatusCode::UNAUTHORIZED {
        answer.headers_mut().insert(header::WWW_AUTHENTICATE, challenge.clone());
    }
    answer
}

/// The document about a protected resource, with the names of RFC 9728.
#[derive(Serialize, utoipa::ToSchema)]
pub struct ProtectedResource {
    /// The address of the MCP server.
    resource: String,
    resource_name: &'static str,
    /// `ask`: have the agent work. `read`: only read. `tools`: also call tools.
    scopes_supported: [&'static str; 3],
    bearer_methods_supported: [&'static str; 1],
}

impl ProtectedResource {
    fn at(page: &PageAddress) -> Json<Self> {
        Json(Self {
            resource: page.of_path(MCP_PATH),
            resource_name: "miniclaw",
            scopes_supported: ["ask", "read", "tools"],
            bearer_methods_supported: ["header"],
        })
    }
}

/// Tells programs how to authenticate at the MCP server.
///
/// Without `authorization_servers`: people make tokens themselves.
#[utoipa::path(get, path = "/.well-known/oauth-protected-resource", tag = "mcp",
    responses((status = 200, body = ProtectedResource)))]
pub async fn protected_resource(page: PageAddress) -> Json<ProtectedResource> {
    ProtectedResource::at(&page)
}

/// Tells programs how to authenticate at the MCP server, where they look for it by its path.
#[utoipa::path(get, path = "/.well-known/oauth-protected-resource/mcp", tag = "mcp",
    responses((status = 200, body = ProtectedResource)))]
pub async fn protected_resource_of_mcp(page: PageAddress) -> Json<ProtectedResource> {
    ProtectedResource::at(&page)
}
