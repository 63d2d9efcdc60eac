//! `create_file`, `edit_file`, `delete_file`: let the agent change the files that people edit too. Each change can be
//! undone.

mod change;
mod undo_plan;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use self::change::{Change, Edit, Replacement};
pub use self::undo_plan::{PlannedUndo, UndoEffect};
use super::{EndRun, Prepared, PreparedCall, RunOptions, Tool, ToolContext, read};
use crate::domain::{Effect, Place, SessionId, Shown, ToolAnswer, ToolSpec};
use crate::store::{ChangeSet, FileChange, OwnedHome, StoreError, TreeChange, TrustedBy, TrustedContent, etag};

/// The stage of a change that the agent, or a person on its behalf, makes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ChangeStage<'a> {
    /// About to be written, with the hash of the new content; absent if the file will be deleted.
    Planned(Option<&'a str>),
    Made,
}

type Announce = Arc<dyn Fn(&Place, ChangeStage<'_>) + Send + Sync>;

/// Makes and undoes changes of files. Cheap to clone.
#[derive(Clone)]
pub struct Editor {
    store: OwnedHome,
    announce: Announce,
}

/// The result of an undo; the path is that of the first file changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Undone {
    pub path: Place,
    /// `false` if the call was a redo.
    pub undone: bool,
}

/// Why nothing was undone.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    #[error("this operation changed no file")]
    Unknown,
    #[error("{0} was changed after that; nothing was undone")]
    Changed(String),
    #[error(transparent)]
    Store(StoreError),
}

impl From<StoreError> for UndoError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Conflict { path, .. } | StoreError::NotFound { what: path } => Self::Changed(path),
            other => Self::Store(other),
        }
    }
}

impl Editor {
    /// Creates an editor that calls `announce` for each file before and after it is changed.
    pub fn new(store: OwnedHome, announce: impl Fn(&Place, ChangeStage<'_>) + Send + Sync + 'static) -> Self {
        Self { store, announce: Arc::new(announce) }
    }

    /// Makes all changes or none.
    async fn write(&self, ChangeSet(files): &ChangeSet) -> Result<(), StoreError> {
        for FileChange { path, after, .. } in files {
            let etag = after.as_ref().map(|after| etag(&after.bytes));
            (self.announce)(path, ChangeStage::Planned(etag.as_deref()));
        }
        let OwnedHome { tree, claim, .. } = &self.store;
        tree.commit(*claim, files.iter().map(TreeChange::from).collect()).await?;
        let (announce, paths) = (self.announce.clone(), files.iter().map(|file| file.path.clone()));
        let paths: Vec<Place> = paths.collect();
        let told = move || paths.iter().for_each(|path| announce(path, ChangeStage::Made));
        tokio::task::spawn_blocking(told).await.map_err(|_| StoreError::ShutDown)
    }

    /// Marks the changed file as trusted if it is new or its previous version was trusted: a person who approves a change has
    /// seen all that differs from that version, but not the rest of a file that they did not trust.
    async fn trust(&self, FileChange { path, before, after }: &FileChange) -> Result<(), StoreError> {
        let OwnedHome { home, tree, claim, .. } = &self.store;
        match after {
            Some(after) if before.as_ref().is_none_or(|before| home.trusts(path, &before.bytes)) => {
                let bytes = after.bytes.as_slice().into();
                tree.trust(*claim, TrustedContent { path: path.clone(), bytes, by: TrustedBy::Approval }).await
            }
            _ => Ok(()),
        }
    }

    async fn make(&self, change: FileChange, (session, call_id): (&SessionId, &str)) -> Result<(), StoreError> {
        let set = ChangeSet(vec![change]);
        let OwnedHome { log, claim, .. } = &self.store;
        // Stored first: a change that cannot be undone must not be made.
        log.keep_change(*claim, session, call_id, set.clone()).await?;
        self.write(&set).await
    }

    /// Restores all files of a call to their state before it or, if that is already undone, to their state after it.
    /// Continues even if the requester disconnects.
    ///
    /// # Errors
    /// Returns an error if one of the files has changed since; then nothing is written.
    pub async fn undo(&self, session: &SessionId, call_id: &str, is_undone: bool) -> Result<Undone, UndoError> {
        let (files, call_id) = (self.store.home.session_files(session), call_id.to_owned());
        let kept = tokio::task::spawn_blocking(move || files.kept_change(&call_id)).await;
        let ChangeSet(files) = kept.map_err(|_| StoreError::ShutDown)??.ok_or(UndoError::Unknown)?;
        let path = files.first().ok_or(UndoError::Unknown)?.path.clone();
        let changes = match is_undone {
            true => ChangeSet(files),
            false => ChangeSet(files.into_iter().map(FileChange::reversed).collect()),
        };
        let editor = self.clone();
        let written = tokio::spawn(async move { editor.write(&changes).await }).await;
        written.map_err(|_| StoreError::ShutDown)??;
        Ok(Undone { path, undone: !is_undone })
    }
}

/// Which of the three file tools this is.
#[derive(Clone, Copy)]
enum Kind {
    Create,
    Edit,
    Delete,
}

pub struct FileTool {
    editor: Editor,
    kind: Kind,
    spec: ToolSpec,
}

impl FileTool {
    pub fn create(editor: Editor) -> Self {
        let properties = json!({"path": {"type": "string"}, "content": {"type": "string"}});
        let description =
            "Make a new text file in workspace/, memory/, skills/ or knowledge/. The user is shown it first.";
        Self::new(editor, Kind::Create, ("create_file", description, properties))
    }

    pub fn edit(editor: Editor) -> Self {
        let item = json!({
            "type": "object",
            "properties": {"search": {"type": "string", "minLength": 1}, "replace": {"type": "string"}},
            "required": ["search", "replace"],
            "additionalProperties": false
        });
        let properties = json!({"path": {"type": "string"}, "edits": {"type": "array", "items": item}});
        let description = "Change a text file of workspace/, memory/, skills/ or knowledge/: each search text must stand \
                           there exactly once. The user is shown the difference first.";
        Self::new(editor, Kind::Edit, ("edit_file", description, properties))
    }

    pub fn delete(editor: Editor) -> Self {
        let description = "Delete a text file of workspace/, memory/, skills/ or knowledge/. The user is asked first.";
        Self::new(editor, Kind::Delete, ("delete_file", description, json!({"path": {"type": "string"}})))
    }

    fn new(editor: Editor, kind: Kind, (name, description, properties): (&str, &str, Value)) -> Self {
        let required: Vec<String> =
            properties.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
        let parameters = json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false
        });
        let spec =
            ToolSpec { name: name.to_owned(), description: description.to_owned(), parameters, effect: Effect::Write };
        Self { editor, kind, spec }
    }

    /// Parses the arguments into the path and the requested edit.
    fn read(&self, arguments: Value) -> Result<(String, Edit), Box<ToolAnswer>> {
        let name = &self.spec.name;
        Ok(match self.kind {
            Kind::Create => {
                let Creation { path, content } = read(name, arguments)?;
                (path, Edit::Create(content))
            }
            Kind::Edit => {
                let Replacements { path, edits } = read(name, arguments)?;
                (path, Edit::Replace(edits))
            }
            Kind::Delete => {
                let Deletion { path } = read(name, arguments)?;
                (path, Edit::Delete)
            }
        })
    }
}

#[derive(Deserialize)]
struct Creation {
    path: String,
    content: String,
}

#[derive(Deserialize)]
struct Replacements {
    path: String,
    edits: Vec<Replacement>,
}

#[derive(Deserialize)]
struct Deletion {
    path: String,
}

/// A prepared change of a file.
struct FileCall {
    editor: Editor,
    session: SessionId,
    call_id: String,
    path: String,
    place: Place,
    edit: Edit,
    /// The change as computed when the call was prepared.
    shown: Shown,
}

/// Returns the change of the current file.
async fn change(editor: &Editor, path: &str, edit: &Edit) -> Result<Change, Box<ToolAnswer>> {
    let (home, path, edit) = (editor.store.home.clone(), path.to_owned(), edit.clone());
    let made = tokio::task::spawn_blocking(move || Change::of(&home, &path, edit)).await;
    made.unwrap_or_else(|_| Err(Box::new(ToolAnswer::failed("reading the file was cut off; nothing was changed"))))
}

impl FileCall {
    async fn execute(&self, options: RunOptions<'_>) -> Result<ToolAnswer, EndRun> {
        // Another call of this exchange may have changed the file since this one was prepared.
        let change = match change(&self.editor, &self.path, &self.edit).await {
            Ok(change) => change,
            Err(answer) => return Ok(*answer),
        };
        if options.approved.is_some_and(|shown| shown.before != change.before_hash()) {
            return Ok(ToolAnswer::failed(outdated(&change.path)));
        }
        let (editor, session, call_id) = (self.editor.clone(), self.session.clone(), self.call_id.clone());
        let (file, is_approved) = (change.as_file_change(), options.approved.is_some());
        // Once started, the change completes even if the run is stopped.
        let made = tokio::spawn(async move {
            if is_approved {
                editor.trust(&file).await?;
            }
            editor.make(file, (&session, &call_id)).await
        });
        let made = made.await;
        Ok(match made.map_err(|_| EndRun::Broken("a file's change was cut off".to_owned()))? {
            Ok(()) => done(&change),
            Err(StoreError::Conflict { .. } | StoreError::NotFound { .. }) => {
                ToolAnswer::failed(outdated(&change.path))
            }
            Err(error) => ToolAnswer::failed(format!("{error}. Nothing was changed.")),
        })
    }
}

fn outdated(path: &Place) -> String {
    format!("{path} was changed by somebody else meanwhile; nothing was written. Read it again.")
}

fn done(change: &Change) -> ToolAnswer {
    let (added, removed) = change.count();
    let verb = match (&change.before, &change.after) {
        (None, _) => "created",
        (Some(_), None) => "deleted",
        (Some(_), Some(_)) => "changed",
    };
    let text = format!("{verb} {} (+{added} -{removed} lines)", change.path);
    ToolAnswer::done(text.clone(), text)
        .with_data(json!({"path": change.path.as_str(), "added": added, "removed": removed, "undo": true}))
        .with_code(format!("{verb} {}", change.path))
}

impl Tool for FileTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(&'a self, arguments: Value, context: ToolContext<'a>) -> BoxFuture<'a, Prepared> {
        Box::pin(async move {
            let (path, edit) = self.read(arguments)?;
            let change = change(&self.editor, &path, &edit).await?;
            let (place, shown) = (change.path.clone(), change.shown());
            let (session, call_id) = (context.session.clone(), context.call_id.to_owned());
            let call = FileCall { editor: self.editor.clone(), session, call_id, path, place, edit, shown };
            Ok(Box::new(call) as Box<dyn PreparedCall>)
        })
    }
}

impl PreparedCall for FileCall {
    fn effect(&self) -> Effect {
        Effect::Write
    }

    fn shown(&self) -> Shown {
        self.shown.clone()
    }

    fn changes(&self) -> &[Place] {
        std::slice::from_ref(&self.place)
    }

    fn run<'a>(&'a self, options: RunOptions<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>> {
        Box::pin(self.execute(options))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{FileMode, FileState, Home};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    async fn owned(folder: &Path) -> (OwnedHome, SessionId) {
        let (store, _) = OwnedHome::claim(Home::open(folder).unwrap()).await.unwrap();
        (store, SessionId::parse("s").unwrap())
    }

    fn state(bytes: &[u8]) -> FileState {
        FileState { bytes: bytes.to_vec(), mode: FileMode::Regular }
    }

    #[tokio::test]
    async fn undo_of_a_set_changes_all_files_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let (store, session) = owned(folder.path()).await;
        let at = |path: &str| folder.path().join(path);
        let file = |path: &str, before: Option<&[u8]>, after: Option<&[u8]>| FileChange {
            path: Place::parse(path).unwrap(),
            before: before.map(state),
            after: after.map(state),
        };
        let set = ChangeSet(vec![
            file("knowledge/a.bin", Some(&[0, 255]), Some(&[255, 254])),
            file("memory/new.md", None, Some(b"new")),
            file("memory/gone.md", Some(b"gone"), None),
        ]);
        store.log.keep_change(store.claim, &session, "c", set).await.unwrap();
        std::fs::write(at("knowledge/a.bin"), [255, 254]).unwrap();
        std::fs::write(at("memory/new.md"), "mine").unwrap();
        let editor = Editor::new(store, |_, _| {});
        let refused = editor.undo(&session, "c", false).await;
        assert!(matches!(&refused, Err(UndoError::Changed(path)) if path == "memory/new.md"), "{refused:?}");
        assert_eq!(std::fs::read(at("knowledge/a.bin")).unwrap(), [255, 254], "the file before it is as it was");
        assert!(!at("memory/gone.md").exists());

        std::fs::write(at("memory/new.md"), "new").unwrap();
        assert!(editor.undo(&session, "c", false).await.unwrap().undone);
        assert_eq!(std::fs::read(at("knowledge/a.bin")).unwrap(), [0, 255]);
        assert_eq!(std::fs::read(at("memory/gone.md")).unwrap(), b"gone");
        assert!(!at("memory/new.md").exists());
        assert!(!editor.undo(&session, "c", true).await.unwrap().undone, "done again");
        assert_eq!(std::fs::read(at("memory/new.md")).unwrap(), b"new");
        assert!(!at("memory/gone.md").exists());
    }

    #[tokio::test]
    async fn undo_of_deletion_restores_the_executable_bit() {
        let folder = tempfile::tempdir().unwrap();
        let (store, session) = owned(folder.path()).await;
        let script = folder.path().join("skills/x/run.sh");
        std::fs::create_dir_all(script.parent().unwrap()).unwrap();
        std::fs::write(&script, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        let editor = Editor::new(store, |_, _| {});
        let deleted = change(&editor, "skills/x/run.sh", &Edit::Delete).await.unwrap();
        editor.make(deleted.as_file_change(), (&session, "c")).await.unwrap();
        assert!(!script.exists());
        editor.undo(&session, "c", false).await.unwrap();
        assert_eq!(std::fs::metadata(&script).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(std::fs::read(&script).unwrap(), b"#!/bin/sh\n");
    }

    #[tokio::test]
    async fn undo_of_edit_keeps_the_mode_that_a_person_set_since() {
        let folder = tempfile::tempdir().unwrap();
        let (store, session) = owned(folder.path()).await;
        let note = folder.path().join("memory/a.md");
        std::fs::write(&note, "old").unwrap();
        let editor = Editor::new(store, |_, _| {});
        let edit = Edit::Replace(vec![Replacement { search: "old".to_owned(), replace: "new".to_owned() }]);
        let edited = change(&editor, "memory/a.md", &edit).await.unwrap();
        editor.make(edited.as_file_change(), (&session, "c")).await.unwrap();
        std::fs::set_permissions(&note, std::fs::Permissions::from_mode(0o700)).unwrap();
        editor.undo(&session, "c", false).await.unwrap();
        assert_eq!(std::fs::read(&note).unwrap(), b"old");
        assert_eq!(std::fs::metadata(&note).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
