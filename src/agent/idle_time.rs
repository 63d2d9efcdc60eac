//! Idle time: the time in which no work runs in this process. What can wait is computed then.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long one step waits for idle time: with works that never end, computing goes on slowly.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// Counts the works that run.
#[derive(Default)]
pub struct IdleTime {
    running: Mutex<usize>,
    became_idle: Condvar,
}

/// Guard of a work that runs, until it is dropped.
pub struct RunningWork(Arc<IdleTime>);

impl IdleTime {
    pub fn begin_work(self: &Arc<Self>) -> RunningWork {
        *self.running() += 1;
        RunningWork(self.clone())
    }

    /// Blocks until no work runs, for two seconds at most.
    pub fn wait(&self) {
        self.wait_at_most(MAX_WAIT);
    }

    /// Returns whether no work runs now.
    fn wait_at_most(&self, limit: Duration) -> bool {
        let waited = self.became_idle.wait_timeout_while(self.running(), limit, |running| *running > 0);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    fn running(&self) -> MutexGuard<'_, usize> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RunningWork {
    fn drop(&mut self) {
        *self.0.running() -= 1;
        self.0.became_idle.notify_all();
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
        drop(second);
        assert!(waiting.join().unwrap());
    }
}
