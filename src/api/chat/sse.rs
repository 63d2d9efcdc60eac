//! Encodes server-sent events (WHATWG HTML, "Server-sent events"). No other module does.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt};
use serde::Serialize;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::engine::EventId;

/// Interval of heartbeat comments in an idle stream. They keep proxies and browsers from closing it, and carry no id.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Encodes one event. JSON contains no raw line breaks, so the data is one line.
pub fn event(name: &str, id: Option<&EventId>, data: &impl Serialize) -> Vec<u8> {
    let mut bytes = format!("event: {name}\ndata: ").into_bytes();
    serde_json::to_writer(&mut bytes, data).expect("frames have string keys and finite numbers, so they are JSON");
    bytes.push(b'\n');
    if let Some(id) = id {
        bytes.extend_from_slice(format!("id: {id}\n").as_bytes());
    }
    bytes.push(b'\n');
    bytes
}

/// The end of a stream of the OpenAI API.
pub const DONE: &[u8] = b"data: [DONE]\n\n";

/// Encodes an event without a name, as the OpenAI API does.
pub fn data(data: &impl Serialize) -> Vec<u8> {
    let mut bytes = b"data: ".to_vec();
    serde_json::to_writer(&mut bytes, data).expect("chunks have string keys and finite numbers, so they are JSON");
    bytes.extend_from_slice(b"\n\n");
    bytes
}

/// Returns a response that sends the events until there are no more, with heartbeats while there are none.
pub fn respond(events: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let mut beat = interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let beating = tokio_stream::StreamExt::timeout_repeating(events, beat);
    let bytes = beating.map(|event| Ok::<_, Infallible>(event.unwrap_or(Bytes::from_static(b":\n\n"))));
    ([(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache")], Body::from_stream(bytes)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::to_bytes;
    use futures_util::stream;

    /// A heartbeat with an id would make a client that reconnects with it miss earlier events.
    #[tokio::test(start_paused = true)]
    async fn heartbeat_has_no_id() {
        let said = |number| {
            let id = EventId { boot: "b".to_owned(), number };
            Bytes::from(event("said", Some(&id), &"two\nlines"))
        };
        let told = stream::iter([said(7)]);
        let silence = stream::once(tokio::time::sleep(4 * HEARTBEAT)).map(move |()| said(8));
        let answer = respond(told.chain(silence));
        assert_eq!(answer.headers()[CONTENT_TYPE], "text/event-stream");
        let bytes = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        let frames: Vec<&str> = str::from_utf8(&bytes).unwrap().split_terminator("\n\n").collect();
        let (first, rest) = frames.split_first().unwrap();
        let (last, beats) = rest.split_last().unwrap();
        assert_eq!(*first, "event: said\ndata: \"two\\nlines\"\nid: b.7");
        assert_eq!(*last, "event: said\ndata: \"two\\nlines\"\nid: b.8");
        assert!(beats.len() >= 3 && beats.iter().all(|beat| *beat == ":"), "{frames:?}");
    }
}
