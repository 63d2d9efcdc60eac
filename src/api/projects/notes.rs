//! Searching a project by meaning, and the notes in it.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, Query};
use serde::{Deserialize, Serialize};

use super::files::{place_in, project_root};
use crate::api::conversations::conversation::project_id;
use crate::api::conversations::envelope::{Enveloped, EnvelopedError, enveloped};
use crate::api::error::ApiError;
use crate::api::retrieval::library::library_error;
use crate::api::security::caller::Caller;
use crate::domain::Place;
use crate::domain::knowledge::{ScoreExplanation, Weights};
use crate::engine::project_notes::{Mention, mentions};
use crate::engine::{EngineError, blocking};
use crate::library::project::{FoundPassage, ProjectLibrary, ProjectQuery};
use crate::library::{IndexCounts, IndexState};
use crate::retrieval::note::{Note, is_note};

/// Maximum bytes of a query.
const MAX_QUERY: usize = 1_000;
/// Number of passages that a search returns, and their maximum.
const DEFAULT_PASSAGES: usize = 10;
const MAX_PASSAGES: usize = 50;
/// How long a search waits for an index that is being built: about as long as a person does without an answer.
const PATIENCE: Duration = Duration::from_millis(500);

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PassageQuery {
    /// A question. `#tag` and `tag:tag` in it leave only notes that have all of these tags.
    query: String,
    /// Number of passages, 1 to 50; 10 if absent.
    limit: Option<usize>,
}

/// A passage of a file of the project.
#[derive(Serialize, utoipa::ToSchema)]
pub struct ProjectPassage {
    /// Relative to the project's root.
    path: String,
    /// The title of a note, if its front matter has one.
    title: Option<String>,
    /// The headings above it, joined by ` › `.
    heading: Option<String>,
    /// First and last line, from 1; absent if the file is not text (PDF, HTML).
    lines: Option<(u32, u32)>,
    text: String,
    /// 0 to 1; comparable only within one answer. 0 for a note that was found by its tags only.
    score: f64,
    /// Whether it hardly answers the question.
    weak: bool,
    /// Why it was found; absent for a note that was found by its tags only.
    how: Option<ScoreExplanation>,
    /// Of a note.
    tags: Vec<String>,
    /// The first 8 notes that link to it.
    linked_from: Vec<String>,
    linked_from_count: usize,
    /// The first 8 files that it links to.
    links_to: Vec<String>,
    links_to_count: usize,
}

/// The state of the index of a project.
#[derive(Serialize, utoipa::ToSchema)]
pub struct ProjectIndex {
    state: IndexState,
    /// Progress: files while the index is built, passages while vectors are computed.
    done: u32,
    total: u32,
    /// Number of passages, and of those that can be found by meaning.
    passages: u32,
    embedded: u32,
    counts: IndexCounts,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct FoundProjectPassages {
    query: String,
    /// Best first.
    results: Vec<ProjectPassage>,
    weights: Weights,
    index: ProjectIndex,
}

/// Finds the passages of a project that best answer a question, by words and by meaning.
///
/// The first search indexes the project; until that is done, searches answer from what is indexed so far.
#[utoipa::path(get, path = "/api/projects/{id}/passages", tag = "projects", operation_id = "search_project_passages",
    params(("id" = String, Path), PassageQuery),
    responses((status = 200, body = Enveloped<FoundProjectPassages>), (status = 404, body = EnvelopedError),
              (status = 400, description = "empty_query; bad_request: too long; bad_limit", body = EnvelopedError)))]
pub async fn passages(
    caller: Caller,
    Path(id): Path<String>,
    Query(PassageQuery { query, limit }): Query<PassageQuery>,
) -> Result<Json<Enveloped<FoundProjectPassages>>, ApiError> {
    let library = library_of(&caller, &id)?;
    let most = limit.unwrap_or(DEFAULT_PASSAGES);
    if !(1..=MAX_PASSAGES).contains(&most) {
        return Err(ApiError::bad_request("bad_limit", format!("limit is a number from 1 to {MAX_PASSAGES}")));
    }
    if query.trim().is_empty() {
        return Err(ApiError::bad_request("empty_query", "query is empty; enter something to search for"));
    }
    if query.len() > MAX_QUERY {
        return Err(ApiError::bad_request("bad_request", "query is a text of 1 to 1,000 bytes"));
    }
    let text = query.clone();
    let search = move || Ok(library.search(&ProjectQuery { text: &text, most, patience: PATIENCE, only: None }));
    let found = blocking(search).await?.map_err(library_error)?;
    let index = ProjectIndex {
        state: found.progress.state,
        done: found.progress.done,
        total: found.progress.total,
        passages: found.search.embedded.total,
        embedded: found.search.embedded.done,
        counts: found.counts,
    };
    let results = found.passages.into_iter().map(passage).collect();
    Ok(enveloped(FoundProjectPassages { query, results, weights: found.search.weights, index }))
}

fn passage(FoundPassage { hit, path, title, tags, linked_from, links_to }: FoundPassage) -> ProjectPassage {
    ProjectPassage {
        path,
        title,
        heading: hit.heading,
        lines: hit.lines,
        text: hit.text,
        score: hit.score,
        weak: hit.weak,
        how: hit.how,
        tags,
        linked_from: linked_from.0,
        linked_from_count: linked_from.1,
        links_to: links_to.0,
        links_to_count: links_to.1,
    }
}

/// A Markdown file of the project.
#[derive(Serialize, utoipa::ToSchema)]
pub struct ProjectNote {
    /// Relative to the project's root.
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    aliases: Vec<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct ProjectTag {
    /// Without the `#`.
    tag: String,
    /// Number of notes that have it.
    notes: usize,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct ProjectNotes {
    /// Sorted by path.
    notes: Vec<ProjectNote>,
    /// The other files, which links may lead to; sorted. At most 50,000 files in all, without hidden ones and those that git
    /// ignores.
    files: Vec<String>,
    tags: Vec<ProjectTag>,
}

/// Returns the notes of a project (its Markdown files) with their names, and their tags.
#[utoipa::path(get, path = "/api/projects/{id}/notes", tag = "projects", operation_id = "list_project_notes",
    params(("id" = String, Path)),
    responses((status = 200, body = Enveloped<ProjectNotes>), (status = 404, body = EnvelopedError)))]
pub async fn notes(caller: Caller, Path(id): Path<String>) -> Result<Json<Enveloped<ProjectNotes>>, ApiError> {
    let library = library_of(&caller, &id)?;
    let read = move || {
        let known = library.vault.notes()?;
        let note = |(path, note): (&str, &Note)| ProjectNote {
            path: path.to_owned(),
            title: note.title.clone(),
            aliases: note.aliases.clone(),
        };
        let tags = known.tags().into_iter().map(|(tag, notes)| ProjectTag { tag, notes }).collect();
        let files = known.names.paths().iter().filter(|path| !is_note(path)).cloned().collect();
        Ok(ProjectNotes { notes: known.iter().map(note).collect(), files, tags })
    };
    Ok(enveloped(blocking(read).await?))
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MentionsQuery {
    /// A file of the project, relative to its root.
    path: String,
}

/// A line of a note that mentions another one.
#[derive(Serialize, utoipa::ToSchema)]
pub struct NoteMention {
    /// Relative to the project's root.
    path: String,
    /// From 1.
    line: u64,
    /// The first 300 characters of the line.
    text: String,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct NoteMentions {
    path: String,
    /// The first 200 links to the file, by path and line.
    linked: Vec<NoteMention>,
    more_linked: bool,
    /// The first 200 lines that have the name, the title or an alias of the note, but no link to it.
    unlinked: Vec<NoteMention>,
}

/// Returns who mentions a note, or links to another file of the project.
#[utoipa::path(get, path = "/api/projects/{id}/mentions", tag = "projects", operation_id = "project_note_mentions",
    params(("id" = String, Path), MentionsQuery),
    responses((status = 200, body = Enveloped<NoteMentions>), (status = 404, body = EnvelopedError)))]
pub async fn note_mentions(
    caller: Caller,
    Path(id): Path<String>,
    Query(MentionsQuery { path }): Query<MentionsQuery>,
) -> Result<Json<Enveloped<NoteMentions>>, ApiError> {
    let library = library_of(&caller, &id)?;
    let place = place_in(&project_root(&caller, &id)?, &path, Place::parse)?;
    let home = caller.tenant().home.clone();
    let path = place.path().to_owned();
    let found = blocking(move || mentions(&home, library.vault.notes()?.as_ref(), &place)).await?;
    let mention = |Mention { path, line, text }: Mention| NoteMention { path, line, text };
    let linked = found.linked.into_iter().map(mention).collect();
    let unlinked = found.unlinked.into_iter().map(mention).collect();
    Ok(enveloped(NoteMentions { path, linked, more_linked: found.more_linked, unlinked }))
}

pub(super) fn library_of(caller: &Caller, id: &str) -> Result<Arc<ProjectLibrary>, ApiError> {
    let id = project_id(id)?;
    let found = caller.tenant().project_libraries.of(&id);
    found.ok_or_else(|| EngineError::NoProject(id).into())
}
