//! Whether a connection is used, and since when it is not.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The uses of a connection.
#[derive(Default)]
pub struct Uses(Arc<Mutex<Held>>);

struct Held {
    under_way: usize,
    last: Instant,
}

/// A use of a connection. Dropping it ends the use.
pub struct Use(Arc<Mutex<Held>>);

impl Default for Held {
    fn default() -> Self {
        Self { under_way: 0, last: Instant::now() }
    }
}

impl Uses {
    pub fn begin(&self) -> Use {
        whole(&self.0).under_way += 1;
        Use(self.0.clone())
    }

    /// Returns when nobody has used the connection for this long. While it is used, that is never before `idle` from now.
    pub fn idle_at(&self, idle: Duration) -> Instant {
        let held = whole(&self.0);
        if held.under_way > 0 { Instant::now() + idle } else { held.last + idle }
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        let mut held = whole(&self.0);
        held.under_way -= 1;
        held.last = Instant::now();
    }
}

fn whole(held: &Mutex<Held>) -> MutexGuard<'_, Held> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn connection_in_use_is_not_idle() {
        let (uses, idle) = (Uses::default(), Duration::from_secs(600));
        let used = uses.begin();
        tokio::time::advance(idle * 2).await;
        assert!(uses.idle_at(idle) > Instant::now());
        drop(used);
        assert_eq!(uses.idle_at(idle), Instant::now() + idle);
        tokio::time::advance(idle).await;
        assert_eq!(uses.idle_at(idle), Instant::now());
    }
}
