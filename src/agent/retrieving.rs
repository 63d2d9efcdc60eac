//! Retrieves passages for a question: of memory and, where a person wants it, of past conversations; and what of the session
//! itself does not fit the model's window any more.

use std::sync::Arc;
use std::time::Duration;

use super::recorder::Recorder;
use super::run::{Run, TurnEnd};
use crate::domain::knowledge::Search;
use crate::domain::{
    ConversationRecord, Event, Hit, MessagePosition, Role, Session, SessionId, StatusKind, WorkId, name_in_transcript,
};
use crate::library::recall::{RecallQuery, RecalledPassage, RecalledQuote};
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

/// The passages that the model receives for the question of a run: none of them is weak.
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

    /// Removes the passages that hardly answer the question.
    fn without_weak(self) -> Self {
        let Self { mut memory, mut recalled, .. } = self;
        memory.retain(|hit| !hit.weak);
        recalled.retain(|passage| !passage.hit.weak);
        Self::new(memory, recalled)
    }

    /// Returns it as what memory contributes to a request; it is not searched if there is nothing.
    pub fn contribution(retrieved: Option<&Self>) -> Retrieval<'_> {
        retrieved.map_or(Retrieval::Off, |found| Retrieval::Found(&found.hits))
    }
}

/// Returns whether a session that is in memory still says what was found in it.
fn says(session: &Session, passage: &RecalledPassage) -> bool {
    let named: Vec<_> = session.messages.iter().enumerate().collect();
    let says = |quote: &RecalledQuote| {
        named.iter().any(|(index, message)| {
            session.is_in_effect(message)
                && name_in_transcript(message, (*index, MessagePosition::Current)) == quote.message_id
                && message.content.contains(&quote.text)
        })
    };
    !session.chosen.not_for_recall && passage.quotes.iter().all(says)
}

/// Returns a passage of a conversation as a request contains it.
fn hit_of(passage: &RecalledPassage) -> Hit {
    let heading = Some(passage.title.clone()).filter(|title| !title.is_empty());
    Hit { text: quoted(passage), heading, ..passage.hit.clone() }
}

/// What is searched for a question.
struct RetrievalRequest {
    query: String,
    memory: Arc<Library>,
    messages: Arc<Library>,
    session: SessionId,
    /// Whether other conversations are searched.
    others: bool,
    /// The session's messages that do not fit any more; `None` if all fit.
    left_out: Option<ConversationRecord>,
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
        let request = RetrievalRequest {
            query: question.map(|message| message.words().into_owned()).unwrap_or_default(),
            memory: self.memory.clone(),
            messages: self.conversations.messages.clone(),
            session: self.tasks.session_id.clone(),
            others: searches_others(&settings, Some(recorder.session())),
            left_out,
        };
        let found = tokio::task::spawn_blocking(move || request.search()).await;
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
        let all = Retrieved::new(memory.hits.clone(), recalled);
        let withheld = all.hits.iter().filter(|hit| hit.weak).count() as u32;
        let search = Arc::new(Search { hits: all.hits.clone(), withheld, ..memory });
        let retrieved = all.without_weak();
        let work_id = recorder.work_id().clone();
        self.keep_found(&work_id, &search).await;
        recorder.preview(Event::Retrieved { work_id, search }).await?;
        Ok(Some(retrieved))
    }

    /// Returns what conversations still say: a person may delete or exclude one while the run goes on.
    pub(super) async fn recheck(&self, recorder: &Recorder, retrieved: Option<&Retrieved>) -> Option<Retrieved> {
        let Retrieved { memory, recalled, .. } = retrieved?;
        let (memory, mut recalled) = (memory.clone(), recalled.clone());
        recalled.retain(|passage| passage.session != self.tasks.session_id || says(recorder.session(), passage));
        if recalled.is_empty() {
            return Some(Retrieved::new(memory, recalled));
        }
        let (messages, own) = (self.conversations.messages.clone(), self.tasks.session_id.clone());
        let checked = tokio::task::spawn_blocking(move || {
            recalled.retain(|passage| passage.session == own || messages.still_says(passage));
            recalled
        });
        Some(Retrieved::new(memory, checked.await.unwrap_or_default()))
    }

    /// Returns the session's messages that do not fit the model's window.
    async fn left_out(&self, recorder: &Recorder, settings: &Settings) -> Option<ConversationRecord> {
        let endpoint = self.client.endpoint();
        if endpoint.context_window == 0 {
            return None;
        }
        let session = recorder.session();
        let tools = (self.tasks.tools)(session).await.specs();
        let limits = RequestLimits::new(ModelAbilities::of(endpoint), tools, &self.tokens);
        let next = NextRequest::assemble(self.sources(recorder, expected_retrieval(settings, Some(session))), &limits);
        if next.left_out == 0 {
            return None;
        }
        // From the first, so that each has its own index.
        let messages = session.messages.iter().take(next.left_out).cloned().collect();
        let session = Session { messages, branches: Vec::new(), ..session.clone() };
        Some(ConversationRecord { session, compacted: Vec::new(), damaged: 0, own: true })
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

impl RetrievalRequest {
    /// Searches memory, then other conversations, then what is left out. If conversations cannot be searched, the question is
    /// answered with what memory says. Blocks.
    fn search(&self) -> Result<(Search, Vec<RecalledPassage>), LibraryError> {
        let memory = self.memory.search(&self.query, SearchOptions::best(DEFAULT_HITS))?;
        let mut recalled = Vec::new();
        if self.others {
            recalled.extend(found(self.of_others()));
        }
        if let Some(record) = &self.left_out {
            let messages = &self.messages;
            recalled.extend(found(messages.recall_in((&self.session, record), (&self.query, DEFAULT_HITS))));
        }
        Ok((memory, recalled))
    }

    fn of_others(&self) -> Result<Vec<RecalledPassage>, LibraryError> {
        // What a conversation brings from outside would taint this one before a person sees it: only the tool brings it.
        let only = |passage: &RecalledPassage| passage.taint.is_empty();
        let query = RecallQuery {
            text: &self.query,
            limit: DEFAULT_HITS,
            patience: Duration::ZERO,
            vector_weight: None,
            except: Some(&self.session),
            untainted: true,
            only: Some(&only),
        };
        Ok(self.messages.recall(&query)?.passages)
    }
}

fn found(passages: Result<Vec<RecalledPassage>, LibraryError>) -> Vec<RecalledPassage> {
    passages.unwrap_or_else(|error| {
        tracing::warn!(%error, "conversations could not be searched; the question is answered without them");
        Vec::new()
    })
}
