//! Messages of a protocol on standard input and output, one JSON text on each line.

use std::io::{BufRead, Write, stdin, stdout};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// Maximum length of a message, in bytes: what pictures and files of an editor need.
const MAX_LINE: usize = 24 << 20;
const LAST_LINES: Duration = Duration::from_secs(1);

/// Returns the lines of standard input, each with whether it is complete and short enough.
pub fn read_lines() -> mpsc::Receiver<Result<Vec<u8>, &'static str>> {
    let (lines, received) = mpsc::channel(16);
    // A thread of its own: reading from a terminal or a pipe cannot be cancelled.
    std::thread::spawn(move || {
        let mut input = stdin().lock();
        loop {
            let mut line = Vec::new();
            let mut limited = std::io::Read::take(&mut input, MAX_LINE as u64 + 1);
            let read = match limited.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) if line.len() > MAX_LINE => {
                    if line.last() != Some(&b'\n') {
                        let _ = input.skip_until(b'\n');
                    }
                    Err("a message is longer than 24 MiB")
                }
                Ok(_) => Ok(line),
            };
            if lines.blocking_send(read).is_err() {
                break;
            }
        }
    });
    received
}

/// Returns where messages for standard output go, and what waits until they are written, for a second at most. They are
/// written one after the other, each on a line.
pub fn write_lines() -> (mpsc::Sender<Value>, impl Future<Output = ()>) {
    let (ended, end) = oneshot::channel::<()>();
    let (messages, mut received) = mpsc::channel::<Value>(64);
    std::thread::spawn(move || {
        while let Some(message) = received.blocking_recv() {
            let mut out = stdout().lock();
            if writeln!(out, "{message}").and_then(|()| out.flush()).is_err() {
                break;
            }
        }
        drop(ended);
    });
    let written = async {
        let _ = tokio::time::timeout(LAST_LINES, end).await;
    };
    (messages, written)
}
