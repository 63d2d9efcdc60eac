//! The session log: the port behind which sessions are kept. It is an enum with one variant for each place they can lie in.
//!
//! One server acts for a home at a time. [`SessionLog::claim`] proves that it is this one, and every call that writes takes the
//! [`Claim`]; after the claim was released or taken by another, a write answers [`StoreError::Fenced`] and changes nothing.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::changes::ChangeSet;
use super::error::StoreError;
use super::fence::{Claim, blocking, fenced};
use super::home::Home;
use super::journal::{Durability, Journal};
use super::reading::DeletedSession;
use super::sessions::{CompactedFile, Loaded, SessionSummary, Stamp};
use crate::domain::{Fact, Message, NewPicture, Session, SessionId};

/// Where the sessions of one home are kept. Cheap to clone.
#[derive(Clone)]
pub enum SessionLog {
    /// `sessions/` of a home on this machine. The lock on the home keeps other servers out.
    Folder(Home),
}

/// A home that was claimed.
#[derive(Debug)]
pub struct ClaimedHome {
    pub claim: Claim,
    /// Sessions whose last run has not ended: a crash cut it off, or it waits for a person.
    pub unsettled: Vec<SessionId>,
}

/// The lists that a session can be put on by a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkedSessions {
    /// Shown before the others, in the order they were pinned.
    Pinned,
    /// Kept out of the list without being deleted. An id may be that of a session that is gone.
    Archived,
}

impl MarkedSessions {
    /// Its name in `config.json`, which earlier versions read too.
    pub(super) fn setting(self) -> &'static str {
        match self {
            Self::Pinned => "pinned",
            Self::Archived => "put_away",
        }
    }
}

/// What became of a session's record since it had a known stamp.
pub enum Reread {
    Unchanged,
    /// Another program wrote it.
    Changed(Box<Loaded>),
    /// It could not be read and was moved to quarantine.
    Quarantined,
    Gone,
}

/// A session's record that can be read on demand, as it was when its last run settled.
pub struct StoredSession<'a> {
    pub id: SessionId,
    home: &'a Home,
}

impl StoredSession<'_> {
    /// `None` when the record is gone or damaged.
    pub fn read(&self) -> Option<Session> {
        self.home.stored_session(&self.id)
    }
}

impl SessionLog {
    /// Takes the home for this server. Earlier claims are void.
    ///
    /// # Errors
    /// Those of reading the list of sessions.
    pub async fn claim(&self) -> Result<ClaimedHome, StoreError> {
        match self {
            Self::Folder(home) => {
                blocking(home, |home| {
                    Ok(ClaimedHome { unsettled: home.unsettled_sessions()?, claim: home.fence().new_claim() })
                })
                .await
            }
        }
    }

    /// Gives the home up: whoever still holds this claim can write nothing any more.
    pub fn release(&self, claim: Claim) {
        match self {
            Self::Folder(home) => home.fence().void(claim),
        }
    }

    /// All sessions, newest first. A damaged record is moved to quarantine, unless its session is `in_memory`: then the task
    /// that owns it does that.
    pub async fn list(&self, in_memory: HashSet<SessionId>) -> Result<Vec<SessionSummary>, StoreError> {
        match self {
            Self::Folder(home) => blocking(home, move |home| home.sessions(&in_memory)).await,
        }
    }

    /// Reads a session and closes what a crash left open in it. `None` when there is none.
    ///
    /// # Errors
    /// [`StoreError::Newer`] when it says what this version does not know, [`StoreError::Fenced`] when it would have to be
    /// repaired and the claim is void.
    pub async fn load(&self, claim: Claim, id: &SessionId) -> Result<Option<Loaded>, StoreError> {
        let id = id.clone();
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.load(&id)).await,
        }
    }

    /// Reads a session again if its record is not the one with the stamp `known` any more.
    pub async fn reload(&self, claim: Claim, id: &SessionId, known: Option<Stamp>) -> Result<Reread, StoreError> {
        let id = id.clone();
        match self {
            Self::Folder(home) => {
                fenced(home, claim, move |home| {
                    let stamp = home.session_stamp(&id);
                    if stamp == known {
                        return Ok(Reread::Unchanged);
                    }
                    Ok(match (stamp, home.load(&id)?) {
                        (_, Some(loaded)) => Reread::Changed(Box::new(loaded)),
                        (Some(_), None) => Reread::Quarantined,
                        (None, None) => Reread::Gone,
                    })
                })
                .await
            }
        }
    }

    /// Keeps a session that is new.
    pub async fn create(&self, claim: Claim, id: &SessionId, session: &Session) -> Result<Option<Stamp>, StoreError> {
        let (id, session) = (id.clone(), session.clone());
        match self {
            Self::Folder(home) => {
                fenced(home, claim, move |home| home.save_snapshot(&id, &session).map(|()| home.session_stamp(&id)))
                    .await
            }
        }
    }

    /// What appends to one session.
    pub fn writer(&self, claim: Claim, id: &SessionId) -> SessionWriter {
        SessionWriter { log: self.clone(), claim, id: id.clone(), journal: None, is_sound: true }
    }

    /// Moves a session to the deleted ones. `false` when there is none.
    pub async fn delete(&self, claim: Claim, id: &SessionId) -> Result<bool, StoreError> {
        let id = id.clone();
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.delete_session(&id)).await,
        }
    }

    /// Brings a deleted session back. `false` when there is none, or when a session of that id exists again.
    pub async fn restore(&self, claim: Claim, id: &SessionId) -> Result<bool, StoreError> {
        let id = id.clone();
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.restore_session(&id)).await,
        }
    }

    /// Removes a deleted session for good. `false` when there is none.
    pub async fn forget(&self, claim: Claim, id: &SessionId) -> Result<bool, StoreError> {
        let id = id.clone();
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.forget_session(&id)).await,
        }
    }

    /// Keeps pictures of a session, each once.
    pub async fn keep_pictures(
        &self,
        claim: Claim,
        id: &SessionId,
        pictures: Vec<NewPicture>,
    ) -> Result<(), StoreError> {
        let id = id.clone();
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.keep_pictures(&id, &pictures)).await,
        }
    }

    /// Keeps messages that a summary will stand for.
    pub async fn compact(
        &self,
        claim: Claim,
        id: &SessionId,
        messages: Vec<Arc<Message>>,
    ) -> Result<CompactedFile, StoreError> {
        let id = id.clone();
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.compact(&id, &messages)).await,
        }
    }

    /// Writes the compacted messages that came with an imported session. File names get the session's id; answers old and new
    /// names.
    pub async fn adopt_compacted(
        &self,
        claim: Claim,
        id: &SessionId,
        files: BTreeMap<String, Vec<Value>>,
    ) -> Result<BTreeMap<String, String>, StoreError> {
        let id = id.clone();
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.adopt_compacted(&id, &files)).await,
        }
    }

    /// Keeps what a call changes, for its undo.
    pub async fn keep_change(
        &self,
        claim: Claim,
        id: &SessionId,
        call_id: &str,
        set: ChangeSet,
    ) -> Result<(), StoreError> {
        let (id, call_id) = (id.clone(), call_id.to_owned());
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.keep_change(&id, &call_id, &set)).await,
        }
    }

    /// Sessions that can be brought back, the one used last first.
    pub async fn deleted(&self) -> Result<Vec<DeletedSession>, StoreError> {
        match self {
            Self::Folder(home) => blocking(home, |home| Ok(home.deleted_sessions())).await,
        }
    }

    /// Hands every session's record to `choose` and answers what it made of them. Nothing is repaired or moved.
    pub async fn scan<T: Send + 'static>(
        &self,
        choose: impl Fn(StoredSession<'_>) -> Option<T> + Send + 'static,
    ) -> Result<Vec<T>, StoreError> {
        match self {
            Self::Folder(home) => {
                blocking(home, move |home| {
                    let ids = home.session_ids()?;
                    Ok(ids.into_iter().filter_map(|id| choose(StoredSession { id, home })).collect())
                })
                .await
            }
        }
    }

    /// The ids on a list.
    pub async fn listed(&self, list: MarkedSessions) -> Result<Vec<String>, StoreError> {
        match self {
            Self::Folder(home) => blocking(home, move |home| Ok(home.session_list(list))).await,
        }
    }

    /// Puts a session at the end of a list; answers the whole of it.
    pub async fn enlist(&self, claim: Claim, id: &SessionId, list: MarkedSessions) -> Result<Vec<String>, StoreError> {
        let id = id.clone();
        match self {
            Self::Folder(home) => {
                fenced(home, claim, move |home| home.enlist_session(list, &id).map(|()| home.session_list(list))).await
            }
        }
    }

    /// Takes a session from a list; answers what is left of it.
    pub async fn delist(&self, claim: Claim, id: &SessionId, list: MarkedSessions) -> Result<Vec<String>, StoreError> {
        let id = id.clone();
        match self {
            Self::Folder(home) => {
                fenced(home, claim, move |home| home.delist_session(list, &id).map(|()| home.session_list(list))).await
            }
        }
    }
}

/// Appends the facts of one session and writes its snapshots. One task owns it.
pub struct SessionWriter {
    log: SessionLog,
    claim: Claim,
    id: SessionId,
    /// Absent before the first fact, and while a blocking task writes it.
    journal: Option<Journal>,
    is_sound: bool,
}

impl SessionWriter {
    /// Whether a fact that is appended next would be kept. After a sync that failed it would not, and [`Self::checkpoint`]
    /// has to come first.
    pub fn is_sound(&self) -> bool {
        self.is_sound
    }

    /// Appends facts, all or none. With [`Durability::Synced`] they are on the disk when it returns.
    ///
    /// # Errors
    /// [`StoreError::Fenced`] when the claim is void; those of the disk, after which nothing of the facts is kept.
    pub async fn append(&mut self, facts: &[Fact], durability: Durability) -> Result<(), StoreError> {
        let mut journal = self.take_journal();
        let lines = journal.encode(facts);
        let SessionLog::Folder(home) = &self.log;
        let (journal, written) = match durability {
            // Handing bytes to the kernel is quicker than handing them to another thread.
            Durability::Written => {
                let written =
                    home.fence().hold(self.claim).and_then(|_owned| journal.append_encoded(&lines, durability));
                (journal, written)
            }
            Durability::Synced => {
                let claim = self.claim;
                blocking(home, move |home| {
                    let written =
                        home.fence().hold(claim).and_then(|_owned| journal.append_encoded(&lines, durability));
                    Ok((journal, written))
                })
                .await?
            }
        };
        self.is_sound = journal.is_sound();
        self.journal = Some(journal);
        written
    }

    /// Writes the session's snapshot, after which no journal is needed. A record that is not the one with the stamp `known`
    /// is moved to quarantine first, never overwritten. An error keeps the journal, which holds everything.
    pub async fn checkpoint(&mut self, session: Arc<Session>, known: Option<Stamp>) -> Result<Stamp, StoreError> {
        let mut journal = self.take_journal();
        let (claim, id) = (self.claim, self.id.clone());
        let SessionLog::Folder(home) = &self.log;
        let (journal, written) = blocking(home, move |home| {
            let written = home.fence().hold(claim).and_then(|_owned| {
                let stamp = home.settle_session(&id, &session, known)?;
                journal.remove().map(|()| stamp)
            });
            Ok((journal, written))
        })
        .await?;
        self.is_sound = journal.is_sound();
        self.journal = Some(journal);
        written
    }

    fn take_journal(&mut self) -> Journal {
        let SessionLog::Folder(home) = &self.log;
        self.journal.take().unwrap_or_else(|| Journal::new(home, &self.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Event;

    fn titled(seq: u64, title: &str) -> Fact {
        Fact { seq, at: 1.5, event: Event::Titled { title: title.to_owned() } }
    }

    #[tokio::test]
    async fn void_claim_writes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let log = SessionLog::Folder(Home::open(folder.path()).unwrap());
        let id = SessionId::parse("s").unwrap();
        let old = log.claim().await.unwrap().claim;
        log.create(old, &id, &Session::new("kept", 1.0)).await.unwrap();
        let mut writer = log.writer(old, &id);
        writer.append(&[titled(1, "first")], Durability::Synced).await.unwrap();
        log.release(old);

        for durability in [Durability::Synced, Durability::Written] {
            let refused = writer.append(&[titled(2, "second")], durability).await;
            assert!(matches!(refused, Err(StoreError::Fenced)), "{refused:?}");
        }
        let settled = writer.checkpoint(Arc::new(Session::new("lost", 1.0)), None).await;
        assert!(matches!(settled, Err(StoreError::Fenced)), "{settled:?}");
        assert!(matches!(log.delete(old, &id).await, Err(StoreError::Fenced)));
        assert!(matches!(log.enlist(old, &id, MarkedSessions::Pinned).await, Err(StoreError::Fenced)));

        let ClaimedHome { claim, unsettled } = log.claim().await.unwrap();
        assert_eq!(unsettled, std::slice::from_ref(&id));
        log.release(old);
        let loaded = log.load(claim, &id).await.unwrap().unwrap();
        assert_eq!((loaded.session.title.as_str(), loaded.session.seq), ("first", 1));
    }

    #[tokio::test]
    async fn appended_facts_are_read_back_by_the_next_claim() {
        let folder = tempfile::tempdir().unwrap();
        let log = SessionLog::Folder(Home::open(folder.path()).unwrap());
        let id = SessionId::parse("s").unwrap();
        let claim = log.claim().await.unwrap().claim;
        let mut writer = log.writer(claim, &id);
        writer.append(&[titled(1, "one"), titled(2, "two")], Durability::Written).await.unwrap();
        writer.append(&[titled(3, "three")], Durability::Synced).await.unwrap();
        let loaded = log.load(claim, &id).await.unwrap().unwrap();
        assert_eq!((loaded.session.title.as_str(), loaded.session.seq), ("three", 3));
        let read = log.scan(|stored| stored.read().map(|session| (stored.id.clone(), session.title))).await.unwrap();
        assert_eq!(read, [(id, "three".to_owned())]);
    }
}
