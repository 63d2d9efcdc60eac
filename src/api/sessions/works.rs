//! What a history contains about works, besides their messages.

use serde::Serialize;

use crate::domain::{ErrorParams, Outcome, Session};

/// The model that a work was given to.
#[derive(Serialize, utoipa::ToSchema)]
pub struct WorkModel {
    work_id: String,
    /// The provider's name of the model.
    model: String,
    /// The model that did not answer, if `model` was asked instead of it; otherwise absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    instead_of: Option<String>,
    /// Number of the session's messages, counted from the first, that a request of this work did not contain because they
    /// did not fit.
    left_out: usize,
}

/// Why a work failed, with a code so that a page can show the error in another language.
#[derive(Serialize, utoipa::ToSchema)]
pub struct Failure {
    work_id: String,
    code: String,
    retryable: bool,
    /// Values that the error's sentence contains, by name.
    #[serde(rename = "about", skip_serializing_if = "ErrorParams::is_empty")]
    #[schema(value_type = HashMap<String, String>)]
    params: ErrorParams,
}

pub(in crate::api) fn models_of(session: &Session) -> Vec<WorkModel> {
    let told = session.works.iter().filter(|work| !work.model.is_empty());
    told.map(|work| WorkModel {
        work_id: work.work_id.to_string(),
        model: work.model.clone(),
        instead_of: work.instead_of.clone(),
        left_out: work.left_out,
    })
    .collect()
}

pub(in crate::api) fn failures_of(session: &Session) -> Vec<Failure> {
    let failed = session.works.iter().filter_map(|work| match work.outcome.as_ref()? {
        Outcome::Error { code, retryable, params, .. } => Some(Failure {
            work_id: work.work_id.to_string(),
            code: code.clone(),
            retryable: *retryable,
            params: params.clone(),
        }),
        _ => None,
    });
    failed.collect()
}
