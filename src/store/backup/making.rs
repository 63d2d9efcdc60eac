//! Makes a backup of a home, also while its server runs.
//!
//! First everything is read while the server goes on. Then the writes of the server pause for a moment, and what has changed since
//! is read again. So the backup is what a kill of the server at that moment would have left: sessions, journals, works and files
//! agree, and everything acknowledged before is in it. Other programs, and commands that work in a folder itself, do not
//! pause: of what they change, each file is as it was when it was read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::time::Duration;

use cap_std::fs::Dir;
use sha2::{Digest, Sha256};
use tar::{EntryType, Header};

use super::BackupError;
use super::contents::{PEOPLE, SecretsUse};
use super::manifest::{Attributes, BackupKind, Content, End, Entry, FORMAT, HEAD, Head, MANIFEST, Part, Person};
use super::walk::{Found, LeftOut, Stamp, Walk, as_path, open_file};
use crate::clock;
use crate::domain::AccountBook;
use crate::domain::entry_path::escaped;
use crate::store::error::StoreError;
use crate::store::home_lock::{RunningServer, running};
use crate::store::write_pause::WritePause;

const LEVEL: i32 = 3;

/// What is backed up.
pub(super) struct Source {
    pub home: Dir,
    pub of: BackupKind,
    pub people: Vec<Person>,
    pub secrets: SecretsUse,
}

/// What a backup has.
#[derive(Debug, Default)]
pub struct BackupReport {
    /// Number of files, folders and links.
    pub entries: u64,
    /// Length of all files together.
    pub bytes: u64,
    /// How long the writes of a running server paused; `None` if no server ran.
    pub paused: Option<Duration>,
    /// What is not in it.
    pub left_out: Vec<LeftOut>,
    /// Links that lead out of the home, with their targets. They are in it, and a restore wants to be told to make them.
    pub outside_links: Vec<(Vec<u8>, Vec<u8>)>,
}

/// A backup that is being written.
pub(super) struct Writing<'s> {
    source: &'s Source,
    tar: tar::Builder<zstd::Encoder<'static, BufWriter<File>>>,
    /// The files that are in it, with the stamps that they had.
    written: BTreeMap<Vec<u8>, Written>,
    left_out: Vec<LeftOut>,
}

struct Written {
    /// `None` if the file changed while it was read.
    stamp: Option<Stamp>,
    content: Content,
}

/// Writes a backup to a new file.
pub(super) fn write(source: &Source, file: File) -> Result<BackupReport, BackupError> {
    let mut writing = Writing::begin(source, file)?;
    writing.read_ahead()?;
    let (entries, report) = writing.read_moment()?;
    writing.finish(&entries, report)
}

impl<'s> Writing<'s> {
    pub fn begin(source: &'s Source, file: File) -> Result<Self, BackupError> {
        let mut encoder = zstd::Encoder::new(BufWriter::new(file), LEVEL).map_err(BackupError::writing)?;
        encoder.include_checksum(true).map_err(BackupError::writing)?;
        let tar = tar::Builder::new(encoder);
        let mut writing = Self { source, tar, written: BTreeMap::new(), left_out: Vec::new() };
        writing.head()?;
        Ok(writing)
    }

    fn head(&mut self) -> Result<(), BackupError> {
        let head = Head {
            format: FORMAT,
            miniclaw: env!("CARGO_PKG_VERSION").to_owned(),
            made_at: clock::now(),
            of: self.source.of,
            secrets: self.source.secrets == SecretsUse::Included,
            people: self.source.people.clone(),
        };
        let text = serde_json::to_vec_pretty(&head).expect("it has string keys");
        self.own_entry(HEAD, &text)
    }

    fn own_entry(&mut self, name: &str, content: &[u8]) -> Result<(), BackupError> {
        let mut header = Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o600);
        self.tar.append_data(&mut header, name, content).map_err(BackupError::writing)
    }

    fn walk(&mut self, each: &mut super::walk::Visit<'_>) -> Result<(), BackupError> {
        let mut walk = Walk { secrets: self.source.secrets, left_out: Vec::new() };
        walk.run(&self.source.home, each)?;
        self.left_out = walk.left_out;
        Ok(())
    }

    /// Reads everything while the home may change.
    pub fn read_ahead(&mut self) -> Result<(), BackupError> {
        let mut files = Vec::new();
        self.walk(&mut |path, found| {
            if let Found::File(_) = found {
                files.push(path.to_vec());
            }
            Ok(())
        })?;
        for path in files {
            // What cannot be read now is tried again while writes pause.
            if let Ok(file) = open_file(&self.source.home, &path)
                && let Ok(stamp) = Stamp::of_open(&file)
            {
                let written = self.file((&path, Part::Home), &file, stamp)?;
                self.written.insert(path, written);
            }
        }
        Ok(())
    }

    /// Reads what has changed since, while the server writes nothing. Returns what the home has at this moment.
    pub fn read_moment(&mut self) -> Result<(Vec<Entry>, BackupReport), BackupError> {
        let paused = Paused::begin(self.source)?;
        let mut found = Vec::new();
        self.walk(&mut |path, what| {
            found.push((path.to_vec(), what));
            Ok(())
        })?;
        let (mut entries, mut report) = (Vec::new(), BackupReport::default());
        for (path, what) in found {
            let (content, attributes) = match what {
                Found::Folder(attributes) => (Content::Folder, attributes),
                Found::Link { target, attributes } => {
                    if leads_out(&path, &target) {
                        report.outside_links.push((path.clone(), target.clone()));
                    }
                    (Content::Link { target: escaped(&target) }, attributes)
                }
                Found::File(stamp) => match self.read_again(&path, stamp)? {
                    Some(content) => (content, stamp.attributes),
                    None => continue,
                },
            };
            if let Content::File { size, .. } = &content {
                report.bytes += size;
            }
            entries.push(Entry::new(&path, content, attributes));
        }
        if paused.pauses.iter().any(|pause| !pause.is_sound()) {
            return Err(BackupError::PauseTooLong);
        }
        report.paused = paused.is_running.then(|| paused.pauses.iter().map(WritePause::elapsed).max()).flatten();
        drop(paused);
        report.entries = entries.len() as u64;
        report.left_out = std::mem::take(&mut self.left_out);
        Ok((entries, report))
    }

    /// Returns the content that a file has now; reads it if it is not what was read before. `None` if it cannot be read.
    fn read_again(&mut self, path: &[u8], stamp: Stamp) -> Result<Option<Content>, BackupError> {
        if let Some(Written { stamp: Some(known), content }) = self.written.get(path)
            && *known == stamp
        {
            return Ok(Some(content.clone()));
        }
        let file = match open_file(&self.source.home, path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                let why = format!("it cannot be read ({error})");
                self.left_out.push(LeftOut { path: path.to_vec(), why });
                return Ok(None);
            }
        };
        let stamp = Stamp::of_open(&file).map_err(reading(path))?;
        Ok(Some(self.file((path, Part::Later), &file, stamp)?.content))
    }

    /// Adds a file as long as its stamp says it is.
    fn file(&mut self, (path, part): (&[u8], Part), file: &File, stamp: Stamp) -> Result<Written, BackupError> {
        let started = now();
        let mut header = header(EntryType::Regular, stamp.attributes);
        header.set_size(stamp.size);
        let name = [part.folder().as_bytes(), b"/", path].concat();
        let mut content =
            Hashed { file: file.take(stamp.size), sha256: Sha256::new(), missing: stamp.size, is_short: false };
        self.tar.append_data(&mut header, as_path(&name), &mut content).map_err(BackupError::writing)?;
        if content.is_short && part == Part::Later {
            return Err(BackupError::KeepsChanging { path: escaped(path) });
        }
        let is_whole = !content.is_short;
        let sha256 = base16ct::lower::encode_string(&content.sha256.finalize());
        let after = Stamp::of_open(file).ok();
        let is_same = is_whole && after == Some(stamp) && !stamp.is_recent(started);
        let content = Content::File { part, size: stamp.size, sha256 };
        Ok(Written { stamp: is_same.then_some(stamp), content })
    }

    /// Writes the manifest, and everything to the disk.
    pub fn finish(mut self, entries: &[Entry], report: BackupReport) -> Result<BackupReport, BackupError> {
        // For people who unpack it with tar.
        for entry in entries {
            let path = [b"home/", &*entry.path().expect("its own text")].concat();
            let mut header = header(EntryType::Directory, entry.attributes);
            header.set_size(0);
            match &entry.content {
                Content::File { .. } => continue,
                Content::Folder => {
                    self.tar.append_data(&mut header, as_path(&path), io::empty()).map_err(BackupError::writing)?;
                }
                Content::Link { target } => {
                    let target = super::manifest::bytes(target).expect("its own text");
                    header.set_entry_type(EntryType::Symlink);
                    let added = self.tar.append_link(&mut header, as_path(&path), as_path(&target));
                    added.map_err(BackupError::writing)?;
                }
            }
        }
        let mut lines = Vec::new();
        for entry in entries {
            serde_json::to_writer(&mut lines, entry).expect("memory");
            lines.push(b'\n');
        }
        serde_json::to_writer(&mut lines, &End { entries: report.entries, bytes: report.bytes }).expect("memory");
        lines.push(b'\n');
        self.own_entry(MANIFEST, &lines)?;
        let encoder = self.tar.into_inner().map_err(BackupError::writing)?;
        let mut file = encoder.finish().map_err(BackupError::writing)?;
        file.flush().map_err(BackupError::writing)?;
        file.get_ref().sync_all().map_err(BackupError::writing)?;
        Ok(report)
    }
}

/// The homes whose writes pause.
struct Paused {
    is_running: bool,
    pauses: Vec<WritePause>,
}

impl Paused {
    fn begin(source: &Source) -> Result<Self, BackupError> {
        let is_running = match running(&source.home)? {
            RunningServer::None => false,
            RunningServer::Pausing => true,
            RunningServer::Older => return Err(BackupError::OlderServer),
        };
        let mut pauses = vec![pause(&source.home)?];
        let people = source.home.open_dir(PEOPLE).and_then(|people| people.entries()).into_iter().flatten();
        for person in people.flatten() {
            // A home that is just being made has no such folder yet, and nothing was acknowledged there.
            if let Ok(home) = person.open_dir()
                && home.is_dir("sessions")
            {
                pauses.push(pause(&home)?);
            }
        }
        Ok(Self { is_running, pauses })
    }
}

fn pause(home: &Dir) -> Result<WritePause, BackupError> {
    WritePause::begin(home)?.ok_or(BackupError::Busy)
}

/// A file as far as it is long enough, and zeros after it.
struct Hashed<R> {
    file: io::Take<R>,
    sha256: Sha256,
    missing: u64,
    is_short: bool,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut length = self.file.read(into)?;
        if length == 0 && self.missing > 0 && !into.is_empty() {
            self.is_short = true;
            length = into.len().min(usize::try_from(self.missing).unwrap_or(usize::MAX));
            into[..length].fill(0);
        }
        self.missing = self.missing.saturating_sub(length as u64);
        self.sha256.update(&into[..length]);
        Ok(length)
    }
}

fn header(kind: EntryType, attributes: Attributes) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(attributes.mode);
    header.set_uid(attributes.uid.into());
    header.set_gid(attributes.gid.into());
    header.set_mtime(u64::try_from(attributes.modified / 1_000_000_000).unwrap_or_default());
    header
}

fn reading(path: &[u8]) -> impl FnOnce(io::Error) -> BackupError {
    let path = escaped(path);
    move |error| StoreError::io(format!("reading {path}"))(error).into()
}

/// Nanoseconds since 1970.
fn now() -> i64 {
    (clock::now() * 1e9) as i64
}

/// Whether the target of a link, as it is written, is outside of the home.
pub(super) fn leads_out(path: &[u8], target: &[u8]) -> bool {
    let mut depth = path.iter().filter(|byte| **byte == b'/').count();
    target.starts_with(b"/")
        || target.split(|byte| *byte == b'/').any(|part| match part {
            b"" | b"." => false,
            b".." => depth.checked_sub(1).map(|above| depth = above).is_none(),
            _ => {
                depth += 1;
                false
            }
        })
}

/// Returns the people of a server.
pub(super) fn people(home: &Dir) -> Result<Vec<Person>, BackupError> {
    let bytes = match home.read("accounts.json") {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::io("reading accounts.json")(error).into()),
    };
    let book: AccountBook =
        serde_json::from_slice(&bytes).map_err(|error| BackupError::Accounts { reason: error.to_string() })?;
    let person = |account: &crate::domain::Account| Person {
        id: account.id.as_str().to_owned(),
        username: account.username.clone(),
        uid: account.uid,
    };
    Ok(book.accounts.iter().map(person).collect())
}
