//! Records what was sent to the model, beside the exchange. A failure to record never affects the answer.

use std::sync::Arc;

use tokio::task::JoinHandle;

use crate::domain::{AnsweredRequest, ChangedBy, Place, SentPart, SentRequest, SessionId, Usage, WorkId};
use crate::prompt::sent::{OutgoingRequest, take_apart};
use crate::prompt::{SystemPrompt, pictures};
use crate::provider::{Client, ModelRequest};
use crate::store::{Home, RequestPosition, StoreError};

/// Returns who wrote the version of a file that has this hash, if known.
pub type AuthorLookup = Arc<dyn Fn(&Place, &str) -> Option<ChangedBy> + Send + Sync>;

/// Where the requests of a run are stored.
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
    /// The retrieved passages as the model reads them.
    pub retrieved: Arc<str>,
    /// Number of the session's messages that are left out.
    pub left_out: usize,
    pub work_id: WorkId,
    pub position: RequestPosition,
}

/// A request whose record is being written.
pub struct PendingRecord {
    kept: JoinHandle<StoredRecord>,
    keeper: RequestKeeper,
    envelope: RequestToKeep,
}

/// A record as stored on disk.
struct StoredRecord {
    request: SentRequest,
    /// Number of changes to the body that the provider had required.
    changes: usize,
}

impl RequestKeeper {
    /// Starts to store a request. The exchange does not wait for it, and errors are only logged.
    pub fn keep(&self, envelope: RequestToKeep) -> PendingRecord {
        let (keeper, one) = (self.clone(), envelope.clone());
        let kept = tokio::task::spawn_blocking(move || keeper.write(&one, None));
        PendingRecord { kept, keeper: self.clone(), envelope }
    }

    /// Writes the record and the texts that it refers to.
    fn write(&self, envelope: &RequestToKeep, usage: Option<Usage>) -> StoredRecord {
        let changes = self.client.changes();
        let body = self.client.body(&envelope.request);
        let (system, retrieved) = (&*envelope.system, &*envelope.retrieved);
        let pictures = &pictures::of(&envelope.request.messages);
        let (mut request, texts) = take_apart(OutgoingRequest { body, system, retrieved, pictures });
        let endpoint = self.client.endpoint();
        request.at = crate::clock::now();
        request.work_id = envelope.work_id.clone();
        RequestPosition { dialogue: request.dialogue, attempt: request.attempt, .. } = envelope.position;
        request.provider = endpoint.profile.kind.name().to_lowercase();
        request.model.clone_from(&endpoint.model);
        request.left_out = envelope.left_out;
        request.usage = usage;
        request.system.iter_mut().for_each(|part| self.sign(part));
        self.log(self.home.records().keep_request(&self.session, envelope.position, &request, &texts));
        StoredRecord { request, changes }
    }

    fn log(&self, kept: Result<(), StoreError>) {
        if let Err(error) = kept {
            tracing::warn!(session = %self.session, %error, "what was sent to the model could not be kept");
        }
    }

    /// Adds to the part when its file was last changed, and by whom.
    fn sign(&self, part: &mut SentPart) {
        let (Some(file), Some(etag)) = (&part.file, &part.etag) else { return };
        let Ok(path) = Place::parse(file) else { return };
        part.modified = self.home.modified(&path);
        part.by = (self.writers)(&path, etag);
    }
}

impl PendingRecord {
    /// Completes the record after the exchange with the provider's token counts. A request that was repeated without a
    /// refused field gets its own record. Returns the request that was sent last.
    pub async fn finish(self, usage: Option<Usage>) -> Option<AnsweredRequest> {
        let Self { kept, keeper, mut envelope } = self;
        let StoredRecord { mut request, changes } = kept.await.ok()?;
        let stored = tokio::task::spawn_blocking(move || {
            if keeper.client.changes() != changes {
                envelope.position.attempt += 1;
                return keeper.write(&envelope, usage).request;
            }
            if usage.is_some() {
                // The texts are stored already; only the record is written again.
                request.usage = usage;
                keeper.log(keeper.home.records().keep_record(&keeper.session, envelope.position, &request));
            }
            request
        });
        // The run continues whether this succeeds or not.
        let SentRequest { dialogue, attempt, sha256, .. } = stored.await.ok()?;
        Some(AnsweredRequest { dialogue, attempt, sha256 })
    }
}
