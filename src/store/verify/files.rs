//! The files that calls changed: what a call found is what the call before it left, and what the last call left is there
//! now. Anything else is an edit of a person, which is listed.

use std::collections::BTreeMap;

use super::reading::names;
use super::{Check, Finding};
use crate::domain::{CallStatus, EntryPath, Root, Session, SessionId, ToolCall};
use crate::store::changes::{RecordedChange, RecordedChanges};
use crate::store::error::StoreError;
use crate::store::home::Home;
use crate::store::recorded_state::RecordedState;

/// The SHA-256 of a file's content; `None` if there is no file.
type Content = Option<String>;

/// The changes of files by calls, by path.
#[derive(Default)]
pub(super) struct Touched(BTreeMap<EntryPath, Vec<Touch>>);

/// What one call made of one file.
struct Touch {
    /// When the call began, in Unix seconds.
    at: f64,
    session: SessionId,
    before: Content,
    /// What the file can be afterwards: of a call that was stopped it is not known whether it has changed the file.
    after: Vec<Content>,
}

impl Touched {
    pub fn add(&mut self, other: Self) {
        for (path, touches) in other.0 {
            self.0.entry(path).or_default().extend(touches);
        }
    }
}

/// Returns what the calls of a session changed, those of its branches and compacted parts included.
pub(super) fn touched(home: &Home, id: &SessionId, session: &Session) -> Touched {
    let mut touched = Touched::default();
    if names(home.sessions_dir(), &format!("changes/{id}")).is_empty() {
        return touched;
    }
    let kept = home.session_files(id);
    let compacted = kept.compacted_messages(session);
    let messages = session.stored_messages().map(|message| &**message).chain(&compacted);
    for (message, call) in messages.flat_map(|message| message.tool_calls.iter().map(move |call| (message, call))) {
        let Some(call_id) = &call.id else { continue };
        let Ok(RecordedChanges::Files(files)) = kept.recorded_changes(call_id) else { continue };
        let at = call.started_at.or(message.created_at).unwrap_or_default();
        for file in files {
            let after = states_after(session, call, &file);
            let touch = Touch { at, session: id.clone(), before: content(&file.before), after };
            touched.0.entry(file.path).or_default().push(touch);
        }
    }
    touched
}

fn content(state: &Option<RecordedState>) -> Content {
    state.as_ref().map(|state| state.hash.clone())
}

fn states_after(session: &Session, call: &ToolCall, file: &RecordedChange) -> Vec<Content> {
    let withdrawn = session.withdrawn.iter().any(|work| {
        let is_taken_back = call.id.as_ref().is_some_and(|id| work.calls.contains(id));
        is_taken_back && !work.kept.iter().any(|path| path == file.path.as_str())
    });
    let (before, after) = (content(&file.before), content(&file.after));
    match call.status {
        _ if call.undone || withdrawn => vec![before],
        Some(CallStatus::Done) | None => vec![after],
        Some(_) => vec![after, before],
    }
}

/// Returns the content of a file, link or folder now.
fn current(home: &Home, path: &EntryPath) -> Result<Content, StoreError> {
    if matches!(path.root(), Root::Project(_)) {
        return Ok(content(&home.entry_state(path)?));
    }
    let Some(place) = path.place() else { return Ok(content(&home.entry_state(path)?)) };
    match home.hash_whole(&place) {
        Err(StoreError::NotFound { .. }) => Ok(None),
        hash => hash.map(Some),
    }
}

/// Compares the changes of each file with each other and with the file.
pub(super) fn check(home: &Home, touched: Touched) -> Check {
    let mut check = Check::new("files");
    for (path, mut touches) in touched.0 {
        check.count += 1;
        touches.sort_by(|a, b| a.at.total_cmp(&b.at).then_with(|| a.session.cmp(&b.session)));
        let mut known: Option<&Touch> = None;
        for touch in &touches {
            if known.is_some_and(|known| !known.after.contains(&touch.before)) {
                let what =
                    "somebody edited it between two calls that changed it, or another session did at the same time";
                let session_id = Some(touch.session.to_string());
                check.notes.push(Finding { path: path.to_string(), what: what.to_owned(), session_id });
            }
            known = Some(touch);
        }
        let Some(last) = known else { continue };
        let what = match current(home, &path) {
            // A project that is not registered now.
            Err(StoreError::NotAllowed { .. }) if !home.has_root(path.root()) => continue,
            Ok(now) if last.after.contains(&now) => continue,
            Ok(None) => "it was deleted after the last call on record",
            Ok(_) => "it was edited after the last call on record",
            Err(_) => "it cannot be read, so it cannot be compared with what a call left",
        };
        let session_id = Some(last.session.to_string());
        check.notes.push(Finding { path: path.to_string(), what: what.to_owned(), session_id });
    }
    check
}
