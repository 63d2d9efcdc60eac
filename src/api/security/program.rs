//! Programs with a token, which use the OpenAI API or the MCP server: who they are.

use axum::extract::Request;
use axum::http::{HeaderMap, header};

use super::access::ApiCredential;
use super::caller::{Identity, Proof};
use super::guard::{member, owner, source};
use crate::api::app::App;
use crate::api::error::ApiError;
use crate::api::mcp::authentication::{MCP_PATH, no_mcp_token};
use crate::store::{API_TOKEN_PREFIX, ApiTokenScope};

/// What the paths of the OpenAI API begin with.
const OPENAI: &str = "/v1";

/// What only programs with a token use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramDoor {
    OpenAi,
    Mcp,
}

impl ProgramDoor {
    pub fn of(path: &str) -> Option<Self> {
        let is_openai = path.strip_prefix(OPENAI).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if is_openai { Some(Self::OpenAi) } else { (path == MCP_PATH).then_some(Self::Mcp) }
    }

    fn no_token(self) -> ApiError {
        match self {
            Self::OpenAi => ApiError::no_api_token(),
            Self::Mcp => no_mcp_token(),
        }
    }
}

/// Identifies a program that uses the OpenAI API or the MCP server. No cookie counts, so that no page of another site can have
/// the browser of a person spend tokens.
pub fn program(app: &App, request: &Request, door: ProgramDoor) -> Result<Identity, ApiError> {
    let headers = request.headers();
    let is_open = door == ProgramDoor::OpenAi && app.people.is_none() && app.access.is_api_open();
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let bearer = match (given.next(), given.next()) {
        (None, _) if is_open => return Ok(owner(Proof::Server)),
        (None, _) | (Some(_), Some(_)) => return Err(door.no_token()),
        (Some(value), None) => value.to_str().ok().and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default(),
    };
    if let Some(people) = &app.people {
        let identity = member(app, people, request)?;
        return match identity.proof.credential() {
            Some(credential) if !credential.may_change() && door == ProgramDoor::OpenAi => {
                Err(ApiError::read_only_token())
            }
            Some(_) | None => Ok(identity),
        };
    }
    if door == ProgramDoor::Mcp && app.secret.is_of_commands(bearer) {
        return Ok(owner(Proof::Server));
    }
    if is_open {
        // SDKs send whatever they are configured with.
        return Ok(owner(Proof::Server));
    }
    let known = app.access.api_token(bearer, source(app, request)).map_err(ApiError::too_many_tries)?;
    match known {
        Some(ApiCredential::Server) => Ok(owner(Proof::Server)),
        Some(ApiCredential::Token(_, ApiTokenScope::Metrics)) => Err(door.no_token()),
        Some(ApiCredential::Token(_, ApiTokenScope::Read)) if door == ProgramDoor::OpenAi => {
            Err(ApiError::read_only_token())
        }
        Some(ApiCredential::Token(id, scope)) => Ok(owner(Proof::ApiToken(id, scope))),
        None => Err(door.no_token()),
    }
}

/// Identifies a program that reads the figures of a single-person server with a token for nothing else.
pub fn monitor(app: &App, request: &Request) -> Result<Identity, ApiError> {
    let mut given = request.headers().get_all(header::AUTHORIZATION).iter();
    let token = match (given.next().and_then(|value| value.to_str().ok()), given.next()) {
        (Some(value), None) => value.strip_prefix("Bearer ").unwrap_or_default(),
        _ => return Err(ApiError::signed_out()),
    };
    match app.access.api_token(token, source(app, request)).map_err(ApiError::too_many_tries)? {
        Some(ApiCredential::Token(id, scope @ ApiTokenScope::Metrics)) => Ok(owner(Proof::ApiToken(id, scope))),
        Some(ApiCredential::Token(..)) => Err(ApiError::ask_token()),
        Some(ApiCredential::Server) | None => Err(ApiError::signed_out()),
    }
}

/// Returns whether a request carries a token of a program.
pub fn shows_api_token(headers: &HeaderMap) -> bool {
    let mut given = headers.get_all(header::AUTHORIZATION).iter().filter_map(|value| value.to_str().ok());
    given.any(|value| value.strip_prefix("Bearer ").is_some_and(|token| token.starts_with(API_TOKEN_PREFIX)))
}
