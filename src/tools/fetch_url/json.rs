//! Indents JSON if that costs little.
//!
//! Indentation multiplies the size of a deeply nested document: 3 MB of brackets become 380 MB. Therefore only small
//! documents are indented, only if the result stays small too, and never on a thread of the async runtime.

use std::io::{Error, Write};

use serde::Serialize;
use serde_json::{Serializer, Value};

/// Maximum bytes of a document to indent, and of the result. A larger document stays as received.
const LARGEST: usize = 256 << 10;

/// Returns the indented document, or the original text if it is large, nested deeper than the parser's limit (128), or not
/// JSON.
pub async fn readable(text: String) -> String {
    if text.len() > LARGEST {
        return text;
    }
    let text = std::sync::Arc::new(text);
    let source = text.clone();
    let laid_out = tokio::task::spawn_blocking(move || lay_out(&source)).await;
    laid_out.ok().flatten().unwrap_or_else(|| std::sync::Arc::unwrap_or_clone(text))
}

fn lay_out(text: &str) -> Option<String> {
    let value: Value = serde_json::from_str(text).ok()?;
    let mut out = BoundedBuffer(Vec::new());
    value.serialize(&mut Serializer::pretty(&mut out)).ok()?;
    String::from_utf8(out.0).ok()
}

/// A buffer of at most [`LARGEST`] bytes.
struct BoundedBuffer(Vec<u8>);

impl Write for BoundedBuffer {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        if self.0.len() + bytes.len() > LARGEST {
            return Err(Error::other("larger than is laid out"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[tokio::test]
    async fn large_or_deep_json_is_unchanged() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for text in [
            // Small, but the indented result would not be.
            format!("[{}0]", format!("{},", nested(100)).repeat(1_000)),
            // Small once indented, but large itself.
            format!("[{}0]", " ".repeat(LARGEST)),
            // Nested too deep for any stack.
            nested(100_000),
        ] {
            assert_eq!(readable(text.clone()).await, text);
        }
        // Negative control: the same shape, a little smaller, is indented.
        assert!(readable(format!("[{}0]", format!("{},", nested(10)).repeat(100))).await.starts_with("[\n  [\n    ["));
    }

    #[tokio::test]
    async fn json_parsing_does_not_block_runtime() {
        let ran = Arc::new(AtomicBool::new(false));
        let mark = ran.clone();
        tokio::spawn(async move { mark.store(true, Ordering::SeqCst) });
        let text = format!("[{}0]", "0,".repeat(LARGEST / 2 - 8));
        readable(text).await;
        // This runtime has one thread: the other task ran while this one waited, or not at all.
        assert!(ran.load(Ordering::SeqCst));
    }
}
