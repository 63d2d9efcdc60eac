//! Keeps what a command changed for its undo, and then applies it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use sha2::{Digest, Sha256};

use super::atomic;
use super::capture::{Capture, ChangeKind, LayerChanges, LayerEntry, LeftEntry, Node, NodeKind, Refused};
use super::changes::RecordedChange;
use super::error::StoreError;
use super::git::{self, Repositories};
use super::home::Home;
use super::recorded_state::RecordedState;
use crate::clock;
use crate::domain::{Commit, Place, ProjectId, Root, SessionId};

/// Maximum size of a content that is kept for an undo, in bytes.
const KEPT_SIZE: u64 = 512 << 20;
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
    /// Entries that were applied and cannot be undone, because records cannot name them. Relative to the project's folder.
    pub unrecorded: Vec<PathBuf>,
    /// The commits that were made. They stay when the changes are undone.
    pub commits: Vec<Commit>,
    /// Entries that stayed as they were.
    pub left: Vec<LeftEntry>,
    /// Entries that are never applied.
    pub refused: Vec<Refused>,
}

impl Home {
    /// Returns the folder of a project in which commands can be captured.
    pub(super) fn project_path(&self, root: &Root) -> Option<PathBuf> {
        let is_scratch = *root == Root::Project(ProjectId::scratch());
        is_scratch.then(|| self.scratch())
    }

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
        let root = Root::Project(ProjectId::scratch());
        let (captures, folder) = (self.captures(&root)?, self.scratch());
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
        let CapturedCall { session, call_id, root, capture, changes } = call;
        let mut applied = AppliedChanges::default();
        check_total(&changes)?;
        let keeper = Keeper {
            blobs: self.blobs(&session)?,
            capture: &capture,
            changes: &changes,
            repositories: Repositories::of(&changes),
        };
        for (at, entry) in changes.entries.iter().enumerate() {
            match keeper.recorded(at, (entry, &root))? {
                Recorded::Change(change) => applied.recorded.push(*change),
                Recorded::Unnamed => applied.unrecorded.push(entry.path.clone()),
                Recorded::Nothing => {}
            }
        }
        if !applied.recorded.is_empty() {
            self.keep_recorded(&session, &call_id, &applied.recorded)?;
        }
        applied.commits = git::commits(&capture, &changes);
        let promoted = {
            let _one_writer = self.edit_lock();
            capture.promote(&changes)?
        };
        if !promoted.left.is_empty() {
            let is_left = |path: &Path| promoted.left.iter().any(|left| left.path == path);
            applied.recorded.retain(|change| !is_left(Path::new(change.path.path())));
            applied.unrecorded.retain(|path| !is_left(path));
            applied.commits.retain(|commit| !is_left(&Path::new(&commit.repository).join(git::LOG_FILE)));
            self.keep_recorded(&session, &call_id, &applied.recorded)?;
        }
        (applied.left, applied.refused) = (promoted.left, changes.refused);
        if let Err(error) = capture.remove() {
            tracing::warn!(%error, "the capture of a command could not be removed; the next start does it");
        }
        Ok(applied)
    }
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
    let mut entries = Vec::new();
    for (number, entry) in changes.entries.iter().enumerate().filter(|(_, entry)| !is_time_only(entry)) {
        let state = |node: &Option<Node>, content: Result<Option<File>, StoreError>| {
            let known = state(node, content?, None).map_err(StoreError::io("reading what a command changed"))?;
            Ok(match (known, node) {
                (Known::State(state), _) => state,
                (Known::Unnamed, Some(Node { kind: NodeKind::Link(target), .. })) => {
                    Some(RecordedState::of_link(&target.to_string_lossy()))
                }
                (Known::Unnamed, _) => None,
            })
        };
        let before = state(&entry.before, capture.before(changes, number))?;
        let after = state(&entry.after, capture.after(changes, number))?;
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

enum Recorded {
    Change(Box<RecordedChange>),
    /// A record cannot name the entry: its path or target is not UTF-8, or has characters that paths may not have here.
    Unnamed,
    /// Only a time changed, or it belongs to git.
    Nothing,
}

/// Keeps the contents of a capture.
struct Keeper<'a> {
    blobs: Dir,
    capture: &'a Capture,
    changes: &'a LayerChanges,
    repositories: Repositories<'a>,
}

impl Keeper<'_> {
    fn recorded(&self, at: usize, (entry, root): (&LayerEntry, &Root)) -> Result<Recorded, StoreError> {
        if is_time_only(entry) || self.repositories.own(entry) {
            return Ok(Recorded::Nothing);
        }
        let Some(path) = place(root, &entry.path) else { return Ok(Recorded::Unnamed) };
        let doing = || StoreError::io(format!("keeping what {path} was, for an undo"));
        let reading = |node: &Node| node.kind == NodeKind::File;
        let before = match entry.before.as_ref().filter(|node| reading(node)) {
            Some(_) => self.capture.before(self.changes, at)?,
            None => None,
        };
        // An undo of a mode needs no content.
        let blobs = Some(&self.blobs).filter(|_| entry.kind != ChangeKind::Attributes);
        let before = state(&entry.before, before, blobs).map_err(doing())?;
        let after = match entry.after.as_ref().filter(|node| reading(node)) {
            Some(_) => self.capture.after(self.changes, at)?,
            None => None,
        };
        let after = state(&entry.after, after, None).map_err(doing())?;
        Ok(match (before, after) {
            (Known::State(before), Known::State(after)) => {
                Recorded::Change(Box::new(RecordedChange { path, before, after }))
            }
            _ => Recorded::Unnamed,
        })
    }
}

/// The state of an entry as a record has it, if it can.
enum Known {
    State(Option<RecordedState>),
    Unnamed,
}

/// Returns the state of a node with this content, and keeps the content in `blobs`.
fn state(node: &Option<Node>, content: Option<File>, blobs: Option<&Dir>) -> io::Result<Known> {
    let Some(node) = node else { return Ok(Known::State(None)) };
    let state = match (&node.kind, content) {
        (NodeKind::File, Some(content)) => {
            let Content { hash, size } = match blobs.filter(|_| node.size <= KEPT_SIZE) {
                Some(blobs) => keep(blobs, content)?,
                None => hash_of(content)?,
            };
            RecordedState::of_file(hash, size, node.mode)
        }
        (NodeKind::Link(target), _) => match target.to_str() {
            Some(target) => RecordedState::of_link(target),
            None => return Ok(Known::Unnamed),
        },
        (NodeKind::Folder, _) => RecordedState::of_folder(node.mode),
        (NodeKind::File | NodeKind::Special, _) => return Ok(Known::Unnamed),
    };
    Ok(Known::State(Some(state)))
}

/// Returns the place of a path in a project; `None` if places cannot name it.
fn place(root: &Root, path: &Path) -> Option<Place> {
    path.iter().try_fold(Place::of_root(root.clone()), |folder, name| folder.child(name.to_str()?).ok())
}

/// What a hole is read as. Contents are read in blocks of this size.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// The hash and the length of a content.
pub(super) struct Content {
    pub hash: String,
    pub size: u64,
}

/// Reads a content, of any size, for its hash.
pub(super) fn hash_of(content: impl Read) -> io::Result<Content> {
    read(content, |_| Ok(()))
}

/// Keeps a content under its hash. Like what commands write, it is not synced: a power cut can lose it, and an undo notices.
pub(super) fn keep(blobs: &Dir, content: impl Read) -> io::Result<Content> {
    let temporary = atomic::temporary_name();
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let file = blobs.open_with(&temporary, &options)?.into_std();
    let kept = copy(content, &file).and_then(|content| {
        blobs.rename(&temporary, blobs, &content.hash)?;
        Ok(content)
    });
    if kept.is_err() {
        // Only a temporary file is left, which has no reader.
        let _ = blobs.remove_file(&temporary);
    }
    kept
}

/// Copies a content into an empty file while it is hashed. Long runs of zeros become holes.
pub(super) fn copy(from: impl Read, mut to: &File) -> io::Result<Content> {
    let content = read(from, |block| match *block == ZEROS[..block.len()] {
        true => to.seek(SeekFrom::Current(block.len() as i64)).map(drop),
        false => to.write_all(block),
    })?;
    to.set_len(content.size)?;
    Ok(content)
}

fn read(mut from: impl Read, mut block_read: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<Content> {
    let (mut hash, mut size, mut buffer) = (Sha256::new(), 0, vec![0; ZEROS.len()]);
    loop {
        let read = match from.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if read == 0 {
            return Ok(Content { hash: base16ct::lower::encode_string(&hash.finalize()), size });
        }
        hash.update(&buffer[..read]);
        block_read(&buffer[..read])?;
        size += read as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_is_equal_and_keeps_holes() {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = vec![0; 1 << 20];
        bytes[200_000] = 1;
        for content in [bytes.as_slice(), b"", b"short", &[0; 100_000]] {
            let path = folder.path().join("copy");
            let copied = copy(content, &File::create(&path).unwrap()).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), content);
            assert_eq!((copied.hash, copied.size), (super::super::seal::sha256(content), content.len() as u64));
        }
    }
}
