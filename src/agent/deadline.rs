//! The time limit of a run. The clock is paused while the run waits for a person.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::idle_time::BusyWork;

pub struct Deadline {
    state: Mutex<State>,
    changed: Notify,
    busy: Arc<BusyWork>,
}

#[derive(Clone, Copy)]
struct State {
    deadline: Instant,
    paused_since: Option<Instant>,
}

/// Pauses the deadline until it is dropped. The work is not busy meanwhile.
pub struct Pause<'a>(&'a Deadline);

impl Deadline {
    pub fn new(limit: Duration, busy: Arc<BusyWork>) -> Self {
        let deadline = Instant::now() + limit;
        Self { state: Mutex::new(State { deadline, paused_since: None }), changed: Notify::new(), busy }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn pause(&self) -> Pause<'_> {
        self.state().paused_since = Some(Instant::now());
        self.changed.notify_one();
        self.busy.begin_to_wait();
        Pause(self)
    }

    /// Resolves when the deadline has passed.
    pub async fn over(&self) {
        loop {
            let State { deadline, paused_since } = *self.state();
            let changed = self.changed.notified();
            if paused_since.is_some() {
                changed.await;
                continue;
            }
            tokio::select! {
                () = tokio::time::sleep_until(deadline) => {
                    let now = *self.state();
                    if now.paused_since.is_none() && now.deadline <= Instant::now() {
                        return;
                    }
                }
                () = changed => {}
            }
        }
    }
}

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        if let Some(since) = state.paused_since.take() {
            state.deadline += since.elapsed();
        }
        drop(state);
        self.0.busy.go_on();
        self.0.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::idle_time::IdleTime;

    const MINUTE: Duration = Duration::from_secs(60);

    fn deadline_of_a_minute() -> Deadline {
        Deadline::new(MINUTE, Arc::new(Arc::<IdleTime>::default().begin_work()))
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_for_a_person_pauses_the_deadline() {
        let deadline = deadline_of_a_minute();
        let started = Instant::now();
        let work = async {
            tokio::time::sleep(MINUTE / 2).await;
            let pause = deadline.pause();
            tokio::time::sleep(60 * MINUTE).await;
            drop(pause);
            tokio::time::sleep(60 * MINUTE).await;
        };
        tokio::select! {
            () = work => panic!("the limit did not hold"),
            () = deadline.over() => {}
        }
        assert_eq!(started.elapsed().as_secs(), (61 * MINUTE).as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn deadline_without_question_is_a_plain_limit() {
        let (deadline, started) = (deadline_of_a_minute(), Instant::now());
        deadline.over().await;
        assert_eq!(started.elapsed(), MINUTE);
    }
}
