//! Passes on what another server answers: a stream of bytes, or a WebSocket in both directions.

use std::io;
use std::pin::pin;
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::ws::{self, Message, WebSocket};
use axum::http::{HeaderMap, HeaderName, Response, header};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, Sink, SinkExt, Stream, StreamExt, stream};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_util::sync::CancellationToken;
use tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tungstenite::{Error as WsError, Message as Frame};

use crate::api::socket::{CloseCode, IDLE_TIMEOUT, MAX_FRAME};

/// Length of the longest frame of a client that is read.
const LONGEST_READ: usize = 2 * MAX_FRAME;
/// How long a stream of events may be silent. It has a heartbeat every 15 seconds, so its server does not run any more.
const SILENCE: Duration = Duration::from_secs(45);
/// How long a client may take to read that its connection ends.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// What belongs to one connection. What `Connection` names besides is passed on: the next server is a miniclaw, which ignores
/// it, and a client could remove what a proxy says of it.
const OF_CONNECTION: [HeaderName; 7] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::EXPECT,
];

/// When what passes through has to end.
#[derive(Clone)]
pub struct Ends {
    /// The other server has lost the home.
    pub lost: CancellationToken,
    /// This server stops.
    pub stopping: CancellationToken,
}

impl Ends {
    async fn ended(self) {
        tokio::select! {
            () = self.lost.cancelled() => {}
            () = self.stopping.cancelled() => {}
        }
    }
}

/// Removes the headers that belong to one connection.
pub fn remove_headers_of_connection(headers: &mut HeaderMap) {
    OF_CONNECTION.iter().for_each(|name| drop(headers.remove(name)));
}

/// Whether a request asks to become a WebSocket.
pub fn asks_for_upgrade(headers: &HeaderMap) -> bool {
    let named = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let is_named = named.flat_map(|value| value.split(',')).any(|option| option.trim().eq_ignore_ascii_case("upgrade"));
    is_named && headers.get(header::UPGRADE).is_some_and(|kind| kind.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

/// Returns the answer for the client. Its body is cut off, and not ended, if the other server loses the home: a client does not
/// take a part for the whole.
pub fn answer(response: Response<Incoming>, ends: Ends) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    remove_headers_of_connection(&mut parts.headers);
    parts.headers.remove(header::UPGRADE);
    let kind = parts.headers.get(header::CONTENT_TYPE);
    let is_events = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    let passing = Passing {
        pieces: Body::new(body).into_data_stream(),
        ended: ends.ended().boxed(),
        silence: is_events.then_some(SILENCE),
    };
    // Nothing comes after a failure.
    let pieces = stream::unfold(Some(passing), async |passing| {
        let mut passing = passing?;
        let piece = passing.next().await?;
        let rest = piece.is_ok().then_some(passing);
        Some((piece, rest))
    });
    Response::from_parts(parts, Body::from_stream(pieces))
}

/// A body on its way.
struct Passing {
    pieces: BodyDataStream,
    ended: BoxFuture<'static, ()>,
    silence: Option<Duration>,
}

impl Passing {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        let next = async {
            let piece = match self.silence {
                Some(silence) => timeout(silence, self.pieces.next()).await.map_err(io::Error::from),
                None => Ok(self.pieces.next().await),
            };
            piece.transpose().map(|piece| piece.and_then(|piece| piece.map_err(io::Error::other)))
        };
        tokio::select! {
            biased;
            piece = next => piece,
            () = &mut self.ended => Some(Err(io::Error::other("the home is moving to another server"))),
        }
    }
}

/// A WebSocket with the owner of a home, for a client of this server.
#[derive(Clone)]
pub struct OwnerSocket {
    pub(super) connection: OnUpgrade,
    pub(super) ends: Ends,
}

impl OwnerSocket {
    /// Passes frames between the connection that becomes the client's WebSocket and the owner; see [`OwnerSocket::pass_frames`].
    pub(super) async fn relay(self, client: OnUpgrade) {
        let Ok(client) = client.await else { return };
        let limits = WebSocketConfig::default().max_message_size(Some(LONGEST_READ)).max_frame_size(Some(LONGEST_READ));
        let client = WebSocketStream::from_raw_socket(TokioIo::new(client), Role::Server, Some(limits)).await;
        self.pass(client, None, IDLE_TIMEOUT).await;
    }

    /// Sends `first` to the owner, and passes frames between it and the client's WebSocket until one side ends, or the client says
    /// nothing for as long as `idle`: this server answers the owner's pings itself, so the owner would not notice. The client is
    /// told if the home moves, the owner is lost or this server stops.
    pub async fn pass_frames(self, client: WebSocket, first: Option<String>, idle: Duration) {
        let client = client
            .map(|read| read.map(of_client).map_err(unread))
            .with(async |frame| Ok::<_, axum::Error>(of_owner(frame)));
        self.pass(pin!(client), first, idle).await;
    }

    async fn pass(
        self,
        client: impl Stream<Item = Result<Frame, WsError>> + Sink<Frame> + Unpin,
        first: Option<String>,
        idle: Duration,
    ) {
        const LOST: Option<(CloseCode, &str)> = Some((CloseCode::GoingAway, "going away"));
        let Ok(owner) = self.connection.await else { return };
        // The client's frames were measured when they were read.
        let limits = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
        let owner = WebSocketStream::from_raw_socket(TokioIo::new(owner), Role::Client, Some(limits)).await;
        let ((mut to_owner, mut from_owner), (mut to_client, mut from_client)) = (owner.split(), client.split());
        // Each returns what the client has to be told.
        let up = async {
            if let Some(first) = first
                && to_owner.send(Frame::text(first)).await.is_err()
            {
                return LOST;
            }
            while let Ok(Some(read)) = timeout(idle, from_client.next()).await {
                let frame = match read {
                    Ok(frame) => frame,
                    Err(error) => return CloseCode::of_unreadable(&error),
                };
                if to_owner.send(frame).await.is_err() {
                    return LOST;
                }
            }
            None
        };
        let down = async {
            let mut is_closed = false;
            while let Some(Ok(frame)) = from_owner.next().await {
                is_closed |= frame.is_close();
                if to_client.send(frame).await.is_err() {
                    return None;
                }
            }
            if is_closed { None } else { LOST }
        };
        let why = tokio::select! {
            why = up => why,
            why = down => why,
            () = self.ends.ended() => LOST,
        };
        if let Some((code, reason)) = why {
            let close = CloseFrame { code: (code as u16).into(), reason: reason.into() };
            let _ = timeout(CLOSE_TIMEOUT, to_client.send(Frame::Close(Some(close)))).await;
        }
    }
}

fn unread(error: axum::Error) -> WsError {
    error.into_inner().downcast().map_or(WsError::ConnectionClosed, |error| *error)
}

fn of_client(frame: Message) -> Frame {
    match frame {
        Message::Text(text) => Frame::text(text.as_str()),
        Message::Binary(bytes) => Frame::Binary(bytes),
        Message::Ping(bytes) => Frame::Ping(bytes),
        Message::Pong(bytes) => Frame::Pong(bytes),
        Message::Close(close) => Frame::Close(
            close.map(|close| CloseFrame { code: close.code.into(), reason: close.reason.as_str().into() }),
        ),
    }
}

fn of_owner(frame: Frame) -> Message {
    match frame {
        Frame::Text(text) => Message::Text(text.as_str().into()),
        Frame::Binary(bytes) => Message::Binary(bytes),
        Frame::Ping(bytes) => Message::Ping(bytes),
        Frame::Pong(bytes) => Message::Pong(bytes),
        Frame::Close(close) => Message::Close(
            close.map(|close| ws::CloseFrame { code: close.code.into(), reason: close.reason.as_str().into() }),
        ),
        // No frame is read as this.
        Frame::Frame(raw) => Message::Binary(raw.into_payload()),
    }
}
