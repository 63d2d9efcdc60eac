//! What the measurements are made with: a lean HTTP client, the server as a process, the scripted provider, numbers.

pub mod asking;
pub mod embeddings;
pub mod http;
pub mod numbers;
pub mod report;
pub mod seed;
pub mod server;
pub mod texts;
