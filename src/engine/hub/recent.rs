//! The latest publications of one session, for subscribers that reconnect. The pieces of a streamed answer are a few
//! bytes each, so they are stored as one text with their ends, and turned into the same publications again on demand.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Publication, PublishedItem};
use crate::domain::{Event, SessionId, WorkId};

/// Maximum bytes of text in one run, so that dropping the oldest publications frees memory soon.
const LONGEST_RUN: usize = 64 << 10;

#[derive(Default)]
pub struct Recent(VecDeque<RecentItem>);

enum RecentItem {
    One(Arc<Publication>),
    Run(TextRun),
}

/// Consecutive pieces of text or thinking of one segment, each starting where the previous one ends.
struct TextRun {
    session: SessionId,
    work_id: WorkId,
    kind: TextKind,
    /// Byte offset in the segment at which the text starts.
    at: usize,
    text: String,
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Text,
    Thinking,
}

struct Piece {
    number: u64,
    /// Byte offset in the run's text.
    end: u32,
}

impl Recent {
    /// Adds a publication. Returns approximately how many bytes keeping it takes.
    pub fn push(&mut self, published: &Arc<Publication>) -> usize {
        let Some(piece) = TextRun::of(published) else {
            self.0.push_back(RecentItem::One(published.clone()));
            return published.weight();
        };
        let length = piece.text.len() + size_of::<Piece>();
        match self.0.back_mut() {
            Some(RecentItem::Run(run)) if run.is_continued_by(&piece) => {
                run.append(&piece);
                length
            }
            _ => {
                self.0.push_back(RecentItem::Run(piece));
                length + size_of::<RecentItem>()
            }
        }
    }

    /// Drops the publications up to this number, but a run only as a whole. Returns the last number dropped, if any.
    pub fn drop_until(&mut self, number: u64) -> Option<u64> {
        let gone = self.0.partition_point(|kept| kept.last_number() <= number);
        let newest = self.0.drain(..gone).next_back().map(|kept| kept.last_number());
        if newest.is_some() {
            // A burst leaves a large empty buffer.
            self.0.shrink_to(2 * self.0.len());
        }
        newest
    }

    pub fn last_number(&self) -> Option<u64> {
        self.0.back().map(RecentItem::last_number)
    }

    pub fn clear(&mut self) {
        self.0 = VecDeque::new();
    }

    /// Returns the publications after this number, in order.
    pub fn after(&self, number: u64) -> Vec<Arc<Publication>> {
        let start = self.0.partition_point(|kept| kept.last_number() <= number);
        let mut found = Vec::new();
        for kept in self.0.range(start..) {
            match kept {
                RecentItem::One(published) => found.push(published.clone()),
                RecentItem::Run(run) => found.extend(run.after(number).map(Arc::new)),
            }
        }
        found
    }
}

impl RecentItem {
    fn last_number(&self) -> u64 {
        match self {
            Self::One(published) => published.number,
            Self::Run(run) => run.pieces.last().map_or(0, |piece| piece.number),
        }
    }
}

impl TextRun {
    /// Returns a run of one piece, if this is a piece of text that can be joined.
    fn of(published: &Publication) -> Option<Self> {
        let PublishedItem::Event(event) = &published.what else { return None };
        let (work_id, at, text, kind) = match event {
            Event::Text { work_id, at, text } => (work_id, *at, text, TextKind::Text),
            Event::Thinking { work_id, at, text } => (work_id, *at, text, TextKind::Thinking),
            _ => return None,
        };
        if text.len() > LONGEST_RUN {
            return None;
        }
        let piece = Piece { number: published.number, end: u32::try_from(text.len()).ok()? };
        let (session, work_id) = (published.session.clone()?, work_id.clone());
        Some(Self { session, work_id, kind, at, text: text.clone(), pieces: vec![piece] })
    }

    fn is_continued_by(&self, next: &Self) -> bool {
        self.kind == next.kind
            && self.work_id == next.work_id
            && self.at + self.text.len() == next.at
            && self.text.len() + next.text.len() <= LONGEST_RUN
    }

    fn append(&mut self, next: &Self) {
        let before = self.text.len() as u32;
        self.text.push_str(&next.text);
        self.pieces.extend(next.pieces.iter().map(|piece| Piece { number: piece.number, end: before + piece.end }));
    }

    fn after(&self, number: u64) -> impl Iterator<Item = Publication> {
        let first = self.pieces.partition_point(|piece| piece.number <= number);
        (first..self.pieces.len()).map(|index| self.publication(index))
    }

    /// Returns a piece as it was published.
    fn publication(&self, index: usize) -> Publication {
        let start = index.checked_sub(1).map_or(0, |before| self.pieces[before].end as usize);
        let Piece { number, end } = self.pieces[index];
        let (work_id, at, text) = (self.work_id.clone(), self.at + start, self.text[start..end as usize].to_owned());
        let event = match self.kind {
            TextKind::Text => Event::Text { work_id, at, text },
            TextKind::Thinking => Event::Thinking { work_id, at, text },
        };
        Publication::new(number, Some(&self.session), PublishedItem::Event(event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn published(number: u64, event: Event) -> Arc<Publication> {
        Arc::new(Publication::new(number, Some(&SessionId::parse("s").unwrap()), PublishedItem::Event(event)))
    }

    /// Pieces of up to two works, with restarted segments, thinking and titles in between, and gaps in the numbers.
    fn events() -> impl Strategy<Value = Vec<Arc<Publication>>> {
        let step = (0..12_u8, "\\PC{0,5}", 1..4_u64);
        prop::collection::vec(step, 0..80).prop_map(|steps| {
            let (mut number, mut at, mut work) = (0, 0, 0);
            let mut all = Vec::new();
            for (kind, text, gap) in steps {
                number += gap;
                let work_id = WorkId::new(format!("w{work}"));
                let length = text.len();
                let event = match kind {
                    0 => Event::Titled { title: text },
                    1 => {
                        (work, at) = (1 - work, 0);
                        continue;
                    }
                    2 | 3 => Event::Thinking { work_id, at, text },
                    _ => Event::Text { work_id, at, text },
                };
                at = if kind == 0 { 0 } else { at + length };
                all.push(published(number, event));
            }
            all
        })
    }

    fn told(publications: &[Arc<Publication>]) -> Vec<String> {
        publications.iter().map(|one| format!("{} {:?} {:?}", one.number, one.session, one.what)).collect()
    }

    proptest! {
        #[test]
        fn replay_equals_published_events(events in events(), from in 0..200_u64, cut in 0..200_u64) {
            let mut recent = Recent::default();
            for event in &events {
                recent.push(event);
            }
            let dropped = recent.drop_until(cut).unwrap_or(0);
            prop_assert!(dropped <= cut);
            let from = from.max(dropped);
            let expected: Vec<_> = events.iter().filter(|event| event.number > from).cloned().collect();
            prop_assert_eq!(told(&recent.after(from)), told(&expected));
        }
    }

    #[test]
    fn streamed_answer_weighs_little_more_than_text() {
        let mut recent = Recent::default();
        let weight: usize = (0..1000)
            .map(|n| {
                let event = Event::Text { work_id: WorkId::new("w"), at: 5 * n, text: "word ".to_owned() };
                recent.push(&published(n as u64 + 1, event))
            })
            .sum();
        assert_eq!(weight, 1000 * (5 + size_of::<Piece>()) + size_of::<RecentItem>());
        assert_eq!(recent.0.len(), 1);
    }

    #[test]
    fn oldest_runs_are_dropped_first() {
        let mut recent = Recent::default();
        let text = "x".repeat(1000);
        for n in 0..1000 {
            let event = Event::Text { work_id: WorkId::new("w"), at: 1000 * n, text: text.clone() };
            recent.push(&published(n as u64 + 1, event));
        }
        let dropped = recent.drop_until(900).unwrap();
        assert!((900 - LONGEST_RUN as u64 / 1000..=900).contains(&dropped), "{dropped}");
    }
}
