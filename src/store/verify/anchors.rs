//! The list of heads, and what it says about sessions that are gone or were replaced.

use super::reading;
use super::{Check, Finding};
use crate::domain::{Session, SessionId, Taint};
use crate::store::chain::Chain;
use crate::store::heads::{FILE, Heads};
use crate::store::home::Home;
use crate::store::sessions;

/// Maximum difference, in seconds, between the time of a session and that of the list it was first put on.
const CLOCK_MARGIN: f64 = 60.0;

/// The list of heads as it was before the sessions were read.
pub(super) struct Anchors {
    /// `None` if there is no list.
    heads: Option<Heads>,
    size: usize,
}

impl Anchors {
    pub fn read(home: &Home) -> Self {
        let bytes = reading::read_if_there(home.sessions_dir(), FILE).ok().flatten();
        let size = bytes.as_ref().map_or(0, Vec::len);
        Self { heads: bytes.map(|bytes| Heads::parse(&bytes, home.seal())), size }
    }

    /// Returns the chain of a session that this home has written; `None` if the list has none, or if the session was deleted.
    pub fn of(&self, id: &SessionId) -> Option<&Chain> {
        self.heads.as_ref()?.last.get(id.as_str())?.as_ref()
    }

    /// Whether the list says that the session was deleted.
    pub fn was_deleted(&self, id: &SessionId) -> bool {
        self.heads.as_ref().and_then(|heads| heads.last.get(id.as_str())).is_some_and(Option::is_none)
    }

    /// Whether a session with a whole chain is older than the list. Chains are as old as the list, so it was begun anew.
    pub fn is_newer_than(&self, session: &Session, chain: &Chain) -> bool {
        let began = self.heads.as_ref().and_then(|heads| heads.began);
        let first = session.works.first().map(|work| work.created_at);
        let is_older = began.zip(first).is_some_and(|(began, first)| first + CLOCK_MARGIN < began);
        is_older && chain.since == 0 && !session.taint.contains(&Taint::Imported)
    }

    pub fn exists(&self) -> bool {
        self.heads.is_some()
    }

    /// Checks the list itself, and that every session on it is still there. `ids` are the sessions that have files, sorted.
    pub fn check(&self, home: &Home, ids: &[SessionId]) -> Check {
        let mut check = Check::new("heads");
        let path = format!("sessions/{FILE}");
        let Some(heads) = &self.heads else {
            if !ids.is_empty() {
                check
                    .note(path, "there is no list of heads: an older copy of a session cannot be told from the newest");
            }
            return check;
        };
        check.count = heads.last.len();
        // The line after a changed one can be damaged too, because its signature covers that of the line before it.
        if let Some(line) = heads.damaged.first() {
            let count = heads.damaged.len();
            check.alarm(path.as_str(), format!("line {line} is not the one that this home wrote there (of {count})"));
        }
        if heads.damaged.is_empty() && heads.good < self.size {
            check.note(path.as_str(), "its last line is incomplete: a crash, or a server that is writing it");
        }
        for line in &heads.replaced {
            let (Some(session), Some(found), Some(known)) = (&line.session, &line.chain, &line.instead_of) else {
                continue;
            };
            check.alarms.push(Finding {
                path: format!("sessions/{session}.json"),
                what: format!(
                    "it was replaced by another copy (fact {} instead of {}), which the server has continued",
                    found.seq, known.seq
                ),
                session_id: Some(session.clone()),
            });
            check.ok = false;
        }
        for (id, what) in self.gone(home, ids) {
            let path = format!("sessions/{id}.json");
            match what {
                Gone::Aside(place) => check.note(path, format!("it is in {place}")),
                Gone::Missing => check.alarm(path, "it is missing, and nobody has deleted it in this home"),
            }
        }
        check
    }

    /// Returns the sessions on the list that have no file.
    fn gone(&self, home: &Home, ids: &[SessionId]) -> Vec<(SessionId, Gone)> {
        let known = self.heads.iter().flat_map(|heads| &heads.last).filter(|(_, chain)| chain.is_some());
        let missing = known.filter_map(|(id, _)| SessionId::parse(id).ok());
        let missing: Vec<SessionId> = missing
            .filter(|id| !(ids.binary_search(id).is_ok() && home.sessions_dir().exists(sessions::file_name(id))))
            .collect();
        if missing.is_empty() {
            return Vec::new();
        }
        // A server may have deleted them in the meantime.
        let later = Self::read(home);
        let quarantine = reading::names(home.root(), "storage/quarantine");
        let missing = missing.into_iter().filter(|id| later.of(id).is_some());
        let missing = missing.filter(|id| !home.sessions_dir().exists(sessions::file_name(id)));
        missing
            .map(|id| {
                let name = sessions::file_name(&id);
                let is_quarantined = quarantine.iter().any(|file| file.starts_with(&format!("{name}.")));
                let place = match is_quarantined {
                    true => Some("storage/quarantine/: it could not be read, or was changed by another program"),
                    false => home
                        .sessions_dir()
                        .exists(format!("archive/deleted/{name}"))
                        .then_some("sessions/archive/deleted/"),
                };
                (id, place.map_or(Gone::Missing, Gone::Aside))
            })
            .collect()
    }
}

enum Gone {
    Aside(&'static str),
    Missing,
}
