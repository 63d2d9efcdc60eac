//! `approvals` in config.yml: which calls run, which need approval, and which are denied.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{ConfigError, bad};
use crate::domain::mcp;
use crate::tools::{Policy, Rule};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Entry {
    effects: Effects,
    tools: Tools,
    timeout_seconds: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Effects {
    read: Option<Plain>,
    write: Option<Plain>,
    execute: Option<Rule>,
    network: Option<Plain>,
}

/// Rules by the names of tools.
#[derive(Debug, Default)]
struct Tools(BTreeMap<String, Rule>);

/// The tools that run in the sandbox, for which `sandboxed` is a rule.
const SANDBOXED: [&str; 3] = ["terminal", "bash", "python_repl"];
/// The names of all tools that can have a rule.
const NAMES: &[&str] = &[
    "terminal",
    "python_repl",
    "fetch_url",
    "read_file",
    "search_knowledge_base",
    "search_memory",
    "create_file",
    "edit_file",
    "delete_file",
    "move_file",
    "list_files",
    "search_files",
    "bash",
    "sql",
    "create_todolist",
    "done_todo",
    "find_tools",
    "calculator",
    "web_search",
    "weather",
];

/// Returns the key of the rule that applies to a tool without its own.
pub(super) fn effect_key(tool: &str) -> &'static str {
    match tool {
        "terminal" | "bash" | "python_repl" => "approvals.effects.execute",
        "fetch_url" | "web_search" | "weather" => "approvals.effects.network",
        "create_file" | "edit_file" | "delete_file" | "move_file" | "sql" => "approvals.effects.write",
        _ => "approvals.effects.read",
    }
}

impl<'de> Deserialize<'de> for Tools {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RulesByName)
    }
}

struct RulesByName;

impl<'de> Visitor<'de> for RulesByName {
    type Value = Tools;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("names of tools with their rules")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Tools, A::Error> {
        let mut rules = BTreeMap::new();
        while let Some(ToolName(name)) = entries.next_key()? {
            let is_sandboxed = SANDBOXED.contains(&name.as_str());
            // A name without a value is the same as no entry.
            let rule = match is_sandboxed {
                true => entries.next_value::<Option<Rule>>()?,
                false => entries.next_value::<Option<Plain>>()?.map(Rule::from),
            };
            if rules.contains_key(&name) {
                return Err(de::Error::custom(format!("duplicate field `{name}`")));
            }
            rules.extend(rule.map(|rule| (name, rule)));
        }
        Ok(Tools(rules))
    }
}

/// A name in [`NAMES`], so that a typo is an error with its line, or that of a tool of an MCP server, or `mcp__server__*`.
struct ToolName(String);

impl<'de> Deserialize<'de> for ToolName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        if NAMES.contains(&name.as_str()) || mcp::server_prefix(&name).is_some() {
            Ok(Self(name))
        } else {
            Err(de::Error::unknown_field(&name, NAMES))
        }
    }
}

/// The rule for calls that do not run in the sandbox.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Plain {
    Allow,
    Ask,
    Deny,
    Unattended,
}

impl From<Plain> for Rule {
    fn from(plain: Plain) -> Self {
        match plain {
            Plain::Allow => Rule::Allow,
            Plain::Ask => Rule::Ask,
            Plain::Deny => Rule::Deny,
            Plain::Unattended => Rule::Unattended,
        }
    }
}

pub fn policy(entry: &Entry) -> Result<Policy, ConfigError> {
    let mut policy = Policy::default();
    let plain = |told: Option<Plain>, default: Rule| told.map_or(default, Rule::from);
    let Entry { effects, tools, timeout_seconds } = entry;
    policy.effects.read = plain(effects.read, policy.effects.read);
    policy.effects.write = plain(effects.write, policy.effects.write);
    policy.effects.execute = effects.execute.unwrap_or(policy.effects.execute);
    policy.effects.network = plain(effects.network, policy.effects.network);
    policy.tools.clone_from(&tools.0);
    if let Some(seconds) = timeout_seconds {
        if !(1..=86_400).contains(seconds) {
            return Err(bad("config.yml", "approvals.timeout_seconds: must be between 1 and 86400"));
        }
        policy.timeout = Duration::from_secs(*seconds);
    }
    Ok(policy)
}

#[cfg(test)]
mod tests {
    use super::super::tests::load;
    use super::*;

    fn policy_of(text: &str) -> Result<Policy, String> {
        load(&[("config.yml", text)], &[]).map(|config| config.policy).map_err(|error| error.to_string())
    }

    #[test]
    fn default_policy_allows_reading_and_asks_about_the_rest() {
        let policy = policy_of("").unwrap();
        assert_eq!(policy, Policy::default());
        assert_eq!(policy.timeout.as_secs(), 300);
    }

    #[test]
    fn each_setting_is_read_and_others_keep_defaults() {
        let text = "approvals:\n  effects: {write: deny, execute: sandboxed, network: unattended}\n  tools: {terminal: ask, fetch_url: allow}\n  \
                    timeout_seconds: 9\n";
        let policy = policy_of(text).unwrap();
        let effects = policy.effects;
        assert_eq!(
            (effects.read, effects.write, effects.execute, effects.network),
            (Rule::Allow, Rule::Deny, Rule::Sandboxed, Rule::Unattended)
        );
        assert_eq!(
            policy.tools.into_iter().collect::<Vec<_>>(),
            [("fetch_url".to_owned(), Rule::Allow), ("terminal".to_owned(), Rule::Ask),]
        );
        assert_eq!(policy.timeout.as_secs(), 9);
    }

    #[test]
    fn every_tool_can_have_a_rule() {
        let entries: String = NAMES.iter().map(|name| format!("    {name}: deny\n")).collect();
        let rules = policy_of(&format!("approvals:\n  tools:\n{entries}")).unwrap().tools;
        assert_eq!(rules.len(), NAMES.len());
        assert!(rules.values().all(|rule| *rule == Rule::Deny));
        assert!(policy_of("approvals:\n  tools:\n    terminal:\n").unwrap().tools.is_empty());
        for name in NAMES {
            let sandboxed = policy_of(&format!("approvals:\n  tools:\n    {name}: sandboxed\n"));
            assert_eq!(sandboxed.is_ok(), SANDBOXED.contains(name), "{name}");
        }
    }

    #[test]
    fn unknown_field_is_refused_with_its_line() {
        for (text, field, line) in [
            ("approvals:\n  efects: {}\n", "efects", "line 2"),
            ("approvals:\n  effects:\n    delete: ask\n", "delete", "line 3"),
            ("approvals:\n  effects:\n    execute: maybe\n", "approvals.effects.execute", "line 3"),
            ("approvals:\n  tools:\n    termnal: allow\n", "termnal", "line 3"),
            ("approvals:\n  tools:\n    terminal: ask\n    mcp_weather: allow\n", "mcp_weather", "line 3"),
            ("approvals:\n  tools:\n    mcp__*: allow\n", "mcp__*", "line 3"),
            ("approvals:\n  tools:\n    mcp__a__b__*x: allow\n", "mcp__a__b__*x", "line 3"),
            ("approvals:\n  tools: [terminal]\n", "names of tools", "line 2"),
            ("approvals:\n  tools:\n    fetch_url: sandboxed\n", "approvals.tools.fetch_url", "line 3"),
            ("approvals:\n  effects:\n    network: sandboxed\n", "approvals.effects.network", "line 3"),
            ("approvals: {timeout_seconds: 0}\n", "approvals.timeout_seconds", ""),
            ("approvals:\n  timeout_seconds: soon\n", "approvals.timeout_seconds", "line 2"),
        ] {
            let error = policy_of(text).unwrap_err();
            assert!(error.contains(field) && error.contains(line), "{text}: {error}");
        }
    }
}
