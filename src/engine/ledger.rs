//! One session as it is kept: in memory, on disk, and before its followers. The order is always journal, fold, publish.

use std::sync::Arc;

use super::EngineError;
use super::hub::{Hub, What};
use crate::clock;
use crate::domain::{Event, Fact, Session, SessionId};
use crate::store::{Durability, Home, Journal, Loaded, Stamp, StoreError};

pub struct Ledger {
    pub id: SessionId,
    pub session: Arc<Session>,
    /// Number of the session's last publication.
    pub last: u64,
    home: Home,
    hub: Arc<Hub>,
    /// Absent only while a blocking task writes it.
    journal: Option<Journal>,
    /// The session's file as we know it; another one means that a person changed it.
    stamp: Option<Stamp>,
    /// The file is another program's, and says something else than we took over from it.
    unsaved: bool,
}

/// Whether the session's file is still the one we know.
pub enum OnDisk {
    AsKnown,
    /// It was changed by another program and has been read again.
    ReadAgain,
    Gone,
}

impl Ledger {
    pub fn new(id: SessionId, loaded: Loaded, home: Home, hub: Arc<Hub>) -> Self {
        let (journal, last) = (Some(Journal::new(&home, &id)), hub.last());
        Self {
            id,
            session: Arc::new(loaded.session),
            last,
            home,
            hub,
            journal,
            stamp: loaded.stamp,
            unsaved: loaded.unsaved,
        }
    }

    /// Whether the session may change.
    pub fn writable(&self) -> Result<(), EngineError> {
        match self.session.is_newer() {
            true => Err(StoreError::Newer { what: format!("session {}", self.id) }.into()),
            false => Ok(()),
        }
    }

    /// Journals a fact, waits for the disk, folds it and tells everybody.
    pub async fn fact(&mut self, event: Event) -> Result<(), EngineError> {
        self.writable()?;
        if self.unsaved || self.journal.as_ref().is_some_and(|journal| !journal.is_sound()) {
            self.renew().await?;
        }
        let fact = self.next_fact(event);
        let mut journal = self.take_journal();
        let (journal, fact, written) = tokio::task::spawn_blocking(move || {
            let written = journal.append(std::slice::from_ref(&fact), Durability::Synced);
            (journal, fact, written)
        })
        .await
        .map_err(|_| EngineError::Internal("a journal write was cut off"))?;
        self.journal = Some(journal);
        written?;
        Arc::make_mut(&mut self.session).apply_fact(&fact);
        self.publish(What::Event(fact.event));
        Ok(())
    }

    /// Journals a mark without waiting for the disk, folds it and tells everybody.
    pub fn mark(&mut self, event: Event) {
        self.append(event.clone());
        self.publish(What::Event(event));
    }

    /// Journals a piece of text without waiting for the disk. Nobody is told: previews said it already.
    pub fn piece(&mut self, event: Event) {
        self.append(event);
    }

    fn append(&mut self, event: Event) {
        let fact = self.next_fact(event);
        let mut journal = self.take_journal();
        let written = journal.append(std::slice::from_ref(&fact), Durability::Written);
        self.journal = Some(journal);
        match written {
            Ok(()) => Arc::make_mut(&mut self.session).apply_fact(&fact),
            // It stays in memory, so the snapshot will hold it.
            Err(error) => {
                tracing::warn!(session = %self.id, %error, "could not journal a part of an answer");
                Arc::make_mut(&mut self.session).apply(&fact.event, fact.at);
            }
        }
    }

    /// Folds an event in and tells everybody; a fact will say it again.
    pub fn preview(&mut self, event: Event) {
        Arc::make_mut(&mut self.session).apply(&event, clock::now());
        self.publish(What::Event(event));
    }

    pub fn publish(&mut self, what: What) {
        self.last = self.hub.publish(&self.id, what);
    }

    /// Writes the snapshot and drops the journal. A failure keeps the journal, which holds everything. A file that a
    /// person changed meanwhile is moved aside first, never overwritten.
    pub async fn settle(&mut self) {
        if let Err(error) = self.renew().await {
            tracing::error!(session = %self.id, %error, "could not write the session's file; its journal is kept");
        }
    }

    /// Everything to a new snapshot, and a new journal for what follows.
    async fn renew(&mut self) -> Result<(), EngineError> {
        let (home, id, session, known) = (self.home.clone(), self.id.clone(), self.session.clone(), self.stamp);
        let mut journal = self.take_journal();
        let (journal, written) = tokio::task::spawn_blocking(move || {
            let written = home.settle_session(&id, &session, known).and_then(|stamp| journal.remove().map(|()| stamp));
            (journal, written)
        })
        .await
        .map_err(|_| EngineError::Internal("the writing of a session's file was cut off"))?;
        self.journal = Some(journal);
        (self.stamp, self.unsaved) = (Some(written?), false);
        Ok(())
    }

    /// Looks whether the file is as we know it, and reads it again if not. Only while nothing runs.
    pub async fn refresh(&mut self) -> Result<OnDisk, EngineError> {
        let (home, id, known) = (self.home.clone(), self.id.clone(), self.stamp);
        let looked = tokio::task::spawn_blocking(move || -> Result<_, StoreError> {
            let stamp = home.session_stamp(&id);
            if stamp == known { Ok(None) } else { Ok(Some((stamp, home.load(&id)?))) }
        })
        .await
        .map_err(|_| EngineError::Internal("reading a session was cut off"))??;
        match looked {
            None => Ok(OnDisk::AsKnown),
            Some((_, Some(loaded))) => {
                (self.session, self.stamp) = (Arc::new(loaded.session), loaded.stamp);
                self.unsaved = loaded.unsaved;
                Ok(OnDisk::ReadAgain)
            }
            // It was broken and is aside now: what we know goes on.
            Some((Some(_), None)) => {
                self.stamp = None;
                self.settle().await;
                Ok(OnDisk::AsKnown)
            }
            Some((None, None)) => Ok(OnDisk::Gone),
        }
    }

    fn next_fact(&self, event: Event) -> Fact {
        Fact { seq: self.session.seq + 1, at: clock::now(), event }
    }

    fn take_journal(&mut self) -> Journal {
        self.journal.take().unwrap_or_else(|| Journal::new(&self.home, &self.id))
    }
}
