//! The sending half of a WebSocket. Whatever it sends, a client that does not read is given up after a while.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures_util::SinkExt;
use futures_util::stream::SplitSink;
use serde_json::Value;
use tokio::time::timeout;
use tungstenite::Error as WsError;

use super::outbound::{ErrorFrame, SocketFrame, encode};
use crate::api::error::ApiError;
use crate::engine::EventId;

/// How long a client may leave what is sent unread.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a client may take to read why it is disconnected.
pub const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Why a connection is closed (RFC 6455, 7.4.1).
#[derive(Clone, Copy)]
pub enum CloseCode {
    Normal = 1000,
    GoingAway = 1001,
    ProtocolError = 1002,
    InvalidText = 1007,
    Policy = 1008,
    TooLarge = 1009,
    TryAgain = 1013,
}

impl CloseCode {
    /// Returns why a connection is closed on which this was read, in words too; `None` if it is closed already.
    pub fn of_unreadable(error: &WsError) -> Option<(Self, &'static str)> {
        match error {
            WsError::Capacity(_) => Some((Self::TooLarge, "the frame is too long")),
            WsError::Utf8(_) => Some((Self::InvalidText, "the text is not UTF-8")),
            WsError::Protocol(_) => Some((Self::ProtocolError, "violation of the protocol")),
            _ => None,
        }
    }
}

/// The connection cannot be used any more.
pub struct Gone;

pub struct Writer(SplitSink<WebSocket, Message>);

impl Writer {
    pub fn new(sink: SplitSink<WebSocket, Message>) -> Self {
        Self(sink)
    }

    /// Sends a frame, with the id of the event that it shows, if it shows one.
    pub async fn send(&mut self, frame: &SocketFrame, id: Option<&EventId>) -> Result<(), Gone> {
        self.feed(frame, id).await?;
        self.flush().await
    }

    /// Sends a frame at the next `flush`, or before.
    pub async fn feed(&mut self, frame: &SocketFrame, id: Option<&EventId>) -> Result<(), Gone> {
        in_time(self.0.feed(Message::Text(encode(frame, id).into()))).await
    }

    pub async fn flush(&mut self) -> Result<(), Gone> {
        in_time(self.0.flush()).await
    }

    pub async fn ping(&mut self) -> Result<(), Gone> {
        in_time(self.0.send(Message::Ping(Default::default()))).await
    }

    /// Says why a frame is refused. `reply_to` is the client's id of it.
    pub async fn refuse(&mut self, reply_to: Value, error: ApiError) -> Result<(), Gone> {
        self.send(&ErrorFrame::refusal(error, reply_to).into(), None).await
    }

    /// Closes the connection. The client may be gone.
    pub async fn close(&mut self, code: CloseCode, reason: &str) {
        let frame = CloseFrame { code: code as u16, reason: reason.into() };
        let _ = timeout(CLOSE_TIMEOUT, self.0.send(Message::Close(Some(frame)))).await;
    }
}

async fn in_time(writing: impl Future<Output = Result<(), axum::Error>>) -> Result<(), Gone> {
    match timeout(WRITE_TIMEOUT, writing).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(Gone),
    }
}
