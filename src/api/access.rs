//! Who may ask: which names this server answers to, and the token that a bind beyond loopback needs.

use std::net::SocketAddr;

use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

/// The rules for one bound server.
#[derive(Clone, Debug)]
pub struct Access {
    /// Lower-case `host:port` names that a request may use, as `Host` and inside `Origin`.
    hosts: Vec<String>,
    token: Option<SecretString>,
}

/// The cookie that carries the token in a browser.
pub const COOKIE: &str = "miniclaw_token";

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
        Self { hosts, token }
    }

    pub fn is_our_host(&self, host: &str) -> bool {
        self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host))
    }

    /// Only plain `http` origins of our own names; `null` never.
    pub fn is_our_origin(&self, origin: &str) -> bool {
        origin.strip_prefix("http://").is_some_and(|host| self.is_our_host(host))
    }

    pub fn needs_token(&self) -> bool {
        self.token.is_some()
    }

    pub fn accepts(&self, given: &str) -> bool {
        self.token.as_ref().is_none_or(|token| is_same(token, given))
    }
}

/// What the page is given and no tool can read: who has it may answer for the person. New at each start of the server.
#[derive(Clone, Debug)]
pub struct PageSecret(SecretString);

impl PageSecret {
    pub fn new() -> Self {
        Self(SecretString::from(crate::clock::new_secret()))
    }

    pub fn is(&self, given: &str) -> bool {
        is_same(&self.0, given)
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

/// Compares digests, so that the time taken says nothing about the secret.
fn is_same(secret: &SecretString, given: &str) -> bool {
    let digests = Sha256::digest(secret.expose_secret()).into_iter().zip(Sha256::digest(given));
    digests.fold(0, |differences, (a, b)| differences | (a ^ b)) == 0
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

    #[test]
    fn a_token_is_compared_whole() {
        let access = Access::new("0.0.0.0:8002".parse().unwrap(), &[], Some("abcdef".to_owned().into()));
        assert!(access.accepts("abcdef"));
        assert!(!access.accepts("abcde") && !access.accepts("") && !access.accepts("abcdefg"));
    }
}
