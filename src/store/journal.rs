//! The journal of a session: one fact per line while a run is under way, each line with a checksum.
//!
//! A line is a JSON object that ends in `,"chain":"…","mac":"…","crc":"xxxxxxxx"}`. The chain is the head of the session's
//! hash chain after the fact (see [`Chain`]). The MAC proves that this home wrote the bytes
//! before it; the checksum (CRC-32, IEEE) covers every byte of the line before the comma that precedes it. Any JSON tool
//! can read the file, and torn lines, damaged lines and lines that another program appended are detected. A version that
//! does not know the chain or the MAC ignores these fields.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::ops::Range;

use cap_std::fs::{OpenOptions, OpenOptionsExt};

use super::atomic;
use super::chain::Chain;
use super::error::StoreError;
use super::home::Home;
use super::postgres::FactRow;
use super::seal::{MacKind, Seal, split_line};
use crate::domain::{Fact, SessionId};

/// Whether an append waits for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Calls `fdatasync` before it returns: the data survives a power failure.
    Synced,
    /// Hands the data to the kernel only: it survives a crash of the server. For partial text that a synced fact completes.
    Buffered,
}

/// A journal that is open for writing. The first append creates the file.
pub(super) struct Journal {
    home: Home,
    session: SessionId,
    name: String,
    file: Option<File>,
    length: u64,
    /// The session's chain up to the last fact that was appended, if known.
    chain: Option<Chain>,
    /// Whether a disk error left it unknown which bytes of the file are on disk.
    doubtful: bool,
}

/// Facts as lines of a journal, and the chain with them.
pub(super) struct EncodedFacts {
    lines: Vec<u8>,
    chain: Chain,
}

impl Journal {
    /// `chain` is the session's chain up to the last fact that is stored; without one, the next fact begins it.
    pub fn new(home: &Home, id: &SessionId, chain: Option<Chain>) -> Self {
        let (home, session, name) = (home.clone(), id.clone(), file_name(id));
        Self { home, session, name, file: None, length: 0, chain, doubtful: false }
    }

    /// Returns the session's chain up to the fact of this number, at which it continues.
    pub fn chain_at(&mut self, seq: u64) -> Chain {
        let chain = Chain::of(&self.session, seq, self.chain.take());
        self.chain.insert(chain).clone()
    }

    pub fn set_chain(&mut self, chain: Option<Chain>) {
        self.chain = chain;
    }

    /// Whether further appends can become durable. After a failed sync they cannot: the kernel reports the loss of a page
    /// once and then forgets it (“fsyncgate”), so a later successful sync proves nothing about earlier lines. Everything
    /// must then be written to a new file, and this one removed.
    pub fn is_sound(&self) -> bool {
        !self.doubtful
    }

    /// Appends facts. After an error the file is truncated to its previous length; the journal becomes unsound if that
    /// fails too, or if the sync failed.
    pub fn append(&mut self, facts: &[Fact], durability: Durability) -> Result<(), StoreError> {
        let facts = self.encode(facts);
        self.append_encoded(&facts, durability)
    }

    /// Encodes facts as journal lines.
    pub(super) fn encode(&self, facts: &[Fact]) -> EncodedFacts {
        let before = facts.first().map_or(0, |fact| fact.seq.saturating_sub(1));
        let chain = Chain::of(&self.session, before, self.chain.clone());
        let mut encoded = EncodedFacts { lines: Vec::with_capacity(384 * facts.len()), chain };
        for fact in facts {
            encoded.add(fact, (self.home.seal(), &self.session));
        }
        encoded
    }

    /// Appends facts that [`Journal::encode`] returned, like [`Journal::append`].
    pub(super) fn append_encoded(&mut self, facts: &EncodedFacts, durability: Durability) -> Result<(), StoreError> {
        let lines = facts.lines.as_slice();
        let doing = format!("writing {}", self.name);
        if self.doubtful {
            return Err(StoreError::DurabilityUnknown { path: format!("sessions/{}", self.name) });
        }
        // `length` is only known after opening. It is needed to keep the existing lines after a failed write.
        self.open()?;
        let length = self.length;
        let file = self.open()?;
        let written = file.write_all(lines);
        let synced = match durability {
            Durability::Synced if written.is_ok() => file.sync_data(),
            Durability::Synced | Durability::Buffered => Ok(()),
        };
        let sync_failed = synced.is_err();
        if let Err(error) = written.and(synced) {
            // A partial line would make all later lines unreadable.
            let cut = file.set_len(length).and_then(|()| file.seek(SeekFrom::Start(length)));
            self.doubtful = sync_failed || cut.is_err();
            return Err(StoreError::io(doing)(error));
        }
        self.length = length + lines.len() as u64;
        self.chain = Some(facts.chain.clone());
        Ok(())
    }

    /// Opens the file and returns its length. Does not wait for the disk: the facts are in a database.
    pub(super) fn begin(&mut self) -> Result<u64, StoreError> {
        self.open_unsynced()?;
        Ok(self.length)
    }

    /// Returns the length of the file if it is open.
    pub(super) fn begun(&self) -> Option<u64> {
        self.file.as_ref().map(|_| self.length)
    }

    /// Removes the file. Called once a snapshot holds all its facts.
    pub fn remove(&mut self) -> Result<(), StoreError> {
        self.file = None;
        self.length = 0;
        self.doubtful = false;
        remove(&self.home, &self.name)
    }

    fn open(&mut self) -> Result<&mut File, StoreError> {
        if self.file.is_none() {
            self.open_unsynced()?;
            let doing = || StoreError::io(format!("opening {}", self.name));
            if let Err(error) = atomic::sync_dir(self.home.sessions_dir()).map_err(doing()) {
                self.file = None;
                return Err(error);
            }
        }
        Ok(self.file.as_mut().expect("opened just above"))
    }

    fn open_unsynced(&mut self) -> Result<(), StoreError> {
        if self.file.is_none() {
            let doing = || StoreError::io(format!("opening {}", self.name));
            let mut options = OpenOptions::new();
            options.append(true).create(true).mode(0o600);
            let mut file = self.home.sessions_dir().open_with(&self.name, &options).map_err(doing())?.into_std();
            self.length = file.seek(SeekFrom::End(0)).map_err(doing())?;
            self.file = Some(file);
        }
        Ok(())
    }
}

pub(super) fn file_name(id: &SessionId) -> String {
    format!("{id}.journal")
}

pub(super) fn remove(home: &Home, name: &str) -> Result<(), StoreError> {
    let removed = home.sessions_dir().remove_file(name);
    home.kept_bound().work_ended();
    match removed {
        Ok(()) => atomic::sync_dir(home.sessions_dir()).map_err(StoreError::io(format!("removing {name}"))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(StoreError::io(format!("removing {name}"))(error)),
    }
}

impl EncodedFacts {
    /// Returns one line for each fact.
    pub(super) fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.lines.split_inclusive(|byte| *byte == b'\n')
    }

    fn add(&mut self, fact: &Fact, (seal, session): (&Seal, &SessionId)) {
        let start = self.lines.len();
        let bytes = &mut self.lines;
        serde_json::to_writer(&mut *bytes, fact).expect("a fact has string keys and finite numbers, so it is JSON");
        bytes.pop();
        let head = self.chain.head_after(&bytes[start..]);
        self.chain.add(session, fact.seq, Some(&head));
        bytes.extend_from_slice(BEFORE_HEAD);
        bytes.extend_from_slice(head.as_bytes());
        bytes.push(b'"');
        seal.sign_line((MacKind::Fact, session.as_str()), bytes, start);
        let crc = crc32fast::hash(&bytes[start..]);
        bytes.extend_from_slice(format!(",\"crc\":\"{crc:08x}\"}}\n").as_bytes());
    }
}

impl Home {
    /// Returns the intact lines of a session's journal, for a database; none if there is no journal.
    ///
    /// # Errors
    /// Returns [`StoreError::Newer`] if a line has a fact that this version does not know.
    pub(super) fn journal_lines(&self, id: &SessionId) -> Result<Vec<FactRow>, StoreError> {
        let name = file_name(id);
        let bytes = match self.sessions_dir().read(&name) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            read => read.map_err(StoreError::io(format!("reading sessions/{name}")))?,
        };
        let parsed = parse(&bytes, (self.seal(), id));
        let (lines, _) = parsed.map_err(|Unknown| StoreError::Newer { what: format!("sessions/{name}") })?;
        let bodies = bytes.split_inclusive(|byte| *byte == b'\n');
        let row = |(line, body): (JournalLine, &[u8])| FactRow {
            seq: i64::try_from(line.fact.seq).unwrap_or(i64::MAX),
            body: body.to_vec(),
        };
        Ok(lines.into_iter().zip(bodies).map(row).collect())
    }
}

const BEFORE_HEAD: &[u8] = b",\"chain\":\"";
/// Length of a head in hexadecimal digits.
const HEAD_LENGTH: usize = 64;

/// An intact line whose fact this version does not know.
#[derive(Debug, PartialEq)]
pub(super) struct Unknown;

/// A fact read from a journal.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JournalLine {
    pub fact: Fact,
    /// Whether this home wrote the line, or the line existed before this home had a key.
    pub own: bool,
    /// Absent in a line of a version without chains.
    pub link: Option<Link>,
}

/// The position of a line in its session's chain.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Link {
    /// The head after the fact.
    pub head: String,
    /// The fact's JSON without its closing brace, as a range of the journal's bytes.
    pub fact: Range<usize>,
}

/// Maximum fact number. No session has so many facts: a higher number is forged and could leave no number for later facts.
const MOST_FACTS: u64 = 1 << 53;

/// Parses a journal: returns the facts up to the first damaged line, and the offset at which that line begins.
pub(super) fn parse(bytes: &[u8], (seal, session): (&Seal, &SessionId)) -> Result<(Vec<JournalLine>, usize), Unknown> {
    let known = seal.known_start(&file_name(session), bytes);
    let mut lines = Vec::new();
    let mut good = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let Some(mut json) = whole(line) else { break };
        let own = good + line.len() <= known || seal.verify_line((MacKind::Fact, session.as_str()), &json);
        let link = link(&json).map(|(fact, head)| Link { head, fact: good..good + fact });
        json.push(b'}');
        let fact: Fact = serde_json::from_slice(&json).map_err(|_| Unknown)?;
        if fact.seq > MOST_FACTS {
            break;
        }
        lines.push(JournalLine { fact, own, link });
        good += line.len();
    }
    Ok((lines, good))
}

/// Returns the length of the fact's JSON in a line without checksum and closing brace, and the head after it.
fn link(line: &[u8]) -> Option<(usize, String)> {
    let (body, _) = split_line(line)?;
    let body = body.strip_suffix(b"\"")?;
    let (fact, head) = body.split_at_checked(body.len().checked_sub(HEAD_LENGTH)?)?;
    let head = std::str::from_utf8(head).ok().filter(|head| head.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    Some((fact.strip_suffix(BEFORE_HEAD)?.len(), head.to_owned()))
}

/// Returns a line's JSON without the checksum and the closing brace; `None` if the line is torn or the checksum is wrong.
fn whole(line: &[u8]) -> Option<Vec<u8>> {
    let body = line.strip_suffix(b"\"}\n")?;
    let (body, crc) = body.split_at_checked(body.len().checked_sub(8)?)?;
    let body = body.strip_suffix(b",\"crc\":\"")?;
    let crc = u32::from_str_radix(std::str::from_utf8(crc).ok()?, 16).ok()?;
    (crc32fast::hash(body) == crc).then(|| body.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Event;
    use proptest::prelude::*;

    fn session() -> SessionId {
        SessionId::parse("s").unwrap()
    }

    fn write_line(bytes: &mut Vec<u8>, fact: &Fact) {
        write_line_as(bytes, fact, 7);
    }

    fn write_line_as(bytes: &mut Vec<u8>, fact: &Fact, key: u8) {
        let mut encoded = EncodedFacts { lines: std::mem::take(bytes), chain: Chain::begin(&session(), fact.seq - 1) };
        encoded.add(fact, (&Seal::of([key; 32]), &session()));
        *bytes = encoded.lines;
    }

    fn parse(bytes: &[u8]) -> Result<(Vec<Fact>, usize), Unknown> {
        let (lines, good) = super::parse(bytes, (&Seal::of([7; 32]), &session()))?;
        assert!(lines.iter().all(|line| line.own), "what is whole was written here");
        Ok((lines.into_iter().map(|line| line.fact).collect(), good))
    }

    #[test]
    fn journal_line_without_valid_seal_is_foreign() {
        let mut bytes = Vec::new();
        write_line(&mut bytes, &fact(1, "one"));
        write_line_as(&mut bytes, &fact(2, "two"), 8);
        let body = r#"{"seq":3,"at":1.5,"event":{"type":"titled","title":"three"}"#;
        bytes.extend_from_slice(format!("{body},\"crc\":\"{:08x}\"}}\n", crc32fast::hash(body.as_bytes())).as_bytes());
        let own = |id: &str| {
            let (lines, good) = super::parse(&bytes, (&Seal::of([7; 32]), &SessionId::parse(id).unwrap())).unwrap();
            assert_eq!(good, bytes.len());
            lines.iter().map(|line| line.own).collect::<Vec<_>>()
        };
        assert_eq!((own("s"), own("t")), (vec![true, false, false], vec![false; 3]));
    }

    #[test]
    fn out_of_range_number_is_invalid() {
        let mut bytes = Vec::new();
        write_line(&mut bytes, &fact(1, "one"));
        let whole = bytes.len();
        write_line(&mut bytes, &fact(u64::MAX, "two"));
        assert_eq!(parse(&bytes).unwrap(), (vec![fact(1, "one")], whole));
    }

    fn fact(seq: u64, title: &str) -> Fact {
        Fact { seq, at: 1.5, event: Event::Titled { title: title.to_owned() } }
    }

    #[test]
    fn torn_tail_is_cut_without_losing_earlier_facts() {
        let mut bytes = Vec::new();
        write_line(&mut bytes, &fact(1, "one"));
        let whole = bytes.len();
        write_line(&mut bytes, &fact(2, "标题 two"));
        for cut in whole..bytes.len() {
            let (facts, good) = parse(&bytes[..cut]).unwrap();
            assert_eq!((facts.as_slice(), good), ([fact(1, "one")].as_slice(), whole), "cut at {cut}");
        }
        assert_eq!(parse(&bytes).unwrap().0.len(), 2);
    }

    #[test]
    fn flipped_bit_is_detected() {
        let mut bytes = Vec::new();
        write_line(&mut bytes, &fact(1, "one"));
        for byte in 0..bytes.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[byte] ^= 1 << bit;
                let (facts, _) = parse(&flipped).unwrap();
                assert!(facts.is_empty() || facts == [fact(1, "one")], "byte {byte} bit {bit}: {facts:?}");
            }
        }
    }

    #[test]
    fn line_of_other_version_is_not_damage() {
        let mut bytes = Vec::new();
        write_line(&mut bytes, &fact(1, "one"));
        let body = r#"{"seq":2,"at":1.5,"event":{"type":"dreamed","of":"sheep"}"#;
        let crc = crc32fast::hash(body.as_bytes());
        bytes.extend_from_slice(format!("{body},\"crc\":\"{crc:08x}\"}}\n").as_bytes());
        assert_eq!(parse(&bytes), Err(Unknown));
    }

    #[test]
    fn line_is_json() {
        let mut bytes = Vec::new();
        write_line(&mut bytes, &fact(7, "x"));
        let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(value["seq"], 7);
        assert!(value["crc"].is_string());
    }

    proptest! {
        #[test]
        fn trailing_garbage_loses_no_complete_line(
            titles in proptest::collection::vec(any::<String>(), 0..5),
            torn in proptest::collection::vec(any::<u8>(), 0..120),
        ) {
            let facts: Vec<Fact> = titles.iter().zip(1..).map(|(title, seq)| fact(seq, title)).collect();
            let mut bytes = Vec::new();
            facts.iter().for_each(|fact| write_line(&mut bytes, fact));
            let whole = bytes.len();
            bytes.extend(&torn);
            prop_assert_eq!(parse(&bytes).unwrap(), (facts, whole));
        }

        #[test]
        fn reading_stops_at_damaged_line(
            titles in proptest::collection::vec(".{0,20}", 1..5),
            place in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let facts: Vec<Fact> = titles.iter().zip(1..).map(|(title, seq)| fact(seq, title)).collect();
            let mut bytes = Vec::new();
            facts.iter().for_each(|fact| write_line(&mut bytes, fact));
            let at = place.index(bytes.len());
            bytes[at] = byte;
            let before = bytes[..at].iter().filter(|byte| **byte == b'\n').count();
            // A checksum with uppercase digits has the same value.
            let (read, good) = parse(&bytes).unwrap();
            prop_assert!(read.len() >= before && facts.starts_with(&read) && good <= bytes.len());
        }
    }
}
