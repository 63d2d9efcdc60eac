//! What is asked of a session: its works, their calls and texts, its pictures. Nothing here changes it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::ids::WorkId;
use super::message::{Message, Role, ToolCall};
use super::session::Session;
use super::work::Work;

impl Session {
    /// Returns the hashes of the pictures in its messages, the deleted ones included, and of those that their calls read.
    pub fn pictures(&self) -> BTreeSet<String> {
        let queued = self.queue.iter().flat_map(|message| &message.attachments);
        let messages = || self.messages.iter().chain(self.deleted_messages());
        let files = messages().flat_map(|message| &message.attachments).chain(queued);
        let attached = files.filter_map(|file| Some(file.picture.as_ref()?.hash.clone()));
        let calls = messages().flat_map(|message| &message.tool_calls);
        let read = calls.flat_map(|call| call.pictures()).map(|(_, picture)| picture.hash);
        attached.chain(read).collect()
    }

    /// Returns the work that has not ended, if any.
    pub fn running(&self) -> Option<&Work> {
        self.works.iter().rev().find(|work| work.finished_at.is_none()).map(Arc::as_ref)
    }

    /// Returns whether the answer to this message of a person was to be given without tools, also if it is on a branch.
    pub fn is_without_tools(&self, question: &Message) -> bool {
        let works = self.works.iter().chain(self.branches.iter().flat_map(|branch| &branch.works));
        works.filter(|work| question.work_id.as_ref() == Some(&work.work_id)).any(|work| work.without_tools)
    }

    /// Returns the work that began with the person's message of this id, which may have been deleted.
    pub fn asked_as(&self, message_id: &str) -> Option<&WorkId> {
        let is_it = |m: &&Arc<Message>| m.role == Role::User && m.id.as_deref() == Some(message_id);
        self.messages.iter().rev().chain(self.deleted_messages()).find(is_it)?.work_id.as_ref()
    }

    /// Returns the work that has calls waiting for a person, or for the program whose tools they call. It continues when
    /// these have answered, even after a restart.
    pub fn waiting(&self) -> Option<&Work> {
        let last = self.works.last().filter(|work| work.finished_at.is_none())?;
        self.calls_of(&last.work_id).any(|call| call.waits() || call.is_away()).then_some(last.as_ref())
    }

    /// Returns the calls of a work, in order, even if its answer was deleted.
    pub fn calls_of<'s, 'w>(&'s self, work_id: &'w WorkId) -> impl Iterator<Item = &'s ToolCall> + use<'s, 'w> {
        let messages = self.messages.iter().chain(self.deleted_messages());
        messages.filter(move |m| m.work_id.as_ref() == Some(work_id)).flat_map(|m| &m.tool_calls)
    }

    /// Returns all text of a work, its segments joined by a blank line.
    pub fn work_text(&self, work_id: &WorkId) -> String {
        let texts: Vec<&str> = self
            .messages
            .iter()
            .filter(|m| m.role == Role::Assistant && m.work_id.as_ref() == Some(work_id) && !m.content.is_empty())
            .map(|m| m.content.as_str())
            .collect();
        texts.join("\n\n")
    }
}
