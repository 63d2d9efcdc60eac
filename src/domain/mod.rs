//! The words of the product. Nothing here does I/O, reads a clock or makes a random number: everything is a value, and
//! every function gives the same answer for the same arguments.

pub mod approval;
pub mod archived;
pub mod attachment;
pub mod branch;
pub mod chosen;
pub mod defang;
pub mod embedder;
pub mod event;
pub mod find;
pub mod ids;
pub mod knowledge;
pub mod mention;
pub mod message;
pub mod path;
pub mod picture;
pub mod repair;
pub mod request;
pub mod session;
pub mod stamp;
pub mod taint;
pub mod tool;
pub mod visible;
pub mod way_out;
pub mod work;
pub mod written;

pub use approval::{Answer, Answered, Approval, Because, CallApproval, Decision, Remembered, Scope, Shown};
pub use archived::{ArchivedPart, StaysArchived};
pub use attachment::{Attachment, Prompt};
pub use branch::Branch;
pub use chosen::Chosen;
pub use embedder::{EmbedError, Embedder, Side, TokenEmbedder, TokenVector};
pub use event::{Event, Fact, InputProgress, RequestedCall, StatusKind};
pub use ids::{SessionId, WorkId};
pub use knowledge::Hit;
pub use mention::{Mention, MentionKind, mentions};
pub use message::{CallStatus, Message, Role, ToolCall};
pub use path::HomePath;
pub use picture::{NewPicture, Picture};
pub use request::{ChangedBy, SentPart, SentRequest, SentRetrieval, SentText};
pub use session::Session;
pub use stamp::FileStamp;
pub use taint::Taint;
pub use tool::{Effect, OUTSIDE, ToolAnswer, ToolSpec};
pub use way_out::{Contact, Contacts, Pass, WayOut};
pub use work::{About, Outcome, StoppedBy, Usage, Work};
