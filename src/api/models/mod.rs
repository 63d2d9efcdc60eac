//! The models there are, the choice of one, and the connection to a provider.

pub mod choice;
pub mod list;
mod provider_address;
mod provider_types;
pub mod providers;
