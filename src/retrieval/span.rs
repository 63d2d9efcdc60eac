//! Spans: the text around candidates, measured in tokens. Windows are chosen within them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use tantivy::DocAddress;

use super::lexical::Snapshot;
use super::prepared::PackedUnit;

/// Standard deviation of the kernel, as a share of the window's length.
pub(super) const SPREAD: f64 = 0.375;

/// The length of a window in tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowLimit(pub usize);

/// The kernel by twice the distance in tokens, because middles lie at half tokens.
pub(super) struct Kernel(Vec<f64>);

impl Kernel {
    /// `spread` is the standard deviation as a share of the window's length.
    pub fn of(WindowLimit(limit): WindowLimit, spread: f64) -> Self {
        let sigma = limit as f64 * spread;
        Self((0..=2 * limit).map(|twice| (-0.5 * (twice as f64 / 2.0 / sigma).powi(2)).exp()).collect())
    }

    pub fn at(&self, twice: u32) -> f64 {
        self.0.get(twice as usize).copied().unwrap_or_default()
    }
}

/// For each chunk of a document, the sum of the lengths (in terms, weighted by the kernel) of the windows around its fresh
/// units. `chunks` are the units of each chunk.
pub(super) fn lengths(chunks: &[&[PackedUnit]], limit: WindowLimit) -> Vec<f64> {
    let mut units = Vec::new();
    let mut of_chunk = Vec::new();
    for (number, chunk) in chunks.iter().enumerate() {
        for unit in chunk.iter().filter(|unit| unit.fresh) {
            units.push(*unit);
            of_chunk.push((number, chunk.first().map_or(0, |first| first.first_term)));
        }
    }
    let offsets = TokenOffsets::new(units.iter().map(|unit| unit.tokens));
    let kernel = Kernel::of(limit, SPREAD);
    let mut sums = vec![0.0; chunks.len()];
    for (centre, &(chunk, head)) in of_chunk.iter().enumerate() {
        let around = offsets.window(centre, limit);
        let spread = around.map(|at| kernel.at(offsets.twice(at, centre)) * f64::from(units[at].terms));
        sums[chunk] += spread.sum::<f64>() + f64::from(head);
    }
    sums
}

/// Where units stand, counted in tokens.
pub(super) struct TokenOffsets {
    /// The token each unit begins with, and the end of the last.
    pub starts: Vec<u32>,
}

impl TokenOffsets {
    fn new(tokens: impl Iterator<Item = u32>) -> Self {
        let mut starts = vec![0];
        let mut at = 0;
        starts.extend(tokens.map(|tokens| {
            at += tokens;
            at
        }));
        Self { starts }
    }

    pub fn units(&self) -> usize {
        self.starts.len() - 1
    }

    /// The units around `centre` that fit the limit: as much before as after it, or more on one side at either end of
    /// the document.
    pub fn window(&self, centre: usize, WindowLimit(limit): WindowLimit) -> Range<usize> {
        let limit = limit as u32;
        let (starts, units) = (&self.starts, self.units());
        let own = starts[centre + 1] - starts[centre];
        let left = starts[centre].saturating_sub(limit.saturating_sub(own) / 2);
        let mut first = starts[..centre].partition_point(|&start| start < left);
        let fits = |from: usize, to: usize| starts[to] - starts[from] <= limit;
        let mut end = centre + 1;
        while end < units && fits(first, end + 1) {
            end += 1;
        }
        while end == units && first > 0 && fits(first - 1, end) {
            first -= 1;
        }
        first..end
    }

    /// Twice the distance between the middles of two units.
    pub fn twice(&self, a: usize, b: usize) -> u32 {
        let middle = |unit: usize| self.starts[unit] + self.starts[unit + 1];
        middle(a).abs_diff(middle(b))
    }
}

/// A chunk of a span.
pub(super) struct SpanPart {
    pub chunk: DocAddress,
    pub units: Arc<[PackedUnit]>,
}

/// Some chunks of a document that follow each other.
pub(super) struct Span {
    pub parts: Vec<SpanPart>,
    /// Part (by its place) and unit, without what a chunk repeats.
    pub units: Vec<(usize, PackedUnit)>,
    /// The units of each part, without what it repeats.
    pub own: Vec<Range<usize>>,
    pub offsets: TokenOffsets,
}

impl Span {
    fn of(part: SpanPart) -> Self {
        Self { parts: vec![part], units: Vec::new(), own: Vec::new(), offsets: TokenOffsets::new(std::iter::empty()) }
    }

    /// The fresh unit of a chunk (by its place) that a byte lies in, counted from the chunk's begin.
    pub fn fresh_unit(&self, place: usize, byte: u32) -> Option<usize> {
        let own = self.own[place].clone();
        let after = self.units[own.clone()].partition_point(|(_, unit)| unit.start <= byte);
        let at = own.start + after.checked_sub(1)?;
        self.units[at].1.fresh.then_some(at)
    }

    /// Whether the next chunk begins with this unit, or before it.
    pub fn repeats(&self, unit: usize) -> bool {
        let place = self.units[unit].0;
        let Some(next) = self.parts.get(place + 1) else { return false };
        let repeated: u32 = next.units.iter().filter(|unit| !unit.fresh).map(|unit| unit.tokens).sum();
        self.offsets.starts[self.own[place].end] - self.offsets.starts[unit] <= repeated
    }
}

/// The candidates with enough of what stands around them, each document's in runs without a gap.
pub(super) fn spans(
    snapshot: &Snapshot,
    candidates: &BTreeSet<DocAddress>,
    WindowLimit(limit): WindowLimit,
) -> Vec<Span> {
    let mut chunks: BTreeMap<u32, SpanPart> = BTreeMap::new();
    let part = |chunk: DocAddress| SpanPart { chunk, units: snapshot.units(chunk) };
    for &candidate in candidates {
        let rank = snapshot.rank(candidate);
        chunks.entry(rank).or_insert_with(|| part(candidate));
        for step in [-1, 1] {
            let mut tokens = 0;
            let mut at = rank;
            while tokens < limit as u32 {
                let Some(next) = at.checked_add_signed(step) else { break };
                let Some(chunk) = snapshot.of_same_file(next, candidate) else { break };
                let SpanPart { units, .. } = chunks.entry(next).or_insert_with(|| part(chunk));
                tokens += units.iter().filter(|unit| unit.fresh).map(|unit| unit.tokens).sum::<u32>().max(1);
                at = next;
            }
        }
    }
    let mut spans: Vec<Span> = Vec::new();
    let mut next = None;
    for (rank, part) in chunks {
        let follows = |span: &Span| {
            next == Some(rank) && span.parts.last().is_some_and(|last| snapshot.same_file(last.chunk, part.chunk))
        };
        match spans.last_mut() {
            Some(span) if follows(span) => span.parts.push(part),
            _ => spans.push(Span::of(part)),
        }
        next = Some(rank + 1);
    }
    for span in &mut spans {
        for (number, part) in span.parts.iter().enumerate() {
            // What the first chunk repeats stands nowhere else in the span.
            let kept = part.units.iter().filter(|unit| unit.fresh || number == 0);
            let before = span.units.len();
            span.units.extend(kept.map(|unit| (number, *unit)));
            span.own.push(before..span.units.len());
        }
        span.offsets = TokenOffsets::new(span.units.iter().map(|(_, unit)| unit.tokens));
    }
    spans
}
