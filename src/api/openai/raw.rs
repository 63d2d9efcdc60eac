//! A model alone: the conversation of a request as it is, and the model's answer as it comes.

use std::collections::VecDeque;

use axum::Json;
use axum::body::Bytes;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::{Stream, stream};

use super::chat::{AnswerOptions, ignored_header};
use super::chat_chunks::{ChunkWriter, WholeAnswer};
use super::error::{invalid, of_provider, unsupported};
use super::message::{Conversation, Entry, EntryFile, UserEntry};
use super::parameters::Parameters;
use super::progress::{Delta, HandedCall};
use crate::api::chat::sse::respond;
use crate::api::error::ApiError;
use crate::domain::{Attachment, NewPicture, Outcome, ToolSpec, Usage};
use crate::engine::raw_turns::RawAnswer;
use crate::provider::{
    CallRequest, ChatMessage, Finish, ModelRequest, PictureSender, ProviderError, RequestPicture, StreamChunk,
};
use crate::store::picture_hash;

/// Returns a conversation as a request to a model.
///
/// # Errors
/// Returns an error if it has a picture that is none, or a document, which only the agent reads.
pub fn request(conversation: Conversation, parameters: Parameters) -> Result<ModelRequest, ApiError> {
    let Conversation { instructions, entries } = conversation;
    let system = Some(instructions.join("\n\n")).filter(|text| !text.is_empty()).map(ChatMessage::System);
    let mut messages: Vec<ChatMessage> = system.into_iter().collect();
    for entry in entries {
        messages.push(match entry {
            Entry::User(user) => user_message(user)?,
            Entry::Assistant { text: content, calls } => {
                let calls = calls.into_iter().map(|call| CallRequest {
                    id: call.id,
                    name: call.name,
                    arguments: call.arguments,
                });
                ChatMessage::Assistant { content, thinking: None, reasoning: None, calls: calls.collect() }
            }
            Entry::Result { call_id, output } => ChatMessage::Tool { call_id, content: output },
        });
    }
    if !messages.iter().any(|message| !matches!(message, ChatMessage::System(_))) {
        return Err(invalid("messages", "there is no message to answer"));
    }
    let tools: Vec<ToolSpec> = parameters.tools.iter().map(|tool| tool.offered(|_| false)).collect();
    let Parameters { temperature, max_tokens, form, .. } = parameters;
    Ok(ModelRequest { messages, tools: tools.into(), temperature, max_tokens, form })
}

fn user_message(UserEntry { text, files }: UserEntry) -> Result<ChatMessage, ApiError> {
    if files.is_empty() {
        return Ok(ChatMessage::User(text));
    }
    let pictures = files.into_iter().map(picture).collect::<Result<_, _>>()?;
    Ok(ChatMessage::Pictured { sender: PictureSender::Person, content: text, pictures })
}

fn picture(EntryFile { name, is_picture, content }: EntryFile) -> Result<RequestPicture, ApiError> {
    if !is_picture {
        return Err(unsupported("messages", "a model alone reads no files; use the agent, or send the text"));
    }
    let bytes = STANDARD.decode(content.trim()).unwrap_or_default();
    let new = NewPicture { hash: picture_hash(&bytes), bytes: bytes.into() };
    let attached = Attachment::of_picture(&name, &new).map_err(|why| invalid("messages", why.to_string()))?;
    let picture = attached.picture.ok_or_else(|| invalid("messages", "it is no picture"))?;
    let url = format!("data:{};base64,{}", picture.media_type.name(), STANDARD.encode(&new.bytes)).into();
    Ok(RequestPicture { label: name, picture, url })
}

/// Sends the answer of a model.
///
/// # Errors
/// Returns the error of the provider if the answer is not streamed.
pub async fn answer(answer: RawAnswer, options: AnswerOptions) -> Result<Response, ApiError> {
    let headers = ignored_header(&options.ignored);
    let reader = Reader { answer, writer: options.writer, usage: Usage::default(), finish: Finish::Stop };
    if options.streams {
        return Ok((headers, respond(reader.stream())).into_response());
    }
    Ok((headers, Json(reader.whole().await?)).into_response())
}

/// The answer of a model as things that a work does. Its calls are told once they are complete.
pub struct RawDeltas {
    reader: Reader,
    pending: VecDeque<Delta>,
    calls: Vec<HandedCall>,
    is_over: bool,
}

impl RawDeltas {
    pub fn new(answer: RawAnswer) -> Self {
        let writer = ChunkWriter::new(answer.id.as_str(), String::new(), false);
        let reader = Reader { answer, writer, usage: Usage::default(), finish: Finish::Stop };
        Self { reader, pending: VecDeque::new(), calls: Vec::new(), is_over: false }
    }

    /// Returns the next thing; `None` after the end.
    ///
    /// # Errors
    /// Returns the error of the provider.
    pub async fn next(&mut self) -> Result<Option<Delta>, ProviderError> {
        loop {
            if let Some(delta) = self.pending.pop_front() {
                return Ok(Some(delta));
            }
            if self.is_over {
                return Ok(None);
            }
            match self.reader.next().await? {
                Some(Piece::Text(text)) => return Ok(Some(Delta::Text(text))),
                Some(Piece::Thought(text)) => return Ok(Some(Delta::Thought(text))),
                Some(Piece::Call(_, call)) => self.calls.push(call),
                Some(Piece::Arguments(index, more)) => {
                    if let Some(call) = self.calls.get_mut(index as usize) {
                        call.arguments.push_str(&more);
                    }
                }
                None => {
                    self.is_over = true;
                    self.pending.extend(self.calls.drain(..).map(Delta::Call));
                    self.pending.push_back(Delta::Usage(self.reader.usage));
                    self.pending.push_back(Delta::Ended(match self.reader.finish {
                        Finish::Stop | Finish::ToolCalls => Outcome::Done,
                        Finish::Length => Outcome::Length,
                        Finish::Refusal => Outcome::Refusal,
                    }));
                }
            }
        }
    }
}

struct Reader {
    answer: RawAnswer,
    writer: ChunkWriter,
    usage: Usage,
    finish: Finish,
}

/// A piece of an answer that programs are told.
enum Piece {
    Text(String),
    Thought(String),
    /// A call begins: its place, id and name.
    Call(u32, HandedCall),
    Arguments(u32, String),
}

impl Reader {
    /// Returns the next piece; `None` at the end.
    async fn next(&mut self) -> Result<Option<Piece>, ProviderError> {
        while let Some(chunk) = self.answer.chunks.recv().await {
            match chunk? {
                StreamChunk::Text(text) => return Ok(Some(Piece::Text(text))),
                StreamChunk::Thinking(text) => return Ok(Some(Piece::Thought(text))),
                StreamChunk::ToolCallStart { index, id, name } => {
                    let arguments = String::new();
                    return Ok(Some(Piece::Call(index, HandedCall { id, name, arguments })));
                }
                StreamChunk::ToolCallArguments { index, delta } => return Ok(Some(Piece::Arguments(index, delta))),
                StreamChunk::Usage(usage) => self.usage = usage,
                StreamChunk::Finish(finish) => self.finish = finish,
                StreamChunk::Status { .. } | StreamChunk::Reasoning(_) => {}
            }
        }
        Ok(None)
    }

    fn finish_reason(&self) -> &'static str {
        match self.finish {
            Finish::Stop => "stop",
            Finish::ToolCalls => "tool_calls",
            Finish::Length => "length",
            Finish::Refusal => "content_filter",
        }
    }

    fn stream(self) -> impl Stream<Item = Bytes> + Send + 'static {
        let first = stream::iter([Bytes::from(self.writer.begin())]);
        let rest = stream::unfold(Some(self), |reader| async move {
            let mut reader = reader?;
            let bytes = match reader.next().await {
                Ok(Some(Piece::Text(text))) => reader.writer.text(&text),
                Ok(Some(Piece::Thought(text))) => reader.writer.thought(&text),
                Ok(Some(Piece::Call(index, call))) => reader.writer.call(index as usize, &call),
                Ok(Some(Piece::Arguments(index, more))) => reader.writer.arguments(index, &more),
                Ok(None) => return Some((Bytes::from(reader.writer.end(reader.finish_reason(), reader.usage)), None)),
                Err(error) => return Some((Bytes::from(reader.writer.failed(of_provider(&error))), None)),
            };
            Some((Bytes::from(bytes), Some(reader)))
        });
        futures_util::StreamExt::chain(first, rest)
    }

    async fn whole(mut self) -> Result<serde_json::Value, ApiError> {
        let mut answer = WholeAnswer::default();
        while let Some(piece) = self.next().await.map_err(|error| of_provider(&error))? {
            match piece {
                Piece::Text(text) => answer.text.push_str(&text),
                Piece::Thought(text) => answer.thoughts.push_str(&text),
                Piece::Call(_, call) => answer.calls.push(call),
                Piece::Arguments(index, more) => {
                    if let Some(call) = answer.calls.get_mut(index as usize) {
                        call.arguments.push_str(&more);
                    }
                }
            }
        }
        answer.finish_reason = self.finish_reason();
        answer.usage = self.usage;
        Ok(self.writer.whole(answer))
    }
}
