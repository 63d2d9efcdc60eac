//! The spans of one session's works, made of its events.

use std::collections::HashMap;
use std::sync::Arc;

use opentelemetry::trace::{Span, SpanBuilder, SpanKind, Status, TraceContextExt, Tracer};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::Span as SdkSpan;

use super::Traces;
use crate::domain::{CallStatus, Event, Outcome, SessionId, Usage};
use crate::engine::catalogue::ModelCatalogue;

/// The name of a model that a person has connected, who chose its name.
const OTHER: &str = "other";

/// Traces the works of one session. It is told each event once.
pub struct WorkTracer {
    traces: Arc<Traces>,
    catalogue: Arc<ModelCatalogue>,
    session: SessionId,
    work: Option<Traced>,
}

/// A work under way.
struct Traced {
    span: SdkSpan,
    /// The parent of the spans of requests and calls.
    context: Context,
    model: String,
    /// The request to the model whose answer is arriving.
    request: Option<SdkSpan>,
    calls: HashMap<String, SdkSpan>,
}

impl WorkTracer {
    pub fn new(traces: Arc<Traces>, catalogue: Arc<ModelCatalogue>, session: SessionId) -> Self {
        Self { traces, catalogue, session, work: None }
    }

    pub fn observe(&mut self, event: &Event) {
        match event {
            Event::WorkStarted { work_id, model, .. } => self.started(work_id.as_str(), model),
            Event::ModelChanged { model, .. } => {
                let model = self.known(model);
                if let Some(work) = &mut self.work {
                    work.model = model;
                }
            }
            Event::DialogueStarted { .. } => self.asked(),
            Event::DialogueFinished { usage, .. } => self.answered(usage),
            Event::ToolStarted { call_id, tool, .. } => self.called(call_id, tool),
            Event::ToolFinished { call_id, status, .. } => self.returned(call_id, *status),
            Event::WorkFinished { outcome, .. } => self.finished(outcome),
            _ => {}
        }
    }

    fn known(&self, model: &str) -> String {
        let is_known = self.catalogue.candidates().iter().any(|candidate| candidate.model == model);
        if is_known { model.to_owned() } else { OTHER.to_owned() }
    }

    fn started(&mut self, work: &str, model: &str) {
        let model = self.known(model);
        let about = [
            KeyValue::new("gen_ai.operation.name", "invoke_agent"),
            KeyValue::new("gen_ai.agent.name", "miniclaw"),
            KeyValue::new("gen_ai.conversation.id", self.session.to_string()),
            KeyValue::new("gen_ai.request.model", model.clone()),
            KeyValue::new("miniclaw.work.id", work.to_owned()),
        ];
        let builder = SpanBuilder::from_name("invoke_agent miniclaw").with_kind(SpanKind::Internal);
        let span = self.traces.tracer().build_with_context(builder.with_attributes(about), &Context::new());
        let context = Context::new().with_remote_span_context(span.span_context().clone());
        self.work = Some(Traced { span, context, model, request: None, calls: HashMap::new() });
    }

    fn asked(&mut self) {
        let Some(work) = &mut self.work else { return };
        let about = [
            KeyValue::new("gen_ai.operation.name", "chat"),
            KeyValue::new("gen_ai.conversation.id", self.session.to_string()),
            KeyValue::new("gen_ai.request.model", work.model.clone()),
        ];
        let builder = SpanBuilder::from_name(format!("chat {}", work.model)).with_kind(SpanKind::Client);
        work.request = Some(self.traces.tracer().build_with_context(builder.with_attributes(about), &work.context));
    }

    fn answered(&mut self, usage: &Usage) {
        let Some(work) = &mut self.work else { return };
        let Some(mut span) = work.request.take() else { return };
        // Another model may have answered in place of the one that was asked.
        span.set_attribute(KeyValue::new("gen_ai.response.model", work.model.clone()));
        let tokens = |name: &'static str, count: u64| KeyValue::new(name, i64::try_from(count).unwrap_or(i64::MAX));
        span.set_attribute(tokens("gen_ai.usage.input_tokens", usage.input_tokens));
        span.set_attribute(tokens("gen_ai.usage.output_tokens", usage.output_tokens));
        span.set_attribute(tokens("gen_ai.usage.cache_read.input_tokens", usage.cached_tokens));
        span.end();
    }

    fn called(&mut self, call: &str, tool: &str) {
        let Some(work) = &mut self.work else { return };
        let about = [
            KeyValue::new("gen_ai.operation.name", "execute_tool"),
            KeyValue::new("gen_ai.tool.name", tool.to_owned()),
            KeyValue::new("gen_ai.tool.call.id", call.to_owned()),
        ];
        let builder = SpanBuilder::from_name(format!("execute_tool {tool}")).with_kind(SpanKind::Internal);
        let span = self.traces.tracer().build_with_context(builder.with_attributes(about), &work.context);
        work.calls.insert(call.to_owned(), span);
    }

    fn returned(&mut self, call: &str, status: CallStatus) {
        let span = self.work.as_mut().and_then(|work| work.calls.remove(call));
        let Some(mut span) = span else { return };
        if status == CallStatus::Error {
            span.set_attribute(KeyValue::new("error.type", "tool_error"));
            span.set_status(Status::error(""));
        }
        span.end();
    }

    fn finished(&mut self, outcome: &Outcome) {
        let Some(mut work) = self.work.take() else { return };
        work.span.set_attribute(KeyValue::new("miniclaw.work.outcome", outcome.word()));
        if let Outcome::Error { code, .. } = outcome {
            work.span.set_attribute(KeyValue::new("error.type", code.to_string()));
            work.span.set_status(Status::error(""));
        }
        // What did not end by itself ends with its work, and before it.
        work.calls.into_values().chain(work.request).for_each(|mut span| span.end());
        work.span.end();
    }
}
