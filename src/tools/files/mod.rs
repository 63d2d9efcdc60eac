//! `create_file`, `edit_file`, `delete_file`: let the agent change the files that people edit too. Each change can be
//! undone.

mod change;
mod net_change;
mod undo_plan;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) use self::change::Change;
pub use self::change::LineCount;
use self::change::{Edit, Replacement};
pub use self::net_change::{
    ContentFacts, FileFacts, FileNow, FileUndoing, NetChange, NetChanges, Problem, RecordProblem, Side, WorkCall,
    facts, line_count, net_changes, net_content, same_content,
};
pub use self::undo_plan::{PlannedUndo, UndoEffect, first_change, plan_undo};
use super::{ApplyCaptured, EndRun, Prepared, PreparedCall, RecordObserved, RunOptions, Tool, ToolContext, read};
use crate::domain::{Effect, NewPicture, Place, SessionId, Shown, ToolAnswer, ToolSpec};
use crate::store::{ChangeSet, FolderChange, Home, StoreError};

/// What a call changes.
#[derive(Clone, Debug, PartialEq)]
pub struct CallChange {
    pub session: SessionId,
    pub call_id: String,
    pub files: ChangeSet,
    /// Folders that are made before the files change, or removed after it.
    pub folders: Vec<FolderChange>,
    pub consent: Consent,
}

/// Why a call may change files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// A person saw exactly this change and approved it.
    Person,
    /// The policy allows it without a question.
    Policy,
}

/// The port through which the tools change files. It makes all changes of a call or none, and runs to its end even if
/// its future is dropped. Nothing is written unless the change is kept for an undo.
pub type ApplyChange = Arc<dyn Fn(CallChange) -> BoxFuture<'static, Result<(), StoreError>> + Send + Sync>;

/// The port through which a call keeps the pictures that it read with its session, so that every later request contains
/// the same bytes.
pub type KeepPictures =
    Arc<dyn Fn(SessionId, Vec<NewPicture>) -> BoxFuture<'static, Result<(), StoreError>> + Send + Sync>;

/// The files of a home: read directly, and changed through the port. Cheap to clone.
#[derive(Clone)]
pub struct FileAccess {
    pub home: Home,
    pub apply: ApplyChange,
    pub apply_captured: ApplyCaptured,
    pub record_observed: RecordObserved,
    pub keep_pictures: KeepPictures,
}

/// Which of the three file tools this is.
#[derive(Clone, Copy)]
enum Kind {
    Create,
    Edit,
    Delete,
}

pub struct FileTool {
    files: FileAccess,
    kind: Kind,
    spec: ToolSpec,
}

impl FileTool {
    pub fn create(files: FileAccess) -> Self {
        let properties = json!({"path": {"type": "string"}, "content": {"type": "string"}});
        let description =
            "Make a new text file in workspace/, memory/, skills/ or knowledge/. The user is shown it first.";
        Self::new(files, Kind::Create, ("create_file", description, properties))
    }

    pub fn edit(files: FileAccess) -> Self {
        let item = json!({
            "type": "object",
            "properties": {"search": {"type": "string", "minLength": 1}, "replace": {"type": "string"}},
            "required": ["search", "replace"],
        });
        let properties = json!({"path": {"type": "string"}, "edits": {"type": "array", "items": item}});
        let description = "Change a text file of workspace/, memory/, skills/ or knowledge/: each search text must stand \
                           there exactly once. The user is shown the difference first.";
        Self::new(files, Kind::Edit, ("edit_file", description, properties))
    }

    pub fn delete(files: FileAccess) -> Self {
        let description = "Delete a file of workspace/, memory/, skills/ or knowledge/. The user is asked first.";
        Self::new(files, Kind::Delete, ("delete_file", description, json!({"path": {"type": "string"}})))
    }

    fn new(files: FileAccess, kind: Kind, (name, description, properties): (&str, &str, Value)) -> Self {
        let required: Vec<String> =
            properties.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
        let parameters = json!({
            "type": "object",
            "properties": properties,
            "required": required,
        });
        let spec =
            ToolSpec { name: name.to_owned(), description: description.to_owned(), parameters, effect: Effect::Write };
        Self { files, kind, spec }
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
    files: FileAccess,
    session: SessionId,
    call_id: String,
    path: String,
    place: Place,
    edit: Edit,
    /// The change as computed when the call was prepared.
    shown: Shown,
}

/// Returns the change of the current file.
async fn change(home: &Home, path: &str, edit: &Edit) -> Result<Change, Box<ToolAnswer>> {
    let (home, path, edit) = (home.clone(), path.to_owned(), edit.clone());
    let made = tokio::task::spawn_blocking(move || Change::of(&home, &path, edit)).await;
    made.unwrap_or_else(|_| Err(Box::new(ToolAnswer::failed("reading the file was cut off; nothing was changed"))))
}

impl FileCall {
    async fn execute(&self, options: RunOptions<'_>) -> Result<ToolAnswer, EndRun> {
        // Another call of this exchange may have changed the file since this one was prepared.
        let change = match change(&self.files.home, &self.path, &self.edit).await {
            Ok(change) => change,
            Err(answer) => return Ok(*answer),
        };
        if options.approved.is_some_and(|shown| shown.before != change.before_hash()) {
            return Ok(ToolAnswer::failed(outdated(&change.path)));
        }
        let made = (self.files.apply)(CallChange {
            session: self.session.clone(),
            call_id: self.call_id.clone(),
            files: ChangeSet(vec![change.as_file_change()]),
            folders: Vec::new(),
            consent: if options.approved.is_some() { Consent::Person } else { Consent::Policy },
        });
        Ok(match made.await {
            Ok(()) => done(&change),
            Err(StoreError::ShutDown) => return Err(EndRun::Broken("a file's change was cut off".to_owned())),
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
    let LineCount { added, removed } = change.count();
    let verb = match (&change.before, &change.after) {
        (None, _) => "created",
        (Some(_), None) => "deleted",
        (Some(_), Some(_)) => "changed",
    };
    let extent = change.binary().unwrap_or_else(|| format!("+{added} -{removed} lines"));
    let text = format!("{verb} {} ({extent})", change.path);
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
            let change = change(&self.files.home, &path, &edit).await?;
            let (place, shown) = (change.path.clone(), change.shown());
            let (session, call_id) = (context.session.clone(), context.call_id.to_owned());
            let call = FileCall { files: self.files.clone(), session, call_id, path, place, edit, shown };
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
