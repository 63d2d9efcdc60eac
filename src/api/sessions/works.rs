//! What a history contains about works, besides their messages.

use std::collections::HashSet;

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
    /// The model was offered no tools.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    without_tools: bool,
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

/// Returns the models of those of `works` that have one.
pub(in crate::api) fn models_of(session: &Session, works: &HashSet<&str>) -> Vec<WorkModel> {
    let told = session.works.iter().filter(|work| !work.model.is_empty() && works.contains(work.work_id.as_str()));
    told.map(|work| WorkModel {
        work_id: work.work_id.to_string(),
        model: work.model.clone(),
        instead_of: work.instead_of.clone(),
        without_tools: work.without_tools,
        left_out: work.left_out,
    })
    .collect()
}

/// Returns why those of `works` that failed did so.
pub(in crate::api) fn failures_of(session: &Session, works: &HashSet<&str>) -> Vec<Failure> {
    let wanted = session.works.iter().filter(|work| works.contains(work.work_id.as_str()));
    let failed = wanted.filter_map(|work| match work.outcome.as_ref()? {
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

/// Returns those of `works` that are withdrawn.
pub(in crate::api) fn withdrawn_of(session: &Session, works: &HashSet<&str>) -> Vec<String> {
    let withdrawn = session.withdrawn.iter().map(|withdrawn| withdrawn.work_id.as_str());
    withdrawn.filter(|work| works.contains(work)).map(str::to_owned).collect()
}
