//! Access control: the host names that this server answers to, and the token required when it binds beyond loopback.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio_util::sync::CancellationToken;

use super::proxy_user::ProxyHeader;
use crate::clock;
use crate::config::ProxySignIn;
use crate::domain::TrustedProxy;
use crate::engine::people::LoginLimiter;
use crate::store::{ApiTokenScope, ApiTokens, BrowserCookie};

/// Lifetime of the one-time link.
const CODE_LIFE: Duration = Duration::from_secs(600);

/// A credential that a client presents.
#[derive(Clone, Copy, Debug)]
pub enum Credentials<'a> {
    Token(&'a str),
    Code(&'a str),
}

/// What a program of the OpenAI API or the MCP server has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiCredential {
    /// The token of the server.
    Server,
    /// A token of its own, by its id.
    Token(String, ApiTokenScope),
}

/// The access rules and sign-ins of one bound server.
#[derive(Debug)]
pub struct Access {
    /// `host:port` names of the address that a request may have in `Host` and `Origin`.
    hosts: Vec<String>,
    /// Host names without a port that it may have too; they change with the configuration.
    names: Arc<RwLock<Vec<String>>>,
    port: u16,
    /// What the cookies are for: this port, or the cluster.
    realm: String,
    /// Whether the server speaks TLS itself.
    is_tls: bool,
    /// The proxies whose word about the client counts. Behind them browsers use https, and names without our port.
    pub(in crate::api) proxies: Vec<TrustedProxy>,
    /// How people sign in by one of these proxies.
    pub(in crate::api) proxy_header: Option<ProxyHeader>,
    token: Option<SecretString>,
    /// Digest of the one-time code and its expiry; `None` after its use.
    code: Mutex<Option<([u8; 32], Instant)>>,
    /// The tokens of programs that use the OpenAI API.
    api_tokens: Option<ApiTokens>,
    /// Whether programs of this machine need none.
    is_api_open: bool,
    limiter: LoginLimiter,
    /// Browsers seen signed in since the start, by the digests of their cookies.
    browsers: Mutex<BTreeMap<CookieDigest, Browser>>,
}

/// SHA-256 of a cookie: identifies it without storing it.
type CookieDigest = [u8; 32];

/// A cookie that is valid, as far as this server knows. The home may know that the browser has signed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownCookie {
    digest: CookieDigest,
    /// Unix second.
    made_at: u64,
}

impl KnownCookie {
    /// Returns what a home remembers of it.
    pub fn of_home(&self) -> BrowserCookie {
        BrowserCookie {
            digest: base16ct::lower::encode_string(&self.digest),
            made_at: self.made_at,
            expires_at: self.made_at.saturating_add(COOKIE_LIFE + CLOCK_SLACK),
        }
    }
}

/// A browser that has signed in.
#[derive(Debug)]
struct Browser {
    /// Cancelled when the browser signs out; ends its streams.
    signed_out: CancellationToken,
    /// Unix second after which its cookie has expired in any case.
    until: u64,
}

/// How often it is checked that the token of an open stream still counts.
const REVOCATION_CHECK: Duration = Duration::from_secs(1);
/// Lifetime of a sign-in, in seconds: 30 days.
pub const COOKIE_LIFE: u64 = 30 * 24 * 3600;
/// How far the clock may have been set back since a cookie was made, in seconds.
const CLOCK_SLACK: u64 = 300;

impl Access {
    /// Accepts the names of `bound`, and those in `names` (host names without a port) at its port.
    pub fn new(bound: SocketAddr, names: Arc<RwLock<Vec<String>>>, token: Option<SecretString>) -> Self {
        let port = bound.port();
        let mut hosts: Vec<String> = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}")).to_vec();
        if !bound.ip().is_loopback() && !bound.ip().is_unspecified() {
            hosts.push(bound.to_string());
        }
        Self {
            hosts,
            names,
            port,
            realm: port.to_string(),
            is_tls: false,
            proxies: Vec::new(),
            proxy_header: None,
            token,
            code: Mutex::default(),
            api_tokens: None,
            is_api_open: false,
            limiter: LoginLimiter::default(),
            browsers: Mutex::default(),
        }
    }

    pub fn is_our_host(&self, host: &str) -> bool {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        let is_named = |name: &String| {
            let rest =
                host.get(..name.len()).filter(|start| start.eq_ignore_ascii_case(name)).map(|_| &host[name.len()..]);
            rest.is_some_and(|rest| {
                rest == format!(":{}", self.port)
                    || rest.is_empty() && (self.has_usual_port() || !self.proxies.is_empty())
            })
        };
        let is_ours = |known: &String| {
            let bare = known.strip_suffix(&format!(":{}", self.port)).filter(|_| self.has_usual_port());
            known.eq_ignore_ascii_case(host) || bare.is_some_and(|bare| bare.eq_ignore_ascii_case(host))
        };
        self.hosts.iter().any(is_ours) || names.iter().any(is_named)
    }

    /// Whether addresses leave out the port.
    fn has_usual_port(&self) -> bool {
        self.port == if self.is_tls { 443 } else { 80 }
    }

    /// Accepts only origins with one of this server's names, and never `null`. Their scheme is `http`, or behind a proxy
    /// also `https`. If the server speaks TLS itself, it is `https` only: whoever is between a browser and a page without TLS
    /// can write its scripts.
    pub fn is_our_origin(&self, origin: &str) -> bool {
        let plain = origin.strip_prefix("http://").filter(|_| !self.is_tls);
        let secure = origin.strip_prefix("https://").filter(|_| self.is_tls || !self.proxies.is_empty());
        plain.or(secure).is_some_and(|host| self.is_our_host(host))
    }

    /// Sets whether the server speaks TLS itself.
    pub fn over_tls(mut self, is_tls: bool) -> Self {
        self.is_tls = is_tls;
        self
    }

    /// Trusts these proxies.
    pub fn behind(mut self, proxies: &[TrustedProxy]) -> Self {
        self.proxies = proxies.to_vec();
        self
    }

    /// Lets people sign in by a header of the trusted proxies.
    pub fn signing_in_by(mut self, proxy: Option<&ProxySignIn>) -> Self {
        self.proxy_header = proxy.and_then(ProxyHeader::of);
        self
    }

    /// Lets programs use the OpenAI API with these tokens, or without one.
    pub fn with_api(mut self, tokens: ApiTokens, is_open: bool) -> Self {
        (self.api_tokens, self.is_api_open) = (Some(tokens), is_open);
        self
    }

    /// Returns whether the OpenAI API needs no token: a person has said so, and nothing else here needs one.
    pub fn is_api_open(&self) -> bool {
        self.is_api_open && !self.needs_token()
    }

    /// Checks the token of a program that uses the OpenAI API: that of the server, or one of its own. A wrong one counts as a
    /// failure of its source.
    ///
    /// # Errors
    /// Returns the seconds to wait if the source has failed too often.
    pub fn api_token(&self, given: &str, source: IpAddr) -> Result<Option<ApiCredential>, u64> {
        self.limiter.check(source)?;
        if self.token.as_ref().is_some_and(|token| equal(token.expose_secret(), given)) {
            return Ok(Some(ApiCredential::Server));
        }
        let known = self.api_tokens.as_ref().and_then(|tokens| tokens.find(given));
        let known = known.map(|(id, scope)| ApiCredential::Token(id, scope));
        if known.is_none() {
            self.limiter.record_failure(source);
        }
        Ok(known)
    }

    /// Resolves when a token of a program has been revoked. The command line revokes it in another process, so the file is looked
    /// at again and again.
    pub async fn until_revoked(&self, id: &str, scope: ApiTokenScope) {
        while self.api_tokens.as_ref().is_some_and(|tokens| tokens.counts(id, scope)) {
            tokio::time::sleep(REVOCATION_CHECK).await;
        }
    }

    /// Shares the cookies of browsers with the other servers of the cluster, which have the same token.
    pub fn in_cluster(mut self) -> Self {
        "cluster".clone_into(&mut self.realm);
        self
    }

    /// Sets a code that signs one browser in, once, within ten minutes.
    pub fn with_code(mut self, code: &str) -> Self {
        self.code = Mutex::new(Some((Sha256::digest(code).into(), Instant::now() + CODE_LIFE)));
        self
    }

    /// Returns the name of the sign-in cookie. It contains the port, because browsers send a host's cookies to all its
    /// ports. Servers of a cluster, which are one for browsers, have the same cookie.
    pub fn cookie_name(&self) -> String {
        format!("miniclaw_session_{}", self.realm)
    }

    pub fn needs_token(&self) -> bool {
        self.token.is_some()
    }

    /// Checks a token or code. A wrong one counts as a failure of its source.
    ///
    /// # Errors
    /// Returns the seconds to wait if the source has failed too often.
    pub fn accepts(&self, given: Credentials<'_>, source: IpAddr) -> Result<bool, u64> {
        let Some(token) = &self.token else { return Ok(true) };
        let now = Instant::now();
        self.limiter.check(source)?;
        let right = match given {
            Credentials::Token(given) => equal(token.expose_secret(), given),
            Credentials::Code(given) => self.takes(given, now),
        };
        if !right {
            self.limiter.record_failure(source);
        }
        Ok(right)
    }

    fn takes(&self, given: &str, now: Instant) -> bool {
        let mut code = self.code.lock().unwrap_or_else(PoisonError::into_inner);
        // If there is no valid code, compare with a digest that no input has, so that the time is the same.
        let (known, works) = code.map_or(([0; 32], false), |(known, until)| (known, now < until));
        let same: bool = known.ct_eq(&digest(given)).into();
        let right = works & same;
        if right {
            *code = None;
        }
        right
    }

    /// Returns the value of a new cookie: a random name, the second it was made, and an HMAC that proves that the
    /// holder of the token made it for this port. It does not contain the token, and is still valid after a restart
    /// with the same token and port.
    pub fn new_cookie(&self) -> Option<String> {
        self.cookie_of(seconds())
    }

    fn cookie_of(&self, made_at: u64) -> Option<String> {
        let made = format!("{}.{made_at}", clock::new_secret());
        let proof = self.proof(&made)?;
        Some(format!("{made}.{proof}"))
    }

    /// Returns the cookie if it is valid. Failures are not limited here: the proof has 256 bits, and an expired cookie is not an
    /// attack. An empty value takes as long to check as any other.
    pub fn knows_cookie(&self, value: &str) -> Option<KnownCookie> {
        self.knows_cookie_at(value, seconds())
    }

    fn knows_cookie_at(&self, value: &str, now: u64) -> Option<KnownCookie> {
        let (made, proof) = value.rsplit_once('.').unwrap_or_default();
        let made_at = made.rsplit_once('.').and_then(|(_, at)| at.parse::<u64>().ok());
        let fresh = made_at.is_some_and(|at| at <= now + CLOCK_SLACK && now < at.saturating_add(COOKIE_LIFE));
        let proven = self.proof(made).is_some_and(|right| equal(&right, proof));
        let digest = digest(value);
        let signed_out = self.browsers().get(&digest).is_some_and(|browser| browser.signed_out.is_cancelled());
        (fresh & proven & !signed_out).then(|| KnownCookie { digest, made_at: made_at.unwrap_or_default() })
    }

    /// Invalidates a cookie until the server stops, and ends its streams.
    pub fn sign_out(&self, cookie: KnownCookie) {
        self.until_signed_out(cookie).cancel();
    }

    /// Returns a token that is cancelled when the browser with this cookie, obtained from [`Access::knows_cookie`],
    /// signs out.
    pub fn until_signed_out(&self, cookie: KnownCookie) -> CancellationToken {
        let now = seconds();
        let mut browsers = self.browsers();
        browsers.retain(|_, browser| now < browser.until);
        let signed_out = CancellationToken::new();
        let until = now + CLOCK_SLACK + COOKIE_LIFE;
        browsers.entry(cookie.digest).or_insert(Browser { signed_out, until }).signed_out.clone()
    }

    fn browsers(&self) -> MutexGuard<'_, BTreeMap<CookieDigest, Browser>> {
        self.browsers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the HMAC-SHA-256 of the port, or the cluster, and a cookie's name and time, keyed by the token, in hexadecimal.
    fn proof(&self, made: &str) -> Option<String> {
        let token = self.token.as_ref()?.expose_secret();
        let mut mac = Hmac::<Sha256>::new_from_slice(token.as_bytes()).expect("HMAC takes a key of any length");
        mac.update(format!("cookie {} {made}", self.realm).as_bytes());
        Some(base16ct::lower::encode_string(&mac.finalize().into_bytes()))
    }
}

fn digest(text: &str) -> CookieDigest {
    Sha256::digest(text).into()
}

/// Returns the Unix time in seconds.
fn seconds() -> u64 {
    clock::now() as u64
}

/// Compares in a time that depends on the length of `given` and on nothing of the secret.
fn equal(secret: &str, given: &str) -> bool {
    digest(secret).ct_eq(&digest(given)).into()
}

/// The secret that is sent to the page and that no tool can read: its holder may answer for the person. New at each
/// start of the server, except in a cluster.
#[derive(Clone, Debug)]
pub struct PageSecret(SecretString);

impl PageSecret {
    pub fn new() -> Self {
        Self(SecretString::from(crate::clock::new_secret()))
    }

    /// Returns the secret that all servers of a cluster have, so that a page goes on with another server. It stays the same when a
    /// server starts again.
    pub fn of_cluster(secret: &SecretString) -> Self {
        Self(Self(secret.clone()).derived("miniclaw page 1").into())
    }

    /// Whether this is the secret of the page of a sign-in; `None` stands for the page and the commands of the person of a
    /// single-person server.
    pub fn is(&self, given: &str, sign_in: Option<&str>) -> bool {
        equal(&self.expose(sign_in), given) || sign_in.is_none() && self.is_of_commands(given)
    }

    pub fn is_of_commands(&self, given: &str) -> bool {
        equal(&self.for_commands(), given)
    }

    /// Returns the secret as text, for the page of this sign-in only: nobody can answer for another person.
    pub fn expose(&self, sign_in: Option<&str>) -> String {
        // Never the root, from which the other secrets could be computed.
        self.derived(&sign_in.map_or_else(|| "page".to_owned(), |sign_in| format!("page {sign_in}")))
    }

    /// Returns the secret of commands such as `miniclaw ask`, which they find in `sessions/.lock`.
    pub fn for_commands(&self) -> String {
        self.derived("commands")
    }

    /// Returns the key that seals the state of MCP requests that wait for a person. It is new at each start, as the secret is.
    pub fn for_request_state(&self) -> String {
        self.derived("mcp request state")
    }

    fn derived(&self, purpose: &str) -> String {
        let secret = self.0.expose_secret();
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC takes a key of any length");
        mac.update(purpose.as_bytes());
        base16ct::lower::encode_string(&mac.finalize().into_bytes())
    }
}

impl Default for PageSecret {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_hosts_at_own_port_are_accepted() {
        let access =
            Access::new("127.0.0.1:8002".parse().unwrap(), Arc::new(RwLock::new(vec!["Desk.lan".to_owned()])), None);
        for ours in ["127.0.0.1:8002", "localhost:8002", "LOCALHOST:8002", "[::1]:8002", "desk.lan:8002"] {
            assert!(access.is_our_host(ours), "{ours}");
        }
        for other in
            ["evil.example:8002", "localhost", "localhost:8003", "localhost.:8002", "127.0.0.1.nip.io:8002", ""]
        {
            assert!(!access.is_our_host(other), "{other}");
        }
        assert!(access.is_our_origin("http://localhost:8002"));
        for other in ["null", "https://localhost:8002", "http://localhost:5173", "http://evil.example", "file://"] {
            assert!(!access.is_our_origin(other), "{other}");
        }
    }

    #[test]
    fn page_without_tls_is_no_origin_of_a_server_with_it() {
        let at = |port: u16| {
            let names = Arc::new(RwLock::new(vec!["desk.lan".to_owned()]));
            Access::new(SocketAddr::from(([127, 0, 0, 1], port)), names, None).over_tls(true)
        };
        assert!(at(8002).is_our_origin("https://desk.lan:8002") && !at(8002).is_our_origin("http://desk.lan:8002"));
        assert!(!at(8002).is_our_origin("https://desk.lan"));
        for bare in ["desk.lan", "localhost", "127.0.0.1"] {
            assert!(at(443).is_our_origin(&format!("https://{bare}")), "{bare}");
            assert!(!at(80).is_our_host(bare) && !at(443).is_our_origin(&format!("http://{bare}")), "{bare}");
        }
    }

    fn locked(token: &str) -> Access {
        Access::new("0.0.0.0:8002".parse().unwrap(), Arc::default(), Some(token.to_owned().into()))
    }

    #[test]
    fn token_is_compared_whole() {
        let (access, source) = (locked("abcdef"), IpAddr::from([127, 0, 0, 1]));
        for (given, right) in [("abcdef", true), ("abcde", false), ("", false), ("abcdefg", false), ("abcdef", true)] {
            assert_eq!(access.accepts(Credentials::Token(given), source), Ok(right), "{given}");
        }
    }

    #[test]
    fn login_code_works_once_and_is_no_token() {
        let (access, source) = (locked("abcdef").with_code("1234"), IpAddr::from([127, 0, 0, 1]));
        for given in
            [Credentials::Token("1234"), Credentials::Code("abcdef"), Credentials::Code("12345"), Credentials::Code("")]
        {
            assert_eq!(access.accepts(given, source), Ok(false), "{given:?}");
        }
        assert_eq!(access.accepts(Credentials::Code("1234"), source), Ok(true));
        assert_eq!(access.accepts(Credentials::Code("1234"), source), Ok(false));
        assert_eq!(locked("abcdef").accepts(Credentials::Code(""), source), Ok(false), "no code was given out");
    }

    #[test]
    fn cookie_survives_restart_and_holds_no_token() {
        let cookie = locked("abcdef").new_cookie().unwrap();
        assert!(locked("abcdef").knows_cookie(&cookie).is_some() && !cookie.contains("abcdef"));
        assert_ne!(locked("abcdef").new_cookie().unwrap(), cookie);
        let (name, proof) = cookie.rsplit_once('.').unwrap();
        let forged =
            [format!("x{name}.{proof}"), format!("{name}.{}", "0".repeat(64)), name.to_owned(), ".".to_owned()];
        for wrong in forged.iter().map(String::as_str).chain(["", "abcdef", "abcdef.abcdef"]) {
            assert_eq!(locked("abcdef").knows_cookie(wrong), None, "{wrong}");
        }
        assert_eq!(locked("other").knows_cookie(&cookie), None);
    }

    #[test]
    fn cookie_is_valid_at_its_port_for_thirty_days() {
        let at = |port: u16| {
            let bound = SocketAddr::from(([127, 0, 0, 1], port));
            Access::new(bound, Arc::default(), Some("abcdef".to_owned().into()))
        };
        let now = 2_000_000_000;
        let cookie = at(8002).cookie_of(now).unwrap();
        assert!(at(8002).knows_cookie_at(&cookie, now).is_some() && at(8003).knows_cookie_at(&cookie, now).is_none());
        assert_ne!(at(8002).cookie_name(), at(8003).cookie_name());
        for (later, known) in [(COOKIE_LIFE - 1, true), (COOKIE_LIFE, false), (u64::MAX - now - CLOCK_SLACK, false)] {
            assert_eq!(at(8002).knows_cookie_at(&cookie, now + later).is_some(), known, "{later}");
        }
        assert!(at(8002).knows_cookie_at(&cookie, now - CLOCK_SLACK).is_some());
        assert!(at(8002).knows_cookie_at(&cookie, now - CLOCK_SLACK - 1).is_none(), "made in the future");
        let younger = cookie.replace(&format!(".{now}."), &format!(".{}.", now + 9));
        assert_eq!(at(8002).knows_cookie_at(&younger, now), None, "its age is part of the proof");
    }
}
