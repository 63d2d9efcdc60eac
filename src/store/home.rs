//! The home: the folder that holds workspace/ skills/ memory/ knowledge/ sessions/ storage/ and config.json.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock, Weak};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt};

use super::atomic;
use super::backup::is_half_restored;
use super::error::StoreError;
use super::fence::Fence;
use super::heads::{self, HeadList};
use super::home_lock::take_lock;
use super::index::ProjectIndexes;
use super::kept_bound::KeptBound;
use super::person_move::is_half_moved;
use super::quarantine::Quarantined;
use super::replica::Replica;
use super::resumable::ResumableUploads;
use super::roots::ProjectFolder;
use super::seal::{self, KeyStatus, Seal};
use super::session_list::SummaryCache;
use super::shared::Membership;
use super::sign_outs::SignOuts;
use super::trusted::{TEXTS, TrustCache};
use super::usage::UsageLog;
use super::write_pause::WriteGate;
use crate::domain::{ProjectId, Root};

/// The folder of commands, which is a project of every home.
const SCRATCH: &str = "scratch";

/// A home opened by one server. Cheap to clone; the lock is held until the last clone is dropped.
#[derive(Clone)]
pub struct Home {
    inner: Arc<Inner>,
}

/// A home that may be closed in the meantime.
pub(super) struct WeakHome(Weak<Inner>);

impl WeakHome {
    pub fn upgrade(&self) -> Option<Home> {
        self.0.upgrade().map(|inner| Home { inner })
    }
}

struct Inner {
    path: PathBuf,
    root: Dir,
    sessions: Dir,
    projects: RwLock<BTreeMap<ProjectId, ProjectFolder>>,
    /// Serializes compare-and-swap writes of files that people edit.
    edit: Mutex<()>,
    /// Held while a folder in `workspaces/` is chosen and made.
    project_folders: Mutex<()>,
    summaries: Mutex<SummaryCache>,
    quarantined: Mutex<Vec<Quarantined>>,
    trust: Mutex<TrustCache>,
    seal: Seal,
    startup_warnings: Mutex<Vec<String>>,
    fence: Fence,
    /// Opened by the first line that is written.
    heads: Mutex<Option<HeadList>>,
    /// Held while the audit log is read or written.
    audit: Mutex<()>,
    /// Opened by the first use.
    usage: Mutex<Option<UsageLog>>,
    kept_bound: KeptBound,
    indexes: ProjectIndexes,
    uploads: ResumableUploads,
    /// Whether linked folders cannot be used.
    links_closed: AtomicBool,
    /// Set if others can share projects with the person of this home.
    membership: OnceLock<Membership>,
    /// As they are in the file.
    sign_outs: RwLock<SignOuts>,
    /// Absent if the home was opened for reading only.
    lock: Option<File>,
    /// Set if the truth of the home is a database.
    replica: OnceLock<Arc<Replica>>,
}

/// Held while files that people edit are compared and written.
pub(super) struct EditGuard<'h> {
    _own: std::sync::MutexGuard<'h, ()>,
    /// Other homes have some of the same files.
    _shared: Option<std::sync::MutexGuard<'h, ()>>,
}

/// What opening a home found.
struct Opened {
    path: PathBuf,
    root: Dir,
    sessions: Dir,
    seal: Seal,
    projects: BTreeMap<ProjectId, ProjectFolder>,
    lock: Option<File>,
    gate: Option<WriteGate>,
}

impl Home {
    /// Opens the home at `path` and takes its lock; creates missing folders.
    ///
    /// # Errors
    /// Returns [`StoreError::Locked`] if another server has this home, and [`StoreError::NotFound`] if the folder is
    /// missing.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let shown = path.display().to_string();
        let path = path.canonicalize().map_err(StoreError::io(format!("home folder {shown}")))?;
        let root = Dir::open_ambient_dir(&path, ambient_authority())
            .map_err(StoreError::io(format!("home folder {shown}")))?;
        require_settled(&root)?;
        for name in Root::HOME.iter().filter_map(Root::folder) {
            make_dir(&root, name, 0o755)?;
        }
        for name in [
            "sessions",
            "sessions/archive",
            "sessions/archive/deleted",
            "storage",
            "storage/quarantine",
            "storage/retrieval",
            SCRATCH,
        ] {
            make_dir(&root, name, 0o700)?;
        }
        let sessions = root.open_dir("sessions").map_err(StoreError::io("opening sessions/"))?;
        let lock = take_lock(&sessions)?;
        // A move may have begun before the lock was taken.
        require_settled(&root)?;
        atomic::remove_leftovers_here(&root);
        atomic::remove_leftovers(&sessions);
        for name in Root::HOME.iter().filter_map(Root::folder).chain([TEXTS]) {
            root.open_dir(name).iter().for_each(atomic::remove_leftovers);
        }
        for name in ["storage", "storage/quarantine", "storage/retrieval", "storage/mcp-lists", "storage/mcp-sign-ins"]
        {
            root.open_dir(name).iter().for_each(atomic::remove_leftovers_here);
        }
        Seal::restrict(&root);
        let (seal, key) = Seal::open(&root, &sessions)?;
        let projects = scratch_of(&path);
        let gate = Some(WriteGate::of(&root)?);
        let home = Self::of(Opened { path, root, sessions, seal, projects, lock: Some(lock), gate });
        home.keep_key(key)?;
        home.remove_uploads();
        // First, because a commit that was cut off is completed with what has arrived.
        home.open_projects();
        home.remove_expired_uploads();
        Ok(home)
    }

    /// Opens the home at `path` to read it, whether a server runs on it or not. Takes no lock and writes nothing, and its
    /// users must not write anything either.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if there is no home, and [`StoreError::NoKey`] if there are signed files and the key
    /// is missing or damaged: then nothing can be checked.
    pub fn open_for_reading(path: &Path) -> Result<Self, StoreError> {
        let shown = path.display().to_string();
        let doing = || format!("home folder {shown}");
        let path = path.canonicalize().map_err(StoreError::io(doing()))?;
        let root = Dir::open_ambient_dir(&path, ambient_authority()).map_err(StoreError::io(doing()))?;
        require_settled(&root)?;
        let sessions = root.open_dir("sessions").map_err(StoreError::io(format!("sessions/ of the home {shown}")))?;
        let (seal, key) = Seal::open(&root, &sessions)?;
        match key {
            KeyStatus::Read | KeyStatus::First => {}
            KeyStatus::Lost => return Err(StoreError::NoKey { reason: "it is missing".to_owned() }),
            KeyStatus::Damaged(reason) => return Err(StoreError::NoKey { reason }),
        }
        let projects = scratch_of(&path);
        let home = Self::of(Opened { path, root, sessions, seal, projects, lock: None, gate: None });
        home.open_projects_for_reading();
        Ok(home)
    }

    fn of(opened: Opened) -> Self {
        let Opened { path, root, sessions, seal, projects, lock, gate } = opened;
        Self {
            inner: Arc::new(Inner {
                path,
                root,
                sessions,
                projects: RwLock::new(projects),
                edit: Mutex::new(()),
                project_folders: Mutex::new(()),
                summaries: Mutex::default(),
                quarantined: Mutex::default(),
                trust: Mutex::default(),
                seal,
                startup_warnings: Mutex::default(),
                fence: Fence::new(gate),
                heads: Mutex::default(),
                audit: Mutex::default(),
                usage: Mutex::default(),
                kept_bound: KeptBound::default(),
                indexes: ProjectIndexes::default(),
                uploads: ResumableUploads::default(),
                links_closed: AtomicBool::new(false),
                membership: OnceLock::new(),
                sign_outs: RwLock::default(),
                lock,
                replica: OnceLock::new(),
            }),
        }
    }

    /// Stores a new key, and reports if it replaces a lost or damaged one.
    fn keep_key(&self, key: KeyStatus) -> Result<(), StoreError> {
        match key {
            KeyStatus::Read => return Ok(()),
            KeyStatus::First => {}
            KeyStatus::Lost => lock(&self.inner.startup_warnings).push(format!(
                "{} is gone: the sessions that are there are taken over as if they were imported, and nothing that waited in \
                 them goes on. Put the file back from a backup of this home and start again, or delete this home's sessions \
                 that you do not know.",
                seal::FILE
            )),
            KeyStatus::Damaged(ref reason) => {
                let reason = format!("{reason}; the sessions that are there are taken over as if they were imported");
                self.quarantine_setting(seal::FILE, reason)?;
            }
        }
        if !matches!(key, KeyStatus::First) && self.inner.sessions.exists(heads::FILE) {
            self.quarantine(heads::FILE, "it was signed with a key that is gone".to_owned())?;
        }
        self.inner.seal.keep(&self.inner.root)
    }

    /// Returns the problems since this start that a person should look at, one sentence each.
    pub fn startup_warnings(&self) -> Vec<String> {
        lock(&self.inner.startup_warnings).clone()
    }

    /// Adds a problem to those that a person should look at.
    pub(super) fn warn(&self, problem: String) {
        tracing::warn!("{problem}");
        lock(&self.inner.startup_warnings).push(problem);
    }

    /// Returns the path of the home, for messages and for components that need a path (the watcher, a process's working
    /// directory).
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Returns the only folder in which tools' processes may write.
    pub fn scratch(&self) -> PathBuf {
        self.inner.path.join(SCRATCH)
    }

    /// Returns the files that were quarantined since the start, oldest first.
    pub fn quarantined(&self) -> Vec<Quarantined> {
        lock(&self.inner.quarantined).clone()
    }

    pub(super) fn downgrade(&self) -> WeakHome {
        WeakHome(Arc::downgrade(&self.inner))
    }

    /// Makes a database the truth of the home. Its folder must be the copy that [`Replica::open`] made.
    pub fn keep_in(&self, replica: Replica) {
        let _ = self.inner.replica.set(Arc::new(replica));
    }

    /// Lets another opening of the home take its lock, although something may still hold this one. Nothing is written by it any
    /// more: its claim is void.
    pub fn unlock(&self) {
        if let Some(Err(error)) = self.inner.lock.as_ref().map(File::unlock) {
            tracing::warn!(%error, "the lock of a home could not be given up");
        }
    }

    pub(super) fn replica(&self) -> Option<&Arc<Replica>> {
        self.inner.replica.get()
    }

    pub(super) fn root(&self) -> &Dir {
        &self.inner.root
    }

    /// Waits until no other project is being created. Whoever holds the guard chooses a folder that is free and makes it.
    pub(super) fn project_folders_lock(&self) -> std::sync::MutexGuard<'_, ()> {
        lock(&self.inner.project_folders)
    }

    pub(super) fn projects(&self) -> &RwLock<BTreeMap<ProjectId, ProjectFolder>> {
        &self.inner.projects
    }

    pub(super) fn kept_bound(&self) -> &KeptBound {
        &self.inner.kept_bound
    }

    pub(super) fn sessions_dir(&self) -> &Dir {
        &self.inner.sessions
    }

    pub(super) fn seal(&self) -> &Seal {
        &self.inner.seal
    }

    pub(super) fn fence(&self) -> &Fence {
        &self.inner.fence
    }

    pub(super) fn indexes(&self) -> &ProjectIndexes {
        &self.inner.indexes
    }

    /// Makes the folders that people have linked unavailable: the home is one of several people.
    pub fn close_links(&self) {
        self.inner.links_closed.store(true, Ordering::Relaxed);
    }

    pub(super) fn links_are_closed(&self) -> bool {
        self.inner.links_closed.load(Ordering::Relaxed)
    }

    pub(super) fn uploads(&self) -> &ResumableUploads {
        &self.inner.uploads
    }

    pub(super) fn audit(&self) -> &Mutex<()> {
        &self.inner.audit
    }

    pub(super) fn usage_log(&self) -> &Mutex<Option<UsageLog>> {
        &self.inner.usage
    }

    pub(super) fn head_list(&self) -> &Mutex<Option<HeadList>> {
        &self.inner.heads
    }

    pub(super) fn sign_outs(&self) -> &RwLock<SignOuts> {
        &self.inner.sign_outs
    }

    pub(super) fn membership(&self) -> &OnceLock<Membership> {
        &self.inner.membership
    }

    /// The file whose lock this home holds; `None` if the home is only read.
    pub(super) fn lock_file(&self) -> Option<&File> {
        self.inner.lock.as_ref()
    }

    pub(super) fn edit_lock(&self) -> EditGuard<'_> {
        let own = lock(&self.inner.edit);
        EditGuard { _own: own, _shared: self.shared_writing() }
    }

    pub(super) fn summaries(&self) -> std::sync::MutexGuard<'_, SummaryCache> {
        lock(&self.inner.summaries)
    }

    pub(super) fn trust_cache(&self) -> std::sync::MutexGuard<'_, TrustCache> {
        lock(&self.inner.trust)
    }

    pub(super) fn report(&self, entry: Quarantined) {
        tracing::warn!(file = %entry.file, reason = %entry.reason, moved_to = %entry.moved_to, "moved a damaged file aside");
        lock(&self.inner.quarantined).push(entry);
    }
}

/// Locks a mutex even if it is poisoned: poisoning only means that another thread panicked, and the data behind these locks
/// is always consistent.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

pub(super) fn make_dir(root: &Dir, name: &str, mode: u32) -> Result<(), StoreError> {
    if root.is_dir(name) {
        return Ok(());
    }
    let mut builder = DirBuilder::new();
    builder.mode(mode);
    root.create_dir_with(name, &builder).map_err(StoreError::io(format!("creating {name}/")))
}

/// The project that every home has.
fn scratch_of(home: &Path) -> BTreeMap<ProjectId, ProjectFolder> {
    BTreeMap::from([(ProjectId::scratch(), ProjectFolder::in_home(home, SCRATCH.into()))])
}

/// # Errors
/// Returns [`StoreError::HalfMoved`] if a move of this home is not complete, and [`StoreError::HalfRestored`] if a restore is not.
fn require_settled(root: &Dir) -> Result<(), StoreError> {
    match () {
        () if is_half_moved(root) => Err(StoreError::HalfMoved),
        () if is_half_restored(root) => Err(StoreError::HalfRestored),
        () => Ok(()),
    }
}
