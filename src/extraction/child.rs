//! The reader: this program as a helper process, which converts one document after the other to text until the server stops
//! it or a document crashes it.

use std::io;
use std::panic::catch_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::wire::{LIMIT, ReplyFrame};
use super::{PAGE, READ, REFUSED, TIME_IS_UP, page};
use crate::retrieval::extract::{DocumentKind, Unreadable};
use crate::sandbox::helper_output;

/// Stack size in bytes. Parsers recurse, so it limits how deeply a document may be nested.
const STACK: usize = 64 << 20;
/// Maximum CPU time for one document. It is not wall-clock time: on a loaded machine a good document would be marked
/// unreadable.
const TIME: Duration = Duration::from_secs(10);
/// Interval between two checks of the CPU time.
const LOOK: Duration = Duration::from_millis(50);

/// Serves requests until the server closes standard input. Returns the process's exit code.
pub fn serve() -> i32 {
    // Nobody needs the message of a parser's panic: the reply is that the document is damaged.
    std::panic::set_hook(Box::new(|_| {}));
    let watch = Arc::new(Watch::default());
    let watching = watch.clone();
    let reader = thread::Builder::new().stack_size(STACK).spawn(move || replies(&watching));
    match reader {
        Ok(reader) => {
            thread::spawn(move || watch.look());
            match reader.join() {
                Ok(Ok(())) => 0,
                Ok(Err(_)) | Err(_) => 1,
            }
        }
        Err(_) => 1,
    }
}

fn replies(watch: &Watch) -> io::Result<()> {
    let mut output = helper_output()?;
    let mut input = io::stdin().lock();
    while let Some(request) = ReplyFrame::read(&mut input)? {
        watch.begin();
        let reply = reply(&request);
        watch.end();
        reply.write(&mut output)?;
    }
    Ok(())
}

fn reply(request: &ReplyFrame) -> ReplyFrame {
    let read = catch_unwind(|| {
        if request.tag == PAGE {
            return page(&request.first, &request.second);
        }
        let kind = DocumentKind::ALL.into_iter().find(|kind| *kind as u8 == request.tag).ok_or(Unreadable::Damaged)?;
        kind.read(&request.second).map(|text| (String::new(), text))
    });
    let frame = match read.unwrap_or(Err(Unreadable::Damaged)) {
        Ok((title, text)) if title.len() + text.len() > LIMIT => refused(&Unreadable::TextLimit),
        Ok((title, text)) => ReplyFrame { tag: READ, first: title.into_bytes(), second: text.into_bytes() },
        Err(why) => refused(&why),
    };
    crate::heap::give_back();
    frame
}

fn refused(why: &Unreadable) -> ReplyFrame {
    let why = serde_json::to_vec(why).expect("a code and a text are JSON");
    ReplyFrame { tag: REFUSED, first: why, second: Vec::new() }
}

/// Ends the process when a document takes too long, because parsers cannot be cancelled.
#[derive(Default)]
struct Watch {
    /// The process's CPU time at which the current document times out.
    over: Mutex<Option<Duration>>,
    begun: Condvar,
}

impl Watch {
    fn over(&self) -> MutexGuard<'_, Option<Duration>> {
        self.over.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self) {
        *self.over() = Some(used() + TIME);
        self.begun.notify_one();
    }

    fn end(&self) {
        *self.over() = None;
    }

    fn look(&self) {
        let mut over = self.over();
        loop {
            over = match *over {
                None => self.begun.wait(over).unwrap_or_else(PoisonError::into_inner),
                Some(time) if used() > time => std::process::exit(TIME_IS_UP),
                Some(_) => self.begun.wait_timeout(over, LOOK).unwrap_or_else(PoisonError::into_inner).0,
            }
        }
    }
}

/// Returns the CPU time of this process.
fn used() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}
