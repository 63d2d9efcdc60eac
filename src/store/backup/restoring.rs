//! Restores a backup. Nothing in it is trusted: what comes out of it is written to a new folder, through handles and with no link
//! there yet; it is compared with the manifest, and only then becomes a home.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use cap_std::fs::Dir;
use tar::EntryType;

use super::contents::{PEOPLE, SecretsUse, may_be_restored};
use super::making::people;
use super::manifest::{
    BackupKind, Content, End, Entry, FORMAT, HEAD, Head, MANIFEST, MAX_HEAD, MAX_LINE, Part, Person, bytes,
};
use super::staging::{OwnerMap, Staging, WrittenFiles};
use super::{BackupError, make_private, open};
use crate::domain::account_fields::folded;
use crate::domain::entry_path::escaped;
use crate::store::error::StoreError;
use crate::store::home_lock::take_lock;

/// Maximum number of entries of a backup.
const MAX_ENTRIES: u64 = 4_000_000;
/// Maximum bytes of a header that holds a long name.
const MAX_NAME: u64 = 16 << 10;
/// Maximum bytes of a manifest, which is kept in memory.
const MAX_MANIFEST: u64 = 1 << 30;
/// Maximum bytes after the last entry.
const MAX_PADDING: u64 = 64 << 10;
/// The largest window that is unpacked, as a power of two: 128 MiB of memory.
const MAX_WINDOW: u32 = 27;

/// Whether links that lead out of the home are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkUse {
    OnlyInside,
    All,
}

#[derive(Debug)]
pub struct RestoreOptions<'a> {
    pub home: &'a Path,
    /// Restores only the home of this person, of several.
    pub person: Option<&'a str>,
    pub links: LinkUse,
}

/// What was restored.
#[derive(Debug, PartialEq)]
pub struct RestoreReport {
    /// Number of files, folders and links.
    pub entries: u64,
    pub bytes: u64,
    /// When the backup was made, in Unix seconds.
    pub made_at: f64,
    /// Whether it has `.env`.
    pub has_secrets: bool,
}

/// Restores a backup to a folder that is empty or not there yet.
///
/// # Errors
/// Returns why nothing was restored.
pub fn restore(file: &Path, options: &RestoreOptions<'_>) -> Result<RestoreReport, BackupError> {
    let opened = File::open(file).map_err(StoreError::io(format!("opening {}", file.display())))?;
    let mut decoder = zstd::Decoder::new(opened).map_err(not_a_backup)?;
    decoder.window_log_max(MAX_WINDOW).map_err(not_a_backup)?;
    let mut tar = tar::Archive::new(&mut decoder);
    // Raw, because long names are read into memory, and must be bounded.
    let mut entries = tar.entries().map_err(not_a_backup)?.raw(true);
    let head = match entries.next() {
        Some(Ok(mut first)) if *first.path_bytes() == *HEAD.as_bytes() => head(&mut first)?,
        Some(Err(error)) => return Err(not_a_backup(error)),
        _ => return Err(BackupError::NotABackup { reason: format!("{HEAD} is not its first entry") }),
    };
    let target = Target::of(&head, options)?;
    let mut restoring = Restoring {
        secrets: if head.secrets { SecretsUse::Included } else { SecretsUse::LeftOut },
        prefix: target.prefix.clone(),
        links: options.links,
        staging: target.staging()?,
        written: BTreeMap::new(),
        count: 0,
    };
    let read = restoring.entries(entries).and_then(|read| require_end(&mut decoder).map(|()| read));
    match read.and_then(|(manifest, end)| restoring.publish(&manifest, &target.owners).map(|()| end)) {
        Ok(end) => Ok(RestoreReport {
            entries: end.entries,
            bytes: end.bytes,
            made_at: head.made_at,
            has_secrets: head.secrets,
        }),
        Err(error) => {
            restoring.staging.discard();
            Err(error)
        }
    }
}

fn not_a_backup(error: io::Error) -> BackupError {
    BackupError::NotABackup { reason: error.to_string() }
}

/// Reads what pads the archive, so that the checksum at its end is compared: the manifest says nothing about its own bytes.
fn require_end(archive: &mut impl Read) -> Result<(), BackupError> {
    let read = io::copy(&mut archive.take(MAX_PADDING + 1), &mut io::sink()).map_err(BackupError::damaged)?;
    if read > MAX_PADDING {
        return Err(BackupError::Damaged { reason: "something follows its manifest".to_owned() });
    }
    Ok(())
}

fn head(entry: &mut impl Read) -> Result<Head, BackupError> {
    let text = bounded(entry, MAX_HEAD)?;
    let value: serde_json::Value = serde_json::from_slice(&text).map_err(BackupError::damaged)?;
    match value["format"].as_u64().and_then(|format| u32::try_from(format).ok()) {
        Some(FORMAT) => serde_json::from_value(value).map_err(BackupError::damaged),
        Some(found) if found > FORMAT => Err(BackupError::Newer { found }),
        _ => Err(BackupError::Damaged { reason: "it does not say which form it has".to_owned() }),
    }
}

fn bounded(content: &mut impl Read, most: u64) -> Result<Vec<u8>, BackupError> {
    let mut read = Vec::new();
    content.take(most + 1).read_to_end(&mut read).map_err(BackupError::damaged)?;
    if read.len() as u64 > most {
        return Err(BackupError::Damaged { reason: "a name or a text in it is too long".to_owned() });
    }
    Ok(read)
}

/// Where a backup is restored to.
struct Target {
    folder: std::path::PathBuf,
    /// What of the backup is restored: everything below this folder.
    prefix: Vec<u8>,
    owners: OwnerMap,
    /// Held so that no server starts meanwhile.
    _lock: Option<File>,
}

impl Target {
    fn of(head: &Head, options: &RestoreOptions<'_>) -> Result<Self, BackupError> {
        let Some(name) = options.person else {
            if head.of == BackupKind::Person {
                let username = head.people.first().map(|person| person.username.clone()).unwrap_or_default();
                return Err(BackupError::OfPerson { username });
            }
            let folder = options.home.to_owned();
            let owners = OwnerMap::new(head.people.iter().filter_map(|person| Some((person.uid?, person.uid?))));
            return Ok(Self { folder, prefix: Vec::new(), owners, _lock: None });
        };
        let here = open(options.home)?;
        let lock = here.open_dir("sessions").map_err(StoreError::io("opening sessions/"));
        let lock = lock.and_then(|sessions| take_lock(&sessions)).map_err(|error| match error {
            StoreError::Locked { .. } => BackupError::Running,
            error => error.into(),
        })?;
        let missing = |place| move || BackupError::NoPerson { name: name.to_owned(), place };
        let here = people(&here)?.into_iter().find(|person| folded(&person.username) == folded(name));
        let here = here.ok_or_else(missing("on this server: make it first, or restore the whole home"))?;
        let there = match (head.of, &*head.people) {
            (BackupKind::Person, [only]) => only.clone(),
            _ => head
                .people
                .iter()
                .find(|person| folded(&person.username) == folded(name))
                .cloned()
                .ok_or_else(missing("in the backup"))?,
        };
        let prefix = match head.of {
            BackupKind::Person => Vec::new(),
            BackupKind::Home => format!("{PEOPLE}/{}/", there.id).into_bytes(),
        };
        let owners = OwnerMap::new(there.uid.zip(here.uid).into_iter());
        let folder = options.home.join(PEOPLE).join(plain_id(&here)?);
        Ok(Self { folder, prefix, owners, _lock: Some(lock) })
    }

    fn staging(&self) -> Result<Staging, BackupError> {
        make_private(&self.folder).map_err(StoreError::io(format!("making {}", self.folder.display())))?;
        Staging::begin(open(&self.folder)?, &self.folder)
    }
}

/// Returns the name of a person's folder.
fn plain_id(person: &Person) -> Result<&str, BackupError> {
    let is_plain = person.id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') && !person.id.is_empty();
    let refused = || BackupError::Accounts { reason: "an account has an id that is no name of a folder".to_owned() };
    is_plain.then_some(&*person.id).ok_or_else(refused)
}

/// A restore that is under way.
struct Restoring {
    secrets: SecretsUse,
    prefix: Vec<u8>,
    links: LinkUse,
    staging: Staging,
    /// The length and the SHA-256 of the files that are written so far.
    written: WrittenFiles,
    count: u64,
}

/// What the headers before an entry say about it, where its own header has no room.
#[derive(Default)]
struct LongName(Option<Vec<u8>>);

impl Restoring {
    /// Makes a home of what was read.
    fn publish(&mut self, manifest: &[Entry], owners: &OwnerMap) -> Result<(), BackupError> {
        self.staging.assemble((manifest, &self.written), owners)?;
        if self.links == LinkUse::OnlyInside {
            self.staging.require_inside(manifest)?;
        }
        self.staging.publish()
    }

    /// Writes all files and returns the manifest.
    fn entries<R: Read>(&mut self, entries: tar::Entries<'_, R>) -> Result<(Vec<Entry>, End), BackupError> {
        let mut long = LongName::default();
        let mut manifest = None;
        for entry in entries {
            let mut entry = entry.map_err(BackupError::damaged)?;
            self.count += 1;
            if self.count > MAX_ENTRIES {
                return Err(BackupError::Damaged { reason: format!("it has more than {MAX_ENTRIES} entries") });
            }
            let kind = entry.header().entry_type();
            if manifest.is_some() {
                return Err(BackupError::Damaged { reason: "something follows its manifest".to_owned() });
            }
            if matches!(kind, EntryType::GNULongName | EntryType::GNULongLink) {
                let text = bounded(&mut entry, MAX_NAME)?;
                if kind == EntryType::GNULongName {
                    long.0 = Some(text.strip_suffix(b"\0").unwrap_or(&text).to_vec());
                }
                continue;
            }
            let name = std::mem::take(&mut long).0.unwrap_or_else(|| entry.path_bytes().into_owned());
            let refused = |why| BackupError::Refused { path: escaped(&name), why };
            if name == MANIFEST.as_bytes() && kind == EntryType::Regular {
                manifest = Some(self.manifest(BufReader::new(&mut entry))?);
                continue;
            }
            match kind {
                EntryType::Regular => self.file(&name, &mut entry)?,
                // They are made as the manifest says.
                EntryType::Directory | EntryType::Symlink => {}
                _ => return Err(refused("a backup has only files, folders and links")),
            }
        }
        manifest.ok_or_else(|| BackupError::Damaged { reason: "its manifest is missing".to_owned() })
    }

    fn file(&mut self, name: &[u8], content: &mut impl Read) -> Result<(), BackupError> {
        let refused = |why| BackupError::Refused { path: escaped(name), why };
        let parts = [Part::Home, Part::Later].into_iter();
        let mut found =
            parts.filter_map(|part| Some((part, name.strip_prefix(part.folder().as_bytes())?.strip_prefix(b"/")?)));
        let (part, path) = found.next().ok_or_else(|| refused("it is in none of the folders of a backup"))?;
        if !may_be_restored(path, self.secrets) {
            return Err(refused("no file of a home has this path"));
        }
        let Some(path) = path.strip_prefix(&*self.prefix).filter(|path| !path.is_empty()) else {
            // Of another person. It is read, and so checked and counted, and not written.
            return self.staging.skip(content);
        };
        if self.written.contains_key(&(part, path.to_vec())) {
            return Err(refused("it is there twice"));
        }
        let written = self.staging.write((part, path), content)?;
        self.written.insert((part, path.to_vec()), written);
        Ok(())
    }

    fn manifest(&self, mut lines: impl BufRead) -> Result<(Vec<Entry>, End), BackupError> {
        let mut entries: BTreeMap<Vec<u8>, Entry> = BTreeMap::new();
        let (mut count, mut bytes_of_all, mut read) = (0, 0_u64, 0);
        loop {
            let mut line = Vec::new();
            lines.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).map_err(BackupError::damaged)?;
            read += line.len() as u64;
            if read > MAX_MANIFEST {
                return Err(BackupError::Damaged { reason: "its manifest is too long".to_owned() });
            }
            if let Ok(end) = serde_json::from_slice::<End>(&line) {
                if (end.entries, end.bytes) != (count, bytes_of_all)
                    || lines.read(&mut [0]).map_err(BackupError::damaged)? > 0
                {
                    return Err(BackupError::Damaged { reason: "its manifest does not say what is in it".to_owned() });
                }
                let bytes = entries.values().fold(0_u64, |all, entry| all.saturating_add(length(&entry.content)));
                let end = End { entries: entries.len() as u64, bytes };
                return Ok((entries.into_values().collect(), end));
            }
            let mut entry: Entry = serde_json::from_slice(&line).map_err(BackupError::damaged)?;
            count += 1;
            bytes_of_all = bytes_of_all.saturating_add(length(&entry.content));
            let path = self.checked(&entry)?;
            let Some(path) = path.strip_prefix(&*self.prefix).filter(|path| !path.is_empty()) else { continue };
            entry.path = escaped(path);
            if count > MAX_ENTRIES || entries.insert(path.to_vec(), entry).is_some() {
                return Err(BackupError::Refused { path: escaped(path), why: "its manifest names it twice" });
            }
        }
    }

    /// Returns the path of an entry of the manifest that a home can have.
    fn checked(&self, entry: &Entry) -> Result<Vec<u8>, BackupError> {
        let refused = |why| BackupError::Refused { path: entry.path.clone(), why };
        let path = entry.path().ok_or_else(|| refused("it is no path"))?;
        if !may_be_restored(&path, self.secrets) {
            return Err(refused("no file of a home has this path"));
        }
        if let Content::File { sha256, .. } = &entry.content
            && (sha256.len() != 64 || !sha256.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')))
        {
            return Err(BackupError::Damaged { reason: format!("{} has no SHA-256", entry.path) });
        }
        if let Content::Link { target } = &entry.content {
            let target = bytes(target).ok_or_else(|| refused("its target is no path"))?;
            if target.is_empty() || target.contains(&0) || target.len() > super::contents::MAX_PATH {
                return Err(refused("its target is no path"));
            }
            let is_ours = path.starts_with(&self.prefix);
            let below = path.get(self.prefix.len()..).unwrap_or_default();
            if is_ours && self.links == LinkUse::OnlyInside && super::making::leads_out(below, &target) {
                return Err(BackupError::OutsideLink { path: entry.path.clone(), target: escaped(&target) });
            }
        }
        Ok(path)
    }
}

fn length(content: &Content) -> u64 {
    match content {
        Content::File { size, .. } => *size,
        _ => 0,
    }
}

/// Whether links that are made may lead out of the home is checked once all of them are there, because a link can lead through
/// another one.
pub(super) fn require_inside(home: &Dir, path: &Path) -> Result<(), BackupError> {
    match home.metadata(path) {
        Ok(_) => Ok(()),
        // It leads nowhere, or to what is closed.
        Err(error) if error.raw_os_error().is_some_and(|code| code != libc::EXDEV) => Ok(()),
        Err(_) => {
            let target = home.read_link_contents(path).unwrap_or_default();
            Err(BackupError::OutsideLink { path: path.display().to_string(), target: target.display().to_string() })
        }
    }
}
