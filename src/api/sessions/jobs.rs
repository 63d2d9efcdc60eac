//! Commands that run in the background of a session.

use axum::Json;
use axum::extract::Path;
use serde::Serialize;

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::SessionId;
use crate::tools::project::{JobOutcome, JobReport};

#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    Running,
    Ended,
}

/// Commands that one call of `bash` runs in the background.
#[derive(Serialize, utoipa::ToSchema)]
pub struct BackgroundJob {
    /// Unique in its session until the server is restarted.
    id: String,
    /// The call that started it.
    call_id: String,
    /// The commands, one a line. Characters that are invisible or change how others are displayed are escaped.
    command: String,
    state: JobState,
    /// Unix seconds.
    started_at: f64,
    /// How long it ran, or has run so far.
    duration_ms: u64,
    /// How its last command ended, as English words; null while it runs.
    outcome: Option<String>,
    /// `stopped`, or why the last command failed: `exit_code`, `unknown_command`, `timeout`, `signal`, `no_folder`,
    /// `blocked` or `not_started`. Null while it runs and if it succeeded.
    code: Option<String>,
    exit_code: Option<i32>,
    /// The end of its output, up to 5,000 characters.
    output: String,
    /// Its output is longer.
    truncated: bool,
}

impl From<JobReport> for BackgroundJob {
    fn from(report: JobReport) -> Self {
        let JobReport { id, call_id, command, started_at, took, outcome, output, is_truncated } = report;
        let state = if outcome.is_some() { JobState::Ended } else { JobState::Running };
        let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let (outcome, code, exit_code) = match outcome {
            Some(JobOutcome { text, code, exit_code }) => (Some(text), code.map(str::to_owned), exit_code),
            None => (None, None, None),
        };
        Self {
            id,
            call_id,
            command,
            state,
            started_at,
            duration_ms,
            outcome,
            code,
            exit_code,
            output,
            truncated: is_truncated,
        }
    }
}

/// Lists the commands that run in the background of a session, and those that have ended since the server started.
///
/// The list has up to 16 entries, oldest first. The event `jobs_changed` tells when a command starts or ends.
#[utoipa::path(get, path = "/api/sessions/{id}/jobs", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = [BackgroundJob]), (status = 404, body = ErrorBody)))]
pub async fn list_jobs(caller: Caller, Path(id): Path<String>) -> Result<Json<Vec<BackgroundJob>>, ApiError> {
    let jobs = caller.engine.jobs(&SessionId::parse(&id)?).await?;
    Ok(Json(jobs.into_iter().map(BackgroundJob::from).collect()))
}

/// Stops a background command with everything that it has started, and waits for its end, up to eight seconds.
///
/// Does nothing to a command that has ended.
#[utoipa::path(post, path = "/api/sessions/{id}/jobs/{job}/stop", tag = "sessions",
    params(("id" = String, Path), ("job" = String, Path)),
    responses((status = 200, body = BackgroundJob),
              (status = 404, description = "No such session, or it has no such job", body = ErrorBody)))]
pub async fn stop_job(
    caller: Caller,
    Path((id, job)): Path<(String, String)>,
) -> Result<Json<BackgroundJob>, ApiError> {
    let id = SessionId::parse(&id)?;
    Ok(Json(caller.engine.stop_job(&id, &job).await?.into()))
}
