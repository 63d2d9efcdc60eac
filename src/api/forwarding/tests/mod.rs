//! Real servers in this process, each with routes that tell what arrived, behind the forwarder.

mod passing;
mod retries;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use axum::body::{Body, BodyDataStream, Bytes, to_bytes};
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, Response, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::IntoResponse;
use axum::routing::{any, get, post};
use axum::{Json, Router};
use futures_util::StreamExt;
use futures_util::future::{BoxFuture, FutureExt};
use rustls::RootCertStore;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;

use super::client::{HopClient, hop_client};
use super::*;
use crate::api::connections;
use crate::api::security::client::Peer;
use crate::domain::HomeId;

/// What makes the owner drop its WebSocket without a word.
pub(super) const LEAVE: &str = "Leave";
/// How long a client may be silent on a WebSocket whose frames are passed on.
const PATIENCE_WITH_CLIENTS: Duration = Duration::from_secs(3);
pub(super) const SECRET: &str = "the secret of the cluster, forty letters";

/// What a test lets a server know of the owner.
#[derive(Default)]
pub(super) struct Known {
    /// The answer to the first question.
    of: Mutex<Option<Destination>>,
    /// The answers to those after failures.
    pub(super) after: Mutex<VecDeque<Destination>>,
    failed: Mutex<Vec<HopFailure>>,
}

impl Known {
    pub(super) fn set(&self, of: Destination) {
        *self.of.lock().unwrap() = Some(of);
    }

    pub(super) fn then(&self, after: Destination) {
        self.after.lock().unwrap().push_back(after);
    }

    pub(super) fn failed(&self) -> Vec<HopFailure> {
        std::mem::take(&mut self.failed.lock().unwrap())
    }
}

impl Owners for Known {
    fn of<'a>(&'a self, _: &'a HomeId) -> BoxFuture<'a, Destination> {
        let of = self.of.lock().unwrap().clone();
        async { of.unwrap_or(Destination::Here) }.boxed()
    }

    fn after<'a>(&'a self, _: &'a HomeId, failed: &'a FailedHop) -> BoxFuture<'a, Destination> {
        self.failed.lock().unwrap().push(failed.why);
        let after = self.after.lock().unwrap().pop_front();
        async { after.unwrap_or(Destination::Nobody) }.boxed()
    }

    fn shared_time(&self) -> Duration {
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap()
    }
}

/// What tells the test of requests, and is told what to send.
#[derive(Clone)]
struct Door {
    events: Arc<Mutex<Option<mpsc::Receiver<Bytes>>>>,
    arrived: mpsc::UnboundedSender<String>,
}

pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) known: Arc<Known>,
    /// Sends pieces of the stream of events.
    pub(super) events: mpsc::Sender<Bytes>,
    pub(super) arrived: mpsc::UnboundedReceiver<String>,
    stopping: CancellationToken,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopping.cancel();
    }
}

impl Server {
    pub(super) async fn start(secret: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (known, stopping) = (Arc::new(Known::default()), CancellationToken::new());
        let (events, receiver) = mpsc::channel(1);
        let (sender, arrived) = mpsc::unbounded_channel();
        let door = Door { events: Arc::new(Mutex::new(Some(receiver))), arrived: sender };
        let forwarder = Arc::new(Forwarder::new(
            known.clone(),
            &secret.to_owned().into(),
            RootCertStore::empty(),
            stopping.clone(),
        ));
        let routes = Router::new()
            .route("/api/echo", any(echo))
            .route("/api/events", get(events_of))
            .route("/api/upload", post(upload))
            .route("/api/wait", post(wait))
            .route("/v1/lost", any(lost))
            .route("/ws", get(socket))
            .with_state(door)
            .layer(from_fn_with_state(forwarder.clone(), guard))
            .route("/greeted", get(greeted).with_state(forwarder));
        tokio::spawn(connections::serve(listener, routes, None, stopping.clone()));
        Self { address, known, events, arrived, stopping }
    }

    /// Returns this server as the owner of the home.
    pub(super) fn owner(&self) -> Owner {
        owner_at(self.address)
    }

    pub(super) async fn arrival(&mut self) -> String {
        tokio::time::timeout(Duration::from_secs(20), self.arrived.recv()).await.expect("it arrives").unwrap()
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

pub(super) fn owner_at(address: SocketAddr) -> Owner {
    Owner { address: format!("http://{address}").into(), fence: 7, lost: CancellationToken::new() }
}

/// A first server, and the one that has the home.
pub(super) async fn cluster() -> (Server, Server) {
    let (first, owner) = (Server::start(SECRET).await, Server::start(SECRET).await);
    first.known.set(Destination::Server(owner.owner()));
    (first, owner)
}

async fn guard(State(forwarder): State<Arc<Forwarder>>, mut request: Request, next: Next) -> Response<Body> {
    if let Err(error) = forwarder.receive(&mut request) {
        return error.into_response();
    }
    match forwarder.pass(&HomeId::Server, request).await {
        Ok(Passed::Here(request)) => next.run(request).await,
        Ok(Passed::Answered(answer)) => answer,
        Err(error) => error.into_response(),
    }
}

async fn echo(State(door): State<Door>, request: Request) -> impl IntoResponse {
    let (parts, body) = request.into_parts();
    let _ = door.arrived.send("echo".to_owned());
    let body = to_bytes(body, 1 << 20).await.unwrap();
    let peer = Peer::of(&parts.extensions);
    let said: Vec<_> = parts.headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
    let told = json!({
        "method": parts.method.as_str(), "path": parts.uri.to_string(), "headers": said, "bytes": body.len(),
        "peer": peer.address.to_string(), "tls": peer.is_over_tls,
        "is_forwarded": parts.extensions.get::<Forwarded>().is_some(),
    });
    (StatusCode::IM_A_TEAPOT, [("x-one", "1"), ("set-cookie", "a=b; Secure")], Json(told))
}

async fn events_of(State(door): State<Door>) -> impl IntoResponse {
    let receiver = door.events.lock().unwrap().take().unwrap();
    let pieces = futures_util::stream::unfold(receiver, async |mut receiver| {
        let piece = receiver.recv().await?;
        Some((Ok::<_, std::io::Error>(piece), receiver))
    });
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(pieces))
}

async fn upload(State(door): State<Door>, body: Body) -> impl IntoResponse {
    let mut pieces = body.into_data_stream();
    let mut all = 0;
    while let Some(Ok(piece)) = pieces.next().await {
        all += piece.len();
        let _ = door.arrived.send(format!("piece {all}"));
    }
    all.to_string()
}

/// Never answers; tells when it is dropped.
async fn wait(State(door): State<Door>) -> StatusCode {
    struct Tells(mpsc::UnboundedSender<String>);
    impl Drop for Tells {
        fn drop(&mut self) {
            let _ = self.0.send("dropped".to_owned());
        }
    }
    let tells = Tells(door.arrived.clone());
    let _ = door.arrived.send("waits".to_owned());
    std::future::pending::<()>().await;
    drop(tells);
    StatusCode::OK
}

/// Panics, which closes the connection without an answer.
async fn lost(State(door): State<Door>) -> StatusCode {
    let _ = door.arrived.send("lost".to_owned());
    panic!("the connection ends without an answer")
}

async fn socket(upgrade: WebSocketUpgrade) -> Response<Body> {
    upgrade.on_upgrade(async |mut socket| {
        while let Some(Ok(message)) = socket.recv().await {
            if message.to_text().is_ok_and(|text| text == LEAVE) {
                return;
            }
            let _ = socket.send(message).await;
        }
    })
}

/// Makes a WebSocket of the connection, and passes its frames and a greeting to the owner's, as for a client that says who it is in
/// its first frame.
async fn greeted(
    State(forwarder): State<Arc<Forwarder>>,
    upgrade: WebSocketUpgrade,
    mut request: Request,
) -> Response<Body> {
    *request.uri_mut() = "/ws".parse().unwrap();
    upgrade.on_upgrade(async move |socket| {
        let owner =
            forwarder.open_socket(&HomeId::Server, request).await.ok().flatten().expect("another server has it");
        owner.pass_frames(socket, Some("Hello".to_owned()), PATIENCE_WITH_CLIENTS).await;
    })
}

pub(super) fn request(method: Method, url: String) -> axum::http::request::Builder {
    axum::http::Request::builder().method(method).uri(url)
}

/// Returns a client as other servers of the cluster have it.
pub(super) fn client() -> HopClient {
    hop_client(RootCertStore::empty())
}

pub(super) async fn sent(client: &HopClient, request: Request) -> Response<Body> {
    client.request(request).await.unwrap().map(Body::new)
}

pub(super) async fn code(answer: Response<Body>) -> (u16, String) {
    let status = answer.status().as_u16();
    let body: Value = serde_json::from_slice(&to_bytes(answer.into_body(), 1 << 20).await.unwrap()).unwrap();
    (status, body["code"].as_str().unwrap_or_default().to_owned())
}

pub(super) async fn get_code(server: &Server, path: &str) -> (u16, String) {
    let request = request(Method::GET, server.url(path)).body(Body::empty()).unwrap();
    code(sent(&client(), request).await).await
}

pub(super) async fn text(pieces: &mut BodyDataStream) -> String {
    let piece = tokio::time::timeout(Duration::from_secs(20), pieces.next()).await.expect("it arrives");
    String::from_utf8(piece.unwrap().unwrap().to_vec()).unwrap()
}
