//! Folders that people upload as projects. Their files are written to `storage/uploads/{id}` and become a project when all of
//! them have arrived: an upload that is cut off leaves nothing behind.

use std::fs::File;
use std::io::{self, Write};

use cap_std::fs::{Dir, OpenOptions};

use super::error::StoreError;
use super::home::Home;
use super::project_folder::make_folders;
use crate::clock;
use crate::domain::RelPath;

const FOLDER: &str = "storage/uploads";
/// Maximum number of files and bytes of an upload.
const MAX_FILES: u64 = 100_000;
const MAX_BYTES: u64 = 1 << 30;

/// A folder that is arriving. Dropping it discards what has arrived.
pub struct Upload {
    home: Home,
    id: String,
    dir: Dir,
    now: Option<Arriving>,
    files: u64,
    bytes: u64,
    /// The first name of all paths; empty if they differ, or if a file lies at the top.
    top: Option<String>,
}

/// The file that is arriving.
struct Arriving {
    path: RelPath,
    file: File,
}

impl Home {
    /// Begins an upload.
    ///
    /// # Errors
    /// Returns an error if its folder cannot be created.
    pub(super) fn new_upload(&self) -> Result<Upload, StoreError> {
        let doing = || StoreError::io("preparing an upload");
        let id = clock::new_id();
        self.root().create_dir_all(format!("{FOLDER}/{id}")).map_err(doing())?;
        let dir = self.root().open_dir(format!("{FOLDER}/{id}")).map_err(doing())?;
        Ok(Upload { home: self.clone(), id, dir, now: None, files: 0, bytes: 0, top: None })
    }

    /// Removes what uploads have left that a server did not live to see.
    pub(super) fn remove_uploads(&self) {
        if let Err(error) = self.root().remove_dir_all(FOLDER)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "what an interrupted upload left could not be removed");
        }
    }
}

impl Upload {
    /// Begins the next file. Its folders are created.
    ///
    /// # Errors
    /// Returns [`StoreError::Exists`] if a file with this path has arrived before, and [`StoreError::TooLarge`] for more than
    /// 100,000 files.
    pub fn begin(&mut self, path: RelPath) -> Result<(), StoreError> {
        let doing = || StoreError::io(format!("writing {path}"));
        self.files += 1;
        if self.files > MAX_FILES {
            let path = "the number of files of this folder".to_owned();
            return Err(StoreError::TooLarge { path, size: self.files, limit: MAX_FILES });
        }
        self.now = None;
        let (above, name) = path.as_str().rsplit_once('/').unwrap_or(("", path.as_str()));
        let blocked = |error: io::Error| match error.kind() {
            // A file with the path of its folder has arrived.
            io::ErrorKind::NotADirectory => StoreError::Exists { path: above.to_owned() },
            _ => doing()(error),
        };
        make_folders(&self.dir, above).map_err(blocked)?;
        let folder = if above.is_empty() { self.dir.try_clone() } else { self.dir.open_dir(above) }.map_err(doing())?;
        let created = folder.open_with(name, OpenOptions::new().write(true).create_new(true));
        let file = created.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => StoreError::Exists { path: path.to_string() },
            _ => doing()(error),
        })?;
        let top = if above.is_empty() { "" } else { path.first_name() };
        match &self.top {
            None => self.top = Some(top.to_owned()),
            Some(known) if known == top => {}
            Some(_) => self.top = Some(String::new()),
        }
        self.now = Some(Arriving { path, file: file.into_std() });
        Ok(())
    }

    /// Adds bytes to the file that was begun last.
    ///
    /// # Errors
    /// Returns [`StoreError::TooLarge`] if all files together have more than 1 GiB, and [`StoreError::DiskFull`].
    pub fn add(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let Some(Arriving { path, file }) = &mut self.now else { return Ok(()) };
        self.bytes += bytes.len() as u64;
        if self.bytes > MAX_BYTES {
            let path = "this folder".to_owned();
            return Err(StoreError::TooLarge { path, size: self.bytes, limit: MAX_BYTES });
        }
        file.write_all(bytes).map_err(StoreError::io(format!("writing {path}")))
    }

    /// Returns the name of the folder that all files lie in; `None` if there is none.
    pub fn top(&self) -> Option<&str> {
        self.top.as_deref().filter(|top| !top.is_empty())
    }

    pub fn is_empty(&self) -> bool {
        self.files == 0
    }

    /// Moves what has arrived to `name` in `target`, without the folder that all files lie in.
    pub(super) fn move_to(mut self, target: &Dir, name: &str) -> io::Result<()> {
        self.now = None;
        // One sync for all files: they are many.
        rustix::fs::syncfs(self.dir.open(".")?)?;
        match self.top() {
            Some(top) => self.dir.rename(top, target, name),
            None => self.home.root().rename(format!("{FOLDER}/{}", self.id), target, name),
        }
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        // Best effort: the next start removes what remains.
        let _ = self.home.root().remove_dir_all(format!("{FOLDER}/{}", self.id));
    }
}
