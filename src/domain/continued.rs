//! Continuing the last work of a session, which has ended before its answer was complete.

use std::sync::Arc;

use super::ids::WorkId;
use super::message::{Message, Role};
use super::session::Session;
use super::work::{Outcome, Work};

impl Session {
    /// Returns the last work, if it ended before its answer was complete, nothing was said since, and it is neither withdrawn nor
    /// deleted in part.
    pub fn continuable(&self) -> Option<&Work> {
        let work = self.works.last()?;
        let is_last = self.messages.last()?.work_id.as_ref() == Some(&work.work_id);
        let unfinished = match work.outcome.as_ref()? {
            Outcome::Length | Outcome::Interrupted { .. } | Outcome::Limit { .. } | Outcome::Error { .. } => true,
            Outcome::Done | Outcome::Refusal => false,
        };
        let is_whole = ![Role::User, Role::Assistant].iter().any(|role| self.has_deleted(&work.work_id, *role));
        (is_last && unfinished && is_whole && !self.is_withdrawn(&work.work_id)).then_some(work.as_ref())
    }

    /// Opens a work that has ended again: its answer loses the marks of its end, and an empty one goes.
    pub(super) fn reopen(&mut self, work_id: &WorkId) {
        if self.continuable().is_none_or(|work| work.work_id != *work_id) {
            return;
        }
        if let Some(work) = self.works.last_mut().map(Arc::make_mut) {
            (work.finished_at, work.outcome) = (None, None);
        }
        let is_answer =
            |message: &Message| message.role == Role::Assistant && message.work_id.as_ref() == Some(work_id);
        let Some(last) = self.messages.last_mut().filter(|message| is_answer(message)).map(Arc::make_mut) else {
            return;
        };
        (last.stop_reason, last.stopped_by, last.error) = (None, None, None);
        if last.content.is_empty() && last.thinking.is_none() && last.tool_calls.is_empty() {
            self.messages.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Event;

    fn session(events: &[Event]) -> Session {
        let mut session = Session::new("t", 1.0);
        events.iter().for_each(|event| session.apply(event, 2.0));
        session
    }

    fn work() -> WorkId {
        WorkId::new("w")
    }

    fn asked() -> Event {
        Event::WorkStarted {
            work_id: work(),
            message_id: "m".to_owned(),
            content: "Why?".to_owned(),
            attachments: Vec::new(),
            model: "mock".to_owned(),
            without_tools: false,
            client: None,
        }
    }

    fn ended(outcome: Outcome) -> Event {
        Event::WorkFinished { work_id: work(), outcome, content: "".into() }
    }

    fn failure() -> Outcome {
        let (error, code) = ("no".to_owned(), "unreachable".to_owned());
        Outcome::Error { error, code, retryable: true, params: Default::default() }
    }

    #[test]
    fn failed_answer_without_text_is_replaced() {
        let continued = Event::WorkContinued { work_id: work(), beyond_own_limit: false };
        let reopened = session(&[asked(), ended(failure()), continued]);
        assert_eq!(reopened, session(&[asked()]));
    }

    #[test]
    fn cut_answer_keeps_its_text() {
        let said = [
            Event::SegmentStarted { work_id: work(), dialogue: 0, segment: 0 },
            Event::Text { work_id: work(), at: 0, text: "Because".to_owned() },
        ];
        let before = [&[asked()], &said[..]].concat();
        let after =
            [&before[..], &[ended(Outcome::Length), Event::WorkContinued { work_id: work(), beyond_own_limit: false }]]
                .concat();
        assert_eq!(session(&after), session(&before));
    }

    #[test]
    fn complete_answer_cannot_be_continued() {
        assert_eq!(session(&[asked(), ended(Outcome::Done)]).continuable(), None);
        assert_eq!(session(&[asked(), ended(Outcome::Refusal)]).continuable(), None);
        assert_eq!(session(&[asked()]).continuable(), None, "it is under way");
        assert!(session(&[asked(), ended(failure())]).continuable().is_some());
    }
}
