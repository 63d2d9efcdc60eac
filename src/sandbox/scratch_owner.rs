//! The owner of a job's working directory. A server that runs as root runs its jobs as another user depending on settings
//! (level, location of the home); a job must be able to change files that jobs under other settings wrote.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{self, Access, AtFlags, Dir, FileType, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;

/// Maximum depth of the folders that are walked, because each level holds a descriptor; deeper files keep their owner.
const DEEPEST: usize = 200;

/// Changes the owner of the folder and everything in it to a user and their group, without following links.
///
/// Costs one `fstat` if the user owns the folder already: the folder itself changes last, so that an interrupted walk is
/// repeated. Other file systems stay as they are. So does a file with several hard links, unless the folder's former owner
/// owns it and is not this server's user: another link may be anywhere, and the file this server's own.
///
/// # Errors
/// Returns an error if the system refuses the change and the folder is not writable; the message says what a person can do.
pub fn transfer_ownership(folder: &Path, user: u32) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = match fs::open(folder, flags, Mode::empty()) {
        // A private folder of another user cannot be opened at all.
        Err(Errno::ACCESS) => return Err(closed(folder, user)),
        opened => opened?,
    };
    let stat = fs::fstat(&opened)?;
    if stat.st_uid == user {
        return Ok(());
    }
    let change = OwnerChange { from: stat.st_uid, to: user, device: stat.st_dev };
    match change.all(&opened, 0).and_then(|()| change.one(opened.as_fd(), c"")) {
        Err(Errno::PERM) if fs::access(folder, Access::WRITE_OK).is_ok() => Ok(()),
        Err(Errno::PERM | Errno::ACCESS) => Err(closed(folder, user)),
        done => Ok(done?),
    }
}

/// Gives the folder to the user that jobs run as. That of a person, whose user this is, is also closed to everybody else.
///
/// # Errors
/// Same as [`transfer_ownership`]; also if the folder is missing, or a link.
pub fn give(folder: &Path, user: u32, person: Option<u32>) -> io::Result<()> {
    transfer_ownership(folder, user)?;
    if person.is_some() { close_to_others(folder) } else { Ok(()) }
}

/// Closes the folder to everybody but its owner, without following a link.
///
/// # Errors
/// Returns an error if it is missing, a link, or belongs to somebody else.
pub fn close_to_others(folder: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = fs::open(folder, flags, Mode::empty())?;
    let private = Mode::RWXU;
    if Mode::from_raw_mode(fs::fstat(&opened)?.st_mode) != private {
        fs::fchmod(&opened, private)?;
    }
    Ok(())
}

fn closed(folder: &Path, user: u32) -> io::Error {
    let folder = folder.display();
    let sentence = format!(
        "{folder} belongs to another user, because the server ran as root before; give it back with: sudo chown -R {user} {folder}"
    );
    io::Error::new(io::ErrorKind::PermissionDenied, sentence)
}

struct OwnerChange {
    from: u32,
    to: u32,
    device: u64,
}

impl OwnerChange {
    fn all(&self, folder: &OwnedFd, depth: usize) -> rustix::io::Result<()> {
        for entry in Dir::read_from(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            match self.entry(folder, name, depth) {
                // Removed in the meantime, or replaced by a link.
                Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => {}
                done => done?,
            }
        }
        Ok(())
    }

    fn entry(&self, folder: &OwnedFd, name: &CStr, depth: usize) -> rustix::io::Result<()> {
        // An open descriptor ensures that the checked file and the changed file are the same.
        let held = fs::openat(folder, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        let stat = fs::fstat(&held)?;
        if !self.concerns(&stat) {
            return Ok(());
        }
        if is_folder(&stat) && depth < DEEPEST {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            self.all(&fs::openat(folder, name, flags, Mode::empty())?, depth + 1)?;
        }
        self.one(held.as_fd(), c"")
    }

    fn concerns(&self, stat: &Stat) -> bool {
        let taken_back = stat.st_uid == self.from && self.from != super::sys::user_id();
        stat.st_dev == self.device && (is_folder(stat) || stat.st_nlink < 2 || taken_back)
    }

    fn one(&self, held: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<()> {
        let (user, group) = (Uid::from_raw(self.to), Gid::from_raw(self.to));
        fs::chownat(held, name, Some(user), Some(group), AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW)
    }
}

fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
    use std::path::PathBuf;

    use super::*;

    const OTHER: u32 = 65534;

    /// A folder as a job of another user leaves it, and a secret next to it; `None` if only root could create one.
    fn left_by_another() -> Option<(tempfile::TempDir, PathBuf)> {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("scratch");
        fs::create_dir_all(folder.join("a/b")).unwrap();
        fs::write(folder.join("a/b/file"), "x").unwrap();
        fs::write(root.path().join("secret"), "x").unwrap();
        symlink(root.path().join("secret"), folder.join("link")).unwrap();
        for name in ["", "a", "a/b", "a/b/file", "link"] {
            lchown(folder.join(name), Some(OTHER), Some(OTHER)).ok()?;
        }
        Some((root, folder))
    }

    fn owner(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().uid()
    }

    #[test]
    fn hand_over_changes_owner_but_follows_no_link() {
        let me = owner(tempfile::tempdir().unwrap().path());
        let Some((root, folder)) = left_by_another() else {
            // An ordinary user cannot give files away; their own folder stays as it is.
            let own = tempfile::tempdir().unwrap();
            transfer_ownership(own.path(), me).unwrap();
            return assert_eq!(owner(own.path()), me);
        };
        // A hard link to somebody else's file, and a set-user-id program.
        fs::hard_link(root.path().join("secret"), folder.join("hard")).unwrap();
        chown(root.path().join("secret"), Some(me), None).unwrap();
        fs::set_permissions(folder.join("a/b/file"), fs::Permissions::from_mode(0o4755)).unwrap();
        transfer_ownership(&folder, me).unwrap();
        for name in ["", "a", "a/b", "a/b/file", "link"] {
            assert_eq!(owner(&folder.join(name)), me, "{name}");
        }
        let mode = fs::metadata(folder.join("a/b/file")).unwrap().mode();
        assert_eq!(mode & 0o7777, 0o755, "what another user made must not run as this one");

        // And back: only the file with a second hard link, which is not theirs, keeps its owner.
        transfer_ownership(&folder, OTHER).unwrap();
        assert_eq!(owner(&folder.join("a/b/file")), OTHER);
        assert_eq!(owner(&root.path().join("secret")), me, "neither by its link nor by its second name");
    }

    #[test]
    fn hand_over_skips_contents_of_owned_folder() {
        let folder = tempfile::tempdir().unwrap();
        let me = owner(folder.path());
        fs::write(folder.path().join("file"), "x").unwrap();
        let foreign = chown(folder.path().join("file"), Some(OTHER), None).is_ok();
        transfer_ownership(folder.path(), me).unwrap();
        assert_eq!(owner(&folder.path().join("file")), if foreign { OTHER } else { me });
    }
}
