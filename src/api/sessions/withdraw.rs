//! Withdrawing works, and reapplying them.

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::JsonRejection;
use serde::{Deserialize, Serialize};

use crate::api::body::JsonBody;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::{EntryPath, SessionId, WorkId};
use crate::engine::Direction;
use crate::engine::documents::FileEffect;
use crate::engine::withdrawal::WithdrawRequest;

/// The body may be empty.
#[derive(Deserialize, utoipa::ToSchema)]
pub struct KeptFiles {
    /// Files that stay as they are, as the preview names them. The work must have changed each of them.
    #[serde(default)]
    keep: Vec<String>,
}

/// A work that was withdrawn or reapplied.
#[derive(Serialize, utoipa::ToSchema)]
pub struct Withdrawal {
    work_id: String,
    /// `true` if it was withdrawn, `false` if it was reapplied.
    withdrawn: bool,
    /// The files that it changed, in the order in which it first did.
    files: Vec<WithdrawnFile>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct WithdrawnFile {
    path: String,
    effect: FileEffect,
}

/// Withdraws a work.
///
/// The files that it changed become what they were before it, and requests no longer contain its messages; the record keeps
/// them. If one of the files cannot be restored and is not in `keep`, nothing is changed.
#[utoipa::path(post, path = "/api/sessions/{id}/works/{work_id}/withdraw", tag = "sessions",
    request_body(content = Option<KeptFiles>), params(("id" = String, Path), ("work_id" = String, Path)),
    responses((status = 200, body = Withdrawal), (status = 400, description = "bad_json or bad_path", body = ErrorBody),
              (status = 404, description = "No such session or work", body = ErrorBody),
              (status = 409, description = "later_works: later works changed the same files (`about.files`, `about.works`, \
                one per line); files_changed: files were changed since (`about.files`); not_kept: a content is not kept any more \
                (`about.files`); not_of_work: a path of `keep` is none of its files; withdrawn: it is withdrawn already; \
                job_running: a command of it is still running in the background; compacted: its messages are compacted; busy: \
                the session is at work", body = ErrorBody)))]
pub async fn withdraw(
    caller: Caller,
    Path(ids): Path<(String, String)>,
    request: Result<JsonBody<KeptFiles>, JsonRejection>,
) -> Result<Json<Withdrawal>, ApiError> {
    change(&caller, ids, request, Direction::Undo).await
}

/// Reapplies a withdrawn work.
///
/// The files become what they were after it, except those that were kept, and requests contain its messages again. If one of
/// the files cannot be changed and is not in `keep`, nothing is changed.
#[utoipa::path(post, path = "/api/sessions/{id}/works/{work_id}/reapply", tag = "sessions",
    request_body(content = Option<KeptFiles>), params(("id" = String, Path), ("work_id" = String, Path)),
    responses((status = 200, body = Withdrawal), (status = 400, description = "bad_json or bad_path", body = ErrorBody),
              (status = 404, description = "No such session or work", body = ErrorBody),
              (status = 409, description = "earlier_works: earlier works that are withdrawn changed the same files \
                (`about.files`, `about.works`, one per line); files_changed: files were changed since (`about.files`); \
                not_of_work: a path of `keep` is none of its files; not_withdrawn: it is in effect; compacted: its messages \
                are compacted; busy: the session is at work", body = ErrorBody)))]
pub async fn reapply(
    caller: Caller,
    Path(ids): Path<(String, String)>,
    request: Result<JsonBody<KeptFiles>, JsonRejection>,
) -> Result<Json<Withdrawal>, ApiError> {
    change(&caller, ids, request, Direction::Redo).await
}

async fn change(
    caller: &Caller,
    (id, work_id): (String, String),
    request: Result<JsonBody<KeptFiles>, JsonRejection>,
    direction: Direction,
) -> Result<Json<Withdrawal>, ApiError> {
    let JsonBody(KeptFiles { keep }) =
        request.map_err(|rejection| ApiError::bad_request("bad_json", rejection.body_text()))?;
    let keep = keep.iter().map(|path| EntryPath::parse(path)).collect::<Result<_, _>>()?;
    let request = WithdrawRequest { work_id: WorkId::new(work_id.as_str()), direction, keep };
    let files = caller.engine.withdraw(&SessionId::parse(&id)?, request).await?;
    let files = files.into_iter().map(|file| WithdrawnFile { path: file.path.to_string(), effect: file.effect });
    Ok(Json(Withdrawal { work_id, withdrawn: direction == Direction::Undo, files: files.collect() }))
}
