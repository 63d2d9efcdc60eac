//! Limits failed attempts to sign in to one account, from anywhere, with growing waits. Names that nobody has are limited
//! alike.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::time::Instant;

/// Number of failures that nobody has to wait for.
const FREE: u32 = 10;
/// Maximum wait. It is short, because a stranger can make the owner of an account wait.
const LONGEST: Duration = Duration::from_secs(60);
/// Time without a failure after which failures are forgotten.
const FORGOTTEN: Duration = Duration::from_secs(15 * 60);
/// Maximum number of names remembered.
const NAMES: usize = 4096;

#[derive(Default)]
pub struct Attempts(Mutex<HashMap<[u8; 32], Failures>>);

#[derive(Clone, Copy)]
struct Failures {
    count: u32,
    last: Instant,
}

impl Failures {
    /// Returns the time from which on the next attempt is allowed.
    fn until(&self) -> Instant {
        let over = self.count.saturating_sub(FREE);
        let wait = if over == 0 { Duration::ZERO } else { Duration::from_secs(1 << over.min(6)) };
        self.last + wait.min(LONGEST)
    }
}

impl Attempts {
    /// # Errors
    /// Returns the seconds to wait if there were too many failures with this name.
    pub fn check(&self, name: &str) -> Result<(), u64> {
        let now = Instant::now();
        match self.names().get(&key(name)) {
            Some(failures) if failures.until() > now => {
                Err(failures.until().duration_since(now).as_secs_f64().ceil() as u64)
            }
            Some(_) | None => Ok(()),
        }
    }

    pub fn record_failure(&self, name: &str) {
        let (now, key) = (Instant::now(), key(name));
        let mut names = self.names();
        names.retain(|_, failures| now.duration_since(failures.last) < FORGOTTEN);
        if names.len() >= NAMES
            && !names.contains_key(&key)
            && let Some(soonest) = names.iter().min_by_key(|(_, failures)| failures.until()).map(|(key, _)| *key)
        {
            names.remove(&soonest);
        }
        let failures = names.entry(key).or_insert(Failures { count: 0, last: now });
        *failures = Failures { count: failures.count.saturating_add(1), last: now };
    }

    pub fn forget(&self, name: &str) {
        self.names().remove(&key(name));
    }

    fn names(&self) -> MutexGuard<'_, HashMap<[u8; 32], Failures>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(name: &str) -> [u8; 32] {
    Sha256::digest(name).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_grow_to_a_minute_and_are_forgotten() {
        let attempts = Attempts::default();
        for _ in 0..FREE {
            assert_eq!(attempts.check("ann"), Ok(()));
            attempts.record_failure("ann");
        }
        assert_eq!(attempts.check("ann"), Ok(()));
        for wait in [2, 4, 8, 16, 32, 60, 60] {
            attempts.record_failure("ann");
            assert_eq!(attempts.check("ann"), Err(wait));
            assert_eq!(attempts.check("bob"), Ok(()), "others do not wait");
            tokio::time::advance(Duration::from_secs(wait)).await;
            assert_eq!(attempts.check("ann"), Ok(()));
        }
        tokio::time::advance(FORGOTTEN).await;
        attempts.record_failure("ann");
        assert_eq!(attempts.check("ann"), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn remembered_names_are_bounded() {
        let attempts = Attempts::default();
        (0..=FREE).for_each(|_| attempts.record_failure("ann"));
        for number in 0..2 * NAMES {
            attempts.record_failure(&number.to_string());
        }
        assert!(attempts.check("ann").is_err(), "flooding does not wash away who was held up");
        assert!(attempts.names().len() <= NAMES);
        attempts.forget("ann");
        assert_eq!(attempts.check("ann"), Ok(()));
    }
}
