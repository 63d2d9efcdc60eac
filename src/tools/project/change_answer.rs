//! The answers of the tools that change files, in the shapes of the session-operations document.

use serde_json::{Value, json};

use super::answer::{self, FailedDetails, Verb};
use super::change::{Plan, RowKind};
use crate::domain::{Language, ToolAnswer};
use crate::tools::files::{Change, LineCount};

pub const CREATE: Verb = Verb { word: "create", past: "created", label: "创建结果" };
pub const DELETE: Verb = Verb { word: "delete", past: "deleted", label: "删除结果" };
pub const EDIT: Verb = Verb { word: "edit", past: "edited", label: "编辑结果" };
pub const MOVE: Verb = Verb { word: "move", past: "moved", label: "移动结果" };

impl RowKind {
    fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Folder => "folder",
        }
    }
}

impl Plan {
    /// Returns the answer after the changes were made, or if there are none to be made.
    pub fn answer(&self, verb: Verb, language: Language) -> ToolAnswer {
        let total = self.rows.len();
        let mut details = FailedDetails::default();
        let (mut rows, mut lines, mut codes) = (Vec::new(), Vec::new(), Vec::new());
        for row in &self.rows {
            rows.push((row.name.clone(), json!(verb.result(row.failure.as_ref(), language))));
            match &row.failure {
                None => {
                    let done = format!("{} {}", verb.past, row.line);
                    lines.push(done.clone());
                    codes.push(done);
                }
                Some(failure) => {
                    lines.push(row.line.clone());
                    details.add(json!({"file_path": row.name, "type": row.kind.word()}), failure, language);
                }
            }
        }
        let failed = details.len();
        let summary = if verb == EDIT { self.edit_summary() } else { self.summary(verb, details) };
        let mut data = answer::data(rows, summary);
        if verb == EDIT {
            data["operations"] = self.edit_operations(language);
            lines.extend(self.edit_lines());
        }
        data["undo"] = json!(!self.changes.is_empty());
        data["changes"] = self.changes.iter().map(changed).collect();
        let failed_operations = self.operations.iter().filter(|result| result.is_err()).count();
        let message = match verb == EDIT && !self.operations.is_empty() {
            true => answer::message(self.operations.len(), failed_operations, language),
            false => answer::message(total, failed, language),
        };
        let done = ToolAnswer::done(message, lines.join("\n")).with_data(data);
        let sources = self.source.iter().cloned().collect();
        ToolAnswer { ok: failed + failed_operations == 0, operation_code: codes, sources, ..done }
    }

    fn summary(&self, verb: Verb, details: FailedDetails) -> Value {
        let (total, failed) = (self.rows.len(), details.len());
        let count = |kind| self.rows.iter().filter(|row| row.kind == kind).count();
        let by_type = json!({"files": count(RowKind::File), "folders": count(RowKind::Folder)});
        let details = details.into_value();
        match verb {
            CREATE => json!({"total_items": total, "successful_creations": total - failed, "failed_creations": failed,
                "items_by_type": by_type, "failed_details": details}),
            DELETE => json!({"total_files": total, "successful_deletions": total - failed, "failed_deletions": failed,
                "failed_details": details}),
            _ => json!({"total_items": total, "successful_moves": total - failed, "failed_moves": failed,
                "failed_details": details}),
        }
    }

    fn edit_summary(&self) -> Value {
        let failed = self.operations.iter().filter(|result| result.is_err()).count();
        json!({"total_operations": self.operations.len(), "successful_operations": self.operations.len() - failed,
            "failed_operations": failed, "total_lines_modified": self.edited_lines})
    }

    fn edit_operations(&self, language: Language) -> Value {
        let operation = Verb { word: "", past: "", label: "操作结果" };
        let rows = self.operations.iter().enumerate().map(|(at, result)| {
            let failure = result.as_ref().err();
            let mut row = json!({"operation_index": at, "result": operation.result(failure, language)});
            if let Some(failure) = failure {
                row["code"] = json!(failure.code);
            }
            row
        });
        rows.collect()
    }

    fn edit_lines(&self) -> Vec<String> {
        let failed = self.operations.iter().enumerate().filter_map(|(at, result)| Some((at, result.as_ref().err()?)));
        failed.map(|(at, failure)| format!("operation {at}: {}", failure.advice)).collect()
    }
}

/// Describes the change of a file for a list of changed files.
fn changed(change: &Change) -> Value {
    let LineCount { added, removed } = change.count();
    json!({"path": change.path.as_str(), "added": added, "removed": removed, "deleted": change.after.is_none()})
}
