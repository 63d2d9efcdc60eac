//! HTTP: requests parsed, answers written, events projected into frames. The only module that knows axum.

mod access;
mod app;
mod approvals;
mod archive;
mod chat;
mod choice;
mod compress;
mod connections;
mod error;
mod events;
mod files;
mod find;
mod frame;
mod guard;
mod moving;
mod openapi;
mod pins;
mod prompt;
mod provider;
mod request_changes;
mod requests;
mod retrieval;
mod rewind;
mod routes;
mod server;
mod sessions;
mod settings;
mod status;
mod tokens;
mod transfer;
mod tries;
mod web;

pub use access::{Access, PageSecret};
pub use app::App;
pub use openapi::document;
pub use server::serve;
