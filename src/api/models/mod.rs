//! The choice of a model, and the connection to a provider.

pub mod choice;
pub mod provider;
