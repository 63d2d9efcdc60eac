//! Measures the works of one session by their events.

use std::sync::Arc;
use std::time::Instant;

use super::{CodeLabel, Metrics, ModelLabel, OTHER, OutcomeLabel};
use crate::domain::event::StatusKind;
use crate::domain::{CallStatus, Event, Outcome};
use crate::engine::catalogue::ModelCatalogue;

/// Measures the works of one session. It is told each event once.
pub struct WorkMeter {
    metrics: Arc<Metrics>,
    catalogue: Arc<ModelCatalogue>,
    work: Option<Measured>,
}

struct Measured {
    /// As the label says it.
    model: String,
    began: Instant,
    /// When the request to the model began whose answer is arriving, and whether its first token has come.
    request: Option<(Instant, bool)>,
}

impl WorkMeter {
    pub fn new(metrics: Arc<Metrics>, catalogue: Arc<ModelCatalogue>) -> Self {
        Self { metrics, catalogue, work: None }
    }

    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Returns the label of a model. One that a person has connected has a name that they chose, and gets none of its own.
    fn label(&self, model: &str) -> String {
        match self.catalogue.candidates().iter().any(|candidate| candidate.model == model) {
            true => self.metrics.models.bounded(model),
            false => OTHER.to_owned(),
        }
    }

    pub fn observe(&mut self, event: &Event) {
        match event {
            Event::WorkStarted { model, .. } => {
                self.work = Some(Measured { model: self.label(model), began: Instant::now(), request: None });
            }
            Event::ModelChanged { model, .. } => {
                let model = self.label(model);
                if let Some(work) = &mut self.work {
                    work.model = model;
                }
            }
            Event::DialogueStarted { .. } => {
                if let Some(work) = &mut self.work {
                    work.request = Some((Instant::now(), false));
                }
            }
            Event::Text { .. } | Event::Thinking { .. } => self.token(),
            Event::Status { status: StatusKind::WritingInput, .. } => self.token(),
            Event::Status { status: StatusKind::Retrying, .. } => drop(self.metrics.retries.inc()),
            Event::DialogueFinished { usage, .. } => {
                let Some(work) = &mut self.work else { return };
                self.metrics.used(&work.model, usage);
                if let Some((since, _)) = work.request.take() {
                    let label = ModelLabel { model: work.model.clone() };
                    self.metrics.model_seconds.get_or_create(&label).observe(since.elapsed().as_secs_f64());
                }
            }
            Event::ToolFinished { tool, status, duration_ms, .. } => {
                self.metrics.called(tool, word(*status), std::time::Duration::from_millis(*duration_ms));
            }
            Event::WorkFinished { outcome, .. } => self.finished(outcome),
            _ => {}
        }
    }

    fn token(&mut self) {
        if let Some(work) = &mut self.work
            && let Some((since, is_answering @ false)) = &mut work.request
        {
            *is_answering = true;
            let label = ModelLabel { model: work.model.clone() };
            self.metrics.first_token_seconds.get_or_create(&label).observe(since.elapsed().as_secs_f64());
        }
    }

    fn finished(&mut self, outcome: &Outcome) {
        self.metrics.works.get_or_create(&OutcomeLabel { outcome: outcome.word() }).inc();
        if let Outcome::Error { code, .. } = outcome {
            let code = self.metrics.codes.bounded(code);
            self.metrics.errors.get_or_create(&CodeLabel { code }).inc();
        }
        if let Some(work) = self.work.take() {
            self.metrics.work_seconds.observe(work.began.elapsed().as_secs_f64());
        }
    }
}

fn word(status: CallStatus) -> &'static str {
    match status {
        CallStatus::Approval => "approval",
        CallStatus::Running => "running",
        CallStatus::Done => "done",
        CallStatus::Error => "error",
        CallStatus::Denied => "denied",
        CallStatus::Cancelled => "cancelled",
        CallStatus::Interrupted => "interrupted",
    }
}
