//! Decides where a request is answered, and passes it on.

use std::error::Error;
use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::uri::{PathAndQuery, Scheme, Uri};
use axum::http::{HeaderValue, Response, StatusCode, Version, header};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use rustls::RootCertStore;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::client::{HopClient, hop_client};
use super::owners::{Destination, FailedHop, HopFailure, Owner, Owners};
use super::payload::{Payload, is_repeatable};
use super::proof::{FORWARDED, Forwarded, Key};
use super::relay::{Ends, OwnerSocket, answer, asks_for_upgrade, remove_headers_of_connection};
use crate::api::error::ApiError;
use crate::domain::HomeId;
use crate::engine::metrics::Metrics;

/// Seconds after which a client tries again while a home is on its way.
const RETRY_AFTER: u64 = 1;

/// Passes requests on to other servers of the cluster.
pub struct Forwarder {
    owners: Arc<dyn Owners>,
    key: Key,
    client: HopClient,
    /// Cancelled when this server stops.
    stopping: CancellationToken,
    /// What counts requests, if anything does.
    metrics: Option<Arc<Metrics>>,
    /// The WebSockets of this server, for which it waits when it stops.
    sockets: TaskTracker,
}

/// What became of a request.
pub enum Passed {
    /// It is answered here.
    Here(Request),
    /// The owner of the home has answered it.
    Answered(Response<Body>),
}

/// A request that is passed on.
struct Outgoing {
    parts: Parts,
    payload: Payload,
}

/// Why an attempt has brought no answer.
struct Failed {
    hop: FailedHop,
    /// The request may have been carried out.
    is_unknown: bool,
}

impl Forwarder {
    /// `secret` is that of the cluster. `authorities` are trusted with the certificates of the other servers.
    pub fn new(
        owners: Arc<dyn Owners>,
        secret: &SecretString,
        authorities: RootCertStore,
        stopping: CancellationToken,
    ) -> Self {
        Self {
            owners,
            key: Key::of(secret),
            client: hop_client(authorities),
            stopping,
            metrics: None,
            sockets: TaskTracker::new(),
        }
    }

    /// Counts the requests that are passed on.
    pub fn counted_by(self, metrics: Option<Arc<Metrics>>) -> Self {
        Self { metrics, ..self }
    }

    /// Adds those that pass through to these WebSockets.
    pub fn among(self, sockets: TaskTracker) -> Self {
        Self { sockets, ..self }
    }

    /// Reads and removes what another server says of a request. See [`Key::receive`].
    ///
    /// # Errors
    /// Returns `bad_forward` if somebody else says it.
    pub fn receive(&self, request: &mut Request) -> Result<(), ApiError> {
        self.key.receive(request, self.owners.shared_time())
    }

    /// Passes a request for a home on to its owner, unless that is this server. A request that another server has passed on is
    /// never passed on again.
    ///
    /// # Errors
    /// Returns `home_elsewhere` if another server has passed the request on and the home is not here, `home_moving` if the owner
    /// did not get it, `answer_lost` if it may have carried it out, and `body_incomplete`.
    pub async fn pass(&self, home: &HomeId, request: Request) -> Result<Passed, ApiError> {
        let passed = self.pass_to_owner(home, request).await;
        let outcome = match &passed {
            Ok(Passed::Here(_)) => return passed,
            Ok(Passed::Answered(_)) => "answered",
            Err(error) => error.code,
        };
        if let Some(metrics) = &self.metrics {
            metrics.forwarded(outcome);
        }
        passed
    }

    /// Opens the WebSocket of a client that has one with this server already on the owner of the home. `request` is the client's
    /// handshake with its credential. Returns `None` if the home is here.
    ///
    /// # Errors
    /// As [`Forwarder::pass`], and `home_moving` if the owner does not open it.
    pub async fn open_socket(&self, home: &HomeId, mut request: Request) -> Result<Option<OwnerSocket>, ApiError> {
        // This server has made a WebSocket of the client's connection already.
        request.extensions_mut().remove::<OnUpgrade>();
        match self.pass(home, request).await? {
            Passed::Here(_) => Ok(None),
            Passed::Answered(mut response) => {
                response.extensions_mut().remove::<OwnerSocket>().map(Some).ok_or_else(home_moving)
            }
        }
    }

    async fn pass_to_owner(&self, home: &HomeId, request: Request) -> Result<Passed, ApiError> {
        let destination = self.owners.of(home).await;
        let owner = match destination {
            Destination::Here => return Ok(Passed::Here(request)),
            _ if request.extensions().get::<Forwarded>().is_some() => return Err(home_elsewhere()),
            Destination::Nobody => return Err(home_moving()),
            Destination::Refused(why) => return Err(why),
            Destination::Server(owner) => owner,
        };
        let (parts, body) = request.into_parts();
        let payload = Payload::of(&parts.headers, body).await?;
        let mut outgoing = Outgoing { parts, payload };
        let Some(body) = outgoing.payload.take() else { return Err(home_moving()) };
        let failed = match self.attempt(&outgoing.parts, body, owner).await {
            Ok(answer) => return Ok(Passed::Answered(answer)),
            Err(failed) => failed,
        };
        tracing::debug!(why = ?failed.hop.why, address = %failed.hop.owner.address, "a request was not passed on");
        if failed.is_unknown && !is_repeatable(&outgoing.parts) {
            return Err(answer_lost());
        }
        let destination = self.owners.after(home, &failed.hop).await;
        let Some(body) = outgoing.payload.take() else { return Err(home_moving()) };
        match destination {
            Destination::Here => Ok(Passed::Here(Request::from_parts(outgoing.parts, body))),
            Destination::Nobody => Err(home_moving()),
            Destination::Refused(why) => Err(why),
            Destination::Server(owner) => {
                let tried = self.attempt(&outgoing.parts, body, owner).await;
                tried.map(Passed::Answered).map_err(|failed| failed.refusal(&outgoing.parts))
            }
        }
    }

    async fn attempt(&self, parts: &Parts, body: Body, owner: Owner) -> Result<Response<Body>, Failed> {
        let failed = |owner: Owner, why, is_unknown| Failed { hop: FailedHop { owner, why }, is_unknown };
        let Some(request) = self.outgoing(parts, body, &owner) else {
            return Err(failed(owner, HopFailure::Unreachable, false));
        };
        let answered = tokio::select! {
            answered = self.client.request(request) => Some(answered),
            () = owner.lost.cancelled() => None,
        };
        match answered {
            None => Err(failed(owner, HopFailure::Broken, true)),
            Some(Err(error)) if error.is_connect() => {
                if let Some(reason) = tls_problem(&error) {
                    let address = &owner.address;
                    tracing::warn!(%address, %reason, "no encrypted connection to another server; check store.cluster_ca");
                }
                Err(failed(owner, HopFailure::Unreachable, false))
            }
            Some(Err(_)) => Err(failed(owner, HopFailure::Broken, true)),
            Some(Ok(answer)) if answer.status() == StatusCode::MISDIRECTED_REQUEST => {
                Err(failed(owner, HopFailure::NotOwner, false))
            }
            Some(Ok(answer)) => Ok(self.answered(parts, answer, owner)),
        }
    }

    /// Returns the request for the owner; `None` if its address cannot be used.
    fn outgoing(&self, parts: &Parts, body: Body, owner: &Owner) -> Option<Request> {
        let address: Uri = owner.address.parse().ok()?;
        let mut uri = address.into_parts();
        if ![Some(Scheme::HTTP), Some(Scheme::HTTPS)].contains(&uri.scheme) {
            return None;
        }
        uri.path_and_query = parts.uri.path_and_query().cloned().or_else(|| Some(PathAndQuery::from_static("/")));
        let mut request = Request::new(body);
        *request.method_mut() = parts.method.clone();
        *request.uri_mut() = Uri::from_parts(uri).ok()?;
        *request.version_mut() = Version::HTTP_11;
        *request.headers_mut() = parts.headers.clone();
        let headers = request.headers_mut();
        remove_headers_of_connection(headers);
        if asks_for_upgrade(&parts.headers) {
            headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        } else {
            headers.remove(header::UPGRADE);
        }
        headers.insert(FORWARDED, self.key.sign(parts, self.owners.shared_time()));
        Some(request)
    }

    fn answered(&self, parts: &Parts, mut response: Response<Incoming>, owner: Owner) -> Response<Body> {
        let ends = Ends { lost: owner.lost, stopping: self.stopping.clone() };
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return answer(response, ends);
        }
        let owner = OwnerSocket { connection: hyper::upgrade::on(&mut response), ends };
        match parts.extensions.get::<OnUpgrade>().cloned() {
            Some(client) => drop(self.sockets.spawn(owner.relay(client))),
            // See `open_socket`.
            None => drop(response.extensions_mut().insert(owner)),
        }
        response.map(|_| Body::empty())
    }
}

impl Failed {
    /// Returns what the client is told after the last attempt.
    fn refusal(&self, parts: &Parts) -> ApiError {
        if self.is_unknown && !is_repeatable(parts) { answer_lost() } else { home_moving() }
    }
}

/// Returns what was wrong with the encryption, if that was the reason why no connection was made.
fn tls_problem(error: &(dyn Error + 'static)) -> Option<String> {
    let mut cause = Some(error);
    while let Some(known) = cause {
        if let Some(of_tls) = known.downcast_ref::<rustls::Error>() {
            return Some(of_tls.to_string());
        }
        let io = known.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = io.map_or_else(|| known.source(), |inner| Some(inner as &(dyn Error + 'static)));
    }
    None
}

pub fn home_moving() -> ApiError {
    let message = "the home is on its way to another server of the cluster; try again in a second";
    let error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "home_moving", message);
    ApiError { retry_after: Some(RETRY_AFTER), ..error }
}

/// Only another server of the cluster gets this.
fn home_elsewhere() -> ApiError {
    let message = "this server does not have the home; ask the database which one does";
    ApiError::new(StatusCode::MISDIRECTED_REQUEST, "home_elsewhere", message)
}

fn answer_lost() -> ApiError {
    let message = "the server with the home was lost before it answered, and may have done what was asked; look before you ask \
                   again";
    ApiError::new(StatusCode::BAD_GATEWAY, "answer_lost", message)
}
