//! The tools of a program that speaks the OpenAI API. Their calls are not run here: they are handed to the program, which
//! checks the arguments itself and returns the results with its next request.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::{BadTool, EndRun, Prepared, PreparedCall, RunOptions, SchemaOrigin, Tool, ToolContext, ToolSet};
use crate::domain::{ClientRequest, Effect, Shown, ToolAnswer, ToolChoice, ToolSpec};

struct OfClient(ToolSpec);

struct HandedOff;

impl Tool for OfClient {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn schema_origin(&self) -> SchemaOrigin {
        SchemaOrigin::Client
    }

    fn prepare<'a>(&'a self, _: Value, _: ToolContext<'a>) -> BoxFuture<'a, Prepared> {
        Box::pin(std::future::ready(Ok(Box::new(HandedOff) as Box<dyn PreparedCall>)))
    }
}

impl PreparedCall for HandedOff {
    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn shown(&self) -> Shown {
        Shown::default()
    }

    fn is_handed_off(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, _: RunOptions<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>> {
        let broken = "a call of a client's tool was run here".to_owned();
        Box::pin(std::future::ready(Err(EndRun::Broken(broken))))
    }
}

impl ToolSet {
    /// Returns this set with the tools of a program. One whose name is taken is offered under another one
    /// (`ClientTool::offered`).
    ///
    /// # Errors
    /// Returns an error if a tool cannot be offered.
    pub fn with_client(self, client: &ClientRequest) -> Result<Self, BadTool> {
        if client.tools.is_empty() || client.form.tool_choice == ToolChoice::None {
            return Ok(self);
        }
        let ours = self.specs();
        let is_taken = |name: &str| ours.iter().any(|spec| spec.name == name);
        let tools = client.tools.iter().map(|tool| Arc::new(OfClient(tool.offered(is_taken))) as Arc<dyn Tool>);
        Ok(self.with(Self::new(tools.collect())?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AnswerForm, ClientTool, Session, SessionId};

    fn client(tool_choice: ToolChoice) -> ClientRequest {
        let tool = |name: &str| ClientTool {
            name: name.to_owned(),
            description: String::new(),
            // No validator can be made of it, and none is needed.
            parameters: serde_json::json!({"type": "object", "properties": {"x": {"$ref": "https://example.com/x"}}}),
        };
        let form = AnswerForm { tool_choice, ..AnswerForm::default() };
        ClientRequest { tools: vec![tool("look"), tool("see")], form, ..ClientRequest::default() }
    }

    #[tokio::test]
    async fn calls_are_handed_off_with_whatever_arguments() {
        let tools = ToolSet::default().with_client(&client(ToolChoice::Auto)).unwrap();
        assert!(tools.is_of_client("look") && !tools.is_of_client("other"));
        let (id, session) = (SessionId::parse("s").unwrap(), Session::new("", 0.0));
        let prepared = tools.prepare("look", r#"{"x": [1]}"#, ToolContext::new(&id, "c", &session)).await.unwrap();
        assert!(prepared.call.is_handed_off());
        assert!(prepared.call.run(RunOptions::default()).await.is_err(), "it is never run here");
        assert!(tools.prepare("look", "{", ToolContext::new(&id, "c", &session)).await.is_err());
    }

    #[test]
    fn program_that_wants_no_calls_offers_none() {
        let tools = ToolSet::default().with_client(&client(ToolChoice::None)).unwrap();
        assert!(tools.specs().is_empty());
    }
}
