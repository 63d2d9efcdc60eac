//! Finds links, tags, comments and block ids in the text of a note, in one pass and in linear time.

use std::ops::Range;

use super::{MAX_LINKS, NoteLink, is_note};

/// Maximum bytes between the brackets of a link, and of code in a line.
const LONGEST_LINK: usize = 1_024;
const LONGEST_CODE: usize = 4_096;
/// Maximum number of tags that are looked at, repetitions included.
const MAX_FOUND_TAGS: usize = 20_000;

/// What a text has, as byte ranges in it.
#[derive(Default)]
pub struct Scanned {
    pub links: Vec<NoteLink>,
    /// Without the `#`.
    pub tags: Vec<Range<usize>>,
    /// Comments and block ids, in order.
    pub hidden: Vec<Range<usize>>,
}

/// Scans a text from the byte `body` on.
pub fn scan(text: &str, body: usize) -> Scanned {
    let line = 1 + text[..body].bytes().filter(|byte| *byte == b'\n').count() as u32;
    let mut scanning = Scanning { text, line, fence: None, in_comment: false, found: Scanned::default() };
    let mut at = body;
    for line in text[body..].split_inclusive('\n') {
        scanning.line_at(at, line.trim_end_matches(['\n', '\r']));
        at += line.len();
        scanning.line += 1;
    }
    scanning.found
}

/// Returns the length of the tag that a text begins with, in bytes; 0 if it begins with none. A tag has letters, digits, `_`,
/// `-`, `/` and symbols such as emoji, and not only digits.
pub fn tag_length(text: &str) -> usize {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/') || (!c.is_ascii() && is_symbol(c));
    let length = text.find(|c: char| !fits(c)).unwrap_or(text.len());
    let tag = &text[..length];
    if tag.chars().all(|c| c.is_numeric() || c == '/') { 0 } else { length }
}

/// Whether a character beyond ASCII is neither a blank nor punctuation, such as a combining mark or an emoji.
fn is_symbol(c: char) -> bool {
    !c.is_whitespace()
        && !c.is_control()
        && !matches!(c, '\u{2000}'..='\u{206f}' if c != '\u{200d}')
        && !matches!(c, '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' | '\u{a0}'..='\u{bf}')
}

struct Scanning<'t> {
    text: &'t str,
    line: u32,
    /// The character and length of the fence of the code that the line is in.
    fence: Option<(u8, usize)>,
    in_comment: bool,
    found: Scanned,
}

impl Scanning<'_> {
    fn line_at(&mut self, at: usize, line: &str) {
        if !self.in_comment {
            let fence = fence(line);
            match (self.fence, fence) {
                (Some((sign, length)), Some((other, run, closes))) if sign == other && run >= length && closes => {
                    self.fence = None;
                    return;
                }
                (Some(_), _) => return,
                (None, Some((sign, run, _))) => {
                    self.fence = Some((sign, run));
                    return;
                }
                (None, None) => {}
            }
        }
        self.inline(at, line);
        if !self.in_comment
            && let Some(id) = block_id(line)
        {
            let start = at + id;
            if self.found.hidden.last().is_none_or(|last| last.end <= start) {
                self.found.hidden.push(start..at + line.len());
            }
        }
    }

    fn inline(&mut self, at: usize, line: &str) {
        let bytes = line.as_bytes();
        let mut i = 0;
        while i < bytes.len() {
            if self.in_comment {
                let end = line[i..].find("%%").map(|end| i + end + 2);
                self.in_comment = end.is_none();
                let end = end.unwrap_or(bytes.len());
                self.found.hidden.push(at + i..at + end);
                i = end;
                continue;
            }
            i = match bytes[i] {
                b'\\' => i + 2,
                b'%' if bytes.get(i + 1) == Some(&b'%') => {
                    self.in_comment = true;
                    self.found.hidden.push(at + i..at + i + 2);
                    i + 2
                }
                b'`' => after_code(line, i),
                b'!' if line[i + 1..].starts_with("[[") => self.wikilink(at, line, (i, i + 3)).unwrap_or(i + 3),
                b'[' if bytes.get(i + 1) == Some(&b'[') => self.wikilink(at, line, (i, i + 2)).unwrap_or(i + 2),
                b']' if bytes.get(i + 1) == Some(&b'(') => self.markdown_link(at, line, i).unwrap_or(i + 2),
                b'#' => self.tag(at, line, i),
                _ => i + 1,
            };
            // An escape may have been before a longer character.
            while i < bytes.len() && !line.is_char_boundary(i) {
                i += 1;
            }
        }
    }

    /// Takes the link that begins at `start`, with its text at `inner`. Returns where it ends.
    fn wikilink(&mut self, at: usize, line: &str, (start, inner): (usize, usize)) -> Option<usize> {
        let window = window(line, inner, LONGEST_LINK);
        // A bracket in a link is no link, and ends the search at once.
        let length = window.find(['[', ']']).filter(|length| window[*length..].starts_with("]]"))?;
        let written = &window[..length];
        if written.trim().is_empty() {
            return None;
        }
        let target = written.split('|').next().unwrap_or_default();
        // In a table, the bar is escaped.
        let target = target.trim_end_matches('\\').split(['#', '^']).next().unwrap_or_default();
        let end = inner + length + 2;
        let from = at + inner + target.len() - target.trim_start().len();
        let target = target.trim();
        self.add(NoteLink {
            target: target.to_owned(),
            line: self.line,
            range: at + start..at + end,
            written: from..from + target.len(),
            is_wiki: true,
            embed: false,
        });
        Some(end)
    }

    /// Takes the link of Markdown whose text ends at `bracket`, if it leads to a note. Returns where it ends.
    fn markdown_link(&mut self, at: usize, line: &str, bracket: usize) -> Option<usize> {
        let inner = bracket + 2;
        let window = window(line, inner, LONGEST_LINK);
        let (address, length) = match window.strip_prefix('<') {
            Some(rest) => rest.find('>').map(|end| (&rest[..end], end + 2))?,
            None => window.find([')', ' ', ']']).map(|end| (&window[..end], end))?,
        };
        let end = inner + length;
        let written = address.split(['#', '?']).next().unwrap_or_default();
        let path = percent_decoded(written)?;
        if path.contains(':') || !is_note(&path) {
            return Some(end);
        }
        let words = line.as_bytes()[..bracket].iter().rev().take(LONGEST_LINK);
        let start = words.take_while(|byte| **byte != b'[').count() + 1;
        let start = bracket.checked_sub(start).filter(|start| line.as_bytes()[*start] == b'[').unwrap_or(bracket);
        let from = at + inner + usize::from(window.starts_with('<'));
        self.add(NoteLink {
            target: path,
            line: self.line,
            range: at + start..at + end,
            written: from..from + written.len(),
            is_wiki: false,
            embed: false,
        });
        Some(end)
    }

    fn add(&mut self, link: NoteLink) {
        if self.found.links.len() < MAX_LINKS {
            let embed = self.text.as_bytes()[link.range.start] == b'!';
            self.found.links.push(NoteLink { embed, ..link });
        }
    }

    fn tag(&mut self, at: usize, line: &str, i: usize) -> usize {
        if line[..i].chars().next_back().is_some_and(|c| !c.is_whitespace()) {
            return i + 1;
        }
        let length = tag_length(window(line, i + 1, LONGEST_LINK));
        if length == 0 {
            return i + 1;
        }
        if self.found.tags.len() < MAX_FOUND_TAGS {
            let tag = line[i + 1..i + 1 + length].trim_end_matches('/');
            self.found.tags.push(at + i + 1..at + i + 1 + tag.len());
        }
        i + 1 + length
    }
}

/// Returns the text that an address stands for; `None` if it is no text.
fn percent_decoded(address: &str) -> Option<String> {
    let hex = |at: usize| u8::from_str_radix(address.get(at + 1..at + 3)?, 16).ok();
    let (mut bytes, mut at) = (Vec::with_capacity(address.len()), 0);
    while let Some(byte) = address.as_bytes().get(at) {
        let decoded = if *byte == b'%' { hex(at) } else { None };
        bytes.push(decoded.unwrap_or(*byte));
        at += if decoded.is_some() { 3 } else { 1 };
    }
    String::from_utf8(bytes).ok()
}

/// Returns the text from `from` on, at most `most` bytes of it.
fn window(line: &str, from: usize, most: usize) -> &str {
    let rest = &line[from..];
    let mut end = most.min(rest.len());
    while !rest.is_char_boundary(end) {
        end -= 1;
    }
    &rest[..end]
}

/// Returns the sign and length of the fence that a line is, and whether it can close one.
fn fence(line: &str) -> Option<(u8, usize, bool)> {
    let line = line.trim_start_matches([' ', '\t', '>']);
    let sign = *line.as_bytes().first().filter(|byte| matches!(byte, b'`' | b'~'))?;
    let run = line.bytes().take_while(|byte| *byte == sign).count();
    let rest = &line[run..];
    (run >= 3 && !(sign == b'`' && rest.contains('`'))).then(|| (sign, run, rest.trim().is_empty()))
}

/// Returns where the code that begins at `start` ends, or its backticks if nothing closes it.
fn after_code(line: &str, start: usize) -> usize {
    let run = |from: usize| line.as_bytes()[from..].iter().take_while(|byte| **byte == b'`').count();
    let length = run(start);
    let end = start + length + window(line, start + length, LONGEST_CODE).len();
    let mut i = start + length;
    while i < end {
        match run(i) {
            0 => i += 1,
            other if other == length => return i + length,
            other => i += other,
        }
    }
    start + length
}

/// Returns where the block id at the end of a line begins.
fn block_id(line: &str) -> Option<usize> {
    let trimmed = line.trim_end();
    let at = trimmed.rfind('^')?;
    let id = &trimmed[at + 1..];
    let fits = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let begins = trimmed[..at].chars().next_back().is_none_or(char::is_whitespace);
    (fits && begins).then_some(at)
}
