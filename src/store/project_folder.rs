//! Folders of a project: made, emptied and listed whole. A file or folder that a server running as root makes belongs to the
//! owner of the folder that it is in, so that commands, which run as another user, can go on with it.

use std::io;
use std::os::fd::AsFd;

use cap_std::fs::{Dir, MetadataExt};
use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid};

use super::error::StoreError;
use super::files::escape_or;
use super::home::Home;
use super::listing::kind;
use crate::domain::Place;

/// Maximum number of files of a folder that is deleted or moved as a whole.
const MAX_BELOW: usize = 5_000;
/// Maximum depth of folders below such a folder.
const MAX_DEPTH: usize = 64;

/// What a call does with a folder, besides the files that it changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FolderChange {
    /// Makes the folder and those above it.
    Make(Place),
    /// Removes the folder with the folders in it, unless there is a file in one of them.
    RemoveEmpty(Place),
}

impl Home {
    /// Returns whether there is a folder at this place.
    pub fn is_folder(&self, place: &Place) -> bool {
        self.open_folder(place).is_ok()
    }

    /// Returns all files below a folder, hidden ones too, sorted by path.
    ///
    /// # Errors
    /// Returns [`StoreError::NotAllowed`] for a folder that a call cannot handle as a whole, because it contains a link, a
    /// special file, a name that is not allowed in a path, or more than 5,000 files.
    pub fn files_below(&self, folder: &Place) -> Result<Vec<Place>, StoreError> {
        let mut below = Below::default();
        below.collect(&self.open_folder(folder)?, folder, 0)?;
        below.files.sort();
        Ok(below.files)
    }

    /// Returns the first link on the way to an entry; the entry itself may be it.
    pub fn link_on_way(&self, entry: &Place) -> Option<Place> {
        let root = self.open_root(entry.root(), |error| escape_or(entry, error)).ok()?;
        let way = std::iter::successors(Some(entry.clone()), |folder| Some(folder.containing()));
        let way: Vec<Place> = way.take_while(|folder| !folder.path().is_empty()).collect();
        let is_link = |folder: &Place| root.symlink_metadata(folder.path()).is_ok_and(|meta| meta.is_symlink());
        way.into_iter().rev().find(is_link)
    }

    /// Returns all folders below a folder, sorted by path.
    ///
    /// # Errors
    /// Returns [`StoreError::NotAllowed`] as [`Self::files_below`] does.
    pub fn folders_below(&self, folder: &Place) -> Result<Vec<Place>, StoreError> {
        let mut below = Below::default();
        below.collect(&self.open_folder(folder)?, folder, 0)?;
        below.folders.sort();
        Ok(below.folders)
    }

    /// Makes a folder or removes empty ones.
    pub(super) fn change_folder(&self, change: &FolderChange) -> Result<(), StoreError> {
        let _one_writer = self.edit_lock();
        match change {
            FolderChange::Make(folder) => {
                let root = self.open_root(folder.root(), |error| escape_or(folder, error))?;
                make_folders(&root, folder.path()).map(|_| ()).map_err(|error| escape_or(folder, error))
            }
            FolderChange::RemoveEmpty(folder) => {
                let root = self.open_root(folder.root(), |error| escape_or(folder, error))?;
                let dir = root.open_dir(folder.path()).map_err(|error| escape_or(folder, error))?;
                remove_empty(&dir, 0).map_err(|error| escape_or(folder, error))?;
                root.remove_dir(folder.path()).map_err(|error| escape_or(folder, error))
            }
        }
    }
}

/// What is in a folder and in those below it.
#[derive(Default)]
struct Below {
    files: Vec<Place>,
    folders: Vec<Place>,
}

impl Below {
    fn collect(&mut self, dir: &Dir, folder: &Place, depth: usize) -> Result<(), StoreError> {
        let listing = || StoreError::io(format!("listing {folder}/"));
        let refused = |path: String, why| Err(StoreError::NotAllowed { path, why });
        if depth > MAX_DEPTH {
            return refused(folder.to_string(), "its folders are nested too deeply; use a command");
        }
        for entry in dir.entries().map_err(listing())? {
            let entry = entry.map_err(listing())?;
            let name = entry.file_name();
            let shown = || format!("{folder}/{}", name.to_string_lossy());
            let Some(place) = name.to_str().and_then(|name| folder.child(name).ok()) else {
                return refused(shown(), "its name has characters that are not allowed here; use a command");
            };
            match kind(dir, &entry).map_err(listing())? {
                Some(kind) if kind.is_dir() => {
                    let inner = dir.open_dir(&name).map_err(listing())?;
                    self.collect(&inner, &place, depth + 1)?;
                    self.folders.push(place);
                }
                Some(kind) if kind.is_file() => self.files.push(place),
                Some(_) => return refused(shown(), "it is a link; use a command"),
                None => return refused(shown(), "it is a special file; use a command"),
            }
            if self.files.len() + self.folders.len() > MAX_BELOW {
                return refused(folder.to_string(), "it has more than 5,000 files; use a command");
            }
        }
        Ok(())
    }
}

/// Removes the folders in a folder as far as they are empty.
fn remove_empty(dir: &Dir, depth: usize) -> io::Result<()> {
    if depth > MAX_DEPTH {
        return Ok(());
    }
    for entry in dir.entries()? {
        let entry = entry?;
        if kind(dir, &entry)?.is_some_and(|kind| kind.is_dir()) {
            remove_empty(&dir.open_dir(entry.file_name())?, depth + 1)?;
            dir.remove_dir(entry.file_name())?;
        }
    }
    Ok(())
}

/// Makes the folders of a path below `root` that do not exist.
pub(super) fn make_folders(root: &Dir, path: &str) -> io::Result<u64> {
    let (mut dir, mut made) = (root.try_clone()?, 0);
    for name in path.split('/').filter(|name| !name.is_empty()) {
        dir = match dir.create_dir(name) {
            Ok(()) => {
                made += 1;
                give_to_owner_of(&dir, name)?;
                dir.open_dir(name)?
            }
            // A link that leads nowhere exists too, and cannot be opened.
            Err(exists) if exists.kind() == io::ErrorKind::AlreadyExists => dir
                .open_dir(name)
                .map_err(|error| if error.kind() == io::ErrorKind::NotFound { exists } else { error })?,
            Err(error) => return Err(error),
        };
    }
    Ok(made)
}

/// Gives a folder that this server has just made to the owner of the folder that it is in.
fn give_to_owner_of(dir: &Dir, name: &str) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let made = rustix::fs::openat(dir, name, flags, Mode::empty())?;
    hand_over(dir, &made)
}

/// Gives an open file that this server has just made in `dir` to the owner of `dir`. Only root can, and has to.
pub(super) fn hand_over(dir: &Dir, made: impl AsFd) -> io::Result<()> {
    let owner = dir.dir_metadata()?;
    let now = rustix::fs::fstat(&made)?;
    if now.st_uid == owner.uid() || !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let (user, group) = (Some(Uid::from_raw(owner.uid())), Some(Gid::from_raw(owner.gid())));
    Ok(rustix::fs::chownat(&made, c"", user, group, AtFlags::EMPTY_PATH)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ProjectId, Root};

    fn home() -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        (folder, home)
    }

    fn place(path: &str) -> Place {
        Place::parse_folder(&format!("{}/{path}", Root::Project(ProjectId::scratch()))).unwrap()
    }

    #[test]
    fn folder_is_made_listed_and_removed_only_when_empty() {
        let (folder, home) = home();
        home.change_folder(&FolderChange::Make(place("a/b/c"))).unwrap();
        home.change_folder(&FolderChange::Make(place("a/b"))).unwrap();
        assert!(home.is_folder(&place("a/b/c")) && !home.is_folder(&place("a/x")));
        std::fs::write(folder.path().join("scratch/a/b/.hidden"), "x").unwrap();
        assert_eq!(home.files_below(&place("a")).unwrap(), [place("a/b/.hidden")]);
        assert!(home.change_folder(&FolderChange::RemoveEmpty(place("a"))).is_err());
        assert!(folder.path().join("scratch/a/b/.hidden").exists());
        std::fs::remove_file(folder.path().join("scratch/a/b/.hidden")).unwrap();
        home.change_folder(&FolderChange::RemoveEmpty(place("a"))).unwrap();
        assert!(!folder.path().join("scratch/a").exists());
    }

    #[test]
    fn folder_with_a_link_or_special_file_is_not_handled_whole() {
        let (folder, home) = home();
        let inside = folder.path().join("scratch/a");
        std::fs::create_dir(&inside).unwrap();
        std::os::unix::fs::symlink(folder.path().join(".env"), inside.join("link")).unwrap();
        let refused = home.files_below(&place("a")).unwrap_err().to_string();
        assert!(refused.contains("a/link cannot be used here: it is a link"), "{refused}");
        std::fs::remove_file(inside.join("link")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, inside.join("pipe"), rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert!(home.files_below(&place("a")).unwrap_err().to_string().contains("special file"));
    }

    #[test]
    fn folder_is_never_made_through_a_link() {
        let (folder, home) = home();
        let outside = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(outside.path(), folder.path().join("scratch/link")).unwrap();
        assert!(home.change_folder(&FolderChange::Make(place("link/x"))).is_err());
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    }
}
