//! What undoing would make of files, looked at before it is done. Nothing is written here.

use super::Editor;
use super::change::Change;
use crate::domain::visible::visible;
use crate::domain::{HomePath, SessionId};
use crate::store::{FileChange, StoreError};

/// One file that calls have changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Undoing {
    pub path: HomePath,
    /// The calls whose changes would be undone, oldest first; the last one is undone first.
    pub calls: Vec<String>,
    pub would: Would,
}

/// What would become of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Would {
    /// From what it is now to what it was before the first of the calls, as a unified diff in which nothing hides; lines that
    /// come and go.
    Become { diff: String, added: usize, removed: usize },
    /// It is not what the calls made of it: an undo would be refused.
    Stay,
}

impl Editor {
    /// What undoing the changes that `calls` made, oldest first, would do. Calls that changed no file are passed over.
    pub fn undoing(&self, session: &SessionId, calls: &[String]) -> Result<Vec<Undoing>, StoreError> {
        let mut files: Vec<(HomePath, Vec<String>, Vec<FileChange>)> = Vec::new();
        for call in calls {
            let Some(set) = self.home.kept_change(session, call)? else { continue };
            for change in set.0 {
                let at = files.iter().position(|(known, ..)| *known == change.path).unwrap_or_else(|| {
                    files.push((change.path.clone(), Vec::new(), Vec::new()));
                    files.len() - 1
                });
                files[at].1.push(call.clone());
                files[at].2.push(change);
            }
        }
        let files = files.into_iter().map(|(path, calls, changes)| {
            let would = self.would(&path, &changes)?;
            Ok(Undoing { path, calls, would })
        });
        let mut files = files.collect::<Result<Vec<Undoing>, StoreError>>()?;
        hold_back_sets(&mut files);
        Ok(files)
    }

    fn would(&self, path: &HomePath, changes: &[FileChange]) -> Result<Would, StoreError> {
        let now = match self.home.read_bytes(path) {
            Ok(bytes) => Some(bytes),
            Err(StoreError::NotFound { .. }) => None,
            Err(StoreError::TooLarge { .. }) => return Ok(Would::Stay),
            Err(other) => return Err(other),
        };
        let follow = changes.windows(2).all(|two| two[0].after == two[1].before);
        let (Some(first), Some(last)) = (changes.first(), changes.last()) else { return Ok(Would::Stay) };
        if !follow || last.after != now {
            return Ok(Would::Stay);
        }
        let text = |bytes: Option<Vec<u8>>| bytes.map(String::from_utf8).transpose();
        let (Ok(before), Ok(after)) = (text(now), text(first.before.clone())) else {
            let diff = visible(&format!("Binary files {path} and {path} differ\n"));
            return Ok(Would::Become { diff, added: 0, removed: 0 });
        };
        let back = Change { path: path.clone(), before, after };
        let (added, removed) = back.count();
        Ok(Would::Become { diff: visible(&back.diff()), added, removed })
    }
}

/// The undo of a call is refused as a whole, so a file stays as it is when another file of one of its calls does.
fn hold_back_sets(files: &mut [Undoing]) {
    loop {
        let stays = |file: &&Undoing| file.would == Would::Stay;
        let refused: Vec<String> = files.iter().filter(stays).flat_map(|file| file.calls.clone()).collect();
        let mut held = files.iter_mut().filter(|file| file.would != Would::Stay);
        let Some(file) = held.find(|file| file.calls.iter().any(|call| refused.contains(call))) else { return };
        file.would = Would::Stay;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{ChangeSet, Home};

    #[test]
    fn several_changes_of_a_file_are_one_way_back_unless_somebody_wrote_in_between() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let session = SessionId::parse("s").unwrap();
        let text = |text: &str| Some(text.to_owned());
        let keep = |call: &str, path: &str, before: Option<String>, after: Option<String>| {
            let [before, after] = [before, after].map(|text| text.map(String::into_bytes));
            let change = FileChange { path: HomePath::parse(path).unwrap(), before, after };
            home.keep_change(&session, call, &ChangeSet(vec![change])).unwrap();
        };
        keep("a", "memory/x.md", None, text("one\n"));
        keep("b", "memory/y.md", text("y\n"), text("z\n"));
        keep("c", "memory/x.md", text("one\n"), text("one\ntwo\u{202e}\n"));
        keep("d", "memory/gone.md", text("g\n"), None);
        std::fs::write(folder.path().join("memory/x.md"), "one\ntwo\u{202e}\n").unwrap();
        std::fs::write(folder.path().join("memory/y.md"), "mine\n").unwrap();
        let editor = Editor::new(home.clone(), |_, _| panic!("nothing is written"));
        let of = |calls: &[&str]| {
            let calls: Vec<String> = calls.iter().map(|call| (*call).to_owned()).collect();
            editor.undoing(&session, &calls).unwrap()
        };
        let undoing = |path: &str, calls: &[&str], would| Undoing {
            path: HomePath::parse(path).unwrap(),
            calls: calls.iter().map(|call| (*call).to_owned()).collect(),
            would,
        };
        let [x, back] = [
            "--- memory/x.md\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\\u202e\n",
            "--- /dev/null\n+++ memory/gone.md\n@@ -0,0 +1 @@\n+g\n",
        ];
        assert_eq!(
            of(&["a", "nothing", "b", "c", "d"]),
            [
                undoing("memory/x.md", &["a", "c"], Would::Become { diff: x.to_owned(), added: 0, removed: 2 }),
                undoing("memory/y.md", &["b"], Would::Stay),
                undoing("memory/gone.md", &["d"], Would::Become { diff: back.to_owned(), added: 1, removed: 0 }),
            ]
        );
        assert_eq!(of(&["a"])[0].would, Would::Stay, "another change of it came after");
        keep("e", "memory/x.md", text("something else\n"), text("one\ntwo\u{202e}\n"));
        assert_eq!(of(&["a", "c", "e"])[0].would, Would::Stay, "somebody wrote in between");
    }

    #[test]
    fn changed_file_holds_back_the_whole_set() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let session = SessionId::parse("s").unwrap();
        let path = |path: &str| HomePath::parse(path).unwrap();
        let change = |at: &str, after: &[u8]| FileChange { path: path(at), before: None, after: Some(after.to_vec()) };
        let set = ChangeSet(vec![change("memory/a.md", b"a"), change("knowledge/b.bin", &[255])]);
        home.keep_change(&session, "c", &set).unwrap();
        std::fs::write(folder.path().join("memory/a.md"), "a").unwrap();
        std::fs::write(folder.path().join("knowledge/b.bin"), [255]).unwrap();
        let editor = Editor::new(home, |_, _| panic!("nothing is written"));
        let would = || -> Vec<Would> {
            let files = editor.undoing(&session, &["c".to_owned()]).unwrap();
            files.into_iter().map(|file| file.would).collect()
        };
        let binary = "Binary files knowledge/b.bin and knowledge/b.bin differ\n".to_owned();
        assert_eq!(would()[1], Would::Become { diff: binary, added: 0, removed: 0 });
        assert!(matches!(would()[0], Would::Become { .. }));
        std::fs::write(folder.path().join("knowledge/b.bin"), [254]).unwrap();
        assert_eq!(would(), [Would::Stay, Would::Stay]);
    }
}
