//! The positions of a file's chunks, and which chunks an edit leaves unchanged in the index, so that the cost of an edit depends
//! on the size of the change and not on the size of the file.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The highest order number of a chunk within its file: 24 bits.
const MAX_ORDER: u32 = 0xff_ffff;
/// The gap between the order numbers of a new file's chunks, so that later chunks fit in between.
const ORDER_STEP: u32 = 1024;

/// The position of a chunk in its document: the only data of a chunk that changes when the text before it changes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Position {
    /// Byte offset of the chunk.
    pub start: u32,
    /// First and last line, 1-based; zero if the document's text is not the file itself.
    lines: (u32, u32),
}

impl Position {
    pub fn new(start: usize, lines: Option<(u32, u32)>) -> Self {
        Self { start: start as u32, lines: lines.unwrap_or_default() }
    }

    pub fn lines(self) -> Option<(u32, u32)> {
        (self.lines.0 > 0).then_some(self.lines)
    }
}

/// A chunk of a file, as listed in the file's own document in the index.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "[u64; 5]", into = "[u64; 5]")]
pub(super) struct IndexedChunk {
    /// Hash of the indexed chunk: equal for chunks whose documents in the index are equal.
    hash: u64,
    /// Order number: at least 1 and ascending along the file, with gaps.
    pub order: u32,
    pub at: Position,
}

impl From<[u64; 5]> for IndexedChunk {
    fn from([hash, order, start, first, last]: [u64; 5]) -> Self {
        let at = Position { start: start as u32, lines: (first as u32, last as u32) };
        Self { hash, order: order as u32, at }
    }
}

impl From<IndexedChunk> for [u64; 5] {
    fn from(IndexedChunk { hash, order, at: Position { start, lines } }: IndexedChunk) -> Self {
        [hash, u64::from(order), u64::from(start), u64::from(lines.0), u64::from(lines.1)]
    }
}

/// A chunk of the current version of the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CurrentChunk {
    pub hash: u64,
    pub at: Position,
    /// Number of tokens, without those repeated from the chunk before.
    pub tokens: usize,
}

/// The changes to a file's chunks in the index after an edit.
#[derive(Debug, PartialEq)]
pub(super) struct ChunkEdit {
    pub chunks: Vec<IndexedChunk>,
    /// The chunks to index, by their position in the current file.
    pub written: Range<usize>,
    /// The order numbers of the chunks to delete.
    pub gone: Vec<u32>,
}

impl ChunkEdit {
    /// Compares the indexed chunks with the current ones. The stored data of a chunk depends on `reach` tokens around it.
    pub fn of(before: &[IndexedChunk], now: &[CurrentChunk], reach: usize) -> Self {
        let same = |(a, b): &(&IndexedChunk, &CurrentChunk)| a.hash == b.hash;
        let front = before.iter().zip(now).take_while(same).count();
        if front == before.len() && front == now.len() {
            let chunks = before.iter().zip(now).map(|(chunk, now)| IndexedChunk { at: now.at, ..*chunk }).collect();
            return Self { chunks, written: front..front, gone: Vec::new() };
        }
        let back = before[front..].iter().rev().zip(now[front..].iter().rev()).take_while(same).count();
        let front = front - reached(now[..front].iter().rev(), reach);
        let back = back - reached(now[now.len() - back..].iter(), reach);
        Self::keeping((front, back), before, now)
    }

    /// Keeps this many chunks at the front and at the back, or none if no order numbers are free for the chunks between them.
    fn keeping((front, back): (usize, usize), before: &[IndexedChunk], now: &[CurrentChunk]) -> Self {
        let written = front..now.len() - back;
        let kept = before.len() - back;
        let below = front.checked_sub(1).map_or(0, |last| before[last].order);
        let above = before.get(kept).map_or(MAX_ORDER + 1, |first| first.order);
        let step = ((above - below) / (written.len() as u32 + 1)).min(if back == 0 { ORDER_STEP } else { MAX_ORDER });
        if step == 0 && !written.is_empty() && front + back > 0 {
            return Self::keeping((0, 0), before, now);
        }
        let order = |number: usize| match number {
            number if number < front => before[number].order,
            number if number < written.end => below + step * (number - front + 1) as u32,
            number => before[kept + number - written.end].order,
        };
        let chunk =
            |(number, now): (usize, &CurrentChunk)| IndexedChunk { hash: now.hash, order: order(number), at: now.at };
        let gone = before[front..kept].iter().map(|chunk| chunk.order).collect();
        Self { chunks: now.iter().enumerate().map(chunk).collect(), gone, written }
    }

    /// Returns the chunks that the stored data of the written chunks depends on.
    pub fn around(&self, now: &[CurrentChunk], reach: usize) -> Range<usize> {
        let before = reached(now[..self.written.start].iter().rev(), reach);
        self.written.start - before..self.written.end + reached(now[self.written.end..].iter(), reach)
    }
}

/// Returns how many of these consecutive chunks are at most `reach` tokens away.
fn reached<'a>(chunks: impl Iterator<Item = &'a CurrentChunk>, reach: usize) -> usize {
    let mut tokens = 0;
    chunks
        .take_while(|chunk| {
            let near = tokens <= reach;
            tokens += chunk.tokens;
            near
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn now(hashes: &[u64]) -> Vec<CurrentChunk> {
        let at = |number: usize| Position::new(number * 10, Some((number as u32 + 1, number as u32 + 1)));
        hashes.iter().enumerate().map(|(number, &hash)| CurrentChunk { hash, at: at(number), tokens: 5 }).collect()
    }

    #[test]
    fn middle_edit_rewrites_only_neighbours() {
        let before = ChunkEdit::of(&[], &now(&[1, 2, 3, 4, 5, 6, 7, 8, 9]), 5);
        assert_eq!((before.written.clone(), before.gone.len()), (0..9, 0));
        let chunks = now(&[1, 2, 3, 4, 50, 51, 6, 7, 8, 9]);
        let after = ChunkEdit::of(&before.chunks, &chunks, 5);
        assert_eq!(after.written, 2..8);
        assert_eq!(after.gone, before.chunks[2..7].iter().map(|chunk| chunk.order).collect::<Vec<_>>());
        assert_eq!((after.around(&chunks, 5), after.around(&chunks, 0)), (0..10, 1..9));
        assert_eq!(after.chunks[9].order, before.chunks[8].order);
        assert_eq!(after.chunks[9].at, chunks[9].at);
    }

    #[test]
    fn moved_chunks_are_not_rewritten() {
        let before = ChunkEdit::of(&[], &now(&[1, 2, 3]), 5).chunks;
        let mut moved = now(&[1, 2, 3]);
        moved[0].at = Position::new(7, None);
        let after = ChunkEdit::of(&before, &moved, 5);
        assert!(after.written.is_empty() && after.gone.is_empty());
        assert_eq!(after.chunks[0].at, moved[0].at);
    }

    #[test]
    fn exhausted_order_rewrites_all_chunks() {
        let mut chunks = ChunkEdit::of(&[], &now(&[1, 2, 3, 4, 5, 6]), 0).chunks;
        let (mut hashes, mut all) = (vec![1, 2, 3, 4, 5, 6], 0);
        for hash in 10..40 {
            hashes.insert(3, hash);
            let edit = ChunkEdit::of(&chunks, &now(&hashes), 0);
            all += usize::from(edit.written.len() == hashes.len());
            chunks = edit.chunks;
        }
        assert!((1..10).contains(&all), "{all}");
    }

    proptest! {
        #[test]
        fn orders_grow_and_name_what_is_in_the_index(
            edits in prop::collection::vec(prop::collection::vec(0u64..6, 0..20), 1..8),
            reach in 0usize..20,
        ) {
            let mut chunks: Vec<IndexedChunk> = Vec::new();
            let mut index = std::collections::BTreeMap::new();
            for hashes in &edits {
                let edit = ChunkEdit::of(&chunks, &now(hashes), reach);
                for order in &edit.gone {
                    prop_assert!(index.remove(order).is_some());
                }
                for chunk in &edit.chunks[edit.written.clone()] {
                    prop_assert!(index.insert(chunk.order, chunk.hash).is_none());
                }
                chunks = edit.chunks;
                prop_assert!(chunks.windows(2).all(|pair| pair[0].order < pair[1].order));
                prop_assert!(chunks.iter().all(|chunk| (1..=MAX_ORDER).contains(&chunk.order)));
                let listed: Vec<_> = chunks.iter().map(|chunk| (chunk.order, chunk.hash)).collect();
                prop_assert_eq!(index.clone().into_iter().collect::<Vec<_>>(), listed);
                prop_assert_eq!(&chunks.iter().map(|chunk| chunk.hash).collect::<Vec<_>>(), hashes);
            }
        }

        #[test]
        fn place_round_trips(hash: u64, order in 1u32..MAX_ORDER, start: u32, lines: Option<(u32, u32)>) {
            let lines = lines.filter(|lines| lines.0 > 0);
            let chunk = IndexedChunk { hash, order, at: Position::new(start as usize, lines) };
            let read: IndexedChunk = serde_json::from_str(&serde_json::to_string(&chunk).unwrap()).unwrap();
            prop_assert_eq!((read, read.at.lines()), (chunk, lines));
        }
    }
}
