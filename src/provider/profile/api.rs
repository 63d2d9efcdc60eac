//! The form of requests and answers, of which most providers have one and some have several.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use url::Url;

use super::models::plain_name;
use super::{Profile, ProfileKind, SAMPLING, ThinkingParameter, ThinkingReplay};

/// An API in which a model can be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Api {
    /// OpenAI's chat API, which most providers have.
    #[default]
    #[serde(rename = "openai")]
    Chat,
    /// Anthropic's Messages API (platform.claude.com/docs/en/api/messages).
    #[serde(rename = "anthropic")]
    Messages,
    /// OpenAI's Responses API (platform.openai.com/docs/api-reference/responses).
    #[serde(rename = "responses")]
    Responses,
}

/// Models that OpenAI offers only in the Responses API, by the beginning of their names.
const RESPONSES_ONLY: &[&str] = &["o1-pro", "o3-pro", "o3-deep-research", "o4-mini-deep-research", "codex-"];

/// Whether OpenAI offers a model only in the Responses API: one of the above, or a `pro` or `codex` variant of GPT.
fn is_only_in_responses(name: &str) -> bool {
    RESPONSES_ONLY.iter().any(|prefix| name.starts_with(prefix))
        || name.starts_with("gpt-") && name.split('-').any(|part| matches!(part, "pro" | "codex"))
}

impl Api {
    /// Returns the path of its requests, after the base address.
    pub fn path(self) -> &'static str {
        match self {
            Self::Chat => "/chat/completions",
            Self::Messages => "/messages",
            Self::Responses => "/responses",
        }
    }

    /// Returns the API that an address tells by its path, else the one that the provider and the model have.
    pub fn from_url(url: &Url, kind: ProfileKind, model: &str) -> Self {
        let path = url.path().trim_end_matches('/');
        if let Some(told) =
            [Self::Chat, Self::Messages, Self::Responses].into_iter().find(|api| path.ends_with(api.path()))
        {
            return told;
        }
        let name = plain_name(model);
        match kind {
            ProfileKind::Anthropic => Self::Messages,
            ProfileKind::OpenAi if is_only_in_responses(&name) => Self::Responses,
            _ => Self::Chat,
        }
    }
}

/// Timeout without progress: a model that thinks and does not show it sends only pings for minutes.
const THINKS_SILENTLY: Duration = Duration::from_secs(300);

/// Returns the profile of a model behind Anthropic's API. The address may be that of another vendor, whose models have
/// the same switch.
pub(super) fn messages(chat: Profile, model: &str) -> Profile {
    let claude = Claude::of(model);
    let thinking_parameter = match claude {
        Some(claude) if claude.version < (3, 7) => ThinkingParameter::None,
        Some(claude) if claude.version < (4, 6) => ThinkingParameter::Budget,
        Some(claude) if claude.version < (5, 0) => ThinkingParameter::Adaptive { off: None },
        Some(_) => ThinkingParameter::Adaptive { off: Some("disabled") },
        None => ThinkingParameter::Budget,
    };
    // Since Claude 4.7 a request with a sampling parameter is refused.
    let no_sampling = claude.is_some_and(|claude| claude.version > (4, 6));
    Profile {
        api: Api::Messages,
        thinking_parameter,
        max_tokens_field: "max_tokens",
        unsupported_params: if no_sampling { SAMPLING } else { &[] },
        unsupported_while_thinking: &[],
        temperature_ceiling: 1.0,
        thinking_replay: ThinkingReplay::Never,
        effort_with_tools: None,
        think_tags: false,
        first_byte: chat.first_byte.max(THINKS_SILENTLY),
        idle: chat.idle.max(THINKS_SILENTLY),
        ..chat
    }
}

/// Returns the profile of a model behind the Responses API, which accepts tools and reasoning together.
pub(super) fn responses(chat: Profile, model: &str) -> Profile {
    let always_thinks = is_only_in_responses(model);
    // A gateway has OpenAI's models too.
    let chat = super::openai(chat, model);
    let can_reason = always_thinks || matches!(chat.thinking_parameter, ThinkingParameter::Effort { .. });
    let thinking_parameter = match chat.thinking_parameter {
        ThinkingParameter::Effort { .. } if always_thinks => ThinkingParameter::None,
        ThinkingParameter::Effort { on, off } => ThinkingParameter::ResponsesEffort { on, off },
        _ => ThinkingParameter::None,
    };
    Profile {
        api: Api::Responses,
        thinking_parameter,
        can_reason,
        max_tokens_field: "max_output_tokens",
        thinking_replay: ThinkingReplay::Never,
        parallel_tool_calls: None,
        effort_with_tools: None,
        think_tags: false,
        ..chat
    }
}

/// The version in the name of a model of Anthropic: `claude-sonnet-4-5-20250929`, `claude-3-7-sonnet-latest`,
/// `claude-opus-5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Claude {
    version: (u32, u32),
}

impl Claude {
    fn of(plain_name: &str) -> Option<Self> {
        let rest = &plain_name[plain_name.find("claude-")? + "claude-".len()..];
        // Dates have more digits.
        let numbers = |word: &str| word.parse::<u32>().ok().filter(|_| word.len() <= 2);
        let mut words = rest.split(['-', '.', '@', ':']).map(numbers).skip_while(Option::is_none);
        let major = words.next().flatten().unwrap_or(u32::MAX);
        let minor = words.next().flatten().unwrap_or(0);
        Some(Self { version: (major, minor) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_tells_the_api() {
        let api = |url: &str, model: &str| Profile::from_url(&Url::parse(url).unwrap(), model).api;
        assert_eq!(api("https://api.anthropic.com", "m"), Api::Messages);
        assert_eq!(api("https://api.anthropic.com/v1", "m"), Api::Messages);
        assert_eq!(api("https://api.anthropic.com/v1/chat/completions", "m"), Api::Chat);
        assert_eq!(api("http://gateway/v1/messages/", "m"), Api::Messages);
        assert_eq!(api("http://gateway/v1/responses", "m"), Api::Responses);
        assert_eq!(api("http://gateway/v1", "claude-opus-5"), Api::Chat);
        assert_eq!(api("https://api.openai.com/v1", "gpt-5"), Api::Chat);
        assert_eq!(api("https://api.openai.com/v1", "gpt-5-pro-2025-10-06"), Api::Responses);
    }

    #[test]
    fn thinking_parameter_follows_the_version_of_claude() {
        let parameter = |model: &str| {
            let profile = Profile::of_api(ProfileKind::Anthropic, Api::Messages, model);
            (profile.thinking_parameter, profile.accepts("temperature"))
        };
        assert_eq!(parameter("claude-3-5-haiku-latest"), (ThinkingParameter::None, true));
        assert_eq!(parameter("claude-3-7-sonnet-20250219"), (ThinkingParameter::Budget, true));
        assert_eq!(parameter("claude-opus-4-20250514"), (ThinkingParameter::Budget, true));
        assert_eq!(parameter("anthropic/claude-sonnet-4.5"), (ThinkingParameter::Budget, true));
        assert_eq!(parameter("claude-opus-4-6"), (ThinkingParameter::Adaptive { off: None }, true));
        assert_eq!(parameter("claude-opus-4-8"), (ThinkingParameter::Adaptive { off: None }, false));
        let newest = (ThinkingParameter::Adaptive { off: Some("disabled") }, false);
        assert_eq!(parameter("claude-haiku-5-5"), newest);
        assert_eq!(parameter("claude-mythos-preview"), newest);
    }
}
