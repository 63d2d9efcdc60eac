//! Streams that observe: one session's frames, or everything a tab needs. Ids resume without a gap.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::Sse;
use axum::response::sse::{Event as SseEvent, KeepAlive};
use futures_util::{Stream, StreamExt, stream};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::app::App;
use super::error::ApiError;
use super::frame::{Frame, project};
use crate::domain::SessionId;
use crate::engine::hub::{EventId, Hub, Published, Subscription, What};
use crate::engine::model_status::ModelStatus;
use crate::engine::{self, ChangedBy};
use crate::tools::library::{IndexState, Progress};

/// A comment line so often keeps proxies and browsers from giving up; it carries no id.
const HEARTBEAT: Duration = Duration::from_secs(15);

#[derive(Deserialize, utoipa::IntoParams)]
pub struct After {
    /// The last id that was seen. The header `Last-Event-ID` wins over it.
    after: Option<String>,
    /// `settled`: close as soon as nothing runs.
    until: Option<String>,
}

/// The events of `GET /api/events`; `type` is also the SSE event's name.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Notice {
    /// First on every connection: another `boot_id` than before means that the server was started anew.
    Hello {
        boot_id: String,
        version: String,
    },
    /// A session's frame.
    Frame {
        session_id: String,
        frame: Frame,
    },
    /// A session was made, named, deleted, restored, or began or ended a work.
    SessionsChanged {
        session_id: String,
    },
    /// `etag` is null when the file is gone.
    FileChanged {
        path: String,
        etag: Option<String>,
        by: ChangedBy,
    },
    SkillsChanged {},
    ModelChanged(ModelStatus),
    ConfigChanged {
        rag_mode: bool,
    },
    /// How far the index of `memory` or `knowledge` is: files while building, chunks while embedding.
    Index {
        folder: String,
        state: IndexState,
        done: u32,
        total: u32,
    },
    /// The id asked from is not known here any more: load everything, then follow.
    Gap {},
}

impl Notice {
    fn name(&self) -> &'static str {
        match self {
            Notice::Hello { .. } => "hello",
            Notice::Frame { .. } => "frame",
            Notice::SessionsChanged { .. } => "sessions_changed",
            Notice::FileChanged { .. } => "file_changed",
            Notice::SkillsChanged {} => "skills_changed",
            Notice::ModelChanged(_) => "model_changed",
            Notice::ConfigChanged { .. } => "config_changed",
            Notice::Index { .. } => "index",
            Notice::Gap {} => "gap",
        }
    }
}

/// One multiplexed stream for a tab: the frames of all sessions, and notices.
#[utoipa::path(get, path = "/api/events", params(After), tag = "events",
    responses((status = 200, description = "SSE of Notice", content_type = "text/event-stream", body = Notice)))]
pub async fn all_events(
    State(app): State<App>,
    Query(query): Query<After>,
    headers: HeaderMap,
) -> Sse<impl Stream<Item = Result<SseEvent, Infallible>>> {
    let services = app.engine.services();
    // A page was opened: a model that must start can start now.
    services.models.wake();
    let subscription = match asked(&headers, &query) {
        Asked::FromNow => services.hub.follow_all(None),
        Asked::After(id) => services.hub.follow_all(Some(&id)),
        Asked::Unreadable => Subscription { gap: true, ..services.hub.follow_all(None) },
    };
    let hub = services.hub.clone();
    let hello = Notice::Hello { boot_id: hub.boot().to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
    let mut first = vec![sse(hello.name(), &hello)];
    if subscription.gap {
        first.push(sse("gap", &Notice::Gap {}));
    }
    let events = published(subscription, app.stopping.clone()).filter_map(move |published| {
        let event = notice(&published).map(|event| sse(event.name(), &event).id(hub.id(published.number).to_string()));
        std::future::ready(event)
    });
    respond(stream::iter(first).chain(events))
}

/// One session's frames, the same as `POST /api/chat` sends. Stays open, or closes with `until=settled`.
#[utoipa::path(get, path = "/api/sessions/{id}/events", params(("id" = String, Path), After), tag = "events",
    responses((status = 200, description = "SSE of Frame", content_type = "text/event-stream", body = Frame),
              (status = 404, body = super::error::ErrorBody)))]
pub async fn session_events(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(query): Query<After>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<SseEvent, Infallible>>>, ApiError> {
    let id = SessionId::parse(&id)?;
    let engine = &app.engine;
    engine.view(&id).await?;
    let hub = engine.services().hub.clone();
    let subscription = match asked(&headers, &query) {
        Asked::FromNow => hub.follow(&id, None),
        Asked::After(after) => hub.follow(&id, Some(&after)),
        Asked::Unreadable => Subscription { gap: true, ..hub.follow(&id, None) },
    };
    let until_settled = query.until.as_deref() == Some("settled");
    let first = subscription.gap.then(|| sse("gap", &Frame::Gap {}));
    let waits_for = subscription.unsettled.clone();
    let missed_only = until_settled && waits_for.is_none();
    let (missed, live) = parts(subscription, app.stopping.clone());
    let live = live.take_while(move |published| {
        let settled =
            until_settled && matches!(&published.what, What::Settled(work) if Some(work) == waits_for.as_ref());
        std::future::ready(!settled)
    });
    let live = stream::iter((!missed_only).then_some(live)).flatten();
    Ok(respond(stream::iter(first).chain(frames(stream::iter(missed).chain(live), hub))))
}

/// Frames of published events, with their ids.
pub(super) fn frames(
    published: impl Stream<Item = std::sync::Arc<Published>>,
    hub: std::sync::Arc<Hub>,
) -> impl Stream<Item = SseEvent> {
    published.filter_map(move |published| {
        let frame = project(&published);
        let event = frame.map(|frame| sse(frame.name(), &frame).id(hub.id(published.number).to_string()));
        std::future::ready(event)
    })
}

/// What a subscription missed and what comes, until it is dropped for not reading or the server stops.
pub(super) fn published(
    subscription: Subscription,
    stopping: CancellationToken,
) -> impl Stream<Item = std::sync::Arc<Published>> {
    let (missed, live) = parts(subscription, stopping);
    stream::iter(missed).chain(live)
}

fn parts(
    subscription: Subscription,
    stopping: CancellationToken,
) -> (Vec<std::sync::Arc<Published>>, impl Stream<Item = std::sync::Arc<Published>>) {
    let live = tokio_stream::wrappers::ReceiverStream::new(subscription.live);
    (subscription.missed, live.take_until(stopping.cancelled_owned()))
}

pub(super) fn respond<S>(events: S) -> Sse<impl Stream<Item = Result<SseEvent, Infallible>>>
where
    S: Stream<Item = SseEvent> + Send + 'static,
{
    Sse::new(events.map(Ok)).keep_alive(KeepAlive::new().interval(HEARTBEAT))
}

pub(super) fn sse(name: &str, data: &impl Serialize) -> SseEvent {
    let data = serde_json::to_string(data).expect("frames have string keys and finite numbers, so they are JSON");
    SseEvent::default().event(name).data(data)
}

fn notice(published: &Published) -> Option<Notice> {
    let told = match &published.what {
        What::Notice(told) => told.clone(),
        What::Event(_) | What::Settled(_) => {
            let session_id = published.session.as_ref()?.to_string();
            return project(published).map(|frame| Notice::Frame { session_id, frame });
        }
    };
    Some(match told {
        engine::Notice::SessionsChanged { session_id } => Notice::SessionsChanged { session_id },
        engine::Notice::FileChanged { path, etag, by } => Notice::FileChanged { path, etag, by },
        engine::Notice::SkillsChanged => Notice::SkillsChanged {},
        engine::Notice::ModelChanged(status) => Notice::ModelChanged(status),
        engine::Notice::ConfigChanged { rag_mode } => Notice::ConfigChanged { rag_mode },
        engine::Notice::IndexChanged { folder, progress: Progress { state, done, total } } => {
            Notice::Index { folder: folder.to_owned(), state, done, total }
        }
    })
}

enum Asked {
    FromNow,
    After(EventId),
    /// An id that is none of ours.
    Unreadable,
}

fn asked(headers: &HeaderMap, query: &After) -> Asked {
    let header = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    match header.or(query.after.as_deref()).filter(|text| !text.is_empty()) {
        None => Asked::FromNow,
        Some(text) => EventId::parse(text).map_or(Asked::Unreadable, Asked::After),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::to_bytes;
    use axum::response::IntoResponse;

    /// A client that came back with an id of a heartbeat would miss what happened before it.
    #[tokio::test(start_paused = true)]
    async fn a_heartbeat_keeps_a_stream_open_and_has_no_id() {
        let told = stream::iter([SseEvent::default().id("7").data("said")]);
        let silence = stream::once(tokio::time::sleep(4 * HEARTBEAT)).map(|()| SseEvent::default().id("8").data("end"));
        let answer = respond(told.chain(silence)).into_response();
        let bytes = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        let frames: Vec<&str> = str::from_utf8(&bytes).unwrap().split_terminator("\n\n").collect();
        let (first, rest) = frames.split_first().unwrap();
        let (last, beats) = rest.split_last().unwrap();
        assert!(first.contains("id: 7") && last.contains("id: 8"), "{frames:?}");
        assert!(beats.len() >= 3 && beats.iter().all(|beat| *beat == ":"), "{frames:?}");
    }
}
