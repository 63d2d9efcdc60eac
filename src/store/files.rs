//! Files that people edit, such as Markdown, in the four folders. A file is replaced only if it is what the editor expects.

use std::io::Read;
use std::time::UNIX_EPOCH;

use cap_std::fs::{Dir, File, Metadata, OpenOptions, OpenOptionsExt, PermissionsExt};
use sha2::{Digest, Sha256};

use super::atomic;
use super::blobs;
use super::changes::{FileMode, FileState};
use super::error::StoreError;
use super::home::Home;
use super::listing::{FileEntry, FolderScan};
use super::project_folder::make_folders;
use super::tree::{TreeChange, TreePath};
use crate::domain::{Place, Root};

/// Maximum size in bytes of a file that the editor or a tool reads or writes as a whole.
pub(super) const MAX_BYTES: u64 = 10 << 20;

/// A text file as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct TextFile {
    pub content: String,
    /// Hash of the content, to be sent back with a save.
    pub etag: String,
    pub mode: FileMode,
}

/// A file that is open for reading.
#[derive(Debug)]
pub struct OpenedFile {
    pub file: std::fs::File,
    /// In bytes.
    pub size: u64,
    /// Unix seconds.
    pub modified: f64,
}

/// What a save expects to find.
#[derive(Clone, Debug, PartialEq)]
pub enum Expect {
    Anything,
    /// A file whose content has this hash.
    Etag(String),
    /// No file.
    Absent,
}

impl Home {
    /// Reads any file of the home that the caller may see, as bytes. For the parts of the prompt and for tools.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if there is no such file, [`StoreError::NotAllowed`] for a link that leads out of
    /// the root and for anything that is not a regular file, and [`StoreError::TooLarge`] for a file over 10 MiB.
    pub fn read_bytes(&self, path: &Place) -> Result<Vec<u8>, StoreError> {
        read_whole(self.open_regular(path)?, path)
    }

    /// Opens a file of the home that the caller may see to read parts of it, whatever its size.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if there is no such file, and [`StoreError::NotAllowed`] as [`Home::read_bytes`]
    /// does.
    pub fn open_file(&self, path: &Place) -> Result<OpenedFile, StoreError> {
        let file = self.open_regular(path)?;
        let meta = file.metadata().map_err(StoreError::io(format!("reading {path}")))?;
        let modified = meta.modified().ok().and_then(|time| time.into_std().duration_since(UNIX_EPOCH).ok());
        let modified = modified.map_or(0.0, |since| since.as_secs_f64());
        Ok(OpenedFile { size: meta.len(), modified, file: file.into_std() })
    }

    /// Opens a file of the home that the caller may see, whatever its size.
    pub(super) fn open_regular(&self, path: &Place) -> Result<File, StoreError> {
        let (folder, rest) = self.folder(path)?;
        if *path.root() == Root::Snapshot && folder.symlink_metadata(rest).is_ok_and(|meta| meta.is_symlink()) {
            return Err(StoreError::NotAllowed { path: path.to_string(), why: "it is a link" });
        }
        open_regular_in(&folder, (rest, path)).map(|(file, _)| file)
    }

    /// Whether an entry of that name exists, including dangling links and files that cannot be read.
    pub fn has_entry(&self, path: &Place) -> bool {
        self.folder(path).is_ok_and(|(folder, rest)| folder.symlink_metadata(rest).is_ok())
    }

    /// Reads a text file with its hash.
    ///
    /// # Errors
    /// Returns the errors of [`Home::read_bytes`], and [`StoreError::NotText`] if the file is not UTF-8.
    pub fn read_text(&self, path: &Place) -> Result<TextFile, StoreError> {
        let FileState { bytes, mode } = self.read_state(path)?;
        let etag = etag(&bytes);
        match String::from_utf8(bytes) {
            Ok(content) => Ok(TextFile { content, etag, mode }),
            Err(bad) => Err(StoreError::NotText { path: path.to_string(), at: bad.utf8_error().valid_up_to() }),
        }
    }

    /// Reads a file and its mode; `None` if there is no such file.
    ///
    /// # Errors
    /// Returns the errors of [`Home::read_bytes`], except [`StoreError::NotFound`].
    pub fn file_state(&self, path: &Place) -> Result<Option<FileState>, StoreError> {
        match self.read_state(path) {
            Err(StoreError::NotFound { .. }) => Ok(None),
            state => state.map(Some),
        }
    }

    fn read_state(&self, path: &Place) -> Result<FileState, StoreError> {
        let file = self.open_regular(path)?;
        let meta = file.metadata().map_err(StoreError::io(format!("reading {path}")))?;
        let mode = FileMode::of(meta.permissions().mode());
        Ok(FileState { bytes: read_whole(file, path)?, mode })
    }

    /// Applies all changes or none: compares every file first, and rolls back the earlier writes if one fails. Creates
    /// missing folders.
    pub(super) fn commit(&self, changes: &[TreeChange]) -> Result<(), StoreError> {
        let _one_writer = self.edit_lock();
        for change in changes {
            let size = change.to.as_ref().map_or(0, |to| to.len() as u64);
            if size > MAX_BYTES && matches!(change.path, TreePath::Place(_)) {
                return Err(StoreError::TooLarge { path: change.path.to_string(), size, limit: MAX_BYTES });
            }
        }
        // A single file is compared below, right before it is written.
        if changes.len() > 1 {
            changes.iter().try_for_each(|change| self.expected(change).map(drop))?;
        }
        let mut made = Vec::new();
        for change in changes {
            let written = self.expected(change).and_then(|before| {
                self.make(change)?;
                Ok(TreeChange { expect: Expect::Anything, ..TreeChange::to_state(change.path.clone(), before) })
            });
            match written {
                Ok(back) => made.push(back),
                Err(error) => {
                    self.put_back(made);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Returns the current file if it is what the change expects.
    fn expected(&self, TreeChange { path, expect, to, .. }: &TreeChange) -> Result<Option<FileState>, StoreError> {
        let current = match path {
            TreePath::Place(path) => self.file_state(path)?,
            TreePath::Settings(file) => {
                let (bytes, _) = self.settings_bytes(*file)?;
                bytes.map(|bytes| FileState { bytes, mode: FileMode::Regular })
            }
        };
        if current.is_none() && to.is_none() {
            return Err(StoreError::NotFound { what: path.to_string() });
        }
        let hash = current.as_ref().map(|file| etag(&file.bytes));
        let fits = match expect {
            Expect::Anything => true,
            Expect::Etag(seen) => hash.as_ref() == Some(seen),
            Expect::Absent => hash.is_none(),
        };
        if !fits {
            return Err(StoreError::Conflict { path: path.to_string(), etag: hash });
        }
        Ok(current)
    }

    fn make(&self, TreeChange { path, to, mode, .. }: &TreeChange) -> Result<(), StoreError> {
        match (path, to) {
            (TreePath::Place(path), Some(bytes)) => self.replace(path, bytes, *mode),
            (TreePath::Place(path), None) => self.remove(path),
            (TreePath::Settings(file), to) => self.replace_settings(*file, to.as_deref()),
        }
    }

    fn put_back(&self, made: Vec<TreeChange>) {
        for change in made.iter().rev() {
            if let Err(error) = self.make(change) {
                tracing::error!(path = %change.path, %error, "a file of a failed change could not be put back");
            }
        }
    }

    fn remove(&self, path: &Place) -> Result<(), StoreError> {
        let (folder, rest) = self.folder(path)?;
        let parent = match rest.rsplit_once('/') {
            None => folder,
            Some((above, _)) => folder.open_dir(above).map_err(|e| escape_or(path, e))?,
        };
        parent.remove_file(path.file_name()).map_err(|e| escape_or(path, e))?;
        atomic::sync_dir(&parent).map_err(StoreError::io(format!("deleting {path}")))
    }

    /// Writes the list of skills for people and programs that read the home. It can be rebuilt from the skills at any time.
    ///
    /// # Errors
    /// Returns an error if the list cannot be written.
    pub fn write_skills_snapshot(&self, snapshot: &str) -> Result<(), StoreError> {
        let path = Place::of_root(Root::Snapshot);
        let _one_writer = self.edit_lock();
        match self.read_text(&path) {
            Ok(current) if current.content == snapshot => Ok(()),
            _ => self.replace(&path, snapshot.as_bytes(), None),
        }
    }

    /// Returns the hash that [`Home::read_text`] returns, also for a file that is not text.
    pub fn hash(&self, path: &Place) -> Result<String, StoreError> {
        etag_of(self.open_regular(path)?).map_err(StoreError::io(format!("reading {path}")))
    }

    /// Returns the modification time of a file in Unix seconds; `None` if it cannot be determined.
    pub fn modified(&self, path: &Place) -> Option<f64> {
        let (folder, rest) = self.folder(path).ok()?;
        let modified = folder.metadata(rest).ok()?.modified().ok()?.into_std();
        Some(modified.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs_f64())
    }

    /// Lists all files below a root, sorted by path. Omits hidden files and folders.
    ///
    /// # Errors
    /// Returns an error if the folder, or a subfolder that can be opened, cannot be read.
    pub fn list(&self, root: &Root) -> Result<Vec<FileEntry>, StoreError> {
        let mut scan = FolderScan::default();
        self.rescan(root, &mut scan)?;
        Ok(scan.files())
    }

    /// Rescans a root, and returns whether anything in it may have changed since the last scan.
    ///
    /// # Errors
    /// Returns the errors of [`Home::list`]. The next scan then reports a change.
    pub fn rescan(&self, root: &Root, scan: &mut FolderScan) -> Result<bool, StoreError> {
        let dir = self.open_root(root, StoreError::io(format!("folder {root}/")))?;
        scan.rescan(&dir, &Place::of_root(root.clone())).map_err(|error| {
            scan.reset();
            StoreError::io(format!("listing {root}/"))(error)
        })
    }

    /// Returns the handle relative to which a path is opened, and the rest of the path. A file is opened relative to the
    /// folder of its root, so that no symlink in it leads to `.env` or another internal file of the home.
    fn folder<'p>(&self, path: &'p Place) -> Result<(Dir, &'p str), StoreError> {
        if *path.root() == Root::Snapshot {
            return Ok((self.root().try_clone().map_err(StoreError::io("opening the home"))?, path.as_str()));
        }
        Ok((self.open_root(path.root(), |error| escape_or(path, error))?, path.path()))
    }

    fn replace(&self, path: &Place, bytes: &[u8], mode: Option<FileMode>) -> Result<(), StoreError> {
        let (folder, rest) = self.folder(path)?;
        let parent = match rest.rsplit_once('/') {
            None => folder,
            Some((above, _)) => {
                make_folders(&folder, above).map_err(|e| escape_or(path, e))?;
                folder.open_dir(above).map_err(|e| escape_or(path, e))?
            }
        };
        let now = match parent.metadata(path.file_name()) {
            Ok(meta) if meta.is_dir() => {
                return Err(StoreError::NotAllowed { path: path.to_string(), why: "it is a folder" });
            }
            // Replacing it would leave the file that it leads to as it is.
            _ if matches!(path.root(), Root::Project(_)) && is_link(&parent, path.file_name()) => {
                return Err(StoreError::NotAllowed { path: path.to_string(), why: "it is a link" });
            }
            Ok(meta) => meta.permissions().mode() & 0o777,
            Err(_) => 0o644,
        };
        let mode = mode.map_or(now, |mode| mode.applied_to(now));
        atomic::replace_with_mode(&parent, path.file_name(), bytes, mode)
            .map_err(StoreError::io(format!("saving {path}")))
    }
}

fn is_link(folder: &Dir, name: &str) -> bool {
    folder.symlink_metadata(name).is_ok_and(|meta| meta.is_symlink())
}

/// Converts an I/O error of a path. `cap-std` returns "permission denied" without an OS error if a path leads out of the
/// root.
pub(super) fn escape_or(path: &Place, error: std::io::Error) -> StoreError {
    if error.kind() == std::io::ErrorKind::PermissionDenied && error.raw_os_error().is_none() {
        return StoreError::NotAllowed { path: path.to_string(), why: "it leads out of the home" };
    }
    if error.raw_os_error() == Some(libc::EXDEV) {
        return StoreError::NotAllowed { path: path.to_string(), why: "it leads out of the home" };
    }
    StoreError::io(path.to_string())(error)
}

fn read_whole(file: File, path: &Place) -> Result<Vec<u8>, StoreError> {
    let doing = || format!("reading {path}");
    let meta = file.metadata().map_err(StoreError::io(doing()))?;
    let too_large = |size| StoreError::TooLarge { path: path.to_string(), size, limit: MAX_BYTES };
    if meta.len() > MAX_BYTES {
        return Err(too_large(meta.len()));
    }
    let mut bytes = Vec::with_capacity(meta.len() as usize);
    // The file may grow while it is read.
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(StoreError::io(doing()))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}

/// Returns the [`etag`] of what can be read from a file, whatever its size.
pub(super) fn etag_of(file: File) -> std::io::Result<String> {
    let mut hash = blobs::hash_of(file.into_std())?.hash;
    hash.truncate(32);
    Ok(hash)
}

/// Returns the first 128 bits of the SHA-256 in hexadecimal.
pub fn etag(bytes: &[u8]) -> String {
    base16ct::lower::encode_string(&Sha256::digest(bytes)[..16])
}

#[cfg(test)]
impl Home {
    pub fn save_text(&self, path: &Place, content: &str, expect: &Expect) -> Result<String, StoreError> {
        self.commit(&[TreeChange::write(path.clone(), content.as_bytes(), expect.clone())])?;
        Ok(etag(content.as_bytes()))
    }
}

/// Opens the regular file at `rest` in a folder; `path` names it in errors.
pub(super) fn open_regular_in(folder: &Dir, (rest, path): (&str, &Place)) -> Result<(File, Metadata), StoreError> {
    let mut options = OpenOptions::new();
    // A named pipe would otherwise block the open forever.
    options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
    let file = folder.open_with(rest, &options).map_err(|e| escape_or(path, e))?;
    let meta = file.metadata().map_err(StoreError::io(format!("reading {path}")))?;
    if !meta.is_file() {
        let why = if meta.is_dir() { "it is a folder" } else { "it is not an ordinary file" };
        return Err(StoreError::NotAllowed { path: path.to_string(), why });
    }
    Ok((file, meta))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::BadPath;

    fn home() -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        (folder, home)
    }

    fn path(text: &str) -> Place {
        Place::parse(text).unwrap()
    }

    #[test]
    fn stale_save_changes_nothing() {
        let (folder, home) = home();
        let first = home.save_text(&path("memory/MEMORY.md"), "one", &Expect::Absent).unwrap();
        std::fs::write(folder.path().join("memory/MEMORY.md"), "a person's edit").unwrap();
        let refused = home.save_text(&path("memory/MEMORY.md"), "two", &Expect::Etag(first));
        assert!(matches!(refused, Err(StoreError::Conflict { etag: Some(_), .. })), "{refused:?}");
        let now = home.read_text(&path("memory/MEMORY.md")).unwrap();
        assert_eq!(now.content, "a person's edit");
        home.save_text(&path("memory/MEMORY.md"), "two", &Expect::Etag(now.etag)).unwrap();
        assert_eq!(home.read_text(&path("memory/MEMORY.md")).unwrap().content, "two");
    }

    #[test]
    fn secrets_and_machine_files_cannot_be_opened() {
        for closed in [".env", "config.yml", "config.json", "sessions/.lock", "storage/x", "scratch/x", "workspace"] {
            // There is no other way to name a file to the store.
            assert_eq!(Place::parse(closed), Err(BadPath::Outside(closed.to_owned())), "{closed}");
        }
    }

    #[test]
    fn symlink_out_of_home_is_refused() {
        let (folder, home) = home();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "canary").unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret"), folder.path().join("memory/link.md")).unwrap();
        std::os::unix::fs::symlink(outside.path(), folder.path().join("memory/out")).unwrap();
        assert!(matches!(home.read_bytes(&path("memory/link.md")), Err(StoreError::NotAllowed { .. })));
        assert!(matches!(home.read_bytes(&path("memory/out/secret")), Err(StoreError::NotAllowed { .. })));
        assert!(home.save_text(&path("memory/out/new.md"), "x", &Expect::Anything).is_err());
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
        assert!(home.list(&Root::Memory).unwrap().is_empty());
    }

    /// Swaps a folder and a link that leads out continuously: the file that is checked is the file that is opened.
    #[test]
    fn folder_swapped_for_symlink_is_refused() {
        use std::sync::atomic::{AtomicBool, Ordering};
        const SWAPS: usize = 40_000;
        let (folder, home) = home();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "canary").unwrap();
        let [here, there] = ["memory/here", "memory/there"].map(|name| folder.path().join(name));
        std::fs::create_dir(&here).unwrap();
        std::fs::write(here.join("secret"), "mine").unwrap();
        std::os::unix::fs::symlink(outside.path(), &there).unwrap();
        let names = [&here, &there].map(|path| std::ffi::CString::new(path.to_str().unwrap()).unwrap());
        let is_over = AtomicBool::new(false);
        let (mut read, mut naive) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..SWAPS {
                    // SAFETY: two NUL-terminated paths that live as long as the threads.
                    let done = unsafe {
                        libc::renameat2(
                            libc::AT_FDCWD,
                            names[0].as_ptr(),
                            libc::AT_FDCWD,
                            names[1].as_ptr(),
                            libc::RENAME_EXCHANGE,
                        )
                    };
                    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
                }
                is_over.store(true, Ordering::Relaxed);
            });
            let inside = folder.path().canonicalize().unwrap();
            let mut saves = 0;
            while !is_over.load(Ordering::Relaxed) {
                match home.read_bytes(&path("memory/here/secret")) {
                    Ok(bytes) => {
                        assert_eq!(bytes, b"mine");
                        read += 1;
                    }
                    Err(StoreError::NotAllowed { .. } | StoreError::NotFound { .. }) => {}
                    Err(other) => panic!("{other}"),
                }
                if saves < 200 {
                    saves += 1;
                    let _ = home.save_text(&path("memory/here/new.md"), "x", &Expect::Anything);
                }
                // The wrong way, for comparison: check first, then open.
                let checked = here.join("secret").canonicalize().is_ok_and(|real| real.starts_with(&inside));
                naive +=
                    usize::from(checked && std::fs::read(here.join("secret")).is_ok_and(|bytes| bytes == b"canary"));
            }
        });
        assert!(read > 0, "it was never read");
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1, "something was written outside");
        println!("{SWAPS} swaps: read {read} times; looking first and opening then was led out {naive} times");
    }

    #[test]
    fn only_roots_are_listed() {
        let (_folder, home) = home();
        for closed in ["sessions", "storage", "scratch", ".", "memory/..", ""] {
            assert_eq!(Root::parse(closed), None, "{closed}");
        }
        for root in &Root::HOME {
            assert!(home.list(root).unwrap().is_empty(), "{root}");
        }
    }

    #[test]
    fn binary_file_error_names_the_position() {
        let (folder, home) = home();
        std::fs::write(folder.path().join("memory/bad.md"), b"ok\xff").unwrap();
        let answer = home.read_text(&path("memory/bad.md"));
        assert!(matches!(answer, Err(StoreError::NotText { at: 2, .. })), "{answer:?}");
    }

    #[test]
    fn fifo_in_home_does_not_block() {
        let (folder, home) = home();
        let pipe = std::ffi::CString::new(folder.path().join("memory/pipe").to_str().unwrap()).unwrap();
        // SAFETY: a NUL-terminated path and a mode are all mkfifo takes.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        assert!(matches!(home.read_bytes(&path("memory/pipe")), Err(StoreError::NotAllowed { .. })));
    }

    #[test]
    fn second_server_error_names_lock_holder() {
        let (folder, _home) = home();
        let second = Home::open(folder.path());
        let Err(StoreError::Locked { holder }) = second else { panic!("expected a lock") };
        assert!(holder.contains(&std::process::id().to_string()));
    }
}
