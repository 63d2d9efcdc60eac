//! `storage/database.json`: which home of which database a folder is a copy of, and of which state.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::aside::FormerCopy;
use crate::domain::HomeId;
use crate::store::atomic;
use crate::store::error::StoreError;
use crate::store::postgres::{DatabaseError, FoundHome};

const MARKER: &str = "storage/database.json";
/// Maximum number of starts that the marker names, besides the newest one.
const MAX_OWNERS: usize = 64;
/// Another one after each start of the machine.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// Whether a folder is, or was, a copy of a home in a database.
pub fn is_copy(folder: &Path) -> bool {
    folder.join(MARKER).is_file()
}

/// The content of the marker.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Marker {
    home: Uuid,
    /// The starts of the server by which this copy was last written, in any order; none while it is not complete.
    owners: Vec<Uuid>,
    /// The last commit of files that this copy has, and the one under way; nil before the first.
    #[serde(default)]
    commits: Vec<Uuid>,
    /// The boot of the machine in which it was written; `None` once all of it is on the disk.
    #[serde(default)]
    boot: Option<String>,
    /// When the home was given up, with all of it in the database; in nanoseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    given_up: Option<u64>,
}

impl Marker {
    /// Returns the marker of a copy that has the files of `commit`.
    pub fn complete(home: &HomeId, owner: Uuid, commit: Option<Uuid>) -> Self {
        let commits = vec![commit.unwrap_or_default()];
        Self { home: home.uuid(), owners: vec![owner], commits, boot: this_boot(), given_up: None }
    }

    /// Returns the marker of a folder that is being made a copy: it is of no state, so the database wins.
    pub fn incomplete(home: &HomeId) -> Self {
        Self { home: home.uuid(), owners: Vec::new(), commits: Vec::new(), boot: this_boot(), given_up: None }
    }

    /// Whether what differs in the folder was changed here after all that the database has.
    pub fn is_of(&self, found: &FoundHome) -> bool {
        let is_last_owner = found.owner().is_some_and(|owner| self.names(owner));
        let is_last_commit = self.commits.contains(&found.files_commit().unwrap_or_default());
        // After a crash of the machine, files may be what they never were.
        let is_on_disk = self.boot.is_none() || self.boot == this_boot();
        self.home == found.id() && is_last_owner && is_last_commit && is_on_disk
    }

    /// Whether this start has written the copy before.
    pub fn names(&self, owner: Uuid) -> bool {
        self.owners.contains(&owner)
    }

    /// Returns the starts that wrote this copy since the machine was started, and have ended if nobody holds the lock of its
    /// folder.
    pub fn owners_of_this_boot(&self) -> &[Uuid] {
        if self.boot == this_boot() { &self.owners } else { &[] }
    }

    /// Adds a start that may have the home next.
    pub fn with_owner(&self, owner: Uuid) -> Self {
        let known = &self.owners[self.owners.len().saturating_sub(MAX_OWNERS)..];
        let owners = known.iter().copied().chain([owner]).collect();
        Self { owners, boot: this_boot(), given_up: None, ..self.clone() }
    }

    /// Says that this commit is under way.
    pub fn begin(&mut self, commit: Uuid) {
        self.commits.truncate(1);
        self.commits.push(commit);
    }

    /// Says that this is the last commit.
    pub fn set_commit(&mut self, commit: Option<Uuid>) {
        self.commits = vec![commit.unwrap_or_default()];
    }

    /// Says that the database has all of the copy.
    pub fn set_given_up(&mut self, at: SystemTime) {
        let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        self.given_up = u64::try_from(since.as_nanos()).ok();
    }

    /// Returns what the folder is once it is no copy of what the database has now.
    pub fn former_copy(&self) -> FormerCopy {
        match self.given_up {
            // After a crash of the machine, times and files may be what they never were.
            Some(at) if self.boot.is_none() || self.boot == this_boot() => {
                FormerCopy::GivenUp(UNIX_EPOCH + Duration::from_nanos(at))
            }
            _ => FormerCopy::Unknown,
        }
    }

    /// Says that all of the copy is on the disk.
    pub fn set_on_disk(&mut self) {
        self.boot = None;
    }

    pub fn read(dir: &Dir) -> Option<Self> {
        serde_json::from_slice(&dir.read(MARKER).ok()?).ok()
    }

    /// Writes it to the disk.
    pub fn write(&self, dir: &Dir) -> Result<(), StoreError> {
        let (storage, name) = storage(dir)?;
        atomic::replace(&storage, name, &self.bytes(), 0o600).map_err(StoreError::io(format!("writing {MARKER}")))
    }

    /// Writes it without waiting for the disk: after a crash of the machine, it does not count.
    pub fn note(&self, dir: &Dir) -> Result<(), StoreError> {
        let (storage, name) = storage(dir)?;
        let written = atomic::replace_unsynced(&storage, name, &self.bytes());
        written.map_err(StoreError::io(format!("writing {MARKER}")))
    }

    fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("it has string keys")
    }

    /// # Errors
    /// Returns an error if the copy was deleted under a running server: its files are not gone, then.
    pub fn require(dir: &Dir) -> Result<(), StoreError> {
        match dir.exists(MARKER) {
            true => Ok(()),
            false => Err(DatabaseError::CacheGone.into()),
        }
    }
}

fn storage(dir: &Dir) -> Result<(Dir, &'static str), StoreError> {
    let (folder, name) = MARKER.split_once('/').expect("a path");
    Ok((dir.open_dir(folder).map_err(StoreError::io("opening storage/"))?, name))
}

pub(super) fn this_boot() -> Option<String> {
    Some(std::fs::read_to_string(BOOT).unwrap_or_default().trim().to_owned())
}
