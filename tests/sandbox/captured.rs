//! What a command changes in an overlay: known to the byte, applied as if it had been done directly, or without effect.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use miniclaw::sandbox::{Exit, Job, Level, Overlay, Sandbox, SandboxError};
use miniclaw::store::{Capture, ChangeKind, LayerChanges, LeftReason, Refusal};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};
use tokio_util::sync::CancellationToken;

use crate::kit::{Home, HomeAccess, confined_levels, home, skipped};

/// What a command left, by path relative to its folder: kind, mode, and content or target.
type Tree = BTreeMap<PathBuf, (&'static str, u32, Vec<u8>)>;

fn tree(folder: &Path) -> Tree {
    let mut all = Tree::new();
    collect(folder, Path::new(""), &mut all);
    all
}

fn collect(folder: &Path, below: &Path, all: &mut Tree) {
    for entry in fs::read_dir(folder.join(below)).unwrap().map(Result::unwrap) {
        let (path, meta) = (below.join(entry.file_name()), entry.path().symlink_metadata().unwrap());
        // The folder for temporary files of a command without a capture.
        if path == Path::new(".tmp") {
            continue;
        }
        let (kind, content) = match meta.file_type() {
            kind if kind.is_dir() => ("folder", Vec::new()),
            kind if kind.is_symlink() => {
                ("link", fs::read_link(entry.path()).unwrap().into_os_string().as_bytes().to_vec())
            }
            _ => ("file", fs::read(entry.path()).unwrap()),
        };
        all.insert(path.clone(), (kind, meta.mode() & 0o7777, content));
        if meta.is_dir() {
            collect(folder, &path, all);
        }
    }
}

/// A scratch folder with the same content each time.
fn filled(access: HomeAccess) -> Home {
    let home = home(Level::Standard, access);
    let scratch = home.path("scratch");
    for folder in ["d/e", "old/deep", "kept"] {
        fs::create_dir_all(scratch.join(folder)).unwrap();
    }
    for file in ["a", "b", "d/a", "d/e/f", "old/x", "old/deep/y", "kept/k", "keep.txt"] {
        fs::write(scratch.join(file), format!("one {file}\ntwo\n")).unwrap();
    }
    symlink("a", scratch.join("to-a")).unwrap();
    symlink("../secret.key", scratch.join("out")).unwrap();
    home
}

/// Returns the reason if this machine has no overlays for commands; the tests then have nothing to look at.
async fn has_no_overlays() -> bool {
    let home = filled(HomeAccess::Open);
    let Err(SandboxError::Capture(why)) = captured(&home, "true").await.map(|_| ()) else { return false };
    skipped("the captures", &why);
    true
}

fn overlay(capture: &Capture) -> Overlay {
    Overlay { upper: capture.upper(), work: capture.work(), temporary: capture.temporary() }
}

fn new_capture(home: &Home) -> Capture {
    let captures = home.path("captures");
    fs::create_dir_all(&captures).unwrap();
    fs::set_permissions(&captures, fs::Permissions::from_mode(0o700)).unwrap();
    let number = fs::read_dir(&captures).unwrap().count();
    home.sandbox.prepare(&home.path("scratch")).unwrap();
    Capture::create(&captures.join(number.to_string()), &home.path("scratch")).unwrap()
}

async fn run_in(home: &Home, capture: &Capture, script: &str) -> Result<String, SandboxError> {
    let job = Job { capture: Some(overlay(capture)), ..home.job(&["/bin/bash", "-c", script]) };
    let done = home.sandbox.run(job, CancellationToken::new()).await?;
    let said = format!("{}{}", done.stdout.text(), done.stderr.text());
    assert_eq!(done.exit, Exit::Code(0), "{script}: {said}");
    Ok(said)
}

async fn captured(home: &Home, script: &str) -> Result<(Capture, LayerChanges, String), SandboxError> {
    let capture = new_capture(home);
    let said = run_in(home, &capture, script).await?;
    let changes = capture.changes().unwrap();
    Ok((capture, changes, said))
}

fn kinds(changes: &LayerChanges) -> Vec<(String, ChangeKind)> {
    changes.entries.iter().map(|entry| (entry.path.to_string_lossy().into_owned(), entry.kind)).collect()
}

const EVERYDAY: &str = "set -e
sed -i s/one/ONE/ a
echo more >> d/a
rm -r old
mv d/e moved
mkdir -p new/deep
echo x > new/deep/file
: > empty
truncate -s 20M sparse; printf end >> sparse
chmod 755 b
ln -s nowhere dangling
ln b hard
rm to-a; mkdir to-a; echo in > to-a/file
rm -r kept; echo file > kept
printf 'n' > $'a\\nb'
printf 'u' > $'bad\\xff'
echo t > \"$TMPDIR/not-a-change\"
cat a > /dev/null; touch -r d/a b
";

#[tokio::test]
async fn promoted_changes_equal_direct_ones() {
    if has_no_overlays().await {
        return;
    }
    for access in [HomeAccess::Open, HomeAccess::Private] {
        let (direct, home) = (filled(access), filled(access));
        direct.bash(EVERYDAY).await;
        let before = tree(&home.path("scratch"));
        let (capture, changes, _) = captured(&home, EVERYDAY).await.unwrap();
        assert_eq!(tree(&home.path("scratch")), before, "nothing is applied yet");
        assert_eq!(changes.refused, []);
        let kinds = kinds(&changes);
        for (path, kind) in [
            ("a", ChangeKind::Changed),
            ("b", ChangeKind::Attributes),
            ("hard", ChangeKind::Created),
            ("old/deep/y", ChangeKind::Deleted),
            ("d/e/f", ChangeKind::Deleted),
            ("moved/f", ChangeKind::Created),
            ("to-a", ChangeKind::Changed),
            ("kept/k", ChangeKind::Deleted),
            ("bad\u{fffd}", ChangeKind::Created),
            ("a\nb", ChangeKind::Created),
        ] {
            assert!(kinds.contains(&(path.to_owned(), kind)), "{path}: {kinds:?}");
        }
        assert!(!kinds.iter().any(|(path, _)| path == "keep.txt" || path.contains("tmp")), "{kinds:?}");
        let sparse = changes.entries.iter().find(|entry| entry.path == Path::new("sparse")).unwrap();
        let after = sparse.after.as_ref().unwrap();
        assert!(after.size == (20 << 20) + 3 && after.allocated < 1 << 20, "{after:?}");
        assert!(changes.entries.iter().any(|entry| entry.path.as_os_str() == OsStr::from_bytes(b"bad\xff")));

        let done = capture.promote(&changes).unwrap();
        assert!(done.left.is_empty() && done.applied == changes.entries.len(), "{done:?}");
        assert_eq!(tree(&home.path("scratch")), tree(&direct.path("scratch")), "{access:?}");
        let owner = |home: &Home, name: &str| fs::symlink_metadata(home.path("scratch").join(name)).unwrap().uid();
        for name in ["a", "new", "new/deep/file", "empty", "dangling"] {
            assert_eq!(owner(&home, name), owner(&direct, name), "{name}");
        }
        let number = changes.entries.iter().position(|entry| entry.path == Path::new("a")).unwrap();
        let text = |file: Option<fs::File>| std::io::read_to_string(file.unwrap()).unwrap();
        let contents = capture.contents(&changes).unwrap();
        assert_eq!(text(contents.before(number).unwrap()), "one a\ntwo\n");
        assert_eq!(text(contents.after(number).unwrap()), "ONE a\ntwo\n");
        capture.remove().unwrap();
        assert_eq!(fs::read_dir(home.path("captures")).unwrap().count(), 0);
        // The next command works on the promoted files.
        let (_, next, _) = captured(&home, "rm -r new; echo again > a; chmod 600 to-a/file").await.unwrap();
        assert_eq!(next.entries.len(), 5, "{:?}", self::kinds(&next));
    }
}

#[tokio::test]
async fn discarded_changes_leave_no_trace() {
    if has_no_overlays().await {
        return;
    }
    let home = filled(HomeAccess::Open);
    home.bash("rmdir .tmp").await;
    let times = |home: &Home| {
        let scratch = home.path("scratch");
        tree(&scratch)
            .into_keys()
            .map(|path| fs::symlink_metadata(scratch.join(path)).unwrap().ctime_nsec())
            .collect::<Vec<_>>()
    };
    let (before, changed) = (tree(&home.path("scratch")), times(&home));
    let (capture, ..) = captured(&home, EVERYDAY).await.unwrap();
    capture.remove().unwrap();
    assert_eq!((tree(&home.path("scratch")), times(&home)), (before, changed));
    // Negative control: without a capture the command changes them.
    home.bash(EVERYDAY).await;
    assert!(!home.path("scratch/old").exists());
}

#[tokio::test]
async fn layer_marks_cannot_be_forged() {
    if has_no_overlays().await {
        return;
    }
    let home = filled(HomeAccess::Open);
    let script = "python3 - <<'END'
import os
tried = 0
os.setxattr('d', 'user.other', b'y')
for name, value in [('opaque', b'y'), ('redirect', b'/etc'), ('metacopy', b''), ('whiteout', b'y'), ('origin', b'x')]:
    for path in ['d', 'a', '.']:
        for space in ['user.overlay.', 'trusted.overlay.']:
            try: os.setxattr(path, space + name, value)
            except OSError: tried += 1
try: os.mknod('white', 0o020600, 0); print('SET a whiteout')
except OSError: tried += 1
print(tried >= 16, os.getxattr('d', 'user.other'), sorted(os.listdir('d')))
END";
    let (capture, changes, said) = captured(&home, script).await.unwrap();
    assert_eq!(said, "True b'y' ['a', 'e']\n");
    // Since Linux 6.7 the kernel accepts marks of a nested overlay, and gives them names that mean nothing to this one.
    let value = |path: &str, mark: &str| {
        let path = capture.upper().join(path);
        rustix::fs::lgetxattr(path, format!("user.overlay.{mark}"), &mut [0_u8; 64]).is_ok()
    };
    for path in ["d", "a", "."] {
        assert!(!["opaque", "redirect", "metacopy", "whiteout"].into_iter().any(|mark| value(path, mark)), "{path}");
    }
    assert!(changes.entries.iter().all(|entry| entry.kind != ChangeKind::Deleted), "{:?}", kinds(&changes));
}

#[tokio::test]
async fn command_cannot_reach_its_own_layer() {
    if has_no_overlays().await {
        return;
    }
    for access in [HomeAccess::Open, HomeAccess::Private] {
        let home = filled(access);
        let capture = new_capture(&home);
        let script = "echo secret > new
for part in upper work removed .; do
  ls \"$CAPTURE/$part\" 2>/dev/null && echo LISTED $part
  touch \"$CAPTURE/$part/evil\" 2>/dev/null && echo MADE $part
  chmod 777 \"$CAPTURE/$part\" 2>/dev/null && echo CHANGED $part
done
cat \"$CAPTURE/upper/new\" 2>/dev/null && echo READ
ls /proc/self/fd | wc -l > /dev/null
grep overlay /proc/self/mountinfo | grep -o captures
exit 0";
        let mut job = Job { capture: Some(overlay(&capture)), ..home.job(&["/bin/bash", "-c", script]) };
        job.env.push(("CAPTURE".to_owned(), home.path("captures/0").display().to_string()));
        let done = home.run(job).await;
        assert_eq!((done.exit, done.stdout.text()), (Exit::Code(0), String::new()), "{access:?}");
        assert_eq!(kinds(&capture.changes().unwrap()), [("new".to_owned(), ChangeKind::Created)]);
    }
    // A layer where the command could read it is refused.
    let home = filled(HomeAccess::Open);
    let inside = Capture::create(&home.path("scratch/capture"), &home.path("scratch")).unwrap();
    let Err(SandboxError::Capture(why)) = run_in(&home, &inside, "touch ran").await else { panic!("it must not run") };
    assert!(why.contains("could read its own layer"), "{why}");
}

#[tokio::test]
async fn captured_command_is_confined_as_any_other() {
    if has_no_overlays().await {
        return;
    }
    const SCRIPT: &str = "cat ../secret.key; cat out; cat \"$HOME_ROOT/secret.key\"
ln ../secret.key stolen; mv ../victim.txt .; cp /etc/shadow shadow
echo x > ../victim.txt; echo x > $HOME_ROOT/skills/SKILL.md; chmod 777 ../victim.txt
exit 0";
    for access in [HomeAccess::Open, HomeAccess::Private] {
        let home = filled(access);
        let (_, changes, said) = captured(&home, &format!("exec 2> /dev/null\n{SCRIPT}")).await.unwrap();
        assert_eq!((said.as_str(), kinds(&changes)), ("", vec![]), "{access:?}");
        assert_eq!(fs::read_to_string(home.path("victim.txt")).unwrap(), "untouched");
        assert_eq!(fs::metadata(home.path("victim.txt")).unwrap().mode() & 0o777, 0o644);
    }
    // Negative control: without a sandbox the same command reads and changes them.
    let home = Home { sandbox: crate::kit::sandbox(Level::Off), ..filled(HomeAccess::Open) };
    let done = home.bash(SCRIPT).await;
    assert!(done.stdout.text().contains("SECRET"), "{done:?}");
    assert_ne!(fs::read_to_string(home.path("victim.txt")).unwrap(), "untouched");
}

#[tokio::test]
async fn special_files_are_refused_by_name() {
    if has_no_overlays().await {
        return;
    }
    let home = filled(HomeAccess::Open);
    let (capture, changes, _) = captured(&home, "mkfifo d/pipe; echo x > d/plain").await.unwrap();
    assert_eq!(changes.refused.len(), 1);
    assert_eq!((changes.refused[0].path.as_path(), changes.refused[0].why), (Path::new("d/pipe"), Refusal::Special));
    assert_eq!(capture.promote(&changes).unwrap().applied, 1);
    assert!(home.path("scratch/d/plain").exists() && !home.path("scratch/d/pipe").exists());
}

#[tokio::test]
async fn entry_changed_by_a_person_is_left_and_named() {
    if has_no_overlays().await {
        return;
    }
    let home = filled(HomeAccess::Open);
    let scratch = home.path("scratch");
    // While the command runs: after the start of the capture.
    let capture = new_capture(&home);
    fs::write(scratch.join("a"), "person's\n").unwrap();
    fs::write(scratch.join("old/new"), "person's\n").unwrap();
    run_in(&home, &capture, "echo command >> a; echo command > b; rm -r old; echo command > c").await.unwrap();
    let changes = capture.changes().unwrap();
    let refused: Vec<_> = changes.refused.iter().map(|refused| (refused.path.to_str().unwrap(), refused.why)).collect();
    assert_eq!(refused, [("a", Refusal::ChangedMeanwhile), ("old/new", Refusal::ChangedMeanwhile)]);
    // Between the look and the promotion.
    fs::write(scratch.join("b"), "person's too\n").unwrap();
    fs::write(scratch.join("c"), "person's third\n").unwrap();
    let done = capture.promote(&changes).unwrap();
    let left: Vec<_> = done.left.iter().map(|left| left.path.to_str().unwrap()).collect();
    assert_eq!(left, ["b", "c", "old"], "{done:?}");
    assert!(done.left.iter().all(|left| matches!(left.why, LeftReason::Changed)), "{done:?}");
    let text = |name: &str| fs::read_to_string(scratch.join(name)).unwrap();
    assert_eq!(
        ["a", "b", "c", "old/new"].map(text),
        ["person's\n", "person's too\n", "person's third\n", "person's\n"]
    );
    assert!(!scratch.join("old/x").exists());
}

#[tokio::test]
async fn folder_without_write_permission_is_promoted() {
    if has_no_overlays().await {
        return;
    }
    let script =
        "chmod 700 d; echo x > d/new; mkdir d/n; echo y > d/n/f; rm d/a; chmod 500 d/n; chmod 500 d; chmod 0 keep.txt";
    let (direct, home) = (filled(HomeAccess::Open), filled(HomeAccess::Open));
    for home in [&direct, &home] {
        fs::set_permissions(home.path("scratch/d"), fs::Permissions::from_mode(0o500)).unwrap();
    }
    direct.bash(script).await;
    let (capture, changes, _) = captured(&home, script).await.unwrap();
    let done = capture.promote(&changes).unwrap();
    assert!(done.left.is_empty(), "{done:?}");
    let modes = |home: &Home| {
        ["d", "d/n", "d/n/f", "keep.txt"].map(|name| fs::metadata(home.path("scratch").join(name)).unwrap().mode())
    };
    assert_eq!(modes(&home), modes(&direct));
    capture.remove().unwrap();
}

#[tokio::test]
async fn other_levels_say_why_nothing_is_captured() {
    for level in confined_levels().into_iter().chain([Level::Off]).filter(|level| *level != Level::Standard) {
        let home = home(level, HomeAccess::Open);
        let Err(SandboxError::Capture(why)) = captured(&home, "touch ran").await.map(|_| ()) else {
            panic!("{level:?} must refuse")
        };
        assert_eq!(Some(why), home.sandbox.capture_obstacle());
        assert!(!home.path("scratch/ran").exists());
    }
    let standard: Sandbox = crate::kit::sandbox(Level::Standard);
    if !has_no_overlays().await {
        assert_eq!(standard.capture_obstacle(), None);
    }
}

/// One operation on a few paths; it may fail, in an overlay as without one.
fn operation() -> impl Strategy<Value = String> {
    let path =
        || prop::sample::select(vec!["a", "b", "c", "d", "d/a", "d/e", "d/e/f", "d/g", "old", "old/x", "kept", "to-a"]);
    prop_oneof![
        (path(), 0..9).prop_map(|(path, n)| format!("echo {n} > {path}")),
        (path(), 0..9).prop_map(|(path, n)| format!("echo {n} >> {path}")),
        path().prop_map(|path| format!("rm -rf {path}")),
        path().prop_map(|path| format!("mkdir -p {path}")),
        (path(), path()).prop_map(|(from, to)| format!("mv -T {from} {to}")),
        (path(), path()).prop_map(|(from, to)| format!("ln -sfn {from} {to}")),
        (path(), path()).prop_map(|(from, to)| format!("ln -P {from} {to}")),
        // What a copy into itself leaves depends on the order in which the file system lists names.
        (path(), path())
            .prop_filter("a copy into itself", |(from, to)| !Path::new(to).starts_with(from))
            .prop_map(|(from, to)| format!("cp -rT {from} {to}")),
        (prop::sample::select(vec!["700", "750", "755"]), path())
            .prop_map(|(mode, path)| format!("chmod {mode} {path}")),
        (path(), 0..40).prop_map(|(path, n)| format!("truncate -s {n} {path}")),
        path().prop_map(|path| format!("sed -i s/one/1/ {path}")),
    ]
}

#[tokio::test]
async fn any_promoted_operations_equal_direct_ones() {
    if has_no_overlays().await {
        return;
    }
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    for _ in 0..40 {
        let operations = prop::collection::vec(operation(), 1..14).new_tree(&mut runner).unwrap().current();
        let script = format!("exec 2>/dev/null\n{}\nexit 0", operations.join("\n"));
        let (direct, home) = (filled(HomeAccess::Open), filled(HomeAccess::Open));
        direct.bash(&script).await;
        let before = tree(&home.path("scratch"));
        let (capture, changes, _) = captured(&home, &script).await.unwrap();
        assert_eq!(tree(&home.path("scratch")), before);
        let done = capture.promote(&changes).unwrap();
        assert!(done.left.is_empty() && changes.refused.is_empty(), "{script}\n{done:?} {changes:?}");
        assert_eq!(tree(&home.path("scratch")), tree(&direct.path("scratch")), "{script}\n{:?}", kinds(&changes));
        // Applying the same plan again changes nothing.
        let again = Capture::resume(&home.path("captures/0"), &home.path("scratch")).unwrap().unwrap().promoted;
        assert!(again.left.is_empty(), "{script}\n{again:?}");
        assert_eq!(tree(&home.path("scratch")), tree(&direct.path("scratch")), "{script}");
    }
}
