//! The server's side of one reader. Its replies are as untrusted as the document that it reads.

use std::io;
use std::time::Duration;

use tokio::time::timeout;

use super::{ARGUMENT, EXIT_CODE_TIMEOUT, ExtractedText, READ, REFUSED};
use crate::retrieval::extract::Unreadable;
use crate::sandbox::{Exit, Helper, Sandbox};
use crate::sandbox::{Frame, FrameHeader, HEADER_SIZE};

/// Maximum address space of a reader in bytes; 64 MB of it are stack, and about 100 MB the program itself.
const MEMORY_LIMIT: u64 = 512 << 20;
/// Maximum wall-clock time for one document, in case a reader does not enforce its own CPU time limit.
const WALL_TIME_LIMIT: Duration = Duration::from_secs(60);
/// Maximum number of documents per reader: memory that parsers leak is freed with the process.
const MAX_DOCUMENTS: u32 = 500;

pub struct ReaderProcess {
    helper: Helper,
    served: u32,
}

type Read = Result<ExtractedText, Unreadable>;

/// Reads a document with the given reader, or with a new one. Returns the reader if it can read another document.
///
/// If a reader that has served before crashes, the document need not be the cause: earlier documents may have left the
/// reader short of memory. A new reader then retries the document once.
pub async fn read(sandbox: &Sandbox, reader: Option<ReaderProcess>, request: &Frame) -> (Read, Option<ReaderProcess>) {
    let mut waiting = reader;
    loop {
        let mut reader = match waiting.take() {
            Some(reader) => reader,
            None => match sandbox.helper(ARGUMENT, MEMORY_LIMIT).await {
                Ok(helper) => ReaderProcess { helper, served: 0 },
                Err(error) => return (Err(Unreadable::NoReader(error.to_string())), None),
            },
        };
        match timeout(WALL_TIME_LIMIT, reader.exchange(request)).await {
            Ok(Ok(read)) => {
                reader.served += 1;
                if reader.served < MAX_DOCUMENTS {
                    return (read, Some(reader));
                }
                reader.end().await;
                return (read, None);
            }
            Ok(Err(_)) => {
                let served = reader.served;
                let (exit, stderr) = reader.helper.end().await;
                if served == 0 || exit == Exit::Code(EXIT_CODE_TIMEOUT) {
                    return (Err(reason(exit, &stderr)), None);
                }
            }
            Err(_) => {
                reader.end().await;
                return (Err(Unreadable::TimeLimit), None);
            }
        }
    }
}

impl ReaderProcess {
    async fn exchange(&mut self, request: &Frame) -> io::Result<Read> {
        self.helper.write(&request.header().ok_or(io::ErrorKind::InvalidInput)?).await?;
        self.helper.write(&request.first).await?;
        self.helper.write(&request.second).await?;
        let header = self.helper.read(HEADER_SIZE).await?.try_into().map_err(|_| io::ErrorKind::InvalidData)?;
        let header = FrameHeader::parse(header).ok_or(io::ErrorKind::InvalidData)?;
        let first = self.helper.read(header.first).await?;
        let second = self.helper.read(header.second).await?;
        let text = |bytes| String::from_utf8(bytes).map_err(|_| io::Error::from(io::ErrorKind::InvalidData));
        match header.tag {
            READ => Ok(Ok(ExtractedText { title: text(first)?, text: text(second)? })),
            REFUSED => Ok(Err(serde_json::from_slice(&first)?)),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    pub async fn end(self) {
        self.helper.end().await;
    }
}

/// Determines why a reader ended. Rust aborts in nearly all cases, and prints the reason to standard error.
fn reason(exit: Exit, stderr: &str) -> Unreadable {
    match exit {
        Exit::Code(EXIT_CODE_TIMEOUT) => Unreadable::TimeLimit,
        _ if stderr.contains("has overflowed its stack") => Unreadable::TooDeep,
        _ if stderr.contains("memory allocation of") => Unreadable::MemoryLimit,
        // Only the kernel sends this signal, when memory is short.
        Exit::Signal(libc::SIGKILL) => Unreadable::MemoryLimit,
        Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut | Exit::Cancelled => Unreadable::Damaged,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_reason_is_how_reader_ended() {
        let abort = Exit::Signal(libc::SIGABRT);
        for (exit, stderr, reason_expected) in [
            (Exit::Code(EXIT_CODE_TIMEOUT), "", Unreadable::TimeLimit),
            (abort, "\nthread '<unnamed>' has overflowed its stack\nfatal runtime error", Unreadable::TooDeep),
            (abort, "memory allocation of 4294967296 bytes failed\n", Unreadable::MemoryLimit),
            (Exit::Signal(libc::SIGKILL), "", Unreadable::MemoryLimit),
            (Exit::Signal(libc::SIGSEGV), "", Unreadable::Damaged),
            (Exit::Code(1), "", Unreadable::Damaged),
        ] {
            assert_eq!(reason(exit, stderr), reason_expected, "{exit:?} {stderr}");
        }
    }
}
