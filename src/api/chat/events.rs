//! Event streams: one session's frames, or everything a tab needs. A client resumes with its last id, without a gap.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, Query};
use axum::http::HeaderMap;
use axum::response::Response;
use futures_util::{Stream, StreamExt, stream};
use serde::{Deserialize, Serialize};

use crate::api::chat::frame::{Frame, project};
use crate::api::chat::sse::{self, respond};
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::domain::SessionId;
use crate::engine::hub::{EventId, Hub, Publication, PublishedItem, Subscription};
use crate::engine::model_status::ModelStatus;
use crate::engine::{self, ChangedBy};
use crate::library::{IndexProgress, IndexState};

#[derive(Deserialize, utoipa::IntoParams)]
pub struct EventsQuery {
    /// The last event id that the client received. The header `Last-Event-ID` takes precedence. If both are absent, the
    /// stream starts with new events.
    after: Option<String>,
    /// `settled`: close the stream as soon as no work is under way.
    until: Option<String>,
}

/// The events of `GET /api/events`; `type` is also the SSE event's name.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Notice {
    /// First event on every connection. If `boot_id` differs from the previous connection's, the server was restarted
    /// or the home was reopened, and earlier event ids are invalid.
    Hello {
        boot_id: String,
        version: String,
    },
    /// A frame of a session.
    Frame {
        session_id: String,
        frame: Frame,
    },
    /// A session was created, renamed, deleted or restored, or a work began or ended.
    SessionsChanged {
        session_id: String,
    },
    /// A file changed. `etag` is the hash of its content; null if the file was deleted.
    FileChanged {
        path: String,
        etag: Option<String>,
        by: ChangedBy,
    },
    /// Too many files in a folder changed at once to name them: reload the files you show from it.
    FolderChanged {
        path: String,
    },
    /// A command that runs in the background of a session started or ended: reload its list if you show it. `running` of its
    /// commands run now.
    JobsChanged {
        session_id: String,
        running: usize,
    },
    SkillsChanged {},
    /// A project was created, changed, deleted or restored: reload their list if you show it.
    ProjectsChanged {},
    ModelChanged(ModelStatus),
    ConfigChanged {
        rag_mode: bool,
        rag_conversations: bool,
    },
    /// Progress of the index of `memory` or `knowledge`. `done` and `total` count files while the index is built, and
    /// chunks while vectors are computed.
    Index {
        folder: String,
        state: IndexState,
        done: u32,
        total: u32,
    },
    /// The events after the requested id are not available: reload everything, then continue with this stream.
    Gap {},
}

impl Notice {
    fn name(&self) -> &'static str {
        match self {
            Notice::Hello { .. } => "hello",
            Notice::Frame { .. } => "frame",
            Notice::SessionsChanged { .. } => "sessions_changed",
            Notice::FileChanged { .. } => "file_changed",
            Notice::FolderChanged { .. } => "folder_changed",
            Notice::JobsChanged { .. } => "jobs_changed",
            Notice::SkillsChanged {} => "skills_changed",
            Notice::ProjectsChanged {} => "projects_changed",
            Notice::ModelChanged(_) => "model_changed",
            Notice::ConfigChanged { .. } => "config_changed",
            Notice::Index { .. } => "index",
            Notice::Gap {} => "gap",
        }
    }
}

/// Streams the frames of all sessions and all notices: one connection for a tab.
#[utoipa::path(get, path = "/api/events", params(EventsQuery), tag = "events",
    responses((status = 200, description = "SSE of Notice", content_type = "text/event-stream", body = Notice)))]
pub async fn all_events(caller: Caller, Query(query): Query<EventsQuery>, headers: HeaderMap) -> Response {
    let tenant = caller.tenant();
    // A page was opened, so the embedded model can start before the first question.
    tenant.models.wake();
    let subscription = match asked(&headers, &query) {
        ResumePoint::FromNow => tenant.hub.follow_all(None),
        ResumePoint::EventsQuery(id) => tenant.hub.follow_all(Some(&id)),
        ResumePoint::Unreadable => Subscription { gap: true, ..tenant.hub.follow_all(None) },
    };
    let hub = tenant.hub.clone();
    let hello = Notice::Hello { boot_id: hub.boot().to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
    let mut first = vec![Bytes::from(sse::event(hello.name(), None, &hello))];
    if subscription.gap {
        first.push(sse::event("gap", None, &Notice::Gap {}).into());
    }
    let events = subscription.publications(caller.until_over()).filter_map(move |published| {
        let id = hub.id(published.number);
        let event = || notice(&published).map(|event| sse::event(event.name(), Some(&id), &event));
        std::future::ready(published.to_all.bytes(event))
    });
    respond(stream::iter(first).chain(events))
}

/// Streams one session's frames, the same as `POST /api/chat` sends.
///
/// The stream stays open, or closes with `until=settled`.
#[utoipa::path(get, path = "/api/sessions/{id}/events", params(("id" = String, Path), EventsQuery), tag = "events",
    responses((status = 200, description = "SSE of Frame", content_type = "text/event-stream", body = Frame),
              (status = 404, body = crate::api::error::ErrorBody)))]
pub async fn session_events(
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let id = SessionId::parse(&id)?;
    let engine = &caller.engine;
    engine.view(&id).await?;
    let hub = engine.tenant().hub.clone();
    let subscription = match asked(&headers, &query) {
        ResumePoint::FromNow => hub.follow(&id, None),
        ResumePoint::EventsQuery(after) => hub.follow(&id, Some(&after)),
        ResumePoint::Unreadable => Subscription { gap: true, ..hub.follow(&id, None) },
    };
    let until_settled = query.until.as_deref() == Some("settled");
    let first = subscription.gap.then(|| Bytes::from(sse::event("gap", None, &Frame::Gap {})));
    let waits_for = subscription.unsettled.clone();
    let missed_only = until_settled && waits_for.is_none();
    let (missed, live) = subscription.missed_and_live(caller.until_over());
    let live = live.take_while(move |published| {
        let settled = until_settled
            && matches!(&published.what, PublishedItem::Settled(work) if Some(work) == waits_for.as_ref());
        std::future::ready(!settled)
    });
    let live = stream::iter((!missed_only).then_some(live)).flatten();
    Ok(respond(stream::iter(first).chain(frames(stream::iter(missed).chain(live), hub))))
}

/// Encodes published events as SSE frames with their ids.
pub(in crate::api) fn frames(
    published: impl Stream<Item = Arc<Publication>>,
    hub: Arc<Hub>,
) -> impl Stream<Item = Bytes> {
    published.filter_map(move |published| {
        let id = hub.id(published.number);
        let frame = || project(&published).map(|frame| sse::event(frame.name(), Some(&id), &frame));
        std::future::ready(published.to_session.bytes(frame))
    })
}

fn notice(published: &Publication) -> Option<Notice> {
    let told = match &published.what {
        PublishedItem::Notice(told) => told.clone(),
        PublishedItem::Event(_) | PublishedItem::Settled(_) => {
            let session_id = published.session.as_ref()?.to_string();
            return project(published).map(|frame| Notice::Frame { session_id, frame });
        }
    };
    Some(match told {
        engine::Notice::SessionsChanged { session_id } => Notice::SessionsChanged { session_id },
        engine::Notice::FileChanged { path, etag, by } => Notice::FileChanged { path, etag, by },
        engine::Notice::FolderChanged { path } => Notice::FolderChanged { path },
        engine::Notice::JobsChanged { session_id, running } => Notice::JobsChanged { session_id, running },
        engine::Notice::SkillsChanged => Notice::SkillsChanged {},
        engine::Notice::ProjectsChanged => Notice::ProjectsChanged {},
        engine::Notice::ModelChanged(status) => Notice::ModelChanged(status),
        engine::Notice::ConfigChanged { rag_mode, rag_conversations } => {
            Notice::ConfigChanged { rag_mode, rag_conversations }
        }
        engine::Notice::IndexChanged { folder, progress: IndexProgress { state, done, total } } => {
            Notice::Index { folder: folder.to_string(), state, done, total }
        }
    })
}

enum ResumePoint {
    FromNow,
    EventsQuery(EventId),
    /// The id cannot be parsed.
    Unreadable,
}

fn asked(headers: &HeaderMap, query: &EventsQuery) -> ResumePoint {
    let header = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    match header.or(query.after.as_deref()).filter(|text| !text.is_empty()) {
        None => ResumePoint::FromNow,
        Some(text) => EventId::parse(text).map_or(ResumePoint::Unreadable, ResumePoint::EventsQuery),
    }
}
