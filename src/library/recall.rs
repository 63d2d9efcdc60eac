//! A search in conversations: the exact words, who said them and when. What was found is read again from the files before it is
//! returned, so that nothing deleted or excluded meanwhile is.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::conversations::{folder, put_part};
use super::{IndexProgress, Library, LibraryError, LibrarySource, SearchOptions};
use crate::domain::knowledge::{Search, WeightReason};
use crate::domain::{
    ConversationRecord, FileStamp, Hit, MessagePosition, Role, SessionId, Taint, TranscriptEntry, TranscriptKind,
    TranscriptPart,
};
use crate::retrieval::search::MAX_HITS;
use crate::retrieval::windows::WindowLimit;
use crate::retrieval::{FolderIndex, Listed, SearchRequest, Searchable};
use crate::store::{ConversationState, Home, StoreError};

/// Maximum characters of a passage: a line of blanks can be as long as its message.
const MAX_PASSAGE: usize = 4_500;
/// Maximum number of messages that a passage quotes.
const MAX_QUOTES: usize = 24;
/// Maximum bytes of conversations, with their compacted messages, that one search reads.
const MAX_READ_BYTES: u64 = 256 << 20;
/// Maximum bytes of conversations that a search holds in memory, unless one alone has more.
const MAX_HELD_BYTES: u64 = 32 << 20;
/// Maximum bytes of what is left out of a conversation that are searched, the newest first.
const MAX_LEFT_OUT: usize = 4 << 20;
/// How often a conversation that is being written is read again until its files stay the same.
const MAX_READINGS: usize = 3;
/// How often a search is repeated because what it found had changed.
const MAX_REPEATS: usize = 2;

/// The indexes of the conversations of a home. Cheap to clone.
#[derive(Clone)]
pub struct Conversations {
    pub messages: Arc<Library>,
    pub tool_results: Arc<Library>,
    /// Whether they are searched by words alone, because the embedding model is a service beyond this machine.
    pub is_withheld: bool,
    is_refresh_queued: Arc<AtomicBool>,
}

impl Conversations {
    pub fn new((messages, tool_results): (Arc<Library>, Arc<Library>), is_withheld: bool) -> Self {
        Self { messages, tool_results, is_withheld, is_refresh_queued: Arc::default() }
    }

    pub fn of(&self, kind: TranscriptKind) -> &Arc<Library> {
        match kind {
            TranscriptKind::Messages => &self.messages,
            TranscriptKind::ToolResults => &self.tool_results,
        }
    }

    /// Returns the work that brings those that are in use up to date, after a conversation changed; `None` if it is queued already
    /// and has not begun. The work blocks.
    pub fn queue_refresh(&self) -> Option<impl FnOnce() + Send + 'static> {
        if self.is_refresh_queued.swap(true, Ordering::AcqRel) {
            return None;
        }
        let conversations = self.clone();
        Some(move || {
            // Before the look at the files: what changes from here on is for the next one.
            conversations.is_refresh_queued.store(false, Ordering::Release);
            [&conversations.messages, &conversations.tool_results].into_iter().for_each(Library::refresh_if_open);
        })
    }

    /// Removes a conversation from both, also on disk: see [`Library::purge`].
    ///
    /// # Errors
    /// Returns an error if their files can be neither rewritten nor removed.
    pub fn purge(&self, id: &SessionId) -> Result<(), StoreError> {
        self.messages.purge(id)?;
        self.tool_results.purge(id)
    }
}

/// What is searched for.
pub struct RecallQuery<'q> {
    pub text: &'q str,
    /// Maximum number of passages.
    pub limit: usize,
    /// How long the search waits for an index that is being built. After that it answers from what is indexed.
    pub patience: Duration,
    /// Overrides the automatic choice of weights.
    pub vector_weight: Option<f64>,
    /// A conversation that is not searched.
    pub except: Option<&'q SessionId>,
    /// Whether conversations are passed over, unread, that had text from outside when they were indexed.
    pub untainted: bool,
    /// Which passages may be found; all if absent.
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
    /// The conversation's files when it was read; `None` if it was in memory.
    pub state: Option<ConversationState>,
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

/// A conversation as its files say now, with its transcript.
struct LoadedConversation {
    record: ConversationRecord,
    parts: Vec<TranscriptPart>,
    state: Option<ConversationState>,
}

/// What a hit means now.
enum Resolved {
    Passage(Box<RecalledPassage>),
    /// Its conversation does not say it any more.
    Changed,
    /// The search has read too much to read this conversation, too.
    Unread,
}

/// Reads the conversations of one search, within its bounds.
struct ConversationReader<'a> {
    home: &'a Home,
    kind: TranscriptKind,
    held: HashMap<SessionId, Option<LoadedConversation>>,
    held_bytes: u64,
    read_bytes: u64,
}

impl ConversationReader<'_> {
    /// Forgets what was read, and not how much it was.
    fn start_again(&mut self) {
        self.held.clear();
        self.held_bytes = 0;
    }

    /// Reads a conversation unless it is held. Returns `false` if that would be too much.
    fn read(&mut self, id: &SessionId) -> bool {
        if self.held.contains_key(id) {
            return true;
        }
        let state = self.home.conversation_state(id);
        let bytes = state.as_ref().map_or(0, ConversationState::bytes);
        if self.read_bytes.saturating_add(bytes) > MAX_READ_BYTES {
            return false;
        }
        self.read_bytes += bytes;
        if self.held_bytes.saturating_add(bytes) > MAX_HELD_BYTES {
            self.start_again();
        }
        self.held_bytes += bytes;
        let record = self.home.current_conversation(id).ok();
        let read = record.map(|record| LoadedConversation { parts: record.transcript(self.kind), record, state });
        self.held.insert(id.clone(), read);
        true
    }

    /// Returns the words that a hit means as their conversation says now.
    fn resolve(&mut self, hit: &Hit) -> Resolved {
        let Some((id, name)) = place_of(hit) else { return Resolved::Changed };
        if !self.read(&id) {
            return Resolved::Unread;
        }
        let read = self.held.get(&id).and_then(Option::as_ref);
        let passage = read.and_then(|read| {
            let part = read.parts.iter().find(|part| part.name == name)?;
            let passage = passage_of((&id, &read.record), (part, self.kind), hit)?;
            Some(RecalledPassage { state: read.state.clone(), ..passage })
        });
        passage.map_or(Resolved::Changed, |passage| Resolved::Passage(Box::new(passage)))
    }
}

/// Returns the conversation of a hit, and the name of the part.
fn place_of(hit: &Hit) -> Option<(SessionId, &str)> {
    let (id, name) = hit.source.split_once('/')?;
    Some((SessionId::parse(id).ok()?, name))
}

/// Returns the words that a hit in a part means; `None` if the part does not say them.
fn passage_of(
    (id, record): (&SessionId, &ConversationRecord),
    (part, kind): (&TranscriptPart, TranscriptKind),
    hit: &Hit,
) -> Option<RecalledPassage> {
    let (start, end) = hit.range;
    // Between two chunks, a hit may have other blanks.
    if !part.text.get(start..end)?.split_whitespace().eq(hit.text.split_whitespace()) {
        return None;
    }
    let found: Vec<_> = part.quotes(start..end).collect();
    // What was found is in the middle.
    let first = found.len().saturating_sub(MAX_QUOTES) / 2;
    let mut left = MAX_PASSAGE;
    let mut quotes = Vec::new();
    for (entry, words) in found.into_iter().skip(first).take(MAX_QUOTES) {
        let text: String = words.chars().take(left).collect();
        left -= text.chars().count();
        let TranscriptEntry { message_id, role, at, position, origin, .. } = entry.clone();
        quotes.push(RecalledQuote { message_id, role, at, position, origin, text });
        if left == 0 {
            break;
        }
    }
    let source = format!("{id}:{}", quotes.first()?.message_id);
    let hit = Hit { source, text: hit.text.chars().take(MAX_PASSAGE).collect(), ..hit.clone() };
    let (title, taint) = (record.session.title.clone(), record.taint(kind));
    Some(RecalledPassage { session: id.clone(), title, quotes, taint, hit, state: None })
}

impl RecalledPassage {
    /// Returns whether these texts still say it.
    fn is_in(&self, parts: &[TranscriptPart]) -> bool {
        self.quotes.iter().all(|quote| {
            let says = |part: &TranscriptPart, entry: &TranscriptEntry| {
                entry.message_id == quote.message_id && part.text[entry.range.clone()].contains(&quote.text)
            };
            parts.iter().any(|part| part.entries.iter().any(|entry| says(part, entry)))
        })
    }
}

impl Library {
    /// Searches the conversations, after bringing the index up to date. Blocks.
    ///
    /// # Errors
    /// Returns an error if the conversations or their index cannot be read.
    pub fn recall(self: &Arc<Self>, query: &RecallQuery<'_>) -> Result<Recalled, LibraryError> {
        let kind = self.transcript_kind();
        let limit = query.limit.clamp(1, MAX_HITS);
        let is_filtered = query.only.is_some() || query.untainted || query.except.is_some();
        let k = if is_filtered { MAX_HITS } else { limit };
        let mut reader =
            ConversationReader { home: &self.home, kind, held: HashMap::new(), held_bytes: 0, read_bytes: 0 };
        let mut repeats = 0;
        loop {
            self.refresh_for(query.patience)?;
            let mut search =
                self.search(query.text, SearchOptions { k, near_misses: 0, vector_weight: query.vector_weight })?;
            let known = self.conversation_heads();
            let is_passed_over =
                |id: &SessionId| query.except == Some(id) || (query.untainted && known.tainted.contains(id));
            let (mut passages, mut unread, mut changed) = (Vec::new(), HashSet::new(), false);
            reader.start_again();
            for hit in &search.hits {
                if passages.len() >= limit {
                    break;
                }
                let place = place_of(hit).map(|(id, _)| id);
                if place.as_ref().is_some_and(is_passed_over) {
                    continue;
                }
                match reader.resolve(hit) {
                    Resolved::Passage(passage) if query.only.is_none_or(|only| only(&passage)) => {
                        passages.push(*passage)
                    }
                    Resolved::Passage(_) => {}
                    Resolved::Changed => changed = true,
                    Resolved::Unread => unread.extend(place),
                }
            }
            let found = passages.len();
            passages.retain(|passage| self.still_says(passage));
            changed |= passages.len() < found;
            if changed && repeats < MAX_REPEATS {
                repeats += 1;
                continue;
            }
            search.hits = passages.iter().map(|passage| passage.hit.clone()).collect();
            let unreadable = known.unreadable + unread.len();
            return Ok(Recalled { search, passages, progress: self.progress(), unreadable });
        }
    }

    /// Returns whether a conversation still says what was found in it: if its files are as they were, they are not read again.
    /// Blocks.
    pub fn still_says(&self, passage: &RecalledPassage) -> bool {
        let state = || self.home.conversation_state(&passage.session);
        let mut before = state();
        if before.is_some() && before == passage.state {
            return true;
        }
        for _ in 0..MAX_READINGS {
            let Ok(record) = self.home.current_conversation(&passage.session) else { return false };
            if !passage.is_in(&record.transcript(self.transcript_kind())) {
                return false;
            }
            let after = state();
            if after.is_some() && after == before {
                return true;
            }
            before = after;
        }
        false
    }

    /// Searches one conversation by words, in memory and without the index of all. Blocks.
    ///
    /// # Errors
    /// Returns an error if it cannot be searched.
    pub fn recall_in(
        &self,
        (id, record): (&SessionId, &ConversationRecord),
        (text, limit): (&str, usize),
    ) -> Result<Vec<RecalledPassage>, LibraryError> {
        let kind = self.transcript_kind();
        let (parts, limits) = (record.transcript(kind), self.settings.limits);
        let (mut index, mut bytes) = (FolderIndex::in_memory(limits)?, 0);
        for part in parts.iter().rev() {
            bytes += part.text.len();
            let Some(path) = folder(id).and_then(|folder| folder.child(&part.name).ok()) else { continue };
            if bytes > MAX_LEFT_OUT {
                break;
            }
            let listed = Listed { path, stamp: FileStamp::default(), size: part.text.len() as u64 };
            put_part(&mut index, listed, part.clone())?;
        }
        index.commit()?;
        let snapshot = index.snapshot()?;
        let searchable = Searchable {
            snapshot: &snapshot,
            rows: &[],
            vectors: None,
            fetched: None,
            tokens: None,
            analyser: &self.analyser,
            ranking: self.settings.ranking,
            window: WindowLimit(limits.tokens),
        };
        let found = searchable.search(&SearchRequest {
            query: text,
            k: limit,
            near_misses: 0,
            query_vector: None,
            pieces: None,
            words_only: Some(WeightReason::Embedding),
            vector_weight: None,
        })?;
        let passages = found.hits.iter().filter_map(|hit| {
            let (_, name) = place_of(hit)?;
            let part = parts.iter().find(|part| part.name == name)?;
            passage_of((id, record), (part, kind), hit)
        });
        Ok(passages.collect())
    }

    fn transcript_kind(&self) -> TranscriptKind {
        match self.settings.source {
            LibrarySource::Conversations(kind) => kind,
            LibrarySource::Folder(_) => TranscriptKind::Messages,
        }
    }
}
