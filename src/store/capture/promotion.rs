//! Applies the changes of a layer to the folder beneath.
//!
//! A file is exchanged with the one that it replaces, and a deleted entry is moved into the capture. Each is one atomic step
//! within a file system, costs the same for any size, and leaves what was there before in the capture. An entry is looked at
//! before its step and again afterwards: if it was not what the plan says, the step is taken back.
//!
//! The folder that a person has linked may be on another file system than the layer. Then a file is first copied next to its
//! place, under a hidden name, and what it replaces is removed: the contents for the undo are kept before.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, RenameFlags, Timespec, Timestamps, chownat, fstat, lremovexattr, mkdirat, openat,
    renameat_with, unlinkat, utimensat,
};
use rustix::io::Errno;

use super::Layers;
use super::beneath::{Beneath, Node, NodeKind, set_mode_of, split};
use super::layer::{ChangeKind, LayerEntry, ORIGIN};
use crate::store::across::copy_entry;
use crate::store::atomic;

/// The folder of a capture into which deleted entries are moved, named by their number in the plan.
pub const REMOVED: &str = "removed";
/// The file that lists what is to be done, written before anything is.
const PLAN: &str = "plan.json";

/// What a promotion did.
#[derive(Debug, Default)]
pub struct Promoted {
    /// Number of entries that are now as the command left them.
    pub applied: usize,
    /// The others, which stay as they were.
    pub left: Vec<LeftEntry>,
}

#[derive(Debug)]
pub struct LeftEntry {
    pub path: PathBuf,
    pub why: LeftReason,
}

#[derive(Debug)]
pub enum LeftReason {
    /// Somebody changed it since the changes were read, or it depends on such an entry.
    Changed,
    Io(io::Error),
}

pub fn write_plan(capture: &Path, entries: &[LayerEntry]) -> io::Result<()> {
    let next = capture.join("plan.new");
    std::fs::write(&next, serde_json::to_vec(entries)?)?;
    std::fs::rename(next, capture.join(PLAN))
}

pub fn read_plan(capture: &Path) -> io::Result<Option<Vec<LayerEntry>>> {
    match std::fs::read(capture.join(PLAN)) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A part of what is done for an entry, by its number.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Lets this process change the content of a folder.
    Lift(usize),
    /// Removes an entry.
    TakeAway(usize),
    MakeFolder(usize),
    /// Puts a file or link in its place.
    Place(usize),
    SetFolderMode(usize),
}

/// Returns all steps in their order: what is in the way of another kind of entry goes first, the other deletions follow the
/// creations, and folders are closed last. Each step can be repeated without effect.
pub fn steps(entries: &[LayerEntry]) -> Vec<Step> {
    let numbers = |wanted: &dyn Fn(&LayerEntry) -> bool| -> Vec<usize> {
        entries.iter().enumerate().filter(|(_, entry)| wanted(entry)).map(|(number, _)| number).collect()
    };
    let ways: BTreeSet<&Path> =
        entries.iter().filter(|entry| replaces_kind(entry)).map(|entry| entry.path.as_path()).collect();
    let in_way = |entry: &LayerEntry| entry.path.ancestors().any(|path| ways.contains(path));
    let is_folder = |node: &Option<Node>| node.as_ref().is_some_and(Node::is_folder);
    let lifted = numbers(&|entry| is_folder(&entry.before));
    let in_the_way = numbers(&|entry| leaves(entry) && in_way(entry));
    let made = numbers(&|entry| is_folder(&entry.after));
    let placed = numbers(&|entry| entry.after.is_some() && !is_folder(&entry.after));
    let deleted = numbers(&|entry| leaves(entry) && !in_way(entry));
    let mut steps: Vec<Step> = lifted.into_iter().map(Step::Lift).collect();
    steps.extend(in_the_way.into_iter().rev().map(Step::TakeAway));
    steps.extend(made.iter().copied().map(Step::MakeFolder));
    steps.extend(placed.into_iter().map(Step::Place));
    steps.extend(deleted.into_iter().rev().map(Step::TakeAway));
    steps.extend(made.into_iter().rev().map(Step::SetFolderMode));
    steps
}

/// Applies the entries. After an interruption, applying them again completes what was begun.
///
/// # Errors
/// Returns an error if the capture cannot be opened; then nothing was changed.
pub fn apply(layers: &Layers, capture: &Path, entries: &[LayerEntry]) -> io::Result<Promoted> {
    let mut promotion = Promotion::new(layers, capture, entries)?;
    steps(entries).into_iter().for_each(|step| promotion.step(step));
    let mut done = Promoted::default();
    for (entry, failed) in entries.iter().zip(promotion.failed) {
        match failed {
            None => done.applied += 1,
            Some(why) => done.left.push(LeftEntry { path: entry.path.clone(), why }),
        }
    }
    Ok(done)
}

/// Stops after some steps, as a kill would.
#[cfg(test)]
pub fn apply_some(layers: &Layers, capture: &Path, (entries, most): (&[LayerEntry], usize)) -> io::Result<()> {
    let mut promotion = Promotion::new(layers, capture, entries)?;
    steps(entries).into_iter().take(most).for_each(|step| promotion.step(step));
    Ok(())
}

/// Opens the content that an entry has or had, wherever it is now.
pub fn content(places: [(&Beneath, &PathBuf); 3], wanted: &Node) -> io::Result<Option<File>> {
    for (folder, path) in places {
        let Some(node) = folder.node(path)? else { continue };
        if same_file(&node, wanted) {
            return folder.file(path).map(Some);
        }
    }
    Err(io::ErrorKind::NotFound.into())
}

/// Returns whether an entry is removed from its path: deleted, or replaced by another kind.
fn leaves(entry: &LayerEntry) -> bool {
    entry.kind == ChangeKind::Deleted || replaces_kind(entry)
}

fn replaces_kind(entry: &LayerEntry) -> bool {
    let (Some(before), Some(after)) = (&entry.before, &entry.after) else { return false };
    before.is_folder() != after.is_folder()
}

/// Returns whether two looks saw the same file with the same content. A rename changes the stamp, but not these.
fn same_file(one: &Node, other: &Node) -> bool {
    (one.device, one.inode, one.size, one.modified) == (other.device, other.inode, other.size, other.modified)
}

/// Returns whether an entry is what it was when the plan was made. A step on one name of a file changes the stamp of its
/// other names.
fn is_as_planned(now: &Node, before: &Node) -> bool {
    now.stamp == before.stamp || (before.links > 1 && same_file(now, before))
}

struct Promotion<'a> {
    layers: &'a Layers,
    removed: Beneath,
    /// Whether the layer is on another file system than the folder. Then contents are copied into the folder, under names
    /// that begin with this, and renamed there.
    across: Option<String>,
    entries: &'a [LayerEntry],
    /// Why each entry was left.
    failed: Vec<Option<LeftReason>>,
}

type StepResult = Result<(), LeftReason>;

impl From<io::Error> for LeftReason {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Errno> for LeftReason {
    fn from(error: Errno) -> Self {
        Self::Io(error.into())
    }
}

impl<'a> Promotion<'a> {
    fn new(layers: &'a Layers, capture: &Path, entries: &'a [LayerEntry]) -> io::Result<Self> {
        let removed = Beneath::open(&capture.join(REMOVED))?;
        let is_across = !layers.lower.is_same_device(&layers.upper);
        let name = capture.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let across = is_across.then(|| format!(".{name}"));
        Ok(Self { layers, removed, across, entries, failed: entries.iter().map(|_| None).collect() })
    }

    fn step(&mut self, step: Step) {
        let (Step::Lift(number)
        | Step::TakeAway(number)
        | Step::MakeFolder(number)
        | Step::Place(number)
        | Step::SetFolderMode(number)) = step;
        if self.failed[number].is_some() {
            return;
        }
        let entry = &self.entries[number];
        let done = match step {
            Step::Lift(_) => self.lift(entry),
            Step::TakeAway(_) => self.take_away(number, entry),
            Step::MakeFolder(_) => self.make_folder(number, entry),
            Step::Place(_) => self.place(number, entry),
            Step::SetFolderMode(_) => self.set_folder_mode(entry),
        };
        self.failed[number] = done.err();
    }

    /// Lets this process change the content of a folder whose mode forbids it, if it belongs to this user. The folder's last
    /// step sets its mode.
    fn lift(&self, entry: &LayerEntry) -> StepResult {
        let (folder, name) = split(&entry.path);
        let Some(now) = self.layers.lower.node(&entry.path)?.filter(Node::is_folder) else { return Ok(()) };
        let is_planned = entry.before.as_ref().is_some_and(|before| before.inode == now.inode);
        if is_planned {
            self.layers.lower.make_accessible(&self.layers.lower.folder(folder)?, name)?;
        }
        Ok(())
    }

    /// Removes an entry that is deleted or gives way.
    fn take_away(&self, number: usize, entry: &LayerEntry) -> StepResult {
        let (lower, removed) = (&self.layers.lower, &self.removed);
        let Some(before) = &entry.before else { return Ok(()) };
        let (folder, name) = split(&entry.path);
        let kept = number.to_string();
        let folder = match lower.folder(folder) {
            Ok(folder) => folder,
            // Gone with its folder, or by this promotion before it was interrupted.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(_) if before.is_folder() || removed.node(Path::new(&kept))?.is_some() => return Ok(()),
            Err(_) => return Err(LeftReason::Changed),
        };
        let apart = self.apart(number);
        let Some(now) = lower.node_in(&folder, name)? else {
            // By this promotion before it was interrupted.
            return Ok(apart.map_or(Ok(()), |apart| discard(&folder, &apart))?);
        };
        let has_given_way = entry.after.as_ref().is_some_and(|after| after.is_folder() == now.is_folder());
        if has_given_way {
            return Ok(());
        }
        if before.is_folder() {
            return match unlinkat(&folder, name, AtFlags::REMOVEDIR) {
                // Somebody has put something into it, or an entry in it was left.
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => Err(LeftReason::Changed),
                done => Ok(done?),
            };
        }
        if !is_as_planned(&now, before) {
            return Err(LeftReason::Changed);
        }
        if let Some(apart) = apart {
            renameat_with(&folder, name, &folder, &apart, RenameFlags::NOREPLACE)?;
            return match lower.node_in(&folder, Path::new(&apart))? {
                Some(moved) if same_file(&moved, before) => Ok(discard(&folder, &apart)?),
                _ => {
                    renameat_with(&folder, &apart, &folder, name, RenameFlags::NOREPLACE)?;
                    Err(LeftReason::Changed)
                }
            };
        }
        renameat_with(&folder, name, removed.root(), &kept, RenameFlags::NOREPLACE)?;
        match removed.node(Path::new(&kept))? {
            Some(moved) if same_file(&moved, before) => Ok(()),
            _ => {
                renameat_with(removed.root(), &kept, &folder, name, RenameFlags::NOREPLACE)?;
                Err(LeftReason::Changed)
            }
        }
    }

    /// Makes a folder apart, with its owner, and moves it to its place: nobody can replace it in between.
    fn make_folder(&self, number: usize, entry: &LayerEntry) -> StepResult {
        let (lower, removed) = (&self.layers.lower, &self.removed);
        let Some(after) = &entry.after else { return Ok(()) };
        match lower.node(&entry.path)? {
            // By somebody else, or by this promotion before it was interrupted.
            Some(now) if now.is_folder() => return Ok(()),
            Some(_) => return Err(LeftReason::Changed),
            None => {}
        }
        let (folder, name) = split(&entry.path);
        let target = lower.folder(folder)?;
        let (place, made) = match self.apart(number) {
            Some(apart) => (&target, apart),
            None => (removed.root(), format!("new-{number}")),
        };
        match mkdirat(place, &made, Mode::from_raw_mode(0o700)) {
            Err(Errno::EXIST) => {}
            made => made?,
        }
        if let Some(new) = removed.node_in(place, Path::new(&made))?.filter(|new| new.owner != after.owner) {
            let (user, group) = after.owner;
            let [user, group] = [(user != new.owner.0).then_some(user), (group != new.owner.1).then_some(group)];
            let (user, group) = (user.map(rustix::fs::Uid::from_raw), group.map(rustix::fs::Gid::from_raw));
            chownat(place, &made, user, group, AtFlags::SYMLINK_NOFOLLOW)?;
        }
        match renameat_with(place, &made, &target, name, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => Err(LeftReason::Changed),
            moved => Ok(moved?),
        }
    }

    /// Puts a file or link in its place.
    fn place(&self, number: usize, entry: &LayerEntry) -> StepResult {
        let Layers { upper, lower } = self.layers;
        let Some(after) = &entry.after else { return Ok(()) };
        let (folder, name) = split(&entry.path);
        let target = lower.folder(folder).map_err(|_| LeftReason::Changed)?;
        let now = lower.node_in(&target, name)?;
        if now.as_ref().is_some_and(|now| same_file(now, after) && now.mode == after.mode) {
            return Ok(());
        }
        let expected = entry.before.as_ref().filter(|_| !replaces_kind(entry));
        match (&now, expected) {
            (None, None) => {}
            (Some(now), Some(before)) if is_as_planned(now, before) => {}
            // A file of which only attributes are set may have been set by this promotion before it was interrupted.
            (Some(now), Some(before)) if entry.kind == ChangeKind::Attributes && now.inode == before.inode => {}
            _ => return Err(LeftReason::Changed),
        }
        if entry.kind == ChangeKind::Attributes && after.kind == NodeKind::File {
            return set_attributes(&target, name, (expected, after));
        }
        let source = upper.folder(folder)?;
        let ready = upper.node_in(&source, name)?.is_some_and(|ready| same_file(&ready, after));
        if !ready {
            return Err(LeftReason::Changed);
        }
        if let Some(apart) = self.apart(number) {
            // What an interrupted promotion has left.
            discard(&target, &apart)?;
            let done = self.place_copy((&source, &apart), (&target, name), expected);
            // What the copy replaced, or the copy itself.
            discard(&target, &apart)?;
            return done;
        }
        // The kernel's mark means nothing outside of a layer. A file that its owner may not write keeps it.
        let _ = lremovexattr(Path::new(&format!("/proc/self/fd/{}", source.as_raw_fd())).join(name), ORIGIN);
        let Some(before) = expected else {
            return match renameat_with(&source, name, &target, name, RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => Err(LeftReason::Changed),
                moved => Ok(moved?),
            };
        };
        renameat_with(&source, name, &target, name, RenameFlags::EXCHANGE)?;
        match upper.node_in(&source, name)? {
            Some(exchanged) if same_file(&exchanged, before) => Ok(()),
            // Somebody replaced the file between the look and the exchange.
            _ => {
                let is_ours = lower.node_in(&target, name)?.is_some_and(|now| same_file(&now, after));
                if is_ours {
                    renameat_with(&source, name, &target, name, RenameFlags::EXCHANGE)?;
                }
                Err(LeftReason::Changed)
            }
        }
    }

    /// Like the end of [`Self::place`], for a layer on another file system.
    fn place_copy(
        &self,
        (source, apart): (&OwnedFd, &str),
        (target, name): (&OwnedFd, &Path),
        expected: Option<&Node>,
    ) -> StepResult {
        let lower = &self.layers.lower;
        copy_entry((source.as_fd(), name), (target.as_fd(), Path::new(apart)), 0)?;
        let copied = lower.node_in(target, Path::new(apart))?.ok_or(LeftReason::Changed)?;
        let Some(before) = expected else {
            return match renameat_with(target, apart, target, name, RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => Err(LeftReason::Changed),
                moved => Ok(moved?),
            };
        };
        renameat_with(target, apart, target, name, RenameFlags::EXCHANGE)?;
        match lower.node_in(target, Path::new(apart))? {
            Some(exchanged) if same_file(&exchanged, before) => Ok(()),
            // Somebody replaced the file between the look and the exchange.
            _ => {
                if lower.node_in(target, name)?.is_some_and(|now| same_file(&now, &copied)) {
                    renameat_with(target, apart, target, name, RenameFlags::EXCHANGE)?;
                }
                Err(LeftReason::Changed)
            }
        }
    }

    /// Returns the name for an entry apart in its folder, if the layer is on another file system.
    fn apart(&self, number: usize) -> Option<String> {
        self.across.as_ref().map(|prefix| format!("{prefix}-{number}{}", atomic::TEMP))
    }

    fn set_folder_mode(&self, entry: &LayerEntry) -> StepResult {
        let Some(after) = &entry.after else { return Ok(()) };
        let opened = self.layers.lower.folder(&entry.path)?;
        let now = fstat(&opened)?;
        let is_planned = match &entry.before {
            Some(before) if before.is_folder() => now.st_ino == before.inode,
            _ => (now.st_uid, now.st_gid) == after.owner,
        };
        match is_planned {
            true if now.st_mode & 0o7777 == after.mode => Ok(()),
            true => Ok(set_mode_of(&opened, after.mode)?),
            false => Err(LeftReason::Changed),
        }
    }
}

fn discard(folder: &OwnedFd, name: &str) -> io::Result<()> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Err(Errno::NOENT) => Ok(()),
        removed => Ok(removed?),
    }
}

fn set_attributes(folder: &OwnedFd, name: &Path, (before, after): (Option<&Node>, &Node)) -> StepResult {
    let held = openat(folder, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    if before.is_none_or(|before| fstat(&held).is_ok_and(|now| now.st_ino != before.inode)) {
        return Err(LeftReason::Changed);
    }
    set_mode_of(&held, after.mode)?;
    let time = |(seconds, nanoseconds): (i64, i64)| Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    let unchanged = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT };
    let times = Timestamps { last_access: unchanged, last_modification: time(after.modified) };
    Ok(utimensat(CWD, format!("/proc/self/fd/{}", held.as_raw_fd()), &times, AtFlags::empty())?)
}
