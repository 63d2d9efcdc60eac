//! Layers made by hand: what a kernel never leaves, and promotions that stop at any step.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, XattrFlags, lsetxattr, mknodat};

use super::*;

struct Fixture {
    root: tempfile::TempDir,
    capture: Capture,
}

impl Fixture {
    /// A folder with these files, and an empty capture.
    fn new(files: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("folder")).unwrap();
        for file in files {
            write(&root.path().join("folder").join(file), file);
        }
        write(&root.path().join("outside/secret"), "secret");
        let capture = Capture::create(&root.path().join("capture"), &root.path().join("folder")).unwrap();
        Self { root, capture }
    }

    fn lower(&self, path: &str) -> PathBuf {
        self.root.path().join("folder").join(path)
    }

    fn upper(&self, path: &str) -> PathBuf {
        self.capture.upper().join(path)
    }

    fn white_out(&self, path: &str) {
        fs::create_dir_all(self.upper(path).parent().unwrap()).unwrap();
        mknodat(CWD, self.upper(path), FileType::CharacterDevice, Mode::empty(), 0).unwrap();
    }

    fn make_opaque(&self, path: &str) {
        fs::create_dir_all(self.upper(path)).unwrap();
        lsetxattr(self.upper(path), "user.overlay.opaque", b"y", XattrFlags::empty()).unwrap();
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.lower(path)).unwrap()
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn kinds(changes: &LayerChanges) -> Vec<(&str, ChangeKind)> {
    changes.entries.iter().map(|entry| (entry.path.to_str().unwrap(), entry.kind)).collect()
}

/// Every entry with its mode and content.
fn tree(folder: &Path) -> BTreeMap<PathBuf, (u32, String)> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let meta = entry.path().symlink_metadata().unwrap();
        let content = match meta.is_file() {
            true => fs::read_to_string(entry.path()).unwrap(),
            false => fs::read_link(entry.path()).map(|target| target.display().to_string()).unwrap_or_default(),
        };
        if meta.is_dir() {
            all.extend(tree(&entry.path()));
        }
        all.insert(entry.path(), (meta.mode(), content));
    }
    all
}

/// A layer with every kind of change.
fn varied() -> Fixture {
    let made = Fixture::new(&["a", "b", "d/a", "d/e/f", "d/e/s/t", "old/deep/y", "old/x", "turned/in", "flat", "same"]);
    symlink("../outside", made.lower("link")).unwrap();
    let capture = Capture::create(&made.root.path().join("later"), &made.root.path().join("folder")).unwrap();
    let made = Fixture { root: made.root, capture };
    write(&made.upper("a"), "changed");
    write(&made.upper("new/deep/file"), "new");
    write(&made.upper("turned"), "now a file");
    write(&made.upper("same"), "same");
    fs::set_permissions(made.upper("same"), Permissions::from_mode(0o750)).unwrap();
    made.white_out("old");
    made.white_out("d/a");
    made.white_out("never-there");
    made.make_opaque("flat");
    write(&made.upper("flat/in"), "now a folder");
    made.make_opaque("d/e");
    write(&made.upper("d/e/g"), "g");
    write(&made.upper("d/e/s/u"), "u");
    made.make_opaque("link");
    write(&made.upper("link/secret"), "not outside");
    made
}

#[test]
fn layer_is_read_as_changes() {
    use ChangeKind::{Attributes, Changed, Created, Deleted};
    let made = varied();
    let changes = made.capture.changes().unwrap();
    let expected = [
        ("a", Changed),
        ("d/a", Deleted),
        ("d/e/f", Deleted),
        ("d/e/g", Created),
        ("d/e/s/t", Deleted),
        ("d/e/s/u", Created),
        ("flat", Changed),
        ("flat/in", Created),
        ("link", Changed),
        ("link/secret", Created),
        ("new", Created),
        ("new/deep", Created),
        ("new/deep/file", Created),
        ("old", Deleted),
        ("old/deep", Deleted),
        ("old/deep/y", Deleted),
        ("old/x", Deleted),
        ("same", Attributes),
        ("turned", Changed),
        ("turned/in", Deleted),
    ];
    assert_eq!((kinds(&changes), changes.refused.len()), (expected.to_vec(), 0));
}

#[test]
fn promotion_stopped_at_any_step_is_completed() {
    let whole = varied();
    let changes = whole.capture.changes().unwrap();
    assert!(whole.capture.promote(&changes).unwrap().left.is_empty());
    let strip = |made: &Fixture| -> BTreeMap<PathBuf, (u32, String)> {
        let folder = made.lower("");
        tree(&folder).into_iter().map(|(path, node)| (path.strip_prefix(&folder).unwrap().to_owned(), node)).collect()
    };
    let expected = strip(&whole);
    assert_eq!(fs::read_to_string(whole.root.path().join("outside/secret")).unwrap(), "secret");
    let count = promotion::steps(&changes.entries).len();
    assert!(count > 15, "{count}");
    for stop in 0..=count {
        let made = varied();
        let changes = made.capture.changes().unwrap();
        promotion::write_plan(&made.capture.path, &changes.entries).unwrap();
        let layers = made.capture.layers().unwrap();
        promotion::apply_some(&layers, &made.capture.path, (&changes.entries, stop)).unwrap();
        let done = Capture::resume(&made.capture.path, &made.lower("")).unwrap().unwrap().promoted;
        assert!(done.left.is_empty(), "{stop}: {done:?}");
        assert_eq!(strip(&made), expected, "stopped after {stop} of {count}");
        for (number, entry) in changes.entries.iter().enumerate() {
            let is_file = |node: &Option<Node>| node.as_ref().is_some_and(|node| node.kind == NodeKind::File);
            if entry.kind != ChangeKind::Attributes {
                let contents = made.capture.contents(&changes).unwrap();
                assert_eq!(contents.before(number).unwrap().is_some(), is_file(&entry.before));
                assert_eq!(contents.after(number).unwrap().is_some(), is_file(&entry.after));
            }
        }
    }
    assert!(Capture::resume(&whole.root.path().join("capture"), &whole.lower("")).unwrap().is_none());
}

#[test]
fn link_that_a_person_makes_meanwhile_leads_nowhere() {
    let made = Fixture::new(&["d/a", "d/secret"]);
    write(&made.upper("d/a"), "changed");
    write(&made.upper("d/new"), "new");
    made.white_out("d/secret");
    let changes = made.capture.changes().unwrap();
    fs::rename(made.lower("d"), made.lower("moved")).unwrap();
    symlink(made.root.path().join("outside"), made.lower("d")).unwrap();
    let done = made.capture.promote(&changes).unwrap();
    assert_eq!((done.applied, done.left.len()), (0, 3), "{done:?}");
    assert_eq!(tree(&made.root.path().join("outside")).len(), 1);
    assert_eq!(made.text("moved/a"), "d/a");
}

#[test]
fn hostile_layer_is_refused_or_contained() {
    let made = Fixture::new(&["d/a"]);
    let pipe = |name: &str, kind| mknodat(CWD, made.upper(name), kind, Mode::from_raw_mode(0o600), 0).unwrap();
    pipe("pipe", FileType::Fifo);
    pipe("socket", FileType::Socket);
    write(&made.upper("program"), "x");
    fs::set_permissions(made.upper("program"), Permissions::from_mode(0o4755)).unwrap();
    fs::create_dir(made.upper("d")).unwrap();
    for (name, value) in [("redirect", "/../../outside"), ("metacopy", ""), ("origin", "x"), ("opaque", "x")] {
        lsetxattr(made.upper("d"), format!("user.overlay.{name}"), value.as_bytes(), XattrFlags::empty()).unwrap();
    }
    symlink("../../outside", made.upper("link")).unwrap();
    let changes = made.capture.changes().unwrap();
    assert_eq!(kinds(&changes), [("link", ChangeKind::Created)]);
    let refused: Vec<_> = changes.refused.iter().map(|entry| (entry.path.to_str().unwrap(), entry.why)).collect();
    let special = Refusal::Special;
    assert_eq!(refused, [("pipe", special), ("program", Refusal::SetUserId), ("socket", special)]);
    made.capture.promote(&changes).unwrap();
    assert_eq!(fs::read_link(made.lower("link")).unwrap(), Path::new("../../outside"));
    assert_eq!(made.text("d/a"), "d/a");
}

#[test]
fn change_of_too_many_entries_is_refused_as_a_whole() {
    let made = Fixture::new(&["d/a", "d/b", "d/c"]);
    (0..3).for_each(|number| write(&made.upper(&format!("new/{number}")), "x"));
    made.white_out("d");
    let layers = made.capture.layers().unwrap();
    let read = |most| layer::read(&layers, made.capture.started, most).unwrap().map(|changes| changes.entries.len());
    assert_eq!([read(9), read(8), read(5), read(2), read(0)], [Some(8), None, None, None, None]);
}

#[test]
fn thousand_files_are_promoted_and_discarded() {
    let names: Vec<String> = (0..1_000).map(|number| format!("d{}/{number}", number % 10)).collect();
    let made = Fixture::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
    names.iter().for_each(|name| write(&made.upper(name), "changed"));
    let changes = made.capture.changes().unwrap();
    assert_eq!(changes.entries.len(), 1_000);
    let began = std::time::Instant::now();
    let done = made.capture.promote(&changes).unwrap();
    println!("1,000 files promoted in {:?}", began.elapsed());
    assert!(done.left.is_empty() && made.text("d7/7") == "changed");
    let path = made.capture.path.clone();
    fs::set_permissions(made.capture.upper().join("d1"), Permissions::from_mode(0o000)).unwrap();
    made.capture.remove().unwrap();
    assert!(!path.exists());
}

#[test]
fn pipe_that_a_command_deletes_stays() {
    let fixture = Fixture::new(&["a.txt"]);
    mknodat(CWD, fixture.lower("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    fixture.white_out("pipe");
    let changes = fixture.capture.changes().unwrap();
    assert_eq!(changes.refused, [Refused { path: "pipe".into(), why: Refusal::Special }]);
    assert_eq!(changes.entries, []);
}

#[test]
fn capture_of_any_depth_is_removed() {
    let fixture = Fixture::new(&["a.txt"]);
    let mut level = fs::File::open(fixture.capture.upper()).unwrap();
    for _ in 0..2_500 {
        rustix::fs::mkdirat(&level, "d", Mode::from_raw_mode(0o700)).unwrap();
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY;
        level = rustix::fs::openat(&level, "d", flags, Mode::empty()).map(fs::File::from).unwrap();
    }
    rustix::fs::mkdirat(&level, "closed", Mode::from_raw_mode(0)).unwrap();
    beneath::remove_content(&fixture.root.path().join("capture")).unwrap();
    assert_eq!(fs::read_dir(fixture.root.path().join("capture")).unwrap().count(), 0);
    fixture.capture.remove().unwrap();
    assert!(!fixture.root.path().join("capture").exists());
}
