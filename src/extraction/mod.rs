//! Extracts text from documents in a sandboxed helper process.
//!
//! PDF, HTML and office files come from anywhere, and a hostile one can make a parser overflow its stack, never finish or
//! use all memory. No thread survives that, so a **reader** parses them: this program as a helper process
//! ([`Sandbox::helper`]), confined like a command, with limits on its memory, on the time of each document and on its text.
//! One reader serves many documents, one after the other, and is stopped when it is idle for a while. If a document crashes
//! its reader, the reply is the reason, and the next document gets a new reader.

mod child;
mod html;
mod reader;

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::{Instant, sleep_until};
use url::Url;

use self::reader::ReaderProcess;
use crate::retrieval::extract::{DocumentKind, Unreadable};
use crate::sandbox::Frame;
use crate::sandbox::Sandbox;

pub use self::html::Page;

/// The command-line argument that starts the program as a reader.
const ARGUMENT: &str = "__read_documents";
/// Tag of a request with a web page; the other tags are the kinds of documents.
const PAGE: u8 = 100;
const READ: u8 = 0;
const REFUSED: u8 = 1;
/// Exit code of a reader whose document takes too long.
const EXIT_CODE_TIMEOUT: i32 = 3;

/// Maximum number of concurrent readers: one for each library, and one more for web pages.
const MAX_READERS: usize = 3;
/// Maximum number of readers of all people that work at once.
const MAX_BUSY: usize = 8;
/// Idle time after which a reader is stopped.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Runs the reader and never returns, if this process was started as one. Call this early in `main`, before any thread
/// exists.
pub fn read_documents_if_asked() {
    if std::env::args_os().nth(1).is_some_and(|first| first == ARGUMENT) {
        std::process::exit(child::serve());
    }
}

/// The text that a reader made of a document or a web page.
struct ExtractedText {
    /// Empty if there is none.
    title: String,
    text: String,
}

/// Converts a web page; runs in the reader.
fn page(url: &[u8], html: &[u8]) -> Result<ExtractedText, Unreadable> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| Unreadable::NotUtf8);
    let url: Url = text(url)?.parse().map_err(|_| Unreadable::Damaged)?;
    let Page { title, text } = html::convert(&text(html)?, &url);
    Ok(ExtractedText { title: title.unwrap_or_default(), text })
}

/// Extracts text with readers. Cheap to clone; starts nothing before the first document.
#[derive(Clone)]
pub struct Extractor {
    sandbox: Sandbox,
    idle: Duration,
    /// One for each reader that works.
    turns: Arc<Semaphore>,
    requests: Arc<Mutex<Option<mpsc::UnboundedSender<Request>>>>,
}

struct Request {
    frame: Frame,
    reply: oneshot::Sender<Result<ExtractedText, Unreadable>>,
}

impl Extractor {
    pub fn new(sandbox: Sandbox) -> Self {
        Self { sandbox, idle: IDLE_TIMEOUT, turns: Arc::new(Semaphore::new(MAX_BUSY)), requests: Arc::default() }
    }

    /// Returns an extractor with readers of its own, which never see a document of another: what a hostile document does to
    /// its reader reaches no other person's. All of them together work as many at once as one.
    pub fn apart(&self, sandbox: Sandbox) -> Self {
        Self { sandbox, requests: Arc::default(), ..self.clone() }
    }

    /// Sets the idle time after which a reader is stopped.
    pub fn with_idle(self, idle: Duration) -> Self {
        Self { idle, ..self }
    }

    /// Returns the text of a document as Markdown. Blocks, so an async task must not call it.
    ///
    /// # Errors
    /// Returns the reason why the document has no text.
    pub fn read(&self, kind: DocumentKind, bytes: Vec<u8>) -> Result<String, Unreadable> {
        let reply = self.send(Frame { tag: kind as u8, first: Vec::new(), second: bytes });
        reply.blocking_recv().unwrap_or_else(|_| Err(gone())).map(|read| read.text)
    }

    /// Returns the text of a web page. Dropping the future cancels the extraction.
    ///
    /// # Errors
    /// Returns the reason why the page has no text.
    pub async fn page(&self, url: &Url, html: String) -> Result<Page, Unreadable> {
        let reply = self.send(Frame { tag: PAGE, first: url.as_str().into(), second: html.into_bytes() });
        let ExtractedText { title, text } = reply.await.unwrap_or_else(|_| Err(gone()))?;
        Ok(Page { title: (!title.is_empty()).then_some(title), text })
    }

    fn send(&self, frame: Frame) -> oneshot::Receiver<Result<ExtractedText, Unreadable>> {
        let (reply, receiver) = oneshot::channel();
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        if requests.is_none() {
            *requests = start((self.sandbox.clone(), self.turns.clone()), self.idle).ok();
        }
        if let Some(requests) = requests.as_ref() {
            // If the serving thread has ended, the receiver gets an error.
            let _ = requests.send(Request { frame, reply });
        }
        receiver
    }
}

fn gone() -> Unreadable {
    Unreadable::NoReader("the thread for it could not be started".to_owned())
}

/// Starts a thread with its own runtime, which serves blocking callers as well as async tasks, even while the server's
/// runtime shuts down.
fn start(
    (sandbox, turns): (Sandbox, Arc<Semaphore>),
    idle_timeout: Duration,
) -> std::io::Result<mpsc::UnboundedSender<Request>> {
    let (sender, requests) = mpsc::unbounded_channel();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let serving = move || runtime.block_on(serve((sandbox, turns), idle_timeout, requests));
    thread::Builder::new().name("documents".to_owned()).spawn(serving)?;
    Ok(sender)
}

/// Serves requests until the last [`Extractor`] is dropped.
async fn serve(
    (sandbox, turns): (Sandbox, Arc<Semaphore>),
    idle_timeout: Duration,
    mut requests: mpsc::UnboundedReceiver<Request>,
) {
    let (back, mut returned) = mpsc::unbounded_channel::<Option<ReaderProcess>>();
    // The reader used last is taken first, so that the others can reach their idle timeout.
    let mut idle: Vec<(ReaderProcess, Instant)> = Vec::new();
    let mut busy = 0;
    loop {
        let next = idle.first().map(|(_, since)| *since + idle_timeout);
        tokio::select! {
            biased;
            Some(reader) = returned.recv() => {
                busy -= 1;
                idle.extend(reader.map(|reader| (reader, Instant::now())));
            }
            request = requests.recv(), if busy < MAX_READERS => {
                let Some(request) = request else { return };
                busy += 1;
                let (reader, sandbox, back) = (idle.pop().map(|(reader, _)| reader), sandbox.clone(), back.clone());
                let turns = turns.clone();
                tokio::spawn(async move {
                    // It is never closed.
                    let _turn = turns.acquire_owned().await;
                    answer(&sandbox, reader, request, |reader| drop(back.send(reader))).await;
                });
            }
            () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {
                tokio::spawn(idle.remove(0).0.end());
            }
        }
    }
}

/// Answers a request. First gives the reader back if it can continue, so that the caller's next request finds it.
async fn answer(
    sandbox: &Sandbox,
    reader: Option<ReaderProcess>,
    request: Request,
    return_reader: impl FnOnce(Option<ReaderProcess>),
) {
    let Request { frame, mut reply } = request;
    tokio::select! {
        (read, reader) = reader::read(sandbox, reader, &frame) => {
            return_reader(reader);
            let _ = reply.send(read);
        }
        // Dropping the reader kills it.
        () = reply.closed() => return_reader(None),
    }
}
