import { expect, it } from 'vitest'
import { conversing, firstChoice, PRESETS, presetOfKey } from '@/features/model/presets'

const address = (name: string) => PRESETS.find(preset => preset.name === name)?.address ?? ''

it('a key with a form of its own names its provider', () => {
  const names = ['sk-ant-api03-x', ' sk-or-v1-x', 'AIzaSyx', 'sk-proj-x', 'sk-x', ''].map(
    key => presetOfKey(key)?.name,
  )
  expect(names).toEqual(['Anthropic', 'OpenRouter', 'Gemini', 'OpenAI', undefined, undefined])
})

it('models that do not converse are not offered', () => {
  const listed = ['text-embedding-3-small', 'whisper-1', 'gpt-5-mini', 'gpt-image-1', 'tts-1']
  expect(conversing(listed)).toEqual(['gpt-5-mini'])
  expect(conversing(['my-embedder'])).toEqual(['my-embedder'])
})

it('the first choice is a well-known model of the provider, else its first', () => {
  const listed = ['gpt-4.1', 'gpt-5-pro', 'gpt-5-mini', 'gpt-5.2-mini']
  expect(firstChoice(listed, address('OpenAI'))).toBe('gpt-5.2-mini')
  expect(firstChoice(['claude-haiku-4', 'claude-sonnet-4', 'claude-sonnet-5'], address('Anthropic'))).toBe(
    'claude-sonnet-5',
  )
  expect(firstChoice(['b', 'a'], address('OpenAI'))).toBe('b')
  expect(firstChoice(['b'], 'http://127.0.0.1:1/v1')).toBe('b')
  expect(firstChoice([], '')).toBe('')
})

it('every provider has an https address without a slash at the end', () => {
  for (const preset of PRESETS) expect(preset.address).toMatch(/^https:\/\/[^ ]+[^/]$/)
})
