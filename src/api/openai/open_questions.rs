//! The questions of a work that wait for a person, and how long a request waits with them.

use std::future::pending;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::progress::Delta;

/// A question that waits for a person.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenQuestion {
    pub approval_id: String,
    pub tool: String,
    until: Instant,
}

/// The open questions of a work that a request follows.
#[derive(Debug)]
pub struct OpenQuestions {
    patience: Duration,
    open: Vec<OpenQuestion>,
}

impl OpenQuestions {
    /// Begins with none; a request waits so long for the answer to each.
    pub fn new(patience: Duration) -> Self {
        Self { patience, open: Vec::new() }
    }

    /// Adds a question that is asked, or takes away one that was answered.
    pub fn follow(&mut self, delta: &Delta) {
        match delta {
            Delta::Asked { approval_id, tool } => {
                self.open.retain(|other| other.approval_id != *approval_id);
                let until = Instant::now() + self.patience;
                self.open.push(OpenQuestion { approval_id: approval_id.clone(), tool: tool.clone(), until });
            }
            Delta::Answered { approval_id } => self.open.retain(|other| other.approval_id != *approval_id),
            Delta::Text(_)
            | Delta::Thought(_)
            | Delta::Step(_)
            | Delta::Call(_)
            | Delta::HandedOff
            | Delta::Usage(_)
            | Delta::Ended(_) => {}
        }
    }

    /// Waits until a question was open for too long, and returns it; waits for ever if none is open.
    pub async fn expired(&self) -> OpenQuestion {
        let Some(first) = self.open.iter().min_by_key(|question| question.until) else { return pending().await };
        sleep_until(first.until).await;
        first.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(25);

    fn asked(id: &str) -> Delta {
        Delta::Asked { approval_id: id.to_owned(), tool: "terminal".to_owned() }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_closes_its_own_question_only() {
        let mut questions = OpenQuestions::new(PATIENCE);
        let begun = Instant::now();
        questions.follow(&asked("a"));
        tokio::time::advance(Duration::from_secs(5)).await;
        questions.follow(&asked("b"));
        questions.follow(&Delta::Answered { approval_id: "a".to_owned() });
        assert_eq!(questions.expired().await.approval_id, "b");
        assert_eq!(begun.elapsed(), Duration::from_secs(5) + PATIENCE);
        questions.follow(&Delta::Answered { approval_id: "b".to_owned() });
        assert!(tokio::time::timeout(PATIENCE * 2, questions.expired()).await.is_err(), "none is open");
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_asked_again_is_open_once() {
        let mut questions = OpenQuestions::new(PATIENCE);
        questions.follow(&asked("a"));
        questions.follow(&asked("a"));
        questions.follow(&Delta::Answered { approval_id: "a".to_owned() });
        assert!(questions.open.is_empty());
    }
}
