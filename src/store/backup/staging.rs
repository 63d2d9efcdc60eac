//! The folder in which a restore puts a home together, inside of the folder that becomes the home. While it is there, no server
//! opens that home.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, OpenOptions, OpenOptionsExt, Permissions, PermissionsExt};
use rustix::fs::{AtFlags, Gid, Timespec, Timestamps, Uid, chownat, utimensat};
use sha2::{Digest, Sha256};

use super::BackupError;
use super::manifest::{Attributes, Content, Entry, MODES, Part, bytes};
use super::restoring::require_inside;
use super::walk::{as_path, open_folder};
use crate::domain::entry_path::escaped;
use crate::store::error::StoreError;

/// The folder's name. No part of a home has it.
const FOLDER: &str = ".miniclaw-restoring";
/// What the file system may put into an empty folder.
const OF_FILE_SYSTEM: &str = "lost+found";
/// How much of the disk stays free.
const RESERVE: u64 = 32 << 20;
/// What the owner of a folder needs to write in it.
const OWN: u32 = 0o700;

/// Whether a restore into this folder is under way, or was cut off.
pub(in crate::store) fn is_half_restored(home: &Dir) -> bool {
    home.symlink_metadata(FOLDER).is_ok()
}

/// Like [`is_half_restored`], for a folder that need not be there.
pub(in crate::store) fn is_being_restored(home: &Path) -> bool {
    home.join(FOLDER).symlink_metadata().is_ok()
}

/// The size and SHA-256 of each file that was written, by its place in the home.
pub(super) type WrittenFiles = BTreeMap<(Part, Vec<u8>), (u64, String)>;

/// Which users of the system files get that belonged to others. Only root gives files away; all others belong to whoever
/// restores.
#[derive(Debug, Default)]
pub(super) struct OwnerMap(BTreeMap<u32, u32>);

impl OwnerMap {
    pub fn new(users: impl Iterator<Item = (u32, u32)>) -> Self {
        let is_root = rustix::process::geteuid().is_root();
        Self(users.filter(|_| is_root).collect())
    }

    fn of(&self, attributes: &Attributes) -> Option<u32> {
        self.0.get(&attributes.uid).copied()
    }
}

pub(super) struct Staging {
    /// The folder that becomes the home.
    target: Dir,
    path: PathBuf,
    /// Inside of it.
    dir: Dir,
    /// How many bytes may still be written.
    left: u64,
    free: u64,
    /// The folders that were made for files.
    made: BTreeSet<(Part, Vec<u8>)>,
    /// Those at the top of the home, which get their attributes last.
    top: Vec<(OsString, Attributes)>,
}

impl Staging {
    /// # Errors
    /// Returns [`BackupError::NotEmpty`] if the target has anything but what a restore has left that was cut off early.
    pub fn begin(target: Dir, path: &Path) -> Result<Self, BackupError> {
        let doing = || StoreError::io(format!("preparing {}", path.display()));
        let names: Result<Vec<OsString>, io::Error> =
            target.entries().map_err(doing())?.map(|entry| Ok(entry?.file_name())).collect();
        let names = names.map_err(doing())?;
        if names.iter().any(|name| name != FOLDER && name != OF_FILE_SYSTEM) {
            return Err(BackupError::NotEmpty(path.to_owned()));
        }
        if names.iter().any(|name| name == FOLDER) {
            target.remove_dir_all(FOLDER).map_err(doing())?;
        }
        make(&target, Path::new(FOLDER)).map_err(doing())?;
        let dir = open_folder(&target, FOLDER.as_bytes()).map_err(doing())?;
        [Part::Home, Part::Later].iter().try_for_each(|part| make(&dir, part.folder().as_ref())).map_err(doing())?;
        let disk = rustix::fs::fstatvfs(&dir).map_err(|error| doing()(error.into()))?;
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        let left = free.saturating_sub(RESERVE);
        Ok(Self { target, path: path.to_owned(), dir, left, free, made: BTreeSet::new(), top: Vec::new() })
    }

    /// Reads what is not restored, as far as it could be on this disk.
    pub fn skip(&self, content: &mut impl Read) -> Result<(), BackupError> {
        let read = io::copy(&mut content.take(self.left.saturating_add(1)), &mut io::sink());
        let read = read.map_err(BackupError::damaged)?;
        if read > self.left { Err(self.no_room()) } else { Ok(()) }
    }

    #[cfg(test)]
    pub fn limit(&mut self, bytes: u64) {
        self.left = bytes;
    }

    fn no_room(&self) -> BackupError {
        BackupError::NoRoom { free: self.free }
    }

    /// Writes a file that is not there yet. Returns its length and its SHA-256.
    pub fn write(
        &mut self,
        (part, path): (Part, &[u8]),
        content: &mut impl Read,
    ) -> Result<(u64, String), BackupError> {
        let doing = || StoreError::io(format!("writing {}", escaped(path)));
        let (parent, name) = self.parent(part, path).map_err(doing())?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut file = parent.open_with(as_path(name), &options).map_err(doing())?;
        let (mut length, mut sha256) = (0, Sha256::new());
        let mut piece = vec![0; 64 << 10];
        loop {
            let read = match content.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(BackupError::damaged(error)),
            };
            self.left = self.left.checked_sub(read as u64).ok_or_else(|| self.no_room())?;
            file.write_all(&piece[..read]).map_err(doing())?;
            sha256.update(&piece[..read]);
            length += read as u64;
        }
        Ok((length, base16ct::lower::encode_string(&sha256.finalize())))
    }

    /// Opens the folder of a path, and makes folders that are missing.
    fn parent<'p>(&mut self, part: Part, path: &'p [u8]) -> io::Result<(Dir, &'p [u8])> {
        let mut dir = open_folder(&self.dir, part.folder().as_bytes())?;
        let mut at = 0;
        while let Some(next) = path[at..].iter().position(|byte| *byte == b'/') {
            let name = &path[at..at + next];
            if self.made.insert((part, path[..at + next].to_vec())) {
                make(&dir, as_path(name))?;
            }
            dir = open_folder(&dir, name)?;
            at += next + 1;
        }
        Ok((dir, &path[at..]))
    }

    /// Makes what was written the home that the manifest describes.
    pub fn assemble(
        &mut self,
        (manifest, written): (&[Entry], &WrittenFiles),
        owners: &OwnerMap,
    ) -> Result<(), BackupError> {
        let mut wanted: BTreeMap<Vec<u8>, &Entry> = BTreeMap::new();
        for entry in manifest {
            wanted.insert(entry.path().ok_or_else(|| BackupError::damaged("a path in its manifest"))?, entry);
        }
        let is_folder = |path: &[u8]| wanted.get(path).is_some_and(|entry| entry.content == Content::Folder);
        for (path, entry) in &wanted {
            let above = path.iter().rposition(|byte| *byte == b'/').map(|at| &path[..at]);
            if above.is_some_and(|above| !is_folder(above)) {
                return Err(BackupError::Refused { path: entry.path.clone(), why: "it is in no folder" });
            }
            if let Content::File { part, size, sha256 } = &entry.content
                && written.get(&(*part, path.clone())) != Some(&(*size, sha256.clone()))
            {
                return Err(BackupError::Damaged { reason: format!("{} is not what its hash says", entry.path) });
            }
        }
        self.remove_gone(&wanted, written)?;
        for (path, entry) in wanted.iter().filter(|(_, entry)| entry.content == Content::Folder) {
            self.parent(Part::Home, &[&**path, b"/x"].concat()).map_err(doing(entry))?;
        }
        for (path, entry) in &wanted {
            if let Content::File { part, .. } = entry.content {
                let (parent, name) = self.parent(Part::Home, path).map_err(doing(entry))?;
                if part == Part::Later {
                    let (later, name) = self.parent(part, path).map_err(doing(entry))?;
                    later.rename(as_path(name), &parent, as_path(name)).map_err(doing(entry))?;
                }
                set(&parent, name, &entry.attributes, owners).map_err(doing(entry))?;
            }
        }
        let links = wanted.iter().filter_map(|(path, entry)| match &entry.content {
            Content::Link { target } => Some((path, *entry, bytes(target)?)),
            _ => None,
        });
        for (path, entry, target) in links {
            let (parent, name) = self.parent(Part::Home, path).map_err(doing(entry))?;
            parent.symlink_contents(as_path(&target), as_path(name)).map_err(doing(entry))?;
            if let Some(user) = owners.of(&entry.attributes) {
                give(&parent, name, user).map_err(doing(entry))?;
            }
        }
        for (path, entry) in wanted.iter().rev().filter(|(_, entry)| entry.content == Content::Folder) {
            let (parent, name) = self.parent(Part::Home, path).map_err(doing(entry))?;
            if path.contains(&b'/') {
                set(&parent, name, &entry.attributes, owners).map_err(doing(entry))?;
            } else {
                if let Some(user) = owners.of(&entry.attributes) {
                    give(&parent, name, user).map_err(doing(entry))?;
                }
                self.top.push((as_path(name).as_os_str().to_owned(), entry.attributes));
            }
        }
        Ok(())
    }

    /// Fails if a link leads out of the home.
    pub fn require_inside(&self, manifest: &[Entry]) -> Result<(), BackupError> {
        let home = open_folder(&self.dir, Part::Home.folder().as_bytes()).map_err(StoreError::io("checking links"))?;
        let links = manifest.iter().filter(|entry| matches!(entry.content, Content::Link { .. }));
        links.filter_map(Entry::path).try_for_each(|path| require_inside(&home, as_path(&path)))
    }

    /// Removes what had gone, or was replaced, by the moment of the backup.
    fn remove_gone(&mut self, wanted: &BTreeMap<Vec<u8>, &Entry>, written: &WrittenFiles) -> Result<(), BackupError> {
        let stays = |part: Part, path: &[u8]| match wanted.get(path).map(|entry| &entry.content) {
            Some(Content::File { part: of, .. }) => *of == part,
            _ => false,
        };
        for (part, path) in written.keys().filter(|(part, path)| !stays(*part, path)) {
            let doing = || StoreError::io(format!("removing {}", escaped(path)));
            let (parent, name) = self.parent(*part, path).map_err(doing())?;
            parent.remove_file(as_path(name)).map_err(doing())?;
        }
        let is_folder = |path: &[u8]| wanted.get(path).is_some_and(|entry| entry.content == Content::Folder);
        let gone: Vec<_> =
            self.made.iter().rev().filter(|(part, path)| *part == Part::Home && !is_folder(path)).cloned().collect();
        for (part, path) in gone {
            let doing = || StoreError::io(format!("removing {}", escaped(&path)));
            self.made.remove(&(part, path.clone()));
            let (parent, name) = self.parent(part, &path).map_err(doing())?;
            parent.remove_dir(as_path(name)).map_err(doing())?;
        }
        Ok(())
    }

    /// Moves everything to its place, once it is on the disk.
    pub fn publish(&self) -> Result<(), BackupError> {
        let doing = || StoreError::io(format!("moving what was restored to {}", self.path.display()));
        let whole = self.dir.open(".").map_err(doing())?;
        rustix::fs::syncfs(&whole).map_err(|error| doing()(error.into()))?;
        let home = open_folder(&self.dir, Part::Home.folder().as_bytes()).map_err(doing())?;
        let names: Result<Vec<OsString>, io::Error> =
            home.entries().map_err(doing())?.map(|entry| Ok(entry?.file_name())).collect();
        let names = names.map_err(doing())?;
        for (at, name) in names.iter().enumerate() {
            if let Err(error) = home.rename(name, &self.target, name) {
                // Best effort: what cannot be moved back keeps servers from taking the folder for a home.
                names[..at].iter().for_each(|name| drop(self.target.rename(name, &home, name)));
                return Err(doing()(error).into());
            }
        }
        for (name, attributes) in &self.top {
            self.target.set_permissions(name, Permissions::from_mode(attributes.mode & MODES)).map_err(doing())?;
        }
        let target = self.target.open(".").map_err(doing())?;
        target.sync_all().map_err(doing())?;
        self.target.remove_dir_all(FOLDER).map_err(doing())?;
        Ok(target.sync_all().map_err(doing())?)
    }

    /// Removes what was written, unless a part of it is in its place already: no server may take that for a home.
    pub fn discard(&self) {
        let is_moved = |name: OsString| name != FOLDER && name != OF_FILE_SYSTEM;
        let is_empty = self
            .target
            .entries()
            .is_ok_and(|mut entries| entries.all(|entry| entry.is_ok_and(|entry| !is_moved(entry.file_name()))));
        if is_empty {
            // Best effort: what remains is removed by the next restore to this folder.
            let _ = self.target.remove_dir_all(FOLDER);
        }
    }
}

fn doing(entry: &Entry) -> impl FnOnce(io::Error) -> BackupError {
    let path = entry.path.clone();
    move |error| StoreError::io(format!("restoring {path}"))(error).into()
}

fn make(parent: &Dir, name: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.mode(OWN);
    parent.create_dir_with(name, &builder)
}

/// Gives a file or folder its owner, mode and time. The umask does not count here.
fn set(parent: &Dir, name: &[u8], attributes: &Attributes, owners: &OwnerMap) -> io::Result<()> {
    if let Some(user) = owners.of(attributes) {
        give(parent, name, user)?;
    }
    parent.set_permissions(as_path(name), Permissions::from_mode(attributes.mode & MODES))?;
    let second = 1_000_000_000;
    let (tv_sec, tv_nsec) = (attributes.modified.div_euclid(second), attributes.modified.rem_euclid(second));
    let time = Timespec { tv_sec, tv_nsec: tv_nsec as _ };
    let times = Timestamps { last_access: time, last_modification: time };
    Ok(utimensat(parent, as_path(name), &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

fn give(parent: &Dir, name: &[u8], user: u32) -> io::Result<()> {
    let (user, group) = (Uid::from_raw(user), Gid::from_raw(user));
    Ok(chownat(parent, as_path(name), Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)?)
}
