//! The writer of a chunk index. It takes 2.5 MB and three threads, so it exists only from the first change until there has
//! been none for a while.

use std::time::{Duration, Instant};

use tantivy::indexer::IndexWriterOptions;
use tantivy::{Index, IndexWriter};

/// Maximum bytes that the writer buffers before it writes a segment; tantivy's minimum.
const MEMORY: usize = 15_000_000;
/// Time without a change after which the writer is released.
const IDLE: Duration = Duration::from_secs(30);

/// Creates a writer with one thread for documents and one for merging segments.
pub(super) fn writer(index: &Index) -> tantivy::Result<IndexWriter> {
    let options = IndexWriterOptions::builder().memory_budget_per_thread(MEMORY);
    index.writer_with_options(options.num_worker_threads(1).num_merge_threads(1).build())
}

#[derive(Default)]
pub(super) struct ChunkWriter {
    writer: Option<IndexWriter>,
    /// When the last change was committed; absent if there are changes since.
    committed_at: Option<Instant>,
}

impl ChunkWriter {
    /// Returns the writer for a change or a commit.
    pub fn get(&mut self, index: &Index) -> tantivy::Result<&mut IndexWriter> {
        self.committed_at = None;
        match &mut self.writer {
            Some(writer) => Ok(writer),
            none => Ok(none.insert(writer(index)?)),
        }
    }

    /// Notes that all changes are committed.
    pub fn committed(&mut self) {
        self.committed_at = Some(Instant::now());
    }

    /// Drops the writer with the changes that are not committed. One that failed once keeps failing.
    pub fn discard(&mut self) {
        *self = Self::default();
    }

    /// Waits until segments that are being merged are merged, and releases the writer.
    pub fn finish(&mut self) -> tantivy::Result<()> {
        self.writer.take().map_or(Ok(()), IndexWriter::wait_merging_threads)
    }

    /// Releases the writer if at `now` nothing has been changed for [`IDLE`]. Returns whether it was released.
    pub fn finish_if_idle(&mut self, now: Instant) -> tantivy::Result<bool> {
        let is_idle = self.committed_at.is_some_and(|at| now.saturating_duration_since(at) >= IDLE);
        if !is_idle || self.writer.is_none() {
            return Ok(false);
        }
        self.finish().map(|()| true)
    }
}

#[cfg(test)]
mod tests {
    use tantivy::doc;
    use tantivy::schema::{STRING, Schema};

    use super::*;

    #[test]
    fn writer_is_released_when_idle_and_not_with_changes() {
        let mut schema = Schema::builder();
        let text = schema.add_text_field("text", STRING);
        let index = Index::create_in_ram(schema.build());
        let mut writer = ChunkWriter::default();
        let later = || Instant::now() + IDLE;
        assert!(!writer.finish_if_idle(later()).unwrap(), "there is none yet");
        for number in 1..4 {
            writer.get(&index).unwrap().add_document(doc!(text => "a")).unwrap();
            assert!(!writer.finish_if_idle(later()).unwrap(), "the document is not committed");
            writer.get(&index).unwrap().commit().unwrap();
            writer.committed();
            assert!(!writer.finish_if_idle(Instant::now()).unwrap(), "the commit was a moment ago");
            assert!(writer.finish_if_idle(later()).unwrap());
            assert!(writer.writer.is_none() && !writer.finish_if_idle(later()).unwrap());
            assert_eq!(index.reader().unwrap().searcher().num_docs(), number);
        }
        writer.get(&index).unwrap().add_document(doc!(text => "a")).unwrap();
        writer.discard();
        writer.get(&index).unwrap().commit().unwrap();
        assert_eq!(index.reader().unwrap().searcher().num_docs(), 3, "the last one was not committed");
    }
}
