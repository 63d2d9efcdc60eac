//! What a history says about works, beside their messages.

use serde::Serialize;

use crate::domain::{ErrorFields, Outcome, Session};

/// Who was asked.
#[derive(Serialize, utoipa::ToSchema)]
pub struct WorkModel {
    work_id: String,
    /// As the provider calls it.
    model: String,
    /// The model that did not answer, where `model` was asked in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    instead_of: Option<String>,
}

/// Why a work failed, for a page that says it in its own language.
#[derive(Serialize, utoipa::ToSchema)]
pub struct Failure {
    work_id: String,
    code: String,
    retryable: bool,
    /// What the sentence speaks of, by name.
    #[serde(skip_serializing_if = "ErrorFields::is_empty")]
    #[schema(value_type = HashMap<String, String>)]
    about: ErrorFields,
}

pub(in crate::api) fn models_of(session: &Session) -> Vec<WorkModel> {
    let told = session.works.iter().filter(|work| !work.model.is_empty());
    told.map(|work| WorkModel {
        work_id: work.work_id.to_string(),
        model: work.model.clone(),
        instead_of: work.instead_of.clone(),
    })
    .collect()
}

pub(in crate::api) fn failures_of(session: &Session) -> Vec<Failure> {
    let failed = session.works.iter().filter_map(|work| match work.outcome.as_ref()? {
        Outcome::Error { code, retryable, about, .. } => Some(Failure {
            work_id: work.work_id.to_string(),
            code: code.clone(),
            retryable: *retryable,
            about: about.clone(),
        }),
        _ => None,
    });
    failed.collect()
}
