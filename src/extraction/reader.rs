//! The server's side of one reader. Its answers are trusted no more than the document it reads.

use std::io;
use std::time::Duration;

use tokio::time::timeout;

use super::wire::{HEAD, ReplyFrame, ReplyHead};
use super::{ARGUMENT, READ, REFUSED, TIME_IS_UP};
use crate::retrieval::extract::Unreadable;
use crate::sandbox::{Exit, Helper, Sandbox};

/// Address space of a reader; of it, 64 MB are stack and some 100 the program itself.
const MEMORY: u64 = 512 << 20;
/// How long one document may take by the clock, for a reader that no longer counts its own time.
const WALL: Duration = Duration::from_secs(60);
/// What a parser keeps for good ends with its process.
const DOCUMENTS: u32 = 500;

pub struct Reader {
    helper: Helper,
    served: u32,
}

type Read = Result<(String, String), Unreadable>;

/// Has a document read, by a new reader where there is none. The reader is given back if it is fit for another one.
///
/// A reader that has served before and dies is no proof against the document: what was read before may have left it short
/// of memory. Then it is read once more by a fresh one.
pub async fn read(sandbox: &Sandbox, reader: Option<Reader>, request: &ReplyFrame) -> (Read, Option<Reader>) {
    let mut waiting = reader;
    loop {
        let mut reader = match waiting.take() {
            Some(reader) => reader,
            None => match sandbox.helper(ARGUMENT, MEMORY).await {
                Ok(helper) => Reader { helper, served: 0 },
                Err(error) => return (Err(Unreadable::NoReader(error.to_string())), None),
            },
        };
        match timeout(WALL, reader.exchange(request)).await {
            Ok(Ok(read)) => {
                reader.served += 1;
                if reader.served < DOCUMENTS {
                    return (read, Some(reader));
                }
                reader.end().await;
                return (read, None);
            }
            Ok(Err(_)) => {
                let served = reader.served;
                let (exit, said) = reader.helper.end().await;
                if served == 0 || exit == Exit::Code(TIME_IS_UP) {
                    return (Err(reason(exit, &said)), None);
                }
            }
            Err(_) => {
                reader.end().await;
                return (Err(Unreadable::TimeLimit), None);
            }
        }
    }
}

impl Reader {
    async fn exchange(&mut self, request: &ReplyFrame) -> io::Result<Read> {
        self.helper.write(&request.head().ok_or(io::ErrorKind::InvalidInput)?).await?;
        self.helper.write(&request.first).await?;
        self.helper.write(&request.second).await?;
        let head = self.helper.read(HEAD).await?.try_into().map_err(|_| io::ErrorKind::InvalidData)?;
        let head = ReplyHead::parse(head).ok_or(io::ErrorKind::InvalidData)?;
        let first = self.helper.read(head.first).await?;
        let second = self.helper.read(head.second).await?;
        let text = |bytes| String::from_utf8(bytes).map_err(|_| io::Error::from(io::ErrorKind::InvalidData));
        match head.tag {
            READ => Ok(Ok((text(first)?, text(second)?))),
            REFUSED => Ok(Err(serde_json::from_slice(&first)?)),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    pub async fn end(self) {
        self.helper.end().await;
    }
}

/// What ended a reader. Rust says on standard error why it aborts, and aborts for nearly everything.
fn reason(exit: Exit, said: &str) -> Unreadable {
    match exit {
        Exit::Code(TIME_IS_UP) => Unreadable::TimeLimit,
        _ if said.contains("has overflowed its stack") => Unreadable::TooDeep,
        _ if said.contains("memory allocation of") => Unreadable::MemoryLimit,
        // Nobody but the kernel does this, when memory is short.
        Exit::Signal(libc::SIGKILL) => Unreadable::MemoryLimit,
        Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut | Exit::Cancelled => Unreadable::Damaged,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_what_ended_the_reader() {
        let abort = Exit::Signal(libc::SIGABRT);
        for (exit, said, reason_expected) in [
            (Exit::Code(TIME_IS_UP), "", Unreadable::TimeLimit),
            (abort, "\nthread '<unnamed>' has overflowed its stack\nfatal runtime error", Unreadable::TooDeep),
            (abort, "memory allocation of 4294967296 bytes failed\n", Unreadable::MemoryLimit),
            (Exit::Signal(libc::SIGKILL), "", Unreadable::MemoryLimit),
            (Exit::Signal(libc::SIGSEGV), "", Unreadable::Damaged),
            (Exit::Code(1), "", Unreadable::Damaged),
        ] {
            assert_eq!(reason(exit, said), reason_expected, "{exit:?} {said}");
        }
    }
}
