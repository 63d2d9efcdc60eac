//! How much room a file system has.

use std::io;
use std::path::Path;

/// The room of a file system for whoever is not root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    /// In bytes.
    pub free: u64,
    /// In bytes.
    pub total: u64,
    /// How many files can still be made; `None` if the file system has no limit of its own.
    pub free_files: Option<u64>,
}

impl DiskSpace {
    /// Looks at the file system of a folder.
    ///
    /// # Errors
    /// Returns an error if there is no such folder.
    pub fn of(folder: &Path) -> io::Result<Self> {
        let disk = rustix::fs::statvfs(folder)?;
        Ok(Self {
            free: disk.f_bavail.saturating_mul(disk.f_frsize),
            total: disk.f_blocks.saturating_mul(disk.f_frsize),
            free_files: (disk.f_files > 0).then_some(disk.f_favail),
        })
    }
}
