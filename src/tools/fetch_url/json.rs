//! Indents JSON, where that costs little.
//!
//! Indentation multiplies the size of a deeply nested document: 3 MB of brackets become 380 MB. So only small documents
//! are laid out, only while the result stays small too, and never on a thread of the async runtime.

use std::io::{Error, Write};

use serde::Serialize;
use serde_json::{Serializer, Value};

/// Bytes of a document that is laid out, and of the result. A larger one is left as it came.
const LARGEST: usize = 256 << 10;

/// The document laid out, or as it came: one that is large, is nested deeper than the parser goes (128), or is no JSON.
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

/// Takes at most [`LARGEST`] bytes.
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
    async fn large_or_deep_json_is_left_as_it_came() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for text in [
            // Small, but the result would not be.
            format!("[{}0]", format!("{},", nested(100)).repeat(1_000)),
            // Small once laid out, but large itself.
            format!("[{}0]", " ".repeat(LARGEST)),
            // Deeper than any stack.
            nested(100_000),
        ] {
            assert_eq!(readable(text.clone()).await, text);
        }
        // Negative control: the same shape, a little smaller, is laid out.
        assert!(readable(format!("[{}0]", format!("{},", nested(10)).repeat(100))).await.starts_with("[\n  [\n    ["));
    }

    #[tokio::test]
    async fn parsing_json_leaves_the_runtime_free() {
        let ran = Arc::new(AtomicBool::new(false));
        let mark = ran.clone();
        tokio::spawn(async move { mark.store(true, Ordering::SeqCst) });
        let text = format!("[{}0]", "0,".repeat(LARGEST / 2 - 8));
        readable(text).await;
        // This runtime has one thread: the other task ran while this one waited, or not at all.
        assert!(ran.load(Ordering::SeqCst));
    }
}
