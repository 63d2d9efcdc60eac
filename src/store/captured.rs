//! Keeps what a command changed for its undo, and then applies it.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::blobs::{Blobs, Content, KEPT_SIZE, hash_of};
use super::capture::{Capture, ChangeKind, Contents, LayerChanges, LayerEntry, LeftEntry, Node, NodeKind, Refused};
use super::changes::RecordedChange;
use super::error::StoreError;
use super::git::{self, Repositories};
use super::home::Home;
use super::kept_bound::Room;
use super::recorded_state::RecordedState;
use crate::clock;
use crate::domain::{Commit, EntryPath, Place, Root, SessionId, UnkeptReason};

/// Maximum size of all files of a change together, before and after, in bytes.
const MAX_TOTAL: u64 = 8 << 30;
/// The folder of the captures, by project.
const CAPTURES: &str = "storage/captures";

/// A call whose commands have ended, with what they changed in the folder of a project.
pub struct CapturedCall {
    pub session: SessionId,
    pub call_id: String,
    /// The project.
    pub root: Root,
    pub capture: Capture,
    pub changes: LayerChanges,
}

/// What became of the changes of a call.
#[derive(Debug, Default)]
pub struct AppliedChanges {
    /// The changes that were applied and can be undone.
    pub recorded: Vec<RecordedChange>,
    /// Those of them that an undo cannot bring back, because their content was not kept: it is too large, or there was no
    /// room for it.
    pub unkept: Vec<Unkept>,
    /// The commits that were made. They stay when the changes are undone.
    pub commits: Vec<Commit>,
    /// Entries that stayed as they were.
    pub left: Vec<LeftEntry>,
    /// Entries that are never applied.
    pub refused: Vec<Refused>,
}

/// A file whose content was not kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Unkept {
    pub path: EntryPath,
    /// In bytes.
    pub size: u64,
}

impl Home {
    /// Prepares the capture of what commands change in the folder of a project; `None` if this home cannot capture it.
    ///
    /// # Errors
    /// Returns an error if the folder of the capture cannot be created.
    pub fn new_capture(&self, root: &Root) -> Result<Option<Capture>, StoreError> {
        let Some(folder) = self.project_path(root) else { return Ok(None) };
        let captures = self.captures(root)?;
        Capture::create(&captures.join(clock::new_id()), &folder).map(Some)
    }

    fn captures(&self, root: &Root) -> Result<PathBuf, StoreError> {
        let below = format!("{CAPTURES}/{}", Place::of_root(root.clone()).as_str().replace('/', "."));
        self.root().create_dir_all(&below).map_err(StoreError::io("preparing to capture the changes of a command"))?;
        Ok(self.path().join(below))
    }

    /// Completes or removes what a server that was killed left of its captures. The commands were killed with it.
    pub(super) fn settle_captures(&self) -> Result<(), StoreError> {
        self.project_ids().into_iter().try_for_each(|id| self.settle_captures_of(&Root::Project(id)))
    }

    /// Those of a linked folder wait until it is there.
    fn settle_captures_of(&self, root: &Root) -> Result<(), StoreError> {
        let Some(folder) = self.project_path(root) else { return Ok(()) };
        let captures = self.captures(root)?;
        let listed = std::fs::read_dir(&captures).map_err(StoreError::io("listing the captures"))?;
        for capture in listed.flatten() {
            let path = capture.path();
            if let Err(error) = Capture::resume(&path, &folder) {
                tracing::warn!(capture = %path.display(), %error, "the changes of an interrupted command could not be completed");
            }
            if let Err(error) = Capture::remove_at(&path) {
                tracing::warn!(capture = %path.display(), %error, "what an interrupted command left could not be removed");
            }
        }
        Ok(())
    }

    /// Keeps what a call changed for its undo, and applies it.
    ///
    /// # Errors
    /// Returns an error if the changes cannot be kept or applied; then nothing was changed.
    pub(super) fn apply_captured(&self, call: CapturedCall) -> Result<AppliedChanges, StoreError> {
        let applied = self.require_writable(&call.root).and_then(|()| self.keep_and_promote(&call));
        // If nothing was applied, nothing of it is to be applied by the next start, and its space is needed.
        if let Err(error) = call.capture.remove() {
            tracing::warn!(%error, "the capture of a command could not be removed; the next start does it");
        }
        applied
    }

    fn keep_and_promote(&self, call: &CapturedCall) -> Result<AppliedChanges, StoreError> {
        let CapturedCall { session, call_id, root, capture, changes } = call;
        // A linked folder may have gone, or been replaced, since the command ran.
        self.check_root(root)?;
        let mut applied = AppliedChanges::default();
        check_total(changes)?;
        let blobs = self.blobs(session)?;
        let contents = capture.contents(changes)?;
        let keeper = Keeper { blobs, contents: &contents, repositories: Repositories::of(changes) };
        for (at, entry) in changes.entries.iter().enumerate() {
            let Some(Kept { change, is_kept }) = keeper.recorded(at, (entry, root))? else { continue };
            if let Some(size) = change.before.as_ref().and_then(|before| before.size).filter(|_| !is_kept) {
                applied.unkept.push(Unkept { path: change.path.clone(), size });
            }
            applied.recorded.push(change);
        }
        keeper.blobs.sync().map_err(StoreError::io("keeping what files were, for an undo"))?;
        if !applied.recorded.is_empty() {
            self.keep_recorded(session, call_id, &applied.recorded)?;
        }
        let mut commits = git::commits(&contents, changes);
        let after = |change: &'_ RecordedChange| -> Option<(PathBuf, String)> {
            Some((change.path.below().into(), change.after.as_ref()?.hash.clone()))
        };
        let hashes: HashMap<PathBuf, String> = applied.recorded.iter().filter_map(after).collect();
        let noted = self.becoming((root, &changes.entries), &|at, entry| match hashes.get(&entry.path) {
            Some(hash) => Some(hash.clone()),
            // It is not recorded, because it belongs to git for example.
            None => Some(hash_of(contents.after(at).ok()??).ok()?.hash),
        });
        let promoted = self.noting((root, noted), || {
            let _one_writer = self.edit_lock();
            self.check_working(root)?;
            capture.promote(changes)
        })?;
        if !promoted.left.is_empty() {
            let is_left = |path: &Path| promoted.left.iter().any(|left| left.path == path);
            applied.recorded.retain(|change| !is_left(change.path.below()));
            applied.unkept.retain(|unkept| !is_left(unkept.path.below()));
            commits.retain(|(log, _)| !is_left(log));
            self.keep_recorded(session, call_id, &applied.recorded)?;
        }
        applied.commits = commits.into_iter().map(|(_, commit)| commit).collect();
        (applied.left, applied.refused) = (promoted.left, changes.refused.clone());
        Ok(applied)
    }
}

impl Home {
    /// Returns the files whose content could not be kept if these changes were applied now, with their paths in the project.
    /// Compression counts for nothing, so it may name a file that is kept after all. Blocks.
    pub fn not_kept_of(&self, changes: &LayerChanges) -> Vec<(PathBuf, u64, UnkeptReason)> {
        let repositories = Repositories::of(changes);
        let replaced = changes.entries.iter().filter(|entry| needs_content(entry) && !repositories.own(entry));
        let replaced = replaced.filter_map(|entry| {
            let before = entry.before.as_ref().filter(|before| before.kind == NodeKind::File)?;
            Some((entry.path.clone(), before))
        });
        let replaced: Vec<_> = replaced.collect();
        if replaced.is_empty() {
            return Vec::new();
        }
        let stored = |node: &Node| node.size.min(node.allocated);
        let all = replaced.iter().fold(0_u64, |sum, (_, before)| sum.saturating_add(stored(before)));
        let (mut room, mut not_kept) = (self.kept_room(all), Vec::new());
        for (path, before) in replaced {
            let (size, stored) = (&before.size, stored(before));
            if *size > KEPT_SIZE {
                not_kept.push((path, *size, UnkeptReason::TooLarge));
            } else if stored > room {
                not_kept.push((path, *size, UnkeptReason::LimitReached));
            } else {
                room -= stored;
            }
        }
        not_kept
    }
}

/// An undo of a mode needs no content.
fn needs_content(entry: &LayerEntry) -> bool {
    entry.kind != ChangeKind::Attributes
}

/// An entry that a capture changes, for showing it.
#[derive(Clone, Debug, PartialEq)]
pub struct CapturedEntry {
    /// Relative to the folder.
    pub path: PathBuf,
    /// Its number in the capture.
    pub number: usize,
    pub before: Option<RecordedState>,
    pub after: Option<RecordedState>,
}

impl CapturedEntry {
    /// Returns the SHA-256 over all entries: paths, kinds, modes and contents, before and after.
    pub fn hash(entries: &[Self]) -> String {
        let mut hash = Sha256::new();
        for Self { path, before, after, .. } in entries {
            let record = |state: &Option<RecordedState>| state.as_ref().map(RecordedState::record);
            let states = serde_json::to_vec(&[record(before), record(after)]).expect("texts are JSON");
            for part in [path.as_os_str().as_encoded_bytes(), &states] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part);
            }
        }
        base16ct::lower::encode_string(&hash.finalize())
    }
}

/// Returns the entries of which more than a time changes, with the hashes of their contents. Blocks.
///
/// # Errors
/// Returns an error if a content cannot be read.
pub fn captured_entries(capture: &Capture, changes: &LayerChanges) -> Result<Vec<CapturedEntry>, StoreError> {
    check_total(changes)?;
    let contents = capture.contents(changes)?;
    let mut entries = Vec::new();
    for (number, entry) in changes.entries.iter().enumerate().filter(|(_, entry)| !is_time_only(entry)) {
        let state = |node: &Option<Node>, content: Result<Option<File>, StoreError>| {
            state(node, content?).map_err(StoreError::io("reading what a command changed"))
        };
        let before = state(&entry.before, contents.before(number))?;
        let after = state(&entry.after, contents.after(number))?;
        entries.push(CapturedEntry { path: entry.path.clone(), number, before, after });
    }
    Ok(entries)
}

/// Refuses changes that would take minutes to read: a command can make files that are long, with nothing in them.
fn check_total(changes: &LayerChanges) -> Result<(), StoreError> {
    let nodes = changes.entries.iter().flat_map(|entry| [&entry.before, &entry.after]).flatten();
    let files = nodes.filter(|node| node.kind == NodeKind::File);
    let size = files.fold(0_u64, |total, file| total.saturating_add(file.size));
    match size <= MAX_TOTAL {
        true => Ok(()),
        false => Err(StoreError::TooLarge { path: "what the command changed".to_owned(), size, limit: MAX_TOTAL }),
    }
}

fn is_time_only(entry: &LayerEntry) -> bool {
    let modes = [&entry.before, &entry.after].map(|node| node.as_ref().map(|node| node.mode));
    entry.kind == ChangeKind::Attributes && modes[0] == modes[1]
}

/// Keeps the contents of a capture.
struct Keeper<'a> {
    blobs: Blobs,
    contents: &'a Contents<'a>,
    repositories: Repositories<'a>,
}

/// A change whose content was kept, if it could be.
struct Kept {
    change: RecordedChange,
    is_kept: bool,
}

impl Keeper<'_> {
    /// Keeps what an entry was. `None` if only a time of it changes, or if it belongs to git.
    fn recorded(&self, at: usize, (entry, root): (&LayerEntry, &Root)) -> Result<Option<Kept>, StoreError> {
        if is_time_only(entry) || self.repositories.own(entry) {
            return Ok(None);
        }
        let path = EntryPath::new(root.clone(), &entry.path).map_err(|error| {
            // A layer is read without such paths.
            StoreError::io("recording what a command changed")(io::Error::other(error))
        })?;
        let doing = || StoreError::io(format!("keeping what {path} was, for an undo"));
        let (before, is_kept) = self.before(at, entry)?;
        let after = state(&entry.after, self.contents.after(at)?).map_err(doing())?;
        Ok(Some(Kept { change: RecordedChange { path, before, after }, is_kept }))
    }

    /// Keeps the content that an entry had. Returns its state, and whether an undo has the content.
    fn before(&self, at: usize, entry: &LayerEntry) -> Result<(Option<RecordedState>, bool), StoreError> {
        let content = self.contents.before(at)?;
        let doing = || StoreError::io(format!("keeping what {} was, for an undo", entry.path.display()));
        let needs_content = needs_content(entry);
        match (&entry.before, content) {
            (Some(node), Some(content)) if needs_content && node.size <= KEPT_SIZE => {
                let (Content { hash, size }, room) = self.blobs.keep(content).map_err(doing())?;
                let is_kept = room == Room::Made;
                let state = RecordedState { is_dropped: !is_kept, ..RecordedState::of_file(hash, size, node.mode) };
                Ok((Some(state), is_kept))
            }
            (node, content) => {
                let is_kept = content.is_none() || !needs_content;
                Ok((state(node, content).map_err(doing())?, is_kept))
            }
        }
    }
}

/// Returns the state of a node with this content.
fn state(node: &Option<Node>, content: Option<File>) -> io::Result<Option<RecordedState>> {
    let Some(node) = node else { return Ok(None) };
    let state = match (&node.kind, content) {
        (NodeKind::File, Some(content)) => {
            let Content { hash, size } = hash_of(content)?;
            RecordedState::of_file(hash, size, node.mode)
        }
        (NodeKind::Link(target), _) => RecordedState::of_link(target),
        (NodeKind::Folder, _) => RecordedState::of_folder(node.mode),
        // The content is always there, and a layer with others is refused.
        (NodeKind::File | NodeKind::Special, _) => return Err(io::ErrorKind::InvalidInput.into()),
    };
    Ok(Some(state))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{FileStamp, ProjectId};

    #[test]
    fn commits_of_a_log_that_was_left_are_not_listed() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let root = Root::Project(ProjectId::scratch());
        let capture = home.new_capture(&root).unwrap().unwrap();
        let log = "a\u{1}\\b/.git/logs/HEAD";
        let write = |folder: &Path, text: &str| {
            std::fs::create_dir_all(folder.join(log).parent().unwrap()).unwrap();
            std::fs::write(folder.join(log), text).unwrap();
        };
        let id = "1c002dd4b536e7479fe34593e72e6c6c1819e53b";
        write(&capture.upper(), &format!("{id} {id} Ada <a@b.org> 1700000000 +0100\tcommit: Add a\n"));
        let changes = capture.changes().unwrap();
        assert_eq!(git::commits(&capture.contents(&changes).unwrap(), &changes).len(), 1);
        write(&home.scratch(), "of somebody else");
        let session = SessionId::parse("s").unwrap();
        let call = CapturedCall { session, call_id: "c".to_owned(), root, capture, changes };
        let applied = home.apply_captured(call).unwrap();
        assert!(applied.left.iter().any(|left| left.path == Path::new(log)), "{:?}", applied.left);
        assert_eq!(applied.commits, []);
    }

    #[test]
    fn files_that_could_not_be_kept_are_known_before() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        home.set_kept_limit(10 << 20);
        let entry = |path: &str, size: u64, kind| {
            let (modified, changed) = ((1, 0), (1, 0));
            let stamp = FileStamp::of(size, modified, changed, (1, 1));
            let before = Some(Node {
                kind: NodeKind::File,
                mode: 0o644,
                owner: (0, 0),
                size,
                allocated: size,
                links: 1,
                device: 1,
                inode: 1,
                modified,
                changed,
                stamp,
            });
            LayerEntry { path: path.into(), before, after: None, kind }
        };
        let entries = vec![
            entry(".git/pack", 1 << 40, ChangeKind::Changed),
            entry("first", 6 << 20, ChangeKind::Deleted),
            entry("large", KEPT_SIZE + 1, ChangeKind::Changed),
            entry("mode", 1 << 40, ChangeKind::Attributes),
            entry("second", 6 << 20, ChangeKind::Changed),
            entry("third", 4 << 20, ChangeKind::Deleted),
        ];
        let not_kept = home.not_kept_of(&LayerChanges { entries, refused: Vec::new() });
        let named = not_kept.iter().map(|(path, size, why)| (path.to_str().unwrap(), *size, *why));
        let [large, second] = [UnkeptReason::TooLarge, UnkeptReason::LimitReached];
        assert_eq!(named.collect::<Vec<_>>(), [("large", KEPT_SIZE + 1, large), ("second", 6 << 20, second)]);
    }
}
