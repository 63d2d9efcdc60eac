//! Idle time: the time in which no work of this process computes; works that wait for a person do not count. What can wait is
//! computed then.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long one step waits for idle time: with works that never end, computing goes on slowly.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// Counts the works that are busy.
#[derive(Default)]
pub struct IdleTime {
    busy: Mutex<usize>,
    became_idle: Condvar,
}

/// Guard of a work, which is busy until this is dropped, except while it waits for a person.
pub struct BusyWork(Arc<IdleTime>);

impl BusyWork {
    pub(super) fn begin_to_wait(&self) {
        self.0.remove();
    }

    pub(super) fn go_on(&self) {
        *self.0.busy() += 1;
    }
}

impl IdleTime {
    pub fn begin_work(self: &Arc<Self>) -> BusyWork {
        *self.busy() += 1;
        BusyWork(self.clone())
    }

    fn remove(&self) {
        *self.busy() -= 1;
        self.became_idle.notify_all();
    }

    /// Blocks until no work is busy, for two seconds at most.
    pub fn wait(&self) {
        self.wait_at_most(MAX_WAIT);
    }

    /// Returns whether no work is busy now.
    fn wait_at_most(&self, limit: Duration) -> bool {
        let waited = self.became_idle.wait_timeout_while(self.busy(), limit, |busy| *busy > 0);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    fn busy(&self) -> MutexGuard<'_, usize> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for BusyWork {
    fn drop(&mut self) {
        self.0.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_waits_until_last_work_ends_but_not_for_ever() {
        let idle_time = Arc::new(IdleTime::default());
        assert!(idle_time.wait_at_most(Duration::ZERO), "nothing runs yet");
        let (first, second) = (idle_time.begin_work(), idle_time.begin_work());
        drop(first);
        assert!(!idle_time.wait_at_most(Duration::ZERO), "one still runs");
        let waiting = std::thread::spawn({
            let idle_time = idle_time.clone();
            move || idle_time.wait_at_most(Duration::MAX)
        });
        second.begin_to_wait();
        assert!(waiting.join().unwrap(), "a work that waits for a person keeps nobody from computing");
        second.go_on();
        assert!(!idle_time.wait_at_most(Duration::ZERO));
        drop(second);
        assert!(idle_time.wait_at_most(Duration::ZERO));
    }
}
