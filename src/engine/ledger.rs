//! Keeps one session consistent in memory, on disk and for its subscribers. The order is always journal, fold, publish. Only pieces of
//! text are folded at once, because previews have shown them already: tokens do not wait for a database.

use std::sync::Arc;
use std::time::Instant;

use tokio::task::JoinHandle;

use super::hub::{Hub, PublishedItem};
use super::metrics::WorkMeter;
use super::traces::WorkTracer;
use super::{EngineError, Tenant};
use crate::clock;
use crate::domain::{Event, Fact, Session, SessionId};
use crate::store::{Claim, Durability, Loaded, RecordVersion, ReloadOutcome, SessionLog, SessionWriter, StoreError};

/// Where facts of a home in a database become durable, as figures say it.
const IN_DATABASE: &str = "postgres";

pub struct Ledger {
    pub id: SessionId,
    pub session: Arc<Session>,
    /// Number of the session's last publication.
    pub last: u64,
    log: SessionLog,
    claim: Claim,
    /// `None` while a task has it.
    writer: Option<SessionWriter>,
    /// The task that stores pieces of text in a database, and has the writer.
    storing: Option<JoinHandle<StoredPieces>>,
    /// Pieces of text that are folded and wait for the task.
    pieces: Vec<Fact>,
    hub: Arc<Hub>,
    /// Version of the session's record as last read or written; another one means that a person has changed the file.
    version: Option<RecordVersion>,
    /// The session was adopted from a file of another program, which still has other content: save it before appending.
    unsaved: bool,
    /// `None` unless figures are counted.
    meter: Option<WorkMeter>,
    /// `None` unless traces are sent.
    tracer: Option<WorkTracer>,
    /// Where facts become durable, as figures say it.
    store: &'static str,
}

/// The writer of a session after it has stored pieces of text, or has not.
struct StoredPieces {
    writer: SessionWriter,
    outcome: Result<(), StoreError>,
}

/// Whether the session's file is still the one last read or written.
pub enum OnDisk {
    AsKnown,
    /// Another program changed it, and it has been reread.
    ReadAgain,
    Gone,
}

impl Ledger {
    pub fn new(id: SessionId, loaded: Loaded, tenant: &Tenant) -> Self {
        let (log, claim, hub) = (tenant.log.clone(), tenant.claim, tenant.hub.clone());
        let mut writer = log.writer(claim, &id);
        let traced = id.clone();
        writer.continue_chain(loaded.chain);
        Self {
            session: Arc::new(loaded.session),
            last: hub.last(),
            writer: Some(writer),
            storing: None,
            pieces: Vec::new(),
            id,
            log,
            claim,
            hub,
            version: loaded.version,
            unsaved: loaded.unsaved,
            tracer: tenant
                .runtime
                .traces
                .clone()
                .map(|traces| WorkTracer::new(traces, tenant.runtime.models.clone(), traced)),
            meter: tenant.runtime.metrics.clone().map(|metrics| WorkMeter::new(metrics, tenant.runtime.models.clone())),
            store: if tenant.home.is_in_database() { IN_DATABASE } else { "files" },
        }
    }

    /// Returns an error if the session must not change, because its file has a newer format.
    pub fn writable(&self) -> Result<(), EngineError> {
        match self.session.is_newer() {
            true => Err(StoreError::Newer { what: format!("session {}", self.id) }.into()),
            false => Ok(()),
        }
    }

    /// Journals a fact, waits until it is on disk, folds it and publishes it.
    pub async fn fact(&mut self, event: Event) -> Result<(), EngineError> {
        let event = self.keep(event).await?;
        self.publish(PublishedItem::Event(event));
        Ok(())
    }

    /// Does what [`Self::fact`] does, but leaves publishing to the caller.
    pub async fn keep(&mut self, event: Event) -> Result<Event, EngineError> {
        self.writable()?;
        let is_sound = self.writer().await.is_sound();
        if self.unsaved || !is_sound {
            self.renew().await?;
        }
        let fact = self.next_fact(event);
        let since = Instant::now();
        self.writer().await.append(std::slice::from_ref(&fact), Durability::Synced).await?;
        if let Some(meter) = &mut self.meter {
            meter.metrics().committed(self.store, since.elapsed());
        }
        self.measure(&fact.event);
        Arc::make_mut(&mut self.session).apply_fact(&fact);
        Ok(fact.event)
    }

    /// Journals a mark without waiting for the disk, folds it and publishes it.
    pub async fn mark(&mut self, event: Event) {
        self.append(event.clone()).await;
        self.publish(PublishedItem::Event(event));
    }

    /// Journals a piece of text without waiting for the disk or for a database. It is not published, because previews already
    /// were.
    pub async fn piece(&mut self, event: Event) {
        if self.store != IN_DATABASE {
            return self.append(event).await;
        }
        let fact = self.next_fact(event);
        self.measure(&fact.event);
        Arc::make_mut(&mut self.session).apply_fact(&fact);
        self.pieces.push(fact);
        if self.storing.as_ref().is_none_or(JoinHandle::is_finished) {
            self.end_storing().await;
            self.begin_storing();
        }
    }

    /// Has a task store the pieces that wait.
    fn begin_storing(&mut self) {
        if self.unsaved {
            // The next snapshot contains them.
            self.pieces.clear();
        }
        if self.pieces.is_empty() {
            return;
        }
        let Some(mut writer) = self.writer.take() else { return };
        let pieces = std::mem::take(&mut self.pieces);
        self.storing = Some(tokio::spawn(async move {
            let outcome = writer.append(&pieces, Durability::Buffered).await;
            StoredPieces { writer, outcome }
        }));
    }

    /// Waits for the task.
    async fn end_storing(&mut self) {
        let Some(task) = &mut self.storing else { return };
        let stored = task.await;
        self.storing = None;
        let stored = stored.unwrap_or_else(|error| {
            let writer = self.log.writer(self.claim, &self.id);
            tracing::error!(session = %self.id, %error, "storing a part of an answer failed");
            StoredPieces { writer, outcome: Err(StoreError::ShutDown) }
        });
        if let Err(error) = stored.outcome {
            tracing::warn!(session = %self.id, %error, "could not journal a part of an answer");
            // It stays in memory, so the next snapshot contains it. Nothing is appended before that.
            self.unsaved = true;
        }
        self.writer = Some(stored.writer);
    }

    /// Returns the writer after all pieces are stored, or are known not to be.
    async fn writer(&mut self) -> &mut SessionWriter {
        self.end_storing().await;
        self.begin_storing();
        self.end_storing().await;
        self.writer.as_mut().expect("no task has it any more")
    }

    async fn append(&mut self, event: Event) {
        self.writer().await;
        let fact = self.next_fact(event);
        self.measure(&fact.event);
        match self.writer().await.append(std::slice::from_ref(&fact), Durability::Buffered).await {
            Ok(()) => Arc::make_mut(&mut self.session).apply_fact(&fact),
            // The event stays in memory, so the next snapshot contains it.
            Err(error) => {
                tracing::warn!(session = %self.id, %error, "could not journal a part of an answer");
                Arc::make_mut(&mut self.session).apply(&fact.event, fact.at);
            }
        }
    }

    /// Folds an event and publishes it without journaling; a later fact repeats it.
    pub fn preview(&mut self, event: Event) {
        self.measure(&event);
        Arc::make_mut(&mut self.session).apply(&event, clock::now());
        self.publish(PublishedItem::Event(event));
    }

    fn measure(&mut self, event: &Event) {
        if let Some(meter) = &mut self.meter {
            meter.observe(event);
        }
        if let Some(tracer) = &mut self.tracer {
            tracer.observe(event);
        }
    }

    pub fn publish(&mut self, what: PublishedItem) {
        self.last = self.hub.publish(&self.id, what);
    }

    /// Writes the snapshot and removes the journal. If that fails, the journal is kept, which holds everything. A file
    /// that a person has changed in the meantime is moved aside first, never overwritten.
    pub async fn settle(&mut self) {
        if let Err(error) = self.renew().await {
            tracing::error!(session = %self.id, %error, "could not write the session's file; its journal is kept");
        }
    }

    /// Writes a snapshot of everything and starts a new journal.
    async fn renew(&mut self) -> Result<(), EngineError> {
        let (session, known) = (self.session.clone(), self.version);
        let version = self.writer().await.checkpoint(session, known).await?;
        (self.version, self.unsaved) = (Some(version), false);
        Ok(())
    }

    /// Checks whether the file is unchanged, and rereads it if not. Only while nothing runs.
    pub async fn refresh(&mut self) -> Result<OnDisk, EngineError> {
        match self.log.reload(self.claim, &self.id, self.version).await? {
            ReloadOutcome::Unchanged => Ok(OnDisk::AsKnown),
            ReloadOutcome::Changed(loaded) => {
                (self.session, self.version) = (Arc::new(loaded.session), loaded.version);
                self.unsaved = loaded.unsaved;
                self.writer().await.continue_chain(loaded.chain);
                Ok(OnDisk::ReadAgain)
            }
            // The state in memory is kept and saved again.
            ReloadOutcome::Quarantined => {
                self.version = None;
                self.settle().await;
                Ok(OnDisk::AsKnown)
            }
            ReloadOutcome::Gone => Ok(OnDisk::Gone),
        }
    }

    fn next_fact(&self, event: Event) -> Fact {
        Fact { seq: self.session.seq + 1, at: clock::now(), event }
    }
}
