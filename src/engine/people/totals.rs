//! What admins see of the use of people: totals, never contents.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::{People, PeopleError};
use crate::clock;
use crate::domain::{Account, AccountId, Period};
use crate::engine::blocking;
use crate::engine::usage_report::UsageSum;
use crate::store::{Home, HomeSize, HomeTotals};

/// Seconds after which a home is measured again if somebody asks.
const MEASURED_FOR: f64 = 600.0;

/// What a person uses.
pub struct PersonTotals {
    pub account: Account,
    /// Absent if their home cannot be read.
    pub used: Option<PersonUsage>,
    /// Absent until the home has been measured for the first time since the start.
    pub size: Option<MeasuredSize>,
}

/// What a person's works have used in the day, week (from Monday) and month of UTC so far, and what their home holds.
pub struct PersonUsage {
    pub day: UsageSum,
    pub week: UsageSum,
    pub month: UsageSum,
    pub conversations: u64,
    pub projects: u64,
}

/// The size of a home at a time.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredSize {
    pub size: HomeSize,
    /// Unix seconds.
    pub counted_at: f64,
}

/// The sizes of homes, which are measured in the background: a large home must not hold up a request.
#[derive(Default)]
pub(super) struct Sizes {
    known: Mutex<HashMap<AccountId, MeasuredSize>>,
    /// One home after the other, for all requests together.
    is_measuring: AtomicBool,
}

impl Sizes {
    fn of(&self, account: &AccountId) -> Option<MeasuredSize> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(account).copied()
    }
}

impl PersonUsage {
    fn of(totals: HomeTotals, now: f64) -> Self {
        let today = clock::date(now);
        let used_since = |period: Period| {
            let start = period.start(today);
            let mut sum = UsageSum::default();
            let own = totals.works.iter().filter(|work| !work.foreign && clock::date(work.created_at) >= start);
            own.for_each(|work| sum.add(&work.usage));
            sum
        };
        Self {
            day: used_since(Period::Daily),
            week: used_since(Period::Weekly),
            month: used_since(Period::Monthly),
            conversations: totals.conversations,
            projects: totals.projects,
        }
    }
}

impl People {
    /// Returns the totals of all people, in the order of their accounts.
    ///
    /// # Errors
    /// Returns an error if the server is stopping. A home that cannot be read is missing from its person's totals.
    pub async fn totals(self: &Arc<Self>) -> Result<Vec<PersonTotals>, PeopleError> {
        let (accounts, server) = (self.accounts(), self.server().await?.home.clone());
        let home = server.clone();
        let now = clock::now();
        let elsewhere: HashSet<AccountId> =
            accounts.iter().map(|account| account.id.clone()).filter(|id| self.is_elsewhere(id)).collect();
        let read = move || {
            let used = |account: &Account| match home.person_totals(&account.id) {
                Ok(totals) => Some(PersonUsage::of(totals, now)),
                Err(error) => {
                    tracing::warn!(%error, "the totals of a person cannot be read");
                    None
                }
            };
            let used = |account: &Account| if elsewhere.contains(&account.id) { None } else { used(account) };
            Ok(accounts.into_iter().map(|account| (used(&account), account)).collect::<Vec<_>>())
        };
        let read = blocking(read).await?;
        self.measure_old(now, server);
        let totals = read.into_iter().map(|(used, account)| {
            let size = self.sizes.of(&account.id);
            PersonTotals { account, used, size }
        });
        Ok(totals.collect())
    }

    /// Measures the homes in the background whose size is not known, or from long ago.
    fn measure_old(self: &Arc<Self>, now: f64, home: Home) {
        let is_old = |size: Option<MeasuredSize>| size.is_none_or(|size| now - size.counted_at >= MEASURED_FOR);
        let old: Vec<AccountId> = self
            .accounts()
            .into_iter()
            .map(|account| account.id)
            .filter(|id| is_old(self.sizes.of(id)) && !self.is_elsewhere(id))
            .collect();
        if old.is_empty() || self.sizes.is_measuring.swap(true, Ordering::AcqRel) {
            return;
        }
        let people = self.clone();
        tokio::task::spawn_blocking(move || {
            for id in old {
                match home.person_size(&id) {
                    Ok(size) => {
                        let measured = MeasuredSize { size, counted_at: clock::now() };
                        people.sizes.known.lock().unwrap_or_else(PoisonError::into_inner).insert(id, measured);
                    }
                    Err(error) => tracing::warn!(%error, "the home of a person cannot be measured"),
                }
            }
            people.sizes.is_measuring.store(false, Ordering::Release);
        });
    }
}
