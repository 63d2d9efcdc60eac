//! Tests of failures, each as a script. Waits use virtual time.

mod answers;
mod refusals;
mod silence;
mod streams;
mod ways;

use super::*;

fn ok(words: &str) -> Value {
    json!([{"text": words}, {"finish": "stop"}])
}

fn limited(retry_after: &str) -> Value {
    json!([{"status": 429}, {"headers": {"retry-after": retry_after}}])
}

fn code(error: Option<ProviderError>) -> Option<&'static str> {
    error.map(|error| error.code())
}

fn near(value: f64, expected: f64) -> bool {
    (expected * 0.79..=expected * 1.21 + 0.05).contains(&value)
}
