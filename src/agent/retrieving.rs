//! Retrieves passages for a question: of memory and, where a person wants it, of past conversations; and what of the session
//! itself does not fit the model's window any more.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use super::recorder::Recorder;
use super::run::{Run, TurnEnd};
use crate::domain::knowledge::Search;
use crate::domain::{Event, Hit, MessagePosition, Role, Session, SessionId, StatusKind, WorkId};
use crate::library::recall::{RecallQuery, RecalledPassage};
use crate::library::{DEFAULT_HITS, Library, LibraryError, SearchOptions};
use crate::prompt::request::{ModelAbilities, NextRequest, RequestLimits, Retrieval};
use crate::store::Settings;
use crate::tools::quoted;

/// Returns what will be retrieved for a question that is not sent yet.
pub fn expected_retrieval(settings: &Settings, session: Option<&Session>) -> Retrieval<'static> {
    if !settings.rag_mode {
        return Retrieval::Off;
    }
    let recalled = if searches_others(settings, session) { DEFAULT_HITS } else { 0 };
    Retrieval::Expected { passages: DEFAULT_HITS, recalled }
}

/// Returns whether other conversations are searched for a question of this one. A conversation that is bound to a project has
/// nothing of others, as it is not offered the tool that searches them.
fn searches_others(settings: &Settings, session: Option<&Session>) -> bool {
    settings.rag_conversations && session.is_none_or(|session| session.project_id.is_none())
}

/// The passages for the question of a run.
pub(super) struct Retrieved {
    memory: Vec<Hit>,
    recalled: Vec<RecalledPassage>,
    hits: Vec<Hit>,
}

impl Retrieved {
    fn new(memory: Vec<Hit>, recalled: Vec<RecalledPassage>) -> Self {
        let hits = memory.iter().cloned().chain(recalled.iter().map(hit_of)).collect();
        Self { memory, recalled, hits }
    }

    pub fn hits(&self) -> &[Hit] {
        &self.hits
    }
}

/// Returns a passage of a conversation as a request contains it.
fn hit_of(passage: &RecalledPassage) -> Hit {
    let heading = Some(passage.title.clone()).filter(|title| !title.is_empty());
    Hit { text: quoted(passage), heading, ..passage.hit.clone() }
}

/// What is searched for a question.
struct Wanted {
    query: String,
    memory: Arc<Library>,
    messages: Arc<Library>,
    session: SessionId,
    /// Whether other conversations are searched.
    others: bool,
    /// The session's messages that do not fit any more.
    left_out: HashSet<String>,
}

impl Run {
    /// Returns the passages for the question. `None` if RAG mode is off.
    pub(super) async fn retrieve(&self, recorder: &mut Recorder) -> Result<Option<Retrieved>, TurnEnd> {
        let settings = self.tasks.home.settings();
        if !settings.rag_mode {
            return Ok(None);
        }
        let left_out = self.left_out(recorder, &settings).await;
        let question = recorder.session().messages.iter().rev().find(|message| message.role == Role::User);
        let wanted = Wanted {
            query: question.map(|message| message.words().into_owned()).unwrap_or_default(),
            memory: self.memory.clone(),
            messages: self.conversations.messages.clone(),
            session: self.tasks.session_id.clone(),
            others: searches_others(&settings, Some(recorder.session())),
            left_out,
        };
        let found = tokio::task::spawn_blocking(move || wanted.search()).await;
        // If memory cannot be searched, the question is answered without it, and a status says so.
        let found = found.map_err(|error| error.to_string()).and_then(|found| found.map_err(|e| e.to_string()));
        let (memory, recalled) = match found {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(error, "memory could not be searched");
                recorder.status(StatusKind::Waiting, format!("Couldn't search memory: {error}")).await?;
                return Ok(Some(Retrieved::new(Vec::new(), Vec::new())));
            }
        };
        let retrieved = Retrieved::new(memory.hits.clone(), recalled);
        let search = Arc::new(Search { hits: retrieved.hits.clone(), ..memory });
        let work_id = recorder.work_id().clone();
        self.keep_found(&work_id, &search).await;
        recorder.preview(Event::Retrieved { work_id, search }).await?;
        Ok(Some(retrieved))
    }

    /// Removes what conversations do not say any more: a person may delete or exclude one while the run goes on.
    pub(super) async fn recheck(&self, retrieved: Retrieved) -> Retrieved {
        if retrieved.recalled.is_empty() {
            return retrieved;
        }
        let messages = self.conversations.messages.clone();
        let (memory, mut recalled) = (retrieved.memory.clone(), retrieved.recalled);
        let checked = tokio::task::spawn_blocking(move || {
            recalled.retain(|passage| messages.still_says(passage));
            recalled
        });
        Retrieved::new(memory, checked.await.unwrap_or_default())
    }

    /// Returns the session's messages that do not fit the model's window, by their ids.
    async fn left_out(&self, recorder: &Recorder, settings: &Settings) -> HashSet<String> {
        let endpoint = self.client.endpoint();
        if endpoint.context_window == 0 {
            return HashSet::new();
        }
        let session = recorder.session();
        let tools = (self.tasks.tools)(session).await.specs();
        let limits = RequestLimits::new(ModelAbilities::of(endpoint), tools, &self.tokens);
        let next = NextRequest::assemble(self.sources(recorder, expected_retrieval(settings, Some(session))), &limits);
        let named = |(index, id): (usize, &Option<String>)| id.clone().unwrap_or_else(|| format!("m{index}"));
        let left_out = session.messages.iter().take(next.left_out).map(|message| &message.id);
        left_out.enumerate().map(named).collect()
    }

    /// Stores the search for the card above the answer, which a reloaded page shows. The answer does not depend on it.
    async fn keep_found(&self, work_id: &WorkId, search: &Arc<Search>) {
        let (home, session) = (self.tasks.home.clone(), self.tasks.session_id.clone());
        let (work_id, search) = (work_id.clone(), search.clone());
        let kept = tokio::task::spawn_blocking(move || home.records().keep_found(&session, &work_id, &search)).await;
        if let Ok(Err(error)) = kept {
            tracing::warn!(%error, "what memory said could not be kept");
        }
    }
}

impl Wanted {
    /// Searches memory, then other conversations, then what is left out. Blocks.
    fn search(&self) -> Result<(Search, Vec<RecalledPassage>), LibraryError> {
        let memory = self.memory.search(&self.query, SearchOptions::best(DEFAULT_HITS))?;
        let mut recalled = Vec::new();
        if self.others {
            // What a conversation brings from outside would taint this one before a person sees it: only the tool brings it.
            let only = |passage: &RecalledPassage| passage.session != self.session && passage.taint.is_empty();
            recalled.extend(self.recall(None, &only)?);
        }
        if !self.left_out.is_empty() {
            let is_left_out = |passage: &RecalledPassage| {
                let mut quotes = passage.quotes.iter();
                quotes.any(|quote| {
                    quote.position == MessagePosition::Current && self.left_out.contains(&quote.message_id)
                })
            };
            recalled.extend(self.recall(Some(&self.session), &is_left_out)?);
        }
        Ok((memory, recalled))
    }

    /// Returns passages of conversations.
    fn recall(
        &self,
        within: Option<&SessionId>,
        only: &(dyn Fn(&RecalledPassage) -> bool + Sync),
    ) -> Result<Vec<RecalledPassage>, LibraryError> {
        let query =
            RecallQuery { text: &self.query, most: DEFAULT_HITS, patience: Duration::ZERO, within, only: Some(only) };
        Ok(self.messages.recall(&query)?.passages)
    }
}
