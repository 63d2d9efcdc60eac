//! A package of the npm registry that an MCP server is installed from: `npm:NAME@VERSION`.

use serde::{Deserialize, Serialize};

use super::mcp::{BadMcpEntry, MAX_SERVER_NAME, check_name};

const PREFIX: &str = "npm:";
/// Maximum characters of a name, as the registry allows them, and of a version.
const MAX_NAME: usize = 214;
const MAX_VERSION: usize = 80;

/// A package in exactly one version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct McpPackage {
    pub name: String,
    pub version: String,
    /// SHA-256 of its lock file, which has the integrity of every package that belongs to it.
    #[serde(default)]
    pub lock: String,
}

impl McpPackage {
    /// Parses `npm:NAME@VERSION`.
    ///
    /// # Errors
    /// Returns a sentence if it names no package in exactly one version.
    pub fn parse(text: &str) -> Result<Self, BadMcpEntry> {
        let bad = |why: &str| BadMcpEntry(format!("{text}: {why}"));
        let rest =
            text.strip_prefix(PREFIX).ok_or_else(|| bad("only packages of npm can be installed: npm:NAME@VERSION"))?;
        // A scope begins with @ too.
        let at = rest.rfind('@').filter(|at| *at > 0);
        let at = at.ok_or_else(|| bad("name the version too, so that it stays the same: npm:NAME@VERSION"))?;
        let (name, version) = (&rest[..at], &rest[at + 1..]);
        if !is_name(name) {
            return Err(bad("this is no name of a package"));
        }
        if !is_version(version) {
            return Err(bad("this is no version such as 1.2.3; ranges and tags are not, because they change"));
        }
        Ok(Self { name: name.to_owned(), version: version.to_owned(), lock: String::new() })
    }

    /// Checks what an entry says of its package.
    ///
    /// # Errors
    /// Returns a sentence if it names no package.
    pub fn check(&self) -> Result<(), BadMcpEntry> {
        Self::parse(&format!("{PREFIX}{}@{}", self.name, self.version)).map(drop)
    }

    /// Returns the name of a server that has none of its own: the last part of that of the package.
    pub fn server_name(&self) -> Option<String> {
        let last = self.name.rsplit('/').next().unwrap_or_default();
        let allowed = last.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '-' });
        let name: String = allowed.take(MAX_SERVER_NAME).collect();
        check_name(&name).ok().map(|()| name)
    }
}

fn is_name(name: &str) -> bool {
    let is_part = |part: &str| {
        let is_of_name = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || "-._~".contains(char);
        part.chars().all(is_of_name) && part.chars().next().is_some_and(|first| !"._-~".contains(first))
    };
    let is_fine = match name.strip_prefix('@') {
        Some(scoped) => scoped.split_once('/').is_some_and(|(scope, name)| is_part(scope) && is_part(name)),
        None => is_part(name),
    };
    is_fine && name.len() <= MAX_NAME
}

/// Returns whether this is one version, as Semantic Versioning writes it.
fn is_version(version: &str) -> bool {
    let end = version.find(['-', '+']).unwrap_or(version.len());
    let (numbers, rest) = version.split_at(end);
    let numbers: Vec<&str> = numbers.split('.').collect();
    let is_number = |part: &&str| !part.is_empty() && part.chars().all(|char| char.is_ascii_digit());
    let is_of_rest = |char: char| char.is_ascii_alphanumeric() || ".-+".contains(char);
    numbers.len() == 3 && numbers.iter().all(is_number) && rest.chars().all(is_of_rest) && version.len() <= MAX_VERSION
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_is_one_version_of_one_name() {
        let parsed = McpPackage::parse("npm:@modelcontextprotocol/server-memory@2026.8.31").unwrap();
        assert_eq!(
            (parsed.name.as_str(), parsed.version.as_str()),
            ("@modelcontextprotocol/server-memory", "2026.8.31")
        );
        assert_eq!(parsed.server_name().as_deref(), Some("server-memory"));
        for fine in ["npm:a@1.2.3", "npm:a.b_c~d@1.2.3-rc.1+x", "npm:@a/b@0.0.0"] {
            assert!(McpPackage::parse(fine).is_ok(), "{fine}");
        }
        for bad in [
            "a@1.2.3",
            "npm:a",
            "npm:@a/b",
            "npm:a@latest",
            "npm:a@^1.2.3",
            "npm:a@1.x",
            "npm:a@1.2.3 --registry=x",
            "npm:a@file:../x",
            "npm:../a@1.2.3",
            "npm:@../a@1.2.3",
            "npm:-a@1.2.3",
            "npm:a/b@1.2.3",
            "npm:https://x/y.tgz@1.2.3",
            "npm:A@1.2.3",
            "pypi:a@1.2.3",
            "npm:a@1.2.3/../..",
        ] {
            assert!(McpPackage::parse(bad).is_err(), "{bad}");
        }
    }
}
