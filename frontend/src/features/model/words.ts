import type { ModelStatus } from '@/api/types'
import type { Key, Translate } from '@/lib/i18n'

export type Tone = 'ok' | 'busy' | 'warn' | 'bad'

/** The state of the model in words, and how serious it is. */
export function stateOf(model: ModelStatus, t: Translate): { words: string; tone: Tone } {
  switch (model.state) {
    case 'none':
      return { words: t('modelNone'), tone: 'bad' }
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

const FROM: Record<string, Key> = { environment: 'fromEnvironment', 'found on this machine': 'fromFound' }

/** Where a model was set up: the names of files stay, and what the page does not know. */
export function fromIn(from: string, t: Translate): string {
  const key = Object.hasOwn(FROM, from) ? FROM[from] : undefined
  return key ? t(key) : from
}

/** What the server adds to the state. Where no model is set up at all, that is what the dialog says anyway. */
export function detailOf({ state, model, detail }: ModelStatus, words: string): string | null {
  if (!detail || detail.replace(/\.$/, '') === words) return null
  return state === 'none' && model === '' ? null : detail
}
