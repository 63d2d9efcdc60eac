//! Uploads that go on after an interruption. A file that has arrived whole stays in `storage/resumable/{id}/tree`, also when
//! the connection breaks or the server is killed, until the upload is committed, cancelled or idle for a day. What the folder
//! contains is the only record of what has arrived. The size and the modification time of a file tell whether it is the one
//! that would be sent again.
//!
//! A power failure may leave files without their content, so an upload does not outlive the system's start that it began under.

mod arriving;

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::UNIX_EPOCH;

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, MetadataExt};
use serde::{Deserialize, Serialize};

use super::atomic;
use super::error::StoreError;
use super::home::{Home, lock};
use super::outside;
use super::uploads::{LIMITS, Limits, MAX_DEPTH};
use crate::clock;
use crate::domain::RelPath;
pub use arriving::ArrivingFile;

const FOLDER: &str = "storage/resumable";
const TREE: &str = "tree";
/// Files that have not arrived whole.
const PARTS: &str = "parts";
const ABOUT: &str = "upload.json";
/// How long an upload in which nothing happens is kept, in seconds: a day.
pub const UPLOAD_LIFE: f64 = 86_400.0;
/// Maximum number of uploads of a home that are not committed. The oldest one gives way if it has been idle for an hour.
pub const MAX_OPEN_UPLOADS: usize = 4;
const IDLE: f64 = 3_600.0;
/// How long the folders of an upload are made at most, in seconds.
const MAKING: f64 = 60.0;

/// What a person says about an upload, and when it was begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UploadInfo {
    pub id: String,
    /// Empty if it was not said.
    pub name: String,
    pub description: String,
    /// Unix seconds.
    pub created_at: f64,
    /// The start of the system that it began under.
    boot: String,
}

/// How much of an upload has arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrivedCount {
    pub files: u64,
    pub bytes: u64,
}

/// A file that has arrived whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrivedFile {
    pub path: String,
    /// In bytes.
    pub size: u64,
    /// When it was changed last on the computer that it came from, in Unix milliseconds.
    pub modified: i64,
}

/// An upload that is not committed. Cheap to clone; several requests may send files at once.
#[derive(Clone)]
pub struct ResumableUpload {
    shared: Arc<Shared>,
}

struct Shared {
    info: UploadInfo,
    dir: Dir,
    tree: Dir,
    parts: Dir,
    state: Mutex<State>,
    limits: Limits,
}

/// What is counted, under one lock with every change of the tree.
#[derive(Default)]
struct State {
    arrived: ArrivedCount,
    folders: u64,
    /// Bytes of files that have not arrived whole.
    arriving: u64,
    /// When something arrived last, in Unix seconds.
    used_at: f64,
    /// It is committed or cancelled: nothing more arrives.
    is_closed: bool,
}

/// The uploads of a home that this server has opened.
#[derive(Default)]
pub(super) struct ResumableUploads(Mutex<BTreeMap<String, ResumableUpload>>);

impl Home {
    /// Begins an upload. Its name need not be free until it is committed.
    ///
    /// # Errors
    /// Returns [`StoreError::TooManyUploads`] if there are four already in which something arrived within the last hour.
    pub(super) fn begin_resumable(&self, name: &str, description: &str) -> Result<ResumableUpload, StoreError> {
        let doing = || StoreError::io("preparing an upload");
        self.remove_expired_uploads();
        let mut open = self.resumable_uploads();
        open.sort_by(|a, b| a.used_at().total_cmp(&b.used_at()));
        if open.len() >= MAX_OPEN_UPLOADS {
            let oldest = open.first().filter(|oldest| oldest.is_idle());
            self.cancel_resumable(&oldest.ok_or(StoreError::TooManyUploads)?.info().id)?;
        }
        let now = clock::now();
        let info = UploadInfo {
            id: clock::new_id(),
            name: name.to_owned(),
            description: description.to_owned(),
            created_at: now,
            boot: outside::boot_id(),
        };
        let folder = format!("{FOLDER}/{}", info.id);
        let mut private = DirBuilder::new();
        private.recursive(true).mode(0o700);
        self.root().create_dir_with(&folder, &private).map_err(doing())?;
        let dir = self.root().open_dir(&folder).map_err(doing())?;
        dir.create_dir_with(TREE, DirBuilder::new().mode(0o755)).map_err(doing())?;
        dir.create_dir(PARTS).map_err(doing())?;
        let about = serde_json::to_vec(&info).expect("texts are JSON");
        // Held until it is known: who lists the uploads meanwhile must not open it a second time.
        let mut known = lock(&self.uploads().0);
        atomic::replace(&dir, ABOUT, &about, 0o600).map_err(doing())?;
        let upload = ResumableUpload::of(info, dir, State { used_at: now, ..State::default() }).map_err(doing())?;
        known.insert(upload.info().id.clone(), upload.clone());
        Ok(upload)
    }

    /// Returns an upload that is not committed.
    ///
    /// # Errors
    /// Returns [`StoreError::NoUpload`] if there is none with this id, because it was committed, cancelled or has expired.
    pub fn resumable_upload(&self, id: &str) -> Result<ResumableUpload, StoreError> {
        let gone = || StoreError::NoUpload { id: id.chars().take(64).collect() };
        let known = lock(&self.uploads().0).get(id).cloned();
        let upload = match known {
            Some(upload) => upload,
            None => self.reopen(id).map_err(|_| gone())?,
        };
        if upload.is_expired() {
            self.cancel_resumable(id)?;
            return Err(gone());
        }
        Ok(upload)
    }

    /// Returns the uploads that are not committed, the oldest first.
    pub fn resumable_uploads(&self) -> Vec<ResumableUpload> {
        let Ok(folder) = self.root().open_dir(FOLDER) else { return Vec::new() };
        let names = folder.entries().into_iter().flatten();
        let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut open: Vec<ResumableUpload> = names.filter_map(|id| self.resumable_upload(&id).ok()).collect();
        open.sort_by(|a, b| a.info().created_at.total_cmp(&b.info().created_at));
        open
    }

    /// Discards an upload with everything that has arrived.
    ///
    /// # Errors
    /// Returns [`StoreError::NoUpload`] if there is none, also while it is being committed, and an error if a file cannot be
    /// removed.
    pub(super) fn cancel_resumable(&self, id: &str) -> Result<(), StoreError> {
        let known = lock(&self.uploads().0).get(id).cloned();
        let upload = match known {
            Some(upload) => upload,
            None => self.reopen(id).map_err(|_| StoreError::NoUpload { id: id.to_owned() })?,
        };
        {
            let mut state = upload.state();
            upload.check_open(&state)?;
            state.is_closed = true;
        }
        let removed = self.root().remove_dir_all(format!("{FOLDER}/{}", upload.info().id));
        // Afterwards, so that nobody opens again what is being removed.
        lock(&self.uploads().0).remove(id);
        removed.map_err(StoreError::io("discarding an upload"))
    }

    /// Removes the uploads in which nothing has happened for a day, and those of an earlier start of the system.
    pub fn remove_expired_uploads(&self) {
        let Ok(folder) = self.root().open_dir(FOLDER) else { return };
        for entry in folder.entries().into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_open = name.to_str().is_some_and(|id| self.resumable_upload(id).is_ok());
            // One that is being made is not complete yet.
            let changed = entry.metadata().ok().and_then(|meta| meta.modified().ok());
            let changed = changed.and_then(|at| at.into_std().duration_since(UNIX_EPOCH).ok());
            let is_new = changed.is_some_and(|changed| changed.as_secs_f64() > clock::now() - MAKING);
            if !is_open
                && !is_new
                && let Err(error) = folder.remove_dir_all(&name)
                && error.kind() != io::ErrorKind::NotFound
            {
                tracing::warn!(%error, "an upload that was given up could not be removed");
            }
        }
    }

    /// Opens an upload that an earlier server began.
    fn reopen(&self, id: &str) -> io::Result<ResumableUpload> {
        let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !is_id {
            return Err(io::ErrorKind::NotFound.into());
        }
        let mut known = lock(&self.uploads().0);
        if let Some(upload) = known.get(id) {
            return Ok(upload.clone());
        }
        let dir = self.root().open_dir(format!("{FOLDER}/{id}"))?;
        let info: UploadInfo = serde_json::from_slice(&dir.read(ABOUT)?)?;
        if info.boot != outside::boot_id() || info.id != id {
            return Err(io::ErrorKind::NotFound.into());
        }
        let used_at = dir.metadata(ABOUT)?.modified()?.into_std().duration_since(UNIX_EPOCH).unwrap_or_default();
        // What had not arrived whole is lost with the server that received it.
        dir.remove_dir_all(PARTS)?;
        dir.create_dir(PARTS)?;
        let mut state = State { used_at: used_at.as_secs_f64(), ..State::default() };
        count(&dir.open_dir(TREE)?, 0, &mut state)?;
        let upload = ResumableUpload::of(info, dir, state)?;
        known.insert(id.to_owned(), upload.clone());
        Ok(upload)
    }

    /// Moves the files of an upload that is no more than a folder on the disk.
    ///
    /// # Errors
    /// Returns an error if there is no such upload, or if the files cannot be moved.
    pub(super) fn move_committed(&self, id: &str, place: (&Dir, &str)) -> io::Result<()> {
        let upload = self.root().open_dir(format!("{FOLDER}/{id}"))?;
        move_tree(&upload, &upload.open_dir(TREE)?, place)
    }

    /// Removes what is left of an upload that was moved to its place.
    pub(super) fn forget_resumable(&self, id: &str) {
        if let Err(error) = self.root().remove_dir_all(format!("{FOLDER}/{id}"))
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "the rest of an upload could not be removed");
        }
        lock(&self.uploads().0).remove(id);
    }
}

impl ResumableUpload {
    fn of(info: UploadInfo, dir: Dir, state: State) -> io::Result<Self> {
        let (tree, parts, state) = (dir.open_dir(TREE)?, dir.open_dir(PARTS)?, Mutex::new(state));
        Ok(Self { shared: Arc::new(Shared { info, dir, tree, parts, state, limits: LIMITS }) })
    }

    pub fn info(&self) -> &UploadInfo {
        &self.shared.info
    }

    pub fn arrived(&self) -> ArrivedCount {
        self.state().arrived
    }

    /// Returns when the upload expires unless something arrives, in Unix seconds.
    pub fn expires_at(&self) -> f64 {
        self.used_at() + UPLOAD_LIFE
    }

    /// Returns up to `most` files that have arrived, sorted by path, after the path `after`; and whether there are more.
    ///
    /// # Errors
    /// Returns an error if a folder cannot be read.
    pub fn files(&self, after: Option<&str>, most: usize) -> Result<(Vec<ArrivedFile>, bool), StoreError> {
        let mut all = Vec::new();
        collect(&self.shared.tree, "", &mut all).map_err(StoreError::io("listing what has arrived"))?;
        all.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let start = after.map_or(0, |after| all.partition_point(|file| file.path.as_str() <= after));
        let has_more = all.len() - start > most;
        let page = all.split_off(start);
        Ok((page.into_iter().take(most).collect(), has_more))
    }

    /// Removes a file that has arrived; the person has deleted it meanwhile.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if there is no such file.
    pub fn remove(&self, path: &RelPath) -> Result<(), StoreError> {
        let mut state = self.state();
        self.check_open(&state)?;
        let doing = || StoreError::io(path.to_string());
        let meta = self.shared.tree.symlink_metadata(path.as_str()).map_err(doing())?;
        if !meta.is_file() {
            return Err(StoreError::NotAllowed { path: path.to_string(), why: "it is a folder" });
        }
        self.shared.tree.remove_file(path.as_str()).map_err(doing())?;
        state.arrived.files -= 1;
        state.arrived.bytes -= meta.len();
        let mut above = path.as_str();
        while let Some((folder, _)) = above.rsplit_once('/') {
            if self.shared.tree.remove_dir(folder).is_err() {
                break;
            }
            state.folders -= 1;
            above = folder;
        }
        Ok(())
    }

    /// Closes the upload if exactly this much has arrived, so that nothing more arrives.
    ///
    /// # Errors
    /// Returns [`StoreError::Incomplete`] if something else has arrived, and [`StoreError::NoUpload`] if it is closed already.
    pub(super) fn close(&self, expected: Option<ArrivedCount>) -> Result<(), StoreError> {
        let mut state = self.state();
        self.check_open(&state)?;
        let arrived = state.arrived;
        if arrived.files == 0 || expected.is_some_and(|expected| expected != arrived) {
            return Err(StoreError::Incomplete { files: arrived.files, bytes: arrived.bytes });
        }
        state.is_closed = true;
        Ok(())
    }

    /// Opens an upload again that could not be committed.
    pub(super) fn open_again(&self) {
        self.state().is_closed = false;
    }

    /// Returns the name of the folder that all files lie in; `None` if there is none.
    pub fn top(&self) -> Option<String> {
        top_of(&self.shared.tree)
    }

    /// Writes all files to the disk. One sync for all of them: they are many.
    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(self.shared.tree.open(".")?)?)
    }

    /// Moves what has arrived to `name` in `target`, without the folder that all files lie in.
    pub(super) fn move_to(&self, target: &Dir, name: &str) -> io::Result<()> {
        move_tree(&self.shared.dir, &self.shared.tree, (target, name))
    }

    /// Returns whether it can give way to another upload.
    fn is_idle(&self) -> bool {
        let state = self.state();
        !state.is_closed && state.arriving == 0 && state.used_at < clock::now() - IDLE
    }

    fn used_at(&self) -> f64 {
        self.state().used_at
    }

    fn is_expired(&self) -> bool {
        self.used_at() < clock::now() - UPLOAD_LIFE
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        lock(&self.shared.state)
    }

    fn check_open(&self, state: &State) -> Result<(), StoreError> {
        if state.is_closed { Err(self.gone()) } else { Ok(()) }
    }

    fn gone(&self) -> StoreError {
        StoreError::NoUpload { id: self.info().id.clone() }
    }

    /// An upload that is cancelled loses its folders.
    fn gone_or(&self, error: io::Error, path: &RelPath) -> StoreError {
        match error.kind() {
            io::ErrorKind::NotFound if self.state().is_closed => self.gone(),
            _ => StoreError::io(format!("writing {path}"))(error),
        }
    }
}

/// Returns the name of the folder that all files of a tree lie in; `None` if there is none.
fn top_of(tree: &Dir) -> Option<String> {
    let mut entries = tree.entries().ok()?;
    let (only, next) = (entries.next()?.ok()?, entries.next());
    let is_folder = only.file_type().is_ok_and(|kind| kind.is_dir());
    if is_folder && next.is_none() { only.file_name().into_string().ok() } else { None }
}

fn move_tree(upload: &Dir, tree: &Dir, (target, name): (&Dir, &str)) -> io::Result<()> {
    match top_of(tree) {
        Some(top) => tree.rename(top, target, name),
        None => upload.rename(TREE, target, name),
    }
}

fn count(dir: &Dir, depth: usize, counted: &mut State) -> io::Result<()> {
    for entry in dir.entries()? {
        let entry = entry?;
        if entry.file_type()?.is_dir() && depth < MAX_DEPTH {
            counted.folders += 1;
            count(&entry.open_dir()?, depth + 1, counted)?;
        } else {
            counted.arrived.files += 1;
            counted.arrived.bytes += entry.metadata()?.len();
        }
    }
    Ok(())
}

fn collect(dir: &Dir, folder: &str, into: &mut Vec<ArrivedFile>) -> io::Result<()> {
    for entry in dir.entries()? {
        let entry = entry?;
        // Only paths that were parsed are in the tree.
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        let meta = entry.metadata()?;
        if meta.is_dir() {
            collect(&entry.open_dir()?, &path, into)?;
        } else {
            let modified = meta.mtime() * 1000 + meta.mtime_nsec() / 1_000_000;
            into.push(ArrivedFile { path, size: meta.len(), modified });
        }
    }
    Ok(())
}
