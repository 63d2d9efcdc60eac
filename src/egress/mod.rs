//! The way out: which addresses the agent may reach, and the proxy through which a command that was allowed the network
//! reaches them. Commands themselves can open no connection but to that proxy.

mod guard;
mod passes;
mod proxy;
mod request;

pub use guard::{Guard, LeadsInside, Lookup, Reach, Refused, dialable, system_lookup};
pub use proxy::Proxy;
