//! Folders that people upload as projects, file by file or as archives. Their files are written to `storage/uploads/{id}` and
//! become a project when all of them have arrived: an upload that is cut off leaves nothing behind.

use std::fs::File;
use std::io::{self, Seek, Write};

use cap_std::fs::{Dir, OpenOptions};
use rustix::fs::{Mode, fchmod};

use super::archives::{self, ArchiveKind, ArchivedLink};
use super::error::StoreError;
use super::home::Home;
use super::project_folder::make_folders;
use crate::clock;
use crate::domain::RelPath;

pub(super) const FOLDER: &str = "storage/uploads";
/// Maximum depth of folders.
pub(super) const MAX_DEPTH: usize = 64;
/// Maximum number of files, folders included, and bytes of an upload.
pub(super) const LIMITS: Limits = Limits { files: 100_000, bytes: 1 << 30 };

#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub files: u64,
    pub bytes: u64,
}

/// A folder that is arriving. Dropping it discards what has arrived.
pub struct Upload {
    home: Home,
    id: String,
    dir: Dir,
    now: Option<Arriving>,
    files: u64,
    bytes: u64,
    pub(super) limits: Limits,
    /// The first name of all paths; empty if they differ, or if a file lies at the top.
    top: Option<String>,
}

/// What is arriving.
enum Arriving {
    File {
        path: RelPath,
        file: File,
    },
    /// An archive, in a file without a name.
    Archive {
        kind: ArchiveKind,
        file: File,
        bytes: u64,
    },
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
        Ok(Upload { home: self.clone(), id, dir, now: None, files: 0, bytes: 0, limits: LIMITS, top: None })
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
        self.now = None;
        let folder = self.folder_of(&path)?;
        let name = path.file_name();
        let created = folder.open_with(name, OpenOptions::new().write(true).create_new(true));
        let file = created.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => StoreError::Exists { path: path.to_string() },
            _ => doing()(error),
        })?;
        let is_at_top = !path.as_str().contains('/');
        self.note_top(if is_at_top { "" } else { path.first_name() });
        self.now = Some(Arriving::File { path, file: file.into_std() });
        Ok(())
    }

    /// Counts an entry, and returns its folder, which is created.
    fn folder_of(&mut self, path: &RelPath) -> Result<Dir, StoreError> {
        let doing = || StoreError::io(format!("writing {path}"));
        self.count_entries(1)?;
        let above = path.as_str().rsplit_once('/').map_or("", |(above, _)| above);
        self.make_folders(above)?;
        if above.is_empty() { self.dir.try_clone() } else { self.dir.open_dir(above) }.map_err(doing())
    }

    /// Makes a folder and those above it, and counts them.
    fn make_folders(&mut self, path: &str) -> Result<(), StoreError> {
        if path.split('/').count() > MAX_DEPTH {
            return Err(StoreError::NotAllowed { path: path.to_owned(), why: "it is too deep" });
        }
        let made = make_folders(&self.dir, path).map_err(|error| match error.kind() {
            // A file with the path of a folder has arrived.
            io::ErrorKind::NotADirectory => StoreError::Exists { path: path.to_owned() },
            _ => StoreError::io(format!("creating {path}"))(error),
        })?;
        self.count_entries(made)
    }

    /// Counts files and folders, and what an archive has besides.
    pub(super) fn count_entries(&mut self, more: u64) -> Result<(), StoreError> {
        self.files += more;
        if self.files > self.limits.files {
            return Err(StoreError::TooManyFiles { count: self.files, limit: self.limits.files });
        }
        Ok(())
    }

    /// Notes the first name of a path, which is empty for a file at the top.
    fn note_top(&mut self, top: &str) {
        match &self.top {
            None => self.top = Some(top.to_owned()),
            Some(known) if known == top => {}
            Some(_) => self.top = Some(String::new()),
        }
    }

    /// Makes a folder that may be empty.
    pub(super) fn make_folder(&mut self, path: &RelPath) -> Result<(), StoreError> {
        self.count_entries(1)?;
        self.note_top(path.first_name());
        self.make_folders(path.as_str())
    }

    /// Makes a symbolic link.
    pub(super) fn link(&mut self, link: &ArchivedLink) -> Result<(), StoreError> {
        let ArchivedLink { path, target } = link;
        let made = self.folder_of(path)?.symlink(target, path.file_name());
        self.note_top(if path.as_str().contains('/') { path.first_name() } else { "" });
        made.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => StoreError::Exists { path: path.to_string() },
            _ => StoreError::io(format!("creating {path}"))(error),
        })
    }

    /// Returns whether a link that was made leads to a place in the folder that will be the project's, or to nothing.
    pub(super) fn stays_inside(&self, link: &RelPath) -> bool {
        let (root, inner) = match self.top() {
            Some(top) => {
                (self.dir.open_dir(top), link.as_str().strip_prefix(top).map(|path| path.trim_start_matches('/')))
            }
            None => (self.dir.try_clone(), Some(link.as_str())),
        };
        let (Ok(root), Some(inner)) = (root, inner) else { return false };
        match root.metadata(inner) {
            Ok(_) => true,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    /// Makes the file that was begun last executable.
    pub(super) fn make_executable(&mut self) -> Result<(), StoreError> {
        let Some(Arriving::File { path, file }) = &self.now else { return Ok(()) };
        let mode = Mode::RWXU | Mode::RGRP | Mode::XGRP | Mode::ROTH | Mode::XOTH;
        fchmod(file, mode).map_err(|error| StoreError::io(format!("writing {path}"))(error.into()))
    }

    /// Begins an archive; [`Self::unpack`] unpacks it when it has arrived.
    ///
    /// # Errors
    /// Returns an error if its file cannot be created.
    pub fn begin_archive(&mut self, kind: ArchiveKind) -> Result<(), StoreError> {
        let doing = || StoreError::io("writing an archive");
        let name = format!("{FOLDER}/{}.archive", self.id);
        let mut options = OpenOptions::new();
        let file =
            self.home.root().open_with(&name, options.read(true).write(true).create_new(true)).map_err(doing())?;
        self.home.root().remove_file(&name).map_err(doing())?;
        self.now = Some(Arriving::Archive { kind, file: file.into_std(), bytes: 0 });
        Ok(())
    }

    /// Unpacks the archive that was begun last, if there is one.
    ///
    /// # Errors
    /// Returns [`StoreError::BadArchive`] if it cannot be unpacked, [`StoreError::Exists`] if it has two entries with the same
    /// path, and [`StoreError::TooLarge`] as for single files.
    pub fn unpack(&mut self) -> Result<(), StoreError> {
        let Some(Arriving::Archive { kind, mut file, .. }) = self.now.take() else { return Ok(()) };
        file.rewind().map_err(StoreError::io("reading an archive"))?;
        archives::unpack(kind, file, self)
    }

    /// Adds bytes to the file or archive that was begun last.
    ///
    /// # Errors
    /// Returns [`StoreError::TooLarge`] if all files together have more than 1 GiB, or an archive has, and
    /// [`StoreError::DiskFull`].
    pub fn add(&mut self, more: &[u8]) -> Result<(), StoreError> {
        let (file, bytes, what) = match &mut self.now {
            Some(Arriving::File { path, file }) => (file, &mut self.bytes, path.as_str()),
            Some(Arriving::Archive { file, bytes, .. }) => (file, bytes, "an archive"),
            None => return Ok(()),
        };
        *bytes += more.len() as u64;
        if *bytes > self.limits.bytes {
            return Err(StoreError::TooLarge {
                path: "this folder".to_owned(),
                size: *bytes,
                limit: self.limits.bytes,
            });
        }
        file.write_all(more).map_err(StoreError::io(format!("writing {what}")))
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
