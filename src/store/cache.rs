//! `storage/retrieval/`: caches of retrieval. Everything in it can be deleted at any time and is rebuilt.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};

use super::atomic;
use super::error::StoreError;
use super::home::Home;

const FOLDER: &str = "storage/retrieval";

/// Caches of one home. Cheap to clone.
#[derive(Clone)]
pub struct Caches {
    home: Home,
}

impl Home {
    pub fn caches(&self) -> Caches {
        Caches { home: self.clone() }
    }
}

impl Caches {
    /// Returns the path of a folder for a component that manages its own files (tantivy). Creates the folder if missing.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be created.
    pub fn folder(&self, name: &str) -> Result<PathBuf, StoreError> {
        self.dir()?.create_dir_all(name).map_err(StoreError::io(format!("creating {FOLDER}/{name}/")))?;
        Ok(self.home.path().join(FOLDER).join(name))
    }

    /// Reads the files of a cache folder by their names, to look at them without changing anything. `None` if there is no
    /// such folder.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read.
    pub fn files_of_folder(&self, name: &str) -> io::Result<Option<BTreeMap<String, Vec<u8>>>> {
        let folder = match self.home.root().open_dir(format!("{FOLDER}/{name}")) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut files = BTreeMap::new();
        for entry in folder.entries()? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if entry.file_type()?.is_file() {
                files.insert(name.clone(), folder.read(name)?);
            }
        }
        Ok(Some(files))
    }

    /// Removes a cache folder and its contents.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be removed.
    pub fn clear_folder(&self, name: &str) -> Result<(), StoreError> {
        match self.dir()?.remove_dir_all(name) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(StoreError::io(format!("removing {FOLDER}/{name}/"))(error))
            }
            _ => Ok(()),
        }
    }

    /// Opens a cache file for reading and writing; creates it if missing.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened.
    pub fn file(&self, name: &str) -> Result<File, StoreError> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).mode(0o600);
        let file = self.dir()?.open_with(name, &options);
        Ok(file.map_err(StoreError::io(format!("opening {FOLDER}/{name}")))?.into_std())
    }

    /// Returns the text of a cache file; `None` if the file is missing or cannot be read.
    pub fn text(&self, name: &str) -> Option<String> {
        self.dir().ok()?.read_to_string(name).ok()
    }

    /// Writes a text to a cache file, replacing its content.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn keep_text(&self, name: &str, text: &str) -> Result<(), StoreError> {
        atomic::replace(&self.dir()?, name, text.as_bytes(), 0o600)
            .map_err(StoreError::io(format!("writing {FOLDER}/{name}")))
    }

    /// Renames cache file `from` to `to`, replacing `to`.
    ///
    /// # Errors
    /// Returns an error if the file cannot be renamed.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), StoreError> {
        let caches = self.dir()?;
        caches.rename(from, &caches, to).map_err(StoreError::io(format!("renaming {FOLDER}/{from}")))
    }

    /// Returns the names of all caches that begin with `prefix`.
    ///
    /// # Errors
    /// Returns an error if they cannot be listed.
    pub fn names(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let entries = self.dir()?.entries().map_err(StoreError::io(format!("listing {FOLDER}/")))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Ok(names.filter(|name| name.starts_with(prefix)).collect())
    }

    /// Removes all caches whose names begin with `prefix`.
    ///
    /// # Errors
    /// Returns an error if one of them cannot be removed; the others may be removed.
    pub fn remove_all(&self, prefix: &str) -> Result<(), StoreError> {
        let dir = self.dir()?;
        let removing = || -> io::Result<()> {
            for entry in dir.entries()? {
                let entry = entry?;
                let name = entry.file_name();
                if !name.to_string_lossy().starts_with(prefix) {
                    continue;
                }
                match entry.file_type()?.is_dir() {
                    true => dir.remove_dir_all(&name)?,
                    false => dir.remove_file(&name)?,
                }
            }
            Ok(())
        };
        removing().map_err(StoreError::io(format!("removing {FOLDER}/{prefix}")))
    }

    /// Returns the total size in bytes of all caches whose names begin with `prefix`.
    pub fn size(&self, prefix: &str) -> u64 {
        self.dir().map(|dir| size(&dir, prefix)).unwrap_or_default()
    }

    fn dir(&self) -> Result<Dir, StoreError> {
        // The folder may have been deleted while the server runs: it is a cache.
        self.home.root().create_dir_all(FOLDER).map_err(StoreError::io(format!("creating {FOLDER}/")))?;
        self.home.root().open_dir(FOLDER).map_err(StoreError::io(format!("opening {FOLDER}/")))
    }
}

fn size(dir: &Dir, prefix: &str) -> u64 {
    let Ok(entries) = dir.entries() else { return 0 };
    let entries = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    entries
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => entry.open_dir().map(|inner| size(&inner, "")).unwrap_or_default(),
            Ok(meta) => meta.len(),
            Err(_) => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn caches_are_created_measured_replaced_and_cleared() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let inner = home.caches().folder("knowledge").unwrap();
        std::fs::write(inner.join("a"), "12345").unwrap();
        home.caches().file("knowledge-m.vectors").unwrap().write_all(b"123").unwrap();
        assert_eq!((home.caches().size("knowledge"), home.caches().size("memory")), (8, 0));
        assert_eq!(home.caches().text("new"), None);
        home.caches().keep_text("new", "x").unwrap();
        assert_eq!(home.caches().text("new").as_deref(), Some("x"));
        home.caches().keep_text("new", "").unwrap();
        home.caches().rename("new", "knowledge-m.vectors").unwrap();
        assert_eq!(home.caches().size("knowledge"), 5);
        home.caches().clear_folder("knowledge").unwrap();
        home.caches().clear_folder("knowledge").unwrap();
        assert_eq!(home.caches().size("knowledge"), 0);
        home.caches().folder("knowledge").unwrap();
        home.caches().remove_all("knowledge").unwrap();
        assert_eq!(std::fs::read_dir(folder.path().join(FOLDER)).unwrap().count(), 0);
        std::fs::remove_dir_all(folder.path().join("storage")).unwrap();
        assert!(home.caches().folder("knowledge").unwrap().is_dir());
    }
}
