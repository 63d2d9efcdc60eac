//! Passages: the text of a window, put together from the chunks that it spans.

use tantivy::DocAddress;

use super::chunk_index::StoredChunk;
use super::snapshot::IndexSnapshot;

/// A continuous part of a file's text.
pub(super) struct Passage {
    pub text: String,
    pub source: String,
    /// The headings above the chunk that the passage was requested for.
    pub heading: String,
    /// Byte range in the file's text.
    pub range: std::ops::Range<usize>,
    pub lines: Option<(u32, u32)>,
}

impl Passage {
    /// Restores the whitespace between two chunks; if lines are known, with the original number of line breaks.
    fn gap(&mut self, next: &StoredChunk, start: usize) {
        if self.text.is_empty() || start == self.range.end {
            return;
        }
        let known = self.lines.zip(next.lines).map(|((first, _), (next, _))| next.saturating_sub(first));
        let missing = known.map_or(2, |lines| lines.saturating_sub(newlines(&self.text)));
        self.text.push_str(&if missing == 0 { " ".to_owned() } else { "\n".repeat(missing as usize) });
    }
}

fn newlines(text: &str) -> u32 {
    text.bytes().filter(|&byte| byte == b'\n').count() as u32
}

impl IndexSnapshot {
    /// Returns the text from `begin` to `end`, with the heading of the chunk `centre` between them. `begin` and `end` are each a
    /// chunk and a byte offset in it; both are in the same file, and `begin` comes first. Reads each chunk once.
    ///
    /// # Errors
    /// See [`IndexSnapshot::chunk`].
    pub(super) fn passage(
        &self,
        begin: (DocAddress, u32),
        end: (DocAddress, u32),
        centre: DocAddress,
    ) -> tantivy::Result<Passage> {
        let first = self.chunk(begin.0)?;
        let from = first.range.start + begin.1 as usize;
        let line =
            |chunk: &StoredChunk, bytes: usize| chunk.lines.map(|(line, _)| line + newlines(&chunk.text[..bytes]));
        let mut passage = Passage {
            text: String::new(),
            source: first.source.clone(),
            heading: String::new(),
            range: from..from,
            lines: line(&first, begin.1 as usize).map(|line| (line, line)),
        };
        let (mut rank, last) = (self.rank(begin.0), self.rank(end.0));
        let (mut address, mut chunk) = (begin.0, first);
        loop {
            if address == centre {
                passage.heading = std::mem::take(&mut chunk.heading);
            }
            let to = if rank == last { chunk.range.start + end.1 as usize } else { chunk.range.end };
            let start = passage.range.end.max(chunk.range.start);
            passage.gap(&chunk, start);
            passage.text.push_str(&chunk.text[start - chunk.range.start..to.max(start) - chunk.range.start]);
            passage.range.end = to;
            if rank == last {
                break;
            }
            rank += 1;
            let Some(next) = self.of_same_file(rank, address) else { break };
            (address, chunk) = (next, self.chunk(next)?);
        }
        let kept = passage.text.trim_end().len();
        passage.range.end -= passage.text.len() - kept;
        passage.text.truncate(kept);
        if let Some((first, last)) = &mut passage.lines {
            *last = *first + newlines(&passage.text);
        }
        Ok(passage)
    }
}
