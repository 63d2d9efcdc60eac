//! The person whom a trusted proxy names in a header. The header counts only on connections that the proxy itself has opened:
//! who is behind it, according to `X-Forwarded-For`, does not matter, and the header of anybody else is ignored.

use axum::http::{HeaderMap, HeaderName, StatusCode};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::client::Peer;
use crate::api::error::ApiError;
use crate::config::{ProxySecret, ProxySignIn};
use crate::domain::account_fields::{Username, folded};
use crate::domain::{Account, TrustedProxy};
use crate::engine::people::Credential;

/// The header in which the trusted proxies name people.
#[derive(Clone, Debug)]
pub struct ProxyHeader {
    header: HeaderName,
    /// Whether accounts are made for names that nobody has.
    pub creates: bool,
    pub logout_url: Option<String>,
    secret: Option<(HeaderName, ProxySecret)>,
}

/// Whom the proxy names on a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProxyUser {
    /// Nobody: the request does not come from a proxy that names people, or it names nobody.
    Absent,
    Named(Username),
    /// Its header says nothing that can be a user name.
    Invalid(Wrong),
}

/// What is wrong with the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    Repeated,
    Empty,
    NotAName,
    /// The secret of the proxy is missing, so that another program of its machine may have sent it.
    NoSecret,
}

impl ProxyHeader {
    /// Returns `None` if there can be no such header.
    pub fn of(config: &ProxySignIn) -> Option<Self> {
        let header = config.header.parse().ok()?;
        let secret = match &config.secret {
            Some(secret) => Some((secret.header.parse().ok()?, secret.clone())),
            None => None,
        };
        Some(Self { header, creates: config.creates, logout_url: config.logout_url.clone(), secret })
    }

    /// Returns whom the header of a request names, on a connection from `peer`.
    pub fn user(&self, proxies: &[TrustedProxy], peer: Peer, headers: &HeaderMap) -> ProxyUser {
        if !proxies.iter().any(|proxy| proxy.is_at(peer.address)) {
            return ProxyUser::Absent;
        }
        let mut lines = headers.get_all(&self.header).iter();
        let (Some(line), more) = (lines.next(), lines.next()) else { return ProxyUser::Absent };
        if !self.has_secret(headers) {
            return ProxyUser::Invalid(Wrong::NoSecret);
        }
        if more.is_some() {
            return ProxyUser::Invalid(Wrong::Repeated);
        }
        match std::str::from_utf8(line.as_bytes()) {
            Ok(name) if name.trim().is_empty() => ProxyUser::Invalid(Wrong::Empty),
            Ok(name) => Username::parse(name).map_or(ProxyUser::Invalid(Wrong::NotAName), ProxyUser::Named),
            Err(_) => ProxyUser::Invalid(Wrong::NotAName),
        }
    }

    fn has_secret(&self, headers: &HeaderMap) -> bool {
        let Some((name, secret)) = &self.secret else { return true };
        let mut given = headers.get_all(name).iter();
        let (Some(value), None) = (given.next(), given.next()) else { return false };
        Sha256::digest(value.as_bytes()).ct_eq(&secret.sha256).into()
    }

    /// Returns the refusal of a request with a header that names nobody.
    pub fn refusal(&self, wrong: Wrong) -> ApiError {
        let header = &self.header;
        let message = match wrong {
            Wrong::Repeated => {
                format!("the proxy sent the header {header} more than once; let it replace what clients send")
            }
            Wrong::NoSecret => {
                let name = self.secret.as_ref().map(|(name, _)| name.as_str()).unwrap_or_default();
                format!("the header {header} came without the secret of the proxy in {name}")
            }
            Wrong::Empty => format!("the proxy sent the header {header} without a user name"),
            Wrong::NotAName => format!(
                "the header {header} of the proxy is no user name: 1 to 40 letters or digits of one script, . _ and -"
            ),
        };
        ApiError::new(StatusCode::BAD_REQUEST, "bad_proxy_user", message)
    }
}

impl ProxyUser {
    pub fn name(&self) -> Option<&Username> {
        match self {
            Self::Named(name) => Some(name),
            Self::Absent | Self::Invalid(_) => None,
        }
    }

    /// Whether a credential counts on a request on which the proxy says this. If it names somebody, only theirs does; a sign-in
    /// by the proxy never counts without it.
    pub fn allows(&self, credential: &Credential, account: &Account) -> bool {
        match self {
            Self::Absent => !matches!(credential, Credential::SignIn(sign_in) if sign_in.by_proxy),
            Self::Named(name) => folded(&account.username) == name.key(),
            Self::Invalid(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Lines<'a> = &'a [(&'a str, &'a [u8])];

    fn user(peer: &str, lines: Lines<'_>) -> ProxyUser {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            let value = axum::http::HeaderValue::from_bytes(value).unwrap();
            headers.append(name.parse::<HeaderName>().unwrap(), value);
        }
        let config = ProxySignIn { header: "remote-user".to_owned(), creates: false, logout_url: None, secret: None };
        let peer = Peer { address: peer.parse().unwrap(), is_over_tls: false };
        ProxyHeader::of(&config).unwrap().user(&["10.0.0.1".parse().unwrap()], peer, &headers)
    }

    fn named(name: &str) -> ProxyUser {
        ProxyUser::Named(Username::parse(name).unwrap())
    }

    #[test]
    fn only_connections_of_the_proxy_name_a_person() {
        let ann: &[(&str, &[u8])] = &[("Remote-User", b"ann")];
        assert_eq!(user("10.0.0.1", ann), named("ann"));
        assert_eq!(user("::ffff:10.0.0.1", ann), named("ann"), "an IPv4 address in IPv6");
        for stranger in ["10.0.0.2", "127.0.0.1", "::1", "::10.0.0.1", "::ffff:10.0.0.2", "64:ff9b::10.0.0.1"] {
            let forwarded: &[(&str, &[u8])] = &[
                ("Remote-User", b"ann"),
                ("X-Forwarded-For", b"10.0.0.1"),
                ("X-Real-IP", b"10.0.0.1"),
                ("Forwarded", b"for=10.0.0.1"),
            ];
            assert_eq!(user(stranger, forwarded), ProxyUser::Absent, "{stranger}");
        }
    }

    #[test]
    fn header_names_exactly_one_person() {
        let cases: [(Lines<'_>, Wrong); 9] = [
            (&[("Remote-User", b"ann"), ("remote-user", b"ann")], Wrong::Repeated),
            (&[("Remote-User", b"ann"), ("Remote-User", b"")], Wrong::Repeated),
            (&[("Remote-User", b"ann, bob")], Wrong::NotAName),
            (&[("Remote-User", b"ann,ann")], Wrong::NotAName),
            (&[("Remote-User", b"ann@example.org")], Wrong::NotAName),
            (&[("Remote-User", b"\xff\xfe")], Wrong::NotAName),
            (&[("Remote-User", "a\u{200b}nn".as_bytes())], Wrong::NotAName),
            (&[("Remote-User", b"")], Wrong::Empty),
            (&[("Remote-User", b" \t ")], Wrong::Empty),
        ];
        for (lines, wrong) in cases {
            assert_eq!(user("10.0.0.1", lines), ProxyUser::Invalid(wrong), "{lines:?}");
        }
        let smuggled: &[(&str, &[u8])] = &[("Remote_User", b"admin"), ("Remote-User", b"ann")];
        assert_eq!(user("10.0.0.1", smuggled), named("ann"), "an underscore is no hyphen");
        assert_eq!(user("10.0.0.1", &smuggled[..1]), ProxyUser::Absent);
        let full: &[(&str, &[u8])] = &[("Remote-User", "ＡＮＮ".as_bytes())];
        let ProxyUser::Named(name) = user("10.0.0.1", full) else { panic!("a name") };
        assert_eq!(name.key(), "ann");
    }

    #[test]
    fn header_needs_the_secret_of_the_proxy() {
        let sha256 = Sha256::digest("0123456789abcdef").into();
        let secret = Some(ProxySecret { header: "x-proxy-secret".to_owned(), sha256 });
        let config = ProxySignIn { header: "remote-user".to_owned(), creates: false, logout_url: None, secret };
        let header = ProxyHeader::of(&config).unwrap();
        let peer = Peer { address: "10.0.0.1".parse().unwrap(), is_over_tls: false };
        let user = |secrets: &[&str]| {
            let mut headers = HeaderMap::new();
            headers.append("remote-user", "ann".parse().unwrap());
            for secret in secrets {
                headers.append("x-proxy-secret", secret.parse().unwrap());
            }
            header.user(&["10.0.0.1".parse().unwrap()], peer, &headers)
        };
        assert_eq!(user(&["0123456789abcdef"]), named("ann"));
        for wrong in [&[] as &[&str], &[""], &["0123456789abcdeg"], &["0123456789abcdef", "0123456789abcdef"]] {
            assert_eq!(user(wrong), ProxyUser::Invalid(Wrong::NoSecret), "{wrong:?}");
        }
    }
}
