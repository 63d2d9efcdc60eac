//! The running interpreters of all sessions.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use tokio::sync::Mutex as AsyncMutex;
use tokio::task::AbortHandle;

use super::{Permissions, PythonLimits};
use crate::domain::SessionId;
use crate::sandbox::Process;

/// Why a session's interpreter is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterpreterLost {
    Idle,
    MadeRoom,
    Stopped,
    /// The next call has network and this interpreter had none, or the reverse.
    Network,
    /// The next call reads documents and this interpreter could not: the readable folders of a process are fixed at its
    /// start.
    Knowledge,
}

impl InterpreterLost {
    pub fn reason(self) -> &'static str {
        match self {
            InterpreterLost::Idle => "the last one was closed because nobody used it",
            InterpreterLost::MadeRoom => "the last one was closed to make room for other chats",
            InterpreterLost::Knowledge => "a Python that may read knowledge/ has to be started as such",
            InterpreterLost::Network => "network is given to a Python of its own, call by call",
            InterpreterLost::Stopped => "the last one was stopped in the middle of a call",
        }
    }
}

/// A session's interpreter. Locked for the duration of a call: calls of one session run one after the other.
pub struct Slot {
    pub process: Option<Process>,
    /// Why the previous interpreter is gone; the next call reports it if it has to start a new one.
    pub lost: Option<InterpreterLost>,
    pub calls: u64,
    /// The permissions of the process beyond those that every command has.
    rights: Permissions,
    /// Whether the process has received, or could read, text that strangers may have written.
    tainted: Arc<AtomicBool>,
    last_used: Option<Instant>,
    idle_watch: Option<AbortHandle>,
    me: Weak<AsyncMutex<Slot>>,
}

impl Slot {
    fn new(me: &Weak<AsyncMutex<Slot>>, tainted: Arc<AtomicBool>) -> AsyncMutex<Self> {
        AsyncMutex::new(Self {
            process: None,
            lost: None,
            calls: 0,
            rights: Permissions::default(),
            tainted,
            last_used: None,
            idle_watch: None,
            me: me.clone(),
        })
    }

    /// Ends a process that does not fit the next call: one with network for a call without it or the reverse, or one that
    /// cannot read the documents that the call reads. A process that could read documents is kept even if the call reads
    /// none: it may already know their content.
    pub fn close_if_incompatible(&mut self, permissions: Permissions) {
        if self.rights.network != permissions.network {
            self.close(InterpreterLost::Network);
        } else if permissions.knowledge && !self.rights.knowledge {
            self.close(InterpreterLost::Knowledge);
        }
        if self.process.is_none() {
            self.rights = permissions;
            self.tainted.store(false, Ordering::Relaxed);
        }
    }

    /// Makes the output of the process count as tainted for the rest of its life.
    pub fn mark_tainted(&self) {
        self.tainted.store(true, Ordering::Relaxed);
    }

    fn close(&mut self, why: InterpreterLost) {
        if self.process.take().is_some() {
            self.tainted.store(false, Ordering::Relaxed);
            self.lost = Some(why);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(watch) = self.idle_watch.take() {
            watch.abort();
        }
    }
}

pub struct Interpreters {
    limits: PythonLimits,
    slots: Mutex<HashMap<SessionId, SessionInterpreter>>,
}

/// The state kept for a session.
struct SessionInterpreter {
    slot: Arc<AsyncMutex<Slot>>,
    /// The flag of the slot, readable while a call has locked the slot.
    tainted: Arc<AtomicBool>,
}

impl Default for SessionInterpreter {
    fn default() -> Self {
        let tainted = Arc::<AtomicBool>::default();
        Self { slot: Arc::new_cyclic(|me| Slot::new(me, tainted.clone())), tainted }
    }
}

impl Interpreters {
    pub fn new(limits: PythonLimits) -> Self {
        Self { limits, slots: Mutex::default() }
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<SessionId, SessionInterpreter>> {
        // No operation on the map leaves it inconsistent, so a poisoned lock is safe to use.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn slot(&self, session: &SessionId) -> Arc<AsyncMutex<Slot>> {
        self.slots().entry(session.clone()).or_default().slot.clone()
    }

    /// Returns whether the session's interpreter has received text that strangers may have written.
    pub fn is_tainted(&self, session: &SessionId) -> bool {
        self.slots().get(session).is_some_and(|kept| kept.tainted.load(Ordering::Relaxed))
    }

    /// Makes room for one more interpreter by closing the least recently used one. Returns false if all are busy.
    pub fn make_room(&self) -> bool {
        let slots = self.slots();
        let (mut alive, mut oldest) = (0, None);
        for SessionInterpreter { slot, .. } in slots.values() {
            match slot.try_lock() {
                Ok(guard) if guard.process.is_none() => {}
                Ok(guard) => {
                    alive += 1;
                    let used = guard.last_used;
                    if oldest.as_ref().is_none_or(|(since, _)| used < *since) {
                        oldest = Some((used, slot.clone()));
                    }
                }
                // The caller's own slot is also locked, and has no process yet.
                Err(_) => alive += 1,
            }
        }
        let alive = alive - 1;
        if alive < self.limits.alive {
            return true;
        }
        let Some((_, slot)) = oldest else { return false };
        match slot.try_lock() {
            Ok(mut slot) => {
                slot.close(InterpreterLost::MadeRoom);
                true
            }
            Err(_) => false,
        }
    }

    /// Records that the slot's interpreter has just been used, and restarts its idle timeout.
    pub fn used(&self, slot: &mut Slot) {
        let now = Instant::now();
        slot.last_used = Some(now);
        if let Some(watch) = slot.idle_watch.take() {
            watch.abort();
        }
        let (me, idle) = (slot.me.clone(), self.limits.idle);
        let watch = tokio::spawn(async move {
            tokio::time::sleep(idle).await;
            let Some(slot) = me.upgrade() else { return };
            let mut slot = slot.lock().await;
            if slot.last_used == Some(now) {
                slot.idle_watch = None;
                slot.close(InterpreterLost::Idle);
            }
        });
        slot.idle_watch = Some(watch.abort_handle());
    }

    pub fn close(&self, session: &SessionId) {
        self.slots().remove(session);
    }

    pub fn close_all(&self) {
        self.slots().clear();
    }
}
