//! The writer of one session. Facts of a home in a database are stored there first.

use std::sync::Arc;

use super::chain::Chain;
use super::error::StoreError;
use super::fence::{Claim, blocking};
use super::home::Home;
use super::journal::{Durability, Journal};
use super::postgres::FactRow;
use super::replica::Replica;
use super::sessions::RecordVersion;
use crate::domain::{Fact, Session, SessionId};

/// Appends the facts of one session and writes its snapshots. One task owns it.
pub enum SessionWriter {
    Folder(JournalWriter),
}

/// Writes a session's journal and snapshot in `sessions/`.
pub struct JournalWriter {
    home: Home,
    claim: Claim,
    id: SessionId,
    /// Absent before the first fact, and while a blocking task writes it.
    journal: Option<Journal>,
    is_sound: bool,
    /// The session's file that was written when the database did not store it.
    unstored: Option<RecordVersion>,
}

impl SessionWriter {
    /// Continues the chain that the session was loaded with. Without one, the next fact begins a chain.
    pub fn continue_chain(&mut self, chain: Option<Chain>) {
        match self {
            Self::Folder(writer) => {
                let mut journal = writer.take_journal();
                journal.set_chain(chain);
                writer.journal = Some(journal);
            }
        }
    }

    /// Whether the outcome of every append is known. If it is not, further appends cannot become durable:
    /// [`Self::checkpoint`] must be called first, which leaves exactly the facts of the session that it is given.
    pub fn is_sound(&self) -> bool {
        match self {
            Self::Folder(writer) => writer.is_sound,
        }
    }

    /// Appends facts, all or none. With [`Durability::Synced`] they are on the disk when it returns.
    ///
    /// # Errors
    /// Returns [`StoreError::Fenced`] if the claim is void, and an error if the disk fails. Then none of the facts is
    /// stored, or it is unknown, and [`Self::is_sound`] is false.
    pub async fn append(&mut self, facts: &[Fact], durability: Durability) -> Result<(), StoreError> {
        match self {
            Self::Folder(writer) => writer.append(facts, durability).await,
        }
    }

    /// Stores the session as a whole and removes the facts that led to it. First moves an existing record whose version is
    /// not `known` to quarantine, so that it is never overwritten. After an error the facts remain and hold everything.
    pub async fn checkpoint(
        &mut self,
        session: Arc<Session>,
        known: Option<RecordVersion>,
    ) -> Result<RecordVersion, StoreError> {
        match self {
            Self::Folder(writer) => writer.checkpoint(session, known).await,
        }
    }
}

impl JournalWriter {
    pub(super) fn new(home: Home, claim: Claim, id: SessionId) -> Self {
        Self { home, claim, id, journal: None, is_sound: true, unstored: None }
    }

    async fn append(&mut self, facts: &[Fact], durability: Durability) -> Result<(), StoreError> {
        if let Some(replica) = self.home.replica().cloned() {
            return self.append_to(&replica, facts, durability).await;
        }
        let mut journal = self.take_journal();
        let facts = journal.encode(facts);
        let quickly = match durability {
            // Passing bytes to the kernel is faster than passing them to another thread.
            Durability::Buffered => {
                let held = self.home.fence().try_hold(self.claim);
                held.map(|held| held.and_then(|_owned| journal.append_encoded(&facts, durability)))
            }
            Durability::Synced => None,
        };
        let (journal, written) = match quickly {
            Some(written) => (journal, written),
            None => {
                let claim = self.claim;
                blocking(&self.home, move |home| {
                    let written =
                        home.fence().hold(claim).and_then(|_owned| journal.append_encoded(&facts, durability));
                    Ok((journal, written))
                })
                .await?
            }
        };
        self.is_sound = journal.is_sound();
        self.journal = Some(journal);
        written
    }

    /// Appends facts to the database behind the home, then to the journal, which needs no sync then.
    async fn append_to(&mut self, replica: &Replica, facts: &[Fact], durability: Durability) -> Result<(), StoreError> {
        let claim = self.claim;
        match self.home.fence().try_hold(claim).map(|held| held.map(drop)) {
            Some(is_valid) => is_valid?,
            None => blocking(&self.home, move |home| home.fence().hold(claim).map(drop)).await?,
        }
        let mut journal = self.take_journal();
        let encoded = journal.encode(facts);
        let rows: Vec<FactRow> = facts.iter().zip(encoded.lines()).map(|(fact, line)| row(fact, line)).collect();
        // Until the outcome is known, also if nobody waits for it any more.
        self.is_sound = false;
        let (begun, start) = begun(&self.home, journal).await?;
        journal = begun;
        let start = match start {
            Ok(start) => start,
            Err(error) => {
                self.journal = Some(journal);
                return Err(error);
            }
        };
        let appended = replica
            .append((&self.id, start), (rows, durability), || journal.append_encoded(&encoded, Durability::Buffered))
            .await;
        match &appended {
            Ok(()) => self.is_sound = journal.is_sound(),
            Err(StoreError::Fenced) => {
                self.is_sound = true;
                self.home.fence().void(self.claim);
            }
            Err(_) => {}
        }
        self.journal = Some(journal);
        appended
    }

    async fn checkpoint(
        &mut self,
        session: Arc<Session>,
        known: Option<RecordVersion>,
    ) -> Result<RecordVersion, StoreError> {
        let known = self.unstored.take().or(known);
        let mut journal = self.take_journal();
        let (claim, id) = (self.claim, self.id.clone());
        let (journal, written) = blocking(&self.home, move |home| {
            let written = home.fence().hold(claim).and_then(|_owned| {
                let chain = journal.chain_at(session.seq);
                let version = home.settle_session(&id, (&session, &chain), known)?;
                journal.remove().map(|()| version)
            });
            Ok((journal, written))
        })
        .await?;
        let is_sound = journal.is_sound();
        self.journal = Some(journal);
        if let (Ok(version), Some(replica)) = (&written, self.home.replica()) {
            self.unstored = Some(*version);
            replica.store_changes(&self.home).await?;
            self.unstored = None;
        }
        self.is_sound = is_sound;
        written
    }

    fn take_journal(&mut self) -> Journal {
        self.journal.take().unwrap_or_else(|| Journal::new(&self.home, &self.id, None))
    }
}

/// Opens a journal if it is not open yet, and returns its length.
async fn begun(home: &Home, mut journal: Journal) -> Result<(Journal, Result<u64, StoreError>), StoreError> {
    if let Some(length) = journal.begun() {
        return Ok((journal, Ok(length)));
    }
    blocking(home, move |_| {
        let length = journal.begin();
        Ok((journal, length))
    })
    .await
}

fn row(fact: &Fact, line: &[u8]) -> FactRow {
    FactRow { seq: i64::try_from(fact.seq).unwrap_or(i64::MAX), body: line.to_vec() }
}
