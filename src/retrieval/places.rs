//! The positions of a file's chunks, and which chunks an edit leaves unchanged in the index, so that the cost of an edit depends
//! on the size of the change and not on the size of the file.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The highest order number of a chunk within its file: 24 bits.
const LAST: u32 = 0xff_ffff;
/// The gap between the order numbers of a new file's chunks, so that later chunks fit in between.
const STEP: u32 = 1024;

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
pub(super) struct ChunkPlace {
    /// Hash of the indexed chunk: equal for chunks whose documents in the index are equal.
    print: u64,
    /// Order number: at least 1 and ascending along the file, with gaps.
    pub order: u32,
    pub at: Position,
}

impl From<[u64; 5]> for ChunkPlace {
    fn from([print, order, start, first, last]: [u64; 5]) -> Self {
        let at = Position { start: start as u32, lines: (first as u32, last as u32) };
        Self { print, order: order as u32, at }
    }
}

impl From<ChunkPlace> for [u64; 5] {
    fn from(ChunkPlace { print, order, at: Position { start, lines } }: ChunkPlace) -> Self {
        [print, u64::from(order), u64::from(start), u64::from(lines.0), u64::from(lines.1)]
    }
}

/// A chunk of the current version of the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CurrentChunk {
    pub print: u64,
    pub at: Position,
    /// Number of tokens, without those repeated from the chunk before.
    pub tokens: usize,
}

/// The changes to a file's chunks in the index after an edit.
#[derive(Debug, PartialEq)]
pub(super) struct ChunkEdit {
    pub places: Vec<ChunkPlace>,
    /// The chunks to index, by their position in the current file.
    pub written: Range<usize>,
    /// The order numbers of the chunks to delete.
    pub gone: Vec<u32>,
}

impl ChunkEdit {
    /// Compares the indexed chunks with the current ones. The stored data of a chunk depends on `reach` tokens around it.
    pub fn of(before: &[ChunkPlace], now: &[CurrentChunk], reach: usize) -> Self {
        let same = |(a, b): &(&ChunkPlace, &CurrentChunk)| a.print == b.print;
        let front = before.iter().zip(now).take_while(same).count();
        if front == before.len() && front == now.len() {
            let places = before.iter().zip(now).map(|(place, now)| ChunkPlace { at: now.at, ..*place }).collect();
            return Self { places, written: front..front, gone: Vec::new() };
        }
        let back = before[front..].iter().rev().zip(now[front..].iter().rev()).take_while(same).count();
        let front = front - reached(now[..front].iter().rev(), reach);
        let back = back - reached(now[now.len() - back..].iter(), reach);
        Self::keeping((front, back), before, now)
    }

    /// Keeps this many chunks at the front and at the back, or none if no order numbers are free for the chunks between them.
    fn keeping((front, back): (usize, usize), before: &[ChunkPlace], now: &[CurrentChunk]) -> Self {
        let written = front..now.len() - back;
        let kept = before.len() - back;
        let below = front.checked_sub(1).map_or(0, |last| before[last].order);
        let above = before.get(kept).map_or(LAST + 1, |first| first.order);
        let step = ((above - below) / (written.len() as u32 + 1)).min(if back == 0 { STEP } else { LAST });
        if step == 0 && !written.is_empty() && front + back > 0 {
            return Self::keeping((0, 0), before, now);
        }
        let order = |number: usize| match number {
            number if number < front => before[number].order,
            number if number < written.end => below + step * (number - front + 1) as u32,
            number => before[kept + number - written.end].order,
        };
        let place =
            |(number, now): (usize, &CurrentChunk)| ChunkPlace { print: now.print, order: order(number), at: now.at };
        let gone = before[front..kept].iter().map(|place| place.order).collect();
        Self { places: now.iter().enumerate().map(place).collect(), gone, written }
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

    fn now(prints: &[u64]) -> Vec<CurrentChunk> {
        let at = |number: usize| Position::new(number * 10, Some((number as u32 + 1, number as u32 + 1)));
        prints.iter().enumerate().map(|(number, &print)| CurrentChunk { print, at: at(number), tokens: 5 }).collect()
    }

    #[test]
    fn middle_edit_rewrites_only_neighbours() {
        let before = ChunkEdit::of(&[], &now(&[1, 2, 3, 4, 5, 6, 7, 8, 9]), 5);
        assert_eq!((before.written.clone(), before.gone.len()), (0..9, 0));
        let chunks = now(&[1, 2, 3, 4, 50, 51, 6, 7, 8, 9]);
        let after = ChunkEdit::of(&before.places, &chunks, 5);
        assert_eq!(after.written, 2..8);
        assert_eq!(after.gone, before.places[2..7].iter().map(|place| place.order).collect::<Vec<_>>());
        assert_eq!((after.around(&chunks, 5), after.around(&chunks, 0)), (0..10, 1..9));
        assert_eq!(after.places[9].order, before.places[8].order);
        assert_eq!(after.places[9].at, chunks[9].at);
    }

    #[test]
    fn moved_chunks_are_not_rewritten() {
        let before = ChunkEdit::of(&[], &now(&[1, 2, 3]), 5).places;
        let mut moved = now(&[1, 2, 3]);
        moved[0].at = Position::new(7, None);
        let after = ChunkEdit::of(&before, &moved, 5);
        assert!(after.written.is_empty() && after.gone.is_empty());
        assert_eq!(after.places[0].at, moved[0].at);
    }

    #[test]
    fn exhausted_order_rewrites_all_chunks() {
        let mut places = ChunkEdit::of(&[], &now(&[1, 2, 3, 4, 5, 6]), 0).places;
        let (mut prints, mut all) = (vec![1, 2, 3, 4, 5, 6], 0);
        for print in 10..40 {
            prints.insert(3, print);
            let edit = ChunkEdit::of(&places, &now(&prints), 0);
            all += usize::from(edit.written.len() == prints.len());
            places = edit.places;
        }
        assert!((1..10).contains(&all), "{all}");
    }

    proptest! {
        #[test]
        fn orders_grow_and_name_what_is_in_the_index(
            edits in prop::collection::vec(prop::collection::vec(0u64..6, 0..20), 1..8),
            reach in 0usize..20,
        ) {
            let mut places: Vec<ChunkPlace> = Vec::new();
            let mut index = std::collections::BTreeMap::new();
            for prints in &edits {
                let edit = ChunkEdit::of(&places, &now(prints), reach);
                for order in &edit.gone {
                    prop_assert!(index.remove(order).is_some());
                }
                for place in &edit.places[edit.written.clone()] {
                    prop_assert!(index.insert(place.order, place.print).is_none());
                }
                places = edit.places;
                prop_assert!(places.windows(2).all(|pair| pair[0].order < pair[1].order));
                prop_assert!(places.iter().all(|place| (1..=LAST).contains(&place.order)));
                let listed: Vec<_> = places.iter().map(|place| (place.order, place.print)).collect();
                prop_assert_eq!(index.clone().into_iter().collect::<Vec<_>>(), listed);
                prop_assert_eq!(&places.iter().map(|place| place.print).collect::<Vec<_>>(), prints);
            }
        }

        #[test]
        fn place_round_trips(print: u64, order in 1u32..LAST, start: u32, lines: Option<(u32, u32)>) {
            let lines = lines.filter(|lines| lines.0 > 0);
            let place = ChunkPlace { print, order, at: Position::new(start as usize, lines) };
            let read: ChunkPlace = serde_json::from_str(&serde_json::to_string(&place).unwrap()).unwrap();
            prop_assert_eq!((read, read.at.lines()), (place, lines));
        }
    }
}
