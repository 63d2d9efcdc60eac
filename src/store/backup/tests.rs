use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::making::Writing;
use super::*;

/// What stands at a path: its mode, its time, and its content or target.
pub(super) type Tree = BTreeMap<Vec<u8>, (u32, i64, Vec<u8>)>;

pub(super) fn tree(root: &Path) -> Tree {
    let mut found = Tree::new();
    collect(root, root, &mut found);
    found
}

fn collect(root: &Path, folder: &Path, found: &mut Tree) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let meta = path.symlink_metadata().unwrap();
        let below = path.strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec();
        if below == b"sessions/.lock" {
            continue;
        }
        let content = match meta.file_type() {
            kind if kind.is_dir() => {
                collect(root, &path, found);
                Vec::new()
            }
            kind if kind.is_symlink() => fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec(),
            _ => fs::read(&path).unwrap(),
        };
        // A restore sets the times of files and folders, but not of links and of what it moves last.
        let is_timed = !meta.is_symlink() && below.contains(&b'/');
        found.insert(below, (meta.mode() & 0o7777, if is_timed { meta.mtime_nsec() } else { 0 }, content));
    }
}

pub(super) fn home() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["sessions", "storage", "workspace", "scratch"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    fs::write(folder.path().join("workspace/SOUL.md"), "soul").unwrap();
    folder
}

pub(super) fn options(home: &Path) -> BackupOptions<'_> {
    BackupOptions { home, person: None, secrets: SecretsUse::LeftOut }
}

pub(super) fn restored(file: &Path, home: &Path, links: LinkUse) -> Result<RestoreReport, BackupError> {
    restore(file, &RestoreOptions { home, person: None, links })
}

#[derive(Debug, Clone)]
enum Node {
    File(Vec<u8>, u32),
    Folder(u32),
    Link(Vec<u8>),
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        "[a-zA-Z0-9 ._\\\\äß\u{4e00}-]{1,12}".prop_map(String::into_bytes),
        prop::collection::vec(1..=255_u8, 1..120),
    ]
    .prop_filter("a name", |name| {
        !name.contains(&b'/') && !name.contains(&0) && *name != b"." && *name != b".." && name.len() < 200
    })
}

fn node() -> impl Strategy<Value = Node> {
    let bytes = prop_oneof![prop::collection::vec(any::<u8>(), 0..400), (0..300_000_usize).prop_map(|n| vec![b'x'; n])];
    let mode = prop_oneof![Just(0o644), Just(0o600), Just(0o755), Just(0o400), Just(0o000), Just(0o777)];
    prop_oneof![
        4 => (bytes, mode).prop_map(|(bytes, mode)| Node::File(bytes, mode)),
        2 => prop_oneof![Just(0o755), Just(0o700), Just(0o1777), Just(0o500)].prop_map(Node::Folder),
        1 => name().prop_map(Node::Link),
    ]
}

fn make(home: &Path, nodes: &[(Vec<Vec<u8>>, Node)]) {
    for (names, node) in nodes {
        let mut path = home.join("scratch");
        for name in names {
            if !path.is_dir() && fs::create_dir(&path).is_err() {
                return;
            }
            path.push(OsStr::from_bytes(name));
        }
        if path.symlink_metadata().is_ok() {
            continue;
        }
        // Root may read what is closed to everybody; others may not.
        let mode = |mode: u32| if rustix::process::geteuid().is_root() { mode } else { mode | 0o700 };
        match node {
            Node::File(bytes, of) if fs::write(&path, bytes).is_ok() => {
                fs::set_permissions(&path, PermissionsExt::from_mode(mode(*of))).unwrap();
            }
            Node::Folder(of) if fs::create_dir(&path).is_ok() => {
                fs::set_permissions(&path, PermissionsExt::from_mode(mode(*of))).unwrap();
            }
            Node::Link(target) => drop(symlink(OsStr::from_bytes(target), &path)),
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_home_is_restored_to_the_byte(
        nodes in prop::collection::vec((prop::collection::vec(name(), 1..5), node()), 0..30),
    ) {
        let (home, there) = (home(), tempfile::tempdir().unwrap());
        make(home.path(), &nodes);
        let file = there.path().join("backup.tar.zst");
        let made = back_up(&options(home.path()), &file).unwrap();
        prop_assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
        let target = there.path().join("restored");
        let report = restored(&file, &target, LinkUse::OnlyInside).unwrap();
        prop_assert_eq!((report.entries, report.bytes), (made.entries, made.bytes));
        prop_assert_eq!(tree(&target), tree(home.path()));
        prop_assert_eq!(fs::read_dir(there.path()).unwrap().count(), 2, "nothing else is left");
    }
}

#[test]
fn backup_is_what_the_home_has_at_its_moment() {
    let (home, there) = (home(), tempfile::tempdir().unwrap());
    let path = |name: &str| home.path().join(name);
    for name in ["same", "changed", "gone", "becomes-folder"] {
        fs::write(path(&format!("scratch/{name}")), name).unwrap();
    }
    for name in ["scratch/gone-too/below", "scratch/becomes-file"] {
        fs::create_dir_all(path(name)).unwrap();
        fs::write(path(name).join("x"), "x").unwrap();
    }
    let file = there.path().join("b");
    let source = source(&options(home.path())).unwrap();
    let mut writing = Writing::begin(&source, File::create(&file).unwrap()).unwrap();
    writing.read_ahead().unwrap();
    fs::write(path("scratch/changed"), "longer than before").unwrap();
    fs::remove_file(path("scratch/gone")).unwrap();
    fs::remove_file(path("scratch/becomes-folder")).unwrap();
    fs::create_dir(path("scratch/becomes-folder")).unwrap();
    fs::write(path("scratch/becomes-folder/new"), "new").unwrap();
    fs::remove_dir_all(path("scratch/gone-too")).unwrap();
    fs::remove_dir_all(path("scratch/becomes-file")).unwrap();
    fs::write(path("scratch/becomes-file"), "file").unwrap();
    let (entries, report) = writing.read_moment().unwrap();
    let at_the_moment = tree(home.path());
    fs::write(path("scratch/after"), "too late").unwrap();
    writing.finish(&entries, report).unwrap();
    let target = there.path().join("restored");
    restored(&file, &target, LinkUse::OnlyInside).unwrap();
    assert_eq!(tree(&target), at_the_moment);
}

#[test]
fn what_belongs_to_no_home_is_left_out() {
    let (home, there) = (home(), tempfile::tempdir().unwrap());
    for (name, content) in [(".env", "KEY=canary"), ("target/x", ""), ("storage/retrieval/x", ""), ("config.yml", "{}")]
    {
        let path = home.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let socket = std::os::unix::net::UnixListener::bind(home.path().join("scratch/socket")).unwrap();
    symlink("/etc/hostname", home.path().join("scratch/out")).unwrap();
    let file = |name: &str| there.path().join(name);
    let report = back_up(&options(home.path()), &file("a")).unwrap();
    assert_eq!(report.left_out.iter().map(|left| &*left.path).collect::<Vec<_>>(), [b"scratch/socket"]);
    assert_eq!(report.outside_links, [(b"scratch/out".to_vec(), b"/etc/hostname".to_vec())]);
    assert_eq!(report.paused, None, "no server runs");
    let refused = restored(&file("a"), &file("refused"), LinkUse::OnlyInside);
    assert!(matches!(refused, Err(BackupError::OutsideLink { .. })), "{refused:?}");
    assert_eq!(fs::read_dir(file("refused")).unwrap().count(), 0);
    restored(&file("a"), &file("restored"), LinkUse::All).unwrap();
    let names: Vec<_> = tree(&file("restored")).into_keys().map(|path| String::from_utf8(path).unwrap()).collect();
    assert_eq!(
        names,
        ["config.yml", "scratch", "scratch/out", "sessions", "storage", "workspace", "workspace/SOUL.md"]
    );
    let with_secrets = BackupOptions { secrets: SecretsUse::Included, ..options(home.path()) };
    back_up(&with_secrets, &file("b")).unwrap();
    assert!(restored(&file("b"), &file("whole"), LinkUse::All).unwrap().has_secrets);
    assert_eq!(fs::read_to_string(file("whole/.env")).unwrap(), "KEY=canary");
    drop(socket);
}

#[test]
fn nothing_is_overwritten() {
    let (home, there) = (home(), tempfile::tempdir().unwrap());
    let file = there.path().join("b");
    back_up(&options(home.path()), &file).unwrap();
    assert!(matches!(back_up(&options(home.path()), &file), Err(BackupError::Exists { .. })));
    let inside = home.path().join("scratch/b");
    assert!(matches!(back_up(&options(home.path()), &inside), Err(BackupError::InHome { .. })));
    let before = tree(home.path());
    assert!(matches!(restored(&file, home.path(), LinkUse::All), Err(BackupError::NotEmpty(_))));
    assert_eq!(tree(home.path()), before);
    // What a restore left that was killed early is removed; while it is there, nothing opens the home.
    let target = there.path().join("restored");
    fs::create_dir_all(target.join(".miniclaw-restoring/home/workspace")).unwrap();
    assert!(
        matches!(crate::store::Home::open(&target), Err(StoreError::HalfRestored)) && !crate::store::is_unused(&target)
    );
    restored(&file, &target, LinkUse::OnlyInside).unwrap();
    assert_eq!(tree(&target), before);
    drop(crate::store::Home::open(&target).unwrap());
}

#[test]
fn failed_backup_leaves_no_file() {
    let (home, there) = (home(), tempfile::tempdir().unwrap());
    fs::write(home.path().join("accounts.json"), "{").unwrap();
    let file: PathBuf = there.path().join("b");
    assert!(matches!(back_up(&options(home.path()), &file), Err(BackupError::Accounts { .. })));
    fs::remove_file(home.path().join("accounts.json")).unwrap();
    let person = BackupOptions { person: Some("ann"), ..options(home.path()) };
    assert!(matches!(back_up(&person, &file), Err(BackupError::OnePerson)));
    assert!(matches!(back_up(&options(there.path()), &file), Err(BackupError::Store(StoreError::NotFound { .. }))));
    assert_eq!(fs::read_dir(there.path()).unwrap().count(), 0);
}
