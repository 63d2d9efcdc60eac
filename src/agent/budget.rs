//! Limits of usage. Each request to the model is checked before it is sent: what has been used in the period, what other runs
//! have reserved, and the most that this request may use must fit.
//!
//! A work counts in the period in which it began, and until it ends in that of its last request. Requests for titles and summaries
//! are not checked.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use super::limits::{AdminLimits, LimitCheck, LimitReached, LimitSource, LimitsInForce};
use super::recorder::Recorder;
use super::run::Run;
use super::turn::ExchangeError;
use crate::clock;
use crate::domain::{Cost, Currency, Usage, UsageLimits, Work, WorkId};
use crate::prompt::request::NextRequest;
use crate::provider::{Client, Endpoint};
use crate::store::{CountedWork, Home, StoreError};

/// Output tokens that a request is taken to need if nothing limits its answer.
const ANSWER_TOKENS: u64 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsagePeriod {
    Day,
    Month,
}

impl UsagePeriod {
    pub const ALL: [Self; 2] = [Self::Day, Self::Month];

    pub fn word(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Month => "month",
        }
    }

    /// Whether two Unix times are in the same period of UTC.
    fn has_both(self, one: f64, other: f64) -> bool {
        let (one, other) = (clock::date(one), clock::date(other));
        match self {
            Self::Day => one == other,
            Self::Month => one.first_of_month() == other.first_of_month(),
        }
    }
}

/// What a home uses, and what its runs have reserved.
pub struct Budget {
    home: Home,
    of_admin: Arc<AdminLimits>,
    running: Mutex<HashMap<WorkId, RunningWork>>,
}

/// A work that has made requests since the start of the server and is not in the log with all of them.
#[derive(Clone, Copy, Debug, Default)]
struct RunningWork {
    /// When its last request was made, in Unix seconds.
    at: f64,
    used: Usage,
    /// The most that the request under way may use.
    reserved: Option<Usage>,
}

/// What was used in a period.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsedInPeriod {
    /// Input and output together.
    pub tokens: u64,
    /// In billionths of each currency's unit.
    pub nanos: BTreeMap<Currency, u64>,
}

impl UsedInPeriod {
    fn add(&mut self, usage: Usage) {
        self.tokens = self.tokens.saturating_add(usage.total());
        if let Some(cost) = usage.cost {
            let nanos = self.nanos.entry(cost.currency).or_default();
            *nanos = nanos.saturating_add(cost.nanos);
        }
    }
}

/// A request's share of the limits until its answer is known.
pub struct Reservation {
    budget: Arc<Budget>,
    work: WorkId,
}

impl Reservation {
    /// Replaces what was reserved with what was used.
    pub fn used(self, usage: Usage) {
        if let Some(running) = self.budget.running().get_mut(&self.work) {
            running.used.add(usage);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(running) = self.budget.running().get_mut(&self.work) {
            running.reserved = None;
        }
    }
}

impl Budget {
    pub fn new(home: Home, of_admin: Arc<AdminLimits>) -> Self {
        Self { home, of_admin, running: Mutex::default() }
    }

    /// Returns the limits that count on a server with these limits for everybody, and those that the person has set. Reads a file.
    pub fn limits(&self, server: UsageLimits) -> [LimitsInForce; 2] {
        let own = LimitsInForce { limits: self.home.own_limits(), source: LimitSource::Person };
        [self.of_admin.or(server), own]
    }

    /// Returns what was used in the period that contains the Unix time `now`, works under way included.
    ///
    /// # Errors
    /// Returns an error if the sessions cannot be listed.
    pub fn used(&self, period: UsagePeriod, now: f64) -> Result<UsedInPeriod, StoreError> {
        let running = self.running();
        self.home.with_counted_works(|works| used(works, &running, (period, now)))
    }

    /// Reserves the most that the next request of a work may use, if the limits allow it. `None` if nothing is limited. Reads files.
    ///
    /// # Errors
    /// Returns the limit that the request would exceed. Returns an error if the sessions cannot be listed.
    pub fn reserve(
        self: &Arc<Self>,
        check: LimitCheck,
        work: &Work,
        worst: Usage,
    ) -> Result<Result<Option<Reservation>, LimitReached>, StoreError> {
        let counts = |limits: &LimitsInForce| {
            !limits.limits.is_unlimited() && (check.asks || limits.source != LimitSource::Person)
        };
        let limits: Vec<_> = self.limits(check.server).into_iter().filter(counts).collect();
        if limits.is_empty() {
            return Ok(Ok(None));
        }
        let now = clock::now();
        let mut running = self.running();
        let checked = self.home.with_counted_works(|works| {
            running.retain(|id, running| {
                let logged = works.iter().find(|work| work.work_id == *id && !work.foreign);
                running.reserved.is_some() || logged.is_none_or(|work| work.usage.total() < running.used.total())
            });
            // The work may have made requests before this start of the server, or before it was continued. What an imported
            // work has used, another home has used.
            let own = running.entry(work.work_id.clone()).or_default();
            if !work.foreign && work.usage.total() > own.used.total() {
                own.used = work.usage;
            }
            own.at = now;
            let used = UsagePeriod::ALL.map(|period| (period, used(works, &running, (period, now))));
            let fits = |limits: &LimitsInForce| {
                used.iter().try_for_each(|(period, used)| limits.check(*period, (used, worst)))
            };
            limits.iter().try_for_each(fits)
        })?;
        if let Err(reached) = checked {
            return Ok(Err(reached));
        }
        running.entry(work.work_id.clone()).or_default().reserved = Some(worst);
        Ok(Ok(Some(Reservation { budget: self.clone(), work: work.work_id.clone() })))
    }

    fn running(&self) -> std::sync::MutexGuard<'_, HashMap<WorkId, RunningWork>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns what the works of a log and those under way count in a period.
fn used(
    works: &[CountedWork],
    running: &HashMap<WorkId, RunningWork>,
    (period, now): (UsagePeriod, f64),
) -> UsedInPeriod {
    let mut total = UsedInPeriod::default();
    let mut logged = HashMap::new();
    for work in works.iter().filter(|work| !work.foreign) {
        if running.contains_key(&work.work_id) {
            logged.insert(&work.work_id, work.usage);
        }
        if period.has_both(work.created_at, now) {
            total.add(work.usage);
        }
    }
    for (id, RunningWork { used, reserved, .. }) in running.iter().filter(|(_, work)| period.has_both(work.at, now)) {
        total.add(less(*used, logged.get(id).copied().unwrap_or_default()));
        reserved.iter().for_each(|reserved| total.add(*reserved));
    }
    total
}

/// Returns what `one` has more than `other`.
fn less(one: Usage, other: Usage) -> Usage {
    let cost = match (one.cost, other.cost) {
        (Some(one), Some(other)) if one.currency == other.currency => {
            Some(Cost { nanos: one.nanos.saturating_sub(other.nanos), ..one })
        }
        (one, _) => one,
    };
    Usage {
        input_tokens: one.input_tokens.saturating_sub(other.input_tokens),
        output_tokens: one.output_tokens.saturating_sub(other.output_tokens),
        cached_tokens: one.cached_tokens.saturating_sub(other.cached_tokens),
        thinking_tokens: one.thinking_tokens.saturating_sub(other.thinking_tokens),
        estimated_tokens: one.estimated_tokens.saturating_sub(other.estimated_tokens),
        priced_tokens: one.priced_tokens.saturating_sub(other.priced_tokens),
        cost,
    }
}

/// Returns the most that a request of `input` tokens may use: the answer is as long as its body allows.
pub fn worst_case(endpoint: &Endpoint, input: usize, body: &serde_json::Value) -> Usage {
    let most =
        ["max_tokens", "max_completion_tokens", "max_output_tokens"].iter().find_map(|field| body.get(field)?.as_u64());
    let output_tokens = most.unwrap_or(ANSWER_TOKENS);
    let usage = Usage { input_tokens: input as u64, output_tokens, ..Usage::default() };
    usage.priced(endpoint.price.as_ref())
}

impl Run {
    /// Reserves what this request may use. `None` if nothing is limited.
    pub(super) async fn reserve(
        &self,
        recorder: &Recorder,
        client: &Client,
        next: &NextRequest,
    ) -> Result<Option<Reservation>, ExchangeError> {
        let work = recorder.session().works.iter().rev().find(|work| work.work_id == *recorder.work_id());
        let Some(work) = work.cloned() else { return Ok(None) };
        let body = client.body(&next.request);
        let worst = worst_case(client.endpoint(), next.tokens(&body, &self.tokens).total(), &body);
        let (budget, check) = (self.budget.clone(), self.limit_check);
        let reserved = tokio::task::spawn_blocking(move || budget.reserve(check, &work, worst)).await;
        match reserved.map_err(|error| error.to_string()).and_then(|done| done.map_err(|error| error.to_string())) {
            Ok(Ok(reservation)) => Ok(reservation),
            Ok(Err(reached)) => Err(ExchangeError::Limit(reached)),
            Err(cause) => Err(ExchangeError::UsageUnknown(cause)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::LimitSource;
    use crate::domain::UsageLimit;

    fn tokens(input_tokens: u64) -> Usage {
        Usage { input_tokens, ..Usage::default() }
    }

    fn work(id: &str, usage: Usage) -> Work {
        let work = serde_json::json!({"work_id": id, "created_at": clock::now(), "usage": usage});
        serde_json::from_value(work).unwrap()
    }

    fn day(tokens: u64) -> LimitCheck {
        let day = UsageLimit { tokens: Some(tokens), cost: None };
        LimitCheck { server: UsageLimits { day, ..UsageLimits::default() }, asks: true }
    }

    fn budget() -> (tempfile::TempDir, Arc<Budget>) {
        let folder = tempfile::tempdir().unwrap();
        let budget = Arc::new(Budget::new(Home::open(folder.path()).unwrap(), Arc::default()));
        (folder, budget)
    }

    fn total(budget: &Budget) -> u64 {
        budget.used(UsagePeriod::Day, clock::now()).unwrap().tokens
    }

    #[test]
    fn concurrent_requests_share_a_limit() {
        let (_folder, budget) = budget();
        let reserve = |id: &str, worst| budget.reserve(day(100), &work(id, tokens(0)), tokens(worst)).unwrap();
        let first = reserve("a", 60).unwrap();
        let refused = reserve("b", 41).err().unwrap();
        assert_eq!((refused.period, refused.field, refused.used.as_str()), (UsagePeriod::Day, "tokens", "60"));
        assert!(refused.to_string().contains("limits.day.tokens"), "{refused}");
        assert_eq!(refused.params()["key"], "day.tokens");
        let second = reserve("b", 40).unwrap();
        first.unwrap().used(tokens(10));
        assert_eq!(total(&budget), 50);
        drop(second);
        assert_eq!(total(&budget), 10);
        assert!(reserve("b", 90).is_ok() && reserve("b", 91).is_err());
    }

    #[test]
    fn requests_of_a_work_add_up_and_count_once() {
        let (_folder, budget) = budget();
        let reserve = |used, worst| budget.reserve(day(100), &work("a", tokens(used)), tokens(worst)).unwrap();
        reserve(0, 50).unwrap().unwrap().used(tokens(30));
        reserve(30, 50).unwrap().unwrap().used(tokens(30));
        assert!(reserve(60, 41).is_err());
        assert_eq!(total(&budget), 60);
    }

    #[test]
    fn imported_work_that_goes_on_counts_only_what_it_uses_here() {
        let (_folder, budget) = budget();
        let imported = Work { foreign: true, ..work("a", tokens(u64::MAX)) };
        let reserved = budget.reserve(day(100), &imported, tokens(60)).unwrap().unwrap().unwrap();
        reserved.used(tokens(30));
        assert_eq!(total(&budget), 30);
        assert!(budget.reserve(day(100), &work("b", tokens(0)), tokens(70)).unwrap().is_ok());
    }

    #[test]
    fn own_limit_asks_and_never_lifts_one_of_the_server() {
        let (folder, budget) = budget();
        let reserve = |check, worst| budget.reserve(check, &work("a", tokens(0)), tokens(worst)).unwrap();
        let unlimited = LimitCheck { server: UsageLimits::default(), asks: true };
        assert!(reserve(unlimited, u64::MAX).unwrap().is_none());
        std::fs::write(folder.path().join("config.json"), r#"{"usage_limits": {"day": {"tokens": 50}}}"#).unwrap();
        let asked = reserve(day(100), 60).err().unwrap();
        assert_eq!((asked.code(), asked.params()["key"].as_str()), ("own_usage_limit", "own.day.tokens"));
        assert!(asked.to_string().contains("go on beyond it"), "{asked}");
        assert!(reserve(LimitCheck { asks: false, ..day(100) }, 60).unwrap().is_some());
        for asks in [true, false] {
            let refused = reserve(LimitCheck { asks, ..day(100) }, 101).err().unwrap();
            assert_eq!((refused.code(), refused.set_by), ("usage_limit", LimitSource::Server));
        }
    }

    #[test]
    fn money_limits_what_is_paid_in_its_currency() {
        let cost = Cost::of(1.0, Currency::USD);
        let limits = UsageLimits { month: UsageLimit { tokens: None, cost }, ..UsageLimits::default() };
        let limits = LimitsInForce { limits, source: LimitSource::Server };
        let paid = |amount: f64, currency: &str| Usage {
            cost: Cost::of(amount, Currency::parse(currency).unwrap()),
            ..tokens(1)
        };
        let check = |spent: Usage, worst| {
            let mut used = UsedInPeriod::default();
            used.add(spent);
            limits.check(UsagePeriod::Month, (&used, worst))
        };
        assert!(check(paid(0.5, "USD"), paid(0.5, "USD")).is_ok());
        let reached = check(paid(0.5, "USD"), paid(0.6, "USD")).err().unwrap();
        assert_eq!((reached.period, reached.field, reached.limit.as_str()), (UsagePeriod::Month, "cost", "1 USD"));
        assert!(check(paid(0.9, "USD"), tokens(1_000_000)).is_ok(), "an unknown price");
        let unpriced = check(paid(1.0, "USD"), tokens(1)).expect_err("nothing is left for an unknown price");
        assert_eq!(unpriced.params()["key"], "month.unpriced");
        assert!(unpriced.to_string().contains("an unknown amount"), "{unpriced}");
        assert!(check(paid(2.0, "USD"), paid(0.0, "USD")).is_ok(), "a model that costs nothing");
        assert!(check(paid(2.0, "EUR"), paid(0.5, "USD")).is_ok(), "another currency");
    }

    #[test]
    fn periods_end_at_midnight_of_utc() {
        let late = 1_795_305_599.0;
        assert!(!UsagePeriod::Day.has_both(late, late + 1.0) && UsagePeriod::Month.has_both(late, late + 1.0));
        assert!(!UsagePeriod::Month.has_both(late, late + 10.0 * 86_400.0));
    }
}
