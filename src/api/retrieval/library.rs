//! Searches memory/ and knowledge/, returning everything that determined the result, and runs the folders' retrieval
//! tests.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::Query;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};

use crate::api::body::JsonBody;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::caller::Caller;
use crate::domain::Place;
use crate::domain::knowledge::{Embedded, ModelName, Search};
use crate::engine::blocking;
use crate::library::evaluation::TestReport;
use crate::library::recall::{Conversations, RecallQuery};
use crate::library::{
    self, DEFAULT_HITS, IndexState, Library, LibraryError, NEAR_MISSES, Overview, SearchOptions, SearchedIn,
};
use crate::retrieval::cases::{InvalidTestLine, TestCase};
use crate::retrieval::search::MAX_HITS;
use crate::store::StoreError;

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SearchQuery {
    query: String,
    /// `knowledge` (default), `memory` or `conversations`: what was said in past conversations, without near misses.
    folder: Option<String>,
    /// Number of hits; 3 if absent, at most 100.
    k: Option<usize>,
    /// Total number of results: those beyond `k` are near misses. If absent, there are 3 near misses. At most 100.
    candidates: Option<usize>,
    /// Weight of the vector scores, 0 to 1. If absent, the server's choice.
    vector_weight: Option<f64>,
}

/// Searches a folder. Nothing is sent to a chat model.
#[utoipa::path(get, path = "/api/retrieval/search", tag = "retrieval", params(SearchQuery),
    responses((status = 200, body = Search), (status = 400, body = ErrorBody)))]
pub async fn search(caller: Caller, Query(asked): Query<SearchQuery>) -> Result<Json<Search>, ApiError> {
    let folder = asked.folder.as_deref().unwrap_or("knowledge");
    if asked.query.trim().is_empty() {
        return Err(ApiError::bad_request("empty_query", "query is empty; enter something to search for"));
    }
    if asked.vector_weight.is_some_and(|weight| !(0.0..=1.0).contains(&weight)) {
        return Err(ApiError::bad_request("bad_weight", "vector_weight must be between 0 and 1"));
    }
    let k = asked.k.unwrap_or(DEFAULT_HITS).clamp(1, MAX_HITS);
    if folder == CONVERSATIONS {
        let messages = caller.tenant().conversations.messages.clone();
        let found = blocking(move || Ok(recalled(&messages, (&asked, k)))).await?;
        return Ok(Json(found.map_err(library_error)?));
    }
    let library = library(&caller, folder)?;
    let near_misses = asked.candidates.map_or(NEAR_MISSES, |all| all.min(MAX_HITS).saturating_sub(k));
    let options = SearchOptions { k, near_misses, vector_weight: asked.vector_weight };
    let found = blocking(move || Ok(library.search(&asked.query, options))).await?;
    Ok(Json(found.map_err(library_error)?))
}

/// The name under which past conversations are searched.
const CONVERSATIONS: &str = "conversations";
/// How long a search in conversations waits for an index that is being built.
const PATIENCE: Duration = Duration::from_millis(500);

/// Searches past conversations. Blocks.
fn recalled(messages: &Arc<Library>, (asked, limit): (&SearchQuery, usize)) -> Result<Search, LibraryError> {
    let query = RecallQuery {
        text: &asked.query,
        limit,
        patience: PATIENCE,
        vector_weight: asked.vector_weight,
        except: None,
        untainted: false,
        only: None,
    };
    Ok(messages.recall(&query)?.search)
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct RetrievalStatus {
    folders: Vec<FolderStatus>,
    conversations: ConversationsStatus,
    model: EmbeddingModel,
}

/// The search in past conversations.
#[derive(Serialize, utoipa::ToSchema)]
pub struct ConversationsStatus {
    state: IndexState,
    chunks: u32,
    /// Number of chunks that have a vector.
    embedded: u32,
    /// Whether they are searched by words alone, because the embedding model is a service beyond this machine and
    /// `embedding.conversations` in config.yml is not `true`.
    words_only: bool,
    bytes_on_disk: u64,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct FolderStatus {
    folder: String,
    files: usize,
    chunks: u32,
    /// Number of chunks that have a vector.
    embedded: u32,
    state: IndexState,
    /// Progress: files while the index is built, chunks while vectors are computed. `total` has the same unit.
    done: u32,
    total: u32,
    unreadable: Vec<Unreadable>,
    /// Number of files that are not indexed because there are more than 20,000; counted up to 100,000.
    left_out: usize,
    /// On this machine, or in the database if the folder is searched there.
    bytes_on_disk: u64,
    searched_in: SearchedIn,
}

/// A file that is listed but cannot be searched.
#[derive(Serialize, utoipa::ToSchema)]
pub struct Unreadable {
    path: String,
    /// The reason, as an English sentence.
    reason: String,
    /// Stable code of the reason.
    code: String,
    /// The system's error message, if the reason quotes one; otherwise absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

/// The embedding model.
#[derive(Serialize, utoipa::ToSchema)]
pub struct EmbeddingModel {
    state: EmbeddingState,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimension: Option<u32>,
    /// Why there is no model, and what to do; absent if there is one or none was needed yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EmbeddingState {
    /// Not loaded yet, because no question has needed it.
    Unloaded,
    Ready,
    Absent,
    Failed,
}

/// Returns what is indexed, what is not and why, and which embedding model is used.
#[utoipa::path(get, path = "/api/retrieval/status", tag = "retrieval", responses((status = 200, body = RetrievalStatus)))]
pub async fn status(caller: Caller) -> Result<Json<RetrievalStatus>, ApiError> {
    let tenant = caller.tenant();
    let (libraries, recall) = ([tenant.memory.clone(), tenant.knowledge.clone()], tenant.conversations.clone());
    let status = blocking(move || {
        let mut model = EmbeddingModel { state: EmbeddingState::Unloaded, id: None, dimension: None, detail: None };
        let folders = libraries.iter().map(|library| folder_status(library, &mut model)).collect();
        Ok(RetrievalStatus { folders, conversations: conversations_status(&recall), model })
    });
    Ok(Json(status.await?))
}

fn conversations_status(recall: &Conversations) -> ConversationsStatus {
    let Overview { embedded, progress, bytes_on_disk, .. } = recall.messages.overview();
    let words_only = recall.is_withheld;
    let Embedded { done, total } = embedded;
    ConversationsStatus { state: progress.state, chunks: total, embedded: done, words_only, bytes_on_disk }
}

fn folder_status(library: &Arc<Library>, model: &mut EmbeddingModel) -> FolderStatus {
    let overview = library.overview();
    match (overview.model, overview.no_model) {
        (Some(ModelName { id, dimension }), _) => {
            *model =
                EmbeddingModel { state: EmbeddingState::Ready, id: Some(id), dimension: Some(dimension), detail: None };
        }
        (None, Some(error)) if !matches!(model.state, EmbeddingState::Ready) => {
            let state = match error {
                crate::domain::EmbedError::Missing(_) => EmbeddingState::Absent,
                _ => EmbeddingState::Failed,
            };
            *model = EmbeddingModel { state, id: None, dimension: None, detail: Some(error.to_string()) };
        }
        _ => {}
    }
    let Embedded { done: embedded, total: chunks } = overview.embedded;
    let unreadable = overview.files.iter().filter_map(|file| {
        let why = file.problem.as_ref()?;
        Some(Unreadable {
            path: file.path.clone(),
            reason: why.to_string(),
            code: why.code().to_owned(),
            detail: why.detail().map(str::to_owned),
        })
    });
    FolderStatus {
        folder: library.folder().to_owned(),
        files: overview.files.len(),
        chunks,
        embedded,
        state: overview.progress.state,
        done: overview.progress.done,
        total: overview.progress.total,
        unreadable: unreadable.collect(),
        left_out: overview.left_out,
        bytes_on_disk: overview.bytes_on_disk,
        searched_in: overview.searched_in,
    }
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ChunksQuery {
    /// Path of a file in memory/ or knowledge/, e.g. `knowledge/a.md`.
    path: String,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct FileChunks {
    path: String,
    title: String,
    chunks: Vec<FileChunk>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct FileChunk {
    /// Stable id: the same for the same text under the same heading of the same file.
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    heading: Option<String>,
    /// First and last line, 1-based; absent if the file is not text (PDF, HTML).
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<(u32, u32)>,
    /// First byte, and the byte after the last one.
    range: (usize, usize),
    /// Number of words, of characters in scripts without spaces, and of other symbols.
    tokens: u32,
    text: String,
    /// Whether the chunk has a vector.
    embedded: bool,
}

/// Returns the chunks of a file.
#[utoipa::path(get, path = "/api/retrieval/chunks", tag = "retrieval", params(ChunksQuery),
    responses((status = 200, body = FileChunks), (status = 404, body = ErrorBody)))]
pub async fn chunks(caller: Caller, Query(asked): Query<ChunksQuery>) -> Result<Json<FileChunks>, ApiError> {
    let path = Place::parse(&asked.path)?;
    let library = library(&caller, &path.root().to_string())?;
    let name = path.to_string();
    let found = blocking(move || Ok(library.chunks(&name))).await?.map_err(library_error)?;
    let Some(first) = found.first() else {
        let message = format!("{path} has no chunks: it is not there, empty, or could not be read (see the status)");
        return Err(ApiError::new(StatusCode::NOT_FOUND, "no_chunks", message));
    };
    let title = first.chunk.title.clone();
    let chunks = found.into_iter().map(|library::FileChunk { chunk, has_vector }| FileChunk {
        id: chunk.id,
        heading: (!chunk.heading.is_empty()).then_some(chunk.heading),
        lines: chunk.lines,
        range: (chunk.range.start, chunk.range.end),
        tokens: chunk.tokens,
        text: chunk.text,
        embedded: has_vector,
    });
    Ok(Json(FileChunks { path: path.to_string(), title, chunks: chunks.collect() }))
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct TestsQuery {
    /// `knowledge` (default) or `memory`.
    folder: Option<String>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct RetrievalTests {
    folder: String,
    /// Path of the file that contains the tests.
    path: String,
    cases: Vec<TestCase>,
    problems: Vec<InvalidTestLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<TestReport>,
}

/// Returns the retrieval tests of a folder (its tests.jsonl) and their last report.
#[utoipa::path(get, path = "/api/retrieval/tests", tag = "retrieval", params(TestsQuery),
    responses((status = 200, body = RetrievalTests)))]
pub async fn tests(caller: Caller, Query(asked): Query<TestsQuery>) -> Result<Json<RetrievalTests>, ApiError> {
    let library = library(&caller, asked.folder.as_deref().unwrap_or("knowledge"))?;
    let read = blocking(move || {
        let (folder, path, last) = (library.folder().to_owned(), library.tests_path(), library.last_report());
        Ok(library.cases().map(|(cases, problems)| RetrievalTests { folder, path, cases, problems, last }))
    });
    Ok(Json(read.await?.map_err(library_error)?))
}

#[derive(Deserialize, utoipa::ToSchema)]
pub struct RunTests {
    /// `knowledge` or `memory`.
    folder: String,
    /// Number of hits for each test; 3 if absent, at most 100.
    k: Option<usize>,
}

/// Runs a folder's retrieval tests and compares the result with the previous run.
#[utoipa::path(post, path = "/api/retrieval/tests", tag = "retrieval", request_body = RunTests,
    responses((status = 200, body = TestReport), (status = 400, body = ErrorBody)))]
pub async fn run_tests(
    caller: Caller,
    request: Result<JsonBody<RunTests>, JsonRejection>,
) -> Result<Json<TestReport>, ApiError> {
    let JsonBody(request) = request?;
    let library = library(&caller, &request.folder)?;
    let k = request.k.unwrap_or(DEFAULT_HITS).clamp(1, MAX_HITS);
    Ok(Json(blocking(move || Ok(library.evaluate(k))).await?.map_err(library_error)?))
}

fn library(caller: &Caller, folder: &str) -> Result<Arc<Library>, ApiError> {
    let tenant = caller.tenant();
    let libraries = [&tenant.memory, &tenant.knowledge];
    let found = libraries.into_iter().find(|library| library.folder() == folder);
    found.cloned().ok_or_else(|| {
        ApiError::bad_request("bad_folder", "folder must be memory or knowledge; a search also takes conversations")
    })
}

pub(in crate::api) fn library_error(error: LibraryError) -> ApiError {
    match error {
        LibraryError::Store(error @ (StoreError::Database(_) | StoreError::Fenced)) => error.into(),
        error => ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "unsearchable", error.to_string()),
    }
}
