//! Limits failed logins by source address with a token bucket. Loopback is limited too: other users of this machine and
//! every page in a browser can reach it.
//!
//! Only failures count, and the source is checked before its credential, so a client with the right token is never
//! limited. Existing crates (`governor`) count every check and do not fit.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Number of failures allowed at once.
const BURST: u32 = 20;
/// Time after which one more failure is allowed.
const REFILL: Duration = Duration::from_secs(15);
/// Maximum number of sources remembered. A forgotten source has a full bucket again.
const SOURCES: usize = 4096;

/// The buckets of the sources that failed recently.
#[derive(Debug, Default)]
pub struct LoginLimiter {
    by_source: Mutex<HashMap<IpAddr, Bucket>>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// When the bucket is full again, if there is no further failure.
    until: Instant,
}

impl LoginLimiter {
    /// Checks whether the source may try now.
    ///
    /// # Errors
    /// Returns the seconds to wait if the source's bucket is empty. Even the right token is refused then: accepting it
    /// would reveal that it is right.
    pub fn check(&self, source: IpAddr, now: Instant) -> Result<(), u64> {
        let buckets = self.by_source.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(bucket) = buckets.get(&one_owner(source)) else { return Ok(()) };
        let used = bucket.until.saturating_duration_since(now);
        let room = REFILL * (BURST - 1);
        match used.checked_sub(room) {
            None | Some(Duration::ZERO) => Ok(()),
            Some(over) => Err(over.as_secs() + 1),
        }
    }

    pub fn record_failure(&self, source: IpAddr, now: Instant) {
        let mut buckets = self.by_source.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= SOURCES {
            buckets.retain(|_, bucket| bucket.until > now);
        }
        if buckets.len() >= SOURCES
            && let Some(soonest) = buckets.iter().min_by_key(|(_, bucket)| bucket.until).map(|(source, _)| *source)
        {
            buckets.remove(&soonest);
        }
        let bucket = buckets.entry(one_owner(source)).or_insert(Bucket { until: now });
        bucket.until = bucket.until.max(now) + REFILL;
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

    #[test]
    fn twenty_failures_limit_attempts_to_four_a_minute() {
        let (limiter, now, here) = (LoginLimiter::default(), Instant::now(), IpAddr::from([127, 0, 0, 1]));
        for _ in 0..BURST {
            assert_eq!(limiter.check(here, now), Ok(()));
            limiter.record_failure(here, now);
        }
        let wait = limiter.check(here, now).unwrap_err();
        assert!((1..=16).contains(&wait), "{wait}");
        assert_eq!(limiter.check([10, 0, 0, 1].into(), now), Ok(()), "others are not held up");
        let later = now + REFILL;
        assert_eq!(limiter.check(here, later), Ok(()));
        limiter.record_failure(here, later);
        assert!(limiter.check(here, later).is_err());
        assert_eq!(limiter.check(here, now + REFILL * (BURST + 1)), Ok(()));
    }

    #[test]
    fn ipv6_neighbours_share_a_bucket_and_memory_is_bounded() {
        let (limiter, now) = (LoginLimiter::default(), Instant::now());
        let address = |last: u16| IpAddr::from([0x2001, 0xdb8, 1, 2, 3, 4, 5, last]);
        (0..BURST as u16).for_each(|last| limiter.record_failure(address(last), now));
        assert!(limiter.check(address(999), now).is_err());
        for n in 0..3 * SOURCES as u32 {
            limiter.record_failure(IpAddr::from(n.to_be_bytes()), now);
        }
        assert!(limiter.by_source.lock().unwrap().len() <= SOURCES);
        assert!(limiter.check(address(999), now).is_err(), "flooding does not wash away who was held up");
    }
}
