//! A home whose truth is a database: the folder on this machine is a cache.
//!
//! A fact is stored in the database first, then in the journal of the cache. A change of files is made in the cache, compared with
//! what is stored, and stored before anybody is told that it was made. What other programs change in the cache is stored in the
//! same way.

mod restore;
mod scan;
mod tracked;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex as StdMutex};
use std::time::Duration;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use uuid::Uuid;

use super::atomic;
use super::error::StoreError;
use super::home::{Home, lock, make_dir};
use super::home_lock::take_lock;
use super::postgres::{
    Claimable, ClaimedRows, DatabaseAddress, DatabaseError, FactDurability, FactRow, HomeRows, LossPolicy, OWN_HOME,
    SessionFacts, StoredHome,
};
use super::{Durability, is_unused};
use crate::domain::SessionId;
use scan::Manifest;

/// In the cache: which home of which database it is a copy of.
const MARKER: &str = "storage/database.json";
/// Part of a journal's name.
const JOURNAL: &str = ".journal";
/// Maximum number of starts that the marker names, besides the newest one.
const MAX_OWNERS: usize = 64;
/// How often changes of other programs are looked for.
const LOOK: Duration = Duration::from_secs(3);

/// The database behind a home. One for each home that is open.
pub struct Replica {
    rows: HomeRows,
    manifest: Arc<StdMutex<Manifest>>,
    usage: CacheUse,
    /// Held while files are compared and stored.
    files: Mutex<()>,
    /// The length of each journal whose lines are stored. Held while a journal and its facts may differ.
    journals: Mutex<BTreeMap<SessionId, Stored>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stored {
    length: u64,
    /// The journal was removed and begun again: its facts are replaced once its session's file is stored.
    is_stale: bool,
}

/// The content of the marker.
#[derive(Serialize, Deserialize)]
struct Marker {
    home: Uuid,
    /// The starts of the server by which this cache was last written, in any order.
    owners: Vec<Uuid>,
}

/// What may be in the folder of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheUse {
    /// A server starts on it: a home that the database does not have is not taken over.
    Serve,
    /// It is a home that is to be stored in an empty database, and stays what it is.
    Import,
    /// The same, and a server will start on it.
    Adopt,
}

impl Replica {
    /// Claims the home in the database, and makes the folder a copy of it.
    ///
    /// # Errors
    /// Returns [`DatabaseError::CacheIsHome`] if the folder is a home of its own, and other errors if the database or the folder
    /// cannot be used.
    pub async fn open(
        (address, policy): (&DatabaseAddress, LossPolicy),
        folder: &Path,
        usage: CacheUse,
    ) -> Result<Self, StoreError> {
        let doing = || StoreError::io(format!("opening {}", folder.display()));
        match usage {
            CacheUse::Serve => std::fs::create_dir_all(folder).map_err(doing())?,
            CacheUse::Import | CacheUse::Adopt if is_unused(folder) => {
                return Err(StoreError::NotFound { what: format!("home in {}", folder.display()) });
            }
            CacheUse::Import | CacheUse::Adopt => {}
        }
        let dir = Dir::open_ambient_dir(folder, ambient_authority()).map_err(doing())?;
        make_dir(&dir, "sessions", 0o700)?;
        make_dir(&dir, "storage", 0o700)?;
        // Nobody else may have the folder while it is made a copy.
        let sessions = dir.open_dir("sessions").map_err(doing())?;
        let lock = take_lock(&sessions)?;
        let marker = Marker::read(&dir);
        let owner = Uuid::new_v4();
        let known = marker.as_ref().map(|marker| marker.owners.as_slice()).unwrap_or_default();
        let known = &known[known.len().saturating_sub(MAX_OWNERS)..];
        let next = Marker { home: OWN_HOME, owners: known.iter().copied().chain([owner]).collect() };
        let is_own = marker.is_none() && !is_unused(folder);
        if usage == CacheUse::Serve && is_own {
            return Err(DatabaseError::CacheIsHome { folder: folder.to_owned() }.into());
        }
        if usage != CacheUse::Import {
            next.write(&dir)?;
        }
        let which = if usage == CacheUse::Serve { Claimable::Any } else { Claimable::New };
        let ClaimedRows { rows, previous, is_new } =
            HomeRows::claim((address, policy), (OWN_HOME, which), owner).await?;
        let is_copy = marker.is_some_and(|marker| previous.is_some_and(|previous| marker.owners.contains(&previous)));
        // A copy of a database that was lost is not taken for what a new one contains.
        if usage == CacheUse::Serve && is_new && !is_copy && !is_unused(folder) {
            return Err(DatabaseError::CacheIsHome { folder: folder.to_owned() }.into());
        }
        let stored = StoredHome::open(address, OWN_HOME).await?;
        let manifest = match is_copy || is_new {
            // What differs was changed here, and is stored below.
            true => Manifest::of(stored.files().await?),
            false => restore::restore(&stored, &dir).await?,
        };
        let facts = stored.facts().await?;
        if usage == CacheUse::Serve {
            // Somebody moved its session here, with its journal, and nobody stored that yet.
            let is_moved = |of: &SessionFacts| {
                let file = format!("sessions/{}.json", of.session);
                is_copy && manifest.contains(file.as_bytes()) && !dir.exists(&file)
            };
            let (_, restored): (Vec<_>, Vec<_>) = facts.iter().cloned().partition(is_moved);
            restore::restore_journals(&dir, &restored)?;
        }
        if usage != CacheUse::Import {
            Marker { home: OWN_HOME, owners: vec![owner] }.write(&dir)?;
        }
        let journals = facts.iter().filter_map(|of| {
            let length = of.facts.iter().map(|fact| fact.body.len() as u64).sum();
            Some((SessionId::parse(&of.session).ok()?, Stored { length, is_stale: false }))
        });
        let replica = Self {
            rows,
            manifest: Arc::new(StdMutex::new(manifest)),
            usage,
            files: Mutex::default(),
            journals: Mutex::new(journals.collect()),
        };
        drop(lock);
        Ok(replica)
    }

    /// Appends facts of a session: in the database, then in the journal, as `write` does. `start` is the length of the journal.
    pub(super) async fn append(
        &self,
        (id, start): (&SessionId, u64),
        (facts, durability): (&[FactRow], Durability),
        write: impl FnOnce() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut journals = self.journals.lock().await;
        let durability = match durability {
            Durability::Synced => FactDurability::Synced,
            Durability::Buffered => FactDurability::Relaxed,
        };
        let stored = journals.entry(id.clone()).or_default();
        let is_stale = stored.is_stale || stored.length != start;
        // Until the outcome is known, also if nobody waits for it any more.
        stored.is_stale = true;
        self.rows.append(id.as_str(), facts, durability).await?;
        stored.length = start + facts.iter().map(|fact| fact.body.len() as u64).sum::<u64>();
        write()?;
        stored.is_stale = is_stale;
        Ok(())
    }

    /// Stores what differs between the folder and the database.
    ///
    /// # Errors
    /// Returns an error if the database does not answer; the next call stores it. Nobody may be told before that the change was
    /// made.
    pub(super) async fn store_changes(&self, home: &Home) -> Result<(), StoreError> {
        let _one_at_a_time = self.files.lock().await;
        // A journal that is gone now is in a file that is stored below.
        let journals = self.changed_journals(home).await?;
        loop {
            let (manifest, looked, usage) = (self.manifest.clone(), home.clone(), self.usage);
            let compared = tokio::task::spawn_blocking(move || {
                if usage != CacheUse::Import {
                    Marker::require(looked.root())?;
                }
                lock(&manifest).compare(looked.root())
            });
            let batch = compared.await.map_err(|_| StoreError::ShutDown)??;
            for path in &batch.too_large {
                home.warn(format!(
                    "{path} is not kept in the database, only on this machine: files have at most {} MiB, and all of a home {} GiB",
                    scan::MAX_FILE >> 20,
                    scan::MAX_HOME >> 30
                ));
            }
            if !batch.pieces.is_empty() {
                self.rows.put_pieces(&batch.pieces).await?;
            }
            if !batch.is_empty() {
                self.rows.commit(&batch.commit).await?;
            }
            let is_full = batch.is_full;
            lock(&self.manifest).stored(batch);
            if !is_full {
                break;
            }
        }
        for id in journals {
            self.store_journal(home, &id).await?;
        }
        Ok(())
    }

    /// Stores what is left and gives the home up.
    pub(super) async fn release(&self, home: &Home) -> Result<(), StoreError> {
        self.store_changes(home).await?;
        Ok(self.rows.release().await?)
    }

    /// Returns the sessions whose journals are not what is stored.
    async fn changed_journals(&self, home: &Home) -> Result<Vec<SessionId>, StoreError> {
        let stored = self.journals.lock().await;
        let mut lengths = BTreeMap::new();
        for entry in home.sessions_dir().entries().map_err(StoreError::io("listing sessions/"))?.flatten() {
            let name = entry.file_name().into_string().unwrap_or_default();
            let id = name.strip_suffix(JOURNAL).and_then(|id| SessionId::parse(id).ok());
            if let (Some(id), Ok(meta)) = (id, entry.metadata()) {
                lengths.insert(id, meta.len());
            }
        }
        let is_stored = |id: &SessionId| {
            stored.get(id).is_some_and(|stored| !stored.is_stale && lengths.get(id) == Some(&stored.length))
        };
        Ok(stored.keys().chain(lengths.keys()).filter(|id| !is_stored(id)).cloned().collect())
    }

    /// Makes the stored facts of a session the lines of its journal.
    async fn store_journal(&self, home: &Home, id: &SessionId) -> Result<(), StoreError> {
        let mut stored = self.journals.lock().await;
        let lines = home.journal_lines(id)?;
        let length = lines.iter().map(|line| line.body.len() as u64).sum();
        self.rows.replace_facts(id.as_str(), &lines).await?;
        match lines.is_empty() {
            true => stored.remove(id),
            false => stored.insert(id.clone(), Stored { length, is_stale: false }),
        };
        Ok(())
    }
}

impl Home {
    /// Stores regularly what other programs changed, until the home is closed.
    pub fn store_regularly(&self) {
        let Some(replica) = self.replica().map(Arc::downgrade) else { return };
        let home = self.downgrade();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(LOOK).await;
                let (Some(replica), Some(home)) = (replica.upgrade(), home.upgrade()) else { break };
                if let Err(error) = replica.store_changes(&home).await {
                    tracing::warn!(%error, "what changed in the home could not be stored in the database");
                }
            }
        });
    }
}

/// Writes the home in the database to an empty folder, from which a server can start.
///
/// # Errors
/// Returns an error if the folder is not empty, if the database has no home, or if the folder cannot be written.
pub async fn export(address: &DatabaseAddress, folder: &Path) -> Result<(), StoreError> {
    let doing = || StoreError::io(format!("opening {}", folder.display()));
    std::fs::create_dir_all(folder).map_err(doing())?;
    let dir = Dir::open_ambient_dir(folder, ambient_authority()).map_err(doing())?;
    if dir.entries().map_err(doing())?.next().is_some() {
        return Err(StoreError::Exists { path: folder.display().to_string() });
    }
    let stored = StoredHome::open(address, OWN_HOME).await?;
    let manifest = restore::restore(&stored, &dir).await?;
    if manifest.rows().next().is_none() {
        return Err(StoreError::NotFound { what: "home in the database".to_owned() });
    }
    restore::restore_journals(&dir, &stored.facts().await?)
}

impl Marker {
    fn read(dir: &Dir) -> Option<Self> {
        serde_json::from_slice(&dir.read(MARKER).ok()?).ok()
    }

    fn write(&self, dir: &Dir) -> Result<(), StoreError> {
        let storage = dir.open_dir("storage").map_err(StoreError::io("opening storage/"))?;
        let name = MARKER.rsplit('/').next().expect("a name");
        let bytes = serde_json::to_vec(self).expect("it has string keys");
        atomic::replace(&storage, name, &bytes, 0o600).map_err(StoreError::io(format!("writing {MARKER}")))
    }

    /// # Errors
    /// Returns an error if the cache was deleted under a running server: its files are not gone, then.
    fn require(dir: &Dir) -> Result<(), StoreError> {
        match dir.exists(MARKER) {
            true => Ok(()),
            false => Err(DatabaseError::CacheGone.into()),
        }
    }
}
