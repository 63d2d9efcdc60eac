//! The sessions folder: loads, saves, compacts, deletes and restores sessions.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::SystemTime;

use cap_std::fs::{Dir, MetadataExt};

use super::chain::Chain;
use super::error::StoreError;
use super::home::Home;
use super::journal::{Journal, JournalLine};
use super::seal::{MacKind, sha256};
use super::session_file::ChainedSession;
use super::{Durability, atomic, journal, session_file};
use crate::clock;
use crate::domain::{Fact, InterruptedWork, Message, Session, SessionId, WorkId};

/// A session read from disk and repaired.
pub struct Loaded {
    pub session: Session,
    /// Version of the session's current record; `None` if there is none yet.
    pub version: Option<RecordVersion>,
    /// Whether the session was adopted and its file still holds the original: save it before appending anything.
    pub unsaved: bool,
    /// The chain of its facts; without one, the next fact begins it.
    pub chain: Option<Chain>,
}

/// A file of compacted messages that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactedFile {
    /// The file's name under `sessions/archive/`.
    pub name: String,
    pub sha256: String,
}

/// A session's file, and whether this home wrote it.
struct SessionSnapshot {
    session: Session,
    chain: Option<Chain>,
    own: bool,
}

/// A version of a session's record: another version means another content. Only the backend looks inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordVersion(BackendVersion);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BackendVersion {
    File { modified: SystemTime, size: u64, inode: u64 },
}

impl Home {
    /// Returns the sessions that have a journal: a crash interrupted their last run, or it waits for a person.
    pub(super) fn unsettled_sessions(&self) -> Result<Vec<SessionId>, StoreError> {
        let entries = self.sessions_dir().entries().map_err(StoreError::io("listing sessions/"))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        Ok(names.filter_map(|name| SessionId::parse(name.strip_suffix(".journal")?).ok()).collect())
    }

    /// Loads a session: reads the snapshot, applies the journal, and closes what a crash left open. `None` if there is no
    /// such session.
    ///
    /// A work that waits for a person, or goes on here, stays open and keeps its journal. If another
    /// program wrote any part of the session, the session is adopted as described at [`Session::adopted`].
    ///
    /// A snapshot that does not parse, and the damaged end of a journal, are moved to `storage/quarantine/`. A session of a
    /// newer format is read as far as possible, and its files stay unchanged.
    ///
    /// # Errors
    /// Returns [`StoreError::Newer`] if the journal has a fact that this version does not know.
    pub(super) fn load(&self, id: &SessionId) -> Result<Option<Loaded>, StoreError> {
        // Taken before the read, so that an edit during the read is noticed later.
        let version = self.session_version(id);
        let snapshot = self.read_snapshot(id)?;
        if let Some(SessionSnapshot { session, own, .. }) =
            snapshot.as_ref().filter(|snapshot| snapshot.session.is_newer())
        {
            let session = session.clone();
            let session = if *own { session } else { session.adopted(&clock::new_id()) };
            return Ok(Some(Loaded { session, version, unsaved: !own, chain: None }));
        }
        let lines = self.read_journal(id)?;
        if snapshot.is_none() && lines.is_none() {
            return Ok(None);
        }
        let is_written = snapshot.is_some();
        let created = lines.as_ref().and_then(|lines| lines.first()).map_or_else(clock::now, |line| line.fact.at);
        let snapshot =
            snapshot.unwrap_or_else(|| SessionSnapshot { session: Session::new("", created), chain: None, own: true });
        // Facts that the snapshot already holds are not applied, so it does not matter who wrote them.
        let is_own = |line: &JournalLine| line.own || line.fact.seq <= snapshot.session.seq;
        if !snapshot.own || !lines.iter().flatten().all(is_own) {
            let session = self.adopt(id, snapshot, &lines)?;
            // Without a journal `adopt` writes nothing, so the file keeps its version.
            let version = if lines.is_some() { self.session_version(id) } else { version };
            return Ok(Some(Loaded { session, version, unsaved: lines.is_none(), chain: None }));
        }
        let SessionSnapshot { mut session, chain, .. } = snapshot;
        let mut chain = Chain::of(id, session.seq, chain);
        for JournalLine { fact, link, .. } in lines.iter().flatten() {
            if fact.seq > chain.seq {
                chain.add(id, fact.seq, link.as_ref().map(|link| link.head.as_str()));
            }
        }
        if is_written {
            self.note_if_older(id, &chain);
        }
        if lines.is_none() && session.running().is_none() {
            return Ok(Some(Loaded { session, version, unsaved: false, chain: Some(chain) }));
        }
        lines.iter().flatten().for_each(|line| session.apply_fact(&line.fact));
        self.repair(id, &mut session, &mut chain)?;
        self.save_snapshot(id, &session, &chain)?;
        // A work that waits or goes on keeps its journal, by which the next start finds it.
        if session.running().is_none() {
            journal::remove(self, &journal::file_name(id))?;
        }
        Ok(Some(Loaded { session, version: self.session_version(id), unsaved: false, chain: Some(chain) }))
    }

    /// Adopts a session that another program wrote, in whole or in part. Keeps all messages; nothing in them is acted on.
    fn adopt(
        &self,
        id: &SessionId,
        snapshot: SessionSnapshot,
        lines: &Option<Vec<JournalLine>>,
    ) -> Result<Session, StoreError> {
        let SessionSnapshot { mut session, own, .. } = snapshot;
        tracing::warn!(session = %id, "its file or journal was written by another program: it is taken over as content");
        let known: HashSet<WorkId> = session.works.iter().map(|work| work.work_id.clone()).collect();
        // The fact number in a foreign snapshot does not prove which facts the snapshot holds. A fact of a work that the
        // snapshot does not know is therefore applied in any case, so that no such number hides an acknowledged message.
        let (held, mut last_own) = (session.seq, if own { session.seq } else { 0 });
        for JournalLine { fact, own, .. } in lines.iter().flatten() {
            let is_new = fact.event.work_id().is_some_and(|work_id| !known.contains(work_id));
            let folds = match own {
                true => fact.seq > last_own && (is_new || fact.seq > held),
                false => is_new || fact.seq > held,
            };
            if folds {
                session.apply(&fact.event, fact.at);
            }
            last_own = if *own { last_own.max(fact.seq) } else { last_own };
        }
        let mut session = session.adopted(&clock::new_id());
        // After a crash before the journal is removed, the journal must not be applied again.
        let ours = if own { held } else { 0 };
        session.seq = lines.iter().flatten().map(|line| line.fact.seq).fold(ours, u64::max);
        if lines.is_some() {
            self.save_snapshot(id, &session, &Chain::begin(id, session.seq))?;
            journal::remove(self, &journal::file_name(id))?;
        }
        Ok(session)
    }

    /// Closes what a crash left open, by appending ordinary facts.
    fn repair(&self, id: &SessionId, session: &mut Session, chain: &mut Chain) -> Result<(), StoreError> {
        let interrupted = match (self.replica(), session.running()) {
            (Some(replica), Some(work)) if session.waiting().is_none() => replica.interrupted(&work.work_id),
            _ => InterruptedWork::Ends,
        };
        let events = session.repairs(interrupted);
        if events.is_empty() {
            return Ok(());
        }
        let at = session.updated_at.max(session.works.last().map_or(0.0, |work| work.created_at));
        let facts: Vec<Fact> =
            events.into_iter().zip(session.seq + 1..).map(|(event, seq)| Fact { seq, at, event }).collect();
        let mut journal = Journal::new(self, id, Some(chain.clone()));
        journal.append(&facts, Durability::Synced)?;
        facts.iter().for_each(|fact| session.apply_fact(fact));
        *chain = journal.chain_at(session.seq);
        Ok(())
    }

    fn read_snapshot(&self, id: &SessionId) -> Result<Option<SessionSnapshot>, StoreError> {
        let name = file_name(id);
        let bytes = match self.sessions_dir().read(&name) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io(format!("reading sessions/{name}"))(error)),
        };
        let own = self.seal().verify(MacKind::Session, id.as_str(), &bytes);
        let read = match own {
            true => session_file::parse_chained(&bytes, clock::now()),
            false => {
                session_file::parse_foreign(&bytes, clock::now()).map(|session| ChainedSession { session, chain: None })
            }
        };
        match read {
            Ok(ChainedSession { session, chain }) => Ok(Some(SessionSnapshot { session, chain, own })),
            Err(reason) => {
                self.quarantine(&name, reason.to_string())?;
                Ok(None)
            }
        }
    }

    fn read_journal(&self, id: &SessionId) -> Result<Option<Vec<JournalLine>>, StoreError> {
        let name = journal::file_name(id);
        let bytes = match self.sessions_dir().read(&name) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::io(format!("reading sessions/{name}"))(error)),
        };
        let unknown = |journal::Unknown| StoreError::Newer { what: format!("sessions/{name}") };
        let (lines, good) = journal::parse(&bytes, (self.seal(), id)).map_err(unknown)?;
        if good < bytes.len() {
            let reason = format!("{} bytes at the end are not whole facts", bytes.len() - good);
            self.quarantine_bytes(&name, &bytes[good..], reason)?;
            // Truncate the journal now, so that the next fact starts on a new line.
            let file = self.sessions_dir().open_with(&name, cap_std::fs::OpenOptions::new().write(true));
            file.and_then(|file| file.set_len(good as u64).and_then(|()| file.sync_all()))
                .map_err(StoreError::io(format!("cutting sessions/{name}")))?;
        }
        Ok(Some(lines))
    }

    /// Writes `sessions/{id}.json` atomically, with the chain of its facts and the MAC that proves that this home wrote it.
    pub(super) fn save_snapshot(&self, id: &SessionId, session: &Session, chain: &Chain) -> Result<(), StoreError> {
        self.note_usage(session);
        let name = file_name(id);
        let mut bytes = session_file::encode(session);
        chain.write(&mut bytes);
        let bytes = self.seal().sign(MacKind::Session, id.as_str(), bytes);
        atomic::replace(self.sessions_dir(), &name, &bytes, 0o600)
            .map_err(StoreError::io(format!("saving sessions/{name}")))?;
        self.note_head(id, chain);
        Ok(())
    }

    /// Returns the version of a session's file; `None` if there is no file.
    pub(super) fn session_version(&self, id: &SessionId) -> Option<RecordVersion> {
        let meta = self.sessions_dir().metadata(file_name(id)).ok()?;
        let modified = meta.modified().ok()?.into_std();
        Some(RecordVersion(BackendVersion::File { modified, size: meta.len(), inode: meta.ino() }))
    }

    /// Saves the snapshot like [`Home::save_snapshot`]. First moves an existing file whose version is not `known` to
    /// quarantine.
    pub(super) fn settle_session(
        &self,
        id: &SessionId,
        session: (&Session, &Chain),
        known: Option<RecordVersion>,
    ) -> Result<RecordVersion, StoreError> {
        let found = self.session_version(id);
        if found.is_some() && found != known {
            self.quarantine(&file_name(id), "changed by another program while the session was at work".to_owned())?;
        }
        let (session, chain) = session;
        self.save_snapshot(id, session, chain)?;
        self.session_version(id).ok_or_else(|| StoreError::NotFound { what: format!("session {id}") })
    }

    /// Stores messages that a summary will replace.
    pub(super) fn store_compacted(
        &self,
        id: &SessionId,
        messages: &[Arc<Message>],
    ) -> Result<CompactedFile, StoreError> {
        let dir = self.archive_dir("archive")?;
        // The same time can occur again after the clock was set back.
        let mut name = format!("{id}_{}.json", clock::stamp());
        let mut number = 1;
        while dir.exists(&name) {
            number += 1;
            name = format!("{id}_{}-{number}.json", clock::stamp());
        }
        let mut bytes = serde_json::to_vec_pretty(messages).expect("messages are JSON");
        bytes.push(b'\n');
        atomic::replace(&dir, &name, &bytes, 0o600)
            .map_err(StoreError::io(format!("keeping compacted messages of {id}")))?;
        Ok(CompactedFile { name, sha256: sha256(&bytes) })
    }

    /// Moves a session to `sessions/archive/deleted/`. Returns `false` if there is no such session.
    pub(super) fn delete_session(&self, id: &SessionId) -> Result<bool, StoreError> {
        let dir = self.archive_dir("archive/deleted")?;
        let name = file_name(id);
        if self.sessions_dir().exists(&name) && dir.exists(&name) {
            // A session with this id was deleted before; its file is kept under another name.
            dir.rename(&name, &dir, format!("{id}_{}.json", clock::stamp()))
                .map_err(StoreError::io(format!("keeping the {id} that was deleted before")))?;
        }
        match self.sessions_dir().rename(&name, &dir, &name) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(StoreError::io(format!("deleting {id}"))(error)),
        }
        let journal = journal::file_name(id);
        if self.sessions_dir().exists(&journal) {
            // The journal holds facts that could not be written to the file, so it moves along.
            self.sessions_dir().rename(&journal, &dir, &journal).map_err(StoreError::io(format!("deleting {id}")))?;
        }
        if let Err(error) = self.records().move_requests_to_deleted(id) {
            tracing::warn!(session = %id, %error, "what was sent to the model for a deleted session stays where it was");
        }
        if let Err(error) = self.move_pictures_to_deleted(id) {
            tracing::warn!(session = %id, %error, "the pictures of a deleted session stay where they were");
        }
        self.sync_both(&dir, id)?;
        self.note_deleted(id);
        Ok(true)
    }

    /// Restores a deleted session. Returns `false` if there is none, or if a session with that id exists again.
    pub(super) fn restore_session(&self, id: &SessionId) -> Result<bool, StoreError> {
        let dir = self.archive_dir("archive/deleted")?;
        let name = file_name(id);
        if self.sessions_dir().exists(&name) {
            return Ok(false);
        }
        match dir.rename(&name, self.sessions_dir(), &name) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(StoreError::io(format!("restoring {id}"))(error)),
        }
        let journal = journal::file_name(id);
        if dir.exists(&journal) {
            dir.rename(&journal, self.sessions_dir(), &journal).map_err(StoreError::io(format!("restoring {id}")))?;
        }
        if let Err(error) = self.records().restore_requests(id) {
            tracing::warn!(session = %id, %error, "what was sent to the model for a restored session stays aside");
        }
        if let Err(error) = self.restore_pictures(id) {
            tracing::warn!(session = %id, %error, "the pictures of a restored session stay aside");
        }
        self.sync_both(&dir, id)?;
        self.note_restored(id);
        Ok(true)
    }

    fn sync_both(&self, dir: &Dir, id: &SessionId) -> Result<(), StoreError> {
        let synced = atomic::sync_dir(dir).and_then(|()| atomic::sync_dir(self.sessions_dir()));
        synced.map_err(StoreError::io(format!("moving {id}")))
    }

    fn archive_dir(&self, name: &str) -> Result<Dir, StoreError> {
        self.sessions_dir().create_dir_all(name).map_err(StoreError::io(format!("creating sessions/{name}/")))?;
        self.sessions_dir().open_dir(name).map_err(StoreError::io(format!("opening sessions/{name}/")))
    }
}

pub(super) fn file_name(id: &SessionId) -> String {
    format!("{id}.json")
}
