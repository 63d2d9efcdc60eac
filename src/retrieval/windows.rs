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
use super::prepared::PackedUnit;

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

/// A stretch of a document that may be an answer.
pub struct Window {
    /// The chunk its centre lies in.
    pub chunk: DocAddress,
    /// The chunk that repeats its centre, if one does.
    pub also: Option<DocAddress>,
    /// Decides between equal scores.
    pub order: (u64, u32),
    /// Where it begins: a chunk, and bytes from that chunk's begin.
    pub begin: (DocAddress, u32),
    pub end: (DocAddress, u32),
    /// The sum of its parts.
    pub score: f64,
    /// Which stretch it is part of, which of its units is the centre, and which are in the window.
    pub(super) stretch: usize,
    pub(super) centre: usize,
    pub(super) around: Range<usize>,
    /// From which token of the stretch to which.
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

    pub fn length(&self) -> u32 {
        self.tokens.end - self.tokens.start
    }
}

/// Two words of the question that follow each other.
pub struct Pair {
    pub first: usize,
    pub second: usize,
    /// How many of the best chunks hold them together.
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
    let kernel = Kernel::of(limit, SPREAD);
    let mut sums = vec![0.0; chunks.len()];
    for (centre, &(chunk, head)) in of_chunk.iter().enumerate() {
        let around = ruler.window(centre, limit);
        let spread = around.map(|at| kernel.at(ruler.twice(at, centre)) * f64::from(units[at].terms));
        sums[chunk] += spread.sum::<f64>() + f64::from(head);
    }
    sums
}

/// Where units stand, counted in tokens.
pub(super) struct Ruler {
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

    pub fn units(&self) -> usize {
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

    /// Twice the distance between the middles of two units.
    pub fn twice(&self, a: usize, b: usize) -> u32 {
        let middle = |unit: usize| self.starts[unit] + self.starts[unit + 1];
        middle(a).abs_diff(middle(b))
    }
}

/// Some chunks of a document that follow each other.
pub(super) struct Stretch {
    pub chunks: Vec<(DocAddress, Vec<PackedUnit>)>,
    /// Chunk (by its place in `chunks`) and unit, without what a chunk repeats.
    units: Vec<(usize, PackedUnit)>,
    /// The units of each chunk, without what it repeats.
    own: Vec<Range<usize>>,
    pub ruler: Ruler,
}

/// The chunks each leg put forward.
pub(super) struct Candidates<'a> {
    pub by_words: &'a [DocAddress],
    pub by_meaning: &'a [DocAddress],
}

/// What is known of the candidates by their words.
pub(super) struct Spoken {
    pub windows: Vec<Window>,
    /// For each window, what each term adds and then what each pair adds; and how often it holds each, the words above it
    /// included.
    parts: Vec<(f64, u32)>,
    kinds: usize,
    pub pairs: Vec<Pair>,
    /// What the windows were looked for in.
    pub stretches: Vec<Stretch>,
}

/// Scores the windows around all units of `candidates`.
///
/// # Errors
/// When the index cannot be read.
pub(super) fn windows(
    snapshot: &Snapshot,
    matches: &[TermMatches],
    candidates: &Candidates,
    limit: WindowLimit,
) -> tantivy::Result<Spoken> {
    let wanted: BTreeSet<DocAddress> = candidates.by_words.iter().chain(candidates.by_meaning).copied().collect();
    let stretches = stretches(snapshot, &wanted, limit);
    let involved: BTreeSet<DocAddress> = stretches.iter().flat_map(|s| s.chunks.iter().map(|(a, _)| *a)).collect();
    let involved: Vec<DocAddress> = involved.into_iter().collect();
    let mut places = Vec::with_capacity(matches.len());
    for term in matches {
        places.push(snapshot.places(term, &involved)?);
    }
    let mut scorer = Scorer { snapshot, matches, pairs: Vec::new(), places, limit, kernel: Kernel::of(limit, SPREAD) };
    scorer.pairs = scorer.pairs_in(candidates.by_words);
    let kinds = matches.len() + scorer.pairs.len();
    let mut found = Spoken { windows: Vec::new(), parts: Vec::new(), kinds, pairs: Vec::new(), stretches: Vec::new() };
    for (number, stretch) in stretches.iter().enumerate() {
        scorer.score(number, stretch, &wanted, &mut found);
    }
    Ok(Spoken { pairs: scorer.pairs, stretches, ..found })
}

impl Spoken {
    /// What each term, then each pair, adds to a window (by its place), and how often the window holds it.
    pub fn parts(&self, window: usize) -> &[(f64, u32)] {
        &self.parts[window * self.kinds..][..self.kinds]
    }
}

/// The candidates with enough of what stands around them, each document's in runs without a gap.
fn stretches(snapshot: &Snapshot, candidates: &BTreeSet<DocAddress>, WindowLimit(limit): WindowLimit) -> Vec<Stretch> {
    let mut chunks: BTreeMap<usize, (DocAddress, Vec<PackedUnit>)> = BTreeMap::new();
    for &candidate in candidates {
        let rank = snapshot.rank(candidate);
        chunks.entry(rank).or_insert_with(|| (candidate, snapshot.units(candidate)));
        for step in [-1isize, 1] {
            let mut tokens = 0;
            let mut at = rank;
            while tokens < limit as u32 {
                let Some(next) = at.checked_add_signed(step) else { break };
                let Some(address) = snapshot.of_same_file(next, candidate) else { break };
                let (_, units) = chunks.entry(next).or_insert_with(|| (address, snapshot.units(address)));
                tokens += units.iter().filter(|unit| unit.fresh).map(|unit| unit.tokens).sum::<u32>().max(1);
                at = next;
            }
        }
    }
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut next = None;
    for (rank, chunk) in chunks {
        let follows = |stretch: &Stretch| {
            next == Some(rank) && stretch.chunks.last().is_some_and(|(last, _)| snapshot.same_file(*last, chunk.0))
        };
        match stretches.last_mut() {
            Some(stretch) if follows(stretch) => stretch.chunks.push(chunk),
            _ => stretches.push(Stretch::of(chunk)),
        }
        next = Some(rank + 1);
    }
    for stretch in &mut stretches {
        for (number, (_, units)) in stretch.chunks.iter().enumerate() {
            // What the first chunk repeats stands nowhere else in the stretch.
            let kept = units.iter().filter(|unit| unit.fresh || number == 0);
            let before = stretch.units.len();
            stretch.units.extend(kept.map(|unit| (number, *unit)));
            stretch.own.push(before..stretch.units.len());
        }
        stretch.ruler = Ruler::new(stretch.units.iter().map(|(_, unit)| unit.tokens));
    }
    stretches
}

impl Stretch {
    fn of(chunk: (DocAddress, Vec<PackedUnit>)) -> Self {
        Self { chunks: vec![chunk], units: Vec::new(), own: Vec::new(), ruler: Ruler::new(std::iter::empty()) }
    }

    /// The fresh unit of a chunk (by its place) that a byte lies in, counted from the chunk's begin.
    pub fn fresh_unit(&self, place: usize, byte: u32) -> Option<usize> {
        let own = self.own[place].clone();
        let after = self.units[own.clone()].partition_point(|(_, unit)| unit.start <= byte);
        let at = own.start + after.checked_sub(1)?;
        self.units[at].1.fresh.then_some(at)
    }

    /// Whether the next chunk begins with this unit, or before it.
    fn repeats(&self, unit: usize) -> bool {
        let place = self.units[unit].0;
        let Some((_, next)) = self.chunks.get(place + 1) else { return false };
        let repeated: u32 = next.iter().filter(|unit| !unit.fresh).map(|unit| unit.tokens).sum();
        self.ruler.starts[self.own[place].end] - self.ruler.starts[unit] <= repeated
    }
}

struct Scorer<'a> {
    snapshot: &'a Snapshot,
    matches: &'a [TermMatches],
    pairs: Vec<Pair>,
    /// For each term, where it stands in the involved chunks: positions by chunk; all of `u32::MAX` where only the number
    /// is known.
    places: Vec<BTreeMap<DocAddress, Vec<u32>>>,
    limit: WindowLimit,
    kernel: Kernel,
}

/// How often terms and pairs stand in the units of a stretch, and in what stands above them.
struct Counts {
    /// By term or pair: the units that hold it, in their order, and how often. Most units hold nothing of a question.
    units: Vec<Vec<(usize, u32)>>,
    /// By term or pair, then by chunk.
    heads: Vec<Vec<u32>>,
}

impl Counts {
    /// The units among `around` that hold a term or pair.
    fn within(&self, kind: usize, around: &Range<usize>) -> &[(usize, u32)] {
        let units = &self.units[kind];
        let place = |unit: usize| units.partition_point(|&(at, _)| at < unit);
        &units[place(around.start)..place(around.end)]
    }
}

impl Scorer<'_> {
    /// Neighbouring words of the question that stand together in some of these chunks. Pairs of characters already are
    /// such pairs. How telling a pair is, is seen from the best chunks: all of them would have to be read for more.
    fn pairs_in(&self, chunks: &[DocAddress]) -> Vec<Pair> {
        let word = |term: &TermMatches| matches!(&term.term, QueryTerm::Term(term) if term.is_ascii());
        let neighbours = self.matches.windows(2).enumerate().filter(|(_, pair)| word(&pair[0]) && word(&pair[1]));
        let pair = |first: usize| {
            let holds = |chunk: &&DocAddress| !self.together(first, first + 1, **chunk).is_empty();
            let texts = chunks.iter().filter(holds).count() as u32;
            Pair { first, second: first + 1, texts, idf: idf(self.snapshot.len(), texts) }
        };
        neighbours.map(|(first, _)| pair(first)).filter(|pair| pair.texts > 0).collect()
    }

    /// Where `first` stands near `second` in a chunk.
    fn together(&self, first: usize, second: usize, chunk: DocAddress) -> Vec<u32> {
        let (Some(firsts), Some(seconds)) = (self.places[first].get(&chunk), self.places[second].get(&chunk)) else {
            return Vec::new();
        };
        let near = |first: &u32| seconds.iter().any(|second| second != first && second.abs_diff(*first) <= PAIR_REACH);
        firsts.iter().copied().filter(near).collect()
    }

    fn score(&self, number: usize, stretch: &Stretch, wanted: &BTreeSet<DocAddress>, found: &mut Spoken) {
        let counts = self.counts(stretch);
        for (place, (chunk, units)) in
            stretch.chunks.iter().enumerate().filter(|(_, (chunk, _))| wanted.contains(chunk))
        {
            let own = stretch.own[place].clone();
            let centres: Vec<usize> = own.clone().filter(|&at| stretch.units[at].1.fresh).collect();
            let around: Vec<Range<usize>> =
                centres.iter().map(|&centre| stretch.ruler.window(centre, self.limit)).collect();
            let reached = around.first().zip(around.last()).map(|(first, last)| first.start..last.end);
            let speaks =
                |reached: Range<usize>| (0..counts.units.len()).any(|kind| !counts.within(kind, &reached).is_empty());
            if reached.is_some_and(speaks) {
                for window in centres.into_iter().zip(around) {
                    let window = self.window((number, stretch), &counts, window, &mut found.parts);
                    found.windows.push(window);
                }
                continue;
            }
            // Only what stands above it, or only its meaning, speaks for it: then the whole chunk is the answer.
            let (Some(first), Some(last)) = (units.first(), units.last()) else { continue };
            let Some(&middle) = centres.get(centres.len() / 2) else { continue };
            let whole = self.window((number, stretch), &counts, (middle, own), &mut found.parts);
            found.windows.push(Window {
                begin: (*chunk, first.start),
                end: (*chunk, last.start + last.bytes),
                ..whole
            });
        }
    }

    fn counts(&self, stretch: &Stretch) -> Counts {
        let kinds = self.matches.len() + self.pairs.len();
        let mut counts = Counts { units: vec![Vec::new(); kinds], heads: vec![vec![0; stretch.chunks.len()]; kinds] };
        // Chunks, units and positions come in their order, so that the counts do.
        let add = |units: &mut Vec<(usize, u32)>, unit: usize| match units.last_mut() {
            Some((last, times)) if *last == unit => *times += 1,
            _ => units.push((unit, 1)),
        };
        let none = Vec::new();
        for (place, (chunk, units)) in stretch.chunks.iter().enumerate() {
            let head = units.first().map_or(0, |unit| unit.first_term);
            let own = stretch.own[place].clone();
            let units = &stretch.units[own.clone()];
            // The unit of a position, unless the chunk before has it already.
            let unit_at = |position: u32| {
                let after = units.partition_point(|(_, unit)| unit.first_term <= position);
                let (at, unit) = after.checked_sub(1).map(|at| (at, units[at].1))?;
                (position < unit.first_term + unit.terms).then_some(own.start + at)
            };
            let positions = |term: usize| self.places[term].get(chunk).unwrap_or(&none);
            for term in 0..self.matches.len() {
                for &position in positions(term) {
                    if position < head || position == u32::MAX {
                        counts.heads[term][place] += 1;
                    } else if let Some(unit) = unit_at(position) {
                        add(&mut counts.units[term], unit);
                    }
                }
            }
            for (number, pair) in self.pairs.iter().enumerate() {
                for position in self.together(pair.first, pair.second, *chunk) {
                    if let Some(unit) = unit_at(position) {
                        add(&mut counts.units[self.matches.len() + number], unit);
                    }
                }
            }
        }
        counts
    }

    fn window(
        &self,
        (number, stretch): (usize, &Stretch),
        counts: &Counts,
        (centre, around): (usize, Range<usize>),
        parts: &mut Vec<(f64, u32)>,
    ) -> Window {
        let (place, centre_unit) = stretch.units[centre];
        let weights: Vec<f64> = around.clone().map(|at| self.kernel.at(stretch.ruler.twice(at, centre))).collect();
        let head = stretch.chunks[place].1.first().map_or(0, |unit| unit.first_term);
        let units = stretch.units[around.clone()].iter().zip(&weights);
        let length = f64::from(head) + units.map(|((_, unit), weight)| weight * f64::from(unit.terms)).sum::<f64>();
        let long = 1.0 - B + B * length / self.snapshot.average_window().max(f64::MIN_POSITIVE);
        let mut score = 0.0;
        for (kind, in_heads) in counts.heads.iter().enumerate() {
            let within = counts.within(kind, &around);
            let weighed = within.iter().map(|&(at, times)| weights[at - around.start] * f64::from(times));
            let frequency = f64::from(in_heads[place]) + weighed.sum::<f64>();
            let saturated =
                |long: f64| if frequency > 0.0 { frequency * (K1 + 1.0) / (frequency + K1 * long) } else { 0.0 };
            let part = match kind.checked_sub(self.matches.len()) {
                None => self.matches[kind].weight() * saturated(long),
                Some(pair) => PAIR_WEIGHT * self.pairs[pair].idf * saturated(1.0),
            };
            parts.push((part, in_heads[place] + within.iter().map(|&(_, times)| times).sum::<u32>()));
            score += part;
        }
        let (first, last) = (stretch.units[around.start], stretch.units[around.end - 1]);
        let chunk_of = |(place, _): (usize, PackedUnit)| stretch.chunks[place].0;
        Window {
            chunk: stretch.chunks[place].0,
            also: stretch.repeats(centre).then(|| stretch.chunks[place + 1].0),
            order: (self.snapshot.order(stretch.chunks[place].0), centre_unit.start),
            begin: (chunk_of(first), first.1.start),
            end: (chunk_of(last), last.1.start + last.1.bytes),
            score,
            stretch: number,
            centre,
            tokens: stretch.ruler.starts[around.start]..stretch.ruler.starts[around.end],
            around,
        }
    }
}
