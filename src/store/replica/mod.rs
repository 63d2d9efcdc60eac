//! A home whose truth is a database: the folder on this machine is a cache.
//!
//! A fact is stored in the database first, then in the journal of the cache. A change of files is made in the cache, compared with
//! what is stored, and stored before anybody is told that it was made. What other programs change in the cache is stored in the
//! same way.

mod aside;
mod kept_home;
mod marker;
mod not_kept;
mod restore;
mod scan;
mod tracked;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex as StdMutex};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use tokio::sync::Mutex;
use uuid::Uuid;

use super::Durability;
use super::error::StoreError;
use super::home::{Home, lock, make_dir};
use super::home_lock::take_lock;
use super::postgres::{
    Claimant, DatabaseAddress, DatabaseError, FactDurability, FactRow, FoundHome, HomeRows, LossPolicy, OWN_HOME,
    OwnershipCheck, SessionFacts, StoredHome,
};
use crate::domain::{InterruptedWork, SessionId, WorkId};
use marker::Marker;
use scan::{Batch, Manifest};

/// Part of a journal's name.
const JOURNAL: &str = ".journal";
/// How often a claim is tried while another server changes the home.
const CLAIMS: usize = 20;

/// The database behind a home. One for each home that is open.
pub struct Replica {
    rows: HomeRows,
    manifest: Arc<StdMutex<Manifest>>,
    usage: CacheUse,
    /// Held while files are compared and stored.
    files: Mutex<Files>,
    /// The length of each journal whose lines are stored. Held while a journal and its facts may differ.
    journals: Mutex<BTreeMap<SessionId, Stored>>,
    /// Whether a work that something interrupted goes on, and how it counts.
    interrupted: InterruptedWork,
    /// The works that were taken over under this claim.
    taken_over: StdMutex<HashSet<WorkId>>,
    ownership: OwnershipCheck,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stored {
    length: u64,
    /// The journal was removed and begun again: its facts are replaced once its session's file is stored.
    is_stale: bool,
}

/// What is known of the stored files.
struct Files {
    marker: Marker,
    /// The outcome of a commit is unknown: what is stored has to be read first.
    is_unknown: bool,
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
        claimant: Claimant,
    ) -> Result<Self, StoreError> {
        let (dir, lock) = prepared(folder, usage)?;
        let marker = Marker::read(&dir);
        let is_home = (usage != CacheUse::Serve || marker.is_none()) && restore::has_files(&dir)?;
        match usage {
            CacheUse::Serve if is_home => {
                return Err(DatabaseError::CacheIsHome { folder: folder.to_owned() }.into());
            }
            CacheUse::Import | CacheUse::Adopt if !is_home => {
                return Err(StoreError::NotFound { what: format!("home in {}", folder.display()) });
            }
            _ => {}
        }
        let owner = claimant.id();
        for _ in 0..CLAIMS {
            let found = FoundHome::find((address, policy), OWN_HOME).await?;
            if found.is_held_from(claimant) {
                return Err(DatabaseError::OwnedElsewhere.into());
            }
            let interrupted = match claimant {
                Claimant::Start(_) => InterruptedWork::Ends,
                Claimant::Member(_) if found.was_given_up_to(claimant) => InterruptedWork::GoesOn,
                Claimant::Member(_) => InterruptedWork::GoesOnAfterLoss,
            };
            let (is_new, commit) = (found.is_new(), found.files_commit());
            let copied = marker.as_ref().filter(|marker| usage == CacheUse::Serve && marker.is_of(&found));
            let is_of_another = usage == CacheUse::Serve && copied.is_none() && is_new && restore::has_files(&dir)?;
            match (usage, copied) {
                (CacheUse::Serve, Some(marker)) => marker.with_owner(owner).write(&dir)?,
                // A copy of a database that was lost is not taken for what a new one contains.
                (CacheUse::Serve, None) if is_of_another => {
                    return Err(DatabaseError::CacheIsHome { folder: folder.to_owned() }.into());
                }
                // A start that dies while it restores leaves no copy: the database wins again.
                (CacheUse::Serve, None) => Marker::incomplete().write(&dir)?,
                (CacheUse::Import | CacheUse::Adopt, _) if !is_new => return Err(DatabaseError::NotEmpty.into()),
                (CacheUse::Import | CacheUse::Adopt, _) => {}
            }
            let is_copy = copied.is_some();
            let Some(rows) = found.claim(claimant).await? else { continue };
            let marker = Marker::complete(owner, commit);
            let claimed = Claimed { rows, marker, is_kept: is_copy || is_new, is_copy, interrupted };
            let replica = claimed.opened(&StoredHome::open(address, OWN_HOME).await?, (&dir, usage)).await?;
            drop(lock);
            return Ok(replica);
        }
        let reason = "another server changes the home all the time".to_owned();
        Err(DatabaseError::Interrupted { reason }.into())
    }

    /// Returns the starts of servers that had this copy since the machine was started. They have ended: this process got the lock of
    /// the folder.
    ///
    /// # Errors
    /// Returns [`StoreError::Locked`] if one of them still runs.
    pub fn ended_owners(folder: &Path) -> Result<Vec<Uuid>, StoreError> {
        let (dir, _lock) = prepared(folder, CacheUse::Serve)?;
        Ok(Marker::read(&dir).map(|marker| marker.owners_of_this_boot().to_vec()).unwrap_or_default())
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
    pub(super) async fn store_changes(self: &Arc<Self>, home: &Home) -> Result<(), StoreError> {
        let (replica, home) = (self.clone(), home.clone());
        // Whoever waits for it may go away; what was begun is brought to its end.
        let stored = tokio::spawn(async move { replica.store_now(&home).await });
        stored.await.map_err(|_| StoreError::ShutDown)?
    }

    /// Returns what becomes of this work, which something interrupted. It is taken over once.
    pub(super) fn interrupted(&self, work: &WorkId) -> InterruptedWork {
        match self.interrupted {
            InterruptedWork::Ends => InterruptedWork::Ends,
            interrupted if lock(&self.taken_over).insert(work.clone()) => interrupted,
            _ => InterruptedWork::IsTakenOver,
        }
    }

    async fn store_now(&self, home: &Home) -> Result<(), StoreError> {
        let mut files = self.files.lock().await;
        if self.rows.lost().is_cancelled() {
            return Err(StoreError::Fenced);
        }
        if files.is_unknown {
            let (commit, rows) = self.rows.settled_files().await.inspect_err(|error| self.notice(error))?;
            *lock(&self.manifest) = Manifest::of(rows);
            files.marker.set_commit(commit);
            files.is_unknown = false;
        }
        // A journal that is gone now is in a file that is stored below.
        let journals = self.changed_journals(home).await?;
        let mut read = BTreeSet::new();
        let left_out = loop {
            let (manifest, looked, usage) = (self.manifest.clone(), home.clone(), self.usage);
            let done = read.clone();
            let compared = tokio::task::spawn_blocking(move || {
                let batch = lock(&manifest).compare_rest(looked.root(), &done)?;
                // After the walk: a copy that was deleted under it has lost files which nobody deleted.
                if usage != CacheUse::Import {
                    Marker::require(looked.root())?;
                    if batch.commit.gone.iter().any(|path| tracked::is_required(path)) {
                        return Err(DatabaseError::CacheGone.into());
                    }
                }
                Ok::<Batch, StoreError>(batch)
            });
            let mut batch = compared.await.map_err(|_| StoreError::ShutDown)??;
            for (path, why) in lock(&self.manifest).unreported(&batch) {
                let path = String::from_utf8_lossy(path);
                home.warn(format!("{path} is not kept in the database as it is, only on this machine: {why}"));
            }
            if !batch.is_empty() {
                batch.commit.id = Uuid::new_v4();
                self.commit(home, &mut files, &batch).await?;
            }
            read.extend(batch.read.iter().cloned());
            let is_full = batch.is_full;
            let left_out: BTreeSet<Vec<u8>> = batch.left_out.keys().cloned().collect();
            lock(&self.manifest).stored(batch);
            if !is_full {
                break left_out;
            }
        };
        // Facts that are in no stored file stay.
        let is_left_out = |id: &SessionId| {
            let file = format!("sessions/{}.json", id.as_str());
            left_out.contains(file.as_bytes()) || left_out.contains(b"sessions".as_slice())
        };
        for id in journals.iter().filter(|id| !is_left_out(id)) {
            self.store_journal(home, id).await?;
        }
        Ok(())
    }

    /// Notes that another server has the home, if that is why something was not read.
    fn notice(&self, error: &DatabaseError) {
        if matches!(error, DatabaseError::Fenced) {
            self.rows.lost().cancel();
        }
    }

    async fn commit(&self, home: &Home, files: &mut Files, batch: &Batch) -> Result<(), StoreError> {
        files.is_unknown = true;
        files.marker.begin(batch.commit.id);
        self.note(home, &files.marker)?;
        if !batch.pieces.is_empty() {
            self.rows.put_pieces(&batch.pieces).await?;
        }
        self.rows.commit(&batch.commit).await?;
        files.is_unknown = false;
        files.marker.set_commit(Some(batch.commit.id));
        self.note(home, &files.marker)
    }

    fn note(&self, home: &Home, marker: &Marker) -> Result<(), StoreError> {
        if self.usage == CacheUse::Import { Ok(()) } else { marker.note(home.root()) }
    }

    /// Stores what is left and gives the home up.
    pub(super) async fn release(self: &Arc<Self>, home: &Home) -> Result<(), StoreError> {
        if self.rows.lost().is_cancelled() {
            return Err(StoreError::Fenced);
        }
        self.store_changes(home).await?;
        if self.usage != CacheUse::Import {
            let mut marker = self.files.lock().await.marker.clone();
            let home = home.clone();
            let noted = tokio::task::spawn_blocking(move || {
                let doing = || StoreError::io("writing the copy to the disk");
                let opened = home.root().open(".").map_err(doing())?;
                rustix::fs::syncfs(opened).map_err(|error| doing()(error.into()))?;
                marker.set_on_disk();
                marker.write(home.root())
            });
            noted.await.map_err(|_| StoreError::ShutDown)??;
        }
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

/// A home that was claimed.
struct Claimed {
    rows: HomeRows,
    /// Of the copy once it is complete.
    marker: Marker,
    /// Whether what differs in the folder is stored; otherwise it is made what the database has.
    is_kept: bool,
    /// Whether the folder is the copy of what was claimed.
    is_copy: bool,
    interrupted: InterruptedWork,
}

impl Claimed {
    async fn opened(self, stored: &StoredHome, (dir, usage): (&Dir, CacheUse)) -> Result<Replica, StoreError> {
        let manifest = match self.is_kept {
            true => Manifest::of(stored.files().await?),
            false => restore::restore(stored, dir).await?,
        };
        let facts = stored.facts().await?;
        if usage == CacheUse::Serve {
            // Somebody moved its session here, with its journal, and nobody stored that yet.
            let is_moved = |of: &SessionFacts| {
                let file = format!("sessions/{}.json", of.session);
                self.is_copy && manifest.contains(file.as_bytes()) && !dir.exists(&file)
            };
            let (_, restored): (Vec<_>, Vec<_>) = facts.iter().cloned().partition(is_moved);
            restore::restore_journals(dir, &restored)?;
        }
        if usage != CacheUse::Import {
            self.marker.write(dir)?;
        }
        let journals = facts.iter().filter_map(|of| {
            let length = of.facts.iter().map(|fact| fact.body.len() as u64).sum();
            Some((SessionId::parse(&of.session).ok()?, Stored { length, is_stale: false }))
        });
        Ok(Replica {
            rows: self.rows,
            manifest: Arc::new(StdMutex::new(manifest)),
            usage,
            files: Mutex::new(Files { marker: self.marker, is_unknown: false }),
            journals: Mutex::new(journals.collect()),
            interrupted: self.interrupted,
            taken_over: StdMutex::default(),
            ownership: OwnershipCheck::default(),
        })
    }
}

/// Opens the folder of a copy. Nobody else may have it while it is made one.
fn prepared(folder: &Path, usage: CacheUse) -> Result<(Dir, File), StoreError> {
    let doing = || StoreError::io(format!("opening {}", folder.display()));
    match usage {
        CacheUse::Serve => std::fs::create_dir_all(folder).map_err(doing())?,
        CacheUse::Import | CacheUse::Adopt if !folder.is_dir() => {
            return Err(StoreError::NotFound { what: format!("home in {}", folder.display()) });
        }
        CacheUse::Import | CacheUse::Adopt => {}
    }
    let dir = Dir::open_ambient_dir(folder, ambient_authority()).map_err(doing())?;
    make_dir(&dir, "sessions", 0o700)?;
    make_dir(&dir, "storage", 0o700)?;
    let sessions = dir.open_dir("sessions").map_err(doing())?;
    let lock = take_lock(&sessions)?;
    Ok((dir, lock))
}
