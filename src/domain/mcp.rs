//! An MCP server as `mcp.json` describes it, and the names of its tools. The file has the `mcpServers` object that other
//! programs use; what miniclaw adds stands in it under `miniclaw` (docs/mcp.md).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::approval::canonical;
use super::defang::defang;
use super::visible::is_hidden;

pub use super::mcp_package::McpPackage;
pub use super::mcp_rules::{McpLoad, McpPolicy, McpRules};

/// Maximum characters of a server's name: the names of its tools begin with it.
pub const MAX_SERVER_NAME: usize = 32;
/// Maximum characters of a tool's name, as providers allow them.
pub const MAX_TOOL_NAME: usize = 64;
/// Maximum bytes of an entry.
pub const MAX_ENTRY: usize = 32 << 10;
const PREFIX: &str = "mcp__";
/// The field of an entry that other programs do not know.
pub(super) const OWN: &str = "miniclaw";

/// An entry of `mcp.json`.
#[derive(Clone, Debug, PartialEq)]
pub struct McpEntry {
    pub name: String,
    pub transport: McpTransport,
    /// Paths that its program may read besides the system's: absolute, or relative to the home.
    pub read: Vec<String>,
    /// Folders below scratch/ or workspaces/ that its program may write to.
    pub write: Vec<String>,
    pub network: McpNetwork,
    pub rules: McpRules,
    /// The package that its program was installed from.
    pub package: Option<McpPackage>,
    /// Canonical text of everything that a person confirms.
    pub confirmed: String,
    /// Canonical text of what is started or asked, without the rules.
    pub program: String,
}

#[derive(Clone, Debug, PartialEq)]
pub enum McpTransport {
    Stdio {
        command: String,
        args: Vec<String>,
        /// Variables, whose values may name others as `${NAME}`.
        env: Vec<(String, String)>,
    },
    Http {
        url: String,
        /// Headers, whose values may name variables as `${NAME}`.
        headers: Vec<(String, String)>,
        oauth: McpOAuth,
    },
}

/// How a person signs in to a remote server, if it wants that.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct McpOAuth {
    /// Scopes to ask for, instead of those that the server names.
    pub scopes: Vec<String>,
    /// The client that a person has registered, or the https address of its metadata document. Without it, miniclaw registers
    /// itself.
    pub client_id: Option<String>,
    /// May name a variable as `${NAME}`.
    pub client_secret: Option<String>,
    /// The only authorization server that is used.
    pub issuer: Option<String>,
}

/// What the program of a server may reach.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum McpNetwork {
    #[default]
    None,
    /// These hosts, as `name` or `name:port`.
    Hosts(Vec<String>),
    /// Every public host.
    Public,
}

/// Why an entry cannot be used: a sentence for a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadMcpEntry(pub String);

#[derive(Deserialize)]
struct Written {
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: Map<String, Value>,
    url: Option<String>,
    #[serde(default)]
    headers: Map<String, Value>,
    #[serde(default)]
    oauth: McpOAuth,
    #[serde(default)]
    miniclaw: Own,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Own {
    read: Vec<String>,
    write: Vec<String>,
    network: WrittenNetwork,
    policy: Option<McpPolicy>,
    tools: BTreeMap<String, McpPolicy>,
    load: McpLoad,
    package: Option<McpPackage>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenNetwork {
    Hosts(Vec<String>),
    All(bool),
}

impl Default for WrittenNetwork {
    fn default() -> Self {
        Self::All(false)
    }
}

impl McpEntry {
    /// Parses an entry.
    ///
    /// # Errors
    /// Returns a sentence if the name or the entry cannot be used.
    pub fn parse(name: &str, entry: &Value) -> Result<Self, BadMcpEntry> {
        let bad = |why: &str| BadMcpEntry(why.to_owned());
        check_name(name)?;
        if entry.to_string().len() > MAX_ENTRY {
            return Err(bad("the entry is longer than 32 KiB"));
        }
        let Written { kind, command, args, env, url, headers, oauth, miniclaw } = serde_json::from_value(entry.clone())
            .map_err(|error| BadMcpEntry(format!("the entry cannot be read: {error}")))?;
        let texts = |fields: Map<String, Value>| {
            let text = |(name, value): (String, Value)| match value {
                Value::String(text) => Ok((name, text)),
                Value::Number(number) => Ok((name, number.to_string())),
                Value::Bool(flag) => Ok((name, flag.to_string())),
                _ => Err(BadMcpEntry(format!("the value of {name} is no text"))),
            };
            fields.into_iter().map(text).collect::<Result<Vec<_>, _>>()
        };
        let transport = match (command, url) {
            (Some(command), None) if !command.trim().is_empty() => {
                McpTransport::Stdio { command, args, env: texts(env)? }
            }
            (None, Some(url)) if kind.as_deref() == Some("sse") => {
                return Err(BadMcpEntry(format!(
                    "{url} speaks the transport SSE, which was replaced by Streamable HTTP"
                )));
            }
            // What the server says must not decide who gets the secret.
            (None, Some(_)) if oauth.client_secret.is_some() && oauth.issuer.is_none() => {
                return Err(bad("a client_secret of oauth needs the issuer that it is for"));
            }
            (None, Some(url)) => McpTransport::Http { url, headers: texts(headers)?, oauth },
            (Some(_), Some(_)) => return Err(bad("an entry has a command or a url, not both")),
            _ => return Err(bad("an entry has a command or a url")),
        };
        let Own { read, write, network, policy, tools, load, package } = miniclaw;
        package.as_ref().map(McpPackage::check).transpose()?;
        let network = match network {
            WrittenNetwork::All(false) => McpNetwork::None,
            WrittenNetwork::All(true) => McpNetwork::Public,
            WrittenNetwork::Hosts(hosts) if hosts.is_empty() => McpNetwork::None,
            WrittenNetwork::Hosts(hosts) => McpNetwork::Hosts(hosts),
        };
        for folder in &write {
            let is_below =
                |root: &str| folder.strip_prefix(root).is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'));
            let climbs = folder.split('/').any(|part| matches!(part, ".." | "."));
            if climbs || folder.contains('\0') || !(is_below("scratch/") || is_below("workspaces/")) {
                return Err(BadMcpEntry(format!("{folder} is no folder below scratch/ or workspaces/")));
            }
        }
        let (confirmed, program) = (without(entry, &["load"]), without(entry, &["load", "policy", "tools"]));
        let rules = McpRules { policy, tools, load };
        Ok(Self { name: name.to_owned(), transport, read, write, network, rules, package, confirmed, program })
    }

    pub fn is_remote(&self) -> bool {
        matches!(self.transport, McpTransport::Http { .. })
    }
}

/// Returns the canonical text of an entry without some of our own fields. A person confirms all but when the tools are loaded.
fn without(entry: &Value, left_out: &[&str]) -> String {
    let mut entry = entry.clone();
    if let Value::Object(fields) = &mut entry
        && let Some(Value::Object(own)) = fields.get_mut(OWN)
    {
        own.retain(|name, _| !left_out.contains(&name.as_str()));
        if own.is_empty() {
            fields.shift_remove(OWN);
        }
    }
    canonical(&entry)
}

/// Checks the name of a server: letters, digits, `-` and single `_` inside, so that no name of a tool belongs to two servers.
///
/// # Errors
/// Returns a sentence if it is no such name.
pub fn check_name(name: &str) -> Result<(), BadMcpEntry> {
    let is_part = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
    let is_bounded = (1..=MAX_SERVER_NAME).contains(&name.len());
    let is_clear = !name.contains("__") && !name.starts_with('_') && !name.ends_with('_');
    match is_bounded && is_clear && name.chars().all(is_part) {
        true => Ok(()),
        false => Err(BadMcpEntry(
            "the name of a server has up to 32 letters, digits, - and single _, which is not at its ends".to_owned(),
        )),
    }
}

/// Returns the part of a tool's name that is that of its server: `mcp__memory__` of `mcp__memory__read`. `None` for a tool of
/// no server.
pub fn server_prefix(tool: &str) -> Option<&str> {
    let rest = tool.strip_prefix(PREFIX)?;
    let (server, own) = rest.split_once("__")?;
    let is_own =
        own == "*" || (!own.is_empty() && own.chars().all(|char| char.is_ascii_alphanumeric() || "_-".contains(char)));
    (check_name(server).is_ok() && is_own).then(|| &tool[..PREFIX.len() + server.len() + 2])
}

/// Returns the name under which the model calls a tool. Characters that providers do not allow are replaced; a name that was
/// changed or cut ends in 8 digits of the hash of the whole one, so that two tools never share one by this.
pub fn offered_name(server: &str, tool: &str, sha256: impl Fn(&[u8]) -> String) -> String {
    let is_allowed = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
    let whole = format!("{PREFIX}{server}__{tool}");
    if whole.len() <= MAX_TOOL_NAME && tool.chars().all(is_allowed) && !tool.is_empty() {
        return whole;
    }
    let digits = sha256(whole.as_bytes());
    let mut name: String = whole.chars().map(|char| if is_allowed(char) { char } else { '_' }).collect();
    name.truncate(MAX_TOOL_NAME - 9);
    format!("{name}_{}", &digits[..8])
}

/// Replaces `${NAME}` and `${NAME:-default}` by the values of variables.
///
/// # Errors
/// Returns the name of a variable that has no value.
pub fn expand(template: &str, value: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let (mut out, mut rest) = (String::new(), template);
    while let Some((before, after)) = rest.split_once("${") {
        let Some((named, after)) = after.split_once('}') else { break };
        let (name, default) = named.split_once(":-").map_or((named, None), |(name, default)| (name, Some(default)));
        out.push_str(before);
        out.push_str(&value(name).or_else(|| default.map(str::to_owned)).ok_or_else(|| name.to_owned())?);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// Returns the canonical text of a tool's definition, of which the hash is what a person trusts: name, title, description,
/// schemas and annotations.
pub fn canonical_definition(tool: &Value) -> String {
    const FIELDS: [&str; 6] = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];
    let fields = FIELDS.into_iter().filter_map(|field| Some((field.to_owned(), tool.get(field)?.clone())));
    canonical(&Value::Object(fields.collect()))
}

/// Returns whether a schema has an invisible character where it cannot be written out: in the name of a field or in a value
/// that the model has to repeat.
pub fn has_hidden_names(schema: &Value) -> bool {
    has_odd_names(schema, &|text: &str| text.chars().any(is_hidden))
}

/// Returns whether a schema has what looks like the structure of a conversation where it cannot be escaped.
pub fn has_structure_names(schema: &Value) -> bool {
    has_odd_names(schema, &|text: &str| defang(text) != text)
}

fn has_odd_names(schema: &Value, is_odd: &impl Fn(&str) -> bool) -> bool {
    match schema {
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| is_odd(name) || (!is_note(name, value) && has_odd_names(value, is_odd)))
        }
        Value::Array(items) => items.iter().any(|item| has_odd_names(item, is_odd)),
        Value::String(text) => is_odd(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns whether a field of a schema only tells something about it, so that its texts may be written in another way. What
/// has fields of its own may be the schema of an argument with this name.
pub fn is_note(name: &str, value: &Value) -> bool {
    match name {
        "description" | "title" | "$comment" | "markdownDescription" => value.is_string(),
        "default" | "examples" => value.is_string() || value.is_array(),
        _ => false,
    }
}

/// Returns how deep a value is nested, up to `limit` + 1.
pub fn depth(value: &Value, limit: usize) -> usize {
    let below: Box<dyn Iterator<Item = &Value>> = match value {
        Value::Object(fields) => Box::new(fields.values()),
        Value::Array(items) => Box::new(items.iter()),
        _ => return 0,
    };
    if limit == 0 {
        return 1;
    }
    1 + below.map(|value| depth(value, limit - 1)).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sha(bytes: &[u8]) -> String {
        format!("{:016x}", bytes.iter().fold(7_u64, |hash, byte| hash.wrapping_mul(31).wrapping_add(u64::from(*byte))))
    }

    #[test]
    fn pasted_entry_is_read_with_its_grants() {
        let entry = json!({"command": "npx", "args": ["-y", "x"], "env": {"KEY": "${KEY}", "N": 1}, "disabled": false,
            "miniclaw": {"write": ["scratch/mcp/memory"], "network": ["api.example.com"], "policy": "ask"}});
        let parsed = McpEntry::parse("memory", &entry).unwrap();
        let env = vec![("KEY".to_owned(), "${KEY}".to_owned()), ("N".to_owned(), "1".to_owned())];
        assert_eq!(
            parsed.transport,
            McpTransport::Stdio { command: "npx".into(), args: vec!["-y".into(), "x".into()], env }
        );
        assert_eq!(parsed.network, McpNetwork::Hosts(vec!["api.example.com".into()]));
        assert_eq!((parsed.rules.policy, parsed.rules.load), (Some(McpPolicy::Ask), McpLoad::Auto));
    }

    #[test]
    fn entry_that_cannot_be_used_says_why() {
        for (name, entry, why) in [
            ("a__b", json!({"command": "x"}), "name of a server"),
            ("_a", json!({"command": "x"}), "name of a server"),
            ("a", json!({}), "a command or a url"),
            ("a", json!({"command": "x", "url": "https://x"}), "not both"),
            ("a", json!({"type": "sse", "url": "https://x"}), "SSE"),
            ("a", json!({"url": "https://x", "oauth": {"client_id": "a", "client_secret": "b"}}), "needs the issuer"),
            ("a", json!({"command": "x", "env": {"A": {}}}), "A is no text"),
            ("a", json!({"command": "x", "miniclaw": {"write": ["memory/"]}}), "below scratch/"),
            ("a", json!({"command": "x", "miniclaw": {"write": ["scratch/"]}}), "below scratch/"),
            ("a", json!({"command": "x", "miniclaw": {"write": ["workspaces/"]}}), "below scratch/"),
            ("a", json!({"command": "x", "miniclaw": {"write": ["scratch/../memory"]}}), "below scratch/"),
            ("a", json!({"command": "x", "miniclaw": {"polciy": "allow"}}), "polciy"),
        ] {
            let error = McpEntry::parse(name, &entry).unwrap_err().0;
            assert!(error.contains(why), "{entry}: {error}");
        }
    }

    #[test]
    fn confirmed_text_covers_all_but_loading() {
        let text = |entry: Value| McpEntry::parse("a", &entry).unwrap().confirmed;
        let first = text(json!({"command": "x", "args": ["y"]}));
        assert_eq!(first, text(json!({"args": ["y"], "command": "x"})));
        assert_eq!(
            text(json!({"command": "x", "miniclaw": {"load": "always"}})),
            text(json!({"command": "x", "miniclaw": {"load": "never"}}))
        );
        for other in [
            json!({"command": "x", "args": ["z"]}),
            json!({"command": "x", "args": ["y"], "env": {"A": "1"}}),
            json!({"command": "x", "args": ["y"], "miniclaw": {"network": true}}),
            json!({"command": "x", "args": ["y"], "miniclaw": {"policy": "allow"}}),
        ] {
            assert_ne!(first, text(other));
        }
    }

    #[test]
    fn names_of_tools_are_short_and_belong_to_one_server() {
        assert_eq!(offered_name("memory", "read_graph", sha), "mcp__memory__read_graph");
        let long = offered_name("memory", &"x".repeat(80), sha);
        assert_eq!(long.len(), MAX_TOOL_NAME);
        assert_ne!(long, offered_name("memory", &"x".repeat(81), sha));
        let odd = offered_name("memory", "read.graph 图", sha);
        assert!(odd.starts_with("mcp__memory__read_graph___") && odd.len() <= MAX_TOOL_NAME, "{odd}");
        assert_ne!(odd, offered_name("memory", "read/graph 图", sha));
        for (tool, prefix) in [
            ("mcp__memory__read", Some("mcp__memory__")),
            ("mcp__memory__*", Some("mcp__memory__")),
            ("mcp__a__b__c", Some("mcp__a__")),
            ("mcp__*", None),
            ("mcp__a__", None),
            ("mcp__a__x*", None),
            ("terminal", None),
        ] {
            assert_eq!(server_prefix(tool), prefix, "{tool}");
        }
    }

    #[test]
    fn variables_are_expanded_or_named() {
        let value = |name: &str| (name == "A").then(|| "1".to_owned());
        assert_eq!(expand("x${A}y${B:-2}", value), Ok("x1y2".to_owned()));
        assert_eq!(expand("${B}", value), Err("B".to_owned()));
        assert_eq!(expand("$A ${A", value), Ok("$A ${A".to_owned()));
    }

    #[test]
    fn hidden_names_and_depth_are_found() {
        assert!(!has_hidden_names(&json!({"properties": {"a": {"description": "x\u{200b}"}}})));
        assert!(has_hidden_names(&json!({"properties": {"a\u{200b}": {}}})));
        assert!(has_hidden_names(&json!({"enum": ["a\u{202e}"]})));
        assert!(has_hidden_names(&json!({"properties": {"description": {"enum": ["\u{200b}"]}}})));
        assert!(!has_hidden_names(&json!({"examples": ["\u{200b}"], "default": "\u{200b}"})));
        assert!(has_hidden_names(&json!({"properties": {"default": {"const": "\u{200b}"}}})));
        assert!(has_structure_names(&json!({"enum": ["<|im_start|>"]})) && has_structure_names(&json!({"</s>": 1})));
        assert!(!has_structure_names(&json!({"description": "<|im_start|>", "default": "</s>", "enum": ["<b>"]})));
        assert_eq!(depth(&json!({"a": [1, {"b": {}}]}), 32), 4);
        let deep = (0..40).fold(json!(1), |value, _| json!([value]));
        assert_eq!(depth(&deep, 32), 33);
    }
}
