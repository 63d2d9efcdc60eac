//! `proxy_sign_in` in config.yml: a header in which a trusted proxy names the person who has signed in there.

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use url::Url;

use super::people::{AuthMode, Registration};
use super::{ConfigError, Environment, File, bad, substitute};

/// Headers, and beginnings of headers, that clients and browsers set themselves, or that have another meaning here. A proxy
/// that passes them on would let anybody name themselves.
const NOT_A_NAME: &[&str] = &[
    "accept",
    "accept-",
    "access-control-",
    "authorization",
    "cache-control",
    "connection",
    "content-",
    "cookie",
    "date",
    "dnt",
    "early-data",
    "expect",
    "forwarded",
    "from",
    "host",
    "idempotency-key",
    "if-",
    "keep-alive",
    "last-event-id",
    "max-forwards",
    "origin",
    "pragma",
    "priority",
    "proxy-",
    "range",
    "referer",
    "sec-",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "via",
    "x-csrf-token",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-proto",
    "x-miniclaw-",
    "x-real-ip",
    "x-requested-with",
];

/// Maximum number of characters of the name of the header.
const MAX_NAME: usize = 64;
/// Minimum number of characters of the secret of the proxy.
const SHORTEST_SECRET: usize = 16;

/// How people sign in by a trusted proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxySignIn {
    /// The name of the header with the user name, in lower case.
    pub header: String,
    /// Whether an account is made for a name that nobody has.
    pub creates: bool,
    /// Where the page goes to sign out: an address of the proxy, absolute or on this host.
    pub logout_url: Option<String>,
    /// What the proxy must send on each request to be believed; only its address counts if there is none.
    pub secret: Option<ProxySecret>,
}

/// A header whose value only the proxy knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxySecret {
    /// In lower case.
    pub header: String,
    /// SHA-256 of its value.
    pub sha256: [u8; 32],
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    header: String,
    #[serde(default)]
    create: bool,
    logout_url: Option<String>,
    secret_header: Option<String>,
    secret: Option<SecretString>,
}

/// # Errors
/// Returns an error if the server is for one person, trusts no proxy, or the header or address cannot be used.
pub(super) fn proxy_sign_in(file: &File, environment: &Environment) -> Result<Option<ProxySignIn>, ConfigError> {
    let Some(entry) = &file.proxy_sign_in else { return Ok(None) };
    let wrong = |reason: &str| bad("config.yml", format!("proxy_sign_in: {reason}"));
    if file.auth_mode != AuthMode::Multi {
        return Err(wrong("it needs auth_mode: multi"));
    }
    if file.trusted_proxies.is_empty() {
        return Err(wrong(
            "it needs trusted_proxies with the address of the proxy; anybody could write the header otherwise",
        ));
    }
    if file.registration == Registration::Open {
        return Err(wrong(
            "it cannot be used with registration: open; anybody could take the name that somebody else has at the proxy",
        ));
    }
    let header = header_name(&entry.header, "header").map_err(|reason| wrong(&reason))?;
    if !entry.logout_url.as_deref().is_none_or(is_address) {
        return Err(wrong("logout_url must begin with https://, http:// or / and have no spaces"));
    }
    let secret = secret(entry, environment).map_err(|reason| wrong(&reason))?;
    if secret.as_ref().is_some_and(|secret| secret.header == header) {
        return Err(wrong("secret_header must be another one than header"));
    }
    Ok(Some(ProxySignIn { header, creates: entry.create, logout_url: entry.logout_url.clone(), secret }))
}

/// Returns the name of a header that only a proxy sets, in lower case.
fn header_name(name: &str, field: &str) -> Result<String, String> {
    // A server that takes `_` for `-` reads two headers as one, so that a client can add its own.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let header = name.to_ascii_lowercase();
    let has_ends = header.starts_with(|c: char| c.is_ascii_alphabetic()) && !header.ends_with('-');
    if !has_ends || header.len() > MAX_NAME || !header.chars().all(is_plain) {
        return Err(format!("{field} must be the name of a header of letters, digits and -, such as Remote-User"));
    }
    let is_taken = |known: &str| if known.ends_with('-') { header.starts_with(known) } else { header == known };
    if NOT_A_NAME.iter().any(|known| is_taken(known)) {
        return Err(format!(
            "{field} must be one that only the proxy sets, such as Remote-User; clients set this one themselves"
        ));
    }
    Ok(header)
}

fn secret(entry: &Entry, environment: &Environment) -> Result<Option<ProxySecret>, String> {
    let (name, value) = match (&entry.secret_header, &entry.secret) {
        (None, None) => return Ok(None),
        (Some(name), Some(value)) => (name, value),
        _ => return Err("secret_header and secret belong together".to_owned()),
    };
    let header = header_name(name, "secret_header")?;
    let value = substitute(value.expose_secret(), environment)
        .map_err(|_| "secret names a variable that is not set".to_owned())?;
    let is_visible = value.bytes().all(|byte| byte.is_ascii_graphic());
    if value.len() < SHORTEST_SECRET || !is_visible {
        return Err(format!(
            "secret must have at least {SHORTEST_SECRET} visible ASCII characters; openssl rand -hex 32 makes one"
        ));
    }
    Ok(Some(ProxySecret { header, sha256: Sha256::digest(value).into() }))
}

/// Whether the page may go to an address: never one that runs a script.
fn is_address(text: &str) -> bool {
    let is_visible = text.chars().all(|c| !c.is_whitespace() && !c.is_control());
    let is_path = text.starts_with('/') && !text.starts_with("//") && !text.contains('\\');
    let is_web = || Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    is_visible && (is_path || is_web())
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, Environment};

    const KEY: &str = "jwt_secret: 0123456789abcdef0123456789abcdef\n";

    fn config(text: &str) -> Result<Option<super::ProxySignIn>, String> {
        let environment = Environment::load(std::path::Path::new("/nowhere"), std::iter::empty()).unwrap();
        let config = Config::parse(Some(&format!("{KEY}{text}")), &environment);
        config.map(|config| config.people.proxy_sign_in).map_err(|error| error.to_string())
    }

    fn multi(entry: &str) -> Result<Option<super::ProxySignIn>, String> {
        config(&format!("auth_mode: multi\ntrusted_proxies: [127.0.0.1]\nproxy_sign_in: {entry}\n"))
    }

    #[test]
    fn sign_in_by_a_proxy_needs_several_people_and_a_proxy() {
        let entry = "proxy_sign_in: {header: Remote-User}\n";
        assert!(config(&format!("trusted_proxies: [127.0.0.1]\n{entry}")).unwrap_err().contains("auth_mode: multi"));
        assert!(config(&format!("auth_mode: multi\n{entry}")).unwrap_err().contains("trusted_proxies"));
        let read = multi("{header: Remote-User, create: true, logout_url: 'https://sso.example/logout?rd=x'}");
        let read = read.unwrap().unwrap();
        assert_eq!((&*read.header, read.creates), ("remote-user", true));
        assert!(!multi("{header: X-Forwarded-User}").unwrap().unwrap().creates);
        assert_eq!(config("auth_mode: multi\n").unwrap(), None);
        let open = format!("auth_mode: multi\nregistration: open\ntrusted_proxies: [10.0.0.1]\n{entry}");
        assert!(config(&open).unwrap_err().contains("registration: open"));
    }

    #[test]
    fn header_that_clients_set_is_refused() {
        for header in [
            "Cookie",
            "Host",
            "Authorization",
            "X-Forwarded-For",
            "x-real-ip",
            "Sec-Fetch-User",
            "Accept-Language",
            "Accept",
            "Content-Type",
            "Proxy-Authorization",
            "X-Miniclaw-Secret",
            "User-Agent",
            "From",
        ] {
            assert!(multi(&format!("{{header: {header}}}")).unwrap_err().contains("only the proxy"), "{header}");
        }
        for header in ["''", "Remote_User", "'Remote User'", "Remote-User-", "-", "1", "'Remote-User:'", "Rémote"] {
            assert!(multi(&format!("{{header: {header}}}")).unwrap_err().contains("name of a header"), "{header}");
        }
        for wrong in ["{create: true}", "{header: Remote-User, admin: true}", "Remote-User"] {
            assert!(multi(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn secret_of_the_proxy_is_long_and_not_kept() {
        let with = |rest: &str| multi(&format!("{{header: Remote-User, {rest}}}"));
        let read = with("secret_header: X-Proxy-Secret, secret: 0123456789abcdef").unwrap().unwrap();
        assert_eq!(read.secret.as_ref().unwrap().header, "x-proxy-secret");
        assert!(!format!("{read:?}").contains("0123456789abcdef"));
        for (wrong, reason) in [
            ("secret_header: X-Proxy-Secret", "belong together"),
            ("secret: 0123456789abcdef", "belong together"),
            ("secret_header: X-Proxy-Secret, secret: short", "at least 16"),
            ("secret_header: X-Proxy-Secret, secret: '0123456789 abcdef'", "at least 16"),
            ("secret_header: X-Proxy-Secret, secret: '${NOT_SET}'", "not set"),
            ("secret_header: Authorization, secret: 0123456789abcdef", "only the proxy"),
            ("secret_header: remote-user, secret: 0123456789abcdef", "another one"),
        ] {
            assert!(with(wrong).unwrap_err().contains(reason), "{wrong}");
        }
    }

    #[test]
    fn logout_address_runs_no_script() {
        let with = |url: &str| multi(&format!("{{header: Remote-User, logout_url: '{url}'}}"));
        for good in ["/oauth2/sign_out", "/logout?rd=/", "https://sso.example/logout", "http://sso.lan"] {
            assert!(with(good).is_ok(), "{good}");
        }
        for bad in [
            "javascript:alert(1)",
            "//elsewhere.example",
            "data:text/html,x",
            "",
            "logout",
            "/\\elsewhere",
            "https://",
            "/a b",
        ] {
            assert!(with(bad).unwrap_err().contains("logout_url"), "{bad}");
        }
    }
}
