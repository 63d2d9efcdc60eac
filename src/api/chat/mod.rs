//! Messages in, events out: the chat stream, its frames, attachments and approvals.

pub mod approvals;
pub mod attachments;
pub mod events;
pub mod frame;
pub mod message;
pub mod queue;
pub mod rehearsals;
pub mod sending;
pub mod sse;
