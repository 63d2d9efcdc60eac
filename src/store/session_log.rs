//! The session log: the port through which sessions are stored. It writes the home's folder. If the home is
//! in a database, what a call changed is stored there before the call returns (see [`super::replica`]).
//!
//! One server owns a home at a time. [`SessionLog::claim`] makes this server the owner, and every call that writes takes
//! the [`Claim`]. After the claim is released or another one is made, a write returns [`StoreError::Fenced`] and changes
//! nothing.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::call_record::CallFiles;
use super::chain::Chain;
use super::error::StoreError;
use super::fence::{Claim, blocking, fenced};
use super::home::Home;
use super::reading::DeletedSession;
use super::session_list::SessionList;
use super::session_writer::{JournalWriter, SessionWriter};
use super::sessions::{CompactedFile, Loaded, RecordVersion};
use super::usage::CountedWork;
use crate::domain::{Message, NewPicture, Session, SessionId};

/// The backend that stores the sessions of one home. Cheap to clone.
#[derive(Clone)]
pub enum SessionLog {
    /// `sessions/` of a home on this machine. The lock on the home keeps other servers out.
    Folder(Home),
}

/// The result of claiming a home.
#[derive(Debug)]
pub struct ClaimedHome {
    pub claim: Claim,
    /// Sessions whose last run has not ended: a crash interrupted it, or it waits for a person.
    pub unsettled: Vec<SessionId>,
}

/// The lists to which a person can add a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionListKind {
    /// Shown before the others, in the order they were pinned.
    Pinned,
    /// Hidden from the session list without being deleted. May contain ids of sessions that do not exist any more.
    Archived,
}

impl SessionListKind {
    /// Returns the list's name in `config.json`, which earlier versions read too.
    pub(super) fn setting(self) -> &'static str {
        match self {
            Self::Pinned => "pinned",
            Self::Archived => "put_away",
        }
    }
}

/// What happened to a session's record since it had a known version.
pub enum ReloadOutcome {
    Unchanged,
    /// Another program wrote it.
    Changed(Box<Loaded>),
    /// It could not be read and was moved to quarantine.
    Quarantined,
    Gone,
}

impl SessionLog {
    /// Claims the home for this server. Earlier claims become void.
    ///
    /// # Errors
    /// Returns an error if the sessions cannot be listed.
    pub async fn claim(&self) -> Result<ClaimedHome, StoreError> {
        match self {
            Self::Folder(home) => {
                let claimed = blocking(home, |home| {
                    home.settle_captures()?;
                    home.read_sign_outs()?;
                    Ok(ClaimedHome { unsettled: home.unsettled_sessions()?, claim: home.fence().new_claim() })
                })
                .await?;
                if let Some(replica) = home.replica() {
                    replica.store_all(home).await?;
                }
                Ok(claimed)
            }
        }
    }

    /// Releases the home, after the writes under way have ended. Later writes with this claim fail.
    ///
    /// # Errors
    /// Returns [`StoreError::ShutDown`] if the runtime is stopping; the home is released when the process ends.
    pub async fn release(&self, claim: Claim) -> Result<(), StoreError> {
        match self {
            Self::Folder(home) => {
                blocking(home, move |home| {
                    home.fence().void(claim);
                    Ok(())
                })
                .await?;
                match home.replica() {
                    Some(replica) => replica.release(home).await,
                    None => Ok(()),
                }
            }
        }
    }

    /// Lists all sessions, most recently updated first. Moves a damaged record to quarantine, unless its session is
    /// `in_memory`: then the task that owns the session does so.
    ///
    /// # Errors
    /// Returns [`StoreError::Fenced`] if the claim is void: listing may have to move a record.
    pub async fn list(&self, claim: Claim, in_memory: HashSet<SessionId>) -> Result<SessionList, StoreError> {
        let Self::Folder(home) = self;
        let of_listing = in_memory.clone();
        let listing = move |home: &Home| Ok((home.sessions(&of_listing)?, home.is_look_due()));
        let (list, is_look_due) = fenced(home, claim, listing).await?;
        if is_look_due {
            let home = home.clone();
            tokio::spawn(async move {
                let looked = fenced(&home, claim, move |home| home.look_at_sessions(&in_memory)).await;
                looked.inspect_err(|error| tracing::warn!(%error, "could not look at all sessions"))
            });
        }
        Ok(list)
    }

    /// Loads a session and closes what a crash left open in it. `None` if there is no such session.
    ///
    /// # Errors
    /// Returns [`StoreError::Newer`] if the journal has a fact that this version does not know, and [`StoreError::Fenced`]
    /// if the claim is void: loading may have to repair the session.
    pub async fn load(&self, claim: Claim, id: &SessionId) -> Result<Option<Loaded>, StoreError> {
        let id = id.clone();
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.load(&id)).await,
        }
    }

    /// Reloads a session if the version of its record is not `known`.
    pub async fn reload(
        &self,
        claim: Claim,
        id: &SessionId,
        known: Option<RecordVersion>,
    ) -> Result<ReloadOutcome, StoreError> {
        let id = id.clone();
        match self {
            Self::Folder(home) => {
                fenced(home, claim, move |home| {
                    let version = home.session_version(&id);
                    if version == known {
                        return Ok(ReloadOutcome::Unchanged);
                    }
                    Ok(match (version, home.load(&id)?) {
                        (_, Some(loaded)) => ReloadOutcome::Changed(Box::new(loaded)),
                        (Some(_), None) => ReloadOutcome::Quarantined,
                        (None, None) => ReloadOutcome::Gone,
                    })
                })
                .await
            }
        }
    }

    /// Stores a new session.
    pub async fn create(
        &self,
        claim: Claim,
        id: &SessionId,
        session: &Session,
    ) -> Result<Option<RecordVersion>, StoreError> {
        let (id, session) = (id.clone(), session.clone());
        match self {
            Self::Folder(home) => {
                fenced(home, claim, move |home| {
                    home.save_snapshot(&id, &session, &Chain::begin(&id, session.seq))?;
                    Ok(home.session_version(&id))
                })
                .await
            }
        }
    }

    /// Returns the writer of one session.
    pub fn writer(&self, claim: Claim, id: &SessionId) -> SessionWriter {
        match self {
            Self::Folder(home) => SessionWriter::Folder(JournalWriter::new(home.clone(), claim, id.clone())),
        }
    }

    /// Moves a session to the deleted sessions. Returns `false` if there is no such session.
    pub async fn delete(&self, claim: Claim, id: &SessionId) -> Result<bool, StoreError> {
        let id = id.clone();
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.delete_session(&id)).await,
        }
    }

    /// Restores a deleted session. Returns `false` if there is none, or if a session with that id exists again.
    pub async fn restore(&self, claim: Claim, id: &SessionId) -> Result<bool, StoreError> {
        let id = id.clone();
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.restore_session(&id)).await,
        }
    }

    /// Returns whether there is a deleted session with that id.
    pub async fn has_deleted(&self, id: &SessionId) -> Result<bool, StoreError> {
        let id = id.clone();
        match self {
            Self::Folder(home) => blocking(home, move |home| Ok(home.has_deleted_session(&id))).await,
        }
    }

    /// Permanently removes a deleted session. Returns `false` if there is none.
    pub async fn purge(&self, claim: Claim, id: &SessionId) -> Result<bool, StoreError> {
        let id = id.clone();
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.purge_session(&id)).await,
        }
    }

    /// Stores pictures of a session, each once.
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

    /// Adds what a request used that belongs to no session to the log of usage.
    pub async fn count_work(&self, claim: Claim, work: CountedWork) -> Result<(), StoreError> {
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.note_work(work)).await,
        }
    }

    /// Stores messages that a summary will replace.
    pub async fn store_compacted(
        &self,
        claim: Claim,
        id: &SessionId,
        messages: Vec<Arc<Message>>,
    ) -> Result<CompactedFile, StoreError> {
        let id = id.clone();
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.store_compacted(&id, &messages)).await,
        }
    }

    /// Writes the compacted messages of an imported session to files that are named after the session's id. Returns the new
    /// name for each old one.
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

    /// Stores what a call changes, for its undo.
    pub async fn keep_change(
        &self,
        claim: Claim,
        id: &SessionId,
        call_id: &str,
        call: impl Into<CallFiles>,
    ) -> Result<(), StoreError> {
        let (id, call_id, call) = (id.clone(), call_id.to_owned(), call.into());
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.keep_call(&id, &call_id, &call)).await,
        }
    }

    /// Corrects the record of a call, now that its files are changed.
    pub async fn settle_change(&self, claim: Claim, id: &SessionId, call_id: &str) -> Result<(), StoreError> {
        let (id, call_id) = (id.clone(), call_id.to_owned());
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.settle_call(&id, &call_id)).await,
        }
    }

    /// Returns the deleted sessions that can be restored, most recently used first.
    pub async fn deleted(&self) -> Result<Vec<DeletedSession>, StoreError> {
        match self {
            Self::Folder(home) => blocking(home, |home| Ok(home.deleted_sessions())).await,
        }
    }

    /// Calls `choose` with every session as its record says, or as `newer` says, and returns the results that are not
    /// `None`. Repairs and moves nothing; omits records that cannot be read.
    pub async fn scan<T: Send + 'static>(
        &self,
        newer: HashMap<SessionId, Arc<Session>>,
        choose: impl Fn(&SessionId, &Session) -> Option<T> + Send + 'static,
    ) -> Result<Vec<T>, StoreError> {
        match self {
            Self::Folder(home) => {
                blocking(home, move |home| {
                    let chosen = |id: SessionId| match newer.get(&id) {
                        Some(session) => choose(&id, session),
                        None => choose(&id, &home.stored_session(&id)?),
                    };
                    Ok(home.session_ids()?.into_iter().filter_map(chosen).collect())
                })
                .await
            }
        }
    }

    /// Returns the ids on a list.
    pub async fn list_ids(&self, list: SessionListKind) -> Result<Vec<String>, StoreError> {
        match self {
            Self::Folder(home) => blocking(home, move |home| Ok(home.session_list(list))).await,
        }
    }

    /// Returns the labels of sessions by their ids.
    pub async fn labels(&self) -> Result<BTreeMap<String, Vec<String>>, StoreError> {
        match self {
            Self::Folder(home) => blocking(home, move |home| Ok(home.session_labels())).await,
        }
    }

    /// Gives a session these labels instead of those it has.
    pub async fn set_labels(&self, claim: Claim, id: &SessionId, labels: Vec<String>) -> Result<(), StoreError> {
        let id = id.clone();
        match self {
            Self::Folder(home) => fenced(home, claim, move |home| home.set_session_labels(&id, &labels)).await,
        }
    }

    /// Adds a session to the end of a list, or moves it there. Returns the whole list.
    pub async fn add_to_list(
        &self,
        claim: Claim,
        id: &SessionId,
        list: SessionListKind,
    ) -> Result<Vec<String>, StoreError> {
        let id = id.clone();
        match self {
            Self::Folder(home) => {
                fenced(home, claim, move |home| home.add_session_to_list(list, &id).map(|()| home.session_list(list)))
                    .await
            }
        }
    }

    /// Removes a session from a list. Returns the remaining list.
    pub async fn remove_from_list(
        &self,
        claim: Claim,
        id: &SessionId,
        list: SessionListKind,
    ) -> Result<Vec<String>, StoreError> {
        let id = id.clone();
        match self {
            Self::Folder(home) => {
                fenced(home, claim, move |home| {
                    home.remove_session_from_list(list, &id).map(|()| home.session_list(list))
                })
                .await
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Event, Fact};
    use crate::store::Durability;

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
        log.release(old).await.unwrap();
        std::fs::write(folder.path().join("sessions/damaged.json"), "{").unwrap();

        for durability in [Durability::Synced, Durability::Buffered] {
            let refused = writer.append(&[titled(2, "second")], durability).await;
            assert!(matches!(refused, Err(StoreError::Fenced)), "{refused:?}");
        }
        let settled = writer.checkpoint(Arc::new(Session::new("lost", 1.0)), None).await;
        assert!(matches!(settled, Err(StoreError::Fenced)), "{settled:?}");
        assert!(matches!(log.delete(old, &id).await, Err(StoreError::Fenced)));
        assert!(matches!(log.set_labels(old, &id, vec!["x".to_owned()]).await, Err(StoreError::Fenced)));
        assert!(matches!(log.add_to_list(old, &id, SessionListKind::Pinned).await, Err(StoreError::Fenced)));
        assert!(matches!(log.list(old, HashSet::new()).await, Err(StoreError::Fenced)));
        assert!(folder.path().join("sessions/damaged.json").exists(), "a void claim moves nothing");

        let ClaimedHome { claim, unsettled } = log.claim().await.unwrap();
        assert_eq!(unsettled, std::slice::from_ref(&id));
        log.release(old).await.unwrap();
        let loaded = log.load(claim, &id).await.unwrap().unwrap();
        assert_eq!((loaded.session.title.as_str(), loaded.session.seq), ("first", 1));
        assert_eq!(log.list(claim, HashSet::new()).await.unwrap().len(), 1);
        assert!(!folder.path().join("sessions/damaged.json").exists(), "the newer claim moves it");
    }

    #[tokio::test]
    async fn appended_facts_are_read_back_by_the_next_claim() {
        let folder = tempfile::tempdir().unwrap();
        let log = SessionLog::Folder(Home::open(folder.path()).unwrap());
        let id = SessionId::parse("s").unwrap();
        let claim = log.claim().await.unwrap().claim;
        let mut writer = log.writer(claim, &id);
        writer.append(&[titled(1, "one"), titled(2, "two")], Durability::Buffered).await.unwrap();
        writer.append(&[titled(3, "three")], Durability::Synced).await.unwrap();
        let loaded = log.load(claim, &id).await.unwrap().unwrap();
        assert_eq!((loaded.session.title.as_str(), loaded.session.seq), ("three", 3));
        let titles = |id: &SessionId, session: &Session| Some((id.clone(), session.title.clone()));
        assert_eq!(log.scan(HashMap::new(), titles).await.unwrap(), [(id.clone(), "three".to_owned())]);
        let newer = HashMap::from([(id.clone(), Arc::new(Session::new("newer", 1.0)))]);
        assert_eq!(log.scan(newer, titles).await.unwrap(), [(id, "newer".to_owned())]);
    }
}
