//! The domain model. Nothing here does I/O, reads a clock or generates random numbers: everything is a value, and every
//! function returns the same result for the same arguments.

pub mod account;
pub mod account_fields;
pub mod adopted;
pub mod approval;
pub mod attachment;
pub mod audit;
pub mod branch;
pub mod chosen;
pub mod client;
pub mod client_chain;
pub mod commit;
pub mod compacted;
pub mod continued;
pub mod cost;
pub mod defang;
pub mod deleted;
pub mod egress;
pub mod elicitation;
pub mod embedder;
pub mod entry_path;
pub mod event;
pub mod find;
pub mod git;
pub mod home_id;
pub mod ids;
pub mod knowledge;
pub mod language;
pub mod library_rows;
pub mod linking;
pub mod mask;
pub mod mcp;
mod mcp_package;
mod mcp_rules;
pub mod members;
pub mod mention;
pub mod message;
pub mod path;
pub mod period;
pub mod permission_mode;
pub mod picture;
pub mod pinned;
pub mod place;
pub mod project;
pub mod proxy_request;
pub mod queued;
pub mod reasoning;
pub mod recall;
pub mod repair;
pub mod request;
pub mod root;
pub mod runs_later;
pub mod secret;
pub mod session;
mod session_queries;
pub mod stamp;
pub mod taint;
pub mod todo;
pub mod tool;
pub mod trusted_proxy;
pub mod uid_range;
mod usage_limits;
pub mod visible;
pub mod withdrawn;
pub mod work;
pub mod written;
pub mod yaml;

pub use account::{Account, AccountBook, AccountId, AccountRefused, AccountRole};
pub use adopted::{adopted_messages, without_claims};
pub use approval::{
    AlwaysAllowedCall, Approval, ApprovalAnswer, ApprovalReason, CallApproval, Decision, RecordedAnswer,
    RehearsalState, Rehearsed, Scope, Shown, UnkeptFile, UnkeptReason,
};
pub use attachment::{Attachment, UserPrompt};
pub use audit::{AuditEntry, AuditFilter, AuditOutcome, AuditPage};
pub use branch::Branch;
pub use chosen::{AutoCompact, BadChoice, ChoiceChange, Chosen};
pub use client::{AnswerForm, ClientRequest, ClientResult, ClientTool, DirectCall, ToolChoice};
pub use commit::Commit;
pub use compacted::{CompactedPart, RestoreRefused, name_of};
pub use cost::{BadCurrency, Cost, Currency, Price};
pub use deleted::{DeletedTurn, turn_of, turns};
pub use egress::{EgressAttempt, EgressAttempts, EgressGrant, EgressProxy};
pub use elicitation::{Elicitation, ElicitationAction, ElicitationAnswer, RecordedElicitation, Resumption, Wanted};
pub use embedder::{EmbedError, EmbeddedText, Embedder, EmbeddingInput, TokenEmbedder, TokenVector};
pub use entry_path::EntryPath;
pub use event::{Binding, Event, Fact, HandOff, InputProgress, RequestedCall, StatusKind};
pub use git::{BranchName, GitAuthor, GitRefused};
pub use home_id::HomeId;
pub use ids::{ProjectId, SessionId, WorkId};
pub use knowledge::Hit;
pub use language::Language;
pub use linking::{FolderIdentity, LinkProblem, LinkRefused};
pub use mask::{Mask, MaskedStream};
pub use members::{
    FolderOwner, MemberBook, MemberRole, MemberState, MembersRefused, ProjectMember, ProjectRole, RoleRefused,
    SharedProject,
};
pub use mention::{Mention, MentionKind, mentions};
pub use message::{CallStatus, Message, Role, ToolCall};
pub use path::{BadPath, RelPath};
pub use period::Period;
pub use permission_mode::PermissionMode;
pub use picture::{NewPicture, Picture};
pub use pinned::{PINNED_CHARACTERS, PinRefused, PinnedMessage};
pub use place::Place;
pub use project::{Project, ProjectName, ProjectRefused};
pub use queued::{MOST_QUEUED, QueuedMessage, When};
pub use reasoning::{Reasoning, ReasoningItem};
pub use recall::{
    ConversationRecord, MessagePosition, TranscriptEntry, TranscriptKind, TranscriptPart, name_in_transcript,
};
pub use repair::{InterruptedWork, TOOK_SERVERS_DOWN};
pub use request::{AnsweredRequest, ChangedBy, SentPart, SentRequest, SentRetrieval, SentText};
pub use root::Root;
pub use secret::{SecretName, SecretRefused};
pub use session::Session;
pub use stamp::FileStamp;
pub use taint::Taint;
pub use todo::{TodoItem, TodoList};
pub use tool::{Effect, SKIPPED, ToolAnswer, ToolSpec, UNTRUSTED_FILE};
pub use trusted_proxy::TrustedProxy;
pub use uid_range::{BadUidRange, UidRange};
pub use usage_limits::{BadLimit, UsageLimit, UsageLimits, WrittenLimit, WrittenLimits, read_object};
pub use withdrawn::WithdrawnWork;
pub use work::{ErrorParams, Outcome, StoppedBy, Usage, Work};

/// Tells serde to leave out a number.
fn is_zero<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
}
