//! HTTP: parses requests, writes responses, projects events into frames. The only module that depends on axum.

mod aliases;
mod app;
mod auth;
mod body;
mod chat;
mod connections;
mod conversations;
mod error;
mod files;
mod mcp;
mod mcp_servers;
mod models;
mod names;
mod openai;
mod openapi;
mod projects;
mod rejection;
mod requests;
mod retrieval;
mod routes;
mod routing;
mod security;
mod server;
mod sessions;
mod socket;
mod stats;
mod status;
mod tls;
mod tools;
mod web;

pub use app::{App, MAX_UNAUTHENTICATED_SOCKETS, SandboxInfo};
pub use openapi::document;
pub use security::access::{Access, PageSecret};
pub use server::serve;
pub use tls::{Tls, TlsUnusable};
