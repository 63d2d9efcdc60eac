//! Computes what an undo would do to files. Writes nothing.

use super::change::{DIFF_TIME, LineCount, texts, unified_diff};
use super::net_change::{kept_or_current, same_content};
use crate::domain::entry_path::escaped;
use crate::domain::visible::visible;
use crate::domain::{EntryPath, SessionId};
use crate::store::{EntryKind, Home, RecordedChange, RecordedChanges, RecordedContent, RecordedState, StoreError};

/// One file that calls have changed.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedUndo {
    pub path: EntryPath,
    /// The calls whose changes would be undone, oldest first; the undo starts with the last one.
    pub calls: Vec<String>,
    pub effect: UndoEffect,
}

/// The effect of an undo on a file.
#[derive(Clone, Debug, PartialEq)]
pub enum UndoEffect {
    /// Restores the content before the first of the calls; the diff is unified and makes invisible characters visible, with
    /// the numbers of lines added and removed.
    Restore { diff: String, added: usize, removed: usize },
    /// The file differs from what the calls wrote: an undo would be refused.
    Refuse,
}

/// A file with the changes of the calls that changed it, oldest first.
struct ChangedFile {
    path: EntryPath,
    calls: Vec<String>,
    changes: Vec<RecordedChange>,
}

/// Returns what undoing the changes of `calls` (oldest first) would do. Skips calls that changed no file.
pub fn plan_undo(home: &Home, session: &SessionId, calls: &[String]) -> Result<Vec<PlannedUndo>, StoreError> {
    let kept = home.session_files(session);
    let mut files: Vec<ChangedFile> = Vec::new();
    for call in calls {
        let RecordedChanges::Files(changes) = kept.recorded_changes(call)? else { continue };
        for change in changes {
            let at = files.iter().position(|file| file.path == change.path).unwrap_or_else(|| {
                files.push(ChangedFile { path: change.path.clone(), calls: Vec::new(), changes: Vec::new() });
                files.len() - 1
            });
            files[at].calls.push(call.clone());
            files[at].changes.push(change);
        }
    }
    let files = files.into_iter().map(|file| {
        let effect = effect(home, session, &file)?;
        Ok(PlannedUndo { path: file.path, calls: file.calls, effect })
    });
    let mut files = files.collect::<Result<Vec<PlannedUndo>, StoreError>>()?;
    refuse_dependent_sets(&mut files);
    Ok(files)
}

/// Returns the first change of a file by `calls` (oldest first); `None` if they did not change it.
pub fn first_change(
    home: &Home,
    session: &SessionId,
    calls: &[String],
    path: &EntryPath,
) -> Result<Option<RecordedChange>, StoreError> {
    let kept = home.session_files(session);
    for call in calls {
        let RecordedChanges::Files(changes) = kept.recorded_changes(call)? else { continue };
        if let Some(change) = changes.into_iter().find(|change| change.path == *path) {
            return Ok(Some(change));
        }
    }
    Ok(None)
}

fn effect(
    home: &Home,
    session: &SessionId,
    ChangedFile { path, changes, .. }: &ChangedFile,
) -> Result<UndoEffect, StoreError> {
    let now = match home.entry_state(path) {
        Ok(state) => state,
        Err(StoreError::TooLarge { .. } | StoreError::NotAllowed { .. }) => return Ok(UndoEffect::Refuse),
        Err(other) => return Err(other),
    };
    let follow = changes.windows(2).all(|two| same_content(&two[0].after, &two[1].before));
    let (Some(first), Some(last)) = (changes.first(), changes.last()) else { return Ok(UndoEffect::Refuse) };
    if !follow || !same_content(&last.after, &now) {
        return Ok(UndoEffect::Refuse);
    }
    let is_file = |state: &Option<RecordedState>| state.as_ref().is_none_or(|state| state.kind == EntryKind::File);
    let content = |state: &Option<RecordedState>| match state {
        None => Some(None),
        Some(state) => match kept_or_current(home, session, (path, state)) {
            RecordedContent::Bytes(bytes) => Some(Some(bytes)),
            RecordedContent::TooLarge { .. }
            | RecordedContent::NotKept { .. }
            | RecordedContent::Dropped { .. }
            | RecordedContent::Damaged => None,
        },
    };
    let has_content = first.before.as_ref().is_none_or(|before| home.session_files(session).is_kept(before))
        || same_content(&first.before, &now);
    if !has_content {
        return Ok(UndoEffect::Refuse);
    }
    let binary =
        || UndoEffect::Restore { diff: format!("Binary files {path} and {path} differ\n"), added: 0, removed: 0 };
    if !is_file(&now) || !is_file(&first.before) {
        return Ok(UndoEffect::Restore { diff: entry_diff([&now, &first.before]), added: 0, removed: 0 });
    }
    let (Some(before), Some(after)) = (content(&now), content(&first.before)) else { return Ok(binary()) };
    let contents = [&before, &after];
    let (Some(diff), Some(texts)) = (unified_diff(path.as_str(), contents), texts(contents)) else {
        return Ok(binary());
    };
    let LineCount { added, removed } = LineCount::between(texts, DIFF_TIME);
    Ok(UndoEffect::Restore { diff: visible(&diff), added, removed })
}

/// Describes a change in which a link or folder takes part; empty if nothing is to be said but that a folder comes or goes.
fn entry_diff(states: [&Option<RecordedState>; 2]) -> String {
    let is_folder_or_nothing =
        |state: &Option<RecordedState>| state.as_ref().is_none_or(|state| state.kind == EntryKind::Folder);
    if states.into_iter().all(is_folder_or_nothing) {
        return String::new();
    }
    let [before, after] = states.map(|state| match state.as_ref().map(|state| (state.kind, state.link_target())) {
        None => "nothing".to_owned(),
        Some((EntryKind::Folder, _)) => "folder".to_owned(),
        Some((EntryKind::File, _)) => "file".to_owned(),
        Some((EntryKind::Link, target)) => {
            format!("link to {}", escaped(target.map_or(b"", |target| target.as_os_str().as_encoded_bytes())))
        }
    });
    visible(&format!("{before} becomes {after}\n"))
}

/// Refuses a file if another file of one of its calls is refused, because the undo of a call is refused as a whole.
fn refuse_dependent_sets(files: &mut [PlannedUndo]) {
    loop {
        let stays = |file: &&PlannedUndo| file.effect == UndoEffect::Refuse;
        let refused: Vec<String> = files.iter().filter(stays).flat_map(|file| file.calls.clone()).collect();
        let mut held = files.iter_mut().filter(|file| file.effect != UndoEffect::Refuse);
        let Some(file) = held.find(|file| file.calls.iter().any(|call| refused.contains(call))) else { return };
        file.effect = UndoEffect::Refuse;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Place;
    use crate::store::{ChangeSet, FileChange, FileMode, FileState, OwnedHome};

    fn state(bytes: &[u8]) -> FileState {
        FileState { bytes: bytes.to_vec(), mode: FileMode::Regular }
    }

    async fn owned(folder: &std::path::Path) -> OwnedHome {
        OwnedHome::claim(Home::open(folder).unwrap()).await.unwrap().0
    }

    #[tokio::test]
    async fn changes_of_a_file_undo_together_unless_interleaved() {
        let folder = tempfile::tempdir().unwrap();
        let store = owned(folder.path()).await;
        let session = SessionId::parse("s").unwrap();
        let text = |text: &str| Some(text.to_owned());
        let keep = async |call: &str, path: &str, before: Option<String>, after: Option<String>| {
            let [before, after] = [before, after].map(|text| text.map(|text| state(text.as_bytes())));
            let change = FileChange { path: Place::parse(path).unwrap(), before, after };
            store.log.keep_change(store.claim, &session, call, ChangeSet(vec![change])).await.unwrap();
        };
        keep("a", "memory/x.md", None, text("one\n")).await;
        keep("b", "memory/y.md", text("y\n"), text("z\n")).await;
        keep("c", "memory/x.md", text("one\n"), text("one\ntwo\u{202e}\n")).await;
        keep("d", "memory/gone.md", text("g\n"), None).await;
        std::fs::write(folder.path().join("memory/x.md"), "one\ntwo\u{202e}\n").unwrap();
        std::fs::write(folder.path().join("memory/y.md"), "mine\n").unwrap();
        let of = |calls: &[&str]| {
            let calls: Vec<String> = calls.iter().map(|call| (*call).to_owned()).collect();
            plan_undo(&store.home, &session, &calls).unwrap()
        };
        let planned = |path: &str, calls: &[&str], effect| PlannedUndo {
            path: EntryPath::parse(path).unwrap(),
            calls: calls.iter().map(|call| (*call).to_owned()).collect(),
            effect,
        };
        let [x, back] = [
            "--- memory/x.md\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\\u202e\n",
            "--- /dev/null\n+++ memory/gone.md\n@@ -0,0 +1 @@\n+g\n",
        ];
        assert_eq!(
            of(&["a", "nothing", "b", "c", "d"]),
            [
                planned("memory/x.md", &["a", "c"], UndoEffect::Restore { diff: x.to_owned(), added: 0, removed: 2 }),
                planned("memory/y.md", &["b"], UndoEffect::Refuse),
                planned("memory/gone.md", &["d"], UndoEffect::Restore { diff: back.to_owned(), added: 1, removed: 0 }),
            ]
        );
        assert_eq!(of(&["a"])[0].effect, UndoEffect::Refuse, "another change of it came after");
        let first = |calls: &[&str], path: &str| {
            let calls: Vec<String> = calls.iter().map(|call| (*call).to_owned()).collect();
            first_change(&store.home, &session, &calls, &EntryPath::parse(path).unwrap()).unwrap()
        };
        assert_eq!(first(&["b", "a", "c"], "memory/x.md").unwrap().before, None);
        assert!(first(&["b", "c"], "memory/x.md").unwrap().before.unwrap().is_content(b"one\n"));
        assert_eq!(first(&["a", "nothing", "c"], "memory/y.md"), None);
        keep("e", "memory/x.md", text("something else\n"), text("one\ntwo\u{202e}\n")).await;
        assert_eq!(of(&["a", "c", "e"])[0].effect, UndoEffect::Refuse, "somebody wrote in between");
    }

    #[tokio::test]
    async fn changed_file_blocks_whole_set() {
        let folder = tempfile::tempdir().unwrap();
        let store = owned(folder.path()).await;
        let session = SessionId::parse("s").unwrap();
        let path = |path: &str| Place::parse(path).unwrap();
        let change = |at: &str, after: &[u8]| FileChange { path: path(at), before: None, after: Some(state(after)) };
        let set = ChangeSet(vec![change("memory/a.md", b"a"), change("knowledge/b.bin", &[255])]);
        store.log.keep_change(store.claim, &session, "c", set).await.unwrap();
        std::fs::write(folder.path().join("memory/a.md"), "a").unwrap();
        std::fs::write(folder.path().join("knowledge/b.bin"), [255]).unwrap();
        let effects = || -> Vec<UndoEffect> {
            let files = plan_undo(&store.home, &session, &["c".to_owned()]).unwrap();
            files.into_iter().map(|file| file.effect).collect()
        };
        let binary = "Binary files knowledge/b.bin and knowledge/b.bin differ\n".to_owned();
        assert_eq!(effects()[1], UndoEffect::Restore { diff: binary, added: 0, removed: 0 });
        assert!(matches!(effects()[0], UndoEffect::Restore { .. }));
        std::fs::write(folder.path().join("knowledge/b.bin"), [254]).unwrap();
        assert_eq!(effects(), [UndoEffect::Refuse, UndoEffect::Refuse]);
    }
}
