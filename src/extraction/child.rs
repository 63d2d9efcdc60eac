//! The reader: this program as a helper process, which converts one document after the other to text until the server stops
//! it or a document crashes it.

use std::io;
use std::panic::catch_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::{EXIT_CODE_TIMEOUT, ExtractedText, PAGE, READ, REFUSED, page};
use crate::retrieval::extract::{DocumentKind, Unreadable};
use crate::sandbox::helper_output;
use crate::sandbox::{Frame, MAX_FRAME_SIZE};

/// Stack size in bytes. Parsers recurse, so it limits how deeply a document may be nested.
const STACK_SIZE: usize = 64 << 20;
/// Maximum CPU time for one document. It is not wall-clock time: on a loaded machine a good document would be marked
/// unreadable.
const CPU_TIME_LIMIT: Duration = Duration::from_secs(10);
/// Interval between two checks of the CPU time.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Serves requests until the server closes standard input. Returns the process's exit code.
pub fn serve() -> i32 {
    // Nobody needs the message of a parser's panic: the reply is that the document is damaged.
    std::panic::set_hook(Box::new(|_| {}));
    let watchdog = Arc::new(CpuTimeWatchdog::default());
    let for_reader = watchdog.clone();
    let reader = thread::Builder::new().stack_size(STACK_SIZE).spawn(move || replies(&for_reader));
    match reader {
        Ok(reader) => {
            thread::spawn(move || watchdog.run());
            match reader.join() {
                Ok(Ok(())) => 0,
                Ok(Err(_)) | Err(_) => 1,
            }
        }
        Err(_) => 1,
    }
}

fn replies(watchdog: &CpuTimeWatchdog) -> io::Result<()> {
    let mut output = helper_output()?;
    let mut input = io::stdin().lock();
    while let Some(request) = Frame::read(&mut input)? {
        watchdog.begin();
        let reply = reply(&request);
        watchdog.end();
        reply.write(&mut output)?;
    }
    Ok(())
}

fn reply(request: &Frame) -> Frame {
    let read = catch_unwind(|| {
        if request.tag == PAGE {
            return page(&request.first, &request.second);
        }
        let kind = DocumentKind::ALL.into_iter().find(|kind| *kind as u8 == request.tag).ok_or(Unreadable::Damaged)?;
        kind.read(&request.second).map(|text| ExtractedText { title: String::new(), text })
    });
    let frame = match read.unwrap_or(Err(Unreadable::Damaged)) {
        Ok(ExtractedText { title, text }) if title.len() + text.len() > MAX_FRAME_SIZE => {
            refused(&Unreadable::TextLimit)
        }
        Ok(ExtractedText { title, text }) => Frame { tag: READ, first: title.into_bytes(), second: text.into_bytes() },
        Err(why) => refused(&why),
    };
    crate::heap::trim_heap();
    frame
}

fn refused(why: &Unreadable) -> Frame {
    let why = serde_json::to_vec(why).expect("a code and a text are JSON");
    Frame { tag: REFUSED, first: why, second: Vec::new() }
}

/// Ends the process when a document takes too long, because parsers cannot be cancelled.
#[derive(Default)]
struct CpuTimeWatchdog {
    /// The process's CPU time at which the current document times out.
    deadline: Mutex<Option<Duration>>,
    begun: Condvar,
}

impl CpuTimeWatchdog {
    fn deadline(&self) -> MutexGuard<'_, Option<Duration>> {
        self.deadline.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self) {
        *self.deadline() = Some(cpu_time() + CPU_TIME_LIMIT);
        self.begun.notify_one();
    }

    fn end(&self) {
        *self.deadline() = None;
    }

    fn run(&self) {
        let mut deadline = self.deadline();
        loop {
            deadline = match *deadline {
                None => self.begun.wait(deadline).unwrap_or_else(PoisonError::into_inner),
                Some(time) if cpu_time() > time => std::process::exit(EXIT_CODE_TIMEOUT),
                Some(_) => self.begun.wait_timeout(deadline, CHECK_INTERVAL).unwrap_or_else(PoisonError::into_inner).0,
            }
        }
    }
}

/// Returns the CPU time of this process.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}
