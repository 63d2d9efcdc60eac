//! Egress control: which addresses the agent may reach, and the proxy for commands that are allowed the network. The
//! sandbox lets such a command connect to this proxy only.

mod grants;
mod guard;
mod proxy;
mod request;

pub use guard::{DialTarget, EgressRefusal, Guard, Lookup, NoPublicAddress, dialable, system_lookup};
pub use proxy::Proxy;
