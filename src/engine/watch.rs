//! Files that change on disk: the clients are told, skills are read again, indexes follow, the model reads the new prompt.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use notify::{RecursiveMode, Watcher};
use tokio::sync::mpsc;

use super::notice::{ChangedBy, Notice};
use super::skills::Skills;
use super::{Engine, blocking};
use crate::domain::{Place, Root};
use crate::store::Home;

/// A burst of changes (a checkout, a save by rename) is handled once, so long after its last event.
const QUIET: Duration = Duration::from_millis(60);
/// File systems without change events (network mounts) are looked at this often.
const SWEEP: Duration = Duration::from_secs(30);

/// Follows the home until the engine is gone. Changes it cannot see by events are found by a regular look.
pub fn start(engine: &Arc<Engine>) {
    let (to, events) = mpsc::channel::<Vec<PathBuf>>(256);
    let tenant = engine.tenant();
    let (home, skills, authors) = (tenant.home.clone(), tenant.skills.clone(), tenant.authors.clone());
    let watcher = watcher(&home, to);
    let state = Follow { engine: Arc::downgrade(engine), home, skills, authors, seen: BTreeMap::new() };
    tokio::spawn(state.run(events, watcher));
}

/// Who wrote which version of a file: those of people and runs are noted before they are written, so that the watcher does
/// not announce them as another program's; those of other programs when they are seen.
#[derive(Default)]
pub struct FileAuthors {
    ours: Mutex<Versions>,
    others: Mutex<Versions>,
}

/// By path: the hash of a version, and who wrote it. A file that is gone has no hash.
type Versions = BTreeMap<String, (String, ChangedBy)>;

impl FileAuthors {
    pub fn note(&self, path: &Place, etag: &str, by: ChangedBy) {
        put(&self.ours, path, (etag.to_owned(), by));
    }

    /// Who wrote the version of a file that has this hash. `None` for what was there before this start of the server.
    pub fn known(&self, path: &Place, etag: &str) -> Option<ChangedBy> {
        find(&self.ours, path, etag).or_else(|| find(&self.others, path, etag))
    }

    /// Whose the change is that was seen on disk.
    fn author(&self, path: &Place, etag: Option<&str>) -> ChangedBy {
        let etag = etag.unwrap_or_default();
        find(&self.ours, path, etag).unwrap_or_else(|| {
            put(&self.others, path, (etag.to_owned(), ChangedBy::Disk));
            ChangedBy::Disk
        })
    }
}

fn put(versions: &Mutex<Versions>, path: &Place, version: (String, ChangedBy)) {
    versions.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_string(), version);
}

fn find(versions: &Mutex<Versions>, path: &Place, etag: &str) -> Option<ChangedBy> {
    let versions = versions.lock().unwrap_or_else(PoisonError::into_inner);
    versions.get(path.as_str()).filter(|(known, _)| known == etag).map(|(_, by)| *by)
}

fn watcher(home: &Home, to: mpsc::Sender<Vec<PathBuf>>) -> Option<notify::RecommendedWatcher> {
    let handler = move |event: notify::Result<notify::Event>| {
        if let Ok(event) = event
            // Our own reads are events too.
            && !event.kind.is_access()
        {
            // When the queue is full a look at everything is due anyway: the sweep does it.
            let _ = to.try_send(event.paths);
        }
    };
    let mut watcher =
        notify::recommended_watcher(handler).inspect_err(|e| tracing::warn!(%e, "no file events")).ok()?;
    for root in Root::ALL {
        if let Err(error) = watcher.watch(&home.path().join(root.name()), RecursiveMode::Recursive) {
            tracing::warn!(%root, %error, "cannot watch; looking every {} s instead", SWEEP.as_secs());
        }
    }
    Some(watcher)
}

/// Size and time of a file as last seen, and its hash.
type Seen = BTreeMap<Place, (u64, f64, Option<String>)>;

struct Follow {
    engine: std::sync::Weak<Engine>,
    home: Home,
    skills: Arc<Skills>,
    authors: Arc<FileAuthors>,
    seen: Seen,
}

impl Follow {
    async fn run(mut self, mut events: mpsc::Receiver<Vec<PathBuf>>, watcher: Option<notify::RecommendedWatcher>) {
        self.look(None).await;
        if let Some(engine) = self.engine.upgrade() {
            // What came in between the first reading of the skills and this look would never be seen to change.
            self.read_skills(&engine).await;
        }
        loop {
            let mut roots = BTreeSet::new();
            tokio::select! {
                paths = events.recv() => match paths {
                    Some(paths) => roots.extend(self.roots(&paths)),
                    None => tokio::time::sleep(SWEEP).await,
                },
                () = tokio::time::sleep(SWEEP) => {}
            }
            while let Ok(Some(paths)) = tokio::time::timeout(QUIET, events.recv()).await {
                roots.extend(self.roots(&paths));
            }
            let Some(engine) = self.engine.upgrade() else { break };
            let only = (!roots.is_empty()).then_some(roots);
            let changed = self.look(only).await;
            if !changed.is_empty() {
                self.tell(&engine, changed).await;
            }
        }
        drop(watcher);
    }

    fn roots(&self, paths: &[PathBuf]) -> Vec<Root> {
        let inside = |path: &Path| {
            let first = path.strip_prefix(self.home.path()).ok()?.components().next()?;
            Root::ALL.into_iter().find(|root| first.as_os_str() == root.name())
        };
        paths.iter().filter_map(|path| inside(path)).collect()
    }

    /// Compares the folders with what was seen before; returns the paths that differ with their new hash.
    async fn look(&mut self, only: Option<BTreeSet<Root>>) -> Vec<(Place, Option<String>)> {
        let home = self.home.clone();
        let seen = std::mem::take(&mut self.seen);
        let looked = tokio::task::spawn_blocking(move || look(&home, seen, only.as_ref())).await;
        let Ok((seen, changed)) = looked else { return Vec::new() };
        self.seen = seen;
        changed
    }

    async fn read_skills(&self, engine: &Arc<Engine>) {
        let (skills, home) = (self.skills.clone(), self.home.clone());
        match blocking(move || skills.scan(&home)).await {
            Ok(true) => engine.tenant().hub.notice(Notice::SkillsChanged),
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "could not read the skills"),
        }
    }

    async fn tell(&self, engine: &Arc<Engine>, changed: Vec<(Place, Option<String>)>) {
        let tenant = engine.tenant();
        let touches = |root: Root| changed.iter().any(|(path, _)| path.root() == root);
        let prompt = Root::ALL.into_iter().any(|root| root.is_persona() && touches(root));
        if touches(Root::Skills) {
            self.read_skills(engine).await;
        }
        for library in [&tenant.memory, &tenant.knowledge].into_iter().filter(|library| touches(library.root())) {
            let library = library.clone();
            tokio::task::spawn_blocking(move || library.follow_if_open());
        }
        for (path, etag) in changed {
            let by = self.authors.author(&path, etag.as_deref());
            tenant.hub.notice(Notice::FileChanged { path: path.to_string(), etag, by });
        }
        if prompt {
            tenant.models.prefix_changed().await;
        }
    }
}

fn look(home: &Home, seen: Seen, only: Option<&BTreeSet<Root>>) -> (Seen, Vec<(Place, Option<String>)>) {
    let looked_at = |root: Root| only.is_none_or(|only| only.contains(&root));
    let (mut old, mut fresh): (Seen, Seen) = seen.into_iter().partition(|(path, _)| looked_at(path.root()));
    let mut changed = Vec::new();
    for root in Root::ALL.into_iter().filter(|root| looked_at(*root)) {
        for file in home.list(root).unwrap_or_default() {
            let before = old.remove(&file.path);
            let same = before.as_ref().is_some_and(|(size, at, _)| *size == file.size && *at == file.modified);
            if same {
                fresh.extend(before.map(|before| (file.path, before)));
                continue;
            }
            let etag = home.hash(&file.path).ok();
            if before.is_none_or(|(_, _, known)| known != etag) {
                changed.push((file.path.clone(), etag.clone()));
            }
            fresh.insert(file.path, (file.size, file.modified, etag));
        }
    }
    changed.extend(old.into_keys().map(|path| (path, None)));
    (fresh, changed)
}
