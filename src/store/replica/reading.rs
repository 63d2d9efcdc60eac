//! Reading the files of a copy, without following a link.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use cap_std::fs::{Dir, Metadata, MetadataExt, OpenOptions, OpenOptionsExt, PermissionsExt};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::manifest::LaterPiece;
use super::scan::{MAX_FILE, MODES, PIECE};
use crate::store::error::StoreError;
use crate::store::postgres::{Piece, PieceHash};
use crate::store::sha256_bytes;

const LEVEL: i32 = 3;

/// How a file looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    pub size: u64,
    /// Nanoseconds since 1970, as is `changed`.
    pub modified: i64,
    pub changed: i64,
    inode: u64,
    pub mode: u32,
}

pub(super) fn packed(sha256: PieceHash, bytes: &[u8]) -> Piece {
    Piece { sha256, packed: zstd::bulk::compress(bytes, LEVEL).expect("memory for a piece") }
}

/// Reads pieces that were left for later; `None` in place of each that is not there any more as it was.
pub(super) fn read_later(home: &Dir, pieces: &[LaterPiece]) -> Vec<Option<Piece>> {
    let read = |piece: &LaterPiece| {
        let (folder, name) = piece.path.split_at(piece.path.iter().rposition(|byte| *byte == b'/')?);
        let mut file = opened_file(&opened(home, folder).ok()??, &name[1..]).ok()??;
        file.seek(SeekFrom::Start(piece.at)).ok()?;
        let mut bytes = vec![0; piece.length];
        file.read_exact(&mut bytes).ok()?;
        (sha256_bytes(&bytes) == piece.sha256).then(|| packed(piece.sha256, &bytes))
    };
    pieces.iter().map(read).collect()
}

impl Seen {
    pub fn of(meta: &Metadata) -> Self {
        Self {
            size: meta.len(),
            modified: meta.mtime() * 1_000_000_000 + meta.mtime_nsec(),
            changed: meta.ctime() * 1_000_000_000 + meta.ctime_nsec(),
            inode: meta.ino(),
            mode: meta.permissions().mode() & MODES,
        }
    }
}

/// Opens a file; `None` if it is none. Follows no link and waits for no pipe.
fn opened_file(dir: &Dir, name: &[u8]) -> io::Result<Option<cap_std::fs::File>> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    match dir.open_with(as_path(name), &options) {
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => Ok(None),
        opened => opened.map(Some),
    }
}

/// Reads a file piece by piece. Returns its size, and how it looked before and after; `None` if it is no file any more.
pub(super) fn read(dir: &Dir, name: &[u8], mut each: impl FnMut(&[u8])) -> io::Result<Option<(u64, Seen, Seen)>> {
    let Some(file) = opened_file(dir, name)? else { return Ok(None) };
    let before = file.metadata()?;
    if !before.is_file() || before.len() > MAX_FILE {
        return Ok(None);
    }
    let (mut piece, mut size) = (Vec::with_capacity(PIECE.min(before.len() as usize + 1)), 0);
    loop {
        piece.clear();
        let left = (MAX_FILE - size).min(PIECE as u64);
        if (&file).take(left).read_to_end(&mut piece)? == 0 {
            break;
        }
        size += piece.len() as u64;
        each(&piece);
    }
    Ok(Some((size, Seen::of(&before), Seen::of(&file.metadata()?))))
}

/// Opens a folder of the home; `None` if there is none. Follows no link.
pub(super) fn opened(home: &Dir, path: &[u8]) -> Result<Option<Dir>, StoreError> {
    let mut dir = home.try_clone().map_err(failed(path))?;
    for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
        match opened_here(&dir, name).map_err(failed(path))? {
            Some(below) => dir = below,
            None => return Ok(None),
        }
    }
    Ok(Some(dir))
}

pub(super) fn opened_here(parent: &Dir, name: &[u8]) -> io::Result<Option<Dir>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(parent, as_path(name), flags, Mode::empty()) {
        Ok(opened) => Ok(Some(Dir::from_std_file(File::from(opened)))),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

pub(super) fn failed(path: &[u8]) -> impl FnOnce(io::Error) -> StoreError {
    StoreError::io(format!("looking at {}", String::from_utf8_lossy(path)))
}
