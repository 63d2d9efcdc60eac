//! What a call changes: computed from the current files, once to be shown and once more to be made.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Value, json};

use super::ProjectFiles;
use super::answer::{self, FailedDetails, Failure, Verb};
use super::arguments::{Deletion, Edits, MoveItem, NewItem, Request};
use super::edit::{Partial, edit};
use crate::domain::visible::visible;
use crate::domain::{Language, Place, Root, Shown, ToolAnswer};
use crate::store::{ChangeSet, FileMode, FileState, FolderChange, etag};
use crate::tools::files::Change;

/// Everything that one call changes, and what becomes of its items.
#[derive(Debug, Default)]
pub struct Plan {
    pub changes: Vec<Change>,
    pub folders: Vec<FolderChange>,
    rows: Vec<Row>,
    /// The operations of an edit.
    operations: Vec<Result<(), Failure>>,
    edited_lines: usize,
}

/// An item of a call.
#[derive(Debug)]
struct Row {
    /// The path as it is shown.
    name: String,
    kind: RowKind,
    /// What is done, in one line.
    line: String,
    failure: Option<Failure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowKind {
    File,
    Folder,
}

impl RowKind {
    fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Folder => "folder",
        }
    }
}

/// The state of the files during a call, in which later items see what earlier ones do.
struct Planning<'a> {
    files: &'a ProjectFiles,
    changes: BTreeMap<Place, Change>,
    folders: Vec<FolderChange>,
    named: HashSet<String>,
}

/// What one item does.
struct Done {
    name: String,
    kind: RowKind,
    line: String,
}

impl Plan {
    /// Returns what a request changes now.
    pub fn of(files: &ProjectFiles, request: &Request) -> Self {
        let mut planning = Planning { files, changes: BTreeMap::new(), folders: Vec::new(), named: HashSet::new() };
        let mut plan = Self::default();
        match request {
            Request::Create(items) => items.iter().for_each(|item| plan.add(&item.path, planning.create(item))),
            Request::Delete(Deletion { paths, recursive }) => {
                paths.iter().for_each(|path| plan.add(path, planning.delete(path, *recursive)));
            }
            Request::Edit(edits) => plan.add_edit(&mut planning, edits),
            Request::Move(items) => items.iter().for_each(|item| plan.add(&item.from, planning.move_item(item))),
        }
        let unchanged = |change: &Change| change.before == change.after;
        let changes = planning.changes.into_values().filter(|change| !unchanged(change));
        Self { changes: changes.collect(), folders: planning.folders, ..plan }
    }

    fn add(&mut self, path: &str, item: Result<Done, Failure>) {
        self.rows.push(match item {
            Ok(Done { name, kind, line }) => Row { name, kind, line, failure: None },
            Err(failure) => {
                let line = format!("{path}: {}", failure.advice);
                Row {
                    name: format!("/{}", path.trim_start_matches('/')),
                    kind: RowKind::File,
                    line,
                    failure: Some(failure),
                }
            }
        });
    }

    fn add_edit(&mut self, planning: &mut Planning<'_>, edits: &Edits) {
        let done = planning.edit(edits, self);
        self.add(&edits.path, done);
    }

    /// Returns whether there is anything to do.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.folders.is_empty()
    }

    pub fn change_set(&self) -> ChangeSet {
        ChangeSet(self.changes.iter().map(Change::as_file_change).collect())
    }

    /// Returns the hash of everything that the changes begin with.
    fn before(&self) -> Option<String> {
        let hash = |change: &Change| format!("{} {}\n", change.path, change.before_hash().unwrap_or_default());
        match self.changes.as_slice() {
            [] => None,
            [one] => one.before_hash(),
            several => Some(etag(several.iter().map(hash).collect::<String>().as_bytes())),
        }
    }

    /// Returns what a person sees: each item, and the difference of every file, deletions first.
    pub fn shown(&self) -> Shown {
        let lines: Vec<&str> =
            self.rows.iter().filter(|row| row.failure.is_none()).map(|row| row.line.as_str()).collect();
        let mut changes: Vec<&Change> = self.changes.iter().collect();
        changes.sort_by_key(|change| change.after.is_some());
        let diff: String = changes.iter().map(|change| change.diff()).collect();
        let path = match self.changes.as_slice() {
            [one] => Some(one.path.to_string()),
            _ => None,
        };
        Shown {
            command: visible(&lines.join("\n")),
            diff: Some(visible(&diff)),
            path,
            before: self.before(),
            ..Shown::default()
        }
    }

    /// Returns the answer after the changes were made, or if there are none to be made.
    pub fn answer(&self, verb: Verb, language: Language) -> ToolAnswer {
        let total = self.rows.len();
        let mut details = FailedDetails::default();
        let (mut rows, mut lines, mut codes) = (Vec::new(), Vec::new(), Vec::new());
        for row in &self.rows {
            rows.push((row.name.clone(), json!(verb.result(row.failure.as_ref(), language))));
            lines.push(row.line.clone());
            match &row.failure {
                None => codes.push(row.line.clone()),
                Some(failure) => {
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
        let failed_operations = self.operations.iter().filter(|result| result.is_err()).count();
        let message = match verb == EDIT && !self.operations.is_empty() {
            true => answer::message(self.operations.len(), failed_operations, language),
            false => answer::message(total, failed, language),
        };
        let done = ToolAnswer::done(message, lines.join("\n")).with_data(data);
        ToolAnswer { ok: failed + failed_operations == 0, operation_code: codes, ..done }
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
        let operation = Verb { word: "", label: "操作结果" };
        let rows = self.operations.iter().enumerate().map(|(at, result)| {
            let failure = result.as_ref().err();
            let mut row = json!({"operation_index": at, "result": operation.result(failure, language).replace(" success", "success").replace(" fail", "fail")});
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

pub const CREATE: Verb = Verb { word: "create", label: "创建结果" };
pub const DELETE: Verb = Verb { word: "delete", label: "删除结果" };
pub const EDIT: Verb = Verb { word: "edit", label: "编辑结果" };
pub const MOVE: Verb = Verb { word: "move", label: "移动结果" };

impl Planning<'_> {
    /// Returns the file that an item names, once for each path.
    fn writable(&mut self, path: &str) -> Result<Place, Failure> {
        let place = self.files.file(path)?;
        if *place.root() == Root::Snapshot || (place.root().folder().is_some() && place.is_hidden()) {
            return Err(Failure::protected());
        }
        match self.named.insert(place.to_string()) {
            true => Ok(place),
            false => Err(Failure::duplicate()),
        }
    }

    /// Returns a file as the items before have left it.
    fn current(&self, place: &Place) -> Result<Option<FileState>, Failure> {
        if let Some(change) = self.changes.get(place) {
            return Ok(change.after.clone().map(|bytes| FileState { bytes, mode: change.mode }));
        }
        Ok(self.files.access.home.file_state(place)?)
    }

    /// Returns whether anything is at this place.
    fn is_taken(&self, place: &Place) -> bool {
        match self.changes.get(place) {
            Some(change) => change.after.is_some(),
            None => self.files.access.home.has_entry(place),
        }
    }

    fn change(&mut self, place: Place, after: Option<FileState>) -> Result<(), Failure> {
        let current = match self.changes.remove(&place) {
            Some(change) => change.before,
            None => self.files.access.home.file_state(&place)?.map(|state| state.bytes),
        };
        let mode = after.as_ref().map(|after| after.mode);
        let mode = match mode {
            Some(mode) => mode,
            None => self.files.access.home.file_state(&place)?.map(|state| state.mode).unwrap_or_default(),
        };
        let change = Change { path: place.clone(), before: current, after: after.map(|after| after.bytes), mode };
        self.changes.insert(place, change);
        Ok(())
    }

    fn create(&mut self, NewItem { path, content, folder }: &NewItem) -> Result<Done, Failure> {
        if *folder {
            let place = self.files.folder(path)?;
            let name = self.files.name(&place);
            let home = &self.files.access.home;
            if place.path().is_empty() || (home.has_entry(&place) && !home.is_folder(&place)) || home.is_folder(&place)
            {
                return Err(Failure::exists());
            }
            self.folders.push(FolderChange::Make(place));
            return Ok(Done { line: format!("created {name}/"), name, kind: RowKind::Folder });
        }
        let place = self.writable(path)?;
        if self.files.access.home.is_folder(&place) {
            return Err(Failure::is_folder());
        }
        if self.is_taken(&place) {
            return Err(Failure::exists());
        }
        self.check_parent(&place)?;
        let name = self.files.name(&place);
        let bytes = content.clone().unwrap_or_default().into_bytes();
        let lines = String::from_utf8_lossy(&bytes).lines().count();
        self.change(place, Some(FileState { bytes, mode: FileMode::Regular }))?;
        Ok(Done { line: format!("created {name} (+{lines} lines)"), name, kind: RowKind::File })
    }

    /// # Errors
    /// Returns an error if a file stands where a folder on the way to a new file would be.
    fn check_parent(&self, place: &Place) -> Result<(), Failure> {
        let mut above = place.containing();
        while !above.path().is_empty() {
            let home = &self.files.access.home;
            if home.is_folder(&above) {
                return Ok(());
            }
            if home.has_entry(&above) || self.is_taken(&above) {
                return Err(Failure::no_parent());
            }
            above = above.containing();
        }
        Ok(())
    }

    fn delete(&mut self, path: &str, recursive: bool) -> Result<Done, Failure> {
        let folder = self.files.folder(path)?;
        if self.files.access.home.is_folder(&folder) {
            return self.delete_folder(folder, recursive);
        }
        let place = self.writable(path)?;
        if self.current(&place)?.is_none() {
            return Err(Failure::not_found());
        }
        let name = self.files.name(&place);
        self.change(place, None)?;
        Ok(Done { line: format!("deleted {name}"), name, kind: RowKind::File })
    }

    fn delete_folder(&mut self, folder: Place, recursive: bool) -> Result<Done, Failure> {
        if folder.path().is_empty() || folder.root().folder().is_some() {
            return Err(Failure::protected());
        }
        let below = self.files.access.home.files_below(&folder)?;
        if !recursive && !below.is_empty() {
            return Err(Failure::not_empty());
        }
        if below.iter().any(super::is_protected) {
            return Err(Failure::protected());
        }
        let count = below.len();
        for place in below {
            self.change(place, None)?;
        }
        let name = self.files.name(&folder);
        self.folders.push(FolderChange::RemoveEmpty(folder));
        Ok(Done { line: format!("deleted {name}/ ({count} files)"), name, kind: RowKind::Folder })
    }

    fn move_item(&mut self, MoveItem { from, to }: &MoveItem) -> Result<Done, Failure> {
        let folder = self.files.folder(from)?;
        if self.files.access.home.is_folder(&folder) {
            return self.move_folder(folder, to);
        }
        let (source, target) = (self.writable(from)?, self.writable(to)?);
        let state = self.current(&source)?.ok_or_else(Failure::not_found)?;
        if self.is_taken(&target) || self.files.access.home.is_folder(&target) {
            return Err(Failure::exists());
        }
        self.check_parent(&target)?;
        let names = [&source, &target].map(|place| self.files.name(place));
        self.change(target, Some(state))?;
        self.change(source, None)?;
        let [name, to] = names;
        Ok(Done { line: format!("moved {name} to {to}"), name, kind: RowKind::File })
    }

    fn move_folder(&mut self, source: Place, to: &str) -> Result<Done, Failure> {
        let target = self.files.folder(to)?;
        let (is_home, home) = (|place: &Place| place.root().folder().is_some(), &self.files.access.home);
        if source.path().is_empty() || is_home(&source) || is_home(&target) {
            return Err(Failure::protected());
        }
        if home.has_entry(&target) || target.path().is_empty() {
            return Err(Failure::exists());
        }
        if target == source || target.is_below(&source) {
            return Err(Failure::bad_edit("a folder cannot be moved into itself"));
        }
        self.check_parent(&target)?;
        let below = home.files_below(&source)?;
        if below.iter().any(super::is_protected) {
            return Err(Failure::protected());
        }
        let count = below.len();
        for file in below {
            let rest = file.as_str().strip_prefix(source.as_str()).unwrap_or_default();
            let moved = Place::parse(&format!("{target}{rest}")).map_err(Failure::bad_path)?;
            let state = self.current(&file)?.ok_or_else(Failure::not_found)?;
            self.change(moved, Some(state))?;
            self.change(file, None)?;
        }
        let names = [&source, &target].map(|place| self.files.name(place));
        self.folders.push(FolderChange::Make(target));
        self.folders.push(FolderChange::RemoveEmpty(source));
        let [name, to] = names;
        Ok(Done { line: format!("moved {name}/ to {to}/ ({count} files)"), name, kind: RowKind::Folder })
    }

    fn edit(&mut self, edits: &Edits, plan: &mut Plan) -> Result<Done, Failure> {
        let place = self.writable(&edits.path)?;
        if self.files.access.home.is_folder(&place) {
            return Err(Failure::is_folder());
        }
        let state = self.current(&place)?.ok_or_else(Failure::not_found)?;
        let text = String::from_utf8(state.bytes).map_err(|_| Failure::not_text())?;
        let partial = if edits.partial { Partial::Yes } else { Partial::No };
        let edited = edit(&text, &edits.operations, partial);
        plan.operations = edited.results;
        plan.edited_lines = edited.lines;
        let name = self.files.name(&place);
        if edits.operations.is_empty() {
            return Err(Failure::bad_edit("operations is empty"));
        }
        let failed = plan.operations.iter().filter(|result| result.is_err()).count();
        if edited.text == text {
            return Err(match failed {
                0 => Failure::unchanged(),
                _ => Failure::bad_edit("nothing was changed"),
            });
        }
        self.change(place, Some(FileState { bytes: edited.text.into_bytes(), mode: state.mode }))?;
        Ok(Done { line: format!("changed {name} ({} lines)", edited.lines), name, kind: RowKind::File })
    }
}
