//! `sessions/heads.jsonl`: the head of each session's chain when the session's file was last written, one signed line per
//! write. It tells an older copy of a session from the newest one, which the session's own MAC cannot. The MAC of a line also
//! covers the MAC of the line before it, so no line can be removed, moved or repeated.
//!
//! A line is appended after the session's file is on disk, without a sync of its own: after a power cut the list is at most
//! older than the files, never newer. A list that is missing is begun with the sessions that this home has signed. Nothing
//! but `miniclaw verify` depends on the list, so no failure to write it fails anything else.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;

use cap_std::fs::{OpenOptions, OpenOptionsExt};
use serde::{Deserialize, Serialize};

use super::atomic;
use super::chain::Chain;
use super::home::{Home, lock};
use super::seal::{MacKind, Seal, split_line};
use super::{session_file, sessions};
use crate::clock;
use crate::domain::SessionId;

pub(super) const FILE: &str = "heads.jsonl";
/// The list is rewritten, each session once, when it is larger than this and twice as large as after the last time.
const MIN_COMPACTED_SIZE: u64 = 1 << 20;

/// One line of the list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct HeadLine {
    /// When the list was begun, in Unix seconds; only in the first line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Absent if the session was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<Chain>,
    /// The head that was on the list when another one, not a later one, was found in the session's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<Chain>,
}

/// The list as read.
#[derive(Debug, Default)]
pub(super) struct Heads {
    pub began: Option<f64>,
    /// The last chain of each session; `None` if it was deleted.
    pub last: BTreeMap<String, Option<Chain>>,
    /// The last line of each session that records that it was replaced.
    pub replaced: Vec<HeadLine>,
    /// 1-based numbers of lines that this home did not write, or that were changed since.
    pub damaged: Vec<usize>,
    /// Number of bytes without an incomplete line at the end, which a crash can leave.
    pub good: usize,
    /// The MAC in the last line.
    last_mac: String,
}

impl Heads {
    pub fn parse(bytes: &[u8], seal: &Seal) -> Self {
        let mut heads = Self::default();
        let mut at = 0;
        for (number, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            at += line.len();
            let valid = valid(line, (seal, &heads.last_mac));
            // A crash leaves the beginning of a line; a power cut can leave zeros in its place.
            let is_cut_off = !line.ends_with(b"\n") || line.contains(&0);
            if valid.is_none() && is_cut_off {
                continue;
            }
            heads.good = at;
            heads.last_mac = mac_of(line).unwrap_or_default();
            match valid {
                Some(line) => heads.add(line),
                None => heads.damaged.push(number + 1),
            }
        }
        heads
    }

    fn add(&mut self, line: HeadLine) {
        self.began = self.began.or(line.began);
        let Some(session) = &line.session else { return };
        self.last.insert(session.clone(), line.chain.clone());
        if line.instead_of.is_some() {
            self.replaced.retain(|known| known.session != line.session);
            self.replaced.push(line);
        }
    }

    fn lines(&self) -> impl Iterator<Item = HeadLine> {
        let began = HeadLine { began: self.began, ..HeadLine::default() };
        let last = self.last.iter().filter(|(_, chain)| chain.is_some());
        let last = last.map(|(session, chain)| HeadLine {
            session: Some(session.clone()),
            chain: chain.clone(),
            ..HeadLine::default()
        });
        std::iter::once(began).chain(self.replaced.iter().cloned()).chain(last)
    }
}

fn valid(line: &[u8], (seal, before): (&Seal, &str)) -> Option<HeadLine> {
    let body = line.strip_suffix(b"}\n")?;
    seal.verify_line((MacKind::Head, before), body).then(|| serde_json::from_slice(line).ok()).flatten()
}

fn mac_of(line: &[u8]) -> Option<String> {
    let (_, mac) = split_line(line.strip_suffix(b"}\n")?)?;
    String::from_utf8(mac.to_vec()).ok()
}

/// Lines of the list.
struct EncodedLines {
    bytes: Vec<u8>,
    /// The MAC in the last of them.
    last_mac: String,
}

/// Encodes lines that come after the line with the MAC `before`.
fn encode(lines: impl Iterator<Item = HeadLine>, (seal, before): (&Seal, &str)) -> EncodedLines {
    let mut encoded = EncodedLines { bytes: Vec::new(), last_mac: before.to_owned() };
    for line in lines {
        let start = encoded.bytes.len();
        let bytes = &mut encoded.bytes;
        serde_json::to_writer(&mut *bytes, &line).expect("a line has string keys and finite numbers, so it is JSON");
        bytes.pop();
        seal.sign_line((MacKind::Head, &encoded.last_mac), bytes, start);
        bytes.extend_from_slice(b"}\n");
        encoded.last_mac = mac_of(&bytes[start..]).expect("the line was signed just above");
    }
    encoded
}

/// The list, open for writing.
pub(super) struct HeadList {
    heads: Heads,
    file: File,
    size: u64,
    /// The size from which on the list is rewritten.
    compact_at: u64,
}

impl HeadList {
    fn open(home: &Home) -> std::io::Result<Self> {
        let heads = match home.sessions_dir().read(FILE) {
            Ok(bytes) => Heads::parse(&bytes, home.seal()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Heads::default(),
            Err(error) => return Err(error),
        };
        if heads.began.is_none() && heads.last.is_empty() && heads.damaged.is_empty() {
            let began = Some(clock::now());
            return Self::rewritten(home, Heads { began, last: home.signed_chains(), ..Heads::default() });
        }
        if heads.good as u64 > MIN_COMPACTED_SIZE && heads.damaged.is_empty() {
            return Self::rewritten(home, heads);
        }
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600);
        let file = home.sessions_dir().open_with(FILE, &options)?.into_std();
        // The next line must not continue an incomplete one.
        file.set_len(heads.good as u64)?;
        let size = heads.good as u64;
        Ok(Self { heads, file, size, compact_at: MIN_COMPACTED_SIZE.max(2 * size) })
    }

    /// Writes the list anew: each session once.
    fn rewritten(home: &Home, mut heads: Heads) -> std::io::Result<Self> {
        let EncodedLines { bytes, last_mac } = encode(heads.lines(), (home.seal(), ""));
        heads.last_mac = last_mac;
        atomic::replace(home.sessions_dir(), FILE, &bytes, 0o600)?;
        let file = home.sessions_dir().open_with(FILE, OpenOptions::new().append(true))?.into_std();
        let size = bytes.len() as u64;
        Ok(Self { heads, file, size, compact_at: MIN_COMPACTED_SIZE.max(2 * size) })
    }

    fn append(&mut self, line: HeadLine, home: &Home) -> std::io::Result<()> {
        let one = std::iter::once(line.clone());
        let EncodedLines { bytes, last_mac } = encode(one, (home.seal(), &self.heads.last_mac));
        self.file.write_all(&bytes)?;
        self.heads.last_mac = last_mac;
        self.size += bytes.len() as u64;
        self.heads.add(line);
        if self.size > self.compact_at && self.heads.damaged.is_empty() {
            *self = Self::rewritten(home, std::mem::take(&mut self.heads))?;
        }
        Ok(())
    }
}

impl Home {
    /// Notes the chain of a session whose file was just written.
    pub(super) fn note_head(&self, id: &SessionId, chain: &Chain) {
        self.note_line(|known| (known != Some(chain)).then(|| line(id, Some(chain.clone()))), id);
    }

    /// Notes that a session was deleted: no file of it is expected any more.
    pub(super) fn note_deleted(&self, id: &SessionId) {
        self.note_line(|known| known.map(|_| line(id, None)), id);
    }

    /// Notes if the file and the journal of a session do not reach the head that is on the list: somebody has replaced them
    /// by older copies, which this server is about to continue.
    pub(super) fn note_if_older(&self, id: &SessionId, chain: &Chain) {
        let replaced = |known: Option<&Chain>| {
            let known = known.filter(|known| is_older(chain, known))?;
            Some(HeadLine { instead_of: Some(known.clone()), ..line(id, Some(chain.clone())) })
        };
        self.note_line(replaced, id);
    }

    fn note_line(&self, line: impl FnOnce(Option<&Chain>) -> Option<HeadLine>, id: &SessionId) {
        let mut list = lock(self.head_list());
        let noted = (|| {
            let list = match &mut *list {
                Some(list) => list,
                none => none.insert(HeadList::open(self)?),
            };
            let known = list.heads.last.get(id.as_str()).and_then(Option::as_ref);
            match line(known) {
                Some(line) => list.append(line, self),
                None => Ok(()),
            }
        })();
        if let Err(error) = noted {
            tracing::warn!(session = %id, %error, "sessions/{FILE} could not be written");
            // It is read and repaired before the next line.
            *list = None;
        }
    }

    /// Notes the chain of a deleted session that was restored.
    pub(super) fn note_restored(&self, id: &SessionId) {
        if let Some(chain) = self.signed_chain(id) {
            self.note_head(id, &chain);
        }
    }

    /// Returns the chains of all sessions that this home has signed.
    fn signed_chains(&self) -> BTreeMap<String, Option<Chain>> {
        let ids = self.session_ids().unwrap_or_default();
        ids.iter().filter_map(|id| Some((id.to_string(), Some(self.signed_chain(id)?)))).collect()
    }

    /// Returns the chain in a session's file; `None` if this home did not sign the file.
    fn signed_chain(&self, id: &SessionId) -> Option<Chain> {
        let bytes = self.sessions_dir().read(sessions::file_name(id)).ok()?;
        let own = self.seal().verify(MacKind::Session, id.as_str(), &bytes);
        let file = own.then(|| session_file::parse_chained(&bytes, 0.0).ok()).flatten()?;
        Some(Chain::of(id, file.session.seq, file.chain))
    }
}

fn line(id: &SessionId, chain: Option<Chain>) -> HeadLine {
    HeadLine { session: Some(id.to_string()), chain, ..HeadLine::default() }
}

/// Whether `chain` ends before `known`, or differs from it at the same fact.
pub(super) fn is_older(chain: &Chain, known: &Chain) -> bool {
    chain.seq < known.seq || (chain.seq == known.seq && chain.head != known.head)
}
