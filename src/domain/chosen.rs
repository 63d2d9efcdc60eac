//! What a person chose for a session: its model and how that answers, how the session is compacted, and what may run.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::mcp::check_name;
use super::permission_mode::PermissionMode;

/// Maximum characters of a session's own instructions, as of every part of the system prompt.
pub const MAX_SYSTEM_PROMPT: usize = 20_000;
/// Highest temperature that a provider accepts; some accept less and get their highest.
const MAX_TEMPERATURE: f32 = 2.0;
/// Maximum number of MCP servers that are off in a session: a home has no more.
const MAX_MCP_OFF: usize = 50;

/// What happens when a conversation nearly fills the context window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AutoCompact {
    /// The page proposes to compact it.
    #[default]
    Ask,
    /// It is compacted after the response. The page says so, and it can be undone.
    On,
    /// Nothing; messages that do not fit are left out, which the page shows.
    Off,
}

/// A session's own choice, which applies from its next message on. Absent fields leave the choice to the server and the
/// model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Chosen {
    /// Id of a model, as listed by `GET /api/models`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether the model thinks before it writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<bool>,
    /// Whether it is compacted automatically; absent for the server's `auto_compact`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_compact: Option<AutoCompact>,
    /// What may run in it; absent for the server's rules as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<PermissionMode>,
    /// Instructions for this session, which follow the files of the system prompt. They replace none of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Sampling temperature, 0 to 2; absent for the provider's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    /// Maximum tokens of one response of the model; absent for the provider's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Names of MCP servers whose tools it does not get. Those of all other servers it gets as the server's settings say.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub mcp_off: BTreeSet<String>,
    /// Whether it is excluded from recall: no search in conversations finds it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_for_recall: bool,
}

/// A choice that no model can follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadChoice {
    #[error("a system_prompt has at most {MAX_SYSTEM_PROMPT} characters: put longer instructions into a file")]
    SystemPrompt,
    #[error("a temperature is a number from 0 to {MAX_TEMPERATURE}")]
    Temperature,
    #[error("max_tokens is at least 1")]
    MaxTokens,
    #[error("mcp_off has the names of at most {MAX_MCP_OFF} MCP servers")]
    McpOff,
}

impl Chosen {
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// # Errors
    /// Returns an error if a value is out of range.
    pub fn check(&self) -> Result<(), BadChoice> {
        let is_too_long = |text: &String| text.chars().nth(MAX_SYSTEM_PROMPT).is_some();
        if self.system_prompt.as_ref().is_some_and(is_too_long) {
            return Err(BadChoice::SystemPrompt);
        }
        if self.temperature.is_some_and(|temperature| !(0.0..=MAX_TEMPERATURE).contains(&temperature)) {
            return Err(BadChoice::Temperature);
        }
        if self.max_tokens == Some(0) {
            return Err(BadChoice::MaxTokens);
        }
        if self.mcp_off.len() > MAX_MCP_OFF || !self.mcp_off.iter().all(|name| check_name(name).is_ok()) {
            return Err(BadChoice::McpOff);
        }
        Ok(())
    }
}

/// What is to be chosen differently; an absent field stays as it is, and `Some(None)` resets one to the default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChoiceChange {
    pub model: Option<Option<String>>,
    pub thinking: Option<Option<bool>>,
    pub system_prompt: Option<Option<String>>,
    pub temperature: Option<Option<f32>>,
    pub max_tokens: Option<Option<u32>>,
    pub mcp_off: Option<BTreeSet<String>>,
    pub not_for_recall: Option<bool>,
}

impl ChoiceChange {
    /// Returns the choice with these changes.
    pub fn of(self, chosen: &Chosen) -> Chosen {
        Chosen {
            model: self.model.unwrap_or_else(|| chosen.model.clone()),
            thinking: self.thinking.unwrap_or(chosen.thinking),
            system_prompt: self.system_prompt.unwrap_or_else(|| chosen.system_prompt.clone()),
            temperature: self.temperature.unwrap_or(chosen.temperature),
            max_tokens: self.max_tokens.unwrap_or(chosen.max_tokens),
            mcp_off: self.mcp_off.unwrap_or_else(|| chosen.mcp_off.clone()),
            not_for_recall: self.not_for_recall.unwrap_or(chosen.not_for_recall),
            auto_compact: chosen.auto_compact,
            permission_mode: chosen.permission_mode,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choice_out_of_range_is_refused() {
        let temperature = |value| Chosen { temperature: Some(value), ..Chosen::default() }.check();
        assert_eq!((temperature(0.0), temperature(2.0)), (Ok(()), Ok(())));
        for bad in [-0.1, 2.1, f32::NAN, f32::INFINITY] {
            assert_eq!(temperature(bad), Err(BadChoice::Temperature), "{bad}");
        }
        let prompt = |length| Chosen { system_prompt: Some("字".repeat(length)), ..Chosen::default() }.check();
        assert_eq!((prompt(MAX_SYSTEM_PROMPT), prompt(MAX_SYSTEM_PROMPT + 1)), (Ok(()), Err(BadChoice::SystemPrompt)));
        assert_eq!(Chosen { max_tokens: Some(0), ..Chosen::default() }.check(), Err(BadChoice::MaxTokens));
        let off =
            |names: &[&str]| Chosen { mcp_off: names.iter().map(ToString::to_string).collect(), ..Chosen::default() };
        assert_eq!((off(&["pets", "a-b"]).check(), off(&["a__b"]).check()), (Ok(()), Err(BadChoice::McpOff)));
    }

    #[test]
    fn change_leaves_what_it_does_not_name() {
        let before = Chosen {
            model: Some("m".to_owned()),
            temperature: Some(0.7),
            permission_mode: Some(PermissionMode::Plan),
            ..Chosen::default()
        };
        assert_eq!(ChoiceChange::default().of(&before), before);
        let change = ChoiceChange { temperature: Some(None), max_tokens: Some(Some(9)), ..ChoiceChange::default() };
        assert_eq!(change.of(&before), Chosen { temperature: None, max_tokens: Some(9), ..before });
    }

    #[test]
    fn temperature_keeps_its_decimals_in_a_file() {
        let chosen = Chosen { temperature: Some(0.7), ..Chosen::default() };
        assert_eq!(serde_json::to_string(&chosen).unwrap(), r#"{"temperature":0.7}"#);
    }
}
