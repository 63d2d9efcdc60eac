//! `/ws`: a conversation over one WebSocket (Agent Web UI document, "MessageType"). It starts the same works as the other
//! connections, and shows the same events.

mod connection;
pub mod endpoint;
mod files;
mod following;
mod inbound;
mod outbound;
mod writer;

pub(in crate::api) use connection::IDLE_TIMEOUT;
pub(in crate::api) use inbound::MAX_FRAME;
pub(in crate::api) use writer::CloseCode;
