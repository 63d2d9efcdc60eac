//! Tools of the measurements: an HTTP client, the server as a process, test data, statistics and the report.

pub mod asking;
pub mod embeddings;
pub mod http;
pub mod numbers;
pub mod postgres;
pub mod relay;
pub mod report;
pub mod seed;
pub mod server;
pub mod texts;
