//! What people use, for admins: totals, never contents.

use std::collections::BTreeSet;

use axum::Json;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::api::conversations::envelope::{Enveloped, EnvelopedError, Page, enveloped};
use crate::api::error::ApiError;
use crate::api::security::person::Right;
use crate::api::security::requester::Requester;
use crate::api::stats::csv::{cell, line};
use crate::api::stats::tokens::TokenSum;
use crate::clock;
use crate::domain::Currency;
use crate::engine::people::{PersonTotals, PersonUsage};
use crate::engine::usage_report::UsageSum;

/// What a person uses. Days, weeks and months are those of UTC; a week begins on Monday.
#[derive(Serialize, utoipa::ToSchema)]
pub struct UsageOfPerson {
    /// The id of the account.
    id: String,
    username: String,
    /// RFC 3339, UTC; null if the person has never signed in.
    last_login_at: Option<String>,
    /// What works that began today have used, once they have ended; null, as all others, if the home cannot be read.
    day: Option<TokenSum>,
    week: Option<TokenSum>,
    month: Option<TokenSum>,
    /// Number of conversations, without deleted ones.
    conversations: Option<u64>,
    /// Number of projects, without deleted ones.
    projects: Option<u64>,
    /// Null until it has been measured, which begins with the first request.
    home: Option<SizeOfHome>,
}

/// The size of a home, measured at most once in ten minutes.
#[derive(Serialize, utoipa::ToSchema)]
pub struct SizeOfHome {
    /// Sizes of all files together, deleted ones included, in bytes. Links are not followed.
    bytes: u64,
    files: u64,
    /// Whether something was not counted, because there are too many files or some cannot be read.
    is_partial: bool,
    /// When it was measured: RFC 3339, UTC.
    counted_at: String,
}

impl UsageOfPerson {
    fn of(PersonTotals { account, used, size }: PersonTotals) -> Self {
        let sum = |period: fn(&PersonUsage) -> &UsageSum| used.as_ref().map(|used| TokenSum::of(period(used)));
        Self {
            day: sum(|used| &used.day),
            week: sum(|used| &used.week),
            month: sum(|used| &used.month),
            conversations: used.as_ref().map(|used| used.conversations),
            projects: used.as_ref().map(|used| used.projects),
            home: size.map(|measured| SizeOfHome {
                bytes: measured.size.bytes,
                files: measured.size.files,
                is_partial: measured.size.is_partial,
                counted_at: clock::rfc3339(measured.counted_at),
            }),
            id: account.id.to_string(),
            username: account.username,
            last_login_at: account.last_login_at.map(clock::rfc3339),
        }
    }
}

/// Returns what each person uses: tokens and costs of this day, week and month, and how much their home holds. Only for admins.
#[utoipa::path(get, path = "/api/admin/usage", tag = "admin",
    responses((status = 200, body = Enveloped<Page<UsageOfPerson>>), (status = "default", body = EnvelopedError)))]
pub async fn usage_of_people(requester: Requester) -> Result<Json<Enveloped<Page<UsageOfPerson>>>, ApiError> {
    let (people, _) = requester.people(Right::ManagePeople)?;
    let items = people.totals().await?.into_iter().map(UsageOfPerson::of).collect();
    Ok(enveloped(Page::whole(items)))
}

/// Returns the same as CSV (RFC 4180), with columns of costs for each currency. What is not known is empty. Only for admins.
#[utoipa::path(get, path = "/api/admin/usage.csv", tag = "admin",
    responses((status = 200, body = String, content_type = "text/csv"), (status = "default", body = EnvelopedError)))]
pub async fn usage_of_people_csv(requester: Requester) -> Result<Response, ApiError> {
    let (people, _) = requester.people(Right::ManagePeople)?;
    let table = table(&people.totals().await?);
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"people-usage.csv\"".to_owned()),
    ];
    Ok((headers, table).into_response())
}

fn sums(used: &PersonUsage) -> [(&'static str, &UsageSum); 3] {
    [("day", &used.day), ("week", &used.week), ("month", &used.month)]
}

fn table(totals: &[PersonTotals]) -> String {
    let all = || totals.iter().filter_map(|person| person.used.as_ref()).flat_map(sums);
    let currencies: BTreeSet<Currency> = all().flat_map(|(_, sum)| sum.costs()).map(|cost| cost.currency).collect();
    let periods = ["day", "week", "month"].iter();
    let columns = periods.flat_map(|period| {
        let tokens = ["prompt_tokens", "completion_tokens", "total_tokens", "unpriced_tokens"].iter();
        let costs = currencies.iter().map(move |currency| format!("{period}_cost_{currency}"));
        tokens.map(move |name| format!("{period}_{name}")).chain(costs)
    });
    let names = ["id", "username", "role", "active", "last_login_at", "conversations", "projects", "home_bytes"];
    let mut text = line(names.iter().map(|name| (*name).to_owned()).chain(columns));
    for PersonTotals { account, used, size } in totals {
        let number = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
        let facts = [
            account.id.to_string(),
            cell(&account.username),
            account.role.word().to_owned(),
            account.is_active.to_string(),
            account.last_login_at.map(clock::rfc3339).unwrap_or_default(),
            number(used.as_ref().map(|used| used.conversations)),
            number(used.as_ref().map(|used| used.projects)),
            number(size.map(|measured| measured.size.bytes)),
        ];
        let unknown = || vec![String::new(); 3 * (4 + currencies.len())];
        let of_sum = |(_, sum): (&str, &UsageSum)| {
            let tokens = [sum.input_tokens, sum.output_tokens, sum.total_tokens(), sum.unpriced_tokens];
            let cost =
                |currency: &Currency| sum.cost_in(*currency).map(|cost| cost.amount().to_string()).unwrap_or_default();
            tokens.iter().map(u64::to_string).chain(currencies.iter().map(cost)).collect::<Vec<_>>()
        };
        let used = used.as_ref().map_or_else(unknown, |used| sums(used).into_iter().flat_map(of_sum).collect());
        text.push_str(&line(facts.into_iter().chain(used)));
    }
    text
}
