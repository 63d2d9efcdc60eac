//! Keeps the index of conversations in sync with their files.
//!
//! In the index, each part of a conversation's transcript is a file, and so is its head: it holds no text, only the stamp of the
//! conversation that the parts are of. Both are written in one commit.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::background::Task;
use super::refresh::{BATCH_BYTES, MAX_FOREGROUND_BYTES, TRIM_THRESHOLD};
use super::{IndexProgress, IndexState, Library, LibraryError};
use crate::domain::{FileStamp, RelPath, SessionId, TranscriptKind, TranscriptPart};
use crate::heap;
use crate::retrieval::extract::{Document, Format, Unreadable};
use crate::retrieval::index::fingerprint;
use crate::retrieval::{FolderIndex, Listed};
use crate::store::ConversationUnreadable;

const HEAD: &str = "head";
/// Pause between two batches of a build.
const BETWEEN_BATCHES: Duration = Duration::from_millis(1);
/// Fingerprint of the head of a conversation with text from outside.
const TAINTED: &str = "tainted";

/// What is known of the conversations in the index without reading them.
#[derive(Default)]
pub(super) struct ConversationHeads {
    /// Number of those that cannot be searched, or not all of them.
    pub unreadable: usize,
    /// Those with text from outside.
    pub tainted: HashSet<SessionId>,
}

impl ConversationHeads {
    pub fn of(index: &FolderIndex) -> Self {
        let unreadable = index.files().filter(|file| file.problem.is_some()).count();
        let tainted = index.files().filter(|file| file.content == TAINTED);
        let ids = tainted.filter_map(|file| SessionId::parse(file.path.strip_suffix(HEAD)?.strip_suffix('/')?).ok());
        Self { unreadable, tainted: ids.collect() }
    }
}

/// What is different between the index and the conversations.
#[derive(Default)]
struct ConversationPlan {
    /// Newest first, because ids begin with the time.
    read: Vec<(SessionId, FileStamp)>,
    gone: Vec<SessionId>,
}

impl ConversationPlan {
    fn of(index: &FolderIndex, stamps: &BTreeMap<SessionId, FileStamp>) -> Self {
        let heads = index.files().filter_map(|file| {
            let id = file.path.strip_suffix(HEAD)?.strip_suffix('/')?;
            Some((SessionId::parse(id).ok()?, file.stamp))
        });
        let heads: BTreeMap<SessionId, FileStamp> = heads.collect();
        let is_stale = |(id, stamp): &(&SessionId, &FileStamp)| heads.get(*id) != Some(*stamp);
        let read = stamps.iter().rev().filter(is_stale).map(|(id, stamp)| (id.clone(), *stamp)).collect();
        let gone = heads.into_keys().filter(|id| !stamps.contains_key(id)).collect();
        Self { read, gone }
    }

    fn is_empty(&self) -> bool {
        self.read.is_empty() && self.gone.is_empty()
    }

    fn bytes(&self) -> u64 {
        self.read.iter().map(|(_, stamp)| stamp.size()).sum()
    }

    /// Splits off what is read before the next commit.
    fn next_batch(&mut self) -> Self {
        let mut bytes = 0;
        let fits = |(_, stamp): &&(SessionId, FileStamp)| {
            bytes += stamp.size();
            bytes <= BATCH_BYTES
        };
        let count = self.read.iter().take_while(fits).count().max(1).min(self.read.len());
        let rest = self.read.split_off(count);
        Self { read: std::mem::replace(&mut self.read, rest), gone: std::mem::take(&mut self.gone) }
    }
}

impl Library {
    /// Updates the index from the conversations that changed: at once, or in the background if much is new.
    pub(super) fn refresh_conversations(self: &Arc<Self>, kind: TranscriptKind) -> Result<(), LibraryError> {
        let mut seen = self.lock(&self.seen);
        let changed = self.home.scan_conversations(&mut seen.conversations);
        seen.indexed &= matches!(changed, Ok(false));
        changed?;
        if seen.indexed {
            return Ok(());
        }
        let mut guard = self.lock(&self.index);
        if self.is_closed() {
            return Ok(());
        }
        let opened = guard.is_none();
        if opened {
            *guard = Some(self.open()?);
        }
        let Some(index) = guard.as_mut() else { return Ok(()) };
        let plan = ConversationPlan::of(index, seen.conversations.stamps());
        if plan.is_empty() {
            if opened {
                self.publish(index)?;
            }
            seen.indexed = true;
            return Ok(());
        }
        let bytes = plan.bytes();
        if bytes > MAX_FOREGROUND_BYTES {
            self.publish(index)?;
            drop(guard);
            self.build_conversations(plan, kind);
            return Ok(());
        }
        self.apply_conversations(index, &plan, kind)?;
        self.publish(index)?;
        drop(guard);
        if bytes > TRIM_THRESHOLD {
            heap::trim_heap();
        }
        self.embed_if_used();
        Ok(())
    }

    fn build_conversations(self: &Arc<Self>, mut plan: ConversationPlan, kind: TranscriptKind) {
        let total = plan.read.len() as u32;
        self.report(IndexProgress { state: IndexState::Building, done: 0, total });
        self.spawn_background(Task::BuildIndex, move |library, running| {
            while !(plan.is_empty() || library.is_closed()) {
                let batch = plan.next_batch();
                // Whoever waits for the index comes between two batches.
                std::thread::sleep(BETWEEN_BATCHES);
                if let Err(error) = library.build_batch(&batch, kind) {
                    tracing::warn!(folder = library.folder(), %error, "building the index stopped");
                    break;
                }
                let done = total - plan.read.len() as u32;
                library.report(IndexProgress { state: IndexState::Building, done, total });
            }
            heap::trim_heap();
            drop(running);
            library.report(IndexProgress { state: IndexState::Ready, ..IndexProgress::default() });
            library.embed_if_used();
        });
    }

    fn build_batch(&self, batch: &ConversationPlan, kind: TranscriptKind) -> Result<(), LibraryError> {
        let mut guard = self.lock(&self.index);
        let Some(index) = guard.as_mut() else { return Ok(()) };
        self.apply_conversations(index, batch, kind)?;
        self.publish(index)
    }

    fn apply_conversations(
        &self,
        index: &mut FolderIndex,
        plan: &ConversationPlan,
        kind: TranscriptKind,
    ) -> Result<(), LibraryError> {
        for id in &plan.gone {
            remove(index, id)?;
        }
        for (id, stamp) in &plan.read {
            self.put_conversation(index, (id, *stamp), kind)?;
        }
        Ok(index.commit()?)
    }

    fn put_conversation(
        &self,
        index: &mut FolderIndex,
        (id, stamp): (&SessionId, FileStamp),
        kind: TranscriptKind,
    ) -> Result<(), LibraryError> {
        let Some(folder) = folder(id) else { return Ok(()) };
        let read = match self.home.stored_conversation(id) {
            Ok(record) => Ok(record),
            Err(ConversationUnreadable::Gone) => return remove(index, id),
            Err(ConversationUnreadable::Io(error)) => {
                tracing::warn!(session = %id, %error, "a conversation could not be indexed; the next search tries again");
                return Ok(());
            }
            Err(ConversationUnreadable::Damaged) => Err(Unreadable::Damaged),
            Err(ConversationUnreadable::TooLarge) => Err(Unreadable::TextLimit),
            Err(newer @ ConversationUnreadable::Newer) => Err(Unreadable::NotOpened(newer.to_string())),
        };
        let (parts, content, problem) = match read {
            Ok(record) => {
                let content = if record.taint(kind).is_empty() { HEAD } else { TAINTED };
                (record.transcript(kind), content, (record.damaged > 0).then_some(Unreadable::Damaged))
            }
            Err(problem) => (Vec::new(), HEAD, Some(problem)),
        };
        let mut left: BTreeSet<RelPath> = index.files_below(&folder).collect();
        for part in parts {
            let Ok(path) = folder.child(&part.name) else { continue };
            left.remove(&path);
            put_part(index, Listed { path, stamp, size: part.text.len() as u64 }, part)?;
        }
        if let Ok(path) = folder.child(HEAD) {
            left.remove(&path);
            let head = Listed { path, stamp, size: 0 };
            index.insert(
                &head,
                content.to_owned(),
                problem.map_or_else(|| Ok(document(String::new(), String::new())), Err),
            )?;
        }
        for path in left {
            index.remove(&path)?;
        }
        Ok(())
    }

    /// Returns what was published last. Never waits for an index that is being built.
    pub(super) fn conversation_heads(&self) -> Arc<ConversationHeads> {
        self.lock(&self.heads).clone()
    }
}

pub(super) fn put_part(index: &mut FolderIndex, listed: Listed, part: TranscriptPart) -> Result<(), LibraryError> {
    let content = fingerprint(format!("{}\n{}", part.title, part.text).as_bytes());
    if !index.holds(&listed, &content) {
        index.insert(&listed, content, Ok(document(part.title, part.text)))?;
    }
    Ok(())
}

pub(super) fn remove(index: &mut FolderIndex, id: &SessionId) -> Result<(), LibraryError> {
    let Some(folder) = folder(id) else { return Ok(()) };
    let paths: Vec<RelPath> = index.files_below(&folder).collect();
    for path in paths {
        index.remove(&path)?;
    }
    Ok(())
}

/// Returns what the paths of a conversation's parts begin with.
pub(super) fn folder(id: &SessionId) -> Option<RelPath> {
    RelPath::parse(id.as_str()).ok()
}

fn document(title: String, text: String) -> Document {
    Document { format: Format::Plain, title: Some(title), text, is_file: false }
}
