//! Tokens used, by day and by model.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::Query;
use serde::{Deserialize, Serialize};

use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::clock;
use crate::domain::Usage;
use crate::engine::blocking;

#[derive(Deserialize, utoipa::IntoParams)]
pub struct UsageQuery {
    /// The reader's offset from UTC in minutes, positive east of UTC, -1440 to 1440. Days begin at the reader's
    /// midnight. Default: 0.
    #[serde(default)]
    offset_minutes: i32,
}

#[derive(Default, Serialize, utoipa::ToSchema)]
pub struct UsageOf {
    /// A day as `2026-11-22`, or the provider's name of a model.
    name: String,
    /// Number of works.
    works: u64,
    usage: Usage,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct UsageReport {
    /// Days with at least one work, earliest first.
    days: Vec<UsageOf>,
    /// Most tokens first.
    models: Vec<UsageOf>,
}

/// Returns the tokens that providers counted for the works of all sessions, except deleted ones.
#[utoipa::path(get, path = "/api/usage", tag = "status", params(UsageQuery),
    responses((status = 200, body = UsageReport), (status = 400, body = ErrorBody)))]
pub async fn usage(caller: Caller, Query(zone): Query<UsageQuery>) -> Result<Json<UsageReport>, ApiError> {
    if !(-1440..=1440).contains(&zone.offset_minutes) {
        return Err(ApiError::bad_request("bad_offset", "offset_minutes is between -1440 and 1440"));
    }
    let home = caller.tenant().home.clone();
    let works = blocking(move || home.counted_works()).await?;
    let (mut days, mut models) = (BTreeMap::new(), BTreeMap::new());
    for work in works {
        let day = clock::day(work.created_at + f64::from(zone.offset_minutes) * 60.0);
        for (all, name) in [(&mut days, day), (&mut models, work.model)] {
            let of: &mut UsageOf = all.entry(name).or_default();
            of.works += 1;
            of.usage.add(work.usage);
        }
    }
    let mut models = named(models);
    models.sort_by_key(|of| std::cmp::Reverse(of.usage.total()));
    Ok(Json(UsageReport { days: named(days), models }))
}

fn named(all: BTreeMap<String, UsageOf>) -> Vec<UsageOf> {
    all.into_iter().map(|(name, of)| UsageOf { name, ..of }).collect()
}
