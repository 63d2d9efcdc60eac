//! What the editor is told of messages, calls and questions: pure projections.

use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, Diff, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionUpdate, TextContent,
    ToolCall, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolKind,
};
use serde_json::Value;
use url::Url;

use crate::domain::message::ToolCall as Call;
use crate::domain::visible::visible;
use crate::domain::{Approval, CallStatus, Message, Role};

/// Maximum characters of a title.
const MAX_TITLE: usize = 160;
/// Maximum characters of a call's output that the editor gets.
const MAX_OUTPUT: usize = 20_000;
/// The arguments that name files.
const PATH_FIELDS: [&str; 8] = ["path", "file", "file_path", "filepath", "from", "to", "source", "destination"];

fn chunk(text: &str) -> ContentChunk {
    ContentChunk::new(ContentBlock::Text(TextContent::new(text)))
}

pub fn text(text: &str) -> SessionUpdate {
    SessionUpdate::AgentMessageChunk(chunk(text))
}

pub fn thought(text: &str) -> SessionUpdate {
    SessionUpdate::AgentThoughtChunk(chunk(text))
}

/// Returns a remark of this program, which is no part of the answer.
pub fn note(text: &str) -> SessionUpdate {
    thought(&format!("[{text}]\n\n"))
}

/// Returns the list of tasks, each with whether it is completed.
pub fn plan(items: impl Iterator<Item = (String, bool)>) -> SessionUpdate {
    let entries = items.map(|(title, is_done)| {
        let status = if is_done { PlanEntryStatus::Completed } else { PlanEntryStatus::Pending };
        PlanEntry::new(title, PlanEntryPriority::Medium, status)
    });
    SessionUpdate::Plan(Plan::new(entries.collect()))
}

/// Returns what a message of the conversation was.
pub fn of_message(message: &Message, folder: &Path) -> Vec<SessionUpdate> {
    let mut updates = Vec::new();
    let is_said = !message.content.is_empty();
    if message.role == Role::User {
        updates.extend(is_said.then(|| SessionUpdate::UserMessageChunk(chunk(&message.content))));
        return updates;
    }
    updates.extend(message.thinking.as_deref().filter(|said| !said.is_empty()).map(thought));
    updates.extend(is_said.then(|| text(&message.content)));
    let message_id = message.id.as_deref().unwrap_or("message");
    updates.extend(message.tool_calls.iter().enumerate().map(|(at, call)| {
        let id = call.id.clone().unwrap_or_else(|| format!("{message_id}.call-{at}"));
        of_call(call, id, folder)
    }));
    updates
}

fn of_call(call: &Call, id: String, folder: &Path) -> SessionUpdate {
    let arguments = call.arguments.clone().unwrap_or(Value::Null);
    let shown = ToolCall::new(id, title(&call.tool, &call.input))
        .kind(kind(&call.tool))
        .status(call.status.map_or(ToolCallStatus::Completed, status))
        .content(output(&call.output))
        .locations(locations(&arguments, folder))
        .raw_input(arguments);
    SessionUpdate::ToolCall(shown)
}

/// Returns a line that names a call.
pub fn title(tool: &str, input: &str) -> String {
    let line = visible(&input.split_whitespace().collect::<Vec<_>>().join(" "));
    if line.is_empty() {
        return tool.to_owned();
    }
    let line = match line.char_indices().nth(MAX_TITLE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    };
    format!("{tool}: {line}")
}

/// Returns what kind of call it is, for the editor's icon.
pub fn kind(tool: &str) -> ToolKind {
    match tool {
        "read_file" | "list_files" | "list_directory" | "read_picture" => ToolKind::Read,
        "write_file" | "edit_file" | "create_file" => ToolKind::Edit,
        "delete_file" => ToolKind::Delete,
        "move_file" => ToolKind::Move,
        "terminal" | "bash" | "python_repl" | "sql" => ToolKind::Execute,
        "fetch_url" | "web_search" => ToolKind::Fetch,
        _ if tool.contains("search") || tool.contains("find") || tool == "grep" => ToolKind::Search,
        _ => ToolKind::Other,
    }
}

pub fn status(status: CallStatus) -> ToolCallStatus {
    match status {
        CallStatus::Approval => ToolCallStatus::Pending,
        CallStatus::Running => ToolCallStatus::InProgress,
        CallStatus::Done => ToolCallStatus::Completed,
        CallStatus::Error | CallStatus::Denied | CallStatus::Cancelled | CallStatus::Interrupted => {
            ToolCallStatus::Failed
        }
    }
}

/// Returns the files that a call names, in the folder of the session.
pub fn locations(arguments: &Value, folder: &Path) -> Vec<ToolCallLocation> {
    let named = PATH_FIELDS.iter().filter_map(|field| arguments[field].as_str());
    let several = ["paths", "files", "items"].iter().filter_map(|field| arguments[field].as_array()).flatten();
    let several = several.filter_map(|item| item.as_str().or(item["path"].as_str()).or(item["to"].as_str()));
    let paths = named.chain(several).filter(|path| !path.is_empty() && !path.starts_with("home:"));
    paths.map(|path| ToolCallLocation::new(within(folder, path))).collect()
}

/// Returns where a file of the session's folder is on this machine.
fn within(folder: &Path, path: &str) -> PathBuf {
    let mut parts = path.splitn(3, '/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some("project"), Some(_), Some(rest)) => folder.join(rest),
        _ => folder.join(path),
    }
}

/// Returns the output of a call, bounded.
pub fn output(text: &str) -> Vec<ToolCallContent> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let shown = match text.char_indices().nth(MAX_OUTPUT) {
        Some((end, _)) => format!("{}\n[…]", visible(&text[..end])),
        None => visible(text),
    };
    vec![ToolCallContent::from(shown.as_str())]
}

/// Returns what the person is shown of a call that waits: why, the exact command and the diff, all of it.
pub fn question(approval: &Approval, folder: &Path, page: &Url) -> Vec<ToolCallContent> {
    let shown = &approval.shown;
    let mut lines = vec![approval.reason.clone()];
    if !shown.command.is_empty() {
        let fence = fence_for(&shown.command);
        lines.push(format!("{fence}\n{}\n{fence}", shown.command));
    }
    let mut fact = |is_so: bool, text: String| lines.extend(is_so.then_some(text));
    fact(!shown.cwd.is_empty(), format!("Folder: {}", shown.cwd));
    fact(shown.network, "It can reach other machines.".to_owned());
    fact(!shown.reads.is_empty(), format!("It can read: {}", shown.reads.join(", ")));
    fact(!shown.secrets.is_empty(), format!("It gets the secrets: {}", shown.secrets.join(", ")));
    fact(!shown.level.is_empty(), format!("Sandbox: {}", shown.level));
    if let Some(asked) = &shown.elicitation {
        fact(true, format!("It says: {}", asked.message));
        let place = page.join(&format!("s/{}", approval.session_id)).map_or_else(|_| page.to_string(), Into::into);
        fact(true, format!("Answer it on the page ({place}); here you can only decline."));
    }
    if let Some(done) = &shown.rehearsal {
        let counts = format!("{} created, {} changed, {} deleted", done.created, done.changed, done.deleted);
        fact(
            true,
            format!(
                "It was tried out, {}: {counts}. The page lists these files: approve it there.",
                visible(&done.outcome)
            ),
        );
        fact(!done.runs_later.is_empty(), format!("Files that run later: {}", done.runs_later.join(", ")));
        fact(!done.hosts.is_empty(), format!("It asked for the hosts: {}", done.hosts.join(", ")));
        let output = visible(&done.output);
        let fence = fence_for(&output);
        fact(!output.trim().is_empty(), format!("{fence}\n{output}\n{fence}"));
    }
    let mut content = vec![ToolCallContent::from(lines.join("\n\n").as_str())];
    content.extend(shown.diff.iter().flat_map(|diff| diffs(diff, folder)).map(ToolCallContent::Diff));
    content
}

/// Returns a fence of backticks that the text does not contain.
fn fence_for(text: &str) -> String {
    let longest = text.split(|char| char != '`').map(str::len).max().unwrap_or_default();
    "`".repeat(longest.max(2) + 1)
}

/// Returns the diffs of the editor for a unified diff of files: one for each part.
fn diffs(diff: &str, folder: &Path) -> Vec<Diff> {
    let mut parts: Vec<Part> = Vec::new();
    let (mut before, mut after) = ("", "");
    // Lines of the part that are still to come, before and after.
    let mut left = (0_usize, 0_usize);
    for line in diff.split_inclusive('\n') {
        let text = line.trim_end_matches('\n');
        if let Some(part) = parts.last_mut().filter(|_| left != (0, 0) || line.starts_with('\\')) {
            part.add(line, &mut left);
        } else if let Some(path) = text.strip_prefix("--- ") {
            before = path;
        } else if let Some(path) = text.strip_prefix("+++ ") {
            after = path;
        } else if let Some(lengths) = text.strip_prefix("@@ ").and_then(lengths) {
            left = lengths;
            let (is_new, is_deleted) = (before == NOTHING, after == NOTHING);
            // Its files are in the folder, however it names them.
            let path = within(folder, (if is_deleted { before } else { after }).trim_start_matches('/'));
            parts.push(Part { path, is_new, old: String::new(), new: String::new(), last: ' ' });
        }
    }
    let shown = parts.into_iter().map(|part| {
        let diff = Diff::new(part.path, part.new);
        if part.is_new { diff } else { diff.old_text(part.old) }
    });
    shown.collect()
}

/// The path of a file that does not exist, in a unified diff.
const NOTHING: &str = "/dev/null";

/// One part of a unified diff.
struct Part {
    path: PathBuf,
    is_new: bool,
    old: String,
    new: String,
    /// The mark of the last line.
    last: char,
}

impl Part {
    fn add(&mut self, line: &str, left: &mut (usize, usize)) {
        let Some(mark) = line.chars().next() else { return };
        let rest = &line[mark.len_utf8()..];
        if mark == '\\' {
            // The line before has no newline at its end.
            let sides = [(&mut self.old, self.last != '+'), (&mut self.new, self.last != '-')];
            for (side, _) in sides.into_iter().filter(|(_, has_it)| *has_it) {
                side.pop();
            }
            return;
        }
        if mark != '+' {
            self.old.push_str(rest);
            left.0 = left.0.saturating_sub(1);
        }
        if mark != '-' {
            self.new.push_str(rest);
            left.1 = left.1.saturating_sub(1);
        }
        self.last = mark;
    }
}

/// Returns the number of lines before and after, from `-1,2 +1,3 @@`.
fn lengths(head: &str) -> Option<(usize, usize)> {
    let mut sides = head.split(' ').map(|side| match side.split_once(',') {
        Some((_, length)) => length.parse().ok(),
        None => Some(1),
    });
    Some((sides.next()??, sides.next()??))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn each_part_of_a_diff_has_both_sides() {
        let diff = "--- project/p/a b.md\n+++ project/p/a b.md\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n@@ -9 +9,2 @@\n--- list\n\
                    +-- list\n+++ more\n--- /dev/null\n+++ project/p/new.md\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n\
                    --- memory/gone.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-y\n";
        let shown = diffs(diff, Path::new("/work"));
        let sides =
            |at: usize| (shown[at].path.to_str().unwrap(), shown[at].old_text.as_deref(), shown[at].new_text.as_str());
        assert_eq!(sides(0), ("/work/a b.md", Some("same\nold\n"), "same\nnew\n"));
        assert_eq!(sides(1), ("/work/a b.md", Some("-- list\n"), "-- list\n++ more\n"));
        assert_eq!(sides(2), ("/work/new.md", None, "x"));
        assert_eq!(sides(3), ("/work/memory/gone.md", Some("y\n"), ""));
        assert!(diffs("--- a\n+++ b\nbinary file, 4 bytes\n", Path::new("/work")).is_empty());
    }

    #[test]
    fn command_cannot_close_its_fence() {
        assert_eq!(
            (fence_for("ls"), fence_for("echo ```"), fence_for("")),
            ("```".into(), "````".into(), "```".into())
        );
    }

    #[test]
    fn files_of_a_call_are_in_the_folder() {
        let paths = |arguments: Value| -> Vec<PathBuf> {
            locations(&arguments, Path::new("/work")).into_iter().map(|it| it.path).collect()
        };
        assert_eq!(paths(json!({"path": "a/b.rs"})), [PathBuf::from("/work/a/b.rs")]);
        assert_eq!(paths(json!({"from": "a", "to": "b"})), [PathBuf::from("/work/a"), PathBuf::from("/work/b")]);
        assert_eq!(paths(json!({"files": [{"path": "a"}, "b"], "path": 7})).len(), 2);
        assert!(paths(json!({"path": "home:memory/MEMORY.md"})).is_empty());
        assert!(paths(json!("text")).is_empty());
    }

    #[test]
    fn title_is_one_bounded_line() {
        assert_eq!(title("bash", "ls\n  -l"), "bash: ls -l");
        assert_eq!(title("bash", " "), "bash");
        assert!(title("bash", &"x".repeat(500)).chars().count() < 180);
    }

    proptest! {
        #[test]
        fn any_diff_is_shown(diff in "((---|\\+\\+\\+) (a b|/dev/null|é)?|@@ -[0-9,]{0,4} \\+[0-9,]{0,4} @@|[-+ \\\\]\\PC{0,4}|\n){0,20}") {
            for shown in diffs(&diff, Path::new("/work")) {
                prop_assert!(shown.path.starts_with("/work"));
            }
        }
    }
}
