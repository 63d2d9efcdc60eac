//! A change of one file: its content before and after, and how a person sees the change.

use std::time::Duration;

use similar::TextDiff;

use crate::domain::visible::visible;
use crate::domain::{BadPath, Place, RelPath, Root, Shown, ToolAnswer};
use crate::store::{FileChange, FileMode, FileState, Home, StoreError, etag};

/// Time limit for computing a diff; after it the diff is correct but may be longer than necessary.
pub(super) const DIFF_TIME: Duration = Duration::from_millis(500);

/// A change of one file; `None` means that the file does not exist. The contents need not be text.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub path: Place,
    pub before: Option<Vec<u8>>,
    pub after: Option<Vec<u8>>,
    /// The file's current mode; the change keeps it.
    pub mode: FileMode,
}

/// Numbers of lines that a change adds and removes; both are 0 for a file that is not text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineCount {
    pub added: usize,
    pub removed: usize,
}

/// One replacement; `search` must occur in the file exactly once.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
pub struct Replacement {
    pub search: String,
    pub replace: String,
}

/// The change that a call requests for a file.
#[derive(Clone, Debug)]
pub enum Edit {
    Create(String),
    Replace(Vec<Replacement>),
    Delete,
}

impl Change {
    /// Returns the change that `edit` makes to the current file.
    ///
    /// # Errors
    /// Returns an error, explained for the model, if the change cannot be made.
    pub fn of(home: &Home, path: &str, edit: Edit) -> Result<Self, Box<ToolAnswer>> {
        let failed = |why: String| Box::new(ToolAnswer::failed(format!("{why} Nothing was changed.")));
        let path = match Place::parse(path) {
            Ok(path) if !matches!(path.root(), Root::Snapshot | Root::Project(_)) => path,
            Err(BadPath::Outside(path)) if RelPath::parse(&path).is_ok_and(|path| path.first_name() == "scratch") => {
                return Err(failed(format!(
                    "{path} is not this tool's: scratch/ belongs to commands; use terminal or python_repl there."
                )));
            }
            Ok(_) | Err(BadPath::Outside(_)) => {
                let roots = Root::HOME.map(|root| format!("{root}/")).join(", ");
                return Err(failed(format!("{path} cannot be written: only files under {roots} can.")));
            }
            Err(bad) => return Err(failed(format!("{path:?} cannot be written: {bad}."))),
        };
        if path.is_hidden() {
            return Err(failed(format!("{path} cannot be written: hidden files are not shown to people.")));
        }
        let current = home.file_state(&path).map_err(|error| failed(format!("{error}.")))?;
        let mode = current.as_ref().map(|state| state.mode).unwrap_or_default();
        let before = current.map(|state| state.bytes);
        let after = match (edit, &before) {
            (Edit::Create(_), Some(_)) => {
                return Err(failed(format!("{path} is there already; change it with edit_file.")));
            }
            (Edit::Create(content), None) => Some(content.into_bytes()),
            (Edit::Replace(_) | Edit::Delete, None) => return Err(failed(format!("there is no {path}."))),
            (Edit::Replace(edits), Some(bytes)) => {
                let text = text_of(&path, bytes).map_err(|error| failed(format!("{error}.")))?;
                Some(edited(text, &edits).map_err(failed)?.into_bytes())
            }
            (Edit::Delete, Some(_)) => None,
        };
        if before == after {
            return Err(failed(format!("{path} is like that already.")));
        }
        Ok(Self { path, before, after, mode })
    }

    pub fn as_file_change(&self) -> FileChange {
        let [before, after] = [&self.before, &self.after]
            .map(|bytes| bytes.as_ref().map(|bytes| FileState { bytes: bytes.clone(), mode: self.mode }));
        FileChange { path: self.path.clone(), before, after }
    }

    pub fn before_hash(&self) -> Option<String> {
        self.before.as_deref().map(etag)
    }

    pub fn shown(&self) -> Shown {
        let verb = match (&self.before, &self.after) {
            (None, _) => "create",
            (Some(_), None) => "delete",
            (Some(_), Some(_)) => "change",
        };
        Shown {
            command: visible(&format!("{verb} {}", self.path)),
            diff: Some(visible(&self.diff())),
            path: Some(self.path.to_string()),
            before: self.before_hash(),
            ..Shown::default()
        }
    }

    /// Returns a unified diff; for a file that is not text, its headers and [`Change::binary`].
    pub fn diff(&self) -> String {
        let contents = [&self.before, &self.after];
        unified_diff(self.path.as_str(), contents).unwrap_or_else(|| {
            let [old, new] = headers(self.path.as_str(), contents);
            format!("--- {old}\n+++ {new}\n{}\n", self.binary().unwrap_or_default())
        })
    }

    /// Returns how a file that is not text is described: its kind and the size of its content, or of the removed content.
    pub fn binary(&self) -> Option<String> {
        let size = self.after.as_ref().or(self.before.as_ref()).map_or(0, Vec::len);
        self.texts().is_none().then(|| format!("binary file, {size} bytes"))
    }

    pub fn count(&self) -> LineCount {
        self.texts().map(|texts| LineCount::between(texts, DIFF_TIME)).unwrap_or_default()
    }

    /// Returns both contents as texts; `None` if one of them is not text.
    pub fn texts(&self) -> Option<[&str; 2]> {
        texts([&self.before, &self.after])
    }
}

/// Returns a unified diff of a file's content before and after; `None` if one of them is not text.
pub(super) fn unified_diff(path: &str, contents: [&Option<Vec<u8>>; 2]) -> Option<String> {
    let ([old, new], [before, after]) = (headers(path, contents), texts(contents)?);
    let diff = TextDiff::configure().timeout(DIFF_TIME).diff_lines(before, after);
    Some(diff.unified_diff().header(&old, &new).to_string())
}

/// Returns both contents as texts; `None` if one of them is not text.
pub(super) fn texts(contents: [&Option<Vec<u8>>; 2]) -> Option<[&str; 2]> {
    let [before, after] = contents.map(|content| content.as_deref().unwrap_or_default());
    Some([std::str::from_utf8(before).ok()?, std::str::from_utf8(after).ok()?])
}

fn headers(path: &str, contents: [&Option<Vec<u8>>; 2]) -> [String; 2] {
    contents.map(|content| if content.is_some() { path.to_owned() } else { "/dev/null".to_owned() })
}

impl LineCount {
    /// Counts the lines that differ between the text before and the one after. If that takes longer than `time`, the
    /// numbers are correct for a longer diff than necessary.
    pub(super) fn between([before, after]: [&str; 2], time: Duration) -> Self {
        let diff = TextDiff::configure().timeout(time).diff_lines(before, after);
        let of = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
        Self { added: of(similar::ChangeTag::Insert), removed: of(similar::ChangeTag::Delete) }
    }
}

fn text_of<'a>(path: &Place, bytes: &'a [u8]) -> Result<&'a str, StoreError> {
    std::str::from_utf8(bytes).map_err(|bad| StoreError::NotText { path: path.to_string(), at: bad.valid_up_to() })
}

/// Applies the edits one after the other.
fn edited(text: &str, edits: &[Replacement]) -> Result<String, String> {
    let mut text = text.to_owned();
    for (at, Replacement { search, replace }) in edits.iter().enumerate() {
        let number = at + 1;
        text = match text.matches(search.as_str()).count() {
            1 => text.replacen(search.as_str(), replace, 1),
            0 => return Err(format!("edit {number}: its search text does not stand there; read the file again.")),
            times => {
                return Err(format!(
                    "edit {number}: its search text stands there {times} times; take more of its lines."
                ));
            }
        };
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        std::fs::write(folder.path().join("memory/MEMORY.md"), "# Memory\n\none\ntwo\ntwo\n").unwrap();
        (folder, home)
    }

    fn edit(search: &str, replace: &str) -> Edit {
        Edit::Replace(vec![Replacement { search: search.to_owned(), replace: replace.to_owned() }])
    }

    #[test]
    fn impossible_change_has_reason() {
        let (_folder, home) = home();
        let why = |path: &str, edit: Edit| Change::of(&home, path, edit).unwrap_err().text;
        for (path, edit, sign) in [
            ("memory/MEMORY.md", Edit::Create(String::new()), "is there already"),
            ("memory/none.md", Edit::Delete, "there is no memory/none.md"),
            ("memory/MEMORY.md", edit("three", "x"), "edit 1: its search text does not stand there"),
            ("memory/MEMORY.md", edit("two", "x"), "stands there 2 times"),
            ("memory/MEMORY.md", edit("one", "one"), "like that already"),
            ("../x", Edit::Delete, "cannot be written"),
            ("/etc/passwd", Edit::Delete, "cannot be written"),
            ("config.yml", Edit::Create("x".to_owned()), "only files under"),
            ("scratch/x.py", Edit::Create("x".to_owned()), "use terminal or python_repl there"),
            ("SKILLS_SNAPSHOT.md", Edit::Delete, "only files under"),
            ("project/scratch/a.txt", Edit::Create("x".to_owned()), "only files under"),
            ("sessions/a.json", Edit::Delete, "only files under"),
            ("workspace/.env", Edit::Create("x".to_owned()), "hidden"),
            ("workspace/.git/hooks/x", Edit::Create("x".to_owned()), "hidden"),
            ("memory", Edit::Delete, "only files under"),
        ] {
            let text = why(path, edit);
            assert!(text.contains(sign) && text.ends_with("Nothing was changed."), "{path}: {text}");
        }
    }

    #[test]
    fn diff_shows_invisible_characters() {
        let (_folder, home) = home();
        let change = Change::of(&home, "memory/MEMORY.md", edit("one\n", "one\u{202e}\nmore")).unwrap();
        let shown = change.shown();
        let diff = "--- memory/MEMORY.md\n+++ memory/MEMORY.md\n@@ -1,5 +1,5 @@\n # Memory\n \n-one\n-two\n+one\\u202e\n\
                    +moretwo\n two\n";
        assert_eq!(shown.diff.as_deref(), Some(diff));
        assert_eq!(
            (shown.path.as_deref(), shown.command.as_str()),
            (Some("memory/MEMORY.md"), "change memory/MEMORY.md")
        );
        assert_eq!(shown.before, Some(home.read_text(&change.path).unwrap().etag));
        assert_eq!(change.count(), LineCount { added: 2, removed: 2 });
        let new = Change::of(&home, "knowledge/new.md", Edit::Create("a\r\nb".to_owned())).unwrap().shown();
        let diff = "--- /dev/null\n+++ knowledge/new.md\n@@ -0,0 +1,2 @@\n+a\\r\n+b\n\\ No newline at end of file\n";
        assert_eq!((new.diff.as_deref(), new.before), (Some(diff), None));
    }

    #[test]
    fn binary_file_can_be_deleted_but_not_edited() {
        let (folder, home) = home();
        std::fs::write(folder.path().join("knowledge/a.bin"), [0, 255, 254, 10]).unwrap();
        let change = Change::of(&home, "knowledge/a.bin", Edit::Delete).unwrap();
        let shown = change.shown();
        let diff = "--- knowledge/a.bin\n+++ /dev/null\nbinary file, 4 bytes\n";
        assert_eq!((shown.diff.as_deref(), shown.command.as_str()), (Some(diff), "delete knowledge/a.bin"));
        assert_eq!(change.count(), LineCount::default());
        assert_eq!(change.as_file_change().before.unwrap().bytes, [0, 255, 254, 10]);
        let refused = Change::of(&home, "knowledge/a.bin", edit("a", "b")).unwrap_err().text;
        assert!(refused.contains("UTF-8") && refused.ends_with("Nothing was changed."), "{refused}");
        let taken = Change::of(&home, "knowledge/a.bin", Edit::Create("x".to_owned())).unwrap_err().text;
        assert!(taken.contains("is there already"), "{taken}");
    }

    #[test]
    fn edits_apply_in_order() {
        let edits = [("a", "bb"), ("bb", "c")]
            .map(|(search, replace)| Replacement { search: search.into(), replace: replace.into() });
        assert_eq!(edited("xay", &edits), Ok("xcy".to_owned()));
    }
}
