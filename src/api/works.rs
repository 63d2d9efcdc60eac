//! What a history tells of works beside their messages.

use serde::Serialize;

use crate::domain::Session;

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

pub(super) fn models_of(session: &Session) -> Vec<WorkModel> {
    let told = session.works.iter().filter(|work| !work.model.is_empty());
    told.map(|work| WorkModel {
        work_id: work.work_id.to_string(),
        model: work.model.clone(),
        instead_of: work.instead_of.clone(),
    })
    .collect()
}
