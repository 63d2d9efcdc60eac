//! Chunks: the pieces of a document that are indexed and embedded.
//!
//! A chunk stays inside one section, so an edit changes only chunks of that section. Blocks and list items stay whole if they
//! fit the limit; a chunk that continues a section repeats the last sentences of the chunk before.

use std::collections::HashMap;
use std::ops::Range;

use md5::{Digest, Md5};

use crate::domain::RelPath;

use super::analyse::is_letter;
use super::extract::Document;
use super::outline::{Atom, AtomSizer, Boundary, MAX_ATOM_TOKENS, Outline, Section, outline};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkLimits {
    /// Maximum tokens of a chunk, unless a single character has more. [`size`] defines a token.
    pub tokens: usize,
    /// Maximum tokens that a chunk repeats from the one before it.
    pub overlap: usize,
}

impl Default for ChunkLimits {
    fn default() -> Self {
        Self { tokens: 256, overlap: 32 }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// Hash of path, heading and text, so that it does not depend on the surrounding text; repetitions get a number as suffix.
    pub id: String,
    /// The headings above it, joined by ` › `; empty at the top of a file.
    pub heading: String,
    /// Byte range in the document, without whitespace at either end except the indent of the first line.
    pub range: Range<usize>,
    /// First and last line, 1-based.
    pub lines: (u32, u32),
    pub tokens: usize,
    /// The units of the chunk, in document order.
    pub units: Vec<Unit>,
}

/// A line, or a sentence of a long line: the possible centre of an answer window.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// Byte range in the document.
    pub range: Range<usize>,
    pub tokens: usize,
    /// Not repeated from the chunk before. The fresh units of all chunks cover the document exactly once.
    pub fresh: bool,
}

/// A document split into chunks, in document order. Together they contain all of its text that is not whitespace.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunked {
    /// The first heading of level 1, or the file name without its extension.
    pub title: String,
    pub chunks: Vec<Chunk>,
}

/// Returns the number of tokens of a text for the size of chunks, the same for every model. A token is a word (or each 16
/// letters of a longer one), a character of a script without spaces between words, or any other non-whitespace character.
pub fn size(text: &str) -> usize {
    const LETTERS: usize = 16;
    let mut tokens = 0;
    let mut letters = 0;
    for c in text.chars() {
        if is_letter(c) {
            tokens += usize::from(letters % LETTERS == 0);
            letters += 1;
            continue;
        }
        letters = 0;
        tokens += usize::from(!c.is_whitespace());
    }
    tokens
}

/// Splits `document` into chunks; `count` returns the number of tokens of a piece, like [`size`].
pub fn chunked(path: &RelPath, document: &Document, limits: ChunkLimits, count: &dyn Fn(&str) -> usize) -> Chunked {
    let text = document.text.as_str();
    let sizer = AtomSizer { count, max_chunk_tokens: limits.tokens };
    let Outline { title, sections } = outline(path, document, &sizer);
    let mut chunks = Vec::new();
    let mut lines = Lines { text, at: 0, line: 1 };
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut reached = 0;
    for section in &sections {
        let heading = section.headings.join(" › ");
        for PackedChunk { range, tokens, atoms } in packed(text, section, limits, &sizer) {
            let units = units(text, &section.atoms[atoms], &range, reached);
            reached = range.end;
            let id = id(path, &heading, &text[range.clone()]);
            let times = seen.entry(id.clone()).and_modify(|times| *times += 1).or_insert(1);
            let id = if *times == 1 { id } else { format!("{id}-{times}") };
            let lines = (lines.of(range.start), lines.of(range.end - 1));
            chunks.push(Chunk { id, heading: heading.clone(), range, lines, tokens, units });
        }
    }
    Chunked { title, chunks }
}

/// The atoms of a chunk, its trimmed byte range, and the tokens in that range.
struct PackedChunk {
    range: Range<usize>,
    tokens: usize,
    atoms: Range<usize>,
}

fn packed(text: &str, section: &Section, limits: ChunkLimits, sizer: &AtomSizer) -> Vec<PackedChunk> {
    let atoms = &section.atoms;
    let mut out = Vec::new();
    // Atoms before `done` are in a chunk; the next chunk may begin before `done`, by its overlap.
    let (mut start, mut done) = (0, 0);
    while done < atoms.len() {
        let mut end = greedy_end(atoms, start, limits.tokens);
        let mut found = trimmed(text, start_of(atoms, start)..atoms[end - 1].range.end);
        let mut tokens = found.as_ref().map_or(0, |range| (sizer.count)(&text[range.clone()]));
        // The token counts of the atoms do not exactly add up to the count of the whole.
        while tokens > limits.tokens && end > start + 1 {
            end -= 1;
            found = trimmed(text, start_of(atoms, start)..atoms[end - 1].range.end);
            tokens = found.as_ref().map_or(0, |range| (sizer.count)(&text[range.clone()]));
        }
        if end <= done {
            // The repeated part leaves no room for the next atom.
            start = done;
            continue;
        }
        out.extend(found.map(|range| PackedChunk { range, tokens, atoms: start..end }));
        done = end;
        start = overlap_start(atoms, done, limits);
    }
    out
}

/// Joins the atoms of a chunk into lines, unless a line is longer than [`MAX_ATOM_TOKENS`].
fn units(text: &str, atoms: &[Atom], chunk: &Range<usize>, reached: usize) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let is_fresh = |atom: &Atom| atom.range.start >= reached;
    for line in atoms.chunk_by(|atom, next| next.begins < Boundary::Line && is_fresh(atom) == is_fresh(next)) {
        let whole = line.iter().map(|atom| atom.tokens).sum::<usize>() <= MAX_ATOM_TOKENS;
        let pieces: Vec<&[Atom]> = if whole { vec![line] } else { line.chunks(1).collect() };
        for piece in pieces {
            let (Some(first), Some(last)) = (piece.first(), piece.last()) else { continue };
            let range = first.range.start.max(chunk.start)..last.range.end.min(chunk.end);
            let tokens = piece.iter().map(|atom| atom.tokens).sum();
            if range.is_empty() || text[range.clone()].trim().is_empty() {
                continue;
            }
            units.push(Unit { fresh: range.start >= reached, range, tokens });
        }
    }
    units
}

fn start_of(atoms: &[Atom], index: usize) -> usize {
    atoms[index].range.start
}

/// Returns the end (exclusive) of the chunk that begins at atom `start`: as many atoms as fit, then back to the beginning of
/// a block, item or line that would otherwise be split although it fits into a chunk.
fn greedy_end(atoms: &[Atom], start: usize, limit: usize) -> usize {
    let mut total = 0;
    let fits = |atom: &&Atom| {
        total += atom.tokens;
        total <= limit
    };
    let end = start + atoms[start..].iter().take_while(fits).count().max(1);
    if end == atoms.len() {
        return end;
    }
    for level in [Boundary::Block, Boundary::Item, Boundary::Line] {
        if atoms[end].begins >= level {
            return end;
        }
        let begin = (start + 1..end).rev().find(|&at| atoms[at].begins >= level);
        if let Some(begin) = begin
            && tokens_of(atoms, begin, level) <= limit
        {
            return begin;
        }
    }
    end
}

/// Returns the tokens of the block, item or line that begins at `begin`.
fn tokens_of(atoms: &[Atom], begin: usize, level: Boundary) -> usize {
    let rest = atoms[begin + 1..].iter().take_while(|atom| atom.begins < level).map(|atom| atom.tokens);
    atoms[begin].tokens + rest.sum::<usize>()
}

fn overlap_start(atoms: &[Atom], done: usize, limits: ChunkLimits) -> usize {
    let mut start = done;
    let mut tokens = 0;
    while start > 0 && tokens + atoms[start - 1].tokens <= limits.overlap {
        start -= 1;
        tokens += atoms[start].tokens;
    }
    start
}

fn trimmed(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let piece = &text[range.clone()];
    let start = range.start + (piece.len() - piece.trim_start().len());
    let end = start + piece.trim().len();
    // Whitespace before the first word is its indent, which Markdown and code need.
    let indent = text[range.start..start].rfind('\n').map_or(range.start, |newline| range.start + newline + 1);
    let at_line_start = indent > range.start || range.start == 0 || text[..range.start].ends_with('\n');
    (end > start).then_some(if at_line_start { indent..end } else { start..end })
}

fn id(path: &RelPath, heading: &str, text: &str) -> String {
    let mut hash = Md5::new();
    for part in [path.as_str(), heading, text] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    base16ct::lower::encode_string(&hash.finalize()[..8])
}

/// Computes line numbers of byte positions; cheap if the positions move forward or only a little back.
struct Lines<'a> {
    text: &'a str,
    at: usize,
    line: u32,
}

impl Lines<'_> {
    fn of(&mut self, position: usize) -> u32 {
        let newlines = |from: usize, to: usize| {
            self.text.as_bytes()[from..to].iter().filter(|&&byte| byte == b'\n').count() as u32
        };
        self.line = if position >= self.at {
            self.line + newlines(self.at, position)
        } else {
            self.line - newlines(position, self.at)
        };
        self.at = position;
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> usize {
        text.split_whitespace().count()
    }

    fn cut(text: &str, tokens: usize) -> Vec<Chunk> {
        let path = RelPath::parse("knowledge/a.md").unwrap();
        let document = Document::of(&path, text);
        chunked(&path, &document, ChunkLimits { tokens, overlap: tokens / 8 }, &words).chunks
    }

    fn texts<'a>(text: &'a str, chunks: &[Chunk]) -> Vec<&'a str> {
        chunks.iter().map(|chunk| &text[chunk.range.clone()]).collect()
    }

    #[test]
    fn size_counts_words_characters_and_symbols() {
        assert_eq!(size("Don't stop, 7pm!"), 7);
        assert_eq!(size("我的猫 cat。"), 5);
        assert_eq!(size("École naïve Привет"), 3);
        assert_eq!(size(&"a".repeat(33)), 3);
        assert_eq!(size(" \n\t\u{3000}"), 0);
    }

    #[test]
    fn chunks_keep_blocks_and_items_whole() {
        let text =
            "# T\n\none two three four five\n\nsix seven eight nine\n\n- a b c d e\n  f\n- g h\n- i j k\n\nend\n";
        let chunks = cut(text, 10);
        assert_eq!(
            texts(text, &chunks),
            ["# T\n\none two three four five", "six seven eight nine", "- a b c d e\n  f\n- g h", "- i j k\n\nend",]
        );
        assert_eq!(chunks.iter().map(|c| c.lines).collect::<Vec<_>>(), [(1, 3), (5, 5), (7, 9), (10, 12)]);
        assert!(chunks.iter().all(|chunk| chunk.heading == "T"));
    }

    #[test]
    fn long_paragraph_overlaps_by_last_sentence() {
        let text = "Aa bb cc dd ee. Ff gg hh ii. Jj. Kk ll mm nn oo pp qq. Rr ss tt.";
        assert_eq!(
            texts(text, &cut(text, 10)),
            ["Aa bb cc dd ee. Ff gg hh ii. Jj.", "Jj. Kk ll mm nn oo pp qq.", "Rr ss tt."]
        );
    }

    #[test]
    fn edit_changes_only_chunks_of_its_section() {
        let section = |n: usize| format!("## Section {n}\n\n{}\n\n", format!("word{n} and more text. ").repeat(30));
        let text: String = (0..40).map(section).collect();
        let before = cut(&text, 32);
        let after = cut(&text.replace("## Section 20\n", "## Section 20\n\nA new line.\n"), 32);
        let ids: std::collections::HashSet<&str> = before.iter().map(|chunk| chunk.id.as_str()).collect();
        assert_eq!(ids.len(), before.len());
        let changed: Vec<&Chunk> = after.iter().filter(|chunk| !ids.contains(chunk.id.as_str())).collect();
        assert!(!changed.is_empty() && changed.len() <= before.len() / 40 + 1, "{}", changed.len());
        assert!(changed.iter().all(|chunk| chunk.heading.ends_with("Section 20")));
    }

    #[test]
    fn equal_texts_get_distinct_ids() {
        let chunks = cut("## A\n\nx y z\n\n## A\n\nx y z\n", 8);
        assert_eq!(chunks.len(), 2);
        assert_eq!(chunks[1].id, format!("{}-2", chunks[0].id));
    }

    #[test]
    fn front_matter_is_text_not_heading() {
        let chunks = cut("---\nname: x\n---\n\n# T\n\ntext of it\n", 100);
        assert_eq!((chunks.len(), chunks[0].range.start), (1, 0));
    }

    #[test]
    fn hostile_markdown_is_chunked_in_bounded_time() {
        let started = std::time::Instant::now();
        for piece in
            ["[", "![", "> ", "*_", "- ", "`", "<a", "|-|\n", "# ", "\u{200b}", "\r", "[^1]: ", "***\n", "\t- a\n"]
        {
            let text = piece.repeat(40_000 / piece.len());
            let covered: usize = cut(&text, 64).iter().map(|chunk| chunk.range.len()).sum();
            assert!(covered > 0 || text.trim().is_empty(), "{piece:?}");
        }
        // Allows for debug builds on a loaded machine; the test guards against runs of minutes.
        assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(600)))]
        #[test]
        fn chunks_cover_text_within_limit(
            text in prop_oneof![
                "(#{1,3} |- |  - |1\\. |> |```\n|\\||---\n|[a-z]{1,6} |[一-十]{1,4}[。，]?|\n|\n\n|\\. |\r\n|<b>|\\[x\\]: y\n|\t|\u{a0}){0,60}",
                "\\PC{0,120}",
                any::<String>(),
            ],
            tokens in 1usize..24,
            markdown in any::<bool>(),
        ) {
            let path = RelPath::parse(if markdown { "k/a.md" } else { "k/a.txt" }).unwrap();
            let limits = ChunkLimits { tokens, overlap: tokens / 4 };
            let count = |text: &str| text.split_whitespace().map(|word| word.len().div_ceil(4)).sum::<usize>();
            let chunks = chunked(&path, &Document::of(&path, &text), limits, &count).chunks;
            let mut covered = 0;
            let mut ids = std::collections::HashSet::new();
            for chunk in &chunks {
                let piece = &text[chunk.range.clone()];
                prop_assert!(!piece.trim().is_empty() && piece.trim_end() == piece);
                if chunk.range.start > covered {
                    prop_assert!(text[covered..chunk.range.start].trim().is_empty());
                }
                prop_assert!(chunk.range.end > covered, "a chunk that adds nothing");
                covered = chunk.range.end;
                let fresh: Vec<_> = chunk.units.iter().filter(|unit| unit.fresh).collect();
                prop_assert!(!fresh.is_empty(), "a chunk without a centre");
                prop_assert!(chunk.units.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start));
                let inside = |unit: &Unit| unit.range.start >= chunk.range.start && unit.range.end <= chunk.range.end;
                prop_assert!(chunk.units.iter().all(inside));
                prop_assert_eq!(chunk.tokens, count(piece));
                prop_assert!(chunk.tokens <= tokens || piece.trim().chars().count() <= 2, "{piece:?}");
                let line = |at: usize| text[..at].matches('\n').count() as u32 + 1;
                prop_assert_eq!(chunk.lines, (line(chunk.range.start), line(chunk.range.end)));
                prop_assert!(ids.insert(chunk.id.clone()));
            }
            prop_assert!(text[covered..].trim().is_empty());
        }
    }
}
