//! The contents that are kept for a session: files in `sessions/changes/{session}/blobs/`, each named by the SHA-256 of its
//! content. One that shrinks is compressed with zstd, and its name ends with `.zst`.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::sync::Mutex;

use cap_std::fs::{Dir, Metadata, MetadataExt, OpenOptions, OpenOptionsExt};
use sha2::{Digest, Sha256};

use super::atomic;
use super::changes::BLOBS;
use super::error::StoreError;
use super::home::{Home, lock};
use super::kept_bound::Room;
use super::seal::sha256;
use crate::domain::SessionId;

/// Maximum size of a content that is kept for an undo, in bytes.
pub(super) const KEPT_SIZE: u64 = 512 << 20;
/// What the name of a compressed content ends with.
const COMPRESSED: &str = ".zst";
/// The fastest of zstd's usual levels.
const LEVEL: i32 = 1;
/// Maximum memory that a compressed content may demand of its reader, as a power of two: far more than [`LEVEL`] uses.
const WINDOW_LOG: u32 = 23;
/// The beginning of a content by which it is decided whether it shrinks, in bytes.
const SAMPLE: u64 = 1 << 20;
/// A content of this size or less takes one block of the disk, compressed or not.
const BLOCK: usize = 4096;

/// Maximum number of contents that are synced one by one.
const SYNCED_ALONE: usize = 8;

/// What a hole is read as. Contents are read in blocks of this size.
static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// The hash and the length of a content.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Content {
    pub hash: String,
    pub size: u64,
}

/// The contents of one session. Those that were kept through this value are not dropped as long as it lives.
pub(super) struct Blobs {
    home: Home,
    session: SessionId,
    dir: Dir,
    held: Mutex<BTreeSet<String>>,
    /// The names of files that may not be on the disk yet.
    unsynced: Mutex<Vec<String>>,
}

/// A kept content, opened.
pub(super) struct Blob {
    file: File,
    is_compressed: bool,
    /// Length of the file in bytes.
    length: u64,
}

impl Home {
    /// Opens the folder of the contents that are kept for a session, and creates it if it is missing.
    pub(super) fn blobs(&self, session: &SessionId) -> Result<Blobs, StoreError> {
        let path = format!("changes/{session}/{BLOBS}");
        let opened = self.sessions_dir().create_dir_all(&path).and_then(|()| self.sessions_dir().open_dir(&path));
        let dir = opened.map_err(StoreError::io("keeping what files were, for an undo"))?;
        self.count_kept();
        Ok(Blobs {
            home: self.clone(),
            session: session.clone(),
            dir,
            held: Mutex::default(),
            unsynced: Mutex::default(),
        })
    }

    /// Opens a content that is kept for a session; `None` if it is not kept.
    ///
    /// # Errors
    /// Returns an error if it cannot be read.
    pub(super) fn blob(&self, session: &SessionId, hash: &str) -> io::Result<Option<Blob>> {
        match self.sessions_dir().open_dir(format!("changes/{session}/{BLOBS}")) {
            Ok(dir) => open(&dir, hash),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Blobs {
    /// Keeps a content of any size under its hash, if there is room for it. It survives a power cut after [`Self::sync`].
    pub fn keep(&self, mut from: impl Read) -> io::Result<(Content, Room)> {
        let mut sample = Vec::new();
        (&mut from).take(SAMPLE).read_to_end(&mut sample)?;
        let is_compressed = shrinks(&sample)?;
        let from = sample.as_slice().chain(from);
        let temporary = atomic::temporary_name();
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let file = self.dir.open_with(&temporary, &options)?.into_std();
        let written = if is_compressed { compress(from, &file) } else { copy(from, &file) };
        let kept = written.and_then(|content| {
            let name = name_of(&content.hash, is_compressed);
            let put = || self.dir.rename(&temporary, &self.dir, &name);
            let is_known = self.hold(&content.hash)?;
            let added = self.place((&content.hash, is_compressed), put)?;
            // A record may need a content that was there before.
            let room = if is_known || added == 0 { Room::Made } else { self.home.make_room() };
            lock(&self.unsynced).push(name.clone());
            let is_removed = room == Room::None && self.remove_unless_shared((&content.hash, added))?;
            Ok((content, if is_removed { Room::None } else { Room::Made }))
        });
        if kept.is_err() {
            // Only a temporary file is left, which has no reader.
            let _ = self.dir.remove_file(&temporary);
        }
        kept
    }

    /// Makes sure that what was kept survives a power cut. Many contents are synced together with everything else on their
    /// file system: one by one takes several times as long.
    pub fn sync(&self) -> io::Result<()> {
        let names = std::mem::take(&mut *lock(&self.unsynced));
        if names.len() > SYNCED_ALONE {
            // The handle of the folder is good for paths only.
            return Ok(rustix::fs::syncfs(self.dir.open(".")?)?);
        }
        for name in &names {
            let synced = self.dir.open(name).and_then(|file| file.sync_all());
            gone(synced)?;
        }
        if names.is_empty() { Ok(()) } else { atomic::sync_dir(&self.dir) }
    }

    /// Keeps a content that survives a power cut, whether there is room or not, and returns its hash. It is rewritten only if
    /// it is damaged.
    pub fn keep_synced(&self, bytes: &[u8]) -> io::Result<String> {
        let hash = sha256(bytes);
        self.hold(&hash)?;
        let kept = open(&self.dir, &hash)?.and_then(|blob| blob.read(bytes.len() as u64).ok());
        if kept.as_deref() == Some(bytes) {
            return Ok(hash);
        }
        let is_compressed = shrinks(bytes)?;
        let compressed = if is_compressed { zstd::bulk::compress(bytes, LEVEL)? } else { Vec::new() };
        let stored = if is_compressed { compressed.as_slice() } else { bytes };
        let put = || atomic::replace(&self.dir, &name_of(&hash, is_compressed), stored, 0o600);
        self.place((&hash, is_compressed), put)?;
        self.home.make_room();
        Ok(hash)
    }

    /// Removes a content that was added, unless another call holds it too. Returns whether it is removed.
    fn remove_unless_shared(&self, (hash, added): (&str, u64)) -> io::Result<bool> {
        let remove = || remove(&self.dir, hash);
        let is_removed = self.home.kept_bound().unless_shared((&self.session, hash), remove)?;
        if is_removed {
            self.home.kept_bound().subtract(added);
        }
        Ok(is_removed)
    }

    /// Makes sure that a content, if it is kept, is not dropped as long as this value lives. Returns whether it is kept.
    pub fn hold(&self, hash: &str) -> io::Result<bool> {
        if lock(&self.held).insert(hash.to_owned()) {
            self.home.kept_bound().hold(&self.session, hash);
        }
        Ok(open(&self.dir, hash)?.is_some())
    }

    /// Opens a content; `None` if it is not kept.
    pub fn open(&self, hash: &str) -> io::Result<Option<Blob>> {
        open(&self.dir, hash)
    }

    /// Puts a content in its place, and returns how many bytes it takes more than before.
    fn place(&self, (hash, is_compressed): (&str, bool), put: impl FnOnce() -> io::Result<()>) -> io::Result<u64> {
        self.hold(hash)?;
        let before = stored_size(&self.dir, hash);
        put()?;
        // One form of a content is enough.
        gone(self.dir.remove_file(name_of(hash, !is_compressed)))?;
        let after = stored_size(&self.dir, hash);
        self.home.kept_bound().subtract(before);
        self.home.kept_bound().add(after);
        Ok(after.saturating_sub(before))
    }
}

impl Drop for Blobs {
    fn drop(&mut self) {
        for hash in lock(&self.held).iter() {
            self.home.kept_bound().release(&self.session, hash);
        }
    }
}

impl Blob {
    /// Returns the length of the content in bytes, if it is known without reading it.
    pub fn size(&self) -> Option<u64> {
        (!self.is_compressed).then_some(self.length)
    }

    /// Reads the content, but never more than `most` bytes: a damaged one can be of any length.
    pub fn reader(self, most: u64) -> io::Result<Box<dyn Read>> {
        if !self.is_compressed {
            return Ok(Box::new(self.file.take(most)));
        }
        let mut decoder = zstd::stream::read::Decoder::with_buffer(BufReader::new(self.file))?;
        decoder.window_log_max(WINDOW_LOG)?;
        Ok(Box::new(decoder.take(most)))
    }

    /// Like [`Self::reader`], for the content as a whole.
    pub fn read(self, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.reader(most)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Returns the hash that the name of a content says.
pub(super) fn hash_in(name: &str) -> &str {
    name.strip_suffix(COMPRESSED).unwrap_or(name)
}

fn name_of(hash: &str, is_compressed: bool) -> String {
    format!("{hash}{}", if is_compressed { COMPRESSED } else { "" })
}

/// Opens a content; `None` if it is not kept.
pub(super) fn open(dir: &Dir, hash: &str) -> io::Result<Option<Blob>> {
    match open_file(dir, &name_of(hash, true))? {
        Some(compressed) => Ok(Some(compressed)),
        None => open_file(dir, hash),
    }
}

/// Opens a content by the name of its file; `None` if there is no such file.
pub(super) fn open_file(dir: &Dir, name: &str) -> io::Result<Option<Blob>> {
    let mut options = OpenOptions::new();
    // Opening a named pipe would wait for ever.
    options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
    let file = match dir.open_with(name, &options) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::Error::other("it is no ordinary file"));
    }
    Ok(Some(Blob { file: file.into_std(), is_compressed: name.ends_with(COMPRESSED), length: meta.len() }))
}

/// Returns how many bytes of the disk a content takes, in every form; 0 if it is not kept.
pub(super) fn stored_size(dir: &Dir, hash: &str) -> u64 {
    let forms = [false, true].map(|is_compressed| dir.symlink_metadata(name_of(hash, is_compressed)));
    forms.iter().flatten().map(disk_size).sum()
}

/// Returns how many bytes of the disk a file takes: fewer than its length if it has holes.
pub(super) fn disk_size(meta: &Metadata) -> u64 {
    meta.len().min(meta.blocks() * 512)
}

/// Removes a content.
pub(super) fn remove(dir: &Dir, hash: &str) -> io::Result<()> {
    [false, true].into_iter().try_for_each(|is_compressed| gone(dir.remove_file(name_of(hash, is_compressed))))
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Returns whether a content that begins like this, or is this, shrinks by a sixteenth or more.
fn shrinks(sample: &[u8]) -> io::Result<bool> {
    Ok(sample.len() > BLOCK && zstd::bulk::compress(sample, LEVEL)?.len() <= sample.len() / 16 * 15)
}

/// Reads a content, of any size, for its hash.
pub(super) fn hash_of(content: impl Read) -> io::Result<Content> {
    read(content, |_| Ok(()))
}

/// Copies a content into an empty file while it is hashed. Long runs of zeros become holes.
pub(super) fn copy(from: impl Read, mut to: &File) -> io::Result<Content> {
    let content = read(from, |block| match *block == ZEROS[..block.len()] {
        true => to.seek(SeekFrom::Current(block.len() as i64)).map(drop),
        false => to.write_all(block),
    })?;
    to.set_len(content.size)?;
    Ok(content)
}

fn compress(from: impl Read, to: &File) -> io::Result<Content> {
    let mut encoder = zstd::stream::write::Encoder::new(to, LEVEL)?;
    let content = read(from, |block| encoder.write_all(block))?;
    encoder.finish()?;
    Ok(content)
}

fn read(mut from: impl Read, mut block_read: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<Content> {
    let (mut hash, mut size, mut buffer) = (Sha256::new(), 0, vec![0; ZEROS.len()]);
    loop {
        let read = match from.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if read == 0 {
            return Ok(Content { hash: base16ct::lower::encode_string(&hash.finalize()), size });
        }
        hash.update(&buffer[..read]);
        block_read(&buffer[..read])?;
        size += read as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that do not shrink.
    fn noise(size: usize) -> Vec<u8> {
        let blocks = (0_u64..).flat_map(|at| Sha256::digest(at.to_le_bytes()));
        blocks.take(size).collect()
    }

    fn opened() -> (tempfile::TempDir, Home, Blobs) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let blobs = home.blobs(&SessionId::parse("s").unwrap()).unwrap();
        (folder, home, blobs)
    }

    fn names(blobs: &Blobs) -> Vec<String> {
        blobs.dir.entries().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn any_number_of_contents_is_synced_once() {
        let (_folder, _, blobs) = opened();
        for number in [0, 1, SYNCED_ALONE + 1] {
            (0..number).for_each(|n| drop(blobs.keep(n.to_string().as_bytes()).unwrap()));
            assert_eq!(lock(&blobs.unsynced).len(), number);
            blobs.sync().unwrap();
            assert_eq!(lock(&blobs.unsynced).len(), 0);
        }
    }

    #[test]
    fn copy_is_equal_and_keeps_holes() {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = vec![0; 1 << 20];
        bytes[200_000] = 1;
        for content in [bytes.as_slice(), b"", b"short", &[0; 100_000]] {
            let path = folder.path().join("copy");
            let copied = copy(content, &File::create(&path).unwrap()).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), content);
            assert_eq!((copied.hash, copied.size), (sha256(content), content.len() as u64));
        }
    }

    #[test]
    fn content_that_shrinks_is_compressed_and_read_back() {
        let text = b"let it be long\n".repeat(200_000);
        let sparse = [vec![0; 5 << 20], b"end".to_vec()].concat();
        for (content, is_compressed) in [
            (text.as_slice(), true),
            (&sparse, true),
            (b"", false),
            (b"short", false),
            (&text[..4096], false),
            (&noise(300_000), false),
            (&noise(2 << 20), false),
        ] {
            let (_folder, _, blobs) = opened();
            for synced in [false, true] {
                let hash = match synced {
                    false => blobs.keep(content).unwrap().0.hash,
                    true => blobs.keep_synced(content).unwrap(),
                };
                assert_eq!((&hash, names(&blobs)), (&sha256(content), vec![name_of(&hash, is_compressed)]));
                assert_eq!(blobs.open(&hash).unwrap().unwrap().read(u64::MAX).unwrap(), content);
                assert!(stored_size(&blobs.dir, &hash) <= content.len() as u64);
                remove(&blobs.dir, &hash).unwrap();
            }
        }
    }

    #[test]
    fn holes_take_no_space() {
        let (folder, _, blobs) = opened();
        let path = folder.path().join("holes");
        File::create(&path).unwrap().set_len(64 << 20).unwrap();
        let (content, _) = blobs.keep(File::open(&path).unwrap()).unwrap();
        assert!(stored_size(&blobs.dir, &content.hash) < 64 << 10);
        let back = File::create(folder.path().join("back")).unwrap();
        let blob = blobs.open(&content.hash).unwrap().unwrap();
        assert_eq!(copy(blob.reader(content.size).unwrap(), &back).unwrap(), content);
        let meta = std::fs::metadata(folder.path().join("back")).unwrap();
        assert_eq!((meta.len(), std::os::unix::fs::MetadataExt::blocks(&meta)), (64 << 20, 0));
    }

    #[test]
    fn damaged_content_never_yields_more_than_its_size() {
        let (_folder, _, blobs) = opened();
        let bomb = zstd::bulk::compress(&vec![0; 32 << 20], 19).unwrap();
        for content in [bomb.repeat(100), bomb[..bomb.len() / 2].to_vec(), b"not zstd".to_vec()] {
            blobs.dir.write(name_of("aa", true), content).unwrap();
            let read = blobs.open("aa").unwrap().unwrap().read(1000);
            assert!(read.is_err() || read.unwrap().len() <= 1000);
        }
        // A frame whose reader would need 128 MiB.
        let mut wide = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        wide.window_log(27).unwrap();
        wide.write_all(&noise(100)).unwrap();
        blobs.dir.write(name_of("aa", true), wide.finish().unwrap()).unwrap();
        assert!(blobs.open("aa").unwrap().unwrap().read(1000).is_err());
    }

    #[test]
    fn content_of_an_older_version_is_read_and_replaced() {
        let (_folder, _, blobs) = opened();
        let content = b"old and long\n".repeat(1000);
        blobs.dir.write(sha256(&content), &content).unwrap();
        let read = || blobs.open(&sha256(&content)).unwrap().unwrap().read(u64::MAX).unwrap();
        assert_eq!(read(), content);
        blobs.keep(content.as_slice()).unwrap();
        assert_eq!((names(&blobs), read()), (vec![name_of(&sha256(&content), true)], content.clone()));
    }
}
