//! Whether a person has confirmed an entry of `mcp.json`, and what may change in it while its server runs.

use super::package::confirmed_package;
use crate::domain::mcp::{McpEntry, McpRules};
use crate::store::{Home, sha256};

/// Whether a person has confirmed an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirmation {
    /// Hash of what a person confirms.
    pub fingerprint: String,
    pub is_confirmed: bool,
    /// Whether another version of the entry was confirmed before.
    pub was_confirmed: bool,
    /// The version of its package that was confirmed last.
    pub package_before: Option<String>,
}

impl Confirmation {
    /// Reads what is confirmed of a server. Blocks.
    pub fn of(home: &Home, entry: &McpEntry) -> Self {
        let fingerprint = sha256(entry.confirmed.as_bytes());
        let trust = home.mcp_trust(&entry.name).remove("");
        let is_confirmed = trust.as_ref().is_some_and(|trust| trust.contains(&fingerprint));
        let text = trust.as_ref().and_then(|trust| trust.text.as_deref());
        let package_before = text.and_then(confirmed_package).map(|package| package.version);
        Self { fingerprint, is_confirmed, was_confirmed: trust.is_some(), package_before }
    }
}

/// What may change in an entry while its server runs.
#[derive(Clone, Debug, PartialEq)]
pub struct CurrentEntry {
    pub confirmation: Confirmation,
    /// Canonical text of what a person confirms.
    pub confirmed: String,
    pub rules: McpRules,
}

impl CurrentEntry {
    /// Reads what is confirmed of a server. Blocks.
    pub fn of(home: &Home, entry: &McpEntry) -> Self {
        let confirmation = Confirmation::of(home, entry);
        Self { confirmation, confirmed: entry.confirmed.clone(), rules: entry.rules.clone() }
    }
}
