import type { Provider } from '@/api/types'
import { clock, isToday, moment } from '@/lib/format'
import { getLang, type Key, locale, type Translate } from '@/lib/i18n'

export type Tone = 'ok' | 'idle' | 'warn' | 'bad'

/** The color of the dot beside a state. */
export const DOT: Readonly<Record<Tone, string>> = {
  ok: 'bg-ok',
  idle: 'bg-fg-3',
  warn: 'bg-warn',
  bad: 'bg-bad',
}

const WORDS = {
  unchecked: { key: 'providerUnchecked', tone: 'idle' },
  ready: { key: 'providerReady', tone: 'ok' },
  unreachable: { key: 'providerUnreachable', tone: 'bad' },
  refused: { key: 'providerRefused', tone: 'bad' },
  error: { key: 'providerError', tone: 'warn' },
} as const satisfies Record<Provider['state'], { key: Key; tone: Tone }>

/** What the last request to a provider had as a result, as text. */
export function stateOf(
  { state, state_since }: Pick<Provider, 'state' | 'state_since'>,
  t: Translate,
): { words: string; tone: Tone } {
  const { key, tone } = WORDS[state]
  return { words: t(key, { at: state_since ? since(state_since) : '' }), tone }
}

/** A time of today without its date. */
function since(at: string): string {
  const seconds = Date.parse(at) / 1000
  const language = locale(getLang())
  return isToday(seconds, new Date()) ? clock(seconds, language) : moment(seconds, language)
}

const READ_ONLY: Readonly<Record<string, Key>> = {
  in_environment: 'providerIn_in_environment',
  in_env_file: 'providerIn_in_env_file',
  in_models: 'providerIn_in_models',
  found: 'providerIn_found',
  built_in: 'providerIn_built_in',
}

/** Why a provider cannot be changed here; null if it can. */
export function readOnlyReason({ editable, read_only_reason: code }: Provider, t: Translate): string | null {
  if (editable || !code) return null
  const key = Object.hasOwn(READ_ONLY, code) ? READ_ONLY[code] : undefined
  return key ? t(key) : code
}

/** Where the key is, without the key. */
export function keyPlace({ key }: Provider, t: Translate): string {
  if (!key.set) return t('providerNoKey')
  const place = key.source === 'environment' ? t('fromEnvironment') : (key.source ?? '')
  return key.variable ? t('providerKeyIn', { variable: key.variable, place }) : t('providerKeySet', { place })
}
