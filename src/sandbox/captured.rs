//! Captured output of a process within a size limit: its beginning, its end, and its total size.

use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::domain::{Mask, MaskedStream};

/// Maximum bytes read from one stream. Then the stream is closed, and the process usually ends by SIGPIPE.
pub const STREAM_END: u64 = 64 << 20;

/// Beginning and end of a byte stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    pub head: Vec<u8>,
    pub tail: Vec<u8>,
    /// Bytes received, kept or not.
    pub total_bytes: u64,
}

/// Text of limited length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClippedText {
    pub text: String,
    /// Whether anything was left out.
    pub is_clipped: bool,
}

impl Captured {
    pub fn is_empty(&self) -> bool {
        self.total_bytes == 0
    }

    /// Returns the text, with a marker where bytes were left out. Invalid UTF-8 becomes U+FFFD.
    pub fn text(&self) -> String {
        self.clip(usize::MAX).text
    }

    /// Returns at most `limit` characters of the text, from its beginning and its end. The marker for omitted bytes does not
    /// count.
    pub fn clip(&self, limit: usize) -> ClippedText {
        let kept = (self.head.len() + self.tail.len()) as u64;
        if kept == self.total_bytes {
            let whole = [self.head.as_slice(), &self.tail].concat();
            let text = String::from_utf8_lossy(&whole);
            if text.chars().nth(limit).is_none() {
                return ClippedText { text: text.into_owned(), is_clipped: false };
            }
            return self.clipped([front(&text, limit - limit / 2), back(&text, limit / 2)]);
        }
        let head = String::from_utf8_lossy(&self.head);
        let tail = String::from_utf8_lossy(&self.tail);
        self.clipped([front(&head, limit - limit / 2), back(&tail, limit / 2)])
    }

    fn clipped(&self, [head, tail]: [&str; 2]) -> ClippedText {
        let left_out = self.total_bytes.saturating_sub((head.len() + tail.len()) as u64);
        let text = format!("{head}\n[… {} bytes left out …]\n{tail}", grouped(left_out));
        ClippedText { text, is_clipped: true }
    }
}

fn front(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(at, _)| &text[..at])
}

fn back(text: &str, chars: usize) -> &str {
    if chars == 0 {
        return "";
    }
    text.char_indices().rev().nth(chars - 1).map_or(text, |(at, _)| &text[at..])
}

/// Formats a number with a comma at every thousand.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Receives the output of a running process, in pieces of up to 64 KiB.
pub type OutputSink<'a> = &'a (dyn Fn(&[u8]) + Sync);

/// Collects a stream into a [`Captured`] of at most `cap` bytes.
pub struct Collector {
    cap: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total_bytes: u64,
    /// Hides secrets before anything is kept.
    masked: MaskedStream,
}

impl Collector {
    pub fn new(cap: usize) -> Self {
        Self::masking(cap, &Mask::default())
    }

    /// Creates a collector that hides secrets in the stream.
    pub fn masking(cap: usize, mask: &Mask) -> Self {
        Self { cap, head: Vec::new(), tail: VecDeque::new(), total_bytes: 0, masked: mask.stream() }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.total_bytes += bytes.len() as u64;
        let head_room = (self.cap - self.cap / 2).saturating_sub(self.head.len()).min(bytes.len());
        let (for_head, for_tail) = bytes.split_at(head_room);
        self.head.extend_from_slice(for_head);
        let tail_cap = self.cap / 2;
        let for_tail = &for_tail[for_tail.len().saturating_sub(tail_cap)..];
        let surplus = (self.tail.len() + for_tail.len()).saturating_sub(tail_cap);
        self.tail.drain(..surplus);
        self.tail.extend(for_tail);
    }

    /// Reads until the stream ends, fails or exceeds [`STREAM_END`]. Passes what it reads to `live` at once. If the future is dropped, the bytes read so far are
    /// kept.
    pub async fn fill(&mut self, mut from: impl AsyncRead + Unpin, live: OutputSink<'_>) {
        let mut buffer = vec![0; 64 << 10];
        while self.total_bytes < STREAM_END {
            match from.read(&mut buffer).await {
                Ok(0) | Err(_) => break,
                Ok(got) => {
                    let shown = self.masked.push(&buffer[..got]);
                    live(&shown);
                    self.push(&shown);
                }
            }
        }
        let rest = self.masked.end();
        live(&rest);
        self.push(&rest);
    }

    pub fn finish(mut self) -> Captured {
        // If reading was stopped, something may still wait.
        let rest = self.masked.end();
        self.push(&rest);
        Captured { head: self.head, tail: self.tail.into(), total_bytes: self.total_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(cap: usize, pieces: &[&[u8]]) -> Captured {
        let mut collector = Collector::new(cap);
        for piece in pieces {
            collector.push(piece);
        }
        collector.finish()
    }

    #[test]
    fn head_and_tail_are_kept_and_middle_is_counted() {
        let captured = collect(10, &[b"0123456", b"789abc", b"defghij"]);
        assert_eq!(captured, Captured { head: b"01234".into(), tail: b"fghij".into(), total_bytes: 20 });
        assert_eq!(captured.text(), "01234\n[… 10 bytes left out …]\nfghij");
    }

    #[test]
    fn output_within_cap_is_kept_whole() {
        let bytes = "héllo".as_bytes();
        for cut in 0..=bytes.len() {
            let captured = collect(6, &[&bytes[..cut], &bytes[cut..]]);
            assert_eq!(captured.text(), "héllo", "cut at {cut}");
        }
    }

    #[test]
    fn truncation_counts_characters_and_states_omission() {
        let captured = collect(1000, &["数据".repeat(10).as_bytes()]);
        assert_eq!(captured.clip(20), ClippedText { text: "数据".repeat(10), is_clipped: false });
        let text = "数据\n[… 48 bytes left out …]\n数据".to_owned();
        assert_eq!(captured.clip(4), ClippedText { text, is_clipped: true });
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([0, 999, 1000, 12_345, 1_234_567].map(grouped), ["0", "999", "1,000", "12,345", "1,234,567"]);
    }
}
