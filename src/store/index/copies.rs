//! Copies of the contents of a project's files, each named by its SHA-256. They are found again after a restart.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::Mutex;

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use sha2::{Digest, Sha256};

use crate::store::atomic;
use crate::store::blobs::hash_of;
use crate::store::home::lock;

/// Maximum size of a file that is copied, in bytes.
pub const MAX_COPY: u64 = 64 << 20;
/// Maximum size of all copies together, in bytes.
pub const MAX_COPIES: u64 = 512 << 20;
/// Length of a SHA-256 in hexadecimal.
const HASH_LENGTH: usize = 64;

pub struct Copies {
    dir: Dir,
    most: u64,
    kept: Mutex<Kept>,
}

/// The copies that there are.
#[derive(Default)]
struct Kept {
    /// Sizes in bytes, by hash.
    sizes: HashMap<String, u64>,
    total: u64,
}

impl Copies {
    /// Finds the copies that are in a folder, and removes what is none.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be listed.
    pub fn open(dir: Dir, most: u64) -> io::Result<Self> {
        let mut kept = Kept::default();
        for entry in dir.entries()? {
            let entry = entry?;
            let (name, meta) = (entry.file_name(), entry.metadata()?);
            let is_hash = |name: &&str| name.len() == HASH_LENGTH && name.bytes().all(|byte| byte.is_ascii_hexdigit());
            match name.to_str().filter(is_hash).filter(|_| meta.is_file()) {
                Some(hash) => {
                    kept.sizes.insert(hash.to_owned(), meta.len());
                    kept.total += meta.len();
                }
                // Best effort: it is never read.
                None => drop(dir.remove_file(name)),
            }
        }
        Ok(Self { dir, most, kept: Mutex::new(kept) })
    }

    pub fn has(&self, hash: &str) -> bool {
        lock(&self.kept).sizes.contains_key(hash)
    }

    /// Opens a copy. Whoever reads it must compare it with its hash.
    pub fn file(&self, hash: &str) -> Option<File> {
        self.dir.open(hash).ok().map(cap_std::fs::File::into_std)
    }

    /// Copies a content unless there is a copy. Returns `false` if it is too large, if there are too many copies, or if it
    /// does not have this hash any more.
    ///
    /// # Errors
    /// Returns an error if the copy cannot be written.
    pub fn add(&self, hash: &str, size: u64, content: &File) -> io::Result<bool> {
        if self.has(hash) {
            return Ok(true);
        }
        if size > MAX_COPY || lock(&self.kept).total + size > self.most {
            return Ok(false);
        }
        let temporary = atomic::temporary_name();
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        let copy = self.dir.open_with(&temporary, &options)?.into_std();
        let copied = copy_content(content, &copy, size).and_then(|copied| {
            let is_it = copied == hash;
            if is_it {
                self.dir.rename(&temporary, &self.dir, hash)?;
            }
            Ok(is_it)
        });
        match copied {
            Ok(true) => {
                let mut kept = lock(&self.kept);
                if kept.sizes.insert(hash.to_owned(), size).is_none() {
                    kept.total += size;
                }
            }
            // The next start removes it otherwise.
            Ok(false) | Err(_) => drop(self.dir.remove_file(&temporary)),
        }
        copied
    }

    /// Removes the copies that are not wanted.
    pub fn retain(&self, wanted: &HashSet<String>) {
        let mut kept = lock(&self.kept);
        let stale: Vec<String> = kept.sizes.keys().filter(|hash| !wanted.contains(*hash)).cloned().collect();
        for hash in stale {
            if let Err(error) = self.dir.remove_file(&hash)
                && error.kind() != io::ErrorKind::NotFound
            {
                tracing::warn!(%error, "a copy that is not needed any more could not be removed");
                continue;
            }
            let size = kept.sizes.remove(&hash).unwrap_or_default();
            kept.total -= size;
        }
    }
}

/// Copies a content, by sharing its blocks where the file system can, and returns the hash of the copy.
fn copy_content(mut from: &File, mut to: &File, size: u64) -> io::Result<String> {
    if rustix::fs::ioctl_ficlone(to, from).is_ok() {
        return hash_of(to).map(|content| content.hash);
    }
    let (mut hash, mut buffer, mut total) = (Sha256::new(), vec![0; 64 << 10], 0);
    // A file that grows while it is read has another hash.
    while total <= size {
        let read = match from.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if read == 0 {
            break;
        }
        hash.update(&buffer[..read]);
        to.write_all(&buffer[..read])?;
        total += read as u64;
    }
    Ok(base16ct::lower::encode_string(&hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sha256;
    use cap_std::ambient_authority;

    fn opened(folder: &std::path::Path, most: u64) -> Copies {
        Copies::open(Dir::open_ambient_dir(folder, ambient_authority()).unwrap(), most).unwrap()
    }

    #[test]
    fn copies_are_bounded_found_again_and_removed() {
        let (folder, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = |content: &[u8]| {
            let path = files.path().join("file");
            std::fs::write(&path, content).unwrap();
            File::open(path).unwrap()
        };
        let copies = opened(folder.path(), 8);
        assert!(copies.add(&sha256(b"one"), 3, &file(b"one")).unwrap());
        assert!(copies.add(&sha256(b"three"), 5, &file(b"three")).unwrap());
        assert!(copies.add(&sha256(b"one"), 3, &file(b"one")).unwrap(), "there is one");
        assert!(!copies.add(&sha256(b"x"), 1, &file(b"x")).unwrap(), "they are full");
        std::fs::write(folder.path().join("half"), "x").unwrap();
        let copies = opened(folder.path(), 8);
        assert!(copies.has(&sha256(b"one")) && copies.has(&sha256(b"three")) && !folder.path().join("half").exists());
        copies.retain(&HashSet::from([sha256(b"three")]));
        assert!(copies.file(&sha256(b"one")).is_none());
        assert!(!copies.add(&sha256(b"new"), 3, &file(b"other")).unwrap(), "it has another hash");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing half is left");
        assert!(copies.add(&sha256(b"new"), 3, &file(b"new")).unwrap());
    }
}
