//! Room on the disk that is set aside before a call is observed, so that its record can be written even if the call fills the
//! disk.

use std::io;

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::FOLDER;
use crate::store::error::StoreError;
use crate::store::home::Home;

/// Size of the reserve in bytes: room for the record of a call that changed 50,000 files.
pub const RESERVE: u64 = 16 << 20;
/// The file that takes up the room.
const FILE: &str = "storage/index/reserve";

/// Sets the room aside, unless it is. A file system that cannot do that has no reserve.
///
/// # Errors
/// Returns an error if there is no room.
pub fn set_aside(home: &Dir) -> io::Result<()> {
    if home.symlink_metadata(FILE).is_ok_and(|meta| meta.len() == RESERVE) {
        return Ok(());
    }
    home.create_dir_all(FOLDER)?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let file = home.open_with(FILE, &options)?;
    match fallocate(&file, FallocateFlags::empty(), 0, RESERVE) {
        Ok(()) => Ok(()),
        Err(error) => {
            drop(file);
            release(home);
            if error == Errno::OPNOTSUPP { Ok(()) } else { Err(error.into()) }
        }
    }
}

/// Gives the room back to the disk.
pub fn release(home: &Dir) {
    if let Err(error) = home.remove_file(FILE)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "the room that was set aside for records could not be released");
    }
}

impl Home {
    /// Does something that needs little room. If the disk is full, the reserve is released, and it is done once more.
    ///
    /// # Errors
    /// Returns the errors of `act`.
    pub(super) fn in_reserve<T>(&self, mut act: impl FnMut() -> Result<T, StoreError>) -> Result<T, StoreError> {
        match act() {
            Err(StoreError::DiskFull) => {
                release(self.root());
                act()
            }
            done => done,
        }
    }
}
