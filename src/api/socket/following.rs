//! One session as a client follows it: the conversation so far, and what happens from then on.

use std::sync::Arc;

use futures_util::future::FutureExt;
use futures_util::stream::{BoxStream, StreamExt};
use tokio::task::unconstrained;

use super::outbound::{OwnStatus, Projected, Question, SocketFrame, newest_that_fit, project, segment_of};
use super::writer::{Gone, Writer};
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::api::sessions::history::without_reasoning;
use crate::clock;
use crate::domain::{Session, SessionId, WorkId};
use crate::engine::{EngineError, EventId, Hub, Publication, Subscription, View};

/// Maximum number of publications that are sent at once.
const MAX_BATCH: usize = 64;

pub struct Following {
    caller: Arc<Caller>,
    pub id: SessionId,
    live: BoxStream<'static, Arc<Publication>>,
    /// The segment that the next piece of text belongs to.
    segment: u32,
    /// The last publication that is part of the history that the client has been sent.
    in_history: u64,
}

impl Following {
    /// Begins to follow a session, from after the event that the client names, or from now. Nothing is sent yet but by `begin`.
    ///
    /// # Errors
    /// Returns an error if the session exists and cannot be read.
    pub async fn open(
        caller: Arc<Caller>,
        id: SessionId,
        after: Option<String>,
        writer: &mut Writer,
    ) -> Result<Result<Self, ApiError>, Gone> {
        let hub = caller.tenant().hub.clone();
        let after = after.filter(|text| !text.is_empty()).map(|text| EventId::parse(&text));
        let subscription = match &after {
            None | Some(None) => Subscription { gap: true, ..hub.follow(&id, None) },
            Some(Some(after)) => hub.follow(&id, Some(after)),
        };
        let view = match view(&caller, &hub, &id).await {
            Ok(view) => view,
            Err(error) => return Ok(Err(error.into())),
        };
        let missed = subscription.missed.iter().filter(|published| published.number <= view.last);
        let segment = segment_of(&view.session, missed);
        let (is_gap, live) = (subscription.gap, subscription.publications(std::future::pending()).boxed());
        let mut following = Self { caller, id, live, segment, in_history: 0 };
        match is_gap {
            true => following.send_history(writer, &view).await?,
            false => {
                let resumed = OwnStatus::Resumed { session_id: following.id.to_string() };
                writer.send(&resumed.into(), None).await?;
            }
        }
        Ok(Ok(following))
    }

    /// Returns the next publication; `None` if the session was deleted, or the client is too slow.
    pub async fn next(&mut self) -> Option<Arc<Publication>> {
        self.live.next().await
    }

    /// Sends a publication and those that have come since. Returns the works that have ended.
    pub async fn forward(&mut self, writer: &mut Writer, first: Arc<Publication>) -> Result<Vec<WorkId>, Gone> {
        let mut ended = Vec::new();
        ended.extend(self.show(writer, &first).await?);
        for _ in 1..MAX_BATCH {
            let Some(next) = self.live.next().now_or_never().flatten() else { break };
            ended.extend(self.show(writer, &next).await?);
        }
        writer.flush().await?;
        Ok(ended)
    }

    /// Sends everything that has been published until now.
    pub async fn forward_published(&mut self, writer: &mut Writer) -> Result<(), Gone> {
        // Whatever was published is in the channel; a task's budget would hide it.
        while let Some(next) = unconstrained(self.live.next()).now_or_never().flatten() {
            self.show(writer, &next).await?;
        }
        writer.flush().await
    }

    /// Writes what a publication leads to. Returns the work, if it was its end.
    async fn show(&mut self, writer: &mut Writer, published: &Publication) -> Result<Option<WorkId>, Gone> {
        let id = self.caller.tenant().hub.id(published.number);
        let is_known = published.number <= self.in_history;
        match project(published, &mut self.segment) {
            Projected::Finished(finished) => {
                let work_id = finished.work_id.clone();
                let session = self.caller.engine.view(&self.id).await.ok().map(|view| view.session);
                let works = session.iter().flat_map(|session| &session.works);
                let work = works.into_iter().find(|work| work.work_id == work_id);
                writer.feed(&finished.frame(work.map(AsRef::as_ref)), Some(&id)).await?;
                return Ok(Some(work_id));
            }
            Projected::Frame(frame) if !is_known => writer.feed(&frame, Some(&id)).await?,
            Projected::Replaced(frame) if !is_known => {
                writer.feed(&frame, Some(&id)).await?;
                if let Ok(view) = self.caller.engine.view(&self.id).await {
                    self.send_history(writer, &view).await?;
                }
            }
            Projected::Nothing | Projected::Frame(_) | Projected::Replaced(_) => {}
        }
        Ok(None)
    }

    async fn send_history(&mut self, writer: &mut Writer, View { session, last }: &View) -> Result<(), Gone> {
        (self.in_history, self.segment) = (*last, segment_of(session, []));
        let messages: Vec<_> = session.messages.iter().map(without_reasoning).collect();
        let first = newest_that_fit(&messages);
        let history = SocketFrame::History {
            session_id: self.id.to_string(),
            earlier: (first > 0).then_some(first),
            messages: messages[first..].to_vec(),
            running: session.running().map(|work| work.work_id.clone()),
        };
        let tenant = self.caller.tenant();
        writer.send(&history, Some(&tenant.hub.id(*last))).await?;
        for approval in tenant.approvals.list().iter().filter(|approval| approval.session_id == self.id) {
            writer.send(&SocketFrame::ApprovalRequest(Box::new(Question::of(approval))), None).await?;
        }
        Ok(())
    }

    /// Stops following.
    pub fn end(self) {
        drop(self.live);
        self.caller.tenant().hub.drop_unused(&self.id);
    }
}

/// Returns the session, empty if it begins with the first message.
async fn view(caller: &Caller, hub: &Hub, id: &SessionId) -> Result<View, EngineError> {
    // What is published from here on is not in an empty session.
    let last = hub.last();
    match caller.engine.view(id).await {
        Err(EngineError::NoSession(_)) => Ok(View { session: Arc::new(Session::new("", clock::now())), last }),
        view => view,
    }
}
