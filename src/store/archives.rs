//! Unpacks an archive that a person uploads as a project. Nothing that the archive declares is trusted: what comes out of it is
//! counted against the limits of an upload, names are those that a project's files may have, and links are made last, so that
//! nothing is written through them.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Component, Path};
use std::rc::Rc;

use flate2::read::MultiGzDecoder;
use tar::{EntryType, PaxExtensions};
use zip::ZipArchive;
use zip::result::ZipError;

use super::error::StoreError;
use super::uploads::Upload;
use crate::domain::RelPath;

/// Maximum bytes that the list of contents of a zip archive may have: it's read into memory.
const ZIP_LIST: u64 = 16 << 20;
/// Maximum bytes of a header of a tar archive that holds a long name.
const TAR_HEADER: u64 = 64 << 10;
/// Maximum bytes of the target of a link.
const TARGET: u64 = 4 << 10;
/// The folder that macOS adds to archives for the attributes of its file system.
const MACOS: &str = "__MACOSX";

/// The form of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchiveKind {
    Zip,
    Tar,
    TarGz,
}

impl ArchiveKind {
    /// Returns the form that a file's name says it has, and the name without it.
    pub fn of_name(name: &str) -> Option<(Self, &str)> {
        let endings = [(".zip", Self::Zip), (".tar", Self::Tar), (".tar.gz", Self::TarGz), (".tgz", Self::TarGz)];
        endings.into_iter().find_map(|(ending, kind)| {
            let (stem, end) = name.split_at_checked(name.len().checked_sub(ending.len())?)?;
            end.eq_ignore_ascii_case(ending).then_some((kind, stem))
        })
    }
}

/// A link in an archive.
pub(super) struct ArchivedLink {
    pub path: RelPath,
    pub target: String,
}

/// Unpacks an archive into an upload.
///
/// # Errors
/// Returns [`StoreError::BadArchive`] if it cannot be read, is encrypted, or has an entry that no project can have, and those of
/// [`Upload::begin`] and [`Upload::add`].
pub(super) fn unpack(kind: ArchiveKind, file: File, upload: &mut Upload) -> Result<(), StoreError> {
    let mut links = Vec::new();
    match kind {
        ArchiveKind::Zip => unpack_zip(file, upload, &mut links)?,
        ArchiveKind::Tar => unpack_tar(BufReader::new(file), upload, &mut links)?,
        ArchiveKind::TarGz => {
            // Also what is skipped is unpacked, so it has a limit of its own.
            let left = Rc::new(Cell::new(upload.limits.bytes.saturating_mul(2)));
            let unpacked = BoundedRead { inner: MultiGzDecoder::new(BufReader::new(file)), left };
            unpack_tar(unpacked, upload, &mut links)?;
        }
    }
    links.iter().try_for_each(|link| upload.link(link))?;
    // Only now, because a link can lead through another one, and the folder that all lie in is not known before.
    match links.iter().find(|link| !upload.stays_inside(&link.path)) {
        Some(link) => Err(leads_out(link)),
        None => Ok(()),
    }
}

fn bad(why: impl Into<String>) -> StoreError {
    StoreError::BadArchive(why.into())
}

fn damaged(error: &io::Error) -> StoreError {
    bad(format!("it is damaged ({error})"))
}

/// Returns the path of an entry; `None` for one that is left out.
fn path_of(name: &str) -> Result<Option<RelPath>, StoreError> {
    if matches!(name.trim_end_matches('/'), "" | ".") {
        return Ok(None);
    }
    let path = RelPath::parse(name).map_err(|why| bad(format!("“{}”: {why}", shown(name))))?;
    Ok((path.first_name() != MACOS).then_some(path))
}

/// Returns a link if its target lies in the archive.
fn link_of(path: RelPath, target: &str) -> Result<ArchivedLink, StoreError> {
    let mut depth = path.as_str().matches('/').count();
    let stays_inside = Path::new(target).components().all(|name| match name {
        Component::Normal(_) => {
            depth += 1;
            true
        }
        Component::CurDir => true,
        Component::ParentDir => depth.checked_sub(1).map(|above| depth = above).is_some(),
        Component::RootDir | Component::Prefix(_) => false,
    });
    let link = ArchivedLink { path, target: target.to_owned() };
    if stays_inside && !target.is_empty() && !target.contains('\0') { Ok(link) } else { Err(leads_out(&link)) }
}

fn leads_out(ArchivedLink { path, target }: &ArchivedLink) -> StoreError {
    bad(format!("the link “{path}” leads out of it, to “{}”", shown(target)))
}

/// Returns a name as an error quotes it.
fn shown(name: &str) -> String {
    name.chars().take(200).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Writes a file of the archive.
fn write(upload: &mut Upload, entry: ArchivedFile, content: &mut impl Read) -> Result<(), StoreError> {
    upload.begin(entry.path)?;
    let mut piece = [0; 64 << 10];
    loop {
        match content.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => upload.add(&piece[..length])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(damaged(&error)),
        }
    }
    if entry.is_executable { upload.make_executable() } else { Ok(()) }
}

struct ArchivedFile {
    path: RelPath,
    is_executable: bool,
}

fn is_executable(mode: u32) -> bool {
    mode & 0o100 != 0
}

fn unpack_zip(file: File, upload: &mut Upload, links: &mut Vec<ArchivedLink>) -> Result<(), StoreError> {
    let why = |error: ZipError| match error {
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) => {
            bad("it is encrypted; upload it without a password")
        }
        ZipError::UnsupportedArchive(what) => bad(format!("this form of zip archive is not supported: {what}")),
        ZipError::CompressionMethodNotSupported(_) => bad("its compression is not supported; use deflate"),
        error => bad(format!("it is damaged ({error})")),
    };
    let left = Rc::new(Cell::new(ZIP_LIST));
    let mut zip = ZipArchive::new(BufReader::new(BoundedRead { inner: file, left: left.clone() })).map_err(why)?;
    // The contents are counted when they are written.
    left.set(u64::MAX);
    for at in 0..zip.len() {
        let mut entry = zip.by_index(at).map_err(why)?;
        let name = entry.name().map_err(why)?.into_owned();
        let Some(path) = path_of(&name)? else {
            upload.count_entries(1)?;
            continue;
        };
        if entry.is_dir() {
            upload.make_folder(&path)?;
        } else if entry.is_symlink() {
            let target = text(&mut entry, TARGET)?;
            links.push(link_of(path, &target)?);
        } else {
            let is_executable = entry.unix_mode().is_some_and(is_executable);
            write(upload, ArchivedFile { path, is_executable }, &mut entry)?;
        }
    }
    Ok(())
}

/// A source of which only so many bytes are read.
struct BoundedRead<R> {
    inner: R,
    left: Rc<Cell<u64>>,
}

impl<R: Read> Read for BoundedRead<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(into)?;
        let left = self.left.get().checked_sub(length as u64);
        self.left.set(left.ok_or_else(|| io::Error::other("too much of it would have to be read"))?);
        Ok(length)
    }
}

impl<R: Seek> Seek for BoundedRead<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

/// Reads a short text.
fn text(content: &mut impl Read, most: u64) -> Result<String, StoreError> {
    let mut bytes = Vec::new();
    content.take(most + 1).read_to_end(&mut bytes).map_err(|error| damaged(&error))?;
    if bytes.len() as u64 > most {
        return Err(bad("a name in it is too long"));
    }
    String::from_utf8(bytes).map_err(|_| bad("a name in it is not UTF-8"))
}

/// What the headers before an entry say about it, where its own header has no room.
#[derive(Default)]
struct LongNames {
    path: Option<String>,
    target: Option<String>,
}

fn unpack_tar(archive: impl Read, upload: &mut Upload, links: &mut Vec<ArchivedLink>) -> Result<(), StoreError> {
    let mut archive = tar::Archive::new(archive);
    let mut long = LongNames::default();
    // Raw, because the names in headers are read into memory, and must be bounded.
    for entry in archive.entries().map_err(|error| damaged(&error))?.raw(true) {
        let mut entry = entry.map_err(|error| damaged(&error))?;
        let header = entry.header();
        let (kind, mode) = (header.entry_type(), header.mode().unwrap_or_default());
        match kind {
            EntryType::GNULongName => long.path = Some(without_nul(text(&mut entry, TAR_HEADER)?)),
            EntryType::GNULongLink => long.target = Some(without_nul(text(&mut entry, TAR_HEADER)?)),
            EntryType::XHeader => {
                let records = text(&mut entry, TAR_HEADER)?;
                for record in PaxExtensions::new(records.as_bytes()) {
                    let record = record.map_err(|error| damaged(&error))?;
                    match (record.key(), record.value()) {
                        (Ok("path"), Ok(path)) => long.path = Some(path.to_owned()),
                        (Ok("linkpath"), Ok(target)) => long.target = Some(target.to_owned()),
                        _ => {}
                    }
                }
            }
            // Says something about all entries, and nothing that matters here.
            EntryType::XGlobalHeader => {}
            kind => {
                let LongNames { path, target } = std::mem::take(&mut long);
                let name = match path {
                    Some(path) => path,
                    None => utf8(&entry.path_bytes())?,
                };
                let Some(path) = path_of(&name)? else {
                    upload.count_entries(1)?;
                    continue;
                };
                match kind {
                    EntryType::Directory => upload.make_folder(&path)?,
                    EntryType::Regular | EntryType::Continuous => {
                        write(upload, ArchivedFile { path, is_executable: is_executable(mode) }, &mut entry)?;
                    }
                    EntryType::Symlink => {
                        let target = match target {
                            Some(target) => target,
                            None => utf8(&entry.link_name_bytes().unwrap_or_default())?,
                        };
                        links.push(link_of(path, &target)?);
                    }
                    _ => return Err(bad(format!("“{path}” is neither a file, a folder nor a symbolic link"))),
                }
            }
        }
    }
    Ok(())
}

fn utf8(bytes: &[u8]) -> Result<String, StoreError> {
    String::from_utf8(bytes.to_vec()).map_err(|_| bad("a name in it is not UTF-8"))
}

fn without_nul(name: String) -> String {
    name.trim_end_matches('\0').to_owned()
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};
    use std::os::unix::fs::PermissionsExt;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;
    use crate::store::Home;
    use crate::store::uploads::Limits;

    /// What an archive contains.
    enum Item<'a> {
        File(&'a str, &'a [u8]),
        Program(&'a str),
        Folder(&'a str),
        Link(&'a str, &'a str),
    }

    fn zipped(items: &[Item<'_>]) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default();
        for item in items {
            match *item {
                Item::File(name, content) => {
                    zip.start_file(name, options).unwrap();
                    zip.write_all(content).unwrap();
                }
                Item::Program(name) => zip.start_file(name, options.unix_permissions(0o755)).unwrap(),
                Item::Folder(name) => zip.add_directory(name, options).unwrap(),
                Item::Link(name, target) => zip.add_symlink(name, target, options).unwrap(),
            }
        }
        zip.finish().unwrap().into_inner()
    }

    fn tarred(items: &[Item<'_>]) -> Vec<u8> {
        let mut tar = tar::Builder::new(Vec::new());
        for item in items {
            let mut header = tar::Header::new_gnu();
            header.set_mode(0o644);
            let mut add = |kind, name: &str, content: &[u8]| {
                header.set_entry_type(kind);
                header.set_size(content.len() as u64);
                // Not by `set_path`, which refuses hostile names.
                let field = &mut header.as_old_mut().name;
                if name.len() < field.len() {
                    field[..name.len()].copy_from_slice(name.as_bytes());
                    header.set_cksum();
                    tar.append(&header, content).unwrap();
                } else {
                    tar.append_data(&mut header, name, content).unwrap();
                }
            };
            match *item {
                Item::File(name, content) => add(EntryType::Regular, name, content),
                Item::Folder(name) => add(EntryType::Directory, name, &[]),
                Item::Program(name) => {
                    header.set_mode(0o755);
                    header.set_entry_type(EntryType::Regular);
                    header.set_size(0);
                    tar.append_data(&mut header, name, &[][..]).unwrap();
                }
                Item::Link(name, target) => {
                    header.set_entry_type(EntryType::Symlink);
                    header.set_size(0);
                    header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
                    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
                    header.set_cksum();
                    tar.append(&header, &[][..]).unwrap();
                }
            }
        }
        tar.into_inner().unwrap()
    }

    fn gzipped(bytes: &[u8]) -> Vec<u8> {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(bytes).unwrap();
        gzip.finish().unwrap()
    }

    fn all_kinds(items: &[Item<'_>]) -> [(ArchiveKind, Vec<u8>); 3] {
        let tar = tarred(items);
        [(ArchiveKind::Zip, zipped(items)), (ArchiveKind::TarGz, gzipped(&tar)), (ArchiveKind::Tar, tar)]
    }

    /// Unpacks in a home of its own, and moves the result to its `made`.
    fn unpacked(kind: ArchiveKind, bytes: &[u8]) -> (tempfile::TempDir, Result<(), StoreError>) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let mut upload = home.new_upload().unwrap();
        upload.limits = Limits { files: 50, bytes: 1 << 20 };
        let done = upload.begin_archive(kind).and_then(|()| upload.add(bytes)).and_then(|()| upload.unpack());
        let done = done.map(|()| upload.move_to(home.root(), "made").unwrap());
        (folder, done)
    }

    #[test]
    fn every_kind_keeps_files_folders_programs_and_links() {
        let long = format!("top/{}/x.txt", "deep/".repeat(30).trim_end_matches('/'));
        let items = [
            Item::File("top/a.txt", b"one"),
            Item::File(&long, b"two"),
            Item::File("top/\u{8336}.txt", b"three"),
            Item::Program("top/bin/run"),
            Item::Folder("top/empty"),
            Item::Link("top/bin/a", "../a.txt"),
            Item::File("__MACOSX/top/._a.txt", b"x"),
        ];
        for (kind, bytes) in all_kinds(&items) {
            let (folder, done) = unpacked(kind, &bytes);
            done.unwrap_or_else(|error| panic!("{kind:?}: {error}"));
            let made = folder.path().join("made");
            let read = |path: &str| std::fs::read_to_string(made.join(path)).unwrap();
            let inner = long.strip_prefix("top/").unwrap();
            assert_eq!(
                [read("a.txt"), read(inner), read("\u{8336}.txt"), read("bin/a")],
                ["one", "two", "three", "one"]
            );
            assert_eq!(made.join("bin/run").metadata().unwrap().permissions().mode() & 0o111, 0o111, "{kind:?}");
            assert_eq!(made.join("a.txt").metadata().unwrap().permissions().mode() & 0o111, 0);
            assert!(made.join("empty").is_dir() && !made.join("__MACOSX").exists());
        }
    }

    #[test]
    fn hostile_entries_are_refused_as_a_whole() {
        let deep = "a/".repeat(70) + "x";
        let cases: [&[Item<'_>]; 10] = [
            &[Item::File("../out.txt", b"x")],
            &[Item::File("/tmp/out.txt", b"x")],
            &[Item::File("a/../../out.txt", b"x")],
            &[Item::Link("out", "/etc")],
            &[Item::Link("a/out", "../../etc")],
            // Out of the folder that becomes the project, and through another link.
            &[Item::File("top/a.txt", b"x"), Item::Link("top/out", "../other")],
            &[
                Item::Link("a/b/c/up", "../../.."),
                Item::File("a/x", b"x"),
                Item::File("y", b"y"),
                Item::Link("a/b/c/z", "up/../../.."),
            ],
            &[Item::File(&deep, b"x")],
            &[Item::File("a", b"x"), Item::File("a/b", b"x")],
            // Links are made last, so this file takes the place of the link, and nothing is written to its target.
            &[Item::Link("a", "b"), Item::Folder("b"), Item::File("a/x", b"x")],
        ];
        for items in cases {
            for (kind, bytes) in all_kinds(items) {
                let (folder, done) = unpacked(kind, &bytes);
                assert!(
                    matches!(
                        done,
                        Err(StoreError::BadArchive(_) | StoreError::Exists { .. } | StoreError::NotAllowed { .. })
                    ),
                    "{kind:?}: {done:?}"
                );
                assert!(!folder.path().join("made").exists() && !folder.path().join("b/x").exists());
            }
        }
        let twice = tarred(&[Item::File("a", b"x"), Item::Link("a", "b")]);
        assert!(matches!(unpacked(ArchiveKind::Tar, &twice).1, Err(StoreError::Exists { .. })));
        let twins = [Item::File("a.txt", b"1"), Item::File("A.txt", b"2")];
        for (kind, bytes) in all_kinds(&twins) {
            let (folder, done) = unpacked(kind, &bytes);
            done.unwrap();
            assert_eq!(std::fs::read(folder.path().join("made/A.txt")).unwrap(), b"2");
        }
    }

    #[test]
    fn bombs_stop_at_the_limit() {
        let zeros = vec![0; 2 << 20];
        for (kind, bytes) in all_kinds(&[Item::File("zeros", &zeros)]) {
            let bytes = if kind == ArchiveKind::Tar { bytes[..1 << 20].to_vec() } else { bytes };
            let (folder, done) = unpacked(kind, &bytes);
            assert!(matches!(done, Err(StoreError::TooLarge { .. } | StoreError::BadArchive(_))), "{kind:?}: {done:?}");
            assert_eq!(std::fs::read_dir(folder.path().join("storage/uploads")).unwrap().count(), 0);
        }
        let names: Vec<String> = (0..60).map(|n| format!("f{n}")).collect();
        let many: Vec<Item<'_>> = names.iter().map(|name| Item::Folder(name)).collect();
        for (kind, bytes) in all_kinds(&many) {
            let (_, done) = unpacked(kind, &bytes);
            assert!(matches!(done, Err(StoreError::TooManyFiles { limit: 50, .. })), "{kind:?}: {done:?}");
        }
        // A name is read into memory, so it has a limit of its own.
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(EntryType::GNULongName);
        header.set_size(1 << 19);
        header.set_cksum();
        let long = [header.as_bytes().as_slice(), &vec![b'a'; 1 << 19]].concat();
        assert!(matches!(unpacked(ArchiveKind::Tar, &long).1, Err(StoreError::BadArchive(_))));
    }

    #[test]
    fn name_says_what_an_archive_is() {
        for (name, kind) in [
            ("a.zip", Some((ArchiveKind::Zip, "a"))),
            ("Notes.TAR.GZ", Some((ArchiveKind::TarGz, "Notes"))),
            ("b.tgz", Some((ArchiveKind::TarGz, "b"))),
            ("c.tar", Some((ArchiveKind::Tar, "c"))),
            ("d.rar", None),
            ("\u{8336}zip", None),
            ("", None),
        ] {
            assert_eq!(ArchiveKind::of_name(name), kind, "{name}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn damaged_archives_do_no_harm(at in 0_usize..4_000, byte: u8, cut in 0_usize..4_000) {
            let items = [Item::File("top/a.txt", b"one"), Item::Link("top/l", "a.txt"), Item::Program("top/run")];
            for (kind, mut bytes) in all_kinds(&items) {
                let at = at % bytes.len();
                bytes[at] ^= byte;
                bytes.truncate(bytes.len().saturating_sub(cut / 8).max(1));
                let (folder, _) = unpacked(kind, &bytes);
                let left = std::fs::read_dir(folder.path().join("storage/uploads")).unwrap().count();
                prop_assert_eq!(left, 0);
            }
        }
    }
}
