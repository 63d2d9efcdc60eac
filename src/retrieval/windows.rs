//! Answer windows: the stretch of text around a unit that answers best, instead of the chunk it happens to lie in.
//!
//! Chunks are found by their words and vectors; then every unit in and around them is a possible centre of an answer. The
//! window is about a chunk long with its centre in the middle, and may begin in one chunk and end in the next. Terms count
//! the more the nearer they stand to the centre (a Gaussian kernel, as in positional language models: Lv and Zhai 2009),
//! neighbouring words of the question that stand together count extra (as in sequential dependence: Metzler and Croft
//! 2005). On the data sets of docs/retrieval.md this is worth more than any model of meaning.

use std::collections::BTreeSet;
use std::ops::Range;

use tantivy::DocAddress;

use super::analyse::QueryTerm;
use super::lexical::{Places, Snapshot, TermMatches, idf};
use super::prepared::PackedUnit;
use super::stretch::{Kernel, SPREAD, Stretch, stretches};

pub use super::stretch::WindowLimit;

/// How soon repetitions stop counting, and how much long windows are held back. Windows differ less in length than chunks.
const K1: f64 = 1.2;
const B: f64 = 0.4;
/// How much two words of the question that stand together count beside the words themselves.
const PAIR_WEIGHT: f64 = 0.3;
/// How far apart they may stand, in terms.
const PAIR_REACH: u32 = 4;

/// A stretch of a document that may be an answer.
pub struct Window {
    /// The chunk its centre lies in.
    pub chunk: DocAddress,
    /// The chunk that repeats its centre, if one does.
    pub also: Option<DocAddress>,
    /// Decides between equal scores.
    pub order: (u32, u32),
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

/// The chunks each leg put forward.
pub(super) struct Candidates<'a> {
    pub by_words: &'a [DocAddress],
    pub by_meaning: &'a [DocAddress],
}

/// What is known of the candidates by their words.
pub(super) struct Spoken<'a> {
    pub windows: Vec<Window>,
    /// What the windows were looked for in.
    pub stretches: Vec<Stretch>,
    /// Of each stretch.
    counts: Vec<Counts>,
    scorer: Scorer<'a>,
}

/// Scores the windows around all units of `candidates`.
///
/// # Errors
/// When the index cannot be read.
pub(super) fn windows<'a>(
    snapshot: &'a Snapshot,
    matches: &'a [TermMatches],
    candidates: &Candidates,
    limit: WindowLimit,
) -> tantivy::Result<Spoken<'a>> {
    let wanted: BTreeSet<DocAddress> = candidates.by_words.iter().chain(candidates.by_meaning).copied().collect();
    let stretches = stretches(snapshot, &wanted, limit);
    let mut involved: Vec<DocAddress> = stretches.iter().flat_map(|s| s.parts.iter().map(|part| part.chunk)).collect();
    involved.sort_unstable();
    let mut places = Vec::with_capacity(matches.len());
    for term in matches {
        places.push(snapshot.places(term, &involved)?);
    }
    let kernel = Kernel::of(limit, SPREAD);
    let mut scorer = Scorer { snapshot, matches, pairs: Vec::new(), involved, places, limit, kernel };
    scorer.pairs = scorer.pairs_in(candidates.by_words);
    let counts: Vec<Counts> = stretches.iter().map(|stretch| scorer.counts(stretch)).collect();
    let mut windows = Vec::with_capacity(stretches.iter().map(|stretch| stretch.units.len()).sum());
    for (number, (stretch, counts)) in stretches.iter().zip(&counts).enumerate() {
        scorer.score((number, stretch), counts, &wanted, &mut windows);
    }
    Ok(Spoken { windows, stretches, counts, scorer })
}

impl Spoken<'_> {
    pub fn pairs(&self) -> &[Pair] {
        &self.scorer.pairs
    }

    /// What each term, then each pair, adds to a window, and how often the window holds it, the words above it included.
    pub fn parts(&self, window: &Window) -> impl Iterator<Item = (f64, u32)> {
        let (stretch, counts) = (&self.stretches[window.stretch], &self.counts[window.stretch]);
        self.scorer.parts(stretch, counts, (window.centre, window.around.clone()))
    }
}

struct Scorer<'a> {
    snapshot: &'a Snapshot,
    matches: &'a [TermMatches],
    pairs: Vec<Pair>,
    /// The chunks of all stretches, by address.
    involved: Vec<DocAddress>,
    /// For each term, where it stands in the involved chunks.
    places: Vec<Places>,
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
        let among = |chunk: &DocAddress| self.involved.binary_search(chunk).ok();
        let pair = |first: usize| {
            let holds = |&number: &usize| self.together(first, first + 1, number).next().is_some();
            let texts = chunks.iter().filter_map(among).filter(holds).count() as u32;
            Pair { first, second: first + 1, texts, idf: idf(self.snapshot.len(), texts) }
        };
        neighbours.map(|(first, _)| pair(first)).filter(|pair| pair.texts > 0).collect()
    }

    /// Where `first` stands near `second` in an involved chunk, by its number.
    fn together(&self, first: usize, second: usize, number: usize) -> impl Iterator<Item = u32> {
        let seconds = self.places[second].of(number);
        let near = |first: &u32| seconds.iter().any(|second| second != first && second.abs_diff(*first) <= PAIR_REACH);
        self.places[first].of(number).iter().copied().filter(near)
    }

    fn score(
        &self,
        (number, stretch): (usize, &Stretch),
        counts: &Counts,
        wanted: &BTreeSet<DocAddress>,
        found: &mut Vec<Window>,
    ) {
        for (place, part) in stretch.parts.iter().enumerate().filter(|(_, part)| wanted.contains(&part.chunk)) {
            let own = stretch.own[place].clone();
            let centres: Vec<usize> = own.clone().filter(|&at| stretch.units[at].1.fresh).collect();
            let around: Vec<Range<usize>> =
                centres.iter().map(|&centre| stretch.ruler.window(centre, self.limit)).collect();
            let reached = around.first().zip(around.last()).map(|(first, last)| first.start..last.end);
            let speaks =
                |reached: Range<usize>| (0..counts.units.len()).any(|kind| !counts.within(kind, &reached).is_empty());
            if reached.is_some_and(speaks) {
                let windows = centres.into_iter().zip(around);
                found.extend(windows.map(|window| self.window((number, stretch), counts, window)));
                continue;
            }
            // Only what stands above it, or only its meaning, speaks for it: then the whole chunk is the answer.
            let (Some(first), Some(last)) = (part.units.first(), part.units.last()) else { continue };
            let Some(&middle) = centres.get(centres.len() / 2) else { continue };
            let whole = self.window((number, stretch), counts, (middle, own));
            found.push(Window {
                begin: (part.chunk, first.start),
                end: (part.chunk, last.start + last.bytes),
                ..whole
            });
        }
    }

    fn counts(&self, stretch: &Stretch) -> Counts {
        let kinds = self.matches.len() + self.pairs.len();
        let mut counts = Counts { units: vec![Vec::new(); kinds], heads: vec![vec![0; stretch.parts.len()]; kinds] };
        for (place, part) in stretch.parts.iter().enumerate() {
            let Ok(number) = self.involved.binary_search(&part.chunk) else { continue };
            let head = part.units.first().map_or(0, |unit| unit.first_term);
            for term in 0..self.matches.len() {
                let positions = self.places[term].of(number);
                let in_head = positions.iter().filter(|&&position| position < head || position == u32::MAX).count();
                counts.heads[term][place] = in_head as u32;
                count(stretch, place, positions.iter().copied().skip(in_head), &mut counts.units[term]);
            }
            for (pair, units) in self.pairs.iter().zip(&mut counts.units[self.matches.len()..]) {
                count(stretch, place, self.together(pair.first, pair.second, number), units);
            }
        }
        counts
    }

    /// What each term and pair adds to the window `around` a `centre`, and how often it stands there.
    fn parts<'w>(
        &'w self,
        stretch: &'w Stretch,
        counts: &'w Counts,
        (centre, around): (usize, Range<usize>),
    ) -> impl Iterator<Item = (f64, u32)> + 'w {
        let place = stretch.units[centre].0;
        let weight = move |at: usize| self.kernel.at(stretch.ruler.twice(at, centre));
        let head = stretch.parts[place].units.first().map_or(0, |unit| unit.first_term);
        let terms = around.clone().map(|at| weight(at) * f64::from(stretch.units[at].1.terms));
        let length = f64::from(head) + terms.sum::<f64>();
        let long = 1.0 - B + B * length / self.snapshot.average_window().max(f64::MIN_POSITIVE);
        counts.heads.iter().enumerate().map(move |(kind, in_heads)| {
            let within = counts.within(kind, &around);
            let weighed = within.iter().map(|&(at, times)| weight(at) * f64::from(times));
            let frequency = f64::from(in_heads[place]) + weighed.sum::<f64>();
            let saturated =
                |long: f64| if frequency > 0.0 { frequency * (K1 + 1.0) / (frequency + K1 * long) } else { 0.0 };
            let part = match kind.checked_sub(self.matches.len()) {
                None => self.matches[kind].weight() * saturated(long),
                Some(pair) => PAIR_WEIGHT * self.pairs[pair].idf * saturated(1.0),
            };
            (part, in_heads[place] + within.iter().map(|&(_, times)| times).sum::<u32>())
        })
    }

    fn window(
        &self,
        (number, stretch): (usize, &Stretch),
        counts: &Counts,
        (centre, around): (usize, Range<usize>),
    ) -> Window {
        let score = self.parts(stretch, counts, (centre, around.clone())).map(|(part, _)| part).sum();
        let (place, centre_unit) = stretch.units[centre];
        let (first, last) = (stretch.units[around.start], stretch.units[around.end - 1]);
        let chunk_of = |(place, _): (usize, PackedUnit)| stretch.parts[place].chunk;
        Window {
            chunk: stretch.parts[place].chunk,
            also: stretch.repeats(centre).then(|| stretch.parts[place + 1].chunk),
            order: (self.snapshot.rank(stretch.parts[place].chunk), centre_unit.start),
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

/// Adds to `counted` how often each unit of a part of the stretch holds one of `positions`, which rise; what the part before
/// holds already is not counted again.
fn count(stretch: &Stretch, place: usize, positions: impl Iterator<Item = u32>, counted: &mut Vec<(usize, u32)>) {
    let own = stretch.own[place].clone();
    let mut at = own.start;
    for position in positions {
        while at + 1 < own.end && stretch.units[at + 1].1.first_term <= position {
            at += 1;
        }
        let Some((_, unit)) = stretch.units[own.clone()].get(at - own.start) else { return };
        if !(unit.first_term..unit.first_term + unit.terms).contains(&position) {
            continue;
        }
        match counted.last_mut() {
            Some((last, times)) if *last == at => *times += 1,
            _ => counted.push((at, 1)),
        }
    }
}
