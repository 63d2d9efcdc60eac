//! The state of the server and its settings.

pub mod cluster;
pub mod config_file;
pub mod ready;
pub mod server;
pub mod settings;
