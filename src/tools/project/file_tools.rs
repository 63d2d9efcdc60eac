//! `create_file`, `delete_file`, `edit_file` and `move_file` of a project: several items in one call, which succeed or fail
//! one by one. What a call changes is one change set, and can be undone.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::answer::{Failure, Verb};
use super::arguments::{Items, Request, schemas};
use super::change::Plan;
use super::change_answer::{CREATE, DELETE, EDIT, MOVE};
use super::{ProjectFiles, spec};
use crate::domain::{Effect, Language, Place, SessionId, Shown, ToolAnswer, ToolSpec};
use crate::store::StoreError;
use crate::tools::files::{CallChange, Change, Consent};
use crate::tools::{EndRun, Prepared, PreparedCall, RunOptions, Tool, ToolContext, read};

const DESCRIPTIONS: [(&str, &str, Verb); 4] = [
    (
        "create_file",
        "Make new files with their content, or folders. Missing folders are made; nothing is overwritten.",
        CREATE,
    ),
    ("delete_file", "Delete files; folders with recursive.", DELETE),
    (
        "edit_file",
        "Change a text file. Each operation is {search, replace, count?}, {start_line, end_line, text} or {insert_after, \
         text}; all refer to the file as it is now. All or nothing unless partial.",
        EDIT,
    ),
    ("move_file", "Move or rename files and folders; nothing is overwritten.", MOVE),
];

struct FileTool {
    files: ProjectFiles,
    verb: Verb,
    spec: ToolSpec,
}

/// Returns the four tools.
pub fn all(files: &ProjectFiles) -> Vec<Arc<dyn Tool>> {
    let tools = DESCRIPTIONS.into_iter().zip(schemas()).map(|((name, description, verb), schema)| {
        let spec = spec(name, description, schema, Effect::Write);
        Arc::new(FileTool { files: files.clone(), verb, spec }) as Arc<dyn Tool>
    });
    tools.collect()
}

impl FileTool {
    fn request(&self, arguments: Value) -> Result<Request, Box<ToolAnswer>> {
        let name = &self.spec.name;
        let request = match self.verb {
            CREATE => read::<Items<_>>(name, arguments).map(|Items { items }| Request::Create(items)),
            DELETE => read(name, arguments).map(Request::Delete),
            EDIT => read(name, arguments).map(Request::Edit),
            _ => read::<Items<_>>(name, arguments).map(|Items { items }| Request::Move(items)),
        }?;
        let count = match &request {
            Request::Create(items) => items.len(),
            Request::Delete(deletion) => deletion.paths.len(),
            Request::Edit(_) => 1,
            Request::Move(items) => items.len(),
        };
        match count {
            0 => Err(Box::new(ToolAnswer::failed("there is no item in the call; nothing was changed."))),
            _ => Ok(request),
        }
    }
}

impl Tool for FileTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(&'a self, arguments: Value, context: ToolContext<'a>) -> BoxFuture<'a, Prepared> {
        Box::pin(async move {
            let request = Arc::new(self.request(arguments)?);
            let plan = plan(&self.files, &request).await?;
            let language = context.conversation.language();
            if plan.is_empty() {
                return Err(Box::new(plan.answer(self.verb, language)));
            }
            let (shown, places) =
                (plan.shown(self.verb), plan.changes.iter().map(|change| change.path.clone()).collect());
            let (session, call_id) = (context.session.clone(), context.call_id.to_owned());
            let kept = Kept { session, call_id, language };
            let call = FileCall { files: self.files.clone(), verb: self.verb, request, kept, shown, places };
            Ok(Box::new(call) as Box<dyn PreparedCall>)
        })
    }
}

/// Where the changes of a call are kept, and the language of its record.
struct Kept {
    session: SessionId,
    call_id: String,
    language: Language,
}

struct FileCall {
    files: ProjectFiles,
    verb: Verb,
    request: Arc<Request>,
    kept: Kept,
    /// The changes as computed when the call was prepared.
    shown: Shown,
    places: Vec<Place>,
}

async fn plan(files: &ProjectFiles, request: &Arc<Request>) -> Result<Plan, Box<ToolAnswer>> {
    let (files, request) = (files.clone(), request.clone());
    let planned = tokio::task::spawn_blocking(move || Plan::of(&files, &request)).await;
    planned.map_err(|_| Box::new(ToolAnswer::failed("reading the files was cut off; nothing was changed")))
}

impl FileCall {
    async fn execute(&self, options: RunOptions<'_>) -> Result<ToolAnswer, EndRun> {
        // Another call of this exchange may have changed the files since this one was prepared.
        let plan = match plan(&self.files, &self.request).await {
            Ok(plan) => plan,
            Err(answer) => return Ok(*answer),
        };
        let outdated = || ToolAnswer::failed(format!("{}. Nothing was changed.", Failure::conflict().advice));
        if options.approved.is_some_and(|shown| *shown != plan.shown(self.verb)) {
            return Ok(outdated());
        }
        // A file that was moved here meanwhile: nobody was asked about it.
        let was_known = |change: &Change| !change.path.runs_later() || self.places.contains(&change.path);
        if options.approved.is_none() && !plan.changes.iter().all(was_known) {
            return Ok(outdated());
        }
        if plan.is_empty() {
            return Ok(plan.answer(self.verb, self.kept.language));
        }
        let made = (self.files.access.apply)(CallChange {
            session: self.kept.session.clone(),
            call_id: self.kept.call_id.clone(),
            files: plan.change_set(),
            folders: plan.folders.clone(),
            consent: if options.approved.is_some() { Consent::Person } else { Consent::Policy },
        });
        Ok(match made.await {
            Ok(()) => plan.answer(self.verb, self.kept.language),
            Err(StoreError::ShutDown) => return Err(EndRun::Broken("the change of files was cut off".to_owned())),
            Err(StoreError::Conflict { .. } | StoreError::NotFound { .. }) => outdated(),
            Err(error) => ToolAnswer::failed(format!("{error}. Nothing was changed.")),
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
        &self.places
    }

    fn run<'a>(&'a self, options: RunOptions<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>> {
        Box::pin(self.execute(options))
    }
}
