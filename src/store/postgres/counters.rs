//! What a process has done with its database, for monitoring.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::error::DatabaseError;

/// Counts from the start of the process on.
#[derive(Debug, Default)]
pub(super) struct DatabaseCounters {
    claims: AtomicU64,
    takeovers: AtomicU64,
    writes: AtomicU64,
    write_micros: AtomicU64,
    fenced_writes: AtomicU64,
    doubtful_writes: AtomicU64,
}

/// The counts at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DatabaseFigures {
    /// Claims of homes.
    pub claims: u64,
    /// Those among them of homes whose owner had not given them up.
    pub takeovers: u64,
    /// Writes that the database has confirmed, and how long they took together, with all attempts.
    pub writes: u64,
    pub write_time: Duration,
    /// Writes that were refused because this process does not own the home any more.
    pub fenced_writes: u64,
    /// Attempts whose outcome was not known at first.
    pub doubtful_writes: u64,
    /// Connections that writes use at this moment, with those that are being closed.
    pub busy_connections: usize,
}

impl DatabaseCounters {
    pub fn claimed(&self, was_given_up: bool) {
        self.claims.fetch_add(1, Ordering::Relaxed);
        self.takeovers.fetch_add(u64::from(!was_given_up), Ordering::Relaxed);
    }

    pub fn written(&self, outcome: &Result<(), DatabaseError>, took: Duration) {
        match outcome {
            Ok(()) => {
                self.writes.fetch_add(1, Ordering::Relaxed);
                let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
                self.write_micros.fetch_add(micros, Ordering::Relaxed);
            }
            Err(DatabaseError::Fenced) => drop(self.fenced_writes.fetch_add(1, Ordering::Relaxed)),
            Err(_) => {}
        }
    }

    pub fn doubted(&self) {
        self.doubtful_writes.fetch_add(1, Ordering::Relaxed);
    }

    pub fn figures(&self, busy_connections: usize) -> DatabaseFigures {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        DatabaseFigures {
            claims: count(&self.claims),
            takeovers: count(&self.takeovers),
            writes: count(&self.writes),
            write_time: Duration::from_micros(count(&self.write_micros)),
            fenced_writes: count(&self.fenced_writes),
            doubtful_writes: count(&self.doubtful_writes),
            busy_connections,
        }
    }
}
