//! `approvals` in config.yml: which calls run, which need approval, and which are denied.

use std::time::Duration;

use serde::Deserialize;

use super::{ConfigError, bad};
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

/// Listed by name, so that a typo is an error with its line.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Tools {
    terminal: Option<Rule>,
    python_repl: Option<Rule>,
    fetch_url: Option<Plain>,
    read_file: Option<Plain>,
    search_knowledge_base: Option<Plain>,
    search_memory: Option<Plain>,
    create_file: Option<Plain>,
    edit_file: Option<Plain>,
    delete_file: Option<Plain>,
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
    let told = [
        ("terminal", tools.terminal),
        ("python_repl", tools.python_repl),
        ("fetch_url", tools.fetch_url.map(Rule::from)),
        ("read_file", tools.read_file.map(Rule::from)),
        ("search_knowledge_base", tools.search_knowledge_base.map(Rule::from)),
        ("search_memory", tools.search_memory.map(Rule::from)),
        ("create_file", tools.create_file.map(Rule::from)),
        ("edit_file", tools.edit_file.map(Rule::from)),
        ("delete_file", tools.delete_file.map(Rule::from)),
    ];
    policy.tools = told.into_iter().filter_map(|(name, rule)| Some((name.to_owned(), rule?))).collect();
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
    fn unknown_field_is_refused_with_its_line() {
        for (text, field, line) in [
            ("approvals:\n  efects: {}\n", "efects", "line 2"),
            ("approvals:\n  effects:\n    delete: ask\n", "delete", "line 3"),
            ("approvals:\n  effects:\n    execute: maybe\n", "approvals.effects.execute", "line 3"),
            ("approvals:\n  tools:\n    termnal: allow\n", "termnal", "line 3"),
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
