//! Records what was sent to the model, beside the exchange. A failure to record never affects the answer.

use std::sync::Arc;

use tokio::task::JoinHandle;

use crate::domain::{ChangedBy, Place, SentPart, SentRequest, SessionId, Usage, WorkId};
use crate::prompt::sent::{Sending, take_apart};
use crate::prompt::{SystemPrompt, pictures};
use crate::provider::{Client, ModelRequest};
use crate::store::{Home, StoreError};

/// Tells who wrote the version of a file that has this hash, where that is known.
pub type AuthorLookup = Arc<dyn Fn(&Place, &str) -> Option<ChangedBy> + Send + Sync>;

/// Where requests of a run are kept.
#[derive(Clone)]
pub struct RequestKeeper {
    pub home: Home,
    pub session: SessionId,
    pub client: Arc<Client>,
    pub writers: AuthorLookup,
}

/// One request, before it is sent.
#[derive(Clone)]
pub struct RequestToKeep {
    pub request: Arc<ModelRequest>,
    pub system: Arc<SystemPrompt>,
    /// As the model reads it.
    pub retrieved: Arc<str>,
    pub dropped: usize,
    pub work_id: WorkId,
    /// The session's fact number at the beginning of the run, the exchange, the attempt.
    pub place: (u64, u32, u32),
}

/// A request on its way into its record.
pub struct PendingRecord {
    kept: JoinHandle<StoredRecord>,
    keeper: RequestKeeper,
    envelope: RequestToKeep,
}

/// A record as it stands on disk.
struct StoredRecord {
    request: SentRequest,
    /// How many changes the provider had asked for in the body.
    changes: usize,
}

impl RequestKeeper {
    /// Begins to keep a request. The exchange need not wait for it, and what goes wrong is only logged.
    pub fn keep(&self, envelope: RequestToKeep) -> PendingRecord {
        let (keeper, one) = (self.clone(), envelope.clone());
        let kept = tokio::task::spawn_blocking(move || keeper.write(&one, None));
        PendingRecord { kept, keeper: self.clone(), envelope }
    }

    /// Writes the record and the texts it stands for.
    fn write(&self, envelope: &RequestToKeep, usage: Option<Usage>) -> StoredRecord {
        let changes = self.client.changes();
        let body = self.client.body(&envelope.request);
        let (system, retrieved) = (&*envelope.system, &*envelope.retrieved);
        let pictures = &pictures::of(&envelope.request.messages);
        let (mut request, texts) = take_apart(Sending { body, system, retrieved, pictures });
        let endpoint = self.client.endpoint();
        request.at = crate::clock::now();
        request.work_id = envelope.work_id.clone();
        (_, request.dialogue, request.attempt) = envelope.place;
        request.provider = endpoint.profile.kind.name().to_lowercase();
        request.model.clone_from(&endpoint.model);
        request.dropped = envelope.dropped;
        request.usage = usage;
        request.system.iter_mut().for_each(|part| self.sign(part));
        self.log(self.home.records().keep_request(&self.session, envelope.place, &request, &texts));
        StoredRecord { request, changes }
    }

    fn log(&self, kept: Result<(), StoreError>) {
        if let Err(error) = kept {
            tracing::warn!(session = %self.session, %error, "what was sent to the model could not be kept");
        }
    }

    /// Says when and by whom the part's file was changed last.
    fn sign(&self, part: &mut SentPart) {
        let (Some(file), Some(etag)) = (&part.file, &part.etag) else { return };
        let Ok(path) = Place::parse(file) else { return };
        part.modified = self.home.modified(&path);
        part.by = (self.writers)(&path, etag);
    }
}

impl PendingRecord {
    /// The exchange is over. What the provider counted is added; a request that was made anew without a field that was
    /// refused is a request of its own.
    pub async fn finish(self, usage: Option<Usage>) {
        let Self { kept, keeper, mut envelope } = self;
        let Ok(StoredRecord { mut request, changes }) = kept.await else { return };
        // Whether it succeeds or not, the run goes on.
        let _ = tokio::task::spawn_blocking(move || {
            if keeper.client.changes() != changes {
                envelope.place.2 += 1;
                keeper.write(&envelope, usage);
            } else if usage.is_some() {
                // Its texts are there: only the record is written again.
                request.usage = usage;
                keeper.log(keeper.home.records().keep_record(&keeper.session, envelope.place, &request));
            }
        })
        .await;
    }
}
