//! Who may ask: which names this server answers to, and the token that a bind beyond loopback needs.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use super::tries::Tries;
use crate::clock;

/// How long the one-time link works.
const CODE_LIFE: Duration = Duration::from_secs(600);

/// What somebody offers to be let in.
#[derive(Clone, Copy, Debug)]
pub enum Given<'a> {
    Token(&'a str),
    Code(&'a str),
}

/// The rules for one bound server.
#[derive(Debug)]
pub struct Access {
    /// Lower-case `host:port` names that a request may use, as `Host` and inside `Origin`.
    hosts: Vec<String>,
    token: Option<SecretString>,
    /// The digest of the one-time code that was not used yet, and until when it may be.
    code: Mutex<Option<([u8; 32], Instant)>>,
    tries: Tries,
}

/// The cookie of a browser that has signed in.
pub const COOKIE: &str = "miniclaw_session";

impl Access {
    /// The names of `bound`, and those in `names` (host names without a port) at its port.
    pub fn new(bound: SocketAddr, names: &[String], token: Option<SecretString>) -> Self {
        let port = bound.port();
        let mut hosts: Vec<String> = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}")).to_vec();
        if !bound.ip().is_loopback() && !bound.ip().is_unspecified() {
            hosts.push(bound.to_string());
        }
        hosts.extend(names.iter().map(|name| format!("{}:{port}", name.to_ascii_lowercase())));
        if port == 80 {
            let bare: Vec<String> =
                hosts.iter().filter_map(|host| host.strip_suffix(":80").map(str::to_owned)).collect();
            hosts.extend(bare);
        }
        Self { hosts, token, code: Mutex::default(), tries: Tries::default() }
    }

    pub fn is_our_host(&self, host: &str) -> bool {
        self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host))
    }

    /// Only plain `http` origins of our own names; `null` never.
    pub fn is_our_origin(&self, origin: &str) -> bool {
        origin.strip_prefix("http://").is_some_and(|host| self.is_our_host(host))
    }

    /// With a code that signs one browser in, once, within ten minutes.
    pub fn with_code(mut self, code: &str) -> Self {
        self.code = Mutex::new(Some((Sha256::digest(code).into(), Instant::now() + CODE_LIFE)));
        self
    }

    pub fn needs_token(&self) -> bool {
        self.token.is_some()
    }

    /// Whether the source may offer a token or code now, and whether it is right. A wrong one counts.
    ///
    /// # Errors
    /// The seconds to wait, when there were too many wrong ones.
    pub fn accepts(&self, given: Given<'_>, source: IpAddr) -> Result<bool, u64> {
        let Some(token) = &self.token else { return Ok(true) };
        let now = Instant::now();
        self.tries.may_try(source, now)?;
        let right = match given {
            Given::Token(given) => equal(&digest(token.expose_secret()), &digest(given)),
            Given::Code(given) => self.takes(given, now),
        };
        if !right {
            self.tries.was_wrong(source, now);
        }
        Ok(right)
    }

    fn takes(&self, given: &str, now: Instant) -> bool {
        let mut code = self.code.lock().unwrap_or_else(PoisonError::into_inner);
        let right = code.is_some_and(|(known, until)| now < until && equal(&known, &digest(given)));
        if right {
            *code = None;
        }
        right
    }

    /// The value of a new cookie: a name and the proof that who has the token made it. The token is not in it, and a
    /// server that starts again with the same token knows it.
    pub fn new_cookie(&self) -> Option<String> {
        let name = clock::new_secret();
        let proof = self.proof(&name)?;
        Some(format!("{name}.{proof}"))
    }

    /// No guess counts here: the proof has 256 bits, and an old cookie is no attack.
    pub fn knows_cookie(&self, value: &str) -> bool {
        let Some((name, proof)) = value.split_once('.') else { return false };
        self.proof(name).is_some_and(|right| equal(&digest(&right), &digest(proof)))
    }

    /// HMAC-SHA-256 of a cookie's name, keyed by the token, in hexadecimal.
    fn proof(&self, name: &str) -> Option<String> {
        let token = self.token.as_ref()?.expose_secret();
        let mut mac = Hmac::<Sha256>::new_from_slice(token.as_bytes()).expect("HMAC takes a key of any length");
        mac.update(format!("cookie {name}").as_bytes());
        Some(mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text).into()
}

/// Takes the same time wherever they differ.
fn equal(a: &[u8; 32], b: &[u8; 32]) -> bool {
    a.iter().zip(b).fold(0, |differences, (a, b)| differences | (a ^ b)) == 0
}

/// What the page is given and no tool can read: who has it may answer for the person. New at each start of the server.
#[derive(Clone, Debug)]
pub struct PageSecret(SecretString);

impl PageSecret {
    pub fn new() -> Self {
        Self(SecretString::from(crate::clock::new_secret()))
    }

    pub fn is(&self, given: &str) -> bool {
        equal(&digest(self.0.expose_secret()), &digest(given))
    }

    /// For the page alone.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
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
    fn only_our_own_names_at_our_own_port_are_ours() {
        let access = Access::new("127.0.0.1:8002".parse().unwrap(), &["Desk.lan".to_owned()], None);
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

    fn locked(token: &str) -> Access {
        Access::new("0.0.0.0:8002".parse().unwrap(), &[], Some(token.to_owned().into()))
    }

    #[test]
    fn a_token_is_compared_whole() {
        let (access, source) = (locked("abcdef"), IpAddr::from([127, 0, 0, 1]));
        for (given, right) in [("abcdef", true), ("abcde", false), ("", false), ("abcdefg", false), ("abcdef", true)] {
            assert_eq!(access.accepts(Given::Token(given), source), Ok(right), "{given}");
        }
    }

    #[test]
    fn a_code_works_once_and_not_in_place_of_the_token() {
        let (access, source) = (locked("abcdef").with_code("1234"), IpAddr::from([127, 0, 0, 1]));
        for given in [Given::Token("1234"), Given::Code("abcdef"), Given::Code("12345"), Given::Code("")] {
            assert_eq!(access.accepts(given, source), Ok(false), "{given:?}");
        }
        assert_eq!(access.accepts(Given::Code("1234"), source), Ok(true));
        assert_eq!(access.accepts(Given::Code("1234"), source), Ok(false));
        assert_eq!(locked("abcdef").accepts(Given::Code(""), source), Ok(false), "no code was given out");
    }

    #[test]
    fn a_cookie_is_known_by_its_proof_also_after_a_restart_and_holds_no_token() {
        let cookie = locked("abcdef").new_cookie().unwrap();
        assert!(locked("abcdef").knows_cookie(&cookie) && !cookie.contains("abcdef"));
        assert_ne!(locked("abcdef").new_cookie().unwrap(), cookie);
        let (name, proof) = cookie.split_once('.').unwrap();
        let forged =
            [format!("x{name}.{proof}"), format!("{name}.{}", "0".repeat(64)), name.to_owned(), ".".to_owned()];
        for wrong in forged.iter().map(String::as_str).chain(["", "abcdef", "abcdef.abcdef"]) {
            assert!(!locked("abcdef").knows_cookie(wrong), "{wrong}");
        }
        assert!(!locked("other").knows_cookie(&cookie));
    }
}
