//! Why the application refuses or fails.

use super::client_asks::MAX_CALLS_AT_ONCE;
use super::documents::UndoError;
use super::{approvals, labels, models, own_providers, provider_changes, server_settings, withdrawal};
use crate::domain::{BadChoice, GitRefused, HomeId, MOST_QUEUED, PinRefused, ProjectId, RestoreRefused, SessionId};
use crate::provider::ProviderError;
use crate::store::StoreError;

/// Why a request was refused or failed, by what the caller can do about it.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("there is no session {0}")]
    NoSession(SessionId),
    #[error("there is nobody here by the name {0}")]
    NoHome(HomeId),
    #[error(
        "another server takes this home over, or this one has lost the database; nothing was done, try again in a moment"
    )]
    HomeMoving,
    #[error("this session has no message {0}")]
    NoMessage(String),
    #[error("this session has no background command {0}; it may have ended with the server")]
    NoJob(String),
    #[error("there is no project {0} in this home")]
    NoProject(ProjectId),
    #[error("this idempotency key belongs to another message; send each message with a key of its own")]
    KeyReused,
    #[error("this session is running; wait until it's done, or stop it first")]
    Busy,
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Undo(#[from] UndoError),
    #[error(transparent)]
    Withdraw(#[from] withdrawal::WithdrawRefused),
    #[error(transparent)]
    AnswerRefused(#[from] approvals::AnswerRefused),
    #[error(transparent)]
    ProviderRefused(#[from] provider_changes::ProviderRefused),
    #[error(transparent)]
    OwnProviders(#[from] own_providers::OwnProvidersRefused),
    #[error(transparent)]
    SettingsRefused(#[from] server_settings::SettingsRefused),
    #[error(
        "{0} doesn't support images: choose another model, or remove the images; if it does, add it to \
         `vision_models` in config.yml, or to MINICLAW_VISION_MODELS"
    )]
    CannotSee(String),
    #[error(transparent)]
    BadChoice(#[from] BadChoice),
    #[error(transparent)]
    LabelRefused(#[from] labels::LabelRefused),
    #[error(transparent)]
    PinRefused(#[from] PinRefused),
    #[error("only this server's page can change what may run in a conversation")]
    OnlyPage,
    #[error("commands that need approval would run without it in this conversation; that has to be confirmed")]
    ConfirmMode,
    #[error("{MOST_QUEUED} messages are waiting already; remove one, or wait until one has run")]
    QueueFull,
    #[error("this program has {MAX_CALLS_AT_ONCE} calls under way already; wait until one has ended")]
    TooManyCalls,
    #[error("there is no queued message {0}; it may have run already")]
    NotQueued(String),
    #[error("the message was removed from the queue")]
    Unqueued,
    #[error("no call of this conversation waits for these results")]
    NotHandedOff,
    #[error("the results of these calls are missing: {0}")]
    ResultsMissing(String),
    #[error("a summary replaces this message: restore the messages first")]
    Compacted,
    #[error("the last response is complete; there is nothing to continue")]
    NothingToContinue,
    #[error("this session is too short to compact: it needs at least 4 messages")]
    TooShort,
    #[error("the conversation has changed since this summary was generated; nothing was compacted, review it again")]
    ChangedSince,
    #[error(transparent)]
    RestoreRefused(#[from] RestoreRefused),
    #[error("too many uploads are under way; try again when one is done")]
    TooManyUploads,
    #[error(transparent)]
    Git(#[from] GitRefused),
    #[error("{0}")]
    NoSandbox(String),
    #[error("the server is shutting down")]
    ShuttingDown,
    #[error("{0}")]
    Internal(&'static str),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Model(#[from] models::ModelError),
    #[error(transparent)]
    Provider(#[from] ProviderError),
}
