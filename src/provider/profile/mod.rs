//! The differences between providers, as data. The values follow each provider's own API reference as of late 2026;
//! where a reference and practice disagree, the value is the one that no server refuses.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

mod api;
mod kind;
mod models;

pub use api::Api;
pub use kind::ProfileKind;
pub(super) use kind::is_loopback;

/// Whether the model should think before it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Thinking {
    /// Sends nothing: the model's own default applies.
    #[default]
    Auto,
    On,
    Off,
}

/// What a person has set for a model's requests; what is absent is left to the model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parameters {
    pub temperature: Option<f32>,
    pub top_p: Option<f32>,
    /// Maximum tokens of an answer.
    pub max_tokens: Option<u32>,
}

/// How a request turns thinking on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingParameter {
    /// There is no such field: the model decides.
    None,
    /// `"thinking": {"type": "enabled"|"disabled"}`
    ThinkingType,
    /// `"enable_thinking": true|false`
    EnableThinking,
    /// `"chat_template_kwargs": {"enable_thinking": true|false}`
    TemplateArgument,
    /// `"reasoning_effort"`, with the value that means “on” and the value that comes nearest to “off”.
    Effort { on: &'static str, off: &'static str },
    /// `"reasoning": {"enabled": true|false}`
    ReasoningEnabled,
    /// `"reasoning": {"effort", "summary"}` of OpenAI's Responses API.
    ResponsesEffort { on: &'static str, off: &'static str },
    /// `"thinking": {"type": "enabled", "budget_tokens"}` of Anthropic's API; the body adds the budget.
    Budget,
    /// `"thinking": {"type": "adaptive"}` of Anthropic's API: the model decides how much. `off` is what turns it off, if it
    /// thinks without being told to.
    Adaptive { off: Option<&'static str> },
}

impl ThinkingParameter {
    /// Returns the field and value for a choice; `None` if nothing is sent.
    pub fn field(self, choice: Thinking) -> Option<(&'static str, Value)> {
        let on = match choice {
            Thinking::Auto => return None,
            Thinking::On => true,
            Thinking::Off => false,
        };
        match self {
            Self::None => None,
            Self::ThinkingType => Some(("thinking", json!({"type": if on { "enabled" } else { "disabled" }}))),
            Self::EnableThinking => Some(("enable_thinking", json!(on))),
            Self::TemplateArgument => Some(("chat_template_kwargs", json!({"enable_thinking": on}))),
            Self::Effort { on: more, off: less } => Some(("reasoning_effort", json!(if on { more } else { less }))),
            Self::ReasoningEnabled => Some(("reasoning", json!({"enabled": on}))),
            Self::ResponsesEffort { on: more, .. } if on => {
                Some(("reasoning", json!({"effort": more, "summary": "auto"})))
            }
            Self::ResponsesEffort { off: less, .. } => Some(("reasoning", json!({"effort": less}))),
            Self::Budget => on.then(|| ("thinking", json!({"type": "enabled"}))),
            // Newer models show their thoughts only if they are asked to.
            Self::Adaptive { .. } if on => Some(("thinking", json!({"type": "adaptive", "display": "summarized"}))),
            Self::Adaptive { off } => off.map(|word| ("thinking", json!({"type": word}))),
        }
    }
}

/// Which earlier thoughts are sent back with the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingReplay {
    Never,
    /// Those of every exchange with tool calls, under this field name. A message with calls always has the field, even
    /// if it is empty: DeepSeek and Moonshot refuse such a message without it.
    WithCalls(&'static str),
}

/// The API differences of one provider, for one of its models.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    pub kind: ProfileKind,
    /// The form of requests and answers.
    pub api: Api,
    /// The person's choice; may be changed after the profile is created.
    pub thinking: Thinking,
    /// What the person has set besides.
    pub parameters: Parameters,
    pub thinking_parameter: ThinkingParameter,
    /// Whether the model is known to reason in the Responses API, which accepts some fields only from such models.
    pub can_reason: bool,
    /// `max_tokens`, `max_completion_tokens` or `max_output_tokens`.
    pub max_tokens_field: &'static str,
    /// Maximum output tokens of the model; a larger requested limit is lowered to it.
    pub output_ceiling: Option<u32>,
    /// Whether `stream_options: {"include_usage": true}` is accepted. If not, the provider sends usage anyway.
    pub stream_options: bool,
    /// Sampling parameters that are refused or fixed, whether or not the model thinks.
    pub unsupported_params: &'static [&'static str],
    /// Sampling parameters that have no effect while the model thinks.
    pub unsupported_while_thinking: &'static [&'static str],
    pub temperature_ceiling: f32,
    /// Value of `parallel_tool_calls`, sent with tools if the server's own default is not `true`.
    pub parallel_tool_calls: Option<bool>,
    pub thinking_replay: ThinkingReplay,
    /// Whether a user message may directly follow the result of a call. If not, an assistant message precedes it.
    pub user_after_result: bool,
    /// Fields sent with every request.
    pub extra: &'static [(&'static str, bool)],
    /// Fields sent with every request that has tools.
    pub extra_with_tools: &'static [(&'static str, bool)],
    /// The effort that requests with tools must state, whatever the person chose.
    pub effort_with_tools: Option<&'static str>,
    /// Whether `<think>…</think>` at the start of the content is extracted as a thought.
    pub think_tags: bool,
    /// Whether the model is known to accept pictures, from the configuration or from the server.
    pub vision: bool,
    /// Timeout until the response headers arrive.
    pub first_byte: Duration,
    /// Timeout without progress of the answer.
    pub idle: Duration,
}

const SAMPLING: &[&str] = &["temperature", "top_p", "presence_penalty", "frequency_penalty"];

impl Profile {
    /// Returns the profile of the provider at `url`, whose API its address tells.
    pub fn from_url(url: &Url, model: &str) -> Self {
        let kind = ProfileKind::from_url(url);
        Self::of_api(kind, Api::from_url(url, kind, model), model)
    }

    /// Returns the profile of a provider with the chat API.
    pub fn new(kind: ProfileKind, model: &str) -> Self {
        Self::of_api(kind, Api::Chat, model)
    }

    pub fn of_api(kind: ProfileKind, api: Api, model: &str) -> Self {
        let name = models::plain_name(model);
        let chat = Self::of_chat(kind, &name);
        match api {
            Api::Chat => chat,
            Api::Messages => api::messages(chat, &name),
            Api::Responses => api::responses(chat, &name),
        }
    }

    fn of_chat(kind: ProfileKind, model: &str) -> Self {
        let base = Self {
            kind,
            api: Api::Chat,
            thinking: Thinking::Auto,
            parameters: Parameters::default(),
            thinking_parameter: ThinkingParameter::None,
            can_reason: false,
            max_tokens_field: "max_tokens",
            output_ceiling: models::output_ceiling(model),
            stream_options: true,
            unsupported_params: &[],
            unsupported_while_thinking: &[],
            temperature_ceiling: 2.0,
            parallel_tool_calls: None,
            thinking_replay: ThinkingReplay::Never,
            user_after_result: models::user_after_result(model),
            extra: &[],
            extra_with_tools: &[],
            effort_with_tools: None,
            think_tags: false,
            vision: false,
            first_byte: Duration::from_secs(60),
            idle: Duration::from_secs(90),
        };
        match kind {
            ProfileKind::DeepSeek => deepseek(base, model),
            ProfileKind::OpenAi => openai(base, model),
            ProfileKind::Glm => glm(base, model),
            ProfileKind::Moonshot => moonshot(base, model),
            ProfileKind::Qwen => Self {
                thinking_parameter: ThinkingParameter::EnableThinking,
                parallel_tool_calls: Some(true),
                think_tags: true,
                ..base
            },
            ProfileKind::OpenRouter => Self {
                thinking_parameter: ThinkingParameter::ReasoningEnabled,
                thinking_replay: ThinkingReplay::WithCalls("reasoning"),
                ..base
            },
            // Anthropic ignores `reasoning_effort`, and lowers a temperature above 1 to 1 (docs.anthropic.com, “OpenAI SDK
            // compatibility”).
            ProfileKind::Anthropic => Self { temperature_ceiling: 1.0, ..base },
            // Some models refuse `reasoning_effort: none` (ai.google.dev, “OpenAI compatibility”), so none is sent.
            ProfileKind::Gemini => base,
            ProfileKind::Ollama => Self {
                thinking_parameter: ThinkingParameter::Effort { on: "medium", off: "none" },
                ..self_hosted(base)
            },
            ProfileKind::LmStudio => self_hosted(base),
            ProfileKind::LlamaCpp => Self {
                thinking_parameter: ThinkingParameter::TemplateArgument,
                parallel_tool_calls: Some(true),
                thinking_replay: ThinkingReplay::WithCalls("reasoning_content"),
                extra: &[("return_progress", true)],
                ..self_hosted(base)
            },
            ProfileKind::Vllm => Self { thinking_parameter: ThinkingParameter::TemplateArgument, ..self_hosted(base) },
            ProfileKind::Local => Self {
                thinking_parameter: ThinkingParameter::TemplateArgument,
                extra: &[("return_progress", true)],
                // The server reports progress while it reads, and counts as idle only if that progress stops.
                idle: Duration::from_secs(90),
                ..self_hosted(base)
            },
            ProfileKind::Other => Self { think_tags: true, ..base },
        }
    }

    /// Returns the maximum tokens of prompt and answer together; 32,768 if unknown.
    pub fn context_window(&self, model: &str) -> u32 {
        const UNKNOWN: u32 = 32_768;
        self.known_window(model).unwrap_or(UNKNOWN)
    }

    /// Returns the maximum tokens of prompt and answer together, if they are known. A self-hosted server sets its window
    /// itself, so the name of its model does not determine it.
    pub fn known_window(&self, model: &str) -> Option<u32> {
        match self.kind {
            ProfileKind::Ollama
            | ProfileKind::LmStudio
            | ProfileKind::LlamaCpp
            | ProfileKind::Vllm
            | ProfileKind::Local => None,
            ProfileKind::DeepSeek
            | ProfileKind::OpenAi
            | ProfileKind::Glm
            | ProfileKind::Moonshot
            | ProfileKind::Qwen
            | ProfileKind::OpenRouter
            | ProfileKind::Anthropic
            | ProfileKind::Gemini
            | ProfileKind::Other => models::context_window(&models::plain_name(model)),
        }
    }

    /// Whether requests can turn the model's thinking on or off.
    pub fn can_switch_thinking(&self) -> bool {
        self.thinking_parameter != ThinkingParameter::None
    }

    /// Whether the sampling parameter may be sent with the current choice of thinking.
    pub fn accepts(&self, parameter: &str) -> bool {
        let thinks = self.thinking != Thinking::Off;
        !(self.unsupported_params.contains(&parameter)
            || thinks && self.unsupported_while_thinking.contains(&parameter))
    }
}

/// Returns the profile of a self-hosted server. Its timeouts are long: loading a model and reading a long prompt on a
/// CPU take minutes during which nothing is sent.
fn self_hosted(base: Profile) -> Profile {
    Profile {
        output_ceiling: None,
        think_tags: true,
        first_byte: Duration::from_secs(300),
        idle: Duration::from_secs(300),
        ..base
    }
}

/// `deepseek-reasoner` has no thinking switch; the other models have one. Thoughts of exchanges with calls must be sent
/// back (api-docs.deepseek.com, “Thinking Mode”).
fn deepseek(base: Profile, model: &str) -> Profile {
    let reasoner = model.contains("reasoner");
    Profile {
        thinking_parameter: if reasoner { ThinkingParameter::None } else { ThinkingParameter::ThinkingType },
        unsupported_params: if reasoner { SAMPLING } else { &[] },
        // deepseek-chat does not think unless told to; the v4 models do.
        unsupported_while_thinking: if model.starts_with("deepseek-chat") { &[] } else { SAMPLING },
        thinking_replay: ThinkingReplay::WithCalls("reasoning_content"),
        ..base
    }
}

/// Reasoning models accept no sampling parameters and may send nothing for minutes: their thoughts are not streamed.
/// Since gpt-5.2, this API accepts tools only if the request turns reasoning off explicitly (openai/openai-openapi
/// issue 541).
fn openai(base: Profile, model: &str) -> Profile {
    let o_series = ["o1", "o3", "o4"].iter().any(|prefix| model.starts_with(prefix));
    let gpt5 = model.starts_with("gpt-5") && !model.contains("chat");
    let thinking_parameter = if o_series {
        ThinkingParameter::Effort { on: "medium", off: "low" }
    } else if gpt5 && model.starts_with("gpt-5.") {
        ThinkingParameter::Effort { on: "medium", off: "none" }
    } else if gpt5 {
        ThinkingParameter::Effort { on: "medium", off: "minimal" }
    } else {
        ThinkingParameter::None
    };
    let thinks = o_series || gpt5;
    let tools_or_thinking = gpt5 && model.starts_with("gpt-5.") && !model.starts_with("gpt-5.1");
    Profile {
        thinking_parameter,
        effort_with_tools: tools_or_thinking.then_some("none"),
        max_tokens_field: "max_completion_tokens",
        unsupported_params: if thinks { SAMPLING } else { &[] },
        first_byte: if thinks { Duration::from_secs(300) } else { base.first_byte },
        idle: if thinks { Duration::from_secs(300) } else { base.idle },
        ..base
    }
}

/// GLM has no `stream_options`: usage comes with the last chunk. Arguments are streamed only on request, and only by
/// the models since 4.6.
fn glm(base: Profile, model: &str) -> Profile {
    let streams_calls = ["glm-4.6", "glm-4.7", "glm-5"].iter().any(|prefix| model.starts_with(prefix));
    let thinks = streams_calls || model.starts_with("glm-4.5");
    // glm-5.3 always thinks, and refuses a request to turn thinking off.
    let switchable = thinks && !model.starts_with("glm-5.3");
    Profile {
        thinking_parameter: if switchable { ThinkingParameter::ThinkingType } else { ThinkingParameter::None },
        stream_options: false,
        temperature_ceiling: 1.0,
        thinking_replay: if thinks { ThinkingReplay::WithCalls("reasoning_content") } else { ThinkingReplay::Never },
        extra_with_tools: if streams_calls { &[("tool_stream", true)] } else { &[] },
        ..base
    }
}

/// Kimi models since 2.5 have fixed sampling parameters; only 2.5 and 2.6 can turn thinking off (platform.kimi.ai,
/// “Model Parameter Reference”).
fn moonshot(base: Profile, model: &str) -> Profile {
    let kimi = model.starts_with("kimi");
    let fixed = kimi && !model.starts_with("kimi-k2-") && !model.starts_with("kimi-latest");
    let switchable = ["kimi-k2.5", "kimi-k2.6"].iter().any(|prefix| model.starts_with(prefix));
    let thinking_parameter = if switchable {
        ThinkingParameter::ThinkingType
    } else if model.starts_with("kimi-k3") {
        ThinkingParameter::Effort { on: "high", off: "low" }
    } else {
        ThinkingParameter::None
    };
    Profile {
        thinking_parameter,
        max_tokens_field: "max_completion_tokens",
        unsupported_params: if fixed { SAMPLING } else { &[] },
        temperature_ceiling: 1.0,
        thinking_replay: if kimi { ThinkingReplay::WithCalls("reasoning_content") } else { ThinkingReplay::Never },
        ..base
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_window_comes_from_model_or_own_server() {
        let window = |kind, model| Profile::new(kind, model).context_window(model);
        assert_eq!(window(ProfileKind::DeepSeek, "deepseek-v4-pro"), 1_000_000);
        assert_eq!(window(ProfileKind::OpenRouter, "moonshotai/kimi-k2.6"), 262_144);
        assert_eq!(window(ProfileKind::OpenAi, "gpt-5.5"), 1_050_000);
        assert_eq!(window(ProfileKind::OpenAi, "gpt-5-mini"), 400_000);
        assert_eq!(window(ProfileKind::Ollama, "deepseek-v4-pro"), 32_768);
        assert_eq!(window(ProfileKind::Other, "my-model"), 32_768);
    }

    #[test]
    fn unsupported_sampling_is_omitted() {
        let accepts = |kind, model: &str| Profile::new(kind, model).accepts("temperature");
        assert!(!accepts(ProfileKind::OpenAi, "o3"));
        assert!(!accepts(ProfileKind::OpenAi, "gpt-5.4"));
        assert!(accepts(ProfileKind::OpenAi, "gpt-5-chat-latest"));
        assert!(accepts(ProfileKind::OpenAi, "gpt-4.1"));
        assert!(!accepts(ProfileKind::DeepSeek, "deepseek-reasoner"));
        assert!(accepts(ProfileKind::DeepSeek, "deepseek-chat"));
        assert!(!accepts(ProfileKind::Moonshot, "kimi-k2.6"));
        assert!(accepts(ProfileKind::Moonshot, "moonshot-v1-8k"));
        let mut v4 = Profile::new(ProfileKind::DeepSeek, "deepseek-v4-flash");
        assert!(!v4.accepts("temperature"));
        v4.thinking = Thinking::Off;
        assert!(v4.accepts("temperature"));
    }
}
