//! What a person may set of an MCP server without looking at its entry again: when its tools are loaded, and the rules for
//! its calls.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::mcp::OWN;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum McpPolicy {
    Allow,
    Ask,
    Deny,
    Unattended,
}

/// Whether requests define the tools of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum McpLoad {
    /// They do unless the definitions of all servers together are long.
    #[default]
    Auto,
    Always,
    /// The model finds them with `find_tools`.
    Deferred,
    /// The model does not get them.
    Never,
}

/// What a person may set of a server without looking at its entry again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct McpRules {
    /// The rule for its calls, in the words of `approvals`.
    pub policy: Option<McpPolicy>,
    /// The rules for single tools, by their names at the server.
    pub tools: BTreeMap<String, McpPolicy>,
    pub load: McpLoad,
}

impl McpRules {
    pub fn of_tool(&self, tool: &str) -> Option<McpPolicy> {
        self.tools.get(tool).copied().or(self.policy)
    }

    /// Returns an entry with these rules instead of its own.
    pub fn applied_to(&self, entry: &Value) -> Value {
        let mut entry = entry.clone();
        if let Value::Object(fields) = &mut entry {
            let own = fields.entry(OWN).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(own) = own {
                let policy = self.policy.map(|policy| json!(policy));
                let tools = (!self.tools.is_empty()).then(|| json!(self.tools));
                let load = (self.load != McpLoad::Auto).then(|| json!(self.load));
                for (name, value) in [("policy", policy), ("tools", tools), ("load", load)] {
                    match value {
                        Some(value) => own.insert(name.to_owned(), value),
                        None => own.shift_remove(name),
                    };
                }
            }
            if fields.get(OWN).and_then(Value::as_object).is_some_and(Map::is_empty) {
                fields.shift_remove(OWN);
            }
        }
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::mcp::McpEntry;

    #[test]
    fn rules_are_set_in_an_entry_and_nothing_else() {
        let entry = json!({"command": "x", "miniclaw": {"write": ["scratch/a"], "policy": "deny", "load": "never"}});
        let tools = BTreeMap::from([("read".to_owned(), McpPolicy::Ask)]);
        let rules = McpRules { policy: Some(McpPolicy::Allow), tools, load: McpLoad::Always };
        let changed = rules.applied_to(&entry);
        let [before, after] = [&entry, &changed].map(|entry| McpEntry::parse("a", entry).unwrap());
        assert_eq!((&after.rules, &after.program), (&rules, &before.program));
        assert_eq!(
            (after.rules.of_tool("read"), after.rules.of_tool("x")),
            (Some(McpPolicy::Ask), Some(McpPolicy::Allow))
        );
        let plain = json!({"command": "x", "miniclaw": {"write": ["scratch/a"]}});
        assert_eq!(McpRules::default().applied_to(&changed), plain);
    }
}
