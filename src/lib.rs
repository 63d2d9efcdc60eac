//! miniclaw: a file-driven, fully transparent local AI agent. `ARCHITECTURE.md` shows the layers of these modules.

pub mod agent;
pub mod api;
pub mod cli;
pub mod clock;
pub mod cluster;
pub mod config;
pub mod database;
pub mod domain;
pub mod egress;
pub mod engine;
pub mod extraction;
pub mod heap;
pub mod library;
pub mod prompt;
pub mod provider;
pub mod retrieval;
pub mod sandbox;
pub mod server;
pub mod skills;
pub mod store;
pub mod tokens;
pub mod tools;
