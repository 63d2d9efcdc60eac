//! What is recorded of observed calls, and undone from the record.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::copies::MAX_COPY;
use super::*;
use crate::domain::{ProjectId, SessionId};
use crate::store::{EntryKind, RecordGap, RecordedChange, RecordedChanges};

/// The content of a folder, by path: kind and mode, and content or target.
type Tree = BTreeMap<PathBuf, (String, Vec<u8>)>;

fn tree(folder: &Path) -> Tree {
    let mut all = Tree::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(now) = folders.pop() {
        for entry in fs::read_dir(&now).unwrap().map(Result::unwrap) {
            let (path, meta) = (entry.path(), entry.path().symlink_metadata().unwrap());
            let state = if meta.is_dir() {
                folders.push(path.clone());
                (format!("folder {:o}", meta.mode() & 0o777), Vec::new())
            } else if meta.is_symlink() {
                ("link".to_owned(), fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes())
            } else {
                (format!("file {:o}", meta.mode() & 0o777), fs::read(&path).unwrap())
            };
            all.insert(path.strip_prefix(folder).unwrap().to_owned(), state);
        }
    }
    all
}

struct Project {
    _folder: tempfile::TempDir,
    home: Home,
    scratch: PathBuf,
}

fn root() -> Root {
    Root::Project(ProjectId::scratch())
}

fn session() -> SessionId {
    SessionId::parse("s").unwrap()
}

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let scratch = folder.path().join("scratch");
        Self { _folder: folder, home, scratch }
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.scratch.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn begin(&self) -> Observation {
        self.home.observe(&root()).unwrap().unwrap()
    }

    fn end(&self, observation: Observation, call_id: &str) -> ObservedChanges {
        let call = ObservedCall { session: session(), call_id: call_id.to_owned(), observation };
        self.home.record_observed(call).unwrap()
    }

    fn recorded(&self, call_id: &str) -> Vec<RecordedChange> {
        match self.home.session_files(&session()).recorded_changes(call_id).unwrap() {
            RecordedChanges::Files(changes) => changes,
            RecordedChanges::Missing => Vec::new(),
            other => panic!("{other:?}"),
        }
    }

    fn undo(&self, call_id: &str) -> Result<(), StoreError> {
        let back: Vec<_> = self.recorded(call_id).into_iter().map(RecordedChange::reversed).collect();
        self.home.revert(&session(), &back)
    }

    fn redo(&self, call_id: &str) -> Result<(), StoreError> {
        self.home.revert(&session(), &self.recorded(call_id))
    }

    fn places(&self, call_id: &str) -> Vec<String> {
        self.recorded(call_id).iter().map(|change| change.path.below().to_string_lossy().into_owned()).collect()
    }
}

/// One thing that a command does. Names are small numbers, so that commands meet the same entries.
#[derive(Clone, Debug)]
enum Deed {
    Write(u8, Vec<u8>),
    Append(u8),
    Delete(u8),
    MakeFolder(u8),
    Link(u8, u8),
    Rename(u8, u8),
    Mode(u8, bool),
    HardLink(u8, u8),
}

fn deed() -> impl Strategy<Value = Deed> {
    let name = 0..9_u8;
    prop_oneof![
        (name.clone(), proptest::collection::vec(any::<u8>(), 0..9)).prop_map(|(at, bytes)| Deed::Write(at, bytes)),
        name.clone().prop_map(Deed::Append),
        name.clone().prop_map(Deed::Delete),
        name.clone().prop_map(Deed::MakeFolder),
        (name.clone(), name.clone()).prop_map(|(at, to)| Deed::Link(at, to)),
        (name.clone(), name.clone()).prop_map(|(at, to)| Deed::Rename(at, to)),
        (name.clone(), any::<bool>()).prop_map(|(at, all)| Deed::Mode(at, all)),
        (name.clone(), name).prop_map(|(at, to)| Deed::HardLink(at, to)),
    ]
}

/// Names 0 to 2 are at the top, the others in the folders that names 0 to 2 may be.
fn path(scratch: &Path, at: u8) -> PathBuf {
    match at {
        0..=2 => scratch.join(at.to_string()),
        _ => scratch.join(((at - 3) / 2).to_string()).join(at.to_string()),
    }
}

/// Does it as far as it is possible.
fn act(scratch: &Path, deed: &Deed) {
    let at = |at: &u8| path(scratch, *at);
    let is_link = |path: &Path| path.is_symlink();
    let _ = match deed {
        Deed::Write(name, _) | Deed::Append(name) if is_link(&at(name)) => Ok(()),
        Deed::Write(name, bytes) => fs::write(at(name), bytes),
        Deed::Append(name) => fs::read(at(name)).and_then(|old| fs::write(at(name), [old, b"+".to_vec()].concat())),
        Deed::Delete(name) => fs::remove_file(at(name)).or_else(|_| fs::remove_dir_all(at(name))),
        Deed::MakeFolder(name) => fs::create_dir(at(name)),
        Deed::Link(name, target) => symlink(format!("../{target}"), at(name)),
        Deed::Rename(name, to) => fs::rename(at(name), at(to)),
        Deed::Mode(name, _) if is_link(&at(name)) => Ok(()),
        Deed::Mode(name, all) => {
            fs::set_permissions(at(name), fs::Permissions::from_mode(if *all { 0o755 } else { 0o700 }))
        }
        Deed::HardLink(name, to) => fs::hard_link(at(name), at(to)),
    };
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_changes_between_two_looks_are_undone_and_redone(
        first in proptest::collection::vec(deed(), 0..20),
        second in proptest::collection::vec(deed(), 0..20),
    ) {
        let project = Project::new();
        first.iter().for_each(|deed| act(&project.scratch, deed));
        let before = tree(&project.scratch);
        let observation = project.begin();
        second.iter().for_each(|deed| act(&project.scratch, deed));
        let after = tree(&project.scratch);
        let observed = project.end(observation, "c");
        prop_assert!(observed.not_kept.is_empty() && observed.left_out.is_empty());
        prop_assert_eq!(observed.recorded.is_empty(), before == after);
        project.undo("c").unwrap();
        prop_assert_eq!(tree(&project.scratch), before);
        project.redo("c").unwrap();
        prop_assert_eq!(tree(&project.scratch), after);
    }
}

#[test]
fn changes_of_others_meanwhile_are_not_those_of_the_call() {
    let project = Project::new();
    for name in ["other", "both", "mine", "gone"] {
        project.write(name, "first");
    }
    let observation = project.begin();
    let save = |name: &str, text: &str| {
        let place = Place::parse(&format!("project/scratch/{name}")).unwrap();
        let write = || project.home.save_text(&place, text, &crate::store::Expect::Anything);
        project.home.noting_places([&place], write).unwrap();
    };
    save("other", "a person's");
    save("new/file", "a person's");
    save("both", "a person's");
    project.write("both", "the call's");
    project.write("mine", "the call's");
    // The call changed it before somebody else did.
    project.write("gone", "the call's");
    save("gone", "a person's");
    let observed = project.end(observation, "c");
    assert_eq!(project.places("c"), ["both", "gone", "mine"]);
    assert!(observed.not_kept.is_empty());
    let refused = project.undo("c");
    assert!(matches!(&refused, Err(StoreError::Conflict { path, .. }) if path.ends_with("gone")), "{refused:?}");
    save("gone", "the call's");
    project.undo("c").unwrap();
    let now = |name: &str| fs::read_to_string(project.scratch.join(name)).unwrap();
    assert_eq!((now("both").as_str(), now("mine").as_str(), now("gone").as_str()), ("a person's", "first", "first"));
    assert_eq!((now("other").as_str(), now("new/file").as_str()), ("a person's", "a person's"));
}

#[test]
fn change_of_two_calls_at_once_is_recorded_once() {
    let project = Project::new();
    project.write("a", "first");
    let (long, short) = (project.begin(), project.begin());
    project.write("a", "second");
    project.write("b", "new");
    project.end(short, "short");
    project.write("a", "third");
    project.end(long, "long");
    assert_eq!((project.places("short"), project.places("long")), (vec!["a".into(), "b".into()], vec!["a".to_owned()]));
    project.undo("long").unwrap();
    assert_eq!(fs::read(project.scratch.join("a")).unwrap(), b"second");
    project.undo("short").unwrap();
    assert_eq!(tree(&project.scratch).into_values().map(|(_, bytes)| bytes).collect::<Vec<_>>(), [b"first"]);
}

#[test]
fn entry_that_an_earlier_call_goes_on_changing_stays_its_own() {
    let project = Project::new();
    project.write("log", "first");
    let long = project.begin();
    project.write("log", "second");
    let short = project.begin();
    project.write("log", "third");
    project.write("mine", "new");
    project.end(short, "short");
    project.write("log", "fourth");
    project.end(long, "long");
    assert_eq!((project.places("short"), project.places("long")), (vec!["mine".to_owned()], vec!["log".to_owned()]));
    project.undo("short").unwrap();
    project.undo("long").unwrap();
    assert_eq!(tree(&project.scratch).into_values().map(|(_, bytes)| bytes).collect::<Vec<_>>(), [b"first"]);
}

#[test]
fn undo_meanwhile_is_not_a_change_of_the_call() {
    let project = Project::new();
    project.write("a", "first");
    let observation = project.begin();
    project.write("a", "second");
    project.end(observation, "early");
    let observation = project.begin();
    project.undo("early").unwrap();
    project.write("b", "new");
    project.end(observation, "late");
    assert_eq!(project.places("late"), ["b"]);
}

#[test]
fn second_record_of_a_call_is_united_with_the_first() {
    let project = Project::new();
    project.write("a", "first");
    project.write("b", "first");
    for (a, new) in [("second", "c"), ("third", "d")] {
        let observation = project.begin();
        project.write("a", a);
        project.write(new, new);
        project.end(observation, "c");
    }
    assert_eq!(project.places("c"), ["a", "c", "d"]);
    project.undo("c").unwrap();
    assert_eq!(fs::read(project.scratch.join("a")).unwrap(), b"first");
    assert_eq!(tree(&project.scratch).len(), 2);
}

#[test]
fn large_file_is_recorded_and_named_but_not_kept() {
    let project = Project::new();
    let large = fs::File::create(project.scratch.join("large")).unwrap();
    large.set_len(MAX_COPY + 1).unwrap();
    project.write("small", "first");
    let observation = project.begin();
    large.set_len(1).unwrap();
    project.write("small", "second");
    let observed = project.end(observation, "c");
    assert_eq!(observed.not_kept, [(PathBuf::from("large"), MAX_COPY + 1)]);
    assert_eq!(project.places("c"), ["large", "small"]);
    let refused = project.undo("c");
    assert!(matches!(&refused, Err(StoreError::NotKept { files }) if files[0].path.ends_with("large")), "{refused:?}");
    assert_eq!(fs::read(project.scratch.join("small")).unwrap(), b"second", "all or none");
}

#[test]
fn call_that_leaves_too_many_files_has_a_record_with_a_gap() {
    let project = Project::new();
    for name in ["changed", "deleted", "z/same"] {
        project.write(name, "first");
    }
    let before = tree(&project.scratch);
    let observation = project.begin();
    (0..20).for_each(|n| project.write(&format!("new-{n:02}"), "new"));
    project.write("changed", "second");
    fs::remove_file(project.scratch.join("deleted")).unwrap();
    let call = ObservedCall { session: session(), call_id: "c".to_owned(), observation };
    let observed = project.home.record_looked_at(call, 4).unwrap();
    assert_eq!(observed.gap, Some(RecordGap::TooManyFiles));
    let places = project.places("c");
    let (known, new) = places.split_at(2);
    assert_eq!(known, ["changed", "deleted"]);
    assert!(new.len() <= 4 && new.iter().all(|name| name.starts_with("new-")), "{new:?}");
    let recorded = project.home.session_files(&session()).recorded_with_gap("c").unwrap();
    assert_eq!(recorded.1, Some(RecordGap::TooManyFiles));
    project.undo("c").unwrap();
    let mut now = tree(&project.scratch);
    now.retain(|path, _| !path.to_str().unwrap().starts_with("new-"));
    assert_eq!((now, tree(&project.scratch).len()), (before.clone(), before.len() + 20 - new.len()));
}

#[test]
fn copies_are_found_after_a_restart_and_stale_ones_removed() {
    let project = Project::new();
    project.write("a", "kept");
    project.write("b", "stale");
    drop(project.begin());
    let copies = || fs::read_dir(project.home.path().join("storage/index/project.scratch")).unwrap();
    let inodes = || copies().map(|copy| copy.unwrap().metadata().unwrap().ino()).collect::<Vec<_>>();
    assert_eq!(inodes().len(), 2);
    let first = inodes();
    fs::remove_file(project.scratch.join("b")).unwrap();
    let Project { _folder: folder, home, scratch } = project;
    drop(home);
    let home = Home::open(folder.path()).unwrap();
    let project = Project { _folder: folder, home, scratch };
    let observation = project.begin();
    let copies = fs::read_dir(project.home.path().join("storage/index/project.scratch")).unwrap();
    let now: Vec<u64> = copies.map(|copy| copy.unwrap().metadata().unwrap().ino()).collect();
    assert!(now.len() == 1 && first.contains(&now[0]), "{first:?} {now:?}");
    fs::remove_file(project.scratch.join("a")).unwrap();
    project.end(observation, "c");
    project.undo("c").unwrap();
    assert_eq!(fs::read(project.scratch.join("a")).unwrap(), b"kept");
}

#[test]
fn damaged_copy_is_never_kept() {
    let project = Project::new();
    project.write("a", "first");
    let observation = project.begin();
    for copy in fs::read_dir(project.home.path().join("storage/index/project.scratch")).unwrap() {
        fs::write(copy.unwrap().path(), "forged").unwrap();
    }
    project.write("a", "second");
    let observed = project.end(observation, "c");
    assert_eq!(observed.not_kept, [(PathBuf::from("a"), 5)]);
    assert!(matches!(project.undo("c"), Err(StoreError::NotKept { .. })));
}

#[test]
fn file_that_becomes_a_pipe_is_recorded_as_deleted() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let project = Project::new();
    project.write("a", "first");
    let observation = project.begin();
    fs::remove_file(project.scratch.join("a")).unwrap();
    mknodat(CWD, project.scratch.join("a"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let observed = project.end(observation, "c");
    assert_eq!(observed.left_out, [LeftOut { path: "a".into(), why: LeftOutReason::Special }]);
    assert!(project.recorded("c")[0].after.is_none());
    assert!(project.undo("c").is_err(), "nobody removes the pipe");
    fs::remove_file(project.scratch.join("a")).unwrap();
    project.undo("c").unwrap();
    assert_eq!(fs::read(project.scratch.join("a")).unwrap(), b"first");
}

#[test]
fn folder_that_is_replaced_by_a_link_leads_nowhere() {
    let (project, outside) = (Project::new(), tempfile::tempdir().unwrap());
    fs::write(outside.path().join("a"), "a person's").unwrap();
    project.write("in/a", "first");
    let observation = project.begin();
    fs::remove_dir_all(project.scratch.join("in")).unwrap();
    symlink(outside.path(), project.scratch.join("in")).unwrap();
    project.end(observation, "c");
    let kinds: Vec<_> = project.recorded("c").into_iter().map(|change| change.after.map(|after| after.kind)).collect();
    assert_eq!(kinds, [Some(EntryKind::Link), None]);
    project.undo("c").unwrap();
    assert_eq!(fs::read(project.scratch.join("in/a")).unwrap(), b"first");
    assert_eq!(fs::read(outside.path().join("a")).unwrap(), b"a person's");
}

#[test]
fn git_is_left_to_git_and_commits_are_listed() {
    let project = Project::new();
    project.write("lib/.git/logs/HEAD", "");
    project.write("gone/.git/HEAD", "ref");
    let observation = project.begin();
    let id = "1c002dd4b536e7479fe34593e72e6c6c1819e53b";
    project.write("lib/.git/logs/HEAD", format!("{id} {id} Ada <a@b.org> 1700000000 +0100\tcommit: Add a\n"));
    project.write("lib/a", "new");
    fs::remove_dir_all(project.scratch.join("gone")).unwrap();
    let observed = project.end(observation, "c");
    let commits: Vec<_> =
        observed.commits.iter().map(|commit| (commit.repository.as_str(), commit.subject.as_str())).collect();
    assert_eq!(commits, [("lib", "Add a")]);
    assert_eq!(project.places("c"), ["gone", "gone/.git", "gone/.git/HEAD", "lib/a"]);
    project.undo("c").unwrap();
    assert_eq!(fs::read(project.scratch.join("gone/.git/HEAD")).unwrap(), b"ref");
    assert!(fs::read_to_string(project.scratch.join("lib/.git/logs/HEAD")).unwrap().contains("Add a"));
}
