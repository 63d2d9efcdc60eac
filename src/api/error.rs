//! Error responses: `{code, message, error}`.

use std::io::ErrorKind;

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::config::settings::SettingError;
use crate::domain::ids::BadSessionId;
use crate::domain::path::BadPath;
use crate::domain::{
    EntryPath, ErrorParams, GitRefused, LinkProblem, LinkRefused, PinRefused, ProjectRefused, RoleRefused,
    SecretRefused, WorkId,
};
use crate::engine::models::ModelError;
use crate::engine::own_providers::OwnProvidersRefused;
use crate::engine::provider_changes::ProviderRefused;
use crate::engine::server_settings::SettingsRefused;
use crate::engine::withdrawal::WithdrawRefused;
use crate::engine::{EngineError, UndoError};
use crate::store::{NotKeptFile, OwnProviderRefused, StoreError};

/// The body of every error response.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ErrorBody {
    /// A stable code for programs, e.g. `not_found`.
    pub code: String,
    /// What happened and what to do, as an English sentence.
    pub message: String,
    /// The same as `message`, under the name used in the mini-OpenClaw document.
    pub error: String,
    /// Only with `changed_on_disk`: the hash of the file's current content. Absent if the file was deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// Values that `message` contains, by name, so that a page can show the error in another language. Present for
    /// errors of a model's provider, and of works that cannot be withdrawn.
    #[serde(rename = "about", skip_serializing_if = "ErrorParams::is_empty")]
    #[schema(value_type = HashMap<String, String>)]
    pub params: ErrorParams,
}

#[derive(Clone, Debug)]
pub struct ApiError {
    pub status: StatusCode,
    pub code: &'static str,
    pub message: String,
    pub etag: Option<String>,
    /// Seconds after which the client may retry.
    pub retry_after: Option<u64>,
    /// Values that the message contains, by name.
    pub params: ErrorParams,
}

/// The name of the field of a request among the values of an error.
const FIELD: &str = "request_field";

/// What an error response says, for a path that says it in another form.
#[derive(Clone, Debug)]
pub(super) struct RefusedWith {
    pub code: &'static str,
    pub message: String,
    /// The field of the request that is wrong.
    pub field: Option<String>,
}

impl ApiError {
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), etag: None, retry_after: None, params: ErrorParams::new() }
    }

    /// Returns the error with the field of the request that is wrong, which the OpenAI API says.
    pub fn of_field(mut self, field: impl Into<String>) -> Self {
        self.params.insert(FIELD.to_owned(), field.into());
        self
    }

    pub fn field(&self) -> Option<&str> {
        self.params.get(FIELD).map(String::as_str)
    }

    /// Returns the response for a handler that panicked.
    pub fn panicked() -> Response {
        let message = "an internal error occurred; see the server log";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message).into_response()
    }

    pub fn signed_out() -> Self {
        let message = "access token required: sign in at /, or send Authorization: Bearer <token>";
        Self::new(StatusCode::UNAUTHORIZED, "signed_out", message)
    }

    pub fn disabled() -> Self {
        Self::new(StatusCode::FORBIDDEN, "disabled", "this account is disabled; ask an admin of this server")
    }

    pub fn read_only_token() -> Self {
        let message = "this access token can only read; make one with the scope \"full\" to change anything";
        Self::new(StatusCode::FORBIDDEN, "read_only_token", message)
    }

    pub fn ask_token() -> Self {
        let message = "this token is for the OpenAI API below /v1 and the MCP server at /mcp only";
        Self::new(StatusCode::FORBIDDEN, "ask_token", message)
    }

    /// The OpenAI API takes no cookies, and needs a token even on the own machine.
    pub fn no_api_token() -> Self {
        let message = "the OpenAI API needs Authorization: Bearer <token>; make a token with `miniclaw token add --scope ask`, \
                       or under “Access tokens” of an account";
        Self::new(StatusCode::UNAUTHORIZED, "signed_out", message)
    }

    pub fn single_mode() -> Self {
        let message = "this server is for one person and has no accounts; see docs/people.md";
        Self::new(StatusCode::FORBIDDEN, "single_mode", message)
    }

    pub fn only_page() -> Self {
        let message = "only this server's page can do this; reload it if the server was restarted";
        Self::new(StatusCode::FORBIDDEN, "no_secret", message)
    }

    pub fn too_many_tries(seconds: u64) -> Self {
        let message = format!("too many failed sign-in attempts from your address; try again in {seconds} s");
        let error = Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_tries", message);
        Self { retry_after: Some(seconds), ..error }
    }

    /// The home has no owner that answers, and will have one in a moment.
    pub fn home_moving(message: String) -> Self {
        let error = Self::new(StatusCode::SERVICE_UNAVAILABLE, "home_moving", message);
        Self { retry_after: Some(1), ..error }
    }

    pub fn bad_request(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let field = self.field().map(str::to_owned);
        let body = ErrorBody {
            code: self.code.to_owned(),
            error: self.message.clone(),
            message: self.message,
            etag: self.etag,
            params: self.params,
        };
        let refused = RefusedWith { code: self.code, message: body.message.clone(), field };
        let mut answer = (self.status, Json(body)).into_response();
        answer.extensions_mut().insert(refused);
        if let Some(seconds) = self.retry_after {
            answer.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        answer
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let (status, code, etag) = match &error {
            StoreError::NotFound { .. } => (StatusCode::NOT_FOUND, "not_found", None),
            StoreError::NotText { .. } => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_utf8", None),
            StoreError::Exists { .. } => (StatusCode::CONFLICT, "exists", None),
            StoreError::NotKept { files } => return not_kept(files, error.to_string()),
            StoreError::TooLarge { .. } | StoreError::TooManyFiles { .. } => {
                (StatusCode::PAYLOAD_TOO_LARGE, "too_large", None)
            }
            StoreError::Project(refused) => return project_refused(refused),
            StoreError::Role(RoleRefused::ReadOnly) => (StatusCode::FORBIDDEN, "read_only", None),
            StoreError::Role(RoleRefused::OwnerOnly) => (StatusCode::FORBIDDEN, "owner_only", None),
            StoreError::Secret(refused) => return secret_refused(refused),
            StoreError::OwnProvider(OwnProviderRefused::Unknown(_)) => {
                (StatusCode::NOT_FOUND, "unknown_provider", None)
            }
            StoreError::OwnProvider(OwnProviderRefused::TooMany) => (StatusCode::CONFLICT, "too_many_providers", None),
            StoreError::OwnProvider(OwnProviderRefused::Exists(_)) => (StatusCode::CONFLICT, "provider_exists", None),
            StoreError::NoUpload { .. } => (StatusCode::NOT_FOUND, "no_upload", None),
            StoreError::Incomplete { .. } => (StatusCode::CONFLICT, "incomplete", None),
            StoreError::TooManyUploads => (StatusCode::SERVICE_UNAVAILABLE, "too_many_uploads", None),
            StoreError::Unavailable(problem) => (StatusCode::CONFLICT, problem_code(problem), None),
            StoreError::BadArchive(_) => (StatusCode::BAD_REQUEST, "bad_archive", None),
            StoreError::Conflict { etag, .. } => (StatusCode::PRECONDITION_FAILED, "changed_on_disk", etag.clone()),
            StoreError::NotAllowed { .. } => (StatusCode::FORBIDDEN, "not_allowed", None),
            StoreError::DiskFull => (StatusCode::INSUFFICIENT_STORAGE, "disk_full", None),
            StoreError::Newer { .. } => (StatusCode::CONFLICT, "newer_format", None),
            StoreError::DurabilityUnknown { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "disk_error", None),
            StoreError::Database(error) => (StatusCode::SERVICE_UNAVAILABLE, error.code(), None),
            StoreError::Fenced => (StatusCode::SERVICE_UNAVAILABLE, "fenced", None),
            // A server has opened its home, with a key, before it answers anything.
            StoreError::ShutDown | StoreError::NoKey { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "internal", None),
            StoreError::Locked { .. } | StoreError::HalfMoved | StoreError::HalfRestored => {
                (StatusCode::CONFLICT, "locked", None)
            }
            StoreError::Io { source, .. } => match source.kind() {
                // A file stands where a folder of the path would be.
                ErrorKind::NotADirectory => {
                    let message = "a file stands where a folder of this path would be".to_owned();
                    return Self::new(StatusCode::NOT_FOUND, "not_found", message);
                }
                _ => (StatusCode::INTERNAL_SERVER_ERROR, "io", None),
            },
        };
        let retry_after = matches!(error, StoreError::Fenced).then_some(1);
        Self { etag, retry_after, ..Self::new(status, code, error.to_string()) }
    }
}

fn secret_refused(refused: &SecretRefused) -> ApiError {
    let (status, code) = match refused {
        SecretRefused::BadName => (StatusCode::BAD_REQUEST, "bad_secret_name"),
        SecretRefused::Reserved(_) => (StatusCode::BAD_REQUEST, "secret_name_reserved"),
        SecretRefused::TooShort => (StatusCode::BAD_REQUEST, "secret_too_short"),
        SecretRefused::TooLong => (StatusCode::BAD_REQUEST, "secret_too_long"),
        SecretRefused::BadValue => (StatusCode::BAD_REQUEST, "bad_secret_value"),
        SecretRefused::TooMany => (StatusCode::CONFLICT, "too_many_secrets"),
        SecretRefused::Unknown(_) => (StatusCode::NOT_FOUND, "no_secret_of_name"),
        SecretRefused::Sealed => (StatusCode::CONFLICT, "secrets_sealed"),
    };
    ApiError::new(status, code, refused.to_string())
}

impl From<SecretRefused> for ApiError {
    fn from(refused: SecretRefused) -> Self {
        secret_refused(&refused)
    }
}

impl From<GitRefused> for ApiError {
    fn from(refused: GitRefused) -> Self {
        let (status, code) = match &refused {
            GitRefused::Missing => (StatusCode::SERVICE_UNAVAILABLE, "git_missing"),
            GitRefused::TimedOut => (StatusCode::SERVICE_UNAVAILABLE, "git_timed_out"),
            GitRefused::NoBranch => (StatusCode::NOT_FOUND, "no_branch"),
            GitRefused::BadAuthor => (StatusCode::BAD_REQUEST, "bad_author"),
            GitRefused::BadMessage => (StatusCode::BAD_REQUEST, "bad_message"),
            GitRefused::BadBranch => (StatusCode::BAD_REQUEST, "bad_branch"),
            GitRefused::NoRepository => (StatusCode::CONFLICT, "no_repository"),
            GitRefused::Elsewhere(_) => (StatusCode::CONFLICT, "git_elsewhere"),
            GitRefused::Exists => (StatusCode::CONFLICT, "repository_exists"),
            GitRefused::Locked(_) => (StatusCode::CONFLICT, "git_locked"),
            GitRefused::Dirty => (StatusCode::CONFLICT, "git_dirty"),
            GitRefused::NothingStaged => (StatusCode::CONFLICT, "nothing_staged"),
            GitRefused::Conflicts => (StatusCode::CONFLICT, "git_conflicts"),
            GitRefused::AuthorNeeded => (StatusCode::CONFLICT, "author_needed"),
            GitRefused::BranchExists => (StatusCode::CONFLICT, "branch_exists"),
            GitRefused::Failed(_) => (StatusCode::CONFLICT, "git_failed"),
        };
        Self::new(status, code, refused.to_string())
    }
}

fn project_refused(refused: &ProjectRefused) -> ApiError {
    let (status, code) = match refused {
        ProjectRefused::BadName => (StatusCode::BAD_REQUEST, "bad_project_name"),
        ProjectRefused::LongDescription => (StatusCode::BAD_REQUEST, "description_too_long"),
        ProjectRefused::NameTaken(_) => (StatusCode::CONFLICT, "name_taken"),
        ProjectRefused::Busy => (StatusCode::CONFLICT, "busy"),
        ProjectRefused::FolderTaken(_) => (StatusCode::CONFLICT, "folder_taken"),
        ProjectRefused::Link(refused) => link_refused(refused),
    };
    ApiError::new(status, code, refused.to_string())
}

fn link_refused(refused: &LinkRefused) -> (StatusCode, &'static str) {
    match refused {
        LinkRefused::NotAbsolute => (StatusCode::BAD_REQUEST, "link_bad_path"),
        LinkRefused::Missing(_) => (StatusCode::NOT_FOUND, "link_missing"),
        LinkRefused::NotFolder(_) => (StatusCode::BAD_REQUEST, "link_not_folder"),
        LinkRefused::NotReadable(_) => (StatusCode::FORBIDDEN, "link_not_readable"),
        LinkRefused::TooMuch(_) => (StatusCode::FORBIDDEN, "link_too_much"),
        LinkRefused::HomeDirectory(_) => (StatusCode::FORBIDDEN, "link_home_directory"),
        LinkRefused::System(_) => (StatusCode::FORBIDDEN, "link_system"),
        LinkRefused::Secrets(_) => (StatusCode::FORBIDDEN, "link_secrets"),
        LinkRefused::OwnHome(_) => (StatusCode::FORBIDDEN, "link_own_home"),
        LinkRefused::Linked { .. } => (StatusCode::CONFLICT, "link_exists"),
        LinkRefused::Changed(_) => (StatusCode::CONFLICT, "link_changed"),
        LinkRefused::SeveralPeople => (StatusCode::FORBIDDEN, "link_several_people"),
    }
}

/// Returns the stable code of why the folder of a project cannot be used.
pub(super) fn problem_code(problem: &LinkProblem) -> &'static str {
    match problem {
        LinkProblem::Missing(_) => "folder_missing",
        LinkProblem::Replaced(_) => "folder_replaced",
        LinkProblem::NotReadable(_) => "folder_not_readable",
        LinkProblem::NotHere(_) => "folder_not_here",
    }
}

impl From<ProjectRefused> for ApiError {
    fn from(refused: ProjectRefused) -> Self {
        project_refused(&refused)
    }
}

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> Self {
        let message = error.to_string();
        match error {
            EngineError::NoHome(_) => Self::new(StatusCode::NOT_FOUND, "not_found", message),
            EngineError::HomeMoving => Self::home_moving(message),
            EngineError::NoSession(_) | EngineError::NoProject(_) => {
                Self::new(StatusCode::NOT_FOUND, "not_found", message)
            }
            EngineError::NoMessage(_) | EngineError::NoJob(_) => Self::new(StatusCode::NOT_FOUND, "not_found", message),
            EngineError::NotHandedOff => Self::new(StatusCode::NOT_FOUND, "not_found", message),
            EngineError::ResultsMissing(_) => Self::bad_request("results_missing", message),
            EngineError::Compacted => Self::new(StatusCode::CONFLICT, "compacted", message),
            EngineError::Busy => Self::new(StatusCode::CONFLICT, "busy", message),
            EngineError::PinRefused(PinRefused::NoText) => Self::new(StatusCode::CONFLICT, "no_text", message),
            EngineError::PinRefused(PinRefused::TooLong(_)) => {
                Self::new(StatusCode::CONFLICT, "pins_too_long", message)
            }
            EngineError::KeyReused => Self::new(StatusCode::UNPROCESSABLE_ENTITY, "key_reused", message),
            EngineError::BadChoice(_) => Self::bad_request("bad_choice", message),
            EngineError::LabelRefused(_) => Self::bad_request("bad_label", message),
            EngineError::OnlyPage => Self::only_page(),
            EngineError::ConfirmMode => Self::new(StatusCode::CONFLICT, "confirm_loosening", message),
            EngineError::Git(refused) => refused.into(),
            EngineError::NoSandbox(_) => Self::new(StatusCode::SERVICE_UNAVAILABLE, "no_sandbox", message),
            EngineError::QueueFull => Self::new(StatusCode::CONFLICT, "queue_full", message),
            EngineError::TooManyCalls => Self::new(StatusCode::CONFLICT, "too_many_calls", message),
            EngineError::NotQueued(_) => Self::new(StatusCode::NOT_FOUND, "not_found", message),
            EngineError::Unqueued => Self::new(StatusCode::CONFLICT, "unqueued", message),
            EngineError::NothingToContinue => Self::new(StatusCode::CONFLICT, "nothing_to_continue", message),
            EngineError::Undo(UndoError::Unknown) => Self::new(StatusCode::NOT_FOUND, "not_found", message),
            EngineError::Undo(UndoError::Changed(_)) => Self::new(StatusCode::CONFLICT, "changed_since", message),
            EngineError::Undo(UndoError::JobRunning) => Self::new(StatusCode::CONFLICT, "job_running", message),
            EngineError::Undo(UndoError::Store(error)) => error.into(),
            EngineError::Withdraw(refused) => withdraw_refused(refused, message),
            EngineError::Refused(_) => Self::new(StatusCode::CONFLICT, "refused", message),
            EngineError::AnswerRefused(refused) => refused.into(),
            EngineError::ProviderRefused(refused) => match refused {
                ProviderRefused::Unknown(_) => Self::new(StatusCode::NOT_FOUND, "unknown_provider", message),
                ProviderRefused::UnknownModel(_) => Self::new(StatusCode::NOT_FOUND, "unknown_model", message),
                ProviderRefused::Exists(_) => Self::new(StatusCode::CONFLICT, "provider_exists", message),
                ProviderRefused::NotEditable(_) => Self::new(StatusCode::CONFLICT, "not_editable", message),
                ProviderRefused::NotHere => Self::new(StatusCode::FORBIDDEN, "config_elsewhere", message),
                ProviderRefused::OnAllServers => Self::new(StatusCode::CONFLICT, "config_of_cluster", message),
                ProviderRefused::KeyNeeded => Self::new(StatusCode::CONFLICT, "key_needed", message),
            },
            EngineError::OwnProviders(refused) => match refused {
                OwnProvidersRefused::OnePerson => Self::single_mode(),
                OwnProvidersRefused::Off => Self::new(StatusCode::FORBIDDEN, "own_providers_off", message),
                OwnProvidersRefused::NotEncrypted => Self::bad_request("address_not_encrypted", message),
                OwnProvidersRefused::UnreadableKey => Self::new(StatusCode::CONFLICT, "key_unreadable", message),
                OwnProvidersRefused::UnknownModel(_) => Self::new(StatusCode::NOT_FOUND, "unknown_model", message),
            },
            EngineError::SettingsRefused(refused) => match refused {
                SettingsRefused::Setting(SettingError::Unknown(_)) => Self::bad_request("unknown_setting", message),
                SettingsRefused::Setting(SettingError::Bad { .. }) => Self::bad_request("bad_setting", message),
                SettingsRefused::Setting(SettingError::SandboxOff) => Self::bad_request("sandbox_off", message),
                SettingsRefused::Setting(SettingError::Confirm(keys)) => {
                    let params = ErrorParams::from([("settings".to_owned(), keys.join(", "))]);
                    Self { params, ..Self::new(StatusCode::CONFLICT, "confirm_loosening", message) }
                }
                SettingsRefused::Invalid(_) => Self::new(StatusCode::CONFLICT, "config_invalid", message),
                SettingsRefused::MakesInvalid(_) => Self::bad_request("bad_setting", message),
                SettingsRefused::CannotEdit(_) => Self::new(StatusCode::CONFLICT, "config_not_editable", message),
                SettingsRefused::IsLink => Self::new(StatusCode::CONFLICT, "config_is_link", message),
                SettingsRefused::Overridden(_) => Self::new(StatusCode::CONFLICT, "environment_wins", message),
                SettingsRefused::ProviderGone(_) => Self::new(StatusCode::NOT_FOUND, "unknown_provider", message),
                SettingsRefused::ProviderChanged(_) => Self::new(StatusCode::CONFLICT, "provider_changed", message),
                SettingsRefused::NeedsToken => Self::new(StatusCode::CONFLICT, "needs_token", message),
                SettingsRefused::NeedsTls => Self::new(StatusCode::CONFLICT, "needs_tls", message),
            },
            EngineError::CannotSee(_) => Self::new(StatusCode::UNPROCESSABLE_ENTITY, "cannot_see", message),
            EngineError::ChangedSince => Self::new(StatusCode::CONFLICT, "changed_since", message),
            EngineError::RestoreRefused(_) => Self::new(StatusCode::CONFLICT, "stays_archived", message),
            EngineError::TooShort => Self::bad_request("too_short", message),
            EngineError::TooManyUploads => Self::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_uploads", message),
            EngineError::ShuttingDown => Self::new(StatusCode::SERVICE_UNAVAILABLE, "shutting_down", message),
            EngineError::Internal(_) => Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message),
            EngineError::Store(error) => error.into(),
            EngineError::Model(ModelError::NoModel(_)) => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "no_model", message)
            }
            EngineError::Model(ModelError::Gone(_)) => Self::new(StatusCode::CONFLICT, "unknown_model", message),
            EngineError::Model(ModelError::Unknown(_)) => Self::bad_request("unknown_model", message),
            EngineError::Model(ModelError::Provider(error)) | EngineError::Provider(error) => {
                Self { params: error.params(), ..Self::new(StatusCode::BAD_GATEWAY, error.code(), message) }
            }
        }
    }
}

/// The files are in `about`, separated by line breaks, and again with their sizes.
fn not_kept(files: &[NotKeptFile], message: String) -> ApiError {
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let sizes: Vec<String> = files.iter().map(sized).collect();
    let params = ErrorParams::from([("files".to_owned(), paths.join("\n")), ("sizes".to_owned(), sizes.join("\n"))]);
    ApiError { params, ..ApiError::new(StatusCode::CONFLICT, "not_kept", message) }
}

fn sized(NotKeptFile { path, size, .. }: &NotKeptFile) -> String {
    size.map_or_else(|| path.clone(), |size| format!("{path} ({size} B)"))
}

/// The files, and the works that come first, are in `about`, separated by line breaks.
fn withdraw_refused(refused: WithdrawRefused, message: String) -> ApiError {
    let conflict = |code| ApiError::new(StatusCode::CONFLICT, code, message.clone());
    let lines = |texts: Vec<String>| texts.join("\n");
    let of_works = |files: Vec<EntryPath>, works: Vec<WorkId>| {
        let files = lines(files.iter().map(ToString::to_string).collect());
        let works = lines(works.iter().map(ToString::to_string).collect());
        ErrorParams::from([("files".to_owned(), files), ("works".to_owned(), works)])
    };
    match refused {
        WithdrawRefused::NoWork(_) => ApiError::new(StatusCode::NOT_FOUND, "not_found", message),
        WithdrawRefused::Withdrawn => conflict("withdrawn"),
        WithdrawRefused::NotWithdrawn => conflict("not_withdrawn"),
        WithdrawRefused::Compacted => conflict("compacted"),
        WithdrawRefused::JobRunning => conflict("job_running"),
        WithdrawRefused::NotChanged(_) => conflict("not_of_work"),
        WithdrawRefused::LaterWorks { files, works } => {
            ApiError { params: of_works(files, works), ..conflict("later_works") }
        }
        WithdrawRefused::EarlierWorks { files, works } => {
            ApiError { params: of_works(files, works), ..conflict("earlier_works") }
        }
        WithdrawRefused::NotKept(files) => not_kept(&files, message),
        WithdrawRefused::ChangedSince(files) => {
            let params = ErrorParams::from([("files".to_owned(), lines(files))]);
            ApiError { params, ..conflict("files_changed") }
        }
        WithdrawRefused::Store(error) => error.into(),
    }
}

impl From<BadSessionId> for ApiError {
    fn from(error: BadSessionId) -> Self {
        Self::bad_request("bad_session_id", error.to_string())
    }
}

impl From<BadPath> for ApiError {
    fn from(error: BadPath) -> Self {
        match error {
            BadPath::Outside(_) => Self::new(StatusCode::FORBIDDEN, "not_allowed", error.to_string()),
            error => Self::bad_request("bad_path", error.to_string()),
        }
    }
}
