//! The time a run may take. It stands still while a person is asked.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

pub struct Wall {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Clone, Copy)]
struct State {
    deadline: Instant,
    stands_since: Option<Instant>,
}

/// As long as it is there, the time stands still.
pub struct Still<'a>(&'a Wall);

impl Wall {
    pub fn new(limit: Duration) -> Self {
        let deadline = Instant::now() + limit;
        Self { state: Mutex::new(State { deadline, stands_since: None }), changed: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn still(&self) -> Still<'_> {
        self.state().stands_since = Some(Instant::now());
        self.changed.notify_one();
        Still(self)
    }

    /// Resolves when the time is over.
    pub async fn over(&self) {
        loop {
            let State { deadline, stands_since } = *self.state();
            let changed = self.changed.notified();
            if stands_since.is_some() {
                changed.await;
                continue;
            }
            tokio::select! {
                () = tokio::time::sleep_until(deadline) => {
                    let now = *self.state();
                    if now.stands_since.is_none() && now.deadline <= Instant::now() {
                        return;
                    }
                }
                () = changed => {}
            }
        }
    }
}

impl Drop for Still<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        if let Some(since) = state.stands_since.take() {
            state.deadline += since.elapsed();
        }
        drop(state);
        self.0.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn waiting_for_a_person_does_not_count() {
        let wall = Wall::new(MINUTE);
        let started = Instant::now();
        let work = async {
            tokio::time::sleep(MINUTE / 2).await;
            let still = wall.still();
            tokio::time::sleep(60 * MINUTE).await;
            drop(still);
            tokio::time::sleep(60 * MINUTE).await;
        };
        tokio::select! {
            () = work => panic!("the limit did not hold"),
            () = wall.over() => {}
        }
        assert_eq!(started.elapsed().as_secs(), (61 * MINUTE).as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_question_it_is_a_plain_limit() {
        let (wall, started) = (Wall::new(MINUTE), Instant::now());
        wall.over().await;
        assert_eq!(started.elapsed(), MINUTE);
    }
}
