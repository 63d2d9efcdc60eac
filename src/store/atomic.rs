//! Replaces files atomically: a crash or a power failure leaves the old or the new content, never a mixture.

use std::io::{self, Write};
use std::os::fd::AsFd;

use cap_std::fs::{Dir, Metadata, MetadataExt, OpenOptions, OpenOptionsExt, Permissions, PermissionsExt};
use rustix::fs::{Gid, Mode, Uid};
use rustix::io::Errno;

use crate::clock;

/// Suffix of temporary files. Their names also begin with a dot, so no listing and no watcher shows them.
pub const TEMP: &str = ".miniclaw-tmp";

/// Writes `bytes` as `name` in `dir`: temporary file, fsync, rename, fsync of the folder. Keeps the mode of an existing
/// file; a new file gets `mode`.
pub fn replace(dir: &Dir, name: &str, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mode = match dir.symlink_metadata(name) {
        Ok(meta) if meta.is_file() => meta.permissions().mode() & 0o777,
        _ => mode,
    };
    replace_with_mode(dir, name, bytes, mode)
}

/// Like [`replace`], but the file has exactly this mode afterwards.
pub fn replace_with_mode(dir: &Dir, name: &str, bytes: &[u8], mode: u32) -> io::Result<()> {
    let temp = temporary_name();
    let written = write_synced(dir, (&temp, name), bytes, mode).and_then(|()| dir.rename(&temp, dir, name));
    if let Err(error) = written {
        // Best effort: the next start removes what remains.
        let _ = dir.remove_file(&temp);
        return Err(error);
    }
    sync_dir(dir)
}

/// Writes `bytes` as `name` in `dir`, which only the owner can read, and waits for no disk: after a crash of the machine, any part of
/// it may be missing.
pub fn replace_unsynced(dir: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    let temp = temporary_name();
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let written = dir.open_with(&temp, &options).and_then(|mut file| file.write_all(bytes));
    let replaced = written.and_then(|()| dir.rename(&temp, dir, name));
    if replaced.is_err() {
        // Best effort: a leftover does no harm.
        let _ = dir.remove_file(&temp);
    }
    replaced
}

/// Returns a new name for a file that is renamed when it is complete. The next start removes it otherwise.
pub fn temporary_name() -> String {
    format!(".{}{TEMP}", clock::new_id())
}

/// Writes a file that will replace the one named `replaced`.
fn write_synced(dir: &Dir, (name, replaced): (&str, &str), bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = dir.open_with(name, &options)?;
    match dir.symlink_metadata(replaced) {
        Ok(meta) if meta.is_file() => give_as(&file, &meta)?,
        _ => super::project_folder::hand_over(dir, &file)?,
    }
    file.write_all(bytes)?;
    file.set_permissions(Permissions::from_mode(mode))?;
    file.sync_all()
}

/// Gives an open file that this server has just made to the owner of the file that it replaces. Only root can give it to another
/// user.
pub fn give_as(made: impl AsFd, replaced: &Metadata) -> io::Result<()> {
    let (user, group) = (Uid::from_raw(replaced.uid()), Gid::from_raw(replaced.gid()));
    let now = rustix::fs::fstat(&made)?;
    if (now.st_uid, now.st_gid) == (replaced.uid(), replaced.gid()) {
        return Ok(());
    }
    match rustix::fs::fchown(made, Some(user), Some(group)) {
        Err(Errno::PERM) => Ok(()),
        given => Ok(given?),
    }
}

/// Sets the mode of an open file.
pub fn set_mode(file: impl AsFd, mode: u32) -> io::Result<()> {
    Ok(rustix::fs::fchmod(file, Mode::from_raw_mode(mode))?)
}

/// Makes renames, creations and removals in `dir` durable.
pub fn sync_dir(dir: &Dir) -> io::Result<()> {
    dir.open(".")?.sync_all()
}

/// Removes the temporary files that an interrupted [`replace`] left in `dir` and its subfolders. Called once at start,
/// under the home's lock. Skips files that cannot be removed, because they do no harm.
pub fn remove_leftovers(dir: &Dir) {
    for entry in dir.entries().into_iter().flatten().flatten() {
        let (Ok(kind), name) = (entry.file_type(), entry.file_name()) else { continue };
        if kind.is_dir() {
            entry.open_dir().iter().for_each(remove_leftovers);
        } else if name.to_str().is_some_and(is_leftover) {
            // Best effort: see above.
            let _ = dir.remove_file(name);
        }
    }
}

/// Like [`remove_leftovers`], without the subfolders.
pub fn remove_leftovers_here(dir: &Dir) {
    for entry in dir.entries().into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(is_leftover) {
            let _ = dir.remove_file(entry.file_name());
        }
    }
}

fn is_leftover(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(TEMP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_std::ambient_authority;

    #[test]
    fn replace_keeps_mode_and_leaves_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        replace(&dir, "a.md", b"one", 0o640).unwrap();
        dir.set_permissions("a.md", Permissions::from_mode(0o604)).unwrap();
        replace(&dir, "a.md", b"two", 0o640).unwrap();
        assert_eq!(dir.read_to_string("a.md").unwrap(), "two");
        assert_eq!(dir.metadata("a.md").unwrap().permissions().mode() & 0o777, 0o604);
        assert!(replace(&dir, "no/such/folder.md", b"x", 0o600).is_err());
        assert_eq!(dir.entries().unwrap().count(), 1);
    }

    #[test]
    fn only_own_temporary_files_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join(".x.miniclaw-tmp"), "not ours").unwrap();
        dir.create_dir_all("deep/.odd.miniclaw-tmp").unwrap();
        std::os::unix::fs::symlink(outside.path(), folder.path().join("deep/link")).unwrap();
        for name in [".x.miniclaw-tmp", "mine.miniclaw-tmp", "deep/.y.miniclaw-tmp"] {
            dir.write(name, "half").unwrap();
        }
        remove_leftovers_here(&dir);
        assert!(!dir.exists(".x.miniclaw-tmp") && dir.exists("deep/.y.miniclaw-tmp"));
        dir.write(".x.miniclaw-tmp", "half").unwrap();
        remove_leftovers(&dir);
        assert!(dir.exists("mine.miniclaw-tmp") && dir.is_dir("deep/.odd.miniclaw-tmp"));
        assert!(!dir.exists(".x.miniclaw-tmp") && !dir.exists("deep/.y.miniclaw-tmp"));
        assert!(outside.path().join(".x.miniclaw-tmp").exists(), "no link is followed");
    }
}
