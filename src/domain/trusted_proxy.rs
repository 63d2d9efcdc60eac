//! Proxies whose word about clients counts.

use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;
use serde::{Deserialize, Deserializer};

/// An address of a proxy, or a range of addresses such as `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrustedProxy(IpNet);

impl TrustedProxy {
    /// Whether it is at this address. `::ffff:10.0.0.2` is `10.0.0.2`.
    pub fn is_at(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

impl FromStr for TrustedProxy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is neither an address such as 10.0.0.2 nor a range such as 10.0.0.0/8");
        let range: IpNet = match text.parse::<IpAddr>() {
            Ok(address) => address.to_canonical().into(),
            Err(_) => text.parse().map_err(|_| wrong())?,
        };
        match range.prefix_len() {
            0 => Err(format!("{text:?} is every address: anybody could say who the client is")),
            _ => Ok(Self(range)),
        }
    }
}

impl<'de> Deserialize<'de> for TrustedProxy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_at(proxy: &str, address: &str) -> bool {
        proxy.parse::<TrustedProxy>().unwrap().is_at(address.parse().unwrap())
    }

    #[test]
    fn address_or_range_is_where_the_proxy_is() {
        assert!(is_at("10.0.0.2", "10.0.0.2") && is_at("10.0.0.2", "::ffff:10.0.0.2") && is_at("::1", "::1"));
        assert!(is_at("::ffff:10.0.0.2", "10.0.0.2") && is_at("fd00::/8", "fd12::1"));
        assert!(is_at("10.0.0.0/8", "10.255.0.1") && is_at("10.0.0.7/8", "10.1.2.3"));
        assert!(!is_at("10.0.0.2", "10.0.0.3") && !is_at("10.0.0.0/8", "11.0.0.1") && !is_at("10.0.0.0/8", "::1"));
    }

    #[test]
    fn what_names_no_proxy_is_refused() {
        for text in ["", "proxy", "10.0.0.0/33", "10.0.0/8", "10.0.0.2:80", "10.0.0.1-10.0.0.9"] {
            assert!(text.parse::<TrustedProxy>().unwrap_err().contains("range such as"), "{text}");
        }
        for text in ["0.0.0.0/0", "::/0"] {
            assert!(text.parse::<TrustedProxy>().unwrap_err().contains("every address"), "{text}");
        }
    }
}
