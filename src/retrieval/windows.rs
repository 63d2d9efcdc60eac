//! Answer windows: the text around the unit that answers best, instead of the chunk that contains it.
//!
//! The retrievers find chunks by words and vectors; then every unit of these chunks is a possible centre of an answer. The
//! window is about as long as a chunk with its centre in the middle, and may begin in one chunk and end in the next. Terms
//! count more the nearer they are to the centre (a Gaussian kernel, as in positional language models: Lv and Zhai 2009), and
//! neighbouring words of the question that occur close together count extra (as in sequential dependence: Metzler and Croft
//! 2005). On the data sets of docs/retrieval.md this improves results more than any embedding model.

use std::collections::BTreeSet;
use std::ops::Range;

use tantivy::DocAddress;

use super::analyse::QueryTerm;
use super::lexical::{TermMatches, TermPositions, idf};
use super::prepared::PackedUnit;
use super::snapshot::IndexSnapshot;
use super::span::{Kernel, SPREAD, Span, spans};

pub use super::span::WindowLimit;

/// BM25's `k1` (term frequency saturation) and `b` (length normalisation) for windows, which vary less in length than chunks.
const K1: f64 = 1.2;
const B: f64 = 0.4;
/// Weight of two words of the question that occur close together, relative to the words themselves.
const PAIR_WEIGHT: f64 = 0.3;
/// Maximum distance between the two words, in terms.
const PAIR_REACH: u32 = 4;

/// A range of a document that may be an answer.
pub struct Window {
    /// The chunk that contains its centre.
    pub chunk: DocAddress,
    /// The chunk that repeats its centre, if one does.
    pub overlapping_chunk: Option<DocAddress>,
    /// Tie-breaker for equal scores: the chunk's rank and the centre's byte offset.
    pub tie_breaker: (u32, u32),
    /// Where it begins: a chunk, and a byte offset in that chunk.
    pub begin: (DocAddress, u32),
    pub end: (DocAddress, u32),
    /// Sum of the scores of its terms and pairs.
    pub score: f64,
    /// The span that contains it, the span's unit that is the centre, and the span's units that are in the window.
    pub(super) span: usize,
    pub(super) centre: usize,
    pub(super) around: Range<usize>,
    /// Token range in the span.
    tokens: Range<u32>,
}

impl Window {
    /// Returns the number of tokens that both windows contain.
    pub fn shared(&self, other: &Window) -> u32 {
        if self.span != other.span {
            return 0;
        }
        let (from, to) = (self.tokens.start.max(other.tokens.start), self.tokens.end.min(other.tokens.end));
        to.saturating_sub(from)
    }

    pub fn length(&self) -> u32 {
        self.tokens.end - self.tokens.start
    }
}

/// Two consecutive words of the question.
pub struct Pair {
    pub first: usize,
    pub second: usize,
    /// Number of the best chunks that contain them close together.
    pub document_frequency: u32,
    idf: f64,
}

/// The candidate chunks of each retriever.
pub(super) struct Candidates<'a> {
    pub lexical: &'a [DocAddress],
    pub vector: &'a [DocAddress],
}

/// The windows around the candidates, scored by their words.
pub(super) struct ScoredWindows<'a> {
    pub windows: Vec<Window>,
    /// The spans that contain the windows.
    pub spans: Vec<Span>,
    /// Term counts of each span.
    counts: Vec<Counts>,
    scorer: Scorer<'a>,
}

/// Scores the windows around all units of `candidates`.
///
/// # Errors
/// Returns an error if the index cannot be read.
pub(super) fn windows<'a>(
    snapshot: &'a IndexSnapshot,
    matches: &'a [TermMatches],
    candidates: &Candidates,
    limit: WindowLimit,
) -> tantivy::Result<ScoredWindows<'a>> {
    let wanted: BTreeSet<DocAddress> = candidates.lexical.iter().chain(candidates.vector).copied().collect();
    let spans = spans(snapshot, &wanted, limit);
    let mut involved: Vec<DocAddress> = spans.iter().flat_map(|s| s.parts.iter().map(|part| part.chunk)).collect();
    involved.sort_unstable();
    let mut term_positions = Vec::with_capacity(matches.len());
    for term in matches {
        term_positions.push(snapshot.term_positions(term, &involved)?);
    }
    let kernel = Kernel::of(limit, SPREAD);
    let mut scorer = Scorer { snapshot, matches, pairs: Vec::new(), involved, term_positions, limit, kernel };
    scorer.pairs = scorer.pairs_in(candidates.lexical);
    let counts: Vec<Counts> = spans.iter().map(|span| scorer.counts(span)).collect();
    let mut windows = Vec::with_capacity(spans.iter().map(|span| span.units.len()).sum());
    for (number, (span, counts)) in spans.iter().zip(&counts).enumerate() {
        scorer.score((number, span), counts, &wanted, &mut windows);
    }
    Ok(ScoredWindows { windows, spans, counts, scorer })
}

impl ScoredWindows<'_> {
    /// Returns, for each span, whether each of its units is in a window.
    pub fn units_in_windows(&self) -> Vec<Vec<bool>> {
        let mut in_window: Vec<Vec<bool>> = self.spans.iter().map(|span| vec![false; span.units.len()]).collect();
        for window in &self.windows {
            in_window[window.span][window.around.clone()].fill(true);
        }
        in_window
    }

    pub fn pairs(&self) -> &[Pair] {
        &self.scorer.pairs
    }

    /// Returns, for each term and then each pair, its score in a window and its number of occurrences, including those in the
    /// headings above.
    pub fn parts(&self, window: &Window) -> impl Iterator<Item = (f64, u32)> {
        let (span, counts) = (&self.spans[window.span], &self.counts[window.span]);
        self.scorer.parts(span, counts, (window.centre, window.around.clone()))
    }
}

struct Scorer<'a> {
    snapshot: &'a IndexSnapshot,
    matches: &'a [TermMatches],
    pairs: Vec<Pair>,
    /// The chunks of all spans, sorted by address.
    involved: Vec<DocAddress>,
    /// The positions of each term in the involved chunks.
    term_positions: Vec<TermPositions>,
    limit: WindowLimit,
    kernel: Kernel,
}

/// Occurrences of terms and pairs in the units of a span, and in the headings above them.
struct Counts {
    /// For each term or pair: the units that contain it, in order, and how often. Sparse, because most units contain no term.
    units: Vec<Vec<(usize, u32)>>,
    /// Occurrences in the headings, by term or pair, then by chunk. Occurrences without a known position count here too.
    headings: Vec<Vec<u32>>,
}

impl Counts {
    /// Returns the units among `around` that contain a term or pair.
    fn within(&self, kind: usize, around: &Range<usize>) -> &[(usize, u32)] {
        let units = &self.units[kind];
        let index_of = |unit: usize| units.partition_point(|&(at, _)| at < unit);
        &units[index_of(around.start)..index_of(around.end)]
    }
}

impl Scorer<'_> {
    /// Returns the consecutive words of the question that occur close together in at least one of these chunks. Skips character
    /// pairs, which already encode adjacency. Estimates the idf of a pair from these chunks only: an exact one would have to
    /// read all chunks.
    fn pairs_in(&self, chunks: &[DocAddress]) -> Vec<Pair> {
        let word = |term: &TermMatches| matches!(&term.term, QueryTerm::Term(term) if term.is_ascii());
        let neighbours = self.matches.windows(2).enumerate().filter(|(_, pair)| word(&pair[0]) && word(&pair[1]));
        let among = |chunk: &DocAddress| self.involved.binary_search(chunk).ok();
        let pair = |first: usize| {
            let holds = |&number: &usize| self.together(first, first + 1, number).next().is_some();
            let document_frequency = chunks.iter().filter_map(among).filter(holds).count() as u32;
            Pair { first, second: first + 1, document_frequency, idf: idf(self.snapshot.len(), document_frequency) }
        };
        neighbours.map(|(first, _)| pair(first)).filter(|pair| pair.document_frequency > 0).collect()
    }

    /// Returns the positions of `first` near `second` in the involved chunk with this number.
    fn together(&self, first: usize, second: usize, number: usize) -> impl Iterator<Item = u32> {
        let seconds = self.term_positions[second].of(number);
        let near = |first: &u32| seconds.iter().any(|second| second != first && second.abs_diff(*first) <= PAIR_REACH);
        self.term_positions[first].of(number).iter().copied().filter(near)
    }

    fn score(
        &self,
        (number, span): (usize, &Span),
        counts: &Counts,
        wanted: &BTreeSet<DocAddress>,
        found: &mut Vec<Window>,
    ) {
        for (part_index, part) in span.parts.iter().enumerate().filter(|(_, part)| wanted.contains(&part.chunk)) {
            let own = span.own[part_index].clone();
            let centres: Vec<usize> = own.clone().filter(|&at| span.units[at].1.fresh).collect();
            let around: Vec<Range<usize>> =
                centres.iter().map(|&centre| span.offsets.window(centre, self.limit)).collect();
            let reached = around.first().zip(around.last()).map(|(first, last)| first.start..last.end);
            let has_match =
                |reached: Range<usize>| (0..counts.units.len()).any(|kind| !counts.within(kind, &reached).is_empty());
            if reached.is_some_and(has_match) {
                let windows = centres.into_iter().zip(around);
                found.extend(windows.map(|window| self.window((number, span), counts, window)));
                continue;
            }
            // Only the headings above or the vector match the question: then the whole chunk is the answer.
            let (Some(first), Some(last)) = (part.units.first(), part.units.last()) else { continue };
            let Some(&middle) = centres.get(centres.len() / 2) else { continue };
            let whole = self.window((number, span), counts, (middle, own));
            found.push(Window {
                begin: (part.chunk, first.start),
                end: (part.chunk, last.start + last.bytes),
                ..whole
            });
        }
    }

    fn counts(&self, span: &Span) -> Counts {
        let kinds = self.matches.len() + self.pairs.len();
        let mut counts = Counts { units: vec![Vec::new(); kinds], headings: vec![vec![0; span.parts.len()]; kinds] };
        for (part_index, part) in span.parts.iter().enumerate() {
            let Ok(number) = self.involved.binary_search(&part.chunk) else { continue };
            let heading_terms = part.units.first().map_or(0, |unit| unit.first_term);
            for term in 0..self.matches.len() {
                let positions = self.term_positions[term].of(number);
                let in_heading =
                    positions.iter().filter(|&&position| position < heading_terms || position == u32::MAX).count();
                counts.headings[term][part_index] = in_heading as u32;
                count(span, part_index, positions.iter().copied().skip(in_heading), &mut counts.units[term]);
            }
            for (pair, units) in self.pairs.iter().zip(&mut counts.units[self.matches.len()..]) {
                count(span, part_index, self.together(pair.first, pair.second, number), units);
            }
        }
        counts
    }

    /// Returns each term's and pair's score in the window `around` a `centre`, and its number of occurrences there.
    fn parts<'w>(
        &'w self,
        span: &'w Span,
        counts: &'w Counts,
        (centre, around): (usize, Range<usize>),
    ) -> impl Iterator<Item = (f64, u32)> + 'w {
        let part_index = span.units[centre].0;
        let weight = move |at: usize| self.kernel.at(span.offsets.doubled_distance(at, centre));
        let heading_terms = span.parts[part_index].units.first().map_or(0, |unit| unit.first_term);
        let terms = around.clone().map(|at| weight(at) * f64::from(span.units[at].1.terms));
        let length = f64::from(heading_terms) + terms.sum::<f64>();
        let long = 1.0 - B + B * length / self.snapshot.average_window().max(f64::MIN_POSITIVE);
        counts.headings.iter().enumerate().map(move |(kind, in_headings)| {
            let within = counts.within(kind, &around);
            let weighed = within.iter().map(|&(at, times)| weight(at) * f64::from(times));
            let frequency = f64::from(in_headings[part_index]) + weighed.sum::<f64>();
            let saturated =
                |long: f64| if frequency > 0.0 { frequency * (K1 + 1.0) / (frequency + K1 * long) } else { 0.0 };
            let part = match kind.checked_sub(self.matches.len()) {
                None => self.matches[kind].weight() * saturated(long),
                Some(pair) => PAIR_WEIGHT * self.pairs[pair].idf * saturated(1.0),
            };
            (part, in_headings[part_index] + within.iter().map(|&(_, times)| times).sum::<u32>())
        })
    }

    fn window(
        &self,
        (number, span): (usize, &Span),
        counts: &Counts,
        (centre, around): (usize, Range<usize>),
    ) -> Window {
        let score = self.parts(span, counts, (centre, around.clone())).map(|(part, _)| part).sum();
        let (part_index, centre_unit) = span.units[centre];
        let (first, last) = (span.units[around.start], span.units[around.end - 1]);
        let chunk_of = |(part_index, _): (usize, PackedUnit)| span.parts[part_index].chunk;
        Window {
            chunk: span.parts[part_index].chunk,
            overlapping_chunk: span.repeats(centre).then(|| span.parts[part_index + 1].chunk),
            tie_breaker: (self.snapshot.rank(span.parts[part_index].chunk), centre_unit.start),
            begin: (chunk_of(first), first.1.start),
            end: (chunk_of(last), last.1.start + last.1.bytes),
            score,
            span: number,
            centre,
            tokens: span.offsets.starts[around.start]..span.offsets.starts[around.end],
            around,
        }
    }
}

/// Adds to `counted` how many of `positions` are in each unit of a part of the span. `positions` are ascending; those in
/// units repeated from the part before are not counted again.
fn count(span: &Span, part_index: usize, positions: impl Iterator<Item = u32>, counted: &mut Vec<(usize, u32)>) {
    let own = span.own[part_index].clone();
    let mut at = own.start;
    for position in positions {
        while at + 1 < own.end && span.units[at + 1].1.first_term <= position {
            at += 1;
        }
        let Some((_, unit)) = span.units[own.clone()].get(at - own.start) else { return };
        if !(unit.first_term..unit.first_term + unit.terms).contains(&position) {
            continue;
        }
        match counted.last_mut() {
            Some((last, times)) if *last == at => *times += 1,
            _ => counted.push((at, 1)),
        }
    }
}
