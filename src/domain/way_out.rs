//! How a command that was allowed the network gets out: through something that checks every address and keeps a list.

use serde::Serialize;

/// Somebody a command asked to be connected with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, utoipa::ToSchema)]
pub struct Contact {
    /// `name`, or `name:port` where the port is not that of the web.
    pub host: String,
    /// It was not connected: a private address, another port than those of the web, or no such name.
    pub refused: bool,
}

/// Gives passes. Commands have no other way to the network.
pub trait WayOut: Send + Sync + std::fmt::Debug {
    /// A pass for one command. What it opened is closed when it is dropped.
    fn pass(&self) -> Box<dyn Pass>;
}

/// One command's right to go out.
pub trait Pass: Send + Sync {
    /// The only port of the loopback interface the command may connect to.
    fn port(&self) -> u16;

    /// The proxy's address with this pass's credentials, as `HTTP_PROXY` has it.
    fn proxy(&self) -> String;

    /// With whom the command asked to be connected so far, each once, in order of name.
    fn contacts(&self) -> Vec<Contact>;
}
