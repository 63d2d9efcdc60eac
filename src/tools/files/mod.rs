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
use crate::store::{Expect, Home, KeptChange, StoreError, TrustedBy, etag};

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

/// What an undo did.
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

    /// Puts `text` in place of a file that is what `expect` says; without text, removes it.
    fn put(&self, path: &HomePath, text: Option<&str>, expect: &Expect) -> Result<(), StoreError> {
        let hash = text.map(|text| etag(text.as_bytes()));
        (self.announce)(path, Moment::Before(hash.as_deref()));
        match text {
            Some(text) => drop(self.home.save_text(path, text, expect)?),
            None => self.home.remove_text(path, expect)?,
        }
        (self.announce)(path, Moment::After);
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
        let kept =
            KeptChange { path: change.path.to_string(), before: change.before.clone(), after: change.after.clone() };
        self.home.keep_change(call.0, call.1, &kept)?;
        self.put(&change.path, change.after.as_deref(), &expect(change.before.as_deref()))
    }

    /// Brings a file back to what it was before a call, or, if that was done already, to what the call made of it.
    ///
    /// # Errors
    /// When the file is something else by now; nothing is written then.
    pub fn undo(&self, session: &crate::domain::SessionId, call_id: &str, is_undone: bool) -> Result<Undone, NoUndo> {
        let kept = self.home.kept_change(session, call_id)?.ok_or(NoUndo::Unknown)?;
        let path = HomePath::parse(&kept.path).map_err(|_| NoUndo::Unknown)?;
        let (from, to) = if is_undone { (kept.before, kept.after) } else { (kept.after, kept.before) };
        match self.put(&path, to.as_deref(), &expect(from.as_deref())) {
            Ok(()) => Ok(Undone { path, undone: !is_undone }),
            Err(StoreError::Changed { .. } | StoreError::NotFound { .. }) => Err(NoUndo::Changed(path)),
            Err(other) => Err(other.into()),
        }
    }
}

fn expect(text: Option<&str>) -> Expect {
    text.map_or(Expect::Absent, |text| Expect::Etag(etag(text.as_bytes())))
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
