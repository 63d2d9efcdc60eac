//! What a home has used, by period, model and project.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;

use super::{EngineError, Tenant, blocking};
use crate::agent::{LimitSource, UsagePeriod, UsedInPeriod};
use crate::clock;
use crate::domain::{BadLimit, Cost, Currency, Period, ProjectId, Usage, UsageLimit, WrittenLimits};
use crate::store::CountedWork;

/// What a report contains.
#[derive(Clone, Copy, Debug)]
pub struct ReportRange {
    pub period: Period,
    /// The first and the last day; absent means the most recent periods.
    pub from: Option<Date>,
    pub to: Option<Date>,
    /// Offset of the days from those of UTC in minutes, positive east of UTC.
    pub offset_minutes: i32,
    /// Whether works of different projects have items of their own.
    pub by_project: bool,
}

/// The usage of several works.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageSum {
    pub works: u64,
    pub input_tokens: u64,
    pub cached_tokens: u64,
    pub output_tokens: u64,
    pub thinking_tokens: u64,
    /// Tokens that this server estimated, because the provider did not count them.
    pub estimated_tokens: u64,
    /// Tokens whose price is not known.
    pub unpriced_tokens: u64,
    /// In billionths of each currency's unit. Empty if no price is known.
    nanos: BTreeMap<Currency, u64>,
}

/// The usage in one period of a model, and of a project if the report is by project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageItem {
    /// The first day of the period.
    pub date: Date,
    pub model: String,
    pub project_id: Option<ProjectId>,
    pub sum: UsageSum,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageReport {
    pub period: Period,
    /// The first day of the first period.
    pub from: Date,
    /// The last day.
    pub to: Date,
    pub total: UsageSum,
    /// Earliest first; those of a period by model and project.
    pub items: Vec<UsageItem>,
    /// The currencies of the costs.
    pub currencies: BTreeSet<Currency>,
}

/// A limit and how much of it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitState {
    pub period: UsagePeriod,
    pub limit: UsageLimit,
    pub source: LimitSource,
    pub used: UsedInPeriod,
}

impl UsageSum {
    pub(super) fn add(&mut self, usage: &Usage) {
        let add = |sum: &mut u64, tokens: u64| *sum = sum.saturating_add(tokens);
        add(&mut self.works, 1);
        add(&mut self.input_tokens, usage.input_tokens);
        add(&mut self.cached_tokens, usage.cached_tokens);
        add(&mut self.output_tokens, usage.output_tokens);
        add(&mut self.thinking_tokens, usage.thinking_tokens);
        add(&mut self.estimated_tokens, usage.estimated_tokens);
        add(&mut self.unpriced_tokens, usage.total().saturating_sub(usage.priced_tokens));
        if let Some(cost) = usage.cost {
            add(self.nanos.entry(cost.currency).or_default(), cost.nanos);
        }
    }

    pub fn total_tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Returns what the tokens with a known price cost, in each currency.
    pub fn costs(&self) -> impl Iterator<Item = Cost> {
        self.nanos.iter().map(|(currency, nanos)| Cost { nanos: *nanos, currency: *currency })
    }

    pub fn cost_in(&self, currency: Currency) -> Option<Cost> {
        self.nanos.get(&currency).map(|nanos| Cost { nanos: *nanos, currency })
    }
}

/// Why a person's own limits were not set.
#[derive(Debug, thiserror::Error)]
pub enum SetLimitsError {
    #[error(transparent)]
    Bad(#[from] BadLimit),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl UsageReport {
    fn of(works: &[CountedWork], range: ReportRange, now: f64) -> Self {
        let ReportRange { period, offset_minutes, by_project, .. } = range;
        let day = |at: f64| clock::date(at + f64::from(offset_minutes) * 60.0);
        let to = range.to.unwrap_or_else(|| day(now));
        let from = range.from.map_or_else(|| period.report_start(to), |from| period.start(from));
        let (mut total, mut items) = (UsageSum::default(), BTreeMap::<_, UsageSum>::new());
        for work in works {
            let day = day(work.created_at);
            if !(from..=to).contains(&day) {
                continue;
            }
            let project = work.project_id.as_ref().filter(|_| by_project);
            items.entry((period.start(day), &work.model, project)).or_default().add(&work.usage);
            total.add(&work.usage);
        }
        let currencies = total.nanos.keys().copied().collect();
        let items = items.into_iter().map(|((date, model, project), sum)| UsageItem {
            date,
            model: model.clone(),
            project_id: project.cloned(),
            sum,
        });
        Self { period, from, to, total, items: items.collect(), currencies }
    }
}

impl Tenant {
    /// Returns what the works of this home used, deleted sessions included.
    ///
    /// # Errors
    /// Returns an error if the sessions cannot be listed.
    pub async fn usage_report(&self, range: ReportRange) -> Result<UsageReport, EngineError> {
        let home = self.home.clone();
        blocking(move || home.with_counted_works(|works| UsageReport::of(works, range, clock::now()))).await
    }

    /// Returns the limits that count for this home, those of the server first, and how much of them this home has used.
    ///
    /// # Errors
    /// As [`Tenant::usage_report`].
    pub async fn usage_limits(&self) -> Result<Vec<LimitState>, EngineError> {
        let (budget, server) = (self.budget.clone(), self.runtime.config().usage_limits);
        blocking(move || {
            let mut states = Vec::new();
            for limits in budget.limits(server) {
                let (source, now) = (limits.source, clock::now());
                for period in UsagePeriod::ALL {
                    let limit = limits.of(period);
                    if limit != UsageLimit::default() {
                        states.push(LimitState { period, limit, source, used: budget.used(period, now)? });
                    }
                }
            }
            Ok(states)
        })
        .await
    }

    /// Sets the limits of usage at which the person is asked whether an answer goes on, from the next request to a model on.
    ///
    /// # Errors
    /// Returns [`SetLimitsError::Bad`] for limits that cannot be used, and another error if they cannot be stored.
    pub async fn set_own_limits(&self, limits: WrittenLimits) -> Result<(), SetLimitsError> {
        limits.parse()?;
        Ok(self.tree.set_own_limits(self.claim, limits).await.map_err(EngineError::from)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use serde_json::json;

    /// 23:30 UTC on 2026-11-22, a Sunday.
    const LATE: f64 = 1_795_390_200.0;

    fn work(at: f64, model: &str, project: Option<&str>, usage: serde_json::Value) -> CountedWork {
        let work = json!({"work_id": format!("{at}{model}"), "created_at": at, "model": model, "project_id": project,
            "usage": usage});
        serde_json::from_value(work).unwrap()
    }

    fn works() -> Vec<CountedWork> {
        let paid = |nanos: u64, currency: &str| {
            json!({"input_tokens": 90, "output_tokens": 10, "cached_tokens": 40, "thinking_tokens": 5,
                "cost": {"nanos": nanos, "currency": currency}, "priced_tokens": 100})
        };
        let unknown = json!({"input_tokens": 7, "output_tokens": 0});
        vec![
            work(LATE, "b", None, paid(5, "USD")),
            work(LATE, "a", Some("p"), paid(6, "EUR")),
            work(LATE + 1.0, "a", None, unknown.clone()),
            work(LATE - 86_400.0 * 40.0, "a", None, unknown),
        ]
    }

    fn report(range: ReportRange) -> UsageReport {
        UsageReport::of(&works(), range, LATE + 60.0)
    }

    const DAILY: ReportRange =
        ReportRange { period: Period::Daily, from: None, to: None, offset_minutes: 0, by_project: false };

    #[test]
    fn items_are_sums_by_day_and_model() {
        let report = report(DAILY);
        assert_eq!((report.from, report.to), (date(2026, 10, 24), date(2026, 11, 22)));
        let [a, b] = &report.items[..] else { panic!("{report:?}") };
        assert_eq!((a.date, a.model.as_str(), b.model.as_str()), (date(2026, 11, 22), "a", "b"));
        assert_eq!((a.sum.works, a.sum.total_tokens(), a.sum.unpriced_tokens), (2, 107, 7));
        assert_eq!((report.total.works, report.total.cached_tokens, report.total.thinking_tokens), (3, 80, 10));
        let costs: Vec<_> = report.total.costs().map(|cost| (cost.currency.to_string(), cost.nanos)).collect();
        assert_eq!(costs, [("EUR".to_owned(), 6), ("USD".to_owned(), 5)]);
        assert_eq!(b.sum.cost_in(Currency::parse("EUR").unwrap()), None);
    }

    #[test]
    fn projects_are_separate_only_on_request() {
        let by_project = report(ReportRange { by_project: true, ..DAILY });
        let projects: Vec<_> = by_project.items.iter().map(|item| (&*item.model, item.project_id.is_some())).collect();
        assert_eq!(projects, [("a", false), ("a", true), ("b", false)]);
    }

    #[test]
    fn days_are_those_of_the_reader() {
        let report = report(ReportRange { period: Period::Weekly, offset_minutes: 60, ..DAILY });
        let dates: Vec<_> = report.items.iter().map(|item| item.date).collect();
        assert_eq!(
            (report.to, dates),
            (date(2026, 11, 23), vec![date(2026, 10, 12), date(2026, 11, 23), date(2026, 11, 23)])
        );
    }

    #[test]
    fn range_begins_with_a_whole_period() {
        let range = ReportRange { period: Period::Monthly, from: Some(date(2026, 10, 20)), ..DAILY };
        let report = report(range);
        assert_eq!((report.from, report.items.len()), (date(2026, 10, 1), 3));
        let empty = ReportRange { to: Some(date(2026, 9, 1)), ..range };
        assert!(UsageReport::of(&works(), empty, LATE).items.is_empty());
    }
}
