//! Assembles the next request of a session: the system prompt, its history and the retrieved passages, within the
//! model's context.
//!
//! [`NextRequest::assemble`] is the only place that builds one. A run sends it; `GET /api/prompt` shows it.

use std::sync::Arc;

use serde_json::Value;

use super::budget::{MESSAGE_OVERHEAD, Room};
use super::history::{History, VisionSupport, add_retrieved, retrieved_text};
use super::project::add_project;
use super::system::{CLIENT_LABEL, MODE_LABEL, MemoryMode, SESSION_LABEL, SystemPrompt, assemble};
use super::tokens::RequestTokens;
use crate::domain::{AnswerForm, ClientRequest, Hit, PermissionMode, Session, ToolChoice, ToolSpec};
use crate::provider::{ChatMessage, Endpoint, ModelRequest, tools};
use crate::store::Home;
use crate::tokens::Counter;

/// Divisor that gives the share of the context reserved for the answer, and the maximum of that share, in tokens.
const ANSWER_SHARE: usize = 4;
const ANSWER_MOST: usize = 4096;
/// Stands for a context window that is not known.
const UNLIMITED: u32 = u32::MAX;
/// Asks the model to continue its last message. Part of that one request only, never of the conversation.
const CONTINUE: &str = "[Your last message was cut off. Continue it exactly where it stopped: begin with the next \
character, repeat nothing, and do not mention the interruption.]";
/// About the most tokens that a retrieved passage has, with its number, source and lines.
const PASSAGE_TOKENS: usize = 256 + 30;
/// The same for one of a past conversation: it names the place of each message.
const RECALLED_TOKENS: usize = 600;

/// A request as it would be sent now.
pub struct NextRequest {
    pub request: ModelRequest,
    pub system: SystemPrompt,
    /// The retrieved passages as the model reads them; empty if there are none.
    pub retrieved: String,
    /// Number of the session's messages that did not fit and are left out, counted from the first.
    pub left_out: usize,
    /// Number of pinned messages that did not fit and are left out, counted from the first.
    pub pins_left_out: usize,
    /// Most tokens that the request may have, without the answer. `None` if the model's context window is not known.
    pub limit: Option<usize>,
    /// What is reserved for the rest of a question that is not sent yet: its attachments, and about as many passages as
    /// will be retrieved.
    reserved: RequestTokens,
}

/// Returns the form that a program wants the answer of the work under way in. It chooses the tool that is called first, not
/// those of the exchanges after it.
fn answer_form(session: &Session) -> AnswerForm {
    let Some(work) = session.running() else { return AnswerForm::default() };
    let Some(client) = &work.client else { return AnswerForm::default() };
    let mut form = client.form.clone();
    if session.calls_of(&work.work_id).next().is_some() {
        form.tool_choice = ToolChoice::Auto;
    }
    form
}

/// What a request is built from.
#[derive(Clone, Copy)]
pub struct RequestSources<'a> {
    pub home: &'a Home,
    /// `None` for the first request of a new session.
    pub session: Option<&'a Session>,
    pub retrieval: Retrieval<'a>,
    /// Tokens of the files that are attached to a question that is not sent yet.
    pub attachments: usize,
    /// The session ends with a part of an answer, which the model is asked to continue.
    pub continues: bool,
}

/// What memory contributes to a request.
#[derive(Clone, Copy)]
pub enum Retrieval<'a> {
    /// Memory is not searched: it is part of the system prompt.
    Off,
    /// At most `passages` of memory and `recalled` of past conversations will be retrieved when the question is sent, and as
    /// many as of memory of what is left out of this conversation.
    Expected {
        passages: usize,
        recalled: usize,
    },
    Found(&'a [Hit]),
}

/// What a model can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelAbilities {
    /// In tokens; 0 if it is not known, which limits nothing.
    pub context_window: u32,
    pub sight: VisionSupport,
}

impl ModelAbilities {
    pub fn of(endpoint: &Endpoint) -> Self {
        Self { context_window: endpoint.context_window, sight: VisionSupport::of(endpoint.profile.vision) }
    }
}

/// What a request depends on besides its sources: the model's abilities, and the tools offered to it.
#[derive(Clone)]
pub struct RequestLimits<'a> {
    /// In tokens.
    context_window: u32,
    sight: VisionSupport,
    tools: Arc<[ToolSpec]>,
    tokens: &'a Counter,
}

impl NextRequest {
    /// Builds a request from the current files and messages. It only names pictures; their bytes are read before it is
    /// sent.
    pub fn assemble(sources: RequestSources<'_>, limits: &RequestLimits<'_>) -> Self {
        let next = Self::assembled(sources, limits);
        match sources.retrieval {
            Retrieval::Expected { passages, recalled } if next.left_out > 0 => {
                let retrieval = Retrieval::Expected { passages, recalled: recalled + passages };
                Self::assembled(RequestSources { retrieval, ..sources }, limits)
            }
            Retrieval::Expected { .. } | Retrieval::Off | Retrieval::Found(_) => next,
        }
    }

    fn assembled(sources: RequestSources<'_>, limits: &RequestLimits<'_>) -> Self {
        let (mode, hits, expected) = match sources.retrieval {
            Retrieval::Off => (MemoryMode::Whole, &[][..], 0),
            Retrieval::Expected { passages, recalled } => {
                (MemoryMode::Retrieved, &[][..], passages * PASSAGE_TOKENS + recalled * RECALLED_TOKENS)
            }
            Retrieval::Found(hits) => (MemoryMode::Retrieved, hits, 0),
        };
        let mut system = assemble(sources.home, mode);
        let chosen = sources.session.map(Session::chosen_now);
        let chosen = chosen.as_ref();
        let permission_mode = chosen.and_then(|chosen| chosen.permission_mode);
        if let Some(instructions) = permission_mode.and_then(PermissionMode::instructions) {
            system.add_instructions(MODE_LABEL, instructions);
        }
        if let Some(session) = sources.session {
            add_project(&mut system, sources.home, session);
        }
        let instructions = chosen.and_then(|chosen| chosen.system_prompt.as_deref()).map(str::trim);
        if let Some(instructions) = instructions.filter(|text| !text.is_empty()) {
            system.add_instructions(SESSION_LABEL, instructions);
        }
        if let Some(instructions) = sources.session.and_then(Session::client).and_then(ClientRequest::part) {
            system.add_instructions(CLIENT_LABEL, &instructions);
        }
        let retrieved = retrieved_text(hits);
        let reserved =
            RequestTokens { retrieved: expected, attachments: sources.attachments, ..RequestTokens::default() };
        let tools = tools(&limits.tools).to_string();
        let ending = if sources.continues { CONTINUE } else { "" };
        // Everything but the history comes first: its space is reserved before the history is fitted in.
        let fixed = |count: &dyn Fn(&str) -> usize| {
            reserved.total()
                + [&*system.text, &tools, &retrieved, ending]
                    .map(|text| count(text) + MESSAGE_OVERHEAD)
                    .iter()
                    .sum::<usize>()
        };
        let count = |text: &str| limits.tokens.count_cached(text);
        let room = Room {
            at_least: limits.limit().saturating_sub(fixed(&str::len)),
            tokens: &|| limits.limit().saturating_sub(fixed(&count)),
            count: &count,
        };
        let history = sources.session.map(|session| History::of(session, limits.sight, room)).unwrap_or_default();
        let History { messages: mut history, left_out, pins_left_out } = history;
        add_retrieved(&mut history, hits);
        let mut messages = Vec::with_capacity(history.len() + 1);
        if !system.text.is_empty() {
            messages.push(ChatMessage::System(system.text.clone()));
        }
        messages.extend(history);
        if !ending.is_empty() {
            messages.push(ChatMessage::User(ending.to_owned()));
        }
        let request = ModelRequest {
            messages,
            tools: limits.tools.clone(),
            temperature: chosen.and_then(|chosen| chosen.temperature),
            max_tokens: chosen.and_then(|chosen| chosen.max_tokens),
            form: sources.session.map(answer_form).unwrap_or_default(),
        };
        let limit = Some(limits.limit()).filter(|_| limits.context_window != UNLIMITED);
        Self { request, system, retrieved, left_out, pins_left_out, limit, reserved }
    }

    /// Counts the tokens of the body, which is that of this request.
    pub fn tokens(&self, body: &Value, counter: &Counter) -> RequestTokens {
        let tokens = RequestTokens::of(body, &self.system, &self.retrieved, &|text| counter.count_cached(text));
        RequestTokens {
            retrieved: tokens.retrieved + self.reserved.retrieved,
            attachments: self.reserved.attachments,
            ..tokens
        }
    }
}

impl<'a> RequestLimits<'a> {
    pub fn new(model: ModelAbilities, tools: Arc<[ToolSpec]>, tokens: &'a Counter) -> Self {
        let context_window = if model.context_window == 0 { UNLIMITED } else { model.context_window };
        Self { context_window, sight: model.sight, tools, tokens }
    }

    /// Returns limits with half the context, for a model that says that a request was too long.
    pub fn halved(&self) -> Self {
        Self { context_window: self.context_window / 2, ..self.clone() }
    }

    /// Returns the most tokens that a request may have: the context window without the space for the answer.
    fn limit(&self) -> usize {
        let window = self.context_window as usize;
        window - (window / ANSWER_SHARE).min(ANSWER_MOST)
    }
}
