//! A work is what one prompt of a person set out to get done: several dialogues with the model and the operations
//! between them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::client::ClientRequest;
use super::cost::{Cost, Price};
use super::event::RequestedCall;
use super::ids::{ProjectId, WorkId};
use super::request::AnsweredRequest;

/// Tokens as counted by the provider, summed over a work's dialogues. Those of a dialogue that it did not count are estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Input tokens that the provider had cached.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub cached_tokens: u64,
    /// Output tokens that were thinking, if the provider says so.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub thinking_tokens: u64,
    /// Number of tokens that this server estimated, because the provider did not count them.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub estimated_tokens: u64,
    /// What the tokens with a known price cost. Absent if no price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Number of tokens that `cost` pays for.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub priced_tokens: u64,
}

impl Usage {
    /// Returns input plus output tokens. Sums saturate, because a file may contain any numbers.
    pub fn total(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    pub fn total_of<'a>(all: impl IntoIterator<Item = &'a Usage>) -> u64 {
        all.into_iter().fold(0, |sum, usage| sum.saturating_add(usage.total()))
    }

    pub fn add(&mut self, other: Usage) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.thinking_tokens = self.thinking_tokens.saturating_add(other.thinking_tokens);
        self.estimated_tokens = self.estimated_tokens.saturating_add(other.estimated_tokens);
        self.cost = match (self.cost, other.cost) {
            (Some(own), Some(other)) if own.currency == other.currency => {
                Some(Cost { nanos: own.nanos.saturating_add(other.nanos), ..own })
            }
            // Two currencies have no sum: the tokens paid in the other one count as tokens without a known price.
            (Some(_), Some(_)) => return,
            (own, other) => own.or(other),
        };
        self.priced_tokens = self.priced_tokens.saturating_add(other.priced_tokens);
    }

    /// Returns the usage with what it costs at this price. Without a price, what the provider says it costs stays.
    pub fn priced(self, price: Option<&Price>) -> Self {
        match price.and_then(|price| price.cost_of(&self)) {
            Some(cost) => Self { cost: Some(cost), priced_tokens: self.total(), ..self },
            None => self,
        }
    }
}

/// Who stopped a work that was interrupted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum StoppedBy {
    /// A person, by request or by sending a message in the meantime.
    #[default]
    Person,
    /// The server was stopped or crashed.
    Server,
}

/// Names and numbers in an error's sentence, by kind: `provider`, `status` … Never a key.
pub type ErrorParams = BTreeMap<String, String>;

/// How a work ended. A work ends once, and once more each time that a person has it continued.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "stop_reason", rename_all = "snake_case")]
pub enum Outcome {
    Done,
    /// The model reached its output limit.
    Length,
    /// The provider refused to answer.
    Refusal,
    /// A person stopped it, or the server stopped or crashed.
    Interrupted {
        detail: String,
        #[serde(default)]
        by: StoppedBy,
    },
    /// A limit of this program ended it; `detail` names the limit.
    Limit {
        detail: String,
    },
    /// It failed; `error` says why and what to do.
    Error {
        error: String,
        code: String,
        retryable: bool,
        /// Values that `error` mentions, for a page that says it in its own language.
        #[serde(default, rename = "about", skip_serializing_if = "ErrorParams::is_empty")]
        params: ErrorParams,
    },
}

impl Outcome {
    /// Returns the word used in files and frames.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Done => "done",
            Outcome::Length => "length",
            Outcome::Refusal => "refusal",
            Outcome::Interrupted { .. } => "interrupted",
            Outcome::Limit { .. } => "limit",
            Outcome::Error { .. } => "error",
        }
    }

    /// Returns who stopped the work, if anyone did.
    pub fn stopped_by(&self) -> Option<StoppedBy> {
        match self {
            Outcome::Interrupted { by, .. } => Some(*by),
            Outcome::Done | Outcome::Length | Outcome::Refusal | Outcome::Limit { .. } | Outcome::Error { .. } => None,
        }
    }

    pub fn detail(&self) -> Option<&str> {
        match self {
            Outcome::Done | Outcome::Length | Outcome::Refusal => None,
            Outcome::Interrupted { detail, .. } | Outcome::Limit { detail } => Some(detail),
            Outcome::Error { error, .. } => Some(error),
        }
    }
}

impl Work {
    /// Returns a work that has just begun, at this Unix time.
    pub fn begun(work_id: WorkId, created_at: f64) -> Self {
        Self {
            work_id,
            created_at,
            model: String::new(),
            project_id: None,
            foreign: false,
            instead_of: None,
            without_tools: false,
            client: None,
            dialogues: 0,
            usage: Usage::default(),
            left_out: 0,
            requested: Vec::new(),
            requests: Vec::new(),
            servers_lost: 0,
            finished_at: None,
            outcome: None,
        }
    }
}

/// Reads what a program sent from a session's file; what this version cannot read counts as nothing.
pub fn lenient_client<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Arc<ClientRequest>>, D::Error> {
    let client = Option::<serde_json::Value>::deserialize(from)?;
    Ok(client.and_then(|client| serde_json::from_value(client).ok()).map(Arc::new))
}

/// The record of one work inside a session file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Work {
    pub work_id: WorkId,
    pub created_at: f64,
    /// The model that works on it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The project that the session was bound to when the work began.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "super::ids::lenient_project")]
    pub project_id: Option<ProjectId>,
    /// Whether it comes from a file that this home did not write: its tokens were not used here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
    /// The model that did not answer, if `model` was asked in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<String>,
    /// The model is offered no tools.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_tools: bool,
    /// What the program sent that began it, if it came over the OpenAI API.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "lenient_client")]
    pub client: Option<Arc<ClientRequest>>,
    /// Number of exchanges with the model so far.
    #[serde(default)]
    pub dialogues: u32,
    #[serde(default)]
    pub usage: Usage,
    /// Number of the session's messages, counted from the first, that a request of this work did not contain because they
    /// did not fit.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub left_out: usize,
    /// Calls of the last exchange that were requested and have not started, while one before them waits for a person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requested: Vec<RequestedCall>,
    /// The requests that made its answers, in order; absent for answers of earlier versions, and for partial ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<AnsweredRequest>,
    /// The number of servers that ended without a word while it was under way.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub servers_lost: usize,
    /// Absent while the work runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

#[cfg(test)]
mod tests {
    use super::super::cost::Currency;
    use super::*;

    #[test]
    fn sums_saturate() {
        let cost = Some(Cost { nanos: u64::MAX, currency: Currency::USD });
        let most = Usage {
            input_tokens: u64::MAX,
            output_tokens: u64::MAX,
            cached_tokens: u64::MAX,
            thinking_tokens: u64::MAX,
            estimated_tokens: u64::MAX,
            cost,
            priced_tokens: u64::MAX,
        };
        let mut sum = most;
        sum.add(most);
        assert_eq!((sum, sum.total(), Usage::total_of([&most, &most])), (most, u64::MAX, u64::MAX));
    }

    #[test]
    fn currencies_are_not_added_up() {
        let paid = |currency: &str| Usage {
            input_tokens: 5,
            cost: Cost::of(1.0, Currency::parse(currency).unwrap()),
            priced_tokens: 5,
            ..Usage::default()
        };
        let (mut sum, mut same) = (paid("USD"), paid("USD"));
        sum.add(paid("EUR"));
        same.add(paid("USD"));
        assert_eq!((sum.cost, sum.total() - sum.priced_tokens), (paid("USD").cost, 5));
        assert_eq!((same.cost.unwrap().amount(), same.total() - same.priced_tokens), (2.0, 0));
    }

    #[test]
    fn configured_price_overrides_that_of_the_provider() {
        let told = Usage { input_tokens: 1_000_000, cost: Cost::of(9.0, Currency::USD), ..Usage::default() };
        let price = Price { input: 1.0, output: 1.0, cached_input: None, currency: "EUR".to_owned() };
        assert_eq!(told.priced(None).cost, told.cost);
        assert_eq!(told.priced(Some(&price)).cost, Cost::of(1.0, Currency::parse("EUR").unwrap()));
    }

    #[test]
    fn failure_of_earlier_version_round_trips() {
        let kept = r#"{"stop_reason":"error","error":"No network.","code":"unreachable","retryable":true}"#;
        let outcome: Outcome = serde_json::from_str(kept).unwrap();
        assert!(matches!(&outcome, Outcome::Error { code, params, .. } if code == "unreachable" && params.is_empty()));
        assert_eq!(serde_json::to_string(&outcome).unwrap(), kept);
    }
}
