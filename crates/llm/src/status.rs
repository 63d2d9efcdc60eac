//! The status is what `GET /health` tells: how far the model is loaded and the prefix read.

use serde_json::{Value, json};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// How far the model is.
#[derive(Debug, Clone, PartialEq)]
pub enum Phase {
    /// Share of the file loaded, 0 to 1.
    Loading(f32),
    Ready,
    Failed(String),
}

/// How far the prefix is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PrefixState {
    None,
    /// Share of its tokens read, 0 to 1.
    Reading(f32),
    Ready,
}

/// Written by the engine, read by the HTTP server.
pub struct Status {
    model: String,
    phase: watch::Sender<Phase>,
    prefix: Mutex<PrefixState>,
}

impl Status {
    /// `model` is the name clients see.
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
    /// Why it could not be loaded.
    pub async fn ready(&self) -> Result<(), String> {
        let mut phase = self.phase.subscribe();
        let settled = phase.wait_for(|p| !matches!(p, Phase::Loading(_))).await;
        match settled.as_deref() {
            Ok(Phase::Failed(why)) => Err(why.clone()),
            Ok(_) => Ok(()),
            Err(_) => Err("the server is stopping".into()),
        }
    }

    /// The body of `GET /health`.
    pub fn health(&self) -> Value {
        let (status, detail, progress) = match &*self.phase.borrow() {
            Phase::Loading(share) => ("loading", "loading the model".to_owned(), Some(*share)),
            Phase::Ready => ("ready", String::new(), None),
            Phase::Failed(why) => ("failed", why.clone(), None),
        };
        let (state, share) = match *self.lock() {
            PrefixState::None => ("none", 0.0),
            PrefixState::Reading(share) => ("reading", share),
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
        // a plain value: whole after any panic
        self.prefix.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health_says_how_far_everything_is() {
        let status = Status::new("m".into());
        status.set_phase(Phase::Loading(0.5));
        status.set_prefix(PrefixState::Reading(0.25));
        let health = status.health();
        assert_eq!(health["status"], "loading");
        assert_eq!(health["progress"], 0.5);
        assert_eq!(health["prefix"], json!({"state": "reading", "progress": 0.25}));
    }

    #[tokio::test]
    async fn a_failed_load_is_told_to_those_who_wait() {
        let status = Status::new("m".into());
        status.set_phase(Phase::Failed("no such file".into()));
        assert_eq!(status.ready().await, Err("no such file".into()));
    }
}
