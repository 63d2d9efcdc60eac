//! A home whose truth is a database: the folder on this machine is a cache.
//!
//! A fact is stored in the database first, then in the journal of the cache. A change of files is made in the cache, compared with
//! what is stored, and stored before anybody is told that it was made. What other programs change in the cache is stored in the
//! same way.

mod aside;
mod journals;
mod kept_home;
mod looks;
mod manifest;
mod marker;
mod not_kept;
mod reading;
mod restore;
mod scan;
mod storing;
mod tracked;
mod transfer;
mod watched;

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex as StdMutex};
use std::time::{Duration, SystemTime};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use uuid::Uuid;

use super::Durability;
use super::accounts::PEOPLE;
use super::error::StoreError;
use super::home::{Home, lock, make_dir};
use super::home_lock::take_lock;
use super::postgres::{
    Claimant, Connections, DatabaseError, FactDurability, FactRow, FoundHome, HomeDatabase, HomeRows, LibraryRows,
    OwnershipCheck, SessionFacts, UnreadHome,
};
use crate::domain::{HomeId, InterruptedWork, SessionId, WorkId};
use aside::FormerCopy;
use journals::Journals;
use looks::Looks;
use manifest::Manifest;
use marker::Marker;
pub use marker::is_copy;
use restore::OtherJournals;
pub(super) use scan::PIECE;
use storing::{Extent, Files};
pub use transfer::{export, import};

/// How often a claim is tried while another server changes the home.
const CLAIMS: usize = 20;

/// Maximum time of giving up a home that could not be opened.
const GIVE_BACK: Duration = Duration::from_secs(5);

/// The database behind a home. One for each home that is open.
pub struct Replica {
    rows: HomeRows,
    usage: CacheUse,
    /// Held while files are compared and stored.
    files: Mutex<Files>,
    journals: Arc<Journals>,
    /// Whether a work that something interrupted goes on, and how it counts.
    interrupted: InterruptedWork,
    /// The works that were taken over under this claim.
    taken_over: StdMutex<HashSet<WorkId>>,
    ownership: OwnershipCheck,
    /// On which blocking callers wait for the database.
    runtime: Handle,
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
        (database, id): (&HomeDatabase, &HomeId),
        folder: &Path,
        usage: CacheUse,
        claimant: Claimant,
    ) -> Result<Self, StoreError> {
        if usage == CacheUse::Serve && id.person().is_some() {
            transfer::make_private(folder)?;
        }
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
            let found = FoundHome::find(database, id).await?;
            if found.is_held_from(claimant) {
                return Err(DatabaseError::OwnedElsewhere.into());
            }
            if usage == CacheUse::Serve && found.is_of_cluster(claimant) {
                return Err(DatabaseError::UsedByCluster.into());
            }
            let interrupted = match claimant {
                Claimant::Start(_) => InterruptedWork::Ends,
                Claimant::Member(_) if found.was_given_up_to(claimant) => InterruptedWork::GoesOn,
                Claimant::Member(_) => InterruptedWork::GoesOnAfterLoss,
            };
            let (is_new, is_incomplete, is_whole) = (found.is_new(), found.is_incomplete(), *id == HomeId::Server);
            let commit = found.files_commit();
            if usage == CacheUse::Serve && is_incomplete {
                return Err(DatabaseError::ImportIncomplete.into());
            }
            let copied = marker.as_ref().filter(|marker| usage == CacheUse::Serve && marker.is_of(&found));
            let is_of_another = usage == CacheUse::Serve && copied.is_none() && is_new && restore::has_files(&dir)?;
            match (usage, copied) {
                // Not synced if this start is new to it: after a crash of the machine, the marker on the disk does not name the last owner.
                (CacheUse::Serve, Some(marker)) if !marker.names(owner) => marker.with_owner(owner).note(&dir)?,
                // What is on the disk names this start, which gave the home up, and would count after a crash.
                (CacheUse::Serve, Some(marker)) => marker.with_owner(owner).write(&dir)?,
                // A copy of a database that was lost is not taken for what a new one contains.
                (CacheUse::Serve, None) if is_of_another => {
                    return Err(DatabaseError::CacheIsHome { folder: folder.to_owned() }.into());
                }
                // A start that dies while it restores leaves no copy: the database wins again.
                (CacheUse::Serve, None) => Marker::incomplete(id).write(&dir)?,
                // The homes of people are a part of the home of their server.
                (CacheUse::Import | CacheUse::Adopt, _) if is_whole && !is_new && !is_incomplete => {
                    return Err(DatabaseError::NotEmpty.into());
                }
                (CacheUse::Import | CacheUse::Adopt, _) => {}
            }
            let is_copy = copied.is_some();
            let Some((rows, unread)) = found.claim(claimant).await? else { continue };
            if usage != CacheUse::Serve {
                rows.begin_import().await?;
            }
            let claimed = Claimed {
                rows,
                former: marker.as_ref().map_or(FormerCopy::Unknown, Marker::former_copy),
                marker: Marker::complete(id, owner, commit),
                commit,
                is_kept: is_copy || is_new || usage != CacheUse::Serve,
                is_copy,
                interrupted,
            };
            let replica = claimed.opened((unread, &database.connections), (&dir, usage)).await?;
            drop(lock);
            return Ok(replica);
        }
        let reason = "another server changes the home all the time".to_owned();
        Err(DatabaseError::Interrupted { reason }.into())
    }

    /// Takes the folder with the copies of a server for this process. Also returns the starts of servers that had one of the copies
    /// since the machine was started: they have ended.
    ///
    /// # Errors
    /// Returns [`StoreError::Locked`] if one of them still runs.
    pub fn take_folder(folder: &Path) -> Result<(File, Vec<Uuid>), StoreError> {
        let (dir, _home) = prepared(folder, CacheUse::Serve)?;
        let storage = dir.open_dir("storage").map_err(StoreError::io("opening storage/"))?;
        let lock = take_lock(&storage)?;
        let people = dir.read_dir(PEOPLE).into_iter().flatten().flatten().filter_map(|person| person.open_dir().ok());
        let markers = people.chain([dir.try_clone().map_err(StoreError::io("opening the copy"))?]);
        let ended = markers.filter_map(|dir| Marker::read(&dir));
        Ok((lock, ended.flat_map(|marker| marker.owners_of_this_boot().to_vec()).collect()))
    }

    /// Returns a library of the home.
    pub(super) fn library(&self, name: &str) -> LibraryRows {
        self.rows.library(name)
    }

    pub(super) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Returns what becomes of this work, which something interrupted. It is taken over once.
    pub(super) fn interrupted(&self, work: &WorkId) -> InterruptedWork {
        match self.interrupted {
            InterruptedWork::Ends => InterruptedWork::Ends,
            interrupted if lock(&self.taken_over).insert(work.clone()) => interrupted,
            _ => InterruptedWork::IsTakenOver,
        }
    }

    /// Appends facts of a session: in the database, then in the journal, as `write` does. `start` is the length of the journal.
    pub(super) async fn append(
        &self,
        (id, start): (&SessionId, u64),
        (facts, durability): (Vec<FactRow>, Durability),
        write: impl FnOnce() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut stored = self.journals.held(id).await;
        let durability = match durability {
            Durability::Synced => FactDurability::Synced,
            Durability::Buffered => FactDurability::Relaxed,
        };
        let is_stale = stored.is_stale || stored.length != start;
        let length = start + facts.iter().map(|fact| fact.body.len() as u64).sum::<u64>();
        // Until the outcome is known, also if nobody waits for it any more.
        stored.is_stale = true;
        self.rows.append(SessionFacts { session: id.as_str().to_owned(), facts }, durability).await?;
        stored.length = length;
        write()?;
        stored.is_stale = is_stale;
        Ok(())
    }

    /// Stores what was changed in the folder since the last call, whoever changed it.
    ///
    /// # Errors
    /// Returns an error if the database does not answer; the next call stores it. Nobody may be told before that the change was
    /// made.
    pub(super) async fn store_changes(self: &Arc<Self>, home: &Home) -> Result<(), StoreError> {
        self.store(home, Extent::Noticed).await
    }

    /// Stores what differs anywhere in the folder, also what no notice came of.
    ///
    /// # Errors
    /// Returns the errors of [`Replica::store_changes`].
    pub(super) async fn store_all(self: &Arc<Self>, home: &Home) -> Result<(), StoreError> {
        self.store(home, Extent::Whole).await
    }

    async fn store(self: &Arc<Self>, home: &Home, extent: Extent) -> Result<(), StoreError> {
        let (replica, home) = (self.clone(), home.clone());
        // Whoever waits for it may go away; what was begun is brought to its end.
        let stored = tokio::spawn(async move { replica.store_now(&home, extent).await });
        stored.await.map_err(|_| StoreError::ShutDown)?
    }

    /// Gives a home up that could not be opened.
    pub async fn give_back(&self) {
        give_back(&self.rows).await;
    }

    /// Stores what is left and gives the home up.
    pub(super) async fn release(self: &Arc<Self>, home: &Home) -> Result<(), StoreError> {
        let since = SystemTime::now();
        self.store_all(home).await?;
        self.drop_pieces().await?;
        self.sync_copy(home, since).await?;
        Ok(self.rows.release().await?)
    }
}

/// A home that was claimed.
struct Claimed {
    rows: HomeRows,
    /// What the folder was before.
    former: FormerCopy,
    /// Of the copy once it is complete.
    marker: Marker,
    /// The last commit of files.
    commit: Option<Uuid>,
    /// Whether what differs in the folder is stored; otherwise it is made what the database has.
    is_kept: bool,
    /// Whether the folder is the copy of what was claimed.
    is_copy: bool,
    interrupted: InterruptedWork,
}

impl Claimed {
    /// Makes the folder the copy. If it cannot, the home is given up at once, so that another server can have it.
    async fn opened(
        self,
        from: (UnreadHome, &Connections),
        (dir, usage): (&Dir, CacheUse),
    ) -> Result<Replica, StoreError> {
        let copied = self.copied(from, (dir, usage)).await;
        let (manifest, journals) = match copied {
            Ok(copied) => copied,
            Err(error) => {
                // To give up what is being imported would say that it is complete.
                if usage == CacheUse::Serve {
                    give_back(&self.rows).await;
                }
                return Err(error);
            }
        };
        Ok(Replica {
            rows: self.rows,
            usage,
            files: Mutex::new(Files::new(self.marker, self.commit, manifest)),
            journals: Arc::new(journals),
            interrupted: self.interrupted,
            taken_over: StdMutex::default(),
            ownership: OwnershipCheck::default(),
            runtime: Handle::current(),
        })
    }

    async fn copied(
        &self,
        (unread, connections): (UnreadHome, &Connections),
        (dir, usage): (&Dir, CacheUse),
    ) -> Result<(Manifest, Journals), StoreError> {
        let stored = unread.read().await?;
        let mut manifest = match self.is_kept {
            true => Manifest::of(stored.files().await?),
            false => restore::restore(&stored, dir, self.former).await?,
        };
        if self.is_copy {
            let copy = dir.try_clone().map_err(StoreError::io("opening the copy"))?;
            let noted = move || {
                if let Some(looks) = Looks::read(&copy) {
                    looks.put_in(&mut manifest);
                }
                Ok(manifest)
            };
            manifest = blocking(noted).await?;
        }
        let facts = stored.facts().await?;
        stored.end(connections).await;
        if usage == CacheUse::Serve {
            // Somebody moved its session here, with its journal, and nobody stored that yet.
            let is_moved = |of: &SessionFacts| {
                let file = format!("sessions/{}.json", of.session);
                self.is_copy && manifest.contains(file.as_bytes()) && !dir.exists(&file)
            };
            let (_, restored): (Vec<_>, Vec<_>) = facts.iter().cloned().partition(is_moved);
            let others = if self.is_copy { OtherJournals::Keep } else { OtherJournals::Aside(self.former) };
            restore::restore_journals(dir, &restored, others)?;
        }
        match usage {
            // Not synced: what is on the disk does not count after a crash of the machine.
            CacheUse::Serve => self.marker.note(dir)?,
            CacheUse::Adopt => self.marker.write(dir)?,
            CacheUse::Import => {}
        }
        let journals = Journals::of(&facts);
        if usage != CacheUse::Serve {
            // What an import before this one has stored may be of another folder.
            journals.set_stale().await;
        }
        Ok((manifest, journals))
    }
}

/// Gives a home up that could not be opened.
async fn give_back(rows: &HomeRows) {
    match tokio::time::timeout(GIVE_BACK, rows.release()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "a home that could not be opened was not given up"),
        Err(_) => tracing::warn!("a home that could not be opened was not given up in time"),
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

/// Runs file work outside the runtime's async threads.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| StoreError::ShutDown)?
}
