//! The sessions with a run under way.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use crate::domain::SessionId;

/// The sessions with a run under way.
#[derive(Default)]
pub struct Runs(Mutex<HashSet<SessionId>>);

impl Runs {
    pub(super) fn started(&self, id: &SessionId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
    }

    pub(super) fn ended(&self, id: &SessionId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }

    pub fn list(&self) -> Vec<SessionId> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}
