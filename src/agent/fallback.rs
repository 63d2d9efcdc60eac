//! Another model in the place of one that does not answer.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::recorder::Recorder;
use super::run::{End, Run, ending};
use super::turn::{Answer, NoAnswer};
use crate::domain::{Event, Hit, StatusKind};
use crate::provider::Client;

/// Who else can be asked when this one does not answer; started, if need be.
pub type Fallback = Arc<dyn Fn(Arc<Client>) -> Pin<Box<dyn Future<Output = Option<Arc<Client>>> + Send>> + Send + Sync>;

/// One question to a model.
#[derive(Clone, Copy)]
pub(super) struct Ask<'a> {
    pub client: &'a Arc<Client>,
    /// What memory says about it.
    pub hits: Option<&'a [Hit]>,
    /// Which of the exchange's requests this is, from 0 on.
    pub attempt: u32,
}

/// The attempt of an exchange that goes to another model: after the chosen one's own.
const ELSEWHERE: u32 = 4;

impl Run {
    /// An answer, of this model or else of the fallback, which then answers for the rest of the run: what one model began
    /// must not be taken up by the other and back again.
    pub(super) async fn answer(
        &self,
        recorder: &mut Recorder,
        hits: Option<&[Hit]>,
        client: &mut Arc<Client>,
    ) -> Result<Answer, End> {
        let refused = match self.exchange(recorder, Ask { client, hits, attempt: 0 }).await {
            // What was shown is the answer's beginning: nobody else goes on with it.
            Err(NoAnswer::Provider { error, shown: false }) if error.is_outage() => error,
            answer => return answer.map_err(ending),
        };
        let cancel = &self.tasks.stopper.cancel;
        let other = tokio::select! {
            () = cancel.cancelled() => return Err(ending(NoAnswer::Cancelled)),
            other = (self.fallback)(client.clone()) => other,
        };
        let Some(other) = other else { return Err(ending(NoAnswer::Provider { error: refused, shown: false })) };
        let (model, instead_of) = (other.endpoint().model.clone(), client.endpoint().model.clone());
        tracing::warn!(%refused, model, instead_of, "another model is asked");
        let message = format!("{refused} Asking {} instead.", other.endpoint().label);
        recorder.status(StatusKind::Retrying, message).await?;
        recorder.fact(Event::ModelChanged { work_id: recorder.work_id().clone(), model, instead_of }).await?;
        *client = other;
        self.exchange(recorder, Ask { client, hits, attempt: ELSEWHERE }).await.map_err(ending)
    }
}
