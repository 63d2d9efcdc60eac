//! Limits failed logins by source address with a token bucket. Loopback is no exception: other users of this machine and every
//! page in a browser reach it.
//!
//! Only failures count, and a source is checked before its credential is, so that a client with the right token is never
//! limited. The limiters of the known crates (`governor`) count every check, which is why this one is our own.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Failures that are allowed at once.
const BURST: u32 = 20;
/// After them, one more is allowed each time this has passed.
const REFILL: Duration = Duration::from_secs(15);
/// Sources that are remembered. A forgotten source has a full bucket again.
const SOURCES: usize = 4096;

/// The bucket of each source that failed lately.
#[derive(Debug, Default)]
pub struct LoginLimiter {
    by_source: Mutex<HashMap<IpAddr, Bucket>>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// When the bucket is full again, if no other failure comes.
    until: Instant,
}

impl LoginLimiter {
    /// Whether the source may try now; else how many seconds it has to wait.
    ///
    /// # Errors
    /// When it has used up its limiter. Then even the right token is refused: an answer would tell that it is the right one.
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

/// An owner of one IPv6 address has the 2⁶⁴ addresses beside it too.
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
