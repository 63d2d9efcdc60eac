//! Server-sent events, as an answer of a server has them.

use std::time::Duration;

/// An event of a stream. Any of its parts may be absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    pub data: Option<Vec<u8>>,
    /// Where the stream can be resumed after this event.
    pub id: Option<String>,
    /// How long to wait before the stream is resumed.
    pub retry: Option<Duration>,
}

/// Takes all whole events from the bytes of a stream, of which the first `searched` are known to end none.
pub fn take_events(bytes: &mut Vec<u8>, searched: &mut usize) -> Vec<Event> {
    let (mut events, mut start) = (Vec::new(), 0);
    // An end may have begun in what was searched.
    let mut at = searched.saturating_sub(3);
    while at < bytes.len() {
        let ends = [&b"\n\n"[..], b"\r\n\r\n", b"\r\r"];
        let Some(end) = ends.into_iter().find(|end| bytes[at..].starts_with(end)) else {
            at += 1;
            continue;
        };
        events.extend(event(&bytes[start..at]));
        at += end.len();
        start = at;
    }
    bytes.drain(..start);
    *searched = bytes.len();
    events
}

/// Reads an event; `None` if it says nothing.
fn event(bytes: &[u8]) -> Option<Event> {
    let text = String::from_utf8_lossy(bytes);
    let (mut event, mut data) = (Event::default(), Vec::new());
    for line in text.split(['\n', '\r']) {
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => data.push(value),
            "id" if !value.contains('\0') => event.id = Some(value.to_owned()),
            "retry" => event.retry = value.parse().ok().map(Duration::from_millis),
            _ => {}
        }
    }
    event.data = (!data.is_empty()).then(|| data.join("\n").into_bytes());
    (event != Event::default()).then_some(event)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn events_are_taken_however_they_are_cut() {
        let stream = b": hello\n\nevent: message\ndata: {\"a\":\ndata: 1}\n\n\n\ndata: {}\r\n\r\nid: 7\rretry: 500\rdata: [3]\r\rdata: par";
        for piece in 1..=stream.len() {
            let (mut bytes, mut searched, mut events) = (Vec::new(), 0, Vec::new());
            for chunk in stream.chunks(piece) {
                bytes.extend_from_slice(chunk);
                events.extend(take_events(&mut bytes, &mut searched));
            }
            let texts: Vec<_> = events.iter().filter_map(|event| event.data.as_deref()).collect();
            assert_eq!(texts, [&b"{\"a\":\n1}"[..], b"{}", b"[3]"], "pieces of {piece} bytes");
            let last = events.last().unwrap();
            assert_eq!((last.id.as_deref(), last.retry), (Some("7"), Some(Duration::from_millis(500))));
            assert_eq!(bytes, b"data: par");
        }
    }

    proptest! {
        #[test]
        fn events_do_not_depend_on_how_they_arrive(
            text in "(data: ?x|data:|id: 1|retry: 5|:c|\\n|\\r|\\r\\n|é){0,24}",
            cuts in prop::collection::vec(1_usize..6, 0..24),
        ) {
            let whole = take_events(&mut text.clone().into_bytes(), &mut 0);
            let (mut rest, mut bytes, mut searched, mut events) = (text.as_bytes(), Vec::new(), 0, Vec::new());
            for cut in cuts.into_iter().chain([usize::MAX]) {
                let (piece, later) = rest.split_at(cut.min(rest.len()));
                bytes.extend_from_slice(piece);
                events.extend(take_events(&mut bytes, &mut searched));
                rest = later;
            }
            prop_assert_eq!(events, whole);
        }
    }
}
