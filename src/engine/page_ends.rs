//! Where the pages of the list of sessions ended, so that the next page begins there even if the session at the end has moved
//! in the list since, or was deleted. Kept in memory only: after a restart, a page begins after the session's place then.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Number of ends that are remembered.
const MOST: usize = 1_000;

#[derive(Default)]
pub struct PageEnds(Mutex<VecDeque<(String, f64)>>);

impl PageEnds {
    /// Remembers that a page ended with this session, whose last change was then at `updated_at`.
    pub fn remember(&self, session: &str, updated_at: f64) {
        let mut ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ends.retain(|(known, _)| known != session);
        ends.truncate(MOST - 1);
        ends.push_front((session.to_owned(), updated_at));
    }

    /// Returns the time of the last change that the session had when a page ended with it.
    pub fn find(&self, session: &str) -> Option<f64> {
        let ends = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ends.iter().find(|(known, _)| known == session).map(|(_, updated_at)| *updated_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_ends_are_remembered() {
        let ends = PageEnds::default();
        for number in 0..=MOST {
            ends.remember(&format!("s{number}"), number as f64);
        }
        ends.remember("s1", 9.0);
        assert_eq!((ends.find("s0"), ends.find("s1"), ends.find("s2")), (None, Some(9.0), Some(2.0)));
    }
}
