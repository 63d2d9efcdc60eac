//! Makes the files of a folder those of a home in the database.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, OpenOptions, OpenOptionsExt, Permissions, PermissionsExt};

use super::scan::{Manifest, PIECE};
use super::tracked;
use crate::store::error::StoreError;
use crate::store::home::make_dir;
use crate::store::postgres::{DatabaseError, FileRow, RowKind, SessionFacts, StoredHome};
use crate::store::{atomic, sha256_bytes};

/// Makes the kept files of `folder` those of the database, byte for byte. Returns what is stored.
///
/// # Errors
/// Returns an error if the database has no file as it was stored, or if a file cannot be written.
pub(super) async fn restore(stored: &StoredHome, folder: &Dir) -> Result<Manifest, StoreError> {
    let rows = stored.files().await?;
    if let Some(row) = rows.iter().find(|row| !tracked::may_be_written(&row.path)) {
        return Err(damaged(row).into());
    }
    // What is there counts as known, so that only what differs is fetched.
    let here = local(folder)?;
    let wanted: BTreeSet<&[u8]> = rows.iter().map(|row| &*row.path).collect();
    let differs = |row: &FileRow| wanted.contains(&*row.path);
    let kinds: BTreeMap<&[u8], RowKind> = rows.iter().map(|row| (&*row.path, row.kind)).collect();
    for row in here.iter().rev() {
        if !differs(row) || kinds.get(&*row.path).is_some_and(|kind| *kind != row.kind) {
            remove(folder, row)?;
        }
    }
    let same: BTreeMap<&[u8], &FileRow> = here.iter().map(|row| (&*row.path, row)).collect();
    for row in rows.iter().filter(|row| same.get(&*row.path).is_none_or(|here| *here != *row)) {
        write(stored, folder, row).await?;
    }
    Ok(Manifest::of(rows))
}

/// Writes the journals of sessions as they are in the database, and removes others.
pub(super) fn restore_journals(folder: &Dir, sessions: &[SessionFacts]) -> Result<(), StoreError> {
    make_dir(folder, "sessions", 0o700)?;
    let dir = folder.open_dir("sessions").map_err(StoreError::io("opening sessions/"))?;
    let wanted: BTreeSet<String> = sessions.iter().map(|of| format!("{}.journal", of.session)).collect();
    for entry in dir.entries().map_err(StoreError::io("listing sessions/"))?.flatten() {
        let name = entry.file_name().into_string().unwrap_or_default();
        if name.ends_with(".journal") && !wanted.contains(&name) {
            dir.remove_file(&name).map_err(StoreError::io(format!("removing sessions/{name}")))?;
        }
    }
    for SessionFacts { session, facts } in sessions {
        if crate::domain::SessionId::parse(session).is_err() {
            return Err(DatabaseError::Damaged { what: format!("session {session:?}") }.into());
        }
        let bytes: Vec<u8> = facts.iter().flat_map(|fact| fact.body.iter().copied()).collect();
        let name = format!("{session}.journal");
        if dir.read(&name).is_ok_and(|here| here == bytes) {
            continue;
        }
        atomic::replace(&dir, &name, &bytes, 0o600).map_err(StoreError::io(format!("writing sessions/{name}")))?;
    }
    Ok(())
}

/// Returns what a folder has of the files that are kept, each folder before what is in it.
fn local(folder: &Dir) -> Result<Vec<FileRow>, StoreError> {
    let mut manifest = Manifest::default();
    loop {
        let batch = manifest.compare(folder)?;
        let is_full = batch.is_full;
        manifest.stored(batch);
        if !is_full {
            return Ok(manifest.rows().cloned().collect());
        }
    }
}

async fn write(stored: &StoredHome, folder: &Dir, row: &FileRow) -> Result<(), StoreError> {
    let path = as_path(&row.path);
    let doing = || StoreError::io(format!("restoring {}", path.display()));
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        folder.create_dir_all(parent).map_err(doing())?;
    }
    match row.kind {
        RowKind::Folder => make_folder(folder, path, row.mode).map_err(doing()),
        RowKind::Link => {
            let target = content(stored, row).await?;
            let _ = folder.remove_file(path);
            folder.symlink_contents(as_path(&target), path).map_err(doing())
        }
        RowKind::File => {
            let bytes = content(stored, row).await?;
            write_file(folder, row, &bytes).map_err(doing())
        }
    }
}

fn write_file(folder: &Dir, row: &FileRow, bytes: &[u8]) -> io::Result<()> {
    let path = as_path(&row.path);
    let temporary = path.with_file_name(atomic::temporary_name());
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = folder.open_with(&temporary, &options)?;
    file.write_all(bytes)?;
    file.set_permissions(Permissions::from_mode(row.mode))?;
    let file = file.into_std();
    let modified = u64::try_from(row.modified).unwrap_or_default();
    file.set_modified(UNIX_EPOCH + Duration::from_nanos(modified))?;
    file.sync_all()?;
    folder.rename(&temporary, folder, path)
}

fn make_folder(folder: &Dir, path: &Path, mode: u32) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.mode(mode);
    match folder.create_dir_with(path, &builder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made?,
    }
    // The umask does not count here.
    folder.open_dir(path)?.set_permissions(".", Permissions::from_mode(mode))
}

fn remove(folder: &Dir, row: &FileRow) -> Result<(), StoreError> {
    let path = as_path(&row.path);
    let removed = match row.kind {
        RowKind::Folder => folder.remove_dir(path),
        RowKind::File | RowKind::Link => folder.remove_file(path),
    };
    match removed {
        // Something that is not kept is in it.
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(StoreError::io(format!("removing {}", path.display()))),
    }
}

/// Returns the bytes of a file, each piece of which must be what its hash says.
async fn content(stored: &StoredHome, row: &FileRow) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    for hash in &row.pieces {
        let packed = stored.piece(hash).await?.ok_or_else(|| damaged(row))?;
        let piece = zstd::bulk::decompress(&packed, PIECE).map_err(|_| damaged(row))?;
        if sha256_bytes(&piece) != *hash {
            return Err(damaged(row).into());
        }
        bytes.extend_from_slice(&piece);
    }
    if bytes.len() as u64 != row.size {
        return Err(damaged(row).into());
    }
    Ok(bytes)
}

fn damaged(row: &FileRow) -> DatabaseError {
    DatabaseError::Damaged { what: String::from_utf8_lossy(&row.path).into_owned() }
}

fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}
