//! Which sessions have a living interpreter.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use tokio::sync::Mutex as AsyncMutex;
use tokio::task::AbortHandle;

use super::Limits;
use crate::domain::SessionId;
use crate::sandbox::Process;

/// Why a session's interpreter is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    Idle,
    MadeRoom,
    Stopped,
    /// The next call may reach other machines, or may not, and this one was the other way.
    Network,
}

impl Lost {
    pub fn reason(self) -> &'static str {
        match self {
            Lost::Idle => "the last one was closed because nobody used it",
            Lost::MadeRoom => "the last one was closed to make room for other chats",
            Lost::Network => "network is given to a Python of its own, call by call",
            Lost::Stopped => "the last one was stopped in the middle of a call",
        }
    }
}

/// A session's interpreter. Locked for the length of a call: calls of one session run one after the other.
pub struct Slot {
    pub process: Option<Process>,
    /// What the next call must tell, if it has to start a new one.
    pub lost: Option<Lost>,
    pub calls: u64,
    /// Whether the process can reach other machines.
    network: bool,
    last_used: Option<Instant>,
    idle_watch: Option<AbortHandle>,
    me: Weak<AsyncMutex<Slot>>,
}

impl Slot {
    fn new(me: &Weak<AsyncMutex<Slot>>) -> AsyncMutex<Self> {
        AsyncMutex::new(Self {
            process: None,
            lost: None,
            calls: 0,
            network: false,
            last_used: None,
            idle_watch: None,
            me: me.clone(),
        })
    }

    /// Ends a process that may do more, or less, than the next call may.
    pub fn use_network(&mut self, network: bool) {
        if self.network != network {
            self.close(Lost::Network);
            self.network = network;
        }
    }

    fn close(&mut self, why: Lost) {
        if self.process.take().is_some() {
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
    limits: Limits,
    slots: Mutex<HashMap<SessionId, Arc<AsyncMutex<Slot>>>>,
}

impl Interpreters {
    pub fn new(limits: Limits) -> Self {
        Self { limits, slots: Mutex::default() }
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<AsyncMutex<Slot>>>> {
        // The map is whole between any two operations on it.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn slot(&self, session: &SessionId) -> Arc<AsyncMutex<Slot>> {
        self.slots().entry(session.clone()).or_insert_with(|| Arc::new_cyclic(Slot::new)).clone()
    }

    /// Sees to it that one more may start, by closing the one that was not used for longest. False when all are at work.
    pub fn make_room(&self) -> bool {
        let slots = self.slots();
        let (mut alive, mut oldest) = (0, None);
        for slot in slots.values() {
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
                slot.close(Lost::MadeRoom);
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
                slot.close(Lost::Idle);
            }
        });
        slot.idle_watch = Some(watch.abort_handle());
    }

    pub fn close(&self, session: &SessionId) {
        self.slots().remove(session);
    }
}
