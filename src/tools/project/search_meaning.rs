//! `search_files` with `meaning`: the passages of a project that best answer a question, and how its notes are linked.
//!
//! It is a mode of `search_files` and no tool of its own, because a model that looks for something should see in one place that
//! both ways exist, with the same `path` and `glob`; and because each further definition costs every request of the conversation
//! more than one field does.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use globset::GlobMatcher;
use serde_json::{Value, json};

use super::ProjectFiles;
use super::answer::Failure;
use super::list::matcher;
use super::search::Arguments;
use crate::domain::defang::defang;
use crate::domain::{Effect, Place, Root, Shown, Taint, ToolAnswer};
use crate::library::project::{FoundPassage, FoundPassages, ProjectQuery};
use crate::library::projects::ProjectLibraries;
use crate::library::{IndexCounts, IndexState};
use crate::tools::{EndRun, OutsideText, PreparedCall, RunOptions, line};

/// Maximum number of passages, of about 256 tokens each.
const PASSAGES: usize = 5;
/// How long a search waits for an index that is being built.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct MeaningSearch {
    files: ProjectFiles,
    libraries: ProjectLibraries,
    arguments: Arguments,
    glob: Option<GlobMatcher>,
}

impl MeaningSearch {
    pub fn new(
        files: ProjectFiles,
        libraries: ProjectLibraries,
        arguments: Arguments,
    ) -> Result<Self, Box<ToolAnswer>> {
        let glob = arguments.glob.as_deref().map(matcher).transpose()?;
        Ok(Self { files, libraries, arguments, glob })
    }

    fn answer(&self) -> ToolAnswer {
        let failed = |failure: Failure| {
            let text = format!("{}: {}.", self.arguments.path, failure.advice);
            ToolAnswer::failed(text).with_data(json!({"code": failure.code}))
        };
        let folder = match self.files.folder(&self.arguments.path) {
            Ok(folder) if self.files.is_in_project(&folder) => folder,
            Ok(_) => return failed(Failure::only_project()),
            Err(failure) => return failed(failure),
        };
        let Root::Project(id) = folder.root() else { return failed(Failure::only_project()) };
        let Some(library) = self.libraries.of(id) else {
            return ToolAnswer::failed("the project does not exist any more.");
        };
        let only = |path: &str| self.fits(&folder, path);
        let is_narrow = self.glob.is_some() || !folder.path().is_empty();
        let query = ProjectQuery {
            text: &self.arguments.pattern,
            most: PASSAGES,
            patience: PATIENCE,
            only: is_narrow.then_some(&only),
        };
        match library.search(&query) {
            Ok(found) => self.found(&found),
            Err(error) => ToolAnswer::failed(format!("the project could not be searched: {error}.")),
        }
    }

    /// Whether a file is in the folder, and the glob fits its path in the folder.
    fn fits(&self, folder: &Place, path: &str) -> bool {
        let below = match (folder.path(), path) {
            ("", path) => path,
            (folder, path) if folder == path => path.rsplit('/').next().unwrap_or(path),
            (folder, path) => match path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')) {
                Some(below) => below,
                None => return false,
            },
        };
        self.glob.as_ref().is_none_or(|glob| glob.is_match(below))
    }

    fn found(&self, FoundPassages { search, passages, progress, counts }: &FoundPassages) -> ToolAnswer {
        let mut text = String::new();
        if progress.state == IndexState::Building {
            let (done, total) = (progress.done, progress.total);
            text.push_str(&format!("[the index is being built: {done} of {total} files; there may be more]\n\n"));
        }
        for (number, passage) in passages.iter().enumerate() {
            text.push_str(&format!("[{}] {}\n", number + 1, described(passage)));
            text.push_str(passage.hit.text.trim());
            text.push_str("\n\n");
        }
        let is_narrow = self.glob.is_some() || !matches!(self.arguments.path.trim_matches('/'), "" | ".");
        if passages.is_empty() && is_narrow {
            text.push_str(
                "[none of the project's 100 best passages is there; use a pattern, or leave out path and glob]",
            );
        } else if passages.is_empty() {
            text.push_str(&format!("[nothing fits in {} files{}]", counts.files, left_out(counts)));
        }
        let hits: Vec<Value> = passages.iter().map(row).collect();
        let data = json!({"query": search.query, "hits": hits, "weights": search.weights, "terms": search.terms,
            "files_searched": counts.files, "complete": progress.state != IndexState::Building});
        let message = match passages.len() {
            1 => "1 passage found".to_owned(),
            count => format!("{count} passages found"),
        };
        // Nobody edits a file by the text of a passage, so it need not be exact.
        let answer = ToolAnswer::done(message, defang(text.trim_end()).into_owned())
            .with_data(data)
            .with_code(&self.arguments.pattern);
        ToolAnswer { sources: passages.iter().filter_map(|passage| self.untrusted(passage)).collect(), ..answer }
    }

    /// Returns the file of a passage, if it tells the agent how to work and nobody has trusted it. One that cannot be read any
    /// more, or that has changed since it was indexed, counts as what it is now.
    fn untrusted(&self, FoundPassage { path, .. }: &FoundPassage) -> Option<Taint> {
        let place = self.files.file(path).ok().filter(Place::is_pinned)?;
        let bytes = self.files.access.home.read_bytes(&place).unwrap_or_default();
        self.files.untrusted(&place, &bytes)
    }
}

/// Returns the place of a passage, its heading, and the notes that link to it and that it links to.
fn described(FoundPassage { hit, path, title, linked_from, links_to, .. }: &FoundPassage) -> String {
    let lines = match hit.lines {
        Some((first, last)) if first == last => format!(":{first}"),
        Some((first, last)) => format!(":{first}-{last}"),
        None => String::new(),
    };
    let mut text = format!("/{path}{lines}");
    if let Some(heading) = hit.heading.as_ref().or(title.as_ref()) {
        text.push_str(&format!(" ({heading})"));
    }
    for (words, (paths, all)) in [("linked from", linked_from), ("links to", links_to)] {
        if paths.is_empty() {
            continue;
        }
        let named: Vec<String> = paths.iter().map(|path| format!("/{path}")).collect();
        let more = if *all > paths.len() { format!(" and {} more", all - paths.len()) } else { String::new() };
        text.push_str(&format!("\n{words} {}{more}", named.join(", ")));
    }
    text
}

fn row(FoundPassage { hit, path, .. }: &FoundPassage) -> Value {
    json!({"path": format!("/{path}"), "source": hit.source, "heading": hit.heading, "lines": hit.lines,
        "range": hit.range, "score": hit.score, "how": hit.how})
}

/// Returns how many files are not searched, and why.
fn left_out(IndexCounts { binary, too_large, unreadable, too_many, .. }: &IndexCounts) -> String {
    let counts =
        [(*binary, "not text"), (*too_large, "too large"), (*unreadable, "unreadable"), (*too_many, "too many")];
    let said = counts.iter().filter(|(count, _)| *count > 0).map(|(count, why)| format!("{count} {why}"));
    let said: Vec<String> = said.collect();
    if said.is_empty() { String::new() } else { format!("; not searched: {}", said.join(", ")) }
}

impl PreparedCall for Arc<MeaningSearch> {
    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn shown(&self) -> Shown {
        line(&self.arguments.pattern)
    }

    fn outside_text(&self) -> OutsideText {
        let folder = self.files.folder(&self.arguments.path).ok();
        OutsideText::from_source(folder.and_then(|folder| self.files.taint(&folder)))
    }

    fn run<'a>(&'a self, _: RunOptions<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>> {
        let search = self.clone();
        Box::pin(async move {
            let found = tokio::task::spawn_blocking(move || search.answer()).await;
            found.map_err(|_| EndRun::Broken("a search was cut off".to_owned()))
        })
    }
}
