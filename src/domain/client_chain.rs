//! Finds the place of a program's request in a session by what the request says. Programs of the OpenAI API send the whole
//! conversation each time and no name for it.
//!
//! A chain of hashes over the person's messages names each point of a conversation: `h(i) = SHA-256(h(i-1) ‖ text(i))`, begun
//! with the program's credential. A work records the value of its message. The answers in between are compared as texts,
//! because a program may have received only the beginning of one. A session is continued only where both agree, so two
//! conversations are never mixed.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

use super::ids::WorkId;
use super::message::{Message, Role};
use super::session::Session;
use super::work::{Outcome, Work};

/// Time within which the same request means the work that is under way, and not a new conversation that begins in the same
/// way. In seconds.
const REPEATED_WITHIN: f64 = 600.0;
/// What a line begins with that tells a step of the agent inside an answer (`api.steps: text`).
pub const STEP_LINE: &str = "> ⚙ ";
/// What an answer begins with that says only that the work waits for a person.
pub const WAITING_NOTICE: &str = "[This waits for your approval";

/// What a request says about its conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientTurn {
    /// The credential, as in `ClientRequest::key`.
    pub key: String,
    /// The chain's value before the first of these messages, if the program names what it follows.
    pub base: Option<String>,
    /// The person's messages, the last one included, each in the form of [`person_text`].
    pub questions: Vec<String>,
    /// The answers as the program has them: all text between each of these messages and the next one.
    pub answers: Vec<String>,
}

/// Where a request goes on in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainPlace {
    /// It repeats the request whose work is under way.
    Repeats(WorkId),
    Next(NextPlace),
}

/// What is to be done before the message is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NextPlace {
    /// Puts the messages from the first one on aside and restores the branch that begins with the second one.
    pub restore: Option<RestoredBranch>,
    /// Puts the messages from this one on aside: they were edited or are answered again.
    pub rewind: Option<String>,
}

/// A branch that takes the place of what follows the same message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredBranch {
    pub from: String,
    pub to: String,
}

impl ChainPlace {
    /// Returns how much it changes: the least of several places counts.
    pub fn rank(&self) -> u8 {
        match self {
            Self::Repeats(_) => 0,
            Self::Next(NextPlace { restore: None, rewind: None }) => 1,
            Self::Next(NextPlace { restore: None, rewind: Some(_) }) => 2,
            Self::Next(NextPlace { restore: Some(_), .. }) => 3,
        }
    }
}

/// Returns the text of a person's message by which conversations are told apart: its words, and the hashes of its pictures.
pub fn person_text<'a>(words: &str, pictures: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = plain(words);
    for picture in pictures {
        text.push('\0');
        text.push_str(picture);
    }
    text
}

impl ClientTurn {
    /// Returns the chain: its beginning, and the value after each of the person's messages.
    pub fn chain(&self) -> Vec<String> {
        let mut chain = vec![self.base.clone().unwrap_or_else(|| link("", &self.key))];
        for question in &self.questions {
            let next = link(chain.last().map_or("", String::as_str), question);
            chain.push(next);
        }
        chain
    }

    /// Returns the value after the last message.
    pub fn head(&self) -> String {
        self.chain().pop().unwrap_or_default()
    }

    /// Returns the value before the last message.
    pub fn before(&self) -> String {
        let mut chain = self.chain();
        chain.pop();
        chain.pop().unwrap_or_default()
    }

    /// Returns where the request goes on in a session; `None` if it does not belong there. `now` is in Unix seconds.
    pub fn place(&self, session: &Session, now: f64) -> Option<ChainPlace> {
        let (before, head) = (self.before(), self.head());
        if let Some(running) = session.running().filter(|work| self.is_of(work, &head))
            && (now - running.created_at <= REPEATED_WITHIN || is_away(session, running))
            && self.answers_fit(session, &running.work_id)
        {
            return Some(ChainPlace::Repeats(running.work_id.clone()));
        }
        if self.questions.len() < 2 && self.base.is_none() {
            return None;
        }
        if let Some(next) = self.next_place(session, &before) {
            return Some(ChainPlace::Next(next));
        }
        if session.running().is_some() {
            return None;
        }
        session.branches.iter().rev().find_map(|branch| {
            branch.works.iter().find(|work| self.is_of(work, &before))?;
            let to = branch.id()?.to_owned();
            let at = match &branch.after {
                None => 0,
                Some(after) => session.messages.iter().position(|m| m.id.as_ref() == Some(after))? + 1,
            };
            let from = session.messages.get(at).filter(|first| first.role == Role::User)?.id.clone()?;
            let mut restored = session.clone();
            restored.put_aside(&from, Some(&to));
            let rewind = self.next_place(&restored, &before)?.rewind;
            Some(ChainPlace::Next(NextPlace { restore: Some(RestoredBranch { from, to }), rewind }))
        })
    }

    /// Returns where the request goes on after the message whose chain has this value, in the conversation as it stands.
    fn next_place(&self, session: &Session, before: &str) -> Option<NextPlace> {
        let at = session.works.iter().rposition(|work| self.is_of(work, before))?;
        if !self.answers_fit(session, &session.works[at].work_id) {
            return None;
        }
        // What a person said on the page in the meantime stays.
        let Some(later) = session.works[at + 1..].iter().find(|work| self.began(work)) else {
            return Some(NextPlace::default());
        };
        if session.running().is_some() {
            return None;
        }
        let is_question =
            |m: &&std::sync::Arc<Message>| m.role == Role::User && m.work_id.as_ref() == Some(&later.work_id);
        let rewind = session.messages.iter().find(is_question)?.id.clone()?;
        Some(NextPlace { rewind: Some(rewind), restore: None })
    }

    /// Returns whether a request of this program began a work. The person's own messages, and those of other programs, have
    /// other keys.
    fn began(&self, work: &Work) -> bool {
        work.client.as_ref().is_some_and(|client| client.key == self.key)
    }

    fn is_of(&self, work: &Work, chain: &str) -> bool {
        work.client.as_ref().is_some_and(|client| client.key == self.key && client.chain == chain)
    }

    /// Returns whether the program's answers are those of the session, up to the work `last`. Messages that the session does
    /// not have any more, because a summary replaces them, are not compared.
    fn answers_fit(&self, session: &Session, last: &WorkId) -> bool {
        let turns = self.turns(session);
        let Some(end) = turns.iter().position(|turn| turn.work.is_some_and(|work| work.work_id == *last)) else {
            return false;
        };
        // Those before the last question. A repeated request has no answer to it.
        let is_repeated =
            turns[end].work.is_some_and(|work| work.client.as_ref().is_some_and(|c| c.chain == self.head()));
        let ours = &turns[..if is_repeated { end } else { end + 1 }];
        let fits = |(turn, theirs): (&AnsweredTurn<'_>, &String)| turn.is_answered_by(theirs);
        let answers = self.answers.iter().take(self.questions.len().saturating_sub(1));
        ours.iter().rev().zip(answers.rev()).all(fits)
    }

    /// Returns the turns that the program knows of: those that it began, and those that a conversation was adopted with.
    fn turns<'s>(&self, session: &'s Session) -> Vec<AnsweredTurn<'s>> {
        let mut turns: Vec<AnsweredTurn<'s>> = Vec::new();
        let of_page: HashSet<&WorkId> =
            session.works.iter().filter(|work| !self.began(work)).map(|work| &work.work_id).collect();
        let known = |message: &Message| message.work_id.as_ref().is_none_or(|id| !of_page.contains(id));
        for message in session.messages.iter().filter(|message| known(message)) {
            match (message.role, turns.last_mut()) {
                (Role::User, _) => {
                    let of_message = |work: &&std::sync::Arc<Work>| message.work_id.as_ref() == Some(&work.work_id);
                    let work = session.works.iter().find(of_message).map(AsRef::as_ref);
                    let is_complete = work.is_none_or(|work| work.outcome == Some(Outcome::Done));
                    turns.push(AnsweredTurn { work, text: String::new(), is_complete });
                }
                (Role::Assistant, Some(turn)) => {
                    turn.text.push('\n');
                    turn.text.push_str(&message.content);
                }
                (Role::Assistant | Role::System, _) => {}
            }
        }
        turns
    }
}

/// Returns whether calls of a work were handed to its program and wait.
fn is_away(session: &Session, work: &Work) -> bool {
    session.calls_of(&work.work_id).any(|call| call.is_away())
}

/// A person's message with all that was answered to it.
struct AnsweredTurn<'s> {
    work: Option<&'s Work>,
    text: String,
    is_complete: bool,
}

impl AnsweredTurn<'_> {
    fn is_answered_by(&self, theirs: &str) -> bool {
        let (ours, theirs) = (plain(&self.text), plain(theirs));
        if ours == theirs || theirs.starts_with(WAITING_NOTICE) {
            return true;
        }
        // The program may have received less than was written before it was stopped, or an error after it.
        !self.is_complete && (ours.starts_with(&theirs) || theirs.starts_with(&ours))
    }
}

/// Returns the words of a text: without the lines that tell steps, and with one space wherever there is any.
fn plain(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with(STEP_LINE.trim_end()));
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

fn link(before: &str, text: &str) -> String {
    let mut hash = Sha256::new();
    hash.update((before.len() as u64).to_be_bytes());
    hash.update(before);
    hash.update(text);
    base16ct::lower::encode_string(&hash.finalize())
}

#[cfg(test)]
mod tests;
