//! The addresses that the agent may reach: public ones over HTTP, and those listed in the configuration.
//!
//! A page can name any address and the model follows it, so nothing on this machine or its network may be reachable:
//! routers, databases, cloud metadata, miniclaw itself. Three checks are needed: of the URL (a client does not resolve
//! literal addresses), of every address that a name resolves to (the address that is checked is the one that is
//! dialled), and both again at every redirect or new connection.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use url::{Host, Url};

/// Ports that web servers use; others could be databases, mail servers or printers that take an HTTP request for
/// commands.
const PORTS: [u16; 4] = [80, 443, 8080, 8443];

/// Which addresses may be dialled for a checked URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DialTarget {
    /// Public addresses only.
    Public,
    /// Any address: a person listed the host.
    Allowed,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EgressRefusal {
    #[error("this is not a complete URL; it must begin with http:// or https://")]
    NotAUrl,
    #[error("only http and https can be fetched, not {0}")]
    Scheme(String),
    #[error("a URL with a user name or password is not fetched")]
    Userinfo,
    #[error("port {0} is not fetched; only 80, 443, 8080 and 8443 are")]
    Port(u16),
    #[error("{0} is on this machine or a private network, which may not be reached from here")]
    Private(String),
}

/// Checks URLs against a list of allowed hosts: `host` (any port) or `host:port`, where a host may be the name of a
/// local machine or an address such as `127.0.0.1`.
#[derive(Clone, Debug)]
pub struct Guard {
    allowed: Vec<(String, Option<u16>)>,
    own_port: Option<u16>,
}

impl Guard {
    /// Creates a guard that allows these hosts. Entries that are not a host are ignored.
    pub fn new(allow_hosts: &[String]) -> Self {
        let allowed = allow_hosts.iter().filter_map(|entry| {
            let url = Url::parse(&format!("http://{entry}/")).ok()?;
            let has_port = url.port().is_some() || entry.ends_with(":80");
            Some((host_name(&url)?, has_port.then(|| url.port_or_known_default()).flatten()))
        });
        Self { allowed: allowed.collect(), own_port: None }
    }

    /// Excludes this port from all entries: miniclaw's own, on which an agent could answer for the person.
    pub fn but_not(self, own_port: Option<u16>) -> Self {
        Self { own_port, ..self }
    }

    pub fn parse(&self, text: &str) -> Result<Url, EgressRefusal> {
        Url::parse(text.trim()).map_err(|_| EgressRefusal::NotAUrl)
    }

    /// Returns the host of an address that may be fetched, with its port unless that is the default of the scheme.
    pub fn host(&self, text: &str) -> Option<String> {
        let url = self.parse(text).ok()?;
        self.check(&url).ok()?;
        let name = host_name(&url)?;
        Some(url.port().map_or_else(|| name.to_owned(), |port| format!("{name}:{port}")))
    }

    /// Checks everything that needs no resolver.
    pub fn check(&self, url: &Url) -> Result<DialTarget, EgressRefusal> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(EgressRefusal::Scheme(url.scheme().to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(EgressRefusal::Userinfo);
        }
        let (Some(name), Some(port)) = (host_name(url), url.port_or_known_default()) else {
            return Err(EgressRefusal::NotAUrl);
        };
        let listed = self.allowed.iter().any(|(host, only)| *host == name && only.is_none_or(|only| only == port));
        if listed && self.own_port != Some(port) {
            return Ok(DialTarget::Allowed);
        }
        if !PORTS.contains(&port) {
            return Err(EgressRefusal::Port(port));
        }
        let private = match url.host() {
            Some(Host::Ipv4(address)) => !is_public_v4(address),
            Some(Host::Ipv6(address)) => !is_public_v6(address),
            Some(Host::Domain(_)) => name == "localhost" || name.ends_with(".localhost"),
            None => true,
        };
        if private { Err(EgressRefusal::Private(name)) } else { Ok(DialTarget::Public) }
    }
}

/// Returns the host in lower case and without the dot that may end a fully qualified name.
fn host_name(url: &Url) -> Option<String> {
    let name = url.host_str()?.trim_end_matches('.').to_ascii_lowercase();
    (!name.is_empty()).then_some(name)
}

pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Returns whether the address is in none of the special-purpose blocks of RFC 6890 and its registry.
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b)) // carrier-grade NAT; 100.100.100.200 is a cloud metadata service
        || (a, b, c) == (192, 0, 0)
        || (a, b, c) == (192, 88, 99)
        || (a == 198 && (b == 18 || b == 19)))
}

/// Returns whether the address is global unicast (2000::/3) and in none of its special blocks. NAT64 (64:ff9b::/96),
/// unique local and link local addresses lie outside 2000::/3; 6to4 and Teredo embed an arbitrary IPv4 address.
fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return is_public_v4(mapped);
    }
    let [a, b, ..] = address.segments();
    (0x2000..0x4000).contains(&a)
        && !(a == 0x2001 && b < 0x0200) // protocol assignments, including Teredo
        && !(a == 0x2001 && b == 0x0db8) // documentation
        && a != 0x2002 // 6to4
        && !(a == 0x3fff && b < 0x1000) // documentation
}

/// Resolves a name to its addresses. Injected so that a test can simulate a hostile name server.
pub type Lookup = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync>;

pub fn system_lookup() -> Lookup {
    Arc::new(|name| {
        Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect()) })
    })
}

/// Error for a name that leads only to addresses that may not be reached.
#[derive(Debug, thiserror::Error)]
#[error("{0} is on this machine or a private network, which may not be reached from here")]
pub struct NoPublicAddress(pub String);

/// Returns the addresses of a name that may be dialled.
///
/// # Errors
/// Returns an error if the name has addresses and none of them may be dialled.
pub fn dialable(name: &str, found: Vec<IpAddr>, reach: DialTarget) -> Result<Vec<IpAddr>, NoPublicAddress> {
    let there_are_some = !found.is_empty();
    let dialled: Vec<IpAddr> = found
        .into_iter()
        .filter(|address| match reach {
            DialTarget::Public => is_public(*address),
            DialTarget::Allowed => true,
        })
        .collect();
    if dialled.is_empty() && there_are_some { Err(NoPublicAddress(name.to_owned())) } else { Ok(dialled) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> &'static str {
        let guard = Guard::new(&["127.0.0.1:9000".into(), "wiki.local".into(), "not a host".into()]);
        match guard.parse(text).and_then(|url| guard.check(&url)) {
            Ok(DialTarget::Public) => "public",
            Ok(DialTarget::Allowed) => "allowed",
            Err(EgressRefusal::NotAUrl) => "not a url",
            Err(EgressRefusal::Scheme(_)) => "scheme",
            Err(EgressRefusal::Userinfo) => "userinfo",
            Err(EgressRefusal::Port(_)) => "port",
            Err(EgressRefusal::Private(_)) => "private",
        }
    }

    #[test]
    fn disguised_private_addresses_are_blocked() {
        for (text, verdict) in [
            ("http://127.0.0.1/", "private"),
            ("http://2130706433/", "private"),
            ("http://0x7f.1/", "private"),
            ("http://0177.0.0.1/", "private"),
            ("http://127.1/", "private"),
            ("http://[::1]/", "private"),
            ("http://[::ffff:127.0.0.1]/", "private"),
            ("http://[::ffff:169.254.169.254]/", "private"),
            ("http://[::ffff:a9fe:a9fe]/", "private"),
            ("http://[64:ff9b::7f00:1]/", "private"),
            ("http://[2002:7f00:1::]/", "private"),
            ("http://[2001:0:7f00:1::]/", "private"),
            ("http://169.254.169.254/latest/", "private"),
            ("http://①②⑦.⓪.⓪.①/", "private"),
            ("http://localhost/", "private"),
            ("http://localhost./", "private"),
            ("http://x.LOCALHOST/", "private"),
            ("http://127.0.0.1\\@example.com/", "private"),
            ("http:///127.0.0.1/", "private"),
            ("http://0/", "private"),
            ("http://0.0.0.0:8080/", "private"),
            ("http://[::]/", "private"),
            ("http://[fd00:ec2::254]/", "private"),
            ("http://[fe80::1]/", "private"),
            ("http://100.100.100.200/", "private"),
            ("http://10.1.2.3/", "private"),
            ("http://172.16.0.1/", "private"),
            ("http://192.168.1.1/", "private"),
            ("http://198.18.0.1/", "private"),
            ("http://255.255.255.255/", "private"),
            ("http://224.0.0.1/", "private"),
            ("http://example.com@127.0.0.1/", "userinfo"),
            ("http://user:secret@example.com/", "userinfo"),
            ("http://example.com:6379/", "port"),
            ("http://example.com:22/", "port"),
            ("file:///etc/passwd", "scheme"),
            ("gopher://x/", "scheme"),
            ("ftp://example.com/", "scheme"),
            ("data:text/html,x", "scheme"),
            ("example.com", "not a url"),
            ("", "not a url"),
            ("http://1.1.1.1/", "public"),
            ("http://example.com/", "public"),
            ("https://example.com:8443/x?y#z", "public"),
            ("http://exa\tmple.com/", "public"),
            ("http://[2606:4700:4700::1111]/", "public"),
            ("http://127.0.0.1:9000/x", "allowed"),
            ("http://127.0.0.1:9001/", "port"),
            ("http://127.0.0.1:8080/", "private"),
            ("http://WIKI.local./", "allowed"),
            ("http://wiki.local:3000/", "allowed"),
            ("ftp://wiki.local/", "scheme"),
        ] {
            assert_eq!(check(text), verdict, "{text}");
        }
    }

    #[test]
    fn private_addresses_among_public_ones_are_dropped() {
        let (inside, outside): (IpAddr, IpAddr) = ([127, 0, 0, 1].into(), [93, 184, 216, 34].into());
        assert_eq!(dialable("mixed.test", vec![inside, outside], DialTarget::Public).unwrap(), [outside]);
        assert!(dialable("inside.test", vec![inside], DialTarget::Public).is_err());
        assert_eq!(dialable("listed.test", vec![inside], DialTarget::Allowed).unwrap(), [inside]);
        assert!(dialable("nowhere.test", Vec::new(), DialTarget::Public).unwrap().is_empty());
    }
}
