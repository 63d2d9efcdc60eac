//! Spans: the text around candidates, measured in tokens. Windows are subranges of spans.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use tantivy::DocAddress;

use super::prepared::PackedUnit;
use super::snapshot::IndexSnapshot;

/// Standard deviation of the kernel, as a fraction of the window's length.
pub(super) const SPREAD: f64 = 0.375;

/// Maximum length of a window in tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowLimit(pub usize);

/// The Gaussian kernel, indexed by twice the distance in tokens because the middle of a unit can be at half a token.
pub(super) struct Kernel(Vec<f64>);

impl Kernel {
    /// Creates a kernel; `spread` is the standard deviation as a fraction of the window's length.
    pub fn of(WindowLimit(limit): WindowLimit, spread: f64) -> Self {
        let sigma = limit as f64 * spread;
        Self((0..=2 * limit).map(|doubled| (-0.5 * (doubled as f64 / 2.0 / sigma).powi(2)).exp()).collect())
    }

    pub fn at(&self, doubled: u32) -> f64 {
        self.0.get(doubled as usize).copied().unwrap_or_default()
    }
}

/// Returns, for each chunk of a document, the sum of the lengths (in terms, weighted by the kernel) of the windows around its
/// fresh units. `chunks` contains the units of each chunk.
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
    for (centre, &(chunk, heading_terms)) in of_chunk.iter().enumerate() {
        let around = offsets.window(centre, limit);
        let spread = around.map(|at| kernel.at(offsets.doubled_distance(at, centre)) * f64::from(units[at].terms));
        sums[chunk] += spread.sum::<f64>() + f64::from(heading_terms);
    }
    sums
}

/// The token offsets of units.
pub(super) struct TokenOffsets {
    /// The start of each unit in tokens, and the end of the last one.
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

    /// Returns the units around `centre` that fit the limit: as many tokens before as after it, or more on one side at either
    /// end of the span.
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

    /// Returns twice the distance between the middles of two units, in tokens.
    pub fn doubled_distance(&self, a: usize, b: usize) -> u32 {
        let middle = |unit: usize| self.starts[unit] + self.starts[unit + 1];
        middle(a).abs_diff(middle(b))
    }
}

/// A chunk of a span.
pub(super) struct SpanPart {
    pub chunk: DocAddress,
    pub units: Arc<[PackedUnit]>,
}

/// Consecutive chunks of a document.
pub(super) struct Span {
    pub parts: Vec<SpanPart>,
    /// The units with the index of their part, without units repeated from the chunk before.
    pub units: Vec<(usize, PackedUnit)>,
    /// The range in `units` of each part.
    pub own: Vec<Range<usize>>,
    pub offsets: TokenOffsets,
}

impl Span {
    fn of(part: SpanPart) -> Self {
        Self { parts: vec![part], units: Vec::new(), own: Vec::new(), offsets: TokenOffsets::new(std::iter::empty()) }
    }

    /// Returns whether the next chunk repeats this unit.
    pub fn repeats(&self, unit: usize) -> bool {
        let part_index = self.units[unit].0;
        let Some(next) = self.parts.get(part_index + 1) else { return false };
        let repeated: u32 = next.units.iter().filter(|unit| !unit.fresh).map(|unit| unit.tokens).sum();
        self.offsets.starts[self.own[part_index].end] - self.offsets.starts[unit] <= repeated
    }
}

/// Returns the candidates with at least `limit` tokens of context on either side, where the file has them, as spans without
/// gaps.
pub(super) fn spans(
    snapshot: &IndexSnapshot,
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
            // Units that the first chunk repeats occur nowhere else in the span.
            let kept = part.units.iter().filter(|unit| unit.fresh || number == 0);
            let before = span.units.len();
            span.units.extend(kept.map(|unit| (number, *unit)));
            span.own.push(before..span.units.len());
        }
        span.offsets = TokenOffsets::new(span.units.iter().map(|(_, unit)| unit.tokens));
    }
    spans
}
