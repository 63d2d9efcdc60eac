/** Providers with an OpenAI-compatible API, and which of their models to begin with. */

export interface Preset {
  name: string
  address: string
  /** The form of its keys, where no other provider's have it. */
  key?: RegExp
  /** Names of models to begin with, the best first. */
  models: readonly RegExp[]
}

/** Addresses as in each provider's own documentation of its OpenAI-compatible API. */
export const PRESETS: readonly Preset[] = [
  {
    name: 'OpenAI',
    address: 'https://api.openai.com/v1',
    key: /^sk-(proj|svcacct|admin)-/,
    models: [/^gpt-5[\d.]*-mini$/, /^gpt-5[\d.]*$/, /^gpt-4\.1/],
  },
  {
    name: 'Anthropic',
    address: 'https://api.anthropic.com/v1',
    key: /^sk-ant-/,
    models: [/sonnet/, /^claude/],
  },
  { name: 'DeepSeek', address: 'https://api.deepseek.com', models: [/^deepseek-chat$/, /^deepseek-v/] },
  {
    name: 'Gemini',
    address: 'https://generativelanguage.googleapis.com/v1beta/openai',
    key: /^AIza/,
    models: [/gemini-[\d.]+-flash$/, /flash/],
  },
  {
    name: 'OpenRouter',
    address: 'https://openrouter.ai/api/v1',
    key: /^sk-or-/,
    models: [/^openrouter\/auto$/],
  },
  { name: 'GLM', address: 'https://open.bigmodel.cn/api/paas/v4', models: [/^glm-\d[\d.]*$/, /^glm/] },
  { name: 'Moonshot', address: 'https://api.moonshot.cn/v1', models: [/^kimi-latest$/, /^kimi-k/] },
  {
    name: 'Qwen',
    address: 'https://dashscope.aliyuncs.com/compatible-mode/v1',
    models: [/^qwen-plus$/, /^qwen3/],
  },
]

/** The provider whose keys have this form. */
export const presetOfKey = (key: string): Preset | undefined =>
  PRESETS.find(preset => preset.key?.test(key.trim()))

/** Models that do not converse, by words in their names. */
const NO_CHAT = /embed|whisper|tts|dall-e|image|moderation|audio|realtime|transcri|rerank|veo|sora|aqa/i

/** The models that can converse, by name; all if the names say nothing. */
export function conversing(models: readonly string[]): readonly string[] {
  const found = models.filter(model => !NO_CHAT.test(model))
  return found.length > 0 ? found : models
}

/** The model to begin with. */
export function firstChoice(models: readonly string[], address: string): string {
  const preset = PRESETS.find(preset => preset.address === address)
  const named = (pattern: RegExp) =>
    models
      .filter(model => pattern.test(model))
      .sort()
      .at(-1)
  for (const pattern of preset?.models ?? []) {
    const found = named(pattern)
    if (found) return found
  }
  return models[0] ?? ''
}
