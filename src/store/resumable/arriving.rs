//! A file of a resumable upload while it arrives.

use std::fs::{File, FileTimes};
use std::io::{self, Write};
use std::time::{Duration, UNIX_EPOCH};

use cap_std::fs::OpenOptions;

use super::{ABOUT, ResumableUpload, Shared};
use crate::clock;
use crate::domain::RelPath;
use crate::store::error::StoreError;
use crate::store::project_folder::make_folders;
use crate::store::uploads::MAX_DEPTH;

/// A file that is arriving. Dropping it discards what has arrived of it.
pub struct ArrivingFile {
    upload: ResumableUpload,
    path: RelPath,
    /// Unix milliseconds.
    modified: Option<i64>,
    part: String,
    file: File,
    bytes: u64,
    /// Bytes of the file that it will replace.
    replaces: u64,
}

impl ResumableUpload {
    /// Begins a file. One with the same path that has arrived before is replaced when this one has arrived whole.
    ///
    /// # Errors
    /// Returns [`StoreError::TooLarge`] for more than 100,000 entries, and [`StoreError::NoUpload`] if the upload is
    /// committed or cancelled.
    pub fn begin(&self, path: RelPath, modified: Option<i64>) -> Result<ArrivingFile, StoreError> {
        if path.as_str().split('/').count() > MAX_DEPTH {
            return Err(StoreError::NotAllowed { path: path.to_string(), why: "it is too deep" });
        }
        self.check_open(&self.state())?;
        let part = clock::new_id();
        let created = self.shared.parts.open_with(&part, OpenOptions::new().write(true).create_new(true));
        let file = created.map_err(|error| self.gone_or(error, &path))?.into_std();
        let replaces = self.shared.tree.symlink_metadata(path.as_str()).map_or(0, |meta| meta.len());
        Ok(ArrivingFile { upload: self.clone(), path, modified, part, file, bytes: 0, replaces })
    }
}

impl ArrivingFile {
    /// Adds bytes.
    ///
    /// # Errors
    /// Returns [`StoreError::TooLarge`] if all files of the upload together have more than 1 GiB, and
    /// [`StoreError::DiskFull`].
    pub fn add(&mut self, more: &[u8]) -> Result<(), StoreError> {
        {
            let mut state = self.upload.state();
            self.upload.check_open(&state)?;
            state.arriving += more.len() as u64;
            self.bytes += more.len() as u64;
            let all = (state.arrived.bytes + state.arriving).saturating_sub(self.replaces);
            let limit = self.upload.shared.limits.bytes;
            if all > limit {
                return Err(StoreError::TooLarge { path: "this folder".to_owned(), size: all, limit });
            }
        }
        self.file.write_all(more).map_err(StoreError::io(format!("writing {}", self.path)))
    }

    /// Puts the file in its place: it has arrived whole.
    ///
    /// # Errors
    /// Returns [`StoreError::Exists`] if a folder has this path, or a file that of a folder above it.
    pub fn finish(self) -> Result<(), StoreError> {
        let doing = || StoreError::io(format!("writing {}", self.path));
        if let Some(at) = self.modified.and_then(|modified| u64::try_from(modified).ok()) {
            let at = UNIX_EPOCH.checked_add(Duration::from_millis(at));
            let times = at.map(|at| FileTimes::new().set_modified(at));
            // A time that the file system cannot have is of no use.
            let _ = times.map(|times| self.file.set_times(times));
        }
        let Shared { dir, tree, parts, limits, .. } = &*self.upload.shared;
        let mut state = self.upload.state();
        self.upload.check_open(&state)?;
        let exists = || StoreError::Exists { path: self.path.to_string() };
        if let Some((above, _)) = self.path.as_str().rsplit_once('/') {
            let made = make_folders(tree, above).map_err(|error| match error.kind() {
                io::ErrorKind::NotADirectory => exists(),
                _ => doing()(error),
            })?;
            state.folders += made;
        }
        let replaced = match tree.symlink_metadata(self.path.as_str()) {
            Ok(meta) if meta.is_dir() => return Err(exists()),
            Ok(meta) => Some(meta.len()),
            Err(_) => None,
        };
        let entries = state.arrived.files + state.folders + u64::from(replaced.is_none());
        if entries > limits.files {
            return Err(StoreError::TooManyFiles { count: entries, limit: limits.files });
        }
        let bytes = state.arrived.bytes - replaced.unwrap_or(0) + self.bytes;
        if bytes > limits.bytes {
            return Err(StoreError::TooLarge { path: "this folder".to_owned(), size: bytes, limit: limits.bytes });
        }
        parts.rename(&self.part, tree, self.path.as_str()).map_err(doing())?;
        state.arrived.bytes = bytes;
        state.arrived.files += u64::from(replaced.is_none());
        let now = clock::now();
        // The time of this file tells a later server when something arrived last.
        if now - state.used_at > 1.0 {
            state.used_at = now;
            if let Ok(about) = dir.open_with(ABOUT, OpenOptions::new().write(true)) {
                let _ = about.into_std().set_modified(UNIX_EPOCH + Duration::from_secs_f64(now));
            }
        }
        Ok(())
    }
}

impl Drop for ArrivingFile {
    fn drop(&mut self) {
        self.upload.state().arriving -= self.bytes;
        // It is gone if it has arrived.
        let _ = self.upload.shared.parts.remove_file(&self.part);
    }
}
