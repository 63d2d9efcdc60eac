//! What passes between a running call and the person whom its server asks for input.

use tokio::sync::{mpsc, oneshot};

use crate::domain::{Elicitation, ElicitationAnswer};

/// What a person answered to a question that an earlier run of the call ended with.
#[derive(Clone, Debug, PartialEq)]
pub struct Elicited {
    pub asked: Elicitation,
    pub answer: ElicitationAnswer,
}

/// A question of a call that goes on while it waits for the answer.
#[derive(Debug)]
pub struct LiveQuestion {
    pub call_id: String,
    pub asked: Elicitation,
    /// Closed once nobody waits for the answer any more.
    pub answer: oneshot::Sender<ElicitationAnswer>,
}

/// Where a call sends its questions while it goes on. Without anybody who answers, there is no answer.
#[derive(Clone, Default)]
pub struct LiveQuestions(Option<Asker>);

#[derive(Clone)]
struct Asker {
    to: mpsc::Sender<LiveQuestion>,
    call_id: String,
}

impl LiveQuestions {
    pub fn new(to: mpsc::Sender<LiveQuestion>, call_id: &str) -> Self {
        Self(Some(Asker { to, call_id: call_id.to_owned() }))
    }

    /// Returns whether the questions of both go to the same run.
    pub fn go_where(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => one.to.same_channel(&other.to),
            _ => false,
        }
    }

    /// Asks a person and waits. `None` if nobody answers.
    pub async fn ask(&self, asked: Elicitation) -> Option<ElicitationAnswer> {
        let Asker { to, call_id } = self.0.clone()?;
        let (answer, answered) = oneshot::channel();
        to.send(LiveQuestion { call_id, asked, answer }).await.ok()?;
        answered.await.ok()
    }
}
