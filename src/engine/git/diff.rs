//! The diffs of git, as the page shows them.

/// A unified diff of one or several files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitDiff {
    /// Each file begins with `--- ` and `+++ `. What is not UTF-8 is replaced.
    pub text: String,
    /// Numbers of lines in `text`.
    pub added: usize,
    pub removed: usize,
    /// A file in it is not text, so its lines are not shown.
    pub is_binary: bool,
    /// The diff is longer than what is shown.
    pub is_cut: bool,
}

/// Reads the output of `git diff`: the lines about names, modes and hashes are left out.
pub(super) fn parse(bytes: &[u8], is_cut: bool) -> GitDiff {
    let whole = String::from_utf8_lossy(bytes);
    // The last line may be cut.
    let whole = if is_cut { whole.rsplit_once('\n').map_or("", |(whole, _)| whole) } else { &whole };
    let mut diff = GitDiff { is_cut, ..GitDiff::default() };
    let (mut old, mut new) = (0_usize, 0_usize);
    // The names of a file whose lines have not begun.
    let mut names: Option<[String; 2]> = None;
    for line in whole.lines() {
        let is_inside = old > 0 || new > 0;
        match line.as_bytes().first() {
            Some(b'+') if is_inside => {
                new = new.saturating_sub(1);
                diff.added += 1;
            }
            Some(b'-') if is_inside => {
                old = old.saturating_sub(1);
                diff.removed += 1;
            }
            Some(b'\\') => {}
            _ if is_inside => (old, new) = (old.saturating_sub(1), new.saturating_sub(1)),
            _ if line.starts_with("@@ ") => {
                names = None;
                (old, new) = lengths(line);
            }
            _ if line.starts_with("--- ") || line.starts_with("+++ ") => names = None,
            _ => {
                if line.starts_with("diff --git ") {
                    push_names(&mut diff.text, names.take());
                }
                if let Some(rest) = line.strip_prefix("Binary files ")
                    && let Some((before, after)) =
                        rest.strip_suffix(" differ").and_then(|rest| rest.split_once(" and "))
                {
                    diff.is_binary = true;
                    names = Some([before.to_owned(), after.to_owned()]);
                } else if let Some(from) = line.strip_prefix("rename from ") {
                    names = Some([format!("a/{from}"), String::new()]);
                } else if let (Some(to), Some([_, after])) = (line.strip_prefix("rename to "), names.as_mut()) {
                    *after = format!("b/{to}");
                }
                continue;
            }
        }
        diff.text.push_str(line);
        diff.text.push('\n');
    }
    push_names(&mut diff.text, names);
    diff
}

fn push_names(text: &mut String, names: Option<[String; 2]>) {
    if let Some([before, after]) = names {
        text.push_str(&format!("--- {before}\n+++ {after}\n"));
    }
}

/// Returns the number of lines before and after of `@@ -1,2 +3,4 @@`.
fn lengths(line: &str) -> (usize, usize) {
    let mut ranges = line.split(' ').skip(1).take(2).map(|range| match range.split_once(',') {
        Some((_, length)) => length.parse().unwrap_or(0),
        None => 1,
    });
    (ranges.next().unwrap_or(0), ranges.next().unwrap_or(0))
}

/// Returns the diff of a new file with this text.
pub(super) fn of_new(path: &str, content: &str) -> GitDiff {
    let added = content.lines().count();
    let mut text = format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{added} @@\n");
    for line in content.lines() {
        text.push('+');
        text.push_str(line);
        text.push('\n');
    }
    GitDiff { text, added, ..GitDiff::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn diff_keeps_names_and_lines_only() {
        let text = "diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@ fn x\n same\n-- old\n+++ new\n\
                    diff --git a/b b/b\nBinary files a/b and b/b differ\ndiff --git a/c b/d\nsimilarity index 100%\n\
                    rename from c\nrename to d\n";
        let diff = parse(text.as_bytes(), false);
        let expected =
            "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@ fn x\n same\n-- old\n+++ new\n--- a/b\n+++ b/b\n--- a/c\n+++ b/d\n";
        assert_eq!(diff.text, expected);
        assert_eq!((diff.added, diff.removed, diff.is_binary), (1, 1, true));
        assert_eq!(of_new("x", "a\nb").text, "--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n");
        assert_eq!(parse(b"--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b", true).text, "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..300), cut in any::<bool>()) {
            parse(&bytes, cut);
        }
    }
}
