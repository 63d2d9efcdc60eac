//! One open WebSocket: what the client asks for is done in order, and the session's events are sent as they come.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use futures_util::future::{BoxFuture, FutureExt, OptionFuture};
use futures_util::stream::{SplitStream, StreamExt};
use serde_json::Value;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use super::files::named;
use super::following::Following;
use super::inbound::{GivenAnswer, Hello, Inbound, Parsed, UserMessage, parse};
use super::outbound::{OwnStatus, approval_of};
use super::writer::{CLOSE_TIMEOUT, CloseCode, Gone, Writer};
use crate::api::app::App;
use crate::api::chat::attachments::prompt;
use crate::api::chat::sending::usable;
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::clock;
use crate::domain::{SessionId, When, WorkId};
use crate::engine::approvals::AnswerRefused;
use crate::engine::{EngineError, NewMessage, WorkStarted};

/// Interval of pings. They keep proxies from closing an idle connection, and find half-open ones.
const PING: Duration = Duration::from_secs(20);
/// A client that says nothing for this long, not even a pong, is gone.
pub(in crate::api) const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// A client that has proved who it is.
pub struct AuthenticatedClient {
    pub caller: Caller,
    /// It knows the page's secret, so it may answer questions.
    pub is_page: bool,
}

/// What a connection begins with.
pub struct Start {
    pub id: SessionId,
    /// The id of the last event that the client received.
    pub after: Option<String>,
}

pub struct Connection {
    app: App,
    caller: Arc<Caller>,
    is_page: bool,
    writer: Writer,
    /// The work whose end a request to clear the session waits for, and the client's id of that request.
    clearing: Option<(WorkId, Value)>,
}

/// Why the connection is to be closed.
type Closing = (CloseCode, &'static str);

/// What a message of the client has led to.
type Sent = (Value, Result<WorkStarted, ApiError>);

impl Connection {
    /// Serves a connection until either side closes it.
    pub async fn serve(app: App, client: AuthenticatedClient, socket: WebSocket, start: Start) {
        let (sink, read) = socket.split();
        let Start { id, after } = start;
        let AuthenticatedClient { caller, is_page } = client;
        let mut connection = Self { app, caller: Arc::new(caller), is_page, writer: Writer::new(sink), clearing: None };
        let Ok(opened) = Following::open(connection.caller.clone(), id, after, &mut connection.writer).await else {
            return;
        };
        match opened {
            Ok(mut following) => {
                if let Ok((code, reason)) = connection.converse(read, &mut following).await {
                    connection.writer.close(code, reason).await;
                }
                following.end();
            }
            Err(error) => {
                let refused = connection.writer.refuse(Value::Null, error);
                let _ = timeout(CLOSE_TIMEOUT, refused).await;
                connection.writer.close(CloseCode::Normal, "the session cannot be read").await;
            }
        }
    }

    async fn converse(&mut self, mut read: SplitStream<WebSocket>, following: &mut Following) -> Result<Closing, Gone> {
        let mut over = pin!(self.caller.until_over());
        let mut ping = interval_at(Instant::now() + PING, PING);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard = Instant::now();
        // One thing at a time, so that their order is that of the client; the next one waits.
        let (mut sending, mut waiting): (Option<BoxFuture<'static, Sent>>, Option<Parsed>) = (None, None);
        loop {
            if sending.is_none()
                && self.clearing.is_none()
                && let Some(parsed) = waiting.take()
            {
                heard = Instant::now();
                sending = self.begin(parsed, following).await?;
            }
            tokio::select! {
                () = &mut over => return Ok((CloseCode::GoingAway, "going away")),
                Some((reply_to, sent)) = OptionFuture::from(sending.as_mut()) => {
                    sending = None;
                    self.report(reply_to, sent).await?;
                }
                frame = read.next(), if waiting.is_none() => {
                    heard = Instant::now();
                    match frame {
                        Some(Ok(Message::Text(text))) => {
                            let parsed = self.allowed(parse(&text));
                            match parsed.frame {
                                Ok(Inbound::UserMessage(_) | Inbound::ClearSession | Inbound::Interrupt) => waiting = Some(parsed),
                                _ => self.take(parsed, &following.id.clone()).await?,
                            }
                        }
                        Some(Ok(Message::Binary(_))) => {
                            let error = ApiError::bad_request("bad_frame", "frames are text, not binary");
                            self.writer.refuse(Value::Null, error).await?;
                        }
                        Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                        Some(Ok(Message::Close(_))) | None => return Err(Gone),
                        Some(Err(error)) => return self.unreadable(error).await,
                    }
                }
                published = following.next() => {
                    let Some(published) = published else { return self.ended(&following.id.clone()).await };
                    let ended = following.forward(&mut self.writer, published).await?;
                    if let Some((_, reply_to)) = self.clearing.take_if(|(work, _)| ended.contains(work)) {
                        self.clear(following, reply_to).await?;
                    }
                }
                _ = ping.tick() => {
                    if waiting.is_none() && heard.elapsed() > IDLE_TIMEOUT {
                        return Err(Gone);
                    }
                    self.writer.ping().await?;
                }
            }
        }
    }

    /// Returns the frame, or why the client's credential does not allow it.
    fn allowed(&self, Parsed { frame, id }: Parsed) -> Parsed {
        let frame = frame.and_then(|frame| match frame {
            Inbound::Hello(_) => Ok(frame),
            _ => self.caller.require_change().map(|()| frame),
        });
        Parsed { frame, id }
    }

    /// Does what a frame asks for whose order does not matter.
    async fn take(&mut self, Parsed { frame, id }: Parsed, session: &SessionId) -> Result<(), Gone> {
        let done = match frame {
            Ok(Inbound::ApprovalResponse(given)) => self.answer(given, session, id.clone()).await,
            Ok(Inbound::Hello(hello)) => Ok(self.greet(hello, id.clone())),
            Ok(Inbound::UserMessage(_) | Inbound::ClearSession | Inbound::Interrupt) => return Ok(()),
            Err(error) => Err(error),
        };
        self.reply(id, done).await
    }

    async fn reply(&mut self, id: Value, done: Result<OwnStatus, ApiError>) -> Result<(), Gone> {
        match done {
            Ok(status) => self.writer.send(&status.into(), None).await,
            Err(error) => self.writer.refuse(id, error).await,
        }
    }

    async fn answer(&self, given: GivenAnswer, session: &SessionId, reply_to: Value) -> Result<OwnStatus, ApiError> {
        if !self.is_page {
            let message = "send HELLO with the page's secret before you answer a question; see docs/websocket.md";
            return Err(ApiError { message: message.to_owned(), ..ApiError::only_page() });
        }
        let GivenAnswer { request_id, hash, response } = given;
        let (approval, shown) = approval_of(&request_id).ok_or(EngineError::from(AnswerRefused::Unknown))?;
        let asked_in = self.caller.tenant().approvals.session_of(approval).map_err(EngineError::from)?;
        if asked_in != *session {
            return Err(EngineError::from(AnswerRefused::Unknown).into());
        }
        if hash.is_some_and(|hash| hash != shown) {
            return Err(EngineError::from(AnswerRefused::HashDiffers).into());
        }
        self.caller.engine.answer(approval, shown, response).await?;
        Ok(OwnStatus::Answered { request_id, reply_to })
    }

    fn greet(&mut self, hello: Hello, reply_to: Value) -> OwnStatus {
        // The credential of the handshake counts; a token cannot make another person of the client.
        let proves = |secret: String| self.caller.is_page_secret(&self.app, &secret);
        self.is_page = self.is_page || hello.secret.is_some_and(proves);
        OwnStatus::Welcome { may_answer: self.is_page, reply_to }
    }

    /// Begins to send a message, stops the work under way, or clears the session.
    async fn begin(
        &mut self,
        Parsed { frame, id: reply_to }: Parsed,
        following: &mut Following,
    ) -> Result<Option<BoxFuture<'static, Sent>>, Gone> {
        match frame {
            Ok(Inbound::UserMessage(message)) => {
                // A task, so that a client that disconnects does not cut it off in the middle.
                let sent = tokio::spawn(sent(self.caller.clone(), following.id.clone(), message));
                let cut = |_| EngineError::Internal("sending a message was cut off").into();
                let result = sent.map(move |sent| (reply_to, sent.map_err(cut).flatten()));
                return Ok(Some(result.boxed()));
            }
            Ok(Inbound::Interrupt) => {
                let id = following.id.clone();
                let done = self.interrupt(&id).await;
                let done = done.map(|interrupted| OwnStatus::Interrupted { interrupted, reply_to: reply_to.clone() });
                self.reply(reply_to, done).await?;
            }
            Ok(Inbound::ClearSession) => match self.interrupt(&following.id.clone()).await {
                Ok(_) => self.clear_when_idle(following, reply_to).await?,
                Err(error) => self.writer.refuse(reply_to, error).await?,
            },
            Ok(Inbound::ApprovalResponse(_) | Inbound::Hello(_)) | Err(_) => {}
        }
        Ok(None)
    }

    /// Stops the work under way. Returns whether there was one.
    async fn interrupt(&self, id: &SessionId) -> Result<bool, ApiError> {
        match self.caller.engine.interrupt(id).await {
            Ok(interrupted) => Ok(interrupted),
            // Nothing was sent yet.
            Err(EngineError::NoSession(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Clears the session after the end of its work, which is told first.
    async fn clear_when_idle(&mut self, following: &mut Following, reply_to: Value) -> Result<(), Gone> {
        match self.caller.engine.view(&following.id).await {
            Ok(view) => match view.session.running() {
                Some(work) => self.clearing = Some((work.work_id.clone(), reply_to)),
                None => {
                    // The end of its last work may not have been sent yet.
                    following.forward_published(&mut self.writer).await?;
                    self.clear(following, reply_to).await?;
                }
            },
            Err(EngineError::NoSession(_)) => self.clear(following, reply_to).await?,
            Err(error) => self.writer.refuse(reply_to, error.into()).await?,
        }
        Ok(())
    }

    /// Archives the session, and goes on with a new one.
    async fn clear(&mut self, following: &mut Following, reply_to: Value) -> Result<(), Gone> {
        match self.caller.engine.archive(&following.id).await {
            // Nothing was sent yet.
            Ok(_) | Err(EngineError::NoSession(_)) => {}
            Err(error) => return self.writer.refuse(reply_to, error.into()).await,
        }
        let archived = following.id.to_string();
        let id = SessionId::parse(&clock::new_id()).expect("a new id is the id of a session");
        let cleared = OwnStatus::Cleared { archived, session_id: id.to_string(), reply_to };
        self.writer.send(&cleared.into(), None).await?;
        match Following::open(self.caller.clone(), id, None, &mut self.writer).await? {
            Ok(new) => std::mem::replace(following, new).end(),
            Err(error) => self.writer.refuse(Value::Null, error).await?,
        }
        Ok(())
    }

    async fn report(&mut self, reply_to: Value, sent: Result<WorkStarted, ApiError>) -> Result<(), Gone> {
        let accepted =
            |WorkStarted { work_id, state, .. }| OwnStatus::Accepted { work_id, state, reply_to: reply_to.clone() };
        let done = sent.map(accepted);
        self.reply(reply_to, done).await
    }

    /// The session's events have ended: it was deleted, or the client did not read them.
    async fn ended(&mut self, session: &SessionId) -> Result<Closing, Gone> {
        if self.app.stopping.is_cancelled() {
            return Ok((CloseCode::GoingAway, "going away"));
        }
        match self.caller.engine.view(session).await {
            Ok(_) => Ok((CloseCode::TryAgain, "too slow: reconnect with the last id")),
            Err(error) => {
                self.writer.refuse(Value::Null, error.into()).await?;
                Ok((CloseCode::Normal, "the session is gone"))
            }
        }
    }

    /// Tells a client whose frame cannot be read why; nothing after it can be read either.
    async fn unreadable(&mut self, error: axum::Error) -> Result<Closing, Gone> {
        let why = error.to_string();
        let closing = error.into_inner().downcast_ref().and_then(CloseCode::of_unreadable).ok_or(Gone)?;
        let error = ApiError::bad_request("bad_frame", format!("the connection sent what cannot be read: {why}"));
        let _ = timeout(CLOSE_TIMEOUT, self.writer.refuse(Value::Null, error)).await;
        Ok(closing)
    }
}

/// Sends a message to a session.
async fn sent(caller: Arc<Caller>, id: SessionId, message: UserMessage) -> Result<WorkStarted, ApiError> {
    let UserMessage { content, files, mut attachments, key } = message;
    let key = key.map(usable).transpose()?;
    if !files.is_empty() {
        let project = match caller.engine.view(&id).await {
            Ok(view) => view.session.project_id.clone(),
            Err(EngineError::NoSession(_)) => None,
            Err(error) => return Err(error.into()),
        };
        attachments.extend(named(&caller, project.as_ref(), files).await?);
    }
    let prompt = prompt(&caller, &id, content, attachments).await?;
    Ok(caller.engine.say(&id, NewMessage { prompt, key, when: When::Now }).await?)
}
