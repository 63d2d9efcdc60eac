//! Limits failed logins by source address. Loopback is limited too: other users of this machine and every page in a browser
//! can reach it.
//!
//! Only failures count, and the source is checked before its credential, so a client with the right token is never
//! limited. `governor` decides (the generic cell rate algorithm); [`Sources`] is its store, because its own ones count
//! every check and grow with the number of sources.

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use governor::clock::{Clock, MonotonicClock};
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::StateStore;
use governor::{Quota, RateLimiter};

/// Number of failures allowed at once.
const BURST: NonZeroU32 = NonZeroU32::new(20).expect("it is not zero");
/// Time after which one more failure is allowed.
const REFILL: Duration = Duration::from_secs(15);
/// Maximum number of sources remembered. A forgotten source may fail as often as a new one.
const SOURCES: usize = 4096;

/// The sources that failed recently.
#[derive(Debug)]
pub struct LoginLimiter<C: Clock = MonotonicClock>(
    RateLimiter<Attempt, Sources, C, NoOpMiddleware<<C as Clock>::Instant>>,
);

/// What the store is asked about a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Attempt {
    /// It is about to try; this changes nothing.
    Checked(IpAddr),
    Failed(IpAddr),
}

/// For each source, the time from which on nothing that it did counts any more.
#[derive(Debug, Default)]
struct Sources(Mutex<HashMap<IpAddr, Nanos>>);

impl StateStore for Sources {
    type Key = Attempt;

    fn measure_and_replace<T, F, E>(&self, attempt: &Attempt, measure: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (Attempt::Checked(source) | Attempt::Failed(source)) = *attempt;
        let (outcome, until) = measure(known.get(&source).copied())?;
        if matches!(attempt, Attempt::Checked(_)) {
            return Ok(outcome);
        }
        if known.len() >= SOURCES
            && !known.contains_key(&source)
            && let Some(soonest) = known.iter().min_by_key(|(_, until)| **until).map(|(source, _)| *source)
        {
            known.remove(&soonest);
        }
        known.insert(source, until);
        Ok(outcome)
    }
}

impl Default for LoginLimiter {
    fn default() -> Self {
        Self::new(MonotonicClock)
    }
}

impl<C: Clock> LoginLimiter<C> {
    fn new(clock: C) -> Self {
        let quota = Quota::with_period(REFILL).expect("the period is not zero").allow_burst(BURST);
        Self(RateLimiter::new(quota, Sources::default(), clock))
    }

    /// Checks whether the source may try now.
    ///
    /// # Errors
    /// Returns the seconds to wait if the source has failed too often. Even the right token is refused then: accepting it
    /// would reveal that it is right.
    pub fn check(&self, source: IpAddr) -> Result<(), u64> {
        let checked = self.0.check_key(&Attempt::Checked(one_owner(source)));
        checked.map_err(|wait| wait.wait_time_from(self.0.clock().now()).as_secs() + 1)
    }

    pub fn record_failure(&self, source: IpAddr) {
        // A source that may not fail once more is refused before its next attempt anyway.
        let _ = self.0.check_key(&Attempt::Failed(one_owner(source)));
    }
}

/// Maps an IPv6 address to its /64, because the owner of one address has the 2⁶⁴ addresses beside it too.
fn one_owner(source: IpAddr) -> IpAddr {
    match source.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use governor::clock::FakeRelativeClock;

    fn limiter() -> (LoginLimiter<FakeRelativeClock>, FakeRelativeClock) {
        let clock = FakeRelativeClock::default();
        (LoginLimiter::new(clock.clone()), clock)
    }

    #[test]
    fn twenty_failures_limit_attempts_to_four_a_minute() {
        let ((limiter, clock), here) = (limiter(), IpAddr::from([127, 0, 0, 1]));
        for _ in 0..BURST.get() {
            assert_eq!(limiter.check(here), Ok(()));
            limiter.record_failure(here);
        }
        let wait = limiter.check(here).unwrap_err();
        assert!((1..=16).contains(&wait), "{wait}");
        assert_eq!(limiter.check([10, 0, 0, 1].into()), Ok(()), "others are not held up");
        clock.advance(REFILL);
        assert_eq!(limiter.check(here), Ok(()));
        limiter.record_failure(here);
        assert!(limiter.check(here).is_err());
        clock.advance(REFILL * BURST.get());
        for _ in 0..BURST.get() {
            assert_eq!(limiter.check(here), Ok(()));
            limiter.record_failure(here);
        }
        assert!(limiter.check(here).is_err());
    }

    #[test]
    fn checks_that_end_well_are_never_limited() {
        let ((limiter, _), here) = (limiter(), IpAddr::from([127, 0, 0, 1]));
        assert!((0..10 * BURST.get()).all(|_| limiter.check(here).is_ok()));
        assert!(limiter.0.into_state_store().0.into_inner().unwrap().is_empty());
    }

    #[test]
    fn ipv6_neighbours_share_a_bucket_and_memory_is_bounded() {
        let (limiter, _) = limiter();
        let address = |last: u16| IpAddr::from([0x2001, 0xdb8, 1, 2, 3, 4, 5, last]);
        (0..BURST.get() as u16).for_each(|last| limiter.record_failure(address(last)));
        assert!(limiter.check(address(999)).is_err());
        for n in 0..3 * SOURCES as u32 {
            limiter.record_failure(IpAddr::from(n.to_be_bytes()));
        }
        assert!(limiter.check(address(999)).is_err(), "flooding does not wash away who was held up");
        assert!(limiter.0.into_state_store().0.into_inner().unwrap().len() <= SOURCES);
    }
}
