//! Tokens used, by day, week or month.

use axum::Json;
use axum::extract::Query;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::agent::LimitSource;
use crate::api::conversations::envelope::{Enveloped, EnvelopedError, enveloped};
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::domain::{Cost, Period};
use crate::engine::usage_report::{LimitState, ReportRange, UsageItem, UsageReport, UsageSum};

/// Maximum offset from UTC in minutes.
const MAX_OFFSET: i32 = 1440;

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TokensQuery {
    /// `daily`, `weekly` or `monthly`. A week begins on Monday. Default: `daily`.
    #[serde(default)]
    period: Option<String>,
    /// The first day as `2026-11-22`; the report begins with the period that contains it. Default: the report covers 30
    /// days, 12 weeks or 12 months.
    #[serde(default)]
    from: Option<String>,
    /// The last day. Default: today.
    #[serde(default)]
    to: Option<String>,
    /// `project`: works of different projects have items of their own.
    #[serde(default)]
    by: Option<String>,
    /// Offset of the days from those of UTC in minutes, positive east of UTC, -1440 to 1440. Default: 0, days of UTC.
    #[serde(default)]
    offset_minutes: i32,
}

/// An amount of money.
#[derive(Serialize, utoipa::ToSchema)]
pub struct Amount {
    /// In the currency's unit.
    amount: f64,
    /// The ISO 4217 code, for example `USD`.
    currency: String,
}

/// The usage of several works.
#[derive(Serialize, utoipa::ToSchema)]
pub struct TokenSum {
    prompt_tokens: u64,
    completion_tokens: u64,
    /// Prompt and completion together.
    total_tokens: u64,
    /// Prompt tokens that the provider had cached.
    cached_tokens: u64,
    /// Completion tokens that were thinking, if the provider says so.
    thinking_tokens: u64,
    /// Tokens that this server estimated, because the provider did not count them: those of stopped responses, for example.
    estimated_tokens: u64,
    /// Number of works, one for each message of a person that was answered.
    works: u64,
    /// What the tokens with a known price cost, one amount for each currency. Empty if no price is known.
    costs: Vec<Amount>,
    /// Number of tokens whose price is not known. `costs` does not include them.
    unpriced_tokens: u64,
}

/// The usage of a model in one period.
#[derive(Serialize, utoipa::ToSchema)]
pub struct TokenItem {
    /// The first day of the period, as `2026-11-22`.
    date: String,
    /// The name that is sent to the provider. Empty if no model was called.
    model: String,
    /// Only with `by=project`: the project of the works, or `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, required = false)]
    project_id: Option<Option<String>>,
    #[serde(flatten)]
    sum: TokenSum,
}

/// A limit that counts for the person, and how much of it is used.
#[derive(Serialize, utoipa::ToSchema)]
pub struct TokenLimit {
    /// `day` or `month`, of UTC.
    period: &'static str,
    /// The most tokens; `null` for any number.
    tokens: Option<u64>,
    used_tokens: u64,
    /// The most that may be spent in this currency; `null` for any amount.
    cost: Option<Amount>,
    /// `null` if no amount is limited.
    used_cost: Option<Amount>,
    /// `server` (`limits` in config.yml), `admin` for a limit of this person only, or `person` for one that only asks.
    set_by: &'static str,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct TokenStats {
    period: Period,
    /// The time zone of the days: `UTC`, or an offset such as `UTC+08:00`.
    time_zone: String,
    /// The first day of the first period.
    from: String,
    /// The last day.
    to: String,
    #[serde(flatten)]
    sum: TokenSum,
    /// Periods with at least one work, earliest first; those of a period by model.
    items: Vec<TokenItem>,
    /// The limits that count for the person; empty if there are none.
    limits: Vec<TokenLimit>,
}

/// Returns the tokens that works used, as their providers counted them, by day, week or month and by model. A work counts in
/// the period in which it began. Works of deleted conversations are included; requests for titles and summaries are not.
#[utoipa::path(get, path = "/api/stats/tokens", tag = "stats", params(TokensQuery),
    responses((status = 200, body = Enveloped<TokenStats>), (status = 400, body = EnvelopedError)))]
pub async fn tokens(caller: Caller, Query(query): Query<TokensQuery>) -> Result<Json<Enveloped<TokenStats>>, ApiError> {
    let range = query.range()?;
    let report = caller.tenant().usage_report(range).await?;
    let limits = caller.tenant().usage_limits().await?;
    Ok(enveloped(TokenStats {
        period: report.period,
        time_zone: time_zone(range.offset_minutes),
        from: report.from.to_string(),
        to: report.to.to_string(),
        sum: TokenSum::of(&report.total),
        items: items(report, range.by_project),
        limits: limits.into_iter().map(TokenLimit::from).collect(),
    }))
}

impl TokensQuery {
    /// # Errors
    /// Returns `bad_period`, `bad_day`, `bad_by` or `bad_offset`.
    pub(super) fn range(&self) -> Result<ReportRange, ApiError> {
        let name = self.period.as_deref().unwrap_or(Period::Daily.word());
        let period = Period::parse(name)
            .ok_or_else(|| ApiError::bad_request("bad_period", "period is daily, weekly or monthly"))?;
        let by_project = match self.by.as_deref() {
            None => false,
            Some("project") => true,
            Some(_) => return Err(ApiError::bad_request("bad_by", "by is project, or absent")),
        };
        if !(-MAX_OFFSET..=MAX_OFFSET).contains(&self.offset_minutes) {
            return Err(ApiError::bad_request("bad_offset", "offset_minutes is between -1440 and 1440"));
        }
        let (from, to) = (day(self.from.as_deref())?, day(self.to.as_deref())?);
        if from.zip(to).is_some_and(|(from, to)| from > to) {
            return Err(ApiError::bad_request("bad_day", "from is a day after to; exchange them"));
        }
        Ok(ReportRange { period, from, to, offset_minutes: self.offset_minutes, by_project })
    }
}

fn day(text: Option<&str>) -> Result<Option<Date>, ApiError> {
    let parsed = text.map(str::parse::<Date>).transpose();
    parsed.map_err(|_| ApiError::bad_request("bad_day", "from and to are days such as 2026-11-22"))
}

fn time_zone(offset_minutes: i32) -> String {
    match (offset_minutes, offset_minutes.unsigned_abs()) {
        (0, _) => "UTC".to_owned(),
        (signed, minutes) => {
            let sign = if signed < 0 { '-' } else { '+' };
            format!("UTC{sign}{:02}:{:02}", minutes / 60, minutes % 60)
        }
    }
}

fn items(report: UsageReport, by_project: bool) -> Vec<TokenItem> {
    let item = |UsageItem { date, model, project_id, sum }| TokenItem {
        date: date.to_string(),
        model,
        project_id: by_project.then(|| project_id.map(|id| id.to_string())),
        sum: TokenSum::of(&sum),
    };
    report.items.into_iter().map(item).collect()
}

impl From<LimitState> for TokenLimit {
    fn from(LimitState { period, limit, source, used }: LimitState) -> Self {
        let spent = |cost: Cost| Cost { nanos: used.nanos.get(&cost.currency).copied().unwrap_or_default(), ..cost };
        Self {
            period: period.word(),
            tokens: limit.tokens,
            used_tokens: used.tokens,
            cost: limit.cost.map(Amount::of),
            used_cost: limit.cost.map(spent).map(Amount::of),
            set_by: match source {
                LimitSource::Server => "server",
                LimitSource::Admin => "admin",
                LimitSource::Person => "person",
            },
        }
    }
}

impl Amount {
    fn of(cost: Cost) -> Self {
        Self { amount: cost.amount(), currency: cost.currency.to_string() }
    }
}

impl TokenSum {
    pub(in crate::api) fn of(sum: &UsageSum) -> Self {
        Self {
            prompt_tokens: sum.input_tokens,
            completion_tokens: sum.output_tokens,
            total_tokens: sum.total_tokens(),
            cached_tokens: sum.cached_tokens,
            thinking_tokens: sum.thinking_tokens,
            estimated_tokens: sum.estimated_tokens,
            works: sum.works,
            costs: sum.costs().map(Amount::of).collect(),
            unpriced_tokens: sum.unpriced_tokens,
        }
    }
}
