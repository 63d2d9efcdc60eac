//! Recognises a provider by its address.

use serde::{Deserialize, Serialize};
use url::{Host, Url};

/// The kind of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProfileKind {
    DeepSeek,
    OpenAi,
    Glm,
    Moonshot,
    Qwen,
    OpenRouter,
    Anthropic,
    Gemini,
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
    pub const ALL: [ProfileKind; 14] = [
        Self::DeepSeek,
        Self::OpenAi,
        Self::Glm,
        Self::Moonshot,
        Self::Qwen,
        Self::OpenRouter,
        Self::Anthropic,
        Self::Gemini,
        Self::Ollama,
        Self::LmStudio,
        Self::LlamaCpp,
        Self::Vllm,
        Self::Local,
        Self::Other,
    ];

    /// Returns the name used in files.
    pub fn word(self) -> &'static str {
        match self {
            Self::DeepSeek => "deepseek",
            Self::OpenAi => "openai",
            Self::Glm => "glm",
            Self::Moonshot => "moonshot",
            Self::Qwen => "qwen",
            Self::OpenRouter => "openrouter",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
            Self::LmStudio => "lmstudio",
            Self::LlamaCpp => "llamacpp",
            Self::Vllm => "vllm",
            Self::Local => "local",
            Self::Other => "other",
        }
    }

    /// Returns the display name.
    pub fn name(self) -> &'static str {
        match self {
            Self::DeepSeek => "DeepSeek",
            Self::OpenAi => "OpenAI",
            Self::Glm => "GLM",
            Self::Moonshot => "Moonshot",
            Self::Qwen => "Qwen",
            Self::OpenRouter => "OpenRouter",
            Self::Anthropic => "Anthropic",
            Self::Gemini => "Gemini",
            Self::Ollama => "Ollama",
            Self::LmStudio => "LM Studio",
            Self::LlamaCpp => "llama.cpp",
            Self::Vllm => "vLLM",
            Self::Local => "the built-in model",
            Self::Other => "the model server",
        }
    }

    /// Returns the environment variable that usually holds the key; `None` if no key is needed.
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::DeepSeek => Some("DEEPSEEK_API_KEY"),
            Self::OpenAi => Some("OPENAI_API_KEY"),
            Self::Glm => Some("ZHIPUAI_API_KEY"),
            Self::Moonshot => Some("MOONSHOT_API_KEY"),
            Self::Qwen => Some("DASHSCOPE_API_KEY"),
            Self::OpenRouter => Some("OPENROUTER_API_KEY"),
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::Gemini => Some("GEMINI_API_KEY"),
            Self::Ollama | Self::LmStudio | Self::LlamaCpp | Self::Vllm | Self::Local | Self::Other => None,
        }
    }

    /// Returns the default address; `None` if there is none.
    pub fn default_base_url(self) -> Option<&'static str> {
        match self {
            Self::DeepSeek => Some("https://api.deepseek.com"),
            Self::OpenAi => Some("https://api.openai.com/v1"),
            Self::Glm => Some("https://open.bigmodel.cn/api/paas/v4"),
            Self::Moonshot => Some("https://api.moonshot.cn/v1"),
            Self::Qwen => Some("https://dashscope.aliyuncs.com/compatible-mode/v1"),
            Self::OpenRouter => Some("https://openrouter.ai/api/v1"),
            Self::Anthropic => Some("https://api.anthropic.com/v1"),
            Self::Gemini => Some("https://generativelanguage.googleapis.com/v1beta/openai"),
            Self::Ollama => Some("http://127.0.0.1:11434/v1"),
            Self::LmStudio => Some("http://127.0.0.1:1234/v1"),
            Self::LlamaCpp => Some("http://127.0.0.1:8080/v1"),
            Self::Vllm => Some("http://127.0.0.1:8000/v1"),
            Self::Local | Self::Other => None,
        }
    }

    /// Recognises a provider by its host, and a self-hosted server by its default port: Ollama's on any host, the
    /// others' on loopback.
    pub fn from_url(url: &Url) -> Self {
        let host = url.host_str().unwrap_or_default().to_ascii_lowercase();
        let under = |domain: &str| host == domain || host.ends_with(&format!(".{domain}"));
        let hosts: [(&[&str], Self); 9] = [
            (&["deepseek.com"], Self::DeepSeek),
            (&["openai.com", "openai.azure.com"], Self::OpenAi),
            (&["bigmodel.cn", "z.ai"], Self::Glm),
            (&["moonshot.cn", "moonshot.ai", "kimi.com"], Self::Moonshot),
            (&["aliyuncs.com"], Self::Qwen),
            (&["openrouter.ai"], Self::OpenRouter),
            (&["anthropic.com"], Self::Anthropic),
            (&["generativelanguage.googleapis.com"], Self::Gemini),
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

/// Whether the host is a loopback address.
pub(in crate::provider) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost") || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(url: &str) -> ProfileKind {
        ProfileKind::from_url(&Url::parse(url).unwrap())
    }

    #[test]
    fn provider_is_recognised_by_url() {
        for each in ProfileKind::ALL {
            if let Some(url) = each.default_base_url() {
                assert_eq!(kind(url), each, "{url}");
            }
        }
        assert_eq!(kind("https://api.z.ai/api/coding/paas/v4"), ProfileKind::Glm);
        assert_eq!(kind("https://dashscope-intl.aliyuncs.com/compatible-mode/v1"), ProfileKind::Qwen);
        assert_eq!(kind("http://localhost:1234/v1"), ProfileKind::LmStudio);
        assert_eq!(kind("http://nas:11434/v1"), ProfileKind::Ollama);
        // A host that only contains a provider's domain is not that provider.
        assert_eq!(kind("https://api.deepseek.com.evil.example/v1"), ProfileKind::Other);
        assert_eq!(kind("https://notdeepseek.com/v1"), ProfileKind::Other);
        assert_eq!(kind("http://10.0.0.5:8080/v1"), ProfileKind::Other);
    }
}
