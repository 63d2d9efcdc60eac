//! miniclaw: a file-driven, fully transparent local AI agent. `ARCHITECTURE.md` shows the floors these modules stand on.

pub mod clock;
pub mod domain;
pub mod store;
pub mod sandbox;
pub mod tools;
pub mod retrieval;
pub mod skills;
pub mod tokens;
pub mod provider;
