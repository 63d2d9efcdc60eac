//! The models there are, the choice of one, and the connection to a provider.

pub mod choice;
pub mod list;
pub mod own_providers;
mod provider_address;
mod provider_types;
pub mod providers;
