//! The tools there are, and the check every call passes before one of them runs.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Tool, schema};
use crate::domain::{SessionId, ToolSpec};

/// Cheap to clone.
#[derive(Clone)]
pub struct Registry {
    tools: Arc<[Arc<dyn Tool>]>,
    specs: Arc<[ToolSpec]>,
}

/// A call that may run.
pub struct Checked {
    pub tool: Arc<dyn Tool>,
    pub arguments: Value,
}

/// Why a call does not run, in words for the model. Arguments are never repaired: what was not asked for is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection(pub String);

impl Registry {
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Self {
        let specs = tools.iter().map(|tool| tool.spec().clone()).collect();
        Self { tools: tools.into(), specs }
    }

    pub fn specs(&self) -> Arc<[ToolSpec]> {
        self.specs.clone()
    }

    /// Finds the tool and checks `raw_arguments`, the JSON text as the model wrote it. No text at all means no arguments.
    pub fn check(&self, name: &str, raw_arguments: &str) -> Result<Checked, Rejection> {
        let Some(tool) = self.tools.iter().find(|tool| tool.spec().name == name) else {
            let names: Vec<&str> = self.specs.iter().map(|spec| spec.name.as_str()).collect();
            return Err(Rejection(format!(
                "there is no tool named \"{name}\"; the tools are {}. Nothing was run.",
                names.join(", ")
            )));
        };
        let arguments = if raw_arguments.trim().is_empty() {
            Value::Object(Map::new())
        } else {
            serde_json::from_str(raw_arguments).map_err(|error| {
                Rejection(format!(
                    "the arguments of {name} are not valid JSON ({error}). Nothing was run. If the call was cut off, \
                     send a shorter one."
                ))
            })?
        };
        schema::check(&tool.spec().parameters, &arguments).map_err(|wrong| {
            let schema = &tool.spec().parameters["properties"];
            Rejection(format!("wrong arguments for {name}: {wrong}. Nothing was run. Its arguments are {schema}"))
        })?;
        Ok(Checked { tool: tool.clone(), arguments })
    }

    /// Tells every tool that a session is gone.
    pub fn session_closed(&self, session: &SessionId) {
        for tool in self.tools.iter() {
            tool.session_closed(session);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Call, EndRun};
    use super::*;
    use crate::domain::{Effect, Shown, Taint, ToolAnswer};
    use futures_util::future::BoxFuture;
    use serde_json::json;

    struct Echo(ToolSpec);

    impl Tool for Echo {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        fn shown<'a>(&'a self, _: &'a Value) -> BoxFuture<'a, Result<Shown, Box<ToolAnswer>>> {
            Box::pin(std::future::ready(Ok(Shown::default())))
        }

        fn brings(&self, _: &Value) -> Option<Taint> {
            None
        }

        fn run<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>> {
            Box::pin(async move { Ok(ToolAnswer::done("said", call.arguments.to_string())) })
        }
    }

    fn registry() -> Registry {
        let parameters = json!({"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]});
        let spec = |name: &str| ToolSpec {
            name: name.into(),
            description: "".into(),
            parameters: parameters.clone(),
            effect: Effect::Read,
        };
        Registry::new(vec![Arc::new(Echo(spec("one"))), Arc::new(Echo(spec("two")))])
    }

    fn rejection(name: &str, arguments: &str) -> String {
        registry().check(name, arguments).err().map(|rejection| rejection.0).unwrap_or_default()
    }

    #[test]
    fn a_call_is_checked_and_never_repaired() {
        assert_eq!(rejection("one", r#"{"x":"y"}"#), "");
        assert!(rejection("three", "{}").contains("the tools are one, two"));
        assert!(rejection("one", r#"{"x":"y""#).contains("not valid JSON"));
        assert!(rejection("one", r#"{"x":1}"#).contains("\"x\" must be a string, not a number"));
        assert!(rejection("one", "").contains("\"x\" is missing"));
        assert_eq!(registry().check("two", r#"{"x":"y"}"#).ok().map(|c| c.arguments), Some(json!({"x": "y"})));
    }

    #[test]
    fn specs_come_in_the_order_given() {
        let names: Vec<String> = registry().specs().iter().map(|spec| spec.name.clone()).collect();
        assert_eq!(names, ["one", "two"]);
    }
}
