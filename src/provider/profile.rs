//! What differs between providers, as data. The values follow each provider's own API reference as of late 2026; where a
//! document and practice disagree, the value is the one that no server refuses.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::{Host, Url};

use super::profile_models as models;

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProfileKind {
    DeepSeek,
    OpenAi,
    Glm,
    Moonshot,
    Qwen,
    OpenRouter,
    Ollama,
    LmStudio,
    LlamaCpp,
    Vllm,
    /// The model server that comes with miniclaw.
    Local,
    /// Any other server with an OpenAI-compatible chat API.
    Other,
}

impl ProfileKind {
    pub const ALL: [ProfileKind; 12] = [
        Self::DeepSeek,
        Self::OpenAi,
        Self::Glm,
        Self::Moonshot,
        Self::Qwen,
        Self::OpenRouter,
        Self::Ollama,
        Self::LmStudio,
        Self::LlamaCpp,
        Self::Vllm,
        Self::Local,
        Self::Other,
    ];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::DeepSeek => "DeepSeek",
            Self::OpenAi => "OpenAI",
            Self::Glm => "GLM",
            Self::Moonshot => "Moonshot",
            Self::Qwen => "Qwen",
            Self::OpenRouter => "OpenRouter",
            Self::Ollama => "Ollama",
            Self::LmStudio => "LM Studio",
            Self::LlamaCpp => "llama.cpp",
            Self::Vllm => "vLLM",
            Self::Local => "the built-in model",
            Self::Other => "the model server",
        }
    }

    /// The environment variable that customarily holds the key; `None` where no key is needed.
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::DeepSeek => Some("DEEPSEEK_API_KEY"),
            Self::OpenAi => Some("OPENAI_API_KEY"),
            Self::Glm => Some("ZHIPUAI_API_KEY"),
            Self::Moonshot => Some("MOONSHOT_API_KEY"),
            Self::Qwen => Some("DASHSCOPE_API_KEY"),
            Self::OpenRouter => Some("OPENROUTER_API_KEY"),
            Self::Ollama | Self::LmStudio | Self::LlamaCpp | Self::Vllm | Self::Local | Self::Other => None,
        }
    }

    /// Where it is found when nothing else is said; `None` where there is no such place.
    pub fn default_base_url(self) -> Option<&'static str> {
        match self {
            Self::DeepSeek => Some("https://api.deepseek.com"),
            Self::OpenAi => Some("https://api.openai.com/v1"),
            Self::Glm => Some("https://open.bigmodel.cn/api/paas/v4"),
            Self::Moonshot => Some("https://api.moonshot.cn/v1"),
            Self::Qwen => Some("https://dashscope.aliyuncs.com/compatible-mode/v1"),
            Self::OpenRouter => Some("https://openrouter.ai/api/v1"),
            Self::Ollama => Some("http://127.0.0.1:11434/v1"),
            Self::LmStudio => Some("http://127.0.0.1:1234/v1"),
            Self::LlamaCpp => Some("http://127.0.0.1:8080/v1"),
            Self::Vllm => Some("http://127.0.0.1:8000/v1"),
            Self::Local | Self::Other => None,
        }
    }

    /// By host; servers that run anywhere are known by the port they use on this machine.
    pub fn from_url(url: &Url) -> Self {
        let host = url.host_str().unwrap_or_default().to_ascii_lowercase();
        let under = |domain: &str| host == domain || host.ends_with(&format!(".{domain}"));
        let hosts: [(&[&str], Self); 7] = [
            (&["deepseek.com"], Self::DeepSeek),
            (&["openai.com", "openai.azure.com"], Self::OpenAi),
            (&["bigmodel.cn", "z.ai"], Self::Glm),
            (&["moonshot.cn", "moonshot.ai", "kimi.com"], Self::Moonshot),
            (&["aliyuncs.com"], Self::Qwen),
            (&["openrouter.ai"], Self::OpenRouter),
            (&["ollama.com"], Self::Ollama),
        ];
        if let Some((_, kind)) = hosts.iter().find(|(domains, _)| domains.iter().any(|domain| under(domain))) {
            return *kind;
        }
        match url.port() {
            Some(11_434) => Self::Ollama,
            Some(1_234) if is_loopback(url) => Self::LmStudio,
            Some(8_080) if is_loopback(url) => Self::LlamaCpp,
            Some(8_000) if is_loopback(url) => Self::Vllm,
            Some(_) | None => Self::Other,
        }
    }
}

/// Whether the address is this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost") || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Whether the model shall think before it writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Thinking {
    /// Nothing is sent: the model's own default.
    #[default]
    Auto,
    On,
    Off,
}

/// How thinking is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// There is none: the model decides.
    None,
    /// `"thinking": {"type": "enabled"|"disabled"}`
    ThinkingType,
    /// `"enable_thinking": true|false`
    EnableThinking,
    /// `"chat_template_kwargs": {"enable_thinking": true|false}`
    TemplateArgument,
    /// `"reasoning_effort"`, with the word that means “on” and the word that comes nearest to “off”.
    Effort { on: &'static str, off: &'static str },
    /// `"reasoning": {"enabled": true|false}`
    ReasoningEnabled,
}

impl Switch {
    /// The field and value for a choice; `None` where nothing is to be sent.
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
        }
    }
}

/// Which earlier thoughts are sent back with the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    Never,
    /// Those of every exchange in which tools were called, under this field name. A message with calls always carries
    /// the field, if need be empty: DeepSeek and Moonshot refuse such a message without it.
    WithCalls(&'static str),
}

/// One provider's ways, for one of its models.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    pub kind: ProfileKind,
    /// What the person chose; may be changed after the profile was made.
    pub thinking: Thinking,
    pub switch: Switch,
    /// `max_tokens` or `max_completion_tokens`.
    pub max_tokens_field: &'static str,
    /// Most tokens of answer the model gives; a larger wish is lowered to it.
    pub output_ceiling: Option<u32>,
    /// Whether `stream_options: {"include_usage": true}` is accepted. Where it is not, usage comes unasked.
    pub stream_options: bool,
    /// Sampling parameters that are refused or fixed whatever the model does.
    pub refused: &'static [&'static str],
    /// Sampling parameters that have no effect while the model thinks.
    pub refused_thinking: &'static [&'static str],
    pub temperature_ceiling: f32,
    /// Sent with tools as `parallel_tool_calls`, where the server's own default is not `true`.
    pub parallel_tool_calls: Option<bool>,
    pub echo: Echo,
    /// Fields sent with every request.
    pub extra: &'static [(&'static str, bool)],
    /// Fields sent with every request that has tools.
    pub extra_with_tools: &'static [(&'static str, bool)],
    /// Whether `<think>…</think>` at the start of the content is a thought.
    pub think_tags: bool,
    /// How long the provider may take until it begins to answer.
    pub first_byte: Duration,
    /// How long the answer may stand still.
    pub idle: Duration,
}

const SAMPLING: &[&str] = &["temperature", "top_p", "presence_penalty", "frequency_penalty"];

impl Profile {
    /// The profile of whoever answers at `url`.
    pub fn from_url(url: &Url, model: &str) -> Self {
        Self::new(ProfileKind::from_url(url), model)
    }

    pub fn new(kind: ProfileKind, model: &str) -> Self {
        let model = models::plain_name(model);
        let base = Self {
            kind,
            thinking: Thinking::Auto,
            switch: Switch::None,
            max_tokens_field: "max_tokens",
            output_ceiling: models::output_ceiling(&model),
            stream_options: true,
            refused: &[],
            refused_thinking: &[],
            temperature_ceiling: 2.0,
            parallel_tool_calls: None,
            echo: Echo::Never,
            extra: &[],
            extra_with_tools: &[],
            think_tags: false,
            first_byte: Duration::from_secs(60),
            idle: Duration::from_secs(90),
        };
        match kind {
            ProfileKind::DeepSeek => deepseek(base, &model),
            ProfileKind::OpenAi => openai(base, &model),
            ProfileKind::Glm => glm(base, &model),
            ProfileKind::Moonshot => moonshot(base, &model),
            ProfileKind::Qwen => {
                Self { switch: Switch::EnableThinking, parallel_tool_calls: Some(true), think_tags: true, ..base }
            }
            ProfileKind::OpenRouter => {
                Self { switch: Switch::ReasoningEnabled, echo: Echo::WithCalls("reasoning"), ..base }
            }
            ProfileKind::Ollama => Self { switch: Switch::Effort { on: "medium", off: "none" }, ..self_hosted(base) },
            ProfileKind::LmStudio => self_hosted(base),
            ProfileKind::LlamaCpp => Self {
                switch: Switch::TemplateArgument,
                parallel_tool_calls: Some(true),
                echo: Echo::WithCalls("reasoning_content"),
                extra: &[("return_progress", true)],
                idle: Duration::from_secs(90),
                ..self_hosted(base)
            },
            ProfileKind::Vllm => Self { switch: Switch::TemplateArgument, ..self_hosted(base) },
            ProfileKind::Local => Self {
                switch: Switch::TemplateArgument,
                extra: &[("return_progress", true)],
                idle: Duration::from_secs(90),
                ..self_hosted(base)
            },
            ProfileKind::Other => Self { think_tags: true, ..base },
        }
    }

    /// Tokens that prompt and answer may have together; 32,768 where nothing better is known. A server on one's own
    /// machine sets its window itself, so its model's name says nothing about it.
    pub fn context_window(&self, model: &str) -> u32 {
        const UNKNOWN: u32 = 32_768;
        match self.kind {
            ProfileKind::Ollama
            | ProfileKind::LmStudio
            | ProfileKind::LlamaCpp
            | ProfileKind::Vllm
            | ProfileKind::Local => UNKNOWN,
            ProfileKind::DeepSeek
            | ProfileKind::OpenAi
            | ProfileKind::Glm
            | ProfileKind::Moonshot
            | ProfileKind::Qwen
            | ProfileKind::OpenRouter
            | ProfileKind::Other => models::context_window(&models::plain_name(model)).unwrap_or(UNKNOWN),
        }
    }

    /// Whether the sampling parameter may be sent now.
    pub fn accepts(&self, parameter: &str) -> bool {
        let thinks = self.thinking != Thinking::Off;
        !(self.refused.contains(&parameter) || thinks && self.refused_thinking.contains(&parameter))
    }
}

/// Loading a model and reading a long prompt on a CPU take minutes in which nothing is sent.
fn self_hosted(base: Profile) -> Profile {
    Profile {
        output_ceiling: None,
        think_tags: true,
        first_byte: Duration::from_secs(300),
        idle: Duration::from_secs(300),
        ..base
    }
}

/// `deepseek-reasoner` cannot be switched; the others can. Thoughts of exchanges with calls must be sent back
/// (api-docs.deepseek.com, “Thinking Mode”).
fn deepseek(base: Profile, model: &str) -> Profile {
    let reasoner = model.contains("reasoner");
    Profile {
        switch: if reasoner { Switch::None } else { Switch::ThinkingType },
        refused: if reasoner { SAMPLING } else { &[] },
        // deepseek-chat does not think unless told to; the v4 models do.
        refused_thinking: if model.starts_with("deepseek-chat") { &[] } else { SAMPLING },
        echo: Echo::WithCalls("reasoning_content"),
        ..base
    }
}

/// Reasoning models take no sampling parameters and may be silent for minutes: their thoughts are not streamed.
fn openai(base: Profile, model: &str) -> Profile {
    let o_series = ["o1", "o3", "o4"].iter().any(|prefix| model.starts_with(prefix));
    let gpt5 = model.starts_with("gpt-5") && !model.contains("chat");
    let switch = match () {
        () if o_series => Switch::Effort { on: "medium", off: "low" },
        () if gpt5 && model.starts_with("gpt-5.") => Switch::Effort { on: "medium", off: "none" },
        () if gpt5 => Switch::Effort { on: "medium", off: "minimal" },
        () => Switch::None,
    };
    let thinks = o_series || gpt5;
    Profile {
        switch,
        max_tokens_field: "max_completion_tokens",
        refused: if thinks { SAMPLING } else { &[] },
        first_byte: if thinks { Duration::from_secs(300) } else { base.first_byte },
        idle: if thinks { Duration::from_secs(300) } else { base.idle },
        ..base
    }
}

/// `stream_options` is not among GLM's parameters: usage comes with the last chunk. Arguments are streamed only when
/// asked for, and only by the models since 4.6.
fn glm(base: Profile, model: &str) -> Profile {
    let streams_calls = ["glm-4.6", "glm-4.7", "glm-5"].iter().any(|prefix| model.starts_with(prefix));
    let thinks = streams_calls || model.starts_with("glm-4.5");
    Profile {
        switch: if thinks { Switch::ThinkingType } else { Switch::None },
        stream_options: false,
        temperature_ceiling: 1.0,
        echo: if thinks { Echo::WithCalls("reasoning_content") } else { Echo::Never },
        extra_with_tools: if streams_calls { &[("tool_stream", true)] } else { &[] },
        ..base
    }
}

/// Kimi models since 2.5 fix their sampling; some cannot stop thinking (platform.kimi.ai, “Model Parameter Reference”).
fn moonshot(base: Profile, model: &str) -> Profile {
    let kimi = model.starts_with("kimi");
    let fixed = kimi && !model.starts_with("kimi-k2-") && !model.starts_with("kimi-latest");
    let switchable = ["kimi-k2.5", "kimi-k2.6"].iter().any(|prefix| model.starts_with(prefix));
    Profile {
        switch: if switchable { Switch::ThinkingType } else { Switch::None },
        max_tokens_field: "max_completion_tokens",
        refused: if fixed { SAMPLING } else { &[] },
        temperature_ceiling: 1.0,
        echo: if kimi { Echo::WithCalls("reasoning_content") } else { Echo::Never },
        ..base
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(url: &str) -> ProfileKind {
        ProfileKind::from_url(&Url::parse(url).unwrap())
    }

    #[test]
    fn a_provider_is_found_from_its_address() {
        for each in ProfileKind::ALL {
            if let Some(url) = each.default_base_url() {
                assert_eq!(kind(url), each, "{url}");
            }
        }
        assert_eq!(kind("https://api.z.ai/api/coding/paas/v4"), ProfileKind::Glm);
        assert_eq!(kind("https://dashscope-intl.aliyuncs.com/compatible-mode/v1"), ProfileKind::Qwen);
        assert_eq!(kind("http://localhost:1234/v1"), ProfileKind::LmStudio);
        assert_eq!(kind("http://nas:11434/v1"), ProfileKind::Ollama);
        // A name that only contains a provider's name is someone else.
        assert_eq!(kind("https://api.deepseek.com.evil.example/v1"), ProfileKind::Other);
        assert_eq!(kind("https://notdeepseek.com/v1"), ProfileKind::Other);
        assert_eq!(kind("http://10.0.0.5:8080/v1"), ProfileKind::Other);
    }

    #[test]
    fn windows_come_from_the_model_unless_the_server_is_ones_own() {
        let window = |kind, model| Profile::new(kind, model).context_window(model);
        assert_eq!(window(ProfileKind::DeepSeek, "deepseek-v4-pro"), 1_000_000);
        assert_eq!(window(ProfileKind::OpenRouter, "moonshotai/kimi-k2.6"), 262_144);
        assert_eq!(window(ProfileKind::OpenAi, "gpt-5.5"), 1_050_000);
        assert_eq!(window(ProfileKind::OpenAi, "gpt-5-mini"), 400_000);
        assert_eq!(window(ProfileKind::Ollama, "deepseek-v4-pro"), 32_768);
        assert_eq!(window(ProfileKind::Other, "my-model"), 32_768);
    }

    #[test]
    fn sampling_is_left_out_where_it_is_refused() {
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
