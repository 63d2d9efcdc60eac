//! What is kept for one session, by the works that need it, and which of it is to go.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io;
use std::time::SystemTime;

use cap_std::fs::{Dir, Metadata};

use super::blobs::{hash_in, open, remove, stored_size};
use super::changes::{RecordGap, RecordedChange, RecordedChanges, file_name};
use super::error::StoreError;
use super::files::MAX_BYTES;
use super::home::Home;
use super::journal;
use super::recorded_state::RecordedState;
use crate::domain::{Message, SessionId, WorkId};

impl Home {
    /// Returns the work of each call of a session, by the name of the call's record; none if the session's file is missing.
    fn works_by_record(&self, session: &SessionId) -> HashMap<String, WorkId> {
        let Some(stored) = self.stored_session(session) else { return HashMap::new() };
        let compacted = self.session_files(session).compacted_messages(&stored);
        let messages = stored.stored_messages().map(|message| &**message).chain(&compacted);
        let of_message = |message: &Message| {
            let work = message.work_id.clone()?;
            let calls = message.tool_calls.iter().filter_map(|call| Some(file_name(call.id.as_deref()?)));
            Some(calls.map(move |name| (name, work.clone())).collect::<Vec<_>>())
        };
        messages.filter_map(of_message).flatten().collect()
    }

    /// Returns the works that the journal of a session names: they are under way. `None` if nothing is, because there is no
    /// journal.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be read.
    fn works_under_way(&self, session: &SessionId) -> Result<Option<HashSet<WorkId>>, StoreError> {
        let name = journal::file_name(session);
        let doing = || format!("reading sessions/{name}");
        let bytes = match self.sessions_dir().read(&name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(StoreError::io(doing()))?,
        };
        let parsed = journal::parse(&bytes, (self.seal(), session));
        let (lines, _) = parsed.map_err(|journal::Unknown| StoreError::Newer { what: format!("sessions/{name}") })?;
        Ok(Some(lines.iter().filter_map(|line| line.fact.event.work_id().cloned()).collect()))
    }
}

/// What is kept for one session, and which of it is to go.
pub(super) struct SessionContents {
    pub id: SessionId,
    dir: Dir,
    /// Bytes on the disk, by hash.
    stored: BTreeMap<String, u64>,
    records: Vec<CallRecord>,
    pub works: Vec<WorkRecords>,
    /// The number of records that need a content.
    needed: HashMap<String, usize>,
    /// Whether every record could be read.
    is_complete: bool,
    pub going: BTreeSet<String>,
    /// Contents that would go if no call held them. While a work is under way, its record will need them.
    pub in_the_way: BTreeSet<String>,
    has_journal: bool,
}

struct CallRecord {
    name: String,
    modified: SystemTime,
    changes: Vec<RecordedChange>,
    gap: Option<RecordGap>,
}

pub(super) struct WorkRecords {
    /// When its last record was written.
    pub time: SystemTime,
    /// Numbers of its records.
    records: Vec<usize>,
    pub is_under_way: bool,
}

impl CallRecord {
    /// Returns the hashes of the contents that it names, each once.
    fn hashes(&self) -> BTreeSet<&str> {
        self.states().map(|state| state.hash.as_str()).collect()
    }

    fn states(&self) -> impl Iterator<Item = &RecordedState> {
        let states = self.changes.iter().flat_map(|change| [&change.before, &change.after]).flatten();
        states.filter(|state| state.has_blob())
    }
}

impl SessionContents {
    /// Returns `None` if nothing is kept for the session.
    pub fn read(home: &Home, id: SessionId) -> Result<Option<Self>, StoreError> {
        let Some(dir) = home.kept_dir(&id) else { return Ok(None) };
        let hashes: BTreeSet<String> = files(&dir).map(|(name, _)| hash_in(&name).to_owned()).collect();
        if hashes.is_empty() {
            return Ok(None);
        }
        let stored = hashes.into_iter().map(|hash| (hash.clone(), stored_size(&dir, &hash))).collect();
        let doing = || StoreError::io(format!("reading the changes of {id}"));
        let folder = home.sessions_dir().open_dir(format!("changes/{id}")).map_err(doing())?;
        let (mut records, mut is_complete) = (Vec::new(), true);
        for (name, meta) in files(&folder).filter(|(name, _)| name.ends_with(".json")) {
            let modified = meta.modified().map_err(doing())?.into_std();
            let (recorded, gap) = home.session_files(&id).recorded_in(&name)?;
            match recorded {
                RecordedChanges::Files(changes) => records.push(CallRecord { name, modified, changes, gap }),
                RecordedChanges::Missing => {}
                RecordedChanges::Foreign | RecordedChanges::Damaged => is_complete = false,
            }
        }
        let mut needed: HashMap<String, usize> = HashMap::new();
        for hash in records.iter().flat_map(CallRecord::hashes) {
            *needed.entry(hash.to_owned()).or_default() += 1;
        }
        let under_way = home.works_under_way(&id)?;
        let has_journal = under_way.is_some();
        let works = works(&home.works_by_record(&id), under_way, &records);
        let (going, in_the_way) = (BTreeSet::new(), BTreeSet::new());
        Ok(Some(Self { id, dir, stored, records, works, needed, is_complete, going, in_the_way, has_journal }))
    }

    /// Marks the contents that no record names: a call failed after they were kept.
    pub fn let_go_unused(&mut self, held: &BTreeMap<(SessionId, String), usize>) -> u64 {
        let unused = self.stored.keys().filter(|hash| self.is_complete && !self.needed.contains_key(*hash));
        let unused: Vec<String> = unused.cloned().collect();
        unused.into_iter().map(|hash| self.mark(hash, held)).sum()
    }

    /// Marks the contents of a work that no other one needs.
    pub fn let_go(&mut self, work: usize, held: &BTreeMap<(SessionId, String), usize>) -> u64 {
        let mut free = Vec::new();
        for record in &self.works[work].records {
            for hash in self.records[*record].hashes() {
                let needed = self.needed.entry(hash.to_owned()).or_default();
                *needed = needed.saturating_sub(1);
                if *needed == 0 {
                    free.push(hash.to_owned());
                }
            }
        }
        free.into_iter().map(|hash| self.mark(hash, held)).sum()
    }

    /// Returns the bytes that this frees.
    fn mark(&mut self, hash: String, held: &BTreeMap<(SessionId, String), usize>) -> u64 {
        let Some(size) = self.stored.get(&hash) else { return 0 };
        if held.contains_key(&(self.id.clone(), hash.clone())) {
            if !self.has_journal {
                self.in_the_way.insert(hash);
            }
            return 0;
        }
        self.going.insert(hash);
        *size
    }

    /// Drops what is marked. The records come first: a crash in between leaves contents that need not be there.
    pub fn drop_going(&self, home: &Home) -> Result<(), StoreError> {
        let folder = format!("changes/{}", self.id);
        for record in self.records.iter().filter(|record| record.hashes().iter().any(|hash| self.going.contains(*hash)))
        {
            let mut changes = record.changes.clone();
            for change in &mut changes {
                for state in [&mut change.before, &mut change.after].into_iter().flatten() {
                    if state.has_blob() && self.going.contains(&state.hash) {
                        state.size = state.size.or_else(|| self.size_of(&state.hash));
                        state.is_dropped = true;
                    }
                }
            }
            home.write_changes(&self.id, &record.name, (&changes, record.gap))?;
            // Its age is that of the call.
            let doing = StoreError::io(format!("dropping contents of {}", self.id));
            let path = format!("{folder}/{}", record.name);
            let rewritten = home.sessions_dir().open(path).map(cap_std::fs::File::into_std);
            rewritten.and_then(|file: File| file.set_modified(record.modified)).map_err(doing)?;
        }
        let removed = self.going.iter().try_for_each(|hash| remove(&self.dir, hash));
        removed.map_err(StoreError::io(format!("dropping contents of {}", self.id)))
    }

    /// Returns the length of a content that no record says. Such a content was written by a file tool.
    fn size_of(&self, hash: &str) -> Option<u64> {
        let blob = open(&self.dir, hash).ok()??;
        blob.size().or_else(|| io::copy(&mut blob.reader(MAX_BYTES).ok()?, &mut io::sink()).ok())
    }

    /// Returns the bytes of what is marked and still there.
    pub fn left(&self) -> u64 {
        self.going.iter().map(|hash| stored_size(&self.dir, hash)).sum()
    }
}

/// Groups records by works. A call that no message of the session's file names is a work of its own; while there is a
/// journal, such a call may belong to the work under way.
fn works(
    by_record: &HashMap<String, WorkId>,
    under_way: Option<HashSet<WorkId>>,
    records: &[CallRecord],
) -> Vec<WorkRecords> {
    let mut works: BTreeMap<(bool, &str), WorkRecords> = BTreeMap::new();
    for (number, record) in records.iter().enumerate() {
        let work = by_record.get(&record.name);
        let is_under_way = under_way.as_ref().is_some_and(|under_way| work.is_none_or(|work| under_way.contains(work)));
        let key = (work.is_some(), work.map_or(record.name.as_str(), WorkId::as_str));
        let new = WorkRecords { time: record.modified, records: Vec::new(), is_under_way };
        let known = works.entry(key).or_insert(new);
        known.time = known.time.max(record.modified);
        known.records.push(number);
    }
    works.into_values().collect()
}

/// Returns the files in a folder, without temporary ones.
pub(super) fn files(dir: &Dir) -> impl Iterator<Item = (String, Metadata)> + use<> {
    let entries = dir.entries().into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok().filter(|name| !name.starts_with('.'))?;
        let meta = entry.metadata().ok().filter(Metadata::is_file)?;
        Some((name, meta))
    })
}
