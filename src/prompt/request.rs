//! Assembles the next request of a session: the system prompt, its history and the retrieved passages, within the
//! model's context.
//!
//! [`NextRequest::assemble`] is the only place that builds one. A run sends it; `GET /api/prompt` shows it.

use std::sync::Arc;

use super::budget::Room;
use super::history::{History, VisionSupport, add_retrieved};
use super::system::{MemoryMode, SystemPrompt, assemble};
use crate::domain::{Hit, Session, ToolSpec};
use crate::provider::{ChatMessage, Endpoint, ModelRequest};
use crate::store::Home;
use crate::tokens::Counter;

/// Divisor that gives the share of the context reserved for the answer, and the maximum of that share, in tokens.
const ANSWER_SHARE: usize = 4;
const ANSWER_MOST: usize = 4096;
/// Tokens for a hit's number, source and lines.
const HIT_OVERHEAD: usize = 30;

/// A request as it would be sent now.
pub struct NextRequest {
    pub request: ModelRequest,
    pub system: SystemPrompt,
    /// Number of the session's messages that did not fit and are left out, counted from the first.
    pub left_out: usize,
}

/// What a request is built from.
#[derive(Clone, Copy)]
pub struct RequestSources<'a> {
    pub home: &'a Home,
    /// `None` for the first request of a new session.
    pub session: Option<&'a Session>,
    /// Passages of memory for the question; `None` if memory is not searched and is part of the system prompt.
    pub hits: Option<&'a [Hit]>,
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
        let mode = if sources.hits.is_some() { MemoryMode::Retrieved } else { MemoryMode::Whole };
        let system = assemble(sources.home, mode);
        let hits = sources.hits.unwrap_or_default();
        let count = |text: &str| limits.tokens.count_cached(text);
        // The retrieved passages are for this very question, so their space is reserved before the history is fitted
        // in.
        let retrieved: usize = hits.iter().map(|hit| count(&hit.text) + HIT_OVERHEAD).sum();
        let tokens = limits.room_for_history(limits.fixed(&system.text) + retrieved);
        let room = Room { tokens, count: &count };
        let history = sources.session.map(|session| History::of(session, limits.sight, room)).unwrap_or_default();
        let History { messages: mut history, left_out } = history;
        add_retrieved(&mut history, hits);
        let mut messages = Vec::with_capacity(history.len() + 1);
        if !system.text.is_empty() {
            messages.push(ChatMessage::System(system.text.clone()));
        }
        messages.extend(history);
        let request = ModelRequest { messages, tools: limits.tools.clone(), ..ModelRequest::default() };
        Self { request, system, left_out }
    }
}

impl<'a> RequestLimits<'a> {
    pub fn new(model: ModelAbilities, tools: Arc<[ToolSpec]>, tokens: &'a Counter) -> Self {
        let context_window = if model.context_window == 0 { u32::MAX } else { model.context_window };
        Self { context_window, sight: model.sight, tools, tokens }
    }

    /// Returns limits with half the context, for a model that says that a request was too long.
    pub fn halved(&self) -> Self {
        Self { context_window: self.context_window / 2, ..self.clone() }
    }

    /// Returns the tokens left for the history when `fixed` are needed by the rest of the request.
    fn room_for_history(&self, fixed: usize) -> usize {
        let window = self.context_window as usize;
        let answer = (window / ANSWER_SHARE).min(ANSWER_MOST);
        window.saturating_sub(fixed + answer)
    }

    /// Returns an upper bound of the tokens that every request needs; counts bytes if they certainly fit.
    fn fixed(&self, system: &str) -> usize {
        let tools: usize = self.tools.iter().map(|t| t.description.len() + t.parameters.to_string().len()).sum();
        let bytes = system.len() + tools;
        if bytes * 4 < self.context_window as usize { bytes } else { self.tokens.count_cached(system) + tools / 3 }
    }
}
