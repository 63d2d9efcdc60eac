//! Searches the titles and messages of all sessions.

use axum::Json;
use axum::extract::Query;
use serde::Deserialize;

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::find::SearchTerms;
use crate::engine::find::FoundSessions;

/// Maximum length of a query, in characters.
const LONGEST: usize = 200;

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SearchSessionsQuery {
    /// Words; all of them must occur in the title or in one message.
    q: String,
}

/// Finds sessions whose title or messages contain all words.
#[utoipa::path(get, path = "/api/sessions/search", tag = "sessions", params(SearchSessionsQuery),
    responses((status = 200, body = FoundSessions), (status = 400, body = ErrorBody)))]
pub async fn find(caller: Caller, Query(looked): Query<SearchSessionsQuery>) -> Result<Json<FoundSessions>, ApiError> {
    if looked.q.chars().count() > LONGEST {
        return Err(ApiError::bad_request("too_long", format!("search for at most {LONGEST} characters")));
    }
    let Some(wanted) = SearchTerms::parse(&looked.q) else {
        return Err(ApiError::bad_request("no_words", "enter something to search for"));
    };
    Ok(Json(caller.engine.find(wanted).await?))
}
