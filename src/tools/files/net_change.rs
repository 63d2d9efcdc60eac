//! Computes the net change that calls made to each file: from what it was before the first of them to what the last one
//! left. Writes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::change::{DIFF_TIME, LineCount};
use crate::domain::picture::{PictureHeader, head};
use crate::domain::{EntryPath, SessionId, WorkId};
use crate::store::{
    EntryKind, FileMode, Home, RecordGap, RecordedChange, RecordedChanges, RecordedContent, RecordedState, StoreError,
};

/// Time for counting the lines of all files together; the lines of the files after it are not counted.
const COUNT_TIME: Duration = Duration::from_secs(2);

/// A call, with what the conversation says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkCall {
    pub work: WorkId,
    pub call: String,
    /// A summary replaces its message, so it cannot be undone before that part is restored.
    pub compacted: bool,
    /// Its result says that it changed files, or may have.
    pub changed_files: bool,
}

/// What calls made of files.
#[derive(Clone, Debug, PartialEq)]
pub struct NetChanges {
    /// By path. A file that is again what it was is not among them.
    pub files: Vec<NetChange>,
    /// The calls whose record could be read, oldest first.
    pub calls: Vec<WorkCall>,
    pub problems: Vec<RecordProblem>,
}

/// A file before the first of its calls and after the last one; `None` means that it did not exist.
#[derive(Clone, Debug, PartialEq)]
pub struct NetChange {
    pub path: EntryPath,
    /// The path before, if a work deleted that file and created this one with the same content.
    pub renamed_from: Option<EntryPath>,
    pub before: Option<FileFacts>,
    pub after: Option<FileFacts>,
    /// `None` if one of the contents is not text, or if counting all files took too long.
    pub lines: Option<LineCount>,
    /// The calls that changed it, oldest first.
    pub calls: Vec<WorkCall>,
    pub now: FileNow,
    pub undoing: FileUndoing,
}

/// What is known of a file's state.
#[derive(Clone, Debug, PartialEq)]
pub struct FileFacts {
    /// SHA-256 of the content, in hexadecimal.
    pub hash: String,
    pub mode: FileMode,
    pub content: ContentFacts,
}

/// What is known of a content; sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ContentFacts {
    Text {
        size: u64,
    },
    Picture {
        size: u64,
        header: PictureHeader,
    },
    Binary {
        size: u64,
    },
    /// A symbolic link; the content is its target.
    Link {
        size: u64,
    },
    Folder,
    /// It is larger than a file may be here, and was not read.
    TooLarge {
        size: u64,
    },
    /// What a command left is not kept, and the file has another content by now.
    NotKept {
        size: u64,
    },
    /// It was dropped, or not kept, so that all kept contents stay below their limit.
    Dropped {
        size: u64,
    },
    /// Its copy is missing, or is not what its hash says.
    Damaged,
}

/// The file on disk, compared with what the last call left. Only contents are compared, not modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileNow {
    Same,
    /// It has another content, or cannot be read.
    Changed,
    Deleted,
}

/// Whether the changes of one file can be undone without those of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileUndoing {
    Possible,
    /// One of its calls also changed other files, and a call is undone as a whole.
    Shared,
    /// It was changed since or between the calls.
    Changed,
    /// A summary replaces the message of one of its calls.
    Compacted,
    /// What it was before is not kept any more.
    NotKept,
}

/// A call whose record cannot be used, or does not contain everything.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordProblem {
    pub call: WorkCall,
    pub problem: Problem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The call changed files, but its record does not exist.
    Missing,
    /// This home did not write the record.
    Foreign,
    Damaged,
    /// The record is used, and lacks a part of what the call changed.
    Gap(RecordGap),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Before,
    After,
}

/// One change of a file, by the position of its call.
struct Step {
    call: usize,
    before: Option<RecordedState>,
    after: Option<RecordedState>,
}

/// The recorded changes of all files.
#[derive(Default)]
struct History {
    files: BTreeMap<EntryPath, Vec<Step>>,
    /// The files that each call changed, by the position of the call.
    paths: BTreeMap<usize, BTreeSet<EntryPath>>,
    problems: Vec<RecordProblem>,
}

/// All changes of a file, oldest first, and those of the file that was renamed to it.
struct Net<'h> {
    path: &'h EntryPath,
    steps: &'h [Step],
    source: Option<(&'h EntryPath, &'h [Step])>,
}

/// Returns what `calls` (oldest first) made of files.
///
/// # Errors
/// Returns an error if a record cannot be read from the disk. A file that cannot be read counts as changed.
pub fn net_changes(home: &Home, session: &SessionId, calls: &[WorkCall]) -> Result<NetChanges, StoreError> {
    let history = History::read(home, session, calls)?;
    let until = Instant::now() + COUNT_TIME;
    let files = history.nets(calls).into_iter().map(|net| {
        let old_path = net.source.map_or(net.path, |(path, _)| path);
        let contents = [(net.before(), old_path), (net.after(), net.path)]
            .map(|(state, path)| state.map(|state| facts(state, kept_or_current(home, session, (path, state)))));
        let lines = line_count([&contents[0], &contents[1]], until);
        let [before, after] = contents.map(|content| content.map(|(facts, _)| facts));
        let called: BTreeSet<usize> = net.all_steps().map(|step| step.call).collect();
        let calls: Vec<WorkCall> = called.iter().map(|at| calls[*at].clone()).collect();
        let now = now(home, net.path, net.after());
        let old_now = net.source.map_or(FileNow::Same, |(path, _)| self::now(home, path, None));
        let is_alone = |at: &usize| history.paths[at].iter().all(|path| net.concerns(path));
        let undoing = match () {
            () if calls.iter().any(|call| call.compacted) => FileUndoing::Compacted,
            () if !net.is_continuous() || now != FileNow::Same || old_now != FileNow::Same => FileUndoing::Changed,
            () if !net.has_content_before(home, session) => FileUndoing::NotKept,
            () if !called.iter().all(is_alone) => FileUndoing::Shared,
            () => FileUndoing::Possible,
        };
        let renamed_from = net.source.map(|(path, _)| path.clone());
        NetChange { path: net.path.clone(), renamed_from, before, after, lines, calls, now, undoing }
    });
    let files = files.collect();
    let calls = history.paths.keys().map(|at| calls[*at].clone()).collect();
    Ok(NetChanges { files, calls, problems: history.problems })
}

/// Returns the content of a file before the first or after the last of `calls` (oldest first).
///
/// # Errors
/// Returns [`StoreError::NotFound`] if they did not change the file, if it did not exist then, or if the copy is damaged,
/// and [`StoreError::TooLarge`] for a content that is larger than a file may be here.
pub fn net_content(
    home: &Home,
    session: &SessionId,
    calls: &[WorkCall],
    (path, side): (&EntryPath, Side),
) -> Result<Vec<u8>, StoreError> {
    let missing = |what: String| StoreError::NotFound { what };
    let history = History::read(home, session, calls)?;
    let nets = history.nets(calls);
    let net = nets.iter().find(|net| net.path == path);
    let net = net.ok_or_else(|| missing(format!("change of {path} in this conversation or response")))?;
    let (state, place, when) = match side {
        Side::Before => (net.before(), net.source.map_or(path, |(source, _)| source), "before"),
        Side::After => (net.after(), path, "after"),
    };
    let state = state.ok_or_else(|| missing(format!("content of {path} {when} the change: the file did not exist")))?;
    match kept_or_current(home, session, (place, state)) {
        RecordedContent::Bytes(bytes) => Ok(bytes),
        RecordedContent::TooLarge { size, limit } => Err(StoreError::TooLarge { path: path.to_string(), size, limit }),
        RecordedContent::NotKept { .. } => Err(missing(format!("copy of {path} {when} the change: it was not kept"))),
        RecordedContent::Dropped { .. } => {
            let why = "it was dropped to stay below the limit of kept contents";
            Err(missing(format!("copy of {path} {when} the change: {why}")))
        }
        RecordedContent::Damaged => Err(missing(format!("intact copy of {path} {when} the change"))),
    }
}

/// Returns the content of a state: the copy that is kept, or else the file itself if it has that content.
pub(super) fn kept_or_current(
    home: &Home,
    session: &SessionId,
    (path, state): (&EntryPath, &RecordedState),
) -> RecordedContent {
    match home.session_files(session).recorded_content(state) {
        gone @ (RecordedContent::NotKept { size } | RecordedContent::Dropped { size }) => match home.read_entry(path) {
            Ok(bytes) if state.is_content(&bytes) => RecordedContent::Bytes(bytes),
            Err(StoreError::TooLarge { limit, .. }) => RecordedContent::TooLarge { size, limit },
            Ok(_) | Err(_) => gone,
        },
        known => known,
    }
}

impl History {
    fn read(home: &Home, session: &SessionId, calls: &[WorkCall]) -> Result<Self, StoreError> {
        let kept = home.session_files(session);
        let mut history = Self::default();
        for (at, call) in calls.iter().enumerate() {
            let (recorded, gap) = kept.recorded_with_gap(&call.call)?;
            let problem = match recorded {
                RecordedChanges::Files(files) => {
                    files.into_iter().for_each(|file| history.add(at, file));
                    let Some(gap) = gap else { continue };
                    Problem::Gap(gap)
                }
                RecordedChanges::Missing if !call.changed_files => continue,
                RecordedChanges::Missing => Problem::Missing,
                RecordedChanges::Foreign => Problem::Foreign,
                RecordedChanges::Damaged => Problem::Damaged,
            };
            history.problems.push(RecordProblem { call: call.clone(), problem });
        }
        Ok(history)
    }

    fn add(&mut self, call: usize, RecordedChange { path, before, after }: RecordedChange) {
        self.paths.entry(call).or_default().insert(path.clone());
        self.files.entry(path).or_default().push(Step { call, before, after });
    }

    /// Returns the files that changed on balance. A deletion and a creation of the same content become one renaming, if one
    /// work did both and no other file has that content.
    fn nets(&self, calls: &[WorkCall]) -> Vec<Net<'_>> {
        let nets = self.files.iter().map(|(path, steps)| Net { path, steps, source: None });
        let nets: Vec<Net> = nets.filter(|net| net.before() != net.after()).collect();
        let mut by_content: BTreeMap<&str, [Vec<usize>; 2]> = BTreeMap::new();
        for (at, net) in nets.iter().enumerate() {
            match (net.before(), net.after()) {
                (Some(gone), None) => by_content.entry(&gone.hash).or_default()[0].push(at),
                (None, Some(new)) => by_content.entry(&new.hash).or_default()[1].push(at),
                _ => {}
            }
        }
        let works =
            |net: &Net| -> BTreeSet<&str> { net.all_steps().map(|step| calls[step.call].work.as_str()).collect() };
        let renamed: BTreeMap<usize, usize> = by_content
            .into_values()
            .filter_map(|[gone, new]| match (gone.as_slice(), new.as_slice()) {
                ([old], [new]) if !works(&nets[*old]).is_disjoint(&works(&nets[*new])) => Some((*new, *old)),
                _ => None,
            })
            .collect();
        let gone: BTreeSet<usize> = renamed.values().copied().collect();
        let source = |at| renamed.get(&at).map(|old: &usize| (nets[*old].path, nets[*old].steps));
        let shown = nets.iter().enumerate().filter(|(at, _)| !gone.contains(at));
        shown.map(|(at, net)| Net { path: net.path, steps: net.steps, source: source(at) }).collect()
    }
}

impl Net<'_> {
    fn before(&self) -> Option<&RecordedState> {
        let steps = self.source.map_or(self.steps, |(_, steps)| steps);
        steps.first().and_then(|step| step.before.as_ref())
    }

    fn after(&self) -> Option<&RecordedState> {
        self.steps.last().and_then(|step| step.after.as_ref())
    }

    fn all_steps(&self) -> impl Iterator<Item = &Step> {
        self.source.into_iter().flat_map(|(_, steps)| steps).chain(self.steps)
    }

    fn concerns(&self, path: &EntryPath) -> bool {
        path == self.path || self.source.is_some_and(|(source, _)| path == source)
    }

    /// Returns whether what it was before the first call is kept, or is what it is after the last one.
    fn has_content_before(&self, home: &Home, session: &SessionId) -> bool {
        let kept = home.session_files(session);
        self.before()
            .is_none_or(|before| kept.is_kept(before) || self.after().is_some_and(|after| after.has_content_of(before)))
    }

    /// Returns whether nobody else changed the content between the calls.
    fn is_continuous(&self) -> bool {
        let continuous = |steps: &[Step]| steps.windows(2).all(|two| same_content(&two[0].after, &two[1].before));
        continuous(self.steps) && self.source.is_none_or(|(_, steps)| continuous(steps))
    }
}

/// Returns whether both are the same content, or both nothing, whatever the modes.
pub fn same_content(one: &Option<RecordedState>, other: &Option<RecordedState>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => one.has_content_of(other),
        _ => false,
    }
}

/// What is known of a state, and its text if it is one.
pub type KnownContent = (FileFacts, Option<String>);

/// Returns what is known of a state with this content.
pub fn facts(state: &RecordedState, content: RecordedContent) -> KnownContent {
    let (content, text) = match content {
        RecordedContent::TooLarge { size, .. } => (ContentFacts::TooLarge { size }, None),
        RecordedContent::NotKept { size } => (ContentFacts::NotKept { size }, None),
        RecordedContent::Dropped { size } => (ContentFacts::Dropped { size }, None),
        RecordedContent::Damaged => (ContentFacts::Damaged, None),
        RecordedContent::Bytes(bytes) => {
            let size = bytes.len() as u64;
            match (state.kind, head(&bytes), String::from_utf8(bytes)) {
                (EntryKind::Folder, ..) => (ContentFacts::Folder, None),
                (EntryKind::Link, _, text) => (ContentFacts::Link { size }, text.ok()),
                (EntryKind::File, Some(header), _) => (ContentFacts::Picture { size, header }, None),
                (EntryKind::File, None, Ok(text)) => (ContentFacts::Text { size }, Some(text)),
                (EntryKind::File, None, Err(_)) => (ContentFacts::Binary { size }, None),
            }
        }
    };
    (FileFacts { hash: state.hash.clone(), mode: state.mode, content }, text)
}

/// Counts the lines that differ. `None` if one content is not text, or if the time is over.
pub fn line_count<'c>(contents: [&'c Option<KnownContent>; 2], until: Instant) -> Option<LineCount> {
    let text = |content: &'c Option<KnownContent>| match content {
        None => Some(""),
        Some((_, text)) => text.as_deref(),
    };
    let texts = [text(contents[0])?, text(contents[1])?];
    let left = until.saturating_duration_since(Instant::now());
    (!left.is_zero()).then(|| LineCount::between(texts, DIFF_TIME.min(left)))
}

fn now(home: &Home, path: &EntryPath, left: Option<&RecordedState>) -> FileNow {
    match (home.entry_state(path), left) {
        (Ok(None), None) => FileNow::Same,
        (Ok(None), Some(_)) => FileNow::Deleted,
        (Ok(Some(now)), Some(left)) if now.has_content_of(left) => FileNow::Same,
        (Ok(Some(_)) | Err(_), _) => FileNow::Changed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{ChangeSet, FileChange, FileState, OwnedHome};

    struct Session {
        folder: tempfile::TempDir,
        store: OwnedHome,
        id: SessionId,
        calls: Vec<WorkCall>,
    }

    fn place(path: &str) -> EntryPath {
        EntryPath::parse(path).unwrap()
    }

    fn change(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> FileChange {
        let state = |bytes: &[u8]| FileState { bytes: bytes.to_vec(), mode: FileMode::Regular };
        FileChange { path: place(path).place().unwrap(), before: before.map(state), after: after.map(state) }
    }

    impl Session {
        async fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let store = OwnedHome::claim(Home::open(folder.path()).unwrap()).await.unwrap().0;
            Self { folder, store, id: SessionId::parse("s").unwrap(), calls: Vec::new() }
        }

        /// Records a call of a work, and makes its changes.
        async fn call(&mut self, work: &str, changes: Vec<FileChange>) {
            let call = format!("c{}", self.calls.len());
            for FileChange { path, after, .. } in &changes {
                match after {
                    Some(after) => std::fs::write(self.folder.path().join(path.as_str()), &after.bytes).unwrap(),
                    None => drop(std::fs::remove_file(self.folder.path().join(path.as_str()))),
                }
            }
            let OwnedHome { log, claim, .. } = &self.store;
            log.keep_change(*claim, &self.id, &call, ChangeSet(changes)).await.unwrap();
            let work = WorkId::new(work.to_owned());
            self.calls.push(WorkCall { work, call, compacted: false, changed_files: true });
        }

        fn net(&self) -> NetChanges {
            net_changes(&self.store.home, &self.id, &self.calls).unwrap()
        }

        /// Returns path and lines of each changed file.
        fn told(&self) -> Vec<(String, Option<LineCount>)> {
            self.net().files.into_iter().map(|file| (file.path.to_string(), file.lines)).collect()
        }

        fn undoing(&self) -> Vec<FileUndoing> {
            self.net().files.into_iter().map(|file| file.undoing).collect()
        }
    }

    #[tokio::test]
    async fn changes_of_a_file_add_up() {
        let mut session = Session::new().await;
        session.call("w1", vec![change("memory/a.md", Some(b"one\n"), Some(b"two\n"))]).await;
        session.call("w1", vec![change("memory/tmp.md", None, Some(b"x"))]).await;
        session.call("w2", vec![change("memory/a.md", Some(b"two\n"), Some(b"two\nthree\n"))]).await;
        session.call("w2", vec![change("memory/tmp.md", Some(b"x"), None)]).await;
        session.call("w2", vec![change("memory/b.bin", Some(&[255]), Some(&[254]))]).await;
        let lines = Some(LineCount { added: 2, removed: 1 });
        let told = [("memory/a.md".to_owned(), lines), ("memory/b.bin".to_owned(), None)];
        assert_eq!(session.told(), told, "what is again as it was is left out");
        let net = session.net();
        assert_eq!(net.files[0].calls, [session.calls[0].clone(), session.calls[2].clone()]);
        assert_eq!((net.calls.len(), net.problems.len()), (5, 0));
        let content =
            |side| net_content(&session.store.home, &session.id, &session.calls, (&place("memory/a.md"), side));
        assert_eq!(
            (content(Side::Before).unwrap(), content(Side::After).unwrap()),
            (b"one\n".to_vec(), b"two\nthree\n".to_vec())
        );
        let gone =
            net_content(&session.store.home, &session.id, &session.calls, (&place("memory/tmp.md"), Side::After));
        assert!(matches!(gone, Err(StoreError::NotFound { .. })));
    }

    #[tokio::test]
    async fn moved_content_of_one_work_is_a_renaming() {
        let mut session = Session::new().await;
        session.call("w1", vec![change("memory/old.md", Some(b"text\n"), None)]).await;
        session.call("w1", vec![change("memory/new.md", None, Some(b"text\n"))]).await;
        session.call("w1", vec![change("memory/x.md", Some(b"other\n"), None)]).await;
        session.call("w2", vec![change("memory/y.md", None, Some(b"other\n"))]).await;
        let net = session.net();
        let paths: Vec<_> = net.files.iter().map(|file| (file.path.as_str(), file.renamed_from.clone())).collect();
        let old = Some(place("memory/old.md"));
        assert_eq!(paths, [("memory/new.md", old), ("memory/x.md", None), ("memory/y.md", None)]);
        assert_eq!((net.files[0].calls.len(), net.files[0].undoing), (2, FileUndoing::Possible));
        std::fs::write(session.folder.path().join("memory/old.md"), "back").unwrap();
        assert_eq!(session.net().files[0].undoing, FileUndoing::Changed, "its old path is taken");
    }

    #[tokio::test]
    async fn file_is_undone_alone_only_if_its_calls_are_its_own() {
        let mut session = Session::new().await;
        let two = vec![change("memory/a.md", None, Some(b"a")), change("memory/b.md", None, Some(b"b"))];
        session.call("w1", two).await;
        session.call("w1", vec![change("memory/c.md", None, Some(b"c"))]).await;
        session.call("w1", vec![change("memory/d.md", None, Some(b"d"))]).await;
        session.call("w2", vec![change("memory/d.md", Some(b"mine"), Some(b"dd"))]).await;
        let (shared, possible, changed) = (FileUndoing::Shared, FileUndoing::Possible, FileUndoing::Changed);
        assert_eq!(session.undoing(), [shared, shared, possible, changed]);
        std::fs::write(session.folder.path().join("memory/c.md"), "other").unwrap();
        std::fs::remove_file(session.folder.path().join("memory/a.md")).unwrap();
        assert_eq!(session.undoing(), [changed, shared, changed, changed]);
        let now: Vec<FileNow> = session.net().files.into_iter().map(|file| file.now).collect();
        assert_eq!(now, [FileNow::Deleted, FileNow::Same, FileNow::Changed, FileNow::Same]);
        session.calls[0].compacted = true;
        assert_eq!(session.undoing()[1], FileUndoing::Compacted);
    }

    #[tokio::test]
    async fn unusable_records_are_named() {
        let mut session = Session::new().await;
        session.call("w", vec![change("memory/a.md", None, Some(b"a"))]).await;
        session.call("w", vec![change("memory/b.md", None, Some(b"b"))]).await;
        session.call("w", vec![change("memory/c.md", None, Some(b"c"))]).await;
        let changes = session.folder.path().join("sessions/changes/s");
        std::fs::remove_file(changes.join("c0.json")).unwrap();
        std::fs::write(changes.join("c1.json"), "{}").unwrap();
        let blob = std::fs::read_dir(changes.join("blobs")).unwrap().map(|entry| entry.unwrap().path());
        let blob = blob.into_iter().find(|blob| std::fs::read(blob).unwrap() == b"c").unwrap();
        std::fs::write(blob, "tampered").unwrap();
        let net = session.net();
        let named: Vec<_> = net.problems.iter().map(|named| (named.call.call.as_str(), named.problem)).collect();
        assert_eq!(named, [("c0", Problem::Missing), ("c1", Problem::Foreign)]);
        assert_eq!(net.files[0].after.as_ref().unwrap().content, ContentFacts::Damaged);
        session.calls[0].changed_files = false;
        assert_eq!(session.net().problems.len(), 1, "a call without a record changed nothing");
    }

    #[tokio::test]
    async fn counting_has_a_time_limit() {
        let facts = |text: &str| {
            let content = ContentFacts::Text { size: 1 };
            Some((FileFacts { hash: String::new(), mode: FileMode::Regular, content }, Some(text.to_owned())))
        };
        let (before, after) = (facts("a\n"), facts("b\n"));
        let count = |until| line_count([&before, &after], until);
        assert_eq!(count(Instant::now() + COUNT_TIME), Some(LineCount { added: 1, removed: 1 }));
        assert_eq!(count(Instant::now()), None);
    }
}
