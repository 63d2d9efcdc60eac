//! A server over Streamable HTTP: each message is a request of its own, answered with a document or with a stream of events.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use futures_util::future::BoxFuture;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::connection::{RequestError, RequestLimits, whenever};
use super::elicitation::{self, Elicitor};
use super::era::{self, Era};
use super::link::Link;
use super::message::{self, Incoming, RpcError};
use super::oauth::Authorization;
use crate::tools::LiveOutput;
use crate::tools::fetch_url::{StreamAnswer, StreamClient, StreamError};

/// Maximum bytes of a message.
const MAX_MESSAGE: usize = 4 << 20;
/// How long a server of an unknown era has for `server/discover`.
const PROBE: Duration = Duration::from_secs(10);
/// Maximum number of questions of a server that wait while a person answers another one.
const ASKED: usize = 4;
const SESSION: &str = "mcp-session-id";

pub struct Remote {
    pub era: Era,
    client: Arc<StreamClient>,
    url: Url,
    headers: Vec<(String, SecretString)>,
    authorization: Option<Authorization>,
    /// The session that a server of the older era has begun.
    session: Mutex<Option<String>>,
    next: AtomicU64,
    is_closed: AtomicBool,
    list_changed: AtomicBool,
}

/// What a server says before its result.
enum News {
    Progress(String),
    /// It asks a person: the id and the parameters of its request.
    Question {
        id: Value,
        params: Value,
    },
}

/// Where a server is, and what its requests carry.
#[derive(Clone)]
pub struct RemoteAddress {
    pub client: Arc<StreamClient>,
    pub url: Url,
    pub headers: Vec<(String, SecretString)>,
    /// How a person signs in; `None` if the headers have a token.
    pub authorization: Option<Authorization>,
}

/// Finds out the era of a server.
///
/// # Errors
/// Returns a sentence if it answers in neither era.
pub async fn connect(address: RemoteAddress, remembered: Option<Era>) -> Result<Link, String> {
    let link = |era| Link::Remote(Remote::new(era, address.clone()));
    let mut modern = None;
    if remembered != Some(Era::Legacy) {
        let asked = link(Era::Modern);
        match era::discover(&asked, PROBE).await {
            Ok(()) => return Ok(asked),
            Err(why) => modern = Some(why),
        }
    }
    let asked = link(Era::Legacy);
    match era::initialize(&asked).await {
        Ok(()) => Ok(asked),
        Err(_) if modern.is_none() => {
            let asked = link(Era::Modern);
            era::discover(&asked, PROBE).await.map(|()| asked)
        }
        Err(why) => Err(why),
    }
}

impl Remote {
    fn new(era: Era, RemoteAddress { client, url, headers, authorization }: RemoteAddress) -> Self {
        Self {
            era,
            client,
            url,
            headers,
            authorization,
            session: Mutex::default(),
            next: AtomicU64::new(1),
            is_closed: AtomicBool::new(false),
            list_changed: AtomicBool::new(false),
        }
    }

    pub fn is_open(&self) -> bool {
        !self.is_closed.load(Ordering::Relaxed)
    }

    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    pub fn take_list_changed(&self) -> bool {
        self.list_changed.swap(false, Ordering::Relaxed)
    }

    pub async fn notify(&self, method: &str, params: Value) {
        // A server that does not take it says so with the next request.
        let headers = self.headers_of(method, &params);
        let _ = self.answer(&headers, &message::notification(method, params)).await;
    }

    /// Answers a request of the server.
    async fn respond(&self, response: &Value) {
        // A server that does not take it goes on without.
        let _ = self.answer(&self.headers_of("", &Value::Null), response).await;
    }

    fn headers_of(&self, method: &str, params: &Value) -> Vec<(String, SecretString)> {
        let mut headers = self.headers.clone();
        let mut add = |name: &str, value: String| headers.push((name.to_owned(), value.into()));
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if method != "initialize" {
            add("MCP-Protocol-Version", self.era.revision().to_owned());
        }
        if let Some(session) = session {
            add(SESSION, session);
        }
        if self.era == Era::Modern {
            add("Mcp-Method", method.to_owned());
            if let Some(name) = params["name"].as_str().or(params["uri"].as_str()) {
                add("Mcp-Name", header_text(name));
            }
        }
        headers
    }

    /// Sends a request and waits for its result. Closing the stream is what cancels it in the modern era.
    ///
    /// # Errors
    /// Returns an error if the server refuses, does not answer in time, or is gone.
    pub async fn request(
        &self,
        (method, params): (&str, Value),
        limits: &RequestLimits,
        (cancel, live): (&CancellationToken, &LiveOutput),
        elicitor: Option<&Elicitor<'_>>,
    ) -> Result<Value, RequestError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let headers = self.headers_of(method, &params);
        let body = message::request(self.era, id, (method, params));
        let quiet = Mutex::new(Instant::now() + limits.silence);
        let mut end = Instant::now() + limits.total;
        let (to, mut asked) = mpsc::channel::<(Value, Value)>(ASKED);
        let exchange = self.exchange((id, method), (&headers, &body), |news| match news {
            News::Progress(progress) => {
                *quiet.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now() + limits.silence;
                if !progress.is_empty() {
                    live.show(format!("{progress}\n"));
                }
            }
            News::Question { id, params } => {
                // A server that asks much at once gets no answers.
                let _ = to.try_send((id, params));
            }
        });
        tokio::pin!(exchange);
        let (mut answering, mut since) = (None::<BoxFuture<'_, Value>>, Instant::now());
        let ended = loop {
            let until = *quiet.lock().unwrap_or_else(PoisonError::into_inner);
            tokio::select! {
                result = &mut exchange => return result,
                Some((id, params)) = asked.recv(), if answering.is_none() => {
                    since = Instant::now();
                    answering = Some(Box::pin(async move {
                        match elicitor {
                            Some(elicitor) => message::response(&id, elicitor.response(params).await),
                            None => message::response_to(&id, elicitation::CREATE),
                        }
                    }));
                }
                response = whenever(&mut answering) => {
                    answering = None;
                    self.respond(&response).await;
                    end += since.elapsed();
                    *quiet.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now() + limits.silence;
                }
                () = tokio::time::sleep_until(until.min(end)), if answering.is_none() => {
                    let now = Instant::now();
                    if now >= end {
                        break RequestError::TimedOut(limits.total.as_secs());
                    }
                    if now >= *quiet.lock().unwrap_or_else(PoisonError::into_inner) {
                        break RequestError::TimedOut(limits.silence.as_secs());
                    }
                }
                () = cancel.cancelled() => break RequestError::Cancelled,
            }
        };
        if self.era == Era::Legacy {
            self.notify("notifications/cancelled", json!({"requestId": id})).await;
        }
        Err(ended)
    }

    async fn exchange(
        &self,
        (id, method): (u64, &str),
        (headers, body): (&[(String, SecretString)], &Value),
        news: impl Fn(News),
    ) -> Result<Value, RequestError> {
        let mut answer = self.answer(headers, body).await?;
        if method == "initialize"
            && let Some(session) = answer.header(SESSION)
        {
            *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(session.to_owned());
        }
        let is_stream = answer.content_type.starts_with("text/event-stream");
        match answer.status {
            401 | 403 => return Err(refused("it requires a sign-in; set its header in mcp.json")),
            404 if self.era == Era::Legacy && method != "initialize" => {
                // The session has ended; the next request begins another one.
                self.close();
                return Err(RequestError::Lost("the session at the server has ended".to_owned()));
            }
            200..=299 => {}
            status if !answer.content_type.starts_with("application/json") => {
                return Err(refused(&format!("it answered with the HTTP status {status}")));
            }
            _ => {}
        }
        let (mut bytes, mut searched) = (Vec::new(), 0);
        while let Some(chunk) = self.chunk(&mut answer).await? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MAX_MESSAGE {
                return Err(RequestError::Lost("the server sent a message over 4 MiB".to_owned()));
            }
            if is_stream {
                for event in take_events(&mut bytes, &mut searched) {
                    if let Some(result) = self.received(id, &event, &news) {
                        return result;
                    }
                }
            }
        }
        let ended = || RequestError::Lost("the server ended its answer before the result".to_owned());
        if is_stream { Err(ended()) } else { self.received(id, &bytes, &news).unwrap_or_else(|| Err(ended())) }
    }

    /// Sends a message, with a token if a person has signed in, and returns the answer. A token that does not count any more is
    /// replaced once.
    async fn answer(&self, headers: &[(String, SecretString)], body: &Value) -> Result<StreamAnswer, RequestError> {
        let lost = |error: StreamError| RequestError::Lost(error.to_string());
        let Some(authorization) = &self.authorization else {
            return self.client.post(&self.url, headers, body).await.map_err(lost);
        };
        let mut token = authorization.token().await.map_err(RequestError::SignIn)?;
        for is_last in [false, true] {
            let bearer = token.iter().map(|token| {
                let value = format!("Bearer {}", token.expose_secret());
                ("Authorization".to_owned(), SecretString::from(value))
            });
            let headers: Vec<_> = headers.iter().cloned().chain(bearer).collect();
            let answer = self.client.post(&self.url, &headers, body).await.map_err(lost)?;
            match answer.status {
                401 if is_last => return Err(RequestError::SignIn(authorization.refused_again())),
                401 | 403 => {
                    let next = authorization.after_refusal(&answer, token.as_ref()).await;
                    token = Some(next.map_err(RequestError::SignIn)?);
                }
                200..=299 => {
                    authorization.accepted();
                    return Ok(answer);
                }
                _ => return Ok(answer),
            }
        }
        Err(RequestError::SignIn(authorization.refused_again()))
    }

    async fn chunk(&self, answer: &mut StreamAnswer) -> Result<Option<Vec<u8>>, RequestError> {
        answer.chunk().await.map_err(|error| RequestError::Lost(error.to_string()))
    }

    /// Returns the result of the request, if this is the message that has it.
    fn received(&self, wanted: u64, bytes: &[u8], news: &impl Fn(News)) -> Option<Result<Value, RequestError>> {
        match Incoming::parse(bytes) {
            Incoming::Response { id, result } if id == wanted => Some(result.map_err(RequestError::Refused)),
            Incoming::Notification { method, params } => {
                match method.as_str() {
                    "notifications/progress" => {
                        let message = params["message"].as_str().unwrap_or_default();
                        news(News::Progress(message.chars().take(500).collect()));
                    }
                    "notifications/tools/list_changed" => self.list_changed.store(true, Ordering::Relaxed),
                    _ => {}
                }
                None
            }
            Incoming::Request { id, method, params } if method == elicitation::CREATE => {
                news(News::Question { id, params });
                None
            }
            Incoming::Response { .. } | Incoming::Request { .. } | Incoming::Other => None,
        }
    }
}

fn refused(why: &str) -> RequestError {
    RequestError::Refused(RpcError { code: 0, message: why.to_owned() })
}

/// Returns a text as a header can have it.
fn header_text(text: &str) -> String {
    let is_plain = text.chars().all(|char| matches!(char, ' '..='~')) && text.trim() == text;
    if is_plain { text.to_owned() } else { format!("=?base64?{}?=", BASE64_STANDARD.encode(text)) }
}

/// Takes the data of all whole events from the bytes of a stream, of which the first `searched` are known to end none.
fn take_events(bytes: &mut Vec<u8>, searched: &mut usize) -> Vec<Vec<u8>> {
    let (mut events, mut start) = (Vec::new(), 0);
    // An end may have begun in what was searched.
    let mut at = searched.saturating_sub(3);
    while at < bytes.len() {
        let ends = [&b"\n\n"[..], b"\r\n\r\n", b"\r\r"];
        let Some(end) = ends.into_iter().find(|end| bytes[at..].starts_with(end)) else {
            at += 1;
            continue;
        };
        events.extend(data_of(&bytes[start..at]));
        at += end.len();
        start = at;
    }
    bytes.drain(..start);
    *searched = bytes.len();
    events
}

/// Returns the data of an event; `None` if it has none.
fn data_of(event: &[u8]) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(event);
    let data = text.split(['\n', '\r']).filter_map(|line| line.strip_prefix("data:"));
    let data: Vec<&str> = data.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    (!data.is_empty()).then(|| data.join("\n").into_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn events_are_taken_however_they_are_cut() {
        let stream =
            b": hello\n\nevent: message\ndata: {\"a\":\ndata: 1}\n\n\n\ndata: {}\r\n\r\ndata: [3]\r\rdata: par";
        for piece in 1..=stream.len() {
            let (mut bytes, mut searched, mut texts) = (Vec::new(), 0, Vec::new());
            for chunk in stream.chunks(piece) {
                bytes.extend_from_slice(chunk);
                let events = take_events(&mut bytes, &mut searched);
                texts.extend(events.into_iter().map(|event| String::from_utf8(event).unwrap()));
            }
            assert_eq!(texts, ["{\"a\":\n1}", "{}", "[3]"], "pieces of {piece} bytes");
            assert_eq!(bytes, b"data: par");
        }
    }

    #[test]
    fn names_travel_in_headers() {
        assert_eq!(header_text("add"), "add");
        assert_eq!(header_text("café"), "=?base64?Y2Fmw6k=?=");
    }

    proptest! {
        #[test]
        fn events_do_not_depend_on_how_they_arrive(
            text in "(data: ?x|data:|id: 1|:c|\\n|\\r|\\r\\n|é){0,24}",
            cuts in prop::collection::vec(1_usize..6, 0..24),
        ) {
            let whole = take_events(&mut text.clone().into_bytes(), &mut 0);
            let (mut rest, mut bytes, mut searched, mut events) = (text.as_bytes(), Vec::new(), 0, Vec::new());
            for cut in cuts.into_iter().chain([usize::MAX]) {
                let (piece, later) = rest.split_at(cut.min(rest.len()));
                bytes.extend_from_slice(piece);
                events.extend(take_events(&mut bytes, &mut searched));
                rest = later;
            }
            prop_assert_eq!(events, whole);
        }
    }
}
