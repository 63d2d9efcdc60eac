//! Watches the home for changes by other programs: notifies clients, rereads skills, updates indexes, and has the embedded
//! model process the new prompt. Changes through this server are handled by [`Documents`](super::Documents), and skipped
//! here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{RecursiveMode, Watcher};
use tokio::sync::mpsc;

use super::file_authors::FileAuthors;
use super::notice::Notice;
use super::skills::Skills;
use super::{Engine, blocking};
use crate::domain::{Place, Root};
use crate::library::Library;
use crate::store::{FileEntry, FolderScan, Home};

/// A burst of changes (a checkout, a save by rename) is handled once, this long after its last event.
pub(super) const QUIET: Duration = Duration::from_millis(60);
/// Interval of full scans, for file systems without change events (network mounts).
pub(super) const SWEEP: Duration = Duration::from_secs(30);
/// Maximum number of changed files of a root that are named. If more change at once, clients are told the root only.
const MOST_NAMED: usize = 200;
/// Maximum bytes of each root that are hashed at the start, so that a touched file with the same content is not
/// reported as changed.
const FIRST_BYTES: u64 = 16 << 20;

/// Watches the home until the engine is dropped. Periodic scans find changes for which there are no events.
pub fn start(engine: &Arc<Engine>) {
    let tenant = engine.tenant();
    let (home, skills, authors) = (tenant.home.clone(), tenant.skills.clone(), tenant.authors.clone());
    let state = Follow { engine: Arc::downgrade(engine), home, skills, authors, seen: BTreeMap::new() };
    tokio::spawn(state.run());
}

/// Asks the system for the events of the home, which takes a look at each of its files.
fn watcher(home: &Home, to: mpsc::Sender<Vec<PathBuf>>) -> Option<notify::RecommendedWatcher> {
    let handler = move |event: notify::Result<notify::Event>| {
        if let Ok(event) = event
            // Our own reads cause events too.
            && !event.kind.is_access()
        {
            // If the queue is full, the next sweep finds the change.
            let _ = to.try_send(event.paths);
        }
    };
    let mut watcher =
        notify::recommended_watcher(handler).inspect_err(|e| tracing::warn!(%e, "no file events")).ok()?;
    // A folder that is replaced is not watched any more, but its replacement is an event of the home.
    if let Err(error) = watcher.watch(home.path(), RecursiveMode::NonRecursive) {
        tracing::warn!(%error, "cannot watch the home; looking every {} s instead", SWEEP.as_secs());
    }
    for root in Root::HOME {
        if let Err(error) = watcher.watch(&home.path().join(root.to_string()), RecursiveMode::Recursive) {
            tracing::warn!(%root, %error, "cannot watch; looking every {} s instead", SWEEP.as_secs());
        }
    }
    Some(watcher)
}

/// By path: size and time of a file as last seen, and its hash if it was read.
type Seen = BTreeMap<Place, (u64, f64, Option<String>)>;

/// A changed file with its hash; `None` for a deleted file.
type ChangedFile = (Place, Option<String>);

/// Differences from the last scan.
#[derive(Debug, Default, PartialEq)]
struct Changes {
    files: Vec<ChangedFile>,
    /// Roots in which more than [`MOST_NAMED`] files changed, or files beyond the limit of a listing may have changed.
    roots: BTreeSet<Root>,
}

impl Changes {
    fn touches(&self, root: &Root) -> bool {
        self.roots.contains(root) || self.files.iter().any(|(path, _)| path.root() == root)
    }
}

struct Follow {
    engine: std::sync::Weak<Engine>,
    home: Home,
    skills: Arc<Skills>,
    authors: Arc<FileAuthors>,
    seen: Seen,
}

impl Follow {
    async fn run(mut self) {
        let (to, mut events) = mpsc::channel::<Vec<PathBuf>>(256);
        let home = self.home.clone();
        // Before the first look, so that no change after it is missed.
        let watcher = tokio::task::spawn_blocking(move || watcher(&home, to)).await.ok().flatten();
        self.look(Look::First).await;
        if let Some(engine) = self.engine.upgrade() {
            // Catches changes between the first reading of the skills and this scan, which no later scan would report.
            self.read_skills(&engine).await;
        }
        loop {
            let mut changed = Vec::new();
            tokio::select! {
                paths = events.recv() => match paths {
                    Some(paths) => changed.extend(paths),
                    None => tokio::time::sleep(SWEEP).await,
                },
                () = tokio::time::sleep(SWEEP) => {}
            }
            while let Ok(Some(paths)) = tokio::time::timeout(QUIET, events.recv()).await {
                changed.extend(paths);
            }
            let Some(engine) = self.engine.upgrade() else { break };
            let roots = self.roots(&changed);
            if roots.is_empty() && !changed.is_empty() {
                continue;
            }
            let look = if roots.is_empty() { Look::Sweep } else { Look::After(roots) };
            let changes = self.look(look).await;
            let changes = self.without_outdated(changes).await;
            if changes != Changes::default() {
                self.tell(&engine, changes).await;
            }
        }
        drop(watcher);
    }

    fn roots(&self, paths: &[PathBuf]) -> BTreeSet<Root> {
        let inside = |path: &Path| {
            let first = path.strip_prefix(self.home.path()).ok()?.components().next()?;
            Root::HOME.into_iter().find(|root| root.folder().is_some_and(|folder| first.as_os_str() == folder))
        };
        paths.iter().filter_map(|path| inside(path)).collect()
    }

    /// Compares the folders with the last scan.
    async fn look(&mut self, look: Look) -> Changes {
        let home = self.home.clone();
        let mut seen = std::mem::take(&mut self.seen);
        let looked = tokio::task::spawn_blocking(move || {
            if matches!(look, Look::Sweep) {
                home.remove_expired_uploads();
            }
            let changes = look.at(&home, &mut seen);
            (seen, changes)
        });
        let Ok((seen, changes)) = looked.await else { return Changes::default() };
        self.seen = seen;
        changes
    }

    /// Leaves out the versions that this server wrote and has replaced since the scan: clients were told of the newer one.
    async fn without_outdated(&self, mut changes: Changes) -> Changes {
        let (own, others) = std::mem::take(&mut changes.files).into_iter().partition(|file| self.is_own(file));
        changes.files = others;
        let home = self.home.clone();
        let still_there = move |(path, hash): &ChangedFile| home.hash(path).ok() == *hash;
        let current = tokio::task::spawn_blocking(move || own.into_iter().filter(still_there).collect::<Vec<_>>());
        changes.files.extend(current.await.unwrap_or_default());
        changes
    }

    fn is_own(&self, (path, hash): &ChangedFile) -> bool {
        self.authors.is_noted(path, hash.as_deref().unwrap_or_default())
    }

    async fn read_skills(&self, engine: &Arc<Engine>) {
        let (skills, home) = (self.skills.clone(), self.home.clone());
        match blocking(move || skills.scan(&home)).await {
            Ok(true) => engine.tenant().hub.notice(Notice::SkillsChanged),
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "could not read the skills"),
        }
    }

    async fn tell(&self, engine: &Arc<Engine>, mut changes: Changes) {
        let tenant = engine.tenant();
        let mut notices = Vec::new();
        for root in &changes.roots {
            self.authors.told_as_a_whole(root);
            notices.push(Notice::FolderChanged { path: root.to_string() });
        }
        changes.files.retain(|(path, etag)| {
            let by = self.authors.tell(path, etag.as_deref().unwrap_or_default());
            let notice = by.map(|by| Notice::FileChanged { path: path.to_string(), etag: etag.clone(), by });
            let is_news = notice.is_some();
            notices.extend(notice);
            is_news
        });
        let prompt = Root::HOME.iter().any(|root| root.is_persona() && changes.touches(root));
        if changes.touches(&Root::Skills) {
            self.read_skills(engine).await;
        }
        let is_touched = |library: &&Arc<Library>| library.root().is_some_and(|root| changes.touches(root));
        for library in [&tenant.memory, &tenant.knowledge].into_iter().filter(is_touched) {
            let library = library.clone();
            tokio::task::spawn_blocking(move || library.refresh_if_open());
        }
        notices.into_iter().for_each(|notice| tenant.hub.notice(notice));
        if prompt {
            tenant.models.prefix_changed().await;
        }
    }
}

/// Why the folders are scanned.
enum Look {
    /// At the start: only records what is there.
    First,
    /// Events reported changes in these roots.
    After(BTreeSet<Root>),
    Sweep,
}

impl Look {
    fn at(&self, home: &Home, seen: &mut Seen) -> Changes {
        let mut changes = Changes::default();
        for root in &Root::HOME {
            if !matches!(self, Self::After(roots) if !roots.contains(root)) {
                self.at_root(home, root, seen, &mut changes);
            }
        }
        changes
    }

    fn at_root(&self, home: &Home, root: &Root, seen: &mut Seen, changes: &mut Changes) {
        let mut scan = FolderScan::default();
        let files = home.rescan(root, &mut scan).map(|_| scan.files()).unwrap_or_default();
        let (mut old, others): (Seen, Seen) =
            std::mem::take(seen).into_iter().partition(|(path, _)| path.root() == root);
        *seen = others;
        if matches!(self, Self::First) {
            let mut bytes_left = FIRST_BYTES;
            for file in files {
                let left = bytes_left.checked_sub(file.size);
                let hash = left.and_then(|_| home.hash(&file.path).ok());
                bytes_left = left.unwrap_or(0);
                seen.insert(file.path, (file.size, file.modified, hash));
            }
            return;
        }
        let is_same = |file: &FileEntry, (size, at, _): &(u64, f64, _)| *size == file.size && *at == file.modified;
        let changed = |file: &&FileEntry| !old.get(&file.path).is_some_and(|before| is_same(file, before));
        let count = files.iter().filter(changed).count() + old.len().saturating_sub(files.len());
        let named = count <= MOST_NAMED;
        let mut found = Vec::new();
        for file in files {
            let before = old.remove(&file.path);
            let same = before.as_ref().is_some_and(|before| is_same(&file, before));
            let (path, known) = (file.path, before.and_then(|(_, _, hash)| hash));
            let hash = match same {
                true => known,
                // Do not hash thousands of files only to find those with unchanged content.
                false if !named => None,
                false => {
                    let hash = home.hash(&path).ok();
                    if known.is_none() || known != hash {
                        found.push((path.clone(), hash.clone()));
                    }
                    hash
                }
            };
            seen.insert(path, (file.size, file.modified, hash));
        }
        found.extend(old.into_keys().map(|path| (path, None)));
        let beyond = found.is_empty() && scan.left_out() > 0 && matches!(self, Self::After(_));
        if beyond || !named || found.len() > MOST_NAMED {
            changes.roots.insert(root.clone());
        } else {
            changes.files.extend(found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::notice::ChangedBy;

    #[tokio::test]
    async fn replaced_own_version_is_not_announced() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let place = |name: &str| Place::parse(name).unwrap();
        let changed = |name: &str| (place(name), home.hash(&place(name)).ok());
        let names = ["memory/replaced.md", "memory/current.md", "memory/foreign.md", "memory/gone.md"];
        names[..3].iter().for_each(|name| write(&home, name, "scanned"));
        let files: Vec<ChangedFile> = names.map(changed).into();
        let authors = Arc::new(FileAuthors::default());
        for (path, hash) in files.iter().filter(|(path, _)| path.as_str() != "memory/foreign.md") {
            authors.note(path, hash.as_deref().unwrap_or_default(), ChangedBy::Editor);
        }
        ["memory/replaced.md", "memory/foreign.md"].iter().for_each(|name| write(&home, name, "written since"));
        let follow = Follow {
            engine: std::sync::Weak::new(),
            home: home.clone(),
            skills: Arc::default(),
            authors,
            seen: Seen::new(),
        };
        let kept = follow.without_outdated(Changes { files, roots: BTreeSet::new() }).await;
        let kept: Vec<_> = kept.files.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(kept, ["memory/foreign.md", "memory/current.md", "memory/gone.md"]);
    }

    #[tokio::test]
    async fn folder_that_is_made_again_is_an_event() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let knowledge = home.path().join("knowledge");
        std::fs::remove_dir_all(&knowledge).unwrap();
        let (to, mut events) = mpsc::channel(256);
        let _watcher = watcher(&home, to).unwrap();
        std::fs::create_dir(&knowledge).unwrap();
        let paths = tokio::time::timeout(Duration::from_secs(20), events.recv()).await.expect("it is told").unwrap();
        assert_eq!(paths, [knowledge]);
    }

    fn write(home: &Home, name: &str, text: &str) {
        let path = home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn after(root: Root) -> Look {
        Look::After(BTreeSet::from([root]))
    }

    #[test]
    fn changed_and_removed_files_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        ["memory/a.md", "memory/b.md", "workspace/c.md"].iter().for_each(|name| write(&home, name, "one"));
        let mut seen = Seen::new();
        assert_eq!(Look::First.at(&home, &mut seen), Changes::default());
        assert_eq!(Look::Sweep.at(&home, &mut seen), Changes::default());
        write(&home, "memory/a.md", "three");
        std::fs::remove_file(home.path().join("memory/b.md")).unwrap();
        write(&home, "workspace/c.md", "three");
        let changes = after(Root::Memory).at(&home, &mut seen);
        let names: Vec<_> = changes.files.iter().map(|(path, hash)| (path.as_str(), hash.is_some())).collect();
        assert_eq!(names, [("memory/a.md", true), ("memory/b.md", false)]);
        assert!(changes.touches(&Root::Memory) && !changes.touches(&Root::Workspace));
        assert_eq!(Look::Sweep.at(&home, &mut seen).files.len(), 1);
    }

    #[test]
    fn bulk_change_names_only_its_root() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let mut seen = Seen::new();
        Look::First.at(&home, &mut seen);
        let all = || (0..=MOST_NAMED).map(|n| format!("workspace/project/{n}"));
        all().for_each(|name| write(&home, &name, "x"));
        write(&home, "knowledge/one.md", "x");
        let only_root = |changes: Changes| (changes.roots.into_iter().collect::<Vec<_>>(), changes.files.len());
        assert_eq!(only_root(Look::Sweep.at(&home, &mut seen)), (vec![Root::Workspace], 1));
        // After that, a single change is named again.
        write(&home, "workspace/project/7", "changed");
        assert_eq!(only_root(Look::Sweep.at(&home, &mut seen)), (vec![], 1));
        all().for_each(|name| std::fs::remove_file(home.path().join(name)).unwrap());
        assert_eq!(only_root(Look::Sweep.at(&home, &mut seen)), (vec![Root::Workspace], 0));
        assert_eq!(Look::Sweep.at(&home, &mut seen), Changes::default());
    }
}
