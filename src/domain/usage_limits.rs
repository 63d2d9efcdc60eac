//! The most that a home may use in a period: for everybody (`limits` in config.yml), or for one person.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};

use super::{Cost, Currency};

/// The most that a home may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageLimits {
    /// In a day of UTC.
    pub day: UsageLimit,
    /// In a month of UTC.
    pub month: UsageLimit,
}

/// The most that may be used in one period. Absent means any amount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageLimit {
    /// Input and output together.
    pub tokens: Option<u64>,
    /// Limits only what is paid in this currency.
    pub cost: Option<Cost>,
}

impl UsageLimits {
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }
}

/// Limits as they are written in config.yml, in `accounts.json` and in requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenLimits {
    /// In a day of UTC.
    #[serde(deserialize_with = "read_object", skip_serializing_if = "Option::is_none")]
    pub day: Option<WrittenLimit>,
    /// In a month of UTC.
    #[serde(deserialize_with = "read_object", skip_serializing_if = "Option::is_none")]
    pub month: Option<WrittenLimit>,
}

/// The limit of one period. What is absent is not limited.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WrittenLimit {
    /// The most tokens, input and output together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The most that may be spent, in the currency's unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The ISO 4217 code; `USD` if it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
}

/// Reads an object or null. A list in its place, which serde takes for a struct's fields in order, is refused: an empty one
/// would limit nothing.
///
/// # Errors
/// Returns an error if the value is anything else, or its fields don't fit `T`.
pub fn read_object<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Option<T>, D::Error> {
    let fields = Option::<serde_json::Map<_, _>>::deserialize(deserializer)?;
    let read = fields.map(|fields| serde_json::from_value(serde_json::Value::Object(fields)));
    read.transpose().map_err(D::Error::custom)
}

/// A limit that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("limits.{period}.{field}: must be {must}")]
pub struct BadLimit {
    period: &'static str,
    field: &'static str,
    must: &'static str,
}

impl WrittenLimits {
    /// # Errors
    /// Returns [`BadLimit`] if a cost is negative or not finite, or a currency is no code.
    pub fn parse(&self) -> Result<UsageLimits, BadLimit> {
        let limit = |period: &'static str, written: &Option<WrittenLimit>| {
            let Some(written) = written else { return Ok(UsageLimit::default()) };
            let wrong = |field, must| BadLimit { period, field, must };
            let currency = written.currency.as_deref().map_or(Ok(Currency::USD), Currency::parse);
            let currency = currency.map_err(|_| wrong("currency", "a code such as USD"))?;
            let cost = written.cost.map(|amount| Cost::of(amount, currency).ok_or_else(|| wrong("cost", "0 or more")));
            Ok(UsageLimit { tokens: written.tokens, cost: cost.transpose()? })
        };
        Ok(UsageLimits { day: limit("day", &self.day)?, month: limit("month", &self.month)? })
    }
}
