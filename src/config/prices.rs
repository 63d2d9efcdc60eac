//! `prices` and `limits` in config.yml: what tokens cost, and how many may be used.

use std::collections::BTreeMap;

use super::{ConfigError, bad};
use crate::domain::{Price, UsageLimits, WrittenLimits};
use crate::provider::Endpoint;

/// The prices of models by the names that are sent to their servers. Case is ignored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices(BTreeMap<String, Price>);

impl Prices {
    /// Sets the price of the endpoint's model, if the list has one.
    pub fn mark(&self, endpoint: &mut Endpoint) {
        if let Some(price) = self.0.get(&endpoint.model.to_lowercase()) {
            endpoint.price = Some(price.clone());
        }
    }
}

/// Reads `prices`; `name_of` returns the name that is sent to the server for the id of a model.
pub(super) fn prices<'a>(
    entries: &'a BTreeMap<String, Price>,
    name_of: impl Fn(&'a str) -> &'a str,
) -> Result<Prices, ConfigError> {
    for (model, price) in entries {
        if !price.is_valid() {
            let reason = format!("prices: {model}: amounts are 0 or more, and currency is a code such as USD");
            return Err(bad("config.yml", reason));
        }
    }
    let named = entries.iter().map(|(id, price)| (name_of(id).to_lowercase(), price.clone()));
    Ok(Prices(named.collect()))
}

pub(super) fn limits(entry: &WrittenLimits) -> Result<UsageLimits, ConfigError> {
    entry.parse().map_err(|error| bad("config.yml", error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::load;
    use super::*;
    use crate::domain::{Cost, Currency, UsageLimit};

    #[test]
    fn price_is_found_by_id_or_name_and_overrides_the_providers() {
        let file = "models:\n  - {id: mine, model: Big, api_url: 'http://h/v1'}\n  - {id: free, api_url: 'http://h/v1'}\n\
                    providers:\n  - id: p\n    base_url: http://i/v1\n    models:\n      - {name: small, price: {input: 9, output: 9}}\n      \
                    - {name: other, price: {input: 7, output: 7}}\n\
                    prices:\n  mine: {input: 1, output: 2}\n  Small: {input: 3, output: 4, cached_input: 0.5, currency: EUR}\n";
        let config = load(&[("config.yml", file)], &[]).unwrap();
        let price = |model: &str| {
            let found = config.endpoints.iter().find(|configured| configured.endpoint.model == model).unwrap();
            found.endpoint.price.as_ref().map(|price| (price.input, price.currency.clone()))
        };
        assert_eq!(price("Big"), Some((1.0, "USD".to_owned())));
        assert_eq!(price("small"), Some((3.0, "EUR".to_owned())));
        assert_eq!((price("other"), price("free")), (Some((7.0, "USD".to_owned())), None));
    }

    #[test]
    fn limits_are_read_and_wrong_values_are_named() {
        let read = |text: &str| load(&[("config.yml", text)], &[]).map(|config| config.usage_limits);
        assert_eq!(read("port: 1\n").unwrap(), UsageLimits::default());
        let limits = read("limits: {day: {tokens: 5}, month: {cost: 1.5, currency: EUR}}\n").unwrap();
        let eur = Currency::parse("EUR").unwrap();
        assert_eq!(limits.day, UsageLimit { tokens: Some(5), cost: None });
        assert_eq!(limits.month, UsageLimit { tokens: None, cost: Cost::of(1.5, eur) });
        for (file, words) in [
            ("limits: {day: {cost: -1}}\n", "limits.day.cost"),
            ("limits: {month: {cost: 1, currency: dollars}}\n", "limits.month.currency"),
            ("limits: {week: {tokens: 1}}\n", "week"),
            ("prices: {m: {input: -1, output: 0}}\n", "prices: m"),
            ("prices: {m: {input: 1}}\n", "output"),
        ] {
            let error = read(file).err().unwrap().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
