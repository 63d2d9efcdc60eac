//! The status that `GET /health` reports: how much of the model is loaded and how much of the prefix is evaluated.

use serde_json::{Value, json};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Loading state of the model.
#[derive(Debug, Clone, PartialEq)]
pub enum Phase {
    /// Share of the file loaded, 0 to 1.
    Loading(f32),
    Ready,
    Failed(String),
}

/// Evaluation state of the prefix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PrefixState {
    None,
    /// Share of its tokens evaluated, 0 to 1.
    Evaluating(f32),
    Ready,
}

/// The status. The engine writes it, the HTTP server reads it.
pub struct Status {
    model: String,
    phase: watch::Sender<Phase>,
    prefix: Mutex<PrefixState>,
}

impl Status {
    /// Creates the status. `model` is the name that clients see.
    pub fn new(model: String) -> Self {
        Self { model, phase: watch::Sender::new(Phase::Loading(0.0)), prefix: Mutex::new(PrefixState::None) }
    }

    pub fn model(&self) -> &str {
        &self.model
    }

    pub fn set_phase(&self, phase: Phase) {
        self.phase.send_replace(phase);
    }

    pub fn set_prefix(&self, state: PrefixState) {
        *self.lock() = state;
    }

    /// Waits until the model is ready.
    ///
    /// # Errors
    /// Returns the reason if the model could not be loaded.
    pub async fn ready(&self) -> Result<(), String> {
        let mut phase = self.phase.subscribe();
        let settled = phase.wait_for(|p| !matches!(p, Phase::Loading(_))).await;
        match settled.as_deref() {
            Ok(Phase::Failed(why)) => Err(why.clone()),
            Ok(_) => Ok(()),
            Err(_) => Err("the server is stopping".into()),
        }
    }

    /// Returns the body of `GET /health`.
    pub fn health(&self) -> Value {
        let (status, detail, progress) = match &*self.phase.borrow() {
            Phase::Loading(share) => ("loading", "loading the model".to_owned(), Some(*share)),
            Phase::Ready => ("ready", String::new(), None),
            Phase::Failed(why) => ("failed", why.clone(), None),
        };
        let (state, share) = match *self.lock() {
            PrefixState::None => ("none", 0.0),
            PrefixState::Evaluating(share) => ("reading", share),
            PrefixState::Ready => ("ready", 1.0),
        };
        json!({
            "status": status,
            "detail": detail,
            "model": self.model,
            "progress": progress,
            "prefix": {"state": state, "progress": share},
        })
    }

    fn lock(&self) -> MutexGuard<'_, PrefixState> {
        // the value is a plain enum, which a panic cannot leave half-written
        self.prefix.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health_reports_progress() {
        let status = Status::new("m".into());
        status.set_phase(Phase::Loading(0.5));
        status.set_prefix(PrefixState::Evaluating(0.25));
        let health = status.health();
        assert_eq!(health["status"], "loading");
        assert_eq!(health["progress"], 0.5);
        assert_eq!(health["prefix"], json!({"state": "reading", "progress": 0.25}));
    }

    #[tokio::test]
    async fn failed_load_is_reported_to_waiters() {
        let status = Status::new("m".into());
        status.set_phase(Phase::Failed("no such file".into()));
        assert_eq!(status.ready().await, Err("no such file".into()));
    }
}
