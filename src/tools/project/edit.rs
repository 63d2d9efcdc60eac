//! Edits a text by operations, each of which refers to the text as it was read. Line endings, a byte order mark and the end
//! of the last line stay as they are.

use std::ops::Range;

use super::answer::Failure;
use super::arguments::EditOperation;

/// Maximum number of lines of a text that are compared with a search text that does not occur.
const MAX_COMPARED: usize = 5_000;
/// Maximum length in bytes of a line that is compared, and of one that is shown; number of lines that are named.
const COMPARED: usize = 400;
const SHOWN: usize = 160;
const NAMED: usize = 3;
/// Minimum similarity of a line that is shown, from 0 to 1.
const SIMILARITY: f32 = 0.6;
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The result of an edit.
#[derive(Debug, PartialEq)]
pub struct Edited {
    /// The new text; the old one if an operation failed and the edit is not partial.
    pub text: String,
    /// What became of each operation.
    pub results: Vec<Result<(), Failure>>,
    /// Number of lines that the operations have replaced or inserted.
    pub lines: usize,
}

/// Whether the operations that fit are made even if others do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partial {
    No,
    Yes,
}

/// Applies operations to a text.
pub fn edit(raw: &str, operations: &[EditOperation], partial: Partial) -> Edited {
    let text = Text::of(raw);
    let mut results: Vec<Result<(), Failure>> = Vec::new();
    let mut changes: Vec<(Range<usize>, String)> = Vec::new();
    for operation in operations {
        let found = text.changes(operation).and_then(|found| match found.iter().any(|new| overlaps(new, &changes)) {
            true => Err(Failure::bad_edit("it changes the same place as an earlier operation of this call")),
            false => Ok(found),
        });
        results.push(found.map(|found| changes.extend(found)));
    }
    if partial == Partial::No && results.iter().any(Result::is_err) {
        return Edited { text: raw.to_owned(), results, lines: 0 };
    }
    changes.sort_by_key(|(range, _)| (range.start, range.end));
    let lines = changes.iter().map(|(range, new)| lines_in(&text.lf[range.clone()]).max(lines_in(new))).sum();
    Edited { text: text.changed(&changes), results, lines }
}

fn overlaps((range, _): &(Range<usize>, String), others: &[(Range<usize>, String)]) -> bool {
    others.iter().any(|(other, _)| {
        let insertions_meet = range.is_empty() && other.is_empty() && range.start == other.start;
        !insertions_meet && range.start < other.end.max(other.start + 1) && other.start < range.end.max(range.start + 1)
    })
}

fn lines_in(text: &str) -> usize {
    text.lines().count()
}

/// A text with `\n` at the end of every line, and where the original has `\r\n`.
struct Text<'a> {
    raw: &'a str,
    lf: String,
    /// Positions in `lf` of the line ends that have a `\r` before them in `raw`.
    returns: Vec<usize>,
    /// Length in bytes of the byte order mark.
    mark: usize,
}

impl<'a> Text<'a> {
    fn of(raw: &'a str) -> Self {
        let body = raw.strip_prefix(BYTE_ORDER_MARK).unwrap_or(raw);
        let mut lf = String::with_capacity(body.len());
        let mut returns = Vec::new();
        for line in body.split_inclusive('\n') {
            match line.strip_suffix("\r\n") {
                Some(text) => {
                    lf.push_str(text);
                    returns.push(lf.len());
                    lf.push('\n');
                }
                None => lf.push_str(line),
            }
        }
        Self { raw, lf, returns, mark: raw.len() - body.len() }
    }

    /// Returns the ranges of `lf` that an operation replaces, with the new texts.
    fn changes(&self, operation: &EditOperation) -> Result<Vec<(Range<usize>, String)>, Failure> {
        match operation {
            EditOperation {
                search: Some(search),
                replace: Some(replace),
                count,
                start_line: None,
                end_line: None,
                insert_after: None,
                text: None,
            } => self.replaced(&lf(search), (&lf(replace), count.unwrap_or(1))),
            EditOperation {
                search: None,
                replace: None,
                count: None,
                start_line: Some(first),
                end_line: Some(last),
                insert_after: None,
                text: Some(text),
            } => self.lines_replaced((*first, *last), &lf(text)),
            EditOperation {
                search: None,
                replace: None,
                count: None,
                start_line: None,
                end_line: None,
                insert_after: Some(line),
                text: Some(text),
            } => self.inserted(*line, &lf(text)),
            _ => Err(Failure::bad_edit(
                "an operation has either search and replace, or start_line, end_line and text, or insert_after and text",
            )),
        }
    }

    fn replaced(&self, search: &str, (replace, count): (&str, usize)) -> Result<Vec<(Range<usize>, String)>, Failure> {
        if search.is_empty() {
            return Err(Failure::bad_edit("its search text is empty"));
        }
        if search == replace {
            return Err(Failure::bad_edit("its search and replace are the same"));
        }
        let found: Vec<usize> = self.lf.match_indices(search).map(|(at, _)| at).collect();
        match found.len() {
            0 => Err(Failure::no_match(self.nearest(search))),
            times if times == count => {
                Ok(found.into_iter().map(|at| (at..at + search.len(), replace.to_owned())).collect())
            }
            times => {
                let lines: Vec<String> = found.iter().take(NAMED).map(|at| self.line_number(*at).to_string()).collect();
                let more = if times > NAMED { ", …" } else { "" };
                Err(Failure::many_matches(format!(
                    "its search text occurs {times} times (lines {}{more}); take more of its lines, or say count: {times} to \
                     replace all",
                    lines.join(", ")
                )))
            }
        }
    }

    /// Returns where the text is most like one that does not occur in it.
    fn nearest(&self, search: &str) -> String {
        let wanted = search.lines().find(|line| !line.trim().is_empty()).unwrap_or(search).trim();
        let lines: Vec<&str> = self.lf.lines().take(MAX_COMPARED).map(str::trim).collect();
        let short: Vec<&str> = lines.iter().copied().filter(|line| line.len() <= COMPARED).collect();
        let near = match wanted.len() <= COMPARED {
            true => similar::get_close_matches(wanted, &short, NAMED, SIMILARITY),
            false => Vec::new(),
        };
        let shown: Vec<String> = near
            .iter()
            .filter_map(|line| {
                let at = lines.iter().position(|other| other == line)?;
                let end = (0..=SHOWN.min(line.len())).rev().find(|end| line.is_char_boundary(*end)).unwrap_or_default();
                Some(format!("line {}: {}", at + 1, &line[..end]))
            })
            .collect();
        match shown.is_empty() {
            true => "its search text does not occur; read the file again".to_owned(),
            false => format!("its search text does not occur; the nearest lines are\n  {}", shown.join("\n  ")),
        }
    }

    fn line_number(&self, at: usize) -> usize {
        self.lf[..at].matches('\n').count() + 1
    }

    /// Returns the position at which each line begins, and that of the end of the text.
    fn line_starts(&self) -> Vec<usize> {
        let mut starts: Vec<usize> = self
            .lf
            .split_inclusive('\n')
            .scan(0, |at, line| {
                let start = *at;
                *at += line.len();
                Some(start)
            })
            .collect();
        starts.push(self.lf.len());
        starts
    }

    fn lines_replaced(
        &self,
        (first, last): (usize, usize),
        text: &str,
    ) -> Result<Vec<(Range<usize>, String)>, Failure> {
        let starts = self.line_starts();
        let total = starts.len() - 1;
        if first == 0 || first > last || last > total {
            return Err(Failure::bad_edit(format!("lines {first} to {last} are not lines of a file that has {total}")));
        }
        let range = starts[first - 1]..starts[last];
        let ends_line = self.lf[range.clone()].ends_with('\n');
        Ok(vec![(range, as_lines(text, ends_line))])
    }

    fn inserted(&self, line: usize, text: &str) -> Result<Vec<(Range<usize>, String)>, Failure> {
        let starts = self.line_starts();
        let total = starts.len() - 1;
        if line > total {
            return Err(Failure::bad_edit(format!("there is no line {line} in a file that has {total}")));
        }
        if text.is_empty() {
            return Err(Failure::bad_edit("its text is empty"));
        }
        let at = starts[line];
        let begins_line = at == 0 || self.lf[..at].ends_with('\n');
        let new = if begins_line { as_lines(text, true) } else { format!("\n{}", as_lines(text, false)) };
        Ok(vec![(at..at, new)])
    }

    /// Returns the original with sorted changes, in which a new line ends as the lines around it do.
    fn changed(&self, changes: &[(Range<usize>, String)]) -> String {
        let mut out = self.raw[..self.mark].to_owned();
        let mut done = 0;
        for (range, new) in changes {
            out.push_str(&self.raw[self.raw_at(done)..self.raw_at(range.start)]);
            match self.ends_with_return(range.start) {
                true => out.push_str(&new.replace('\n', "\r\n")),
                false => out.push_str(new),
            }
            done = range.end;
        }
        out.push_str(&self.raw[self.raw_at(done)..]);
        out
    }

    /// Returns the position in `raw` of a position in `lf`.
    fn raw_at(&self, at: usize) -> usize {
        self.mark + at + self.returns.partition_point(|end| *end < at)
    }

    /// Returns whether the line at this position ends with `\r\n`; the line before it decides if it has no end.
    fn ends_with_return(&self, at: usize) -> bool {
        let next = self.lf[at..].find('\n').map(|end| at + end);
        let end = next.or_else(|| self.lf[..at].rfind('\n'));
        end.is_some_and(|end| self.returns.binary_search(&end).is_ok())
    }
}

/// Returns a text with `\n` as line ends: a model may have copied those of the file.
fn lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// Returns a text as whole lines; the last one has an end only if `ends_line` or if the text is empty.
fn as_lines(text: &str, ends_line: bool) -> String {
    match (text.is_empty(), ends_line, text.ends_with('\n')) {
        (false, true, false) => format!("{text}\n"),
        (false, false, true) => text[..text.len() - 1].to_owned(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn search(search: &str, replace: &str) -> EditOperation {
        EditOperation { search: Some(search.into()), replace: Some(replace.into()), ..EditOperation::default() }
    }

    fn lines(first: usize, last: usize, text: &str) -> EditOperation {
        EditOperation {
            start_line: Some(first),
            end_line: Some(last),
            text: Some(text.into()),
            ..EditOperation::default()
        }
    }

    fn insert(line: usize, text: &str) -> EditOperation {
        EditOperation { insert_after: Some(line), text: Some(text.into()), ..EditOperation::default() }
    }

    fn edited(raw: &str, operations: &[EditOperation]) -> String {
        let edited = edit(raw, operations, Partial::No);
        edited.results.iter().for_each(|result| assert_eq!(result, &Ok(())));
        edited.text
    }

    fn refused(raw: &str, operation: EditOperation) -> Failure {
        let edited = edit(raw, &[operation], Partial::No);
        assert_eq!(edited.text, raw);
        edited.results.into_iter().next().unwrap().unwrap_err()
    }

    #[test]
    fn operations_refer_to_the_text_as_it_was_read() {
        let text = "one\ntwo\nthree\n";
        assert_eq!(
            edited(text, &[insert(0, "zero"), lines(2, 2, "2"), insert(3, "four\n")]),
            "zero\none\n2\nthree\nfour\n"
        );
        assert_eq!(edited(text, &[search("three", "two"), search("two", "three")]), "one\nthree\ntwo\n");
        assert_eq!(edited(text, &[lines(1, 2, "")]), "three\n");
        assert_eq!(edited("", &[insert(0, "a")]), "a\n");
        assert_eq!(edited(text, &[insert(1, "a"), insert(1, "b")]), "one\na\nb\ntwo\nthree\n");
    }

    #[test]
    fn line_ends_mark_and_last_line_are_kept() {
        assert_eq!(edited("\u{feff}a\r\nb\r\nc", &[search("b\nc", "x\ny")]), "\u{feff}a\r\nx\r\ny");
        assert_eq!(edited("a\r\nb\r\n", &[lines(2, 2, "x\ny")]), "a\r\nx\r\ny\r\n");
        assert_eq!(edited("a\r\nb", &[lines(2, 2, "x\n")]), "a\r\nx");
        assert_eq!(edited("a\r\nb", &[insert(2, "c\n")]), "a\r\nb\r\nc");
        assert_eq!(edited("a\nb\r\nc\n", &[search("b", "x\ny"), search("c", "z")]), "a\nx\r\ny\r\nz\n");
        assert_eq!(edited("a\r\nb\r\n", &[search("a\r\n", "")]), "b\r\n");
    }

    #[test]
    fn search_text_must_occur_as_often_as_said() {
        let text = "a\n".repeat(1000);
        let many = refused(&text, search("a", "b"));
        assert_eq!(many.code, "many_matches");
        assert!(many.advice.contains("1000 times (lines 1, 2, 3, …)"), "{}", many.advice);
        let all = EditOperation { count: Some(1000), ..search("a", "b") };
        assert_eq!(edited(&text, &[all]), "b\n".repeat(1000));
        assert_eq!(refused("aaa", EditOperation { count: Some(3), ..search("aa", "b") }).code, "many_matches");
    }

    #[test]
    fn missing_text_is_answered_with_the_nearest_lines() {
        let text = "fn main() {\n    println!(\"hello\");\n}\n";
        let missing = refused(text, search("    printn!(\"hello\");", ""));
        assert_eq!(missing.code, "no_match");
        assert!(missing.advice.contains("line 2: println!(\"hello\");"), "{}", missing.advice);
        assert!(refused(text, search("zzzz", "")).advice.ends_with("read the file again"));
    }

    #[test]
    fn edit_is_made_whole_unless_partial() {
        let operations = [search("one", "1"), search("none", "x"), lines(9, 9, "x")];
        let whole = edit("one\n", &operations, Partial::No);
        assert_eq!((whole.text.as_str(), whole.lines), ("one\n", 0));
        let partial = edit("one\n", &operations, Partial::Yes);
        assert_eq!((partial.text.as_str(), partial.lines), ("1\n", 1));
        let codes: Vec<_> = partial.results.iter().map(|result| result.as_ref().map_err(|why| why.code)).collect();
        assert_eq!(codes, [Ok(&()), Err("no_match"), Err("bad_edit")]);
    }

    #[test]
    fn unclear_or_overlapping_operation_is_refused() {
        for operation in [
            EditOperation::default(),
            EditOperation { replace: None, ..search("a", "b") },
            EditOperation { text: Some("x".into()), ..search("a", "b") },
            EditOperation { end_line: None, ..lines(1, 1, "x") },
            lines(2, 1, "x"),
            lines(0, 1, "x"),
            insert(5, "x"),
            insert(0, ""),
            search("a", "a"),
        ] {
            assert_eq!(refused("a\n", operation.clone()).code, "bad_edit", "{operation:?}");
        }
        let edited = edit("one\ntwo\n", &[lines(1, 2, "x"), search("two", "2")], Partial::No);
        assert!(edited.results[1].as_ref().unwrap_err().advice.contains("same place"));
        let edited = edit("one\ntwo\n", &[insert(1, "x"), lines(1, 2, "y")], Partial::No);
        assert!(edited.results[1].is_err());
    }

    proptest! {
        #[test]
        fn text_outside_of_the_change_is_kept_byte_for_byte(
            before in "(\u{feff})?([a-c]{0,3}(\r\n|\n)){0,5}",
            after in "([d-f]{0,3}(\r\n|\n)){0,5}[d-f]{0,3}",
        ) {
            let raw = format!("{before}KEY{after}");
            let edited = edit(&raw, &[search("KEY", "value")], Partial::No);
            prop_assert_eq!(edited.text, format!("{before}value{after}"));
        }

        #[test]
        fn no_operation_panics_or_breaks_utf8(
            raw in "(\u{feff})?[ab茶\r\n]{0,20}",
            (find, new) in ("[ab茶\r\n]{0,3}", "[xy\r\n]{0,3}"),
            (first, last) in (0usize..8, 0usize..8),
        ) {
            let operations = [search(&find, &new), lines(first, last, &new), insert(first, &new)];
            let edited = edit(&raw, &operations, Partial::Yes);
            prop_assert_eq!(edited.results.len(), 3);
        }
    }
}
