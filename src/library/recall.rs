//! A search in conversations: the exact words, who said them and when. What was found is read again from the files before it is
//! returned, so that nothing deleted or excluded meanwhile is.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::conversations::folder;
use super::{IndexProgress, Library, LibraryError, LibrarySource, SearchOptions};
use crate::domain::knowledge::Search;
use crate::domain::{
    ConversationRecord, Hit, MessagePosition, Role, SessionId, Taint, TranscriptEntry, TranscriptKind, TranscriptPart,
};
use crate::retrieval::search::MAX_HITS;
use crate::retrieval::wants_words_only;
use crate::store::StoreError;

/// Maximum characters of one message in a passage: a line of blanks can be as long as its message.
const MAX_QUOTE: usize = 8_000;
/// Maximum number of conversations that a search holds in memory.
const MAX_READ: usize = 8;
/// How often a search is repeated because what it found had changed.
const MAX_REPEATS: usize = 2;

/// The indexes of the conversations of a home. Cheap to clone.
#[derive(Clone)]
pub struct Conversations {
    pub messages: Arc<Library>,
    pub tool_results: Arc<Library>,
}

impl Conversations {
    pub fn of(&self, kind: TranscriptKind) -> &Arc<Library> {
        match kind {
            TranscriptKind::Messages => &self.messages,
            TranscriptKind::ToolResults => &self.tool_results,
        }
    }

    /// Brings those that are in use up to date, after a conversation changed. Blocks.
    pub fn refresh_if_open(&self) {
        [&self.messages, &self.tool_results].into_iter().for_each(Library::refresh_if_open);
    }

    /// Drops both indexes, also on disk: see [`Library::clear`].
    ///
    /// # Errors
    /// Returns an error if their files cannot be removed.
    pub fn clear(&self) -> Result<(), StoreError> {
        self.messages.clear()?;
        self.tool_results.clear()
    }
}

/// What is searched for.
pub struct RecallQuery<'q> {
    pub text: &'q str,
    /// Maximum number of passages.
    pub most: usize,
    /// How long the search waits for an index that is being built. After that it answers from what is indexed.
    pub patience: Duration,
    /// The conversation that is searched; all if absent.
    pub within: Option<&'q SessionId>,
    /// Which messages may be found; all if absent.
    pub only: Option<&'q (dyn Fn(&RecalledPassage) -> bool + Sync)>,
}

/// The passages that answer a question, best first.
pub struct Recalled {
    pub search: Search,
    pub passages: Vec<RecalledPassage>,
    pub progress: IndexProgress,
    /// Number of conversations that cannot be searched.
    pub unreadable: usize,
}

/// Consecutive words of a conversation.
#[derive(Clone, Debug)]
pub struct RecalledPassage {
    pub session: SessionId,
    /// Title of the conversation.
    pub title: String,
    /// In the order in which they were said; never empty.
    pub quotes: Vec<RecalledQuote>,
    /// Sources of text from outside in the conversation.
    pub taint: Vec<Taint>,
    pub hit: Hit,
}

/// Words of one message.
#[derive(Clone, Debug, PartialEq)]
pub struct RecalledQuote {
    pub message_id: String,
    pub role: Role,
    /// Unix seconds.
    pub at: Option<f64>,
    pub position: MessagePosition,
    /// The tool whose result it is, or the name of the file.
    pub origin: Option<String>,
    pub text: String,
}

impl RecalledQuote {
    fn of(entry: &TranscriptEntry, words: &str) -> Self {
        let TranscriptEntry { message_id, role, at, position, origin, .. } = entry.clone();
        Self { message_id, role, at, position, origin, text: words.chars().take(MAX_QUOTE).collect() }
    }
}

/// A conversation as its files say now, with its transcript.
struct Read {
    record: ConversationRecord,
    parts: Vec<TranscriptPart>,
}

impl Library {
    /// Searches the conversations, after bringing the index up to date. Blocks.
    ///
    /// # Errors
    /// Returns an error if the conversations or their index cannot be read.
    pub fn recall(self: &Arc<Self>, query: &RecallQuery<'_>) -> Result<Recalled, LibraryError> {
        let kind = self.transcript_kind();
        let most = query.most.clamp(1, MAX_HITS);
        let k = if query.only.is_some() { MAX_HITS } else { most };
        let mut repeats = 0;
        loop {
            self.refresh_for(query.patience)?;
            let options = SearchOptions { k, near_misses: 0, vector_weight: None };
            let mut search = match query.within {
                None => self.search(query.text, options)?,
                Some(id) => self.search_within(query.text, options, id)?,
            };
            let mut known = HashMap::new();
            let (mut passages, mut changed) = (Vec::new(), false);
            for hit in &search.hits {
                if passages.len() >= most {
                    break;
                }
                match self.resolve(hit, kind, &mut known) {
                    Some(passage) if query.only.is_none_or(|only| only(&passage)) => passages.push(passage),
                    Some(_) => {}
                    None => changed = true,
                }
            }
            if changed && repeats < MAX_REPEATS {
                repeats += 1;
                continue;
            }
            search.hits = passages.iter().map(|passage| passage.hit.clone()).collect();
            let unreadable = self.unreadable_conversations();
            return Ok(Recalled { search, passages, progress: self.progress(), unreadable });
        }
    }

    /// Returns whether a conversation still says what was found in it. Blocks.
    pub fn still_says(&self, passage: &RecalledPassage) -> bool {
        let Ok(record) = self.home.current_conversation(&passage.session) else { return false };
        let parts = record.transcript(self.transcript_kind());
        passage.quotes.iter().all(|quote| {
            let says = |part: &TranscriptPart, entry: &TranscriptEntry| {
                entry.message_id == quote.message_id && part.text[entry.range.clone()].contains(&quote.text)
            };
            parts.iter().any(|part| part.entries.iter().any(|entry| says(part, entry)))
        })
    }

    fn transcript_kind(&self) -> TranscriptKind {
        match self.settings.source {
            LibrarySource::Conversations(kind) => kind,
            LibrarySource::Folder(_) => TranscriptKind::Messages,
        }
    }

    fn search_within(
        self: &Arc<Self>,
        query: &str,
        options: SearchOptions,
        id: &SessionId,
    ) -> Result<Search, LibraryError> {
        let folder = folder(id);
        let wanted = folder.as_ref().and_then(|_| wants_words_only(query));
        Ok(self.ask(query, options, (wanted, folder.as_ref()))?.0)
    }

    /// Returns the words that a hit means as their conversation says now; `None` if it does not say them any more.
    fn resolve(
        &self,
        hit: &Hit,
        kind: TranscriptKind,
        known: &mut HashMap<SessionId, Option<Read>>,
    ) -> Option<RecalledPassage> {
        let (id, name) = hit.source.split_once('/')?;
        let id = SessionId::parse(id).ok()?;
        // Conversations can be large, so only a few are held at once.
        if known.len() >= MAX_READ && !known.contains_key(&id) {
            known.clear();
        }
        let read = known.entry(id.clone()).or_insert_with(|| {
            let record = self.home.current_conversation(&id).ok()?;
            Some(Read { parts: record.transcript(kind), record })
        });
        let Read { record, parts } = read.as_ref()?;
        let part = parts.iter().find(|part| part.name == name)?;
        let (start, end) = hit.range;
        // Between two chunks, a hit may have other blanks.
        if !part.text.get(start..end)?.split_whitespace().eq(hit.text.split_whitespace()) {
            return None;
        }
        let quotes: Vec<_> = part.quotes(start..end).map(|(entry, words)| RecalledQuote::of(entry, words)).collect();
        let first = quotes.first()?;
        let hit = Hit { source: format!("{id}:{}", first.message_id), ..hit.clone() };
        Some(RecalledPassage {
            session: id,
            title: record.session.title.clone(),
            quotes,
            taint: record.taint(kind),
            hit,
        })
    }
}
