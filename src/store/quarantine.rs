//! Moves files that do not parse to quarantine and reports them. They are never overwritten.

use cap_std::fs::Dir;
use serde::Serialize;

use super::atomic;
use super::error::StoreError;
use super::home::Home;
use super::settings::SettingsFile;
use crate::clock;

/// A damaged file and where it was moved.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub struct Quarantined {
    /// Original path in the home.
    pub file: String,
    pub reason: String,
    /// New path in the home, under `storage/quarantine/`.
    pub moved_to: String,
    /// Unix seconds.
    pub at: f64,
}

impl Home {
    /// Moves `sessions/{name}` to `storage/quarantine/` and reports it.
    pub(super) fn quarantine(&self, name: &str, reason: String) -> Result<(), StoreError> {
        let (aside, kept) = self.aside(name)?;
        self.sessions_dir()
            .rename(name, &aside, &kept)
            .map_err(StoreError::io(format!("moving sessions/{name} aside")))?;
        atomic::sync_dir(&aside).map_err(StoreError::io("syncing storage/quarantine/"))?;
        atomic::sync_dir(self.sessions_dir()).map_err(StoreError::io("syncing sessions/"))?;
        self.note(format!("sessions/{name}"), reason, &kept);
        Ok(())
    }

    /// Moves a file at the top of the home to `storage/quarantine/` and reports it.
    pub(super) fn quarantine_setting(&self, name: &str, reason: String) -> Result<(), StoreError> {
        let (aside, kept) = self.aside(name)?;
        self.root().rename(name, &aside, &kept).map_err(StoreError::io(format!("moving {name} aside")))?;
        atomic::sync_dir(&aside).map_err(StoreError::io("syncing storage/quarantine/"))?;
        self.note(name.to_owned(), reason, &kept);
        Ok(())
    }

    /// Copies a settings file to `storage/quarantine/` and reports it. It stays until a commit replaces it, so that a crash in
    /// between leaves a damaged file and not a missing one, which would mean that the home is new.
    pub(super) fn quarantine_copy(&self, file: SettingsFile, bytes: &[u8], reason: String) -> Result<(), StoreError> {
        let (aside, kept) = self.aside(file.name())?;
        atomic::replace(&aside, &kept, bytes, 0o600)
            .map_err(StoreError::io(format!("keeping the damaged {}", file.name())))?;
        self.note(file.name().to_owned(), reason, &kept);
        Ok(())
    }

    /// Writes bytes that were cut from `sessions/{name}` to `storage/quarantine/` and reports them.
    pub(super) fn quarantine_bytes(&self, name: &str, bytes: &[u8], reason: String) -> Result<(), StoreError> {
        let (aside, kept) = self.aside(name)?;
        atomic::replace(&aside, &kept, bytes, 0o600)
            .map_err(StoreError::io(format!("keeping the torn end of {name}")))?;
        self.note(format!("sessions/{name}"), reason, &kept);
        Ok(())
    }

    fn aside(&self, name: &str) -> Result<(Dir, String), StoreError> {
        let aside =
            self.root().open_dir("storage/quarantine").map_err(StoreError::io("opening storage/quarantine/"))?;
        // Two files with the same name and time get different names.
        let stamped = format!("{name}.{}", clock::stamp());
        let mut kept = stamped.clone();
        let mut number = 1;
        while aside.exists(&kept) {
            number += 1;
            kept = format!("{stamped}-{number}");
        }
        Ok((aside, kept))
    }

    fn note(&self, file: String, reason: String, kept: &str) {
        self.report(Quarantined { file, reason, moved_to: format!("storage/quarantine/{kept}"), at: clock::now() });
    }
}
