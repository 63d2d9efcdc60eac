//! Files a person edits: Markdown and friends under four folders, replaced only when they are what the editor thought.

use std::io::Read;

use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt};
use sha2::{Digest, Sha256};

use super::atomic;
use super::error::StoreError;
use super::home::Home;
use super::listing::{FileEntry, Look};
use crate::domain::{HomePath, Root};

/// The names of all roots, whose files may be read and written from outside.
pub const ROOTS: [&str; 4] = [Root::Workspace.name(), Root::Memory.name(), Root::Skills.name(), Root::Knowledge.name()];
/// The one file at the top of the home that may be, too.
pub const SNAPSHOT: &str = "SKILLS_SNAPSHOT.md";
/// The largest file an editor or a tool reads whole, in bytes.
const MAX_BYTES: u64 = 10 << 20;

/// A text file as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct TextFile {
    pub content: String,
    /// Hash of the content, to be sent back with a save.
    pub etag: String,
}

/// What a save expects to find.
#[derive(Clone, Debug, PartialEq)]
pub enum Expect {
    Anything,
    /// The file as it was read.
    Etag(String),
    /// No file.
    Absent,
}

impl Home {
    /// Reads any file of the home that the caller may see, as bytes. For the parts of the prompt and for tools.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::NotAllowed`] outside the four folders; [`StoreError::TooLarge`] over 10 MiB.
    pub fn read_bytes(&self, path: &HomePath) -> Result<Vec<u8>, StoreError> {
        read_whole(self.open_regular(path)?, path)
    }

    /// Opens a file of the home that the caller may see, whatever its size.
    pub(super) fn open_regular(&self, path: &HomePath) -> Result<File, StoreError> {
        allowed(path)?;
        let mut options = OpenOptions::new();
        // A named pipe in the home would otherwise block the open for ever.
        options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
        let (folder, rest) = self.folder(path)?;
        if path.parent().is_none() && folder.symlink_metadata(rest).is_ok_and(|meta| meta.is_symlink()) {
            return Err(StoreError::NotAllowed { path: path.to_string(), why: "it is a link" });
        }
        let file = folder.open_with(rest, &options).map_err(|e| escape_or(path, e))?;
        let meta = file.metadata().map_err(StoreError::io(format!("reading {path}")))?;
        if !meta.is_file() {
            let why = if meta.is_dir() { "it is a folder" } else { "it is not an ordinary file" };
            return Err(StoreError::NotAllowed { path: path.to_string(), why });
        }
        Ok(file)
    }

    /// Whether anything of that name is there, be it a link that leads nowhere or a file that cannot be read.
    pub fn has_entry(&self, path: &HomePath) -> bool {
        self.folder(path).is_ok_and(|(folder, rest)| folder.symlink_metadata(rest).is_ok())
    }

    /// Reads a text file with its hash.
    ///
    /// # Errors
    /// As [`Home::read_bytes`], and [`StoreError::NotText`].
    pub fn read_text(&self, path: &HomePath) -> Result<TextFile, StoreError> {
        let bytes = self.read_bytes(path)?;
        let etag = etag(&bytes);
        match String::from_utf8(bytes) {
            Ok(content) => Ok(TextFile { content, etag }),
            Err(bad) => Err(StoreError::NotText { path: path.to_string(), at: bad.utf8_error().valid_up_to() }),
        }
    }

    /// Replaces a file if it is what `expect` says, and returns the new hash. Creates missing folders above it.
    ///
    /// # Errors
    /// [`StoreError::Changed`] when the file is something else now (nothing is written).
    pub fn save_text(&self, path: &HomePath, content: &str, expect: &Expect) -> Result<String, StoreError> {
        self.save_bytes(path, content.as_bytes(), expect)
    }

    /// As [`Home::save_text`], for any content.
    ///
    /// # Errors
    /// As [`Home::save_text`].
    pub fn save_bytes(&self, path: &HomePath, content: &[u8], expect: &Expect) -> Result<String, StoreError> {
        allowed(path)?;
        if content.len() as u64 > MAX_BYTES {
            return Err(StoreError::TooLarge { path: path.to_string(), size: content.len() as u64, limit: MAX_BYTES });
        }
        let _one_writer = self.edit_lock();
        let current = match self.read_bytes(path) {
            Ok(bytes) => Some(etag(&bytes)),
            Err(StoreError::NotFound { .. }) => None,
            Err(other) => return Err(other),
        };
        let fits = match expect {
            Expect::Anything => true,
            Expect::Etag(seen) => current.as_ref() == Some(seen),
            Expect::Absent => current.is_none(),
        };
        if !fits {
            return Err(StoreError::Changed { path: path.to_string(), etag: current });
        }
        self.replace(path, content)?;
        Ok(etag(content))
    }

    /// Removes a file if it is what `expect` says.
    ///
    /// # Errors
    /// [`StoreError::Changed`] when the file is something else now, [`StoreError::NotFound`] when there is none.
    pub fn remove_text(&self, path: &HomePath, expect: &Expect) -> Result<(), StoreError> {
        allowed(path)?;
        let _one_writer = self.edit_lock();
        let current = etag(&self.read_bytes(path)?);
        let fits = match expect {
            Expect::Anything => true,
            Expect::Etag(seen) => current == *seen,
            Expect::Absent => false,
        };
        if !fits {
            return Err(StoreError::Changed { path: path.to_string(), etag: Some(current) });
        }
        let (folder, rest) = self.folder(path)?;
        let parent = match rest.rsplit_once('/') {
            None => folder,
            Some((above, _)) => folder.open_dir(above).map_err(|e| escape_or(path, e))?,
        };
        parent.remove_file(path.file_name()).map_err(|e| escape_or(path, e))?;
        atomic::sync_dir(&parent).map_err(StoreError::io(format!("deleting {path}")))
    }

    /// The hash that [`Home::read_text`] would give, also of a file that is not text.
    pub fn hash(&self, path: &HomePath) -> Result<String, StoreError> {
        self.read_bytes(path).map(|bytes| etag(&bytes))
    }

    /// When a file was last changed, in Unix seconds; `None` where that cannot be said.
    pub fn modified(&self, path: &HomePath) -> Option<f64> {
        allowed(path).ok()?;
        let (folder, rest) = self.folder(path).ok()?;
        let modified = folder.metadata(rest).ok()?.modified().ok()?.into_std();
        Some(modified.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs_f64())
    }

    /// Everything below one of the four folders, by path. Hidden files and folders are left out.
    ///
    /// # Errors
    /// When the folder, or one in it that can be opened, cannot be read; [`StoreError::NotAllowed`] for another folder.
    pub fn list(&self, root: &str) -> Result<Vec<FileEntry>, StoreError> {
        let mut look = Look::default();
        self.look(root, &mut look)?;
        Ok(look.files())
    }

    /// Looks at one of the four folders again, and says whether anything in it may have changed since the last `look`.
    ///
    /// # Errors
    /// As [`Home::list`]. The next look then says that something has changed.
    pub fn look(&self, root: &str, look: &mut Look) -> Result<bool, StoreError> {
        let known = Root::parse(root).and_then(|root| HomePath::parse(root.name()).ok());
        let refused = || StoreError::NotAllowed { path: root.to_owned(), why: "it is none of the folders people edit" };
        let path = known.ok_or_else(refused)?;
        let dir = self.root().open_dir(root).map_err(StoreError::io(format!("folder {root}/")))?;
        look.again(&dir, &path).map_err(|error| {
            *look = Look::default();
            StoreError::io(format!("listing {root}/"))(error)
        })
    }

    /// The handle beneath which a path is opened, and the rest of the path. A file of one of the four folders is opened
    /// beneath that folder, so that no symlink in it leads to `.env` or another machine file of the home.
    fn folder<'p>(&self, path: &'p HomePath) -> Result<(Dir, &'p str), StoreError> {
        match path.as_str().split_once('/') {
            None => Ok((self.root().try_clone().map_err(StoreError::io("opening the home"))?, path.as_str())),
            Some((root, rest)) => Ok((self.root().open_dir(root).map_err(|e| escape_or(path, e))?, rest)),
        }
    }

    pub(super) fn replace(&self, path: &HomePath, bytes: &[u8]) -> Result<(), StoreError> {
        let doing = || format!("saving {path}");
        let (folder, rest) = self.folder(path)?;
        let parent = match rest.rsplit_once('/') {
            None => folder,
            Some((above, _)) => {
                folder.create_dir_all(above).map_err(|e| escape_or(path, e))?;
                folder.open_dir(above).map_err(|e| escape_or(path, e))?
            }
        };
        if parent.is_dir(path.file_name()) {
            return Err(StoreError::NotAllowed { path: path.to_string(), why: "it is a folder" });
        }
        atomic::replace(&parent, path.file_name(), bytes, 0o644).map_err(StoreError::io(doing()))
    }
}

/// Whether a path from outside may be opened: the four folders and the skills snapshot, nothing else of the home
/// (`.env`, `config.yml`, sessions and indexes stay out of reach of the editor and of every tool).
pub(super) fn allowed(path: &HomePath) -> Result<(), StoreError> {
    let inside = path.parent().is_some() && Root::of(path).is_some();
    if inside || path.as_str() == SNAPSHOT {
        return Ok(());
    }
    let why = "only files under workspace/, memory/, skills/ and knowledge/, and SKILLS_SNAPSHOT.md, can be opened";
    Err(StoreError::NotAllowed { path: path.to_string(), why })
}

/// `cap-std` answers "permission denied" with no OS error when a path leads out of the root.
pub(super) fn escape_or(path: &HomePath, error: std::io::Error) -> StoreError {
    if error.kind() == std::io::ErrorKind::PermissionDenied && error.raw_os_error().is_none() {
        return StoreError::NotAllowed { path: path.to_string(), why: "it leads out of the home" };
    }
    if error.raw_os_error() == Some(libc::EXDEV) {
        return StoreError::NotAllowed { path: path.to_string(), why: "it leads out of the home" };
    }
    StoreError::io(path.to_string())(error)
}

fn read_whole(file: File, path: &HomePath) -> Result<Vec<u8>, StoreError> {
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

/// 128 bits of SHA-256 in hexadecimal.
pub fn etag(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        (folder, home)
    }

    fn path(text: &str) -> HomePath {
        HomePath::parse(text).unwrap()
    }

    #[test]
    fn a_stale_save_changes_nothing() {
        let (folder, home) = home();
        let first = home.save_text(&path("memory/MEMORY.md"), "one", &Expect::Absent).unwrap();
        std::fs::write(folder.path().join("memory/MEMORY.md"), "a person's edit").unwrap();
        let refused = home.save_text(&path("memory/MEMORY.md"), "two", &Expect::Etag(first));
        assert!(matches!(refused, Err(StoreError::Changed { etag: Some(_), .. })), "{refused:?}");
        let now = home.read_text(&path("memory/MEMORY.md")).unwrap();
        assert_eq!(now.content, "a person's edit");
        home.save_text(&path("memory/MEMORY.md"), "two", &Expect::Etag(now.etag)).unwrap();
        assert_eq!(home.read_text(&path("memory/MEMORY.md")).unwrap().content, "two");
    }

    #[test]
    fn secrets_and_machine_files_cannot_be_opened() {
        let (folder, home) = home();
        std::fs::write(folder.path().join(".env"), "KEY=canary").unwrap();
        for closed in [".env", "config.yml", "config.json", "sessions/.lock", "storage/x", "scratch/x", "workspace"] {
            let answer = home.read_bytes(&path(closed));
            assert!(matches!(answer, Err(StoreError::NotAllowed { .. })), "{closed}: {answer:?}");
        }
    }

    #[test]
    fn a_symlink_out_of_the_home_is_refused_for_reading_and_writing() {
        let (folder, home) = home();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "canary").unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret"), folder.path().join("memory/link.md")).unwrap();
        std::os::unix::fs::symlink(outside.path(), folder.path().join("memory/out")).unwrap();
        assert!(matches!(home.read_bytes(&path("memory/link.md")), Err(StoreError::NotAllowed { .. })));
        assert!(matches!(home.read_bytes(&path("memory/out/secret")), Err(StoreError::NotAllowed { .. })));
        assert!(home.save_text(&path("memory/out/new.md"), "x", &Expect::Anything).is_err());
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
        assert!(home.list("memory").unwrap().is_empty());
    }

    /// A folder and a link that leads out change places all the time: what is checked is what is opened.
    #[test]
    fn a_folder_that_becomes_a_link_in_between_leads_nowhere() {
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
                // As it must not be done.
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
    fn only_the_folders_people_edit_are_listed() {
        let (_folder, home) = home();
        for closed in ["sessions", "storage", "scratch", ".", "memory/..", ""] {
            assert!(matches!(home.list(closed), Err(StoreError::NotAllowed { .. })), "{closed}");
        }
        assert!(home.list("workspace").unwrap().is_empty());
    }

    #[test]
    fn what_is_not_text_is_said_with_its_place() {
        let (folder, home) = home();
        std::fs::write(folder.path().join("memory/bad.md"), b"ok\xff").unwrap();
        let answer = home.read_text(&path("memory/bad.md"));
        assert!(matches!(answer, Err(StoreError::NotText { at: 2, .. })), "{answer:?}");
    }

    #[test]
    fn a_pipe_in_the_home_does_not_block() {
        let (folder, home) = home();
        let pipe = std::ffi::CString::new(folder.path().join("memory/pipe").to_str().unwrap()).unwrap();
        // SAFETY: a NUL-terminated path and a mode are all mkfifo takes.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        assert!(matches!(home.read_bytes(&path("memory/pipe")), Err(StoreError::NotAllowed { .. })));
    }

    #[test]
    fn a_second_server_is_told_who_holds_the_home() {
        let (folder, _home) = home();
        let second = Home::open(folder.path());
        let Err(StoreError::Locked { holder }) = second else { panic!("expected a lock") };
        assert!(holder.contains(&std::process::id().to_string()));
    }
}
