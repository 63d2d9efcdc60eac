//! Limits of known models, by prefix of their names. The first match counts, so longer prefixes come first. A missing
//! row costs only precision: an unknown window is assumed to be small, and an unknown ceiling to be none.

/// (prefix of the name, context window in tokens, maximum output tokens or 0 for no ceiling below the window)
const MODELS: &[(&str, u32, u32)] = &[
    ("deepseek-v4", 1_000_000, 384_000),
    ("deepseek-reasoner", 131_072, 65_536),
    ("deepseek-chat", 131_072, 8_192),
    ("deepseek", 131_072, 0),
    ("gpt-5.6", 1_050_000, 128_000),
    ("gpt-5.5", 1_050_000, 128_000),
    ("gpt-5.4", 1_050_000, 128_000),
    ("gpt-5-chat", 128_000, 16_384),
    ("gpt-5", 400_000, 128_000),
    ("gpt-4.1", 1_047_576, 32_768),
    ("gpt-4o", 128_000, 16_384),
    ("gpt-4-turbo", 128_000, 4_096),
    ("gpt-4", 8_192, 0),
    ("gpt-3.5", 16_385, 4_096),
    ("gpt-oss", 131_072, 0),
    ("o1", 200_000, 100_000),
    ("o3", 200_000, 100_000),
    ("o4", 200_000, 100_000),
    ("glm-5", 200_000, 131_072),
    ("glm-4.7", 200_000, 131_072),
    ("glm-4.6", 200_000, 131_072),
    ("glm-4.5", 131_072, 98_304),
    ("glm-4-long", 1_000_000, 4_095),
    ("glm-4", 128_000, 4_095),
    ("kimi", 262_144, 0),
    ("moonshot-v1-8k", 8_192, 0),
    ("moonshot-v1-32k", 32_768, 0),
    ("moonshot", 131_072, 0),
    ("qwen3-max", 262_144, 32_768),
    ("qwen3-coder", 262_144, 65_536),
    ("qwen-max", 32_768, 8_192),
    ("qwen-plus", 1_000_000, 32_768),
    ("qwen-flash", 1_000_000, 32_768),
    ("qwen-turbo", 131_072, 16_384),
    ("qwen-long", 10_000_000, 8_192),
    ("qwen", 131_072, 0),
    ("claude-3-7", 200_000, 64_000),
    ("claude-3-5", 200_000, 8_192),
    ("claude-3", 200_000, 4_096),
    ("claude-opus-4-1", 200_000, 32_000),
    ("claude-opus-4-2", 200_000, 32_000),
    ("claude-opus-4-5", 200_000, 64_000),
    ("claude-opus-4", 1_000_000, 128_000),
    ("claude-opus-5", 1_000_000, 128_000),
    ("claude-sonnet-4-6", 1_000_000, 64_000),
    ("claude", 200_000, 64_000),
    ("gemini", 1_048_576, 65_536),
];

/// Parts of the names of models from Mistral. Their server and their chat templates refuse a conversation in which a user
/// message directly follows the result of a call (`invalid_request_message_order`).
const MISTRAL: &[&str] = &["mistral", "ministral", "magistral", "devstral", "codestral", "pixtral", "mixtral"];

/// Returns whether a user message may directly follow the result of a call.
pub(super) fn user_after_result(plain_name: &str) -> bool {
    !MISTRAL.iter().any(|part| plain_name.contains(part))
}

/// Returns the name in lower case without a vendor's prefix: `moonshotai/Kimi-K2.6` becomes `kimi-k2.6`.
pub(super) fn plain_name(model: &str) -> String {
    model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase()
}

pub(super) fn context_window(plain_name: &str) -> Option<u32> {
    row(plain_name).map(|(_, window, _)| *window)
}

pub(super) fn output_ceiling(plain_name: &str) -> Option<u32> {
    row(plain_name).map(|(_, _, output)| *output).filter(|output| *output > 0)
}

fn row(plain_name: &str) -> Option<&'static (&'static str, u32, u32)> {
    MODELS.iter().find(|(prefix, _, _)| plain_name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_shadows_a_longer_prefix() {
        for (at, (prefix, _, _)) in MODELS.iter().enumerate() {
            let hidden = MODELS[at + 1..].iter().find(|(later, _, _)| later.starts_with(prefix));
            assert_eq!(hidden, None, "{prefix} comes before a longer name");
        }
    }
}
