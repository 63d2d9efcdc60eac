//! One open WebSocket: what the client asks for is done in order, and the session's events are sent as they come.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures_util::future::{BoxFuture, FutureExt, OptionFuture};
use futures_util::stream::{BoxStream, SplitSink, StreamExt};
use futures_util::{SinkExt, stream};
use serde_json::Value;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use super::files::named;
use super::inbound::{GivenAnswer, Hello, Inbound, Parsed, UserMessage, parse};
use super::outbound::{
    OwnStatus, Projected, Question, Refusal, SocketFrame, approval_of, encode, newest_that_fit, project, segment_of,
};
use crate::api::app::App;
use crate::api::chat::attachments::prompt;
use crate::api::chat::sending::usable;
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::api::sessions::history::without_reasoning;
use crate::clock;
use crate::domain::{Session, SessionId, Usage, When};
use crate::engine::approvals::AnswerRefused;
use crate::engine::{EngineError, EventId, NewMessage, Publication, Subscription, View, WorkStarted};

/// Interval of pings. They keep proxies from closing an idle connection, and find half-open ones.
const PING: Duration = Duration::from_secs(20);
/// A client that says nothing for this long, not even a pong, is gone.
const SILENCE: Duration = Duration::from_secs(60);
/// How long a client may leave what is sent unread.
const UNREAD: Duration = Duration::from_secs(30);
/// How long a client may take to read why it is disconnected.
pub const CLOSE_GRACE: Duration = Duration::from_secs(2);
/// Maximum number of frames that are sent at once before the client is listened to again.
const AT_ONCE: usize = 64;

/// Why a connection is closed (RFC 6455, 7.4.1).
pub mod code {
    pub const NORMAL: u16 = 1000;
    pub const AWAY: u16 = 1001;
    pub const POLICY: u16 = 1008;
    pub const TOO_LARGE: u16 = 1009;
    pub const TRY_AGAIN: u16 = 1013;
}

/// A client that has proved who it is.
pub struct Proven {
    pub caller: Caller,
    /// It knows the page's secret, so it may answer questions.
    pub is_page: bool,
}

/// The publications of a session that are sent from now on.
type Live = BoxStream<'static, Arc<Publication>>;

pub struct Connection {
    app: App,
    caller: Arc<Caller>,
    is_page: bool,
    id: SessionId,
    /// The segment that the next piece of text belongs to.
    segment: u32,
    /// The last publication that the client has been told, in the conversation so far.
    told: u64,
    /// The client's id of a request to clear the session, which waits for the end of its work.
    clearing: Option<Value>,
}

/// The connection cannot be used any more.
struct Gone;

/// What a message of the client has led to.
type Sent = (Value, Result<WorkStarted, ApiError>);

type Out = SplitSink<WebSocket, Message>;

impl Connection {
    pub fn new(app: App, Proven { caller, is_page }: Proven, id: SessionId) -> Self {
        Self { app, caller: Arc::new(caller), is_page, id, segment: 0, told: 0, clearing: None }
    }

    /// Serves the connection until either side closes it. `after` is the id of the last event that the client received.
    pub async fn serve(mut self, socket: WebSocket, after: Option<String>) {
        let (mut out, read) = socket.split();
        if let Ok((code, reason)) = self.converse(&mut out, read, after).await {
            let _ = timeout(CLOSE_GRACE, out.send(close(code, &reason))).await;
        }
    }

    /// Returns why the connection is to be closed.
    async fn converse(
        &mut self,
        out: &mut Out,
        mut read: stream::SplitStream<WebSocket>,
        after: Option<String>,
    ) -> Result<(u16, String), Gone> {
        let mut over = pin!(self.caller.until_over());
        let mut live = self.follow(out, after).await?;
        let mut ping = interval_at(Instant::now() + PING, PING);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard = Instant::now();
        // One message at a time, so that their order is that of the client; the next one waits.
        let (mut sending, mut waiting) = (None, None);
        loop {
            if sending.is_none()
                && let Some(parsed) = waiting.take()
            {
                sending = self.begin(out, parsed, &mut live).await?;
            }
            tokio::select! {
                () = &mut over => return Ok((code::AWAY, "going away".to_owned())),
                Some(sent) = OptionFuture::from(sending.as_mut()) => {
                    sending = None;
                    self.report(out, sent).await?;
                }
                frame = read.next(), if waiting.is_none() => {
                    heard = Instant::now();
                    match frame {
                        Some(Ok(Message::Text(text))) => {
                            let parsed = self.allowed(parse(&text));
                            match parsed.frame {
                                Ok(Inbound::UserMessage(_) | Inbound::ClearSession) => waiting = Some(parsed),
                                _ => self.take(out, parsed).await?,
                            }
                        }
                        Some(Ok(Message::Binary(_))) => {
                            let error = ApiError::bad_request("bad_frame", "frames are text, not binary");
                            self.refuse(out, Value::Null, error).await?;
                        }
                        Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                        Some(Ok(Message::Close(_))) | None => return Err(Gone),
                        Some(Err(error)) => return Ok(self.unreadable(out, &error.to_string()).await),
                    }
                }
                published = live.next() => {
                    let Some(published) = published else { return self.ended(out).await };
                    self.forward(out, published, &mut live).await?;
                }
                _ = ping.tick() => {
                    if waiting.is_none() && heard.elapsed() > SILENCE {
                        return Err(Gone);
                    }
                    write(out, Message::Ping(Default::default())).await?;
                }
            }
        }
    }

    /// Sends the conversation so far, or, after an event that the client names, only what it has missed. Returns what follows.
    async fn follow(&mut self, out: &mut Out, after: Option<String>) -> Result<Live, Gone> {
        let hub = self.caller.tenant().hub.clone();
        let after = after.filter(|text| !text.is_empty()).map(|text| EventId::parse(&text));
        let subscription = match &after {
            None | Some(None) => Subscription { gap: true, ..hub.follow(&self.id, None) },
            Some(Some(id)) => hub.follow(&self.id, Some(id)),
        };
        let View { session, last } = match self.caller.engine.view(&self.id).await {
            Ok(view) => view,
            // It begins with the first message.
            Err(EngineError::NoSession(_)) => {
                View { session: Arc::new(Session::new("", clock::now())), last: hub.last() }
            }
            Err(error) => {
                self.refuse(out, Value::Null, error.into()).await?;
                return Err(Gone);
            }
        };
        let missed = subscription.missed.iter().filter(|published| published.number <= last);
        self.segment = segment_of(&session, missed);
        if subscription.gap {
            self.send_history(out, &View { session, last }).await?;
        } else {
            self.told = 0;
            let resumed = OwnStatus::Resumed { session_id: self.id.to_string() };
            send(out, &resumed.into(), None).await?;
        }
        Ok(subscription.publications(std::future::pending()).boxed())
    }

    async fn send_history(&mut self, out: &mut Out, View { session, last }: &View) -> Result<(), Gone> {
        (self.told, self.segment) = (*last, segment_of(session, []));
        let messages: Vec<_> = session.messages.iter().map(without_reasoning).collect();
        let first = newest_that_fit(&messages);
        let history = SocketFrame::History {
            session_id: self.id.to_string(),
            earlier: (first > 0).then_some(first),
            messages: messages[first..].to_vec(),
            running: session.running().map(|work| work.work_id.clone()),
        };
        send(out, &history, Some(&self.caller.tenant().hub.id(*last))).await?;
        for approval in self.caller.tenant().approvals.list().iter().filter(|approval| approval.session_id == self.id) {
            send(out, &SocketFrame::ApprovalRequest(Box::new(Question::of(approval))), None).await?;
        }
        Ok(())
    }

    /// Sends a publication and those that are there already.
    async fn forward(&mut self, out: &mut Out, first: Arc<Publication>, live: &mut Live) -> Result<(), Gone> {
        let mut next = Some(first);
        for _ in 0..AT_ONCE {
            let Some(published) = next else { break };
            if let Some(reply_to) = self.show(out, &published).await? {
                *live = self.clear(out, reply_to).await?;
                break;
            }
            next = live.next().now_or_never().flatten();
        }
        flush(out).await
    }

    /// Writes what a publication leads to. Returns the client's id of a request to clear the session, if it was the end of the
    /// work that the request waits for.
    async fn show(&mut self, out: &mut Out, published: &Publication) -> Result<Option<Value>, Gone> {
        if published.number <= self.told {
            return Ok(None);
        }
        let hub = self.caller.tenant().hub.clone();
        let id = hub.id(published.number);
        match project(published, &mut self.segment) {
            Projected::Nothing => {}
            Projected::Frame(frame) => feed(out, &frame, Some(&id)).await?,
            Projected::Replaced(frame) => {
                feed(out, &frame, Some(&id)).await?;
                if let Ok(view) = self.caller.engine.view(&self.id).await {
                    self.send_history(out, &view).await?;
                }
            }
            Projected::Finished(finished) => {
                let session = self.caller.engine.view(&self.id).await.ok().map(|view| view.session);
                let works = session.iter().flat_map(|session| &session.works);
                let work = works.into_iter().find(|work| work.work_id == finished.work_id);
                let (usage, duration) = work.map_or((Usage::default(), 0.0), |work| {
                    (work.usage, work.finished_at.unwrap_or(work.created_at) - work.created_at)
                });
                // A conversion of a float to an integer saturates.
                let duration_ms = (duration * 1000.0) as u64;
                feed(out, &finished.frame(usage, duration_ms), Some(&id)).await?;
                return Ok(self.clearing.take());
            }
        }
        Ok(None)
    }

    /// Returns the frame, or why the client's credential does not allow it.
    fn allowed(&self, Parsed { frame, id }: Parsed) -> Parsed {
        let frame = frame.and_then(|frame| match frame {
            Inbound::Hello(_) => Ok(frame),
            _ => self.caller.require_change().map(|()| frame),
        });
        Parsed { frame, id }
    }

    /// Does what a frame asks for that needs no waiting.
    async fn take(&mut self, out: &mut Out, Parsed { frame, id }: Parsed) -> Result<(), Gone> {
        let done = match frame {
            Ok(Inbound::Interrupt) => self.interrupt(id.clone()).await,
            Ok(Inbound::ApprovalResponse(given)) => self.answer(given, id.clone()).await,
            Ok(Inbound::Hello(hello)) => Ok(self.greet(hello, id.clone())),
            Ok(Inbound::UserMessage(_) | Inbound::ClearSession) => return Ok(()),
            Err(error) => Err(error),
        };
        match done {
            Ok(status) => send(out, &status.into(), None).await,
            Err(error) => self.refuse(out, id, error).await,
        }
    }

    async fn interrupt(&self, reply_to: Value) -> Result<OwnStatus, ApiError> {
        let interrupted = match self.caller.engine.interrupt(&self.id).await {
            Ok(interrupted) => interrupted,
            // Nothing was sent yet.
            Err(EngineError::NoSession(_)) => false,
            Err(error) => return Err(error.into()),
        };
        Ok(OwnStatus::Interrupted { interrupted, reply_to })
    }

    async fn answer(&self, given: GivenAnswer, reply_to: Value) -> Result<OwnStatus, ApiError> {
        if !self.is_page {
            let message = "send HELLO with the page's secret before you answer a question; see docs/websocket.md";
            return Err(ApiError { message: message.to_owned(), ..ApiError::only_page() });
        }
        let GivenAnswer { request_id: name, hash, response } = given;
        let (approval, shown) = approval_of(&name).ok_or(EngineError::from(AnswerRefused::Unknown))?;
        let session = self.caller.tenant().approvals.session_of(approval).map_err(EngineError::from)?;
        if session != self.id {
            return Err(EngineError::from(AnswerRefused::Unknown).into());
        }
        if hash.is_some_and(|hash| hash != shown) {
            return Err(EngineError::from(AnswerRefused::HashDiffers).into());
        }
        self.caller.engine.answer(approval, shown, response).await?;
        Ok(OwnStatus::Answered { request_id: name, reply_to })
    }

    fn greet(&mut self, hello: Hello, reply_to: Value) -> OwnStatus {
        // The credential of the handshake counts; a token cannot make another person of the client.
        let proves = |secret: String| self.caller.is_page_secret(&self.app, &secret);
        self.is_page = self.is_page || hello.secret.is_some_and(proves);
        OwnStatus::Welcome { may_answer: self.is_page, reply_to }
    }

    /// Begins to send a message, or clears the session.
    async fn begin(
        &mut self,
        out: &mut Out,
        Parsed { frame, id: reply_to }: Parsed,
        live: &mut Live,
    ) -> Result<Option<BoxFuture<'static, Sent>>, Gone> {
        match frame {
            Ok(Inbound::UserMessage(message)) => {
                let sent = sent(self.caller.clone(), self.id.clone(), message);
                Ok(Some(sent.map(|result| (reply_to, result)).boxed()))
            }
            Ok(Inbound::ClearSession) => {
                if let Err(error) = self.interrupt(Value::Null).await {
                    self.refuse(out, reply_to, error).await?;
                } else if self.is_running().await {
                    // Its end is told first.
                    self.clearing = Some(reply_to);
                } else {
                    *live = self.clear(out, reply_to).await?;
                }
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    async fn is_running(&self) -> bool {
        self.caller.engine.view(&self.id).await.is_ok_and(|view| view.session.running().is_some())
    }

    /// Archives the session, and goes on with a new one.
    async fn clear(&mut self, out: &mut Out, reply_to: Value) -> Result<Live, Gone> {
        let archived = self.id.to_string();
        match self.caller.engine.archive(&self.id).await {
            Ok(_) => {}
            // Nothing was sent yet.
            Err(EngineError::NoSession(_)) => {}
            Err(error) => {
                self.refuse(out, reply_to, error.into()).await?;
                return self.follow(out, None).await;
            }
        }
        self.id = SessionId::parse(&clock::new_id()).expect("a new id is the id of a session");
        let cleared = OwnStatus::Cleared { archived, session_id: self.id.to_string(), reply_to };
        send(out, &cleared.into(), None).await?;
        self.follow(out, None).await
    }

    async fn report(&self, out: &mut Out, (reply_to, sent): Sent) -> Result<(), Gone> {
        match sent {
            Ok(WorkStarted { work_id, state, .. }) => {
                send(out, &OwnStatus::Accepted { work_id, state, reply_to }.into(), None).await
            }
            Err(error) => self.refuse(out, reply_to, error).await,
        }
    }

    async fn refuse(&self, out: &mut Out, reply_to: Value, error: ApiError) -> Result<(), Gone> {
        write(out, Message::Text(refusal_to(&error, reply_to).into())).await
    }

    /// The session's events have ended: it was deleted, or the client did not read them.
    async fn ended(&self, out: &mut Out) -> Result<(u16, String), Gone> {
        if self.app.stopping.is_cancelled() {
            return Ok((code::AWAY, "going away".to_owned()));
        }
        match self.caller.engine.view(&self.id).await {
            Ok(_) => Ok((code::TRY_AGAIN, "too slow: reconnect with the last id".to_owned())),
            Err(error) => {
                self.refuse(out, Value::Null, error.into()).await?;
                Ok((code::NORMAL, "the session is gone".to_owned()))
            }
        }
    }

    /// Tells a client whose frame cannot be read why; nothing after it can be read either.
    async fn unreadable(&self, out: &mut Out, why: &str) -> (u16, String) {
        let error = ApiError::bad_request("bad_frame", format!("the connection sent what cannot be read: {why}"));
        let _ = timeout(CLOSE_GRACE, self.refuse(out, Value::Null, error)).await;
        (code::TOO_LARGE, "unreadable frame".to_owned())
    }
}

/// Sends a message to a session.
async fn sent(caller: Arc<Caller>, id: SessionId, message: UserMessage) -> Result<WorkStarted, ApiError> {
    let UserMessage { content, files, mut attachments, key } = message;
    let key = key.map(usable).transpose()?;
    if !files.is_empty() {
        let session = caller.engine.view(&id).await.ok().map(|view| view.session);
        let project = session.and_then(|session| session.project_id.clone());
        attachments.extend(named(&caller, project.as_ref(), files).await?);
    }
    let prompt = prompt(&caller, &id, content, attachments).await?;
    Ok(caller.engine.say(&id, NewMessage { prompt, key, when: When::Now }).await?)
}

/// Returns the frame that tells why something is refused.
pub fn refusal(error: &ApiError) -> String {
    refusal_to(error, Value::Null)
}

fn refusal_to(error: &ApiError, reply_to: Value) -> String {
    let (code, message, params) = (error.code.to_owned(), error.message.clone(), error.params.clone());
    encode(&SocketFrame::Error(Refusal { code, message, reply_to, work_id: None, retryable: None, params }), None)
}

pub fn close(code: u16, reason: &str) -> Message {
    Message::Close(Some(CloseFrame { code, reason: reason.into() }))
}

async fn send(out: &mut Out, frame: &SocketFrame, id: Option<&EventId>) -> Result<(), Gone> {
    write(out, Message::Text(encode(frame, id).into())).await
}

/// Writes a frame without waiting until it is sent.
async fn feed(out: &mut Out, frame: &SocketFrame, id: Option<&EventId>) -> Result<(), Gone> {
    in_time(out.feed(Message::Text(encode(frame, id).into()))).await
}

async fn write(out: &mut Out, message: Message) -> Result<(), Gone> {
    in_time(out.send(message)).await
}

async fn flush(out: &mut Out) -> Result<(), Gone> {
    in_time(out.flush()).await
}

async fn in_time(writing: impl Future<Output = Result<(), axum::Error>>) -> Result<(), Gone> {
    match timeout(UNREAD, writing).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(Gone),
    }
}
