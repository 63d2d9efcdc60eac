//! Extracts text from documents in a sandboxed helper process.
//!
//! PDF, HTML and office files come from anywhere, and a parser that meets a hostile one may overflow its stack, never end or
//! take all memory there is. No thread survives that, so they are read by a **reader**: this program as a helper process
//! ([`Sandbox::helper`]), confined as a command is, with a limit on its memory, on the time of each document and on its text.
//! One reader serves many documents, one after the other, and is let go after a while without any. A document that ends it
//! is answered with the reason, and the next one gets a fresh reader.

mod child;
mod html;
mod reader;
mod wire;

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};
use url::Url;

use self::reader::Reader;
use self::wire::ReplyFrame;
use crate::retrieval::extract::{DocumentKind, Unreadable};
use crate::sandbox::Sandbox;

pub use self::html::Page;

/// The argument that makes the program a reader.
const ARGUMENT: &str = "__read_documents";
/// Beside the kinds of documents: a page of the web.
const PAGE: u8 = 100;
const READ: u8 = 0;
const REFUSED: u8 = 1;
/// How a reader exits whose document takes too long.
const TIME_IS_UP: i32 = 3;

/// Readers at one time: one for each library, and one more for pages.
const MOST: usize = 3;
/// A reader is let go after so long without a document.
const IDLE: Duration = Duration::from_secs(30);

/// If this process was started as a reader, does that work and never returns. To be called early in `main`, before any
/// thread exists.
pub fn read_documents_if_asked() {
    if std::env::args_os().nth(1).is_some_and(|first| first == ARGUMENT) {
        std::process::exit(child::serve());
    }
}

/// In the reader: a page of the web.
fn page(url: &[u8], html: &[u8]) -> Result<(String, String), Unreadable> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| Unreadable::NotUtf8);
    let url: Url = text(url)?.parse().map_err(|_| Unreadable::Damaged)?;
    let Page { title, text } = html::convert(&text(html)?, &url);
    Ok((title.unwrap_or_default(), text))
}

/// Has documents read. Cheap to clone; nothing is started before the first document.
#[derive(Clone)]
pub struct Extractor {
    sandbox: Sandbox,
    idle: Duration,
    requests: Arc<Mutex<Option<mpsc::UnboundedSender<Request>>>>,
}

struct Request {
    frame: ReplyFrame,
    reply: oneshot::Sender<Result<(String, String), Unreadable>>,
}

impl Extractor {
    pub fn new(sandbox: Sandbox) -> Self {
        Self { sandbox, idle: IDLE, requests: Arc::default() }
    }

    /// With another time after which a reader without work is let go.
    pub fn with_idle(self, idle: Duration) -> Self {
        Self { idle, ..self }
    }

    /// The text of a document as Markdown. Blocks: not to be called by an asynchronous task.
    ///
    /// # Errors
    /// Why it has none.
    pub fn read(&self, kind: DocumentKind, bytes: Vec<u8>) -> Result<String, Unreadable> {
        let reply = self.send(ReplyFrame { tag: kind as u8, first: Vec::new(), second: bytes });
        reply.blocking_recv().unwrap_or_else(|_| Err(gone())).map(|(_, text)| text)
    }

    /// The text of a page of the web. Who no longer waits for it stops the reading.
    ///
    /// # Errors
    /// Why it has none.
    pub async fn page(&self, url: &Url, html: String) -> Result<Page, Unreadable> {
        let reply = self.send(ReplyFrame { tag: PAGE, first: url.as_str().into(), second: html.into_bytes() });
        let (title, text) = reply.await.unwrap_or_else(|_| Err(gone()))?;
        Ok(Page { title: (!title.is_empty()).then_some(title), text })
    }

    fn send(&self, frame: ReplyFrame) -> oneshot::Receiver<Result<(String, String), Unreadable>> {
        let (reply, receiver) = oneshot::channel();
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        if requests.is_none() {
            *requests = start(self.sandbox.clone(), self.idle).ok();
        }
        if let Some(requests) = requests.as_ref() {
            // Where nobody serves any more, the receiver learns it.
            let _ = requests.send(Request { frame, reply });
        }
        receiver
    }
}

fn gone() -> Unreadable {
    Unreadable::NoReader("the thread for it could not be started".to_owned())
}

/// A thread with a runtime of its own: documents are read for callers that block as well as for tasks, also while the server's
/// runtime ends.
fn start(sandbox: Sandbox, patience: Duration) -> std::io::Result<mpsc::UnboundedSender<Request>> {
    let (sender, requests) = mpsc::unbounded_channel();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let serving = move || runtime.block_on(serve(sandbox, patience, requests));
    thread::Builder::new().name("documents".to_owned()).spawn(serving)?;
    Ok(sender)
}

/// Until no [`Extractor`] is left.
async fn serve(sandbox: Sandbox, patience: Duration, mut requests: mpsc::UnboundedReceiver<Request>) {
    let (back, mut returned) = mpsc::unbounded_channel::<Option<Reader>>();
    // Used last, taken first: the others get their time to be let go.
    let mut idle: Vec<(Reader, Instant)> = Vec::new();
    let mut busy = 0;
    loop {
        let next = idle.first().map(|(_, since)| *since + patience);
        tokio::select! {
            biased;
            Some(reader) = returned.recv() => {
                busy -= 1;
                idle.extend(reader.map(|reader| (reader, Instant::now())));
            }
            request = requests.recv(), if busy < MOST => {
                let Some(request) = request else { return };
                busy += 1;
                let (reader, sandbox, back) = (idle.pop().map(|(reader, _)| reader), sandbox.clone(), back.clone());
                tokio::spawn(async move {
                    answer(&sandbox, reader, request, |reader| drop(back.send(reader))).await;
                });
            }
            () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {
                tokio::spawn(idle.remove(0).0.end());
            }
        }
    }
}

/// Answers a request, but first gives the reader back where it can go on: who gets the answer and asks again meets it.
async fn answer(sandbox: &Sandbox, reader: Option<Reader>, request: Request, give_back: impl FnOnce(Option<Reader>)) {
    let Request { frame, mut reply } = request;
    tokio::select! {
        (read, reader) = reader::read(sandbox, reader, &frame) => {
            give_back(reader);
            let _ = reply.send(read);
        }
        // Dropping the reader kills it.
        () = reply.closed() => give_back(None),
    }
}
