//! What tokens cost.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::work::Usage;

/// A currency by its ISO 4217 code, for example `USD`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, utoipa::ToSchema)]
#[schema(value_type = String)]
pub struct Currency([u8; 3]);

/// A text that is not the code of a currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a currency is its code of three letters, for example USD")]
pub struct BadCurrency;

/// An amount of money.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Cost {
    /// In billionths of the currency's unit: whole numbers, so that a sum does not depend on its order.
    pub nanos: u64,
    pub currency: Currency,
}

/// The price of a million tokens, in the currency's unit.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// Of input that the provider had cached; absent means that of other input.
    pub cached_input: Option<f64>,
    #[serde(default = "dollars")]
    pub currency: String,
}

fn dollars() -> String {
    Currency::USD.to_string()
}

const NANOS: f64 = 1e9;
const PRICED_TOKENS: f64 = 1e6;

impl Currency {
    pub const USD: Self = Self(*b"USD");

    /// # Errors
    /// Returns [`BadCurrency`] if the text is not three letters. Case is ignored.
    pub fn parse(text: &str) -> Result<Self, BadCurrency> {
        let code: [u8; 3] = text.as_bytes().try_into().map_err(|_| BadCurrency)?;
        if code.iter().all(u8::is_ascii_alphabetic) {
            Ok(Self(code.map(|c| c.to_ascii_uppercase())))
        } else {
            Err(BadCurrency)
        }
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{}", char::from(*byte)))
    }
}

impl Serialize for Currency {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

impl Cost {
    /// Returns an amount in the currency's unit as a cost; `None` if it is negative or not a number.
    pub fn of(amount: f64, currency: Currency) -> Option<Self> {
        // A conversion of a float to an integer saturates.
        (amount >= 0.0).then(|| Self { nanos: (amount * NANOS).round() as u64, currency })
    }

    /// Returns the amount in the currency's unit.
    pub fn amount(&self) -> f64 {
        self.nanos as f64 / NANOS
    }
}

impl Price {
    /// Whether its amounts and its currency are valid.
    pub fn is_valid(&self) -> bool {
        let amounts = [Some(self.input), Some(self.output), self.cached_input];
        amounts.into_iter().flatten().all(|amount| amount.is_finite() && amount >= 0.0)
            && Currency::parse(&self.currency).is_ok()
    }

    /// Returns what these tokens cost; `None` if the price is not valid.
    pub fn cost_of(&self, usage: &Usage) -> Option<Cost> {
        let currency = Currency::parse(&self.currency).ok().filter(|_| self.is_valid())?;
        let fresh = usage.input_tokens.saturating_sub(usage.cached_tokens) as f64 * self.input;
        let cached = usage.cached_tokens as f64 * self.cached_input.unwrap_or(self.input);
        let output = usage.output_tokens as f64 * self.output;
        Cost::of((fresh + cached + output) / PRICED_TOKENS, currency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price() -> Price {
        Price { input: 0.25, output: 2.0, cached_input: Some(0.025), currency: "usd".to_owned() }
    }

    #[test]
    fn cached_input_has_its_own_price() {
        let usage =
            Usage { input_tokens: 1_000_000, cached_tokens: 400_000, output_tokens: 500_000, ..Usage::default() };
        let cost = price().cost_of(&usage).unwrap();
        assert_eq!((cost.nanos, cost.currency), (150_000_000 + 10_000_000 + 1_000_000_000, Currency::USD));
        let plain = Price { cached_input: None, ..price() };
        assert_eq!(plain.cost_of(&usage).unwrap().amount(), 1.25);
    }

    #[test]
    fn invalid_price_is_unknown_and_not_zero() {
        let usage = Usage { input_tokens: 9, ..Usage::default() };
        for wrong in [
            Price { input: -1.0, ..price() },
            Price { output: f64::NAN, ..price() },
            Price { currency: "€".to_owned(), ..price() },
            Price { currency: "US".to_owned(), ..price() },
        ] {
            assert_eq!(wrong.cost_of(&usage), None, "{wrong:?}");
        }
        assert_eq!(Cost::of(-0.1, Currency::USD), None);
    }

    #[test]
    fn cost_round_trips() {
        let cost = Cost { nanos: 3, currency: Currency::parse("eur").unwrap() };
        let text = serde_json::to_string(&cost).unwrap();
        assert_eq!(text, r#"{"nanos":3,"currency":"EUR"}"#);
        assert_eq!(serde_json::from_str::<Cost>(&text).unwrap(), cost);
    }
}
