//! One exchange with a provider: its attempts, the waits between them, and the outcome.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::adapt::{self, Adjustment};
use super::assemble::{Assembler, ReadFlow};
use super::classify::break_cause;
use super::client::{Audience, Shared};
use super::error::{ConnectionFailure, ProviderError, TimeoutPhase};
use super::retry::{Retries, retry_after};
use super::sse::{Decoder, Event};
use super::{StatusKind, StreamChunk};

/// Maximum bytes of one response.
pub(super) const MAX_RESPONSE_BYTES: usize = 16 << 20;
/// Maximum bytes read of an error's body.
const MAX_ERROR_BYTES: usize = 64 << 10;
/// How long to wait for usage after the finish reason, and for the body of an error.
const TRAILING_DATA_TIMEOUT: Duration = Duration::from_secs(5);
/// How long to wait for the end of a response, so that its connection can be reused.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

type Driver = Pin<Box<dyn Future<Output = Result<(), ProviderError>> + Send>>;

/// The answer to one request, as a stream. Sends nothing before the first `next`; dropping it cancels the request.
pub struct AnswerStream {
    /// The exchange itself; not in a task of its own, so that dropping the stream cancels it. `None` once it has ended.
    driver: Option<Driver>,
    chunks: mpsc::Receiver<StreamChunk>,
    error: Option<ProviderError>,
    audience: Audience,
}

impl AnswerStream {
    pub(super) fn new(shared: Arc<Shared>, (body, audience): (Value, Audience)) -> Self {
        let (out, chunks) = mpsc::channel(64);
        Self { driver: Some(Box::pin(drive(shared, body, out))), chunks, error: None, audience }
    }

    /// Returns the next chunk; `None` after `Finish` or an error. Cancel-safe: no chunk is lost when the future is
    /// dropped.
    pub async fn next(&mut self) -> Option<Result<StreamChunk, ProviderError>> {
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<StreamChunk, ProviderError>>> {
        loop {
            match self.chunks.poll_recv(context) {
                Poll::Ready(Some(chunk)) => return Poll::Ready(Some(Ok(chunk))),
                Poll::Ready(None) if self.driver.is_none() => return Poll::Ready(self.error.take().map(Err)),
                Poll::Ready(None) | Poll::Pending => {}
            }
            let Some(driver) = &mut self.driver else { return Poll::Pending };
            match driver.as_mut().poll(context) {
                Poll::Ready(result) => {
                    self.error = result.err().map(|error| self.audience.told(error));
                    // Dropping the driver closes the channel; the loop returns the buffered chunks first.
                    self.driver = None;
                }
                Poll::Pending => match self.chunks.poll_recv(context) {
                    Poll::Ready(Some(chunk)) => return Poll::Ready(Some(Ok(chunk))),
                    Poll::Ready(None) | Poll::Pending => return Poll::Pending,
                },
            }
        }
    }
}

/// Retries until an answer succeeds, output was shown, or another retry is pointless.
async fn drive(shared: Arc<Shared>, body: Value, out: mpsc::Sender<StreamChunk>) -> Result<(), ProviderError> {
    let mut retries = Retries::default();
    let mut changes: Vec<Adjustment> = Vec::new();
    let mut bytes = Bytes::from(body.to_string());
    // An answer takes minutes, and a parsed conversation takes three times the memory of its text.
    drop(body);
    loop {
        let mut assembler = Assembler::new(shared.error_context.clone(), &shared.endpoint.profile);
        let result = exchange(&shared, bytes.clone(), &mut assembler, &out).await;
        shared.health.record(&result);
        if assembler.shown() {
            assembler.flush();
        }
        send_all(&mut assembler, &out).await;
        let error = match result {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        if assembler.shown() {
            return Err(error);
        }
        let mut body: Value = serde_json::from_slice(&bytes).expect("our own JSON");
        let change = adapt::adjustment(&error, &body).filter(|new| !changes.iter().any(|before| new.repeats(*before)));
        if let Some(change) = change {
            changes.push(change);
            change.apply(&mut body);
            bytes = Bytes::from(body.to_string());
            if change.is_lasting() {
                shared.learn(change);
            }
            let message = change.message(&shared.error_context.provider);
            let _ = out.send(status(StatusKind::Retrying, message, Duration::ZERO)).await;
            continue;
        }
        let Some(wait) = retries.after(&error) else { return Err(error) };
        let _ = out.send(waiting(&error, wait)).await;
        sleep(wait).await;
    }
}

fn waiting(error: &ProviderError, wait: Duration) -> StreamChunk {
    let kind = match error {
        ProviderError::RateLimited { .. } => StatusKind::Waiting,
        ProviderError::Auth { .. }
        | ProviderError::Quota { .. }
        | ProviderError::ModelNotFound { .. }
        | ProviderError::ContextOverflow { .. }
        | ProviderError::Unreachable { .. }
        | ProviderError::Timeout { .. }
        | ProviderError::Interrupted { .. }
        | ProviderError::BadStream { .. }
        | ProviderError::Refused { .. }
        | ProviderError::Server { .. }
        | ProviderError::Empty { .. } => StatusKind::Retrying,
    };
    status(kind, error.reason(), wait)
}

fn status(status: StatusKind, message: String, wait: Duration) -> StreamChunk {
    let millis = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    StreamChunk::Status { status, message, progress: None, retry_in_ms: Some(millis) }
}

/// Sends one request and reads its response.
async fn exchange(
    shared: &Shared,
    body: Bytes,
    assembler: &mut Assembler,
    out: &mpsc::Sender<StreamChunk>,
) -> Result<(), ProviderError> {
    let profile = &shared.endpoint.profile;
    let response = match timeout(profile.first_byte, shared.post(body)).await {
        Ok(response) => response?,
        Err(_) => return Err(timeout_error(shared, TimeoutPhase::FirstByte)),
    };
    if !response.status().is_success() {
        return Err(error_from_response(shared, response).await);
    }
    receive(shared, response, assembler, out).await
}

/// Reads a successful response. Sends each chunk as soon as its event is complete.
pub(super) async fn receive(
    shared: &Shared,
    mut response: reqwest::Response,
    assembler: &mut Assembler,
    out: &mpsc::Sender<StreamChunk>,
) -> Result<(), ProviderError> {
    let idle = shared.endpoint.profile.idle;
    let mut reader = Reader::default();
    let mut events = Vec::new();
    let mut total = 0;
    let mut deadline = Instant::now() + idle;
    loop {
        let piece = match timeout_at(deadline, response.chunk()).await {
            Ok(Ok(piece)) => piece,
            // After the finish reason, an error can only lose data such as usage; it does not invalidate the answer.
            Ok(Err(_)) | Err(_) if assembler.finished() => return assembler.end(ReadFlow::Done),
            Ok(Err(error)) => return Err(shared.error_context.interrupted(break_cause(&error))),
            Err(_) => return Err(timeout_error(shared, TimeoutPhase::Idle)),
        };
        let ended = piece.is_none();
        match piece {
            Some(piece) => {
                total += piece.len();
                if total > MAX_RESPONSE_BYTES {
                    return Err(shared.error_context.bad_stream("an answer of more than 16 MiB"));
                }
                reader.push(&piece, &mut events);
            }
            None => reader.finish(&mut events),
        }
        for event in events.drain(..) {
            let flow = match event {
                Read::Event(event) => assembler.event(event)?,
                Read::Document(text) => match serde_json::from_str::<Value>(&text) {
                    Ok(document) => assembler.document(&document)?,
                    Err(_) => return Err(shared.error_context.interrupted("the answer was cut off")),
                },
                Read::WebPage => return Err(shared.error_context.unreachable(ConnectionFailure::NotAnApi)),
            };
            if assembler.progressed() {
                deadline = Instant::now() + if assembler.finished() { TRAILING_DATA_TIMEOUT } else { idle };
            }
            if flow == ReadFlow::Done {
                assembler.end(ReadFlow::Done)?;
                drain(response);
                return Ok(());
            }
        }
        send_all(assembler, out).await;
        if ended {
            return assembler.end(ReadFlow::More);
        }
    }
}

async fn send_all(assembler: &mut Assembler, out: &mpsc::Sender<StreamChunk>) {
    for chunk in assembler.take() {
        // The receiver lives as long as this future.
        let _ = out.send(chunk).await;
    }
}

/// Reads the few bytes after `[DONE]` in the background: only then can the next turn reuse the connection.
fn drain(mut response: reqwest::Response) {
    tokio::spawn(timeout(DRAIN_TIMEOUT, async move {
        let mut left = MAX_ERROR_BYTES;
        while let Ok(Some(piece)) = response.chunk().await {
            match left.checked_sub(piece.len()) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    }));
}

fn timeout_error(shared: &Shared, phase: TimeoutPhase) -> ProviderError {
    let profile = &shared.endpoint.profile;
    let waited = match phase {
        TimeoutPhase::FirstByte => profile.first_byte,
        TimeoutPhase::Idle => profile.idle,
    };
    ProviderError::Timeout { provider: shared.error_context.provider.clone(), phase, waited }
}

/// Converts an unsuccessful response into an error.
pub(super) async fn error_from_response(shared: &Shared, mut response: reqwest::Response) -> ProviderError {
    let status = response.status();
    if status.is_redirection() {
        let to = response.headers().get(reqwest::header::LOCATION).and_then(|to| to.to_str().ok());
        let to = to.and_then(|to| response.url().join(to).ok());
        let to = to.map_or_else(|| "another address".to_owned(), |to| super::client::shown_address(&to));
        return shared.error_context.unreachable(ConnectionFailure::Redirected(to));
    }
    let after = retry_after(response.headers(), crate::clock::now());
    let mut text = Vec::new();
    let read = async {
        while let Ok(Some(piece)) = response.chunk().await {
            text.extend_from_slice(&piece[..piece.len().min(MAX_ERROR_BYTES - text.len())]);
            if text.len() >= MAX_ERROR_BYTES {
                return;
            }
        }
    };
    // A body that does not arrive must not hide the status that did.
    let _ = timeout(TRAILING_DATA_TIMEOUT, read).await;
    shared.error_context.response(status.as_u16(), &String::from_utf8_lossy(&text), after)
}

/// An item decoded from a response.
enum Read {
    Event(Event),
    /// The whole response, if it is JSON and not a stream.
    Document(String),
    WebPage,
}

/// Detects the format by the first byte that is not white space: no event stream begins with `{`, `[` or `<`. The
/// content types of servers are not reliable.
#[derive(Default)]
enum Reader {
    #[default]
    Undecided,
    Stream(Decoder),
    Document(Vec<u8>),
    WebPage,
}

impl Reader {
    fn push(&mut self, mut bytes: &[u8], out: &mut Vec<Read>) {
        if matches!(self, Self::Undecided) {
            match bytes.iter().position(|byte| !byte.is_ascii_whitespace()) {
                None => return,
                Some(at) => bytes = &bytes[at..],
            }
            *self = match bytes[0] {
                b'{' | b'[' => Self::Document(Vec::new()),
                b'<' => Self::WebPage,
                _ => Self::Stream(Decoder::default()),
            };
        }
        match self {
            Self::Undecided | Self::WebPage => {}
            Self::Stream(decoder) => {
                let mut events = Vec::new();
                decoder.push(bytes, &mut events);
                out.extend(events.into_iter().map(Read::Event));
            }
            Self::Document(text) => text.extend_from_slice(bytes),
        }
    }

    fn finish(&mut self, out: &mut Vec<Read>) {
        match std::mem::take(self) {
            Self::Undecided => {}
            Self::Stream(mut decoder) => {
                let mut events = Vec::new();
                decoder.finish(&mut events);
                out.extend(events.into_iter().map(Read::Event));
            }
            Self::Document(text) => out.push(Read::Document(String::from_utf8_lossy(&text).into_owned())),
            Self::WebPage => out.push(Read::WebPage),
        }
    }
}
