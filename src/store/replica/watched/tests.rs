use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use proptest::prelude::*;

use super::*;
use crate::store::postgres::FileRow;
use crate::store::replica::manifest::Manifest;
use crate::store::replica::scan::{Scope, compare};

/// A home with what a replica knows of it.
struct Watcher {
    _folder: tempfile::TempDir,
    path: PathBuf,
    dir: Dir,
    manifest: Manifest,
    watched: Watched,
}

impl Watcher {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("home");
        for name in ["knowledge", "memory", "scratch", "sessions", "skills", "workspace", "storage"] {
            fs::create_dir_all(path.join(name)).unwrap();
        }
        let dir = Dir::open_ambient_dir(&path, ambient_authority()).unwrap();
        let mut watcher = Self { _folder: folder, path, dir, manifest: Manifest::default(), watched: Watched::new() };
        assert_eq!(watcher.watched.take(), Noticed::All, "nothing is watched yet");
        watcher.look(Scope::All);
        watcher.watched.set_complete();
        watcher
    }

    fn look(&mut self, scope: Scope<'_>) {
        let batch = compare(&self.manifest, &self.dir, scope, Some(&mut self.watched)).unwrap();
        assert!(batch.rest.is_empty());
        self.manifest.stored(batch);
    }

    /// Looks only where the kernel says that something was changed.
    fn follow(&mut self) -> usize {
        match self.watched.take() {
            Noticed::All => panic!("no notice was lost"),
            Noticed::Paths(paths) => {
                self.look(Scope::Paths(&paths));
                paths.len()
            }
        }
    }

    /// Returns what a look at everything finds.
    fn whole(&self) -> Vec<FileRow> {
        let batch = compare(&Manifest::default(), &self.dir, Scope::All, None).unwrap();
        assert!(batch.rest.is_empty());
        let mut rows = batch.commit.put;
        rows.sort_by(|a, b| a.path.cmp(&b.path));
        rows
    }

    fn require_same(&self) {
        let known: Vec<FileRow> = self.manifest.rows().cloned().collect();
        let whole = self.whole();
        let names = |rows: &[FileRow]| {
            rows.iter().map(|row| String::from_utf8_lossy(&row.path).into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(&known), names(&whole));
        assert_eq!(known, whole);
    }
}

#[test]
fn only_what_changed_is_looked_at() {
    let mut watcher = Watcher::new();
    for number in 0..200 {
        fs::write(watcher.path.join(format!("knowledge/{number}.md")), "x").unwrap();
    }
    assert_ne!(watcher.manifest.len(), watcher.whole().len(), "nobody has looked yet");
    assert_eq!(watcher.follow(), 200);
    watcher.require_same();
    assert_eq!(watcher.follow(), 0);
    // As the store replaces a file.
    fs::write(watcher.path.join("knowledge/.x.miniclaw-tmp"), "new").unwrap();
    fs::rename(watcher.path.join("knowledge/.x.miniclaw-tmp"), watcher.path.join("knowledge/7.md")).unwrap();
    assert_eq!(watcher.follow(), 1);
    // Neither records nor caches are looked at.
    fs::create_dir_all(watcher.path.join("sessions/requests/s")).unwrap();
    fs::create_dir_all(watcher.path.join("storage/retrieval")).unwrap();
    fs::write(watcher.path.join("storage/database.json"), "{}").unwrap();
    assert_eq!(watcher.follow(), 0);
    fs::write(watcher.path.join("sessions/s.journal"), "line").unwrap();
    let Noticed::Paths(paths) = watcher.watched.take() else { panic!("no notice was lost") };
    assert_eq!(paths.into_iter().collect::<Vec<_>>(), [b"sessions/s.journal".to_vec()]);
    watcher.require_same();
}

#[test]
fn lost_notices_are_known() {
    let mut watcher = Watcher::new();
    let limit: usize = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap().trim().parse().unwrap();
    let paths = [watcher.path.join("scratch/a"), watcher.path.join("scratch/b")];
    // Each leaves two notices.
    for number in 0..limit / 2 + 100 {
        // Two files in turns, because equal notices in a row are one.
        fs::write(&paths[number % 2], number.to_string()).unwrap();
    }
    assert_eq!(watcher.watched.take(), Noticed::All);
    watcher.look(Scope::All);
    watcher.watched.set_complete();
    fs::write(watcher.path.join("scratch/after"), "x").unwrap();
    assert_eq!(watcher.follow(), 1);
    watcher.require_same();
}

#[test]
fn folder_without_a_watch_is_looked_at_each_time() {
    let mut watcher = Watcher::new();
    fs::create_dir_all(watcher.path.join("scratch/deep/er")).unwrap();
    watcher.follow();
    // As if the system had no watch left for it.
    for watch in watcher.watched.forget(b"scratch/deep") {
        inotify::remove_watch(watcher.watched.notices.as_ref().unwrap(), watch).unwrap();
    }
    watcher.watched.unwatched.insert(b"scratch/deep".to_vec());
    fs::write(watcher.path.join("scratch/deep/er/file"), "x").unwrap();
    let noticed = watcher.follow();
    assert_eq!(noticed, 1);
    watcher.require_same();
}

#[derive(Clone, Debug)]
enum Change {
    Write(PathBuf, u8),
    Append(PathBuf),
    Mode(PathBuf, u32),
    MakeFolders(PathBuf),
    Link(PathBuf),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    /// Takes a folder out of the home, changes it there, and puts it back.
    TakeOut(PathBuf),
}

fn path() -> impl Strategy<Value = PathBuf> {
    let root = proptest::sample::select(vec!["knowledge", "scratch", "workspaces", "storage/trash", "sessions"]);
    let names = proptest::collection::vec(proptest::sample::select(vec!["a", "b", "c.json"]), 1..4);
    (root, names).prop_map(|(root, names)| Path::new(root).join(names.join("/")))
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (path(), any::<u8>()).prop_map(|(path, byte)| Change::Write(path, byte)),
        1 => path().prop_map(Change::Append),
        1 => (path(), proptest::sample::select(vec![0o700, 0o755, 0o711])).prop_map(|(path, mode)| Change::Mode(path, mode)),
        2 => path().prop_map(Change::MakeFolders),
        1 => path().prop_map(Change::Link),
        4 => (path(), path()).prop_map(|(from, to)| Change::Rename(from, to)),
        2 => path().prop_map(Change::Remove),
        1 => path().prop_map(Change::TakeOut),
    ]
}

impl Change {
    /// Changes the home, or fails as a program does.
    fn apply(&self, home: &Path) -> std::io::Result<()> {
        match self {
            Self::Write(path, byte) => {
                fs::create_dir_all(home.join(path).parent().unwrap())?;
                fs::write(home.join(path), [*byte; 10])
            }
            Self::Append(path) => fs::OpenOptions::new().append(true).open(home.join(path))?.write_all(b"more"),
            Self::Mode(path, mode) => fs::set_permissions(home.join(path), fs::Permissions::from_mode(*mode)),
            Self::MakeFolders(path) => fs::create_dir_all(home.join(path)),
            Self::Link(path) => symlink("../somewhere", home.join(path)),
            Self::Rename(from, to) => fs::rename(home.join(from), home.join(to)),
            Self::Remove(path) if home.join(path).symlink_metadata()?.is_dir() => fs::remove_dir_all(home.join(path)),
            Self::Remove(path) => fs::remove_file(home.join(path)),
            Self::TakeOut(path) => {
                let outside = home.parent().unwrap().join("outside");
                fs::rename(home.join(path), &outside)?;
                let _ = fs::write(outside.join("added"), "outside");
                fs::rename(outside, home.join(path))
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever programs do, looking where the kernel says finds what looking everywhere finds.
    #[test]
    fn notices_find_what_a_whole_look_finds(rounds in proptest::collection::vec(proptest::collection::vec(change(), 1..12), 1..6)) {
        let mut watcher = Watcher::new();
        for changes in rounds {
            for change in changes {
                // What cannot be done changes nothing.
                let _ = change.apply(&watcher.path);
            }
            watcher.follow();
            watcher.require_same();
        }
    }
}
