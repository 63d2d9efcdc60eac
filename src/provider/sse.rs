//! Decodes server-sent events from bytes to event data (WHATWG HTML, 9.2.6 “Interpreting an event stream”), as far as
//! model streams need them: reads `data` and `event` fields, ignores ids and reconnection times.
//!
//! Two deliberate differences from the specification: an event truncated by the end of the stream is still delivered
//! (servers forget the last blank line), and an event longer than [`LINE_CAP`] is dropped and reported.

/// Maximum length of a line, and of the data of one event, in bytes.
pub(super) const LINE_CAP: usize = 1 << 20;

const BOM: &[u8] = b"\xEF\xBB\xBF";

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Event {
    /// The data of an event, its lines joined by `\n`; `name` is empty if the server sent none.
    Data { name: String, data: String },
    /// An event was longer than [`LINE_CAP`] and was dropped.
    TooLong,
}

#[derive(Debug, Default)]
pub(super) struct Decoder {
    line: Vec<u8>,
    data: Vec<u8>,
    name: String,
    has_data: bool,
    /// Whether a line or the data of the current event is too long, so that the event is dropped.
    too_long: bool,
    /// Whether the last byte was CR, so that an LF right after it belongs to the same line end.
    after_cr: bool,
    /// Whether the first line, which may begin with a byte order mark, has ended.
    begun: bool,
}

impl Decoder {
    /// Decodes the next bytes, split anywhere, and appends the events that they complete.
    pub fn push(&mut self, mut bytes: &[u8], events: &mut Vec<Event>) {
        while let Some(first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            match bytes.iter().position(|byte| *byte == b'\n' || *byte == b'\r') {
                None => return self.keep(bytes),
                Some(end) => {
                    self.keep(&bytes[..end]);
                    self.after_cr = bytes[end] == b'\r';
                    bytes = &bytes[end + 1..];
                    self.end_line(events);
                }
            }
        }
    }

    /// Ends the stream and appends the event that its end truncated.
    pub fn finish(&mut self, events: &mut Vec<Event>) {
        if !self.line.is_empty() {
            self.end_line(events);
        }
        self.dispatch(events);
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.line.len() + bytes.len() > LINE_CAP {
            self.too_long = true;
            // Not cleared, because an empty line would end the event. The content no longer matters.
            self.line.truncate(1);
            if self.line.is_empty() {
                self.line.push(b':');
            }
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self, events: &mut Vec<Event>) {
        let mut line = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.begun, true) && line.starts_with(BOM) {
            line.drain(..BOM.len());
        }
        if line.is_empty() {
            self.dispatch(events);
        } else {
            self.field(&line);
        }
        // Keep the allocation for the next line.
        line.clear();
        self.line = line;
    }

    fn field(&mut self, line: &[u8]) {
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                if self.data.len() + value.len() > LINE_CAP {
                    self.too_long = true;
                    return;
                }
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            _ => {}
        }
    }

    fn dispatch(&mut self, events: &mut Vec<Event>) {
        let name = std::mem::take(&mut self.name);
        if std::mem::take(&mut self.too_long) {
            events.push(Event::TooLong);
        } else if self.has_data {
            events.push(Event::Data { name, data: String::from_utf8_lossy(&self.data).into_owned() });
        }
        self.has_data = false;
        self.data.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Event> {
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        for piece in pieces {
            decoder.push(piece, &mut events);
        }
        decoder.finish(&mut events);
        events
    }

    fn texts(stream: &[u8]) -> Vec<String> {
        decode([stream])
            .into_iter()
            .map(|event| match event {
                Event::Data { data, .. } => data,
                Event::TooLong => "TOO LONG".to_owned(),
            })
            .collect()
    }

    #[test]
    fn all_line_endings_and_data_forms_are_read() {
        assert_eq!(texts(b"data: a\n\ndata:b\n\n"), ["a", "b"]);
        assert_eq!(texts(b"data: a\r\n\r\ndata: b\r\rdata: c\n\n"), ["a", "b", "c"]);
        assert_eq!(texts(b"\xEF\xBB\xBFdata: a\n\n"), ["a"]);
        assert_eq!(texts(b": ping\n\n:\n\nid: 1\nretry: 5\ndata: x\ndata: y\n\n"), ["x\ny"]);
        assert_eq!(texts(b"data\n\ndata:  two\n\n"), ["", " two"]);
        assert_eq!(texts(b"data: cut off"), ["cut off"]);
        assert_eq!(texts(b"<html>\n\n"), Vec::<String>::new());
    }

    #[test]
    fn event_name_is_kept() {
        let events = decode([b"event: error\ndata: {}\n\ndata: 1\n\n".as_slice()]);
        assert_eq!(
            events,
            [
                Event::Data { name: "error".into(), data: "{}".into() },
                Event::Data { name: String::new(), data: "1".into() }
            ]
        );
    }

    #[test]
    fn oversized_line_loses_one_event_only() {
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        decoder.push(b"data: ", &mut events);
        for _ in 0..80 {
            decoder.push(&[b'x'; 131_072], &mut events);
            assert!(decoder.line.len() <= LINE_CAP);
        }
        decoder.push(b"\n\ndata: after\n\n", &mut events);
        assert_eq!(events, [Event::TooLong, Event::Data { name: String::new(), data: "after".into() }]);

        let many_lines = [b"data: ".as_slice(), &[b'y'; 700_000], b"\n"].concat().repeat(3);
        assert_eq!(texts(&[many_lines.as_slice(), b"\n"].concat()), ["TOO LONG"]);
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_events(
            lines in prop::collection::vec((prop_oneof![
                Just("data: {\"a\":\"é→🦀\"}".to_owned()), Just("data:".to_owned()), Just(": c".to_owned()),
                Just(String::new()), Just("event: error".to_owned()), "[a-z: \u{e9}]{0,12}"
            ], 0..3usize), 0..24),
            bom in any::<bool>(),
            cuts in prop::collection::vec(1..9usize, 1..40),
        ) {
            let mut stream = if bom { BOM.to_vec() } else { Vec::new() };
            for (line, end) in &lines {
                stream.extend_from_slice(line.as_bytes());
                stream.extend_from_slice([b"\n".as_slice(), b"\r", b"\r\n"][*end]);
            }
            let mut pieces = Vec::new();
            let (mut rest, mut cut) = (stream.as_slice(), cuts.iter().cycle());
            while !rest.is_empty() {
                let (piece, after) = rest.split_at((*cut.next().unwrap()).min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            prop_assert_eq!(decode(pieces), decode([stream.as_slice()]));
        }

        #[test]
        fn any_bytes_are_handled(bytes in prop::collection::vec(any::<u8>(), 0..400), size in 1..7usize) {
            prop_assert_eq!(decode(bytes.chunks(size)), decode([bytes.as_slice()]));
        }
    }
}
