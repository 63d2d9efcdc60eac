//! Reads the upper layer of a capture: which entries it creates, changes and deletes in the folder beneath. Changes nothing
//! but the mode of folders in the layer that their owner may not list.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, fgetxattr, statat};
use serde::{Deserialize, Serialize};

use super::Layers;
use super::beneath::{Node, NodeKind, bytes, names};

/// The kernel's mark of a folder that hides the one beneath.
const OPAQUE: &str = "user.overlay.opaque";
/// The kernel's mark of an entry that was copied from beneath; a renamed one keeps it.
pub const ORIGIN: &str = "user.overlay.origin";
/// Maximum length of a path in bytes that the kernel resolves, with the end.
const PATH_LIMIT: usize = 4096;
/// The set-user-id and set-group-id bits.
const SET_ID: u32 = 0o6000;

/// One entry that differs between the folder and what the command left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerEntry {
    /// Relative to the folder. Names may contain any bytes except `/` and NUL.
    #[serde(with = "bytes")]
    pub path: PathBuf,
    /// What is in the folder; `None` if nothing is.
    pub before: Option<Node>,
    /// What the command left; `None` if it deleted the entry.
    pub after: Option<Node>,
    pub kind: ChangeKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChangeKind {
    Created,
    /// Other content, or another kind of entry.
    Changed,
    /// The same content with another mode or modification time. A folder whose mode is the same both times is listed only
    /// because its mode forbids changes in it.
    Attributes,
    Deleted,
}

/// An entry that is never applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub path: PathBuf,
    pub why: Refusal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A pipe, a socket or a device, which the command created, replaced or deleted: an undo could not make it again.
    Special,
    /// A program that another user could run as its owner.
    SetUserId,
    /// Somebody else changed the entry while the command ran.
    ChangedMeanwhile,
    /// The path is longer than the kernel resolves.
    TooDeep,
    /// A folder that the server may not list was deleted with its content.
    Unreadable,
    /// Another file system is mounted there.
    OtherFileSystem,
}

/// What a command changed, sorted by path: a folder comes before its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayerChanges {
    pub entries: Vec<LayerEntry>,
    pub refused: Vec<Refused>,
}

/// Returns what the upper layer changes; `None` for more than `most` entries. A folder entry that changed at or after
/// `started` was changed by somebody else: the command cannot reach it.
pub fn read(layers: &Layers, started: (i64, i64), most: usize) -> io::Result<Option<LayerChanges>> {
    let mut reader = Reader { layers, started, most, seen: 0, found: LayerChanges::default() };
    let mut folders = vec![Level { path: PathBuf::new(), has_lower: true, is_hidden: false }];
    while let Some(level) = folders.pop() {
        reader.folder(&level, &mut folders)?;
        if reader.seen > most {
            return Ok(None);
        }
    }
    let mut found = reader.found;
    found.entries.sort_by(|a, b| a.path.cmp(&b.path));
    found.refused.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Some(found))
}

/// A folder of the upper layer that is still to be read.
struct Level {
    path: PathBuf,
    /// Whether there is a folder beneath.
    has_lower: bool,
    /// Whether a folder on the way is opaque, which hides all that is beneath it.
    is_hidden: bool,
}

struct Reader<'a> {
    layers: &'a Layers,
    started: (i64, i64),
    most: usize,
    seen: usize,
    found: LayerChanges,
}

impl Reader<'_> {
    fn folder(&mut self, level: &Level, folders: &mut Vec<Level>) -> io::Result<()> {
        let upper = self.layers.upper.folder(&level.path)?;
        let lower = if level.has_lower { Some(self.layers.lower.folder(&level.path)?) } else { None };
        let hides = level.is_hidden || is_opaque(&upper);
        let present: BTreeSet<PathBuf> = names(&upper, self.most)?.into_iter().collect();
        for name in &present {
            self.seen += 1;
            if self.seen > self.most {
                return Ok(());
            }
            let path = level.path.join(name);
            let before = match &lower {
                Some(lower) => self.layers.lower.node_in(lower, name)?,
                None => None,
            };
            if is_whiteout(&upper, name)? {
                if let Some(before) = before {
                    self.deleted(path, before)?;
                }
                continue;
            }
            let Some(after) = self.layers.upper.node_in(&upper, name)? else { continue };
            let below = self.entry(&upper, path.clone(), (before, after))?;
            folders.extend(below.map(|has_lower| Level { path, has_lower, is_hidden: hides }));
        }
        if let Some(lower) = lower.filter(|_| hides) {
            for name in names(&lower, self.most)?.into_iter().filter(|name| !present.contains(name)) {
                if let Some(before) = self.layers.lower.node_in(&lower, &name)? {
                    self.deleted(level.path.join(name), before)?;
                }
            }
        }
        Ok(())
    }

    /// Adds an entry of the upper layer. If it is a folder to read, returns whether there is one beneath.
    fn entry(
        &mut self,
        upper: &OwnedFd,
        path: PathBuf,
        (before, after): (Option<Node>, Node),
    ) -> io::Result<Option<bool>> {
        let name = Path::new(path.file_name().unwrap_or_default());
        let merges = after.is_folder() && before.as_ref().is_some_and(Node::is_folder);
        if let Some(why) = self.refusal(&path, (before.as_ref(), &after))? {
            self.refuse(path, why);
            return Ok(None);
        }
        if after.is_folder() {
            self.layers.upper.make_accessible(upper, name)?;
        }
        match (&before, merges) {
            (None, _) => self.add(path, None, Some(after.clone()), ChangeKind::Created),
            (Some(below), true) => {
                // Also if its mode stays the same and must be lifted while its content changes.
                if below.mode != after.mode || below.mode & 0o300 != 0o300 {
                    self.add(path, before, Some(after.clone()), ChangeKind::Attributes);
                }
            }
            (Some(below), false) => {
                if below.is_folder() {
                    self.content_deleted(&path)?;
                }
                match self.same_content(&path, below, &after)? {
                    false => self.add(path, before, Some(after.clone()), ChangeKind::Changed),
                    true if below.mode == after.mode && below.modified == after.modified => {}
                    true => self.add(path, before, Some(after.clone()), ChangeKind::Attributes),
                }
            }
        }
        Ok(after.is_folder().then_some(merges))
    }

    fn refusal(&self, path: &Path, (before, after): (Option<&Node>, &Node)) -> io::Result<Option<Refusal>> {
        // A copy of something that is no longer beneath, in a folder that somebody changed meanwhile. The command may have moved
        // it here itself, so this also refuses what it need not.
        let gone = |path: &Path| -> io::Result<bool> {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let folder = self.layers.lower.node(parent)?;
            Ok(folder.is_some_and(|folder| folder.changed >= self.started) && self.is_copy(path, after))
        };
        Ok(match (before, &after.kind) {
            (_, NodeKind::Special) => Some(Refusal::Special),
            (_, NodeKind::File) if after.mode & SET_ID != 0 => Some(Refusal::SetUserId),
            _ if path.as_os_str().len() >= PATH_LIMIT => Some(Refusal::TooDeep),
            (Some(before), _) => self.refusal_beneath(before),
            (None, _) if gone(path)? => Some(Refusal::ChangedMeanwhile),
            (None, _) => None,
        })
    }

    fn refusal_beneath(&self, before: &Node) -> Option<Refusal> {
        if !self.layers.lower.is_on_same_device(before) {
            return Some(Refusal::OtherFileSystem);
        }
        if before.kind == NodeKind::Special {
            return Some(Refusal::Special);
        }
        // A folder's time also changes with its content, which is looked at by itself.
        (!before.is_folder() && before.changed >= self.started).then_some(Refusal::ChangedMeanwhile)
    }

    fn is_copy(&self, path: &Path, after: &Node) -> bool {
        let opened = match after.kind {
            NodeKind::Folder => self.layers.upper.folder(path),
            _ => self.layers.upper.file(path).map(OwnedFd::from),
        };
        opened.is_ok_and(|opened| fgetxattr(&opened, ORIGIN, &mut [0_u8; 256]).is_ok())
    }

    fn same_content(&self, path: &Path, before: &Node, after: &Node) -> io::Result<bool> {
        match (&before.kind, &after.kind) {
            (NodeKind::Link(before), NodeKind::Link(after)) => Ok(before == after),
            (NodeKind::File, NodeKind::File) if before.size == after.size => {
                // A file beneath that cannot be read counts as different.
                let Ok(lower) = self.layers.lower.file(path) else { return Ok(false) };
                equal(lower, self.layers.upper.file(path)?)
            }
            _ => Ok(false),
        }
    }

    fn deleted(&mut self, path: PathBuf, before: Node) -> io::Result<()> {
        self.seen += 1;
        let is_too_deep = path.as_os_str().len() >= PATH_LIMIT;
        let refusal = if is_too_deep { Some(Refusal::TooDeep) } else { self.refusal_beneath(&before) };
        match refusal {
            Some(why) => self.refuse(path, why),
            None if self.seen > self.most => {}
            None => {
                if before.is_folder() {
                    self.content_deleted(&path)?;
                }
                self.add(path, Some(before), None, ChangeKind::Deleted);
            }
        }
        Ok(())
    }

    fn content_deleted(&mut self, folder: &Path) -> io::Result<()> {
        let lower = match self.layers.lower.folder(folder) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.refuse(folder.to_owned(), Refusal::Unreadable);
                return Ok(());
            }
            opened => opened?,
        };
        for name in names(&lower, self.most)? {
            if let Some(before) = self.layers.lower.node_in(&lower, &name)? {
                self.deleted(folder.join(name), before)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, path: PathBuf, before: Option<Node>, after: Option<Node>, kind: ChangeKind) {
        self.found.entries.push(LayerEntry { path, before, after, kind });
    }

    fn refuse(&mut self, path: PathBuf, why: Refusal) {
        self.found.refused.push(Refused { path, why });
    }
}

fn is_whiteout(folder: &OwnedFd, name: &Path) -> io::Result<bool> {
    let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice && stat.st_rdev == 0)
}

fn is_opaque(folder: &OwnedFd) -> bool {
    let mut value = [0_u8; 2];
    fgetxattr(folder, OPAQUE, &mut value).is_ok_and(|length| value[..length] == *b"y")
}

fn equal(mut one: File, mut other: File) -> io::Result<bool> {
    let (mut first, mut second) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    loop {
        let read = one.read(&mut first)?;
        if read == 0 {
            return Ok(other.read(&mut second)? == 0);
        }
        if other.read_exact(&mut second[..read]).is_err() || first[..read] != second[..read] {
            return Ok(false);
        }
    }
}
