//! The reply: events converted to one JSON object or to the chunks of an event stream. The shapes are those of the
//! OpenAI chat completions API; `prompt_progress` is an extension of llama.cpp, `queue_position` and `usage.steps`
//! are extensions of this crate.

use crate::error::ApiError;
use crate::queue::{Event, Finish, StepUsage};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

static COUNTER: AtomicU64 = AtomicU64::new(0);

/// The fields that all chunks of one reply share.
#[derive(Debug, Clone)]
pub struct Head {
    id: String,
    created: u64,
    model: String,
}

/// The extra chunks that the client asked for.
#[derive(Debug, Clone, Copy)]
pub struct Extras {
    pub usage: bool,
    pub progress: bool,
}

impl Head {
    /// Creates the head of a new reply of `model`.
    pub fn new(model: &str) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        Self { id: format!("{:x}-{count}", now.as_micros()), created: now.as_secs(), model: model.to_owned() }
    }

    fn chunk(&self, delta: Value, finish: Option<Finish>) -> Value {
        let mut chunk = self.bare();
        chunk["choices"] = json!([{"index": 0, "delta": delta, "finish_reason": finish.map(finish_reason)}]);
        chunk
    }

    fn bare(&self) -> Value {
        json!({
            "id": format!("chatcmpl-{}", self.id),
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": [],
        })
    }

    fn call(&self, name: &str, arguments: &str) -> Value {
        json!({"id": format!("call_{}", self.id), "type": "function",
            "function": {"name": name, "arguments": arguments}})
    }

    /// Returns the first chunk of a stream.
    pub fn opening(&self) -> Value {
        self.chunk(json!({"role": "assistant", "content": ""}), None)
    }

    /// Returns the chunks of one event; empty for events that the client did not ask for.
    pub fn chunks(&self, event: Event, extras: Extras) -> Vec<Value> {
        match event {
            Event::Waiting(position) if extras.progress => {
                let mut chunk = self.chunk(json!({}), None);
                chunk["queue_position"] = json!(position);
                vec![chunk]
            }
            Event::PromptProgress { step, total, cached, done, ms } if extras.progress => {
                let mut chunk = self.chunk(json!({}), None);
                chunk["prompt_progress"] =
                    json!({"step": step, "total": total, "cache": cached, "processed": done, "time_ms": ms});
                vec![chunk]
            }
            Event::Waiting(_) | Event::PromptProgress { .. } => Vec::new(),
            Event::Text(text) => vec![self.chunk(json!({"content": text}), None)],
            Event::Call { name, arguments } => {
                let mut call = self.call(&name, &arguments);
                call["index"] = json!(0);
                vec![self.chunk(json!({"tool_calls": [call]}), None)]
            }
            Event::Done { finish, steps } => {
                let mut chunks = vec![self.chunk(json!({}), Some(finish))];
                if extras.usage {
                    let mut last = self.bare();
                    last["usage"] = usage(&steps);
                    chunks.push(last);
                }
                chunks
            }
            Event::Failed(error) => vec![error.body()],
        }
    }
}

/// Collects events into the single object of a reply that is not streamed.
#[derive(Debug, Default)]
pub struct CompletionBuilder {
    text: String,
    calls: Vec<Value>,
    ended: Option<(Finish, Vec<StepUsage>)>,
}

impl CompletionBuilder {
    /// Adds an event.
    ///
    /// # Errors
    /// Returns the failure if the event is one.
    pub fn add(&mut self, event: Event, head: &Head) -> Result<(), ApiError> {
        match event {
            Event::Waiting(_) | Event::PromptProgress { .. } => {}
            Event::Text(text) => self.text.push_str(&text),
            Event::Call { name, arguments } => self.calls.push(head.call(&name, &arguments)),
            Event::Done { finish, steps } => self.ended = Some((finish, steps)),
            Event::Failed(error) => return Err(error),
        }
        Ok(())
    }

    /// Returns the body of the reply.
    ///
    /// # Errors
    /// Returns [`ApiError::Internal`] if the engine ended before the answer was complete.
    pub fn build(self, head: &Head) -> Result<Value, ApiError> {
        let (finish, steps) = self.ended.ok_or_else(|| ApiError::Internal("the answer was cut off".into()))?;
        let mut message = json!({"role": "assistant", "content": self.text});
        if !self.calls.is_empty() {
            message["content"] = Value::Null;
            message["tool_calls"] = Value::Array(self.calls);
        }
        Ok(json!({
            "id": format!("chatcmpl-{}", head.id),
            "object": "chat.completion",
            "created": head.created,
            "model": head.model,
            "choices": [{"index": 0, "message": message, "finish_reason": finish_reason(finish)}],
            "usage": usage(&steps),
        }))
    }
}

fn finish_reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::ToolCalls => "tool_calls",
        Finish::Length => "length",
    }
}

/// Returns the usage. The top-level counts are those of the last step, which is what the context held; `steps`
/// lists all steps.
fn usage(steps: &[StepUsage]) -> Value {
    let one = |s: &StepUsage| {
        let mut step = json!({"step": s.step, "prompt_tokens": s.prompt, "cached_tokens": s.cached,
            "completion_tokens": s.completion});
        if let Some(choice) = &s.choice {
            step["chosen"] = json!(choice.name);
            step["none_probability"] = json!((f64::from(choice.none_probability) * 100.0).round() / 100.0);
        }
        step
    };
    let last = steps.last();
    let (prompt, cached) = last.map_or((0, 0), |s| (s.prompt, s.cached));
    let completion = last.map_or(0, |s| s.completion);
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
        "steps": steps.iter().map(one).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Extras = Extras { usage: true, progress: true };
    const NONE: Extras = Extras { usage: false, progress: false };

    fn steps() -> Vec<StepUsage> {
        let choice = crate::queue::Choice { name: "none".into(), none_probability: 0.975 };
        vec![
            StepUsage { step: "router", prompt: 500, cached: 480, completion: 1, choice: Some(choice) },
            StepUsage { step: "answer", prompt: 900, cached: 880, completion: 12, choice: None },
        ]
    }

    #[test]
    fn tool_call_is_one_chunk() {
        let head = Head::new("m");
        let chunks = head.chunks(Event::Call { name: "a".into(), arguments: "{}".into() }, NONE);
        let call = &chunks[0]["choices"][0]["delta"]["tool_calls"][0];
        assert_eq!(call["index"], 0);
        assert_eq!(call["type"], "function");
        assert_eq!(call["function"], json!({"name": "a", "arguments": "{}"}));
    }

    #[test]
    fn progress_is_sent_only_on_request() {
        let head = Head::new("m");
        let progress = Event::PromptProgress { step: "answer", total: 9, cached: 2, done: 5, ms: 7 };
        assert!(head.chunks(progress.clone(), NONE).is_empty());
        assert_eq!(
            head.chunks(progress, ALL)[0]["prompt_progress"],
            json!({"step": "answer", "total": 9, "cache": 2, "processed": 5, "time_ms": 7})
        );
        assert_eq!(head.chunks(Event::Waiting(3), ALL)[0]["queue_position"], 3);
    }

    #[test]
    fn last_chunks_are_finish_reason_and_usage() {
        let head = Head::new("m");
        let chunks = head.chunks(Event::Done { finish: Finish::Length, steps: steps() }, ALL);
        assert_eq!(chunks[0]["choices"][0]["finish_reason"], "length");
        assert_eq!(chunks[1]["choices"], json!([]));
        assert_eq!(chunks[1]["usage"]["total_tokens"], 912);
        assert_eq!(chunks[1]["usage"]["prompt_tokens_details"]["cached_tokens"], 880);
        assert_eq!(chunks[1]["usage"]["steps"][0]["chosen"], "none");
    }

    #[test]
    fn complete_reply_with_tool_call_has_no_text() {
        let head = Head::new("m");
        let mut builder = CompletionBuilder::default();
        builder.add(Event::Call { name: "a".into(), arguments: "{}".into() }, &head).unwrap();
        builder.add(Event::Done { finish: Finish::ToolCalls, steps: steps() }, &head).unwrap();
        let body = builder.build(&head).unwrap();
        assert_eq!(body["choices"][0]["message"]["content"], Value::Null);
        assert_eq!(body["choices"][0]["finish_reason"], "tool_calls");
    }

    #[test]
    fn answer_without_end_is_an_error() {
        assert!(CompletionBuilder::default().build(&Head::new("m")).is_err());
    }
}
