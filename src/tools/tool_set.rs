//! The tools of one exchange, and the check that every call passes before it is prepared.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use super::deferred::{FIND_TOOLS, InnerCall, ToolWords, USE_TOOL, entry_tools};
use super::schema::{ArgumentSchema, BadSchema, SchemaOrigin};
use super::{PreparedCall, Tool, ToolContext};
use crate::domain::{SessionId, ToolAnswer, ToolSpec};

/// The tools that the model is offered in one exchange. Cheap to clone.
#[derive(Clone, Default)]
pub struct ToolSet {
    tools: Arc<[RegisteredTool]>,
    specs: Arc<[ToolSpec]>,
    /// Tools that can be called and are not offered.
    deferred: Arc<[RegisteredTool]>,
}

/// A tool with its schema, prepared for checks.
#[derive(Clone)]
pub(super) struct RegisteredTool {
    pub tool: Arc<dyn Tool>,
    schema: Arc<ArgumentSchema>,
    /// The words of its definition, once a search has needed them.
    pub words: Arc<OnceLock<ToolWords>>,
}

impl RegisteredTool {
    /// # Errors
    /// Returns an error if the schema of the tool cannot be used.
    fn new(tool: Arc<dyn Tool>) -> Result<Self, BadTool> {
        let spec = tool.spec();
        match ArgumentSchema::new(&spec.parameters, tool.schema_origin()) {
            Ok(schema) => Ok(Self { tool, schema: Arc::new(schema), words: Arc::default() }),
            Err(why) => Err(BadTool { name: spec.name.clone(), why }),
        }
    }

    pub fn name(&self) -> &str {
        &self.tool.spec().name
    }
}

/// A tool that cannot be offered.
#[derive(Debug, thiserror::Error)]
#[error("the tool {name} cannot be offered: {why}")]
pub struct BadTool {
    pub name: String,
    pub why: BadSchema,
}

/// A checked and prepared call, which may run if the policy or a person allows it.
pub struct Checked {
    /// The arguments as the model wrote them, for the policy and the hash of an approval.
    pub arguments: Value,
    pub call: Box<dyn PreparedCall>,
}

/// Why a call does not run.
#[derive(Debug)]
pub enum Rejection {
    /// The call does not match its tool, explained for the model. Arguments are never repaired: nothing runs that the model
    /// did not request.
    Unfit(String),
    /// The call is valid but cannot be made in the current state.
    Impossible(Box<ToolAnswer>),
}

impl Rejection {
    /// Returns the answer that the model reads instead of a result.
    pub fn answer(self) -> ToolAnswer {
        match self {
            Rejection::Unfit(words) => ToolAnswer::failed(words),
            Rejection::Impossible(answer) => *answer,
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rejection::Unfit(words) => f.write_str(words),
            Rejection::Impossible(answer) => f.write_str(&answer.text),
        }
    }
}

impl ToolSet {
    /// Prepares the schemas of tools, which takes longer than the check of a call: sets are kept, not made for each
    /// exchange.
    ///
    /// # Errors
    /// Returns an error if the schema of a tool cannot be used.
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Result<Self, BadTool> {
        tools.into_iter().map(RegisteredTool::new).collect::<Result<Vec<_>, _>>().map(Self::of)
    }

    fn of(tools: Vec<RegisteredTool>) -> Self {
        let specs = tools.iter().map(|tool| tool.tool.spec().clone()).collect();
        Self { tools: tools.into(), specs, deferred: Arc::default() }
    }

    /// Returns this set and those of `more` whose names are not in it: a tool never takes the name of an earlier one.
    pub fn with(self, more: Self) -> Self {
        if self.tools.is_empty() || more.tools.is_empty() {
            return if self.tools.is_empty() { more } else { self };
        }
        let is_new = |tool: &&RegisteredTool| self.find(tool.name()).is_none();
        let tools = self.tools.iter().chain(more.tools.iter().filter(is_new)).cloned().collect();
        Self { deferred: self.deferred.clone(), ..Self::of(tools) }
    }

    /// Returns this set with tools that are not offered: the model finds them with `find_tools` and calls them with
    /// `use_tool`, which are offered if there is at least one. A tool that has the name of an offered one is left out.
    pub fn defer(self, deferred: Self) -> Self {
        let is_new =
            |tool: &&RegisteredTool| self.find(tool.name()).is_none() && ![FIND_TOOLS, USE_TOOL].contains(&tool.name());
        let deferred: Arc<[RegisteredTool]> = deferred.tools.iter().filter(is_new).cloned().collect();
        if deferred.is_empty() {
            return self;
        }
        let entries = entry_tools(&deferred).map(RegisteredTool::new).into_iter().flatten();
        Self { deferred, ..Self::of(self.tools.iter().cloned().chain(entries).collect()) }
    }

    /// Returns this set without the tools that `keep` does not name.
    pub fn only(self, keep: impl Fn(&str) -> bool) -> Self {
        match self.tools.iter().all(|tool| keep(tool.name())) {
            true => self,
            false => Self::of(self.tools.iter().filter(|tool| keep(tool.name())).cloned().collect()),
        }
    }

    /// Returns this set without the tools whose names nobody has trusted.
    pub fn without_foreign(self) -> Self {
        let is_trusted = |tool: &&RegisteredTool| tool.tool.schema_origin() != SchemaOrigin::Foreign;
        Self::of(self.tools.iter().filter(is_trusted).cloned().collect())
    }

    /// Returns the tools of several sets. A tool that has the name of an earlier one is left out.
    pub fn all(sets: impl Iterator<Item = Self>) -> Self {
        let (mut tools, mut names) = (Vec::<RegisteredTool>::new(), BTreeSet::new());
        for tool in sets.flat_map(|set| set.tools.to_vec()) {
            if names.insert(tool.name().to_owned()) {
                tools.push(tool);
            }
        }
        Self::of(tools)
    }

    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    fn find(&self, name: &str) -> Option<&RegisteredTool> {
        self.tools.iter().chain(self.deferred.iter()).find(|tool| tool.name() == name)
    }

    /// Returns whether the calls of a tool are handed to the program whose tool it is.
    pub fn is_of_client(&self, name: &str) -> bool {
        self.find(name).is_some_and(|tool| matches!(*tool.schema, ArgumentSchema::Client))
    }

    /// Returns the name and the arguments of the call that a call of `use_tool` stands for, which takes its place; `None`
    /// for any other call, and for one that stands for no call of a tool in this set.
    pub fn inner_call(&self, name: &str, raw_arguments: &str) -> Option<(String, String)> {
        if name != USE_TOOL || self.deferred.is_empty() {
            return None;
        }
        let arguments: Value = serde_json::from_str(raw_arguments).ok()?;
        self.find(USE_TOOL)?.schema.check(&arguments).ok()?;
        let InnerCall { name, arguments } = serde_json::from_value(arguments).ok()?;
        let is_other = name != USE_TOOL && self.find(&name).is_some();
        is_other.then(|| (name, arguments.to_string()))
    }

    pub fn specs(&self) -> Arc<[ToolSpec]> {
        self.specs.clone()
    }

    /// Finds the tool, checks `raw_arguments` (the JSON text as the model wrote it), and prepares the call. An empty text
    /// means no arguments.
    ///
    /// # Errors
    /// Returns an error if there is no such tool, the arguments do not match its schema, or the call cannot be made.
    pub async fn prepare(
        &self,
        name: &str,
        raw_arguments: &str,
        context: ToolContext<'_>,
    ) -> Result<Checked, Rejection> {
        let (tool, arguments) = self.check(name, raw_arguments).map_err(Rejection::Unfit)?;
        let call = tool.prepare(arguments.clone(), context).await.map_err(Rejection::Impossible)?;
        Ok(Checked { arguments, call })
    }

    fn check(&self, name: &str, raw_arguments: &str) -> Result<(&Arc<dyn Tool>, Value), String> {
        let Some(RegisteredTool { tool, schema, .. }) = self.find(name) else {
            return Err(self.unknown(name));
        };
        let arguments = if raw_arguments.trim().is_empty() {
            Value::Object(Map::new())
        } else {
            serde_json::from_str(raw_arguments).map_err(|error| {
                format!(
                    "the arguments of {name} are not valid JSON ({error}). Nothing was run. If the call was cut off, \
                     send a shorter one."
                )
            })?
        };
        schema.check(&arguments).map_err(|wrong| {
            let known = &tool.spec().parameters["properties"];
            format!("wrong arguments for {name}: {wrong}. Nothing was run. Its arguments are {known}")
        })?;
        if name == USE_TOOL {
            // A call of a tool that there is has taken its place.
            return Err(self.unknown(arguments["name"].as_str().unwrap_or_default()));
        }
        Ok((tool, arguments))
    }

    fn unknown(&self, name: &str) -> String {
        let names: Vec<&str> = self.specs.iter().map(|spec| spec.name.as_str()).collect();
        format!("there is no tool named \"{name}\"; the tools are {}. Nothing was run.", names.join(", "))
    }

    /// Notifies every tool that a session is closed.
    pub fn session_closed(&self, session: &SessionId) {
        for RegisteredTool { tool, .. } in self.tools.iter().chain(self.deferred.iter()) {
            tool.session_closed(session);
        }
    }

    /// Notifies every tool that the home is closed.
    pub fn home_closed(&self) {
        for RegisteredTool { tool, .. } in self.tools.iter().chain(self.deferred.iter()) {
            tool.home_closed();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{EndRun, Prepared, RunOptions};
    use super::*;
    use crate::domain::{Effect, Shown};
    use crate::tools::Case;
    use futures_util::future::{BoxFuture, FutureExt};
    use serde_json::json;

    struct Echo(ToolSpec);

    struct Text(String);

    impl Tool for Echo {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        fn prepare<'a>(&'a self, arguments: Value, _: ToolContext<'a>) -> BoxFuture<'a, Prepared> {
            let text = arguments["x"].as_str().unwrap_or_default().to_owned();
            Box::pin(std::future::ready(match text.as_str() {
                "never" => Err(Box::new(ToolAnswer::failed("not now"))),
                _ => Ok(Box::new(Text(text)) as Box<dyn PreparedCall>),
            }))
        }
    }

    impl PreparedCall for Text {
        fn effect(&self) -> Effect {
            Effect::Network
        }

        fn shown(&self) -> Shown {
            Shown { command: self.0.clone(), ..Shown::default() }
        }

        fn run<'a>(&'a self, _: RunOptions<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>> {
            Box::pin(async move { Ok(ToolAnswer::done("said", &self.0)) })
        }
    }

    fn tools() -> ToolSet {
        let parameters = json!({"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]});
        let spec = |name: &str| ToolSpec {
            name: name.into(),
            description: "".into(),
            parameters: parameters.clone(),
            effect: Effect::Read,
        };
        ToolSet::new(vec![Arc::new(Echo(spec("one"))), Arc::new(Echo(spec("two")))]).unwrap()
    }

    fn prepare(name: &str, arguments: &str) -> Result<Checked, Rejection> {
        let session = SessionId::parse("s").unwrap();
        let conversation = crate::domain::Session::new("", 0.0);
        let context = ToolContext::new(&session, "c", &conversation);
        tools().prepare(name, arguments, context).now_or_never().unwrap()
    }

    fn rejection(name: &str, arguments: &str) -> String {
        prepare(name, arguments).err().map(|rejection| rejection.to_string()).unwrap_or_default()
    }

    #[test]
    fn call_is_checked_and_never_repaired() {
        assert_eq!(rejection("one", r#"{"x":"y"}"#), "");
        assert!(rejection("three", "{}").contains("the tools are one, two"));
        assert!(rejection("one", r#"{"x":"y""#).contains("not valid JSON"));
        assert!(rejection("one", r#"{"x":1}"#).contains("\"x\" must be a string, not a number"));
        assert!(rejection("one", "").contains("\"x\" is missing"));
        let checked = prepare("two", r#"{"x":"y"}"#).unwrap();
        assert_eq!((checked.call.shown().command.as_str(), checked.arguments), ("y", json!({"x": "y"})));
        assert!(
            matches!(prepare("one", r#"{"x":"never"}"#), Err(Rejection::Impossible(answer)) if answer.text == "not now")
        );
    }

    #[test]
    fn effect_is_that_of_the_call() {
        let checked = prepare("one", r#"{"x":"y"}"#).unwrap();
        let shown = checked.call.shown();
        assert_eq!(tools().specs()[0].effect, Effect::Read);
        assert_eq!(Case::of("one", &checked, &shown).effect, Effect::Network, "the policy hears it from the call");
    }

    #[test]
    fn own_tool_with_unchecked_keyword_is_refused() {
        let spec = ToolSpec {
            name: "odd".into(),
            description: "".into(),
            parameters: json!({"type": "object", "minProperties": 1}),
            effect: Effect::Read,
        };
        let refused = ToolSet::new(vec![Arc::new(Echo(spec))]).err().unwrap().to_string();
        assert!(refused.contains("the tool odd") && refused.contains("minProperties"), "{refused}");
    }

    #[test]
    fn specs_keep_order() {
        let names: Vec<String> = tools().specs().iter().map(|spec| spec.name.clone()).collect();
        assert_eq!(names, ["one", "two"]);
    }
}
