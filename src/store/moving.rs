//! Renames, deletes and restores files. A deleted file is kept in `storage/trash/{time}/{its path}`.

use std::io;
use std::os::fd::AsFd;

use cap_std::fs::{Dir, PermissionsExt};
use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno;

use super::across;
use super::atomic;
use super::error::StoreError;
use super::files::{Expect, escape_or};
use super::home::Home;
use super::project_folder::{hand_over, make_folders};
use super::staged::StagedFile;
use super::trash::{FOLDER_MARK, MAX_TRASHED, TRASH, parts_of};
use crate::clock;
use crate::domain::{Place, Root};

impl Home {
    /// Moves a file to another path, if the file is what `expect` says and the new path is free.
    ///
    /// # Errors
    /// Returns [`StoreError::Conflict`] if the file is not what `expect` says, and [`StoreError::Exists`] if the new path is
    /// taken.
    pub(super) fn rename_text(&self, from: &Place, to: &Place, expect: &Expect) -> Result<(), StoreError> {
        editable(from)?;
        editable(to)?;
        let _one_writer = self.edit_lock();
        self.check(from, expect)?;
        let source = self.folder_of(from)?;
        let target = self.make_folder_of(to)?;
        move_entry((&source, from.file_name()), (&target, to), || format!("renaming {from}"))?;
        self.remove_empty_folder(from);
        Ok(())
    }

    /// Moves a file to the trash if it is what `expect` says. Returns the id with which it can be restored.
    ///
    /// # Errors
    /// Returns [`StoreError::Conflict`] if the file is not what `expect` says.
    pub(super) fn trash_text(&self, path: &Place, expect: &Expect) -> Result<String, StoreError> {
        editable(path)?;
        let doing = || format!("deleting {path}");
        let _one_writer = self.edit_lock();
        self.check(path, expect)?;
        let kept = self.move_to_trash(path, false).map_err(StoreError::io(doing()))?;
        self.remove_empty_folder(path);
        Ok(kept)
    }

    /// Moves a file or folder to the trash. Returns the id with which it can be restored.
    fn move_to_trash(&self, path: &Place, is_folder: bool) -> std::io::Result<String> {
        let source = self.folder_of(path).map_err(std::io::Error::other)?;
        let trash = self.trash()?;
        let mut stamp = clock::stamp();
        while trash.exists(&stamp) {
            stamp.push('0');
        }
        let inner = format!("{stamp}/{}", path.parent());
        trash.create_dir_all(&inner)?;
        if is_folder {
            trash.write(format!("{stamp}/{FOLDER_MARK}"), path.as_str())?;
        }
        let target = trash.open_dir(&inner)?;
        let name = path.file_name();
        if let Err(error) = across::move_entry((source.as_fd(), name), (target.as_fd(), name)) {
            let _ = trash.remove_dir_all(&stamp);
            return Err(error);
        }
        atomic::sync_dir(&target)?;
        atomic::sync_dir(&source)?;
        prune(&trash);
        Ok(format!("{stamp}/{path}"))
    }

    /// Moves a folder to another path, if the new path is free.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if there is no such folder, [`StoreError::NotAllowed`] for a root and for a move into
    /// the folder itself, and [`StoreError::Exists`] if the new path is taken.
    pub(super) fn rename_folder(&self, from: &Place, to: &Place) -> Result<(), StoreError> {
        movable(from)?;
        movable(to)?;
        if to == from || to.is_below(from) {
            return Err(StoreError::NotAllowed { path: to.to_string(), why: "a folder cannot be moved into itself" });
        }
        let doing = || format!("renaming {from}");
        let _one_writer = self.edit_lock();
        self.open_folder(from)?;
        let source = self.folder_of(from)?;
        let target = self.make_folder_of(to)?;
        move_entry((&source, from.file_name()), (&target, to), doing)
    }

    /// Moves a folder to the trash, with everything in it. Returns the id with which it can be restored.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if there is no such folder, and [`StoreError::NotAllowed`] for a root.
    pub(super) fn trash_folder(&self, folder: &Place) -> Result<String, StoreError> {
        movable(folder)?;
        let _one_writer = self.edit_lock();
        self.open_folder(folder)?;
        self.move_to_trash(folder, true).map_err(StoreError::io(format!("deleting {folder}")))
    }

    /// Restores a file from the trash to its original path.
    ///
    /// # Errors
    /// Returns [`StoreError::Exists`] if the path is taken again, and [`StoreError::NotFound`] if the file is not in the
    /// trash.
    pub(super) fn restore_text(&self, kept: &str) -> Result<Place, StoreError> {
        let missing = || StoreError::NotFound { what: format!("{kept} in the trash") };
        let (stamp, path) = parts_of(kept).ok_or_else(missing)?;
        editable(&path)?;
        let doing = || format!("bringing {path} back");
        let _one_writer = self.edit_lock();
        let trash = self.trash().map_err(StoreError::io(doing()))?;
        let source = trash.open_dir(format!("{stamp}/{}", path.parent())).map_err(|_| missing())?;
        let is_folder = trash.is_file(format!("{stamp}/{FOLDER_MARK}"));
        let kept = source.symlink_metadata(path.file_name()).map_err(|_| missing())?;
        if kept.is_dir() != is_folder {
            return Err(missing());
        }
        let target = self.make_folder_of(&path)?;
        move_entry((&source, path.file_name()), (&target, &path), doing)?;
        // Only empty folders remain in it.
        let _ = trash.remove_dir_all(stamp);
        Ok(path)
    }

    /// Puts a file that a person has uploaded in its place, if what is there is what `expect` says. What it replaces goes to the
    /// trash; returns the id with which that can be restored.
    ///
    /// # Errors
    /// Returns [`StoreError::Conflict`] if the file is not what `expect` says, and [`StoreError::NotAllowed`] for the place of a
    /// folder or of a link.
    pub(super) fn add_staged(
        &self,
        staged: &StagedFile,
        path: &Place,
        expect: &Expect,
    ) -> Result<Option<String>, StoreError> {
        editable(path)?;
        let doing = || format!("saving {path}");
        let _one_writer = self.edit_lock();
        let root = self.open_root(path.root(), |error| escape_or(path, error))?;
        let current = match root.symlink_metadata(path.path()) {
            Ok(meta) if meta.is_file() => Some((meta, self.hash(path)?)),
            Ok(meta) => {
                let why = if meta.is_dir() { "it is a folder" } else { "it is a link" };
                return Err(StoreError::NotAllowed { path: path.to_string(), why });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(escape_or(path, error)),
        };
        let hash = current.as_ref().map(|(_, hash)| hash.clone());
        let fits = match expect {
            Expect::Anything => true,
            Expect::Etag(seen) => hash.as_ref() == Some(seen),
            Expect::Absent => hash.is_none(),
        };
        if !fits {
            return Err(StoreError::Conflict { path: path.to_string(), etag: hash });
        }
        let target = self.make_folder_of(path)?;
        let file = staged.synced().map_err(StoreError::io(doing()))?;
        let mode = current.as_ref().map_or(0o644, |(meta, _)| meta.permissions().mode() & 0o777);
        let given = match &current {
            Some((meta, _)) => atomic::give_as(file, meta),
            None => hand_over(&target, file),
        };
        given.and_then(|()| atomic::set_mode(file, mode)).map_err(StoreError::io(doing()))?;
        let trash = current.map(|_| self.move_to_trash(path, false)).transpose().map_err(StoreError::io(doing()))?;
        let (folder, name) = staged.place().map_err(StoreError::io(doing()))?;
        if let Err(error) = move_entry((&folder, &name), (&target, path), doing) {
            if let Some((stamp, _)) = trash.as_deref().and_then(parts_of) {
                let kept = self.trash().and_then(|trash| trash.open_dir(format!("{stamp}/{}", path.parent())));
                let back = kept.map_err(StoreError::io(doing()));
                back.and_then(|kept| move_entry((&kept, path.file_name()), (&target, path), doing))?;
            }
            return Err(error);
        }
        Ok(trash)
    }

    /// Checks that there is a file or a link, and that it is what `expect` says: of a link, the file that it leads to.
    fn check(&self, path: &Place, expect: &Expect) -> Result<(), StoreError> {
        let entry = self.folder_of(path)?.symlink_metadata(path.file_name());
        let entry = entry.map_err(|error| escape_or(path, error))?;
        if !(entry.is_file() || entry.is_symlink()) {
            return Err(StoreError::NotAllowed { path: path.to_string(), why: "it is not an ordinary file" });
        }
        match expect {
            Expect::Anything => Ok(()),
            Expect::Etag(seen) => {
                let current = self.hash(path)?;
                if *seen == current {
                    return Ok(());
                }
                Err(StoreError::Conflict { path: path.to_string(), etag: Some(current) })
            }
            Expect::Absent => Err(StoreError::Exists { path: path.to_string() }),
        }
    }

    /// Opens the folder that contains a path below one of the four folders.
    fn folder_of(&self, path: &Place) -> Result<Dir, StoreError> {
        let root = self.open_root(path.root(), |error| escape_or(path, error))?;
        match path.folder() {
            Some(inner) => root.open_dir(inner).map_err(|error| escape_or(path, error)),
            None => Ok(root),
        }
    }

    fn make_folder_of(&self, path: &Place) -> Result<Dir, StoreError> {
        if let Some(inner) = path.folder() {
            let root = self.open_root(path.root(), |error| escape_or(path, error))?;
            make_folders(&root, inner).map_err(|error| escape_or(path, error))?;
        }
        self.folder_of(path)
    }

    /// Removes the folder of a path if it is empty: a skill's folder has no meaning without its file. The folders of a
    /// project stay.
    fn remove_empty_folder(&self, path: &Place) {
        let Some(inner) = path.folder().filter(|_| !matches!(path.root(), Root::Project(_))) else { return };
        if let Ok(root) = self.open_root(path.root(), |error| escape_or(path, error)) {
            let _ = root.remove_dir(inner);
        }
    }

    fn trash(&self) -> std::io::Result<Dir> {
        self.root().create_dir_all(TRASH)?;
        self.root().open_dir(TRASH)
    }
}

/// Returns an error unless the path is in one of the four folders and not hidden.
fn editable(path: &Place) -> Result<(), StoreError> {
    let why = match path.root() {
        Root::Snapshot => "it is made from the skills",
        // People see the hidden files of a project.
        Root::Project(_) => return Ok(()),
        _ if path.is_hidden() => "names that begin with a dot are hidden",
        _ => return Ok(()),
    };
    Err(StoreError::NotAllowed { path: path.to_string(), why })
}

/// Moves an entry to a new place. Nothing is overwritten, also not what appears there in this moment.
fn move_entry(
    (source, name): (&Dir, &str),
    (target, to): (&Dir, &Place),
    doing: impl Fn() -> String,
) -> Result<(), StoreError> {
    let moved = renameat_with(source, name, target, to.file_name(), RenameFlags::NOREPLACE);
    let moved = match moved {
        // The file system has no such rename. A dangling link takes the path too.
        Err(Errno::INVAL | Errno::NOSYS) if target.symlink_metadata(to.file_name()).is_err() => {
            source.rename(name, target, to.file_name())
        }
        Err(Errno::EXIST | Errno::INVAL | Errno::NOSYS) => return Err(StoreError::Exists { path: to.to_string() }),
        // It is on another file system.
        Err(Errno::XDEV) => match across::move_entry((source.as_fd(), name), (target.as_fd(), to.file_name())) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(StoreError::Exists { path: to.to_string() });
            }
            moved => moved,
        },
        moved => moved.map_err(Into::into),
    };
    moved.and_then(|()| atomic::sync_dir(target)).map_err(StoreError::io(doing()))?;
    atomic::sync_dir(source).map_err(StoreError::io(doing()))
}

/// Checks that a place is a folder that a person may move: not a root itself.
fn movable(folder: &Place) -> Result<(), StoreError> {
    if folder.path().is_empty() {
        return Err(StoreError::NotAllowed { path: folder.to_string(), why: "it is a whole root" });
    }
    editable(folder)
}

fn prune(trash: &Dir) {
    let Ok(entries) = trash.entries() else { return };
    let mut stamps: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    stamps.sort();
    let over = stamps.len().saturating_sub(MAX_TRASHED);
    for stamp in &stamps[..over] {
        // Best effort: the next deletion tries again.
        let _ = trash.remove_dir_all(stamp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        (folder, home)
    }

    fn path(text: &str) -> Place {
        Place::parse(text).unwrap()
    }

    #[test]
    fn deleted_file_is_restored_without_overwriting() {
        let (folder, home) = home();
        let seen = home.save_text(&path("skills/tea/SKILL.md"), "tea", &Expect::Absent).unwrap();
        let refused = home.trash_text(&path("skills/tea/SKILL.md"), &Expect::Etag("other".to_owned()));
        assert!(matches!(refused, Err(StoreError::Conflict { .. })));
        let kept = home.trash_text(&path("skills/tea/SKILL.md"), &Expect::Etag(seen)).unwrap();
        assert!(kept.ends_with("/skills/tea/SKILL.md"));
        assert_eq!(std::fs::read_to_string(folder.path().join(TRASH).join(&kept)).unwrap(), "tea");
        assert!(!folder.path().join("skills/tea").exists());
        home.save_text(&path("skills/tea/SKILL.md"), "new tea", &Expect::Absent).unwrap();
        assert!(matches!(home.restore_text(&kept), Err(StoreError::Exists { .. })));
        home.trash_text(&path("skills/tea/SKILL.md"), &Expect::Anything).unwrap();
        assert_eq!(home.restore_text(&kept).unwrap(), path("skills/tea/SKILL.md"));
        assert_eq!(home.read_text(&path("skills/tea/SKILL.md")).unwrap().content, "tea");
        for odd in [kept.as_str(), "", "x", "../memory/a.md", "2026/../../.env", "2026/.env", "2026/config.yml"] {
            assert!(home.restore_text(odd).is_err(), "{odd}");
        }
    }

    #[test]
    fn rename_overwrites_nothing_and_stays_in_roots() {
        let (folder, home) = home();
        std::fs::write(folder.path().join(".env"), "KEY=canary").unwrap();
        home.save_text(&path("memory/a.md"), "a", &Expect::Absent).unwrap();
        home.save_text(&path("memory/b.md"), "b", &Expect::Absent).unwrap();
        let taken = home.rename_text(&path("memory/a.md"), &path("memory/b.md"), &Expect::Anything);
        assert!(matches!(taken, Err(StoreError::Exists { .. })));
        for (from, to) in [("memory/a.md", "memory/.hidden"), ("memory/a.md", "SKILLS_SNAPSHOT.md")] {
            let refused = home.rename_text(&path(from), &path(to), &Expect::Anything);
            assert!(matches!(refused, Err(StoreError::NotAllowed { .. })), "{from} {to}: {refused:?}");
        }
        home.rename_text(&path("memory/a.md"), &path("knowledge/new/c.md"), &Expect::Anything).unwrap();
        assert_eq!(home.read_text(&path("knowledge/new/c.md")).unwrap().content, "a");
        assert!(matches!(home.read_text(&path("memory/a.md")), Err(StoreError::NotFound { .. })));
        let outside = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(outside.path(), folder.path().join("memory/out")).unwrap();
        assert!(home.rename_text(&path("memory/b.md"), &path("memory/out/b.md"), &Expect::Anything).is_err());
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    }

    #[test]
    fn trash_keeps_last_deleted_files() {
        let (folder, home) = home();
        for n in 0..MAX_TRASHED + 2 {
            std::fs::create_dir_all(folder.path().join(TRASH).join(format!("{n:04}/memory"))).unwrap();
        }
        home.save_text(&path("memory/a.md"), "a", &Expect::Absent).unwrap();
        let kept = home.trash_text(&path("memory/a.md"), &Expect::Anything).unwrap();
        assert_eq!(std::fs::read_dir(folder.path().join(TRASH)).unwrap().count(), MAX_TRASHED);
        home.restore_text(&kept).unwrap();
    }
}
