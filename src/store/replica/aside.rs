//! What a copy has and the database does not is moved to quarantine, never removed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt};
use rustix::fs::{Mode, OFlags};

use crate::clock;
use crate::store::error::StoreError;

const QUARANTINE: &str = "storage/quarantine";

/// Where a restore moves what the database does not have: one folder for each restore, made when it is needed.
pub(super) struct Aside<'a> {
    home: &'a Dir,
    folder: PathBuf,
    moved: usize,
}

impl<'a> Aside<'a> {
    pub fn new(home: &'a Dir) -> Self {
        let first = format!("{QUARANTINE}/copy-{}", clock::stamp());
        let names = (2..).map(|number| format!("{first}-{number}"));
        let free = std::iter::once(first.clone()).chain(names).find(|name| home.symlink_metadata(name).is_err());
        Self { home, folder: PathBuf::from(free.expect("a free number")), moved: 0 }
    }

    /// Whether something is in quarantine already.
    pub fn contains(path: &Path) -> bool {
        path.starts_with(QUARANTINE)
    }

    /// Moves a file, link or folder.
    pub fn take(&mut self, path: &Path) -> Result<(), StoreError> {
        let target = self.folder.join(path);
        let moved = beneath(self.home, path).and_then(|(from, name)| {
            let (to, kept) = beneath(self.home, &target)?;
            from.rename(&name, &to, &kept)
        });
        moved.map_err(StoreError::io(format!("moving {} to {QUARANTINE}/", path.display())))?;
        self.moved += 1;
        Ok(())
    }

    /// Says what was moved.
    pub fn report(&self) {
        if self.moved > 0 {
            let folder = self.folder.display();
            tracing::warn!(
                "{} files of the copy, which the database does not have so, were moved to {folder}/",
                self.moved
            );
        }
    }
}

/// Opens the folder of a path, and makes folders that are missing. Follows no link.
pub(super) fn beneath(home: &Dir, path: &Path) -> io::Result<(Dir, OsString)> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
    let mut dir = home.try_clone()?;
    for part in path.parent().into_iter().flat_map(Path::iter) {
        dir = entered(&dir, part)?;
    }
    Ok((dir, name))
}

fn entered(dir: &Dir, name: &OsStr) -> io::Result<Dir> {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    match dir.create_dir_with(name, &builder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(dir, name, flags, Mode::empty())?;
    Ok(Dir::from_std_file(File::from(opened)))
}
