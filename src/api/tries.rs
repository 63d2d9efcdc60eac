//! Wrong credentials, counted by where they came from, so that nobody can guess for long. Loopback is no exception: other
//! users of this machine and every page in a browser reach it.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Wrong tries at once.
const TRIES: u32 = 20;
/// After them, one more each time this has passed.
const PAUSE: Duration = Duration::from_secs(15);
/// Sources that are remembered; a source that is forgotten begins anew, which is what most of them deserve.
const SOURCES: usize = 4096;

/// How many wrong tries each source has left.
#[derive(Debug, Default)]
pub struct Tries {
    by_source: Mutex<HashMap<IpAddr, Bucket>>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    /// When the last wrong try will be forgotten, if no other comes.
    until: Instant,
}

impl Tries {
    /// Whether the source may try now; else how many seconds it must wait.
    ///
    /// # Errors
    /// When it has used up its tries. Then even the right token is refused: an answer would tell that it is the right one.
    pub fn may_try(&self, source: IpAddr, now: Instant) -> Result<(), u64> {
        let buckets = self.by_source.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(bucket) = buckets.get(&one_owner(source)) else { return Ok(()) };
        let used = bucket.until.saturating_duration_since(now);
        let room = PAUSE * (TRIES - 1);
        match used.checked_sub(room) {
            None | Some(Duration::ZERO) => Ok(()),
            Some(over) => Err(over.as_secs() + 1),
        }
    }

    pub fn was_wrong(&self, source: IpAddr, now: Instant) {
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
        bucket.until = bucket.until.max(now) + PAUSE;
    }
}

/// Who has one IPv6 address has the 2⁶⁴ beside it too.
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
    fn after_twenty_wrong_tries_one_is_left_every_fifteen_seconds() {
        let (tries, now, here) = (Tries::default(), Instant::now(), IpAddr::from([127, 0, 0, 1]));
        for _ in 0..TRIES {
            assert_eq!(tries.may_try(here, now), Ok(()));
            tries.was_wrong(here, now);
        }
        let wait = tries.may_try(here, now).unwrap_err();
        assert!((1..=16).contains(&wait), "{wait}");
        assert_eq!(tries.may_try([10, 0, 0, 1].into(), now), Ok(()), "others are not held up");
        let later = now + PAUSE;
        assert_eq!(tries.may_try(here, later), Ok(()));
        tries.was_wrong(here, later);
        assert!(tries.may_try(here, later).is_err());
        assert_eq!(tries.may_try(here, now + PAUSE * (TRIES + 1)), Ok(()));
    }

    #[test]
    fn neighbours_in_ipv6_share_their_tries_and_memory_is_bounded() {
        let (tries, now) = (Tries::default(), Instant::now());
        let address = |last: u16| IpAddr::from([0x2001, 0xdb8, 1, 2, 3, 4, 5, last]);
        (0..TRIES as u16).for_each(|last| tries.was_wrong(address(last), now));
        assert!(tries.may_try(address(999), now).is_err());
        for n in 0..3 * SOURCES as u32 {
            tries.was_wrong(IpAddr::from(n.to_be_bytes()), now);
        }
        assert!(tries.by_source.lock().unwrap().len() <= SOURCES);
        assert!(tries.may_try(address(999), now).is_err(), "flooding does not wash away who was held up");
    }
}
