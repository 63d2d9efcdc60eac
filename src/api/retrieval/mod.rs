//! Search in memory and knowledge, and its retrieval tests.

pub mod library;
