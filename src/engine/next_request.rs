//! The next request of a session as a person sees it, and the part that the requests of all sessions begin with. A run
//! assembles its own in the same way, with what it retrieved.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::models::SharedPrefix;
use super::runtime::Runtime;
use super::skills::refresh_before_request;
use super::tool_sources::{ExchangeScope, ToolSources};
use super::{EngineError, Tenant, blocking};
use crate::agent::compress::FULL_PERCENT;
use crate::agent::expected_retrieval;
use crate::domain::{AutoCompact, Chosen, Message, Role, Session};
use crate::prompt::RequestTokens;
use crate::prompt::history::VisionSupport;
use crate::prompt::request::{ModelAbilities, NextRequest, RequestLimits, RequestSources};
use crate::provider::ModelRequest;
use crate::store::Home;

/// A question that a person has not sent yet.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    pub text: String,
    /// Tokens of its attached files.
    pub attachments: usize,
}

/// The size of a next request.
#[derive(Clone, Debug)]
pub struct RequestSize {
    pub tokens: RequestTokens,
    /// Most tokens that the request may have, without the answer. `None` if the model's context window is not known.
    pub limit: Option<usize>,
    /// Of the model that would answer; 0 if there is none or it is not known.
    pub context_window: u32,
    /// Number of the session's messages that do not fit, counted from the first.
    pub left_out: usize,
    /// Number of pinned messages that do not fit, counted from the first.
    pub pins_left_out: usize,
    /// Id of the first message that fits; `None` if all fit. A message of an imported session has the id `m` and its
    /// number.
    pub first_sent: Option<String>,
    /// What happens when the session nearly fills the context window.
    pub auto_compact: AutoCompact,
}

impl RequestSize {
    /// Whether it is time to compact the session.
    pub fn is_nearly_full(&self) -> bool {
        let full = self.limit.is_some_and(|limit| self.tokens.total() * 100 >= limit * FULL_PERCENT);
        full || self.left_out > 0
    }
}

impl Tenant {
    /// Returns what happens when a session with these choices nearly fills the context window.
    pub fn auto_compact(&self, chosen: &Chosen) -> AutoCompact {
        chosen.auto_compact.unwrap_or(self.runtime.config().auto_compact)
    }

    /// Returns the request that a run of this session would send next, without retrieved text; without a session, that of a
    /// new one.
    pub async fn next_request(self: &Arc<Self>, session: Option<Arc<Session>>) -> Result<NextRequest, EngineError> {
        self.request_with(session, 0).await
    }

    /// Returns the size of a session's next request with this draft.
    pub async fn request_size(
        self: &Arc<Self>,
        session: Option<Arc<Session>>,
        draft: Draft,
    ) -> Result<RequestSize, EngineError> {
        let session = if draft.text.trim().is_empty() { session } else { Some(with_question(session, draft.text)) };
        let chosen = session.as_ref().map(|session| session.chosen.clone()).unwrap_or_default();
        let auto_compact = self.auto_compact(&chosen);
        let next = self.request_with(session.clone(), draft.attachments).await?;
        let NextRequest { left_out, pins_left_out, .. } = next;
        let first = session.as_ref().and_then(|session| session.messages.get(left_out)).filter(|_| left_out > 0);
        let first_sent = first.map(|first| first.id.clone().unwrap_or_else(|| format!("m{left_out}")));
        let tenant = self.clone();
        blocking(move || {
            let tokens = next.tokens(&tenant.models.body(&chosen, &next.request), &tenant.runtime.tokens);
            let context_window = tenant.models.status_of(&chosen).context_window;
            Ok(RequestSize {
                tokens,
                limit: next.limit,
                context_window,
                left_out,
                pins_left_out,
                first_sent,
                auto_compact,
            })
        })
        .await
    }

    async fn request_with(
        self: &Arc<Self>,
        session: Option<Arc<Session>>,
        attachments: usize,
    ) -> Result<NextRequest, EngineError> {
        let tools = self.tools(ExchangeScope { session: session.as_deref() }).await.specs();
        let tenant = self.clone();
        blocking(move || {
            // A run does the same: its next request lists a skill that was just added.
            refresh_before_request(&tenant);
            let chosen = session.as_ref().map(|session| session.chosen.clone()).unwrap_or_default();
            let status = tenant.models.status_of(&chosen);
            let model =
                ModelAbilities { context_window: status.context_window, sight: VisionSupport::of(status.vision) };
            let limits = RequestLimits::new(model, tools, &tenant.runtime.tokens);
            let sources = RequestSources { attachments, ..sources(&tenant.home, session.as_deref()) };
            Ok(NextRequest::assemble(sources, &limits))
        })
        .await
    }
}

/// Returns a copy of the session that ends in this question.
fn with_question(session: Option<Arc<Session>>, question: String) -> Arc<Session> {
    let mut session = session.unwrap_or_else(|| Arc::new(Session::new("", 0.0)));
    Arc::make_mut(&mut session).messages.push(Arc::new(Message::new(Role::User, question)));
    session
}

/// Returns what makes the system prompt and tools that every session's request to the embedded model begins with.
pub(super) fn shared_prefix(runtime: &Runtime, home: &Home, tools: &Arc<ToolSources>) -> SharedPrefix {
    let (home, tools, tokens) = (home.clone(), tools.clone(), runtime.tokens.clone());
    let context_window = runtime.config().embedded.context_window;
    Box::new(move || -> BoxFuture<'static, ModelRequest> {
        let (home, tools, tokens) = (home.clone(), tools.clone(), tokens.clone());
        Box::pin(async move {
            let tools = tools.tools(ExchangeScope::new_session()).await.specs();
            let model = ModelAbilities { context_window, sight: VisionSupport::Blind };
            NextRequest::assemble(sources(&home, None), &RequestLimits::new(model, tools, &tokens)).request
        })
    })
}

/// Returns the sources of a request before anything was retrieved for it.
fn sources<'a>(home: &'a Home, session: Option<&'a Session>) -> RequestSources<'a> {
    let retrieval = expected_retrieval(&home.settings(), session);
    RequestSources { home, session, retrieval, attachments: 0, continues: false }
}
