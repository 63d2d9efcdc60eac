//! What a copy has and the database does not is moved to quarantine, unless the copy was given up: the database had all of it then,
//! and what it has no more was changed or deleted since.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, Metadata, MetadataExt};
use rustix::fs::{Mode, OFlags};

use crate::clock;
use crate::store::error::StoreError;

const QUARANTINE: &str = "storage/quarantine";

/// What is known of the copy that a folder was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormerCopy {
    /// It may have what the database never had.
    Unknown,
    /// The database had all of it at this time.
    GivenUp(SystemTime),
}

/// Where a restore moves what the database does not have: one folder for each restore, made when it is needed.
pub(super) struct Aside<'a> {
    home: &'a Dir,
    copy: FormerCopy,
    folder: PathBuf,
    moved: usize,
}

impl<'a> Aside<'a> {
    pub fn new(home: &'a Dir, copy: FormerCopy) -> Self {
        let first = format!("{QUARANTINE}/copy-{}", clock::stamp());
        let names = (2..).map(|number| format!("{first}-{number}"));
        let free = std::iter::once(first.clone()).chain(names).find(|name| home.symlink_metadata(name).is_err());
        Self { home, copy, folder: PathBuf::from(free.expect("a free number")), moved: 0 }
    }

    /// Whether something is in quarantine already.
    pub fn contains(path: &Path) -> bool {
        path.starts_with(QUARANTINE)
    }

    /// Whether the database had what is at this path, as it is.
    pub fn is_stale(&self, path: &Path) -> bool {
        let FormerCopy::GivenUp(at) = self.copy else { return false };
        let meta = beneath(self.home, path).and_then(|(parent, name)| parent.symlink_metadata(name));
        // Nobody can set this time.
        let changed = |meta: Metadata| UNIX_EPOCH + Duration::new(meta.ctime().max(0) as u64, meta.ctime_nsec() as u32);
        meta.is_ok_and(|meta| !meta.is_dir() && changed(meta) < at)
    }

    /// Moves a file, link or folder away, or removes it if the database had it.
    pub fn take(&mut self, path: &Path) -> Result<(), StoreError> {
        if self.is_stale(path) {
            let removed = beneath(self.home, path).and_then(|(parent, name)| parent.remove_file(name));
            return removed.map_err(StoreError::io(format!("removing {}", path.display())));
        }
        self.keep(path)
    }

    /// Moves a file, link or folder away that the database may never have had.
    pub fn keep(&mut self, path: &Path) -> Result<(), StoreError> {
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
