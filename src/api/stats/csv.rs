//! Tokens used, as a table for spreadsheets.

use axum::extract::Query;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use super::tokens::TokensQuery;
use crate::api::conversations::envelope::EnvelopedError;
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::domain::Currency;
use crate::engine::usage_report::{ReportRange, UsageReport};

const COLUMNS: &[&str] = &[
    "date",
    "model",
    "project_id",
    "works",
    "prompt_tokens",
    "cached_tokens",
    "completion_tokens",
    "thinking_tokens",
    "total_tokens",
    "estimated_tokens",
    "unpriced_tokens",
];

/// Returns the items of `GET /api/stats/tokens?by=project` as CSV (RFC 4180), with a column of costs for each currency. A cost
/// that is not known is empty.
#[utoipa::path(get, path = "/api/stats/tokens.csv", tag = "stats", params(TokensQuery),
    responses((status = 200, body = String, content_type = "text/csv"), (status = 400, body = EnvelopedError)))]
pub async fn tokens_csv(caller: Caller, Query(query): Query<TokensQuery>) -> Result<Response, ApiError> {
    let range = ReportRange { by_project: true, ..query.range()? };
    let report = caller.tenant().usage_report(range).await?;
    let name = format!("attachment; filename=\"tokens-{}-{}.csv\"", report.period.word(), report.to);
    let headers = [(header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()), (header::CONTENT_DISPOSITION, name)];
    Ok((headers, table(&report)).into_response())
}

fn table(report: &UsageReport) -> String {
    let costs = report.currencies.iter().map(|currency| format!("cost_{currency}"));
    let mut text = line(COLUMNS.iter().map(|name| (*name).to_owned()).chain(costs));
    for item in &report.items {
        let sum = &item.sum;
        let project = item.project_id.as_ref().map(|id| cell(id.as_str())).unwrap_or_default();
        let numbers = [
            sum.works,
            sum.input_tokens,
            sum.cached_tokens,
            sum.output_tokens,
            sum.thinking_tokens,
            sum.total_tokens(),
            sum.estimated_tokens,
            sum.unpriced_tokens,
        ];
        let amount =
            |currency: &Currency| sum.cost_in(*currency).map(|cost| cost.amount().to_string()).unwrap_or_default();
        let names = [item.date.to_string(), cell(&item.model), project];
        let numbers = numbers.iter().map(u64::to_string);
        text.push_str(&line(names.into_iter().chain(numbers).chain(report.currencies.iter().map(amount))));
    }
    text
}

pub(in crate::api) fn line(cells: impl Iterator<Item = String>) -> String {
    cells.collect::<Vec<_>>().join(",") + "\r\n"
}

/// Returns a name as a cell. A name that a spreadsheet would run as a formula begins with an apostrophe.
pub(in crate::api) fn cell(name: &str) -> String {
    let is_formula = name.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if is_formula { format!("'{name}") } else { name.to_owned() };
    if text.contains([',', '"', '\r', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_and_run_no_formula() {
        assert_eq!(cell("qwen3:8b"), "qwen3:8b");
        assert_eq!(cell("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
        assert_eq!(cell("=HYPERLINK(\"x\")"), "\"'=HYPERLINK(\"\"x\"\")\"");
        assert_eq!(cell("-1"), "'-1");
    }
}
