//! Loads sessions into memory. Each session is loaded by one task at a time, and no session waits for another's file.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedMutexGuard, mpsc};

use super::actor::{Actor, Command};
use super::{Engine, EngineError, Notice, Tenant};
use crate::clock;
use crate::domain::{Session, SessionId};
use crate::store::{Loaded, RecordVersion};

/// The sessions that are in memory, each owned by its task. The lock is never held across I/O.
#[derive(Default)]
pub(super) struct OpenSessions {
    pub sessions: HashMap<SessionId, mpsc::Sender<Command>>,
    /// The server is stopping: closed sessions must not be opened again.
    pub closing: bool,
}

/// What happens when the session does not exist.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum IfMissing {
    Fail,
    Create,
}

/// One lock for each session: only one task at a time opens, deletes or restores it.
#[derive(Default)]
pub(super) struct OpeningLocks(Mutex<HashMap<SessionId, Arc<tokio::sync::Mutex<()>>>>);

/// Held while a session is opened, deleted or restored.
pub(super) type OpeningLock = OwnedMutexGuard<()>;

impl OpeningLocks {
    pub async fn of(&self, id: &SessionId) -> OpeningLock {
        let turn = {
            let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // Remove the locks that nobody holds or waits for.
            turns.retain(|_, turn| Arc::strong_count(turn) > 1);
            turns.entry(id.clone()).or_default().clone()
        };
        turn.lock_owned().await
    }
}

impl Engine {
    /// Returns the channel to the session's task, after loading the session if it is not in memory.
    pub(super) async fn open(&self, id: &SessionId, missing: IfMissing) -> Result<mpsc::Sender<Command>, EngineError> {
        if let Some(handle) = self.alive(id)? {
            return Ok(handle);
        }
        let turn = self.turns.of(id).await;
        if let Some(handle) = self.alive(id)? {
            return Ok(handle);
        }
        let (alive, tenant, id) = (self.alive.clone(), self.tenant.clone(), id.clone());
        // In a separate task: the requester may disconnect, but the lock must be held until the file is read.
        let opened = tokio::spawn(async move {
            let _turn = turn;
            tenant.hub.forget(&id);
            let loaded = load(&tenant, &id, missing).await?;
            let mut alive = alive.lock().unwrap_or_else(PoisonError::into_inner);
            if alive.closing {
                return Err(tenant.closed());
            }
            let (handle, commands) = mpsc::channel(64);
            tokio::spawn(Actor::new(id.clone(), loaded, tenant).live(commands));
            alive.sessions.retain(|_, handle| !handle.is_closed());
            alive.sessions.insert(id, handle.clone());
            Ok(handle)
        });
        opened.await.map_err(|_| EngineError::Internal("the opening of a session was cut off"))?
    }

    /// Returns the channel to the session's task, if the session is in memory.
    fn alive(&self, id: &SessionId) -> Result<Option<mpsc::Sender<Command>>, EngineError> {
        let alive = self.lock();
        match alive.closing {
            true => Err(self.tenant.closed()),
            false => Ok(alive.sessions.get(id).filter(|handle| !handle.is_closed()).cloned()),
        }
    }

    pub(super) async fn save_new(
        &self,
        id: &SessionId,
        session: &Session,
    ) -> Result<Option<RecordVersion>, EngineError> {
        save_new(&self.tenant, id, session).await
    }
}

async fn load(tenant: &Tenant, id: &SessionId, missing: IfMissing) -> Result<Loaded, EngineError> {
    match tenant.log.load(tenant.claim, id).await? {
        Some(loaded) => Ok(loaded),
        None if missing == IfMissing::Create => {
            let session = Session::new("", clock::now());
            let version = save_new(tenant, id, &session).await?;
            Ok(Loaded { session, version, unsaved: false, chain: None })
        }
        None => Err(EngineError::NoSession(id.clone())),
    }
}

async fn save_new(tenant: &Tenant, id: &SessionId, session: &Session) -> Result<Option<RecordVersion>, EngineError> {
    let version = tenant.log.create(tenant.claim, id, session).await?;
    tenant.hub.notice(Notice::SessionsChanged { session_id: id.to_string() });
    Ok(version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[tokio::test]
    async fn session_has_one_owner_and_others_do_not_wait() {
        let turns = OpeningLocks::default();
        let (slow, other) = (SessionId::parse("slow").unwrap(), SessionId::parse("other").unwrap());
        let first = turns.of(&slow).await;
        assert!(turns.of(&slow).now_or_never().is_none(), "its file has an owner");
        assert!(turns.of(&other).now_or_never().is_some(), "another session's file has not");
        let mut next = Box::pin(turns.of(&slow));
        assert!(next.as_mut().now_or_never().is_none());
        drop(first);
        let second = next.now_or_never().expect("its turn has come");
        assert!(turns.of(&slow).now_or_never().is_none(), "and is one again");
        drop(second);
        drop(turns.of(&other).await);
        assert_eq!(turns.0.lock().unwrap().len(), 1, "nothing is kept of those that are done");
    }
}
