//! The next request of a session as a person sees it, and the part that the requests of all sessions begin with. A run
//! assembles its own in the same way, with what it retrieved.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::models::SharedPrefix;
use super::runtime::Runtime;
use super::skills::refresh_before_request;
use super::tool_sources::{ExchangeScope, ToolSources};
use super::{EngineError, Tenant, blocking};
use crate::domain::{Hit, Session};
use crate::prompt::history::VisionSupport;
use crate::prompt::request::{ModelAbilities, NextRequest, RequestLimits, RequestSources};
use crate::provider::ModelRequest;
use crate::store::Home;

impl Tenant {
    /// Returns the request that a run of this session would send next, without retrieved text; without a session, that of a
    /// new one.
    pub async fn next_request(self: &Arc<Self>, session: Option<Arc<Session>>) -> Result<NextRequest, EngineError> {
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
            Ok(NextRequest::assemble(sources(&tenant.home, session.as_deref()), &limits))
        })
        .await
    }
}

/// Returns what makes the system prompt and tools that every session's request to the embedded model begins with.
pub(super) fn shared_prefix(runtime: &Runtime, home: &Home, tools: &Arc<ToolSources>) -> SharedPrefix {
    let (home, tools, tokens) = (home.clone(), tools.clone(), runtime.tokens.clone());
    let context_window = runtime.config.embedded.context_window;
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
    const NOTHING_YET: &[Hit] = &[];
    RequestSources { home, session, hits: home.settings().rag_mode.then_some(NOTHING_YET) }
}
