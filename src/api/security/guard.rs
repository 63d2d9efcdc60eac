//! The middleware for every request: checks where it comes from ([`origin`](super::origin)) and its credential, passes it on if
//! another server of the cluster has the home, and adds the security headers to every response.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::api::app::App;
use crate::api::conversations::envelope::{envelope_error, is_enveloped};
use crate::api::error::ApiError;
use crate::api::forwarding::{FORWARDED, Forwarded, OwnerSocket, Passed, home_moving};
use crate::api::mcp::authentication::{PROTECTED_RESOURCE, PROTECTED_RESOURCE_OF_MCP, challenge, with_challenge};
use crate::api::mcp_servers::{CALLBACK_PATH, CLIENT_PATH};
use crate::api::metrics::METRICS_PATH;
use crate::api::openai::error::openai_error;
use crate::api::rejection::normalize_error_response;
use crate::api::security::access::{Credentials, KnownCookie};
use crate::api::security::audit;
use crate::api::security::caller::{Identity, Proof};
use crate::api::security::client::{Client, Peer};
use crate::api::security::origin;
use crate::api::security::person::Person;
use crate::api::security::program::{ProgramDoor, monitor, program, shows_api_token};
use crate::api::security::proxy_user::ProxyUser;
use crate::api::security::routed::home_of;
use crate::api::status::ready::READY_PATH;
use crate::domain::{Account, HomeId};
use crate::engine::people::{Credential, NotAccepted, People};

/// The path at which a request becomes a WebSocket.
const SOCKET: &str = "/ws";

pub async fn guard(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let received = receive(&app, &mut request);
    let is_enveloped = is_enveloped(request.uri().path());
    let door = ProgramDoor::of(request.uri().path());
    let challenge = (door == Some(ProgramDoor::Mcp)).then(|| challenge(&app, &request));
    let is_strict = is_strictly_https(&request);
    let admitted = match received {
        Ok(()) => admitted(&app, request).await,
        Err(error) => Err(error),
    };
    let answer = match admitted {
        Ok(Passed::Answered(answer)) => return answer,
        Ok(Passed::Here(request)) => answered(&app, request, next).await,
        Err(error) => error.into_response(),
    };
    let answer = if door == Some(ProgramDoor::OpenAi) { openai_error(answer) } else { answer };
    let answer = match challenge {
        Some(challenge) => with_challenge(answer, &challenge),
        None => answer,
    };
    let mut answer = harden(if is_enveloped { envelope_error(answer) } else { answer });
    if is_strict {
        answer.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, STRICT);
    }
    answer
}

/// Reads and removes what another server of the cluster says of a request. Nobody else's word counts.
fn receive(app: &App, request: &mut Request) -> Result<(), ApiError> {
    match &app.forwarder {
        Some(forwarder) => forwarder.receive(request),
        None => {
            request.headers_mut().remove(FORWARDED);
            Ok(())
        }
    }
}

/// Checks where a request comes from, and passes it on if it is for a home that another server of the cluster has. The owner
/// checks the credential, and its answer is complete.
async fn admitted(app: &App, request: Request) -> Result<Passed, ApiError> {
    // The server that has passed a request on has checked it, and is the one whose name the client knows.
    if request.extensions().get::<Forwarded>().is_none() {
        origin::check_origin(app, &request)?;
    }
    origin::check_type(&request)?;
    match &app.forwarder {
        // On the heap, so that servers outside of a cluster have no room for it in each request.
        Some(forwarder) if needs_home(request.uri().path()) => match home_in_cluster(app, &request)? {
            Some(home) => Box::pin(forwarder.pass(&home, request)).await,
            None => Ok(Passed::Here(request)),
        },
        _ => Ok(Passed::Here(request)),
    }
}

/// Returns the home that a request is for; `None` if any server can answer it.
///
/// # Errors
/// Returns `home_moving` if it is not known at this moment who may use which home.
fn home_in_cluster(app: &App, request: &Request) -> Result<Option<HomeId>, ApiError> {
    let Some(people) = &app.people else { return Ok(Some(HomeId::Server)) };
    if !people.is_current() {
        return Err(home_moving());
    }
    Ok(home_of(app, people, request))
}

/// Opens the WebSocket of a client that has said who it is in its first frame on the server of the cluster that has its home;
/// returns `None` if that is this one. `request` is its handshake with the credential.
///
/// # Errors
/// Returns `signed_out` or `disabled` if the credential does not count, and an error if the owner does not open it.
pub(in crate::api) async fn socket_elsewhere(app: &App, request: Request) -> Result<Option<OwnerSocket>, ApiError> {
    let Some(forwarder) = &app.forwarder else { return Ok(None) };
    // A handshake that another server has passed on stays here.
    if request.extensions().get::<Forwarded>().is_some() {
        return Ok(None);
    }
    identified(app, &request)?;
    match home_in_cluster(app, &request)? {
        Some(home) => forwarder.open_socket(&home, request).await,
        None => Ok(None),
    }
}

/// Whether a path is about a home. The others are the page, its files, and what tells of this server.
fn needs_home(path: &str) -> bool {
    let is_api = path.strip_prefix("/api").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    is_api || ProgramDoor::of(path).is_some() || path == SOCKET || path == crate::api::aliases::OPERATIONS
}

/// Answers a request for a home of this server.
async fn answered(app: &App, mut request: Request, next: Next) -> Response {
    match check(app, &request) {
        Ok(identity) => {
            if let Some(identity) = identity {
                request.extensions_mut().insert(identity);
            }
            let is_api = needs_home(request.uri().path());
            let answer = audit::recorded(app, request, next).await;
            if is_api { normalize_error_response(answer).await } else { answer }
        }
        Err(error) => error.into_response(),
    }
}

/// Browsers use this host name with HTTPS only, for a year.
const STRICT: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// Whether browsers are told to use the host name of a request with HTTPS only: it came over our own TLS.
fn is_strictly_https(request: &Request) -> bool {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    Peer::of(request.extensions()).is_over_tls && is_whole_host(host)
}

/// Whether we may speak for all ports of a host, as `Strict-Transport-Security` does. Beside us on another port than the usual
/// one, and on the own machine, other programs serve HTTP.
fn is_whole_host(host: &str) -> bool {
    let name = host.to_ascii_lowercase();
    let is_here = name == "localhost" || name.ends_with(".localhost") || name.starts_with("127.");
    // `[::1]` has colons, too.
    !name.contains(':') && !is_here
}

/// Checks the credential of a request and returns the caller's identity; `None` for a public path, if the server needs a token.
fn check(app: &App, request: &Request) -> Result<Option<Identity>, ApiError> {
    let headers = request.headers();
    if let Some(door) = ProgramDoor::of(request.uri().path()) {
        return program(app, request, door).map(Some);
    }
    if app.people.is_none() && shows_api_token(headers) && request.uri().path() == METRICS_PATH && reads(request) {
        return monitor(app, request).map(Some);
    }
    if app.people.is_none() && shows_api_token(headers) {
        return Err(ApiError::ask_token());
    }
    let people = app.people.as_ref();
    if people.is_none() && !app.access.needs_token() {
        return Ok(Some(owner(Proof::Server)));
    }
    match people {
        _ if is_public(request) => Ok(None),
        _ if may_authenticate_later(request) && !has_credential(app, headers) => Ok(None),
        Some(_) if tells_names(request) && !has_credential(app, headers) => Ok(None),
        _ => identified(app, request).map(Some),
    }
}

/// Returns the identity that the credential of a request proves.
///
/// # Errors
/// Returns `signed_out` or `disabled` if there is none, or it does not count.
pub(super) fn identified(app: &App, request: &Request) -> Result<Identity, ApiError> {
    match &app.people {
        None => authorised(app, request),
        Some(people) => member(app, people, request),
    }
}

/// Checks the credential of an account: a bearer token, if there is one, otherwise a cookie.
pub(super) fn member(app: &App, people: &People, request: &Request) -> Result<Identity, ApiError> {
    let headers = request.headers();
    let door = ProgramDoor::of(request.uri().path());
    let named = proxy_user(app, Peer::of(request.extensions()), headers)?;
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let identified = match (given.next(), given.next()) {
        (None, _) => cookie_credential(app, people, (headers, &named))
            .map(|(credential, account)| (Person::of(&account, &credential), Proof::AccountCookie(credential))),
        (Some(value), None) => {
            let token = value.to_str().ok().and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
            let known = people.identify(token).and_then(|known| accepted(&named, known));
            known.map(|(credential, account)| (Person::of(&account, &credential), Proof::AccountBearer(credential)))
        }
        (Some(_), Some(_)) => Err(NotAccepted::SignedOut),
    };
    match identified {
        // What a request to the MCP server does is in its body.
        Ok((_, Proof::AccountBearer(credential)))
            if !credential.may_change() && !reads(request) && door != Some(ProgramDoor::Mcp) =>
        {
            Err(ApiError::read_only_token())
        }
        Ok((_, Proof::AccountBearer(credential))) if credential.only_asks() && door.is_none() => {
            Err(ApiError::ask_token())
        }
        Ok((person, proof)) => Ok(Identity { person, proof }),
        Err(NotAccepted::SignedOut) => Err(ApiError::signed_out()),
        Err(NotAccepted::Disabled) => Err(ApiError::disabled()),
    }
}

/// Returns whom a trusted proxy names on a request.
///
/// # Errors
/// Returns `bad_proxy_user` if it names nobody who can have an account.
pub(in crate::api) fn proxy_user(app: &App, peer: Peer, headers: &HeaderMap) -> Result<ProxyUser, ApiError> {
    let Some(proxy) = &app.access.proxy_header else { return Ok(ProxyUser::Absent) };
    match proxy.user(&app.access.proxies, peer, headers) {
        ProxyUser::Invalid(wrong) => Err(proxy.refusal(wrong)),
        user => Ok(user),
    }
}

/// Returns a credential if the proxy names its person, or nobody.
fn accepted(named: &ProxyUser, known: (Credential, Account)) -> Result<(Credential, Account), NotAccepted> {
    if named.allows(&known.0, &known.1) { Ok(known) } else { Err(NotAccepted::SignedOut) }
}

/// Returns the sign-in in a cookie. Access tokens are for programs, and do not count there.
fn cookie_credential(
    app: &App,
    people: &People,
    (headers, named): (&HeaderMap, &ProxyUser),
) -> Result<(Credential, Account), NotAccepted> {
    let mut refused = NotAccepted::SignedOut;
    for cookie in cookies(app, headers) {
        match people.identify(cookie).and_then(|known| accepted(named, known)) {
            Ok((credential @ Credential::SignIn(_), account)) => return Ok((credential, account)),
            Ok((Credential::AccessToken { .. }, _)) => {}
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

/// Returns the identity of the owner: this server serves one person.
pub(super) fn owner(proof: Proof) -> Identity {
    Identity { person: Person::Owner, proof }
}

/// Checks the bearer token, if there is one, otherwise the cookie of a signed-in browser.
fn authorised(app: &App, request: &Request) -> Result<Identity, ApiError> {
    let headers = request.headers();
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let identity = match (given.next(), given.next()) {
        (None, _) => known_cookie(app, headers).map(|cookie| owner(Proof::Cookie(cookie))),
        (Some(value), None) => {
            let token = value.to_str().ok().and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
            if app.secret.is_of_commands(token) {
                return Ok(owner(Proof::Server));
            }
            let right = app.access.accepts(Credentials::Token(token), source(app, request));
            right.map_err(ApiError::too_many_tries)?.then(|| owner(Proof::Server))
        }
        (Some(_), Some(_)) => None,
    };
    identity.ok_or_else(ApiError::signed_out)
}

/// Returns the address of the client.
pub(super) fn source(app: &App, request: &Request) -> IpAddr {
    Client::of(&app.access.proxies, Peer::of(request.extensions()), request.headers()).address
}

/// What is reachable without a credential. Every other path needs one, whether it exists or not: a new route is closed
/// until it is listed here.
enum Public {
    /// `GET` and `HEAD` of this path.
    Page(&'static str),
    /// `GET` and `HEAD` of every path with this prefix.
    PagesBelow(&'static str),
    /// `POST` to this path.
    Action(&'static str),
}

const PUBLIC: &[Public] = &[
    Public::Page("/health"),
    Public::Page(READY_PATH),
    Public::Action("/api/login"),
    Public::Page("/api/auth/mode"),
    Public::Page(PROTECTED_RESOURCE),
    Public::Page(PROTECTED_RESOURCE_OF_MCP),
    Public::Action("/api/auth/login"),
    // Needs the header of a trusted proxy instead.
    Public::Action("/api/auth/proxy"),
    Public::Action("/api/auth/register"),
    // The page and its files, which contain no data, and the paths that the page uses as its own.
    Public::Page("/"),
    Public::Page("/index.html"),
    Public::Page("/boot.js"),
    Public::Page("/icon.svg"),
    Public::Page("/playground"),
    Public::Page(CALLBACK_PATH),
    Public::Page(CLIENT_PATH),
    Public::PagesBelow("/assets/"),
    Public::PagesBelow("/f/"),
    Public::PagesBelow("/s/"),
];

/// What tells names to a request without a credential, on a server for several people: its clients list models and tools
/// before anybody signs in. Everything else about them needs a credential.
const NAMES: &[&str] = &["/api/models", "/api/tools"];

/// Whether a client that can set no header may bring its credential in its first frame.
fn may_authenticate_later(request: &Request) -> bool {
    *request.method() == Method::GET
        && request.uri().path() == SOCKET
        && request.headers().contains_key(header::UPGRADE)
}

pub(super) fn tells_names(request: &Request) -> bool {
    reads(request) && NAMES.contains(&request.uri().path())
}

pub(super) fn has_credential(app: &App, headers: &HeaderMap) -> bool {
    headers.contains_key(header::AUTHORIZATION) || cookies(app, headers).next().is_some()
}

fn reads(request: &Request) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD)
}

fn is_public(request: &Request) -> bool {
    let (path, method) = (request.uri().path(), request.method());
    let reads = reads(request);
    PUBLIC.iter().any(|public| match public {
        Public::Page(known) => reads && path == *known,
        Public::PagesBelow(folder) => reads && path.starts_with(folder),
        Public::Action(known) => *method == Method::POST && path == *known,
    })
}

/// Returns the secret of the page for a browser that may use the API.
pub(in crate::api) fn page_secret(app: &App, peer: Peer, headers: &HeaderMap) -> Option<String> {
    if let Some(people) = &app.people {
        let named = proxy_user(app, peer, headers).ok()?;
        let (credential, _) = cookie_credential(app, people, (headers, &named)).ok()?;
        return match credential {
            Credential::SignIn(sign_in) => Some(app.secret.expose(Some(&sign_in.id))),
            Credential::AccessToken { .. } => None,
        };
    }
    let may_use = !app.access.needs_token() || known_cookie(app, headers).is_some();
    may_use.then(|| app.secret.expose(None))
}

/// Returns the cookie of a signed-in browser.
fn known_cookie(app: &App, headers: &HeaderMap) -> Option<KnownCookie> {
    let mut ours = cookies(app, headers).peekable();
    if ours.peek().is_none() {
        // Takes the same time as a wrong cookie.
        return app.access.knows_cookie("");
    }
    ours.find_map(|value| app.access.knows_cookie(value))
}

/// Returns the values of this server's cookie in a request, valid or not.
pub(super) fn cookies<'a>(app: &App, headers: &'a HeaderMap) -> impl Iterator<Item = &'a str> {
    cookies_named(app.access.cookie_name(), headers)
}

/// Returns the name of the cookie that tells that somebody has signed in with this browser.
pub(super) fn device_cookie_name(app: &App) -> String {
    format!("{}-device", app.access.cookie_name())
}

/// Returns the values of a cookie in a request.
pub(super) fn cookies_named(name: String, headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';'));
    pairs.filter_map(move |pair| pair.trim().strip_prefix(&name)?.strip_prefix('='))
}

/// Adds the security headers to a response. The UI's page sets its own content security policy, with a nonce for
/// styles.
pub(in crate::api) fn harden(mut answer: Response) -> Response {
    let headers = answer.headers_mut();
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(
        "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox",
    ));
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    answer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::web;

    fn request(method: Method, path: &str) -> Request {
        let request = axum::http::Request::builder().method(method).uri(path);
        request.body(axum::body::Body::empty()).unwrap()
    }

    #[test]
    fn only_the_usual_port_speaks_for_a_whole_host() {
        assert!(is_whole_host("desk.lan") && is_whole_host("miniclaw.example.org"));
        for host in ["desk.lan:8002", "localhost", "a.localhost", "127.0.0.1", "[::1]", "[::1]:8002"] {
            assert!(!is_whole_host(host), "{host}");
        }
    }

    #[test]
    fn page_files_are_public_and_unlisted_paths_are_not() {
        for file in web::files() {
            assert!(is_public(&request(Method::GET, &format!("/{file}"))), "{file}");
        }
        assert!(is_public(&request(Method::GET, "/api/auth/mode")));
        for path in ["/api/auth/login", "/api/auth/register"] {
            assert!(is_public(&request(Method::POST, path)) && !is_public(&request(Method::GET, path)), "{path}");
        }
        for path in ["/api/auth/profile", "/api/auth/mode/x", "/api/auth", "/api/models", "/api/tools"] {
            assert!(!is_public(&request(Method::GET, path)), "{path}");
        }
        for path in ["/ws", "/v1/models", "/api/status", "/boot.js/x", "/f", "/new-door"] {
            assert!(!is_public(&request(Method::GET, path)), "{path}");
        }
        assert!(!is_public(&request(Method::GET, "/api/login")));
        assert!(is_public(&request(Method::POST, "/api/login")));
        assert!(!is_public(&request(Method::POST, "/")));
    }
}
