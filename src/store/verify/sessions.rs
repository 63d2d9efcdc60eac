//! One session: its file and journal are this home's, its facts are one chain, and a provider accepts its transcript.

use std::io::ErrorKind;

use super::anchors::Anchors;
use super::reading::{self, SessionBytes};
use super::{Check, SessionChecks, TranscriptCheck, changes, files, kept, requests};
use crate::clock;
use crate::domain::{InterruptedWork, Session, SessionId, Taint};
use crate::store::chain::Chain;
use crate::store::heads::is_older;
use crate::store::home::Home;
use crate::store::journal::{self, JournalLine};
use crate::store::seal::MacKind;
use crate::store::{session_file, sessions};

/// A session as its file says.
struct Snapshot {
    session: Session,
    chain: Chain,
    /// Whether this home wrote the file.
    own: bool,
}

/// Who wrote a session, as far as the checks of its other files need to know.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Writer {
    /// This home: an unsigned file of the session is no longer what it was.
    Home,
    /// Somebody else, or nobody knows.
    Other,
}

pub(super) fn check(home: &Home, anchors: &Anchors, (id, accepts): (&SessionId, TranscriptCheck<'_>)) -> SessionChecks {
    let mut found = SessionChecks::new();
    let name = format!("sessions/{}", sessions::file_name(id));
    let bytes = match reading::read(home, id) {
        Ok(bytes) => bytes,
        Err(error) if anchors.of(id).is_some() && error.kind() != ErrorKind::ResourceBusy => {
            found.sessions.alarm(name, format!("it cannot be read: {error}"));
            return found;
        }
        Err(error) => {
            found.sessions.note(name, format!("it could not be checked: {error}"));
            return found;
        }
    };
    found.sessions.count = 1;
    let snapshot = snapshot(home, anchors, (id, &bytes), &mut found.sessions);
    let is_own = snapshot.as_ref().map_or_else(|| anchors.of(id).is_some(), |snapshot| snapshot.own);
    let session = folded(home, anchors, (id, &bytes, snapshot), &mut found);
    let writer = if is_own || anchors.of(id).is_some() { Writer::Home } else { Writer::Other };
    if let Some(mut session) = session {
        if session.taint.contains(&Taint::Imported) {
            found.counts.taken_over = 1;
        }
        // A changed file says nothing about other files.
        if is_own {
            found.touched = files::touched(home, id, &session);
            kept::compacted(home, (id, &session), &mut found.compacted);
        }
        requests::check(home, (id, writer), Some(&session).filter(|_| is_own), &mut found);
        for event in session.repairs(InterruptedWork::Ends) {
            session.apply(&event, session.updated_at);
        }
        let problems = accepts(&session);
        found.transcripts.count = 1;
        problems.into_iter().for_each(|problem| found.transcripts.alarm(name.as_str(), problem));
    } else {
        requests::check(home, (id, writer), None, &mut found);
    }
    changes::check(home, (id, writer), &mut found.changes);
    kept::pictures(home, id, &mut found.pictures);
    found
}

/// Reads the session's file. `None` if there is none, or if it cannot be read.
fn snapshot(
    home: &Home,
    anchors: &Anchors,
    (id, bytes): (&SessionId, &SessionBytes),
    check: &mut Check,
) -> Option<Snapshot> {
    let path = format!("sessions/{}", sessions::file_name(id));
    let bytes = bytes.file.as_ref()?;
    let own = home.seal().verify(MacKind::Session, id.as_str(), bytes);
    if !own && anchors.of(id).is_some() {
        check.alarm(
            path.as_str(),
            "its signature is not valid: it was changed outside, or an old version that signs nothing wrote it",
        );
    } else if !own {
        check.note(path.as_str(), "this home did not write it: everything in it is content");
    }
    if !own {
        let session = session_file::parse_foreign(bytes, clock::now()).ok()?;
        let chain = Chain::begin(id, session.seq);
        return Some(Snapshot { session, chain, own });
    }
    match session_file::parse_chained(bytes, clock::now()) {
        Ok(file) => {
            let chain = Chain::of(id, file.session.seq, file.chain);
            Some(Snapshot { session: file.session, chain, own })
        }
        Err(error) => {
            check.note(path, format!("this version cannot read it ({error})"));
            None
        }
    }
}

/// Folds the journal into the session, and checks that all facts are one chain that reaches the head on the list.
fn folded(
    home: &Home,
    anchors: &Anchors,
    (id, bytes, snapshot): (&SessionId, &SessionBytes, Option<Snapshot>),
    found: &mut SessionChecks,
) -> Option<Session> {
    let path = format!("sessions/{}", journal::file_name(id));
    let Some(journal) = &bytes.journal else {
        let Snapshot { session, chain, own } = snapshot?;
        if own {
            reaches(anchors, (id, &[(chain.seq, chain.head.clone())]), found);
            found.counts.began_later = usize::from(chain.since > 0);
            found.counts.older_than_list = usize::from(anchors.is_newer_than(&session, &chain));
        }
        return Some(session);
    };
    if snapshot.as_ref().is_some_and(|snapshot| snapshot.session.is_newer()) {
        return snapshot.map(|snapshot| snapshot.session);
    }
    let Ok((lines, good)) = journal::parse(journal, (home.seal(), id)) else {
        found.sessions.note(path, "a newer version wrote it, and this one cannot read it");
        return snapshot.map(|snapshot| snapshot.session);
    };
    let own = snapshot.as_ref().map_or(anchors.of(id).is_some() || lines.iter().any(|line| line.own), |s| s.own);
    end(&journal[good..], &path, own, &mut found.sessions);
    let is_written = snapshot.is_some();
    let (mut session, chain) = match snapshot {
        Some(snapshot) => (snapshot.session, Some(snapshot.chain)),
        None => (Session::new("", lines.first().map_or(0.0, |line| line.fact.at)), None),
    };
    if own {
        if let Some(at) = lines.iter().position(|line| !line.own) {
            found.sessions.alarm(path.as_str(), format!("line {} is not one that this home wrote", at + 1));
        }
        let heads = Walk::new(id, chain, (journal, &path)).heads(&lines, &mut found.sessions);
        if is_written {
            reaches(anchors, (id, &heads), found);
        }
    }
    lines.iter().for_each(|line| session.apply_fact(&line.fact));
    Some(session)
}

/// Checks the bytes of a journal behind its last intact line. A crash leaves the beginning of a line there, a changed byte
/// leaves a whole one.
fn end(rest: &[u8], path: &str, own: bool, check: &mut Check) {
    if rest.is_empty() {
        return;
    }
    match own && rest.contains(&b'\n') && !rest.contains(&0) {
        true => check.alarm(path, "a line was changed outside: its checksum is not valid"),
        false => check.note(path, "its last line is incomplete: a crash, or a server that is writing it"),
    }
}

/// Checks that the chain of a session reaches the head that is on the list. `heads` are the fact numbers and heads of the
/// session's file and of its journal.
fn reaches(anchors: &Anchors, (id, heads): (&SessionId, &[(u64, String)]), found: &mut SessionChecks) {
    let path = format!("sessions/{}", sessions::file_name(id));
    let (Some(first), Some(last)) = (heads.first(), heads.last()) else { return };
    let Some(known) = anchors.of(id) else {
        found.counts.ahead_of_list += usize::from(anchors.exists());
        return;
    };
    let at_known = heads.iter().find(|(seq, _)| *seq == known.seq);
    let of = |(seq, head): &(u64, String)| Chain { since: 0, seq: *seq, head: head.clone() };
    if known.seq < first.0 {
        found.counts.ahead_of_list += 1;
    } else if is_older(&of(at_known.unwrap_or(last)), known) {
        let what = format!(
            "it is not the newest copy: it ends at fact {}, and fact {} was written, or it has other facts",
            last.0, known.seq
        );
        found.sessions.alarm(path, what);
    }
}

/// Walks along the lines of a journal.
struct Walk<'a> {
    id: &'a SessionId,
    /// The chain in the session's file, if there is one.
    file: Option<Chain>,
    journal: &'a [u8],
    path: &'a str,
}

impl<'a> Walk<'a> {
    fn new(id: &'a SessionId, file: Option<Chain>, (journal, path): (&'a [u8], &'a str)) -> Self {
        Self { id, file, journal, path }
    }

    /// Returns the fact numbers and heads, of the file first, then of the lines after it.
    fn heads(&self, lines: &[JournalLine], check: &mut Check) -> Vec<(u64, String)> {
        let mut heads: Vec<(u64, String)> = self.file.iter().map(|chain| (chain.seq, chain.head.clone())).collect();
        let mut before: Option<Chain> = None;
        for (number, line) in lines.iter().enumerate() {
            let seq = line.fact.seq;
            let chain = before.take().or_else(|| self.first(seq));
            if let Some(problem) = self.problem(chain.as_ref(), line) {
                check.alarm(self.path, format!("line {} {problem}", number + 1));
            }
            let mut chain = chain.unwrap_or_else(|| Chain::begin(self.id, seq.saturating_sub(1)));
            chain.add(self.id, seq, line.link.as_ref().map(|link| link.head.as_str()));
            match &self.file {
                Some(file)
                    if seq == file.seq
                        && line.link.is_some()
                        && chain.head != file.head
                        && !is_begun(self.id, file) =>
                {
                    check.alarm(self.path, format!("line {} does not lead to the session's file", number + 1));
                }
                Some(file) if seq <= file.seq => {}
                _ => heads.push((seq, chain.head.clone())),
            }
            before = Some(chain);
        }
        heads
    }

    /// Returns the chain that the first line continues; `None` if it is unknown, because the file has that fact already.
    fn first(&self, seq: u64) -> Option<Chain> {
        match &self.file {
            Some(file) if seq <= file.seq => None,
            Some(file) => Some(file.clone()),
            // The file was moved to quarantine, or was never written.
            None => (seq == 1).then(|| Chain::begin(self.id, 0)),
        }
    }

    /// Returns why a line does not continue the chain before it.
    fn problem(&self, before: Option<&Chain>, line: &JournalLine) -> Option<String> {
        let before = before?;
        if line.fact.seq != before.seq + 1 {
            return Some(format!("is fact {}, and fact {} comes before it", line.fact.seq, before.seq));
        }
        let link = line.link.as_ref()?;
        let fits = before.head_after(&self.journal[link.fact.clone()]) == link.head;
        (!fits).then(|| "does not continue the chain of the facts before it".to_owned())
    }
}

/// Whether the chain contains no facts yet.
fn is_begun(id: &SessionId, chain: &Chain) -> bool {
    *chain == Chain::begin(id, chain.seq)
}
