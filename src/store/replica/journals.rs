//! What is stored of the journals: one lock for each session, so that facts of different sessions do not wait for each other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex as StdMutex};

use tokio::sync::{Mutex, OwnedMutexGuard};

use super::tracked;
use crate::domain::SessionId;
use crate::store::error::StoreError;
use crate::store::home::{Home, lock};
use crate::store::postgres::SessionFacts;

/// What is stored of one journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stored {
    pub length: u64,
    /// The journal was removed and begun again: its facts are replaced once its session's file is stored.
    pub is_stale: bool,
}

/// The journals of a home. The lock of one is held while the journal and its facts may differ.
#[derive(Default)]
pub(super) struct Journals(StdMutex<BTreeMap<SessionId, Arc<Mutex<Stored>>>>);

/// Journals that are not what is stored, held.
pub(super) type Held = Vec<(SessionId, OwnedMutexGuard<Stored>)>;

impl Journals {
    pub fn of(sessions: &[SessionFacts]) -> Self {
        let stored = sessions.iter().filter_map(|of| {
            let length = of.facts.iter().map(|fact| fact.body.len() as u64).sum();
            Some((SessionId::parse(&of.session).ok()?, Arc::new(Mutex::new(Stored { length, is_stale: false }))))
        });
        Self(StdMutex::new(stored.collect()))
    }

    /// Waits for the journal of a session.
    pub async fn held(&self, id: &SessionId) -> OwnedMutexGuard<Stored> {
        let journal = lock(&self.0).entry(id.clone()).or_default().clone();
        journal.lock_owned().await
    }

    /// Returns the sessions whose journals are not what is stored, of those with `noticed` journals and of those that are known not
    /// to be. A journal that an append holds is what is stored once the append has ended; it is in `later`.
    pub fn differing(&self, home: &Home, noticed: BTreeSet<SessionId>, later: &mut BTreeSet<SessionId>) -> Held {
        let journals: Vec<(SessionId, Arc<Mutex<Stored>>)> = {
            let mut all = lock(&self.0);
            for id in &noticed {
                all.entry(id.clone()).or_default();
            }
            all.iter().map(|(id, journal)| (id.clone(), journal.clone())).collect()
        };
        let mut differing = Vec::new();
        for (id, journal) in journals {
            let is_noticed = noticed.contains(&id);
            match journal.try_lock_owned() {
                Err(_) if is_noticed => drop(later.insert(id)),
                Err(_) => {}
                Ok(stored) if stored.is_stale || (is_noticed && stored.length != length(home, &id)) => {
                    differing.push((id, stored));
                }
                Ok(_) => {}
            }
        }
        differing
    }

    /// Returns all sessions that have a journal here or in the database.
    ///
    /// # Errors
    /// Returns an error if sessions/ cannot be listed.
    pub fn all(&self, home: &Home) -> Result<BTreeSet<SessionId>, StoreError> {
        let mut all: BTreeSet<SessionId> = lock(&self.0).keys().cloned().collect();
        for entry in home.sessions_dir().entries().map_err(StoreError::io("listing sessions/"))?.flatten() {
            let name = entry.file_name().into_string().unwrap_or_default();
            all.extend(name.strip_suffix(tracked::JOURNAL).and_then(|id| SessionId::parse(id).ok()));
        }
        Ok(all)
    }

    /// Says that all journals are to be stored again.
    pub async fn set_stale(&self) {
        let all: Vec<Arc<Mutex<Stored>>> = lock(&self.0).values().cloned().collect();
        for journal in all {
            journal.lock().await.is_stale = true;
        }
    }

    /// Notes that a session has no facts any more.
    pub fn settled(&self, id: &SessionId, mut journal: OwnedMutexGuard<Stored>) {
        *journal = Stored::default();
        let mut all = lock(&self.0);
        drop(journal);
        // Nobody else waits for it.
        if all.get(id).is_some_and(|journal| Arc::strong_count(journal) == 1) {
            all.remove(id);
        }
    }
}

/// The length of a journal; 0 if there is none.
fn length(home: &Home, id: &SessionId) -> u64 {
    let name = format!("{}{}", id.as_str(), tracked::JOURNAL);
    home.sessions_dir().metadata(name).map_or(0, |meta| meta.len())
}
