//! `search_knowledge_base`: the pieces of knowledge/ that answer a question best.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::json;

use super::library::Library;
use super::{Call, EndRun, Tool};
use crate::domain::{Effect, Hit, ToolAnswer, ToolSpec};

const HITS: usize = 3;

pub struct SearchKnowledgeBase {
    library: Arc<Library>,
    spec: ToolSpec,
}

impl SearchKnowledgeBase {
    pub fn new(library: Arc<Library>) -> Self {
        let spec = ToolSpec {
            name: "search_knowledge_base".to_owned(),
            description: "Search the person's documents in knowledge/; gives the 3 best passages with file and lines."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {"query": {"type": "string"}},
                "required": ["query"],
                "additionalProperties": false
            }),
            effect: Effect::Read,
        };
        Self { library, spec }
    }
}

impl Tool for SearchKnowledgeBase {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>> {
        let library = self.library.clone();
        let query = call.arguments["query"].as_str().unwrap_or_default().to_owned();
        Box::pin(async move {
            let asked = query.clone();
            let found = tokio::task::spawn_blocking(move || library.search(&asked, HITS)).await;
            let found = found.map_err(|_| EndRun::Broken("a search was cut off".to_owned()))?;
            Ok(match found {
                Ok(hits) => answer(&query, &hits),
                Err(error) => ToolAnswer::failed(format!("knowledge/ could not be searched: {error}.")),
            })
        })
    }
}

fn answer(query: &str, hits: &[Hit]) -> ToolAnswer {
    let places: Vec<_> = hits
        .iter()
        .map(|hit| json!({"source": hit.source, "heading": hit.heading, "lines": hit.lines, "score": hit.score}))
        .collect();
    let data = json!({"query": query, "hits": places});
    if hits.is_empty() {
        let text = "Nothing in knowledge/ matches. Try other words, or say that the documents do not tell.";
        return ToolAnswer::done("nothing found", text).with_data(data).with_code(query);
    }
    let mut text = String::new();
    for (number, hit) in hits.iter().enumerate() {
        let lines = hit.lines.map(|(first, last)| format!(":{first}-{last}")).unwrap_or_default();
        let heading = hit.heading.as_ref().map(|heading| format!(" ({heading})")).unwrap_or_default();
        text.push_str(&format!("[{}] {}{lines}{heading}\n{}\n\n", number + 1, hit.source, hit.text.trim()));
    }
    ToolAnswer::done(format!("{} passages found", hits.len()), text.trim_end()).with_data(data).with_code(query)
}
