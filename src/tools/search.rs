//! `search_knowledge_base`: returns the passages of knowledge/ that best answer a question, without those that hardly do. Also what a
//! search in memory/ answers.

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
                "properties": {"query": {"type": "string"}, "include_weak": {"type": "boolean"}},
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
        prepared(&self.spec.name, arguments, |query| PreparedSearch { library, query: Arc::new(query) })
    }
}

/// What the model searches for.
#[derive(Deserialize)]
pub(super) struct PassageQuery {
    #[serde(rename = "query")]
    pub text: String,
    /// Whether the model also receives hits that hardly answer.
    #[serde(default)]
    pub include_weak: bool,
}

struct PreparedSearch {
    library: Arc<Library>,
    query: Arc<PassageQuery>,
}

impl PreparedCall for PreparedSearch {
    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn shown(&self) -> Shown {
        line(&with_weak(&self.query.text, self.query.include_weak))
    }

    fn outside_text(&self) -> OutsideText {
        OutsideText::from_source(Some(Taint::Document(format!("{}/", self.library.folder()))))
    }

    fn run<'a>(&'a self, _: RunOptions<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>> {
        let (library, query) = (self.library.clone(), self.query.clone());
        Box::pin(async move {
            let found = tokio::task::spawn_blocking(move || match searched(&library, &query) {
                Ok((search, state)) => {
                    let (given, _) = split_weak(&search.hits, |hit| hit.weak, query.include_weak);
                    let sources = given.into_iter().map(|hit| Taint::Document(hit.source.clone()));
                    ToolAnswer { sources: sources.collect(), ..answer(&search, state, &query) }
                }
                Err(failed) => *failed,
            });
            found.await.map_err(|_| EndRun::Broken("a search was cut off".to_owned()))
        })
    }
}

/// Searches memory/. Blocks.
pub(super) fn memory_answer(library: &Arc<Library>, query: &PassageQuery) -> ToolAnswer {
    match searched(library, query) {
        Ok((search, state)) => answer(&search, state, query),
        Err(failed) => *failed,
    }
}

/// Returns what a person is shown of a search, who is told whether weak passages are wanted.
pub(super) fn with_weak(shown: &str, include_weak: bool) -> String {
    if include_weak { format!("{shown}\n(with weak passages)") } else { shown.to_owned() }
}

/// Splits what was found into what the model receives, and the weak rest that is withheld.
pub(super) fn split_weak<T>(found: &[T], is_weak: impl Fn(&T) -> bool, include_weak: bool) -> (Vec<&T>, Vec<&T>) {
    found.iter().partition(|hit| include_weak || !is_weak(hit))
}

/// Returns what the model is told about passages that are withheld; empty if there are none.
pub(super) fn withheld_note(count: usize) -> String {
    let (what, it) = match count {
        0 => return String::new(),
        1 => ("1 weak passage that probably does not answer is".to_owned(), "it"),
        count => (format!("{count} weak passages that probably do not answer are"), "them"),
    };
    format!("{what} withheld; include_weak: true returns {it}.")
}

/// Returns the outcome of a search in a few words.
pub(super) fn outcome(given: usize, withheld: usize) -> String {
    let found = match given {
        0 if withheld > 0 => return "only weak passages found".to_owned(),
        0 => return "nothing found".to_owned(),
        1 => "1 passage found".to_owned(),
        count => format!("{count} passages found"),
    };
    if withheld == 0 { found } else { format!("{found}, {withheld} weak withheld") }
}

/// Returns what the model reads after the place of a hit that hardly answers.
pub(super) fn weak_mark(hit: &Hit) -> &'static str {
    if hit.weak { " (weak: it probably does not answer)" } else { "" }
}

fn searched(library: &Arc<Library>, query: &PassageQuery) -> Result<(Search, IndexState), Box<ToolAnswer>> {
    match library.search(&query.text, SearchOptions::best(DEFAULT_HITS)) {
        Ok(search) => Ok((search, library.progress().state)),
        Err(error) => {
            let why = format!("{}/ could not be searched: {error}.", library.folder());
            Err(Box::new(ToolAnswer::failed(why)))
        }
    }
}

fn answer(search: &Search, state: IndexState, query: &PassageQuery) -> ToolAnswer {
    let (given, withheld) = split_weak(&search.hits, |hit| hit.weak, query.include_weak);
    let data = json!({
        "query": search.query,
        "hits": given.iter().copied().map(place).collect::<Vec<_>>(),
        "withheld": withheld.iter().copied().map(place).collect::<Vec<_>>(),
        "weights": search.weights,
        "terms": search.terms,
        "near_misses": search.near_misses.iter().map(missed).collect::<Vec<_>>(),
    });
    let building = match state {
        IndexState::Building => "The index is still being built, so there may be more. ",
        IndexState::NotBuilt | IndexState::Embedding | IndexState::Ready => "",
    };
    let mut text = building.to_owned();
    if given.is_empty() {
        let folder = &search.folder;
        text.push_str(&format!("Nothing in {folder}/ matches. Try other words, or say that it is not told there. "));
    }
    for (number, hit) in given.iter().enumerate() {
        let heading = hit.heading.as_ref().map(|heading| format!(" ({heading})")).unwrap_or_default();
        let (place, weak, words) = (hit.place(), weak_mark(hit), hit.text.trim());
        text.push_str(&format!("[{}] {place}{heading}{weak}\n{words}\n\n", number + 1));
    }
    text.push_str(&withheld_note(withheld.len()));
    ToolAnswer::done(outcome(given.len(), withheld.len()), text.trim_end()).with_data(data).with_code(&search.query)
}

pub(super) fn place(hit: &Hit) -> Value {
    let Hit { source, heading, lines, range, score, confidence, weak, how, .. } = hit;
    json!({"source": source, "heading": heading, "lines": lines, "range": range, "score": score,
        "confidence": confidence, "weak": weak, "how": how})
}

fn missed(miss: &NearMiss) -> Value {
    json!({"hit": place(&miss.hit), "behind": miss.behind, "reason": miss.reason, "detail": miss.detail})
}
