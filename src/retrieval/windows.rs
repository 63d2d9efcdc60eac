//! Answer windows: the stretch of text around a unit that answers best, instead of the chunk it happens to lie in.
//!
//! Chunks are found by their words and vectors; then every unit in and around them is a possible centre of an answer. The
//! window is about a chunk long with its centre in the middle, and may begin in one chunk and end in the next. Terms count
//! the more the nearer they stand to the centre (a Gaussian kernel, as in positional language models: Lv and Zhai 2009),
//! neighbouring words of the question that stand together count extra (as in sequential dependence: Metzler and Croft
//! 2005). On the data sets of docs/retrieval.md this is worth more than any model of meaning.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use tantivy::DocAddress;

use super::analyse::QueryTerm;
use super::lexical::{Snapshot, TermMatches, idf};
use super::shelf::{MOST_CHUNKS, PackedUnit};

/// Standard deviation of the kernel, as a share of the window's length.
const SPREAD: f64 = 0.375;
/// How soon repetitions stop counting, and how much long windows are held back. Windows differ less in length than chunks.
const K1: f64 = 1.2;
const B: f64 = 0.4;
/// How much two words of the question that stand together count beside the words themselves.
const PAIR_WEIGHT: f64 = 0.3;
/// How far apart they may stand, in terms.
const PAIR_REACH: u32 = 4;

/// The length of a window in tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowLimit(pub usize);

impl WindowLimit {
    fn kernel(self, distance: f64) -> f64 {
        let sigma = self.0 as f64 * SPREAD;
        (-0.5 * (distance / sigma).powi(2)).exp()
    }
}

/// A stretch of a document that may be an answer.
pub struct Window {
    /// The chunk its centre lies in.
    pub chunk: DocAddress,
    /// Decides between equal scores.
    pub order: (u64, u32),
    /// Where it begins: a chunk, and bytes from that chunk's begin.
    pub begin: (DocAddress, u32),
    pub end: (DocAddress, u32),
    /// The sum of `parts`.
    pub score: f64,
    /// What each term adds, then what each pair adds.
    pub parts: Vec<f64>,
    /// How often it holds each term, then each pair; the words above it included.
    pub times: Vec<u32>,
    /// Which stretch it is part of, and from which token to which.
    stretch: usize,
    tokens: Range<u32>,
}

impl Window {
    /// How many tokens both hold.
    pub fn shared(&self, other: &Window) -> u32 {
        if self.stretch != other.stretch {
            return 0;
        }
        let (from, to) = (self.tokens.start.max(other.tokens.start), self.tokens.end.min(other.tokens.end));
        to.saturating_sub(from)
    }

    pub fn len(&self) -> u32 {
        self.tokens.end - self.tokens.start
    }
}

/// Two words of the question that follow each other.
pub struct Pair {
    pub first: usize,
    pub second: usize,
    /// How many chunks hold both.
    pub texts: u32,
    idf: f64,
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
    let ruler = Ruler::new(units.iter().map(|unit| unit.tokens));
    let mut sums = vec![0.0; chunks.len()];
    for centre in 0..units.len() {
        let around = ruler.window(centre, limit);
        let spread = around.map(|at| ruler.weight(at, centre, limit) * f64::from(units[at].terms));
        let (chunk, head) = of_chunk[centre];
        sums[chunk] += spread.sum::<f64>() + f64::from(head);
    }
    sums
}

/// Where units stand, counted in tokens.
struct Ruler {
    /// The token each unit begins with, and the end of the last.
    starts: Vec<u32>,
}

impl Ruler {
    fn new(tokens: impl Iterator<Item = u32>) -> Self {
        let mut starts = vec![0];
        let mut at = 0;
        starts.extend(tokens.map(|tokens| {
            at += tokens;
            at
        }));
        Self { starts }
    }

    fn units(&self) -> usize {
        self.starts.len() - 1
    }

    /// The units around `centre` that fit the limit: as much before as after it, or more on one side at either end of
    /// the document.
    fn window(&self, centre: usize, WindowLimit(limit): WindowLimit) -> Range<usize> {
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

    fn weight(&self, unit: usize, centre: usize, limit: WindowLimit) -> f64 {
        let middle = |unit: usize| f64::from(self.starts[unit] + self.starts[unit + 1]) / 2.0;
        limit.kernel(middle(unit) - middle(centre))
    }
}

/// Some chunks of a document that follow each other.
struct Stretch {
    chunks: Vec<(DocAddress, Vec<PackedUnit>)>,
    /// Chunk (by its place in `chunks`) and unit, without what a chunk repeats.
    units: Vec<(usize, PackedUnit)>,
    ruler: Ruler,
}

/// Scores the windows around all units of `candidates`.
///
/// # Errors
/// When the index cannot be read.
pub(super) fn windows(
    snapshot: &Snapshot,
    matches: &[TermMatches],
    candidates: &[DocAddress],
    limit: WindowLimit,
) -> tantivy::Result<(Vec<Window>, Vec<Pair>)> {
    let stretches = stretches(snapshot, candidates, limit);
    let involved: BTreeSet<DocAddress> = stretches.iter().flat_map(|s| s.chunks.iter().map(|(a, _)| *a)).collect();
    let involved: Vec<DocAddress> = involved.into_iter().collect();
    let mut places = Vec::with_capacity(matches.len());
    for term in matches {
        places.push(snapshot.places(term, &involved)?);
    }
    let scorer = Scorer { snapshot, matches, pairs: pairs(snapshot, matches), places, limit };
    let wanted: BTreeSet<DocAddress> = candidates.iter().copied().collect();
    let mut found = Vec::new();
    for (number, stretch) in stretches.iter().enumerate() {
        scorer.score(number, stretch, &wanted, &mut found);
    }
    Ok((found, scorer.pairs))
}

/// Neighbouring words of the question; pairs of characters already are such pairs.
fn pairs(snapshot: &Snapshot, matches: &[TermMatches]) -> Vec<Pair> {
    let word = |term: &TermMatches| match &term.term {
        QueryTerm::Term(term) => term.is_ascii(),
        QueryTerm::Character(_) => false,
    };
    let neighbours = matches.windows(2).enumerate().filter(|(_, pair)| word(&pair[0]) && word(&pair[1]));
    neighbours
        .map(|(first, pair)| {
            let texts = pair[0].shared_with(&pair[1]);
            Pair { first, second: first + 1, texts, idf: idf(snapshot.len(), texts) }
        })
        .filter(|pair| pair.texts > 0)
        .collect()
}

/// The candidates with enough of what stands around them, each document's in runs without a gap.
fn stretches(snapshot: &Snapshot, candidates: &[DocAddress], WindowLimit(limit): WindowLimit) -> Vec<Stretch> {
    let mut chunks: BTreeMap<u64, (DocAddress, Vec<PackedUnit>)> = BTreeMap::new();
    for &candidate in candidates {
        let order = snapshot.order(candidate);
        chunks.entry(order).or_insert_with(|| (candidate, snapshot.units(candidate)));
        for step in [-1i64, 1] {
            let mut tokens = 0;
            let mut at = order;
            while tokens < limit as u32 {
                let next = at.wrapping_add_signed(step);
                // A file's first chunk has the number 0; before it lies another file.
                if next & !MOST_CHUNKS != order & !MOST_CHUNKS {
                    break;
                }
                let Some(address) = snapshot.at(next) else { break };
                let (_, units) = chunks.entry(next).or_insert_with(|| (address, snapshot.units(address)));
                tokens += units.iter().filter(|unit| unit.fresh).map(|unit| unit.tokens).sum::<u32>().max(1);
                at = next;
            }
        }
    }
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut before = None;
    for (order, chunk) in chunks {
        match stretches.last_mut() {
            Some(stretch) if before == Some(order.wrapping_sub(1)) => stretch.chunks.push(chunk),
            _ => stretches.push(Stretch { chunks: vec![chunk], units: Vec::new(), ruler: Ruler { starts: vec![0] } }),
        }
        before = Some(order);
    }
    for stretch in &mut stretches {
        for (number, (_, units)) in stretch.chunks.iter().enumerate() {
            // What the first chunk repeats stands nowhere else in the stretch.
            let kept = units.iter().filter(|unit| unit.fresh || number == 0);
            stretch.units.extend(kept.map(|unit| (number, *unit)));
        }
        stretch.ruler = Ruler::new(stretch.units.iter().map(|(_, unit)| unit.tokens));
    }
    stretches
}

struct Scorer<'a> {
    snapshot: &'a Snapshot,
    matches: &'a [TermMatches],
    pairs: Vec<Pair>,
    /// For each term, where it stands in the involved chunks: positions by chunk; all of `u32::MAX` where only the number
    /// is known.
    places: Vec<BTreeMap<DocAddress, Vec<u32>>>,
    limit: WindowLimit,
}

/// How often terms and pairs stand in the units of a stretch, and in what stands above them.
struct Counts {
    /// By term or pair, then by unit.
    units: Vec<Vec<u32>>,
    /// By term or pair, then by chunk.
    heads: Vec<Vec<u32>>,
}

impl Scorer<'_> {
    fn score(&self, number: usize, stretch: &Stretch, wanted: &BTreeSet<DocAddress>, found: &mut Vec<Window>) {
        let counts = self.counts(stretch);
        for (place, (chunk, units)) in stretch.chunks.iter().enumerate().filter(|(_, (chunk, _))| wanted.contains(chunk)) {
            let own = (0..stretch.units.len()).filter(|&at| stretch.units[at].0 == place);
            let centres: Vec<usize> = own.filter(|&at| stretch.units[at].1.fresh).collect();
            let windows = centres.iter().map(|&centre| {
                let around = stretch.ruler.window(centre, self.limit);
                self.window((number, stretch), &counts, (centre, around))
            });
            let windows: Vec<Window> = windows.collect();
            let in_text = |window: &Window| {
                let (from, to) = (window.tokens.start, window.tokens.end);
                let inside = |at: &usize| stretch.ruler.starts[*at] >= from && stretch.ruler.starts[*at + 1] <= to;
                (0..stretch.units.len()).filter(inside).any(|at| counts.units.iter().any(|of| of[at] > 0))
            };
            if windows.iter().any(in_text) {
                found.extend(windows);
                continue;
            }
            // Only what stands above it, or only its meaning, speaks for it: then the whole chunk is the answer.
            let (Some(first), Some(last)) = (units.first(), units.last()) else { continue };
            let middle = centres.get(centres.len() / 2).copied();
            let Some(middle) = middle else { continue };
            let all = (0..stretch.units.len()).filter(|&at| stretch.units[at].0 == place);
            let (from, to) = all.fold((usize::MAX, 0), |(from, to), at| (from.min(at), to.max(at + 1)));
            let whole = self.window((number, stretch), &counts, (middle, from..to));
            found.push(Window {
                begin: (*chunk, first.start),
                end: (*chunk, last.start + last.bytes),
                ..whole
            });
        }
    }

    fn counts(&self, stretch: &Stretch) -> Counts {
        let kinds = self.matches.len() + self.pairs.len();
        let mut counts = Counts {
            units: vec![vec![0; stretch.units.len()]; kinds],
            heads: vec![vec![0; stretch.chunks.len()]; kinds],
        };
        let none = Vec::new();
        for (place, (chunk, units)) in stretch.chunks.iter().enumerate() {
            let head = units.first().map_or(0, |unit| unit.first_term);
            let own: Vec<usize> = (0..stretch.units.len()).filter(|&at| stretch.units[at].0 == place).collect();
            // The unit of a position, unless the chunk before has it already.
            let unit_at = |position: u32| {
                own.iter().copied().find(|&at| {
                    let unit = stretch.units[at].1;
                    (unit.first_term..unit.first_term + unit.terms).contains(&position)
                })
            };
            let positions = |term: usize| self.places[term].get(chunk).unwrap_or(&none);
            for term in 0..self.matches.len() {
                for &position in positions(term) {
                    if position < head || position == u32::MAX {
                        counts.heads[term][place] += 1;
                    } else if let Some(unit) = unit_at(position) {
                        counts.units[term][unit] += 1;
                    }
                }
            }
            for (number, pair) in self.pairs.iter().enumerate() {
                let seconds = positions(pair.second);
                let near = |&&first: &&u32| {
                    seconds.iter().any(|&second| second != first && second.abs_diff(first) <= PAIR_REACH)
                };
                for &position in positions(pair.first).iter().filter(near) {
                    if let Some(unit) = unit_at(position) {
                        counts.units[self.matches.len() + number][unit] += 1;
                    }
                }
            }
        }
        counts
    }

    fn window(&self, (number, stretch): (usize, &Stretch), counts: &Counts, (centre, around): (usize, Range<usize>)) -> Window {
        let (place, centre_unit) = stretch.units[centre];
        let weights: Vec<f64> = around.clone().map(|at| stretch.ruler.weight(at, centre, self.limit)).collect();
        let head = stretch.chunks[place].1.first().map_or(0, |unit| unit.first_term);
        let spread = |values: &dyn Fn(usize) -> u32| -> f64 {
            around.clone().zip(&weights).map(|(at, weight)| weight * f64::from(values(at))).sum()
        };
        let length = f64::from(head) + spread(&|at| stretch.units[at].1.terms);
        let long = 1.0 - B + B * length / self.snapshot.average_window().max(f64::MIN_POSITIVE);
        let mut parts = Vec::with_capacity(counts.units.len());
        let mut times = Vec::with_capacity(counts.units.len());
        for (kind, (in_units, in_heads)) in counts.units.iter().zip(&counts.heads).enumerate() {
            let frequency = f64::from(in_heads[place]) + spread(&|at| in_units[at]);
            let saturated = |long: f64| if frequency > 0.0 { frequency * (K1 + 1.0) / (frequency + K1 * long) } else { 0.0 };
            parts.push(match kind.checked_sub(self.matches.len()) {
                None => self.matches[kind].weight() * saturated(long),
                Some(pair) => PAIR_WEIGHT * self.pairs[pair].idf * saturated(1.0),
            });
            times.push(in_heads[place] + around.clone().map(|at| in_units[at]).sum::<u32>());
        }
        let (first, last) = (stretch.units[around.start], stretch.units[around.end - 1]);
        let chunk_of = |(place, _): (usize, PackedUnit)| stretch.chunks[place].0;
        Window {
            chunk: stretch.chunks[place].0,
            order: (self.snapshot.order(stretch.chunks[place].0), centre_unit.start),
            begin: (chunk_of(first), first.1.start),
            end: (chunk_of(last), last.1.start + last.1.bytes),
            score: parts.iter().sum(),
            parts,
            times,
            stretch: number,
            tokens: stretch.ruler.starts[around.start]..stretch.ruler.starts[around.end],
        }
    }
}
