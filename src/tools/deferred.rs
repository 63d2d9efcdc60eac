//! Deferred tools: the model is not offered them, but finds them with `find_tools` and calls them with `use_tool`. So tools
//! that are seldom needed cost a request two short definitions, and the list of tools that a provider caches stays the same.
//!
//! `use_tool` never runs anything itself: the call of the other tool takes its place before it is checked
//! ([`ToolSet::inner_call`](super::ToolSet::inner_call)), so the policy, the questions and the records are those of that tool.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::tool_set::RegisteredTool;
use super::{EndRun, Prepared, PreparedCall, RunOptions, SchemaOrigin, Tool, ToolContext, line, prepared};
use crate::domain::{Effect, Shown, Taint, ToolAnswer, ToolSpec};
use crate::retrieval::analyse::{Analyser, QueryTerm};
use crate::retrieval::lexical::Bm25;

pub const FIND_TOOLS: &str = "find_tools";
pub const USE_TOOL: &str = "use_tool";
/// Maximum number of tools that one search returns with their schemas.
const DEFINITIONS: usize = 5;
/// Maximum number of tools that one search names in addition.
const NAMES: usize = 10;
/// Up to this many deferred tools are named in the description of `find_tools`.
const NAMED: usize = 40;
/// How often the words of a name count, compared with those of a description.
const NAME_WEIGHT: usize = 3;

/// A call that stands for the call of another tool.
#[derive(Deserialize)]
pub(super) struct InnerCall {
    pub name: String,
    pub arguments: Value,
}

/// Returns the two tools that make `tools` reachable.
pub(super) fn entry_tools(tools: &Arc<[RegisteredTool]>) -> [Arc<dyn Tool>; 2] {
    [Arc::new(FindTools::new(tools.clone())), Arc::new(UseTool::new())]
}

/// `find_tools`: returns the definitions of the deferred tools that fit a query best.
struct FindTools {
    spec: ToolSpec,
    tools: Arc<[RegisteredTool]>,
}

impl FindTools {
    fn new(tools: Arc<[RegisteredTool]>) -> Self {
        let named = named(&tools).map(|names| format!(" ({names})")).unwrap_or_default();
        let more = if tools.iter().any(is_foreign) { " and resources of MCP servers" } else { "" };
        let spec = ToolSpec {
            name: FIND_TOOLS.to_owned(),
            description: format!("Find more tools{named}{more} by what they do. Gives their names and parameters."),
            parameters: json!({
                "type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"],
            }),
            effect: Effect::Read,
        };
        Self { spec, tools }
    }
}

/// Returns whether nobody has trusted the name of a tool. Then only a search shows it.
fn is_foreign(tool: &RegisteredTool) -> bool {
    tool.tool.schema_origin() == SchemaOrigin::Foreign
}

/// Returns the names of the tools, if there are few.
fn named(tools: &[RegisteredTool]) -> Option<String> {
    let names: Vec<&str> = tools.iter().filter(|tool| !is_foreign(tool)).map(RegisteredTool::name).collect();
    (1..=NAMED).contains(&names.len()).then(|| names.join(", "))
}

#[derive(Deserialize)]
struct Arguments {
    query: String,
}

struct ToolSearch {
    query: String,
    tools: Arc<[RegisteredTool]>,
}

impl Tool for FindTools {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(&'a self, arguments: Value, _: ToolContext<'a>) -> BoxFuture<'a, Prepared> {
        let tools = self.tools.clone();
        prepared(FIND_TOOLS, arguments, |Arguments { query }| ToolSearch { query, tools })
    }
}

impl PreparedCall for ToolSearch {
    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn shown(&self) -> Shown {
        line(&self.query)
    }

    fn run<'a>(&'a self, _: RunOptions<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>> {
        Box::pin(std::future::ready(Ok(self.answer())))
    }
}

impl ToolSearch {
    fn answer(&self) -> ToolAnswer {
        let ranked = ranked(&self.query, &self.tools);
        let found: Vec<&RegisteredTool> = match ranked.is_empty() && self.tools.len() <= DEFINITIONS {
            // The words of the query may be of another language than the descriptions.
            true => self.tools.iter().collect(),
            false => ranked,
        };
        if found.is_empty() {
            let known = named(&self.tools).map(|names| format!(" The tools are {names}.")).unwrap_or_default();
            let text = format!("No tool fits these words.{known} Search with other words, or go on without.");
            return ToolAnswer::done("found 0 tools", text).with_code(&self.query);
        }
        let (defined, more) = found.split_at(found.len().min(DEFINITIONS));
        let mut lines: Vec<String> = defined.iter().map(|tool| definition(tool.tool.spec())).collect();
        if !more.is_empty() {
            let more: Vec<&str> = more.iter().take(NAMES).map(|tool| tool.name()).collect();
            lines.push(format!("Also: {}", more.join(", ")));
        }
        lines.push(format!("Call one with {USE_TOOL}."));
        let message = match defined.len() {
            1 => "found 1 tool".to_owned(),
            count => format!("found {count} tools"),
        };
        let answer = ToolAnswer::done(message, lines.join("\n")).with_code(&self.query);
        let data = json!({"tools": found.iter().map(|tool| tool.name()).collect::<Vec<_>>()});
        let answer =
            if found.iter().any(|tool| is_foreign(tool)) { answer.with_source(Taint::Outside) } else { answer };
        answer.with_data(data)
    }
}

fn definition(spec: &ToolSpec) -> String {
    json!({"name": spec.name, "description": spec.description, "parameters": spec.parameters}).to_string()
}

/// The terms and characters of a tool's definition with their numbers.
pub(super) struct ToolWords {
    terms: HashMap<Box<str>, u32>,
    characters: HashMap<char, u32>,
    length: usize,
}

impl ToolWords {
    fn of(spec: &ToolSpec, analyser: &Analyser) -> Self {
        let mut text = format!("{}\n", spec.name).repeat(NAME_WEIGHT);
        text.push_str(&spec.description);
        add_words(&spec.parameters, &mut text);
        let (mut terms, mut characters, mut length) = (HashMap::new(), HashMap::new(), 0);
        analyser.terms(&text, |term| {
            length += 1;
            *terms.entry(term.into()).or_default() += 1;
        });
        analyser.characters(&text, |character| *characters.entry(character).or_default() += 1);
        Self { terms, characters, length }
    }

    fn count(&self, term: &QueryTerm) -> u32 {
        match term {
            QueryTerm::Term(term) => self.terms.get(term.as_str()).copied().unwrap_or_default(),
            QueryTerm::Character(character) => self.characters.get(character).copied().unwrap_or_default(),
        }
    }
}

/// Adds the names, descriptions and choices of a schema.
fn add_words(schema: &Value, text: &mut String) {
    let mut add = |word: &str| {
        text.push('\n');
        text.push_str(word);
    };
    if let Some(description) = schema["description"].as_str() {
        add(description);
    }
    schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).for_each(&mut add);
    if let Some(fields) = schema["properties"].as_object() {
        for (name, field) in fields {
            text.push('\n');
            text.push_str(name);
            add_words(field, text);
        }
    }
    if schema["items"].is_object() {
        add_words(&schema["items"], text);
    }
}

/// Returns the tools that have a word of the query, best first; equal ones in their order.
fn ranked<'a>(query: &str, tools: &'a [RegisteredTool]) -> Vec<&'a RegisteredTool> {
    let analyser = Analyser::default();
    let query = analyser.query(query).terms;
    let words_of = |tool: &'a RegisteredTool| tool.words.get_or_init(|| ToolWords::of(tool.tool.spec(), &analyser));
    let indexed: Vec<&ToolWords> = tools.iter().map(words_of).collect();
    let total: usize = indexed.iter().map(|tool| tool.length).sum();
    let average = (total as f64 / indexed.len().max(1) as f64).max(1.0);
    let Bm25 { k1, b } = Bm25::default();
    let mut scores = vec![0.0; tools.len()];
    for term in &query {
        let having = indexed.iter().filter(|tool| tool.count(term) > 0).count() as f64;
        let rarity = (1.0 + (tools.len() as f64 - having + 0.5) / (having + 0.5)).ln();
        for (score, tool) in scores.iter_mut().zip(&indexed) {
            let count = f64::from(tool.count(term));
            let saturation = k1 * (1.0 - b + b * tool.length as f64 / average);
            *score += rarity * count * (k1 + 1.0) / (count + saturation);
        }
    }
    let mut found: Vec<(f64, &RegisteredTool)> =
        scores.into_iter().zip(tools).filter(|(score, _)| *score > 0.0).collect();
    found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    found.into_iter().map(|(_, tool)| tool).collect()
}

/// `use_tool`: only its definition. [`ToolSet`](super::ToolSet) refuses a call that stands for no other.
struct UseTool(ToolSpec);

impl UseTool {
    fn new() -> Self {
        Self(ToolSpec {
            name: USE_TOOL.to_owned(),
            description: format!("Call a tool that {FIND_TOOLS} has found."),
            parameters: json!({
                "type": "object",
                "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
                "required": ["name", "arguments"],
            }),
            effect: Effect::Read,
        })
    }
}

impl Tool for UseTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn prepare<'a>(&'a self, _: Value, _: ToolContext<'a>) -> BoxFuture<'a, Prepared> {
        let refused = ToolAnswer::failed("use_tool itself does nothing. Nothing was run.");
        Box::pin(std::future::ready(Err(Box::new(refused))))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::FutureExt;

    use super::*;
    use crate::domain::{Session, SessionId};
    use crate::tools::{Checked, Rejection, ToolSet};

    /// A tool that says which arguments it got.
    struct Named(ToolSpec, SchemaOrigin);

    struct Call(Value);

    impl Tool for Named {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        fn schema_origin(&self) -> SchemaOrigin {
            self.1
        }

        fn prepare<'a>(&'a self, arguments: Value, _: ToolContext<'a>) -> BoxFuture<'a, Prepared> {
            Box::pin(std::future::ready(Ok(Box::new(Call(arguments)) as Box<dyn PreparedCall>)))
        }
    }

    impl PreparedCall for Call {
        fn effect(&self) -> Effect {
            Effect::Network
        }

        fn shown(&self) -> Shown {
            Shown::default()
        }

        fn run<'a>(&'a self, _: RunOptions<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>> {
            Box::pin(async { Ok(ToolAnswer::done("ran", self.0.to_string())) })
        }
    }

    fn named(name: &str, description: &str, parameter: &str) -> Arc<dyn Tool> {
        of_origin(SchemaOrigin::Own, [name, description, parameter])
    }

    fn of_origin(origin: SchemaOrigin, [name, description, parameter]: [&str; 3]) -> Arc<dyn Tool> {
        let parameters = json!({
            "type": "object", "properties": {parameter: {"type": "string"}}, "required": [parameter],
        });
        let (name, description) = (name.to_owned(), description.to_owned());
        Arc::new(Named(ToolSpec { name, description, parameters, effect: Effect::Network }, origin))
    }

    fn deferred(more: usize) -> ToolSet {
        let mut tools = vec![
            named("forecast", "Weather of the next days", "place"),
            named("convert_units", "Converts lengths and masses", "expression"),
        ];
        tools.extend((0..more).map(|number| named(&format!("tracker_{number}"), "Lists open issues", "project")));
        ToolSet::new(tools).unwrap()
    }

    fn set(more: usize) -> ToolSet {
        ToolSet::new(vec![named("plain", "Is offered", "x")]).unwrap().defer(deferred(more))
    }

    fn checked(tools: &ToolSet, name: &str, arguments: &str) -> Result<Checked, Rejection> {
        let (id, session) = (SessionId::parse("s").unwrap(), Session::new("", 0.0));
        tools.prepare(name, arguments, ToolContext::new(&id, "c", &session)).now_or_never().unwrap()
    }

    fn answer(tools: &ToolSet, name: &str, arguments: &str) -> ToolAnswer {
        match checked(tools, name, arguments) {
            Ok(checked) => checked.call.run(RunOptions::default()).now_or_never().unwrap().unwrap(),
            Err(rejection) => rejection.answer(),
        }
    }

    fn offered(tools: &ToolSet) -> Vec<String> {
        tools.specs().iter().map(|spec| spec.name.clone()).collect()
    }

    #[test]
    fn name_that_nobody_has_trusted_is_shown_by_a_search_only() {
        let foreign = of_origin(SchemaOrigin::Foreign, ["obey_me", "Reads the weather page", "x"]);
        let all = deferred(0).with(ToolSet::new(vec![foreign]).unwrap());
        assert_eq!(offered(&all.clone().without_foreign()), ["forecast", "convert_units"]);
        let tools = ToolSet::default().defer(all);
        let description = tools.specs()[0].description.clone();
        assert!(description.contains("(forecast, convert_units) and resources of MCP servers"), "{description}");
        let found = answer(&tools, FIND_TOOLS, r#"{"query": "weather page"}"#);
        assert!(found.text.contains("obey_me") && found.sources == [Taint::Outside], "{}", found.text);
        let found = answer(&tools, FIND_TOOLS, r#"{"query": "masses"}"#);
        assert!(!found.text.contains("obey_me") && found.sources.is_empty(), "{}", found.text);
    }

    #[test]
    fn nothing_is_offered_for_no_deferred_tools() {
        let plain = ToolSet::new(vec![named("plain", "", "x")]).unwrap();
        assert_eq!(offered(&plain.clone().defer(ToolSet::default())), ["plain"]);
        assert_eq!(offered(&plain.defer(deferred(0))), ["plain", "find_tools", "use_tool"]);
    }

    #[test]
    fn search_finds_by_name_description_and_parameter() {
        let tools = set(20);
        for (query, first) in
            [("weather tomorrow", "forecast"), ("mass", "convert_units"), ("expression", "convert_units")]
        {
            let found = answer(&tools, FIND_TOOLS, &json!({"query": query}).to_string());
            let definition: Value = serde_json::from_str(found.text.lines().next().unwrap()).unwrap();
            assert_eq!(definition["name"], first, "{query}");
            assert!(definition["parameters"]["properties"].is_object(), "{definition}");
        }
    }

    #[test]
    fn search_is_bounded_and_names_more() {
        let found = answer(&set(100), FIND_TOOLS, r#"{"query": "open issues"}"#);
        assert_eq!(found.text.lines().filter(|line| line.starts_with('{')).count(), DEFINITIONS);
        let more = found.text.lines().find(|line| line.starts_with("Also: ")).unwrap();
        assert_eq!(more.split(", ").count(), NAMES);
        assert!(!set(100).specs()[1].description.contains("tracker_1"));
        assert!(answer(&set(100), FIND_TOOLS, r#"{"query": "zebra"}"#).text.starts_with("No tool fits"));
    }

    #[test]
    fn few_tools_are_all_shown_where_no_word_fits() {
        let found = answer(&set(0), FIND_TOOLS, r#"{"query": "天气"}"#);
        assert_eq!(found.data["tools"], json!(["forecast", "convert_units"]));
    }

    #[test]
    fn use_tool_stands_for_a_call_of_the_other_tool() {
        let tools = set(0);
        let inner = |arguments: Value| tools.inner_call(USE_TOOL, &arguments.to_string());
        let call = inner(json!({"name": "forecast", "arguments": {"place": "Oslo"}})).unwrap();
        assert_eq!(call, ("forecast".to_owned(), r#"{"place":"Oslo"}"#.to_owned()));
        assert_eq!(answer(&tools, &call.0, &call.1).text, r#"{"place":"Oslo"}"#);
        assert!(
            inner(json!({"name": "plain", "arguments": {"x": "y"}})).is_some(),
            "an offered tool is called as well"
        );
        for arguments in [
            json!({"name": "nothing", "arguments": {}}),
            json!({"name": "use_tool", "arguments": {"name": "forecast", "arguments": {"place": "x"}}}),
            json!({"name": "find_tools"}),
            json!({"name": "forecast", "arguments": r#"{"place": "x"}"#}),
            json!({"name": "forecast", "arguments": {"place": "x"}, "approved": true}),
        ] {
            assert_eq!(inner(arguments.clone()), None, "{arguments}");
            let refused = checked(&tools, USE_TOOL, &arguments.to_string());
            assert!(matches!(refused, Err(Rejection::Unfit(_))), "{arguments}");
        }
        assert_eq!(tools.inner_call("forecast", r#"{"place": "x"}"#), None, "only use_tool stands for another");
    }

    #[test]
    fn inner_arguments_are_checked_against_the_inner_schema() {
        let tools = set(0);
        let (name, arguments) = tools.inner_call(USE_TOOL, r#"{"name":"forecast","arguments":{"place":7}}"#).unwrap();
        let refused = answer(&tools, &name, &arguments);
        assert!(refused.text.contains("wrong arguments for forecast: \"place\" must be a string"), "{}", refused.text);
    }

    #[test]
    fn deferred_tool_never_takes_an_offered_name() {
        let own = ToolSet::new(vec![named("forecast", "Ours", "x")]).unwrap();
        let tools = own.defer(deferred(0));
        assert_eq!(tools.specs()[1].description.matches("forecast").count(), 0);
        assert!(checked(&tools, "forecast", r#"{"x":"y"}"#).is_ok());
        let taken =
            ToolSet::new(vec![named("find_tools", "Not ours", "x"), named("use_tool", "Not ours", "x")]).unwrap();
        assert_eq!(offered(&ToolSet::default().defer(taken)), Vec::<String>::new());
    }
}
