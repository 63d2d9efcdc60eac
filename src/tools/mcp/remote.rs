//! A server over Streamable HTTP: each message is a request of its own, answered with a document or with a stream of events.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::askers::{Askers, ServerQuestion};
use super::connection::{RequestError, RequestLimits, whenever};
use super::elicitation::{self, Elicitor};
use super::era::{self, Era};
use super::events::take_events;
use super::link::Link;
use super::listening::{Announcements, is_list_changed};
use super::message::{self, Incoming, Request, RpcError};
use super::oauth::Authorization;
use super::param_headers::header_text;
use super::uses::{Use, Uses};
use crate::tools::LiveOutput;
use crate::tools::fetch_url::{StreamAnswer, StreamClient, StreamError};

/// Maximum bytes of a message.
const MAX_MESSAGE: usize = 4 << 20;
/// How long a server of an unknown era has for `server/discover`.
const PROBE: Duration = Duration::from_secs(10);
const SESSION: &str = "mcp-session-id";
/// How long an answer that was cut off is left alone, unless the server says how long, and the bounds of what it may say.
const RESUME: Duration = Duration::from_secs(1);
const SHORTEST_RESUME: Duration = Duration::from_millis(100);
const LONGEST_RESUME: Duration = Duration::from_secs(60);
/// How often in a row an answer is resumed that brings nothing.
const RESUMES: u32 = 5;

pub struct Remote {
    pub era: Era,
    client: Arc<StreamClient>,
    url: Url,
    headers: Vec<(String, SecretString)>,
    authorization: Option<Authorization>,
    /// The session that a server of the older era has begun.
    session: Mutex<Option<String>>,
    pub(super) next: AtomicU64,
    closing: CancellationToken,
    pub(super) announcements: Announcements,
    pub(super) askers: Askers,
    uses: Uses,
}

/// What a server says before its result.
enum News {
    Progress(String),
    /// It asks a person.
    Question(ServerQuestion),
}

/// What is sent to a server.
pub(super) enum Sent<'a> {
    Message(&'a Value),
    /// Nothing: the server is listened to, from the event with this id on.
    Listening(Option<&'a str>),
}

/// How far an answer was read.
#[derive(Default)]
struct Progress {
    bytes: Vec<u8>,
    searched: usize,
    /// Where it can be resumed.
    last_event: Option<String>,
    retry: Option<Duration>,
    /// How often in a row it was resumed and brought nothing.
    resumes: u32,
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
    let link = |era| Link::Remote(Box::new(Remote::new(era, address.clone())));
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
            era::discover(&asked, PROBE).await.map(|()| asked).map_err(|other| other.why)
        }
        Err(other) => Err(other.why),
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
            closing: CancellationToken::new(),
            announcements: Announcements::default(),
            askers: Askers::default(),
            uses: Uses::default(),
        }
    }

    pub fn is_open(&self) -> bool {
        !self.closing.is_cancelled()
    }

    pub fn close(&self) {
        self.closing.cancel();
    }

    pub fn closing(&self) -> CancellationToken {
        self.closing.clone()
    }

    /// Returns when nobody has used the server for this long.
    pub fn idle_at(&self, idle: Duration) -> Instant {
        self.uses.idle_at(idle)
    }

    /// Keeps it from being taken for unused.
    pub fn begin_use(&self) -> Use {
        self.uses.begin()
    }

    /// Returns whether arguments travel in headers, too.
    pub fn mirrors_arguments(&self) -> bool {
        self.era == Era::Modern
    }

    pub async fn notify(&self, method: &str, params: Value) {
        // A server that does not take it says so with the next request.
        let headers = self.headers_of(method, &params);
        let _ = self.answer(&headers, Sent::Message(&message::notification(method, params))).await;
    }

    /// Answers a request of the server.
    pub(super) async fn respond(&self, response: &Value) {
        // A server that does not take it goes on without.
        let _ = self.answer(&self.headers_of("", &Value::Null), Sent::Message(response)).await;
    }

    pub(super) fn headers_of(&self, method: &str, params: &Value) -> Vec<(String, SecretString)> {
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
            if let Some(name) = params["name"].as_str().or(params["uri"].as_str()).or(params["taskId"].as_str()) {
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
        Request { method, params, mirrored }: Request<'_>,
        limits: &RequestLimits,
        (cancel, live): (&CancellationToken, &LiveOutput),
        elicitor: Option<&Elicitor<'_>>,
    ) -> Result<Value, RequestError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut headers = self.headers_of(method, &params);
        if self.mirrors_arguments() {
            headers.extend(mirrored.into_iter().map(|header| (header.name, SecretString::from(header.value))));
        }
        let body = message::request(self.era, id, (method, params));
        let quiet = Mutex::new(Instant::now() + limits.silence);
        let mut end = Instant::now() + limits.total;
        let mut asking = self.askers.add(id, elicitor);
        let to = asking.to.clone();
        let _use = self.begin_use();
        let exchange = self.exchange((id, method), (&headers, &body), |news| match news {
            News::Progress(progress) => {
                *quiet.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now() + limits.silence;
                if !progress.is_empty() {
                    live.show(format!("{progress}\n"));
                }
            }
            News::Question(question) => {
                // A server that asks much at once gets no answers.
                let _ = to.try_send(question);
            }
        });
        tokio::pin!(exchange);
        let (mut answering, mut since) = (None::<BoxFuture<'_, Value>>, Instant::now());
        let ended = loop {
            let until = *quiet.lock().unwrap_or_else(PoisonError::into_inner);
            tokio::select! {
                result = &mut exchange => return result,
                Some(ServerQuestion { id, params }) = asking.asked.recv(), if answering.is_none() => {
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
        let mut answer = self.answer(headers, Sent::Message(body)).await?;
        if method == "initialize"
            && let Some(session) = answer.header(SESSION)
        {
            *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(session.to_owned());
        }
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
        let mut progress = Progress::default();
        loop {
            let read = self.read(id, &mut answer, &mut progress, &news).await;
            let why = match read {
                Ok(Some(result)) => return result,
                Ok(None) => RequestError::Lost("the server ended its answer before the result".to_owned()),
                Err(why) => why,
            };
            answer = self.resumed(&mut progress).await.ok_or(why)?;
        }
    }

    /// Reads an answer to the result, or to its end.
    async fn read(
        &self,
        id: u64,
        answer: &mut StreamAnswer,
        progress: &mut Progress,
        news: &impl Fn(News),
    ) -> Result<Option<Result<Value, RequestError>>, RequestError> {
        let is_stream = is_stream(answer);
        while let Some(chunk) = self.chunk(answer).await? {
            progress.bytes.extend_from_slice(&chunk);
            if progress.bytes.len() > MAX_MESSAGE {
                progress.last_event = None;
                return Err(RequestError::Lost("the server sent a message over 4 MiB".to_owned()));
            }
            if !is_stream {
                continue;
            }
            for event in take_events(&mut progress.bytes, &mut progress.searched) {
                progress.last_event = event.id.filter(|id| !id.is_empty()).or(progress.last_event.take());
                progress.retry = event.retry.or(progress.retry);
                let Some(data) = event.data.filter(|data| !data.is_empty()) else { continue };
                progress.resumes = 0;
                if let Some(result) = self.received(id, &data, news) {
                    return Ok(Some(result));
                }
            }
        }
        Ok(if is_stream { None } else { self.received(id, &progress.bytes, news) })
    }

    /// Asks a server of the older era for the rest of an answer that was cut off, after as long as the server wants; `None` if
    /// it does not give it.
    async fn resumed(&self, progress: &mut Progress) -> Option<StreamAnswer> {
        let last_event = progress.last_event.clone().filter(|_| self.era == Era::Legacy)?;
        progress.resumes += 1;
        if progress.resumes > RESUMES {
            return None;
        }
        progress.bytes.clear();
        progress.searched = 0;
        tokio::time::sleep(progress.retry.unwrap_or(RESUME).clamp(SHORTEST_RESUME, LONGEST_RESUME)).await;
        let headers = self.headers_of("", &Value::Null);
        let answer = self.answer(&headers, Sent::Listening(Some(&last_event))).await.ok()?;
        (answer.status == 200 && is_stream(&answer)).then_some(answer)
    }

    /// Sends a message, with a token if a person has signed in, and returns the answer. A token that does not count any more is
    /// replaced once.
    pub(super) async fn answer(
        &self,
        headers: &[(String, SecretString)],
        sent: Sent<'_>,
    ) -> Result<StreamAnswer, RequestError> {
        let lost = |error: StreamError| RequestError::Lost(error.to_string());
        let Some(authorization) = &self.authorization else {
            return self.send(headers, &sent).await.map_err(lost);
        };
        let mut token = authorization.token().await.map_err(RequestError::SignIn)?;
        for is_last in [false, true] {
            let answer = self.send(&with_token(headers, token.as_ref()), &sent).await.map_err(lost)?;
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

    /// Sends what no call waits for, with a token if a person has signed in. A refusal of it says nothing about calls: a server
    /// may take those from anybody.
    pub(super) async fn answer_aside(
        &self,
        headers: &[(String, SecretString)],
        sent: Sent<'_>,
    ) -> Result<StreamAnswer, RequestError> {
        let token = match &self.authorization {
            Some(authorization) => authorization.token().await.map_err(RequestError::SignIn)?,
            None => None,
        };
        let sent = self.send(&with_token(headers, token.as_ref()), &sent).await;
        sent.map_err(|error| RequestError::Lost(error.to_string()))
    }

    async fn send(&self, headers: &[(String, SecretString)], sent: &Sent<'_>) -> Result<StreamAnswer, StreamError> {
        match sent {
            Sent::Message(message) => self.client.post(&self.url, headers, message).await,
            Sent::Listening(last_event) => self.client.listen(&self.url, headers, *last_event).await,
        }
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
                    method if is_list_changed(method) => self.announcements.note_list_changed(),
                    _ => {}
                }
                None
            }
            Incoming::Request { id, method, params } if method == elicitation::CREATE => {
                news(News::Question(ServerQuestion { id, params }));
                None
            }
            Incoming::Response { .. } | Incoming::Request { .. } | Incoming::Other => None,
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.close();
    }
}

fn with_token(headers: &[(String, SecretString)], token: Option<&SecretString>) -> Vec<(String, SecretString)> {
    let bearer = token.map(|token| {
        let value = format!("Bearer {}", token.expose_secret());
        ("Authorization".to_owned(), SecretString::from(value))
    });
    headers.iter().cloned().chain(bearer).collect()
}

pub(super) fn is_stream(answer: &StreamAnswer) -> bool {
    answer.content_type.starts_with("text/event-stream")
}

fn refused(why: &str) -> RequestError {
    RequestError::Refused(RpcError::of(why.to_owned()))
}
