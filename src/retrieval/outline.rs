//! The structure of a document: its title, its sections, and the atoms that chunks are assembled from.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::extract::{Document, Format};
use crate::domain::RelPath;

/// The largest element that begins where an atom begins. Chunks preferably end before a larger element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Boundary {
    /// A sentence, or a part of a long one.
    Sentence,
    Line,
    /// An item of a list.
    Item,
    /// A paragraph, list, table, code block or heading.
    Block,
}

/// Maximum tokens of an atom: about one long sentence.
pub const MAX_ATOM_TOKENS: usize = 64;

/// A piece of text that is never split. The atoms of a document are contiguous and cover all of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Atom {
    pub range: Range<usize>,
    pub tokens: usize,
    pub begins: Boundary,
}

/// The text from one heading to the next, whatever their levels.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// The headings above its text, outermost first.
    pub headings: Vec<String>,
    pub atoms: Vec<Atom>,
}

#[derive(Clone, Debug)]
pub struct Outline {
    pub title: String,
    pub sections: Vec<Section>,
}

/// The token counter, and the maximum tokens of a chunk.
pub struct AtomSizer<'a> {
    pub count: &'a dyn Fn(&str) -> usize,
    pub max_chunk_tokens: usize,
}

pub fn outline(path: &RelPath, document: &Document, sizer: &AtomSizer) -> Outline {
    let text = document.text.as_str();
    let (title, marks) = match document.format {
        Format::Markdown => markdown_marks(text),
        Format::Plain => (None, text_marks(text)),
    };
    let stem = path.file_name().rsplit_once('.').map_or(path.file_name(), |(stem, _)| stem);
    let title = document.title.clone().or(title).unwrap_or_else(|| stem.to_owned());
    Outline { title, sections: sections(text, marks, sizer) }
}

/// A position where an element larger than a line begins.
struct Mark {
    at: usize,
    begins: Boundary,
    /// Level and text of the heading; present where a section begins.
    heading: Option<(u8, String)>,
}

fn markdown_marks(text: &str) -> (Option<String>, Vec<Mark>) {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut marks: Vec<Mark> = Vec::new();
    let mut title = None;
    let mut depth = 0usize;
    let mut heading: Option<(u8, String)> = None;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                let begins = match (depth, &tag) {
                    (0, _) => Some(Boundary::Block),
                    (1, Tag::Item) => Some(Boundary::Item),
                    _ => None,
                };
                if let Some(begins) = begins {
                    marks.push(Mark { at: line_start(text, range.start), begins, heading: None });
                }
                if let (0, Tag::Heading { level, .. }) = (depth, &tag) {
                    heading = Some((*level as u8, String::new()));
                }
                depth += 1;
            }
            Event::End(tag) => {
                depth = depth.saturating_sub(1);
                if let (0, TagEnd::Heading(_), Some((level, words))) = (depth, tag, heading.take_if(|_| depth == 0)) {
                    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
                    if level == 1 && title.is_none() && !words.is_empty() {
                        title = Some(words.clone());
                    }
                    if let Some(mark) = marks.last_mut() {
                        mark.heading = Some((level, words));
                    }
                }
            }
            Event::Text(words) | Event::Code(words) | Event::InlineHtml(words) => {
                if let Some((_, heading)) = &mut heading {
                    heading.push_str(&words);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some((_, heading)) = &mut heading {
                    heading.push(' ');
                }
            }
            _ if depth == 0 => {
                marks.push(Mark { at: line_start(text, range.start), begins: Boundary::Block, heading: None });
            }
            _ => {}
        }
    }
    (title, marks)
}

/// Returns the start of the line if only whitespace precedes `at`, so that an indented block keeps its indent.
fn line_start(text: &str, at: usize) -> usize {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    if text[start..at].trim().is_empty() { start } else { at }
}

/// Marks the paragraphs of a plain text: lines after blank lines.
fn text_marks(text: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut at = 0;
    let mut after_blank = true;
    for line in text.split_inclusive('\n') {
        let blank = line.trim().is_empty();
        if after_blank && !blank {
            marks.push(Mark { at, begins: Boundary::Block, heading: None });
        }
        after_blank = blank;
        at += line.len();
    }
    marks
}

fn sections(text: &str, marks: Vec<Mark>, sizer: &AtomSizer) -> Vec<Section> {
    let mut sections = vec![Section::default()];
    let mut open: Vec<(u8, String)> = Vec::new();
    let mut marks = marks.into_iter().peekable();
    // Text before the first mark, or between a block and the next (link definitions), belongs to the text before it.
    if marks.peek().is_none_or(|mark| mark.at > 0) {
        let end = marks.peek().map_or(text.len(), |mark| mark.at);
        add_atoms(text, (0..end, Boundary::Block), sizer, &mut sections[0].atoms);
    }
    let mut reached = 0;
    while let Some(mark) = marks.next() {
        // A list begins where its first item begins: keep only the mark of the larger element.
        while marks.peek().is_some_and(|next| next.at <= mark.at && next.heading.is_none()) {
            marks.next();
        }
        let start = mark.at.max(reached);
        let end = marks.peek().map_or(text.len(), |next| next.at.max(start));
        reached = end;
        if let Some((level, words)) = mark.heading {
            open.retain(|&(above, _)| above < level);
            open.push((level, words));
            let headings = open.iter().map(|(_, words)| words.clone()).filter(|words| !words.is_empty()).collect();
            sections.push(Section { headings, atoms: Vec::new() });
        }
        if let Some(section) = sections.last_mut() {
            add_atoms(text, (start..end, mark.begins), sizer, &mut section.atoms);
        }
    }
    joined(sections, sizer.max_chunk_tokens / 4)
}

/// Merges each section of fewer than `least` tokens, such as a heading directly followed by another heading, into the next
/// section: alone it would answer nothing. The merged section keeps the common headings, or the deeper ones if one section
/// is inside the other.
fn joined(sections: Vec<Section>, least: usize) -> Vec<Section> {
    let mut out = Vec::with_capacity(sections.len());
    let mut small: Option<Section> = None;
    // Whether `small` spans more than one branch of the headings: then it keeps only the headings common to all of them.
    let mut branches = false;
    for mut section in sections {
        if let Some(before) = small.take() {
            let common = before.headings.iter().zip(&section.headings).take_while(|(a, b)| a == b).count();
            branches |= common < before.headings.len();
            if branches {
                section.headings.truncate(common);
            }
            section.atoms = [before.atoms, section.atoms].concat();
        }
        if section.atoms.iter().map(|atom| atom.tokens).sum::<usize>() < least {
            small = Some(section);
        } else {
            out.push(section);
            branches = false;
        }
    }
    out.extend(small.filter(|section| !section.atoms.is_empty()));
    out
}

/// Splits a block or item into lines, lines into sentences, and sentences that are still too long wherever necessary.
fn add_atoms(text: &str, (range, begins): (Range<usize>, Boundary), sizer: &AtomSizer, atoms: &mut Vec<Atom>) {
    let mut at = range.start;
    let mut next = begins;
    for line in text[range].split_inclusive('\n') {
        let mut rest = line;
        while !rest.is_empty() {
            let (sentence, after) = rest.split_at(sentence_end(rest));
            add_pieces(sentence, (at, next), sizer, atoms);
            at += sentence.len();
            next = Boundary::Sentence;
            rest = after;
        }
        next = Boundary::Line;
    }
}

fn add_pieces(piece: &str, (at, begins): (usize, Boundary), sizer: &AtomSizer, atoms: &mut Vec<Atom>) {
    let tokens = (sizer.count)(piece);
    let limit = sizer.max_chunk_tokens.min(MAX_ATOM_TOKENS);
    if tokens <= limit || piece.chars().nth(1).is_none() {
        atoms.push(Atom { range: at..at + piece.len(), tokens, begins });
        return;
    }
    let parts = tokens / limit.max(1) + 1;
    let mut start = 0;
    let mut begins = begins;
    while start < piece.len() {
        let end = cut(piece, start, (piece.len() / parts).max(1));
        add_pieces(&piece[start..end], (at + start, begins), sizer, atoms);
        begins = Boundary::Sentence;
        start = end;
    }
}

/// Returns the end of a piece of about `length` bytes: after whitespace if there is any in its second half, always on a
/// character boundary and after at least one character. If `start` is 0, the piece is never the whole text.
fn cut(text: &str, start: usize, length: usize) -> usize {
    let mut end = (start + length).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    if end == text.len() && start > 0 {
        return end;
    }
    if let Some((blank, c)) = text[start..end].char_indices().rfind(|(_, c)| c.is_whitespace())
        && blank * 2 >= length
    {
        return start + blank + c.len_utf8();
    }
    if end > start && end < text.len() {
        return end;
    }
    start + text[start..].chars().next().map_or(0, char::len_utf8)
}

/// Returns the end of the first sentence, including the whitespace after it. A full stop ends a sentence only before
/// whitespace, and not after a single letter or a short number (`1. first`, `J. Doe`).
fn sentence_end(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    let (mut letters, mut digits, mut after_blank) = (0, 0, false);
    while let Some((at, c)) = chars.next() {
        let wide = matches!(c, '。' | '！' | '？' | '；' | '…');
        let narrow = matches!(c, '!' | '?') || (c == '.' && (letters > 1 || digits > 2 || after_blank));
        letters = if c.is_alphabetic() { letters + 1 } else { 0 };
        digits = if c.is_numeric() { digits + 1 } else { 0 };
        after_blank = at > 0 && c.is_whitespace();
        if !(wide || narrow) {
            continue;
        }
        let mut end = at + c.len_utf8();
        while let Some(&(at, c)) = chars.peek()
            && matches!(
                c,
                '"' | '\'' | ')' | '”' | '’' | '」' | '』' | '）' | '*' | '。' | '！' | '？' | '.' | '!' | '?'
            )
        {
            end = at + c.len_utf8();
            chars.next();
        }
        let after = text[end..].trim_start();
        if wide || after.len() < text.len() - end || after.is_empty() {
            return text.len() - after.len();
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> usize {
        text.split_whitespace().count()
    }

    fn read(path: &str, text: &str) -> Outline {
        read_with(path, text, &AtomSizer { count: &words, max_chunk_tokens: 8 })
    }

    fn read_with(path: &str, text: &str, sizer: &AtomSizer) -> Outline {
        let path = RelPath::parse(path).unwrap();
        outline(&path, &Document::of(&path, text), sizer)
    }

    fn atoms<'a>(text: &'a str, section: &Section) -> Vec<(&'a str, Boundary)> {
        section.atoms.iter().map(|atom| (&text[atom.range.clone()], atom.begins)).collect()
    }

    #[test]
    fn sections_record_parent_headings() {
        let text = "some intro words\n\n# A `x`\none\n\nB\n---\ntwo\n\n### C\n## D\n# E\n";
        let outline = read("k/a.md", text);
        assert_eq!(outline.title, "A x");
        let headings: Vec<String> = outline.sections.iter().map(|s| s.headings.join("/")).collect();
        assert_eq!(headings, ["", "A x", "A x/B", "A x/B/C", "A x/D", "E"]);
    }

    #[test]
    fn small_sections_merge_into_next() {
        let text = "# A\n## B\nb\n## C\nc\n### D\nthe text of d\n## E\nthe text of e\n# F\n";
        let sizer = AtomSizer { count: &words, max_chunk_tokens: 24 };
        let outline = read_with("a.md", text, &sizer);
        let headings: Vec<String> = outline.sections.iter().map(|s| s.headings.join("/")).collect();
        assert_eq!(headings, ["A", "A/C/D", "A/E", "F"]);
        let words = |text: &str| read_with("a.md", text, &sizer).sections[0].headings.join("/");
        assert_eq!(words("# A\n## B\nthe text of this section\n"), "A/B");
    }

    #[test]
    fn lists_split_into_items_and_paragraphs_into_sentences() {
        let text = "One two. Three J. Doe? Four\nfive\n\n- a\n  - b\n- c\n\n[x]: http://example.org\n\n```\n# no heading\n```\n";
        let outline = read("k/a.md", text);
        assert_eq!(
            atoms(text, &outline.sections[0]),
            [
                ("One two. ", Boundary::Block),
                ("Three J. Doe? ", Boundary::Sentence),
                ("Four\n", Boundary::Sentence),
                ("five\n", Boundary::Line),
                ("\n", Boundary::Line),
                ("- a\n", Boundary::Block),
                ("  - b\n", Boundary::Line),
                ("- c\n", Boundary::Item),
                ("\n", Boundary::Line),
                ("[x]: http://example.org\n", Boundary::Line),
                ("\n", Boundary::Line),
                ("```\n", Boundary::Block),
                ("# no heading\n", Boundary::Line),
                ("```\n", Boundary::Line),
            ]
        );
        assert_eq!(outline.title, "a");
    }

    #[test]
    fn chinese_sentences_end_without_space() {
        let text = "你好。今天“很好！”是吗？对；好";
        assert_eq!(
            atoms(text, &read("k/a.txt", text).sections[0]).iter().map(|a| a.0).collect::<Vec<_>>(),
            ["你好。", "今天“很好！”", "是吗？", "对；", "好"]
        );
    }

    #[test]
    fn full_stop_after_year_or_space_ends_sentence() {
        let text = "It was in 2017. Then . Next 3. item";
        assert_eq!(
            atoms(text, &read("k/a.txt", text).sections[0]).iter().map(|a| a.0).collect::<Vec<_>>(),
            ["It was in 2017. ", "Then . ", "Next 3. item"]
        );
    }

    #[test]
    fn long_run_is_split_to_fit() {
        let text = "word ".repeat(100);
        let outline = read("k/a.txt", &text);
        assert!(outline.sections[0].atoms.iter().all(|atom| atom.tokens <= 8));
        assert_eq!(outline.sections[0].atoms.last().unwrap().range.end, text.len());
        let unsplit = AtomSizer { count: &str::len, max_chunk_tokens: 2 };
        let outline = read_with("a.txt", "一二三xyz", &unsplit);
        assert_eq!(outline.sections[0].atoms.len(), 6);
    }
}
