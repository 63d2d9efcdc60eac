//! `create_file`, `edit_file`, `delete_file`: the agent's way to change what people edit too. Each change can be undone.

mod change;
mod undoing;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use self::change::{Change, Edit, Want};
pub use self::undoing::{Undoing, Would};
use super::{Call, EndRun, Tool};
use crate::domain::{Effect, HomePath, Shown, Taint, ToolAnswer, ToolSpec};
use crate::store::{ChangeSet, Expect, FileChange, Home, StoreError, TrustedBy, etag};

/// What is said of a change that the agent, or a person for it, makes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Moment<'a> {
    /// About to be written, with the hash it will have; absent when the file will be gone.
    Before(Option<&'a str>),
    After,
}

type Announce = Arc<dyn Fn(&HomePath, Moment<'_>) + Send + Sync>;

/// Makes changes of files, and undoes them. Cheap to clone.
#[derive(Clone)]
pub struct Editor {
    home: Home,
    announce: Announce,
}

/// What an undo did; the path is that of the first file it changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Undone {
    pub path: HomePath,
    /// `false`: what had been undone was done again.
    pub undone: bool,
}

/// Why there is no undo.
#[derive(Debug, thiserror::Error)]
pub enum NoUndo {
    #[error("this operation changed no file")]
    Unknown,
    #[error("{0} was changed after that; nothing was undone")]
    Changed(HomePath),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Editor {
    pub fn new(home: Home, announce: impl Fn(&HomePath, Moment<'_>) + Send + Sync + 'static) -> Self {
        Self { home, announce: Arc::new(announce) }
    }

    /// Makes one change of a file that is what the change says it was.
    fn write(&self, change: &FileChange) -> Result<(), StoreError> {
        let FileChange { path, before, after } = change;
        let expect = before.as_ref().map_or(Expect::Absent, |bytes| Expect::Etag(etag(bytes)));
        let hash = after.as_deref().map(etag);
        (self.announce)(path, Moment::Before(hash.as_deref()));
        match after {
            Some(bytes) => drop(self.home.save_bytes(path, bytes, &expect)?),
            None => self.home.remove_text(path, &expect)?,
        }
        (self.announce)(path, Moment::After);
        Ok(())
    }

    /// Makes all changes or none: every file is compared first, and a failed write takes back those before it.
    fn write_all(&self, changes: &[FileChange]) -> Result<(), NoUndo> {
        for FileChange { path, before, .. } in changes {
            let now = match self.home.hash(path) {
                Ok(hash) => Some(hash),
                Err(StoreError::NotFound { .. }) => None,
                Err(other) => return Err(other.into()),
            };
            if now != before.as_deref().map(etag) {
                return Err(NoUndo::Changed(path.clone()));
            }
        }
        for (written, change) in changes.iter().enumerate() {
            let Err(error) = self.write(change) else { continue };
            for change in changes[..written].iter().rev() {
                if let Err(error) = self.write(&change.clone().reversed()) {
                    tracing::error!(path = %change.path, %error, "a file of a failed undo could not be put back");
                }
            }
            return Err(match error {
                StoreError::Changed { .. } | StoreError::NotFound { .. } => NoUndo::Changed(change.path.clone()),
                other => other.into(),
            });
        }
        Ok(())
    }

    /// A person who approves a change has seen all that differs from what they trusted before. The rest of a file that they
    /// did not trust, they have not seen.
    fn trust(&self, change: &Change) -> Result<(), StoreError> {
        let Change { path, before, after } = change;
        match after {
            Some(after) if before.as_ref().is_none_or(|before| self.home.trusts(path, before.as_bytes())) => {
                self.home.trust(path, after.as_bytes(), TrustedBy::Approval)
            }
            _ => Ok(()),
        }
    }

    fn make(&self, change: &Change, call: (&crate::domain::SessionId, &str)) -> Result<(), StoreError> {
        // Kept first: what cannot be undone is not done.
        let bytes = |text: &Option<String>| text.as_ref().map(|text| text.as_bytes().to_vec());
        let file = FileChange { path: change.path.clone(), before: bytes(&change.before), after: bytes(&change.after) };
        let set = ChangeSet(vec![file]);
        self.home.keep_change(call.0, call.1, &set)?;
        set.0.iter().try_for_each(|file| self.write(file))
    }

    /// Brings all files of a call back to what they were before it, or, if that was done already, to what the call made of
    /// them.
    ///
    /// # Errors
    /// When one of the files is something else by now; nothing is written then.
    pub fn undo(&self, session: &crate::domain::SessionId, call_id: &str, is_undone: bool) -> Result<Undone, NoUndo> {
        let ChangeSet(files) = self.home.kept_change(session, call_id)?.ok_or(NoUndo::Unknown)?;
        let path = files.first().ok_or(NoUndo::Unknown)?.path.clone();
        let changes: Vec<FileChange> = match is_undone {
            true => files,
            false => files.into_iter().map(FileChange::reversed).collect(),
        };
        self.write_all(&changes)?;
        Ok(Undone { path, undone: !is_undone })
    }
}

/// One of the three.
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

    fn want(&self, arguments: &Value) -> Want {
        match self.kind {
            Kind::Create => Want::Create(arguments["content"].as_str().unwrap_or_default().to_owned()),
            // The schema was checked: what does not parse is not there.
            Kind::Edit => {
                Want::Edit(serde_json::from_value::<Vec<Edit>>(arguments["edits"].clone()).unwrap_or_default())
            }
            Kind::Delete => Want::Delete,
        }
    }

    async fn change(&self, arguments: &Value) -> Result<Change, Box<ToolAnswer>> {
        let path = arguments["path"].as_str().unwrap_or_default().to_owned();
        let (home, want) = (self.editor.home.clone(), self.want(arguments));
        let made = tokio::task::spawn_blocking(move || Change::of(&home, &path, want)).await;
        made.unwrap_or_else(|_| Err(Box::new(ToolAnswer::failed("reading the file was cut off; nothing was changed"))))
    }

    async fn execute(&self, call: Call<'_>) -> Result<ToolAnswer, EndRun> {
        let change = match self.change(call.arguments).await {
            Ok(change) => change,
            Err(answer) => return Ok(*answer),
        };
        if call.approved.is_some_and(|shown| shown.before != change.before_hash()) {
            return Ok(ToolAnswer::failed(outdated(&change.path)));
        }
        let (editor, session, id) = (self.editor.clone(), call.session.clone(), call.call_id.to_owned());
        let (making, is_approved) = (change.clone(), call.approved.is_some());
        let made = tokio::task::spawn_blocking(move || {
            if is_approved {
                editor.trust(&making)?;
            }
            editor.make(&making, (&session, &id))
        });
        let made = made.await;
        Ok(match made.map_err(|_| EndRun::Broken("a file's change was cut off".to_owned()))? {
            Ok(()) => done(&change),
            Err(StoreError::Changed { .. } | StoreError::NotFound { .. }) => ToolAnswer::failed(outdated(&change.path)),
            Err(error) => ToolAnswer::failed(format!("{error}. Nothing was changed.")),
        })
    }
}

fn outdated(path: &HomePath) -> String {
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

    fn shown<'a>(&'a self, arguments: &'a Value) -> BoxFuture<'a, Result<Shown, Box<ToolAnswer>>> {
        Box::pin(async move { self.change(arguments).await.map(|change| change.shown()) })
    }

    fn brings(&self, _: &Value) -> Option<Taint> {
        None
    }

    fn run<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>> {
        Box::pin(self.execute(call))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::SessionId;

    #[test]
    fn undo_of_a_set_changes_all_files_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let session = SessionId::parse("s").unwrap();
        let at = |path: &str| folder.path().join(path);
        let file = |path: &str, before: Option<&[u8]>, after: Option<&[u8]>| FileChange {
            path: HomePath::parse(path).unwrap(),
            before: before.map(<[u8]>::to_vec),
            after: after.map(<[u8]>::to_vec),
        };
        let set = ChangeSet(vec![
            file("knowledge/a.bin", Some(&[0, 255]), Some(&[255, 254])),
            file("memory/new.md", None, Some(b"new")),
            file("memory/gone.md", Some(b"gone"), None),
        ]);
        home.keep_change(&session, "c", &set).unwrap();
        std::fs::write(at("knowledge/a.bin"), [255, 254]).unwrap();
        std::fs::write(at("memory/new.md"), "mine").unwrap();
        let editor = Editor::new(home, |_, _| {});
        let refused = editor.undo(&session, "c", false);
        assert!(matches!(&refused, Err(NoUndo::Changed(path)) if path.as_str() == "memory/new.md"), "{refused:?}");
        assert_eq!(std::fs::read(at("knowledge/a.bin")).unwrap(), [255, 254], "the file before it is as it was");
        assert!(!at("memory/gone.md").exists());

        std::fs::write(at("memory/new.md"), "new").unwrap();
        assert!(editor.undo(&session, "c", false).unwrap().undone);
        assert_eq!(std::fs::read(at("knowledge/a.bin")).unwrap(), [0, 255]);
        assert_eq!(std::fs::read(at("memory/gone.md")).unwrap(), b"gone");
        assert!(!at("memory/new.md").exists());
        assert!(!editor.undo(&session, "c", true).unwrap().undone, "done again");
        assert_eq!(std::fs::read(at("memory/new.md")).unwrap(), b"new");
        assert!(!at("memory/gone.md").exists());
    }

    #[test]
    fn failed_write_takes_back_the_writes_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let session = SessionId::parse("s").unwrap();
        let path = |path: &str| HomePath::parse(path).unwrap();
        let too_large = vec![b'x'; (10 << 20) + 1];
        let set = ChangeSet(vec![
            FileChange { path: path("memory/a.md"), before: Some(b"old".to_vec()), after: Some(b"new".to_vec()) },
            FileChange { path: path("memory/large.md"), before: Some(too_large), after: None },
        ]);
        home.keep_change(&session, "c", &set).unwrap();
        std::fs::write(folder.path().join("memory/a.md"), "new").unwrap();
        let refused = Editor::new(home, |_, _| {}).undo(&session, "c", false);
        assert!(matches!(refused, Err(NoUndo::Store(StoreError::TooLarge { .. }))), "{refused:?}");
        assert_eq!(std::fs::read(folder.path().join("memory/a.md")).unwrap(), b"new");
        assert!(!folder.path().join("memory/large.md").exists());
    }
}
