//! Search in memory and knowledge, and its tests.

pub mod library;
