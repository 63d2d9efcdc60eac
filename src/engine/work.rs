//! What runs beside a session's task: the works, and model requests for titles and summaries.

use std::sync::Arc;

use super::models::{NoProgress, StartProgress};
use super::skills::refresh_before_request;
use super::tool_sources::ExchangeScope;
use super::{EngineError, Tenant};
use crate::agent::{
    Fallback, LimitCheck, Recorder, Run, RunEnd, StopSignal, Tasks, compress, finish_calls, run, run_direct_call, title,
};
use crate::domain::{Chosen, DirectCall, Message, Outcome, Role, Session, SessionId, StatusKind};
use crate::store::CompactedFile;
use crate::tools::Policy;

/// Where a run starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStart {
    /// At the person's question.
    Question,
    /// At calls that waited for a person when the server stopped.
    Calls,
    /// After an answer that ended before it was complete.
    Continued { beyond_own_limit: bool },
}

/// How a work is run.
pub struct WorkTask {
    pub begin: RunStart,
    pub stop_signal: StopSignal,
    /// The session's choice of a model, and of what may run.
    pub chosen: Chosen,
}

/// Runs one work, from finding the model to its outcome.
pub async fn work(
    tenant: Arc<Tenant>,
    session_id: SessionId,
    mut recorder: Recorder,
    WorkTask { begin, stop_signal, chosen }: WorkTask,
) -> Result<RunEnd, String> {
    let config = tenant.runtime.config();
    let tasks = Tasks {
        session_id,
        home: tenant.home.clone(),
        tools: {
            let tenant = tenant.clone();
            Arc::new(move |session| {
                let tenant = tenant.clone();
                Box::pin(async move {
                    tenant.look_at_instructions(session).await;
                    tenant.tools(ExchangeScope::of(session)).await
                })
            })
        },
        policy: Arc::new(Policy { mode: chosen.permission_mode, ..config.policy.clone() }),
        limits: config.limits,
        stop_signal: stop_signal.clone(),
        busy: Arc::new(tenant.runtime.idle_time.begin_work()),
        untrusted: {
            let tenant = tenant.clone();
            Arc::new(move || refresh_before_request(&tenant))
        },
    };
    let most = config.limits.max_iterations;
    let mut numbers = 0..most;
    if let RunStart::Continued { .. } = begin {
        // The person grants it as many exchanges as a new work has.
        let first = recorder.session().works.last().map_or(0, |work| work.dialogues);
        numbers = first..first.saturating_add(most);
    }
    if begin == RunStart::Calls {
        // Until a person has answered, no model is needed, and none may be available.
        if let Some(ending) = finish_calls(&tasks, &mut recorder).await.map_err(|error| error.0)? {
            return Ok(ending);
        }
        numbers = recorder.dialogues()..most;
    }
    if let Some(call) = direct_call(recorder.session()) {
        return match begin {
            RunStart::Question => run_direct_call(&tasks, &mut recorder, call).await.map_err(|error| error.0),
            // The call has ended, and there is nothing after it.
            RunStart::Calls | RunStart::Continued { .. } => Ok(RunEnd::Outcome(Outcome::Done)),
        };
    }
    let mut progress = Progress(&recorder);
    let client = tokio::select! {
        () = stop_signal.cancel.cancelled() => return Ok(RunEnd::Outcome(stop_signal.outcome())),
        client = tenant.models.client(&chosen, &mut progress) => client,
    };
    let client = match client {
        Ok(client) => client,
        Err(error) => {
            let (code, retryable, params) = (error.code().to_owned(), error.retryable(), error.params());
            return Ok(RunEnd::Outcome(Outcome::Error { error: error.to_string(), code, retryable, params }));
        }
    };
    let authors = tenant.authors.clone();
    let models = tenant.models.clone();
    let fallback: Fallback = Arc::new(move |asked| {
        let (models, chosen) = (models.clone(), chosen.clone());
        Box::pin(async move { models.fallback(&chosen, &asked).await })
    });
    let run_now = Run {
        tasks,
        client,
        fallback,
        memory: tenant.memory.clone(),
        conversations: tenant.conversations.clone(),
        tokens: tenant.runtime.tokens.clone(),
        budget: tenant.budget.clone(),
        limit_check: LimitCheck {
            server: config.usage_limits,
            asks: begin != RunStart::Continued { beyond_own_limit: true },
        },
        writers: Arc::new(move |path, etag| authors.known(path, etag)),
    };
    run(&run_now, &mut recorder, numbers).await.map_err(|error| error.0)
}

/// Returns the call that the work under way is, if a program makes it itself.
fn direct_call(session: &Session) -> Option<DirectCall> {
    session.client()?.call.clone()
}

/// Sends the progress of the model's start to the session's subscribers.
struct Progress<'a>(&'a Recorder);

impl StartProgress for Progress<'_> {
    async fn told(&mut self, message: &str, progress: Option<f32>) {
        // The start continues even if the session's task is gone.
        let _ = self.0.send_status(StatusKind::StartingModel, message.to_owned(), progress, None).await;
    }
}

/// Makes a title for a session from its first question and last answer that are not withdrawn. Falls back to the beginning of the question.
pub async fn make_title(tenant: &Tenant, session: &Session) -> String {
    let said = |role| {
        let in_effect = session.messages.iter().filter(|message| session.is_in_effect(message));
        in_effect.filter(move |message| message.role == role && !message.words().is_empty())
    };
    let question = said(Role::User).next().map(|m| m.words()).unwrap_or_default();
    // The last message is the answer; earlier ones often only announce what the model is about to do.
    let answer = said(Role::Assistant).next_back().map(|m| m.content.as_str()).unwrap_or_default();
    match tenant.models.client(&session.chosen, &mut NoProgress).await {
        Ok(client) => title::make(&client, &question, answer).await,
        Err(_) => title::tidy(&question),
    }
}

/// Has the model that the session has chosen summarise `older`.
pub async fn summary_of(tenant: &Tenant, chosen: &Chosen, older: &[Arc<Message>]) -> Result<String, EngineError> {
    let client = tenant.models.client(chosen, &mut NoProgress).await?;
    let summary = compress::summarise(&client, older).await?;
    if summary.is_empty() {
        return Err(EngineError::Internal("the model returned an empty summary; nothing was compacted"));
    }
    Ok(summary)
}

/// Stores `older` in a file of compacted messages. Returns its name and hash.
pub async fn store_compacted(
    tenant: &Tenant,
    id: &SessionId,
    older: Vec<Arc<Message>>,
) -> Result<CompactedFile, EngineError> {
    Ok(tenant.log.store_compacted(tenant.claim, id, older).await?)
}
