//! Reverts files, links and folders to recorded states: for an undo, and for what does it again.
//!
//! Files of the home are written one by one. Those of a project are first built apart, as a layer, and then promoted like
//! the changes of a command: each by one atomic step, and completed by the next start if this process is killed.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::blobs::{Blobs, Content, KEPT_SIZE, copy, hash_of};
use super::capture::{Beneath, ChangeKind, LayerChanges, LayerEntry, Node, NodeKind, give, set_mode_of};
use super::changes::RecordedChange;
use super::error::{NotKeptFile, NotKeptReason, StoreError};
use super::files::{Expect, MAX_BYTES};
use super::home::Home;
use super::kept_bound::Room;
use super::recorded_state::{EntryKind, RecordedContent, RecordedState};
use super::tree::TreeChange;
use crate::domain::{EntryPath, Place, Root, SessionId};

impl Home {
    /// Returns what is at a path now, with the hash of its content; `None` if nothing is.
    ///
    /// # Errors
    /// Returns an error if it cannot be read; outside of projects also for a folder and for a file over 10 MiB.
    pub fn entry_state(&self, path: &EntryPath) -> Result<Option<RecordedState>, StoreError> {
        let Some(folder) = self.project_path(path.root()) else {
            let state = self.file_state(&home_place(path)?)?;
            return Ok(state.map(|state| RecordedState::of_bytes(&state.bytes, state.mode)));
        };
        let doing = || StoreError::io(format!("reading {path}"));
        let (beneath, below) = (Beneath::open(&folder).map_err(doing())?, path.below());
        match beneath.node(below).map_err(doing())? {
            Some(Node { kind: NodeKind::Special, .. }) => {
                Err(StoreError::NotAllowed { path: path.to_string(), why: "it is a pipe, a socket or a device" })
            }
            Some(node) => state_of(&beneath, below, &node).map(Some).map_err(doing()),
            None => Ok(None),
        }
    }

    /// Reads the file at a path.
    ///
    /// # Errors
    /// Returns the errors of [`Home::read_bytes`].
    pub fn read_entry(&self, path: &EntryPath) -> Result<Vec<u8>, StoreError> {
        let Some(folder) = self.project_path(path.root()).filter(|_| path.place().is_none()) else {
            return self.read_bytes(&home_place(path)?);
        };
        let doing = || StoreError::io(format!("reading {path}"));
        let file = Beneath::open(&folder).and_then(|beneath| beneath.file(path.below())).map_err(doing())?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(doing())?;
        match bytes.len() as u64 {
            size if size > MAX_BYTES => Err(StoreError::TooLarge { path: path.to_string(), size, limit: MAX_BYTES }),
            _ => Ok(bytes),
        }
    }

    /// Makes all changes or none: each entry must have the content of its `before`, and gets its `after` from what is kept for
    /// the session. What is replaced is kept, so that the opposite can be done later.
    ///
    /// # Errors
    /// Returns [`StoreError::Conflict`] if an entry is not what its change expects, and [`StoreError::NotKept`] if a
    /// content is not kept, or is damaged.
    pub(super) fn revert(&self, session: &SessionId, changes: &[RecordedChange]) -> Result<(), StoreError> {
        changes.iter().try_for_each(|change| self.require_writable(change.path.root()))?;
        let blobs = self.blobs(session)?;
        let mut not_kept = Vec::new();
        for change in changes {
            let now = self.entry_state(&change.path)?;
            let is_expected = match (&now, &change.before) {
                (None, None) => true,
                (Some(now), Some(before)) => now.has_content_of(before),
                _ => false,
            };
            if !is_expected {
                return Err(conflict(&change.path, now.as_ref()));
            }
            let becomes = change.after.as_ref().filter(|after| now.is_none_or(|now| !now.has_content_of(after)));
            let doing = || StoreError::io(format!("reading what {} was", change.path));
            if let Some(after) = becomes.filter(|after| after.has_blob())
                && !blobs.hold(&after.hash).map_err(doing())?
            {
                not_kept.push(NotKeptFile::of(&change.path, after));
            }
        }
        if !not_kept.is_empty() {
            return Err(StoreError::NotKept { files: not_kept });
        }
        changes.iter().try_for_each(|change| self.keep_current(&blobs, change))?;
        blobs.sync().map_err(StoreError::io("keeping what files were, for an undo"))?;
        let (project, home): (Vec<_>, Vec<_>) =
            changes.iter().partition(|change| self.project_path(change.path.root()).is_some());
        let home = home.into_iter().map(|change| self.tree_change(session, change)).collect::<Result<Vec<_>, _>>()?;
        let mut by_project: BTreeMap<Root, Vec<RecordedChange>> = BTreeMap::new();
        for change in project {
            by_project.entry(change.path.root().clone()).or_default().push(change.clone());
        }
        let mut done = Vec::new();
        let reverted = by_project.into_iter().try_for_each(|(root, changes)| {
            let left = self.revert_in(session, &root, &changes)?;
            done.extend(changes.into_iter().filter(|change| !left.contains(&change.path)));
            // Somebody changed an entry after it was looked at.
            left.first().map_or(Ok(()), |first| Err(conflict(first, None)))
        });
        // The files of the home come last: they are all written or none.
        let reverted = reverted.and_then(|()| self.commit(&home));
        if reverted.is_err() {
            self.put_back_entries(session, done);
        }
        reverted
    }

    /// Takes back what was reverted, because the rest could not be.
    fn put_back_entries(&self, session: &SessionId, done: Vec<RecordedChange>) {
        let mut by_project: BTreeMap<Root, Vec<RecordedChange>> = BTreeMap::new();
        for change in done {
            by_project.entry(change.path.root().clone()).or_default().push(change.reversed());
        }
        for (root, changes) in &by_project {
            match self.revert_in(session, root, changes) {
                Ok(left) if left.is_empty() => {}
                Ok(left) => tracing::error!(?left, "files of a failed undo could not be put back"),
                Err(error) => tracing::error!(%root, %error, "files of a failed undo could not be put back"),
            }
        }
    }

    /// Keeps the content that a change replaces.
    fn keep_current(&self, blobs: &Blobs, change: &RecordedChange) -> Result<(), StoreError> {
        let Some(before) = change.before.as_ref().filter(|before| before.kind == EntryKind::File) else {
            return Ok(());
        };
        let Some(folder) = self.project_path(change.path.root()) else { return Ok(()) };
        let doing = || StoreError::io(format!("keeping what {} was, for an undo", change.path));
        if before.inline.is_some() || blobs.hold(&before.hash).map_err(doing())? {
            return Ok(());
        }
        let content = Beneath::open(&folder).and_then(|beneath| beneath.file(change.path.below()));
        let (_, room) = content.and_then(|content| blobs.keep(content)).map_err(doing())?;
        if room == Room::None {
            tracing::warn!(path = %change.path, "there is no room for what an undo replaces, so it cannot be done again");
        }
        Ok(())
    }

    fn tree_change(&self, session: &SessionId, change: &RecordedChange) -> Result<TreeChange, StoreError> {
        let RecordedChange { path, before, after } = change;
        let content = |state: &RecordedState| match self.session_files(session).content(state, u64::MAX) {
            RecordedContent::Bytes(bytes) => Ok(bytes),
            RecordedContent::TooLarge { .. }
            | RecordedContent::NotKept { .. }
            | RecordedContent::Dropped { .. }
            | RecordedContent::Damaged => Err(StoreError::NotKept { files: vec![NotKeptFile::of(path, state)] }),
        };
        let to = after.as_ref().map(content).transpose()?;
        let expect = before.as_ref().map_or(Expect::Absent, |before| Expect::Etag(before.etag()));
        // A mode that a person has set since then stays.
        let old_mode = before.as_ref().map(|before| before.mode);
        let mode = after.as_ref().map(|after| after.mode).filter(|mode| Some(*mode) != old_mode);
        Ok(TreeChange { path: home_place(path)?.into(), expect, to: to.map(Into::into), mode })
    }

    /// Reverts entries of a project. Returns those that were left, because they were changed meanwhile. A folder that is not
    /// empty stays, and is not among them.
    fn revert_in(
        &self,
        session: &SessionId,
        root: &Root,
        changes: &[RecordedChange],
    ) -> Result<Vec<EntryPath>, StoreError> {
        self.check_root(root)?;
        let (Some(folder), Some(capture)) = (self.project_path(root), self.new_capture(root)?) else {
            return Err(StoreError::NotAllowed { path: root.to_string(), why: "commands cannot be undone in it" });
        };
        let built = Layer::new(&capture.upper(), &folder, self.blobs(session)?).and_then(|layer| layer.build(changes));
        let promoted = built.map_err(StoreError::io("preparing the files of an undo")).and_then(|entries| {
            let is_folder = |path: &Path| {
                entries.iter().any(|entry| entry.path == path && entry.before.as_ref().is_some_and(Node::is_folder))
            };
            let after =
                |change: &RecordedChange| Some((change.path.below().into(), change.after.as_ref()?.hash.clone()));
            let hashes: HashMap<PathBuf, String> = changes.iter().filter_map(after).collect();
            let noted = self.becoming((root, &entries), &|_, entry| hashes.get(&entry.path).cloned());
            let promoted = self.noting((root, noted), || {
                let _one_writer = self.edit_lock();
                self.check_working(root)?;
                capture.promote(&LayerChanges { entries: entries.clone(), refused: Vec::new() })
            })?;
            Ok(promoted.left.into_iter().map(|left| left.path).filter(|path| !is_folder(path)).collect::<Vec<_>>())
        });
        if let Err(error) = capture.remove() {
            tracing::warn!(%error, "the layer of an undo could not be removed; the next start does it");
        }
        let left = promoted?;
        let of_change = |change: &&RecordedChange| left.iter().any(|path| path == change.path.below());
        Ok(changes.iter().filter(of_change).map(|change| change.path.clone()).collect())
    }
}

impl RecordedState {
    /// Returns the hash by which versions of a file are compared elsewhere; empty if it is no file.
    pub fn etag(&self) -> String {
        match self.kind {
            EntryKind::File => self.hash.get(..32).unwrap_or_default().to_owned(),
            EntryKind::Link | EntryKind::Folder => String::new(),
        }
    }
}

/// Returns the place of a path outside of projects, where every file has one.
fn home_place(path: &EntryPath) -> Result<Place, StoreError> {
    let refused = || StoreError::NotAllowed { path: path.to_string(), why: "no file here has such a name" };
    path.place().ok_or_else(refused)
}

fn conflict(path: &EntryPath, now: Option<&RecordedState>) -> StoreError {
    StoreError::Conflict { path: path.to_string(), etag: now.map(RecordedState::etag) }
}

impl NotKeptFile {
    /// Returns the file at a path whose content is not kept.
    pub fn of(path: &EntryPath, state: &RecordedState) -> Self {
        let why = match state.size {
            _ if state.is_dropped => NotKeptReason::Dropped,
            Some(size) if size > KEPT_SIZE => NotKeptReason::TooLarge,
            Some(_) | None => NotKeptReason::Missing,
        };
        Self { path: path.to_string(), size: state.size, why }
    }
}

fn state_of(beneath: &Beneath, path: &Path, node: &Node) -> io::Result<RecordedState> {
    Ok(match &node.kind {
        NodeKind::Link(target) => RecordedState::of_link(target),
        NodeKind::Folder => RecordedState::of_folder(node.mode),
        NodeKind::File | NodeKind::Special => {
            let Content { hash, size } = hash_of(beneath.file(path)?)?;
            RecordedState::of_file(hash, size, node.mode)
        }
    })
}

/// A layer that is built from kept contents, as a command would have left it.
struct Layer {
    upper: Beneath,
    lower: Beneath,
    blobs: Blobs,
    /// User and group of the project's folder, and so of what is restored in it.
    owner: (u32, u32),
    entries: BTreeMap<PathBuf, LayerEntry>,
}

impl Layer {
    fn new(upper: &Path, folder: &Path, blobs: Blobs) -> io::Result<Self> {
        let lower = Beneath::open(folder)?;
        let stat = rustix::fs::fstat(lower.root())?;
        Ok(Self {
            upper: Beneath::open(upper)?,
            lower,
            blobs,
            owner: (stat.st_uid, stat.st_gid),
            entries: BTreeMap::new(),
        })
    }

    fn build(mut self, changes: &[RecordedChange]) -> io::Result<Vec<LayerEntry>> {
        let targets: BTreeMap<&Path, &RecordedChange> =
            changes.iter().map(|change| (change.path.below(), change)).collect();
        for (path, change) in targets {
            let before = self.lower.node(path)?;
            let after = match &change.after {
                None => None,
                Some(after) => Some(self.after(path, (after, before.as_ref()), change)?),
            };
            let kind = match (&before, &after) {
                (None, _) => ChangeKind::Created,
                (_, None) => ChangeKind::Deleted,
                (Some(before), Some(after)) if before.inode == after.inode => ChangeKind::Attributes,
                (Some(before), Some(after)) if before.is_folder() && after.is_folder() => ChangeKind::Attributes,
                (Some(_), Some(_)) => ChangeKind::Changed,
            };
            if before.is_some() || after.is_some() {
                self.entries.insert(path.to_owned(), LayerEntry { path: path.to_owned(), before, after, kind });
            }
        }
        Ok(self.entries.into_values().collect())
    }

    /// Builds what an entry is to become.
    fn after(
        &mut self,
        path: &Path,
        (state, before): (&RecordedState, Option<&Node>),
        change: &RecordedChange,
    ) -> io::Result<Node> {
        let old_mode = before.filter(|before| before.kind == NodeKind::File).map_or(0o644, |before| before.mode);
        let mode = state.bits.unwrap_or_else(|| state.mode.applied_to(old_mode)) & 0o777;
        let keeps_content = change.before.as_ref().is_some_and(|before| before.has_content_of(state));
        if let Some(before) = before.filter(|_| keeps_content) {
            return Ok(Node { mode, ..before.clone() });
        }
        self.make_parents(path)?;
        match state.kind {
            EntryKind::Folder => self.make_folder(path, mode)?,
            EntryKind::Link => {
                self.upper.create_link(path, state.link_target().unwrap_or(Path::new("")), self.owner)?;
            }
            EntryKind::File => self.make_file(path, state, mode)?,
        }
        let made = self.upper.node(path)?;
        let made = made.ok_or_else(|| io::Error::other("the layer of an undo was changed by somebody else"))?;
        Ok(Node { mode: if made.is_folder() { mode } else { made.mode }, ..made })
    }

    fn make_file(&self, path: &Path, state: &RecordedState, mode: u32) -> io::Result<()> {
        let file = self.upper.create_file(path)?;
        let content = match &state.inline {
            Some(bytes) => copy(bytes.as_slice(), &file)?,
            None => {
                let blob = self.blobs.open(&state.hash)?.ok_or(io::ErrorKind::NotFound)?;
                copy(blob.reader(state.most())?, &file)?
            }
        };
        if content.hash != state.hash {
            return Err(io::Error::new(io::ErrorKind::NotFound, "a kept content is damaged"));
        }
        give(&file, self.owner)?;
        set_mode_of(&OwnedFd::from(file), mode)
    }

    /// Makes a folder, which may have been made for an entry in it.
    fn make_folder(&self, path: &Path, mode: u32) -> io::Result<()> {
        let folder = self.upper.create_folder(path)?;
        give(&folder, self.owner)?;
        // Its content is still to come.
        set_mode_of(&folder, mode | 0o700)
    }

    /// Makes the folders of a path in the layer, and adds those that the project does not have.
    fn make_parents(&mut self, path: &Path) -> io::Result<()> {
        let above: Vec<&Path> = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()).collect();
        for above in above.into_iter().rev() {
            if self.upper.node(above)?.is_none() {
                self.make_folder(above, 0o755)?;
            }
            let is_known = self.entries.contains_key(above);
            if !is_known && self.lower.node(above)?.is_none() {
                let after = self.upper.node(above)?;
                let entry = LayerEntry { path: above.to_owned(), before: None, after, kind: ChangeKind::Created };
                self.entries.insert(above.to_owned(), entry);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::domain::ProjectId;
    use crate::store::FileMode;

    #[test]
    fn any_name_and_any_length_is_reverted() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let session = SessionId::parse("s").unwrap();
        let root = Root::Project(ProjectId::scratch());
        let beneath = Beneath::open(&home.scratch()).unwrap();
        let longest = [[b'n'; 255].as_slice(); 16].join(&b"/"[..]);
        assert_eq!(longest.len(), 4095);
        let names = [b"a\nb".as_slice(), b"\xff\xfe", b"back\\slash", b"\x01/\x7f\n", &longest];
        let entry = |name: &[u8]| EntryPath::new(root.clone(), Path::new(OsStr::from_bytes(name))).unwrap();
        let made: Vec<RecordedChange> = names
            .iter()
            .map(|name| {
                home.blobs(&session).unwrap().keep(*name).unwrap();
                let after = Some(RecordedState::of_bytes(name, FileMode::Regular));
                RecordedChange { path: entry(name), before: None, after }
            })
            .chain([RecordedChange {
                path: entry(b"\xfe"),
                before: None,
                after: Some(RecordedState::of_link(Path::new(OsStr::from_bytes(b"to\n\xff\\")))),
            }])
            .collect();
        let now = |change: &RecordedChange| home.entry_state(&change.path).unwrap();
        home.revert(&session, &made).unwrap();
        for change in &made {
            assert_eq!(now(change), change.after, "{}", change.path);
        }
        assert_eq!(home.read_entry(&entry(&longest)).unwrap(), longest);
        let target = beneath.node(Path::new(OsStr::from_bytes(b"\xfe"))).unwrap().unwrap().kind;
        assert_eq!(target, NodeKind::Link(OsStr::from_bytes(b"to\n\xff\\").into()));
        let back: Vec<_> = made.iter().cloned().map(RecordedChange::reversed).collect();
        home.revert(&session, &back).unwrap();
        assert!(made.iter().all(|change| now(change).is_none()));
        home.revert(&session, &made).unwrap();
        assert!(made.iter().all(|change| now(change) == change.after), "again");
    }

    #[test]
    fn failed_write_in_the_home_takes_back_the_project() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let session = SessionId::parse("s").unwrap();
        let (scratch, state) = (folder.path().join("scratch/a.txt"), |bytes: &[u8]| {
            home.blobs(&session).unwrap().keep(bytes).unwrap();
            Some(RecordedState::of_bytes(bytes, FileMode::Regular))
        });
        std::fs::write(&scratch, "new").unwrap();
        // There is no file behind the link, and none can be made.
        symlink("nowhere", folder.path().join("memory/link")).unwrap();
        let change =
            |path: &str, before, after| RecordedChange { path: EntryPath::parse(path).unwrap(), before, after };
        let in_project = change("project/scratch/a.txt", state(b"new"), state(b"old"));
        let in_home = change("memory/link/b.md", None, state(b"b"));
        let refused = home.revert(&session, &[in_project.clone(), in_home]);
        assert!(matches!(refused, Err(StoreError::Io { .. })), "{refused:?}");
        assert_eq!(std::fs::read(&scratch).unwrap(), b"new");
        home.revert(&session, &[in_project]).unwrap();
        assert_eq!(std::fs::read(&scratch).unwrap(), b"old");
    }
}
