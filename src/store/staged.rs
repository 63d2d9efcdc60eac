//! Files that people upload into a project: written apart as they arrive, then put in their place whole.

use std::fs::File;
use std::io::{self, Write};

use cap_std::fs::{Dir, OpenOptions};
use sha2::{Digest, Sha256};

use super::error::StoreError;
use super::home::Home;
use super::uploads::{FOLDER, LIMITS};
use crate::clock;

/// A file that is arriving. Dropping it discards what has arrived, unless it was put in its place.
pub struct StagedFile {
    home: Home,
    name: String,
    file: File,
    hash: Sha256,
    bytes: u64,
}

impl Home {
    /// Begins a file.
    ///
    /// # Errors
    /// Returns an error if it cannot be created.
    pub fn stage(&self) -> Result<StagedFile, StoreError> {
        let doing = || StoreError::io("preparing an upload");
        self.root().create_dir_all(FOLDER).map_err(doing())?;
        let name = format!("{}.file", clock::new_id());
        let mut options = OpenOptions::new();
        let file = self.root().open_with(format!("{FOLDER}/{name}"), options.write(true).create_new(true));
        let file = file.map_err(doing())?.into_std();
        Ok(StagedFile { home: self.clone(), name, file, hash: Sha256::new(), bytes: 0 })
    }
}

impl StagedFile {
    /// Adds bytes.
    ///
    /// # Errors
    /// Returns [`StoreError::TooLarge`] for more than 1 GiB, and [`StoreError::DiskFull`].
    pub fn add(&mut self, more: &[u8]) -> Result<(), StoreError> {
        self.bytes += more.len() as u64;
        if self.bytes > LIMITS.bytes {
            return Err(StoreError::TooLarge { path: "this file".to_owned(), size: self.bytes, limit: LIMITS.bytes });
        }
        self.hash.update(more);
        self.file.write_all(more).map_err(StoreError::io("writing an upload"))
    }

    /// Returns the hash of what has arrived, as that of a file ([`super::etag`]).
    pub fn etag(&self) -> String {
        base16ct::lower::encode_string(&self.hash.clone().finalize()[..16])
    }

    /// Returns the file, whose content is on the disk.
    pub(super) fn synced(&self) -> io::Result<&File> {
        self.file.sync_all().map(|()| &self.file)
    }

    /// Returns where the file is.
    pub(super) fn place(&self) -> io::Result<(Dir, String)> {
        Ok((self.home.root().open_dir(FOLDER)?, self.name.clone()))
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        // It is gone if it is in its place.
        let _ = self.home.root().remove_file(format!("{FOLDER}/{}", self.name));
    }
}
