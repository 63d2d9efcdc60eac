//! `session-key.json`: the key by which this home recognizes the files in sessions/ that it wrote itself.
//!
//! A file in sessions/ decides what runs without a question: a work that is under way continues, and an answer that was
//! given counts. So only data with a message authentication code (MAC, HMAC-SHA-256) of this key is acted on; data that
//! another program wrote is only content. The MAC is the last field of a session's file and of a change record, and the
//! last field before the checksum in each line of a journal. It covers the kind, the name, and the bytes before it. It is
//! written together with them, so a file and its MAC never disagree.
//!
//! The key file is next to `trusted.json`, where no tool and no command reads. It belongs to the home: a copy of the whole
//! home recognizes its own files.

use std::collections::BTreeMap;
use std::io::{self, Read};

use cap_std::fs::{Dir, MetadataExt, OpenOptions, OpenOptionsExt, Permissions, PermissionsExt};
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::atomic;
use super::error::StoreError;
use crate::clock;

pub(super) const FILE: &str = "session-key.json";
/// Maximum size of a key file in bytes; a larger one counts as damaged. A home with 100,000 sessions stays below it.
const MAX_KEY_FILE_SIZE: u64 = 64 << 20;
const BEFORE_MAC: &[u8] = b",\n  \"mac\": \"";
const AFTER_MAC: &[u8] = b"\"\n}\n";
const BEFORE_LINE_MAC: &[u8] = b",\"mac\":\"";
/// Length of a MAC in hexadecimal digits.
const MAC_LENGTH: usize = 64;

/// What a MAC is for; a MAC of one kind is never valid for another kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MacKind {
    /// `sessions/{id}.json`; its name is the session's id.
    Session,
    /// One line of `sessions/{id}.journal`; its name is the session's id.
    Fact,
    /// `sessions/changes/{id}/{call}.json`; its name is `{id}/{call}.json`.
    Change,
    /// `sessions/requests/{id}/{number}.json`; its name is `{id}/{number}.json`.
    Request,
    /// One line of `sessions/heads.jsonl`; its name is the MAC of the line before it.
    Head,
}

/// A file that existed when the key was created. The bytes that it had then count as this home's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct PreexistingFile {
    size: u64,
    sha256: String,
}

/// Files by path below sessions/. A deleted session is listed under the name that it has after a restore.
type FirstStart = BTreeMap<String, Vec<PreexistingFile>>;

#[derive(Serialize, Deserialize)]
struct KeyFile {
    /// 32 bytes in hexadecimal.
    key: String,
    /// The files that existed at the first start of a version that has a key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    first_start: FirstStart,
}

/// The key, and the files that existed before it.
pub(super) struct Seal {
    key: [u8; 32],
    first_start: FirstStart,
}

/// The state of the key file at a start.
pub(super) enum KeyStatus {
    Read,
    /// This home never had a key.
    First,
    /// The key is missing, although there are files that were written with one.
    Lost,
    Damaged(String),
}

impl Seal {
    #[cfg(test)]
    pub fn of(key: [u8; 32]) -> Self {
        Self { key, first_start: FirstStart::new() }
    }

    /// Reads the home's key, or creates a new one, which the caller stores with [`Seal::keep`]. If the new key replaces a
    /// lost or damaged one, no existing file counts as this home's own.
    ///
    /// # Errors
    /// Returns an error if the existing files cannot be listed.
    pub fn open(root: &Dir, sessions: &Dir) -> Result<(Self, KeyStatus), StoreError> {
        let fresh = || {
            let key = hex_bytes(clock::new_secret().as_bytes()).expect("a secret is 256 bits in hexadecimal");
            Self { key, first_start: FirstStart::new() }
        };
        match read(root) {
            Ok(Some(seal)) => Ok((seal, KeyStatus::Read)),
            Ok(None) => {
                let there = survey(sessions).map_err(StoreError::io("reading sessions/ for its first key"))?;
                Ok(match there {
                    None => (fresh(), KeyStatus::Lost),
                    Some(first_start) => (Self { first_start, ..fresh() }, KeyStatus::First),
                })
            }
            Err(reason) => Ok((fresh(), KeyStatus::Damaged(reason))),
        }
    }

    /// Takes the key file away from other users of this machine.
    pub fn restrict(root: &Dir) {
        if root.symlink_metadata(FILE).is_ok_and(|meta| meta.is_file() && meta.mode() & 0o077 != 0) {
            // Best effort: on a file system without modes there is nothing to set.
            let _ = root.set_permissions(FILE, Permissions::from_mode(0o600));
        }
    }

    /// Writes the key file; only its owner can read it.
    pub fn keep(&self, root: &Dir) -> Result<(), StoreError> {
        let file = KeyFile { key: base16ct::lower::encode_string(&self.key), first_start: self.first_start.clone() };
        let mut bytes = serde_json::to_vec_pretty(&file).expect("texts and numbers are JSON");
        bytes.push(b'\n');
        atomic::replace(root, FILE, &bytes, 0o600).map_err(StoreError::io(format!("writing {FILE}")))
    }

    /// Adds the MAC as the last field of an indented JSON object that ends with a newline.
    pub fn sign(&self, kind: MacKind, name: &str, mut object: Vec<u8>) -> Vec<u8> {
        let body = object.strip_suffix(b"\n}\n").map(<[u8]>::len);
        let body = body.expect("an indented object with fields ends with a bracket on a line of its own");
        object.truncate(body);
        let code = base16ct::lower::encode_string(&self.mac(kind, name, &object).finalize().into_bytes());
        object.extend_from_slice(BEFORE_MAC);
        object.extend_from_slice(code.as_bytes());
        object.extend_from_slice(AFTER_MAC);
        object
    }

    /// Whether this home wrote the file, or the file existed before the key.
    pub fn verify(&self, kind: MacKind, name: &str, bytes: &[u8]) -> bool {
        let (file, parts) = match kind {
            MacKind::Session => (format!("{name}.json"), split(bytes)),
            MacKind::Change => (format!("changes/{name}"), split(bytes)),
            MacKind::Request => (format!("requests/{name}"), split(bytes)),
            MacKind::Fact | MacKind::Head => return false,
        };
        parts.is_some_and(|(body, code)| self.is_valid_mac(kind, name, (body, code))) || self.was_there(&file, bytes)
    }

    /// Appends the MAC to an incomplete line: a JSON object without its closing brace, which begins at `start`.
    pub fn sign_line(&self, (kind, name): (MacKind, &str), bytes: &mut Vec<u8>, start: usize) {
        let code = base16ct::lower::encode_string(&self.mac(kind, name, &bytes[start..]).finalize().into_bytes());
        bytes.extend_from_slice(BEFORE_LINE_MAC);
        bytes.extend_from_slice(code.as_bytes());
        bytes.push(b'"');
    }

    /// Whether this home wrote a line, which is passed without checksum and closing brace.
    pub fn verify_line(&self, (kind, name): (MacKind, &str), line: &[u8]) -> bool {
        split_line(line).is_some_and(|parts| self.is_valid_mac(kind, name, parts))
    }

    /// Whether the file existed with exactly these bytes when the key was created.
    pub fn was_there(&self, file: &str, bytes: &[u8]) -> bool {
        self.known_start(file, bytes) == bytes.len() && self.first_start.contains_key(file)
    }

    /// Returns how many bytes at the beginning of a file existed when the key was created.
    pub fn known_start(&self, file: &str, bytes: &[u8]) -> usize {
        let known = self.first_start.get(file).into_iter().flatten().filter_map(|found| {
            let size = usize::try_from(found.size).ok()?;
            (sha256(bytes.get(..size)?) == found.sha256).then_some(size)
        });
        known.max().unwrap_or(0)
    }

    /// Returns a key that is used for nothing else.
    pub fn derived_key(&self, purpose: &str) -> [u8; 32] {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("HMAC takes a key of any length");
        for part in [b"key\0".as_slice(), purpose.as_bytes()] {
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }

    fn mac(&self, kind: MacKind, name: &str, bytes: &[u8]) -> Hmac<Sha256> {
        let kind: &[u8] = match kind {
            MacKind::Session => b"session\0",
            MacKind::Fact => b"fact\0",
            MacKind::Change => b"change\0",
            MacKind::Request => b"request\0",
            MacKind::Head => b"head\0",
        };
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("HMAC takes a key of any length");
        for part in [kind, name.as_bytes(), b"\0", bytes] {
            mac.update(part);
        }
        mac
    }

    fn is_valid_mac(&self, kind: MacKind, name: &str, (body, code): (&[u8], &[u8])) -> bool {
        hex_bytes(code).is_some_and(|code| self.mac(kind, name, body).verify_slice(&code).is_ok())
    }
}

/// Splits a file into the bytes before its MAC, and the MAC.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    split_mac(bytes.strip_suffix(AFTER_MAC)?, BEFORE_MAC)
}

/// Splits a line without checksum and closing brace into the bytes before its MAC, and the MAC.
pub(super) fn split_line(line: &[u8]) -> Option<(&[u8], &[u8])> {
    split_mac(line.strip_suffix(b"\"")?, BEFORE_LINE_MAC)
}

/// Returns whether a file ends with a MAC, valid or not.
pub(super) fn has_mac(bytes: &[u8]) -> bool {
    split(bytes).is_some()
}

fn split_mac<'b>(bytes: &'b [u8], mark: &[u8]) -> Option<(&'b [u8], &'b [u8])> {
    let (body, code) = bytes.split_at_checked(bytes.len().checked_sub(MAC_LENGTH)?)?;
    Some((body.strip_suffix(mark)?, code))
}

fn read(root: &Dir) -> Result<Option<Seal>, String> {
    let meta = match root.symlink_metadata(FILE) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    if !meta.is_file() {
        return Err("it is no ordinary file".to_owned());
    }
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
    let mut bytes = Vec::new();
    let file = root.open_with(FILE, &options).map_err(|error| error.to_string())?;
    file.take(MAX_KEY_FILE_SIZE + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_KEY_FILE_SIZE {
        return Err(format!("it has more than {MAX_KEY_FILE_SIZE} bytes"));
    }
    let file: KeyFile = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    let key = hex_bytes(file.key.as_bytes()).ok_or("its key is not 64 hexadecimal digits")?;
    Ok(Some(Seal { key, first_start: file.first_start }))
}

/// Returns the files in sessions/ before there is a key; `None` if one of them was written with a key.
fn survey(sessions: &Dir) -> io::Result<Option<FirstStart>> {
    let mut found = FirstStart::new();
    let folders = [("", ""), ("archive", "archive/"), ("archive/deleted", "")];
    let changes = dirs(sessions, "changes").into_iter().map(|name| format!("changes/{name}"));
    let changes: Vec<(String, String)> = changes.map(|path| (path.clone(), format!("{path}/"))).collect();
    let folders = folders.into_iter().chain(changes.iter().map(|(path, under)| (path.as_str(), under.as_str())));
    for (path, under) in folders {
        let dir = match path {
            "" => sessions.try_clone()?,
            path => match sessions.open_dir(path) {
                Ok(dir) => dir,
                Err(_) => continue,
            },
        };
        for entry in dir.entries()?.flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let is_journal = name.ends_with(".journal");
            if !(is_journal || name.ends_with(".json")) || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
                continue;
            }
            // A file that cannot be read now does not count as this home's own later.
            let Ok(bytes) = dir.read(&name) else { continue };
            let is_sealed = match is_journal {
                true => bytes.split(|byte| *byte == b'\n').any(is_sealed_line),
                false => split(&bytes).is_some(),
            };
            if is_sealed {
                return Ok(None);
            }
            let entry = PreexistingFile { size: bytes.len() as u64, sha256: sha256(&bytes) };
            found.entry(format!("{under}{name}")).or_default().push(entry);
        }
    }
    Ok(Some(found))
}

fn is_sealed_line(line: &[u8]) -> bool {
    // `,"crc":"xxxxxxxx"}` comes last.
    line.len().checked_sub(18).and_then(|end| split_line(&line[..end])).is_some()
}

fn dirs(sessions: &Dir, path: &str) -> Vec<String> {
    let entries = sessions.open_dir(path).and_then(|dir| dir.entries()).into_iter().flatten().flatten();
    let dirs = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    dirs.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Returns the SHA-256 of bytes, in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    base16ct::lower::encode_string(&Sha256::digest(bytes))
}

/// Returns the SHA-256 of bytes.
pub(super) fn sha256_bytes(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

fn hex_bytes(text: &[u8]) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let decoded = base16ct::mixed::decode(text, &mut bytes).ok()?.len();
    (decoded == bytes.len()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_std::ambient_authority;
    use serde_json::{Value, json};

    fn opened(folder: &std::path::Path) -> (Seal, KeyStatus) {
        let root = Dir::open_ambient_dir(folder, ambient_authority()).unwrap();
        root.create_dir_all("sessions").unwrap();
        let (seal, key) = Seal::open(&root, &root.open_dir("sessions").unwrap()).unwrap();
        seal.keep(&root).unwrap();
        (seal, key)
    }

    fn pretty(value: &Value) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(value).unwrap();
        bytes.push(b'\n');
        bytes
    }

    #[test]
    fn seal_detects_change_of_content_name_or_kind() {
        let folder = tempfile::tempdir().unwrap();
        let (seal, _) = opened(folder.path());
        let file = seal.sign(MacKind::Session, "s", pretty(&json!({"title": "企鹅", "messages": []})));
        let value: Value = serde_json::from_slice(&file).unwrap();
        assert_eq!((&value["title"], value["mac"].as_str().unwrap().len()), (&json!("企鹅"), 64));
        assert!(seal.verify(MacKind::Session, "s", &file));
        assert!(!seal.verify(MacKind::Session, "t", &file) && !seal.verify(MacKind::Change, "s", &file));
        for at in 0..file.len() {
            let mut other = file.clone();
            other[at] ^= 1;
            assert!(!seal.verify(MacKind::Session, "s", &other), "byte {at}");
            assert!(!seal.verify(MacKind::Session, "s", &file[..at]), "cut at {at}");
        }
        let (other, _) = opened(tempfile::tempdir().unwrap().path());
        assert!(!other.verify(MacKind::Session, "s", &file), "another home's");
    }

    #[test]
    fn copied_home_keeps_seals_and_lost_key_voids_them() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("sessions/changes/s")).unwrap();
        std::fs::write(folder.path().join("sessions/old.json"), "[]").unwrap();
        std::fs::write(folder.path().join("sessions/changes/s/c.json"), "{}").unwrap();
        let (seal, key) = opened(folder.path());
        assert!(matches!(key, KeyStatus::First));
        assert!(seal.verify(MacKind::Session, "old", b"[]") && !seal.verify(MacKind::Session, "old", b"[ ]"));
        assert!(seal.verify(MacKind::Change, "s/c.json", b"{}") && !seal.verify(MacKind::Session, "new", b"[]"));
        let file = seal.sign(MacKind::Session, "s", pretty(&json!({"messages": []})));
        std::fs::write(folder.path().join("sessions/s.json"), &file).unwrap();
        let path = folder.path().join(FILE);
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions()) & 0o777, 0o600);
        let (again, key) = opened(folder.path());
        assert!(matches!(key, KeyStatus::Read));
        assert!(again.verify(MacKind::Session, "s", &file) && again.verify(MacKind::Session, "old", b"[]"));
        std::fs::write(&path, "{").unwrap();
        let root = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        let (damaged, key) = Seal::open(&root, &root.open_dir("sessions").unwrap()).unwrap();
        assert!(matches!(key, KeyStatus::Damaged(_)) && !damaged.verify(MacKind::Session, "s", &file));
        std::fs::remove_file(&path).unwrap();
        let (lost, key) = opened(folder.path());
        assert!(matches!(key, KeyStatus::Lost) && !lost.verify(MacKind::Session, "s", &file));
        assert!(!lost.verify(MacKind::Session, "old", b"[]"), "nothing is trusted a second time");
    }

    #[test]
    fn seal_is_valid_only_for_its_session() {
        let (seal, _) = opened(tempfile::tempdir().unwrap().path());
        let mut line = br#"x{"seq":1"#.to_vec();
        seal.sign_line((MacKind::Fact, "s"), &mut line, 1);
        let verify = |name: &str, line: &[u8]| seal.verify_line((MacKind::Fact, name), line);
        assert!(verify("s", &line[1..]) && !verify("t", &line[1..]));
        assert!(!seal.verify_line((MacKind::Head, "s"), &line[1..]));
        assert!(!verify("s", br#"{"seq":1"#) && !verify("s", b""));
    }
}
