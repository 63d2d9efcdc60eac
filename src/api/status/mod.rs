//! The state of the server, its settings and its usage.

pub mod config_file;
pub mod server;
pub mod settings;
pub mod usage;
