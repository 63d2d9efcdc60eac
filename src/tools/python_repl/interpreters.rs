//! Which sessions have a living interpreter.

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
    /// The next call may reach other machines, or may not, and this one was the other way.
    Network,
    /// The next call reads documents, and this one could not: what a process may read is settled when it starts.
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

/// A session's interpreter. Locked for the length of a call: calls of one session run one after the other.
pub struct Slot {
    pub process: Option<Process>,
    /// What the next call must tell, if it has to start a new one.
    pub lost: Option<InterpreterLost>,
    pub calls: u64,
    /// What the process can do beyond what every command can.
    rights: Permissions,
    /// The process has had, or could read, text that strangers may have written.
    outside: Arc<AtomicBool>,
    last_used: Option<Instant>,
    idle_watch: Option<AbortHandle>,
    me: Weak<AsyncMutex<Slot>>,
}

impl Slot {
    fn new(me: &Weak<AsyncMutex<Slot>>, outside: Arc<AtomicBool>) -> AsyncMutex<Self> {
        AsyncMutex::new(Self {
            process: None,
            lost: None,
            calls: 0,
            rights: Permissions::default(),
            outside,
            last_used: None,
            idle_watch: None,
            me: me.clone(),
        })
    }

    /// Ends a process that the next call cannot have: one with network for a call without and the other way round, and one
    /// that cannot read the documents that the call reads. A process that could read them goes on: what it knows, it knows.
    pub fn fit(&mut self, permissions: Permissions) {
        if self.rights.network != permissions.network {
            self.close(InterpreterLost::Network);
        } else if permissions.knowledge && !self.rights.knowledge {
            self.close(InterpreterLost::Knowledge);
        }
        if self.process.is_none() {
            self.rights = permissions;
            self.outside.store(false, Ordering::Relaxed);
        }
    }

    /// From now on, and as long as it lives, what the process writes counts as text from outside.
    pub fn has_read_outside(&self) {
        self.outside.store(true, Ordering::Relaxed);
    }

    fn close(&mut self, why: InterpreterLost) {
        if self.process.take().is_some() {
            self.outside.store(false, Ordering::Relaxed);
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
    slots: Mutex<HashMap<SessionId, Kept>>,
}

/// What is kept for a session.
struct Kept {
    slot: Arc<AsyncMutex<Slot>>,
    /// The slot's own, to be asked while a call has the slot.
    outside: Arc<AtomicBool>,
}

impl Default for Kept {
    fn default() -> Self {
        let outside = Arc::<AtomicBool>::default();
        Self { slot: Arc::new_cyclic(|me| Slot::new(me, outside.clone())), outside }
    }
}

impl Interpreters {
    pub fn new(limits: PythonLimits) -> Self {
        Self { limits, slots: Mutex::default() }
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<SessionId, Kept>> {
        // The map is whole between any two operations on it.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn slot(&self, session: &SessionId) -> Arc<AsyncMutex<Slot>> {
        self.slots().entry(session.clone()).or_default().slot.clone()
    }

    /// Whether the session's interpreter has had text that strangers may have written.
    pub fn holds_outside(&self, session: &SessionId) -> bool {
        self.slots().get(session).is_some_and(|kept| kept.outside.load(Ordering::Relaxed))
    }

    /// Sees to it that one more may start, by closing the one that was not used for longest. False when all are at work.
    pub fn make_room(&self) -> bool {
        let slots = self.slots();
        let (mut alive, mut oldest) = (0, None);
        for Kept { slot, .. } in slots.values() {
            match slot.try_lock() {
                Ok(guard) if guard.process.is_none() => {}
                Ok(guard) => {
                    alive += 1;
                    let used = guard.last_used;
                    if oldest.as_ref().is_none_or(|(since, _)| used < *since) {
                        oldest = Some((used, slot.clone()));
                    }
                }
                // The caller's own slot is locked too, and is not alive yet.
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

    /// The slot's interpreter has just worked: its idle time begins.
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
}
