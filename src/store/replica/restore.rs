//! Makes the files of a folder those of a home in the database.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, Metadata, OpenOptions, OpenOptionsExt, Permissions, PermissionsExt};

use super::aside::{Aside, FormerCopy, beneath};
use super::blocking;
use super::looks::Looks;
use super::manifest::Manifest;
use super::reading::Seen;
use super::scan::{MAX_FILE, MODES, PIECE, Scope, look_only};
use super::tracked;
use crate::store::error::StoreError;
use crate::store::home::make_dir;
use crate::store::postgres::{DatabaseError, FileRow, PieceHash, RowKind, SessionFacts, StoredHome};
use crate::store::{atomic, sha256_bytes};

/// What the owner of a folder needs to restore what is in it.
const OWN: u32 = 0o700;
/// Rows and pieces that are fetched in one round trip, and are in memory at once.
const ROWS_AT_ONCE: usize = 500;
const PIECES_AT_ONCE: usize = 64;

/// Makes the kept files of `folder` those of the database, byte for byte. What the database does not have is moved to quarantine;
/// of a copy that was given up it is removed. Returns what is stored.
///
/// # Errors
/// Returns an error if the database has no file as it was stored, or if a file cannot be written.
pub(super) async fn restore(stored: &StoredHome, folder: &Dir, copy: FormerCopy) -> Result<Manifest, StoreError> {
    let rows = stored.files().await?;
    let wanted: BTreeMap<&[u8], &FileRow> = rows.iter().map(|row| (&*row.path, row)).collect();
    if let Some(row) = rows.iter().find(|row| !is_possible(row, &wanted)) {
        return Err(damaged(row).into());
    }
    let dir = folder.try_clone().map_err(StoreError::io("opening the copy"))?;
    // It may be large, and the runtime has other things to do meanwhile.
    let Room { rows, differing, mut seen } = blocking(move || make_room(&dir, rows, copy)).await?;
    let mut left = differing.as_slice();
    while !left.is_empty() {
        let (some, rest) = left.split_at(batch(left));
        seen.extend(write(stored, folder, some).await?);
        left = rest;
    }
    // Nothing more is written below them.
    for row in differing.iter().rev().filter(|row| row.kind == RowKind::Folder) {
        set_folder_mode(folder, row, row.mode & MODES)?;
    }
    let mut manifest = Manifest::of(rows);
    for (path, seen) in seen {
        manifest.set_seen(&path, seen);
    }
    Ok(manifest)
}

/// A file, and how it looks.
type SeenFile = (Vec<u8>, Seen);

/// A folder in which the files of the database can be written.
struct Room {
    /// What the database has.
    rows: Vec<FileRow>,
    /// Those that have to be written.
    differing: Vec<FileRow>,
    /// Files that are there as they are stored.
    seen: Vec<SeenFile>,
}

/// Takes out of the way what the database does not have.
fn make_room(folder: &Dir, rows: Vec<FileRow>, copy: FormerCopy) -> Result<Room, StoreError> {
    let wanted: BTreeMap<&[u8], &FileRow> = rows.iter().map(|row| (&*row.path, row)).collect();
    // What is there counts as known, so that only what differs is fetched.
    // After a crash of the machine, files may be what they never were.
    let noted = Looks::read(folder).filter(Looks::is_of_this_boot);
    let local = local(folder, noted.unwrap_or_default())?;
    let here: Vec<&FileRow> = local.rows().collect();
    for row in here.iter().filter(|row| row.kind == RowKind::Folder && row.mode & OWN != OWN) {
        set_folder_mode(folder, row, OWN)?;
    }
    let mut aside = Aside::new(folder, copy);
    for row in here.iter().rev() {
        clear(folder, (row, wanted.get(&*row.path).copied()), &mut aside)?;
    }
    let same: BTreeMap<&[u8], &FileRow> = here.iter().map(|row| (&*row.path, *row)).collect();
    let differs = |row: &&FileRow| {
        let is_closed = row.kind == RowKind::Folder && row.mode & OWN != OWN;
        is_closed || same.get(&*row.path).is_none_or(|here| *here != *row)
    };
    let differing: Vec<FileRow> = rows.iter().filter(differs).cloned().collect();
    for row in differing.iter().filter(|row| !same.contains_key(&*row.path)) {
        clear_left_out(folder, row, &mut aside)?;
    }
    aside.report();
    let is_deleted = |row: &FileRow| row.path.starts_with(b"sessions/") && !wanted.contains_key(&*row.path);
    if here.iter().any(|row| is_deleted(row)) {
        forget_conversations(folder)?;
    }
    let is_same = |path: &[u8]| wanted.get(path).is_some_and(|row| same.get(path) == Some(row));
    let seen = local.seen().filter(|(row, _)| is_same(&row.path)).map(|(row, seen)| (row.path.clone(), seen)).collect();
    Ok(Room { rows, differing, seen })
}

/// Removes the search indexes of conversations, which have what was said in those that are deleted. They are built again.
fn forget_conversations(folder: &Dir) -> Result<(), StoreError> {
    let doing = || StoreError::io("removing the index of conversations");
    let caches = match folder.open_dir("storage/retrieval") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        caches => caches.map_err(doing())?,
    };
    for entry in caches.entries().map_err(doing())? {
        let entry = entry.map_err(doing())?;
        let name = entry.file_name();
        if name.as_bytes().starts_with(b"conversation") {
            let is_folder = entry.file_type().map_err(doing())?.is_dir();
            let removed = if is_folder { caches.remove_dir_all(&name) } else { caches.remove_file(&name) };
            removed.map_err(doing())?;
        }
    }
    Ok(())
}

/// Whether a row can be of a home: at a path that is kept, in folders, and of a size that its pieces have.
fn is_possible(row: &FileRow, rows: &BTreeMap<&[u8], &FileRow>) -> bool {
    let ancestors = (0..row.path.len()).filter(|at| row.path[*at] == b'/').map(|at| &row.path[..at]);
    let is_in_folders = ancestors
        .filter(|ancestor| tracked::may_be_written(ancestor))
        .all(|ancestor| rows.get(ancestor).is_some_and(|row| row.kind == RowKind::Folder));
    let fits = match row.kind {
        RowKind::Folder => row.size == 0 && row.pieces.is_empty(),
        RowKind::Link => row.size <= PIECE as u64 && row.pieces.len() == 1,
        RowKind::File => row.size <= MAX_FILE && row.pieces.len() as u64 == row.size.div_ceil(PIECE as u64),
    };
    tracked::may_be_written(&row.path) && is_in_folders && fits
}

/// Makes room for what the database has at the path of a row that is here.
fn clear(folder: &Dir, (here, wanted): (&FileRow, Option<&FileRow>), aside: &mut Aside) -> Result<(), StoreError> {
    let path = as_path(&here.path);
    let is_same = wanted.is_some_and(|wanted| wanted.kind == here.kind && wanted.pieces == here.pieces);
    if is_same || (wanted.is_none() && Aside::contains(path) && !aside.is_stale(path)) {
        return Ok(());
    }
    if here.kind != RowKind::Folder {
        return aside.take(path);
    }
    let removed = beneath(folder, path).and_then(|(parent, name)| parent.remove_dir(name));
    match removed {
        // Something that is not kept is in it.
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => match wanted {
            Some(_) => aside.take(path),
            None => Ok(()),
        },
        removed => removed.map_err(StoreError::io(format!("removing {}", path.display()))),
    }
}

/// Makes room where something stands that is not kept as it is: too large, or unreadable.
fn clear_left_out(folder: &Dir, row: &FileRow, aside: &mut Aside) -> Result<(), StoreError> {
    let path = as_path(&row.path);
    let found = beneath(folder, path).and_then(|(parent, name)| parent.symlink_metadata(name));
    match found {
        Ok(meta) if meta.is_dir() && row.kind == RowKind::Folder => Ok(()),
        Ok(_) => aside.keep(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(StoreError::io(format!("looking at {}", path.display()))(error)),
    }
}

/// What becomes of journals that the database does not have as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OtherJournals {
    /// The database wins, and they are moved to quarantine, or removed with a copy that was given up.
    Aside(FormerCopy),
    /// The folder is a copy of the last commit: they were written here after it, and are stored.
    Keep,
}

impl OtherJournals {
    fn former_copy(self) -> FormerCopy {
        match self {
            Self::Aside(copy) => copy,
            Self::Keep => FormerCopy::Unknown,
        }
    }
}

/// Writes the journals of sessions as they are in the database.
pub(super) fn restore_journals(
    folder: &Dir,
    sessions: &[SessionFacts],
    others: OtherJournals,
) -> Result<(), StoreError> {
    make_dir(folder, "sessions", 0o700)?;
    let dir = folder.open_dir("sessions").map_err(StoreError::io("opening sessions/"))?;
    if let Some(of) = sessions.iter().find(|of| crate::domain::SessionId::parse(&of.session).is_err()) {
        return Err(DatabaseError::Damaged { what: format!("session {:?}", of.session) }.into());
    }
    let bytes = |of: &SessionFacts| of.facts.iter().flat_map(|fact| fact.body.iter().copied()).collect();
    let mut wanted: BTreeMap<String, Vec<u8>> =
        sessions.iter().map(|of| (format!("{}.journal", of.session), bytes(of))).collect();
    let mut aside = Aside::new(folder, others.former_copy());
    for entry in dir.entries().map_err(StoreError::io("listing sessions/"))?.flatten() {
        let name = entry.file_name().into_string().unwrap_or_default();
        if !name.ends_with(".journal") {
            continue;
        }
        let here = dir.read(&name).map_err(StoreError::io(format!("reading sessions/{name}")))?;
        match wanted.get(&name) {
            Some(stored) if *stored == here => drop(wanted.remove(&name)),
            // A line that was cut off on this machine is replaced by the whole one.
            Some(stored) if stored.starts_with(&here) => {}
            _ if others == OtherJournals::Keep => drop(wanted.remove(&name)),
            _ => aside.take(&Path::new("sessions").join(&name))?,
        }
    }
    aside.report();
    for (name, bytes) in wanted {
        atomic::replace(&dir, &name, &bytes, 0o600).map_err(StoreError::io(format!("writing sessions/{name}")))?;
    }
    Ok(())
}

/// Whether a folder has files of its own. Empty ones whose names begin with a dot only keep a folder in a Git clone.
pub(super) fn has_files(folder: &Dir) -> Result<bool, StoreError> {
    let is_own = |row: &FileRow| {
        let name = row.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        row.kind != RowKind::Folder && !(row.size == 0 && name.starts_with(b"."))
    };
    Ok(local(folder, Looks::default())?.rows().any(is_own))
}

/// Returns what a folder has of the files that are kept, reading those that do not look as they are noted.
fn local(folder: &Dir, noted: Looks) -> Result<Manifest, StoreError> {
    let mut manifest = noted.into_manifest();
    let mut rest = None;
    loop {
        let scope = rest.as_ref().map_or(Scope::All, Scope::Paths);
        let mut batch = look_only(&manifest, folder, scope)?;
        let left = std::mem::take(&mut batch.rest);
        // What cannot be looked at any more is not what is noted of it.
        batch.left_out.keys().for_each(|path| manifest.forget(path));
        manifest.stored(batch);
        if left.is_empty() {
            return Ok(manifest);
        }
        rest = Some(left);
    }
}

/// Returns how many of these rows are fetched together: at least one. A large file is on its own.
fn batch(rows: &[FileRow]) -> usize {
    let mut pieces = 0;
    let fits = |row: &&FileRow| {
        pieces += row.pieces.len();
        pieces <= PIECES_AT_ONCE
    };
    rows.iter().take(ROWS_AT_ONCE).take_while(fits).count().max(1)
}

/// Writes rows with at most a few pieces, fetched in one round trip, or one row with many pieces. Returns how the files look.
async fn write(stored: &StoredHome, folder: &Dir, rows: &[FileRow]) -> Result<Vec<SeenFile>, StoreError> {
    if let [row] = rows
        && row.pieces.len() > PIECES_AT_ONCE
    {
        return Ok(vec![(row.path.clone(), write_large(stored, folder, row).await?)]);
    }
    let wanted: BTreeSet<PieceHash> = rows.iter().flat_map(|row| row.pieces.iter().copied()).collect();
    let packed = stored.pieces(&wanted.into_iter().collect::<Vec<_>>()).await?;
    let (folder, rows) = (folder.try_clone().map_err(StoreError::io("opening the copy"))?, rows.to_vec());
    let written = move || {
        let mut seen = Vec::new();
        for row in rows {
            if let Some(look) = write_row(&folder, &row, &packed)? {
                seen.push((row.path, look));
            }
        }
        Ok(seen)
    };
    blocking(written).await
}

/// Returns how it looks; `None` if it is no file.
fn write_row(folder: &Dir, row: &FileRow, packed: &HashMap<PieceHash, Vec<u8>>) -> Result<Option<Seen>, StoreError> {
    let path = as_path(&row.path);
    let doing = || StoreError::io(format!("restoring {}", path.display()));
    let (parent, name) = beneath(folder, path).map_err(doing())?;
    if row.kind == RowKind::Folder {
        return make_folder(&parent, &name).map(|()| None).map_err(doing());
    }
    let mut bytes = Vec::new();
    for hash in &row.pieces {
        bytes.extend(unpacked(row, hash, packed)?);
    }
    if bytes.len() as u64 != row.size {
        return Err(damaged(row).into());
    }
    if row.kind == RowKind::Link {
        return match parent.remove_file(&name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(doing()(error)),
            _ => parent.symlink_contents(as_path(&bytes), &name).map(|()| None).map_err(doing()),
        };
    }
    let temporary = atomic::temporary_name();
    let written = created(&parent, &temporary).and_then(|mut file| file.write_all(&bytes).map(|()| file));
    written.and_then(|file| finish((&parent, &temporary), &name, row, file)).map(Some).map_err(doing())
}

/// Writes a file piece by piece.
async fn write_large(stored: &StoredHome, folder: &Dir, row: &FileRow) -> Result<Seen, StoreError> {
    let path = as_path(&row.path);
    let doing = || StoreError::io(format!("restoring {}", path.display()));
    let (parent, name) = beneath(folder, path).map_err(doing())?;
    let temporary = atomic::temporary_name();
    let mut file = created(&parent, &temporary).map_err(doing())?;
    let mut size = 0;
    for hashes in row.pieces.chunks(PIECES_AT_ONCE) {
        let packed = stored.pieces(hashes).await?;
        let (of, hashes) = (row.clone(), hashes.to_vec());
        let written = blocking(move || {
            let mut size = 0;
            for hash in &hashes {
                let piece = unpacked(&of, hash, &packed)?;
                size += piece.len() as u64;
                file.write_all(&piece).map_err(StoreError::io("restoring a large file"))?;
            }
            Ok((file, size))
        });
        let (back, added) = written.await?;
        file = back;
        size += added;
    }
    if size != row.size {
        return Err(damaged(row).into());
    }
    finish((&parent, &temporary), &name, row, file).map_err(doing())
}

fn created(parent: &Dir, name: &str) -> io::Result<cap_std::fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    parent.open_with(name, &options)
}

/// Gives a file that is written the mode, the time and the name of its row. The copy counts after a crash of the machine only if all of
/// it was on the disk before, so nothing waits for the disk here. Returns how it looks: a change that is made
/// meanwhile shows, because it replaces the time of the row.
fn finish((parent, temporary): (&Dir, &str), name: &OsStr, row: &FileRow, file: cap_std::fs::File) -> io::Result<Seen> {
    file.set_permissions(Permissions::from_mode(row.mode & MODES))?;
    let modified = u64::try_from(row.modified).unwrap_or_default();
    let file = file.into_std();
    file.set_modified(UNIX_EPOCH + Duration::from_nanos(modified))?;
    parent.rename(temporary, parent, name)?;
    Ok(Seen::of(&Metadata::from_file(&file)?))
}

/// Makes a folder in which its owner can write, until [`set_folder_mode`].
fn make_folder(parent: &Dir, name: &OsStr) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.mode(OWN);
    match parent.create_dir_with(name, &builder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// The umask does not count here.
fn set_folder_mode(folder: &Dir, row: &FileRow, mode: u32) -> Result<(), StoreError> {
    let path = as_path(&row.path);
    let set = beneath(folder, path).and_then(|(parent, name)| {
        if !parent.symlink_metadata(&name)?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        parent.set_permissions(&name, Permissions::from_mode(mode))
    });
    set.map_err(StoreError::io(format!("setting the mode of {}", path.display())))
}

/// Returns a piece of a file, which must be what its hash says.
fn unpacked(row: &FileRow, hash: &PieceHash, packed: &HashMap<PieceHash, Vec<u8>>) -> Result<Vec<u8>, StoreError> {
    let packed = packed.get(hash).ok_or_else(|| damaged(row))?;
    let piece = zstd::bulk::decompress(packed, PIECE).map_err(|_| damaged(row))?;
    if sha256_bytes(&piece) != *hash {
        return Err(damaged(row).into());
    }
    Ok(piece)
}

fn damaged(row: &FileRow) -> DatabaseError {
    DatabaseError::Damaged { what: String::from_utf8_lossy(&row.path).into_owned() }
}

fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noted_file_that_became_too_large_is_not_as_noted() {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("knowledge/a.md");
        for name in ["knowledge", "storage"] {
            std::fs::create_dir(temporary.path().join(name)).unwrap();
        }
        std::fs::write(&path, "one").unwrap();
        let folder = Dir::open_ambient_dir(temporary.path(), cap_std::ambient_authority()).unwrap();
        let known = || {
            let noted = Looks::read(&folder).unwrap_or_default();
            local(&folder, noted).unwrap()
        };
        let mut manifest = known();
        while manifest.seen().next().is_none() {
            manifest = known();
        }
        Looks::of(&manifest).note(&folder).unwrap();
        assert!(known().contains(b"knowledge/a.md"));
        std::fs::File::options().write(true).open(&path).unwrap().set_len(MAX_FILE + 1).unwrap();
        let now = known();
        assert!(!now.contains(b"knowledge/a.md") && now.contains(b"knowledge"));
        std::fs::remove_file(&path).unwrap();
        assert!(!known().contains(b"knowledge/a.md"), "nor is one that is gone");
    }
}
