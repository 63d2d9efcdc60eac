//! Falls back to another model when the chosen one does not answer.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::recorder::Recorder;
use super::retrieving::Retrieved;
use super::run::{Run, TurnEnd};
use super::turn::{Exchange, ExchangeError, ending};
use crate::domain::{Event, StatusKind};
use crate::provider::Client;
use crate::tools::ToolSet;

/// Returns another model to ask when this one does not answer; starts it if necessary.
pub type Fallback = Arc<dyn Fn(Arc<Client>) -> Pin<Box<dyn Future<Output = Option<Arc<Client>>> + Send>> + Send + Sync>;

/// What an exchange sends besides the session.
#[derive(Clone, Copy)]
pub(super) struct ExchangeContext<'a> {
    /// The passages for the question; `None` if RAG mode is off.
    pub retrieved: Option<&'a Retrieved>,
    pub tools: &'a ToolSet,
}

/// One request of an exchange.
#[derive(Clone, Copy)]
pub(super) struct ModelAttempt<'a> {
    pub client: &'a Arc<Client>,
    pub context: ExchangeContext<'a>,
    /// 0-based number of the request inside the exchange.
    pub number: u32,
}

/// Number of the request that goes to another model, above those of the chosen one.
const ELSEWHERE: u32 = 4;

impl Run {
    /// Returns an answer from this model or else from the fallback, which then answers for the rest of the run: a run
    /// must not switch back and forth between models.
    pub(super) async fn answer(
        &self,
        recorder: &mut Recorder,
        context: ExchangeContext<'_>,
        client: &mut Arc<Client>,
    ) -> Result<Exchange, TurnEnd> {
        let refused = match self.exchange(recorder, ModelAttempt { client, context, number: 0 }).await {
            // What was shown is the beginning of the answer, and no other model may continue it.
            Err(ExchangeError::Provider { error, shown: false }) if error.is_outage() => error,
            answer => return answer.map_err(ending),
        };
        let cancel = &self.tasks.stop_signal.cancel;
        let other = tokio::select! {
            () = cancel.cancelled() => return Err(ending(ExchangeError::Cancelled)),
            other = (self.fallback)(client.clone()) => other,
        };
        let Some(other) = other else { return Err(ending(ExchangeError::Provider { error: refused, shown: false })) };
        let (model, instead_of) = (other.endpoint().model.clone(), client.endpoint().model.clone());
        tracing::warn!(%refused, model, instead_of, "another model is asked");
        let message = format!("{refused} Switching to {}.", other.endpoint().label);
        recorder.status(StatusKind::Retrying, message).await?;
        recorder.fact(Event::ModelChanged { work_id: recorder.work_id().clone(), model, instead_of }).await?;
        *client = other;
        self.exchange(recorder, ModelAttempt { client, context, number: ELSEWHERE }).await.map_err(ending)
    }
}
