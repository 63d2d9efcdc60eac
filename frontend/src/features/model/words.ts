import type { ModelStatus } from '@/api/types'
import type { Key, Translate } from '@/lib/i18n'

export type Tone = 'ok' | 'busy' | 'idle' | 'warn' | 'bad'

/** The state of the model as text, with its severity. */
export function stateOf(model: ModelStatus, t: Translate): { words: string; tone: Tone } {
  switch (model.state) {
    case 'none':
      // Nothing was tried yet, so nothing is wrong.
      return { words: t('modelNone'), tone: 'idle' }
    case 'missing':
      return { words: t('modelMissing'), tone: 'bad' }
    case 'failed':
      return { words: t('modelFailed'), tone: 'bad' }
    case 'starting':
      return {
        words:
          model.progress == null
            ? t('modelStarting')
            : t('modelStartingAt', { n: Math.round(model.progress * 100) }),
        tone: 'busy',
      }
    case 'reading':
      return { words: t('modelReading', { n: Math.round((model.progress ?? 0) * 100) }), tone: 'busy' }
    case 'ready':
      return model.small ? { words: t('modelSmall'), tone: 'warn' } : { words: t('modelReady'), tone: 'ok' }
  }
}

const FROM: Record<string, Key> = {
  embedded: 'fromBuiltIn',
  environment: 'fromEnvironment',
  'found on this machine': 'fromFound',
}

/** Where a model was configured, as text: file names and unknown values stay as they are. */
export function fromIn(from: string, t: Translate): string {
  const key = Object.hasOwn(FROM, from) ? FROM[from] : undefined
  return key ? t(key) : from
}

/**
 * The server's detail on the state. Null if it repeats the state, or if no model is configured, which the dialog says
 * anyway.
 */
export function detailOf({ state, model, detail }: ModelStatus, words: string): string | null {
  if (!detail || detail.replace(/\.$/, '') === words) return null
  return state === 'none' && model === '' ? null : detail
}
