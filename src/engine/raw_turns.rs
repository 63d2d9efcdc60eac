//! Requests to a model alone, for programs of the OpenAI API: no persona, no tools, no session. Only what they used is kept.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::models::NoProgress;
use super::{EngineError, Tenant};
use crate::agent::{LimitCheck, LimitReached, Reservation, worst_case};
use crate::clock;
use crate::domain::{Chosen, Usage, Work, WorkId};
use crate::provider::{Client, ModelRequest, ProviderError, StreamChunk};
use crate::store::CountedWork;

/// Maximum number of pieces of an answer that wait to be read.
const UNREAD: usize = 64;

/// Why a request to a model was not sent.
#[derive(Debug, thiserror::Error)]
pub enum RawRefused {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("{0}")]
    Limit(Box<LimitReached>),
}

/// An answer of a model. Dropping it cancels the request.
pub struct RawAnswer {
    pub id: WorkId,
    /// Ends after the first error. The usage, if the provider does not tell it, is estimated.
    pub chunks: mpsc::Receiver<Result<StreamChunk, ProviderError>>,
}

impl Tenant {
    /// Sends a request to a model as it is, and counts what it uses. The answer ends with an error if `over` resolves before its
    /// end.
    ///
    /// # Errors
    /// Returns an error if there is no such model, or if a limit of usage does not allow it.
    pub async fn raw_turn(
        self: &Arc<Self>,
        chosen: Chosen,
        request: ModelRequest,
        over: impl Future<Output = ()> + Send + 'static,
    ) -> Result<RawAnswer, RawRefused> {
        let client = self.models.client(&chosen, &mut NoProgress).await.map_err(EngineError::from)?;
        let work = CountedWork {
            work_id: WorkId::new(clock::new_id()),
            created_at: clock::now(),
            model: client.endpoint().model.clone(),
            project_id: None,
            usage: Usage::default(),
            foreign: false,
        };
        let body = client.body(&request);
        let input = self.runtime.tokens.count(&body.to_string());
        let worst = worst_case(client.endpoint(), input, &body);
        drop(body);
        let reservation = self.reserved(&work, worst).await?;
        let (to, chunks) = mpsc::channel(UNREAD);
        let id = work.work_id.clone();
        let running = RawTurn { tenant: self.clone(), client, work, reservation, input };
        tokio::spawn(running.run(request, to, over));
        Ok(RawAnswer { id, chunks })
    }

    async fn reserved(&self, work: &CountedWork, worst: Usage) -> Result<Option<Reservation>, RawRefused> {
        let check = LimitCheck { server: self.runtime.config().usage_limits, asks: true };
        let (budget, work) = (self.budget.clone(), Work::begun(work.work_id.clone(), work.created_at));
        let reserved = super::blocking(move || budget.reserve(check, &work, worst)).await?;
        reserved.map_err(|reached| RawRefused::Limit(Box::new(reached)))
    }
}

struct RawTurn {
    tenant: Arc<Tenant>,
    client: Arc<Client>,
    work: CountedWork,
    reservation: Option<Reservation>,
    /// Tokens of the request, as counted here.
    input: usize,
}

impl RawTurn {
    async fn run(
        self,
        request: ModelRequest,
        to: mpsc::Sender<Result<StreamChunk, ProviderError>>,
        over: impl Future<Output = ()> + Send,
    ) {
        let mut over = std::pin::pin!(over);
        // A place for the last error, so that it comes after the pieces that a program has not read yet.
        let Ok(last) = to.clone().reserve_owned().await else { return };
        let mut turn = self.client.turn(&request);
        let (mut told, mut received) = (None, String::new());
        loop {
            let chunk = tokio::select! {
                // Nobody reads the answer any more.
                () = to.closed() => break,
                () = &mut over => {
                    last.send(Err(self.cut_off()));
                    break;
                }
                chunk = turn.next() => chunk,
            };
            let Some(chunk) = chunk else { break };
            match &chunk {
                Ok(StreamChunk::Usage(usage)) => told = Some(*usage),
                Ok(StreamChunk::Text(text) | StreamChunk::Thinking(text)) => received.push_str(text),
                Ok(StreamChunk::ToolCallArguments { delta, .. }) => received.push_str(delta),
                Ok(_) | Err(_) => {}
            }
            let is_sent = tokio::select! {
                sent = to.send(chunk) => sent.is_ok(),
                // A program that does not read is not waited for.
                () = &mut over => {
                    last.send(Err(self.cut_off()));
                    break;
                }
            };
            if !is_sent {
                break;
            }
        }
        self.count(told, &received).await;
    }

    fn cut_off(&self) -> ProviderError {
        let provider = self.client.endpoint().label.clone();
        let cause = "the server stops, or the token of this request counts no more".to_owned();
        ProviderError::Interrupted { provider, cause }
    }

    async fn count(self, told: Option<Usage>, received: &str) {
        let usage = match told.filter(|usage| usage.total() > 0) {
            Some(usage) => usage,
            None if received.is_empty() => return,
            None => {
                let (input_tokens, output_tokens) =
                    (self.input as u64, self.tenant.runtime.tokens.count(received) as u64);
                let estimated_tokens = input_tokens + output_tokens;
                Usage { input_tokens, output_tokens, estimated_tokens, ..Usage::default() }
            }
        };
        let usage = usage.priced(self.client.endpoint().price.as_ref());
        self.reservation.into_iter().for_each(|reservation| reservation.used(usage));
        let work = CountedWork { usage, ..self.work };
        if let Err(error) = self.tenant.log.count_work(self.tenant.claim, work).await {
            tracing::warn!(%error, "what a request to a model used could not be counted");
        }
    }
}
