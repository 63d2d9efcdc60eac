//! Which limits of usage count for a home: `limits` in config.yml, or those that an admin has set for one person.

use std::sync::{PoisonError, RwLock};

use super::budget::{UsagePeriod, UsedInPeriod};
use crate::domain::{Cost, ErrorParams, Usage, UsageLimit, UsageLimits};

/// Who has set limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitSource {
    /// `limits` in config.yml, for everybody.
    Server,
    /// An admin, for this person.
    Admin,
    /// The person. Such a limit only asks: the answer goes on beyond it if the person says so.
    Person,
}

/// Which limits a run is checked against.
#[derive(Clone, Copy, Debug)]
pub struct LimitCheck {
    /// `limits` in config.yml.
    pub server: UsageLimits,
    /// Whether the person's own limits stop it. Not after the person has said to go on beyond them.
    pub asks: bool,
}

/// The limits that count for a home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitsInForce {
    pub limits: UsageLimits,
    pub source: LimitSource,
}

impl LimitsInForce {
    pub fn of(&self, period: UsagePeriod) -> UsageLimit {
        match period {
            UsagePeriod::Day => self.limits.day,
            UsagePeriod::Month => self.limits.month,
        }
    }
}

/// The limits that an admin has set for one person, in place of those for everybody. Changes count from the next request to a
/// model on.
#[derive(Debug, Default)]
pub struct AdminLimits(RwLock<Option<UsageLimits>>);

impl AdminLimits {
    pub fn set(&self, limits: Option<UsageLimits>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = limits;
    }

    /// Returns these limits, or those of the server if an admin has set none.
    pub fn or(&self, server: UsageLimits) -> LimitsInForce {
        match *self.0.read().unwrap_or_else(PoisonError::into_inner) {
            Some(limits) => LimitsInForce { limits, source: LimitSource::Admin },
            None => LimitsInForce { limits: server, source: LimitSource::Server },
        }
    }
}

/// A request would exceed a limit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "{} limit of {limit}{} a {} does not allow this request: {used} have been used, and it may need {}. Nothing was sent. {}",
    self.whose(), if *.field == "tokens" { " tokens" } else { "" }, .period.word(),
    .needed.as_deref().unwrap_or("an unknown amount"), self.what_to_do()
)]
pub struct LimitReached {
    pub period: UsagePeriod,
    /// `tokens` or `cost`.
    pub field: &'static str,
    pub set_by: LimitSource,
    pub limit: String,
    pub used: String,
    /// `None` if the price of the model is not known.
    pub needed: Option<String>,
}

impl LimitReached {
    /// Returns what the sentence contains, and which of its forms it is.
    pub fn params(&self) -> ErrorParams {
        let form = if self.needed.is_some() { self.field } else { "unpriced" };
        let key = match self.set_by {
            LimitSource::Server => format!("{}.{form}", self.period.word()),
            LimitSource::Admin => format!("admin.{}.{form}", self.period.word()),
            LimitSource::Person => format!("own.{}.{form}", self.period.word()),
        };
        let named = [("key", Some(key)), ("limit", Some(self.limit.clone())), ("used", Some(self.used.clone()))];
        let named = named.into_iter().chain([("needed", self.needed.clone())]);
        named.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }

    /// `usage_limit` if the server refuses the request, `own_usage_limit` if the person is to say whether it goes on.
    pub fn code(&self) -> &'static str {
        match self.set_by {
            LimitSource::Server | LimitSource::Admin => "usage_limit",
            LimitSource::Person => "own_usage_limit",
        }
    }

    fn whose(&self) -> &'static str {
        match self.set_by {
            LimitSource::Server => "This server's",
            LimitSource::Admin => "An admin has set a limit for your account. The",
            LimitSource::Person => "Your own",
        }
    }

    fn what_to_do(&self) -> String {
        let (period, field) = (self.period.word(), self.field);
        let wait = format!("Wait until the {period} is over (UTC), or");
        match self.set_by {
            LimitSource::Server => {
                format!("{wait} ask whoever runs the server to raise limits.{period}.{field} in config.yml.")
            }
            LimitSource::Admin => format!("{wait} ask an admin to raise it."),
            LimitSource::Person => format!("{wait} go on beyond it for this answer, or change it under “Token usage”."),
        }
    }
}

impl LimitsInForce {
    pub(super) fn check(&self, period: UsagePeriod, (used, worst): (&UsedInPeriod, Usage)) -> Result<(), LimitReached> {
        let (UsageLimit { tokens, cost }, set_by) = (self.of(period), self.source);
        if let Some(limit) = tokens
            && used.tokens.saturating_add(worst.total()) > limit
        {
            return Err(LimitReached {
                period,
                field: "tokens",
                set_by,
                limit: limit.to_string(),
                used: used.tokens.to_string(),
                needed: Some(worst.total().to_string()),
            });
        }
        let Some(limit) = cost else { return Ok(()) };
        let spent = used.nanos.get(&limit.currency).copied().unwrap_or_default();
        let needed = worst.cost.filter(|cost| cost.currency == limit.currency).map(|cost| cost.nanos);
        let exceeds = match needed {
            // It costs nothing.
            Some(0) => false,
            Some(needed) => spent.saturating_add(needed) > limit.nanos,
            // What it will cost is not known, so nothing may be left to spend already.
            None => spent >= limit.nanos,
        };
        if !exceeds {
            return Ok(());
        }
        let shown = |nanos: u64| format!("{} {}", Cost { nanos, ..limit }.amount(), limit.currency);
        Err(LimitReached {
            period,
            field: "cost",
            set_by,
            limit: shown(limit.nanos),
            used: shown(spent),
            needed: needed.map(shown),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(tokens: u64) -> LimitsInForce {
        let day = UsageLimit { tokens: Some(tokens), cost: None };
        LimitsInForce { limits: UsageLimits { day, ..UsageLimits::default() }, source: LimitSource::Server }
    }

    #[test]
    fn limits_of_an_admin_replace_those_of_the_server() {
        let of_admin = AdminLimits::default();
        assert_eq!(of_admin.or(day(5).limits), day(5));
        of_admin.set(Some(day(9).limits));
        let in_force = of_admin.or(day(5).limits);
        assert_eq!((in_force.source, in_force.limits), (LimitSource::Admin, day(9).limits));
        let reached = in_force
            .check(UsagePeriod::Day, (&UsedInPeriod::default(), Usage { input_tokens: 10, ..Usage::default() }))
            .unwrap_err();
        assert_eq!(reached.params()["key"], "admin.day.tokens");
        let sentence = reached.to_string();
        assert!(sentence.contains("An admin has set a limit") && !sentence.contains("config.yml"), "{sentence}");
        of_admin.set(Some(UsageLimits::default()));
        assert!(of_admin.or(day(5).limits).limits.is_unlimited(), "an admin can lift the limits of everybody");
    }
}
