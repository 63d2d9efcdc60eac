//! The calls under way over a connection, and which of them a question of the server belongs to.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::mpsc;

use super::elicitation::Elicitor;
use crate::tools::LiveQuestions;

/// Maximum number of questions of a server that wait while a person answers another one.
const ASKED: usize = 4;

/// A request of the server that a person answers: its id and its parameters.
pub struct ServerQuestion {
    pub id: Value,
    pub params: Value,
}

/// The calls whose person can be asked, by the ids of their requests.
#[derive(Default)]
pub struct Askers(Mutex<BTreeMap<u64, Asker>>);

struct Asker {
    to: mpsc::Sender<ServerQuestion>,
    questions: LiveQuestions,
}

/// A call that is under way. Dropping it ends that.
pub struct Asking<'a> {
    askers: &'a Askers,
    id: u64,
    /// Questions that belong to it.
    pub to: mpsc::Sender<ServerQuestion>,
    pub asked: mpsc::Receiver<ServerQuestion>,
}

impl Askers {
    fn whole(&self) -> MutexGuard<'_, BTreeMap<u64, Asker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a call. Without an elicitor nobody can be asked.
    pub fn add(&self, id: u64, elicitor: Option<&Elicitor<'_>>) -> Asking<'_> {
        let (to, asked) = mpsc::channel(ASKED);
        if let Some(elicitor) = elicitor {
            self.whole().insert(id, Asker { to: to.clone(), questions: elicitor.questions.clone() });
        }
        Asking { askers: self, id, to, asked }
    }

    /// Passes a question on that names no call; returns whether somebody is asked. If calls of several runs are under way,
    /// nobody is, because a person would be asked in the wrong conversation.
    pub fn ask(&self, question: ServerQuestion) -> bool {
        let askers = self.whole();
        let Some(first) = askers.values().next() else { return false };
        let is_of_one_run = askers.values().all(|other| first.questions.go_where(&other.questions));
        is_of_one_run && first.to.try_send(question).is_ok()
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.askers.whole().remove(&self.id);
    }
}
