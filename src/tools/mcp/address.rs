//! Addresses of servers and of their authorization servers.

use url::{Host, Url};

use crate::domain::visible::visible;

/// Maximum characters of what a server has written in the text of an error.
const MAX_SHOWN: usize = 200;

/// Returns whether this is an address of a server: https, or http on this machine.
///
/// # Errors
/// Returns a sentence if it is not.
pub fn check_address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|_| format!("{} is no address", shown(text)))?;
    let is_loopback = is_loopback(&url);
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback => Ok(url),
        "http" => Err(format!("{}: http is for this machine only; use https", shown(text))),
        scheme => Err(format!("{} is no transport of MCP; use https", shown(scheme))),
    }
}

/// Returns what a server has written, short and with invisible characters written out, for the text of an error.
pub fn shown(text: &str) -> String {
    visible(&text.chars().take(MAX_SHOWN).collect::<String>())
}

/// Returns whether the host is this machine by its name or address.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name.trim_end_matches('.').eq_ignore_ascii_case("localhost"),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_is_for_this_machine_only() {
        for (text, is_fine) in [
            ("https://mcp.example.com/mcp", true),
            ("http://127.0.0.1:9000/mcp", true),
            ("http://localhost:9000/", true),
            ("http://[::1]:1/", true),
            ("http://mcp.example.com/", false),
            ("http://localhost.example.com/", false),
            ("ftp://x/", false),
            ("nothing", false),
        ] {
            assert_eq!(check_address(text).is_ok(), is_fine, "{text}");
        }
    }

    #[test]
    fn errors_quote_a_server_briefly_and_visibly() {
        let long = format!("\u{1b}]0;x{}", "y".repeat(5_000));
        let why = check_address(&long).unwrap_err();
        assert!(why.chars().count() < 300 && !why.contains('\u{1b}'), "{why}");
    }
}
