//! `search_knowledge_base`: returns the passages of knowledge/ that best answer a question. Also what a search in memory/ answers.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{EndRun, OutsideText, Prepared, PreparedCall, RunOptions, Tool, ToolContext, line, prepared};
use crate::domain::knowledge::{NearMiss, Search};
use crate::domain::{Effect, Hit, Shown, Taint, ToolAnswer, ToolSpec};
use crate::library::{DEFAULT_HITS, IndexState, Library, SearchOptions};

/// A search in the person's documents, as a tool.
pub struct SearchTool {
    library: Arc<Library>,
    spec: ToolSpec,
}

impl SearchTool {
    pub fn knowledge(library: Arc<Library>) -> Self {
        let spec = ToolSpec {
            name: "search_knowledge_base".to_owned(),
            description: format!(
                "Search the person's documents in knowledge/; gives the {DEFAULT_HITS} best passages. Cite what you use as [file:lines]."
            ),
            parameters: json!({
                "type": "object",
                "properties": {"query": {"type": "string"}},
                "required": ["query"],
            }),
            effect: Effect::Read,
        };
        Self { library, spec }
    }
}

impl Tool for SearchTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(&'a self, arguments: Value, _: ToolContext<'a>) -> BoxFuture<'a, Prepared> {
        let library = self.library.clone();
        prepared(&self.spec.name, arguments, |Arguments { query }| PreparedSearch { library, query })
    }
}

#[derive(Deserialize)]
struct Arguments {
    query: String,
}

struct PreparedSearch {
    library: Arc<Library>,
    query: String,
}

impl PreparedCall for PreparedSearch {
    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn shown(&self) -> Shown {
        line(&self.query)
    }

    fn outside_text(&self) -> OutsideText {
        OutsideText::from_source(Some(Taint::Document(format!("{}/", self.library.folder()))))
    }

    fn run<'a>(&'a self, _: RunOptions<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>> {
        let (library, query) = (self.library.clone(), self.query.clone());
        Box::pin(async move {
            let found = tokio::task::spawn_blocking(move || match searched(&library, &query) {
                Ok((search, state)) => {
                    let sources = search.hits.iter().map(|hit| Taint::Document(hit.source.clone()));
                    ToolAnswer { sources: sources.collect(), ..answer(&search, state) }
                }
                Err(failed) => *failed,
            });
            found.await.map_err(|_| EndRun::Broken("a search was cut off".to_owned()))
        })
    }
}

/// Searches memory/. Blocks.
pub(super) fn memory_answer(library: &Arc<Library>, query: &str) -> ToolAnswer {
    match searched(library, query) {
        Ok((search, state)) => answer(&search, state),
        Err(failed) => *failed,
    }
}

fn searched(library: &Arc<Library>, query: &str) -> Result<(Search, IndexState), Box<ToolAnswer>> {
    match library.search(query, SearchOptions::best(DEFAULT_HITS)) {
        Ok(search) => Ok((search, library.progress().state)),
        Err(error) => {
            let why = format!("{}/ could not be searched: {error}.", library.folder());
            Err(Box::new(ToolAnswer::failed(why)))
        }
    }
}

fn answer(search: &Search, state: IndexState) -> ToolAnswer {
    let data = json!({
        "query": search.query,
        "hits": search.hits.iter().map(place).collect::<Vec<_>>(),
        "weights": search.weights,
        "terms": search.terms,
        "near_misses": search.near_misses.iter().map(missed).collect::<Vec<_>>(),
    });
    let building = match state {
        IndexState::Building => "The index is still being built, so there may be more. ",
        IndexState::NotBuilt | IndexState::Embedding | IndexState::Ready => "",
    };
    if search.hits.is_empty() {
        let folder = &search.folder;
        let text =
            format!("{building}Nothing in {folder}/ matches. Try other words, or say that it is not told there.");
        return ToolAnswer::done("nothing found", &text).with_data(data).with_code(&search.query);
    }
    let mut text = building.to_owned();
    for (number, hit) in search.hits.iter().enumerate() {
        let heading = hit.heading.as_ref().map(|heading| format!(" ({heading})")).unwrap_or_default();
        text.push_str(&format!("[{}] {}{heading}\n{}\n\n", number + 1, hit.place(), hit.text.trim()));
    }
    ToolAnswer::done(format!("{} passages found", search.hits.len()), text.trim_end())
        .with_data(data)
        .with_code(&search.query)
}

pub(super) fn place(hit: &Hit) -> Value {
    let Hit { source, heading, lines, range, score, how, .. } = hit;
    json!({"source": source, "heading": heading, "lines": lines, "range": range, "score": score, "how": how})
}

fn missed(miss: &NearMiss) -> Value {
    json!({"hit": place(&miss.hit), "behind": miss.behind, "reason": miss.reason, "detail": miss.detail})
}
