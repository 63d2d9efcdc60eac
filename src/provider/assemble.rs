//! Turns the events of one response into the chunks of a turn, and decides how the response ended. Pure: the caller
//! handles bytes and timeouts.

use std::sync::Arc;

use serde_json::Value;

use super::calls::CallAssembler;
use super::classify::ErrorContext;
use super::error::ProviderError;
use super::profile::Profile;
use super::sse::Event;
use super::think::{Split, Splitter};
use super::wire::{Reader, StreamItem};
use super::{Finish, StreamChunk};
use crate::domain::{ReasoningItem, StatusKind, Usage};

/// Number of malformed events that are skipped; one more fails the stream.
const BAD_EVENTS: u32 = 3;

/// Whether to read more of the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadFlow {
    More,
    /// The provider marked the end of the stream.
    Done,
}

pub(super) struct Assembler {
    error_context: Arc<ErrorContext>,
    reader: Reader,
    splitter: Option<Splitter>,
    calls: CallAssembler,
    usage: Option<Usage>,
    finish: Option<String>,
    /// White space before the first word: sent together with it, and dropped if no word follows.
    blank: String,
    bad_events: u32,
    processed: u64,
    queue: Option<u64>,
    refused: bool,
    /// Bytes of text that were sent.
    text_bytes: usize,
    /// Whether output was sent that a person or an agent may act on; then the response must not be replaced by a retry.
    shown: bool,
    /// Whether the last event advanced the answer.
    progressed: bool,
    /// Chunks to send, in order.
    out: Vec<StreamChunk>,
}

impl Assembler {
    pub fn new(error_context: Arc<ErrorContext>, profile: &Profile) -> Self {
        Self {
            error_context,
            reader: Reader::of(profile.api),
            splitter: profile.think_tags.then(Splitter::default),
            calls: CallAssembler::default(),
            usage: None,
            finish: None,
            blank: String::new(),
            bad_events: 0,
            processed: 0,
            queue: None,
            refused: false,
            text_bytes: 0,
            shown: false,
            progressed: false,
            out: Vec::new(),
        }
    }

    /// Processes one event of the stream.
    pub fn event(&mut self, event: Event) -> Result<ReadFlow, ProviderError> {
        self.progressed = false;
        let (name, data) = match event {
            Event::Data { name, data } => (name, data),
            Event::TooLong => return self.bad("an event longer than 1 MiB"),
        };
        match data.trim() {
            "" => return Ok(ReadFlow::More),
            "[DONE]" => return Ok(ReadFlow::Done),
            _ => {}
        }
        match serde_json::from_str::<Value>(&data) {
            Ok(document) if name == "error" && document.get("error").is_none() => {
                Err(self.error_context.stream_error(&document))
            }
            Ok(document) => self.document(&document),
            Err(_) => self.bad("an event that is not JSON"),
        }
    }

    /// Processes a whole JSON document: a chunk, or a completion that was not streamed.
    pub fn document(&mut self, document: &Value) -> Result<ReadFlow, ProviderError> {
        let mut flow = ReadFlow::More;
        for said in self.reader.read(document) {
            match said {
                StreamItem::Done => flow = ReadFlow::Done,
                said => self.say(said)?,
            }
        }
        Ok(flow)
    }

    /// Ends the response. On `Ok`, usage and finish are the last chunks; `stated` is whether the provider itself marked
    /// the end.
    pub fn end(&mut self, stated: ReadFlow) -> Result<(), ProviderError> {
        self.flush();
        let finish = match (self.finish.as_deref(), stated) {
            (Some(reason), _) => self.finish_of(reason)?,
            (None, ReadFlow::Done) if self.calls.complete() => self.finish_of("stop")?,
            (None, ReadFlow::Done) => return Err(self.error_context.interrupted("a tool call is incomplete")),
            (None, ReadFlow::More) => return Err(self.error_context.interrupted("the connection closed early")),
        };
        match finish {
            Finish::Stop | Finish::ToolCalls if self.blank_only() => return Err(self.error_context.empty()),
            // A limit or a refusal explains an empty answer.
            Finish::Stop | Finish::ToolCalls | Finish::Length | Finish::Refusal => {}
        }
        self.out.extend(self.usage.map(StreamChunk::Usage));
        self.out.push(StreamChunk::Finish(finish));
        Ok(())
    }

    /// Emits the text that was held back as the possible beginning of a tag, because nothing follows.
    pub fn flush(&mut self) {
        if let Some(mut splitter) = self.splitter.take() {
            let rest = splitter.finish();
            self.split(rest);
        }
    }

    pub fn take(&mut self) -> std::vec::Drain<'_, StreamChunk> {
        self.out.drain(..)
    }

    pub fn shown(&self) -> bool {
        self.shown
    }

    pub fn progressed(&self) -> bool {
        self.progressed
    }

    /// Whether the model has said why it stopped: only usage can follow.
    pub fn finished(&self) -> bool {
        self.finish.is_some()
    }

    fn say(&mut self, said: StreamItem) -> Result<(), ProviderError> {
        match said {
            StreamItem::Error(error) => {
                // After the finish reason, an error no longer matters.
                if self.finish.is_some() { Ok(()) } else { Err(self.error_context.stream_error(&error)) }
            }
            StreamItem::PromptProgress { total, processed } => {
                self.progressed |= processed > self.processed || total > 0 && self.processed == 0;
                self.processed = self.processed.max(processed);
                let progress = (total > 0).then(|| (processed as f64 / total as f64).clamp(0.0, 1.0) as f32);
                let message = format!("Processing the prompt: {processed} of {total} tokens");
                self.status(StatusKind::ReadingPrompt, message, progress);
                Ok(())
            }
            StreamItem::Queue(ahead) => {
                self.progressed |= self.queue.is_none_or(|before| ahead < before);
                if self.queue.replace(ahead) != Some(ahead) {
                    self.status(StatusKind::Waiting, format!("Waiting in queue: {ahead} ahead"), None);
                }
                Ok(())
            }
            StreamItem::Thinking(text) => {
                self.thinking(text);
                Ok(())
            }
            StreamItem::Reasoning(item) => {
                self.progressed = true;
                let (text_before, calls_before) = (self.text_bytes, self.calls.announced());
                self.out.push(StreamChunk::Reasoning(ReasoningItem { text_before, calls_before, item }));
                Ok(())
            }
            StreamItem::Text(text) => {
                match &mut self.splitter {
                    Some(splitter) => {
                        let split = splitter.push(&text);
                        self.progressed = true;
                        self.split(split);
                    }
                    None => self.text(text),
                }
                Ok(())
            }
            StreamItem::Refusal(text) => {
                self.refused = true;
                self.text(text);
                Ok(())
            }
            StreamItem::Call(piece) => {
                let before = self.out.len();
                self.calls.push(piece, &mut self.out);
                if self.out.len() > before {
                    self.shown = true;
                    self.progressed = true;
                }
                Ok(())
            }
            StreamItem::Usage(usage) => {
                self.usage = Some(usage);
                Ok(())
            }
            StreamItem::Finish(reason) => {
                self.progressed = true;
                self.finish = Some(reason);
                Ok(())
            }
            StreamItem::Done => Ok(()),
        }
    }

    fn status(&mut self, status: StatusKind, message: String, progress: Option<f32>) {
        self.out.push(StreamChunk::Status { status, message, progress, retry_in_ms: None });
    }

    fn split(&mut self, split: Split) {
        self.thinking(split.thinking);
        self.text(split.text);
    }

    fn thinking(&mut self, text: String) {
        if !text.is_empty() {
            self.shown = true;
            self.progressed = true;
            self.out.push(StreamChunk::Thinking(text));
        }
    }

    fn text(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        self.progressed = true;
        if self.said_words() {
            self.text_bytes += text.len();
            self.out.push(StreamChunk::Text(text));
            return;
        }
        self.blank.push_str(&text);
        if !self.blank.trim().is_empty() {
            self.shown = true;
            self.text_bytes += self.blank.len();
            self.out.push(StreamChunk::Text(self.blank.clone()));
        }
    }

    /// Whether the answer has words; from then on, `blank` keeps its beginning.
    fn said_words(&self) -> bool {
        !self.blank.trim().is_empty()
    }

    /// Whether the answer has neither words nor calls: white space or thoughts at most.
    fn blank_only(&self) -> bool {
        !self.said_words() && !self.calls.any()
    }

    fn bad(&mut self, what: &str) -> Result<ReadFlow, ProviderError> {
        self.bad_events += 1;
        if self.bad_events > BAD_EVENTS { Err(self.error_context.bad_stream(what)) } else { Ok(ReadFlow::More) }
    }

    fn finish_of(&self, reason: &str) -> Result<Finish, ProviderError> {
        let fault = |message: &str| ProviderError::Server {
            provider: self.error_context.provider.clone(),
            status: 503,
            provider_message: message.to_owned(),
            after: None,
        };
        let finish = match reason {
            "length" | "max_tokens" | "model_length" | "model_context_window_exceeded" => Finish::Length,
            "content_filter" | "sensitive" | "safety" | "refusal" | "SAFETY" => Finish::Refusal,
            // DeepSeek: “insufficient_system_resource”; GLM: “network_error”; OpenRouter: “error”.
            "insufficient_system_resource" | "network_error" | "error" => return Err(fault(reason)),
            _ if self.calls.any() => Finish::ToolCalls,
            _ if self.refused => Finish::Refusal,
            _ => Finish::Stop,
        };
        Ok(finish)
    }
}
